"""How long a GPU's kernels take: whole tiles, waves of thread blocks, caches and memory.

Each formula takes a ``GPU``, which is what the data sheet says, and a mapping of constants, which
were fitted to measured kernels (gpus.toml), and gives seconds. Everything broadcasts.
"""

import math
from dataclasses import dataclass

import numpy as np

# Libraries choose among these output tiles of a thread block, and these numbers of blocks that
# share the sum along D. They try or know which is fastest, so the formula takes the fastest.
TILES = ((64, 64), (64, 128), (128, 64), (128, 128), (64, 256), (256, 64), (128, 256), (256, 128))
SPLITS = (1, 2, 3, 4, 8)
SPLIT_KEYS = 2.0 ** np.arange(8)  # as many blocks share the keys of a head in a step of decoding
_M, _N, _S = (
    np.array(column, float)
    for column in zip(*((m, n, s) for m, n in TILES for s in SPLITS), strict=True)
)
LARGEST_TILE = 2**15  # the largest tiles have so many outputs
SHAPES_AT_ONCE = 2**14  # so many shapes are tried at once, each with every tile and split
MATRIX_UNIT_ROWS = 16  # a matrix unit multiplies so many rows at a time
TILE_DEPTH = 64  # a block advances along D in whole steps of this length
BLOCK_THREADS = 1024  # so many threads of a block work on one row
BLOCK_QUERIES = (
    64  # a block of attention works on so many queries, and meets as many keys at a time
)

# How often each kind of kernel reads and writes an element. The constants of those that were not
# timed are those of a kind alike.
PASSES = {"add": 3, "rms_norm": 2, "layer_norm": 2, "gated_activation": 3, "activation": 2}
TIMED_KINDS = {"layer_norm": "rms_norm", "activation": "gated_activation"}


def check_kind(kind):
    """ValueError naming the kinds of row kernels for one that is none of them."""
    if kind not in PASSES:
        raise ValueError(f"kind must be one of {', '.join(PASSES)}, got {kind!r}")


@dataclass(frozen=True)
class GPU:
    """What the formulas need of a data sheet.

    ``peak`` in FLOP/s and ``bandwidth`` in bytes/s; ``multiprocessors``; ``cache``, bytes of L2;
    ``rows``, how many blocks of 1,024 threads one multiprocessor holds at once; ``clock`` in GHz.
    ``speed`` is that of one multiprocessor in TFLOP/s at 16 bits: what feeds its matrix units and
    its threads grew with these powers of it from A100 to H100.
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
    """Seconds of X[B, D] · W[D, F], and the waves of blocks it takes, 0 where memory decides.

    ``tile``, ``fed`` and ``moved`` are the multiprocessors' time, in whole waves; the L2 cache's,
    which feeds every tile its rows and columns, of which neighbours among the largest tiles share a
    fifth; the memory's. They overlap, though not where two are alike: the cube root of the sum
    of their cubes is the time. An element of W takes ``stored`` bytes, ``itemsize`` unless given:
    kernels that widen it are written for few rows, and their tiles are no higher than need be.

    Where ``turns`` of these matmuls, each with a W of its own, were timed in turn, the L2 cache may
    have held all of these: with three quarters of it or less, no W came from memory.

    Matmuls of 8 bits have a constant ``row``. Their inputs are narrowed first, in time that grows
    with the rows and with the elements; the rows alone decide their tile, and no sum is split.
    """
    c, stored = constants, itemsize if stored is None else stored
    shape = np.broadcast_shapes(np.shape(B), np.shape(D), np.shape(F))
    B, D, F = (np.broadcast_to(np.asarray(size, float), shape) for size in (B, D, F))
    if B.size > SHAPES_AT_ONCE:
        pieces = (np.array_split(size.ravel(), -(-B.size // SHAPES_AT_ONCE)) for size in (B, D, F))
        found = [matmul(gpu, c, *piece, itemsize, stored) for piece in zip(*pieces, strict=True)]
        return tuple(np.concatenate(parts).reshape(shape) for parts in zip(*found, strict=True))
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
    partial = np.where(s > 1, 8 * s, 0.0) * (B * F)  # partial sums are written and read in fp32
    weights = stored * D * F
    kept = np.clip(4 * (1 - c["turns"] * weights / gpu.cache), 0, 1) if "turns" in c else 0.0
    moved = (1 - kept) * weights + itemsize * B * D + max(itemsize, 2) * B * F + partial
    moved = moved / (c["bandwidth"] * gpu.bandwidth)
    times = np.cbrt(tile**3 + fed**3 + moved**3) + np.where(s > 1, c.get("join", 0.0), 0.0)
    if narrowing:
        times = np.where(chosen, times, np.inf)
    best = np.argmin(times, axis=0)[None]
    busy, waves, tile, fed, moved = (
        np.take_along_axis(np.broadcast_to(each, times.shape), best, 0)[0]
        for each in (times, waves, tile, fed, moved)
    )
    # Work that stays at the peak for long meets the power limit, and the clock slows down.
    ideal = 2 * B * D * F / gpu.peak
    seconds = c["overhead"] + busy * (1 + c["throttle"] * ideal / (ideal + 1e-3))
    if narrowing:
        read_and_written = 3 * B * D / (c["narrow"] * gpu.bandwidth)
        seconds = seconds + c["row"] * B / gpu.multiprocessors + read_and_written
    return seconds, np.where(moved > np.maximum(tile, fed), 0, waves)


def row_kernel(gpu, constants, rows, width, itemsize, kind):
    """Seconds of a residual add, a norm of each row, or an activation, gated or not.

    One block works on a row of a norm or an activation, ``BLOCK_THREADS`` elements at a time, and a
    multiprocessor holds ``gpu.rows`` of them: rows come in waves, and no faster than a
    multiprocessor has bytes under way. What the last kernels left in the L2 cache saves a share
    of the time, all of it where the bytes fill at most 0.6 of the cache, none from twice that.
    """
    c = constants
    moved = PASSES[kind] * itemsize * np.asarray(rows, float) * width
    saved = c["cached"] * np.clip(2 - moved / (0.6 * gpu.cache), 0, 1)
    from_memory = (1 - saved) * moved / (c["bandwidth"] * gpu.bandwidth)
    overhead = c["overhead"] / gpu.clock
    if kind == "add":
        return overhead + from_memory
    under_way = (1 - saved) * moved / (c["rate"] * gpu.row_path * gpu.multiprocessors)
    waves = np.ceil(rows / (gpu.rows * gpu.multiprocessors))
    one_by_one = waves * np.ceil(np.asarray(width) / BLOCK_THREADS) * c["step"] / gpu.clock
    return overhead + np.cbrt(from_memory**3 + under_way**3 + one_by_one**3)


def prefill(gpu, constants, batch, new, cached, heads, kv_heads, head_dim, kv_itemsize=2):
    """Seconds of fused attention over ``new`` tokens of each of ``batch`` sequences.

    A block works on ``BLOCK_QUERIES`` of a head's queries and meets as many keys at a time, up to the
    last that the mask shows it. Every pair costs the FLOPs of two products and those that its
    softmax takes the time of. All blocks share the multiprocessors; the longest comes last.
    Queries and results cross the memory meanwhile. K and V are put into the cache before.
    """
    c, rate = constants, constants["peak"] * gpu.peak / gpu.multiprocessors
    blocks, before = (
        np.ceil(np.asarray(new) / BLOCK_QUERIES),
        np.ceil(np.asarray(cached) / BLOCK_QUERIES),
    )
    step = BLOCK_QUERIES**2 * (4 * head_dim + c["softmax"]) / rate
    steps = blocks * before + blocks * (blocks + 1) / 2
    shared = batch * heads * (blocks * c["block"] + steps * step) / gpu.multiprocessors
    tokens = np.asarray(batch, float) * new
    moved = 4 * tokens * heads * head_dim / (c["bandwidth"] * gpu.bandwidth)
    kept = 2 * kv_itemsize * tokens * kv_heads * head_dim / (c["store"] * gpu.bandwidth)
    busy = shared + (blocks + before) * step
    return c["overhead"] + np.cbrt(busy**3 + moved**3) + kept


def decode(gpu, constants, batch, cached, heads, kv_heads, head_dim, kv_itemsize=2):
    """Seconds of fused attention where one token of each of ``batch`` sequences is new.

    A block works on the queries that share a head of K and V, and reads these at ``rate`` bytes/s;
    several blocks may share the keys, which ``join`` adds up. The fastest number of them is taken;
    with ``grouped_only`` they share keys only where queries share heads, and ``grouped`` is what
    sorting the queries by these takes. All keys cross the memory meanwhile.
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
    """Seconds to take each GPU's part of ``size`` bytes to all others, so many times.

    An all-reduce takes two ``passes``, an all-gather or a reduce-scatter one: after the latency and
    a ``hop`` for each GPU but one, passes (n-1)/n of the bytes cross the bus. The message is cut
    into pieces that follow one another through the steps: with the best number of them, filling
    the pipeline for s and moving for t take (sqrt(s) + sqrt(t))² together.
    """
    moving = passes * (gpus - 1) / gpus * np.asarray(size, float) / constants["bus"]
    waiting = constants["latency"] + (gpus - 1) * constants.get("hop", 0.0)
    return waiting + (math.sqrt(constants["fill"]) + np.sqrt(moving)) ** 2
