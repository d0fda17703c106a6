"""Groups of chips that work on one array, and the links between them.

``group`` builds a group of chips with the topology in the table. ``ring``, ``line``, ``torus``,
``switch`` and ``all_pairs`` build groups from your own links.
"""

import functools
import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roofkit._inputs import check_broadcast, check_number, check_whole, is_symbolic
from roofkit._units import format_quantity
from roofkit.hardware import Chip
from roofkit.hardware import chip as find_chip
from roofkit.hardware.interconnect import TOPOLOGIES
from roofkit.roofline import Roofline, larger

BOOLEANS = (bool, np.bool_)


@dataclass(frozen=True, slots=True, repr=False)
class Group:
    """Several chips, their links and their topology.

    Parameters
    ----------
    topology : "torus" (a chain along each axis), "switch" or "all-pairs"
    axes : number of chips along each axis of a torus, or (n,) for other topologies; numbers, arrays
        that broadcast or SymPy symbols
    bandwidth : one-way bytes/s of one link, or of all links to a switch together
    rings : whether each axis of a torus is a ring
    bidirectional : False to use the links of a ring in one direction only
    latency : minimum seconds per hop; 0 to ignore hops
    reduces : True if the switch can sum the arrays that pass through it
    chip : the Chip that the group consists of, or None
    nodes : number of nodes like this one, joined by a slower network
    card : one-way bytes/s of the card that connects each chip to that network

    To create a group, use this module's functions. Raises ValueError for fractional numbers of
    chips, for a ring of two chips, and for values that do not fit the topology.
    """

    topology: str
    axes: tuple
    bandwidth: Any
    rings: tuple = ()
    bidirectional: bool = True
    latency: Any = 0.0
    reduces: bool = False
    chip: Chip | None = None
    nodes: Any = 1
    card: Any = None

    def __post_init__(self):
        def settle(name, value):
            object.__setattr__(self, name, value)

        if not isinstance(self.topology, str) or self.topology not in TOPOLOGIES:
            raise ValueError(
                f"topology={self.topology!r} is not known; use one of {', '.join(TOPOLOGIES)}"
            )
        if not isinstance(self.axes, tuple) or not self.axes:
            raise ValueError(
                f"axes={self.axes!r} must be a tuple, such as (4, 4): the chips along each axis"
            )
        if self.topology != "torus" and len(self.axes) > 1:
            raise ValueError(
                f"{self.topology!r} has one number of chips instead of axes, got {self.axes!r}"
            )
        names = [f"axes[{place}]" for place in range(len(self.axes))]
        rings = self.rings or (False,) * len(self.axes)
        valid = isinstance(rings, tuple) and all(isinstance(ring, BOOLEANS) for ring in rings)
        if not valid or len(rings) != len(self.axes):
            raise ValueError(
                f"rings={rings!r} must be a tuple with True or False for each of {len(self.axes)} "
                "axes"
            )
        if self.topology != "torus" and any(rings):
            raise ValueError(f"only a torus has rings, got rings={rings!r} for {self.topology!r}")
        if not isinstance(self.reduces, BOOLEANS) or (self.reduces and self.topology != "switch"):
            raise ValueError(
                f"reduces={self.reduces!r} must be False, or True for a switch: only a switch can "
                "sum the arrays that pass through it"
            )
        if not isinstance(self.chip, Chip | None):
            raise ValueError(
                f'chip={self.chip!r} must be a Chip, such as roofkit.chip("H100"); roofkit.group '
                "also accepts its name"
            )
        settle("axes", tuple(map(_check_axis_length, self.axes, names, rings)))
        settle("rings", tuple(rings))
        settle("bandwidth", check_number(self.bandwidth, "bandwidth"))
        settle("latency", check_number(self.latency, "latency", above=False))
        settle("nodes", _check_axis_length(self.nodes, "nodes", False))
        lengths = dict(zip(names, self.axes, strict=True))
        fitting = {"bandwidth": self.bandwidth, "latency": self.latency, "nodes": self.nodes}
        check_broadcast(**lengths, **fitting)
        if not isinstance(self.bidirectional, BOOLEANS):
            raise ValueError(f"bidirectional={self.bidirectional!r} must be True or False")
        if not self.bidirectional and not all(self.rings):
            raise ValueError(
                "only a ring can be one-way: in other topologies, some chips would be unreachable"
            )
        several = is_symbolic(self.nodes) or np.any(np.asarray(self.nodes) > 1)
        if several and self.card is None:
            raise ValueError(
                f"{self.nodes} nodes need card=, the one-way bytes/s of each chip's network card, "
                "such as card=50e9 for 400 Gbit/s InfiniBand"
            )
        if self.card is not None:
            settle("card", check_number(self.card, "card"))
            if not several:
                raise ValueError("card= applies only to several nodes; leave it out with nodes=1")
            check_broadcast(**lengths, **fitting, card=self.card)

    @property
    def per_node(self):
        """Number of chips per node."""
        return math.prod(self.axes)

    @property
    def n(self):
        """Total number of chips."""
        return self.per_node * self.nodes

    @property
    def links(self):
        """Smallest number of links that a chip has within its node."""
        if self.topology == "switch":
            return 1
        if self.topology == "all-pairs":
            return _raise_to_least(self.per_node - 1, 1)
        each = (
            zero_for_one_chip(2 if ring and self.bidirectional else 1, length)
            for length, ring in zip(self.axes, self.rings, strict=True)
        )
        return _raise_to_least(functools.reduce(operator.add, each), 1)

    @property
    def egress(self):
        """Bytes/s that the chip with the fewest links can send within its node."""
        return self.links * self.bandwidth

    @property
    def hops(self):
        """Number of hops from a chip to the farthest chip in its node."""
        if self.topology != "torus":
            return zero_for_one_chip(1, self.axes[0])
        each = (
            length // 2 if ring and self.bidirectional else length - 1
            for length, ring in zip(self.axes, self.rings, strict=True)
        )
        return functools.reduce(operator.add, each)

    def roofline(self, dtype="bf16", *, peak_flops=None):
        """Return the Roofline of one chip over its links in this group.

        Raises ValueError if the group has no Chip and ``peak_flops`` is not given.

        >>> group("TPU v5e", 2).roofline("bf16").ridge
        4377.777777777777
        """
        return Roofline(self.peak_flops(dtype, peak_flops), self.egress, "link")

    def peak_flops(self, dtype="bf16", given=None):
        """Return the peak FLOP/s of one chip: ``given``, or that of the group's Chip."""
        if given is not None:
            return check_number(given, "peak_flops")
        if self.chip is None:
            raise ValueError(f"{self!r} has no chip from the table; give peak_flops=")
        return float(self.chip.peak_flops(dtype))

    @property
    def shape(self):
        """The topology and size of a node, such as "ring of 4", "2x4" or "switch of 8"."""
        if len(self.axes) > 1:
            return "x".join(map(str, self.axes))
        return f"{self.form} of {self.axes[0]}"

    @property
    def form(self):
        """The kind of topology: "ring", "line", "slice" (several axes), "switch", "all-pairs"."""
        if self.topology != "torus":
            return self.topology
        if len(self.axes) > 1:
            return "slice"
        return "ring" if self.rings[0] else "line"

    def __repr__(self):
        name = f" {self.chip.name}" if self.chip else " chips"
        nodes = f"{self.nodes} nodes of " if self.card is not None else ""
        card = f", card {format_quantity(self.card, 'B/s')}" if self.card is not None else ""
        chips = f"{nodes}{self.per_node}" + (f" ×{name}" if self.chip else name)
        return f"Group({chips}, {self.shape}, egress {format_quantity(self.egress, 'B/s')}{card})"


def ring(n, bandwidth, *, bidirectional=True, latency=0.0):
    """Return a Group of n chips (at least three) in a ring.

    >>> ring(4, 45e9).egress, ring(4, 45e9, bidirectional=False).egress
    (90000000000.0, 45000000000.0)
    """
    return Group("torus", (n,), bandwidth, (True,), bidirectional, latency)


def line(n, bandwidth, *, latency=0.0):
    """Return a Group of n chips in a line; each end chip has one link.

    >>> line(4, 45e9).egress
    45000000000.0
    """
    return Group("torus", (n,), bandwidth, (False,), latency=latency)


def torus(axes, bandwidth, *, bidirectional=True, latency=0.0):
    """Return a Group with a ring along every axis; all axes work at the same time.

    >>> torus((16, 16), 45e9).egress
    180000000000.0
    """
    rings = (True,) * len(axes) if isinstance(axes, tuple) else ()
    return Group("torus", axes, bandwidth, rings, bidirectional, latency)


def switch(n, bandwidth, *, latency=0.0, reduces=False):
    """Return a Group of n chips on a switch; ``bandwidth`` is the total of one chip's links.

    >>> switch(8, 450e9).egress
    450000000000.0
    """
    return Group("switch", (n,), bandwidth, latency=latency, reduces=reduces)


def all_pairs(n, bandwidth, *, latency=0.0):
    """Return a Group of n chips with a direct link of one-way ``bandwidth`` between any two.

    In a smaller group, each chip uses fewer links:

    >>> all_pairs(8, 64e9).egress, all_pairs(2, 64e9).egress
    (448000000000.0, 64000000000.0)
    """
    return Group("all-pairs", (n,), bandwidth, latency=latency)


def group(chip, n, *, topology=None, bidirectional=True, nodes=1, card=None):
    """Return a Group of n chips from the table, with their topology.

    Parameters
    ----------
    chip : Chip or name
    n : int or tuple
        Number of chips per node. For TPUs, this is the size of a whole slice, or 2 for two
        neighbours. A tuple of lengths, such as (4, 4), selects a slice. A tuple with fewer axes
        than the torus, such as (16,), selects chips along some axes of the largest slices.
    topology : "ring", "line", "switch" or "all-pairs"
        Only for chips without a topology in the table; each chip then uses all its links.
    bidirectional : False to use rings in one direction only
    nodes, card : number of nodes (default: 1), and one-way bytes/s of each chip's network card

    The latency is that of the interconnect; collectives ignore it unless ``with_latency=True``.
    Raises ValueError if the table has no topology for the chip or no group of that size.

    >>> group("TPU v5e", 4), group("H100", 8)
    (Group(4 × TPU v5e, 2x2, egress 90 GB/s), Group(8 × H100 SXM, switch of 8, egress 450 GB/s))
    >>> group("H100", 8, nodes=2, card=50e9)
    Group(2 nodes of 8 × H100 SXM, switch of 8, egress 450 GB/s, card 50 GB/s)
    """
    chip = find_chip(chip)
    interconnect = chip.interconnect
    if interconnect is None:
        raise ValueError(f"{chip.name} has no links in the table; build a Group of your own")
    latency = float(interconnect.latency or 0)
    if not isinstance(bidirectional, BOOLEANS):
        raise ValueError(f"bidirectional={bidirectional!r} must be True or False")
    if interconnect.topology is None:
        made = replace(
            _make_group(chip, _check_chip_count(n), topology, bidirectional), latency=latency
        )
    elif topology is not None:
        raise ValueError(
            f"{chip.name} has the topology {interconnect.topology}; leave topology={topology!r} out"
        )
    elif interconnect.topology == "torus":
        axes, rings = _place_in_torus(chip, n)
        made = Group("torus", axes, interconnect.bandwidth, rings, latency=latency, chip=chip)
        if not bidirectional:
            made = replace(made, bidirectional=False)
    else:
        count = _check_chip_count(n)
        if count > interconnect.largest:
            place = "a switch" if interconnect.topology == "switch" else "an all-pairs topology"
            raise ValueError(
                f"{place} joins at most {interconnect.largest} {chip.name}, got n={n}; for more, "
                "give n per node with nodes= and card="
            )
        if not bidirectional:
            raise ValueError(f"{chip.name} has no rings to make one-way; leave bidirectional out")
        shared = 1 if interconnect.topology == "switch" else interconnect.largest - 1
        made = Group(
            interconnect.topology, (count,), interconnect.total / shared, latency=latency,
            reduces=interconnect.reduces, chip=chip,
        )  # fmt: skip
    one = card is None and not isinstance(nodes, np.ndarray) and nodes == 1
    return made if one else replace(made, nodes=nodes, card=card)


def check_group(group):
    """Raise ValueError unless the argument is a Group."""
    if not isinstance(group, Group):
        raise ValueError(
            f"group must be a Group, got {type(group).__name__}: {group!r}; "
            'make one with roofkit.group("TPU v5e", 8)'
        )


def _make_group(chip, n, topology, bidirectional):
    """Return a Group with the caller's topology, for chips without a topology in the table."""
    width = chip.interconnect.total
    if not bidirectional and topology != "ring":
        raise ValueError(f"only a ring can be one-way, not topology={topology!r}")
    if topology == "ring":
        return replace(ring(n, width / 2, bidirectional=bidirectional), chip=chip)
    if topology == "all-pairs":
        return replace(all_pairs(n, width / max(n - 1, 1)), chip=chip)
    makers = {
        "line": lambda: line(n, width / (2 if n > 2 else 1)),
        "switch": lambda: switch(n, width),
    }
    if not isinstance(topology, str) or topology not in makers:
        raise ValueError(
            f"{chip.name}: the table has no topology for several chips; choose topology='ring', "
            f"'line', 'switch' or 'all-pairs', got {topology!r}"
        )
    return replace(makers[topology](), chip=chip)


def _place_in_torus(chip, n):
    """Return the axes of n chips in a torus, and whether each axis is a ring."""
    interconnect = chip.interconnect
    slices = {tuple(sorted(axes)): axes for axes in interconnect.slices}
    named = ", ".join("x".join(map(str, axes)) for axes in interconnect.slices)
    if not isinstance(n, tuple):
        count = _check_chip_count(n)
        if count <= 2:
            return (count,), (False,)
        found = next((axes for axes in interconnect.slices if math.prod(axes) == count), None)
        if found is None:
            raise ValueError(
                f"{chip.name} has no slice of n={n} chips; its slices are {named}. "
                "To select chips along some axes of a slice, pass a tuple, such as (16,)"
            )
        return found, interconnect.rings(found)
    lengths = tuple(map(_check_chip_count, n))
    most = max(map(len, interconnect.slices))
    longest = max(map(max, interconnect.slices))
    if len(lengths) == most and tuple(sorted(lengths)) in slices:
        return lengths, interconnect.rings(lengths)
    if len(lengths) < most and lengths and max(lengths) <= longest:
        return lengths, interconnect.rings(lengths)
    raise ValueError(f"{chip.name} has no slice with axes {n!r}; its slices are {named}")


def _check_chip_count(n):
    found = check_number(n, "n", minimum=1, above=False)
    if isinstance(found, np.ndarray) or is_symbolic(found) or found % 1:
        raise ValueError(f"n must be a whole number of chips, got {n!r}")
    return int(found)


def _check_axis_length(n, name, ring):
    n = check_whole(n, name)
    if ring and not is_symbolic(n) and np.any(n == 2):
        raise ValueError(
            f"{name}=2 isn't a ring: two chips share one link, and a ring needs at least 3 chips; "
            "use a line"
        )
    return n


def zero_for_one_chip(amount, chips):
    """Return the amount if there are several chips, or zero if there is only one."""
    return amount if is_symbolic(chips) else amount * (1 * (chips > 1))


def _raise_to_least(value, least):
    return value if is_symbolic(value) else larger(value, least)
