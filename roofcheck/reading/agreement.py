"""Compare a number with a value, within a tolerance or to the number's own digits."""

import math
from collections.abc import Sequence

from roofcheck.reading.numbers import ALL_DIGITS, GivenNumber
from roofcheck.sentences import sentence

# Values that differ by less than this agree: students round to three digits along the way.
CLOSE_RTOL = 1.5e-3
# There are so many rare slips that an answer must match one to four digits.
EXACT_RTOL = 1e-4
# Values that differ by less than this are equal, except for float rounding.
SAME_RTOL = 1e-9
# Both 10 and 11 are 10.5 to two digits, but nearly 5% off: such an answer is asked for a third.
COARSEST = 0.046
# A ColumnSet compares a column only with those whose first values are about this close to its own.
PLACE_WIDTH = 10 * SAME_RTOL


def agrees(given: Sequence[GivenNumber], column: Sequence[float], rtol: float = CLOSE_RTOL) -> bool:
    """Return whether each number agrees with its value, within ``rtol`` or to its own digits."""
    for number, value in zip(given, column, strict=True):
        if not math.isclose(number.value, value, rel_tol=rtol) and not rounds_to(value, number, 2):
            return False
    return True


def agrees_exactly(
    given: Sequence[GivenNumber], column: Sequence[float], rtol: float = EXACT_RTOL
) -> bool:
    """Return whether each number equals its value, however few digits the number has."""
    # A plain loop is the fastest way to compare an answer with hundreds of slips.
    for number, value in zip(given, column, strict=True):
        if not math.isclose(number.value, value, rel_tol=rtol):
            return False
    return True


def is_precise(given):
    """Return whether a number has too many digits, or is too large, to be a guess."""
    return given.digits >= 3 or given.value >= 1e6


def rounds_to(target, given, at_least, within=COARSEST):
    """Return whether a number is ``target`` rounded to its digits, or to ``at_least`` if more.

    Rounding may change the target by a share of at most ``within``: 11 doesn't count as 10.5.
    """
    if given.digits >= ALL_DIGITS or not target:
        return False
    if not (math.isfinite(target) and math.isfinite(given.value)):
        return False
    digits = max(given.digits, at_least)
    last = 10.0 ** (math.floor(math.log10(abs(target))) - digits + 1)
    # 0.00101 rounds to 0.0010. 0.00098 is as close, but has a digit in a smaller place.
    whole = math.isclose(given.value / last, round(given.value / last), rel_tol=SAME_RTOL)
    off = abs(given.value - target)
    return whole and off <= min(0.5 * last, within * abs(target)) * (1 + SAME_RTOL)


def are_equal(column, other):
    """Return whether two columns have equal values, so no answer can distinguish their slips."""
    return all(math.isclose(a, b, rel_tol=SAME_RTOL) for a, b in zip(column, other, strict=True))


class ColumnSet:
    """A set of columns in which equal columns are those that ``are_equal``."""

    def __init__(self, columns=()):
        self._by_place = {}
        for column in columns:
            self.add(column)

    def add(self, column):
        """Add a column; adding an equal one again changes nothing that can be seen."""
        self._by_place.setdefault(self._place(column), []).append(column)

    def __contains__(self, column):
        place = self._place(column)
        # Equal columns may lie on both sides of the boundary between two places.
        near = (place - 1, place, place + 1) if isinstance(place, int) else (place,)
        return any(are_equal(column, other) for at in near for other in self._by_place.get(at, ()))

    @staticmethod
    def _place(column):
        first = abs(column[0])
        return math.floor(math.log(first) / PLACE_WIDTH) if 0 < first < math.inf else str(first)


def explain_caret(value, targets):
    """Return a hint if ``value`` comes from a mistyped power such as ``5*10^11``, or None."""
    for target in targets:
        if not (math.isfinite(target) and abs(target) >= 1e3):
            continue
        for power in range(2, 31):
            front = round(target / 10.0**power)
            if not 1 <= front <= 10**6:
                continue
            if math.isclose(front * 10.0**power, target) and (10 * front) ^ power == value:
                return sentence("number.caret", value=value)
    return None
