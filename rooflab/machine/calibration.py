"""Calibrations: how much of a roof is reached, from timings of your own or published ones."""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from roofkit._inputs import check_number, check_sizes, itemsize, read_dtype
from roofkit._units import engineering
from roofkit.hardware import Chip
from roofkit.kernels import SOFTMAX_FLOPS, matmul
from roofkit.roofline import Cost, Roofline
from rooflab.machine.gpu_kernels import PASSES, check_kind
from rooflab.machine.gpus import find_gpu_calibration
from rooflab.machine.measurements import Measurements
from rooflab.machine.predictions import Prediction

MIN_POINTS = 3  # the fewest points on each side of the ridge
COVERAGE = 0.9


@dataclass(frozen=True, repr=False)
class Calibration:
    """What a library reaches on a machine: a roofline, and three numbers beside it.

    ``roof`` is the bound, as given. T = overhead + max(FLOPs / (eff_flops · peak),
    bytes / (eff_bw · bandwidth)), with ``overhead`` in seconds a call. ``points`` were fitted;
    half of them lie within ``median_error``, ``|predicted - measured|`` / measured.
    ``low`` and ``high`` are what measured / predicted lies between for points left out of the fit,
    in ``coverage`` of cases; with them, ``matmul`` and ``elementwise`` predict with an interval,
    as a GPUCalibration does. ``dtype`` is what was fitted.

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
        """The roofline at these efficiencies, without the overhead."""
        return Roofline(
            self.roof.peak_flops * self.eff_flops,
            self.roof.bandwidth * self.eff_bw,
            self.roof.channel,
        )

    def seconds(self, cost):
        """The predicted time of one call of this Cost, in seconds; broadcasts as the Cost does."""
        return self.overhead + self.effective.estimate(cost).lower

    def predict(self, cost, dtype=None):
        """The predicted time of one call with its interval, as a Prediction.

        The interval is that of the points when each is left out of the fit. The errors of several
        predictions are taken to go together. Raises ValueError where no points were fitted, and for
        a ``dtype`` that was not.
        """
        if dtype is not None:
            self._check_dtype(dtype)
        if self.low is None:
            raise ValueError(
                "this calibration was not fitted, and knows no interval; use calibrate(...)"
            )
        seconds = self.seconds(cost)
        basis = f"fitted to {self.points} points on this machine"
        return Prediction(seconds, seconds * self.low, seconds * self.high, self.coverage, basis)

    def matmul(self, B, D, F, dtype=None, weight_itemsize=None):
        """The Prediction for X[B, D] · W[D, F], of the dtype that was fitted.

        W may be stored in fewer bytes an element, ``weight_itemsize``; no coverage is claimed then.
        """
        dtype = self._check_dtype(dtype)
        cost, size = matmul(B, D, F, dtype), itemsize(dtype)
        if weight_itemsize in (None, size):
            return self.predict(cost)
        saved = (size - check_number(weight_itemsize, "weight_itemsize")) * D * F
        found = self.predict(Cost(cost.flops, cost.bytes - saved))
        told = f"{found.basis}; none with {8 * weight_itemsize:.3g}-bit weights"
        return replace(found, coverage=None, basis=told)

    def elementwise(self, rows, width, kind="add", dtype=None):
        """The Prediction for a residual add, a norm or an activation over rows, by its ``kind``.

        Kinds are those of ``GPUCalibration.elementwise``. By the bytes alone: the interval is that
        of the matmuls that were fitted.
        """
        check_kind(kind)
        rows, width = check_sizes(rows=rows, width=width)
        moved = PASSES[kind] * itemsize(self._check_dtype(dtype)) * rows * width
        return self.predict(Cost(0, moved))

    def attention(
        self, batch, new, cached, heads, kv_heads, head_dim, dtype=None, kv_itemsize=2
    ):  # fmt: skip
        """The Prediction for fused attention, by its FLOPs and bytes; no coverage is claimed.

        Arguments are those of ``GPUCalibration.attention``.
        """
        tokens, keys, size = batch * new, cached + new, itemsize(self._check_dtype(dtype))
        met = batch * (cached * new + new * (new + 1) / 2)
        moved = 2 * size * tokens * heads * head_dim
        moved = moved + 2 * kv_itemsize * batch * keys * kv_heads * head_dim
        found = self.predict(Cost((4 * head_dim + SOFTMAX_FLOPS) * heads * met, moved))
        return replace(found, coverage=None, basis=f"{found.basis}; no attention among them")

    def all_reduce(self, *sizes, **links):
        """Raise ValueError: timings of one machine tell nothing of what several send."""
        raise ValueError("no all-reduce was measured on this machine; calibrate a GPU by its name")

    all_gather = transfer = all_reduce

    def total(self, parts):
        """The sum of predictions, with the interval of a sum: see Prediction.total."""
        return Prediction.total(parts)

    def _check_dtype(self, dtype):
        dtype = dtype or self.dtype
        if dtype is None:
            raise ValueError("which dtype? Pass dtype=, or calibrate(..., dtype=)")
        dtype = read_dtype(dtype)
        if self.dtype not in (None, dtype):
            raise ValueError(
                f"{self.dtype} was fitted, not {dtype}; measure it, and calibrate(dtype={dtype!r})"
            )
        return dtype


def calibrate(source, roof=None, *, dtype=None, software=None):
    """What predicts real times: your own timings fitted, or the constants of a GPU that was timed.

    Parameters
    ----------
    source : Measurements, pairs (Cost, seconds), or a GPU's name or Chip
        Of Measurements, the best samples of the sweep are fitted, which a busy machine spoils
        least; a pair may hold arrays that broadcast. A GPU takes constants that were fitted to
        published timings: see GPUCalibration.
    roof : Roofline or Chip, optional
        The bound to compare timings with, such as a data sheet's; the measured one otherwise.
    dtype : str, optional
        Which sweep, and which peak of a Chip; the first dtype that was swept otherwise.
    software : str, optional
        Whose kernels a GPU runs: "vLLM 2026" unless given, or "PyTorch 2024". The same card runs
        the same matmul a tenth faster with the newer.

    Returns a Calibration of timings, a GPUCalibration of a GPU.

    The fit is of log(predicted / measured), so that a microsecond counts as much as a second. Its
    loss bends little for outliers: soft L1 first, then Cauchy at the scale of the residuals. An
    efficiency above 1 says that data came from a cache, or that the bound is too low. The overhead
    lies between the time of the measured call that does next to nothing (0 without one) and the
    quickest point. Fitting needs SciPy, and warns where the points leave the overhead open.

    Raises ValueError where fewer than three points lie on a side of the ridge, where those on the
    memory's side all move about the same bytes, or where one term decides every point. Fit shapes
    like those you predict: a three-parameter model does not extrapolate far. Of a GPU it raises
    ValueError for one that is not NVIDIA's, or that lacks a figure or has one not confirmed, and
    for software that was not timed.

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
            raise ValueError("a GPU is calibrated whole: leave out roof= and dtype=")
        return find_gpu_calibration(source, software)
    if software is not None:
        raise ValueError("software= is for a GPU by its name; your own timings have their own")
    dtype = None if dtype is None else read_dtype(dtype)
    least = 0.0
    if isinstance(source, Measurements):
        pairs, dtype = _select_sweep(source, dtype)
        least = min((t.best for t in source.select(part="overhead", kernel="matmul")), default=0)
        roof = source.chip() if roof is None else roof
    else:
        pairs = source
    roof = _check_roof(roof, dtype)
    flops, moved, taken = _collect_points(pairs)
    T_math, T_comms = flops / roof.peak_flops, moved / roof.bandwidth
    compute = T_math >= T_comms
    for side, count in (("compute", compute.sum()), (roof.channel, (~compute).sum())):
        if count < MIN_POINTS:
            raise ValueError(
                f"calibrate needs at least {MIN_POINTS} {side}-bound points and got {count} of "
                f"{len(taken)}; the ridge is {roof.ridge:.3g} FLOP/byte: measure shapes of "
                f"{'higher' if side == 'compute' else 'lower'} intensity too"
            )
    spread = T_comms[~compute]
    if spread.max() < 2 * spread.min():
        raise ValueError(
            f"all {roof.channel}-bound points move about the same bytes, so that their time could "
            "as well be overhead; measure another size too, such as a weight of other D and F"
        )
    eff_flops, eff_bw, overhead = _fit_efficiencies(T_math, T_comms, taken, compute, least)
    T_math, T_comms = T_math / eff_flops, T_comms / eff_bw
    predicted = overhead + np.maximum(T_math, T_comms)
    for name, mine, other in (("eff_flops", T_math, T_comms), ("eff_bw", T_comms, T_math)):
        if np.sum((mine >= other) & (mine > 0.2 * predicted)) < 2:
            raise ValueError(
                f"these points do not determine {name}: its term decides fewer than two of them, "
                "the rest is overhead or the other term; measure larger shapes on both sides of "
                "the ridge, on a machine with nothing else to do"
            )
    error = float(np.median(np.abs(predicted - taken) / taken))
    math_decides = T_math >= T_comms
    slopes = np.column_stack([
        np.where(math_decides, -T_math, 0),
        np.where(math_decides, 0, -T_comms),
        np.full(len(taken), taken.min()),
    ]) / predicted[:, None]  # fmt: skip
    residuals = np.log(taken / predicted)
    if not least:
        _warn_if_open(overhead, slopes, residuals, taken.min())
    low, high, coverage = _leave_one_out(slopes, residuals)
    return Calibration(
        roof, eff_flops, eff_bw, overhead, len(taken), error, low, high, coverage, dtype
    )


def _warn_if_open(overhead, slopes, residuals, quickest):
    """Warn where the overhead might as well be 0, by two standard errors, and matters by 1%."""
    scale = 1.4826 * np.median(
        np.abs(residuals)
    )  # a standard deviation that outliers hardly change
    error = 2 * scale * math.sqrt(np.linalg.pinv(slopes.T @ slopes)[2, 2]) * quickest
    if overhead < error and error > 0.01 * quickest:
        warnings.warn(
            f"these points do not determine the overhead: anything from 0 to "
            f"{engineering(overhead + error)}s fits them, and the quickest took "
            f"{engineering(quickest)}s; measure smaller shapes too, such as 1 × 1 × 1",
            stacklevel=3,
        )


def _leave_one_out(slopes, residuals):
    """Bounds of measured / predicted for points left out of the fit, and how often they hold.

    Nothing is fitted again: a residual divided by 1 - its leverage is the residual of a linear fit
    to the other points. A new point falls between the k-th of n ordered points from both ends in
    (n+1-2k)/(n+1) of cases.
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
            f"no sweep of dtype {chosen!r} was measured; there is: {', '.join(dtypes) or 'none'}"
        )
    return [(timing.cost, timing.best) for timing in sweep if timing.dtype == chosen], chosen


def _check_roof(roof, dtype):
    if isinstance(roof, Chip):
        if dtype is None:
            raise ValueError(f'which peak of {roof.name}? Pass chip.roofline("fp32"), or dtype=')
        roof = roof.roofline(dtype)
    if not isinstance(roof, Roofline) or np.ndim(roof.ridge):
        raise ValueError(f"roof must be a Chip or a Roofline of two numbers, got {roof!r}")
    return roof


def _collect_points(pairs):
    columns = []
    try:
        listed = [(cost, seconds) for cost, seconds in pairs]
    except TypeError:
        raise ValueError(
            "calibrate takes Measurements, a list of pairs (Cost, seconds) or a GPU's name, "
            f"got {type(pairs).__name__}"
        ) from None
    for place, (cost, seconds) in enumerate(listed):
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


def _fit_efficiencies(T_math, T_comms, taken, compute, least):
    from scipy.optimize import least_squares  # imported here: loading it takes half a second

    # The overhead is fitted in units of the quickest point, which it cannot exceed. It may be 0, so
    # its logarithm would not do.
    unit = taken.min()
    least = min(least / unit, 0.99)
    lowest = np.array([*np.log([1e-4, 1e-4]), least])
    highest = np.array([*np.log([1e3, 1e3]), 1.0])

    def residuals(x):
        slower = np.maximum(T_math / np.exp(x[0]), T_comms / np.exp(x[1]))
        return np.log((x[2] * unit + slower) / taken)

    def solve(start, loss, scale):
        start = np.clip(start, lowest + 1e-6, highest - 1e-6)
        return least_squares(residuals, start, bounds=(lowest, highest), loss=loss, f_scale=scale)

    # The larger of two terms has several local minima, so the fit starts from several places.
    reached = [
        np.log(np.quantile((T / taken)[side], share))
        for T, side, share in (
            (T_math, compute, 0.5), (T_math, compute, 0.9),
            (T_comms, ~compute, 0.5), (T_comms, ~compute, 0.9),
        )
    ]  # fmt: skip
    starts = [
        (a, b, least + (1 - least) * share)
        for a in reached[:2]
        for b in reached[2:]
        for share in (0.01, 0.5)
    ]
    rough = min((solve(start, "soft_l1", 0.1) for start in starts), key=lambda fit: fit.cost)
    scale = max(1.5 * float(np.median(np.abs(residuals(rough.x)))), 1e-3)
    found = solve(rough.x, "cauchy", scale).x
    return float(np.exp(found[0])), float(np.exp(found[1])), float(found[2] * unit)
