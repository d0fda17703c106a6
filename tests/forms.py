"""Honest ways to write a number."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import sympy

from roofcheck.reading import units

SPELLINGS = {
    "s": "sec|seconds", "ms": "msec|milliseconds", "µs": "us|microseconds", "hours": "h|hr|hour",
    "days": "d|day", "bytes": "B|byte", "byte/s": "B/s|bytes per second|bytes/sec",
    "FLOPs": "FLOP|flop|operations", "FLOP/s": "FLOPS|flops per second|FLOPs/s",
    "FLOP/byte": "FLOPs/B|FLOP per byte|flops/byte", "TOPS": "TOP/s|TOPs", "tokens": "tok|token",
    "tokens/s": "tok/s|tps|tokens per second|tokens a second", "MAC/s": "MACs/s|MACs per second",
    "images/s": "img/s|images per second|images/sec", "times": "x|×|times", "of peak": "of peak",
}  # fmt: skip


def rounded(value, digits):
    return float(f"{value:.{digits - 1}e}")


def forms(question):
    """Every honest way to write the right number."""
    value, unit = question.reference(), question.unit
    yield from (value, [value], (value,), np.float64(value), np.float32(value), np.array(value))
    yield from (np.array([value]), Fraction(value), Decimal(repr(value)), sympy.Float(value))
    yield from (sympy.Rational(Fraction(value)), f"{value!r}", f" about {value:.4g} ", f'"{value}"')
    yield from (f"{Fraction(value).limit_denominator(10**6)}" if 1e-3 < value < 1e3 else value,)
    if value == int(value) and value < 1e15:
        yield from (int(value), np.int64(value), sympy.Integer(int(value)), f"{int(value):,}")
    # Two digits are enough unless rounding changes the value by nearly 5%.
    short = abs(rounded(value, 2) - value) > 0.046 * value
    for digits in (3, 4, 6) if short else (2, 3, 4, 6):
        yield from (rounded(value, digits), f"~{value:.{digits - 1}e}", [rounded(value, digits)])
        yield Decimal(f"{value:.{digits - 1}e}")
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        yield from (f"{mantissa} · 10^{int(power)}", f"{mantissa}*10**{int(power)}")
    if value >= 100:
        yield from (round(value, -1) if value < 1e3 else round(value), int(rounded(value, 3)))
    nouns = re.findall(r"how many ([\w-]+s)\b", question.text(), re.I)
    spellings = [*SPELLINGS.get(unit, "").split("|"), *nouns, "" if unit in SPELLINGS else unit]
    words = ["", *(f" {spelling}" for spelling in spellings)]
    if unit not in ("", "s", "ms", "µs", "hours", "days", "TOPS", "times", "of peak"):
        yield from (f"{value / 1e3:.4g} k{unit}", f"{value / 1e6:.4g}M {unit}")
    for word in words:
        yield from (f"{value:.4g}{word}", f"{value:.3g}{word}", f"≈ {value:.2e}{word}")
    for other, factor in units.WRONG_UNITS.get(unit, {}).items():
        yield from (f"{value * factor:.4g} {other}", f"{value * factor:.3g}{other}")
