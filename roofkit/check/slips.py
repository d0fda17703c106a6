"""Which step went wrong: what each of a question's slips gives, and which an answer agrees with.

A slip is the question's formula with one step changed: an input replaced (``inputs``), a step of
the question's own (``Slip``), or the result off by a unit, a prefix, a factor of 2 or the bits of a
byte. Two at once are tried where no single one fits. Everything is computed on columns, one value
a case: a number has one case, a function has many.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import roofkit as rk
from roofkit.check import units
from roofkit.check.inputs import Input
from roofkit.check.reading import EXACT, Given
from roofkit.check.words import TEXT, listed, way

# The share that a half-right answer keeps: right but for its unit, one of two, one branch of two.
HALF = 0.5
# Two computed values agree if they differ by less: figures are rounded to three digits on the way.
CLOSE = 1.5e-3
# Of answers spread evenly (in logarithm) over three decades around the right one, at most this
# share may meet a slip by chance; the rarest pairs of slips give way.
CHANCE = 0.012
DECADES = 3
# A computed answer may also be told a rarer slip, of many, if it is that slip's to four digits.
EXACTLY = 1e-4
# As good as equal, but for the rounding of floats.
SAME = 1e-9


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


@dataclass(frozen=True)
class Candidate:
    """What a slip leads to: a value for each case, what to say, and what to say of it as second."""

    names: tuple[str, ...]
    column: tuple[float, ...]
    says: str
    credit: float = 0.0
    digits: int = 2


@dataclass(frozen=True)
class Scale:
    """A slip that changes the result by a factor alone."""

    name: str
    factor: float
    says: str
    besides: str = ""
    credit: float = 0.0


@dataclass(frozen=True)
class Diagnosis:
    """What an answer says of its author: the slips that it agrees with, or none."""

    names: tuple[str, ...]
    message: str
    credit: float = 0.0


def apply(formula, values):
    """The formula at those of the values that it names."""
    wanted = inspect.signature(formula).parameters
    return formula(**{name: values[name] for name in wanted})


class Slips:
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
    exact : whether all is small whole numbers, so that a stray factor 2 or 8 fits everything
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
        exact: bool = False,
    ):
        self._exact = exact
        self.unit, self.rtol, self.inputs, self._formula = unit, rtol, inputs, formula
        base = {name: given.value for name, given in inputs.items()}
        self._cases = [base | case for case in cases]
        self._given = {name for case in cases for name in case}
        self.right = self._column(formula)
        self.alternatives = [
            Candidate((slip.name,), self._column(slip.formula), slip.says, 1.0)
            for slip in own
            if slip.credit == 1
        ]
        steps = [
            Candidate((slip.name,), self._column(slip.formula), slip.says, slip.credit)
            for slip in own
            if slip.credit < 1
        ]
        steps += self._replaced()
        steps = [replace(step, credit=HALF) if step.names[0] in half else step for step in steps]
        self._steps = [step for step in steps if self._tells(step.column)]
        scales = [self._scaled(scale) for scale in self._scales()]
        scales += self._inverted()
        taken = [step.column for step in self._steps]
        self.singles = self._steps + [
            scaled for scaled in scales if not any(same(scaled.column, column) for column in taken)
        ]
        self.pairs = list(self._likely_pairs())

    def diagnose(self, given: Sequence[Given]) -> Diagnosis | None:
        """The slips that agree with an answer, which is not right; None if there is none."""
        digits = min(one.digits for one in given)
        telling = all(map(_telling, given))

        def fitting(candidates, least=0):
            return [
                one
                for one in candidates
                if (digits >= max(one.digits, least) and agrees(given, one.column))
                or agrees_exactly(given, one.column, SAME)
            ]

        fits = fitting(self.singles)
        # A value to the last digit says more than one that rounds to the same.
        found = [one for one in fits if agrees_exactly(given, one.column, SAME)]
        if telling and not found:
            found = [one for one in self.inputs_given if agrees_exactly(given, one.column, SAME)]
        found = found or fits or fitting(self.pairs, least=3)
        if telling and not found:
            found = [one for one in self.rare if agrees_exactly(given, one.column)]
        return _told(found) if found else None

    def is_right(self, given: Sequence[Given]) -> str | None:
        """What to remark on an answer that is right; None if it is not."""
        if agrees(given, self.right, self.rtol):
            return ""
        for other in self.alternatives:
            if agrees(given, other.column):
                return other.says
        return None

    def is_right_at(self, number: int, given: Given) -> bool:
        """Whether the value of one case is right."""
        return agrees([given], self.right[number : number + 1], self.rtol)

    def first_wrong(self, given: Sequence[Given]) -> int:
        """The first case that is not right."""
        return next(n for n, value in enumerate(given) if not self.is_right_at(n, value))

    def too_close(self) -> list[str]:
        """The slips that would be taken for right: an error of the question."""
        right = [Given(value) for value in self.right]
        return [
            " and ".join(candidate.names)
            for candidate in self.singles
            if agrees(right, candidate.column, self.rtol)
        ]

    def _column(self, formula, replaced=()):
        """The formula's value in each case, with some inputs replaced; nan where it has none."""
        column = []
        for values in self._cases:
            try:
                column.append(float(apply(formula, values | dict(replaced))))
            except (ZeroDivisionError, OverflowError):
                column.append(math.nan)
        return tuple(column)

    def _replaced(self) -> Iterator[Candidate]:
        """Each input replaced. An operation goes first: a figure that only tips it is no slip."""
        named = inspect.signature(self._formula).parameters
        operations: list[tuple] = []
        for name, given in sorted(
            self.inputs.items(), key=lambda pair: not callable(pair[1].value)
        ):
            if name in self._given or name not in named:
                continue
            seen = [*operations]
            for other in given.instead:
                column = self._column(self._formula, {name: other.value})
                if not any(same(column, before) for before in seen):
                    seen.append(column)
                    names = (f"{name}: {other.name}",)
                    yield Candidate(names, column, other.says, digits=other.digits)
            if callable(given.value):
                operations += seen

    def _tells(self, column):
        """Whether a column is another than the right one, and one that an answer can agree with."""
        return not any(map(math.isnan, column)) and not same(column, self.right)

    def _scaled(self, scale):
        column = tuple(scale.factor * value for value in self.right)
        return Candidate((scale.name,), column, scale.says, scale.credit)

    @functools.cached_property
    def rare(self) -> list[Candidate]:
        """Slips of which there are too many to be told from a rounded value."""
        found = [*self.inputs_given, *self._across(), *self._other_chips()]
        for power in range(16, 31):
            for sign in (power, -power):
                words = {"power": power, "way": way(10.0**sign), "half": power // 2}
                says = TEXT["parentheses" if power % 2 == 0 else "prefix"].format(**words)
                column = tuple(10.0**sign * value for value in self.right)
                found.append(Candidate((f"factor 10^{sign}",), column, says))
        for step in self._steps:
            if all(step.column) and units.DIMENSIONS[self.unit] in ("intensity", "ratio"):
                says = TEXT["besides"].format(first=step.says, second=TEXT["besides inverted"])
                column = tuple(1 / value for value in step.column)
                found.append(Candidate((*step.names, "upside down"), column, says))
        return [one for one in found if self._tells(one.column)]

    def _figures(self):
        """The inputs that are figures, and the same in every case."""
        for name, given in self.inputs.items():
            if given.what and not callable(given.value) and name not in self._given:
                yield name, given

    @functools.cached_property
    def inputs_given(self) -> list[Candidate]:
        """Answers that are one of the inputs as it stands."""
        found = []
        for name, given in self._figures():
            says = TEXT["an input"].format(what=given.what)
            for scale in (1, 1e-9, 1e-12) if given.unit.endswith("/s") else (1,):
                column = (scale * given.value,) * len(self._cases)
                found.append(Candidate((f"{name} itself",), column, says))
        return [one for one in found if self._tells(one.column)]

    def _across(self):
        """Multiplied where it should be divided, or the other way round; and rare replacements."""
        for name, given in self._figures():
            if given.unit.endswith("/s"):
                says = TEXT["across"].format(what=given.what)
                column = self._column(self._formula, {name: 1 / given.value})
                yield Candidate((f"{name}: multiplied",), column, says)
            for other in given.rarely:
                column = self._column(self._formula, {name: other.value})
                yield Candidate((f"{name}: {other.name}",), column, other.says)

    def _other_chips(self):
        """The formula with one figure, or all, of every other chip of the table."""
        of_chip = {name: given for name, given in self._figures() if given.chips}
        for main in dict.fromkeys(given.chips[0] for given in of_chip.values()):
            names = [name for name, given in of_chip.items() if given.chips[0] == main]
            # What several chips share names them all.
            owners: dict[tuple, list[str]] = {}
            for other in (chip for chip in rk.chips() if chip.name != main):
                for chosen in [[name] for name in names] + [names]:
                    if not all(of_chip[name].has(other) for name in chosen):
                        continue
                    replaced = {}
                    for name in chosen:
                        others = {chip: chip for chip in of_chip[name].chips}
                        replaced[name] = (
                            of_chip[name].again(None, others | {main: other.name}).value
                        )
                    listed_under = owners.setdefault(self._column(self._formula, replaced), [])
                    if other.name not in listed_under:
                        listed_under.append(other.name)
            for column, listed_under in owners.items():
                says = TEXT["other chip"].format(other=TEXT["or"].join(listed_under), chip=main)
                yield Candidate(("another chip of the table",), column, says)

    def _inverted(self):
        if all(self.right) and units.DIMENSIONS[self.unit] in (
            "intensity",
            "ratio",
            "time",
            "data",
        ):
            column = tuple(1 / value for value in self.right)
            if self._tells(column):
                yield Candidate(("upside down",), column, TEXT["inverted"])
        if self.unit == "of peak":
            yield Candidate(("the rest",), tuple(1 - value for value in self.right), TEXT["share"])

    def _unit_scales(self) -> Iterator[Scale]:
        named = units.ALSO.get(self.unit, {})
        asked = units.name(self.unit)
        for other, factor in named.items():
            words = {"other": units.name(other), "unit": asked}
            yield Scale(
                f"unit: {other}",
                factor,
                TEXT["in unit"].format(**words),
                TEXT["besides in unit"].format(**words),
                HALF,
            )
        for power in (3, -3, 6, -6, 9, -9, 12, -12, 15, -15):
            if not any(math.isclose(10.0**power, factor) for factor in named.values()):
                words = {"power": abs(power), "way": way(10.0**power)}
                yield Scale(
                    f"prefix: 10^{power}",
                    10.0**power,
                    TEXT["prefix"].format(**words),
                    TEXT["besides prefix"].format(**words),
                )

    def _factor_scales(self) -> Iterator[Scale]:
        for factor in (2.0, 0.5):
            places = listed(dict.fromkeys(self._twos(factor)))
            where = TEXT["where 2"].format(places=places) if places else ""
            words = {"way": way(factor), "where": where}
            yield Scale(
                f"factor {factor:g}",
                factor,
                TEXT["twice"].format(**words),
                TEXT["besides twice"].format(**words),
            )
        if any(given.unit in ("bytes", "byte/s") for given in self.inputs.values()):
            for factor in (8.0, 0.125):
                words = {"way": way(factor)}
                yield Scale(
                    f"factor {factor:g}",
                    factor,
                    TEXT["eight"].format(**words),
                    TEXT["besides eight"].format(**words),
                )

    def _twos(self, factor):
        """Where a factor of 2 in an input is one in the result."""
        wanted = tuple(factor * value for value in self.right)
        for name, given in self._figures():
            for change in (2.0, 0.5):
                column = self._column(self._formula, {name: change * given.value})
                if given.two and same(column, wanted):
                    yield given.two

    def _scales(self) -> Iterator[Scale]:
        yield from self._unit_scales()
        yield from self._factor_scales()
        for factor in (10.0, 0.1, 100.0, 0.01):
            if not any(math.isclose(factor, f) for f in units.ALSO.get(self.unit, {}).values()):
                ten = f"{max(factor, 1 / factor):.0f}"
                says = TEXT["ten"].format(factor=ten, way=way(factor))
                yield Scale(f"factor {factor:g}", factor, says)

    def _likely_pairs(self) -> Iterator[Candidate]:
        """Pairs of a step and a unit, then a 2, then the bits, while chance matches stay rare."""
        seconds = [*self._unit_scales(), *self._factor_scales()]
        meets = sum(map(self._in_window, self.singles))
        room = CHANCE * DECADES * math.log(10) / (2 * CLOSE)
        known = [self.right, *(single.column for single in self.singles)]
        factors = {scale.name for scale in self._factor_scales()}
        firsts = [one for one in self.singles if one in self._steps or one.names[0] in factors]
        seconds = [second for second in seconds if not self._exact or "unit" in second.name]
        for second in seconds:
            for step in firsts:
                column = tuple(second.factor * value for value in step.column)
                if any(same(column, other) for other in known):
                    continue
                # Two slips that cancel are no slip that an answer shows.
                if agrees([Given(value) for value in column], self.right, self.rtol):
                    continue
                pair = Candidate(
                    (*step.names, second.name),
                    column,
                    TEXT["besides"].format(first=step.says, second=second.besides),
                    # In the wrong unit a known slip keeps its share; short of a factor it does not.
                    min(step.credit, second.credit),
                )
                if self._in_window(pair):
                    if meets + 1 > room:
                        continue
                    meets += 1
                yield pair

    def _in_window(self, candidate):
        ratios = [a / b for a, b in zip(candidate.column, self.right, strict=True) if b]
        return all(ratio > 0 and abs(math.log10(ratio)) <= DECADES / 2 for ratio in ratios)


def agrees(given: Sequence[Given], column: Sequence[float], rtol: float = CLOSE) -> bool:
    """Whether each number agrees with its value, within ``rtol`` or to the digits given."""
    return all(_agrees(one, value, rtol) for one, value in zip(given, column, strict=True))


def _agrees(given, target, rtol):
    if math.isclose(given.value, target, rel_tol=rtol):
        return True
    return rounds_to(target, given, at_least=2)


def agrees_exactly(given: Sequence[Given], column: Sequence[float], rtol: float = EXACTLY) -> bool:
    """Whether each number is its value, however few digits it was given to."""
    return all(
        math.isclose(one.value, value, rel_tol=rtol)
        for one, value in zip(given, column, strict=True)
    )


def _telling(given):
    """Whether a number has digits enough, or is large enough, to be no guess."""
    return given.digits >= 3 or given.value >= 1e6


def rounds_to(target, given, at_least):
    """Whether a value, rounded to the digits of a number (``at_least`` so many), is that number."""
    if given.digits >= EXACT or not target or not math.isfinite(target):
        return False
    digits = max(given.digits, at_least)
    last = 10.0 ** (math.floor(math.log10(abs(target))) - digits + 1)
    return abs(given.value - target) <= 0.5 * last * (1 + 1e-9)


def same(column, other):
    """Whether two columns hold the same values: one cannot tell their slips apart."""
    return all(math.isclose(a, b, rel_tol=SAME) for a, b in zip(column, other, strict=True))


def caret(value, targets):
    """What an int tells if it is ``5*10^11`` as Python reads it, for a target of 5e11, or None."""
    for target in targets:
        if not (math.isfinite(target) and abs(target) >= 1e3):
            continue
        for power in range(2, 31):
            front = round(target / 10.0**power)
            if not 1 <= front <= 10**6:
                continue
            if math.isclose(front * 10.0**power, target) and (10 * front) ^ power == value:
                return TEXT["caret"].format(value=value)
    return None


def _told(found):
    """One diagnosis of all the slips that fit; in doubt the one that keeps most of the points."""
    found = list({candidate.says: candidate for candidate in reversed(found)}.values())[::-1]
    names = tuple(" and ".join(candidate.names) for candidate in found)
    credit = max(candidate.credit for candidate in found)
    message = found[0].says
    if len(found) > 1:
        others = TEXT["or"].join(candidate.says for candidate in found[1:3])
        message = TEXT["either"].format(first=message, second=others)
    return Diagnosis(names, message, credit)
