"""Kinds of questions, and how each judges an answer: right, a known wrong turn, or neither."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

TEXT = {
    "points": "{earned:g} of {points:g} points.",
    "right": "Right",
    "partly": "Partly right",
    "wrong": "Not yet",
    "missing": "No answer yet",
    "guess": "Noted",
    "fill in": "Replace the ... with your answer and run it again.",
    "no return": "Your function returned None. End it with return and the result.",
    "retry": "Not a slip this check knows. Write down what you divided by what, with units.",
    "retry call": "Not a slip this check knows. Work this call out by hand and compare.",
    "inverted": "Upside down: the fraction is inverted.",
    "text": "That is text. Give a number, without quotes or unit.",
    "not a number": "That is {kind}, not a number.",
    "nan": "That is nan, not a number: somewhere 0/0 or inf - inf was computed.",
    "negative": "A negative value has no meaning here. Check the order of a subtraction.",
    "not a function": "That is {kind}. Keep the def line and fill in its body.",
    "raised": "Your function raised {error} for {call}.",
    "result": "For {call} your function returned {kind}. {reason}",
    "length": "For {call} your function returned {found} value(s); asked for: {wanted}.",
    "unlisted": "{answer} is not among the options: {options}.",
    "not a list": "Give a list of names, in order.",
    "wrong names": "The list must hold each of these once: {options}.",
    "first slip": "{a} does not come before {b}.",
    "unreadable": "Your answer could not be read. It raised {error}.",
    "warned": "(It also printed: {warning})",
    "no guess": "A guess is a number above 0, and not infinity.",
    "guess close": "Within a factor of 2. Read on and see why.",
    "guess far": "Too {way}, by a factor of about {factor}. Read on and see why.",
    "guess first": "Put a number in place of the ... and run the cell. A wrong guess made now "
    "teaches more than the right answer read later.",
}

_TWO = (
    "Factors of 2 come from: a multiply-add (2 FLOPs), sparse or dense, one way or both, the bytes "
    "of an element (2 in bf16), an operand counted twice or left out."
)
_EIGHT = "A bit and a byte mixed up? A byte has 8 bits."
_GIGA = "Rounded too early, or 2^30 for a giga? Data sheets use 10^9."

# Nearly every roofline slip is a ratio: answer / reference -> what it usually means.
RATIOS = {
    2: f"Twice too large. {_TWO}",
    1 / 2: f"Half of it. {_TWO}",
    8: f"8 times too large. {_EIGHT}",
    1 / 8: f"8 times too small. {_EIGHT}",
    2**30 / 1e9: f"7% too large. {_GIGA}",
    1e9 / 2**30: f"7% too small. {_GIGA}",
    **{
        10.0**power: f"10^{abs(power)} times too {'large' if power > 0 else 'small'}: "
        "check the unit and its prefix."
        for power in (-15, -12, -9, -6, -3, 3, 6, 9, 12, 15)
    },
}


@dataclass(frozen=True)
class Verdict:
    """What a question says of an answer: credit from 0 to 1, and why."""

    credit: float
    message: str
    state: str = ""

    def __post_init__(self):
        if not self.state:
            state = "right" if self.credit == 1 else "partly" if self.credit else "wrong"
            object.__setattr__(self, "state", state)


@dataclass(frozen=True)
class Turn:
    """A known wrong turn: what it leads to (a value, or a function for Function questions)."""

    leads_to: Any
    message: str
    credit: float = 0.0


@dataclass(frozen=True)
class Number:
    """Asks for one number. The reference is a function, so that it is computed, never copied."""

    reference: Callable[[], float]
    unit: str = ""
    rtol: float = 0.01
    turns: tuple[Turn, ...] = ()
    points: float = 0.0
    praise: str = ""

    def judge(self, answer):
        value, problem = read_number(answer)
        if problem:
            return problem
        reference = float(self.reference())
        if math.isclose(value, reference, rel_tol=self.rtol):
            return Verdict(1, f"{value:.4g} {self.unit}. {self.praise}".strip())
        for turn in self.turns:
            if math.isclose(value, turn.leads_to(), rel_tol=self.rtol):
                return Verdict(turn.credit, turn.message)
        return Verdict(0, _ratio_message(value, reference, self.rtol))


@dataclass(frozen=True)
class Function:
    """Asks for a function; compares its results with the reference's on every case.

    ``cases`` holds the arguments of each call. A turn whose own function agrees with the student's
    on every case explains the difference.
    """

    reference: Callable
    cases: tuple[tuple, ...]
    rtol: float = 0.01
    turns: tuple[Turn, ...] = ()
    points: float = 0.0
    praise: str = ""

    def judge(self, answer):
        if not callable(answer):
            return Verdict(0, TEXT["not a function"].format(kind=_kind(answer)))
        results = []
        for arguments in self.cases:
            call = self._call(arguments)
            try:
                raw = answer(*arguments)
            except (Exception, SystemExit) as error:
                text = f"{type(error).__name__}: {error}"
                return Verdict(0, TEXT["raised"].format(error=text, call=call))
            values, problem = _read_result(raw, self.reference(*arguments), call)
            if problem:
                return problem
            results.append(values)
        if self._agrees(results, self.reference):
            return Verdict(1, self.praise)
        for turn in self.turns:
            if self._agrees(results, turn.leads_to):
                return Verdict(turn.credit, turn.message)
        return Verdict(0, self._first_difference(results))

    def _agrees(self, results, function):
        return all(
            _close(found, _as_tuple(function(*arguments)), self.rtol)
            for found, arguments in zip(results, self.cases, strict=True)
        )

    def _call(self, arguments):
        names = inspect.signature(self.reference).parameters
        pairs = zip(names, arguments, strict=True)
        return f"({', '.join(f'{name}={value:g}' for name, value in pairs)})"

    def _first_difference(self, results):
        for found, arguments in zip(results, self.cases, strict=True):
            for a, b in zip(found, _as_tuple(self.reference(*arguments)), strict=True):
                if not math.isclose(a, b, rel_tol=self.rtol):
                    reason = _ratio_message(a, b, self.rtol, TEXT["retry call"])
                    return f"For {self._call(arguments)}: {reason}"


@dataclass(frozen=True)
class Choice:
    """Asks for one of a few options; every wrong one has its reason."""

    answer: Callable[[], str]
    why_not: Mapping[str, str]
    points: float = 0.0
    praise: str = ""

    def judge(self, answer):
        right = self.answer()
        given = (
            " ".join(str(answer).split()).casefold().removesuffix("-bound").removesuffix(" bound")
        )
        if given == right.casefold():
            return Verdict(1, self.praise)
        for option, message in self.why_not.items():
            if given == option.casefold():
                return Verdict(0, message)
        options = ", ".join(sorted({right, *self.why_not}))
        return Verdict(0, TEXT["unlisted"].format(answer=repr(answer), options=options))


@dataclass(frozen=True)
class Order:
    """Asks for names in order; half the credit where only neighbours are swapped."""

    answer: Callable[[], tuple[str, ...]]
    turns: tuple[Turn, ...] = ()
    points: float = 0.0
    praise: str = ""

    def judge(self, answer):
        if isinstance(answer, str) or not isinstance(answer, (list, tuple, np.ndarray)):
            return Verdict(0, TEXT["not a list"])
        right = tuple(self.answer())
        given = [" ".join(str(name).split()).casefold() for name in answer]
        rank = {name.casefold(): place for place, name in enumerate(right)}
        if sorted(given) != sorted(rank):
            return Verdict(0, TEXT["wrong names"].format(options=", ".join(sorted(right))))
        if given == list(rank):
            return Verdict(1, self.praise)
        for turn in self.turns:
            if given == [name.casefold() for name in turn.leads_to()]:
                return Verdict(turn.credit, turn.message)
        places = [rank[name] for name in given]
        slip = next(i for i, place in enumerate(places) if place > places[i + 1])
        near = all(abs(place - i) <= 1 for i, place in enumerate(places))
        a, b = right[places[slip]], right[places[slip + 1]]
        return Verdict(0.5 if near else 0, TEXT["first slip"].format(a=a, b=b))


def read_number(answer):
    """(value, None) for anything that is one real number, else (nan, Verdict that says why not)."""

    def refuse(message, state=""):
        return math.nan, Verdict(0, message, state)

    if is_missing(answer):
        return refuse(TEXT["fill in"], "missing")
    if isinstance(answer, (str, bytes)):
        return refuse(TEXT["text"])
    if isinstance(answer, (bool, np.bool_)) or callable(answer):
        return refuse(TEXT["not a number"].format(kind=_kind(answer)))
    try:
        # float() reads ints, NumPy scalars, Fractions, Decimals and SymPy numbers alike.
        value = float(answer.item() if isinstance(answer, np.ndarray) else answer)
    except (TypeError, ValueError):
        return refuse(TEXT["not a number"].format(kind=_kind(answer)))
    if math.isnan(value):
        return refuse(TEXT["nan"])
    return value, None


def _close(found, wanted, rtol):
    return len(found) == len(wanted) and all(
        math.isclose(a, b, rel_tol=rtol) for a, b in zip(found, wanted, strict=True)
    )


def _ratio_message(value, reference, rtol, otherwise=TEXT["retry"]):
    if value < 0 <= reference:
        return TEXT["negative"]
    if reference and math.isfinite(reference) and value:
        for ratio, message in RATIOS.items():
            if math.isclose(value / reference, ratio, rel_tol=rtol):
                return message
        if math.isclose(value * reference, 1, rel_tol=rtol):
            return TEXT["inverted"]
    return otherwise


def _read_result(raw, wanted, call):
    if raw is None or raw is ...:
        return (), Verdict(0, TEXT["no return"], "missing")
    wanted = _as_tuple(wanted)
    found = _as_tuple(raw)
    if len(found) != len(wanted):
        text = TEXT["length"].format(call=call, found=len(found), wanted=len(wanted))
        return (), Verdict(0, text)
    values = []
    for item in found:
        value, problem = read_number(item)
        if problem:
            text = TEXT["result"].format(call=call, kind=_kind(item), reason=problem.message)
            return (), Verdict(0, text)
        values.append(value)
    return tuple(values), None


def _as_tuple(value):
    if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim):
        return tuple(value)
    return (value,)


def is_missing(answer):
    return answer is None or answer is ...


def _kind(answer):
    if callable(answer):
        return "a function (call it, with parentheses)"
    return f"a value of type {type(answer).__name__}"
