"""Numbers with a unit and a source."""

import math

KINDS = {"peak": "dense", "interconnect.bandwidth": "one-way"}
UNITS = {
    "peak": "FLOP/s",
    "memory.bandwidth": "byte/s",
    "memory.capacity": "byte",
    "memory.allocatable": "byte",
    "interconnect.bandwidth": "byte/s",
    "interconnect.latency": "s",
    "on_chip.capacity": "byte",
    "multiprocessors": "multiprocessors",
    "threads": "threads",
}
WHOLE_FIGURES = ("multiprocessors", "threads")
# Maps fields of a Chip to keys in the table.
FIGURE_KEYS = {
    "bandwidth": "memory.bandwidth", "capacity": "memory.capacity",
    "allocatable": "memory.allocatable", "on_chip": "on_chip.capacity",
    "multiprocessors": "multiprocessors", "threads": "threads",
}  # fmt: skip


class Figure(float):
    """A float with a unit and a source; arithmetic returns plain floats.

    >>> bandwidth = Figure(819e9, "byte/s", source="data sheet")
    >>> bandwidth.unit, 1.97e14 / bandwidth
    ('byte/s', 240.53724053724054)
    """

    __slots__ = ("confirmed", "kind", "note", "source", "unit")

    def __new__(cls, value, unit, *, source, kind="", note="", confirmed=True):
        figure = super().__new__(cls, value)
        figure.unit, figure.source, figure.kind = unit, source, kind
        figure.note, figure.confirmed = note, confirmed
        return figure

    def __getnewargs_ex__(self):
        return (float(self), self.unit), {
            name: getattr(self, name) for name in ("source", "kind", "note", "confirmed")
        }

    def __repr__(self):
        return f"{float(self):.4g} {self.unit}" + ("" if self.confirmed else " (?)")


def make_figure(value, key, where):
    """Convert the value to a Figure in its key's unit; errors start with ``where``."""
    found = check_figure(value, key, where)
    if not isinstance(value, Figure):
        return Figure(found, UNITS[key], source="given by the user", kind=KINDS.get(key, ""))
    if value.unit != UNITS[key]:
        raise ValueError(f"{where} has unit {value.unit!r}; it must be {UNITS[key]!r}")
    return value


def check_figure(value, key, where):
    """Convert the value to a float above 0, whole if it is a count; errors start with ``where``."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{where} must be a number, got {value!r}") from None
    if not 0 < value < math.inf:
        raise ValueError(f"{where} must be finite and above 0, got {value:g}")
    if key in WHOLE_FIGURES and not value.is_integer():
        raise ValueError(f"{where} must be a whole number, got {value:g}")
    return value
