"""The units that questions ask for: what each measures, and how a value in it is shown."""

import math

from roofcheck.sentences import Sentence, say
from roofkit._units import engineering

# What a question's unit measures.
DIMENSIONS = {
    "s": "time", "ms": "time", "µs": "time", "FLOPs": "work", "bytes": "data", "FLOP/s": "speed",
    "byte/s": "bandwidth", "FLOP/byte": "intensity", "times": "ratio", "of peak": "ratio",
    "tokens": "tokens", "": "ratio",
}  # fmt: skip
# The wrong units that a number of this unit usually comes in, and how many of each make one.
ALSO = {
    "s": {"ms": 1e3, "µs": 1e6, "ns": 1e9},
    "ms": {"s": 1e-3, "µs": 1e3, "ns": 1e6},
    "µs": {"s": 1e-6, "ms": 1e-3, "ns": 1e3},
    "FLOPs": {"GFLOPs": 1e-9, "TFLOPs": 1e-12},
    "FLOP/s": {"GFLOP/s": 1e-9, "TFLOP/s": 1e-12},
    "byte/s": {"GB/s": 1e-9, "TB/s": 1e-12, "bit/s": 8},
    "bytes": {"bits": 8, "kB": 1e-3, "MB": 1e-6, "GB": 1e-9},
    "times": {"%": 100},
    "of peak": {"%": 100},
}
# Units that take SI prefixes, and how they are written behind one.
PREFIXED = {"s": "s", "FLOP/s": "FLOP/s", "bytes": "B", "byte/s": "B/s"}
# Smaller and larger numbers are shown as powers of ten.
WRITTEN_OUT = 1e-4, 1e8
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The sentences that name a unit, and those that name an amount of it. Other units are symbols.
NAMES = {
    "s": "unit.seconds", "ms": "unit.milliseconds", "µs": "unit.microseconds",
    "ns": "unit.nanoseconds", "%": "unit.percent", "bytes": "unit.bytes", "tokens": "unit.tokens",
    "": "unit.number", "times": "unit.ratio", "of peak": "unit.share",
}  # fmt: skip
AMOUNTS = {
    "bytes": "amount.bytes", "tokens": "amount.tokens", "times": "amount.times",
    "of peak": "amount.share",
}  # fmt: skip
# Those of which one has a name of its own.
ONE = {"bytes": "amount.one-byte", "FLOPs": "amount.one-flop"}


def name(unit):
    """A unit as a sentence names it.

    >>> str(name("ms")), name("FLOP/byte")
    ('milliseconds', 'FLOP/byte')
    """
    return Sentence(NAMES[unit]) if unit in NAMES else unit


def in_units(value, unit, least=3):
    """A value as a sentence shows it, to at least so many digits.

    >>> in_units(1.0107e-3, "s"), in_units(240.54, "FLOP/byte"), in_units(0.892, "of peak")
    ('1.01 ms', '240.5 FLOP/byte', '89.2% of peak')
    >>> in_units(2, "bytes"), in_units(1.34e7, "bytes"), in_units(1.5e12, "byte/s")
    ('2 bytes', '13.4 MB', '1.5 TB/s')

    A number of FLOPs takes no prefix, which would look like a speed.

    >>> in_units(1e12, "FLOPs"), in_units(0.5, "FLOPs"), in_units(7.04e9, "")
    ('10¹² FLOPs', '0.5 FLOPs', '7.04 · 10⁹')
    >>> in_units(2.1054e-5, "s", 4), in_units(2e-5, "s", 4)
    ('21.05 µs', '20 µs')
    """
    if value < 0:
        return f"−{in_units(-value, unit, least)}"
    if unit == "FLOPs" and value >= 1e6:
        return f"{with_power(float(f'{value:.{least}g}'))} {unit}"
    if unit in PREFIXED and (unit != "bytes" or value >= 1000):
        return f"{engineering(value, least)}{PREFIXED[unit]}"
    if unit == "of peak":
        return with_unit(f"{100 * value:.{least}g}%", unit)
    if value < WRITTEN_OUT[1] and value == round(value):
        return with_unit(digits(value), unit)
    written_out = 100 <= value < WRITTEN_OUT[1]
    kept = max(4, min(6, len(f"{value:.0f}"))) if written_out else least
    return with_unit(digits(float(f"{value:.{kept}g}")), unit)


def digits(number):
    """A number as a sentence shows it: with all its digits, or as a power of ten.

    >>> digits(8192), digits(5e11), digits(-0.5)
    ('8,192', '5 · 10¹¹', '−0.5')
    """
    least, most = WRITTEN_OUT
    size = abs(number)
    whole = least <= size < most or size in (0, math.inf)
    text = f"{size:,.10g}" if whole else with_power(size)
    return f"−{text}" if number < 0 else text


def with_unit(number, unit):
    """A number that is written already, with its unit.

    >>> with_unit("2", "bytes"), with_unit("1", "FLOPs"), with_unit("7", "")
    ('2 bytes', '1 FLOP', '7')
    """
    if number == "1" and unit in ONE:
        return say(ONE[unit])
    return say(AMOUNTS[unit], number=number) if unit in AMOUNTS else f"{number} {unit}".strip()


def with_power(value):
    """A large or small number as 3.44 · 10¹⁰ or 10¹²."""
    mantissa, _, power = f"{value:.10e}".partition("e")
    times = "" if float(mantissa) == 1 else f"{float(mantissa):g} · "
    return f"{times}10{str(int(power)).translate(RAISED)}"
