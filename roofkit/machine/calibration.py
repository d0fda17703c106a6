"""What a library reaches of a roof: efficiencies and an overhead, fitted to measured times."""

from dataclasses import dataclass

import numpy as np

from roofkit._inputs import number
from roofkit._units import engineering
from roofkit.hardware import Chip
from roofkit.machine.measurements import Measurements
from roofkit.roofline import Cost, Roofline

FEWEST = 3  # points on each side of the ridge


@dataclass(frozen=True, repr=False)
class Calibrated:
    """What a library reaches on a machine: a roofline, and three numbers beside it.

    ``roof`` is the bound, as given. T = overhead + max(FLOPs / (eff_flops · peak),
    bytes / (eff_bw · bandwidth)), with ``overhead`` in seconds a call. ``points`` were fitted;
    half of them lie within ``median_error``, ``|predicted - measured|`` / measured.

    >>> fit = Calibrated(Roofline(1e12, 1e11), eff_flops=0.8, eff_bw=0.5, overhead=1e-3)
    >>> fit.seconds(Cost(flops=1e9, bytes=1e9))
    0.021
    """

    roof: Roofline
    eff_flops: float
    eff_bw: float
    overhead: float
    points: int = 0
    median_error: float | None = None

    def __repr__(self):
        fitted = f", median error {self.median_error:.1%} of {self.points}" if self.points else ""
        return (
            f"Calibrated(eff_flops={self.eff_flops:.3g}, eff_bw={self.eff_bw:.3g}, "
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


def calibrate(measurements, roof=None, *, dtype=None):
    """Fit what a library reaches of a roofline: eff_flops, eff_bw and seconds a call.

    Parameters
    ----------
    measurements : Measurements, or pairs (Cost, seconds)
        Of Measurements, the best samples of the sweep, which a busy machine spoils least;
        a pair may hold arrays that broadcast.
    roof : Roofline or Chip, optional
        The bound to compare with, such as a data sheet's; the measured one otherwise.
    dtype : str, optional
        Which sweep, and which peak of a Chip; the first dtype that was swept otherwise.

    Returns Calibrated. The fit is of log(predicted / measured), so that a microsecond counts as
    much as a second; with a loss that outliers bend little, soft L1 and then Cauchy at the scale
    of the residuals. An efficiency above 1 says that data came from a cache, or that the bound is
    too low. Needs SciPy.

    Raises ValueError where fewer than three points lie on a side of the ridge, where those on the
    memory's side all move about the same bytes, or where one term decides every point. Fit shapes
    like those you predict: a three-parameter model does not extrapolate far.

    >>> truth = Calibrated(Roofline(1e12, 1e11), 0.8, 0.5, 1e-5)
    >>> cost = Cost(1e9, np.geomspace(1e6, 1e10, 12))
    >>> fit = calibrate([(cost, truth.seconds(cost))], truth.roof)
    >>> round(fit.eff_flops, 3), round(fit.eff_bw, 3), round(fit.overhead * 1e6, 1)
    (0.8, 0.5, 10.0)
    """
    if isinstance(measurements, Measurements):
        pairs, dtype = _swept(measurements, dtype)
        roof = measurements.chip() if roof is None else roof
    else:
        pairs = measurements
    roof = _bound(roof, dtype)
    flops, moved, taken = _points(pairs)
    T_math, T_comms = flops / roof.peak_flops, moved / roof.bandwidth
    compute = T_math >= T_comms
    for side, count in (("compute", compute.sum()), (roof.channel, (~compute).sum())):
        if count < FEWEST:
            raise ValueError(
                f"calibrate needs at least {FEWEST} {side}-bound points and got {count} of "
                f"{len(taken)}; the ridge is {roof.ridge:.3g} FLOP/byte: measure shapes of "
                f"{'higher' if side == 'compute' else 'lower'} intensity too"
            )
    spread = T_comms[~compute]
    if spread.max() < 2 * spread.min():
        raise ValueError(
            f"all {roof.channel}-bound points move about the same bytes, so that their time could "
            "as well be overhead; measure another size too, such as a weight of other D and F"
        )
    eff_flops, eff_bw, overhead = _fit(T_math, T_comms, taken, compute)
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
    return Calibrated(roof, eff_flops, eff_bw, overhead, len(taken), error)


def _swept(measurements, dtype):
    sweep = measurements.select(part="sweep")
    dtypes = list(dict.fromkeys(timing.dtype for timing in sweep))
    chosen = dtype or next(iter(dtypes), None)
    if chosen not in dtypes:
        raise ValueError(
            f"no sweep of dtype {chosen!r} was measured; there is: {', '.join(dtypes) or 'none'}"
        )
    return [(timing.cost, timing.best) for timing in sweep if timing.dtype == chosen], chosen


def _bound(roof, dtype):
    if isinstance(roof, Chip):
        if dtype is None:
            raise ValueError(f'which peak of {roof.name}? Pass chip.roofline("fp32"), or dtype=')
        roof = roof.roofline(dtype)
    if not isinstance(roof, Roofline) or np.ndim(roof.ridge):
        raise ValueError(f"roof must be a Chip or a Roofline of two numbers, got {roof!r}")
    return roof


def _points(pairs):
    columns = []
    try:
        listed = [(cost, seconds) for cost, seconds in pairs]
    except TypeError:
        raise ValueError(
            "measurements must be Measurements or a list of pairs (Cost, seconds), "
            f"got {type(pairs).__name__}"
        ) from None
    for place, (cost, seconds) in enumerate(listed):
        if not isinstance(cost, Cost):
            raise ValueError(f"pair {place} must be (Cost, seconds), got {cost!r}")
        seconds = number(seconds, f"the seconds of pair {place}")
        try:
            columns.append([np.ravel(values) for values in
                            np.broadcast_arrays(cost.flops, cost.bytes, seconds)])  # fmt: skip
        except ValueError:
            raise ValueError(f"pair {place}: the Cost and its seconds do not broadcast") from None
    if not columns:
        raise ValueError("there are no points to fit")
    return (np.concatenate(column).astype(float) for column in zip(*columns, strict=True))


def _fit(T_math, T_comms, taken, compute):
    try:
        from scipy.optimize import least_squares
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'calibrate needs scipy: pip install "roofkit[measure]"', name="scipy"
        ) from error
    lowest = np.log([1e-4, 1e-4, taken.min() * 1e-6])
    highest = np.log([1e3, 1e3, taken.max()])

    def residuals(logs):
        eff_flops, eff_bw, overhead = np.exp(logs)
        return np.log((overhead + np.maximum(T_math / eff_flops, T_comms / eff_bw)) / taken)

    def solve(start, loss, scale):
        start = np.clip(start, lowest + 1e-6, highest - 1e-6)
        return least_squares(residuals, start, bounds=(lowest, highest), loss=loss, f_scale=scale)

    # The larger of two terms leaves several valleys: descend from several places.
    reached = [
        np.log(np.quantile((T / taken)[side], share))
        for T, side, share in (
            (T_math, compute, 0.5), (T_math, compute, 0.9),
            (T_comms, ~compute, 0.5), (T_comms, ~compute, 0.9),
        )
    ]  # fmt: skip
    starts = [
        (a, b, np.log(taken.min() * share))
        for a in reached[:2]
        for b in reached[2:]
        for share in (0.01, 0.5)
    ]
    rough = min((solve(start, "soft_l1", 0.1) for start in starts), key=lambda fit: fit.cost)
    scale = max(1.5 * float(np.median(np.abs(residuals(rough.x)))), 1e-3)
    return map(float, np.exp(solve(rough.x, "cauchy", scale).x))
