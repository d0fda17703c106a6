"""What a student wrote, read as a number: its value and how many digits of it were given."""

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from roofcheck import units
from roofcheck.expressions import LONGEST, evaluate, python_of
from roofcheck.sentences import listed, say
from roofkit import hardware
from roofkit.roofline import Cost, Estimate, Roofline

EXACT = 17
# Which attribute of a roofkit object answers a question, by what the question measures. Which one
# of an Estimate does, the question says itself.
FIGURES = {
    (Cost, "intensity"): "intensity", (Cost, "work"): "flops", (Cost, "data"): "bytes",
    (Roofline, "intensity"): "ridge", (Roofline, "bandwidth"): "bandwidth",
}  # fmt: skip
# The attributes that are named to a student who gave a whole object where none of them answers.
ATTRIBUTES = {
    Estimate: (".lower", ".upper", ".math", ".comms"), Cost: (".flops", ".bytes", ".intensity"),
    Roofline: (".ridge", ".peak_flops", ".bandwidth"),
    hardware.Chip: ('.peak_flops("bf16")', ".bandwidth"),
}  # fmt: skip
ABOUT = re.compile(
    r"^(about|approximately|approx\.?|roughly|around|circa|ca\.?|exactly|at most|at best|up to|"
    r"(a )?factor( of)?|~|≈|=)\s*",
    re.I,
)
# Numbers as words, at the start of an answer.
WORDS = {
    "one half": "1/2", "a half": "1/2", "half": "1/2", "one third": "1/3", "a third": "1/3",
    "two thirds": "2/3", "one quarter": "1/4", "a quarter": "1/4", "one sixth": "1/6",
    "infinity": "1e999", "infinite": "1e999", "inf": "1e999", "unbounded": "1e999",
    "unlimited": "1e999", "no limit": "1e999",
    "twice": "2", "double": "2", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
NUMBER = re.compile(r"[-+−]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?")
# The arithmetic that a text begins with. What follows it is the unit.
ARITHMETIC = re.compile(
    r"(?:[-+−–*/÷^·×()\s]|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])+"
)


class UnreadableError(Exception):
    """An answer is no number, for the reason that the message gives.

    ``missing`` says that there is no answer at all; ``number`` is the Given that stands before a
    unit which cannot be right.
    """

    def __init__(self, message, missing=False, number=None):
        super().__init__(message)
        self.missing, self.number = missing, number


@dataclass(frozen=True)
class Given:
    """A number and the digits it was given to; EXACT for one that was computed.

    ``written`` is the number as it stands beside a unit, before it is converted.
    """

    value: float
    digits: int = EXACT
    written: "Given | None" = None


def is_missing(answer):
    return answer is None or answer is ...


def none_said(answer):
    """What to say of a missing answer."""
    return say("missing.fill-in" if answer is ... else "missing.none")


def kind_of(answer):
    """What an answer is, for a sentence."""
    if isinstance(answer, (bool, np.bool_)):
        return say("kind.boolean")
    if callable(answer):
        return say("kind.function")
    return say("kind.other", name=type(answer).__name__)


def read_number(answer, unit="", figure=""):
    """A Given for anything that is one real number, in the question's unit.

    ``figure`` is the attribute that a question means of an Estimate. Raises UnreadableError.
    """
    if is_missing(answer):
        raise UnreadableError(none_said(answer), missing=True)
    if isinstance(answer, str):
        return _of_text(answer, unit)
    if isinstance(answer, (Cost, Roofline, Estimate, hardware.Chip)):
        return _of_roofkit(answer, unit, figure)
    if isinstance(answer, hardware.Figure) and answer.unit != unit:
        # A figure of another quantity is judged as the number it is: the slip is to have given it.
        return Given(float(answer) * (units.factor(answer.unit, unit) or 1.0))
    answer = _alone(answer)
    if isinstance(answer, str):
        return _of_text(answer, unit)
    if isinstance(answer, (bool, np.bool_, bytes)) or callable(answer):
        raise UnreadableError(say("unread.not-a-number", kind=kind_of(answer)))
    try:
        # float() reads ints, NumPy scalars, Fractions, Decimals and SymPy numbers alike.
        value = float(answer)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableError(say("unread.not-a-number", kind=kind_of(answer))) from None
    if math.isnan(value):
        raise UnreadableError(say("unread.nan"))
    return Given(value, _digits(answer, value))


def _alone(answer):
    """What a list, tuple or array of one holds."""
    for _ in range(3):
        if isinstance(answer, np.ndarray):
            answer = list(answer.ravel())
        if not isinstance(answer, (list, tuple)):
            break
        if len(answer) != 1:
            raise UnreadableError(say("unread.several", kind=kind_of(answer), count=len(answer)))
        answer = answer[0]
        if is_missing(answer):
            raise UnreadableError(say("missing.fill-in"), missing=True)
    return answer


def _digits(answer, value):
    """The significant digits needed to write the number; trailing zeros may be more."""
    if isinstance(answer, Decimal):
        text = str(answer.normalize())
    elif isinstance(answer, (int, np.integer)) and abs(answer) < 10**EXACT:
        text = str(int(answer))
    elif isinstance(answer, np.floating):
        text = str(answer.astype(np.float64) if answer.itemsize == 8 else answer)
    else:
        text = repr(value)
    mantissa = re.split("[eE]", text)[0].replace(".", "").lstrip("-0").rstrip("0")
    # The zeros of 200 may be digits too; those of 0.002 are not.
    return max(len(mantissa), 2 if abs(value) >= 10 else 1)


def _of_roofkit(answer, unit, figure):
    dimension = units.DIMENSIONS[unit]
    if isinstance(answer, Estimate) and figure and dimension == "time":
        return Given(float(getattr(answer, figure)) / units.factor(unit, "s"))
    for (kind, measures), attribute in FIGURES.items():
        if isinstance(answer, kind) and measures == dimension:
            return Given(float(getattr(answer, attribute)))
    names = next(names for kind, names in ATTRIBUTES.items() if isinstance(answer, kind))
    figures = listed(names, "or")
    raise UnreadableError(
        say("unread.object", kind=kind_of(answer), figures=figures, unit=units.name(unit))
    )


def _of_text(text, unit):
    words = text[:LONGEST].strip().strip("\"'`$").strip()
    # A derivation ends on its result, and a remark may follow in parentheses.
    words = re.sub(r"(\.\.\.|…)$", "", words.rpartition("=")[2].strip())
    words = re.sub(r"(?<=.)\s+\((?=[^()]*[A-Za-z]{2})[^()]*\)$", "", words)
    while (shorter := ABOUT.sub("", words)) != words:
        words = shorter
    # "D > 8,756" is the bound that was asked for.
    words = re.sub(r"^[A-Za-z*]{0,8}\s*[>≥]=?\s*", "", words)
    words = re.sub(r"(?<=\d)[ \u00a0\u2009\u202f](?=\d{3}(?!\d))", "", words)
    for word, number in WORDS.items():
        words = re.sub(rf"^{word.replace(' ', '[- ]')}\b", number, words, flags=re.I)
    if words in ("", "..."):
        raise UnreadableError(say("missing.fill-in"), missing=True)
    if re.match(r"[1-9]\d{0,2}(,\d{3})+(?!\d)", words):
        words = words.replace(",", "")
    # A comma that is left stands before decimals.
    words = re.sub(r"(?<=\d),(?=\d)", ".", words, count=1)
    # "1.22e-3 s" is a number and a unit; in "5 x 10^11" the x is a sign.
    words = re.sub(r"(?<=\d)\s*[xX]\s*(?=\d)", "*", words)
    found = ARITHMETIC.match(words)
    if not found or not re.search(r"\d", found[0]):
        with contextlib.suppress(ValueError):
            return Given(float(evaluate(words)))
        raise UnreadableError(_no_number(text, say("unread.no-digits")))
    # A stroke before the unit belongs to the unit.
    number = found[0].rstrip()
    while number.endswith(("/", "*", "·", "×", "-", "(")):
        number = number[:-1].rstrip()
    written = words[len(number) :].strip()
    try:
        value = evaluate(number)
    except ValueError as error:
        raise UnreadableError(_no_number(text, str(error))) from None
    digits = EXACT
    if NUMBER.fullmatch(number.strip()):
        mantissa = re.split("[eE]", number)[0].replace(".", "").replace("_", "")
        mantissa = mantissa.strip("-+− ").lstrip("0")
        # 2.0e2 has two digits, and so may 200.
        exact = "." in number or abs(value) < 10
        digits = max(len(mantissa if "." in number else mantissa.rstrip("0")), 1 if exact else 2)
    elif tens := re.fullmatch(rf"({NUMBER.pattern})\s*\*+\s*10\*\*\S+", python_of(number)):
        digits = read_number(tens[1]).digits
    if written:
        scale = units.factor(written, unit)
        if scale is None:
            raise UnreadableError(
                say("unread.unit", unit=repr(written), wanted=units.name(unit)),
                number=Given(float(value), digits),
            )
        return Given(float(value * scale), digits, Given(float(value), digits))
    return Given(float(value), digits)


def _no_number(text, why):
    return say("unread.no-number", text=repr(text[:60]), why=why)


def as_sequence(answer):
    """The items of a list, tuple, one-dimensional array or mapping; one item for anything else."""
    if isinstance(answer, Mapping):
        return tuple(answer.values())
    if isinstance(answer, (tuple, list)) or (isinstance(answer, np.ndarray) and answer.ndim):
        return tuple(answer)
    if isinstance(answer, Estimate):
        return (answer.lower, answer.upper)
    return (answer,)
