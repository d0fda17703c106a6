"""One number, or several."""

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
    missing_verdict,
    redraw_inputs,
    unreadable_verdict,
)
from roofcheck.reading import units
from roofcheck.reading.agreement import SAME_RTOL, agrees, explain_caret, rounds_to
from roofcheck.reading.expressions import evaluate
from roofcheck.reading.labels import order_by_labels
from roofcheck.reading.numbers import UnreadableError, is_missing, read_number
from roofcheck.reading.spelling import extract_formula
from roofcheck.sentences import capitalise, join_items, sentence, word_direction
from roofcheck.slips.diagnosis import LONGEST_MESSAGE, first_sentence
from roofcheck.slips.question_slips import QuestionSlips, Slip
from roofcheck.slips.scales import HALF_CREDIT
from roofcheck.steps.algebra import find_names as names_in
from roofcheck.steps.computation import apply_formula
from roofcheck.steps.derivation import Derivation, merge_parts

# A question that is so wide asks for a value that was measured.
MEASURED_RTOL = 0.1


@dataclass(frozen=True, kw_only=True)
class Number(Question):
    """Asks for one number: ``formula`` of the inputs, in ``unit``, within ``rtol``.

    ``formula`` is a Derivation, from whose steps slips follow, or any function. ``slips`` are the
    question's own wrong turns, and ``words`` what to say of acts in place of the general sentence,
    by the names of the acts. ``half`` names those slips that keep half the
    credit, ``usual`` the one that a slide shows, by default the first of its own. ``figure`` is the
    attribute that the question means of an Estimate. ``beyond``, a function of inputs and of
    ``answer``, says why such an answer is impossible, or gives nothing. ``exact`` says that all
    numbers in it are small and whole, so that two slips at once would fit every answer. ``symbols``
    maps the symbols that an answer may use, as in "2C/W", to the inputs that they stand for.

    >>> from roofcheck.steps.inputs import bandwidth, peak
    >>> ridge = Number(
    ...     asks="What is the bf16 ridge of the {chip}, in FLOP/byte?",
    ...     inputs={"peak": peak("TPU v5e"), "bandwidth": bandwidth("TPU v5e")},
    ...     formula=lambda peak, bandwidth: peak / bandwidth,
    ...     unit="FLOP/byte",
    ... )
    >>> ridge.judge("about 240").state, ridge.judge(1 / 240.5).message
    ('right', 'That is 1 over the value asked for: the division is the other way round.')
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
        """Its slips and what each gives."""
        return QuestionSlips(
            self.formula, self.inputs, own=self.slips, unit=self.unit, half=self.half,
            rtol=self.rtol, words=self.words, exact=self.exact,
        )  # fmt: skip

    def reference(self) -> float:
        """The right answer."""
        return self.known_slips.right[0]

    def formulas(self):
        return [self.formula]

    def settled_by(self, others: Iterable["Number"]) -> set[str]:
        """The inputs and steps that it has from numbers that are right, and that show in these."""
        found = set()
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
            found |= {name for name in same if other.depends_on(name)}
        return found

    def depends_on(self, name: str) -> bool:
        """Whether the answer changes with an input or a step, which a max may hide."""
        inputs = {label: given.value for label, given in self.inputs.items()}
        values = self.formula.values(inputs)
        changed = [
            self.formula.value(inputs | other, other)
            for other in ({name: 2 * values[name]}, {name: values[name] / 2})
        ]
        return not any(math.isclose(each, self.reference(), rel_tol=SAME_RTOL) for each in changed)

    def derivation(self):
        if not isinstance(self.formula, Derivation):
            return []
        values = {name: given.value for name, given in self.inputs.items()}
        return self.formula.lines(values, format_figures(self.inputs))

    def _wrong_label_verdict(self):
        message = sentence("number.wrong-label", wanted=units.format_unit(self.unit))
        return Verdict(HALF_CREDIT, message, slips=("wrong label",))

    @property
    def _next_whole(self):
        """The smallest whole number that is not below the right answer."""
        right = self.reference()
        return math.ceil(right) if math.isfinite(right) else right

    def _evaluate_symbols(self, answer):
        """The value of a formula of the question's symbols; any other answer as it is."""
        if not (isinstance(answer, str) and self.symbols):
            return answer
        text = extract_formula(answer)
        values = {symbol: self.inputs[name].value for symbol, name in self.symbols.items()}
        # A number keeps its digits, which a value would lose.
        if not any(symbol in text.upper() for symbol in values):
            return answer
        with contextlib.suppress(ValueError):
            return evaluate(text, values)
        return answer

    def problems(self):
        found = [
            f"the slip {name!r} lies within the tolerance"
            for name in self.known_slips.slips_within_tolerance()
        ]
        if self.usual and not any(self.usual in slip.names for slip in self.known_slips.singles):
            found.append(f"no slip is named {self.usual!r}, its usual one")
        if self.unit == "tokens":
            wholes = [s.names[0] for s in self.known_slips.steps if s.column[0] == self._next_whole]
            found += [f"the slip {name!r} is the first whole number" for name in wholes]
        return found

    def unused_words(self) -> list[str]:
        """The names in ``words`` of acts that nobody can be told, which is an error of a table."""
        told = {
            candidate.names[0]
            for candidate in [*self.known_slips.steps, *self.known_slips.single_changes]
        }
        return [name for name in self.words if name not in told]

    def with_inputs(self, inputs):
        """The same question of other figures, without what went with its own."""
        kept = [slip for slip in self.slips if not slip.here]
        return replace(self, inputs=inputs, slips=kept, usual="", praise="")

    def judge(self, answer, settled: Collection[str] = ()):
        """A Verdict; ``settled`` names inputs and steps that are right in other parts of it."""
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
        if remark is None and self.unit == "tokens" and given.value == self._next_whole:
            remark = sentence("number.whole-tokens")
        if remark is not None:
            unit = "" if self.unit == "times" else self.unit
            value = units.append_unit(f"{given.value:.4g}", unit)
            return Verdict(1, sentence("number.value", value=value)).with_sentence(
                remark or self.praise
            )
        written = (
            given.unconverted and self.known_slips.remark_if_right([given.unconverted]) is not None
        )
        found = self.known_slips.diagnose([given], settled)
        if written or (given.unconverted and found and found.names[0].startswith("unit: ")):
            return self._wrong_label_verdict()
        if found:
            return Verdict(found.credit, found.message, slips=found.names)
        reference = self.reference()
        single = replace(given, digits=1) if float(f"{given.value:.0e}") == given.value else given
        if single.digits == 1 and rounds_to(reference, single, at_least=1):
            return Verdict(0, sentence("number.one-digit"), slips=("one digit",))
        if type(answer) is int:
            targets = [reference, *(single.column[0] for single in self.known_slips.singles)]
            if said := explain_caret(answer, targets):
                return Verdict(0, said, slips=("caret",))
        values = {name: figure.value for name, figure in self.inputs.items()}
        if self.beyond and (why := apply_formula(self.beyond, values | {"answer": given.value})):
            return Verdict(0, why)
        if self.rtol > MEASURED_RTOL and 0 < given.value < math.inf:
            return Verdict(
                0, sentence("number.measured", way=word_direction(given.value / reference))
            )
        return _unknown_verdict(given.value, reference)


@dataclass(frozen=True, kw_only=True)
class Several(Question):
    """Asks for several numbers, as a list, tuple, array or mapping; each part is a Number.

    A part's points are its weight. The right values in another order keep half the credit;
    ``swapped`` is what to say of them in place of the general sentence.

    So does a wrong part that follows from the student's other answers: from those that are steps
    of its own derivation. ``follows`` maps the name of a part with no such steps to a function,
    which takes a mapping of part names to the numbers that the student gave and returns what the
    part would be by them.
    """

    parts: Mapping[str, Number]
    swapped: str = ""
    follows: Mapping[str, Callable] = field(default_factory=dict)

    def reference(self) -> dict[str, float]:
        """The right answer of each part."""
        return {name: part.reference() for name, part in self.parts.items()}

    def derivation(self):
        return merge_parts({name: part.derivation() for name, part in self.parts.items()})

    def judge(self, answer):
        if is_missing(answer):
            return missing_verdict(answer)
        names = join_items(self.parts)
        try:
            found = order_by_labels(answer, list(self.parts))
        except UnreadableError as error:
            return unreadable_verdict(error)
        empty = [name for name, value in zip(self.parts, found, strict=True) if is_missing(value)]
        if len(empty) == len(found):
            return missing_verdict(...)
        verdicts = {
            name: part.judge(value)
            for (name, part), value in zip(self.parts.items(), found, strict=True)
        }
        right = [self.parts[name] for name, verdict in verdicts.items() if verdict.credit == 1]
        for (name, part), value in zip(self.parts.items(), found, strict=True):
            if verdicts[name].slips and (settled := part.settled_by(right)):
                verdicts[name] = part.judge(value, settled)
        verdicts |= dict(self._verdicts_that_follow(verdicts, found))
        weights = {name: part.points or 1.0 for name, part in self.parts.items()}
        credit = sum(weights[n] * v.credit for n, v in verdicts.items()) / sum(weights.values())
        if credit < HALF_CREDIT and _is_in_another_order(list(self.parts.values()), found):
            message = self.swapped or sentence("parts.swapped", names=names)
            return Verdict(HALF_CREDIT, message, slips=("order",))
        if credit == 1:
            return Verdict(1, self.praise)
        said: dict[str, list[str]] = {}
        for name, verdict in verdicts.items():
            if verdict.credit < 1:
                said.setdefault(verdict.message, []).append(name)
        good = tuple(name for name, verdict in verdicts.items() if verdict.credit == 1)
        slips = tuple(f"{n}: {slip}" for n, verdict in verdicts.items() for slip in verdict.slips)
        return Verdict(credit, _word_parts(good, said), slips=slips, right=good)

    def _verdicts_that_follow(self, verdicts, found):
        """Verdicts on the wrong parts that are right by the student's own other answers."""
        given = {}
        for (name, part), value in zip(self.parts.items(), found, strict=True):
            with contextlib.suppress(UnreadableError):
                given[name] = read_number(value, part.unit, part.figure)
        values = {name: number.value for name, number in given.items()}
        for name in given:
            if verdicts[name].state != "wrong":
                continue
            try:
                expected = self._expected_by_others(name, values)
            except (KeyError, ArithmeticError, ValueError):
                continue
            if expected is not None and agrees([given[name]], [expected]):
                yield name, Verdict(HALF_CREDIT, sentence("parts.follows"), slips=("follows",))

    def _expected_by_others(self, name, values):
        """What a part is by the student's other answers; None where it needs none of them."""
        if name in self.follows:
            return self.follows[name](values)
        part = self.parts[name]
        if not isinstance(part.formula, Derivation):
            return None
        steps = {step.name: step for step in part.formula.steps[:-1]}
        known = {}
        for other, each in self.parts.items():
            last = each.formula.steps[-1] if isinstance(each.formula, Derivation) else None
            if other in values and last and steps.get(last.name) == last:
                known[last.name] = values[other] / each.formula.scale
        inputs = {label: given.value for label, given in part.inputs.items()}
        return part.formula.value(inputs, known) if known else None

    def formulas(self):
        return [part.formula for part in self.parts.values()]

    def hints(self, right=()):
        done = [step for name in right for step in getattr(self.parts[name].formula, "steps", ())]
        rest = {name: part for name, part in self.parts.items() if name not in right}
        return replace(self, parts=rest)._hints(done)

    def all_inputs(self):
        return {n: given for part in self.parts.values() for n, given in part.inputs.items()}

    def _placeholders(self):
        return super()._placeholders() | {"parts": join_items(self.parts)}

    def problems(self):
        return [f"{n}: {problem}" for n, part in self.parts.items() for problem in part.problems()]

    def _redraw_once(self, rng):
        if not self.has_new_figures:
            return self
        inputs = [given for part in self.parts.values() for given in part.inputs.values()]
        chips, seed = choose_other_chips(inputs, rng), rng.random()
        # The same seed for each part: what they share stays the same.
        parts = {
            chips.get(name, name): part.with_inputs(
                redraw_inputs(part.inputs, random.Random(seed), chips)
            )
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts, praise="")


def _word_parts(good, said):
    """What to say of parts: of each that is wrong or, where that is long, of the first of them."""
    right = [sentence("parts.right", names=capitalise(join_items(good)))] if good else []
    for told in (str, first_sentence):
        wrong = [
            sentence("parts.one", name=capitalise(join_items(alike)), message=told(message))
            for message, alike in said.items()
        ]
        message = " ".join([*right, *wrong])
        if len(message) <= LONGEST_MESSAGE:
            return message
    others = [name for alike in [*said.values()][1:] for name in alike]
    later = [sentence("parts.others", names=capitalise(join_items(others)))] if others else []
    return " ".join([*right, wrong[0], *later])


def _unknown_verdict(value, reference):
    """What can be said of a number that agrees with no slip."""
    if value < 0 <= reference:
        return Verdict(0, sentence("number.negative"), slips=("negative",))
    if value == 0:
        return Verdict(0, sentence("number.zero"))
    if math.isinf(value):
        return Verdict(0, sentence("number.infinite"))
    return Verdict(0, sentence("number.retry"))


def _is_in_another_order(parts, found):
    """Whether every part is answered by one of the values, each by another."""
    left = list(found)
    for part in parts:
        match = next((v for v in left if part.judge(v).credit == 1), None)
        if match is None:
            return False
        left.remove(match)
    return True
