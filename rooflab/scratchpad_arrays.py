"""Handles to data in a scratchpad. A handle has a shape, but you cannot read its numbers."""

import numpy as np


class Handle:
    """Data in one of the two memories. Only the pad can use its numbers."""

    __slots__ = ("_name", "_pad", "_values", "_whole")
    __iter__ = None  # without this, Python would iterate over it by index

    def __init__(self, pad, values, name, whole=None):
        self._pad, self._values, self._name = pad, values, name
        self._whole = self if whole is None else whole

    @property
    def shape(self):
        """The length of each axis."""
        return self._values.shape

    @property
    def nbytes(self):
        """Size in bytes, in the dtype of the pad."""
        return self._values.size * self._pad._itemsize

    def __array__(self, *args, **kwargs):
        raise ValueError(
            f"you can't read the numbers of {self._label()}; compute on blocks with pad.matmul, "
            "pad.apply, pad.sum or pad.max"
        )

    def _index(self, index):
        """Return the NumPy key and the selected values; raise ValueError unless all are ranges."""
        key = index if isinstance(index, tuple) else (index,)
        for part in key:
            if not isinstance(part, (int, np.integer, slice)) or isinstance(part, bool):
                raise ValueError(f"{self._label()} takes ranges like [0:4, 8:16], got {part!r}")
        key = (*key, ...)  # with "...", NumPy returns a view even if no axis is left
        try:
            values = self._values[key]
        except (IndexError, TypeError) as error:
            raise ValueError(f"{self._label()} is {format_shape(self.shape)}: {error}") from None
        if not values.size:
            raise ValueError(
                f"{self._label()}[{_format_ranges(key)}] is empty; the whole is "
                f"{format_shape(self.shape)}"
            )
        return key, values

    def _label(self):
        if isinstance(self._name, Handle):
            return f"block of {self._name._label()}"
        if isinstance(self._name, tuple):
            whole, key = self._name
            return whole._label() + (".T" if key == "T" else f"[{_format_ranges(key)}]")
        return self._name


class Array(Handle):
    """A handle to an array in slow memory or a region of it, made by ``Scratchpad.array``.

    As in NumPy, a range that extends past the end of the array is cut off there; see ``shape``.
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
        """Bytes loaded from the whole array so far."""
        return self._whole._loaded

    @property
    def stored(self):
        """Bytes stored to the whole array so far."""
        return self._whole._stored

    def __repr__(self):
        shape = format_shape(self.shape)
        return f"Array({self._label()}, {shape}, {self.nbytes:,} bytes in slow memory)"


class Block(Handle):
    """A handle to a block in fast memory or a part of it, made by load, zeros or full.

    Parts such as ``x[0:1, 4:8]`` and the transpose ``x.T`` cost nothing and share memory with the
    block. A ``with`` statement frees the block when it ends.
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
        state = "in fast memory" if self._whole in self._pad._blocks else "freed"
        return f"Block({self._label()}, {format_shape(self.shape)}, {self.nbytes:,} bytes, {state})"


def format_shape(shape):
    """Return a shape as text, such as 4 × 8 or (8,)."""
    return str(shape) if len(shape) == 1 else " × ".join(map(str, shape)) or "one number"


def _format_ranges(key):
    return ", ".join(_format_range(part) for part in key if part is not ...)


def _format_range(index):
    if not isinstance(index, slice):
        return str(index)
    ends = [index.start, index.stop] + ([] if index.step is None else [index.step])
    return ":".join("" if end is None else str(end) for end in ends)
