"""Honest ways to write a number."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import sympy

from roofcheck.reading import units


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
    for digits in (2, 3, 4, 6):
        yield from (rounded(value, digits), f"~{value:.{digits - 1}e}", [rounded(value, digits)])
        yield Decimal(f"{value:.{digits - 1}e}")
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        yield from (f"{mantissa} · 10^{int(power)}", f"{mantissa}*10**{int(power)}")
    if value >= 100:
        yield from (round(value, -1) if value < 1e3 else round(value), int(rounded(value, 3)))
    words = {"times": ["", "x", " times"], "of peak": ["", " of peak"]}.get(unit, ["", f" {unit}"])
    for word in words:
        yield from (f"{value:.4g}{word}", f"{value:.3g}{word}", f"≈ {value:.2e}{word}")
    for other, factor in units.WRONG_UNITS.get(unit, {}).items():
        yield from (f"{value * factor:.4g} {other}", f"{value * factor:.3g}{other}")
