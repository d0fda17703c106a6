"""A question's named steps: an answer derived from the inputs, one expression after another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from roofcheck import units
from roofcheck.algebra import ExpressionError, Name, Node, names, read
from roofcheck.amounts import factor


@dataclass(frozen=True)
class Step:
    """One step of a derivation.

    Parameters
    ----------
    name : what later steps call it
    tree : its expression, of inputs and of earlier steps
    unit : the unit of its value
    what : how a sentence names it, such as "the bytes"
    why : what it counts, in a few words; may be empty
    """

    name: str
    tree: Node
    unit: str = ""
    what: str = ""
    why: str = ""


class Derivation:
    """Steps, the last of which gives the answer; called with inputs by name, it gives its value.

    ``names`` are the inputs that it needs. ``unit`` is the unit of the answer, into which the last
    step's is converted.

    >>> moved = Step("moved", read("size * N"), "bytes", "the bytes")
    >>> time = Derivation([moved, Step("time", read("moved / bandwidth"), "s", "the time")], "ms")
    >>> time.names, time(size=2, N=1e9, bandwidth=1e12)
    (('size', 'N', 'bandwidth'), 2.0)
    """

    def __init__(self, steps: Sequence[Step], unit: str = ""):
        self.steps, self.unit = tuple(steps), unit
        defined = {step.name for step in self.steps}
        used = (name for step in self.steps for name in names(step.tree))
        self.names = tuple(dict.fromkeys(name for name in used if name not in defined))
        last = self.steps[-1].unit
        # How many of the answer's unit make one of the last step's.
        self.scale = 1.0 if last == unit else (factor(last, unit) if last else 1.0)
        if self.scale is None:
            raise ExpressionError(f"the last step is in {last}, which cannot be made {unit}")

    def __call__(self, **values) -> float:
        return self.value(values)

    def value(self, values: Mapping, known: Mapping = {}) -> float:
        """The answer; ``known`` holds values that stand in place of steps' own."""
        return self.values(values, known)[self.steps[-1].name] * self.scale

    def values(self, values: Mapping, known: Mapping = {}) -> dict:
        """The value of each input and of each step, by name; ``known`` as for ``value``."""
        found = dict(values)
        for step in self.steps:
            found[step.name] = known[step.name] if step.name in known else step.tree.value(found)
        return found

    def with_step(self, name: str, tree: Node) -> "Derivation":
        """The same derivation with another expression in one step."""
        steps = [replace(step, tree=tree) if step.name == name else step for step in self.steps]
        return Derivation(steps, self.unit)

    def up_to(self, name: str, unit: str) -> "Derivation":
        """The steps that the step of this name needs, and that step, in ``unit``."""
        needed = {name}
        kept: list[Step] = []
        for step in reversed(self.steps):
            if step.name in needed:
                kept.insert(0, step)
                needed |= set(names(step.tree))
        return Derivation(kept, unit)

    def ending(self, tree: Node) -> "Derivation":
        """The steps that an expression needs, and its value in place of the answer.

        >>> time = Derivation([Step("time", read("moved / bandwidth"), "s")], "s")
        >>> time.ending(read("2 * time"))(moved=3, bandwidth=1)
        6.0
        """
        other = Step("", tree, self.unit)
        return Derivation([*self.steps, other], self.unit).up_to(other.name, self.unit)

    def given(self, step: Step) -> "Derivation":
        """The steps up to one on the way, given for the answer: in its unit, if it is such a value.

        >>> moved = Step("moved", read("size * N"), "bytes")
        >>> time = Step("time", read("moved / bandwidth"), "s")
        >>> both = Derivation([moved, time, Step("twice", read("2 * time"), "s")], "ms")
        >>> [both.given(step)(size=2, N=1e9, bandwidth=1e12) for step in (time, moved)]
        [2.0, 2000000000.0]
        """
        if units.DIMENSIONS.get(step.unit) == units.DIMENSIONS.get(self.unit):
            return self.up_to(step.name, self.unit)
        return self.ending(Name(step.name))

    def lines(self, values: Mapping, shown: Callable[[str, Mapping], str]) -> list["Line"]:
        """The derivation with numbers put in, a Line a step; ``shown`` writes a value by its name.

        The last line holds the answer.
        """
        found = self.values(values)
        return [
            Line(
                step.what or step.name,
                step.tree.text(lambda name: shown(name, found)),
                units.in_units(found[step.name] * scale, unit),
                step.why,
            )
            for step in self.steps
            for scale, unit in [
                (self.scale, self.unit) if step is self.steps[-1] else (1.0, step.unit)
            ]
        ]


@dataclass(frozen=True)
class Line:
    """A step with numbers put in: what it is, its arithmetic, its value, and why it is so."""

    what: str
    arithmetic: str
    value: str
    why: str = ""

    def __str__(self):
        why = f"  ({self.why})" if self.why else ""
        # A step that only repeats a figure needs no arithmetic beside its value.
        middle = f" = {self.arithmetic}" if self.arithmetic != self.value else ""
        return f"{self.what}{middle} = {self.value}{why}"


def step(
    name: str, expression: str, unit: str = "", words: str = "", figures: Mapping | None = None
) -> Step:
    """A Step from texts; ``words`` names it and, after a colon, says why it is so.

    >>> step("moved", "size * N", "bytes", "the bytes: each number crosses once").why
    'each number crosses once'
    """
    what, _, why = words.partition(": ")
    return Step(name, read(expression, figures), unit, what, why)
