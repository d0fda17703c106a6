"""Matmuls split over the chips of a group, and the minimum width for which splitting pays off."""

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
    """One chip's part of a matmul that is split over several chips.

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
        """The Cost over the chip's links, with the same FLOPs as ``local``."""
        return Cost(self.local.flops, 0 if self.transfer is None else self.transfer.bytes)

    def estimate(self, roof):
        """Return the Estimate over memory and links together.

        Its bound is "compute", "memory", "link" or, between nodes, "network". Raises ValueError
        unless ``roof`` is a Roofline with memory as its channel.

        >>> import roofkit as rk
        >>> v5e = rk.chip("TPU v5e")
        >>> half = sharded_matmul(B=1024, D=8192, F=8192, group=rk.group(v5e, 2))
        >>> half.estimate(v5e.roofline("bf16")).bound
        'link'
        """
        if not isinstance(roof, Roofline) or roof.channel != "memory":
            raise ValueError(
                f"roof must be a Roofline over memory, got {roof!r}; the links are already part "
                'of the group: estimate(chip.roofline("bf16"))'
            )
        over_memory = roof.estimate(self.local)
        times = self.transfer.times if self.transfer else {}
        return Estimate.combine(
            over_memory,
            *(Estimate(over_memory.math, seconds, channel) for channel, seconds in times.items()),
        )


# For each dimension to split: the possible collectives (default first), and the array that each
# moves.
COLLECTIVES = {
    "D": {"all-reduce": (all_reduce, "Z"), "reduce-scatter": (reduce_scatter, "Z")},
    "B": {"none": None, "all-gather Y": (all_gather, "Y"), "all-gather Z": (all_gather, "Z")},
    "F": {"none": None, "all-gather X": (all_gather, "X"), "all-gather Z": (all_gather, "Z")},
}


def sharded_matmul(
    B, D, F, group, *, along="D", collective=None, exact=True, with_latency=False,
    in_network=None, dtype="bf16", weight_dtype=None, out_dtype=None,
):  # fmt: skip
    """Return the ShardedMatmul of X[B, D] · Y[D, F] -> Z[B, F], split evenly over a group.

    ``along`` is the dimension to split, and ``collective`` the communication that it requires:

    - "D": each chip has X[B, D/n] and Y[D/n, F] and computes partial sums of the whole Z.
      "all-reduce" (the default) leaves Z on every chip, "reduce-scatter" 1/n of it. Sums are sent
      in out_dtype. The additions, fewer than BF FLOPs per chip, are not counted.
    - "B": each chip has X[B/n, D] and the whole Y, and computes Z[B/n, F]. By default, the chips
      send nothing ("none"). Use "all-gather Y" if weights are stored split, and "all-gather Z" if
      every chip needs the whole result.
    - "F": each chip has the whole X and Y[D, F/n], and computes Z[B, F/n]. The default is "none".
      Use "all-gather X" if inputs arrive split, and "all-gather Z" as above.

    Each chip moves its operands and results through memory once; memory traffic of collectives is
    not counted. When split along D, the critical batch is ``critical_batch(roof, D / n, F)``.
    ``exact``, ``with_latency`` and ``in_network`` are passed to the collective.

    Source: "How to Scale Your Model", chapter 1 (along D) and chapter 3.

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
    """Return the width D above which a matmul split along D is compute-bound instead of link-bound.

    T_math = 2BDF / nC falls with n, but T_comms = f(n) · s · BF / W barely changes. Here the
    ``collective`` ("all-reduce" or "reduce-scatter") moves f V bytes, s is the number of bytes per
    element of out_dtype, and W the group's egress. So D = n f(n) · s/2 · C/W for any B and F. For
    an all-reduce in bf16, this is 2 (n-1) C/W, or n C/W if the switch sums the arrays (see
    ``in_network`` of all_reduce). The width of a single chip is 0.

    ``dtype`` selects the peak C of the group's chip, and the format of the sums unless out_dtype is
    given. ``peak_flops`` overrides the chip's peak. Hop latency, which does depend on B and F, is
    ignored. Raises ValueError if no peak is known.

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
    """Return the largest number of chips for which splitting a matmul of width D pays off.

    This is the largest node or slice with a ``critical_width`` of at most D, or 1. ``how`` is
    passed to critical_width.

    >>> most_chips("TPU v5e", 8192), most_chips("TPU v5e", 8756), most_chips("H100", 8192)
    (1, 2, 2)
    """
    chip = find_chip(chip)
    D = check_number(D, "D")
    if isinstance(D, np.ndarray) or is_symbolic(D):
        raise ValueError(f"most_chips takes one number for D, got {D!r}")
    several = (n for n in group_sizes(chip) if n > 1)
    fitting = [n for n in several if critical_width(group(chip, n), dtype, **how) <= D]
    return max(fitting, default=1)


def group_sizes(chip):
    """List the possible numbers of chips per node or slice, in increasing order.

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
    """Return the collective and the array that it moves, or None if nothing moves."""
    known = COLLECTIVES[along]
    if collective is None:
        collective = next(iter(known))
    if not isinstance(collective, str) or collective not in known:
        raise ValueError(
            f"collective={collective!r} does not suit a matmul split along {along}; "
            f"use one of {', '.join(known)}"
        )
    if collective == "all-reduce":
        return functools.partial(all_reduce, in_network=in_network), "Z"
    if in_network:
        raise ValueError(f"in_network=True needs an all-reduce, not collective={collective!r}")
    return known[collective]
