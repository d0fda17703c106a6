"""Read a number written as text: its value, its digits and its unit."""

import contextlib
import math
import re
from dataclasses import dataclass, replace
from itertools import pairwise

from roofcheck.reading import amounts, expressions, units
from roofcheck.reading.expressions import LONGEST_TEXT, evaluate
from roofcheck.reading.spelling import to_plain_signs
from roofcheck.reading.strip_words import without_words
from roofcheck.sentences import sentence

ALL_DIGITS = 17
NUMBER = f"(?>{expressions.NUMBER})"  # atomic: 1e-3 is not 1 e - 3
SEPARATED_NUMBER = re.compile(r"(?=[.\d])[\d.,]*[.,]\d+")
THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2}),(\d{3})(?![\d.,])")
# Two numbers, either of which could be the answer: "5 or 6", "3 ± 1", "3, 4".
TWO_NUMBERS = re.compile(
    r"^\D*\d.*(?:\b(?:or|to|and|vs|versus|until|but|not)\b|±|\+ ?/ ?-|\.\.|[;~:<≤>≥]|, ).*\d"
    r"|^between\b",
    re.I,
)
# "3-4" and "3 ms - 4 ms" are ranges if the second number is larger.
RANGE = re.compile(rf"({NUMBER}) ?[^\W\d]{{0,9}} ?- ?({NUMBER})[^\d()*/^+-]*")
# "291 (3.4e12)": a product, or the same number twice.
NUMBER_TWICE = re.compile(rf"{NUMBER}(?: ?[A-Za-z%][A-Za-z%/]*)?(?: \(.*| ?\([-+ ]*{NUMBER} ?)\)")
FUNCTION_CALL = rf"\\?(?:{'|'.join(expressions.FUNCTIONS)}) ?\(|\\frac"
LETTERS = r"(?:%|[^\W\d_])+(?:[ -](?:%|[^\W\d_])+)*"
UNIT = rf"(?!{FUNCTION_CALL})(?:/ ?)?{LETTERS}(?: ?/ ?{LETTERS}| ?/ ?\({LETTERS}\))*"
# A unit applies only to the number right before it.
NUMBER_WITH_UNIT = re.compile(
    rf"(?P<number>{NUMBER})(?: ?(?P<unit>{UNIT}))?|{FUNCTION_CALL}|(?P<alone>{UNIT})"
)
# Spellings of FLOPs that may mean FLOP/s, most likely first.
RATE_SPELLINGS = ("(?!)", r"[A-Z]S$", "^[kMGTPE](?!$)", "")


class UnreadableError(Exception):
    """An answer can't be read as a number; the message says why.

    If ``missing``, there is no answer at all. ``number`` is the GivenNumber before a wrong unit.
    """

    def __init__(self, message, missing=False, number=None):
        super().__init__(message)
        self.missing, self.number = missing, number


class AmbiguousError(UnreadableError):
    """A text can be read as two different numbers; the message asks which one is meant."""


@dataclass(frozen=True)
class GivenNumber:
    """A number and its significant digits; ALL_DIGITS for a computed one.

    ``unconverted`` is the number in the student's own unit. ``with_decimal_comma`` is
    the other reading of "4,227": 4.227, with a decimal comma.
    """

    value: float
    digits: int = ALL_DIGITS
    unconverted: "GivenNumber | None" = None
    with_decimal_comma: "GivenNumber | None" = None


def read_text(text, unit):
    """Read a text as a GivenNumber in a question's unit. Raises UnreadableError.

    >>> read_text("about 1.22 ms", "s").value, read_text("2 GB / 1.6 TB/s", "ms").value
    (0.00122, 1.25)
    """
    if len(text) > LONGEST_TEXT or len(spelled := to_plain_signs(text)) > LONGEST_TEXT:
        raise _no_number_error(text, sentence("expression.too-long", most=LONGEST_TEXT))
    words = without_words(spelled)
    if not words.strip("."):
        raise UnreadableError(sentence("missing.fill-in"), missing=True)
    if units.DIMENSIONS[unit] == "ratio":
        words = re.sub(rf"^({NUMBER}) ?: ?({NUMBER})$", r"\1/\2", words)
    if not re.search(r"(max|min) ?\(", words):
        words = SEPARATED_NUMBER.sub(_normalise_separators, words)
        _refuse_ambiguous(words, text)
    if re.fullmatch("nan", words, re.I):
        raise UnreadableError(sentence("unread.nan"))
    try:
        if NUMBER_TWICE.fullmatch(words):
            words = _drop_repeated_number(words, unit, text)
        given = _read_measured_number(words, unit)
    except ValueError as error:
        raise _no_number_error(text, error) from None
    if math.isnan(given.value):
        raise UnreadableError(sentence("unread.nan"))
    with_point = THOUSANDS.sub(r"\1.\2", text)
    if with_point != text:
        with contextlib.suppress(UnreadableError):
            return replace(given, with_decimal_comma=read_text(with_point, unit))
    return given


def comma_error(text):
    """Return the AmbiguousError that asks what the comma in a text means."""
    return AmbiguousError(sentence("unread.comma", text=_quote(text)))


def _no_number_error(text, why):
    return UnreadableError(sentence("unread.no-number", text=_quote(text), why=why))


def _quote(text):
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _normalise_separators(match):
    """Rewrite a number with a decimal point and without thousands separators."""
    text = match[0]
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", text):
        if text.count(",") == 1 and re.match(
            r"[eE]| ?\* ?10 ?(?:\^|\*\*)", match.string[match.end() :]
        ):
            raise comma_error(text)
        return text.replace(",", "")
    if re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+,\d+|[1-9]\d{0,2}(\.\d{3}){2,}", text):
        return text.replace(".", "").replace(",", ".")
    if text.count(",") + text.count(".") == 1:
        return text.replace(",", ".")
    return text.replace(",", ", ")


def _refuse_ambiguous(words, text):
    span = RANGE.fullmatch(words)
    if span and float(span[1].replace("_", "")) < float(span[2].replace("_", "")):
        raise AmbiguousError(sentence("unread.range", text=_quote(text)))
    if TWO_NUMBERS.search(words):
        raise AmbiguousError(sentence("unread.open", text=_quote(text)))


def _drop_repeated_number(words, unit, text):
    """Drop a number in parentheses if it equals the number before it."""
    first, second = words[:-1].split("(", 1)
    values = [_read_measured_number(part.strip(), unit).value for part in (first, second)]
    if not math.isclose(*values, rel_tol=0.01):
        raise AmbiguousError(sentence("unread.beside", text=_quote(text)))
    return first.strip()


def _read_measured_number(words, unit):
    matches = [m for m in NUMBER_WITH_UNIT.finditer(words) if m["unit"] or m["alone"]]
    if not re.search(r"\d", words) or (matches and matches[0].start("alone") == 0):
        raise ValueError(sentence("unread.no-digits"))
    if not matches:
        value = evaluate(words)
        return GivenNumber(value, _count_digits(words, value))
    if len(matches) > 1 or matches[0].end() != len(words):
        return _evaluate_with_units(words, unit)
    written = matches[0]["unit"] or matches[0]["alone"]
    number = words.removesuffix(written).rstrip(" *")
    value = evaluate(number)
    given = GivenNumber(value, _count_digits(number, value))
    scale = amounts.conversion_factor(written, unit)
    if scale is None:
        raise _wrong_unit_error(written, unit, given)
    return GivenNumber(value * scale, given.digits, given)


def _wrong_unit_error(written, unit, number=None):
    if match := re.match(r"([mgtp])b(?![a-z]{2})", written):
        units_meant = {"bytes": f"{match[1].upper()}B", "bits": f"{match[1].upper()}bit"}
        return UnreadableError(sentence("unread.bits", unit=_quote(written), **units_meant))
    message = sentence("unread.unit", unit=_quote(written), wanted=units.format_unit(unit))
    return UnreadableError(message, number=number)


def _count_digits(number, value):
    """Count the significant digits of a number as written; ALL_DIGITS for arithmetic."""
    match = re.fullmatch(rf"[-+ ]*({NUMBER})( ?\* ?10 ?(\^|\*\*) ?\(?[-+]?\d+\)?)?", number)
    if not match:
        return ALL_DIGITS
    mantissa = re.split("[eE]", match[1])[0].replace("_", "")
    digits = mantissa.replace(".", "").lstrip("0")
    # 2.0e2 has two digits, and 200 may have two.
    exact = "." in mantissa or abs(float(mantissa) if match[2] else value) < 10
    return max(len(digits if "." in mantissa else digits.rstrip("0")), 1 if exact else 2)


def _evaluate_with_units(words, unit):
    names = {}
    for first, second in pairwise(NUMBER_WITH_UNIT.finditer(words)):
        apart = words[first.end() : second.start()].strip() or not (first["unit"] or first["alone"])
        if second["number"] and not apart:
            fields = {"first": first[0][:20], "second": second[0][:20]}
            raise ValueError(sentence("expression.side-by-side", **fields))

    def replace_unit(match):
        if not (written := match["unit"] or match["alone"]):
            return match[0]
        name = f"u{len(names)}_"
        names[name] = written
        return f"({match['number']}*{name})" if match["number"] else f" {name} "

    text, results = NUMBER_WITH_UNIT.sub(replace_unit, words), []
    for rate in RATE_SPELLINGS:
        measured = {name: _read_amount(written, rate, unit) for name, written in names.items()}
        results.append(evaluate(text, measured, amounts.Amount))
        if (value := results[-1].in_unit(unit)) is not None:
            return GivenNumber(value)
        if all(amount.powers == amounts.POWERS["ratio"] for amount in measured.values()):
            # "312T / 1.555T" has only prefixes.
            return GivenNumber(results[-1].value)
    wanted = units.format_unit(unit)
    raise UnreadableError(sentence("unread.dimension", found=results[0], wanted=wanted))


def _read_amount(written, rate, unit):
    amount = amounts.read_unit(written) or amounts.read_prefix(written)
    if amount is None:
        raise _wrong_unit_error(written, unit)
    is_work = amount.powers == amounts.POWERS["work"]
    return amounts.read_unit(f"{written}/s") if is_work and re.search(rate, written) else amount
