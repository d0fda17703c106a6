"""Which step went wrong: what each of a question's slips gives, and which an answer agrees with.

A slip is the question's derivation with one step changed: an input replaced (``inputs``), an
operation turned or a term left out (``single_changes``), a step of the question's own (``Slip``), or the
result off by a factor (``scales``). Two at once are tried where no single one fits, and last the
rare ones (``rare_slips``). Everything is computed on columns, one value a case: a number has one case, a
function has many.

An answer shows a value and not what was done. Where several slips give the value, all are told, or
none; ``diagnosis`` words that.
"""

import functools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from roofcheck.reading import units
from roofcheck.reading.agreement import (
    CLOSE_RTOL,
    EXACT_RTOL,
    SAME_RTOL,
    agrees,
    agrees_exactly,
    are_equal,
    is_precise,
)
from roofcheck.reading.numbers import GivenNumber
from roofcheck.sentences import Sentence
from roofcheck.slips.diagnosis import Diagnosis, is_plain_factor, word_diagnosis
from roofcheck.slips.rare_slips import list_input_slips, list_rare_slips
from roofcheck.slips.scales import HALF_CREDIT, factor_scales, unit_scales, zero_scales
from roofcheck.slips.single_changes import list_single_changes
from roofcheck.steps.computation import Computation, SlipValue
from roofcheck.steps.derivation import Derivation
from roofcheck.steps.inputs import ANOTHER_CHIP, BITS, Input

# Of answers spread evenly, in logarithm, over three decades around the right one, at most about
# this share may meet a slip by chance, and this share two at once. So the more slips a question
# has, the closer must an answer come to one; pairs that would exceed the share are left out.
CHANCE, CHANCE_OF_PAIRS = 0.013, 0.004
DECADES = 3
WINDOW = DECADES * math.log(10)
# A number of more digits was computed, not rounded by hand.
ROUNDED_DIGITS = 5
# So far two values may lie apart if one comes of inputs that were rounded by hand.
ROUNDED_INPUTS_RTOL = 3e-3
# What the name of an act holds that puts something else in place of the larger or smaller value.
EXTREME_CHANGE = re.compile(r": (max|min)-")
# What goes wrong in the midst of a step is told to no number of fewer digits.
CHANGE_DIGITS, USUAL_DIGITS = 3, 2


@dataclass(frozen=True)
class Slip:
    """A step of the question's own gone wrong.

    ``formula`` takes any of the question's inputs by name. ``credit`` is the share of the points
    that it keeps; with 1 it is another right answer, and ``says`` remarks on it. ``here`` marks a
    slip that goes with the question's own figures: a new draw leaves it out.
    """

    name: str
    formula: Callable
    says: str
    credit: float = 0.0
    here: bool = False


def constant_formula(value: float) -> Callable:
    """A Slip's formula for a figure that people give whatever the inputs are."""
    return lambda: value


class QuestionSlips:
    """Every slip of one formula, and the answer that each gives.

    Parameters
    ----------
    formula : function of inputs by name
    inputs : mapping of name to Input
    cases : sequence of mappings, what each case gives in place of the inputs' own values
    own : sequence of Slip
    unit : the unit of the result
    half : names of slips that keep half the credit
    rtol : how far from the reference an answer may lie
    words : mapping of the name of an act to a sentence in place of the general one
    exact : whether all numbers are small and whole, so that two slips at once would fit everything
    """

    def __init__(
        self,
        formula: Callable,
        inputs: Mapping[str, Input],
        cases: Sequence[Mapping] = ({},),
        *,
        own: Sequence[Slip] = (),
        unit: str = "",
        half: Sequence[str] = (),
        rtol: float = 0.01,
        words: Mapping[str, str] = {},
        exact: bool = False,
    ):
        self._computation = Computation(formula, inputs, cases, unit)
        self.rtol, self._exact = rtol, exact
        self.right = self._computation.right
        self._own, self._half, self._words = own, half, words

    # These are worked out only once an answer is wrong, since most answers are right.

    @functools.cached_property
    def alternatives(self) -> list[SlipValue]:
        """Other answers that are right."""
        return [one for one in self._own_slips if one.credit == 1]

    @functools.cached_property
    def steps(self) -> list[SlipValue]:
        """What each step of the question gives when it goes wrong."""
        steps = [*(one for one in self._own_slips if one.credit < 1), *self._mistaken_inputs()]
        steps = [
            replace(step, credit=HALF_CREDIT) if step.names[0] in self._half else step
            for step in steps
        ]
        return [step for step in steps if self._computation.is_distinct(step.column)]

    @functools.cached_property
    def single_changes(self) -> list[SlipValue]:
        """What comes of each operation, factor or term of a derivation that goes wrong."""
        plain, other, _ = self._changes_by_kind
        return plain + [
            candidate
            for left_out, candidate in other
            if not any(are_equal(candidate.column, one.column) for one in plain)
            and not self._is_input(left_out, candidate.column)
        ]

    @functools.cached_property
    def _changes_by_kind(self):
        """The plain acts, no two of one value; others with what they leave out; and seldom ones.

        A wrong figure may only turn the choice of a max. What comes of it is then the plain act.
        """
        plain: list[SlipValue] = []
        other: list[tuple[str, SlipValue]] = []
        seldom: list[SlipValue] = []
        formula = self._computation.formula
        derived = isinstance(formula, Derivation)
        for act in list_single_changes(formula, self._computation.inputs) if derived else ():
            column = self._computation.compute(formula=act.derivation)
            if not self._computation.is_distinct(column) or not all(map(math.isfinite, column)):
                continue
            if any(are_equal(column, right.column) for right in self.alternatives):
                continue
            says = self._words.get(act.name, act.says)
            credit = HALF_CREDIT if act.name in self._half else 0.0
            # What a table has words for is likely, and so is a step given for the answer.
            usual = act.holds_for_value or act.name in self._words
            candidate = SlipValue(
                (act.name,),
                column,
                says,
                credit,
                USUAL_DIGITS if usual else CHANGE_DIGITS,
                act.where,
                is_certain=False,
                is_generic=not usual,
            )
            if act.is_seldom and not usual:
                seldom.append(candidate)
            elif not act.holds_for_value:
                other.append((act.left_out, candidate))
            elif not any(are_equal(column, one.column) for one in plain):
                plain.append(candidate)
        return plain, other, seldom

    def _is_input(self, name, column):
        """Whether an input of this name is mistaken for something that gives this column."""
        return any(
            step.names[0].startswith(f"{name}: ") and are_equal(step.column, column)
            for step in self.steps
        )

    @functools.cached_property
    def singles(self) -> list[SlipValue]:
        """The steps, and the right result off by a factor or upside down."""
        unit = self._computation.unit
        factors = [*unit_scales(unit), *factor_scales(self._computation), *zero_scales(unit)]
        scaled = [*(scale.apply_to(self.right) for scale in factors), *self._inverted_slips()]
        known = self.steps + self.single_changes
        return known + [
            one for one in scaled if not any(are_equal(one.column, s.column) for s in known)
        ]

    @functools.cached_property
    def match_rtol(self) -> float:
        """How close to a slip's value an answer must come."""
        met = sum(map(self._is_in_window, self.singles))
        return min(CLOSE_RTOL, max(EXACT_RTOL, CHANCE * WINDOW / (2 * met))) if met else CLOSE_RTOL

    @functools.cached_property
    def pairs(self) -> list[SlipValue]:
        """Two slips at once."""
        return list(self._likely_pairs())

    def diagnose(
        self, given: Sequence[GivenNumber], settled: Collection[str] = ()
    ) -> Diagnosis | None:
        """The slips that agree with an answer, which is not right; None if there is none.

        ``settled`` names inputs and steps that the same answer has right elsewhere.
        """
        digits = min(one.digits for one in given)
        tells = all(map(is_precise, given))

        def exactly(candidates):
            return [one for one in candidates if agrees_exactly(given, one.column, SAME_RTOL)]

        def fitting(candidates, rtol, least=0):
            return [
                one
                for one in candidates
                if (digits >= max(one.min_digits, least) and agrees(given, one.column, rtol))
                or agrees_exactly(given, one.column, SAME_RTOL)
            ]

        # A value to the last digit says more than one that rounds to the same.
        found = exactly(self.singles)
        # It has no words for an input beside a slip for which the table has some.
        if tells and all(one.is_generic for one in found):
            found += exactly(self.input_slips)
        if digits > ROUNDED_DIGITS:
            found += exactly(self.rare_slips)
        if not found and fitting(self.singles, self.match_rtol):
            # Where a usual slip fits, so may a subtle one: both are told.
            found = [one for one in self.singles if agrees(given, one.column, self.match_rtol)]
        if not found:
            # Several ways to be wrong twice are a guess.
            found = fitting(self.pairs, EXACT_RTOL, least=3)
            found = found if len({str(pair.says) for pair in found}) == 1 else []
        if tells and not found:
            found = [one for one in self.rare_slips if agrees_exactly(given, one.column)]
        # Who has it right in one part may have it wrong in another, but that is less likely.
        likely = [one for one in found if one.names[0].partition(": ")[0] not in settled]
        found = likely or found
        figures = [given.value for _, given in self._computation.figure_inputs()]
        return word_diagnosis(found, self.right, figures) if found else None

    @functools.cached_property
    def _own_slips(self):
        return [
            SlipValue((s.name,), self._computation.compute(formula=s.formula), s.says, s.credit)
            for s in self._own
        ]

    @functools.cached_property
    def input_slips(self) -> list[SlipValue]:
        """Answers that are one of the inputs as it stands."""
        return list_input_slips(self._computation)

    @functools.cached_property
    def rare_slips(self) -> list[SlipValue]:
        """Slips that only an exact answer is told."""
        told = [step.column for step in self.steps if ANOTHER_CHIP in step.names[0]]
        told += [single.column for single in self.singles]
        return [
            one
            for one in [*list_rare_slips(self._computation, self.steps), *self._changes_by_kind[2]]
            if not any(are_equal(one.column, column) for column in told)
        ]

    def remark_if_right(self, given: Sequence[GivenNumber]) -> str | None:
        """What to remark on an answer that is right; None if it is not."""
        if agrees(given, self.right, self.rtol) and not self._is_nearer_to_a_slip(given):
            return ""
        for other in self.alternatives:
            if agrees_exactly(given, other.column, CLOSE_RTOL):
                return str(other.says)
        return None

    def is_too_short(self, given: Sequence[GivenNumber]) -> bool:
        """Whether numbers of one digit or two are the right ones rounded, and a slip's as well."""
        few = max(one.digits for one in given) < 3
        return few and agrees(given, self.right, EXACT_RTOL)

    def _is_nearer_to_a_slip(self, given):
        """Whether an answer near the right one comes of a wrong method that gives nearly the same.

        One that is the right value, rounded, does not, unless it is the other to the last digit;
        nor does one that rounded inputs may have led to.
        """
        if agrees_exactly(given, self.right):
            return False
        off = 0.0 if agrees(given, self.right, EXACT_RTOL) else _distance(given, self.right)
        right = [GivenNumber(value) for value in self.right]
        for one in self.steps + self.single_changes:
            apart = _distance(right, one.column) > ROUNDED_INPUTS_RTOL
            if _distance(given, one.column) < (max(off, SAME_RTOL) if apart else SAME_RTOL):
                return True
        return False

    def is_right_at(self, number: int, given: GivenNumber) -> bool:
        """Whether the value of one case is right."""
        return agrees([given], self.right[number : number + 1], self.rtol)

    def first_wrong_case(self, given: Sequence[GivenNumber]) -> int:
        """The first case that is not right."""
        return next(n for n, value in enumerate(given) if not self.is_right_at(n, value))

    def slips_within_tolerance(self) -> list[str]:
        """The slips that would be taken for right: an error of the question."""
        right = [GivenNumber(value) for value in self.right]
        return [
            " and ".join(candidate.names)
            for candidate in self.singles
            if candidate not in self.single_changes and agrees(right, candidate.column, self.rtol)
        ]

    def _mistaken_inputs(self) -> Iterator[SlipValue]:
        """What comes of each input when another value is taken for it.

        A wrong figure may only turn the choice of a ``max``. What comes of it is then the act of
        taking the other value.
        """
        for name, given in self._computation.used_inputs():
            seen = [
                one.column
                for one in self._changes_by_kind[0]
                if EXTREME_CHANGE.search(one.names[0])
            ]
            for other in given.mistaken_for:
                column = self._computation.compute({name: other.value})
                if not any(are_equal(column, before) for before in seen):
                    seen.append(column)
                    names = (f"{name}: {other.name}",)
                    says = self._words.get(names[0], other.says)
                    often = is_plain_factor(other.value, given.value)
                    yield SlipValue(
                        names,
                        column,
                        says,
                        min_digits=other.min_digits,
                        where=given.what,
                        ambiguous=often,
                    )

    def _inverted_slips(self) -> Iterator[SlipValue]:
        dimension = units.DIMENSIONS[self._computation.unit]
        if all(self.right) and dimension in ("intensity", "ratio", "time", "data"):
            column = tuple(1 / value for value in self.right)
            if self._computation.is_distinct(column):
                yield SlipValue(("upside down",), column, Sentence("slip.inverted"))
        if self._computation.unit == "of peak":
            column = tuple(1 - value for value in self.right)
            yield SlipValue(("the rest",), column, Sentence("slip.rest"))

    def _likely_pairs(self) -> Iterator[SlipValue]:
        """A step with a wrong unit, then with a 2, then with the bits of a byte.

        There are only as many as leave chance matches rare.
        """
        factors = [*factor_scales(self._computation)]
        meets, room = 0, CHANCE_OF_PAIRS * WINDOW / (2 * EXACT_RTOL)
        known = [self.right, *(single.column for single in self.singles)]
        plain = {scale.name for scale in factors}
        named = [scale for scale in unit_scales(self._computation.unit) if scale.credit]
        for second in [] if self._exact else [*named, *factors]:
            for step in self.singles:
                # Two factors make one, and a slip that takes three digits to see is told alone.
                usual = step in self.steps and step.min_digits < 3
                if not usual and (second in factors or step.names[0] not in plain):
                    continue
                if BITS in step.names[0] and second.factor in (8, 1 / 8):
                    # Bits taken for bytes and bytes for bits cancel.
                    continue
                column = tuple(second.factor * value for value in step.column)
                # Where two slips cancel, an answer shows neither.
                right = agrees([GivenNumber(value) for value in column], self.right, self.rtol)
                if right or any(are_equal(column, other) for other in known):
                    continue
                pair = SlipValue(
                    (*step.names, second.name),
                    column,
                    Sentence("slip.besides", first=step.says, second=second.says_besides),
                    # In the wrong unit a slip keeps its share; with a factor lost it does not.
                    min(step.credit, second.credit),
                    is_certain=False,
                )
                if self._is_in_window(pair):
                    if meets + 1 > room:
                        continue
                    meets += 1
                yield pair

    def _is_in_window(self, candidate):
        ratios = [a / b for a, b in zip(candidate.column, self.right, strict=True) if b]
        return all(ratio > 0 and abs(math.log10(ratio)) <= DECADES / 2 for ratio in ratios)


def _distance(given, column):
    """How far numbers lie from values, as a share of them, at the worst."""
    return max(
        abs(one.value - value) / abs(value) if value else math.inf if one.value else 0.0
        for one, value in zip(given, column, strict=True)
    )
