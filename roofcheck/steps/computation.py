"""A question's formula with its inputs, worked out: as it stands, or with steps replaced."""

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from roofcheck.reading.agreement import are_equal
from roofcheck.sentences import Sentence
from roofcheck.steps.inputs import Input


@dataclass(frozen=True)
class SlipValue:
    """What a slip gives: a value in each case, what to say of it, the share of the points it keeps.

    It is told only to an answer of at least so many ``min_digits``. ``where`` names what it got wrong;
    without ``is_certain`` its sentence is true of the value, whatever was done. ``ambiguous`` says that
    other slips usually give the same value, ``is_generic`` that no table has words for it.
    """

    names: tuple[str, ...]
    column: tuple[float, ...]
    says: str | Sentence
    credit: float = 0.0
    min_digits: int = 2
    where: str | Sentence = ""
    is_certain: bool = True
    ambiguous: bool = False
    is_generic: bool = False


def apply_formula(formula, values):
    """What the formula gives for its arguments, which are found among the values by name."""
    return formula(**{name: values[name] for name in formula_arguments(formula)})


def formula_arguments(formula):
    """The names of the inputs that a formula takes."""
    # An expression of a table knows its names.
    return formula.names if hasattr(formula, "names") else _formula_parameters(formula)


@functools.cache
def _formula_parameters(formula):
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
        self.right = self.compute()

    def compute(self, replaced: Mapping = {}, formula: Callable | None = None) -> tuple[float, ...]:
        """The formula's value in each case, nan where it has none.

        ``replaced`` holds values that stand in place of inputs, ``formula`` is one in its place.
        """
        values_of = []
        for values in self._cases:
            try:
                values_of.append(float(apply_formula(formula or self.formula, values | replaced)))
            except (ZeroDivisionError, OverflowError, ValueError):
                values_of.append(math.nan)
        return tuple(values_of)

    def repeat_in_cases(self, value: float) -> tuple[float, ...]:
        """The same value in every case."""
        return (value,) * len(self._cases)

    def used_inputs(self) -> Iterator[tuple[str, Input]]:
        """The inputs of the formula that are the same in every case."""
        named = formula_arguments(self.formula)
        for name, given in self.inputs.items():
            if name in named and name not in self._varied:
                yield name, given

    def figure_inputs(self) -> Iterator[tuple[str, Input]]:
        """The inputs that are figures, used or not, and the same in every case."""
        for name, given in self.inputs.items():
            if given.what and name not in self._varied:
                yield name, given

    def is_distinct(self, column: Sequence[float]) -> bool:
        """Whether a column is another than the right one, and one that an answer can agree with."""
        return not any(map(math.isnan, column)) and not are_equal(column, self.right)
