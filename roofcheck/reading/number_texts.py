"""A number that was written as text: its value, the digits it was given to, and its unit."""

import math
import re
from dataclasses import dataclass
from itertools import pairwise

from roofcheck.reading import amounts, expressions, units
from roofcheck.reading.expressions import LONGEST_TEXT, evaluate
from roofcheck.reading.spelling import to_plain_signs
from roofcheck.reading.strip_words import without_words
from roofcheck.sentences import sentence

ALL_DIGITS = 17
NUMBER = f"(?>{expressions.NUMBER})"  # never a part of one: 1e-3 is not 1 e - 3
SEPARATED_NUMBER = re.compile(r"(?=[.\d])[\d.,]*[.,]\d+")
# Two numbers of which either may be meant: "5 or 6", "3 ± 1", "3, 4".
TWO_NUMBERS = re.compile(
    r"^\D*\d.*(?:\b(?:or|to|and|vs|versus|until|but|not)\b|±|\+ ?/ ?-|\.\.|[;~:<≤>≥]|, ).*\d"
    r"|^between\b",
    re.I,
)
# "3-4" and "3 ms - 4 ms": a range, if the second number is the larger one.
RANGE = re.compile(rf"({NUMBER}) ?[^\W\d]{{0,9}} ?- ?({NUMBER})[^\d()*/^+-]*")
# "291 (3.4e12)": a product, or the same number in other words.
NUMBER_TWICE = re.compile(rf"{NUMBER}(?: ?[A-Za-z%][A-Za-z%/]*)?(?: \(.*| ?\([-+ ]*{NUMBER} ?)\)")
FUNCTION_CALL = rf"\\?(?:{'|'.join(expressions.FUNCTIONS)}) ?\(|\\frac"
LETTERS = r"(?:%|[^\W\d_])+(?:[ -](?:%|[^\W\d_])+)*"
UNIT = rf"(?!{FUNCTION_CALL})(?:/ ?)?{LETTERS}(?: ?/ ?{LETTERS}| ?/ ?\({LETTERS}\))*"
# A unit belongs to the number before it, and to no more.
NUMBER_WITH_UNIT = re.compile(
    rf"(?P<number>{NUMBER})(?: ?(?P<unit>{UNIT}))?|{FUNCTION_CALL}|(?P<alone>{UNIT})"
)
# What is written as FLOPs and may be meant as FLOP/s, the likelier first.
RATE_SPELLINGS = ("(?!)", r"[A-Z]S$", "^[kMGTPE](?!$)", "")


class UnreadableError(Exception):
    """An answer is no number, for the reason that the message gives.

    ``missing`` says that there is no answer at all; ``number`` is the Given that stands before a
    unit which cannot be right.
    """

    def __init__(self, message, missing=False, number=None):
        super().__init__(message)
        self.missing, self.number = missing, number


class AmbiguousError(UnreadableError):
    """A text may be one number or another; the message asks which."""


@dataclass(frozen=True)
class GivenNumber:
    """A number and the digits it was given to; EXACT for one that was computed.

    ``unconverted`` is the number as it stands beside a unit, before it is converted.
    """

    value: float
    digits: int = ALL_DIGITS
    unconverted: "GivenNumber | None" = None


def read_text(text, unit):
    """The Given that a text is, in a question's unit. Raises UnreadableError.

    >>> read_text("about 1.22 ms", "s").value, read_text("2 GB / 1.6 TB/s", "ms").value
    (0.00122, 1.25)
    """
    if len(text) > LONGEST_TEXT or len(spelled := to_plain_signs(text)) > LONGEST_TEXT:
        why = sentence("expression.too-long", most=LONGEST_TEXT)
        raise UnreadableError(sentence("unread.no-number", text=_quote(text), why=why))
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
    return given


def _no_number_error(text, why):
    return UnreadableError(sentence("unread.no-number", text=_quote(text), why=why))


def _quote(text):
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _normalise_separators(found):
    """A number with a point before its decimals, and nothing between its thousands."""
    text = found[0]
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", text):
        if text.count(",") == 1 and re.match(
            r"[eE]| ?\* ?10 ?(?:\^|\*\*)", found.string[found.end() :]
        ):
            raise AmbiguousError(sentence("unread.comma", text=_quote(text)))
        return text.replace(",", "")
    if re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+,\d+|[1-9]\d{0,2}(\.\d{3}){2,}", text):
        return text.replace(".", "").replace(",", ".")
    if text.count(",") + text.count(".") == 1:
        return text.replace(",", ".")
    return text.replace(",", ", ")


def _refuse_ambiguous(words, text):
    """Raise UnreadableError where a text may be one number or another."""
    span = RANGE.fullmatch(words)
    if span and float(span[1].replace("_", "")) < float(span[2].replace("_", "")):
        raise AmbiguousError(sentence("unread.range", text=_quote(text)))
    if TWO_NUMBERS.search(words):
        raise AmbiguousError(sentence("unread.open", text=_quote(text)))


def _drop_repeated_number(words, unit, text):
    """A number without what stands beside it in parentheses, if that is the same number."""
    first, second = words[:-1].split("(", 1)
    values = [_read_measured_number(part.strip(), unit).value for part in (first, second)]
    if not math.isclose(*values, rel_tol=0.01):
        raise AmbiguousError(sentence("unread.beside", text=_quote(text)))
    return first.strip()


def _read_measured_number(words, unit):
    """The Given of a number with its unit, or of arithmetic with units. Raises ValueError."""
    found = [each for each in NUMBER_WITH_UNIT.finditer(words) if each["unit"] or each["alone"]]
    if not re.search(r"\d", words) or (found and found[0].start("alone") == 0):
        raise ValueError(sentence("unread.no-digits"))
    if not found:
        value = evaluate(words)
        return GivenNumber(value, _count_digits(words, value))
    if len(found) > 1 or found[0].end() != len(words):
        return _evaluate_with_units(words, unit)
    written = found[0]["unit"] or found[0]["alone"]
    number = words.removesuffix(written).rstrip(" *")
    value = evaluate(number)
    given = GivenNumber(value, _count_digits(number, value))
    scale = amounts.conversion_factor(written, unit)
    if scale is None:
        raise _wrong_unit_error(written, unit, given)
    return GivenNumber(value * scale, given.digits, given)


def _wrong_unit_error(written, unit, number=None):
    if found := re.match(r"([mgtp])b(?![a-z]{2})", written):
        prefix = found[1].upper()
        message = sentence(
            "unread.bits", unit=_quote(written), bytes=f"{prefix}B", bits=f"{prefix}bit"
        )
        return UnreadableError(message)
    message = sentence("unread.unit", unit=_quote(written), wanted=units.format_unit(unit))
    return UnreadableError(message, number=number)


def _count_digits(number, value):
    """The significant digits of one number, also before a power of ten; EXACT for a result."""
    one = re.fullmatch(rf"[-+ ]*({NUMBER})( ?\* ?10 ?(\^|\*\*) ?\(?[-+]?\d+\)?)?", number)
    if not one:
        return ALL_DIGITS
    mantissa = re.split("[eE]", one[1])[0].replace("_", "")
    digits = mantissa.replace(".", "").lstrip("0")
    # 2.0e2 has two digits, and so may 200.
    exact = "." in mantissa or abs(float(mantissa) if one[2] else value) < 10
    return max(len(digits if "." in mantissa else digits.rstrip("0")), 1 if exact else 2)


def _evaluate_with_units(words, unit):
    """What arithmetic gives whose numbers have units. Raises ValueError."""
    names = {}
    for one, other in pairwise(NUMBER_WITH_UNIT.finditer(words)):
        apart = words[one.end() : other.start()].strip() or not (one["unit"] or one["alone"])
        if other["number"] and not apart:
            raise ValueError(
                sentence("expression.side-by-side", first=one[0][:20], second=other[0][:20])
            )

    def named(found):
        if not (written := found["unit"] or found["alone"]):
            return found[0]
        name = f"u{len(names)}_"
        names[name] = written
        return f"({found['number']}*{name})" if found["number"] else f" {name} "

    text, results = NUMBER_WITH_UNIT.sub(named, words), []
    for rate in RATE_SPELLINGS:
        measured = {name: _read_amount(written, rate, unit) for name, written in names.items()}
        results.append(evaluate(text, measured, amounts.Amount))
        if (value := results[-1].in_unit(unit)) is not None:
            return GivenNumber(value)
        if all(amount.powers == amounts.POWERS["ratio"] for amount in measured.values()):
            # "312T / 1.555T" has no units, only prefixes.
            return GivenNumber(results[-1].value)
    raise UnreadableError(
        sentence("unread.dimension", found=results[0], wanted=units.format_unit(unit))
    )


def _read_amount(written, rate, unit):
    amount = amounts.read_unit(written) or amounts.read_prefix(written)
    if amount is None:
        raise _wrong_unit_error(written, unit)
    is_work = amount.powers == amounts.POWERS["work"]
    return amounts.read_unit(f"{written}/s") if is_work and re.search(rate, written) else amount
