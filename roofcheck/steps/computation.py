"""A question's formula with its inputs, worked out: as it stands, or with steps replaced."""

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from roofcheck.reading.agreement import same
from roofcheck.sentences import Sentence
from roofcheck.steps.inputs import Input


@dataclass(frozen=True)
class Candidate:
    """What a slip gives: a value in each case, what to say of it, the share of the points it keeps.

    It is told only to an answer of at least so many ``digits``. ``place`` names what it got wrong;
    without ``asserts`` its sentence is true of the value, whatever was done. ``often`` says that
    other slips usually give the same value, ``general`` that no table has words for it.
    """

    names: tuple[str, ...]
    column: tuple[float, ...]
    says: str | Sentence
    credit: float = 0.0
    digits: int = 2
    place: str | Sentence = ""
    asserts: bool = True
    often: bool = False
    general: bool = False


def apply(formula, values):
    """What the formula gives for its arguments, which are found among the values by name."""
    return formula(**{name: values[name] for name in arguments(formula)})


def arguments(formula):
    """The names of the inputs that a formula takes."""
    # An expression of a table knows its names.
    return formula.names if hasattr(formula, "names") else _parameters(formula)


@functools.cache
def _parameters(formula):
    return tuple(inspect.signature(formula).parameters)


class Computation:
    """A formula of inputs in one case or many; ``right`` holds its value in each.

    ``cases`` gives, for each, what stands in place of the inputs' own values.
    """

    def __init__(
        self, formula: Callable, inputs: Mapping[str, Input], cases: Sequence[Mapping], unit: str
    ):
        self.formula, self.inputs, self.unit = formula, inputs, unit
        base = {name: given.value for name, given in inputs.items()}
        self._cases = [base | case for case in cases]
        self._varied = {name for case in cases for name in case}
        self.right = self.column()

    def column(self, replaced: Mapping = {}, formula: Callable | None = None) -> tuple[float, ...]:
        """The formula's value in each case, nan where it has none.

        ``replaced`` holds values that stand in place of inputs, ``formula`` is one in its place.
        """
        values_of = []
        for values in self._cases:
            try:
                values_of.append(float(apply(formula or self.formula, values | replaced)))
            except (ZeroDivisionError, OverflowError, ValueError):
                values_of.append(math.nan)
        return tuple(values_of)

    def constant(self, value: float) -> tuple[float, ...]:
        """The same value in every case."""
        return (value,) * len(self._cases)

    def used(self) -> Iterator[tuple[str, Input]]:
        """The inputs of the formula that are the same in every case."""
        named = arguments(self.formula)
        for name, given in self.inputs.items():
            if name in named and name not in self._varied:
                yield name, given

    def figures(self) -> Iterator[tuple[str, Input]]:
        """The inputs that are figures, used or not, and the same in every case."""
        for name, given in self.inputs.items():
            if given.what and name not in self._varied:
                yield name, given

    def tells(self, column: Sequence[float]) -> bool:
        """Whether a column is another than the right one, and one that an answer can agree with."""
        return not any(map(math.isnan, column)) and not same(column, self.right)
