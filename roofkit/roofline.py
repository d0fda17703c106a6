"""The roofline model: a Cost on a Roofline gives an Estimate of the time."""

import functools
import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from roofkit._inputs import check_broadcast, check_number, is_symbolic
from roofkit._units import format_quantity
from roofkit.efficiency import CACHE_REASON, COMPUTE_REASONS, MEMORY_REASONS, share_reached


@dataclass(frozen=True, slots=True, repr=False)
class Cost:
    """The work of a computation: FLOPs and bytes.

    Parameters
    ----------
    flops : float, array or SymPy expression
        Floating-point operations; a multiply-add counts as 2.
    bytes : float, array or SymPy expression
        Bytes moved over one channel, memory or a link. Units are decimal: 1 GB = 1e9 bytes.

    Costs can be added, and multiplied by a number: ``40 * (attention + mlp)``.

    Raises ValueError for negative values, NaN, and shapes that do not broadcast.

    >>> Cost(flops=1e12, bytes=2e9)
    Cost(1 TFLOP, 2 GB, 500 FLOP/byte)
    """

    flops: Any
    bytes: Any

    def __post_init__(self):
        flops = check_number(self.flops, "flops", above=False)
        moved = check_number(self.bytes, "bytes", above=False)
        check_broadcast(flops=flops, bytes=moved)
        object.__setattr__(self, "flops", flops)
        object.__setattr__(self, "bytes", moved)

    def __repr__(self):
        parts = [format_quantity(self.flops, "FLOP"), format_quantity(self.bytes, "B")]
        if not is_symbolic(self.flops) and not is_symbolic(self.bytes):
            parts.append(format_quantity(self.intensity, "FLOP/byte"))
        return f"Cost({', '.join(parts)})"

    @property
    def intensity(self):
        """Arithmetic intensity in FLOPs/byte; infinite if no bytes are moved."""
        if is_symbolic(self.flops) or is_symbolic(self.bytes):
            return self.flops / self.bytes
        if not isinstance(self.flops, np.ndarray) and not isinstance(self.bytes, np.ndarray):
            if self.bytes:
                return self.flops / self.bytes
            return math.inf if self.flops else math.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.divide(self.flops, self.bytes)

    def __add__(self, other):
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(self.flops + other.flops, self.bytes + other.bytes)

    def __radd__(self, other):
        # sum() starts with 0 + the first Cost.
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def __mul__(self, times):
        if isinstance(times, Cost):
            return NotImplemented
        times = check_number(times, "times", above=False)
        check_broadcast(times=times, flops=self.flops, bytes=self.bytes)
        return Cost(self.flops * times, self.bytes * times)

    __rmul__ = __mul__


# Otherwise NumPy would compute ``array * cost`` element by element.
Cost.__array_ufunc__ = None


@dataclass(frozen=True, slots=True, repr=False)
class Roofline:
    """A machine described by two numbers: its peak FLOP/s and its bandwidth.

    Parameters
    ----------
    peak_flops : float or array
        Dense FLOP/s for the dtype in use.
    bandwidth : float or array
        Bytes/s of the channel that feeds the computation.
    channel : str
        The name of that channel. If the channel is the bottleneck, it is the Estimate's ``bound``.
    cache : bytes, optional
        Size of the last-level cache, if known. It does not affect estimates, but if the arrays fit
        in the cache, the error that ``share`` raises says so.

    Raises ValueError unless peak_flops and bandwidth are finite, above zero and broadcastable.

    Source: Williams, Waterman and Patterson, CACM 52(4), 2009.

    >>> Roofline(peak_flops=1.97e14, bandwidth=8.2e11)
    Roofline(197 TFLOP/s, 820 GB/s, ridge 240.2 FLOP/byte)
    """

    peak_flops: Any
    bandwidth: Any
    channel: str = "memory"
    cache: Any = field(default=None, compare=False)

    def __post_init__(self):
        peak = check_number(self.peak_flops, "peak_flops")
        bandwidth = check_number(self.bandwidth, "bandwidth")
        check_broadcast(peak_flops=peak, bandwidth=bandwidth)
        object.__setattr__(self, "peak_flops", peak)
        object.__setattr__(self, "bandwidth", bandwidth)

    def __repr__(self):
        speed = format_quantity(self.bandwidth, "B/s")
        if self.channel != "memory":
            speed += f" {self.channel}"
        ridge = format_quantity(self.ridge, "FLOP/byte")
        return f"Roofline({format_quantity(self.peak_flops, 'FLOP/s')}, {speed}, ridge {ridge})"

    @property
    def ridge(self):
        """The intensity, in FLOPs/byte, at which computing and moving data take equally long."""
        return self.peak_flops / self.bandwidth

    def attainable(self, intensity):
        """Return the highest FLOP/s that a computation of this intensity (FLOPs/byte) can reach.

        >>> Roofline(1.97e14, 8.2e11).attainable(0.5)
        410000000000.0
        """
        intensity = check_number(intensity, "intensity", above=False, finite=False)
        check_broadcast(intensity=intensity, peak_flops=self.peak_flops, bandwidth=self.bandwidth)
        return smaller(self.peak_flops, intensity * self.bandwidth)

    def estimate(self, cost):
        """Return an Estimate of the time that a Cost takes on this machine.

        >>> Roofline(1.97e14, 8.2e11).estimate(Cost(flops=2e12, bytes=1e9)).bound
        'compute'
        """
        if not isinstance(cost, Cost):
            raise ValueError(
                f"cost must be a Cost(flops, bytes), got {type(cost).__name__}: {cost!r}"
            )
        check_broadcast(
            flops=cost.flops, bytes=cost.bytes,
            peak_flops=self.peak_flops, bandwidth=self.bandwidth,
        )  # fmt: skip
        return self.estimate_unchecked(cost.flops, cost.bytes)

    def estimate_unchecked(self, flops, moved):
        """Return the Estimate for FLOPs and bytes without checking that they are valid.

        >>> Roofline(1.97e14, 8.2e11).estimate_unchecked(2e12, 1e9)
        Estimate(compute 10.2 ms, memory 1.22 ms: 10.2 ms to 11.4 ms, compute-bound)
        """
        return Estimate(flops / self.peak_flops, moved / self.bandwidth, self.channel)

    def share(self, cost, seconds, on_chip=0.0):
        """Return the share of this roof that was achieved: lower bound / measured time.

        A share of 1 is as fast as the roof allows. The roof assumes that all arrays come from
        memory. To exclude bytes that stayed in the last-level cache, pass their number as
        ``on_chip``. Raises ValueError with likely reasons if the share is above 1. To compare with
        a single ceiling, use ``mfu`` or ``mbu``.

        >>> roof = Roofline(1.97e14, 8.2e11)
        >>> round(roof.share(Cost(flops=2e12, bytes=1e9), seconds=12.5e-3), 3)
        0.812
        >>> add = Cost(flops=4e6, bytes=24e6)
        >>> round(roof.share(add, seconds=20e-6, on_chip=16e6), 3)         # both operands stayed
        0.488
        """
        seconds = check_number(seconds, "seconds")
        on_chip = check_number(on_chip, "on_chip", above=False)
        least = self.estimate(cost).lower
        check_broadcast(bytes=cost.bytes, on_chip=on_chip)
        if np.any(on_chip):
            least = self.estimate(Cost(cost.flops, larger(cost.bytes - on_chip, 0.0))).lower
        check_broadcast(estimate=least, seconds=seconds)
        reasons = (self._cache_reason(cost, on_chip), *MEMORY_REASONS[1:], *COMPUTE_REASONS)
        return share_reached(least, seconds, f"what {self!r} allows", reasons)

    def _cache_reason(self, cost, on_chip):
        """Return the likely reason about the cache, with its size if the arrays fit in it."""
        if np.any(on_chip) or self.cache is None or np.any(cost.bytes > self.cache):
            return CACHE_REASON
        cache = f"the {format_quantity(self.cache, 'B')} last-level cache"
        moved = format_quantity(cost.bytes, "B")
        return f"the arrays ({moved}) fit in {cache}; pass the bytes that stayed there as on_chip="


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """The time that a computation takes: T_math, T_comms, and the resulting bounds.

    ``math`` and ``comms`` are T_math and T_comms in seconds. ``lower`` is their maximum (perfect
    overlap), ``upper`` their sum (no overlap), so upper is at most twice lower. Both assume an
    ideal machine: real kernels can miss the data sheet's peak and be slower than ``upper``.

    ``combine`` stores (channel, seconds) pairs for additional channels in ``other_times``. Then
    ``lower`` and ``upper`` cover all times, and with c channels ``upper`` is at most c + 1 times
    ``lower``.

    >>> Estimate(math=2e-3, comms=1e-3)
    Estimate(compute 2 ms, memory 1 ms: 2 ms to 3 ms, compute-bound)
    """

    math: Any
    comms: Any
    channel: str = "memory"
    other_times: tuple = ()

    @classmethod
    def combine(cls, *estimates):
        """Return one Estimate for a computation fed by several channels, such as memory and a link.

        The estimates must be for the same multiplications (or none). The result has the largest
        T_math. Raises ValueError unless all arguments are Estimates with distinct channels.

        >>> over_memory, over_link = Estimate(3e-3, 1e-3), Estimate(3e-3, 4e-3, "link")
        >>> Estimate.combine(over_memory, over_link).bound
        'link'
        """
        if not estimates or not all(isinstance(estimate, Estimate) for estimate in estimates):
            raise ValueError(f"combine takes one or more Estimates, got {estimates!r}")
        times = [
            pair for each in estimates for pair in ((each.channel, each.comms), *each.other_times)
        ]
        channels = [channel for channel, _ in times]
        if len(set(channels)) < len(channels):
            raise ValueError(
                f"two estimates share a channel: {', '.join(channels)}; add their Costs instead"
            )
        math = functools.reduce(larger, (estimate.math for estimate in estimates))
        return cls(math, times[0][1], times[0][0], tuple(times[1:]))

    def __repr__(self):
        times = ", ".join(
            f"{name} {format_quantity(time, 's')}" for name, time in self.times.items()
        )
        if not all(isinstance(time, (int, float)) for time in self.times.values()):
            return f"Estimate({times})"
        lower, upper = format_quantity(self.lower, "s"), format_quantity(self.upper, "s")
        return f"Estimate({times}: {lower} to {upper}, {self.bound}-bound)"

    @property
    def times(self):
        """Seconds by resource: {"compute": T_math, channel: T_comms, …}."""
        return {"compute": self.math, self.channel: self.comms, **dict(self.other_times)}

    @property
    def lower(self):
        """The longest time in seconds: max(T_math, T_comms) if there is one channel."""
        lower = larger(self.math, self.comms)
        for _, seconds in self.other_times:
            lower = larger(lower, seconds)
        return lower

    @property
    def upper(self):
        """The sum of all times in seconds: T_math + T_comms if there is one channel."""
        upper = self.math + self.comms
        for _, seconds in self.other_times:
            upper = upper + seconds
        return upper

    @property
    def bound(self):
        """The bottleneck: "compute" or the name of a channel; for arrays, an array of names."""
        longest, bound = self.math, "compute"
        for channel, seconds in ((self.channel, self.comms), *self.other_times):
            holds = _is_compute_bound(longest, seconds)
            if isinstance(holds, np.ndarray):
                bound = np.where(holds, bound, channel)
                longest = np.maximum(longest, seconds)
            elif not holds:
                longest, bound = seconds, channel
        return bound


def _is_compute_bound(math, comms):
    if is_symbolic(math) or is_symbolic(comms):
        raise ValueError(
            "can't compare two formulas until their symbols have values; build the Cost from "
            "numbers to get lower or bound"
        )
    return math >= comms


def larger(a, b):
    """Return the larger of two numbers, or the elementwise maximum of arrays."""
    if type(a) is float and type(b) is float:  # a fast path for the usual case
        return a if a >= b else b
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.maximum(a, b)
    return a if _is_compute_bound(a, b) else b


def smaller(a, b):
    """Return the smaller of two numbers, or the elementwise minimum of arrays."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.minimum(a, b)
    return b if _is_compute_bound(a, b) else a
