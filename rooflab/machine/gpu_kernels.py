"""Formulas for the time of GPU kernels: whole tiles, waves of thread blocks, caches and memory.

Each formula takes a ``GPU`` (figures from a data sheet) and a mapping of constants fitted to
measured kernels (gpus.toml), and returns seconds. Everything broadcasts.
"""

import math
from dataclasses import dataclass

import numpy as np

# Libraries choose the output tile of a thread block among TILES, and the number of blocks that
# share the sum along D among SPLITS. The formula takes the fastest of these.
TILES = ((64, 64), (64, 128), (128, 64), (128, 128), (64, 256), (256, 64), (128, 256), (256, 128))
SPLITS = (1, 2, 3, 4, 8)
SPLIT_KEYS = 2.0 ** np.arange(8)  # how many blocks may share the keys of a head when decoding
_M, _N, _S = (
    np.array(column, float)
    for column in zip(*((m, n, s) for m, n in TILES for s in SPLITS), strict=True)
)
LARGEST_TILE = 2**15  # outputs of the largest tiles
SHAPES_AT_ONCE = 2**14  # shapes tried at once, each with every tile and split, to limit memory
MATRIX_UNIT_ROWS = 16  # rows that a matrix unit multiplies at a time
TILE_DEPTH = 64  # a block advances along D in whole steps of this length
BLOCK_THREADS = 1024  # threads of a block, which work on one row
BLOCK_QUERIES = 64  # queries of a block of attention, and keys it reads at a time

# How often each kind of kernel reads or writes an element. Kinds that were not timed take the
# constants of the similar kind in TIMED_KINDS.
PASSES = {"add": 3, "rms_norm": 2, "layer_norm": 2, "gated_activation": 3, "activation": 2}
TIMED_KINDS = {"layer_norm": "rms_norm", "activation": "gated_activation"}


def check_kind(kind):
    """Raise ValueError for anything but a kind of row kernel."""
    if kind not in PASSES:
        raise ValueError(f"kind must be one of {', '.join(PASSES)}, got {kind!r}")


@dataclass(frozen=True)
class GPU:
    """The figures of a data sheet that the formulas need.

    ``peak`` is in FLOP/s, ``bandwidth`` in bytes/s, ``clock`` in GHz and ``cache`` in bytes of L2.
    A multiprocessor runs ``rows`` blocks of 1,024 threads at once, and reaches ``speed`` TFLOP/s
    at 16 bits. From A100 to H100, the rates that feed its matrix units and its threads grew with
    the powers of ``speed`` below.
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
    """Return the seconds of X[B, D] · W[D, F], and its waves of blocks (0 if memory-bound).

    ``tile`` is the time of the multiprocessors in whole waves. ``fed`` is the time of the L2 cache,
    which feeds every tile its rows and columns; among the largest tiles, neighbours share a fifth
    of them. ``moved`` is the time of the memory. The three overlap, but less so when two are
    similar: the total is the cube root of the sum of their cubes. An element of W takes ``stored``
    bytes, by default ``itemsize``. Kernels that widen W are written for few rows, so their tiles
    are only as high as needed.

    If the timings ran ``turns`` matmuls in turn, each with another W, the L2 cache may have held
    every W. If they fill at most three quarters of it, no W came from memory.

    Matmuls in 8 bits have a constant ``row``. They narrow their inputs first, in a time that grows
    with the rows and the elements. The rows alone decide their tile, and they do not split sums.
    """
    c, stored = constants, itemsize if stored is None else stored
    shape = np.broadcast_shapes(np.shape(B), np.shape(D), np.shape(F))
    B, D, F = (np.broadcast_to(np.asarray(size, float), shape) for size in (B, D, F))
    if B.size > SHAPES_AT_ONCE:
        pieces = (np.array_split(size.ravel(), -(-B.size // SHAPES_AT_ONCE)) for size in (B, D, F))
        results = [matmul(gpu, c, *piece, itemsize, stored) for piece in zip(*pieces, strict=True)]
        return tuple(np.concatenate(parts).reshape(shape) for parts in zip(*results, strict=True))
    m, n, s = (column.reshape(-1, *[1] * len(shape)) for column in (_M, _N, _S))
    if stored != itemsize:
        m = np.minimum(m, MATRIX_UNIT_ROWS * np.ceil(B / MATRIX_UNIT_ROWS))
    narrowing = "row" in c
    if narrowing:
        lowest, narrowest = np.where(B <= 128, 64, 128), np.where(B <= 64, 64, 128)
        chosen = (s == 1) & (m >= lowest) & (n >= narrowest)
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
    # Long work at the peak reaches the power limit, which lowers the clock.
    ideal = 2 * B * D * F / gpu.peak
    seconds = c["overhead"] + busy * (1 + c["throttle"] * ideal / (ideal + 1e-3))
    if narrowing:
        narrowing_time = 3 * B * D / (c["narrow"] * gpu.bandwidth)
        seconds = seconds + c["row"] * B / gpu.multiprocessors + narrowing_time
    return seconds, np.where(moved > np.maximum(tile, fed), 0, waves)


def row_kernel(gpu, constants, rows, width, itemsize, kind):
    """Return the seconds of a residual add, a norm of each row, or an activation, gated or not.

    One block works on a row of a norm or an activation, ``BLOCK_THREADS`` elements at a time. A
    multiprocessor runs ``gpu.rows`` blocks, so rows come in waves, and it can have only so many
    bytes in flight. Data that earlier kernels left in the L2 cache save up to the share ``cached``
    of the time: all of it if the bytes fill at most 0.6 of the cache, none from twice that.
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
    """Return the seconds of fused attention over ``new`` tokens of each of ``batch`` sequences.

    A block works on ``BLOCK_QUERIES`` queries of a head and reads as many keys at a time, up to the
    last one that the mask allows. Every pair costs the FLOPs of two products, and the time of its
    softmax counted in FLOPs. All blocks share the multiprocessors, and the longest block comes
    last. Queries and results cross the memory meanwhile. K and V go into the cache beforehand.
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
    """Return the seconds of fused attention for one new token of each of ``batch`` sequences.

    A block works on the queries that share a head of K and V, which it reads at ``rate`` bytes/s.
    Several blocks may split the keys, and joining their results takes ``join``. The formula takes
    the fastest split. With ``grouped_only``, blocks split the keys only if queries share heads;
    ``grouped`` is the time to sort queries by head. All keys cross the memory meanwhile.
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
    """Return the seconds to take each GPU's part of ``size`` bytes to all others, ``passes`` times.

    An all-reduce takes two passes, an all-gather or a reduce-scatter one. After the latency and a
    ``hop`` for each GPU but one, passes · (n-1)/n of the bytes cross the bus. The message is cut
    into pieces that move through the steps as a pipeline. With the best number of pieces, filling
    the pipeline in s and moving the bytes in t take (sqrt(s) + sqrt(t))² in all.
    """
    moving = passes * (gpus - 1) / gpus * np.asarray(size, float) / constants["bus"]
    waiting = constants["latency"] + (gpus - 1) * constants.get("hop", 0.0)
    return waiting + (math.sqrt(constants["fill"]) + np.sqrt(moving)) ** 2
