"""Questions that ask for a function or formula, compared with the reference on random cases."""

import functools
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace

from roofcheck.kinds.question import (
    Question,
    Verdict,
    format_figures,
    join_part_messages,
    missing_verdict,
)
from roofcheck.reading.expressions import evaluate
from roofcheck.reading.numbers import (
    GivenNumber,
    UnreadableError,
    describe_type,
    is_missing,
    list_items,
    read_number,
)
from roofcheck.reading.spelling import extract_formula
from roofcheck.reading.units import format_number
from roofcheck.running import call_student, time_limit
from roofcheck.running.time_limit import EndlessError, TimeLimit
from roofcheck.sentences import join_items, sentence
from roofcheck.slips.diagnosis import LONGEST_MESSAGE, first_that_fits
from roofcheck.slips.question_slips import QuestionSlips, Slip
from roofcheck.slips.scales import HALF_CREDIT
from roofcheck.steps.computation import apply_formula
from roofcheck.steps.derivation import Derivation, Line, merge_parts

# The number of cases that test a function, enough to reach every branch.
CASES = 12
# Two values are shown with the first of these numbers of digits that distinguishes them.
DIGITS = 4, 6, 9
# How students round results.
ROUNDINGS = [
    *(functools.partial(lambda n, value: round(value, n), n) for n in range(6)),
    *(functools.partial(lambda n, value: float(f"{value:.{n}e}"), n) for n in range(1, 4)),
]


@dataclass(frozen=True, kw_only=True)
class Function(Question):
    """A question that asks for a function of ``arguments``.

    ``results`` maps the name of each returned value to a formula of the arguments and inputs.
    ``case`` draws a tuple of arguments, given a Random and the number of the case, which allows it
    to cycle through the branches. ``exact`` is as in QuestionSlips. If ``expanded``, the derivation
    shows each step as a formula of the arguments alone.
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
    exact = False
    expanded = False
    case_count = CASES

    @functools.cached_property
    def cases(self) -> tuple[tuple, ...]:
        """The arguments of each call."""
        rng = random.Random(f"{self.seed}")
        return tuple(self.case(rng, number) for number in range(self.case_count))

    @functools.cached_property
    def known_slips(self) -> dict[str, QuestionSlips]:
        """The slips of each result."""
        cases = [dict(zip(self.arguments, case, strict=True)) for case in self.cases]
        return {
            name: QuestionSlips(
                formula, self.inputs, cases, own=self.slips.get(name, ()), unit=self.unit,
                half=self.half, rtol=self.rtol, words=self.words, exact=self.exact,
            )
            for name, formula in self.results.items()
        }  # fmt: skip

    def reference(self, *arguments):
        """Return the right result for these arguments."""
        values = {name: figure.value for name, figure in self.inputs.items()}
        values |= dict(zip(self.arguments, arguments, strict=True))
        results = tuple(apply_formula(formula, values) for formula in self.results.values())
        return results if len(results) > 1 else results[0]

    def formulas(self):
        return [*self.results.values()]

    def derivation(self):
        values = {name: figure.value for name, figure in self.inputs.items()}
        figures = format_figures(self.inputs)
        return self._merge_lines(
            lambda formula: formula.symbolic_lines(values, figures, self.expanded)
        )

    def example(self) -> tuple[str, list[Line]]:
        """Return the first public case as a call, and the derivation of its results, if any."""
        case = self.case(random.Random("public"), 0)
        arguments = dict(zip(self.arguments, case, strict=True))
        values = {name: figure.value for name, figure in self.inputs.items()} | arguments
        figures = format_figures(self.inputs)
        figures |= {name: format_number(value) for name, value in arguments.items()}
        lines = self._merge_lines(lambda formula: formula.lines(values, figures))
        return _format_calls(self.arguments, case)[0], lines

    def _merge_lines(self, make_lines):
        """Merge the lines that are made from each result's derivation, if it has one."""
        derived = {n: each for n, each in self.results.items() if isinstance(each, Derivation)}
        lines = {name: make_lines(derivation) for name, derivation in derived.items()}
        return merge_parts(lines) if len(self.results) > 1 else next(iter(lines.values()), [])

    def with_case_seed(self, seed):
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
        results: dict[int, tuple[GivenNumber, ...]] = {}
        troubles: dict[int, Verdict] = {}
        limit = TimeLimit()
        for number, case in enumerate(self.cases):
            try:
                results[number] = limit.call(self._call, function, case)
            except _TroubleError as error:
                troubles[number] = error.verdict
            except EndlessError:
                message = self._call_sentence("function.endless", case, seconds=time_limit.SECONDS)
                return Verdict(0, message, slips=("endless",))
        if not troubles:
            return self._judge_columns(list(results.values()))
        first = next(iter(troubles.values()))
        good = [
            number
            for number, values in results.items()
            if all(
                known.is_right_at(number, value)
                for known, value in zip(self.known_slips.values(), values, strict=True)
            )
        ]
        # A function without an ``else`` returns None only in the cases of that branch.
        if first.slips and len(good) == len(results) >= len(self.cases) // 4:
            message = sentence("function.elsewhere", message=first.message)
            return Verdict(HALF_CREDIT, message, slips=("one branch",))
        if len(troubles) == len(self.cases) and first.slips == ("no return",):
            return replace(first, state="missing")
        return first

    def _judge_columns(self, results):
        columns = dict(zip(self.results, zip(*results, strict=True), strict=True))
        verdicts = {name: self._judge_column(name, column) for name, column in columns.items()}
        wrong = [name for name, verdict in verdicts.items() if verdict.credit < 1]
        if not wrong:
            return Verdict(1, self.praise)
        turned = list(columns.values())[::-1]
        if len(wrong) == len(columns) and all(
            known.remark_if_right(column) is not None
            for known, column in zip(self.known_slips.values(), turned, strict=True)
        ):
            message = sentence("parts.swapped", names=join_items(columns))
            return Verdict(HALF_CREDIT, message, slips=("order",))
        message = verdicts[wrong[0]].message
        if len(columns) > 1:
            message = join_part_messages(verdicts)
        first = self.known_slips[wrong[0]].find_first_wrong_case(columns[wrong[0]])
        values = [
            (columns[name][first].value, self.known_slips[name].right[first]) for name in wrong
        ]
        message = self._add_example(message, first, *zip(*values, strict=True))
        credit = sum(verdict.credit for verdict in verdicts.values()) / len(columns)
        slips = tuple(slip for verdict in verdicts.values() for slip in verdict.slips)
        return Verdict(credit, message, slips=slips)

    def _judge_column(self, name, column):
        known = self.known_slips[name]
        if known.remark_if_right(column) is not None:
            return Verdict(1, "")
        if _are_rounded(column, known.right):
            return Verdict(HALF_CREDIT, sentence("function.rounded"), slips=("rounded",))
        if diagnosis := known.diagnose(column):
            return Verdict(diagnosis.credit, diagnosis.message, slips=diagnosis.names)
        if any(given.value < 0 for given in column):
            return Verdict(0, sentence("number.negative"))
        if not any(given.value for given in column):
            return Verdict(0, sentence("number.zero"))
        same = len({given.value for given in column}) == 1
        return Verdict(0, sentence("function.ignores" if same else "function.unknown"))

    def _add_example(self, message, number, given, right):
        """Append the given and right values of one call to the message, if there is room."""
        words = {"found": _format_values(given, right), "right": _format_values(right, given)}
        calls = _format_calls(self.arguments, self.cases[number])
        longer = [f"{message} {sentence('function.gives', call=call, **words)}" for call in calls]
        return first_that_fits([*longer, message])

    def _call_sentence(self, key, case, names=None, **fields):
        """Return a sentence about one call, shortened if it is too long."""
        room = LONGEST_MESSAGE - len(sentence("function.elsewhere", message=""))
        calls = _format_calls(names or self.arguments, case)
        return first_that_fits([sentence(key, call=call, **fields) for call in calls], room)

    def _call(self, function, case):
        """Return the function's results in a case as numbers, or raise _TroubleError."""
        try:
            raw = call_student.call_function(function, case)
        except _TroubleError:
            raise
        except (Exception, SystemExit) as error:
            # In grading, the error is a substitute with the same name.
            name = type(error).__name__
            if name == "RecursionError":
                message = self._call_sentence("function.recursion", case)
            else:
                names = call_student.argument_names(function, len(case))
                message = self._call_sentence(
                    "function.raised", case, names, error=call_student.error_text(error)
                )
            raise _TroubleError(Verdict(0, message, slips=(name,))) from None
        if is_missing(raw):
            message = self._call_sentence("function.no-return", case)
            raise _TroubleError(Verdict(0, message, slips=("no return",)))
        if isinstance(raw, (Mapping, set, frozenset)) or (
            isinstance(raw, str) and len(self.results) > 1
        ):
            reason = sentence("function.plain-values", kind=describe_type(raw))
            message = self._call_sentence("function.no-number", case, reason=reason)
            raise _TroubleError(Verdict(0, message))
        values = list_items(raw, len(self.results) + 1)
        if len(values) != len(self.results):
            # At most one extra item was read from the iterator.
            endless = not isinstance(raw, Sized) and len(values) > len(self.results)
            many = len(raw) if isinstance(raw, Sized) else len(values)
            key = "function.more" if endless else "function.length"
            message = self._call_sentence(key, case, found=many, wanted=len(self.results))
            raise _TroubleError(Verdict(0, message))
        try:
            # All digits of a computed result are significant.
            return tuple(
                GivenNumber(read_number(_to_float(value), self.unit).value) for value in values
            )
        except UnreadableError as error:
            message = self._call_sentence("function.no-number", case, reason=error)
            raise _TroubleError(Verdict(0, message)) from None

    def _draw_new_figures(self, rng):
        return replace(super()._draw_new_figures(rng), seed=f"{rng.random()}")


@dataclass(frozen=True, kw_only=True)
class Formula(Function):
    """A question that asks for a formula as text, a SymPy expression or a function.

    Every equivalent form is right. ``cancels`` assigns values to symbols that may appear in the
    formula but must cancel.
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
                slips = ("divisor", *verdict.slips)
                return Verdict(HALF_CREDIT, sentence("formula.divisor"), slips=slips)
            return verdict
        if free := getattr(answer, "free_symbols", None):
            named = {str(symbol): symbol for symbol in free}
            if unknown := sorted(set(named) - set(self.arguments) - set(self.cancels)):
                known = join_items(self.arguments, "comma")
                why = sentence("expression.unknown", name=repr(unknown[0]), symbols=known)
                return Verdict(0, sentence("formula.unread", why=why))

            def evaluated(*case):
                values = self.values(case)
                return answer.subs({symbol: values[name] for name, symbol in named.items()})

            return self._judge_calls(evaluated)
        if callable(answer):
            return self._judge_calls(answer)
        try:
            value = read_number(answer).value
        except UnreadableError:
            message = sentence("formula.not-one", kind=describe_type(answer), symbols=symbols)
            return Verdict(0, message)
        verdict = self._judge_calls(lambda *case: value)
        if verdict.credit == 1 or verdict.slips:
            return verdict
        return Verdict(0, sentence("formula.no-symbol", symbols=symbols))

    def _make_function(self, text):
        def function(*case):
            try:
                return evaluate(text, self.values(case), exact=self.cancels)
            except ValueError as error:
                message = self._call_sentence("formula.fails", case, why=error)
                raise _TroubleError(Verdict(0, message)) from None

        return function

    def values(self, case):
        """Return the symbols' values as floats, which overflow instead of growing without limit."""
        return dict(zip(self.arguments, map(float, case), strict=True)) | self.cancels


def _are_rounded(column, right):
    """Return whether a column is the right one, rounded, with most of its values still distinct."""
    values = [given.value for given in column]
    return len(set(values)) > len(values) / 2 and any(
        values == [rounding(value) for value in right] for rounding in ROUNDINGS
    )


class _TroubleError(Exception):
    """A call returned no comparable values; the verdict says why."""

    def __init__(self, verdict):
        super().__init__(verdict.message)
        self.verdict = verdict


def _format_calls(names, case):
    """Return a call's arguments as text, with and without their names."""
    values = [_format_argument(value) for value in case]
    named = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
    return [f"({', '.join(arguments)})" for arguments in (named, values)]


def _format_argument(value):
    exact = isinstance(value, str) or (isinstance(value, int) and abs(value) < 10**6)
    return f"{value}" if exact else f"{value:.4g}"


def _format_values(values, others):
    """Format values with four digits, or with enough to distinguish each from its counterpart."""
    texts = [
        next(
            (f"{value:.{n}g}" for n in DIGITS if f"{value:.{n}g}" != f"{other:.{n}g}"),
            f"{value:.4g}",
        )
        for value, other in zip(values, others, strict=True)
    ]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _to_float(value):
    """Convert an integer that is too large for a float to infinity."""
    if isinstance(value, int) and value.bit_length() > sys.float_info.max_exp:
        return math.copysign(math.inf, value > 0 or -1)
    return value
