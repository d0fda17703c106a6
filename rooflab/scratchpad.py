"""A simulated machine with two memories that counts the bytes and FLOPs of your own loops.

Slow memory is unlimited, and fast memory has ``capacity`` bytes. Arithmetic works only in fast
memory, so you load the operands and store the results you want to keep. Only loads and stores move
bytes. Nothing is timed.
"""

import math
import operator

import numpy as np

from roofkit._inputs import check_broadcast, check_number, check_sizes, itemsize
from roofkit._units import format_quantity
from roofkit.roofline import Cost, larger
from rooflab.scratchpad_arrays import Array, Block, Handle, format_shape

# Initial values of sums, products, minima and maxima. All other numbers are data to be loaded.
START_VALUES = (0.0, 1.0, math.inf, -math.inf)
# Summing in another order changes a result only by rounding errors, smaller than this share of it.
TOLERANCE = 1e-9
BLOCKS_LISTED = 6  # the most blocks that an error message lists


class Scratchpad:
    """Slow memory, fast memory of ``capacity`` bytes, and counters of FLOPs and bytes.

    Parameters
    ----------
    capacity : bytes of fast memory; math.inf for no limit
    dtype : sets how many bytes an element counts as; the numbers themselves are float64

    ``array`` puts data into slow memory. ``load`` and ``zeros`` make blocks in fast memory,
    ``matmul``, ``apply``, ``sum`` and ``max`` compute with them, ``store`` writes a block back, and
    ``free`` releases its memory. Arrays and blocks are handles: you can read their shape, but not
    their numbers.

    Raises ValueError for a block that does not fit or was freed, for a region that was never
    written, and for a wrong shape.

    >>> X = np.arange(16.0).reshape(4, 4)
    >>> pad = Scratchpad(capacity=24)                  # bf16: room for 12 elements
    >>> x, z = pad.array(X), pad.array(shape=(4, 4))
    >>> for i in range(0, 4, 2):
    ...     for j in range(0, 4, 2):
    ...         with pad.zeros((2, 2)) as tile:
    ...             for k in range(0, 4, 2):
    ...                 with pad.load(x[i:i+2, k:k+2]) as a, pad.load(x[k:k+2, j:j+2]) as b:
    ...                     pad.matmul(a, b, into=tile)
    ...             pad.store(tile, z[i:i+2, j:j+2])
    >>> pad.check(z, X @ X)
    >>> pad
    Scratchpad(128 FLOP, 128 B loaded, 32 B stored, at most 24 B of 24 B used)
    """

    def __init__(self, capacity, dtype="bf16"):
        self._itemsize = itemsize(dtype)
        self._capacity = check_number(capacity, "capacity", finite=False)
        if not isinstance(self._capacity, (int, float)):
            raise ValueError(f"capacity must be a single number of bytes, got {capacity!r}")
        self._flops = self._loaded = self._stored = self._used = self._most_used = 0
        self._blocks = {}  # the blocks in fast memory, oldest first
        self._arrays = 0

    def __repr__(self):
        flops, loaded, stored, most, capacity = (
            format_quantity(value, unit)
            for value, unit in (
                (self._flops, "FLOP"), (self._loaded, "B"), (self._stored, "B"),
                (self._most_used, "B"), (self._capacity, "B"),
            )
        )  # fmt: skip
        return (
            f"Scratchpad({flops}, {loaded} loaded, {stored} stored, "
            f"at most {most} of {capacity} used)"
        )

    @property
    def capacity(self):
        """Bytes of fast memory."""
        return self._capacity

    @property
    def cost(self):
        """The FLOPs done and bytes moved so far, as a Cost."""
        return Cost(self._flops, self._loaded + self._stored)

    @property
    def loaded(self):
        """Bytes moved from slow to fast memory."""
        return self._loaded

    @property
    def stored(self):
        """Bytes moved from fast to slow memory."""
        return self._stored

    @property
    def used(self):
        """Bytes of fast memory in use now."""
        return self._used

    @property
    def most_used(self):
        """The most bytes of fast memory ever in use at one time."""
        return self._most_used

    def array(self, values=None, *, shape=None, name=None):
        """Return an array in slow memory, with these values or still unwritten, at no cost.

        Error messages use ``name``.
        """
        if (values is None) == (shape is None):
            raise ValueError("give either values or shape=(rows, columns)")
        self._arrays += 1
        name = f"array {self._arrays}" if name is None else name
        if values is None:
            shape = _check_shape(shape)
            return Array(self, np.zeros(shape), name, np.zeros(shape, dtype=bool))
        values = _check_numbers(values, name)
        return Array(self, values, name, np.ones(values.shape, dtype=bool))

    def load(self, region):
        """Copy an array or a region, such as ``X[0:4, 8:16]``, to a new block; count its bytes."""
        self._check_array(region)
        if not region._written.all():
            raise ValueError(
                f"{region._label()} can't be loaded: {_first_place(~region._written)} was never "
                "stored; start from pad.zeros instead"
            )
        block = self._make_block(region._values, region)
        self._loaded += block.nbytes
        region._whole._loaded += block.nbytes
        return block

    def zeros(self, shape):
        """Return a block of zeros in fast memory, without moving any bytes."""
        return self.full(shape, 0.0)

    def full(self, shape, value):
        """Return a block of 0, 1, inf or -inf, to start a sum, product, minimum or maximum.

        It moves no bytes. Any other number is data: put it into an array and load it.
        """
        if not isinstance(value, (int, float)) or value not in START_VALUES:
            raise ValueError(
                f"a block can be filled with 0, 1, inf or -inf, got {value!r}; "
                "load other numbers from an array"
            )
        shape = _check_shape(shape)
        name = f"full({shape}, {value:g})" if value else f"zeros{shape}"
        return self._make_block(np.broadcast_to(float(value), shape), name)

    def store(self, block, region):
        """Copy a block to an array or a region of the same shape, and count its bytes.

        The block stays in fast memory until you free it.
        """
        values = self._check_block(block)
        self._check_array(region)
        if values.shape != region.shape:
            raise ValueError(
                f"{block._label()} is {format_shape(values.shape)} and does not fill "
                f"{region._label()}, {format_shape(region.shape)}; store a block of that shape"
            )
        region._values[...] = values
        region._written[...] = True
        self._stored += block.nbytes
        region._whole._stored += block.nbytes

    def free(self, *blocks):
        """Release the memory of these blocks; numbers that were not stored are lost."""
        for block in blocks:
            self._check_block(block)
            if block._whole is not block:
                raise ValueError(
                    f"{block._label()} is only a part; free the whole {block._whole._label()}"
                )
            del self._blocks[block]
            self._used -= block.nbytes

    def matmul(self, x, y, *, into):
        """Compute into += x @ y for blocks of m × k, k × n and m × n: 2mnk FLOPs."""
        a, b, c = self._check_block(x), self._check_block(y), self._check_block(into)
        if not (
            a.ndim == b.ndim == c.ndim == 2
            and a.shape[1] == b.shape[0]
            and c.shape == (a.shape[0], b.shape[1])
        ):
            raise ValueError(
                "matmul needs x of m × k, y of k × n and into of m × n, got "
                f"{format_shape(a.shape)}, {format_shape(b.shape)} and {format_shape(c.shape)}"
            )
        _check_no_overlap(into, x, y)
        c += a @ b
        self._flops += 2 * a.size * b.shape[1]

    def apply(self, ufunc, *blocks, into):
        """Compute into = ufunc(block, …) element by element: 1 FLOP for each element of into.

        ``ufunc`` is a NumPy ufunc, such as np.add, np.multiply, np.exp or np.maximum. Blocks
        broadcast like arrays, and into may be one of them.
        """
        _check_elementwise(ufunc, len(blocks))
        values, target = [self._check_block(block) for block in blocks], self._check_block(into)
        shapes = [array.shape for array in values]
        if _broadcast_shape(shapes) != target.shape:
            raise ValueError(
                f"{ufunc.__name__} of {' and '.join(map(format_shape, shapes))} doesn't fit into "
                f"{format_shape(target.shape)}; each length must be 1 or the same as in into"
            )
        try:
            ufunc(*values, out=target)
        except TypeError:
            raise ValueError(f"np.{ufunc.__name__} doesn't work on real numbers") from None
        self._flops += target.size

    def sum(self, x, *, into, axis=None):
        """Add the sum of x, along an axis or of all elements, to into: 1 FLOP per element of x.

        You can sum chunk by chunk, since into keeps its numbers. The summed axis has length 1 in
        into, or is left out.
        """
        self._reduce(np.add, x, into, axis)

    def max(self, x, *, into, axis=None):
        """Update into with the maximum of x, along an axis or of all elements; start from -inf."""
        self._reduce(np.maximum, x, into, axis)

    def check(self, array, expected):
        """Raise ValueError unless the whole array was stored and equals ``expected``.

        The message gives the first element that differs by more than rounding errors.
        """
        self._check_array(array)
        expected = _check_numbers(expected, "expected")
        if expected.shape != array.shape:
            raise ValueError(
                f"{array._label()} is {format_shape(array.shape)}, but expected is "
                f"{format_shape(expected.shape)}"
            )
        missing = ~array._written
        if missing.any():
            raise ValueError(
                f"{array._label()} is not complete: {missing.sum()} of {missing.size} elements "
                f"were never stored, the first at {_first_place(missing)}"
            )
        values, margin = array._values, TOLERANCE * _largest_finite(expected)
        wrong = ~np.isclose(values, expected, rtol=TOLERANCE, atol=margin, equal_nan=True)
        if wrong.any():
            place = np.unravel_index(wrong.argmax(), wrong.shape)
            value, right = values[place], expected[place]
            raise ValueError(
                f"{array._label()} differs in {wrong.sum()} of {wrong.size} elements, first at "
                f"{_first_place(wrong)}: {value:.6g} instead of {right:.6g}, "
                f"off by {value - right:.3g}"
            )

    def _reduce(self, ufunc, x, into, axis):
        values, target = self._check_block(x), self._check_block(into)
        try:
            reduced = ufunc.reduce(values, axis=axis, keepdims=True)
        except (TypeError, ValueError) as error:
            raise ValueError(f"axis={axis!r} of {format_shape(values.shape)}: {error}") from None
        if target.shape not in (reduced.shape, reduced.squeeze(axis).shape):
            raise ValueError(
                f"{format_shape(values.shape)} along axis {axis} gives "
                f"{format_shape(reduced.shape)}, but into is {format_shape(target.shape)}"
            )
        _check_no_overlap(into, x)
        ufunc(target, reduced.reshape(target.shape), out=target)
        self._flops += values.size

    def _make_block(self, values, origin):
        """Return a block with a copy of these values; raise ValueError if it does not fit."""
        block = Block(self, values, origin)
        needed = block.nbytes
        if self._used + needed > self._capacity:
            raise ValueError(self._full_message(block))
        block._values = values.copy()
        self._used += needed
        self._most_used = max(self._most_used, self._used)
        self._blocks[block] = needed
        return block

    def _full_message(self, block):
        last = list(self._blocks)[-BLOCKS_LISTED:]
        names = [f"{held._label()} ({held.nbytes:,} bytes)" for held in last]
        if len(self._blocks) > len(last):
            names.insert(0, f"{len(self._blocks) - len(last)} more")
        return (
            f"{block._label()} needs {block.nbytes:,} bytes; {self._capacity - self._used:,} of "
            f"{self._capacity:,} are free. In fast memory: {', '.join(names) or 'nothing'}. "
            "Free a block you no longer need, or use smaller blocks"
        )

    def _check_block(self, block):
        if type(block) is not Block or block._pad is not self or block._whole not in self._blocks:
            self._refuse(block, Block)
        return block._values

    def _check_array(self, array):
        if type(array) is not Array or array._pad is not self:
            self._refuse(array, Array)

    def _refuse(self, handle, wanted):
        if not isinstance(handle, Handle):
            kind = "a block, as from pad.load" if wanted is Block else "an array of this pad"
            raise ValueError(f"expected {kind}, got {type(handle).__name__}: {handle!r}")
        label = handle._label()
        if handle._pad is not self:
            raise ValueError(f"{label} belongs to another Scratchpad")
        if isinstance(handle, wanted):
            raise ValueError(f"{label} was freed; free it later, or load it again")
        if wanted is Block:
            raise ValueError(f"{label} is in slow memory; load it first")
        raise ValueError(f"{label} is in fast memory; pass an array instead")


def least_matmul_bytes(M, N, K, capacity, dtype="bf16"):
    """Return the fewest bytes that Z[M, N] = X[M, K] · Y[K, N] can move with this ``capacity``.

    The bound counts loads plus stores and holds for any order of the MNK multiply-adds, if fast
    memory starts empty. With S elements of fast memory, the bound is the larger of two numbers:

    - MK + KN + MN elements, because X and Y are loaded and Z is stored at least once.
    - 2MNK / √S elements, since n elements allow at most (n/3)^(3/2) multiply-adds (Loomis and
      Whitney 1949), and at most 3S are there during the first 3S loads and each 2S loads after.

    Sizes and capacity broadcast. Raises ValueError if the capacity is less than the three elements
    of a multiply-add.

    Source: Hong and Kung, STOC 1981, for the order of growth; Smith, Lowery, Langou and van de
    Geijn, "A Tight I/O Lower Bound for Matrix Multiplication", arXiv 1702.02017, for the constant:
    2MNK / √S - 2S, if fast memory may start with data in it. Starting empty accounts for the 2S.

    >>> least_matmul_bytes(4096, 4096, 4096, capacity=2 * 128**2) / (2 * 3 * 4096**2)
    21.333333333333332
    """
    M, N, K = check_sizes(M=M, N=N, K=K)
    size = itemsize(dtype)
    capacity = check_number(capacity, "capacity", minimum=3 * size, above=False, finite=False)
    check_broadcast(M=M, N=N, K=K, capacity=capacity)
    return size * larger(M * K + K * N + M * N, 2 * M * N * K / (capacity / size) ** 0.5)


def _check_numbers(values, name):
    """Return a copy of the values as float64; raise ValueError unless they are real numbers."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers in rows of equal length: {error}") from None
    if array.dtype.kind not in "biuf" or not array.size:
        raise ValueError(f"{name} must be one or more real numbers, got {values!r}")
    return array.astype(np.float64)


def _check_shape(shape):
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        lengths = tuple(operator.index(length) for length in lengths)
    except TypeError:
        lengths = (0,)
    if min(lengths, default=1) < 1:
        raise ValueError(f"shape must be whole numbers of at least 1, got {shape!r}")
    return lengths


def _check_elementwise(ufunc, count):
    name = getattr(ufunc, "__name__", None)
    # A user-defined ufunc could bring in data that was never loaded.
    if not isinstance(ufunc, np.ufunc) or getattr(np, name, None) is not ufunc:
        raise ValueError(f"apply takes a NumPy ufunc, such as np.add, got {ufunc!r}")
    if ufunc.signature or ufunc.nout != 1:
        raise ValueError(f"np.{name} isn't elementwise; use pad.matmul, pad.sum or pad.max")
    if ufunc.nin != count:
        raise ValueError(f"np.{name} takes {ufunc.nin} blocks, got {count}")


def _check_no_overlap(into, *blocks):
    for block in blocks:
        if block._whole is into._whole and np.shares_memory(block._values, into._values):
            raise ValueError(f"into and {block._label()} share memory; use another block for into")


def _broadcast_shape(shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _largest_finite(values):
    finite = np.abs(values[np.isfinite(values)])
    return finite.max() if finite.size else 0.0


def _first_place(mask):
    """Return the first position where the mask is True, as [row, column]."""
    return str([int(place) for place in np.unravel_index(mask.argmax(), mask.shape)])
