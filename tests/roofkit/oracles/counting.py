"""Arrays that know where their elements lie, and a tape that counts what is done with them.

Everything is counted while it is computed, element by element: a product of matrices tells its
multiply-adds, a sum its additions, and whoever touches an element that another operation left in
memory has read it. What an operation keeps to itself costs nothing, so that any choice of what to
fuse can be read off one tape: ``Tape.asked`` takes operations together as it is told.
"""

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

# What lies in memory, by its role, where tables tell no more than weights and activations.
KINDS = {
    **dict.fromkeys(("matrix", "expert", "vector", "embedding", "lm_head"), "weight"),
    "stream": "activation",
}  # fmt: skip


@dataclass(eq=False)
class Buffer:
    """A piece of memory: the role of what lies there and who filled it.

    Each role has a width of its own. What operations hand on is "stream"; "activation" is what
    matrices are multiplied by.
    """

    role: str
    size: int
    maker: "Operation | None" = None
    users: set = field(default_factory=set)


@dataclass(eq=False)
class Operation:
    """One thing that is done without a trip through memory, and the elements it touches.

    ``products`` are FLOPs of multiply-adds in products of matrices, ``elementwise`` those on each
    element of an array, ``by_row`` those on one number a row, such as a mean or its root.
    """

    name: str
    block: int | None
    products: int = 0
    elementwise: int = 0
    by_row: int = 0
    reads: dict = field(default_factory=dict)
    stores: dict = field(default_factory=dict)


@dataclass
class Asked:
    """What operations of one name asked for in all: FLOPs, and bytes by kind."""

    times: int = 0
    products: int = 0
    elementwise: int = 0
    by_row: int = 0
    weight: float = 0
    cache: float = 0
    activation: float = 0

    @property
    def flops(self):
        """Multiply-adds as two, and what is done to each element; a number a row is left out."""
        return self.products + self.elementwise


class Tape:
    """The operations of a run, in order."""

    def __init__(self):
        self.operations, self.block = [], None
        self._now = None

    @contextmanager
    def operation(self, name):
        self._now = Operation(name, self.block)
        self.operations.append(self._now)
        yield
        self._now = None

    def memory(self, values, role):
        """An array that lies in memory before the run; cache is changed where it lies."""
        return Array(self, values, Buffer(role, values.size))

    def constant(self, values):
        """An array that the chip can compute itself: free to use."""
        return Array(self, np.asarray(values, dtype=float), None)

    def fresh(self, values, kind="elementwise", flops=0):
        """The result of an operation on arrays, which took so many FLOPs of this kind."""
        setattr(self._now, kind, getattr(self._now, kind) + int(flops))
        return Array(self, values, Buffer("stream", values.size, self._now))

    def touch(self, array):
        """Tells that the operation at hand uses these elements."""
        buffer = array.buffer
        if buffer is None or buffer.maker is self._now:
            return
        buffer.users.add(self._now)
        _mark(self._now.reads, buffer, array.where)

    def store(self, array, into):
        """Writes an array to elements of a cache."""
        self.touch(array)
        into.values[...] = array.values
        _mark(self._now.stores, into.buffer, into.where)

    def asked(self, fused=(), widths=None):
        """By name what was asked for, with operations of these names in a block taken together.

        ``fused`` holds tuples of names; each goes by its first one. ``widths`` are bytes an
        element by role: one each unless given.
        """
        lead = {name: names[0] for names in fused for name in names}
        groups, seen = [], {}
        for operation in self.operations:
            key = (lead.get(operation.name), operation.block)
            if key[0] is None or key not in seen:
                groups.append((key[0] or operation.name, []))
                seen[key] = groups[-1]
            (groups[-1] if key[0] is None else seen[key])[1].append(operation)
        found = defaultdict(Asked)
        for name, members in groups:
            asked = found[name]
            asked.times += 1
            for operation in members:
                asked.products += operation.products
                asked.elementwise += operation.elementwise
                asked.by_row += operation.by_row
            for role, elements in self._traffic(set(members)):
                kind, width = KINDS.get(role, role), widths[role] if widths else 1
                setattr(asked, kind, getattr(asked, kind) + width * elements)
        return dict(found)

    def _traffic(self, members):
        reads, stores = {}, {}
        for operation in members:
            for kept, marks in ((reads, operation.reads), (stores, operation.stores)):
                for buffer, mask in marks.items():
                    kept[buffer] = kept.get(buffer, False) | mask
        for buffer, mask in reads.items():
            if buffer.maker not in members:
                yield buffer.role, int(np.sum(mask & ~stores.get(buffer, np.False_)))
        for buffer, mask in stores.items():
            yield buffer.role, int(np.sum(mask))
        for buffer in self._made():
            if buffer.maker in members and buffer.users - members:
                yield buffer.role, buffer.size

    def _made(self):
        return {buffer for operation in self.operations for buffer in operation.reads
                if buffer.maker is not None}  # fmt: skip

    def peak(self, widths):
        """The most bytes of activations that are in memory at once, operation by operation."""
        place = {operation: at for at, operation in enumerate(self.operations)}
        held = np.zeros(len(self.operations))
        for buffer in self._made():
            last = max(place[user] for user in buffer.users)
            held[place[buffer.maker] : last + 1] += widths[buffer.role] * buffer.size
        return held.max()


class Array:
    """Values, and for each the element of a buffer that it is.

    ``by_row`` marks what has one number a row, as sums over rows have.
    """

    def __init__(self, tape, values, buffer, where=None):
        self.tape, self.values, self.buffer, self.by_row = tape, values, buffer, False
        self.where = np.arange(values.size).reshape(values.shape) if where is None else where

    shape = property(lambda self: self.values.shape)

    # The same elements, otherwise arranged: nothing is touched.

    def _arranged(self, change):
        return Array(self.tape, change(self.values), self.buffer, change(self.where))

    def __getitem__(self, key):
        return self._arranged(lambda each: each[key])

    def reshape(self, *shape):
        return self._arranged(lambda each: each.reshape(shape))

    @property
    def T(self):
        return self._arranged(lambda each: np.swapaxes(each, -1, -2))

    # One operation an element of the result.

    def _with(self, other, function):
        self.tape.touch(self)
        by_row = self.by_row
        if isinstance(other, Array):
            self.tape.touch(other)
            by_row, other = by_row and other.by_row, other.values
        return self._elementwise(function(self.values, other), by_row)

    def _elementwise(self, values, by_row):
        made = self.tape.fresh(values, "by_row" if by_row else "elementwise", values.size)
        made.by_row = by_row
        return made

    def __add__(self, other):
        return self._with(other, np.add)

    def __sub__(self, other):
        return self._with(other, np.subtract)

    def __mul__(self, other):
        return self._with(other, np.multiply)

    def __truediv__(self, other):
        return self._with(other, np.divide)

    def apply(self, function):
        """A function of each element, for one FLOP each: exp, tanh, erf, square root."""
        self.tape.touch(self)
        return self._elementwise(function(self.values), self.by_row)

    def maximum(self, other):
        return self._with(other, np.maximum)

    # One operation an element of the argument.

    def _reduced(self, function):
        self.tape.touch(self)
        values = function(self.values, axis=-1, keepdims=True)
        made = self.tape.fresh(values, "elementwise", self.values.size)
        made.by_row = True
        return made

    def sum(self):
        return self._reduced(np.sum)

    def max(self):
        return self._reduced(np.max)

    # No operation at all: signs and selections.

    def negative(self):
        self.tape.touch(self)
        return self.tape.fresh(-self.values)

    def where_not(self, hidden):
        """The array with minus infinity where ``hidden``."""
        self.tape.touch(self)
        return self.tape.fresh(np.where(hidden, -np.inf, self.values))

    def copy(self):
        self.tape.touch(self)
        return self.tape.fresh(self.values.copy())

    # Products

    def matmul(self, other, start=None):
        """self · other, added up from zero or from ``start``: two FLOPs a multiply-add."""
        self.tape.touch(self)
        self.tape.touch(other)
        values = self.values @ other.values
        if start is not None:
            self.tape.touch(start)
            values = values + start.values
        return self.tape.fresh(values, "products", 2 * values.size * self.shape[-1])


def joined(arrays, shape):
    """Arrays of one operation side by side, as one array of it; nothing is counted."""
    tape = arrays[0].tape
    return tape.fresh(np.concatenate([each.values.ravel() for each in arrays]).reshape(shape))


def _mark(marks, buffer, where):
    mask = marks.setdefault(buffer, np.zeros(buffer.size, dtype=bool))
    # Elements that are no part of the buffer, such as padding, lie at -1.
    mask[where[where >= 0]] = True
