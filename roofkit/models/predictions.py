"""Predicted times with their intervals and the measurements that they are based on."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit._inputs import check_number
from roofkit._units import format_quantity

NEGLIGIBLE = 0.01  # share of a total that does not decide whether its interval was tested


@dataclass(frozen=True, repr=False)
class Prediction:
    """A predicted time in seconds, and an interval that should contain the measured time.

    ``coverage`` is the share of measurements that fall between ``low`` and ``high``. It is None if
    nothing like this was timed; then ``low`` is the bound, or a sum of bounds. ``basis`` describes
    the measurements that were used and those that were missing, separated by "; ". ``correlation``,
    from 0 to 1, is that between the errors of two such predictions. Raises ValueError if a time is
    not finite.

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

    def __post_init__(self):
        if not np.isfinite(self.seconds).all():
            raise ValueError(f"a predicted time must be finite, got {self.seconds!r}: {self.basis}")

    def __repr__(self):
        low, high = format_quantity(self.low, "s"), format_quantity(self.high, "s")
        interval = f"from {low}, interval not tested"
        if self.coverage is not None:
            interval = f"{self.coverage:.0%} between {low} and {high}"
        return f"Prediction({format_quantity(self.seconds, 's')}, {interval}: {self.basis})"

    def __mul__(self, times):
        """Predict ``times`` calls. All have the same error, so the interval scales too."""
        if isinstance(times, Prediction):
            return NotImplemented
        times = check_number(times, "times", above=False)
        scaled = (times * value for value in (self.seconds, self.low, self.high))
        return Prediction(*scaled, self.coverage, self.basis, self.correlation)

    __rmul__ = __mul__

    def to_row(self, name):
        """Return the seconds, the interval and its coverage as a dict; None if not tested."""
        high = None if self.coverage is None else self.high
        return {f"{name}_seconds": self.seconds, f"{name}_low_seconds": self.low,
                f"{name}_high_seconds": high, f"{name}_coverage": self.coverage}  # fmt: skip

    @classmethod
    def total(cls, parts):
        """Return the sum of predictions, such as those of the kernels in a layer.

        On each side, half-widths h combine to sqrt(r (Σh)² + (1-r) Σh²), the spread of a sum whose
        terms have the correlation r, the largest of any part. With r = 1, this is the plain sum.
        The coverage is the lowest of any part, or None if parts without one take over 1% of the
        time. A reason that several parts share appears only once in the basis. Raises ValueError if
        there are no parts.

        >>> part = Prediction(1e-3, 0.9e-3, 1.1e-3, correlation=0.0)
        >>> whole = Prediction.total([part] * 4)
        >>> whole.seconds, round(whole.low * 1e3, 6)
        (0.004, 3.8)
        """
        parts = list(parts)
        if not parts:
            raise ValueError("total needs at least one prediction, got none")
        seconds = sum(part.seconds for part in parts)
        untested = sum(part.seconds for part in parts if part.coverage is None)
        tested = [part.coverage for part in parts if part.coverage is not None]
        coverage = None if np.any(untested > NEGLIGIBLE * seconds) else min(tested, default=None)
        correlation = max(part.correlation for part in parts)
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
