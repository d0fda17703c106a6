"""Slips that only change a result by a factor: a unit, a prefix, a 2, the bits of a byte."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from roofcheck.reading import units
from roofcheck.reading.agreement import are_equal
from roofcheck.sentences import Sentence, join_items, word_direction
from roofcheck.steps.computation import Computation, SlipValue

# The share that a half-right answer keeps: right but for its unit, one of two, one branch of two.
HALF_CREDIT = 0.5
POWERS = (3, -3, 6, -6, 9, -9, 12, -12, 15, -15)


@dataclass(frozen=True)
class Scale:
    """A factor, what to say of it, and what to say of it beside another slip."""

    name: str
    factor: float
    says: Sentence
    says_besides: Sentence | str = ""
    credit: float = 0.0

    def apply_to(self, right) -> SlipValue:
        """What it makes of the right values."""
        column = tuple(self.factor * value for value in right)
        return SlipValue((self.name,), column, self.says, self.credit, is_certain=False)


def unit_scales(unit: str) -> Iterator[Scale]:
    """The answer in another unit, or off by a prefix."""
    named = units.WRONG_UNITS.get(unit, {})
    for other, factor in named.items():
        words = {"other": units.format_unit(other), "unit": units.format_unit(unit)}
        yield _make_scale(f"unit: {other}", factor, "unit", HALF_CREDIT, **words)
    for power in POWERS:
        if not any(math.isclose(10.0**power, factor) for factor in named.values()):
            says = Sentence("slip.prefix", power=abs(power), way=word_direction(10.0**power))
            yield Scale(f"prefix: 10^{power}", 10.0**power, says)


def factor_scales(computation: Computation) -> Iterator[Scale]:
    """A 2 too many or too few, and the 8 bits of a byte where there are bytes."""
    for factor in (2.0, 0.5):
        places = join_items(dict.fromkeys(_sources_of_two(computation, factor)))
        scale = _make_scale(f"factor {factor:g}", factor, "two", way=word_direction(factor))
        says = Sentence("slip.two-in", way=word_direction(factor), places=places)
        yield replace(scale, says=says) if places else scale
    if any(given.unit in ("bytes", "byte/s") for given in computation.inputs.values()):
        for factor in (8.0, 0.125):
            yield _make_scale(f"factor {factor:g}", factor, "eight", way=word_direction(factor))


def zero_scales(unit: str) -> Iterator[Scale]:
    """A zero or two too many or too few."""
    for factor in (10.0, 0.1, 100.0, 0.01):
        if not any(
            math.isclose(factor, known) for known in units.WRONG_UNITS.get(unit, {}).values()
        ):
            ten = f"{max(factor, 1 / factor):.0f}"
            says = Sentence("slip.ten", factor=ten, way=word_direction(factor))
            yield Scale(f"factor {factor:g}", factor, says)


def _make_scale(name, factor, key, credit=0.0, **words):
    """A Scale that the table has words for both alone and beside another slip."""
    says, besides = (Sentence(f"slip.{form}", **words) for form in (key, f"beside-{key}"))
    return Scale(name, factor, says, besides, credit)


def _sources_of_two(computation, factor):
    """Where a factor of 2 in an input is one in the result."""
    wanted = tuple(factor * value for value in computation.right)
    for name, given in computation.figure_inputs():
        for change in (2.0, 0.5):
            if given.source_of_two and are_equal(
                computation.compute({name: change * given.value}), wanted
            ):
                yield given.source_of_two
