"""The cost of attention: the (query, key) pairs multiplied and the bytes read.

A pass processes ``new`` tokens after ``cached`` tokens. The i-th new token attends to cached + i
keys, or to the last ``window`` keys.
"""

import numpy as np

from roofkit.kernels import SOFTMAX_FLOPS
from roofkit.models.operations import Operation
from roofkit.roofline import larger, smaller


def list_attention_operations(at):
    """Yield the attention Operations of a Pass."""
    if at.model.latent:
        yield from _latent_attention(at)
        return
    for name, layers, window in _attention_kinds(at.model):
        if at.how.attention == "flash":
            yield _flash_attention(at, name, layers, window)
        else:
            yield from _unfused_attention(at, name, layers, window)


def count_pairs(new, cached, window=None):
    """Return the number of (new token, attended key) pairs in a sequence.

    >>> count_pairs(4.0, 0.0), count_pairs(1.0, 99.0), count_pairs(4.0, 0.0, window=2)
    (10.0, 100.0, 7.0)
    """
    if (new == 1) is True:  # a fast path for decode steps
        pairs = cached + 1.0
        return pairs if window is None else smaller(pairs, float(window))
    pairs = _triangular_number(cached + new) - _triangular_number(cached)
    if window is None:
        return pairs
    return pairs - _triangular_number(cached + new - window) + _triangular_number(cached - window)


def count_keys_read(new, cached, window=None):
    """Return the number of keys in a sequence that at least one new token attends to.

    >>> count_keys_read(4.0, 100.0), count_keys_read(4.0, 100.0, window=16)
    (104.0, 19.0)
    """
    keys = cached + new
    return keys if window is None else smaller(keys, new - 1 + float(window))


def count_keys_streamed(new, cached, blocks, window=None):
    """Return the number of keys read from memory if query rows form ``blocks`` blocks.

    Each block reads the keys that its own tokens attend to, from the start of the first token's
    window to the last token.

    >>> count_keys_streamed(8.0, 0.0, 1.0), count_keys_streamed(8.0, 0.0, 2.0)
    (8.0, 12.0)
    >>> count_keys_streamed(8.0, 0.0, 4.0, window=2)
    11.0
    """
    rows = new / blocks
    streamed = blocks * cached + rows * _triangular_number(blocks)
    if window is None:
        return streamed
    # From block ``first`` on, the earliest keys are outside a block's window, so the block doesn't
    # read them.
    before = window - 1 - cached
    first = smaller(larger(before // rows + 1, 0.0), blocks)
    rows_outside = rows * (_triangular_number(blocks - 1) - _triangular_number(first - 1))
    return streamed - (rows_outside - (blocks - first) * before)


def _attention_kinds(model):
    """Yield the name prefix, number of layers and window (or None) of each kind of attention."""
    windowed = model.window_layers
    if windowed < model.layers:
        yield "", model.layers - windowed, None
    if windowed:
        yield "window_" if windowed < model.layers else "", windowed, model.window


def _flash_attention(at, name, layers, window):
    w, width, q_dim = at.widths, at.model.head_dim, at.shard.q_dim
    heads = at.shard.heads
    flops = (4 * width + SOFTMAX_FLOPS) * heads * at.batch
    pairs = count_pairs(at.new, at.cached, window)
    read = _count_keys_crossing(at, q_dim // at.shard.kv_dim, w.stream * width, window)
    whole, inside = at.shard.kv_cached == at.shard.kv_dim, at.cached
    if window is not None:
        inside = larger(smaller(at.cached, float(window) - at.new), 0.0)
    kind = "attention" if np.all(inside == at.cached) else "window"
    sizes = at.batch, at.new, inside, heads, at.shard.kv_dim // width, width, w.kv
    return Operation(
        f"{name}attention", layers, flops * pairs, _sink_bytes(at, heads),
        (w.stream + w.activations) * q_dim * at.tokens,
        2 * w.kv * at.shard.kv_cached * at.batch * read, at.how.attends,
        kernel=(kind, *sizes) if whole else (),
    )  # fmt: skip


def _count_keys_crossing(at, group, row, window=None):
    """Return the number of keys read per sequence, counting repeated reads by query blocks.

    Keys are read once if the keys needed at a time fit on the chip, or if only one token is new.
    Otherwise, every block reads its keys, and its Q, K, V and output each get a quarter of the
    on-chip memory. ``group`` query rows of ``row`` bytes each share a key.
    """
    new, cached, on_chip = at.new, at.cached, at.how.rates.on_chip
    once = count_keys_read(new, cached, window)
    if at.decoding is True:
        return once
    blocks = -(-group * new // larger(on_chip // (4 * row), 1.0))
    needed = once if window is None else smaller(once, float(window))
    read_once = at.decoding | (head_bytes(at.model, at.widths, needed) <= on_chip)
    return select_where(
        read_once, once, larger(once, count_keys_streamed(new, cached, blocks, window))
    )


def head_bytes(model, widths, keys):
    """Return the bytes of one head's K and V, or of the latent vectors that all heads share."""
    return (model.cached_width if model.latent else 2 * model.head_dim) * widths.kv * keys


def _unfused_attention(at, name, layers, window):
    w, width, q_dim = at.widths, at.model.head_dim, at.shard.q_dim
    heads, read = at.shard.heads, count_keys_read(at.new, at.cached, window)
    queries, scores = at.tokens * q_dim, at.tokens * heads * read
    cache = w.kv * at.batch * at.shard.kv_cached * read

    def step(suffix, flops, weights, activations, kv=0.0):
        return Operation(f"{name}{suffix}", layers, flops, weights, activations, kv, at.how.attends)

    flops, sinks = 2 * width * scores, _sink_bytes(at, heads)
    yield step("qk_matmul", flops, 0.0, w.stream * (queries + scores), cache)
    yield step("softmax", SOFTMAX_FLOPS * scores, sinks, 2 * w.stream * scores)
    yield step("sv_matmul", flops, 0.0, w.stream * scores + w.activations * queries, cache)


def _sink_bytes(at, heads):
    return at.widths.stream * float(at.model.sinks * heads)


def _latent_attention(at):
    """Yield the Operations of latent attention, where heads share one latent vector per token.

    There are two methods: expand the vectors into K and V of each head, or project queries into the
    latent space and results back (absorption). Absorption takes more FLOPs per pair but none per
    key. The faster method is used. With fusion, the intermediate arrays stay on the chip.
    """
    w, wide, rates = at.widths, at.model.latent, at.how.rates
    unfused = at.how.attention == "unfused"
    heads, layers = at.shard.heads, at.model.layers
    keys = count_keys_read(at.new, at.cached)
    pairs = at.tokens * keys if unfused else at.batch * count_pairs(at.new, at.cached)
    key, cached = wide.nope + wide.rope, wide.kv_rank + wide.rope
    matrices = float(wide.kv_rank * heads * (wide.nope + wide.value))
    crossing = keys if unfused else _count_keys_crossing(at, heads, w.stream * cached)
    activations = at.tokens * heads * (w.stream * key + w.activations * wide.value)
    if unfused:
        activations = activations + 4 * w.stream * heads * at.tokens * keys

    def plan(multiplied, between, width, reread):
        # Fusion avoids two kinds of traffic: the arrays between the two operations, and reading
        # the latent vectors again to compute the results.
        between = 2 * w.stream * heads * between if unfused else 0.0
        read = cached + reread if unfused else cached
        return (
            Operation("kv_up_proj", layers, 2 * matrices * multiplied, w.weights * matrices,
                      dtype=at.how.linear),
            Operation("attention", layers, heads * (2 * width + SOFTMAX_FLOPS) * pairs, 0.0,
                      activations + between, w.kv * at.batch * read * crossing, at.how.attends),
        )  # fmt: skip

    def seconds(operations):
        first, second = operations
        return (larger(first.flops / rates.linear, first.bytes / rates.bandwidth)
                + larger(second.flops / rates.attends, second.bytes / rates.bandwidth))  # fmt: skip

    all_keys = at.batch * keys
    expanded = plan(all_keys, all_keys * (wide.nope + wide.value), key + wide.value, 0)
    absorbed = plan(at.tokens, at.tokens * 2 * wide.kv_rank, cached + wide.kv_rank, wide.kv_rank)
    expands = seconds(expanded) <= seconds(absorbed)
    for expand, absorb in zip(expanded, absorbed, strict=True):
        yield expand._replace(
            flops=select_where(expands, expand.flops, absorb.flops),
            activations=select_where(expands, expand.activations, absorb.activations),
            kv=select_where(expands, expand.kv, absorb.kv),
        )


def select_where(condition, value, otherwise):
    """Return ``value`` where the condition is true, and ``otherwise`` elsewhere."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, value, otherwise)
    return value if condition else otherwise


def _triangular_number(x):
    """Return 1 + 2 + … + x, or 0 if x is below 1."""
    x = larger(x, 0.0)
    return x * (x + 1) / 2
