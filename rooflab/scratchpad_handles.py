"""Handles on the two memories of a scratchpad. A handle has a shape, and no numbers to read."""

import numpy as np


class Handle:
    """A piece of one of the two memories. It has a shape; only the pad uses its numbers."""

    __slots__ = ("_name", "_pad", "_values", "_whole")
    __iter__ = None  # without this, Python would iterate over it by index

    def __init__(self, pad, values, name, whole=None):
        self._pad, self._values, self._name = pad, values, name
        self._whole = self if whole is None else whole

    @property
    def shape(self):
        """The lengths of its axes."""
        return self._values.shape

    @property
    def nbytes(self):
        """Bytes it takes in the pad's dtype."""
        return self._values.size * self._pad._itemsize

    def __array__(self, *args, **kwargs):
        raise ValueError(
            f"{self._label()} has no numbers to read here; compute with blocks: pad.matmul, "
            "pad.apply, pad.sum, pad.max"
        )

    def _index(self, index):
        """Return the key for NumPy and the values under it; ValueError for anything but ranges."""
        key = index if isinstance(index, tuple) else (index,)
        for each in key:
            if not isinstance(each, (int, np.integer, slice)) or isinstance(each, bool):
                raise ValueError(f"{self._label()} takes ranges such as [0:4, 8:16], got {each!r}")
        key = (*key, ...)  # with "..." NumPy gives a view even where no axis is left
        try:
            values = self._values[key]
        except (IndexError, TypeError) as error:
            raise ValueError(f"{self._label()} is {format_shape(self.shape)}: {error}") from None
        if not values.size:
            raise ValueError(
                f"{self._label()}[{_format_ranges(key)}] is empty; the whole is {format_shape(self.shape)}"
            )
        return key, values

    def _label(self):
        if isinstance(self._name, Handle):
            return f"block of {self._name._label()}"
        if isinstance(self._name, tuple):
            whole, key = self._name
            return (
                f"{whole._label()}.T" if key == "T" else f"{whole._label()}[{_format_ranges(key)}]"
            )
        return self._name


class Array(Handle):
    """A handle on slow memory: an array or a region of one; ``Scratchpad.array`` makes it.

    Ranges are NumPy's: they end at the edge of the array at the latest, and ``shape`` says where.
    """

    __slots__ = ("_loaded", "_stored", "_written")

    def __init__(self, pad, values, name, written, whole=None):
        super().__init__(pad, values, name, whole)
        self._written = written
        if whole is None:
            self._loaded = self._stored = 0

    def __getitem__(self, index):
        key, values = self._index(index)
        return Array(self._pad, values, (self, key), self._written[key], self._whole)

    @property
    def loaded(self):
        """Bytes loaded from anywhere in the whole array."""
        return self._whole._loaded

    @property
    def stored(self):
        """Bytes stored to anywhere in the whole array."""
        return self._whole._stored

    def __repr__(self):
        return f"Array({self._label()}, {format_shape(self.shape)}, {self.nbytes:,} bytes in slow memory)"


class Block(Handle):
    """A handle on fast memory: a block or a part of one; load, zeros and full make it.

    Parts such as ``x[0:1, 4:8]`` and the transpose ``x.T`` are free and share its numbers. ``with``
    frees the block at the end.
    """

    __slots__ = ()

    def __getitem__(self, index):
        key, values = self._index(index)
        return Block(self._pad, values, (self, key), self._whole)

    @property
    def T(self):
        """The transpose: the same numbers with the axes reversed."""
        return Block(self._pad, self._values.T, (self, "T"), self._whole)

    def __enter__(self):
        self._pad._check_block(self)
        return self

    def __exit__(self, *error):
        if self in self._pad._blocks:
            self._pad.free(self)

    def __repr__(self):
        held = "in fast memory" if self._whole in self._pad._blocks else "freed"
        return f"Block({self._label()}, {format_shape(self.shape)}, {self.nbytes:,} bytes, {held})"


def format_shape(shape):
    """Write a shape for people to read, such as 4 × 8."""
    return " × ".join(map(str, shape)) or "one number"


def _format_ranges(key):
    return ", ".join(_format_range(each) for each in key if each is not ...)


def _format_range(each):
    if not isinstance(each, slice):
        return str(each)
    ends = [each.start, each.stop] if each.step is None else [each.start, each.stop, each.step]
    return ":".join("" if end is None else str(end) for end in ends)
