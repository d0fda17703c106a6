"""A matmul split over the chips of a group, and how wide it must be to be worth it."""

import functools
from dataclasses import dataclass

import numpy as np

from roofkit._inputs import check_broadcast, check_number, check_sizes, is_symbolic, itemsize
from roofkit.hardware import chip as find_chip
from roofkit.kernels import matmul
from roofkit.network.collectives import (
    Transfer,
    all_gather,
    all_reduce,
    check_flags,
    reduce_scatter,
)
from roofkit.network.groups import check_group, group
from roofkit.roofline import Cost, Estimate, Roofline


@dataclass(frozen=True, slots=True)
class ShardedMatmul:
    """A matmul split over several chips, as one of them sees it.

    ``local`` is its Cost over the chip's memory, and ``transfer`` the Transfer over its links, or
    None if nothing is sent.

    >>> from roofkit.network import group
    >>> half = sharded_matmul(B=128, D=8192, F=4096, group=group("TPU v5e", 2))
    >>> round(half.local.intensity, 1), half.link.intensity
    (120.5, 4096.0)
    """

    local: Cost
    transfer: Transfer | None

    @property
    def link(self):
        """The Cost over the chip's links, which has a separate intensity."""
        return Cost(self.local.flops, 0 if self.transfer is None else self.transfer.bytes)

    def estimate(self, roof):
        """The Estimate over the memory and over the links together.

        Its bound is "compute", "memory", "link" or, between nodes, "network". Raises ValueError
        for anything but a Roofline over the memory.

        >>> import roofkit as rk
        >>> v5e = rk.chip("TPU v5e")
        >>> half = sharded_matmul(B=1024, D=8192, F=8192, group=rk.group(v5e, 2))
        >>> half.estimate(v5e.roofline("bf16")).bound
        'link'
        """
        if not isinstance(roof, Roofline) or roof.channel != "memory":
            raise ValueError(
                f"roof must be a Roofline over the memory, got {roof!r}; the links are the "
                'group\'s: estimate(chip.roofline("bf16"))'
            )
        over_memory = roof.estimate(self.local)
        times = self.transfer.times if self.transfer else {}
        return Estimate.combine(
            over_memory,
            *(Estimate(over_memory.math, seconds, channel) for channel, seconds in times.items()),
        )


# For each dimension to split: the possible collectives, the default first, and the array that each
# one moves.
COLLECTIVES = {
    "D": {"all-reduce": (all_reduce, "Z"), "reduce-scatter": (reduce_scatter, "Z")},
    "B": {"none": None, "all-gather Y": (all_gather, "Y"), "all-gather Z": (all_gather, "Z")},
    "F": {"none": None, "all-gather X": (all_gather, "X"), "all-gather Z": (all_gather, "Z")},
}


def sharded_matmul(
    B, D, F, group, *, along="D", collective=None, exact=True, with_latency=False,
    in_network=None, dtype="bf16", weight_dtype=None, out_dtype=None,
):  # fmt: skip
    """X[B, D] · Y[D, F] -> Z[B, F] on a group, each chip doing 1/n of the multiplications.

    ``along`` is the dimension to split, and ``collective`` the communication that follows:

    - "D": each chip has X[B, D/n] and Y[D/n, F] and gets partial sums of the whole Z. "all-reduce"
      (the default) leaves Z on every chip, "reduce-scatter" 1/n of it. Sums travel in out_dtype;
      adding them up, fewer than BF FLOPs a chip, is not counted.
    - "B": each chip has X[B/n, D], all of Y, and gets Z[B/n, F]; "none" (the default) travels.
      "all-gather Y" is for weights that are stored split, "all-gather Z" for results that every
      chip needs.
    - "F": each chip has all of X, Y[D, F/n], and gets Z[B, F/n]; "none" (the default) travels.
      "all-gather X" is for inputs that arrive split, "all-gather Z" as above.

    Memory moves each chip's operands and results once; a collective's reads and writes there are
    not counted. Split along D, each chip's critical batch is ``critical_batch(roof, D / n, F)``.
    ``exact``, ``with_latency`` and ``in_network`` go to the collective.

    Returns a ShardedMatmul. Source: "How to Scale Your Model", chapter 1 (along D) and chapter 3.

    >>> import roofkit as rk
    >>> half = sharded_matmul(B=128, D=1024, F=4096, group=rk.group("TPU v5e", 2))
    >>> both = half.estimate(rk.chip("TPU v5e").roofline("bf16"))
    >>> round(both.math / both.times["link"], 3)
    0.117
    """
    B, D, F = check_sizes(B=B, D=D, F=F)
    check_group(group)
    if not isinstance(along, str) or along not in COLLECTIVES:
        raise ValueError(f"along={along!r} must be the dimension to split: B, D or F")
    choice = _choose_collective(along, collective, in_network)
    check_flags(exact=exact, with_latency=with_latency)
    check_broadcast(B=B, D=D, F=F, n=group.n)
    lengths = {"B": B, "D": D, "F": F}
    lengths[along] = lengths[along] / group.n
    local = matmul(**lengths, dtype=dtype, weight_dtype=weight_dtype, out_dtype=out_dtype)
    if choice is None:
        return ShardedMatmul(local, None)
    collect, array = choice
    elements, its_dtype = {
        "X": (B * D, dtype), "Y": (D * F, weight_dtype), "Z": (B * F, out_dtype),
    }[array]  # fmt: skip
    size = elements * itemsize(dtype if its_dtype is None else its_dtype)
    return ShardedMatmul(local, collect(size, group, exact=exact, with_latency=with_latency))


def critical_width(
    group, dtype="bf16", *, collective="all-reduce", exact=True, in_network=None, out_dtype=None,
    peak_flops=None,
):  # fmt: skip
    """Return the width D above which a matmul split along D is bound by compute, not by links.

    T_math = 2BDF / nC falls with n; T_comms = f(n) · s · BF / W hardly does, where f V are the
    bytes of the ``collective`` ("all-reduce" or "reduce-scatter"), s the bytes of an element of
    out_dtype and W the group's egress. So D = n f(n) · s/2 · C/W, for any B and F: for an
    all-reduce in bf16 that is 2 (n-1) C/W, or n C/W where a switch adds up (``in_network``, as
    all_reduce has it). A single chip has width 0.

    ``dtype`` selects the peak C of the group's chip, and the format of the sums unless out_dtype is
    given; ``peak_flops`` replaces the chip's peak. The latency of hops, which does depend on B and
    F, is left out. Raises ValueError if there is no peak.

    Source: "How to Scale Your Model", chapter 1, for two chips.

    >>> from roofkit.network import group
    >>> [round(critical_width(group("TPU v5e", n)), 1) for n in (2, (16,))]
    [8755.6, 65666.7]
    """
    check_group(group)
    collect, _ = _choose_collective("D", collective, in_network)
    peak = group.peak_flops(dtype, peak_flops)
    moved = collect(itemsize(out_dtype or dtype), group, exact=exact)
    return group.n * peak / 2 * moved.seconds


def most_chips(chip, D, dtype="bf16", **how):
    """Return the most chips of one node or slice that a matmul of width D can be split over.

    This is the largest group of the table whose ``critical_width`` is at most D, or 1. ``how`` is
    passed to critical_width.

    >>> most_chips("TPU v5e", 8192), most_chips("TPU v5e", 8756), most_chips("H100", 8192)
    (1, 2, 3)
    """
    chip = find_chip(chip)
    D = check_number(D, "D")
    if isinstance(D, np.ndarray) or is_symbolic(D):
        raise ValueError(f"most_chips takes one number for D, got {D!r}")
    several = (n for n in group_sizes(chip) if n > 1)
    fitting = [n for n in several if critical_width(group(chip, n), dtype, **how) <= D]
    return max(fitting, default=1)


def group_sizes(chip):
    """List, in increasing order, how many of these chips can work together in one node or slice.

    >>> group_sizes(find_chip("TPU v5e"))
    [1, 2, 4, 8, 16, 32, 64, 128, 256]
    """
    interconnect = chip.interconnect
    if interconnect is None or interconnect.topology is None:
        return [1]
    if interconnect.topology == "torus":
        return sorted({1, 2, *(int(np.prod(axes)) for axes in interconnect.slices)})
    return list(range(1, interconnect.largest + 1))


def _choose_collective(along, collective, in_network):
    """Return the collective and the array that it moves, or None where nothing moves."""
    known = COLLECTIVES[along]
    if collective is None:
        collective = next(iter(known))
    if not isinstance(collective, str) or collective not in known:
        raise ValueError(
            f"collective={collective!r} is not one for a matmul split along {along}; "
            f"use one of {', '.join(known)}"
        )
    if collective == "all-reduce":
        return functools.partial(all_reduce, in_network=in_network), "Z"
    if in_network:
        raise ValueError(f"in_network=True is for an all-reduce, not for collective={collective!r}")
    return known[collective]
