"""Questions that ask for a function that predicts measured times, with a range around each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from roofcheck.kinds.functions import Function
from roofcheck.kinds.question import Verdict
from roofcheck.reading.units import format_value
from roofcheck.sentences import sentence

# If half of the predictions are this close to a multiple of the measured times, they were copied.
LOOKED_UP_RTOL = 5e-3
# The share of the points for the ranges. Nothing is left of it at twice the allowed width, or if
# they hold a fifth too few of the times.
RANGE_SHARE = 0.4
# A predicted time may be this share of its bound, because the timings are rounded to about 1 µs.
LEAST_SHARE_OF_BOUND = 0.98
JUST_MISSED = 0.99  # the most credit of a function that misses a goal


@dataclass(frozen=True, kw_only=True)
class Forecast(Function):
    """A question that asks for a function that returns (low, time, high) for a shape.

    ``timings`` has the measured times by shape, in the question's unit; ``case`` draws a shape.
    Students fit other shapes. ``credit`` maps increasing median errors to shares of the points. At
    least ``inside`` of the times must lie in their ranges, whose mean high/low is at most
    ``widest``. A time below ``bound`` is refused. ``results`` is a model that gets all points.
    """

    timings: Mapping[tuple, float]
    case_count = 300
    bound: Callable
    credit: Mapping[float, float]
    inside: float
    widest: float

    def problems(self):
        return []  # No slip of the model counts as wrong.

    def _judge_columns(self, results):
        low, time, high = (
            np.array([given.value for given in column]) for column in zip(*results, strict=True)
        )
        inputs = {name: figure.value for name, figure in self.inputs.items()}
        arguments = [dict(zip(self.arguments, case, strict=True)) for case in self.cases]
        least = np.array([self.bound.value(inputs | case) for case in arguments])
        ordered = (low > 0) & (low <= time) & (time <= high) & np.isfinite(high)
        for key, holds in (
            ("disordered", ordered),
            ("faster", time >= LEAST_SHARE_OF_BOUND * least),
        ):
            if not holds.all():
                place = holds.argmin()
                named = {"low": low, "time": time, "high": high, "least": least}
                texts = {n: format_value(float(v[place]), self.unit) for n, v in named.items()}
                said = self._call_sentence(f"forecast.{key}", self.cases[place], **texts)
                return Verdict(0, said, slips=(key,))
        measured = np.array([self.timings[case] for case in self.cases])
        ratios = np.log(time / measured)
        if np.median(np.abs(ratios - np.median(ratios))) < LOOKED_UP_RTOL:
            return Verdict(0, sentence("forecast.looked-up"), slips=("looked up",))
        error = float(np.median(np.abs(time / measured - 1)))
        width = float(np.exp(np.mean(np.log(high) - np.log(low))))
        held = float(np.mean((low <= measured) & (measured <= high)))
        wrong = {
            "error": error > min(self.credit),
            "far": np.quantile(np.abs(ratios), 0.9) > np.log(2),
            "seldom": held < self.inside,
            "wide": width > self.widest,
        }
        accuracy = np.interp(error, [*self.credit], [*self.credit.values()]) * (
            1 - wrong["far"] / 2
        )
        ranges = np.interp(held, [self.inside - 0.2, self.inside], [0, 1])
        ranges *= np.interp(width, [self.widest, 2 * self.widest], [1, 0])
        credit = round(float((1 - RANGE_SHARE) * accuracy + RANGE_SHARE * ranges), 2)
        slips = tuple(name for name, is_wrong in wrong.items() if is_wrong)
        found = sentence("forecast.found", error=error, held=held, width=width)
        if not slips:
            return Verdict(1, found).with_sentence(self.praise)
        limits = {"inside": self.inside, "widest": self.widest, "least_error": min(self.credit)}
        advice = (sentence(f"forecast.{slip}", **limits) for slip in slips)
        return Verdict(min(credit, JUST_MISSED), " ".join([found, *advice]), slips=slips)
