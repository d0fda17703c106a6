"""Questions that ask for a function that predicts measured times, with a range around each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from roofcheck.kinds.functions import Function
from roofcheck.kinds.question import Verdict
from roofcheck.reading.units import format_value
from roofcheck.sentences import sentence

# Predictions this close to most of the measured times were looked up.
LOOKED_UP_RTOL = 1e-3
# The ranges have this share of the points. None of it is left if they are twice as wide as allowed,
# or hold a fifth of the times fewer.
RANGE_SHARE = 0.4
# A predicted time may be this share of its bound: a timing that rounds to whole µs can be, too.
CLOSEST = 0.98


@dataclass(frozen=True, kw_only=True)
class Forecast(Function):
    """A question that asks for a function that returns (low, time, high) for a shape.

    ``timings`` returns the measured times by shape, in the question's unit; ``case`` draws a shape.
    Students fit other shapes. ``credit`` maps increasing median errors to shares of the points. At
    least ``inside`` of the times must lie in their ranges, whose median high/low is at most
    ``widest``. A time below ``bound`` is refused. ``results`` is a model that gets all points.
    """

    timings: Callable[[], Mapping[tuple, float]]
    case_count = 100
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
        arguments = [dict(zip(self.arguments, case, strict=True)) for case in self.cases]
        inputs = {name: figure.value for name, figure in self.inputs.items()}
        least = np.array([self.bound.value(inputs | case) for case in arguments])
        for key, refused in (
            ("faster", time < CLOSEST * least),
            ("turned", (low <= 0) | (low > time) | (time > high)),
        ):
            if refused.any():
                place = refused.argmax()
                named = {"low": low, "time": time, "high": high, "least": least}
                words = {
                    name: format_value(float(column[place]), self.unit)
                    for name, column in named.items()
                }
                said = self._call_sentence(f"forecast.{key}", self.cases[place], **words)
                return Verdict(0, said, slips=(key,))
        timings = self.timings()
        measured = np.array([timings[case] for case in self.cases])
        errors = np.abs(time / measured - 1)
        if np.mean(errors < LOOKED_UP_RTOL) > 0.5:
            return Verdict(0, sentence("forecast.looked-up"), slips=("looked up",))
        error, width = float(np.median(errors)), float(np.median(high / low))
        held = float(np.mean((low <= measured) & (measured <= high)))
        found = sentence("forecast.found", error=error, held=held, width=width)
        wrong = {
            "error": error > min(self.credit),
            "seldom": held < self.inside,
            "wide": width > self.widest,
        }
        accuracy = float(np.interp(error, [*self.credit], [*self.credit.values()]))
        ranges = np.interp(held, [self.inside - 0.2, self.inside], [0, 1])
        ranges *= np.interp(width, [self.widest, 2 * self.widest], [1, 0])
        credit = round(float((1 - RANGE_SHARE) * accuracy + RANGE_SHARE * ranges), 2)
        slips = tuple(name for name, is_wrong in wrong.items() if is_wrong)
        if not slips:
            return Verdict(1, found).with_sentence(self.praise)
        limits = {"inside": self.inside, "widest": self.widest, "least_error": min(self.credit)}
        advice = (sentence(f"forecast.{slip}", **limits) for slip in slips)
        return Verdict(credit, " ".join([found, *advice]), slips=slips)
