"""A number that was written as text: its value, the digits it was given to, and its unit."""

import math
import re
from dataclasses import dataclass
from itertools import pairwise

from roofcheck.reading import amounts, expressions, units
from roofcheck.reading.expressions import LONGEST, evaluate
from roofcheck.reading.remarks import bare
from roofcheck.reading.spelling import plain
from roofcheck.sentences import say

EXACT = 17
NUMBER = f"(?>{expressions.NUMBER})"  # never a part of one: 1e-3 is not 1 e - 3
SEPARATED = re.compile(r"(?=[.\d])[\d.,]*[.,]\d+")
# Two numbers of which either may be meant: "5 or 6", "3 ± 1", "3, 4".
OPEN = re.compile(
    r"^\D*\d.*(?:\b(?:or|to|and|vs|versus|until|but|not)\b|±|\+ ?/ ?-|\.\.|[;~:<≤>≥]|, ).*\d"
    r"|^between\b",
    re.I,
)
# "3-4" and "3 ms - 4 ms": a range, if the second number is the larger one.
RANGE = re.compile(rf"({NUMBER}) ?[^\W\d]{{0,9}} ?- ?({NUMBER})[^\d()*/^+-]*")
# "291 (3.4e12)": a product, or the same number in other words.
BESIDE = re.compile(rf"{NUMBER}(?: ?[A-Za-z%][A-Za-z%/]*)?(?: \(.*| ?\([-+ ]*{NUMBER} ?)\)")
CALL = rf"\\?(?:{'|'.join(expressions.FUNCTIONS)}) ?\(|\\frac"
LETTERS = r"(?:%|[^\W\d_])+(?:[ -](?:%|[^\W\d_])+)*"
UNIT = rf"(?!{CALL})(?:/ ?)?{LETTERS}(?: ?/ ?{LETTERS}| ?/ ?\({LETTERS}\))*"
# A unit belongs to the number before it, and to no more.
MEASURED = re.compile(rf"(?P<number>{NUMBER})(?: ?(?P<unit>{UNIT}))?|{CALL}|(?P<alone>{UNIT})")
# What is written as FLOPs and may be meant as FLOP/s, the likelier first.
RATES = ("(?!)", r"[A-Z]S$", "^[kMGTPE](?!$)", "")


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
class Given:
    """A number and the digits it was given to; EXACT for one that was computed.

    ``written`` is the number as it stands beside a unit, before it is converted.
    """

    value: float
    digits: int = EXACT
    written: "Given | None" = None


def read_text(text, unit):
    """The Given that a text is, in a question's unit. Raises UnreadableError.

    >>> read_text("about 1.22 ms", "s").value, read_text("2 GB / 1.6 TB/s", "ms").value
    (0.00122, 1.25)
    """
    if len(text) > LONGEST or len(spelled := plain(text)) > LONGEST:
        why = say("expression.too-long", most=LONGEST)
        raise UnreadableError(say("unread.no-number", text=_quoted(text), why=why))
    words = bare(spelled)
    if not words.strip("."):
        raise UnreadableError(say("missing.fill-in"), missing=True)
    if units.DIMENSIONS[unit] == "ratio":
        words = re.sub(rf"^({NUMBER}) ?: ?({NUMBER})$", r"\1/\2", words)
    if not re.search(r"(max|min) ?\(", words):
        words = SEPARATED.sub(_with_point, words)
        _refuse_two(words, text)
    if re.fullmatch("nan", words, re.I):
        raise UnreadableError(say("unread.nan"))
    try:
        if BESIDE.fullmatch(words):
            words = _said_twice(words, unit, text)
        given = _computed(words, unit)
    except ValueError as error:
        raise _no_number(text, error) from None
    if math.isnan(given.value):
        raise UnreadableError(say("unread.nan"))
    return given


def _no_number(text, why):
    return UnreadableError(say("unread.no-number", text=_quoted(text), why=why))


def _quoted(text):
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _with_point(found):
    """A number with a point before its decimals, and nothing between its thousands."""
    text = found[0]
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", text):
        if text.count(",") == 1 and re.match(
            r"[eE]| ?\* ?10 ?(?:\^|\*\*)", found.string[found.end() :]
        ):
            raise AmbiguousError(say("unread.comma", text=_quoted(text)))
        return text.replace(",", "")
    if re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+,\d+|[1-9]\d{0,2}(\.\d{3}){2,}", text):
        return text.replace(".", "").replace(",", ".")
    if text.count(",") + text.count(".") == 1:
        return text.replace(",", ".")
    return text.replace(",", ", ")


def _refuse_two(words, text):
    """Raise UnreadableError where a text may be one number or another."""
    span = RANGE.fullmatch(words)
    if span and float(span[1].replace("_", "")) < float(span[2].replace("_", "")):
        raise AmbiguousError(say("unread.range", text=_quoted(text)))
    if OPEN.search(words):
        raise AmbiguousError(say("unread.open", text=_quoted(text)))


def _said_twice(words, unit, text):
    """A number without what stands beside it in parentheses, if that is the same number."""
    first, second = words[:-1].split("(", 1)
    values = [_computed(part.strip(), unit).value for part in (first, second)]
    if not math.isclose(*values, rel_tol=0.01):
        raise AmbiguousError(say("unread.beside", text=_quoted(text)))
    return first.strip()


def _computed(words, unit):
    """The Given of a number with its unit, or of arithmetic with units. Raises ValueError."""
    found = [each for each in MEASURED.finditer(words) if each["unit"] or each["alone"]]
    if not re.search(r"\d", words) or (found and found[0].start("alone") == 0):
        raise ValueError(say("unread.no-digits"))
    if not found:
        value = evaluate(words)
        return Given(value, _digits(words, value))
    if len(found) > 1 or found[0].end() != len(words):
        return _carried(words, unit)
    written = found[0]["unit"] or found[0]["alone"]
    number = words.removesuffix(written).rstrip(" *")
    value = evaluate(number)
    given = Given(value, _digits(number, value))
    scale = amounts.factor(written, unit)
    if scale is None:
        raise _wrong_unit(written, unit, given)
    return Given(value * scale, given.digits, given)


def _wrong_unit(written, unit, number=None):
    if found := re.match(r"([mgtp])b(?![a-z]{2})", written):
        prefix = found[1].upper()
        message = say("unread.bits", unit=_quoted(written), bytes=f"{prefix}B", bits=f"{prefix}bit")
        return UnreadableError(message)
    message = say("unread.unit", unit=_quoted(written), wanted=units.name(unit))
    return UnreadableError(message, number=number)


def _digits(number, value):
    """The significant digits of one number, also before a power of ten; EXACT for a result."""
    one = re.fullmatch(rf"[-+ ]*({NUMBER})( ?\* ?10 ?(\^|\*\*) ?\(?[-+]?\d+\)?)?", number)
    if not one:
        return EXACT
    mantissa = re.split("[eE]", one[1])[0].replace("_", "")
    digits = mantissa.replace(".", "").lstrip("0")
    # 2.0e2 has two digits, and so may 200.
    exact = "." in mantissa or abs(float(mantissa) if one[2] else value) < 10
    return max(len(digits if "." in mantissa else digits.rstrip("0")), 1 if exact else 2)


def _carried(words, unit):
    """What arithmetic gives whose numbers have units. Raises ValueError."""
    names = {}
    for one, other in pairwise(MEASURED.finditer(words)):
        apart = words[one.end() : other.start()].strip() or not (one["unit"] or one["alone"])
        if other["number"] and not apart:
            raise ValueError(
                say("expression.side-by-side", first=one[0][:20], second=other[0][:20])
            )

    def named(found):
        if not (written := found["unit"] or found["alone"]):
            return found[0]
        name = f"u{len(names)}_"
        names[name] = written
        return f"({found['number']}*{name})" if found["number"] else f" {name} "

    text, results = MEASURED.sub(named, words), []
    for rate in RATES:
        measured = {name: _amount(written, rate, unit) for name, written in names.items()}
        results.append(evaluate(text, measured, amounts.Amount))
        if (value := results[-1].in_unit(unit)) is not None:
            return Given(value)
        if all(amount.powers == amounts.POWERS["ratio"] for amount in measured.values()):
            # "312T / 1.555T" has no units, only prefixes.
            return Given(results[-1].value)
    raise UnreadableError(say("unread.dimension", found=results[0], wanted=units.name(unit)))


def _amount(written, rate, unit):
    amount = amounts.measure(written) or amounts.bare(written)
    if amount is None:
        raise _wrong_unit(written, unit)
    is_work = amount.powers == amounts.POWERS["work"]
    return amounts.measure(f"{written}/s") if is_work and re.search(rate, written) else amount
