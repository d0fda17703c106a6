"""Compute the value of each slip of a question, and find the slips that match an answer.

A slip is the question's derivation with one change: another value for an input (``inputs``), a
changed operation or term (``single_changes``), a mistake from the question's table (``Slip``), or a
factor on the result (``scales``). If no single slip matches, pairs are tried, and then the
``rare_slips``. All values are columns with one entry per case: a number has one case, a function
has many. If several slips give the same value, ``diagnosis`` composes one message for all.
"""

import functools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofcheck.reading import units
from roofcheck.reading.agreement import (
    CLOSE_RTOL,
    EXACT_RTOL,
    SAME_RTOL,
    ColumnSet,
    agrees,
    agrees_exactly,
    are_equal,
    is_precise,
)
from roofcheck.reading.numbers import GivenNumber
from roofcheck.sentences import Sentence
from roofcheck.slips.diagnosis import Diagnosis, diagnose_slips, is_plain_factor
from roofcheck.slips.rare_slips import ANOTHER_ROW, list_input_slips, list_rare_slips
from roofcheck.slips.scales import HALF_CREDIT, factors_of_two, unit_scales, zero_scales
from roofcheck.slips.single_changes import list_single_changes
from roofcheck.steps.computation import Computation, SlipValue
from roofcheck.steps.derivation import Derivation
from roofcheck.steps.inputs import ANOTHER_CHIP, BITS, Input

# The maximum share of random answers, spread evenly in logarithm over three decades around the
# right one, that may match a slip (or a pair of slips) by chance. The more slips a question has,
# the closer an answer must be to match one. Pairs that would exceed the share are omitted.
CHANCE, CHANCE_OF_PAIRS = 0.013, 0.004
DECADES = 3
WINDOW = DECADES * math.log(10)
# A number with more digits was computed, not rounded by hand.
ROUNDED_DIGITS = 5
# Rounding the inputs by hand can change a value by this fraction.
ROUNDED_INPUTS_RTOL = 3e-3
# Matches names of changes that replace a max or min, such as "time: max-sum ...".
EXTREME_CHANGE = re.compile(r": (max|min)-")
# A change within a step is reported only for a number with at least this many digits.
CHANGE_DIGITS, USUAL_DIGITS = 3, 2


@dataclass(frozen=True)
class Slip:
    """A mistake listed in a question's table.

    ``formula`` takes any of the question's inputs by name. ``credit`` is the remaining share of the
    points; 1 marks an alternative right answer, with ``says`` as the remark on it. A slip that is
    ``here`` applies only to the question's original values, so a new draw leaves it out.
    """

    name: str
    formula: Callable
    says: str
    credit: float = 0.0
    here: bool = False


@dataclass(eq=False)
class QuestionSlips:
    """All slips of one formula, with the answer that each gives. Slips are computed on first use.

    Parameters
    ----------
    formula : function of inputs by name
    inputs : mapping of name to Input
    cases : sequence of mappings from input names to values that replace the inputs' own
    own : sequence of Slip, from the question's table
    unit : the unit of the result
    half : names of slips that keep half the credit
    rtol : relative tolerance of a right answer
    words : mapping of the name of a change to the sentence that replaces its generic one
    exact : whether all numbers are small integers, which would always match some pair of slips
    """

    formula: Callable
    inputs: Mapping[str, Input]
    cases: Sequence[Mapping] = ({},)
    own: Sequence[Slip] = ()
    unit: str = ""
    half: Sequence[str] = ()
    rtol: float = 0.01
    words: Mapping[str, str] = field(default_factory=dict)
    exact: bool = False

    def __post_init__(self):
        self._computation = Computation(self.formula, self.inputs, self.cases, self.unit)
        self.right = self._computation.right

    @functools.cached_property
    def alternatives(self) -> list[SlipValue]:
        """Alternative right answers."""
        return [slip for slip in self._table_slip_values if slip.credit == 1]

    @functools.cached_property
    def steps(self) -> list[SlipValue]:
        """The slips from the question's table, and those that replace an input."""
        steps = [slip for slip in self._table_slip_values if slip.credit < 1]
        steps += self._mistaken_inputs()
        steps = [
            replace(step, credit=HALF_CREDIT) if step.names[0] in self.half else step
            for step in steps
        ]
        return [step for step in steps if self._computation.is_distinct(step.column)]

    @functools.cached_property
    def single_changes(self) -> list[SlipValue]:
        """The slips that change one operation, factor or term of a derivation."""
        plain, other, _ = self._changes_by_kind
        known = ColumnSet(slip.column for slip in plain)
        return plain + [
            slip
            for left_out, slip in other
            if slip.column not in known and not self._is_input(left_out, slip.column)
        ]

    @functools.cached_property
    def _changes_by_kind(self):
        """Three lists: plain changes, one per value; other changes, each with the input that it
        leaves out; and changes that are reported only if nothing else matches."""
        plain: list[SlipValue] = []
        other: list[tuple[str, SlipValue]] = []
        seldom: list[SlipValue] = []
        derived = isinstance(self.formula, Derivation)
        right = ColumnSet(slip.column for slip in self.alternatives)
        known = ColumnSet()
        for change in list_single_changes(self.formula, self.inputs) if derived else ():
            column = self._computation.compute(formula=change.derivation)
            if not self._computation.is_distinct(column) or not all(map(math.isfinite, column)):
                continue
            if column in right:
                continue
            says = self.words.get(change.name, change.says)
            credit = HALF_CREDIT if change.name in self.half else 0.0
            usual = change.holds_for_value or change.name in self.words
            digits = USUAL_DIGITS if usual else CHANGE_DIGITS
            kind = {"is_certain": False, "is_generic": not usual}
            slip = SlipValue((change.name,), column, says, credit, digits, change.where, **kind)
            if change.is_seldom and not usual:
                seldom.append(slip)
            elif not change.holds_for_value:
                other.append((change.left_out, slip))
            elif column not in known:
                known.add(column)
                plain.append(slip)
        return plain, other, seldom

    def _is_input(self, name, column):
        return any(
            step.names[0].startswith(f"{name}: ") and are_equal(step.column, column)
            for step in self.steps
        )

    @functools.cached_property
    def singles(self) -> list[SlipValue]:
        """All single slips: steps, changes, and the right result inverted or scaled."""
        others = [*factors_of_two(self._computation), *zero_scales(self.unit)]
        factors = [*unit_scales(self.unit), *others]
        scaled = [scale.apply_to(self.right) for scale in factors]
        known = self.steps + self.single_changes
        columns = ColumnSet(slip.column for slip in known)
        # A division that is upside down is likelier than a change that gives the same value.
        steps = ColumnSet(slip.column for slip in known if not slip.is_generic)
        inverted = [slip for slip in self._inverted_slips() if slip.column not in steps]
        return [*known, *inverted, *(slip for slip in scaled if slip.column not in columns)]

    @functools.cached_property
    def match_rtol(self) -> float:
        """The relative tolerance within which an answer matches a slip."""
        count = sum(map(self._is_within_decades, self.singles)) or 1
        return min(CLOSE_RTOL, max(EXACT_RTOL, CHANCE * WINDOW / (2 * count)))

    @functools.cached_property
    def pairs(self) -> list[SlipValue]:
        return list(self._likely_pairs())

    def diagnose(
        self, given: Sequence[GivenNumber], settled: Collection[str] = ()
    ) -> Diagnosis | None:
        """Return the Diagnosis of a wrong answer, or None if no slip explains it.

        ``settled`` names inputs and steps that other parts of the answer show to be right.
        """
        digits = min(number.digits for number in given)
        precise = all(map(is_precise, given))

        def exactly(slips):
            return [slip for slip in slips if agrees_exactly(given, slip.column, SAME_RTOL)]

        def nearly(slips, rtol, min_digits=0):
            return [
                slip
                for slip in slips
                if (digits >= max(slip.min_digits, min_digits) and agrees(given, slip.column, rtol))
                or agrees_exactly(given, slip.column, SAME_RTOL)
            ]

        # An exact match is better evidence than one after rounding.
        fitting = exactly(self.singles)
        # Say "You gave the input itself" only if no matching slip has its own sentence.
        if precise and all(slip.is_generic for slip in fitting):
            fitting += exactly(self.input_slips)
        if digits > ROUNDED_DIGITS:
            fitting += exactly(self.rare_slips)
        if not fitting and nearly(self.singles, self.match_rtol):
            # If one slip matches, slips that need more digits are included, too.
            fitting = [slip for slip in self.singles if agrees(given, slip.column, self.match_rtol)]
        if not fitting:
            # If several pairs match, naming any of them would be a guess.
            fitting = nearly(self.pairs, EXACT_RTOL, min_digits=3)
            fitting = fitting if len({str(pair.says) for pair in fitting}) == 1 else []
        is_sure = bool(fitting)
        if precise and not fitting:
            rows = [slip for slip in self.rare_slips if slip.names[0] == ANOTHER_ROW]
            fitting = nearly(rows, EXACT_RTOL, min_digits=3)
        if precise and not fitting:
            fitting = [slip for slip in self.rare_slips if agrees_exactly(given, slip.column)]
        # If another part shows that an input is right, prefer slips that don't touch it.
        likely = [slip for slip in fitting if slip.names[0].partition(": ")[0] not in settled]
        fitting = likely or fitting
        figures = [figure.value for _, figure in self._computation.figure_inputs()]
        return diagnose_slips(fitting, self.right, figures, is_sure) if fitting else None

    @functools.cached_property
    def _table_slip_values(self):
        return [
            SlipValue((s.name,), self._computation.compute(formula=s.formula), s.says, s.credit)
            for s in self.own
        ]

    @functools.cached_property
    def input_slips(self) -> list[SlipValue]:
        """Slips that give one of the inputs as the answer."""
        return list_input_slips(self._computation)

    @functools.cached_property
    def rare_slips(self) -> list[SlipValue]:
        """Slips that are reported only for an exact answer."""
        chips = [step for step in self.steps if ANOTHER_CHIP in step.names[0]]
        known = ColumnSet(slip.column for slip in [*chips, *self.singles])
        slips = [*list_rare_slips(self._computation, self.steps), *self._changes_by_kind[2]]
        return [slip for slip in slips if slip.column not in known]

    def remark_if_right(self, given: Sequence[GivenNumber]) -> str | None:
        """Return the remark on a right answer, which may be empty, or None for a wrong answer."""
        if agrees(given, self.right, self.rtol) and not self._is_nearer_to_a_slip(given):
            return ""
        for alternative in self.alternatives:
            if agrees_exactly(given, alternative.column, CLOSE_RTOL):
                return str(alternative.says)
        return None

    def is_too_short(self, given: Sequence[GivenNumber]) -> bool:
        """Return whether one or two digits are too few to distinguish the answer from a slip."""
        return max(number.digits for number in given) < 3 and agrees(given, self.right, EXACT_RTOL)

    def _is_nearer_to_a_slip(self, given):
        """Return whether a wrong method explains the answer better than rounding does.

        A rounded right value counts as a slip only if it equals the slip's value to the last digit.
        The same applies to values that rounded inputs could have led to.
        """
        if agrees_exactly(given, self.right):
            return False
        off = 0.0 if agrees(given, self.right, EXACT_RTOL) else _distance(given, self.right)
        right = [GivenNumber(value) for value in self.right]
        for slip in self.steps + self.single_changes:
            apart = _distance(right, slip.column) > ROUNDED_INPUTS_RTOL
            if _distance(given, slip.column) < (max(off, SAME_RTOL) if apart else SAME_RTOL):
                return True
        return False

    def is_right_at(self, number: int, given: GivenNumber) -> bool:
        """Return whether the value is right in case ``number``."""
        return agrees([given], self.right[number : number + 1], self.rtol)

    def find_first_wrong_case(self, given: Sequence[GivenNumber]) -> int:
        """Return the number of the first wrong case."""
        return next(n for n, value in enumerate(given) if not self.is_right_at(n, value))

    def slips_within_tolerance(self) -> list[str]:
        """Return the names of slips that would count as right: a mistake in the question."""
        right = [GivenNumber(value) for value in self.right]
        return [
            " and ".join(slip.names)
            for slip in self.singles
            if slip not in self.single_changes and agrees(right, slip.column, self.rtol)
        ]

    def _mistaken_inputs(self) -> Iterator[SlipValue]:
        """Yield slips that replace one input with a value it can be mistaken for.

        A wrong input can make ``max`` pick its other argument. That is reported as "took the other
        value", not as a wrong input.
        """
        changes = self._changes_by_kind[0]
        extremes = [slip.column for slip in changes if EXTREME_CHANGE.search(slip.names[0])]
        for name, figure in self._computation.used_inputs():
            seen = ColumnSet(extremes)
            for mistaken in figure.mistaken_for:
                column = self._computation.compute({name: mistaken.value})
                if column not in seen:
                    seen.add(column)
                    slip = f"{name}: {mistaken.name}"
                    says = self.words.get(slip, mistaken.says)
                    ambiguous = is_plain_factor(mistaken.value, figure.value)
                    details = {"min_digits": mistaken.min_digits, "where": figure.what}
                    yield SlipValue((slip,), column, says, ambiguous=ambiguous, **details)

    def _inverted_slips(self) -> Iterator[SlipValue]:
        dimension = units.DIMENSIONS[self.unit]
        if all(self.right) and dimension in ("intensity", "ratio", "time", "data"):
            column = tuple(1 / value for value in self.right)
            if self._computation.is_distinct(column):
                yield SlipValue(("upside down",), column, Sentence("slip.inverted"))
        if dimension == "ratio" and all(0 < value < 1 for value in self.right):
            column = tuple(1 - value for value in self.right)
            yield SlipValue(("the rest",), column, Sentence("slip.rest"))

    def _likely_pairs(self) -> Iterator[SlipValue]:
        """Yield each step with a wrong unit, then with a factor of 2, then with bits for bytes.

        Pairs that would make chance matches too likely are left out.
        """
        factors = [*factors_of_two(self._computation)]
        meets, room = 0, CHANCE_OF_PAIRS * WINDOW / (2 * EXACT_RTOL)
        known = ColumnSet([self.right, *(single.column for single in self.singles)])
        plain = {scale.name for scale in factors}
        named = [scale for scale in unit_scales(self.unit) if scale.credit]
        for second in [] if self.exact else [*named, *factors]:
            for step in self.singles:
                # Two factors make one factor. A slip that needs three digits is not paired.
                usual = step in self.steps and step.min_digits < 3
                if not usual and (second in factors or step.names[0] not in plain):
                    continue
                if BITS in step.names[0] and second.factor in (8, 1 / 8):
                    continue  # the two would cancel
                column = tuple(second.factor * value for value in step.column)
                right = agrees([GivenNumber(value) for value in column], self.right, self.rtol)
                if right or column in known:
                    continue
                pair = SlipValue(
                    (*step.names, second.name),
                    column,
                    Sentence("slip.besides", first=step.says, second=second.says_besides),
                    min(step.credit, second.credit),
                    is_certain=False,
                )
                if self._is_within_decades(pair):
                    if meets + 1 > room:
                        continue
                    meets += 1
                yield pair

    def _is_within_decades(self, candidate):
        ratios = [a / b for a, b in zip(candidate.column, self.right, strict=True) if b]
        return all(ratio > 0 and abs(math.log10(ratio)) <= DECADES / 2 for ratio in ratios)


def _distance(given, column):
    """Return the largest relative difference between numbers and values."""
    return max(
        abs(number.value - value) / abs(value) if value else math.inf if number.value else 0.0
        for number, value in zip(given, column, strict=True)
    )
