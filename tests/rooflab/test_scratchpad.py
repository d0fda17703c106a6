"""The two-level memory: its counts against closed formulas, its bound against every schedule.

Least traffic is searched for among all schedules where there are few enough of them.
"""

import heapq
import itertools
import math

import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import roofkit as rk
from rooflab.scratchpad import Scratchpad, least_matmul_bytes

lengths = st.integers(1, 9)
shapes = st.tuples(lengths, lengths, lengths)
seeds = st.integers(0, 2**32 - 1)


class Run:
    """X[M, K] · Y[K, N] -> Z[M, N] on a pad of so many elements, checked when done."""

    def __init__(self, shape, elements=math.inf, seed=0):
        self.M, self.N, self.K = shape
        draw = np.random.default_rng(seed)
        self.values = draw.normal(size=(self.M, self.K)), draw.normal(size=(self.K, self.N))
        self.pad = Scratchpad(2 * elements)
        self.X, self.Y = map(self.pad.array, self.values)
        self.Z = self.pad.array(shape=(self.M, self.N))

    def counts(self):
        """Elements loaded and stored, once the result is right."""
        left, right = self.values
        self.pad.check(self.Z, left @ right)
        assert self.pad.cost.flops == 2 * self.M * self.N * self.K
        assert self.pad.used == 0
        return self.pad.loaded / 2, self.pad.stored / 2


def tiles(run, rows, columns, depth):
    """A tile of Z stays while slices of X and Y of this depth pass; ends may be ragged."""
    pad, X, Y, Z = run.pad, run.X, run.Y, run.Z
    for i in range(0, run.M, rows):
        for j in range(0, run.N, columns):
            target = Z[i : i + rows, j : j + columns]
            with pad.zeros(target.shape) as z:
                for k in range(0, run.K, depth):
                    with (
                        pad.load(X[i : i + rows, k : k + depth]) as x,
                        pad.load(Y[k : k + depth, j : j + columns]) as y,
                    ):
                        pad.matmul(x, y, into=z)
                pad.store(z, target)


def tiles_room(M, N, K, rows, columns, depth):
    rows, columns, depth = min(rows, M), min(columns, N), min(depth, K)
    return rows * columns + depth * (rows + columns)


@given(shape=shapes, tile=shapes, seed=seeds)
@settings(max_examples=50)
def test_any_tiling_counts_as_its_formula_says_and_never_beats_the_bound(shape, tile, seed):
    elements = tiles_room(*shape, *tile)
    run = Run(shape, elements, seed)
    tiles(run, *tile)
    M, N, K = shape
    run.counts()
    assert run.pad.cost == rk.matmul(M, K, N, tile=tile[:2])
    assert run.pad.cost.bytes >= least_matmul_bytes(*shape, capacity=2 * elements)
    assert run.pad.most_used == run.pad.capacity == 2 * elements
    assert run.X.loaded + run.Y.loaded == run.pad.loaded
    assert run.Z.stored == run.pad.stored == run.Z.nbytes
    with pytest.raises(ValueError, match="are free"):
        tiles(Run(shape, elements - 0.5), *tile)


def least_traffic(shape, elements):
    """The traffic of the best of all schedules, by A* over what is held and what is done."""
    M, N, K = shape
    names = [
        (operand, *place)
        for operand, rows, columns in (("X", M, K), ("Y", K, N), ("Z", M, N))
        for place in itertools.product(range(rows), range(columns))
    ]
    bit = {name: 1 << index for index, name in enumerate(names)}
    products = list(itertools.product(range(M), range(N), range(K)))
    needs = [bit["X", i, k] | bit["Y", k, j] | bit["Z", i, j] for i, j, k in products]
    uses = {name: sum(1 << p for p, need in enumerate(needs) if need & bit[name]) for name in names}
    everything = (1 << len(products)) - 1

    def to_come(held, done):
        """What is certain to be paid yet: loads of what is needed, and the stores of results."""
        return sum(
            (uses[name] & ~done != 0 and not held & bit[name] and fetching(name, done))
            + (name[0] == "Z" and (uses[name] & ~done != 0 or held & bit[name] != 0))
            for name in names
        )

    def fetching(name, done):
        return 0 if name[0] == "Z" and not uses[name] & done else 1

    start = (0, 0)
    paid = {start: 0}
    queue = [(to_come(*start), 0, start)]
    while True:
        total, _, state = heapq.heappop(queue)
        held, done = state
        if total > paid[state] + to_come(*state):
            continue
        if done == everything:
            return total
        full = held.bit_count() == elements
        for fetched in names:
            if held & bit[fetched] or not uses[fetched] & ~done:
                continue
            for left in [name for name in names if held & bit[name]] if full else [None]:
                now = (held ^ (bit[left] if left else 0)) | bit[fetched]
                cost = paid[state] + fetching(fetched, done) + (left is not None and left[0] == "Z")
                then = done | sum(1 << p for p, need in enumerate(needs) if need & now == need)
                if cost < paid.get((now, then), math.inf):
                    paid[now, then] = cost
                    heapq.heappush(queue, (cost + to_come(now, then), -cost, (now, then)))


@cases(
    ("shape", "elements", "least"),
    [
        ((1, 1, 4), 3, 9),  # a dot product: nothing to reuse
        ((2, 2, 1), 3, 9),  # one element of X or Y comes twice
        ((2, 2, 1), 4, 8),  # each once
        ((1, 3, 2), 5, 11),
        ((2, 2, 2), 4, 14),
        ((2, 2, 2), 7, 12),
        ((2, 2, 3), 7, 16),
    ],
)
def test_the_best_of_all_schedules_is_no_better_than_the_bound(shape, elements, least):
    assert least_traffic(shape, elements) == least
    assert 2 * least >= least_matmul_bytes(*shape, capacity=2 * elements)


def test_the_bound_is_the_larger_of_each_operand_once_and_of_reuse():
    once = rk.matmul(B=64, D=4096, F=64).bytes
    assert least_matmul_bytes(64, 64, 4096, capacity=math.inf) == once
    assert least_matmul_bytes(64, 64, 4096, capacity=2 * 64**2) == once
    assert least_matmul_bytes(64, 64, 4096, capacity=2 * 16**2) == 2 * 2 * 64 * 64 * 4096 / 16
    # Twice the bytes an element: half the elements fit, and each moves twice the bytes.
    narrow, wide = (least_matmul_bytes(512, 512, 512, 2048, dtype) for dtype in ("bf16", "fp32"))
    assert wide / narrow == pytest.approx(2**1.5)


def test_the_bound_broadcasts_and_says_what_it_cannot_take():
    sizes, capacities = np.array([[64], [512]]), np.array([6.0, 512, 2e6])
    table = least_matmul_bytes(sizes, sizes, 512, capacities, "bf16")
    assert table.shape == (2, 3)
    for row, size in enumerate((64, 512)):
        for column, capacity in enumerate(capacities):
            alone = least_matmul_bytes(size, size, 512, float(capacity))
            assert table[row, column] == pytest.approx(alone, rel=1e-15)
    assert type(least_matmul_bytes(4, 4, 4, 1000)) is int
    with pytest.raises(ValueError, match="capacity must be at least 6, got 4"):
        least_matmul_bytes(4, 4, 4, capacity=4)
    with pytest.raises(ValueError, match="M must be finite and above 0"):
        least_matmul_bytes(0, 4, 4, capacity=8)
    with pytest.raises(ValueError, match="dtype='bf8' is not known"):
        least_matmul_bytes(4, 4, 4, capacity=8, dtype="bf8")
    with pytest.raises(ValueError, match="shapes do not broadcast"):
        least_matmul_bytes([1, 2, 3], 4, 4, capacity=[8, 16])
    with pytest.raises(ValueError, match="until their symbols have values"):
        least_matmul_bytes(sympy.Symbol("M", positive=True), 4, 4, capacity=8)


def test_sums_and_extremes_take_the_axis_kept_or_left_out():
    pad = Scratchpad(1000)
    x = pad.load(pad.array(np.arange(6.0).reshape(2, 3) - 9))
    Z = pad.array(shape=(4, 3))
    for axis, shape, total in (
        (0, (3,), [-15, -13, -11]),
        (0, (1, 3), [-15, -13, -11]),
        (1, (2,), [-24, -15]),
        (None, (), -39),
        (None, (1, 1), -39),
        ((0, 1), (1, 1), -39),
    ):
        before = pad.cost.flops
        with pad.zeros(shape) as s:
            pad.sum(x, into=s, axis=axis)
            pad.sum(x, into=s, axis=axis)
            out = pad.array(shape=shape)
            pad.store(s, out)
            pad.check(out, 2 * np.reshape(np.array(total, dtype=float), shape))
        assert pad.cost.flops - before == 12
    with pad.zeros((2, 1)) as most:
        pad.max(x, into=most, axis=1)
        pad.store(most, Z[:2, :1])
    pad.check(Z[:2, :1], np.zeros((2, 1)))  # max starts from what into holds
    with pytest.raises(ValueError, match="axis=5 of 2 × 3"):
        pad.sum(x, into=x, axis=5)
    with pytest.raises(ValueError, match="2 × 3 along axis 1 gives 2 × 1, but into is 2 × 3"):
        pad.sum(x, into=x, axis=1)


@cases(("dtype", "size"), [("fp64", 8), ("fp32", 4), ("bf16", 2), ("fp8", 1), ("int4", 0.5)])
def test_the_dtype_sets_the_bytes_and_not_the_numbers(dtype, size):
    pad = Scratchpad(6 * size, dtype)
    X, Z = pad.array([[1 / 3, 1e-30, 1e30]]), pad.array(shape=(1, 3))
    with pad.load(X) as x:
        pad.store(x, Z)
        assert pad.used == x.nbytes == 3 * size
    pad.check(Z, [[1 / 3, 1e-30, 1e30]])
    assert (pad.loaded, pad.stored, pad.used, pad.most_used) == (3 * size, 3 * size, 0, 3 * size)


@pytest.fixture
def pad():
    return Scratchpad(24)  # 12 elements of bf16


def raises(message):
    return pytest.raises(ValueError, match=message)


def test_what_does_not_fit_is_refused_with_all_there_is_to_know(pad):
    X = pad.array(np.ones((4, 4)), name="X")
    x = pad.load(X[0:2, 0:4])
    with raises(
        r"zeros\(2, 4\) needs 16 bytes; 8 of 24 are free. In fast memory: block of "
        r"X\[0:2, 0:4\] \(16 bytes\). Free a block"
    ):
        pad.zeros((2, 4))
    assert (pad.used, pad.most_used, pad.loaded) == (16, 16, 16)
    with raises(r"block of X\[0:3, 0:2\] needs 12 bytes; 8 of 24"):
        pad.load(X[0:3, 0:2])
    assert pad.loaded == 16
    pad.free(x)
    for _ in range(8):
        pad.zeros(())
    with raises("In fast memory: 2 more, zeros"):
        pad.load(X)
    empty = Scratchpad(24)
    with raises("zeros.* needs 26 bytes; 24 of 24 are free. In fast memory: nothing"):
        empty.zeros(13)


def test_a_freed_block_is_gone_and_with_frees_even_when_something_fails(pad):
    X = pad.array(np.ones((2, 2)), name="X")
    x = pad.load(X)
    pad.free(x)
    for use in (
        lambda: pad.free(x),
        lambda: pad.store(x, X),
        lambda: pad.apply(np.exp, x, into=x),
        lambda: pad.matmul(x[0:1], x, into=x),
        lambda: x.__enter__(),
    ):
        with raises("block of X.* was freed; free it later, or load it again"):
            use()
    with raises("takes 2 blocks, got 1"), pad.load(X) as x:
        pad.apply(np.add, x, into=x)
    assert pad.used == 0
    with pad.load(X) as x:
        pad.free(x)
        assert repr(x) == "Block(block of X, 2 × 2, 8 bytes, freed)"
    x = pad.load(X)
    with raises(r"block of X\[0:1\] is only a part; free the whole block of X"):
        pad.free(x[0:1])
    assert repr(x.T[0:1]) == "Block(block of X.T[0:1], 1 × 2, 4 bytes, in fast memory)"
    assert pad.used == 8


def test_each_memory_wants_its_own_handles(pad):
    X = pad.array(np.ones((2, 2)), name="X")
    x = pad.load(X)
    with raises("X is in slow memory; load it first"):
        pad.matmul(X, x, into=x)
    with raises("block of X is in fast memory; pass an array instead"):
        pad.load(x)
    with raises("block of X is in fast memory; pass an array instead"):
        pad.check(x, np.ones((2, 2)))
    for value in (np.ones((2, 2)), 2.0):
        with raises("expected a block, as from pad.load, got"):
            pad.apply(np.multiply, x, value, into=x)
        with raises("expected an array of this pad, got"):
            pad.load(value)
    other = Scratchpad(24)
    for use in (lambda: other.load(X), lambda: other.free(x), lambda: other.store(x, X)):
        with raises("X belongs to another Scratchpad"):
            use()


def test_regions_end_at_the_edge_and_lie_inside(pad):
    X = pad.array(np.arange(20.0).reshape(4, 5), name="X")
    assert X[3:6, 4:8].shape == (1, 1)
    assert (X[1].shape, X[1, 2].shape, X[-1:, ::2].shape) == ((5,), (), (1, 3))
    assert repr(X[1:3, 0:4]) == "Array(X[1:3, 0:4], 2 × 4, 16 bytes in slow memory)"
    assert repr(X[1:][0, ::2]) == "Array(X[1:][0, ::2], (3,), 6 bytes in slow memory)"
    with pad.load(X[1, 2]) as x, pad.load(X[0:2][1:, 2:3]) as y:
        assert (x.shape, y.shape) == ((), (1, 1))
    with raises(r"X\[4:8, 0:2\] is empty; the whole is 4 × 5"):
        X[4:8, 0:2]
    with raises("X is 4 × 5: .*out of bounds"):
        X[4, 0]
    with raises("X is 4 × 5: too many indices"):
        X[0:1, 0:1, 0:1]
    for index in (0.5, [0, 1], None, True, "a", ...):
        with raises(r"X takes ranges like \[0:4, 8:16\], got"):
            X[index]
    with raises("X is 4 × 5: slice indices must be integers"):
        X[0:1.5]


def test_shapes_must_fit(pad):
    X, Z = pad.array(np.ones((2, 3)), name="X"), pad.array(shape=(4, 4), name="Z")
    x, s = pad.load(X), pad.zeros((2, 2))
    with raises(
        "matmul needs x of m × k, y of k × n and into of m × n, got 2 × 3, 2 × 3 and 2 × 2"
    ):
        pad.matmul(x, x, into=s)
    with raises("got \\(3,\\), 3 × 2 and 2 × 2"):
        pad.matmul(x[0], x.T, into=s)
    with raises("add of 2 × 3 and 2 × 2 doesn.t fit into 2 × 2"):
        pad.apply(np.add, x, s, into=s)
    with raises("exp of 2 × 3 doesn.t fit into 2 × 2"):
        pad.apply(np.exp, x, into=s)
    with raises(r"block of X is 2 × 3 and does not fill Z\[0:2, 0:2\], 2 × 2"):
        pad.store(x, Z[0:2, 0:2])
    with raises(r"into and zeros\(2, 2\)\[0:1\] share memory"):
        pad.matmul(s[0:1], s, into=s[0:1])
    with raises("into and block of X share memory"):
        pad.max(x, into=x[:, 0:1], axis=1)
    assert pad.cost.flops == 0


def test_apply_takes_numpys_own_elementwise_functions_alone(pad):
    x = pad.load(pad.array([[1.0]]))
    secret = np.frompyfunc(lambda value: 42.0, 1, 1)
    for function in (secret, np.sum, math.exp, "add"):
        with raises("apply takes a NumPy ufunc"):
            pad.apply(function, x, into=x)
    with raises("np.matmul isn.t elementwise"):
        pad.apply(np.matmul, x, x, into=x)
    with raises("np.modf isn.t elementwise"):
        pad.apply(np.modf, x, into=x)
    with raises("np.bitwise_and doesn.t work on real numbers"):
        pad.apply(np.bitwise_and, x, x, into=x)
    assert pad.cost.flops == 0


def test_what_was_never_written_cannot_be_read_or_pass(pad):
    Z = pad.array(shape=(3, 3), name="Z")
    with raises(r"Z\[0:2\] can.t be loaded: \[0, 0\] was never stored"):
        pad.load(Z[0:2])
    with pad.zeros((2, 3)) as z:
        pad.store(z, Z[0:2])
    pad.free(pad.load(Z[1:2, 1:]))
    with raises(r"Z can.t be loaded: \[2, 0\] was never stored"):
        pad.load(Z)
    with raises("Z is not complete: 3 of 9 elements were never stored, the first at .2, 0."):
        pad.check(Z, np.zeros((3, 3)))
    pad.check(Z[:2], np.zeros((2, 3)))


def test_check_says_where_and_by_how_much(pad):
    Z = pad.array([[1.0, 2, 3], [4, 5.25, 7]], name="Z")
    with raises(r"Z differs in 2 of 6 elements, first at \[1, 1\]: 5.25 instead of 5, off by 0.25"):
        pad.check(Z, [[1, 2, 3], [4, 5, 6]])
    with raises("Z is 2 × 3, but expected is \\(3,\\)"):
        pad.check(Z, [1, 2, 3])
    with raises("expected must be one or more real numbers"):
        pad.check(Z, "ones")
    pad.check(Z, [[1, 2, 3 * (1 + 1e-12)], [4, 5.25, 7]])
    odd = pad.array([np.nan, np.inf])
    pad.check(odd, [np.nan, np.inf])
    with raises("first at .1.: inf instead of 1"):
        pad.check(odd, [np.nan, 1])


def test_arguments_that_make_no_sense_are_named():
    with raises("dtype='bf8' is not known; use one of"):
        Scratchpad(24, "bf8")
    for capacity in (0, -1, "24", None, math.nan):
        with raises("capacity must be"):
            Scratchpad(capacity)
    with raises("capacity must be a single number of bytes"):
        Scratchpad([24, 48])
    pad = Scratchpad(24)
    with raises("either values or shape"):
        pad.array()
    with raises("either values or shape"):
        pad.array([1], shape=(1,))
    for values in ([1j], ["a"], [], [[1], [1, 2]]):
        with raises("array .* must be"):
            pad.array(values)
    for shape in ((0, 2), (2.0, 2), "2", None, -1):
        with raises("shape must be whole numbers of at least 1"):
            pad.zeros(shape)
    for value in (2, 0.5, math.nan, np.ones(2), "0"):
        with raises("a block can be filled with 0, 1, inf or -inf"):
            pad.full((2, 2), value)


def test_no_number_comes_out_of_a_handle():
    pad = Scratchpad(24)
    X = pad.array([[1.0, 2.0]])
    x = pad.load(X)
    for handle in (X, X[0:1], x, x[0:1], x.T):
        for read in (np.asarray, list, float, lambda handle: handle + 1, lambda h: np.add(h, h)):
            with pytest.raises((ValueError, TypeError)):
                read(handle)
        public = [getattr(handle, name) for name in dir(handle) if not name.startswith("_")]
        assert not [value for value in public if isinstance(value, (np.ndarray, memoryview))]
    for count in ("cost", "loaded", "stored", "used", "most_used", "capacity"):
        with pytest.raises(AttributeError):
            setattr(pad, count, 0)


def test_data_are_copied_on_the_way_in():
    values = np.ones((2, 2))
    pad = Scratchpad(24)
    X = pad.array(values)
    values[:] = 7
    pad.check(X, np.ones((2, 2)))
    with pad.load(X) as x:
        pad.apply(np.add, x, x, into=x)
    pad.check(X, np.ones((2, 2)))
