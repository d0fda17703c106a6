"""Derivations: named steps that lead from the inputs of a question to its answer."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from roofcheck.reading import units
from roofcheck.reading.amounts import conversion_factor
from roofcheck.steps.algebra import (
    Constant,
    ExpressionError,
    Name,
    Node,
    find_names,
    read_expression,
    substitute,
)

# Intermediate values have one more digit than the answer, so sums of them come out right.
STEP_DIGITS = 4


@dataclass(frozen=True)
class Step:
    """One step of a derivation.

    Parameters
    ----------
    name : the name by which later steps refer to it
    tree : its expression of inputs and earlier steps
    unit : the unit of its value
    what : its name in a sentence, such as "the bytes"
    why : the reason, in a few words; may be empty
    """

    name: str
    tree: Node
    unit: str = ""
    what: str = ""
    why: str = ""


class Derivation:
    """A function of named inputs that evaluates its steps and returns the last value.

    ``names`` lists the inputs that it takes. The last value is converted to ``unit``.

    >>> moved = Step("moved", read_expression("size * N"), "bytes", "the bytes")
    >>> time = Step("time", read_expression("moved / bandwidth"), "s", "the time")
    >>> time = Derivation([moved, time], "ms")
    >>> time.names, time(size=2, N=1e9, bandwidth=1e12)
    (('size', 'N', 'bandwidth'), 2.0)
    """

    def __init__(self, steps: Sequence[Step], unit: str = ""):
        self.steps, self.unit = tuple(steps), unit
        # The names of the steps before the changed one, whose values ``with_step`` leaves alone.
        self.same_steps: list[str] = []
        last = self.steps[-1].unit
        self.scale = 1.0 if last == unit else (conversion_factor(last, unit) if last else 1.0)
        if self.scale is None:
            raise ExpressionError(f"the last step is in {last}, which can't be converted to {unit}")

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The inputs that the derivation takes, in the order of their first use."""
        defined = {step.name for step in self.steps}
        used = (name for step in self.steps for name in find_names(step.tree))
        return tuple(dict.fromkeys(name for name in used if name not in defined))

    def __call__(self, **values) -> float:
        return self.value(values)

    def value(self, values: Mapping, known: Mapping = {}) -> float:
        """Return the answer; ``known`` maps names of steps to values that replace theirs."""
        return self.values(values, known)[self.steps[-1].name] * self.scale

    def values(self, values: Mapping, known: Mapping = {}) -> dict:
        """Return the values of inputs and steps by name; ``known`` is the same as for ``value``."""
        result = dict(values)
        for step in self.steps:
            result[step.name] = known[step.name] if step.name in known else step.tree.value(result)
        return result

    def with_step(self, name: str, tree: Node) -> "Derivation":
        """Return the derivation with another expression in one step."""
        place = next(n for n, step in enumerate(self.steps) if step.name == name)
        step = replace(self.steps[place], tree=tree)
        changed = Derivation([*self.steps[:place], step, *self.steps[place + 1 :]], self.unit)
        changed.same_steps = [step.name for step in self.steps[:place]]
        return changed

    def up_to(self, name: str, unit: str) -> "Derivation":
        """Return the derivation of the step ``name``, in ``unit``."""
        needed = {name}
        steps: list[Step] = []
        for step in reversed(self.steps):
            if step.name in needed:
                steps.insert(0, step)
                needed |= set(find_names(step.tree))
        return Derivation(steps, unit)

    def with_answer(self, tree: Node) -> "Derivation":
        """Return the derivation of an expression of its steps, including the last one.

        >>> time = Derivation([Step("time", read_expression("moved / bandwidth"), "s")], "s")
        >>> time.with_answer(read_expression("2 * time"))(moved=3, bandwidth=1)
        6.0
        """
        other = Step("", tree, self.unit)
        return Derivation([*self.steps, other], self.unit).up_to(other.name, self.unit)

    def stopped_at(self, step: Step) -> "Derivation":
        """Return the derivation of an earlier step, in the answer's unit if the dimensions agree.

        >>> moved = Step("moved", read_expression("size * N"), "bytes")
        >>> time = Step("time", read_expression("moved / bandwidth"), "s")
        >>> both = Derivation([moved, time, Step("twice", read_expression("2 * time"), "s")], "ms")
        >>> [both.stopped_at(step)(size=2, N=1e9, bandwidth=1e12) for step in (time, moved)]
        [2.0, 2000000000.0]
        """
        if units.DIMENSIONS.get(step.unit) == units.DIMENSIONS.get(self.unit):
            return self.up_to(step.name, self.unit)
        return self.with_answer(Name(step.name))

    def lines(self, values: Mapping, figures: Mapping[str, str]) -> list["Line"]:
        """Return one Line per step with numbers for names; ``figures`` are the formatted inputs."""
        results, texts = self.values(values), dict(figures)
        lines = []
        for step in self.steps:
            arithmetic = step.tree.text(texts.__getitem__)
            texts[step.name] = units.format_value(results[step.name], step.unit, STEP_DIGITS)
            lines.append(Line(step.what or step.name, arithmetic, texts[step.name], step.why))
        answer = units.format_value(results[self.steps[-1].name] * self.scale, self.unit)
        return [*lines[:-1], replace(lines[-1], value=answer, is_answer=True)]

    def symbolic_lines(
        self, values: Mapping, figures: Mapping[str, str], expanded: bool = True
    ) -> list["Line"]:
        """Return one Line per step, with symbols for names that have no value.

        ``figures`` are the formatted inputs. If ``expanded``, the value of a step is its formula in
        terms of the inputs alone, with unitless numbers evaluated.
        """
        lines, texts = [], dict(figures)
        trees: dict[str, Node] = {
            name: Constant(value) for name, value in values.items() if " " not in figures[name]
        }
        for step in self.steps:
            trees[step.name] = substitute(step.tree, trees)
            value = arithmetic = step.tree.text(lambda name: texts.get(name, name))
            if expanded:
                value = trees[step.name].text(lambda name: figures.get(name, name))
            texts[step.name] = step.what or step.name
            lines.append(Line(texts[step.name], arithmetic, value, step.why))
        return [*lines[:-1], replace(lines[-1], is_answer=True)]


@dataclass(frozen=True)
class Line:
    """A step as text: its name, its arithmetic, its value, and the reason.

    ``part`` names the part of the question; it is empty for a shared step or a question without
    parts. ``is_answer`` means that the value is an answer.
    """

    what: str
    arithmetic: str
    value: str
    why: str = ""
    part: str = ""
    is_answer: bool = False

    @property
    def sides(self) -> tuple[str, ...]:
        """The texts after its equals signs, without a repeated value.

        >>> Line("the bytes", "2 · 8", "16 bytes").sides, Line("the size", "2", "2 bytes").sides
        (('2 · 8', '16 bytes'), ('2 bytes',))
        """
        repeated = f"{self.value} ".startswith(f"{self.arithmetic} ")
        return (self.value,) if repeated else (self.arithmetic, self.value)

    def __str__(self):
        why = f"  ({self.why})" if self.why else ""
        return " = ".join((self.what, *self.sides)) + why


def merge_parts(parts: Mapping[str, Sequence[Line]]) -> list[Line]:
    """Return the lines of several derivations, without duplicates; shared lines come first.

    Two parts share a line if its name and arithmetic are the same.
    """
    owners: dict[tuple[str, str], list[str]] = {}
    answers = {}
    for part, lines in parts.items():
        for line in lines:
            owners.setdefault((line.what, line.arithmetic), []).append(part)
            if line.is_answer:
                answers.setdefault((line.what, line.arithmetic), replace(line, part=part))
    merged: dict[tuple[str, str], Line] = {}
    for part, lines in parts.items():
        own = []
        for line in lines:
            key = (line.what, line.arithmetic)
            line = answers.get(key) or replace(line, part=part if owners[key] == [part] else "")
            if line.part == part:
                own.append((key, line))
            else:
                merged.setdefault(key, line)
        for key, line in own:
            merged.setdefault(key, line)
    return list(merged.values())


def make_step(
    name: str, expression: str, unit: str = "", words: str = "", figures: Mapping | None = None
) -> Step:
    """Make a Step from texts; ``words`` is its name and, after a colon, the reason.

    >>> make_step("moved", "size * N", "bytes", "the bytes: each number crosses once").why
    'each number crosses once'
    """
    what, _, why = words.partition(": ")
    return Step(name, read_expression(expression, figures), unit, what, why)
