"""How much of its roofline a machine reaches, fitted to your own or to published timings."""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from roofkit._inputs import check_number, check_sizes, itemsize, read_dtype
from roofkit._units import engineering
from roofkit.hardware import Chip
from roofkit.kernels import matmul
from roofkit.models.predictions import Prediction
from roofkit.roofline import Cost, Roofline
from rooflab.machine.gpu_kernels import PASSES, check_row_kernel_kind, count_attention
from rooflab.machine.gpus import find_gpu_calibration
from rooflab.machine.measurements import Measurements

MIN_POINTS = 3  # the fewest points on each side of the ridge
COVERAGE = 0.9


@dataclass(frozen=True, repr=False)
class Calibration:
    """How much of a machine's roofline a library reaches.

    ``roof`` is the bound. T = overhead + max(FLOPs / (eff_flops · peak), bytes / (eff_bw ·
    bandwidth)), with ``overhead`` in seconds per call. The fit used ``points`` timings in
    ``dtype``; ``median_error`` is the median of ``|predicted - measured|`` / measured. For a timing
    left out of the fit, measured / predicted is between ``low`` and ``high`` with probability
    ``coverage``. Predictions, such as those of ``matmul``, have this interval.

    >>> fit = Calibration(Roofline(1e12, 1e11), eff_flops=0.8, eff_bw=0.5, overhead=1e-3)
    >>> fit.seconds(Cost(flops=1e9, bytes=1e9))
    0.021
    """

    roof: Roofline
    eff_flops: float
    eff_bw: float
    overhead: float
    points: int = 0
    median_error: float | None = None
    low: float | None = None
    high: float | None = None
    coverage: float | None = None
    dtype: str | None = None

    def __repr__(self):
        fitted = f", median error {self.median_error:.1%} of {self.points}" if self.points else ""
        return (
            f"Calibration(eff_flops={self.eff_flops:.3g}, eff_bw={self.eff_bw:.3g}, "
            f"overhead={engineering(self.overhead)}s{fitted})"
        )

    @property
    def effective(self):
        """The roofline with these efficiencies, without the overhead."""
        return Roofline(
            self.roof.peak_flops * self.eff_flops, self.roof.bandwidth * self.eff_bw,
            self.roof.channel,
        )  # fmt: skip

    def seconds(self, cost):
        """Return the predicted seconds of one call with this Cost, which may be of arrays."""
        return self.overhead + self.effective.estimate(cost).lower

    def predict(self, cost, dtype=None):
        """Return the predicted time of one call, with an interval, as a Prediction.

        The interval comes from leaving points out of the fit, one at a time. Raises ValueError if
        no points in this ``dtype`` were fitted.
        """
        if dtype is not None:
            self._check_dtype(dtype)
        if self.low is None:
            raise ValueError(
                "this calibration was not fitted, so it has no interval; use calibrate(...)"
            )
        seconds = self.seconds(cost)
        basis = f"fitted to {self.points} points on this machine"
        return Prediction(seconds, seconds * self.low, seconds * self.high, self.coverage, basis)

    def matmul(self, B, D, F, dtype=None, weight_itemsize=None):
        """Return the Prediction for X[B, D] · W[D, F] in the fitted dtype.

        It has no coverage if W has another number of bytes per element, ``weight_itemsize``.
        """
        dtype = self._check_dtype(dtype)
        cost, size = matmul(B, D, F, dtype), itemsize(dtype)
        if weight_itemsize in (None, size):
            return self.predict(cost)
        saved = (size - check_number(weight_itemsize, "weight_itemsize")) * D * F
        prediction = self.predict(Cost(cost.flops, cost.bytes - saved))
        basis = f"{prediction.basis}; none has {8 * weight_itemsize:.3g}-bit weights"
        return replace(prediction, coverage=None, basis=basis)

    def elementwise(self, rows, width, kind="add", dtype=None):
        """Return the Prediction for a residual add, a norm or an activation over rows.

        ``kind`` is as for ``GPUCalibration.elementwise``. The time depends only on the bytes.
        """
        check_row_kernel_kind(kind)
        rows, width = check_sizes(rows=rows, width=width)
        moved = PASSES[kind] * itemsize(self._check_dtype(dtype)) * rows * width
        return self.predict(Cost(0, moved))

    def attention(
        self, batch, new, cached, heads, kv_heads, head_dim, dtype=None, kv_itemsize=2
    ):  # fmt: skip
        """Return the Prediction for fused attention from its FLOPs and bytes, without coverage.

        Arguments are as for ``GPUCalibration.attention``.
        """
        size = itemsize(self._check_dtype(dtype))
        prediction = self.predict(
            count_attention(batch, new, cached, heads, kv_heads, head_dim, kv_itemsize, size)
        )
        basis = f"{prediction.basis}; none is an attention kernel"
        return replace(prediction, coverage=None, basis=basis)

    def all_reduce(self, *sizes, **links):
        """Raise ValueError, because timings of one machine include no links."""
        raise ValueError("this machine's timings include no all-reduces; calibrate a GPU by name")

    all_gather = transfer = all_reduce

    total = staticmethod(Prediction.total)

    def judge_run(self, prediction, least):
        """Return the prediction without coverage, because no whole run was timed."""
        return replace(prediction, coverage=None, low=least)

    def _check_dtype(self, dtype):
        dtype = dtype or self.dtype
        if dtype is None:
            raise ValueError(
                "the dtype is unknown; pass dtype=, or fit with calibrate(..., dtype=)"
            )
        dtype = read_dtype(dtype)
        if self.dtype not in (None, dtype):
            raise ValueError(
                f"{self.dtype} was fitted, not {dtype}; use calibrate(..., dtype={dtype!r})"
            )
        return dtype


def calibrate(source, roof=None, *, dtype=None, software=None):
    """Return a predictor of real times, fitted to your own timings or to those of a GPU.

    Parameters
    ----------
    source : Measurements, (Cost, seconds) pairs, or the name or Chip of a GPU
        For Measurements, the fit uses the best samples of the sweep, which other programs disturb
        least. A pair may contain arrays that broadcast. For a GPU, constants were already fitted
        to published timings; see GPUCalibration.
    roof : Roofline or Chip, optional
        The bound for the timings, such as that of a data sheet; by default, the measured roofline.
    dtype : str, optional
        The dtype of the sweep and of a Chip's peak; by default, the first dtype of the sweep.
    software : str, optional
        The software that runs the kernels: "vLLM 2026" (the default) or "PyTorch 2024".

    Returns a Calibration for timings, or a GPUCalibration for a GPU.

    The fit minimises log(predicted / measured) with little weight for outliers. An efficiency above
    1 means that data came from a cache or that the roof is too low. The overhead is at least the
    measured time of an almost empty call and at most that of the fastest point. Fitting needs
    SciPy, and warns if the points do not determine the overhead.

    Raises ValueError if the points do not determine the parameters: three on each side of the ridge
    are the least. Fit shapes similar to those you predict. For a GPU, raises ValueError if it is
    not made by NVIDIA, if a value is missing or unconfirmed, or if the software was not timed.

    >>> truth = Calibration(Roofline(1e12, 1e11), 0.8, 0.5, 1e-5)
    >>> cost = Cost(1e9, np.geomspace(1e6, 1e10, 12))
    >>> fit = calibrate([(cost, truth.seconds(cost))], truth.roof)
    >>> round(fit.eff_flops, 3), round(fit.eff_bw, 3), round(fit.overhead * 1e6, 1)
    (0.8, 0.5, 10.0)
    >>> calibrate("H200")
    GPUCalibration(H200, vLLM 2026, by the constants of H100 SXM)
    """
    if isinstance(source, (str, Chip)):
        if roof is not None or dtype is not None:
            raise ValueError("a GPU's calibration covers all dtypes, so leave out roof= and dtype=")
        return find_gpu_calibration(source, software)
    if software is not None:
        raise ValueError("software= works only with the name of a GPU, not with your own timings")
    dtype = None if dtype is None else read_dtype(dtype)
    least = 0.0
    if isinstance(source, Measurements):
        pairs, dtype = _select_sweep(source, dtype)
        least = min((t.best for t in source.select(part="overhead", kernel="matmul")), default=0)
        roof = source.chip() if roof is None else roof
    else:
        pairs = source
    roof = _check_roof(roof, dtype)
    flops, moved, seconds = _collect_points(pairs)
    T_math, T_comms = flops / roof.peak_flops, moved / roof.bandwidth
    compute = T_math >= T_comms
    for side, count in (("compute", compute.sum()), (roof.channel, (~compute).sum())):
        if count < MIN_POINTS:
            raise ValueError(
                f"calibrate needs at least {MIN_POINTS} {side}-bound points, got {count} of "
                f"{len(seconds)}; the ridge is {roof.ridge:.3g} FLOP/byte: measure shapes of "
                f"{'higher' if side == 'compute' else 'lower'} intensity too"
            )
    spread = T_comms[~compute]
    if spread.max() < 2 * spread.min():
        raise ValueError(
            f"all {roof.channel}-bound points move about the same bytes, so their time could just "
            "as well be overhead; measure another size too, such as weights with other D and F"
        )
    eff_flops, eff_bw, overhead = _fit_efficiencies(T_math, T_comms, seconds, compute, least)
    T_math, T_comms = T_math / eff_flops, T_comms / eff_bw
    predicted = overhead + np.maximum(T_math, T_comms)
    for name, mine, other in (("eff_flops", T_math, T_comms), ("eff_bw", T_comms, T_math)):
        if np.sum((mine >= other) & (mine > 0.2 * predicted)) < 2:
            raise ValueError(
                f"these points do not determine {name}: its term limits fewer than two of them, "
                "overhead or the other term limits the rest. Measure larger shapes on both sides "
                "of the ridge, with no other program running"
            )
    error = float(np.median(np.abs(predicted - seconds) / seconds))
    math_decides = T_math >= T_comms
    slopes = np.column_stack([
        np.where(math_decides, -T_math, 0),
        np.where(math_decides, 0, -T_comms),
        np.full(len(seconds), seconds.min()),
    ]) / predicted[:, None]  # fmt: skip
    residuals = np.log(seconds / predicted)
    if not least:
        _warn_if_open(overhead, slopes, residuals, seconds.min())
    low, high, coverage = _leave_one_out(slopes, residuals)
    return Calibration(
        roof, eff_flops, eff_bw, overhead, len(seconds), error, low, high, coverage, dtype
    )


def _warn_if_open(overhead, slopes, residuals, quickest):
    """Warn if the overhead is within two standard errors of 0 and they exceed 1% of a time."""
    # Outliers hardly affect this estimate of the standard deviation.
    scale = 1.4826 * np.median(np.abs(residuals))
    error = 2 * scale * math.sqrt(np.linalg.pinv(slopes.T @ slopes)[2, 2]) * quickest
    if overhead < error and error > 0.01 * quickest:
        warnings.warn(
            f"these points do not determine the overhead: anything from 0 to "
            f"{engineering(overhead + error)}s fits them, and the fastest took "
            f"{engineering(quickest)}s; measure smaller shapes too, such as 1 × 1 × 1",
            stacklevel=3,
        )


def _leave_one_out(slopes, residuals):
    """Return bounds on measured / predicted for points left out of the fit, and their coverage.

    No refit is needed: a residual divided by (1 - its leverage) is the residual from a linear fit
    to the other points. A new point falls between the k-th smallest and the k-th largest of n
    points with probability (n+1-2k)/(n+1).
    """
    leverage = np.einsum("ij,jk,ik->i", slopes, np.linalg.pinv(slopes.T @ slopes), slopes)
    ordered = np.exp(np.sort(residuals / np.maximum(1 - leverage, 0.1)))
    n = len(ordered)
    k = max(1, int((n + 1) * (1 - COVERAGE) / 2))
    return float(ordered[k - 1]), float(ordered[-k]), (n + 1 - 2 * k) / (n + 1)


def _select_sweep(measurements, dtype):
    sweep = measurements.select(part="sweep")
    dtypes = list(dict.fromkeys(timing.dtype for timing in sweep))
    chosen = dtype or next(iter(dtypes), None)
    if chosen not in dtypes:
        raise ValueError(
            f"there is no sweep of dtype {chosen!r}; available: {', '.join(dtypes) or 'none'}"
        )
    return [(timing.cost, timing.best) for timing in sweep if timing.dtype == chosen], chosen


def _check_roof(roof, dtype):
    if isinstance(roof, Chip):
        if dtype is None:
            raise ValueError(
                f'{roof.name} has a peak per dtype; pass chip.roofline("fp32") or dtype='
            )
        roof = roof.roofline(dtype)
    if not isinstance(roof, Roofline) or np.ndim(roof.ridge):
        raise ValueError(f"roof must be a Chip or a Roofline of two numbers, got {roof!r}")
    return roof


def _collect_points(pairs):
    columns = []
    try:
        pairs = [(cost, seconds) for cost, seconds in pairs]
    except TypeError:
        raise ValueError(
            "calibrate takes Measurements, a list of (Cost, seconds) pairs or a GPU's name, "
            f"got {type(pairs).__name__}"
        ) from None
    for place, (cost, seconds) in enumerate(pairs):
        if not isinstance(cost, Cost):
            raise ValueError(f"pair {place} must be (Cost, seconds), got {cost!r}")
        seconds = check_number(seconds, f"the seconds of pair {place}")
        try:
            columns.append([np.ravel(values) for values in
                            np.broadcast_arrays(cost.flops, cost.bytes, seconds)])  # fmt: skip
        except ValueError:
            raise ValueError(f"pair {place}: the Cost and its seconds do not broadcast") from None
    if not columns:
        raise ValueError("there are no points to fit")
    return (np.concatenate(column).astype(float) for column in zip(*columns, strict=True))


def _fit_efficiencies(T_math, T_comms, seconds, compute, least):
    from scipy.optimize import least_squares  # imported here because it takes half a second

    # The overhead is fitted as a share of the fastest point, which it cannot exceed. It can be 0,
    # so unlike the efficiencies it is not fitted as a logarithm.
    unit = seconds.min()
    least = min(least / unit, 0.99)
    lowest = np.array([*np.log([1e-4, 1e-4]), least])
    highest = np.array([*np.log([1e3, 1e3]), 1.0])

    def residuals(x):
        slower = np.maximum(T_math / np.exp(x[0]), T_comms / np.exp(x[1]))
        return np.log((x[2] * unit + slower) / seconds)

    def solve(start, loss, scale):
        start = np.clip(start, lowest + 1e-6, highest - 1e-6)
        return least_squares(residuals, start, bounds=(lowest, highest), loss=loss, f_scale=scale)

    # The maximum of two terms leads to several local minima, so the fit starts from several places.
    efficiencies = [
        np.log(np.quantile((T / seconds)[side], share))
        for T, side, share in (
            (T_math, compute, 0.5), (T_math, compute, 0.9),
            (T_comms, ~compute, 0.5), (T_comms, ~compute, 0.9),
        )
    ]  # fmt: skip
    starts = [
        (a, b, least + (1 - least) * share)
        for a in efficiencies[:2]
        for b in efficiencies[2:]
        for share in (0.01, 0.5)
    ]
    rough = min((solve(start, "soft_l1", 0.1) for start in starts), key=lambda fit: fit.cost)
    scale = max(1.5 * float(np.median(np.abs(residuals(rough.x)))), 1e-3)
    log_flops, log_bw, overhead = solve(rough.x, "cauchy", scale).x
    return float(np.exp(log_flops)), float(np.exp(log_bw)), float(overhead * unit)
