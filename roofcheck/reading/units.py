"""The units that questions ask for, and the formatting of values in them."""

import math

from roofcheck.reading.vocabulary import VOCABULARY
from roofcheck.sentences import Sentence, sentence
from roofkit._units import engineering

DIMENSIONS = VOCABULARY["dimensions"]
# Common wrong units of an answer, each with the factor from the right unit.
WRONG_UNITS = VOCABULARY["wrong_units"]
# Units that take SI prefixes, with their symbols after a prefix.
PREFIXED_UNITS = {"s": "s", "FLOP/s": "FLOP/s", "bytes": "B", "byte/s": "B/s"}
# Numbers outside this range are shown as powers of ten.
PLAIN_RANGE = 1e-4, 1e8
TO_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Sentences that name a unit or an amount of it. Other units are shown unchanged.
UNIT_NAMES = {
    "s": "unit.seconds", "ms": "unit.milliseconds", "µs": "unit.microseconds",
    "ns": "unit.nanoseconds", "%": "unit.percent", "bytes": "unit.bytes", "tokens": "unit.tokens",
    "": "unit.number", "times": "unit.ratio", "of peak": "unit.share",
}  # fmt: skip
AMOUNT_SENTENCES = {
    "bytes": "amount.bytes", "tokens": "amount.tokens", "times": "amount.times",
    "of peak": "amount.share",
}  # fmt: skip
SINGULAR_SENTENCES = {"bytes": "amount.one-byte", "FLOPs": "amount.one-flop"}


def format_unit(unit):
    """Return a unit's name, for use in a sentence.

    >>> str(format_unit("ms")), format_unit("FLOP/byte")
    ('milliseconds', 'FLOP/byte')
    """
    return Sentence(UNIT_NAMES[unit]) if unit in UNIT_NAMES else unit


def format_value(value, unit, least=3):
    """Format a value with its unit for a sentence, with at least ``least`` digits.

    >>> format_value(1.0107e-3, "s"), format_value(0.892, "of peak")
    ('1.01 ms', '89.2% of peak')
    >>> format_value(2, "bytes"), format_value(1.34e7, "bytes"), format_value(1.5e12, "byte/s")
    ('2 bytes', '13.4 MB', '1.5 TB/s')

    FLOPs take no prefix, because 10 TFLOPs would look like a speed.

    >>> format_value(1e12, "FLOPs"), format_value(0.5, "FLOPs"), format_value(7.04e9, "")
    ('10¹² FLOPs', '0.5 FLOPs', '7.04 · 10⁹')
    >>> format_value(2.1054e-5, "s", 4), format_value(2e-5, "s", 4)
    ('21.05 µs', '20 µs')
    """
    if value < 0:
        return f"−{format_value(-value, unit, least)}"
    if unit == "FLOPs" and value >= 1e6:
        return f"{format_power(float(f'{value:.{least}g}'))} {unit}"
    if unit in PREFIXED_UNITS and (unit != "bytes" or value >= 1000):
        return f"{engineering(value, least)}{PREFIXED_UNITS[unit]}"
    if unit == "of peak":
        return append_unit(f"{100 * value:.{least}g}%", unit)
    if value < PLAIN_RANGE[1] and value == round(value):
        return append_unit(format_number(value), unit)
    written_out = 100 <= value < PLAIN_RANGE[1]
    digits = max(4, min(6, len(f"{value:.0f}"))) if written_out else least
    return append_unit(format_number(float(f"{value:.{digits}g}")), unit)


def format_number(number):
    """Format a number for a sentence, with all its digits or as a power of ten.

    >>> format_number(8192), format_number(5e11), format_number(-0.5)
    ('8,192', '5 · 10¹¹', '−0.5')
    """
    least, most = PLAIN_RANGE
    size = abs(number)
    whole = least <= size < most or size in (0, math.inf)
    text = f"{size:,.10g}" if whole else format_power(size)
    return f"−{text}" if number < 0 else text


def append_unit(number, unit):
    """Return a formatted number with its unit appended.

    >>> append_unit("2", "bytes"), append_unit("1", "FLOPs"), append_unit("7", "")
    ('2 bytes', '1 FLOP', '7')
    """
    if number == "1" and unit in SINGULAR_SENTENCES:
        return sentence(SINGULAR_SENTENCES[unit])
    key = AMOUNT_SENTENCES.get(unit)
    return sentence(key, number=number) if key else f"{number} {unit}".strip()


def format_power(value):
    """Format a large or small number as 3.44 · 10¹⁰ or 10¹²."""
    mantissa, _, power = f"{value:.10e}".partition("e")
    times = "" if float(mantissa) == 1 else f"{float(mantissa):g} · "
    return f"{times}10{str(int(power)).translate(TO_SUPERSCRIPT)}"
