"""Links between chips of the same kind, and their topology."""

import math
from dataclasses import dataclass
from numbers import Integral

from roofkit._units import format_quantity
from roofkit.hardware.figures import make_figure

TOPOLOGIES = ("torus", "switch", "all-pairs")


@dataclass(frozen=True, repr=False)
class Interconnect:
    """The links of one chip and their topology.

    Parameters
    ----------
    links : number of links per chip
    bandwidth : bytes/s of one link in each direction; both directions work at the same time
    topology : "torus" (links to the neighbours along every axis), "switch" (all links of a chip
        lead to a switch), "all-pairs" (a direct link to every other chip), or None if it depends
        on the server
    largest : maximum number of chips on one switch, or in one all-pairs topology
    slices : the axis lengths of every available torus, such as ((2, 2), (4, 4))
    wraps : an axis is a ring if its length is a multiple of wraps, else a line
    wraps_together : True if axes are rings only when all lengths are multiples of wraps
    reduces : True if the switch can sum the arrays that pass through it
    latency : minimum seconds per hop, or None
    source, note : the source of the layout, and a remark

    Raises ValueError for an unknown topology and for values that do not fit it.

    >>> from roofkit import chip
    >>> v5e = chip("TPU v5e").interconnect
    >>> v5e
    Interconnect(4 links of 45 GB/s, torus of up to 16x16, 1 µs a hop)
    >>> v5e.links, v5e.bandwidth, v5e.total, v5e.rings((8, 16))
    (4, 4.5e+10 byte/s, 180000000000.0, (False, True))
    """

    links: int
    bandwidth: float
    topology: str | None = None
    largest: int | None = None
    slices: tuple = ()
    wraps: int | None = None
    wraps_together: bool = False
    reduces: bool = False
    latency: float | None = None
    source: str = "given by the user"
    note: str = ""

    def __post_init__(self):
        _check_count("links", self.links, 1)
        object.__setattr__(
            self,
            "bandwidth",
            make_figure(self.bandwidth, "interconnect.bandwidth", "link bandwidth"),
        )
        if self.latency is not None:
            object.__setattr__(
                self, "latency", make_figure(self.latency, "interconnect.latency", "link latency")
            )
        if self.topology not in (None, *TOPOLOGIES):
            raise ValueError(
                f"topology={self.topology!r} is not known; use one of {', '.join(TOPOLOGIES)}"
            )
        for name in ("wraps_together", "reduces"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}")
        torus, together = self.topology == "torus", self.topology in ("switch", "all-pairs")
        for name, has in (("largest", together), ("wraps", torus), ("slices", torus)):
            value = getattr(self, name)
            if not has and value not in (None, ()):
                raise ValueError(f"topology={self.topology!r} has no {name}, got {name}={value!r}")
        if together:
            _check_count("largest", self.largest, 2)
        if self.topology == "all-pairs" and self.largest - 1 > self.links:
            raise ValueError(
                f"an all-pairs topology of {self.largest} chips needs {self.largest - 1} links per "
                f"chip, got links={self.links}"
            )
        if torus:
            self._check_slices()
        if self.reduces and self.topology != "switch":
            raise ValueError("only a switch can sum the arrays that pass through it")

    def __repr__(self):
        text = (
            f"{self.links} link{'s' * (self.links > 1)} of {format_quantity(self.bandwidth, 'B/s')}"
        )
        if self.topology == "torus":
            text += f", torus of up to {'x'.join(map(str, max(self.slices, key=math.prod)))}"
        elif self.topology:
            text += f", {self.topology} of up to {self.largest}"
        text += ", adds up" if self.reduces else ""
        text += f", {format_quantity(self.latency, 's')} a hop" if self.latency is not None else ""
        return f"Interconnect({text})"

    def _check_slices(self):
        # A ring needs at least three chips.
        _check_count("wraps", self.wraps, 3)
        slices = self.slices
        if not isinstance(slices, tuple) or not slices:
            raise ValueError(f"a torus needs slices, such as ((2, 2), (4, 4)), got {slices!r}")
        for axes in slices:
            if not isinstance(axes, tuple) or 2 * len(axes) > self.links:
                raise ValueError(
                    f"slice {axes!r} must be a tuple of lengths, with two links for each axis"
                )
            for length in axes:
                _check_count("a length of a slice", length, 1)

    @property
    def total(self):
        """Bytes/s that a chip can send over all its links together."""
        return self.links * self.bandwidth

    def rings(self, axes):
        """Return a tuple with True for each axis that is a ring, given the axis lengths."""
        whole = [length % self.wraps == 0 for length in axes]
        return tuple(all(whole) if self.wraps_together else ring for ring in whole)


def _check_count(name, value, least):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
