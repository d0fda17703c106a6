"""Evaluate a question's formula with its own inputs, or with some of them replaced."""

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
    """A slip with its value in each case, its sentence, and the remaining share of the points.

    Answers with fewer than ``min_digits`` digits don't match it. ``where`` is the wrong part.
    ``is_certain`` means that the sentence says what the student did, not just what the value is.
    ``ambiguous`` means that several slips usually give this value, so the message adds that another
    one is possible. ``is_generic`` means that the sentence is not from a table.
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
    """Call the formula with those of the named values that it takes."""
    if hasattr(formula, "steps"):  # a Derivation picks its own values, which is quicker
        return formula.value(values)
    return formula(**{name: values[name] for name in formula_arguments(formula)})


def formula_arguments(formula):
    """Return the names of the inputs that a formula takes."""
    return formula.names if hasattr(formula, "names") else _formula_parameters(formula)


@functools.cache
def _formula_parameters(formula):
    return tuple(inspect.signature(formula).parameters)


class Computation:
    """A formula evaluated in one or more cases; ``right`` has its value in each case.

    Each of the ``cases`` maps input names to the values in that case.
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
        """Return the formula's value in each case, or nan where it is undefined.

        ``replaced`` overrides inputs by name; ``formula`` overrides the formula.
        """
        formula = formula or self.formula
        # A change of one step leaves the steps before it as they are.
        same = () if replaced else getattr(formula, "same_steps", ())
        column = []
        for number, values in enumerate(self._cases):
            try:
                if same:
                    known = {name: self._step_values[number][name] for name in same}
                    column.append(float(formula.value(values, known)))
                else:
                    column.append(float(apply_formula(formula, values | replaced)))
            except (ZeroDivisionError, OverflowError, ValueError):
                column.append(math.nan)
        return tuple(column)

    @functools.cached_property
    def _step_values(self):
        return [self.formula.values(values) for values in self._cases]

    def repeat_in_cases(self, value: float) -> tuple[float, ...]:
        """Return a column with the same value in every case."""
        return (value,) * len(self._cases)

    def used_inputs(self) -> Iterator[tuple[str, Input]]:
        """Yield the inputs of the formula that are the same in every case."""
        arguments = formula_arguments(self.formula)
        for name, figure in self.inputs.items():
            if name in arguments and name not in self._varied:
                yield name, figure

    def figure_inputs(self) -> Iterator[tuple[str, Input]]:
        """Yield the inputs with a description that are the same in every case, used or not."""
        for name, figure in self.inputs.items():
            if figure.what and name not in self._varied:
                yield name, figure

    def is_distinct(self, column: Sequence[float]) -> bool:
        """Return whether a column differs from the right one and could match an answer."""
        return not any(map(math.isnan, column)) and not are_equal(column, self.right)
