"""Slips that scale the result: a unit, a prefix, a factor of 2, bits for bytes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from roofcheck.reading import units
from roofcheck.reading.agreement import are_equal
from roofcheck.sentences import Sentence, describe_direction, join_items
from roofcheck.steps.computation import Computation, SlipValue

# The credit for a half-right answer: the wrong unit, one of two parts, or one of two branches.
HALF_CREDIT = 0.5
POWERS = (3, -3, 6, -6, 9, -9, 12, -12, 15, -15)


@dataclass(frozen=True)
class Scale:
    """A factor with two sentences, one for the factor alone and one for use with another slip."""

    name: str
    factor: float
    says: Sentence
    says_besides: Sentence | str = ""
    credit: float = 0.0

    def apply_to(self, right) -> SlipValue:
        """Return the slip that scales the right values."""
        column = tuple(self.factor * value for value in right)
        return SlipValue((self.name,), column, self.says, self.credit, is_certain=False)


def unit_scales(unit: str) -> Iterator[Scale]:
    """Yield the scales of other units and SI prefixes."""
    known_scales = units.WRONG_UNITS.get(unit, {})
    for other, factor in known_scales.items():
        words = {"other": units.format_unit(other), "unit": units.format_unit(unit)}
        yield _make_scale(f"unit: {other}", factor, "unit", HALF_CREDIT, **words)
    for power in POWERS:
        if not any(math.isclose(10.0**power, factor) for factor in known_scales.values()):
            says = Sentence("slip.prefix", power=abs(power), way=describe_direction(10.0**power))
            yield Scale(f"prefix: 10^{power}", 10.0**power, says)


def factors_of_two(computation: Computation) -> Iterator[Scale]:
    """Yield the factors of 2, and of 8 if the inputs are in bytes."""
    for factor in (2.0, 0.5):
        places = join_items(dict.fromkeys(_sources_of_two(computation, factor)))
        scale = _make_scale(f"factor {factor:g}", factor, "two", way=describe_direction(factor))
        says = Sentence("slip.two-in", way=describe_direction(factor), places=places)
        yield replace(scale, says=says) if places else scale
    if any(figure.unit in ("bytes", "byte/s") for figure in computation.inputs.values()):
        for factor in (8.0, 0.125):
            yield _make_scale(f"factor {factor:g}", factor, "eight", way=describe_direction(factor))


def zero_scales(unit: str) -> Iterator[Scale]:
    """Yield the factors of 10 and 100 that no unit explains."""
    known_factors = units.WRONG_UNITS.get(unit, {}).values()
    for factor in (10.0, 0.1, 100.0, 0.01):
        if not any(math.isclose(factor, known) for known in known_factors):
            ten = f"{max(factor, 1 / factor):.0f}"
            says = Sentence("slip.ten", factor=ten, way=describe_direction(factor))
            yield Scale(f"factor {factor:g}", factor, says)


def _make_scale(name, factor, key, credit=0.0, **words):
    says, besides = (Sentence(f"slip.{form}", **words) for form in (key, f"beside-{key}"))
    return Scale(name, factor, says, besides, credit)


def _sources_of_two(computation, factor):
    """Yield the sources of a factor of 2 in the inputs that scale the result by ``factor``."""
    wanted = tuple(factor * value for value in computation.right)
    for name, figure in computation.figure_inputs():
        for change in (2.0, 0.5):
            if figure.source_of_two and are_equal(
                computation.compute({name: change * figure.value}), wanted
            ):
                yield figure.source_of_two
