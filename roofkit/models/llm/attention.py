"""What attention costs: how many pairs of tokens meet, and what is read for them.

A pass works on ``new`` tokens after ``cached`` ones. The i-th new token meets cached + i keys, or
the last ``window`` of them.
"""

import numpy as np

from roofkit.kernels import SOFTMAX_FLOPS
from roofkit.models.operations import Operation
from roofkit.roofline import larger, smaller


def attend(at):
    """The Operations of attention proper in a Pass: queries meet the cache."""
    if at.model.latent:
        yield from _latent_attention(at)
        return
    for name, layers, window in _attention_kinds(at.model):
        if at.how.attention == "flash":
            yield _flash_attention(at, name, layers, window)
        else:
            yield from _unfused_attention(at, name, layers, window)


def count_pairs(new, cached, window=None):
    """Keys that the new tokens of a sequence meet, all together.

    >>> count_pairs(4.0, 0.0), count_pairs(1.0, 99.0), count_pairs(4.0, 0.0, window=2)
    (10.0, 100.0, 7.0)
    """
    if (new == 1) is True:  # without further calls
        met = cached + 1.0
        return met if window is None else smaller(met, float(window))
    met = _triangular_number(cached + new) - _triangular_number(cached)
    if window is None:
        return met
    return met - _triangular_number(cached + new - window) + _triangular_number(cached - window)


def count_keys_read(new, cached, window=None):
    """Keys that some new token of a sequence meets.

    >>> count_keys_read(4.0, 100.0), count_keys_read(4.0, 100.0, window=16)
    (104.0, 19.0)
    """
    keys = cached + new
    return keys if window is None else smaller(keys, new - 1 + float(window))


def count_keys_streamed(new, cached, blocks, window=None):
    """Keys that cross the memory where query rows are worked on in so many ``blocks``.

    Each block reads the keys that its own tokens meet: up to its last token, and from its first
    token's window on.

    >>> count_keys_streamed(8.0, 0.0, 1.0), count_keys_streamed(8.0, 0.0, 2.0)
    (8.0, 12.0)
    >>> count_keys_streamed(8.0, 0.0, 4.0, window=2)
    11.0
    """
    rows = new / blocks
    streamed = blocks * cached + rows * _triangular_number(blocks)
    if window is None:
        return streamed
    # From the block ``first`` on, blocks begin so late that keys have left the window: so many are
    # left out.
    before = window - 1 - cached
    first = smaller(larger(before // rows + 1, 0.0), blocks)
    left_out = (
        rows * (_triangular_number(blocks - 1) - _triangular_number(first - 1))
        - (blocks - first) * before
    )
    return streamed - left_out


def _attention_kinds(model):
    """Name, number of layers and window, if any, of each kind of attention in a model."""
    windowed = model.window_layers
    if windowed < model.layers:
        yield "", model.layers - windowed, None
    if windowed:
        yield "window_" if windowed < model.layers else "", windowed, model.window


def _flash_attention(at, name, layers, window):
    w, width, q_dim = at.widths, at.model.head_dim, at.shard.q_dim
    heads = at.shard.heads
    flops = (4 * width + SOFTMAX_FLOPS) * heads * at.batch
    met = count_pairs(at.new, at.cached, window)
    read = _count_keys_crossing(at, q_dim // at.shard.kv_dim, w.stream * width, window)
    whole = window is None and at.shard.kv_cached == at.shard.kv_dim
    sizes = at.batch, at.new, at.cached, heads, at.shard.kv_dim // width, width, w.kv
    return Operation(
        f"{name}attention", layers, flops * met, _sink_bytes(at, heads),
        (w.stream + w.activations) * q_dim * at.tokens,
        2 * w.kv * at.shard.kv_cached * at.batch * read, at.how.attends,
        kernel=("attention", *sizes) if whole else (),
    )  # fmt: skip


def _count_keys_crossing(at, group, row, window=None):
    """Keys of a sequence that cross the memory: once, or for each block of query rows.

    They cross once where those that are needed at a time stay on the chip, and where one token is
    new. Otherwise Q, K, V and the output of a block have a quarter of the memory on the chip each.
    ``group`` rows of queries, ``row`` bytes each, share a key.
    """
    new, cached, on_chip = at.new, at.cached, at.how.rates.on_chip
    once = count_keys_read(new, cached, window)
    if at.decoding is True:
        return once
    blocks = -(-group * new // larger(on_chip // (4 * row), 1.0))
    needed = once if window is None else smaller(once, float(window))
    kept = at.decoding | (head_bytes(at.model, at.widths, needed) <= on_chip)
    return choose(kept, once, larger(once, count_keys_streamed(new, cached, blocks, window)))


def head_bytes(model, widths, keys):
    """Bytes of one head's K and V, or of the latent vectors that all heads share."""
    return (model.cached_width if model.latent else 2 * model.head_dim) * widths.kv * keys


def _unfused_attention(at, name, layers, window):
    w, width, q_dim = at.widths, at.model.head_dim, at.shard.q_dim
    heads, read = at.shard.heads, count_keys_read(at.new, at.cached, window)
    queries, scores = at.tokens * q_dim, at.tokens * heads * read
    cache = w.kv * at.batch * at.shard.kv_cached * read

    def part(called, flops, weights, activations, kv=0.0):
        return Operation(f"{name}{called}", layers, flops, weights, activations, kv, at.how.attends)

    flops, sinks = 2 * width * scores, _sink_bytes(at, heads)
    yield part("qk_matmul", flops, 0.0, w.stream * (queries + scores), cache)
    yield part("softmax", SOFTMAX_FLOPS * scores, sinks, 2 * w.stream * scores)
    yield part("sv_matmul", flops, 0.0, w.stream * scores + w.activations * queries, cache)


def _sink_bytes(at, heads):
    return at.widths.stream * float(at.model.sinks * heads)


def _latent_attention(at):
    """Heads that share one latent vector a token.

    Either K and V of each head are made from it, or queries and results are carried to it and
    back, which takes more FLOPs for a pair and none for a key: whichever is quicker on the machine.
    Fused, what is made or carried stays on the chip.
    """
    w, wide, rates = at.widths, at.model.latent, at.how.rates
    unfused = at.how.attention == "unfused"
    heads, layers = at.shard.heads, at.model.layers
    keys = count_keys_read(at.new, at.cached)
    met = at.tokens * keys if unfused else at.batch * count_pairs(at.new, at.cached)
    key, cached = wide.nope + wide.rope, wide.kv_rank + wide.rope
    matrices = float(wide.kv_rank * heads * (wide.nope + wide.value))
    crossing = keys if unfused else _count_keys_crossing(at, heads, w.stream * cached)
    activations = at.tokens * heads * (w.stream * key + w.activations * wide.value)
    if unfused:
        activations = activations + 4 * w.stream * heads * at.tokens * keys

    def way(multiplied, between, width, again):
        # Fused, two things take no traffic: what lies between the two operations, and reading the
        # latent vectors again to make the results.
        between = 2 * w.stream * heads * between if unfused else 0.0
        read = cached + again if unfused else cached
        return (
            Operation("kv_up_proj", layers, 2 * matrices * multiplied, w.weights * matrices,
                      dtype=at.how.linear),
            Operation("attention", layers, heads * (2 * width + SOFTMAX_FLOPS) * met, 0.0,
                      activations + between, w.kv * at.batch * read * crossing, at.how.attends),
        )  # fmt: skip

    def seconds(operations):
        first, second = operations
        return (larger(first.flops / rates.linear, first.bytes / rates.bandwidth)
                + larger(second.flops / rates.attends, second.bytes / rates.bandwidth))  # fmt: skip

    of_keys = at.batch * keys
    made = way(of_keys, of_keys * (wide.nope + wide.value), key + wide.value, 0)
    carried = way(at.tokens, at.tokens * 2 * wide.kv_rank, cached + wide.kv_rank, wide.kv_rank)
    makes = seconds(made) <= seconds(carried)
    for one, other in zip(made, carried, strict=True):
        yield one._replace(
            flops=choose(makes, one.flops, other.flops),
            activations=choose(makes, one.activations, other.activations),
            kv=choose(makes, one.kv, other.kv),
        )


def choose(holds, one, other):
    """``one`` where ``holds`` is true, and ``other`` elsewhere."""
    if isinstance(holds, np.ndarray):
        return np.where(holds, one, other)
    return one if holds else other


def _triangular_number(x):
    """1 + 2 + … + x; 0 for an x below 1."""
    x = larger(x, 0.0)
    return x * (x + 1) / 2
