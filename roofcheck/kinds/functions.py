"""A function, or a formula, compared with the reference on drawn cases."""

import functools
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace

from roofcheck.kinds.question import Question, Verdict, format_figures, missing_verdict
from roofcheck.reading.expressions import evaluate
from roofcheck.reading.numbers import (
    GivenNumber,
    UnreadableError,
    as_sequence,
    describe_type,
    is_missing,
    read_number,
)
from roofcheck.reading.spelling import extract_formula
from roofcheck.reading.units import format_number
from roofcheck.running import call_student, time_limit
from roofcheck.running.time_limit import EndlessError, TimeLimit
from roofcheck.sentences import capitalise, join_items, sentence
from roofcheck.slips.diagnosis import LONGEST_MESSAGE
from roofcheck.slips.question_slips import QuestionSlips, Slip
from roofcheck.slips.scales import HALF_CREDIT
from roofcheck.steps.computation import apply_formula
from roofcheck.steps.derivation import Derivation, Line, merge_parts

# A function is tried on so many cases, which is enough for every branch of it to be met.
CASES = 12
# Two values are shown to the first number of digits that tells them apart.
DIGITS = 4, 6, 9
# How students round results.
ROUNDINGS = [
    *(functools.partial(lambda n, value: round(value, n), n) for n in range(6)),
    *(functools.partial(lambda n, value: float(f"{value:.{n}e}"), n) for n in range(1, 4)),
]


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
    words: Mapping[str, str] = field(default_factory=dict)
    half: Sequence[str] = ()
    rtol: float = 1e-3
    seed: str = "public"
    # Whether all is small whole numbers, as in Number.
    exact = False
    # Whether a derivation says each step as a formula of the arguments alone: code has its steps.
    expanded = False

    @functools.cached_property
    def cases(self) -> tuple[tuple, ...]:
        """The arguments of each call."""
        rng = random.Random(f"{self.seed}")
        return tuple(self.case(rng, number) for number in range(CASES))

    @functools.cached_property
    def known_slips(self) -> dict[str, QuestionSlips]:
        """The slips of each result."""
        cases = [dict(zip(self.arguments, case, strict=True)) for case in self.cases]
        return {
            name: QuestionSlips(
                formula, self.inputs, cases, own=self.slips.get(name, ()), unit=self.unit,
                half=self.half, rtol=self.rtol, words=self.words,
                exact=self.exact,
            )
            for name, formula in self.results.items()
        }  # fmt: skip

    def reference(self, *arguments):
        """What the function should return."""
        values = {name: given.value for name, given in self.inputs.items()}
        values |= dict(zip(self.arguments, arguments, strict=True))
        found = tuple(apply_formula(formula, values) for formula in self.results.values())
        return found if len(found) > 1 else found[0]

    def formulas(self):
        return [*self.results.values()]

    def derivation(self):
        values = {name: given.value for name, given in self.inputs.items()}
        shown = format_figures(self.inputs)
        found = {
            name: formula.symbolic_lines(values, shown, self.expanded)
            if isinstance(formula, Derivation)
            else []
            for name, formula in self.results.items()
        }
        return merge_parts(found) if len(found) > 1 else next(iter(found.values()))

    def example(self) -> tuple[str, list[Line]]:
        """A call as one would type it, and how its results come about, in figures.

        It is the first of the public cases; nothing where the results have no steps.
        """
        case = self.case(random.Random("public"), 0)
        given = dict(zip(self.arguments, case, strict=True))
        values = {name: one.value for name, one in self.inputs.items()} | given
        shown = format_figures(self.inputs) | {
            name: format_number(value) for name, value in given.items()
        }
        found = {
            name: formula.lines(values, shown)
            for name, formula in self.results.items()
            if isinstance(formula, Derivation)
        }
        lines = merge_parts(found) if len(found) > 1 else next(iter(found.values()), [])
        return _format_calls(self.arguments, case)[0], lines

    def with_cases(self, seed):
        return replace(self, seed=seed)

    def problems(self):
        return [
            f"{name}: the slip {slip!r} lies within the tolerance"
            for name, known in self.known_slips.items()
            for slip in known.slips_within_tolerance()
        ]

    def judge(self, answer):
        if is_missing(answer):
            return missing_verdict(answer)
        if not callable(answer):
            return Verdict(0, sentence("function.not-one", kind=describe_type(answer)))
        return self._judge_calls(answer)

    def _judge_calls(self, function):
        found: dict[int, tuple[GivenNumber, ...]] = {}
        troubles: dict[int, Verdict] = {}
        limit = TimeLimit()
        for number, case in enumerate(self.cases):
            try:
                found[number] = limit.call(self._compute_result, function, case)
            except _TroubleError as error:
                troubles[number] = error.verdict
            except EndlessError:
                message = self._call_sentence("function.endless", case, seconds=time_limit.SECONDS)
                return Verdict(0, message, slips=("endless",))
        if not troubles:
            return self._judge_columns(list(found.values()))
        first = next(iter(troubles.values()))
        good = [
            number
            for number, values in found.items()
            if all(
                known.is_right_at(number, value)
                for known, value in zip(self.known_slips.values(), values, strict=True)
            )
        ]
        # A function without its else returns None in the cases of that branch alone.
        if first.slips and len(good) == len(found) >= CASES // 4:
            message = sentence("function.elsewhere", message=first.message)
            return Verdict(HALF_CREDIT, message, slips=("one branch",))
        if len(troubles) == CASES and first.slips == ("no return",):
            return replace(first, state="missing")
        return first

    def _judge_columns(self, found):
        columns = dict(zip(self.results, zip(*found, strict=True), strict=True))
        right, slips, credit = [], [], 0.0
        said: dict[str, list[str]] = {}
        first = None
        for name, column in columns.items():
            known = self.known_slips[name]
            if known.remark_if_right(column) is not None:
                right.append(name)
                credit += 1
                continue
            first = known.first_wrong_case(column) if first is None else first
            rounded = _are_rounded(column, known.right)
            diagnosis = None if rounded else known.diagnose(column)
            if rounded:
                credit += HALF_CREDIT
                slips.append("rounded")
                message = sentence("function.rounded")
            elif diagnosis:
                credit += diagnosis.credit
                slips += diagnosis.names
                message = diagnosis.message
            elif any(given.value < 0 for given in column):
                message = sentence("number.negative")
            elif not any(given.value for given in column):
                message = sentence("number.zero")
            elif len({given.value for given in column}) == 1:
                message = sentence("function.ignores")
            else:
                message = sentence("function.unknown")
            said.setdefault(message, []).append(name)
        if first is None:
            return Verdict(1, self.praise)
        names = join_items(columns)
        turned = list(columns.values())[::-1]
        if not right and all(
            known.remark_if_right(column) is not None
            for known, column in zip(self.known_slips.values(), turned, strict=True)
        ):
            return Verdict(HALF_CREDIT, sentence("parts.swapped", names=names), slips=("order",))
        sentences = [*said]
        if len(columns) > 1:
            sentences = [
                sentence("parts.one", name=capitalise(join_items(alike)), message=message)
                for message, alike in said.items()
            ]
        if right:
            sentences.insert(0, sentence("parts.right", names=capitalise(join_items(right))))
        wrong = [
            (column[first].value, self.known_slips[name].right[first])
            for name, column in columns.items()
            if name not in right
        ]
        message = self._add_example(" ".join(sentences), first, *zip(*wrong, strict=True))
        return Verdict(credit / len(columns), message, slips=tuple(slips))

    def _add_example(self, message, number, given, right):
        """The message, and if there is room what a case gives beside what it should give."""
        words = {"found": _format_values(given, right), "right": _format_values(right, given)}
        for call in _format_calls(self.arguments, self.cases[number]):
            told = f"{message} {sentence('function.gives', call=call, **words)}"
            if len(told) <= LONGEST_MESSAGE:
                return told
        return message

    def _call_sentence(self, key, case, names=None, **fields):
        """A sentence about one call, which is shortened where it would be too long."""
        room = LONGEST_MESSAGE - len(sentence("function.elsewhere", message=""))
        said = [
            sentence(key, call=call, **fields)
            for call in _format_calls(names or self.arguments, case)
        ]
        return next((each for each in said if len(each) <= room), said[-1])

    def _compute_result(self, function, case):
        """What the function gives in a case, as numbers; raises _TroubleError."""
        return self._read_result(self._call(function, case), case)

    def _call(self, function, case):
        try:
            return call_student.call_function(function, case)
        except _TroubleError:
            raise
        except (Exception, SystemExit) as error:
            # Where it is graded, the error is one of the same name.
            name = type(error).__name__
            if name == "RecursionError":
                message = self._call_sentence("function.recursion", case)
            else:
                names = call_student.argument_names(function, len(case))
                message = self._call_sentence(
                    "function.raised", case, names, error=call_student.error_text(error)
                )
            raise _TroubleError(Verdict(0, message, slips=(name,))) from None

    def _read_result(self, raw, case):
        if is_missing(raw):
            message = self._call_sentence("function.no-return", case)
            raise _TroubleError(Verdict(0, message, slips=("no return",)))
        if isinstance(raw, (Mapping, set, frozenset)) or (
            isinstance(raw, str) and len(self.results) > 1
        ):
            reason = sentence("function.plain-values", kind=describe_type(raw))
            message = self._call_sentence("function.no-number", case, reason=reason)
            raise _TroubleError(Verdict(0, message))
        found = as_sequence(raw, len(self.results) + 1)
        if len(found) != len(self.results):
            # An iterator was not read to its end, which it may not have.
            endless = not isinstance(raw, Sized) and len(found) > len(self.results)
            many = len(raw) if isinstance(raw, Sized) else len(found)
            key = "function.more" if endless else "function.length"
            message = self._call_sentence(key, case, found=many, wanted=len(self.results))
            raise _TroubleError(Verdict(0, message))
        try:
            # A function's results are computed: all their digits count.
            return tuple(
                GivenNumber(read_number(_to_float(value), self.unit).value) for value in found
            )
        except UnreadableError as error:
            message = self._call_sentence("function.no-number", case, reason=error)
            raise _TroubleError(Verdict(0, message)) from None

    def _redraw_once(self, rng):
        return replace(super()._redraw_once(rng), seed=f"{rng.random()}")


@dataclass(frozen=True, kw_only=True)
class Formula(Function):
    """Asks for a formula of ``arguments``, its symbols: text, a SymPy expression or a function.

    Any equivalent form is right: it is compared with the reference on drawn values. ``cancels``
    gives values to symbols that may stand in the formula and drop out of it.
    """

    cancels: Mapping[str, float] = field(default_factory=dict)
    exact = True
    expanded = True

    def judge(self, answer):
        symbols = join_items(self.arguments)
        if is_missing(answer) or (isinstance(answer, str) and answer.strip() in ("", "...")):
            return missing_verdict(None if answer is None else ...)
        if isinstance(answer, str):
            text = extract_formula(answer)
            try:
                evaluate(text, self.values(self.cases[0]), exact=self.cancels)
            except ValueError as error:
                return Verdict(0, sentence("formula.unread", why=error))
            verdict = self._judge_calls(self._make_function(text))
            above, _, below = text.rpartition("/")
            if verdict.credit == 1 or not above:
                return verdict
            if self._judge_calls(self._make_function(f"{above}/({below})")).credit == 1:
                return Verdict(
                    HALF_CREDIT, sentence("formula.divisor"), slips=("divisor", *verdict.slips)
                )
            return verdict
        if free := getattr(answer, "free_symbols", None):
            named = {str(symbol): symbol for symbol in free}
            if unknown := sorted(set(named) - set(self.arguments) - set(self.cancels)):
                known = join_items(self.arguments, "comma")
                why = sentence("expression.unknown", name=repr(unknown[0]), symbols=known)
                return Verdict(0, sentence("formula.unread", why=why))
            return self._judge_calls(
                lambda *case: answer.subs(
                    {
                        named[name]: value
                        for name, value in self.values(case).items()
                        if name in named
                    }
                )
            )
        if callable(answer):
            return self._judge_calls(answer)
        try:
            value = read_number(answer).value
        except UnreadableError:
            message = sentence("formula.not-one", kind=describe_type(answer), symbols=symbols)
            return Verdict(0, message)
        judged = self._judge_calls(lambda *case: value)
        if judged.credit == 1 or judged.slips:
            return judged
        return Verdict(0, sentence("formula.no-symbol", symbols=symbols))

    def _make_function(self, text):
        """The function that a formula as text is."""

        def written(*case):
            try:
                return evaluate(text, self.values(case), exact=self.cancels)
            except ValueError as error:
                message = self._call_sentence("formula.fails", case, why=error)
                raise _TroubleError(Verdict(0, message)) from None

        return written

    def values(self, case):
        """The symbols' values; as floats, which overflow where whole numbers would grow on."""
        return dict(zip(self.arguments, map(float, case), strict=True)) | self.cancels


def _are_rounded(column, right):
    """Whether a column is the right one, rounded so that most of its values stay different."""
    values = [given.value for given in column]
    return len(set(values)) > len(values) / 2 and any(
        values == [rounding(value) for value in right] for rounding in ROUNDINGS
    )


class _TroubleError(Exception):
    """A call gave no values that can be compared; the verdict says why."""

    def __init__(self, verdict):
        super().__init__(verdict.message)
        self.verdict = verdict


def _format_calls(names, case):
    """The arguments of a call as one would type them, nearly: with their names, and without."""
    values = [_format_argument(value) for value in case]
    named = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
    return [f"({', '.join(each)})" for each in (named, values)]


def _format_argument(value):
    exact = isinstance(value, str) or (isinstance(value, int) and abs(value) < 10**6)
    return f"{value}" if exact else f"{value:.4g}"


def _format_values(values, others):
    """Values to four digits, or to as many as it takes to tell one from its other."""
    shown = [
        next(
            (f"{value:.{n}g}" for n in DIGITS if f"{value:.{n}g}" != f"{other:.{n}g}"),
            f"{value:.4g}",
        )
        for value, other in zip(values, others, strict=True)
    ]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def _to_float(value):
    """A whole number as the float it comes to, which no whole number is too large for."""
    if isinstance(value, int) and value.bit_length() > sys.float_info.max_exp:
        return math.copysign(math.inf, value > 0 or -1)
    return value
