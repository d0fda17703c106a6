"""A predicted time with its interval, and what the interval rests on."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit._inputs import check_number
from roofkit._units import format_quantity


@dataclass(frozen=True, repr=False)
class Prediction:
    """A predicted time in seconds, and an interval that a measurement falls in.

    ``coverage`` is the share of measurements that fall between ``low`` and ``high``, None where
    that is not known; ``basis`` says what was measured to know it, and what was not, with "; "
    between. ``correlation`` tells how far the errors of two such predictions go together, 0 not at
    all, 1 fully; ``total`` needs it.

    >>> one = Prediction(1e-3, 0.9e-3, 1.2e-3, basis="an example")
    >>> 40 * one
    Prediction(40 ms, 90% between 36 ms and 48 ms: an example)
    """

    seconds: Any
    low: Any
    high: Any
    coverage: float | None = 0.9
    basis: str = ""
    correlation: float = 1.0

    def __repr__(self):
        low, high = format_quantity(self.low, "s"), format_quantity(self.high, "s")
        share = "" if self.coverage is None else f"{self.coverage:.0%} "
        share += f"between {low} and {high}"
        return f"Prediction({format_quantity(self.seconds, 's')}, {share}: {self.basis})"

    def __mul__(self, times):
        """The same kernel so many times: one error, repeated, so the interval scales with it."""
        if isinstance(times, Prediction):
            return NotImplemented
        times = check_number(times, "times", above=False)
        scaled = (times * value for value in (self.seconds, self.low, self.high))
        return Prediction(*scaled, self.coverage, self.basis, self.correlation)

    __rmul__ = __mul__

    @classmethod
    def total(cls, parts):
        """The sum of predictions, such as the kernels of a layer one after the other.

        Half-widths h on each side add up to sqrt(r (Σh)² + (1-r) Σh²), the spread of a sum whose
        terms all have the correlation r; r is the largest of the parts'. Where r is 1 they add up
        as they are. Coverage is the least of the parts', None where one of them is. The basis says
        once what several parts rest on. Raises ValueError for no parts.

        >>> part = Prediction(1e-3, 0.9e-3, 1.1e-3, correlation=0.0)
        >>> whole = Prediction.total([part] * 4)
        >>> whole.seconds, round(whole.low * 1e3, 6)
        (0.004, 3.8)
        """
        parts = list(parts)
        if not parts:
            raise ValueError("total needs one prediction or more, got none")
        known = [part.coverage for part in parts]
        coverage = None if None in known else min(known)
        together = max(part.correlation for part in parts)
        seconds = sum(part.seconds for part in parts)
        below = _sum_spreads([part.seconds - part.low for part in parts], together)
        above = _sum_spreads([part.high - part.seconds for part in parts], together)
        reasons = dict.fromkeys(reason for part in parts for reason in part.basis.split("; "))
        return cls(
            seconds, seconds - below, seconds + above, coverage, "; ".join(reasons), together
        )


# NumPy would otherwise spread ``array * prediction`` over the array's elements.
Prediction.__array_ufunc__ = None


def _sum_spreads(widths, together):
    total, squares = sum(widths), sum(width**2 for width in widths)
    root = together * total**2 + (1 - together) * squares
    return np.sqrt(root) if isinstance(root, np.ndarray) else math.sqrt(root)
