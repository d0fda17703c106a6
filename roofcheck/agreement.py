"""When a number agrees with a value: within a tolerance, or to the digits it was given to."""

import math
from collections.abc import Sequence

from roofcheck.reading import EXACT, Given
from roofcheck.sentences import say

# Two computed values agree if they differ by less: figures are rounded to three digits on the way.
CLOSE = 1.5e-3
# A computed answer may also be told a rarer slip, of many, if it is that slip's to four digits.
EXACTLY = 1e-4
# As good as equal, but for the rounding of floats.
SAME = 1e-9


def agrees(given: Sequence[Given], column: Sequence[float], rtol: float = CLOSE) -> bool:
    """Whether each number agrees with its value, within ``rtol`` or to the digits given."""
    for one, value in zip(given, column, strict=True):
        if not math.isclose(one.value, value, rel_tol=rtol) and not rounds_to(value, one, 2):
            return False
    return True


def agrees_exactly(given: Sequence[Given], column: Sequence[float], rtol: float = EXACTLY) -> bool:
    """Whether each number is its value, however few digits it was given to."""
    # A loop: hundreds of slips are tried for one answer.
    for one, value in zip(given, column, strict=True):
        if not math.isclose(one.value, value, rel_tol=rtol):
            return False
    return True


def telling(given):
    """Whether a number has digits enough, or is large enough, to be no guess."""
    return given.digits >= 3 or given.value >= 1e6


def rounds_to(target, given, at_least):
    """Whether a value, rounded to the digits of a number (``at_least`` so many), is that number."""
    if given.digits >= EXACT or not target:
        return False
    if not (math.isfinite(target) and math.isfinite(given.value)):
        return False
    digits = max(given.digits, at_least)
    last = 10.0 ** (math.floor(math.log10(abs(target))) - digits + 1)
    # 0.00098 is near 0.00101 but no rounding of it, which ends on a whole 0.0001.
    whole = math.isclose(given.value / last, round(given.value / last), rel_tol=SAME)
    return whole and abs(given.value - target) <= 0.5 * last * (1 + SAME)


def same(column, other):
    """Whether two columns hold the same values: one cannot tell their slips apart."""
    return all(math.isclose(a, b, rel_tol=SAME) for a, b in zip(column, other, strict=True))


def caret(value, targets):
    """What an int tells if it is ``5*10^11`` as Python reads it, for a target of 5e11, or None."""
    for target in targets:
        if not (math.isfinite(target) and abs(target) >= 1e3):
            continue
        for power in range(2, 31):
            front = round(target / 10.0**power)
            if not 1 <= front <= 10**6:
                continue
            if math.isclose(front * 10.0**power, target) and (10 * front) ^ power == value:
                return say("number.caret", value=value)
    return None
