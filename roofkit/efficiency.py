"""Compute the share of a machine's peak that a measured time achieves."""

import numpy as np

from roofkit._inputs import check_broadcast, check_number, is_symbolic
from roofkit._units import format_quantity


def mfu(flops, seconds, peak_flops):
    """Return the model FLOPs utilisation (MFU): the share of peak FLOP/s that was achieved.

    Parameters
    ----------
    flops : FLOPs that the model requires (2 per multiply-add), excluding recomputation
    seconds : the measured time
    peak_flops : dense FLOP/s of all chips together, for the dtype of the multiplications, such as
        ``8 * chip.peak_flops("fp8")``

    Arguments can be numbers or arrays that broadcast. Raises ValueError with likely reasons if the
    share exceeds 100%.

    Source: Chowdhery et al., PaLM, 2022, section 4.1.

    >>> round(mfu(2 * 8192**3, seconds=1.4e-3, peak_flops=989.4e12), 3)   # a matmul on an H100
    0.794
    """
    flops, seconds = _check_work("flops", flops), check_number(seconds, "seconds")
    peak = check_number(peak_flops, "peak_flops")
    check_broadcast(flops=flops, seconds=seconds, peak_flops=peak)
    return share_reached(
        flops / peak, seconds, f"a peak of {format_quantity(peak, 'FLOP/s')}", COMPUTE_REASONS
    )


def mbu(bytes, seconds, bandwidth):
    """Return the memory bandwidth utilisation (MBU): the share of bandwidth that was achieved.

    Parameters
    ----------
    bytes : bytes that must be moved, counting each operand once
    seconds : the measured time
    bandwidth : bytes/s of all chips together, such as ``8 * chip.bandwidth``

    Arguments can be numbers or arrays that broadcast. Raises ValueError with likely reasons if the
    share exceeds 100%.

    >>> round(mbu(13.5e9, seconds=9.5e-3, bandwidth=2.039e12), 3)   # 7B in bf16, a token on an A100
    0.697
    """
    moved, seconds = _check_work("bytes", bytes), check_number(seconds, "seconds")
    speed = check_number(bandwidth, "bandwidth")
    check_broadcast(bytes=moved, seconds=seconds, bandwidth=speed)
    return share_reached(
        moved / speed, seconds, f"a bandwidth of {format_quantity(speed, 'B/s')}", MEMORY_REASONS
    )


COMPUTE_REASONS = (
    "fewer FLOPs were executed than counted (a causal mask, a window, a cached prefix, 2:4 "
    "sparsity)",
    "the peak is for a wider dtype than the multiplications use",
    "the peak is for one chip, but several chips worked",
    "the chip's clock was above the data sheet's",
    "the timer stopped before the device finished",
)
MEMORY_REASONS = (
    "operands of the previous run were still in a cache: use larger ones, or new ones each time",
    "fewer bytes were moved than counted (a narrower dtype, an operand kept on the chip)",
    "the bandwidth is for one chip, but several chips worked",
    "the timer stopped before the device finished",
)
CACHE_REASON = "arrays stayed in the last-level cache: pass their bytes as on_chip="
UNITS_REASON = "values were given in TFLOP/s, GB/s or ms instead of FLOP/s, bytes/s and s"


def share_reached(least, seconds, roof, reasons):
    """Return least / seconds, or raise ValueError with likely reasons if that is above 1."""
    share = least / seconds
    most = share.max(initial=0.0) if isinstance(share, np.ndarray) else share
    # Allow for rounding errors in times computed from the peak itself.
    if most > 1 + 1e-9:
        units = [UNITS_REASON] if most > 100 else []
        listed = "; ".join(dict.fromkeys([*units, *reasons]))
        raise ValueError(
            f"{most:.4g} times {roof}, which is more than 100%. Likely reasons: {listed}"
        )
    return share


def _check_work(name, value):
    value = check_number(value, name, above=False)
    if is_symbolic(value):
        raise ValueError(f"{name} must be a number, got the formula {value}")
    return value
