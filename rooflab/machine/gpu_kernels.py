"""Formulas for the time of GPU kernels: whole tiles, waves of thread blocks, caches and memory.

Each formula takes a ``GPU`` (data-sheet values) and a mapping of constants fitted to measured
kernels (gpus.toml), and returns seconds. All arguments broadcast.
"""

import math
from dataclasses import dataclass

import numpy as np

from roofkit.kernels import SOFTMAX_FLOPS
from roofkit.roofline import Cost

# Libraries choose the output tile of a thread block from TILES, and the number of blocks that share
# the sum along D from SPLITS. The formula uses the fastest combination.
TILES = ((64, 64), (64, 128), (128, 64), (128, 128), (64, 256), (256, 64), (128, 256), (256, 128))
SPLITS = (1, 2, 3, 4, 8)
SPLIT_KEYS = 2.0 ** np.arange(8)  # numbers of blocks that may share the keys of a head in decoding
_M, _N, _S = (
    np.array(column, float)
    for column in zip(*((m, n, s) for m, n in TILES for s in SPLITS), strict=True)
)
LARGEST_TILE = 2**15  # outputs of the largest tiles
SHAPES_AT_ONCE = 2**14  # shapes computed at once with all tiles and splits, to limit memory
MATRIX_UNIT_ROWS = 16  # rows that a matrix unit multiplies at a time
TILE_DEPTH = 64  # a block advances along D in whole steps of this length
BLOCK_THREADS = 1024  # threads per block; each block works on one row
BLOCK_QUERIES = 64  # queries per block of attention, and keys read at a time

# Reads plus writes per element for each kind of kernel. Kinds that were not timed use the constants
# of the similar kind in TIMED_KINDS.
PASSES = {"add": 3, "rms_norm": 2, "layer_norm": 2, "gated_activation": 3, "activation": 2}
TIMED_KINDS = {"layer_norm": "rms_norm", "activation": "gated_activation"}


def count_attention(batch, new, cached, heads, kv_heads, head_dim, kv_itemsize, size):
    """Return the Cost of causal attention over ``new`` tokens after ``cached`` in each sequence."""
    pairs = batch * (cached * new + new * (new + 1) / 2)
    moved = 2 * size * batch * new * heads * head_dim
    moved = moved + 2 * kv_itemsize * batch * (cached + new) * kv_heads * head_dim
    return Cost((4 * head_dim + SOFTMAX_FLOPS) * heads * pairs, moved)


def check_row_kernel_kind(kind):
    """Raise ValueError unless this is a kind of row kernel."""
    if kind not in PASSES:
        raise ValueError(f"kind must be one of {', '.join(PASSES)}, got {kind!r}")


@dataclass(frozen=True)
class GPU:
    """Data-sheet values that the formulas need.

    ``peak`` is in FLOP/s, ``bandwidth`` in bytes/s, ``clock`` in GHz and ``cache`` in bytes of L2.
    A multiprocessor runs ``rows`` blocks of 1,024 threads concurrently, and reaches ``speed``
    TFLOP/s at 16 bits. From A100 to H100, the data rates to its matrix units and its threads grew
    with the powers of ``speed`` given below.
    """

    peak: float
    bandwidth: float
    multiprocessors: float
    cache: float
    rows: int
    clock: float
    speed: float

    @property
    def tile_path(self):
        return self.speed**0.75

    @property
    def row_path(self):
        return self.speed**0.5


def matmul(gpu, constants, B, D, F, itemsize, stored=None):
    """Return the seconds of X[B, D] · W[D, F] and the number of waves (0 if memory-bound).

    ``tile`` is the multiprocessors' time for whole waves of blocks. ``fed`` is the L2 cache's time
    to send each tile its rows and columns; among the largest tiles, neighbours share a fifth of
    them. ``moved`` is the memory's time. The three overlap, but less when two are similar: the
    total is the cube root of the sum of their cubes. An element of W takes ``stored`` bytes, by
    default ``itemsize``. Kernels that widen W are designed for few rows, so their tiles are only as
    high as needed.

    If the timings cycled through ``turns`` matmuls with different weights, the L2 cache may have
    held all the weights. If they fill at most three quarters of it, none are read from memory.

    8-bit matmuls have a constant ``row``. They first narrow their inputs, at a cost per row and per
    element. Only the number of rows determines their tile. They do not split sums.
    """
    c, stored = constants, itemsize if stored is None else stored
    shape = np.broadcast_shapes(np.shape(B), np.shape(D), np.shape(F))
    B, D, F = (np.broadcast_to(np.asarray(size, float), shape) for size in (B, D, F))
    if B.size > SHAPES_AT_ONCE:
        pieces = (np.array_split(size.ravel(), -(-B.size // SHAPES_AT_ONCE)) for size in (B, D, F))
        results = [matmul(gpu, c, *piece, itemsize, stored) for piece in zip(*pieces, strict=True)]
        return tuple(np.concatenate(parts).reshape(shape) for parts in zip(*results, strict=True))
    m, n, s = (column.reshape(-1, *[1] * len(shape)) for column in (_M, _N, _S))
    narrowing = "row" in c
    if narrowing:
        lowest, narrowest = np.where(B <= 128, 64, 128), np.where(B <= 64, 64, 128)
        chosen = (s == 1) & (m >= lowest) & (n >= narrowest)
    if stored != itemsize:
        m = np.minimum(m, MATRIX_UNIT_ROWS * np.ceil(B / MATRIX_UNIT_ROWS))
    blocks = np.ceil(B / m) * np.ceil(F / n) * s
    k = TILE_DEPTH * np.ceil(D / (s * TILE_DEPTH))
    waves = np.ceil(blocks / gpu.multiprocessors)
    rate = gpu.peak / gpu.multiprocessors
    tile = waves * m * n * (2 * k / (c["peak"] * rate) + c["write"] / gpu.tile_path)
    side = (m * itemsize + n * stored) * np.where(m * n < LARGEST_TILE, 1.0, 0.8)
    fed = blocks * side * k / (c["cache"] * gpu.tile_path * gpu.multiprocessors)
    partial = np.where(s > 1, 8 * s, 0.0) * (B * F)  # fp32 partial sums, written and read
    weights = stored * D * F
    cached = np.clip(4 * (1 - c["turns"] * weights / gpu.cache), 0, 1) if "turns" in c else 0.0
    moved = (1 - cached) * weights + itemsize * B * D + max(itemsize, 2) * B * F + partial
    moved = moved / (c["bandwidth"] * gpu.bandwidth)
    times = np.cbrt(tile**3 + fed**3 + moved**3) + np.where(s > 1, c.get("join", 0.0), 0.0)
    if narrowing:
        times = np.where(chosen, times, np.inf)
    best = np.argmin(times, axis=0)[None]
    busy, waves, tile, fed, moved = (
        np.take_along_axis(np.broadcast_to(array, times.shape), best, 0)[0]
        for array in (times, waves, tile, fed, moved)
    )
    # Long kernels near the peak reach the power limit, which lowers the clock.
    ideal = 2 * B * D * F / gpu.peak
    seconds = c["overhead"] + busy * (1 + c["throttle"] * ideal / (ideal + 1e-3))
    if narrowing:
        narrowing_time = 3 * B * D / (c["narrow"] * gpu.bandwidth)
        seconds = seconds + c["row"] * B / gpu.multiprocessors + narrowing_time
    return seconds, np.where(moved > np.maximum(tile, fed), 0, waves)


def row_kernel(gpu, constants, rows, width, itemsize, kind):
    """Return the seconds of a residual add, a norm of each row, or a (gated) activation.

    In norms and activations, one block works on each row, ``BLOCK_THREADS`` elements at a time. A
    multiprocessor runs ``gpu.rows`` blocks, and its bytes in flight are limited. Data left in the
    L2 cache saves ``cached`` of the memory time up to 0.6 of the cache, and none from 1.2 on.
    """
    c = constants
    moved = PASSES[kind] * itemsize * np.asarray(rows, float) * width
    saved = c["cached"] * np.clip(2 - moved / (0.6 * gpu.cache), 0, 1)
    from_memory = (1 - saved) * moved / (c["bandwidth"] * gpu.bandwidth)
    overhead = c["overhead"] / gpu.clock
    if kind == "add":
        return overhead + from_memory
    in_flight = (1 - saved) * moved / (c["rate"] * gpu.row_path * gpu.multiprocessors)
    waves = np.ceil(rows / (gpu.rows * gpu.multiprocessors))
    in_waves = waves * np.ceil(np.asarray(width) / BLOCK_THREADS) * c["step"] / gpu.clock
    return overhead + np.cbrt(from_memory**3 + in_flight**3 + in_waves**3)


def prefill(gpu, constants, batch, new, cached, heads, kv_heads, head_dim, kv_itemsize=2):
    """Return the seconds of fused attention over ``new`` tokens in each of ``batch`` sequences.

    A block works on ``BLOCK_QUERIES`` queries of a head and reads as many keys at a time. Each
    query-key pair costs two products and a softmax. All blocks share the multiprocessors, and the
    longest runs last. Moving queries and results overlaps; writing K and V to the cache does not.
    """
    c, rate = constants, constants["peak"] * gpu.peak / gpu.multiprocessors
    blocks, before = (np.ceil(np.asarray(tokens) / BLOCK_QUERIES) for tokens in (new, cached))
    step = BLOCK_QUERIES**2 * (4 * head_dim + c["softmax"]) / rate
    steps = blocks * before + blocks * (blocks + 1) / 2
    shared = batch * heads * (blocks * c["block"] + steps * step) / gpu.multiprocessors
    tokens = np.asarray(batch, float) * new
    moved = 4 * tokens * heads * head_dim / (c["bandwidth"] * gpu.bandwidth)
    storing = 2 * kv_itemsize * tokens * kv_heads * head_dim / (c["store"] * gpu.bandwidth)
    busy = shared + (blocks + before) * step
    return c["overhead"] + np.cbrt(busy**3 + moved**3) + storing


def decode(gpu, constants, batch, cached, heads, kv_heads, head_dim, kv_itemsize=2):
    """Return the seconds of fused attention for one new token in each of ``batch`` sequences.

    A block works on the queries that share a KV head, and reads that head at ``rate`` bytes/s.
    Several blocks may split the keys, and joining their results takes ``join`` seconds. The formula
    uses the fastest split. With ``grouped_only``, blocks split the keys only if queries share KV
    heads; ``grouped`` is the time to sort queries by KV head. Reading memory overlaps with this.
    """
    c = constants
    batch, cached, heads, kv_heads = map(np.asarray, (batch, cached, heads, kv_heads))
    shape = np.broadcast_shapes(*(size.shape for size in (batch, cached, heads, kv_heads)))
    split = SPLIT_KEYS.reshape(-1, *[1] * len(shape))
    keys = 2 * kv_itemsize * head_dim * (cached + 1.0)
    waves = np.maximum(batch * kv_heads * split / gpu.multiprocessors, 1)
    busy = waves * (c["block"] + keys / split / c["rate"]) + np.where(split > 1, c["join"], 0.0)
    grouped = heads > kv_heads
    if c["grouped_only"]:
        busy = np.where((split > 1) & ~grouped, np.inf, busy)
    moved = (keys * kv_heads + 4 * heads * head_dim) * batch / (c["bandwidth"] * gpu.bandwidth)
    busy = np.cbrt(busy.min(axis=0) ** 3 + moved**3)
    return c["overhead"] + busy + np.where(grouped, c["grouped"], 0.0)


def collective(constants, size, gpus, passes=2):
    """Return the seconds to send each GPU's part of ``size`` bytes to all others, ``passes`` times.

    An all-reduce takes two passes; an all-gather or a reduce-scatter takes one. After the latency
    and n-1 times ``hop``, passes · (n-1)/n of the bytes cross the bus. The message is split into
    pieces that move through the steps as a pipeline. With the best number of pieces, the total is
    (sqrt(s) + sqrt(t))², where filling the pipeline takes s and moving the bytes takes t.
    """
    moving = passes * (gpus - 1) / gpus * np.asarray(size, float) / constants["bus"]
    waiting = constants["latency"] + (gpus - 1) * constants.get("hop", 0.0)
    return waiting + (math.sqrt(constants["fill"]) + np.sqrt(moving)) ** 2
