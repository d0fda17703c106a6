"""Slips that only change a result by a factor: a unit, a prefix, a 2, the bits of a byte."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from roofcheck.reading import units
from roofcheck.reading.agreement import same
from roofcheck.sentences import Sentence, listed, way
from roofcheck.steps.computation import Candidate, Computation

# The share that a half-right answer keeps: right but for its unit, one of two, one branch of two.
HALF = 0.5
POWERS = (3, -3, 6, -6, 9, -9, 12, -12, 15, -15)


@dataclass(frozen=True)
class Scale:
    """A factor, what to say of it, and what to say of it beside another slip."""

    name: str
    factor: float
    says: Sentence
    besides: Sentence | str = ""
    credit: float = 0.0

    def of(self, right) -> Candidate:
        """What it makes of the right values."""
        column = tuple(self.factor * value for value in right)
        return Candidate((self.name,), column, self.says, self.credit, asserts=False)


def unit_scales(unit: str) -> Iterator[Scale]:
    """The answer in another unit, or off by a prefix."""
    named = units.ALSO.get(unit, {})
    for other, factor in named.items():
        words = {"other": units.name(other), "unit": units.name(unit)}
        yield _scale(f"unit: {other}", factor, "unit", HALF, **words)
    for power in POWERS:
        if not any(math.isclose(10.0**power, factor) for factor in named.values()):
            says = Sentence("slip.prefix", power=abs(power), way=way(10.0**power))
            yield Scale(f"prefix: 10^{power}", 10.0**power, says)


def factor_scales(computation: Computation) -> Iterator[Scale]:
    """A 2 too many or too few, and the 8 bits of a byte where there are bytes."""
    for factor in (2.0, 0.5):
        places = listed(dict.fromkeys(_twos(computation, factor)))
        scale = _scale(f"factor {factor:g}", factor, "two", way=way(factor))
        says = Sentence("slip.two-in", way=way(factor), places=places)
        yield replace(scale, says=says) if places else scale
    if any(given.unit in ("bytes", "byte/s") for given in computation.inputs.values()):
        for factor in (8.0, 0.125):
            yield _scale(f"factor {factor:g}", factor, "eight", way=way(factor))


def zero_scales(unit: str) -> Iterator[Scale]:
    """A zero or two too many or too few."""
    for factor in (10.0, 0.1, 100.0, 0.01):
        if not any(math.isclose(factor, known) for known in units.ALSO.get(unit, {}).values()):
            ten = f"{max(factor, 1 / factor):.0f}"
            says = Sentence("slip.ten", factor=ten, way=way(factor))
            yield Scale(f"factor {factor:g}", factor, says)


def _scale(name, factor, key, credit=0.0, **words):
    """A Scale that the table has words for both alone and beside another slip."""
    says, besides = (Sentence(f"slip.{form}", **words) for form in (key, f"beside-{key}"))
    return Scale(name, factor, says, besides, credit)


def _twos(computation, factor):
    """Where a factor of 2 in an input is one in the result."""
    wanted = tuple(factor * value for value in computation.right)
    for name, given in computation.figures():
        for change in (2.0, 0.5):
            if given.two and same(computation.column({name: change * given.value}), wanted):
                yield given.two
