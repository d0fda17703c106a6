"""The kinds of questions, and how each judges an answer: right, a known slip, or neither."""

import functools
import inspect
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import roofkit as rk
from roofkit._units import engineering
from roofkit.check import units
from roofkit.check.expressions import evaluate
from roofkit.check.inputs import Input
from roofkit.check.reading import (
    Given,
    UnreadableError,
    as_sequence,
    is_missing,
    kind_of,
    read_number,
)
from roofkit.check.slips import HALF, Slip, Slips, apply, caret, rounds_to
from roofkit.check.words import TEXT, listed
from roofkit.roofline import Estimate

# So many cases judge a function; one short of a branch would be luck.
CASES = 12
TRIES = 500
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Verdict:
    """What a question says of an answer: credit from 0 to 1, why, and the slips it recognised.

    ``state`` is right, partly, wrong or missing; ``slips`` is empty where none is known.
    """

    credit: float
    message: str
    state: str = ""
    slips: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.state:
            state = "right" if self.credit == 1 else "partly" if self.credit else "wrong"
            object.__setattr__(self, "state", state)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What all kinds share.

    Parameters
    ----------
    asks : what is asked, in a sentence; {name} stands for an input's value, {chip} for the chips
    inputs : mapping of name to Input
    how : how the inputs combine, the last of the hints
    praise : what to say of a right answer beside "Right"
    points : what it is worth in a problem set
    holds : function of inputs by name that a new draw must satisfy
    """

    asks: str
    inputs: Mapping[str, Input] = field(default_factory=dict)
    how: str = ""
    praise: str = ""
    points: float = 0.0
    holds: Callable | None = None

    def judge(self, answer) -> Verdict:
        """A Verdict on an answer of any type; raises only what the answer itself raises."""
        raise NotImplementedError

    def drawn(self, seed) -> "Question":
        """The same question with figures drawn anew: other chips, other shapes, the same slips.

        Every seed gives one draw, the same everywhere. Raises ValueError if no draw satisfies
        ``holds`` with every slip apart from the right answer.
        """
        rng = random.Random(f"{seed}")
        for _ in range(TRIES):
            fresh = self._drawn_once(rng)
            values = {name: given.value for name, given in fresh.inputs.items()}
            if (not self.holds or apply(self.holds, values)) and not fresh.problems():
                return fresh
        raise ValueError(f"no draw of {self.asks!r} in {TRIES} keeps its slips apart")

    def problems(self) -> list[str]:
        """What is wrong with the question itself: slips that would be taken for right."""
        return []

    def text(self) -> str:
        """What is asked, with the figures filled in."""
        words = {name: _figure(given) for name, given in self.inputs.items()}
        chips = dict.fromkeys(given.chips[0] for given in self.inputs.values() if given.chips)
        return self.asks.format(**words, chip=listed(chips))

    def hints(self) -> list[str]:
        """What to say on a second wrong try, and on every further one."""
        formula = getattr(self, "formula", None)
        used = inspect.signature(formula).parameters if formula else self.inputs
        named = dict.fromkeys(
            given.what for name, given in self.inputs.items() if given.what and name in used
        )
        what = [TEXT["hint what"].format(inputs=listed(named))] if named else []
        return what + ([TEXT["hint how"].format(how=self.how)] if self.how else [])

    def _drawn_once(self, rng):
        """One draw. Praise goes with the figures it was written for."""
        chips = _other_chips(self.inputs.values(), rng)
        return replace(self, inputs=_drawn_inputs(self.inputs, rng, chips), praise="")


@dataclass(frozen=True, kw_only=True)
class Number(Question):
    """Asks for one number: ``formula`` of the inputs, in ``unit``, within ``rtol``.

    ``slips`` are the question's own wrong turns, ``half`` names those that keep half the credit,
    ``figure`` is the attribute that it means of an Estimate. ``beyond`` says of an ``answer``, by
    the inputs, why it cannot be, or nothing. ``exact`` says that all is small whole numbers.

    >>> from roofkit.check.inputs import bandwidth, peak
    >>> ridge = Number(
    ...     asks="What is the bf16 ridge of the {chip}, in FLOP/byte?",
    ...     inputs={"peak": peak("TPU v5e"), "bandwidth": bandwidth("TPU v5e")},
    ...     formula=lambda peak, bandwidth: peak / bandwidth,
    ...     unit="FLOP/byte",
    ... )
    >>> ridge.judge("about 240").state, ridge.judge(1 / 240.5).message
    ('right', 'Upside down: that is 1 over the value asked for.')
    """

    formula: Callable
    unit: str = ""
    rtol: float = 0.01
    slips: Sequence[Slip] = ()
    half: Sequence[str] = ()
    figure: str = ""
    beyond: Callable | None = None
    exact: bool = False

    @functools.cached_property
    def known(self) -> Slips:
        """Its slips and what each gives."""
        return Slips(
            self.formula, self.inputs, own=self.slips, unit=self.unit, half=self.half,
            rtol=self.rtol, exact=self.exact,
        )  # fmt: skip

    def reference(self) -> float:
        """The right answer."""
        return self.known.right[0]

    def _wrong_label(self):
        text = TEXT["wrong label"].format(wanted=units.name(self.unit))
        return Verdict(HALF, text, slips=("wrong label",))

    def problems(self):
        return [f"the slip {name!r} lies within the tolerance" for name in self.known.too_close()]

    def _drawn_once(self, rng):
        kept = [slip for slip in self.slips if not slip.here]
        return replace(super()._drawn_once(rng), slips=kept)

    def judge(self, answer):
        try:
            given = read_number(answer, self.unit, self.figure)
        except UnreadableError as error:
            if error.number and self.known.is_right([error.number]) is not None:
                return self._wrong_label()
            return _unreadable(error)
        remark = self.known.is_right([given])
        if remark is not None:
            unit = "" if self.unit == "times" else self.unit
            shown = f"{given.value:.4g} {unit}".strip()
            return Verdict(1, f"{shown}. {remark or self.praise}".strip())
        written = given.written and self.known.is_right([given.written]) is not None
        found = self.known.diagnose([given])
        if written or (given.written and found and found.names[0].startswith("unit: ")):
            return self._wrong_label()
        if found:
            return Verdict(found.credit, found.message, slips=found.names)
        reference = self.reference()
        if given.digits == 1 and rounds_to(reference, given, at_least=1):
            return Verdict(0, TEXT["one digit"], slips=("one digit",))
        if type(answer) is int:
            targets = [reference, *(single.column[0] for single in self.known.singles)]
            if said := caret(answer, targets):
                return Verdict(0, said, slips=("caret",))
        values = {name: known.value for name, known in self.inputs.items()}
        if self.beyond and (why := apply(self.beyond, values | {"answer": given.value})):
            return Verdict(0, why)
        return _beside(given.value, reference)


@dataclass(frozen=True, kw_only=True)
class Several(Question):
    """Asks for several numbers, as a list, tuple, array or mapping; each part is a Number.

    A part's points are its weight. The right values in another order keep half the credit.
    """

    parts: Mapping[str, Number]

    def judge(self, answer):
        if is_missing(answer):
            return Verdict(0, TEXT["fill in" if answer is ... else "none"], "missing")
        if isinstance(answer, Mapping) and set(answer) == set(self.parts):
            answer = [answer[name] for name in self.parts]
        found = as_sequence(answer)
        names = listed(self.parts)
        if len(found) != len(self.parts):
            return Verdict(0, TEXT["parts"].format(count=len(self.parts), names=names))
        empty = [name for name, value in zip(self.parts, found, strict=True) if is_missing(value)]
        if len(empty) == len(found):
            return Verdict(0, TEXT["fill in"], "missing")
        verdicts = {
            name: part.judge(value)
            for (name, part), value in zip(self.parts.items(), found, strict=True)
        }
        weights = {name: part.points or 1.0 for name, part in self.parts.items()}
        credit = sum(weights[n] * v.credit for n, v in verdicts.items()) / sum(weights.values())
        if credit < HALF and _in_another_order(list(self.parts.values()), found):
            return Verdict(HALF, TEXT["swapped"].format(names=names), slips=("order",))
        if credit == 1:
            return Verdict(1, self.praise)
        said = [
            TEXT["part"].format(name=name, message=verdict.message)
            for name, verdict in verdicts.items()
            if verdict.credit < 1
        ]
        good = [name for name, verdict in verdicts.items() if verdict.credit == 1]
        if good:
            said.insert(0, TEXT["part right"].format(names=listed(good)))
        slips = tuple(f"{n}: {slip}" for n, verdict in verdicts.items() for slip in verdict.slips)
        return Verdict(credit, " ".join(said), slips=slips)

    def problems(self):
        return [f"{n}: {problem}" for n, part in self.parts.items() for problem in part.problems()]

    def _drawn_once(self, rng):
        inputs = [given for part in self.parts.values() for given in part.inputs.values()]
        chips, seed = _other_chips(inputs, rng), rng.random()
        # The same seed for each part: what they share stays the same.
        parts = {
            chips.get(name, name): replace(
                part, inputs=_drawn_inputs(part.inputs, random.Random(seed), chips)
            )
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts, praise="")


@dataclass(frozen=True, kw_only=True)
class Function(Question):
    """Asks for a function of ``arguments``; compares it with the reference on drawn cases.

    ``results`` maps the name of each value it returns to its formula, which may use the inputs
    (operations and constants) beside the arguments. ``case`` draws one case, a tuple of arguments,
    from a Random and the number of the case, so that it can visit every branch in turn.
    """

    arguments: Sequence[str]
    results: Mapping[str, Callable]
    case: Callable[[random.Random, int], tuple]
    unit: str = ""
    slips: Mapping[str, Sequence[Slip]] = field(default_factory=dict)
    half: Sequence[str] = ()
    rtol: float = 1e-3
    seed: str = "public"

    @functools.cached_property
    def cases(self) -> tuple[tuple, ...]:
        """The arguments of each call."""
        rng = random.Random(f"{self.seed}")
        return tuple(self.case(rng, number) for number in range(CASES))

    @functools.cached_property
    def known(self) -> dict[str, Slips]:
        """The slips of each result."""
        cases = [dict(zip(self.arguments, case, strict=True)) for case in self.cases]
        return {
            name: Slips(
                formula, self.inputs, cases, own=self.slips.get(name, ()), unit=self.unit,
                half=self.half, rtol=self.rtol,
            )
            for name, formula in self.results.items()
        }  # fmt: skip

    def reference(self, *arguments):
        """What the function should return."""
        values = {name: given.value for name, given in self.inputs.items()}
        values |= dict(zip(self.arguments, arguments, strict=True))
        found = tuple(apply(formula, values) for formula in self.results.values())
        return found if len(found) > 1 else found[0]

    def problems(self):
        return [
            f"{name}: the slip {slip!r} lies within the tolerance"
            for name, known in self.known.items()
            for slip in known.too_close()
        ]

    def judge(self, answer):
        if is_missing(answer):
            return Verdict(0, TEXT["fill in" if answer is ... else "none"], "missing")
        if not callable(answer):
            return Verdict(0, TEXT["not a function"].format(kind=kind_of(answer)))
        return self._judge_calls(answer)

    def _judge_calls(self, function):
        found: dict[int, tuple[Given, ...]] = {}
        troubles: dict[int, Verdict] = {}
        for number, case in enumerate(self.cases):
            try:
                found[number] = self._read(_call(function, case), case)
            except _TroubleError as error:
                troubles[number] = error.verdict
        if not troubles:
            return self._judge_columns(list(found.values()))
        first = next(iter(troubles.values()))
        good = [
            number
            for number, values in found.items()
            if all(
                known.is_right_at(number, value)
                for known, value in zip(self.known.values(), values, strict=True)
            )
        ]
        # One branch of two, or nearly: what a missing else leaves.
        if first.slips and len(good) == len(found) >= CASES // 4:
            return Verdict(HALF, f"{first.message} {TEXT['elsewhere']}", slips=("one branch",))
        if len(troubles) == CASES and first.slips == ("no return",):
            return replace(first, state="missing")
        return first

    def _judge_columns(self, found):
        columns = dict(zip(self.results, zip(*found, strict=True), strict=True))
        right, said, slips, credit = [], [], [], 0.0
        for name, column in columns.items():
            known = self.known[name]
            if known.is_right(column) is not None:
                right.append(name)
                credit += 1
                continue
            diagnosis = known.diagnose(column)
            call = self._text_of(self.cases[known.first_wrong(column)])
            if diagnosis:
                credit += diagnosis.credit
                slips += diagnosis.names
                message = f"{diagnosis.message} {TEXT['first off'].format(call=call)}"
            elif any(given.value < 0 for given in column):
                message = TEXT["negative"]
            elif len({given.value for given in column}) == 1:
                message = TEXT["ignores"]
            else:
                message = TEXT["retry call"].format(call=call)
            several = len(columns) > 1
            said.append(TEXT["part"].format(name=name, message=message) if several else message)
        if len(right) == len(columns):
            return Verdict(1, self.praise)
        names = listed(columns)
        turned = list(columns.values())[::-1]
        if not right and all(
            known.is_right(column) is not None
            for known, column in zip(self.known.values(), turned, strict=True)
        ):
            return Verdict(HALF, TEXT["swapped"].format(names=names), slips=("order",))
        if right:
            said.insert(0, TEXT["part right"].format(names=listed(right)))
        return Verdict(credit / len(columns), " ".join(said), slips=tuple(slips))

    def _read(self, raw, case):
        call = self._text_of(case)
        if is_missing(raw):
            text = TEXT["no return"].format(call=call)
            raise _TroubleError(Verdict(0, text, slips=("no return",)))
        if isinstance(raw, (str, Mapping, set, frozenset)):
            reason = TEXT["plain values"].format(kind=kind_of(raw))
            text = TEXT["result"].format(call=call, reason=reason)
            raise _TroubleError(Verdict(0, text))
        found = as_sequence(raw)
        if len(found) != len(self.results):
            text = TEXT["length"].format(call=call, found=len(found), wanted=len(self.results))
            raise _TroubleError(Verdict(0, text))
        try:
            # A function's results are computed: all their digits count.
            return tuple(Given(read_number(value, self.unit).value) for value in found)
        except UnreadableError as error:
            text = TEXT["result"].format(call=call, reason=error)
            raise _TroubleError(Verdict(0, text)) from None

    def _text_of(self, case):
        pairs = zip(self.arguments, case, strict=True)
        return f"({', '.join(f'{name}={value:.4g}' for name, value in pairs)})"

    def _drawn_once(self, rng):
        return replace(super()._drawn_once(rng), seed=f"{rng.random()}")


@dataclass(frozen=True, kw_only=True)
class Formula(Function):
    """Asks for a formula of ``arguments``, its symbols: text, a SymPy expression or a function.

    Any equivalent form is right: it is compared with the reference on drawn values.
    """

    def judge(self, answer):
        symbols = listed(self.arguments)
        if is_missing(answer) or (isinstance(answer, str) and answer.strip() in ("", "...")):
            return Verdict(0, TEXT["fill in" if answer is not None else "none"], "missing")
        if isinstance(answer, str):
            text = re.sub(r"^[^=]*=", "", answer.strip().strip("$"))
            try:
                evaluate(text, dict(zip(self.arguments, self.cases[0], strict=True)))
            except ValueError as error:
                return Verdict(0, TEXT["formula"].format(why=error))
            verdict = self._judge_calls(self._written(text))
            if verdict.credit < 1 and "/" in text:
                above, _, below = text.rpartition("/")
                if self._judge_calls(self._written(f"{above}/({below})")).credit == 1:
                    return Verdict(HALF, TEXT["divisor"], slips=("divisor",))
            return verdict
        if free := getattr(answer, "free_symbols", None):
            named = {str(symbol): symbol for symbol in free}
            if unknown := sorted(set(named) - set(self.arguments)):
                why = f"{unknown[0]!r} is not among its symbols ({', '.join(self.arguments)})"
                return Verdict(0, TEXT["formula"].format(why=why))
            return self._judge_calls(
                lambda *case: answer.subs(
                    {
                        named[name]: value
                        for name, value in zip(self.arguments, case, strict=True)
                        if name in named
                    }
                )
            )
        if callable(answer):
            return self._judge_calls(answer)
        try:
            value = read_number(answer, self.unit).value
        except UnreadableError:
            text = TEXT["not a formula"].format(kind=kind_of(answer), symbols=symbols)
            return Verdict(0, text)
        judged = self._judge_calls(lambda *case: value)
        if judged.credit == 1 or judged.slips:
            return judged
        return Verdict(0, TEXT["no symbol"].format(symbols=symbols))

    def _written(self, text):
        """The function that a formula as text is."""
        return lambda *case: evaluate(text, dict(zip(self.arguments, case, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Choice(Question):
    """Asks for one option; ``formula`` of the inputs gives it, every wrong one has its reason.

    ``also`` maps options to other ways of saying them, beside the usual ones (``SYNONYMS``).
    """

    formula: Callable
    why_not: Mapping[str, str]
    also: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def reference(self) -> str:
        """The right option."""
        return apply(self.formula, {name: given.value for name, given in self.inputs.items()})

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.why_not, self.reference()]))

    def problems(self):
        right = self.reference()
        missing = [] if self.inputs else [right] if right in self.why_not else []
        return [f"the right option {option!r} has a why_not" for option in missing]

    def judge(self, answer):
        if is_missing(answer):
            return Verdict(0, TEXT["fill in" if answer is ... else "none"], "missing")
        if isinstance(answer, Estimate):
            answer = answer.bound
        if isinstance(answer, (list, tuple, set)) and len(answer) == 1:
            [answer] = answer
        options = ", ".join(sorted(self.options))
        found = self._found(_plain(str(answer)))
        if len(found) == 1:
            [option] = found
            if option == self.reference():
                return Verdict(1, self.praise)
            return Verdict(0, self.why_not[option], slips=(option,))
        if found:
            named = listed(sorted(found))
            return Verdict(0, TEXT["both"].format(found=named, options=options))
        text = TEXT["unlisted"].format(answer=repr(answer)[:80], options=options)
        return Verdict(0, text)

    def _found(self, text):
        """The options that a text names: exactly, or else somewhere in it."""
        wordings = {
            option: [
                _plain(w) for w in (option, *SYNONYMS.get(option, ()), *self.also.get(option, ()))
            ]
            for option in self.options
        }
        # What follows a comma or a because is the reason, unless it is another option.
        text, *reasons = (part.strip() for part in re.split(r"[,;:]| because | since ", text))
        exact = {option for option, wording in wordings.items() if {text, *reasons} & set(wording)}
        if exact or re.search(r"\b(not|no|neither|nor|or|isn't|than)\b", text):
            return exact
        return {
            option
            for option, wording in wordings.items()
            if any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", text) for w in wording)
        }


@dataclass(frozen=True, kw_only=True)
class Order(Question):
    """Asks for ``items`` in rising order of ``key``; half the credit if only neighbours swap.

    ``wrong`` maps the name of a slip to its key and what to say of it. ``read`` gives an item's
    name for what a student wrote: an alias, or the thing itself. ``again`` draws other items.
    """

    items: Sequence[str]
    key: Callable
    wrong: Mapping[str, tuple[Callable, str]] = field(default_factory=dict)
    reversed_says: str = ""
    read: Callable = str
    again: Callable | None = None

    def reference(self) -> tuple[str, ...]:
        """The items in order."""
        return tuple(sorted(self.items, key=self.key))

    def judge(self, answer):
        if answer is ...:
            return Verdict(0, TEXT["fill in"], "missing")
        if answer is None:
            return Verdict(0, TEXT["sorted none"], "missing", slips=("list.sort()",))
        if isinstance(answer, (set, frozenset)):
            return Verdict(0, TEXT["no order"].format(kind="set"))
        if isinstance(answer, str):
            answer = [part for part in re.split(r"\s*(?:,|;|<=?|->|→|\n)\s*", answer) if part]
            if len(answer) < 2:
                return Verdict(0, TEXT["not a list"])
        try:
            given = [self._name(item) for item in answer]
        except TypeError:
            return Verdict(0, TEXT["not a list"])
        right = self.reference()
        if given and all(is_missing(item) for item in given):
            return Verdict(0, TEXT["fill in"], "missing")
        if sorted(map(str, given)) != sorted(right):
            return Verdict(0, TEXT["wrong names"].format(options=", ".join(sorted(right))))
        if given == list(right):
            return Verdict(1, self.praise)
        if given == list(right[::-1]):
            return Verdict(0, self.reversed_says, slips=("reversed",))
        for name, (key, says) in self.wrong.items():
            column = sorted(self.items, key=key)
            if given == column or given == column[::-1]:
                return Verdict(0, says, slips=(name,))
        places = [right.index(name) for name in given]
        first = next(i for i, place in enumerate(places) if place != i)
        if all(abs(place - i) <= 1 for i, place in enumerate(places)):
            return Verdict(HALF, TEXT["neighbours"], slips=("neighbours",))
        return Verdict(0, TEXT["out of place"].format(place=first + 1))

    def problems(self):
        orders = [self.reference(), self.reference()[::-1]]
        found = []
        for name, (key, _) in self.wrong.items():
            order = tuple(sorted(self.items, key=key))
            if order in orders:
                found.append(f"the slip {name!r} gives the right order")
        return found

    def _name(self, item):
        """The item that is meant, or what was written."""
        # sorted() over pairs of a key and a name.
        if isinstance(item, (tuple, list)) and not isinstance(item, str):
            names = [part for part in item if not isinstance(part, (int, float, np.number))]
            item = names[0] if len(names) == 1 else item
        try:
            name = self.read(item)
        except ValueError:
            name = str(item)
        known = {option.casefold(): option for option in self.items}
        return known.get(" ".join(str(name).split()).casefold(), item)

    def _drawn_once(self, rng):
        return replace(self, items=self.again(rng)) if self.again else self


# How people say the options that several questions share.
SYNONYMS = {
    "compute": (
        "compute bound", "computation", "computing", "compute limited", "arithmetic", "math",
        "T_math", "FLOPs", "FLOP/s", "peak", "peak compute", "the processor", "compute roof",
        "flat roof", "flat line", "flat part", "cpu bound", "calculation", "the matrix unit",
    ),
    "memory": (
        "memory bound", "memory bandwidth", "bandwidth", "memory limited", "HBM", "HBM bandwidth",
        "bandwidth bound", "DRAM", "T_comms", "mem", "memory traffic", "the weights",
        "memory roof", "slanted roof", "slope", "slanted line", "slanted part", "RAM",
        "communication", "comms",
    ),
    "network": (
        "network bound", "link", "the link", "NVLink", "ICI", "PCIe", "the bus", "interconnect",
        "network bandwidth", "link bandwidth", "link bound",
    ),
    "cannot tell": (
        "can't tell", "cant tell", "can not tell", "unknown", "undecidable", "impossible to tell",
        "cannot say", "can't say", "not enough information", "it depends", "depends",
    ),
}  # fmt: skip


class _TroubleError(Exception):
    """A call that gave no values; carries what to say."""

    def __init__(self, verdict):
        super().__init__(verdict.message)
        self.verdict = verdict


def _call(function, case):
    """What a function gives for one case, as it is or, if it wants arrays, for arrays of one."""
    try:
        return function(*case)
    except (Exception, SystemExit) as error:
        try:
            found = function(*(np.array([value]) for value in case))
        except (Exception, SystemExit):
            raise _raised(error, case, function) from None
        if not any(isinstance(value, np.ndarray) for value in (found, *as_sequence(found))):
            raise _raised(error, case, function) from None
        return found


def _raised(error, case, function):
    kind = f"{type(error).__name__}: {error}"
    names = _argument_names(function, len(case))
    call = f"({', '.join(f'{n}={v:.4g}' for n, v in zip(names, case, strict=True))})"
    return _TroubleError(
        Verdict(0, TEXT["raised"].format(error=kind, call=call), slips=(type(error).__name__,))
    )


def _argument_names(function, many):
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == many else [f"argument {i + 1}" for i in range(many)]


def _unreadable(error):
    return Verdict(0, str(error), "missing" if error.missing else "wrong")


def _beside(value, reference):
    """What can be said of a number that agrees with no slip."""
    if value < 0 <= reference:
        return Verdict(0, TEXT["negative"], slips=("negative",))
    if value == 0:
        return Verdict(0, TEXT["zero"])
    if math.isinf(value):
        return Verdict(0, TEXT["infinite"])
    return Verdict(0, TEXT["retry"])


def _in_another_order(parts, found):
    """Whether every part is answered by one of the values, each by another."""
    left = list(found)
    for part in parts:
        match = next((v for v in left if part.judge(v).credit == 1), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _plain(text):
    """A wording without its case, quotes, articles and marks."""
    text = " ".join(re.sub(r"[-_\"'`.!?()\[\]]", " ", text.casefold()).split())
    text = re.sub(r"^(the|a|an|it is|it's|its|by|by the) ", "", text)
    return text.removesuffix(" bound")


def _figure(given):
    """An input's value as a sentence shows it: 3.35 TB/s, 80, 5·10¹¹."""
    if callable(given.value):
        return ""
    if given.unit in ("FLOP/s", "byte/s"):
        return f"{engineering(given.value)}{given.unit.replace('byte', 'B')}"
    if given.value < 1e8:
        return f"{given.value:,.10g}"
    mantissa, _, power = f"{given.value:.10e}".partition("e+")
    return f"{float(mantissa):g} · 10{str(int(power)).translate(RAISED)}"


def _other_chips(inputs, rng):
    """For each chip of the inputs another that has the same figures."""
    inputs = list(inputs)
    mapping: dict[str, str] = {}
    for name in dict.fromkeys(name for given in inputs for name in given.chips):
        wanted = [given.has for given in inputs if name in given.chips and given.has]
        pool = [
            chip.name
            for chip in rk.chips()
            if chip.name not in mapping.values() and all(has(chip) for has in wanted)
        ]
        if not pool:
            raise ValueError(f"no chip of the table can stand in for {name}")
        mapping[name] = rng.choice(pool)
    return mapping


def _drawn_inputs(inputs, rng, chips):
    return {name: given.drawn(rng, chips) for name, given in inputs.items()}
