"""Questions that ask for one or more numbers."""

import contextlib
import functools
import math
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofcheck.kinds.question import (
    Question,
    Verdict,
    choose_other_chips,
    format_figures,
    join_part_messages,
    missing_verdict,
    redraw_inputs,
    unreadable_verdict,
)
from roofcheck.reading import units
from roofcheck.reading.agreement import (
    SAME_RTOL,
    agrees,
    explain_caret,
    rounds_to,
)
from roofcheck.reading.expressions import evaluate
from roofcheck.reading.labels import order_by_labels
from roofcheck.reading.number_texts import comma_error
from roofcheck.reading.numbers import UnreadableError, is_missing, read_number
from roofcheck.reading.spelling import extract_formula
from roofcheck.sentences import describe_direction, join_items, sentence
from roofcheck.slips.question_slips import QuestionSlips, Slip
from roofcheck.slips.scales import HALF_CREDIT
from roofcheck.steps.algebra import find_names as names_in
from roofcheck.steps.computation import apply_formula
from roofcheck.steps.derivation import Derivation, merge_parts

# A question with a wider tolerance asks for a measured value.
MEASURED_RTOL = 0.1
# An answer this close that fits no known mistake is likely to be a slip of the pen.
NEAR_RTOL = 0.1


@dataclass(frozen=True, kw_only=True)
class Number(Question):
    """A question that asks for one number: ``formula`` of the inputs, in ``unit``, within ``rtol``.

    ``formula`` is any function, or a Derivation, whose steps generate slips. ``slips`` lists
    further mistakes. ``words`` maps names of changes to sentences that replace the generic ones.
    ``half`` names the slips that keep half the credit. ``usual`` names the slip for a slide, by
    default the first of ``slips``. ``figure`` names the attribute to read from an Estimate.
    ``beyond``, a function of inputs and ``answer``, returns why an answer is impossible, or "".
    ``exact`` means that all numbers are small integers. ``symbols`` maps the symbols that an answer
    may use, as in "2C/W", to inputs.

    >>> from roofcheck.steps.inputs import bandwidth, peak
    >>> ridge = Number(
    ...     asks="What is the bf16 ridge of the {chip}, in FLOP/byte?",
    ...     inputs={"peak": peak("TPU v5e"), "bandwidth": bandwidth("TPU v5e")},
    ...     formula=lambda peak, bandwidth: peak / bandwidth,
    ...     unit="FLOP/byte",
    ... )
    >>> ridge.judge("about 240").state, ridge.judge(1 / 240.5).message
    ('right', 'That is 1 over the right value: the division is upside down.')
    """

    formula: Callable
    unit: str = ""
    rtol: float = 0.01
    slips: Sequence[Slip] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    half: Sequence[str] = ()
    usual: str = ""
    figure: str = ""
    beyond: Callable | None = None
    exact: bool = False
    symbols: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def known_slips(self) -> QuestionSlips:
        """The slips of the question."""
        return QuestionSlips(
            self.formula, self.inputs, own=self.slips, unit=self.unit, half=self.half,
            rtol=self.rtol, words=self.words, exact=self.exact,
        )  # fmt: skip

    def reference(self) -> float:
        """Return the right answer."""
        return self.known_slips.right[0]

    def formulas(self):
        return [self.formula]

    def find_settled_names(self, others: Iterable["Number"]) -> set[str]:
        """Return the shared inputs and steps that the correctly answered ``others`` depend on."""
        settled = set()
        for other in others:
            if not (isinstance(self.formula, Derivation) and isinstance(other.formula, Derivation)):
                continue
            same = {
                name
                for name in set(self.formula.names) & set(other.formula.names)
                if self.inputs[name].value == other.inputs[name].value
            }
            for step in self.formula.steps:
                if step in other.formula.steps and set(names_in(step.tree)) <= same:
                    same.add(step.name)
            settled |= {name for name in same if other.depends_on(name)}
        return settled

    def depends_on(self, name: str) -> bool:
        """Return whether an input or step affects the answer; a max may hide it."""
        inputs = {label: figure.value for label, figure in self.inputs.items()}
        values = self.formula.values(inputs)
        changes = ({name: 2 * values[name]}, {name: values[name] / 2})
        answers = [self.formula.value(inputs | change, change) for change in changes]
        return not any(math.isclose(a, self.reference(), rel_tol=SAME_RTOL) for a in answers)

    def derivation(self):
        if not isinstance(self.formula, Derivation):
            return []
        values = {name: figure.value for name, figure in self.inputs.items()}
        return self.formula.lines(values, format_figures(self.inputs))

    def _wrong_label_verdict(self):
        message = sentence("number.wrong-label", wanted=units.format_unit(self.unit))
        return Verdict(HALF_CREDIT, message, slips=("wrong label",))

    @property
    def _reference_rounded_up(self):
        """The right answer, rounded up."""
        right = self.reference()
        return math.ceil(right) if math.isfinite(right) else right

    def _evaluate_symbols(self, answer):
        """Evaluate a formula in the question's symbols; return any other answer unchanged."""
        if not (isinstance(answer, str) and self.symbols):
            return answer
        text = extract_formula(answer)
        values = {symbol: self.inputs[name].value for symbol, name in self.symbols.items()}
        # A plain number remains text, to preserve its digits.
        if not any(symbol in text.upper() for symbol in values):
            return answer
        with contextlib.suppress(ValueError):
            return evaluate(text, values)
        return answer

    def problems(self):
        problems = [
            f"the slip {name!r} lies within the tolerance"
            for name in self.known_slips.slips_within_tolerance()
        ]
        if self.usual and not any(self.usual in slip.names for slip in self.known_slips.singles):
            problems.append(f"its usual slip {self.usual!r} isn't one of its slips")
        if self.unit == "tokens":
            problems += [
                f"the slip {slip.names[0]!r} is the first whole number"
                for slip in self.known_slips.steps
                if slip.column[0] == self._reference_rounded_up
            ]
        return problems

    def with_inputs(self, inputs):
        """Return the question with other inputs, without the texts about its original values."""
        general_slips = [slip for slip in self.slips if not slip.here]
        return replace(self, inputs=inputs, slips=general_slips, usual="", praise="")

    def judge(self, answer, settled: Collection[str] = ()):
        """Return a Verdict; ``settled`` names inputs and steps that other parts got right."""
        answer = self._evaluate_symbols(answer)
        try:
            given = read_number(answer, self.unit, self.figure)
        except UnreadableError as error:
            if error.number and self.known_slips.remark_if_right([error.number]) is not None:
                return self._wrong_label_verdict()
            return unreadable_verdict(error)
        remark = self.known_slips.remark_if_right([given])
        if remark is None and self.known_slips.is_too_short([given]):
            return Verdict(0, sentence("number.more-digits"), slips=("few digits",))
        if remark is None and self.unit == "tokens" and given.value == self._reference_rounded_up:
            remark = sentence("number.whole-tokens")
        if remark is not None:
            unit = "" if self.unit == "times" else self.unit
            value = units.append_unit(f"{given.value:.4g}", unit)
            verdict = Verdict(1, sentence("number.value", value=value))
            return verdict.with_sentence(remark or self.praise)
        other = given.with_decimal_comma
        if other and self.known_slips.remark_if_right([other]) is not None:
            return unreadable_verdict(comma_error(answer))
        diagnosis = self.known_slips.diagnose([given], settled)
        if (number := given.unconverted) and (
            self.known_slips.remark_if_right([number]) is not None
            or (diagnosis and diagnosis.names[0].startswith("unit: "))
        ):
            return self._wrong_label_verdict()
        reference = self.reference()
        near = math.isclose(given.value, reference, rel_tol=NEAR_RTOL)
        values = [slip.column[0] for slip in self.known_slips.singles]
        if diagnosis:
            vague = near and diagnosis.is_vague
            message = sentence("number.near") if vague else diagnosis.message
            return Verdict(diagnosis.credit, message, slips=diagnosis.names)
        single = replace(given, digits=1) if float(f"{given.value:.0e}") == given.value else given
        if single.digits == 1 and rounds_to(reference, single, 1, math.inf):
            return Verdict(0, sentence("number.one-digit"), slips=("one digit",))
        if rounds_to(reference, given, 2, math.inf):
            return Verdict(0, sentence("number.two-digits"), slips=("few digits",))
        if type(answer) is int and (hint := explain_caret(answer, [reference, *values])):
            return Verdict(0, hint, slips=("caret",))
        inputs = {name: figure.value for name, figure in self.inputs.items()}
        if self.beyond and (why := apply_formula(self.beyond, inputs | {"answer": given.value})):
            return Verdict(0, why)
        if self.rtol > MEASURED_RTOL and 0 < given.value < math.inf:
            way = describe_direction(given.value / reference)
            return Verdict(0, sentence("number.measured", way=way))
        if near:
            return Verdict(0, sentence("number.near"))
        return _unknown_verdict(given.value, reference)


@dataclass(frozen=True, kw_only=True)
class Several(Question):
    """A question that asks for several Numbers, answered with a list, tuple, array or mapping.

    A part's points are its weight. The right values in the wrong order keep half the credit;
    ``swapped`` replaces the generic sentence for that.

    A wrong part also keeps half the credit if it follows from the student's own answers to parts
    that are steps of its derivation.
    """

    parts: Mapping[str, Number]
    swapped: str = ""

    def reference(self) -> dict[str, float]:
        """Return the right answer of each part."""
        return {name: part.reference() for name, part in self.parts.items()}

    def derivation(self):
        return merge_parts({name: part.derivation() for name, part in self.parts.items()})

    def judge(self, answer):
        if is_missing(answer):
            return missing_verdict(answer)
        try:
            ordered = order_by_labels(answer, list(self.parts))
        except UnreadableError as error:
            return unreadable_verdict(error)
        if all(map(is_missing, ordered)):
            return missing_verdict(...)
        return self._judge_parts(dict(zip(self.parts, ordered, strict=True)))

    def _judge_parts(self, answers):
        """Return the Verdict on answers by part."""
        verdicts = {name: part.judge(answers[name]) for name, part in self.parts.items()}
        right = [self.parts[name] for name, verdict in verdicts.items() if verdict.credit == 1]
        for name, part in self.parts.items():
            if verdicts[name].slips and (settled := part.find_settled_names(right)):
                verdicts[name] = part.judge(answers[name], settled)
        verdicts |= dict(self._verdicts_that_follow(verdicts, answers))
        weights = {name: part.points or 1.0 for name, part in self.parts.items()}
        credit = sum(weights[n] * v.credit for n, v in verdicts.items()) / sum(weights.values())
        if credit < HALF_CREDIT and _is_in_another_order(self.parts.values(), answers.values()):
            message = self.swapped or sentence("parts.swapped", names=join_items(self.parts))
            return Verdict(HALF_CREDIT, message, slips=("order",))
        if credit == 1:
            return Verdict(1, self.praise)
        good = tuple(name for name, verdict in verdicts.items() if verdict.credit == 1)
        slips = tuple(f"{n}: {slip}" for n, verdict in verdicts.items() for slip in verdict.slips)
        return Verdict(credit, join_part_messages(verdicts), slips=slips, right=good)

    def _verdicts_that_follow(self, verdicts, answers):
        """Yield verdicts on wrong parts that follow from the student's other answers."""
        given = {}
        for name, part in self.parts.items():
            with contextlib.suppress(UnreadableError):
                given[name] = read_number(answers[name], part.unit, part.figure)
        values = {name: number.value for name, number in given.items()}
        for name in given:
            if verdicts[name].state != "wrong":
                continue
            try:
                wrong = {n: v for n, v in values.items() if verdicts[n].credit < 1}
                expected = self._expected_by_others(name, wrong)
            except (KeyError, ArithmeticError, ValueError):
                continue
            if expected is not None and agrees([given[name]], [expected]):
                yield name, Verdict(HALF_CREDIT, sentence("parts.follows"), slips=("follows",))

    def _expected_by_others(self, name, values):
        """Return a part's value implied by the other answers, or None if it uses none of them."""
        part = self.parts[name]
        if not isinstance(part.formula, Derivation):
            return None
        steps = {step.name: step for step in part.formula.steps[:-1]}
        known = {}
        for other_name, other in self.parts.items():
            last = other.formula.steps[-1] if isinstance(other.formula, Derivation) else None
            if other_name in values and last and steps.get(last.name) == last:
                known[last.name] = values[other_name] / other.formula.scale
        inputs = {label: figure.value for label, figure in part.inputs.items()}
        return part.formula.value(inputs, known) if known else None

    def formulas(self):
        return [part.formula for part in self.parts.values()]

    def hints(self, right=()):
        done = [step for name in right for step in getattr(self.parts[name].formula, "steps", ())]
        rest = {name: part for name, part in self.parts.items() if name not in right}
        return replace(self, parts=rest)._hints(done)

    def all_inputs(self):
        return {n: figure for part in self.parts.values() for n, figure in part.inputs.items()}

    def _placeholders(self):
        return super()._placeholders() | {"parts": join_items(self.parts)}

    def problems(self):
        return [f"{n}: {problem}" for n, part in self.parts.items() for problem in part.problems()]

    def _draw_new_figures(self, rng):
        if not self.has_new_figures:
            return self
        inputs = [figure for part in self.parts.values() for figure in part.inputs.values()]
        chips, seed = choose_other_chips(inputs, rng), rng.random()
        # All parts get the same seed, so shared inputs stay equal.
        parts = {
            chips.get(name, name): part.with_inputs(
                redraw_inputs(part.inputs, random.Random(seed), chips)
            )
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts, praise="")


def _unknown_verdict(value, reference):
    """Return the Verdict on a number that doesn't match any slip."""
    if value < 0 <= reference:
        return Verdict(0, sentence("number.negative"), slips=("negative",))
    if value == 0:
        return Verdict(0, sentence("number.zero"))
    if math.isinf(value):
        return Verdict(0, sentence("number.infinite"))
    return Verdict(0, sentence("number.retry"))


def _is_in_another_order(parts, answers):
    """Return whether the answers are right in some other order."""
    left = list(answers)
    for part in parts:
        match = next((v for v in left if part.judge(v).credit == 1), None)
        if match is None:
            return False
        left.remove(match)
    return True
