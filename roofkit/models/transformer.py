"""What the layers of a transformer cost: the formulas, one call of ``add`` a layer.

A pass works on ``new`` tokens of each of ``batch`` sequences; in decode these come after ``cached``
tokens whose K and V are in the cache. Sizes are floats or arrays. ``add`` takes a layer's name, how
often it occurs, its FLOPs, the bytes of weights, activations and KV cache that cross the memory,
those that cross the link, and the peak it computes at where that is not the linear layers'.
"""

import math

import numpy as np

from roofkit.models.llm import ACTIVATION_FLOPS
from roofkit.roofline import larger, smaller

SOFTMAX_FLOPS = 5  # an element: maximum, subtraction, exponential, sum, division
# Passes over the links: an all-reduce is a reduce-scatter and an all-gather.
ALL_GATHER, ALL_REDUCE = 1, 2
NORM_FLOPS = {"layer": 7, "rms": 4}


def count_pass(served, rates, add, batch, new, cached=None):
    """Count every layer of a prefill, or of a decode step where tokens are ``cached``."""
    model, how, chips = served.model, served.convention, served.chips
    d, n, (q_dim, kv_dim), (w, a, k) = model.hidden, model.layers, served.split, served.itemsizes
    tokens = batch * new
    stream = tokens * d
    norm_flops = NORM_FLOPS[model.norm] if how.norm_flops is None else how.norm_flops
    norm_vectors = (1 if model.norm == "rms" else 2) if how.norm_weights else 0
    act_flops = how.activation_flops
    if act_flops is None:
        act_flops = ACTIVATION_FLOPS[model.activation] + model.gated

    def linear(name, times, d_in, d_out, bias=False):
        out = tokens * d_out
        add(name, times, 2 * d_in * out, w * float(d_in * d_out + bias * d_out),
            a * (tokens * d_in + out))  # fmt: skip

    def into_cache(name, d_out):
        out = tokens * d_out
        add(name, n, 2 * d * out, w * float(d * d_out + model.qkv_bias * d_out), a * stream,
            k * out)  # fmt: skip

    def norm(name, times, rows, width, norms=1):
        elements = rows * width
        parameters = w * float(norms * norm_vectors * width)
        add(name, times, norm_flops * elements, parameters, 2 * a * elements)

    def mlp_act(name, times, width, rows=tokens):
        elements = rows * (width if how.activation_width == "mlp" else d)
        add(name, times, act_flops * elements, 0.0, a * (2 + model.gated) * elements)

    def residual(name):
        add(name, n, stream, 0.0, a * (how.add_operands + 1) * stream)

    def share(name, times, passes, elements):
        if chips > 1:
            add(name, times, 0.0,
                link=passes * larger(rates.share * a * elements, rates.wait))  # fmt: skip

    if how.ends:
        placed = model.positions > 0
        gathered = tokens + new if placed else tokens
        add("embedding", 1, placed * stream, w * d * gathered, a * stream)
        share("embedding_all_reduce", 1, ALL_REDUCE, stream)

    norm("attn_norm", n, tokens, d)
    linear("q_proj", n, d, q_dim, model.qkv_bias)
    rotary = model.rotary and how.rotary
    if rotary or model.qk_norm:
        linear("k_proj", n, d, kv_dim, model.qkv_bias)
    else:
        into_cache("k_proj", kv_dim)
    into_cache("v_proj", kv_dim)
    if model.qk_norm:
        norm("qk_norm", n, tokens * ((q_dim + kv_dim) // model.head_dim), model.head_dim, norms=2)
    if rotary:
        # Two products and a sum an element. K turns on its way to the cache.
        turned = tokens * (q_dim + kv_dim)
        add("rotary", n, 3 * turned, 0.0, a * (turned + tokens * q_dim), k * (tokens * kv_dim))
    _attention(served, rates, add, batch, new, cached)
    linear("o_proj", n, q_dim, d, model.out_bias)
    share("attn_all_reduce", n, ALL_REDUCE, stream)
    residual("attn_add")

    norm("mlp_norm", n, tokens, d)
    if dense := model.dense_mlps:
        _mlp(model, linear, mlp_act, dense, model.mlp // chips, "{}_proj", "mlp_act")
    if model.expert_mlps:
        _experts(served, add, linear, mlp_act, tokens)
    share("mlp_all_reduce", n, ALL_REDUCE, stream)
    residual("mlp_add")

    if how.ends:
        norm("final_norm", 1, tokens, d)
    vocabulary = math.ceil(model.vocabulary / chips)
    rows = batch if how.lm_head_batched else 1.0
    add("lm_head", 1, how.lm_head_fma * d * vocabulary * batch, w * float(d * vocabulary),
        a * (rows * d + rows * vocabulary))  # fmt: skip
    share("logits_all_gather", 1, ALL_GATHER, batch * model.vocabulary)


def head_bytes(served, keys):
    """Bytes of one head's K and V."""
    return 2 * served.model.head_dim * served.itemsizes.kv * keys


def _attention(served, rates, add, batch, new, cached):
    model, how = served.model, served.convention
    n, width, window = model.layers, model.head_dim, model.window
    q_dim, kv_dim = served.split
    heads, (_, a, k) = q_dim // width, served.itemsizes
    decode = cached is not None
    keys = new if not decode else cached + new if how.new_token else cached
    read = keys if window is None else smaller(keys, new - 1 + float(window))
    queries, rows = batch * new * q_dim, batch * heads
    if served.attention == "unfused":
        scores = rows * new * read
        cache = k * batch * kv_dim * read
        asked = queries if decode or how.query_heads == "query" else batch * new * kv_dim
        flops = 2 * width * scores
        add("qk_matmul", n, flops, 0.0, a * (asked + scores), cache, peak=rates.attention)
        add("softmax", n, SOFTMAX_FLOPS * scores, 0.0, 2 * a * scores, peak=rates.attention)
        add("sv_matmul", n, flops, 0.0, a * (scores + queries), cache, peak=rates.attention)
        return
    if decode:
        pairs = read
    elif how.causal:
        pairs = _triangle(keys)
        if window is not None:
            pairs = pairs - _triangle(keys - window)
    else:
        pairs = new * keys
    written = queries if how.flash_output == "head_dim" else 2 * rows * new * keys
    stored = batch * (kv_dim if how.flash_kv_heads == "kv" else q_dim)
    reads = 1.0 if decode else _kv_reads(served, rates.on_chip, new, q_dim // kv_dim)
    add("attention", n, (4 * width + SOFTMAX_FLOPS) * rows * pairs, 0.0, a * (queries + written),
        2 * k * reads * stored * read, peak=rates.attention)  # fmt: skip


def _kv_reads(served, on_chip, new, group):
    """How often a prefill reads K and V: once if a head's fit, else for each block of rows."""
    width, (_, a, k) = served.model.head_dim, served.itemsizes
    if served.convention.flash_rows == "head_dim":
        return _ceil(new, smaller(_ceil(on_chip, k * width), float(width)))
    # Q, K, V and the output have a quarter of the memory each.
    blocks = _ceil(group * new, larger(on_chip // (4 * a * width), 1.0))
    held = head_bytes(served, new) <= on_chip
    if isinstance(held, np.ndarray):
        return np.where(held, 1.0, blocks)
    return 1.0 if held else blocks


def _mlp(model, linear, mlp_act, times, width, matrix, act):
    if model.gated:
        linear(matrix.format("gate"), times, model.hidden, width, model.mlp_bias)
    linear(matrix.format("up"), times, model.hidden, width, model.mlp_bias)
    mlp_act(act, times, width)
    linear(matrix.format("down"), times, width, model.hidden, model.mlp_bias)


def _experts(served, add, linear, mlp_act, tokens):
    model, chips = served.model, served.chips
    n, d, width = model.expert_mlps, model.hidden, model.expert_width // chips
    (w, a, _), visits = served.itemsizes, model.experts_per_token
    # Experts that some token visits if routing is even. NumPy's power for numbers too, so that
    # they agree with arrays.
    missed = np.power(1 - visits / model.experts, np.atleast_1d(tokens))
    missed = missed if np.ndim(tokens) else float(missed[0])
    touched, rows = model.experts * (1 - missed), visits * tokens

    def routed(name, d_in, d_out):
        add(name, n, 2 * d_in * d_out * rows, w * (d_in * d_out) * touched,
            a * (d_in + d_out) * rows)  # fmt: skip

    linear("router", n, d, model.experts)
    if model.gated:
        routed("experts_gate", d, width)
    routed("experts_up", d, width)
    mlp_act("experts_act", n, width, rows)
    routed("experts_down", width, d)
    if model.shared_width:
        _mlp(model, linear, mlp_act, n, model.shared_width // chips, "shared_{}", "shared_act")
    summed = visits + (model.shared_width > 0)
    add("experts_sum", n, 2 * summed * d * tokens, 0.0, a * (summed + 1) * d * tokens)


def _ceil(a, b):
    """a / b, rounded up."""
    return -(-a // b)


def _triangle(x):
    """1 + 2 + … + x; 0 for an x below 1."""
    x = larger(x, 0.0)
    return x * (x + 1) / 2
