"""Collectives: the bytes and the time to move one array among the chips of a group.

``size`` counts the bytes of the whole array, as it is after a gather or before a scatter. Sizes and
counts may be numbers, arrays of any shapes that broadcast, or SymPy symbols. The cost of a
collective is the bytes through the links of the chip with the fewest links, so its time is
bytes over the group's ``egress``. A single chip communicates nothing.

``exact=False`` is the usual approximation for many chips, which counts a chip's own share as if it
were sent too: V instead of (n-1)/n V. For two chips that is twice too much.

For a small array, the time is mostly hop latency. With ``with_latency=True`` the time is
at least hops × the group's latency. On TPU v5e a hop takes about 1 µs:

>>> from roofkit.network import group
>>> small, large = (
...     all_gather(size, group("TPU v5e", (16,)), with_latency=True) for size in (1e5, 1e7)
... )
>>> [f"{transfer.seconds * 1e6:.0f} µs" for transfer in (small, large)]
['8 µs', '104 µs']

Over several nodes every collective has two levels. Within a node, the links carry the whole array;
between nodes, the card of each of a node's k chips carries the k-th part of it. The network between
the cards is taken to be as fast as they are, as a leaf-spine fabric of full bisection is; any other
takes longer. The time is the slower level's, as if the two overlapped fully.

Bad sizes and unknown options raise ValueError.

Source: "How to Scale Your Model", chapter 3 (collectives, hops, latency). A brute-force test
(tests/roofkit/network) of every cut through the graph shows that no schedule gathers faster.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit._inputs import check_broadcast, check_number, is_symbolic
from roofkit._units import format_quantity
from roofkit.network.groups import Group, check_group, zero_if_alone
from roofkit.roofline import larger


@dataclass(frozen=True, slots=True, repr=False)
class Transfer:
    """The bytes that a collective moves.

    ``bytes`` go through the links of one chip within its node, and ``network_bytes`` through its
    network card. With latency, ``bytes`` is at least what the links could carry during the hops.

    >>> all_gather(16e6, Group("switch", (8,), 450e9))
    Transfer(14 MB over 450 GB/s, 31.1 µs)
    """

    group: Group
    bytes: Any
    network_bytes: Any = 0.0

    @property
    def times(self):
        """Seconds by channel: {"link": …}, and "network" where there are several nodes."""
        times = {"link": self.bytes / self.group.egress}
        if self.group.card is not None:
            times["network"] = self.network_bytes / self.group.card
        return times

    @property
    def seconds(self):
        """Seconds with full overlap of the two levels."""
        return functools.reduce(larger, self.times.values())

    def __repr__(self):
        levels = [(self.bytes, self.group.egress)]
        if self.group.card is not None:
            levels.append((self.network_bytes, self.group.card))
        moved = ", ".join(
            f"{format_quantity(size, 'B')} over {format_quantity(speed, 'B/s')}"
            for size, speed in levels
        )
        return f"Transfer({moved}, {format_quantity(self.seconds, 's')})"


def all_gather(size, group, *, exact=True, with_latency=False):
    """Every chip holds 1/n of an array of ``size`` bytes, and ends with all of it: a Transfer.

    Each chip lacks (n-1)/n of the array, and all this data comes in over its links.

    >>> from roofkit.network import line, ring
    >>> all_gather(16e6, ring(4, 45e9)), all_gather(16e6, line(4, 45e9))
    (Transfer(12 MB over 90 GB/s, 133 µs), Transfer(12 MB over 45 GB/s, 267 µs))
    """
    return _transfer_in_passes(1, size, group, exact, with_latency)


def reduce_scatter(size, group, *, exact=True, with_latency=False):
    """Every chip holds ``size`` bytes of partial sums, and ends with 1/n of the sums: a Transfer.

    An all-gather backwards: the same bytes. The additions are not counted.

    >>> from roofkit.network import ring
    >>> reduce_scatter(16e6, ring(4, 45e9)).bytes
    12000000.0
    """
    return _transfer_in_passes(1, size, group, exact, with_latency)


def all_reduce(size, group, *, exact=True, with_latency=False, in_network=None):
    """Every chip holds ``size`` bytes of partial sums, and ends with all the sums: a Transfer.

    This is a reduce-scatter followed by an all-gather. The additions are not counted. If links are
    idle, overlapping the two phases can be faster: on a line V / W at best.

    A switch that can add up (NVLink SHARP) takes the partial sums once and returns the sums once
    within each node; between nodes, the cards carry them as usual. ``in_network=None``, the default
    everywhere, uses such a switch if the group has one, ``False`` never does, and ``True`` raises
    ValueError for a group without one.

    The time is then V / W, and no all-reduce is faster: for each number, a chip must send its own
    part or the sum. nccl-tests prints a bus bandwidth of 2(n-1)/n V / seconds, which says nothing
    about the links if the switch adds up. Logs of eight H100 have 475 to 480 GB/s, more than the
    450 of their links; V / W would give 787.5. tests/roofkit/network/test_measured_times.py
    compares measured collectives with these bounds.

    >>> from roofkit.network import group
    >>> all_reduce(16e6, group("TPU v5e", 2)).bytes
    16000000.0
    >>> h100 = group("H100", 8)
    >>> all_reduce(16e6, h100).bytes, all_reduce(16e6, h100, in_network=False).bytes
    (16000000.0, 28000000.0)
    >>> all_reduce(256e6, group("H100", 8, nodes=2, card=50e9))
    Transfer(256 MB over 450 GB/s, 32 MB over 50 GB/s, 640 µs)
    """
    if in_network is not None:
        check_flags(in_network=in_network)
    size = _check_collective(size, group, exact, with_latency)
    if in_network and not exact:
        raise ValueError("in_network=True moves the whole array once: exact=False changes nothing")
    if in_network and not group.reduces:
        raise ValueError(f"in_network=True needs a switch that adds up; {group!r} has none")
    if not (group.reduces if in_network is None else in_network):
        return _transfer_in_passes(2, size, group, exact, with_latency)
    moved = zero_if_alone(1, group.per_node) * size
    between = _transfer_in_passes(2, size, group, exact, False).network_bytes
    return Transfer(group, _add_latency_floor(moved, 2 * group.hops, group, with_latency), between)


def all_to_all(size, group, *, exact=True, with_latency=False):
    """Every chip holds 1/n of an array of ``size`` bytes, and sends 1/n of its part to every chip.

    Each of the n² pieces takes the shortest way. The busiest link carries 1/8 of size on a ring of
    evenly many chips, a quarter of what a gather over many chips takes; (n-1)/2n on a one-way
    ring; 1/4 in the middle of a line; (n-1)/n² at a switch. On a torus it is on the longest axis.
    The Transfer counts that for each link of a chip.

    >>> from roofkit.network import ring
    >>> all_to_all(16e6, ring(4, 45e9)), all_to_all(16e6, ring(4, 45e9, bidirectional=False))
    (Transfer(4 MB over 90 GB/s, 44.4 µs), Transfer(6 MB over 45 GB/s, 133 µs))
    """
    size = _check_collective(size, group, exact, with_latency)
    chips, nodes = group.per_node, group.nodes
    # This much of the array stays within its node.
    inside = size / (nodes * nodes)
    if group.topology == "torus":
        busiest = functools.reduce(
            larger,
            (
                inside
                * _count_crossings(length, ring, group.bidirectional, exact)
                / (length * chips)
                for length, ring in zip(group.axes, group.rings, strict=True)
            ),
        )
        moved = busiest * group.links
    elif exact:
        moved = inside * (chips - 1) / (chips * chips)
    else:
        moved = zero_if_alone(inside / chips, chips)
    moved = _add_latency_floor(moved, group.hops, group, with_latency)
    return Transfer(group, moved, size * (nodes - 1) / (chips * nodes * nodes))


def _transfer_in_passes(passes, size, group, exact, with_latency):
    size = _check_collective(size, group, exact, with_latency)
    moved, between = (
        passes * part * (n - 1) / n if exact else zero_if_alone(passes * part, n)
        for part, n in ((size, group.per_node), (size / group.per_node, group.nodes))
    )
    return Transfer(
        group, _add_latency_floor(moved, passes * group.hops, group, with_latency), between
    )


def _count_crossings(length, ring, bidirectional, exact):
    """Count the pieces of an all-to-all, length² in all, that cross the busiest link of an axis."""
    if not ring:
        return length * length // 4 if exact else zero_if_alone(length * length / 4, length)
    if bidirectional:
        return (length * length // 4) / 2 if exact else zero_if_alone(length * length / 8, length)
    return length * (length - 1) / 2 if exact else zero_if_alone(length * length / 2, length)


def _add_latency_floor(moved, hops, group, with_latency):
    return larger(moved, hops * group.latency * group.egress) if with_latency else moved


def _check_collective(size, group, exact, with_latency):
    check_group(group)
    size = check_number(size, "size")
    check_flags(exact=exact, with_latency=with_latency)
    if with_latency and not is_symbolic(group.latency) and not np.any(group.latency):
        raise ValueError(
            f"with_latency=True, but {group!r} has no latency; build the group with one"
        )
    if isinstance(size, np.ndarray):  # the figures of the group fit each other already
        lengths = {f"axes[{place}]": length for place, length in enumerate(group.axes)}
        check_broadcast(
            size=size, **lengths, nodes=group.nodes, bandwidth=group.bandwidth, card=group.card,
            latency=group.latency if with_latency else None,
        )  # fmt: skip
    # A float rounds as an array does, but with symbols a whole number keeps fractions exact.
    if type(size) is int and not any(map(is_symbolic, group.axes)):
        size = float(size)
    return size


def check_flags(**named):
    """Raise ValueError naming the argument that is neither True nor False."""
    for name, flag in named.items():
        if not isinstance(flag, (bool, np.bool_)):
            raise ValueError(f"{name}={flag!r} must be True or False")
