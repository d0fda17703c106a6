"""What all questions share: inputs, hints, new draws, and the verdict."""

import abc
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofcheck.reading import units
from roofcheck.reading.reading import UnreadableError, none_said
from roofcheck.reading.texts import AmbiguousError
from roofcheck.sentences import capital, listed, say
from roofcheck.steps.chips import course_chips
from roofcheck.steps.computation import apply, arguments
from roofcheck.steps.derivation import Line
from roofcheck.steps.inputs import GIVEN, Input
from roofkit._units import prefixed

TRIES = 500
# A hint names at most so many inputs that the question itself gives.
MANY = 4
# The credit of one puzzle on other sizes may be lower by so much, with the same schedule.
LITTLE = 0.15


@dataclass(frozen=True)
class Verdict:
    """What a question says of an answer: credit from 0 to 1, why, and the slips it recognised.

    ``state`` is right, partly, wrong, missing, or asked where an answer could mean several things;
    ``slips`` is empty where none is known; ``right`` names the parts that are right, if there are
    parts.
    """

    credit: float
    message: str
    state: str = ""
    slips: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.state:
            state = "right" if self.credit == 1 else "partly" if self.credit else "wrong"
            object.__setattr__(self, "state", state)

    def adding(self, sentence: str) -> "Verdict":
        """The same verdict with a further sentence."""
        return replace(self, message=f"{self.message} {sentence}".strip())


@dataclass(frozen=True, kw_only=True)
class Question(abc.ABC):
    """What all kinds share.

    Parameters
    ----------
    asks : what is asked, in a sentence; {name} stands for an input's value, {chip} for the chips
    inputs : mapping of name to Input
    how : how the inputs combine, the last of the hints
    praise : what to say of a right answer beside "Right"
    points : what it is worth in a problem set
    holds : function of inputs by name that a new draw must satisfy
    beside : what its notebook has above it and an answer needs, as Markdown; {name} as in ``asks``
    chips : further chips whose figures an answer needs, beside those of the inputs
    not_reviewed : why review does not ask it; "" where it does
    """

    asks: str
    inputs: Mapping[str, Input] = field(default_factory=dict)
    how: str = ""
    praise: str = ""
    points: float = 0.0
    holds: Callable | None = None
    beside: str = ""
    chips: Sequence[str] = ()
    not_reviewed: str = ""

    @abc.abstractmethod
    def judge(self, answer) -> Verdict:
        """A Verdict on an answer of any type; raises only what the answer itself raises."""

    def drawn(self, seed) -> "Question":
        """The same question with figures drawn anew: other chips, other shapes, the same slips.

        Every seed gives one draw, the same everywhere. Raises ValueError if no draw satisfies
        ``holds`` with every slip apart from the right answer.
        """
        rng = random.Random(f"{seed}")
        for _ in range(TRIES):
            fresh = self._drawn_once(rng)
            values = {name: given.value for name, given in fresh.figures().items()}
            if (not self.holds or apply(self.holds, values)) and not fresh.problems():
                return fresh
        raise ValueError(f"no draw of {self.asks!r} in {TRIES} keeps its slips apart")

    def with_cases(self, seed) -> "Question":
        """The same question; one that is judged on cases gets those of this seed."""
        return self

    def judge_where_it_counts(self, answer, seed) -> Verdict:
        """The Verdict of ``judge``, or a lower one if cases of this seed go worse.

        No message quotes those cases.
        """
        other = self.with_cases(seed)
        known = self.judge(answer)
        return lower(known, other.judge(answer)) if known.credit and other is not self else known

    def figures(self) -> Mapping[str, Input]:
        """The inputs by name, those of all parts where there are parts."""
        return self.inputs

    def problems(self) -> list[str]:
        """What is wrong with the question itself: slips that would be taken for right."""
        return []

    def text(self) -> str:
        """What is asked, with the figures filled in."""
        return self.asks.format(**self._words())

    def text_beside(self) -> str:
        """What stands beside it, with the figures filled in; other braces stay, as in code."""
        words = self._words()
        filled = re.sub(r"\{(\w+)\}", lambda m: str(words.get(m[1], m[0])), self.beside)
        return filled.strip()

    def _words(self):
        """What the names in braces stand for."""
        inputs = self.figures()
        return {name: shown(given) for name, given in inputs.items()} | {"chip": chips_of(inputs)}

    @property
    def varies(self) -> bool:
        """Whether a new draw has other figures."""
        return any(given.again for given in self.figures().values())

    def derivation(self) -> list[Line]:
        """How the answer is derived, with this question's own figures; empty if it has no steps."""
        return []

    def hints(self, right: Collection[str] = ()) -> list[str]:
        """What to say on the second wrong try, on the third, and so on; the last stays.

        ``right`` names the parts that are right, of which no more is said.
        """
        return self._hints()

    def _hints(self, settled=()):
        """The hints without the steps that are settled."""
        formulas = self.formulas()
        used = {name for formula in formulas for name in arguments(formula)}
        figures = [given for name, given in self.figures().items() if given.what and name in used]
        named = dict.fromkeys(str(given.what) for given in figures)
        if len(named) > MANY:
            # What the question gives need not be named.
            named = dict.fromkeys(str(each.what) for each in figures if each.source != GIVEN)
        what = [say("hint.what", inputs=listed(named))] if named else []
        steps = (step for formula in formulas for step in getattr(formula, "steps", ()))
        for step in dict.fromkeys(step for step in steps if step.why and step not in settled):
            what.append(say("hint.step", what=capital(step.what), why=step.why))
        if not self.how:
            return what
        if self.how.endswith("?"):
            return [*what, say("hint.asks", question=self.how)]
        return [*what, say("hint.how", how=self.how)]

    def formulas(self) -> list[Callable]:
        """What the answer, or each part of it, is computed by."""
        return []

    def with_inputs(self, inputs: Mapping[str, Input]) -> "Question":
        """The same question with other figures, without the praise written for those it had."""
        return replace(self, inputs=inputs, praise="")

    def _drawn_once(self, rng):
        if not self.varies:
            return self
        chips = other_chips(self.inputs.values(), rng)
        return self.with_inputs(drawn_inputs(self.inputs, rng, chips))


def missing(answer) -> Verdict:
    """The Verdict on ``...`` or None, which stand where there is no answer."""
    return Verdict(0, none_said(answer), "missing")


def unreadable(error: UnreadableError) -> Verdict:
    """The Verdict on an answer that is no number, for the reason that the error gives.

    One that may be read in two ways is asked about and not judged.
    """
    state = "missing" if error.missing else "wrong"
    return Verdict(0, str(error), "asked" if isinstance(error, AmbiguousError) else state)


def lower(known: Verdict, other: Verdict) -> Verdict:
    """The verdict on the known cases, unless that on other cases gives clearly less."""
    if other.credit >= known.credit - LITTLE:
        return known
    return Verdict(other.credit, say("function.known-cases"), slips=("known cases alone",))


def shown(given):
    """An input's value as a sentence shows it: 3.35 TB/s, 80, 5·10¹¹."""
    if given.unit in ("FLOP/s", "byte/s"):
        return shown_figure(given.value, given.unit.replace("byte", "B"))
    return units.digits(given.value)


def shown_figure(value, unit):
    """A chip's figure to five digits: 3.35 TB/s."""
    scale, prefix = prefixed(value)
    return f"{value / scale:.5g} {prefix}{unit}"


def shown_figures(inputs):
    """The inputs' values as a derivation shows them, with the units that arithmetic goes by.

    What is counted, and conventions such as the bytes of a number, are bare factors.
    """
    return {
        name: units.with_unit(shown(given), given.unit)
        if given.source == GIVEN and given.unit in ("s", "bytes", "FLOPs", "FLOP/byte")
        else shown(given)
        for name, given in inputs.items()
    }


def chips_of(inputs):
    """The chips whose figures the inputs are, as a sentence names them."""
    return listed(dict.fromkeys(given.chips[0] for given in inputs.values() if given.chips))


def other_chips(inputs, rng):
    """For each chip of the inputs another that has the same figures."""
    inputs = list(inputs)
    mapping: dict[str, str] = {}
    for name in dict.fromkeys(name for given in inputs for name in given.chips):
        wanted = [given.has for given in inputs if name in given.chips and given.has]
        pool = [
            chip.name
            for chip in course_chips()
            if chip.name not in mapping.values() and all(has(chip) for has in wanted)
        ]
        if not pool:
            raise ValueError(f"no chip of the table can stand in for {name}")
        mapping[name] = rng.choice(pool)
    return mapping


def drawn_inputs(inputs, rng, chips):
    return {name: given.drawn(rng, chips) for name, given in inputs.items()}
