"""Predicted times with their intervals and the measurements that they are based on."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit._inputs import check_number
from roofkit._units import format_quantity


@dataclass(frozen=True, repr=False)
class Prediction:
    """A predicted time in seconds, and an interval that should contain the measured time.

    ``coverage`` is the share of measurements that fall between ``low`` and ``high``, or None if it
    is unknown. ``basis`` describes the measurements that were used and those that were missing,
    separated by "; ". ``correlation``, from 0 to 1, is the correlation between the errors of two
    such predictions, which ``total`` uses.

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
        """Predict ``times`` calls. All have the same error, so the interval scales too."""
        if isinstance(times, Prediction):
            return NotImplemented
        times = check_number(times, "times", above=False)
        scaled = (times * value for value in (self.seconds, self.low, self.high))
        return Prediction(*scaled, self.coverage, self.basis, self.correlation)

    __rmul__ = __mul__

    @classmethod
    def total(cls, parts):
        """Return the sum of predictions, such as those of the kernels in a layer.

        On each side, half-widths h combine to sqrt(r (Σh)² + (1-r) Σh²), the spread of a sum whose
        terms have the correlation r, the largest of any part. With r = 1, this is the plain sum.
        The coverage is the lowest of any part, or None if a part has none. A reason that several
        parts share appears only once in the basis. Raises ValueError if there are no parts.

        >>> part = Prediction(1e-3, 0.9e-3, 1.1e-3, correlation=0.0)
        >>> whole = Prediction.total([part] * 4)
        >>> whole.seconds, round(whole.low * 1e3, 6)
        (0.004, 3.8)
        """
        parts = list(parts)
        if not parts:
            raise ValueError("total needs at least one prediction, got none")
        known = [part.coverage for part in parts]
        coverage = None if None in known else min(known)
        correlation = max(part.correlation for part in parts)
        seconds = sum(part.seconds for part in parts)
        below = _add_correlated_spreads([part.seconds - part.low for part in parts], correlation)
        above = _add_correlated_spreads([part.high - part.seconds for part in parts], correlation)
        reasons = dict.fromkeys(reason for part in parts for reason in part.basis.split("; "))
        return cls(
            seconds, seconds - below, seconds + above, coverage, "; ".join(reasons), correlation
        )


# Without this, NumPy would multiply each element of an array by the Prediction.
Prediction.__array_ufunc__ = None


def _add_correlated_spreads(widths, correlation):
    total, squares = sum(widths), sum(width**2 for width in widths)
    root = correlation * total**2 + (1 - correlation) * squares
    return np.sqrt(root) if isinstance(root, np.ndarray) else math.sqrt(root)
