"""What all questions share: inputs, hints, new draws, and the verdict."""

import abc
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofcheck.reading import units
from roofcheck.reading.number_texts import AmbiguousError
from roofcheck.reading.numbers import UnreadableError, word_missing
from roofcheck.sentences import capitalise, join_items, sentence
from roofcheck.steps.computation import apply_formula, formula_arguments
from roofcheck.steps.course_chips import course_chips
from roofcheck.steps.derivation import Line
from roofcheck.steps.inputs import GIVEN_BY_QUESTION, Input
from roofkit._units import find_prefix

TRIES = 500
# A hint names at most so many inputs that the question itself gives.
MOST_NAMED_INPUTS = 4
# The credit of one puzzle on other sizes may be lower by so much, with the same schedule.
CREDIT_TOLERANCE = 0.15


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

    def with_sentence(self, sentence: str) -> "Verdict":
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

    def with_new_figures(self, seed) -> "Question":
        """The same question with figures drawn anew: other chips, other shapes, the same slips.

        Every seed gives one draw, the same everywhere. Raises ValueError if no draw satisfies
        ``holds`` with every slip apart from the right answer.
        """
        rng = random.Random(f"{seed}")
        for _ in range(TRIES):
            fresh = self._redraw_once(rng)
            values = {name: given.value for name, given in fresh.all_inputs().items()}
            if (not self.holds or apply_formula(self.holds, values)) and not fresh.problems():
                return fresh
        raise ValueError(f"no draw of {self.asks!r} in {TRIES} keeps its slips apart")

    def with_cases(self, seed) -> "Question":
        """The same question; one that is judged on cases gets those of this seed."""
        return self

    def judge_for_points(self, answer, seed) -> Verdict:
        """The Verdict of ``judge``, or a lower one if cases of this seed go worse.

        No message quotes those cases.
        """
        other = self.with_cases(seed)
        known = self.judge(answer)
        return (
            lower_verdict(known, other.judge(answer))
            if known.credit and other is not self
            else known
        )

    def all_inputs(self) -> Mapping[str, Input]:
        """The inputs by name, those of all parts where there are parts."""
        return self.inputs

    def problems(self) -> list[str]:
        """What is wrong with the question itself: slips that would be taken for right."""
        return []

    def text(self) -> str:
        """What is asked, with the figures filled in."""
        return self.asks.format(**self._placeholders())

    def context_text(self) -> str:
        """What stands beside it, with the figures filled in; other braces stay, as in code."""
        words = self._placeholders()
        filled = re.sub(r"\{(\w+)\}", lambda m: str(words.get(m[1], m[0])), self.beside)
        return filled.strip()

    def _placeholders(self):
        """What the names in braces stand for."""
        inputs = self.all_inputs()
        return {name: format_input(given) for name, given in inputs.items()} | {
            "chip": name_chips(inputs)
        }

    @property
    def has_new_figures(self) -> bool:
        """Whether a new draw has other figures."""
        return any(given.redraw for given in self.all_inputs().values())

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
        used = {name for formula in formulas for name in formula_arguments(formula)}
        figures = [
            given for name, given in self.all_inputs().items() if given.what and name in used
        ]
        named = dict.fromkeys(str(given.what) for given in figures)
        if len(named) > MOST_NAMED_INPUTS:
            # What the question gives need not be named.
            named = dict.fromkeys(
                str(each.what) for each in figures if each.source != GIVEN_BY_QUESTION
            )
        what = [sentence("hint.what", inputs=join_items(named))] if named else []
        steps = (step for formula in formulas for step in getattr(formula, "steps", ()))
        for step in dict.fromkeys(step for step in steps if step.why and step not in settled):
            what.append(sentence("hint.step", what=capitalise(step.what), why=step.why))
        if not self.how:
            return what
        if self.how.endswith("?"):
            return [*what, sentence("hint.asks", question=self.how)]
        return [*what, sentence("hint.how", how=self.how)]

    def formulas(self) -> list[Callable]:
        """What the answer, or each part of it, is computed by."""
        return []

    def with_inputs(self, inputs: Mapping[str, Input]) -> "Question":
        """The same question with other figures, without the praise written for those it had."""
        return replace(self, inputs=inputs, praise="")

    def _redraw_once(self, rng):
        if not self.has_new_figures:
            return self
        chips = choose_other_chips(self.inputs.values(), rng)
        return self.with_inputs(redraw_inputs(self.inputs, rng, chips))


def missing_verdict(answer) -> Verdict:
    """The Verdict on ``...`` or None, which stand where there is no answer."""
    return Verdict(0, word_missing(answer), "missing")


def unreadable_verdict(error: UnreadableError) -> Verdict:
    """The Verdict on an answer that is no number, for the reason that the error gives.

    One that may be read in two ways is asked about and not judged.
    """
    state = "missing" if error.missing else "wrong"
    return Verdict(0, str(error), "asked" if isinstance(error, AmbiguousError) else state)


def lower_verdict(known: Verdict, other: Verdict) -> Verdict:
    """The verdict on the known cases, unless that on other cases gives clearly less."""
    if other.credit >= known.credit - CREDIT_TOLERANCE:
        return known
    return Verdict(other.credit, sentence("function.known-cases"), slips=("known cases alone",))


def format_input(given):
    """An input's value as a sentence shows it: 3.35 TB/s, 80, 5·10¹¹."""
    if given.unit in ("FLOP/s", "byte/s"):
        return format_figure(given.value, given.unit.replace("byte", "B"))
    return units.format_number(given.value)


def format_figure(value, unit):
    """A chip's figure to five digits: 3.35 TB/s."""
    scale, prefix = find_prefix(value)
    return f"{value / scale:.5g} {prefix}{unit}"


def format_figures(inputs):
    """The inputs' values as a derivation shows them, with the units that arithmetic goes by.

    What is counted, and conventions such as the bytes of a number, are bare factors.
    """
    return {
        name: units.append_unit(format_input(given), given.unit)
        if given.source == GIVEN_BY_QUESTION and given.unit in ("s", "bytes", "FLOPs", "FLOP/byte")
        else format_input(given)
        for name, given in inputs.items()
    }


def name_chips(inputs):
    """The chips whose figures the inputs are, as a sentence names them."""
    return join_items(dict.fromkeys(given.chips[0] for given in inputs.values() if given.chips))


def choose_other_chips(inputs, rng):
    """For each chip of the inputs another that has the same figures."""
    inputs = list(inputs)
    mapping: dict[str, str] = {}
    for name in dict.fromkeys(name for given in inputs for name in given.chips):
        wanted = [given.fits_chip for given in inputs if name in given.chips and given.fits_chip]
        pool = [
            chip.name
            for chip in course_chips()
            if chip.name not in mapping.values() and all(has(chip) for has in wanted)
        ]
        if not pool:
            raise ValueError(f"no chip of the table can stand in for {name}")
        mapping[name] = rng.choice(pool)
    return mapping


def redraw_inputs(inputs, rng, chips):
    return {name: given.with_new_figures(rng, chips) for name, given in inputs.items()}
