"""Collectives: the bytes and time needed to move an array among the chips of a group.

``size`` is the number of bytes in the whole array, after a gather or before a scatter. Sizes and
counts can be numbers, arrays that broadcast, or SymPy symbols. The cost of a collective is the
number of bytes through the links of the chip with the fewest links. The time is this number divided
by the group's ``egress``. A single chip sends nothing.

``exact=False`` is the usual approximation for many chips. It assumes that chips send their own
share too, so it counts V instead of (n-1)/n V. For two chips, this doubles the bytes.

For a small array, the time is mostly hop latency. With ``with_latency=True``, the time is
at least hops × the group's latency. On a TPU v5e, a hop takes about 1 µs:

>>> from roofkit.network import group
>>> small, large = (
...     all_gather(size, group("TPU v5e", (16,)), with_latency=True) for size in (1e5, 1e7)
... )
>>> [f"{transfer.seconds * 1e6:.0f} µs" for transfer in (small, large)]
['8 µs', '104 µs']

Across several nodes, every collective has two levels. Within a node, the links move the whole
array. Between nodes, each of a node's k chips moves 1/k of it over its network card. The network is
assumed to be as fast as the cards, like a leaf-spine fabric with full bisection bandwidth. The two
levels are assumed to overlap fully, so the time is that of the slower level.

Invalid sizes and unknown options raise ValueError.

Source: "How to Scale Your Model", chapter 3 (collectives, hops, latency). A brute-force test in
tests/roofkit/network checks every cut through the graph: no schedule gathers faster.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit._inputs import check_broadcast, check_number, is_symbolic
from roofkit._units import format_quantity
from roofkit.network.groups import Group, check_group, zero_for_one_chip
from roofkit.roofline import larger


@dataclass(frozen=True, slots=True, repr=False)
class Transfer:
    """The bytes that a collective moves.

    ``bytes`` are sent over one chip's links within its node, ``network_bytes`` over its network
    card. With latency, ``bytes`` is at least the number that the links can carry during the hops.

    >>> all_gather(16e6, Group("switch", (8,), 450e9))
    Transfer(14 MB over 450 GB/s, 31.1 µs)
    """

    group: Group
    bytes: Any
    network_bytes: Any = 0.0

    @property
    def times(self):
        """Seconds by channel: {"link": …}, plus "network" if there are several nodes."""
        times = {"link": self.bytes / self.group.egress}
        if self.group.card is not None:
            times["network"] = self.network_bytes / self.group.card
        return times

    @property
    def seconds(self):
        """Seconds, if the two levels overlap fully."""
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
    """Return the Transfer of an all-gather of an array of ``size`` bytes.

    Each chip starts with 1/n of the array and receives the other (n-1)/n over its links.

    >>> from roofkit.network import line, ring
    >>> all_gather(16e6, ring(4, 45e9)), all_gather(16e6, line(4, 45e9))
    (Transfer(12 MB over 90 GB/s, 133 µs), Transfer(12 MB over 45 GB/s, 267 µs))
    """
    return _transfer_in_passes(1, size, group, exact, with_latency)


def reduce_scatter(size, group, *, exact=True, with_latency=False):
    """Return the Transfer of a reduce-scatter of ``size`` bytes of partial sums per chip.

    Each chip gets 1/n of the sums. This takes as many bytes as an all-gather, without additions.

    >>> from roofkit.network import ring
    >>> reduce_scatter(16e6, ring(4, 45e9)).bytes
    12000000.0
    """
    return _transfer_in_passes(1, size, group, exact, with_latency)


def all_reduce(size, group, *, exact=True, with_latency=False, in_network=None):
    """Return the Transfer of an all-reduce of ``size`` bytes of partial sums per chip.

    This is a reduce-scatter followed by an all-gather. The additions are not counted. If links are
    idle, overlapping the two phases can be faster: V / W at best on a line.

    Within a node, a switch that can sum arrays (NVLink SHARP) does so; between nodes, data moves as
    usual. ``in_network=None``, the default everywhere, uses such a switch if the group has one.
    ``False`` never does, and ``True`` raises ValueError for a group without one.

    With such a switch, a chip sends (n+1)/n V: all its partial sums, and the totals of its own 1/n,
    which it gets from the switch and sends to all (nccl-tests, pull request 239). Two or three
    chips send 2(n-1)/n V, as without it. nccl-tests prints 2(n-1)/n V / seconds as the bus
    bandwidth, which says nothing about the links if the switch does the sums. Logs of eight H100s
    show 475 to 480 GB/s, more than the links' 450; the links would allow 700. To compare measured
    times with these bounds, see tests/roofkit/network/test_measured_times.py.

    >>> from roofkit.network import group
    >>> all_reduce(16e6, group("TPU v5e", 2)).bytes
    16000000.0
    >>> h100 = group("H100", 8)
    >>> all_reduce(16e6, h100).bytes, all_reduce(16e6, h100, in_network=False).bytes
    (18000000.0, 28000000.0)
    >>> all_reduce(256e6, group("H100", 8, nodes=2, card=50e9))
    Transfer(288 MB over 450 GB/s, 32 MB over 50 GB/s, 640 µs)
    """
    if in_network is not None:
        check_flags(in_network=in_network)
    size = _check_collective(size, group, exact, with_latency)
    if in_network and not exact:
        raise ValueError("exact=False has no effect with in_network=True: the whole array moves")
    if in_network and not group.reduces:
        raise ValueError(f"in_network=True needs a switch that sums arrays; {group!r} has none")
    if not (group.reduces if in_network is None else in_network):
        return _transfer_in_passes(2, size, group, exact, with_latency)
    n = group.per_node
    # Among two or three chips, two passes from chip to chip take no longer.
    parts = n + 1 if is_symbolic(n) else -larger(-(n + 1), -2 * (n - 1))
    moved = parts / n * size
    between = _transfer_in_passes(2, size, group, exact, False).network_bytes
    return Transfer(group, _add_latency_floor(moved, 2 * group.hops, group, with_latency), between)


def all_to_all(size, group, *, exact=True, with_latency=False):
    """Return the Transfer of an all-to-all of an array of ``size`` bytes.

    Each chip has 1/n of the array and sends 1/n of that to every chip, on shortest paths. The
    busiest link carries 1/8 of ``size`` on a ring with an even number of chips (a quarter of a
    gather on many chips), (n-1)/2n on a one-way ring, 1/4 in the middle of a line, and (n-1)/n² at
    a switch. On a torus, it is on the longest axis. The Transfer treats all links as equally busy.

    >>> from roofkit.network import ring
    >>> all_to_all(16e6, ring(4, 45e9)), all_to_all(16e6, ring(4, 45e9, bidirectional=False))
    (Transfer(4 MB over 90 GB/s, 44.4 µs), Transfer(6 MB over 45 GB/s, 133 µs))
    """
    size = _check_collective(size, group, exact, with_latency)
    chips, nodes = group.per_node, group.nodes
    # Bytes that stay within a node.
    inside = size / (nodes * nodes)
    if group.topology == "torus":
        busiest = functools.reduce(
            larger,
            (
                inside
                * _count_ring_hops(length, ring, group.bidirectional, exact)
                / (length * chips)
                for length, ring in zip(group.axes, group.rings, strict=True)
            ),
        )
        moved = busiest * group.links
    elif exact:
        moved = inside * (chips - 1) / (chips * chips)
    else:
        moved = zero_for_one_chip(inside / chips, chips)
    moved = _add_latency_floor(moved, group.hops, group, with_latency)
    return Transfer(group, moved, size * (nodes - 1) / (chips * nodes * nodes))


def _transfer_in_passes(passes, size, group, exact, with_latency):
    size = _check_collective(size, group, exact, with_latency)
    moved, between = (
        passes * part * (n - 1) / n if exact else zero_for_one_chip(passes * part, n)
        for part, n in ((size, group.per_node), (size / group.per_node, group.nodes))
    )
    return Transfer(
        group, _add_latency_floor(moved, passes * group.hops, group, with_latency), between
    )


def _count_ring_hops(length, ring, bidirectional, exact):
    """Count how many of an all-to-all's length² pieces cross the busiest link of an axis."""
    if not ring:
        return length * length // 4 if exact else zero_for_one_chip(length * length / 4, length)
    if bidirectional:
        return (
            (length * length // 4) / 2 if exact else zero_for_one_chip(length * length / 8, length)
        )
    return length * (length - 1) / 2 if exact else zero_for_one_chip(length * length / 2, length)


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
    if isinstance(size, np.ndarray):  # the group's own values already broadcast
        lengths = {f"axes[{place}]": length for place, length in enumerate(group.axes)}
        check_broadcast(
            size=size, **lengths, nodes=group.nodes, bandwidth=group.bandwidth, card=group.card,
            latency=group.latency if with_latency else None,
        )  # fmt: skip
    # Floats round as arrays do. With symbols, integers keep fractions exact.
    if type(size) is int and not any(map(is_symbolic, group.axes)):
        size = float(size)
    return size


def check_flags(**named):
    """Raise ValueError for an argument that is neither True nor False."""
    for name, flag in named.items():
        if not isinstance(flag, (bool, np.bool_)):
            raise ValueError(f"{name}={flag!r} must be True or False")
