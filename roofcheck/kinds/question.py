"""The base class of all questions, with inputs, hints, new draws and verdicts."""

import abc
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofcheck.reading import units
from roofcheck.reading.number_texts import AmbiguousError
from roofcheck.reading.numbers import UnreadableError, describe_missing_answer
from roofcheck.sentences import capitalise, join_items, sentence
from roofcheck.slips.diagnosis import LONGEST_MESSAGE, first_sentence
from roofcheck.steps.algebra import find_names
from roofcheck.steps.computation import apply_formula, formula_arguments
from roofcheck.steps.course_chips import course_chips
from roofcheck.steps.derivation import Line
from roofcheck.steps.inputs import GIVEN_BY_QUESTION, Input
from roofkit._units import find_prefix

TRIES = 500
# If a hint would name more inputs, it omits those that the question states.
MOST_NAMED_INPUTS = 4
# On other sizes of a puzzle, the same schedule may earn this much less credit.
CREDIT_TOLERANCE = 0.15


@dataclass(frozen=True)
class Verdict:
    """The judgement on an answer: credit from 0 to 1, a message, and the slips that match.

    ``state`` is right, partly, wrong, missing, or asked if the answer is ambiguous. ``right`` names
    the right parts of a question with parts.
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
        """Return the verdict with a sentence added to its message."""
        return replace(self, message=f"{self.message} {sentence}".strip())


@dataclass(frozen=True, kw_only=True)
class Question(abc.ABC):
    """The base class of all kinds of questions.

    Parameters
    ----------
    asks : the question's text; {name} stands for an input's value, {chip} for the chips
    inputs : mapping of name to Input
    how : the last hint, on how to combine the inputs
    praise : the sentence that follows "Right"
    points : the points in a problem set
    holds : condition on the inputs by name that a new draw must satisfy
    beside : Markdown from the notebook that is needed to answer; {name} as in ``asks``
    chips : chips, other than those of the inputs, whose specs are needed to answer
    not_reviewed : why review leaves the question out; "" if it asks the question
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
        """Return a Verdict on an answer of any type. Raises only errors of the answer's code."""

    def with_new_figures(self, seed) -> "Question":
        """Return the question with new values drawn from this seed, such as other chips or shapes.

        Raises ValueError if no draw satisfies ``holds`` with every slip distinct from the answer.
        """
        rng = random.Random(f"{seed}")
        for _ in range(TRIES):
            fresh = self._draw_new_figures(rng)
            values = {name: figure.value for name, figure in fresh.all_inputs().items()}
            if (not self.holds or apply_formula(self.holds, values)) and not fresh.problems():
                return fresh
        raise ValueError(f"none of {TRIES} draws of {self.asks!r} keeps its slips distinct")

    def with_case_seed(self, seed) -> "Question":
        """Return the question with cases drawn from this seed, if it has cases."""
        return self

    def judge_for_points(self, answer, seed) -> Verdict:
        """Return the Verdict of ``judge``, or a lower one if this seed's cases earn less.

        The message never quotes those cases.
        """
        other = self.with_case_seed(seed)
        known = self.judge(answer)
        if not known.credit or other is self:
            return known
        return choose_lower_verdict(known, other.judge(answer))

    def all_inputs(self) -> Mapping[str, Input]:
        """Return the inputs by name, including those of all parts."""
        return self.inputs

    def problems(self) -> list[str]:
        """Return errors in the question itself, such as slips that would count as right."""
        return []

    def text(self) -> str:
        """Return the question's text with its values filled in."""
        return self.asks.format(**self._placeholders())

    def context_text(self) -> str:
        """Return ``beside`` with its values filled in; other braces, as in code, stay."""
        words = self._placeholders()
        filled = re.sub(r"\{(\w+)\}", lambda m: str(words.get(m[1], m[0])), self.beside)
        return filled.strip()

    def _placeholders(self):
        inputs = self.all_inputs()
        chips = dict.fromkeys(figure.chips[0] for figure in inputs.values() if figure.chips)
        texts = {name: format_input(figure) for name, figure in inputs.items()}
        return texts | {"chip": join_items(chips)}

    @property
    def has_new_figures(self) -> bool:
        """Whether a new draw has different values."""
        return any(figure.redraw for figure in self.all_inputs().values())

    def derivation(self) -> list[Line]:
        """Return the derivation of the answer, or an empty list if it has no steps."""
        return []

    def hints(self, right: Collection[str] = ()) -> list[str]:
        """Return the hints for the second wrong attempt, the third, and so on; the last repeats.

        Parts that are ``right`` get no hints.
        """
        return self._hints()

    def _hints(self, settled=()):
        """Return the hints, except those about settled steps."""
        formulas = self.formulas()
        steps = [step for formula in formulas for step in getattr(formula, "steps", ())]
        steps = dict.fromkeys(step for step in steps if step not in settled)
        others = [formula for formula in formulas if not hasattr(formula, "steps")]
        used = {name for step in steps for name in find_names(step.tree)}
        used |= {name for formula in others for name in formula_arguments(formula)}
        figures = [
            figure for name, figure in self.all_inputs().items() if figure.what and name in used
        ]
        names = dict.fromkeys(str(figure.what) for figure in figures)
        if len(names) > MOST_NAMED_INPUTS:
            figures = [figure for figure in figures if figure.source != GIVEN_BY_QUESTION]
            names = dict.fromkeys(str(figure.what) for figure in figures)
        what = [sentence("hint.what", inputs=join_items(names))] if names else []
        what += [sentence("hint.step", what=s.what, why=s.why) for s in steps if s.why]
        # The last hint may be about a settled step.
        if not self.how or (settled and what):
            return what
        if self.how.endswith("?"):
            return [*what, sentence("hint.asks", question=self.how)]
        return [*what, sentence("hint.how", how=self.how)]

    def formulas(self) -> list[Callable]:
        """Return the formulas of the answer and its parts."""
        return []

    def with_inputs(self, inputs: Mapping[str, Input]) -> "Question":
        """Return the question with other inputs, without the praise about the original ones."""
        return replace(self, inputs=inputs, praise="")

    def _draw_new_figures(self, rng):
        if not self.has_new_figures:
            return self
        chips = choose_other_chips(self.inputs.values(), rng)
        return self.with_inputs(redraw_inputs(self.inputs, rng, chips))


def missing_verdict(answer) -> Verdict:
    """Return the Verdict for a missing answer, which is ``...`` or None."""
    return Verdict(0, describe_missing_answer(answer), "missing")


def unreadable_verdict(error: UnreadableError) -> Verdict:
    """Return the Verdict for an answer that is unreadable or ambiguous."""
    state = "missing" if error.missing else "wrong"
    return Verdict(0, str(error), "asked" if isinstance(error, AmbiguousError) else state)


def choose_lower_verdict(known: Verdict, other: Verdict) -> Verdict:
    """Return the verdict on the known cases, unless the other verdict has clearly less credit."""
    if other.credit >= known.credit - CREDIT_TOLERANCE:
        return known
    return Verdict(other.credit, sentence("function.known-cases"), slips=("known cases alone",))


def join_part_messages(verdicts: Mapping[str, Verdict]) -> str:
    """Say which parts are right, and what is wrong with each of the others.

    If the text is too long, messages are shortened, and then only the first is given.
    """
    good = [name for name, verdict in verdicts.items() if verdict.credit == 1]
    messages: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        if verdict.credit < 1:
            messages.setdefault(verdict.message, []).append(name)
    right = [sentence("parts.right", names=capitalise(join_items(good)))] if good else []
    for shorten in (str, first_sentence):
        wrong = [
            sentence("parts.one", name=capitalise(join_items(alike)), message=shorten(message))
            for message, alike in messages.items()
        ]
        message = " ".join([*right, *wrong])
        if len(message) <= LONGEST_MESSAGE:
            return message
    others = [name for alike in [*messages.values()][1:] for name in alike]
    later = [sentence("parts.others", names=capitalise(join_items(others)))] if others else []
    return " ".join([*right, wrong[0], *later])


def format_input(figure):
    """Format an input's value for a sentence: 3.35 TB/s, 80, 5·10¹¹."""
    if figure.unit in ("FLOP/s", "byte/s"):
        return format_figure(figure.value, figure.unit.replace("byte", "B"))
    return units.format_number(figure.value)


def format_figure(value, unit):
    """Format a chip's spec with five digits, such as 3.35 TB/s."""
    scale, prefix = find_prefix(value)
    return f"{value / scale:.5g} {prefix}{unit}"


def format_figures(inputs):
    """Format the inputs' values for a derivation.

    Counts and conventions, such as the bytes of a number, are shown without a unit.
    """
    return {
        name: units.append_unit(format_input(figure), figure.unit)
        if figure.source == GIVEN_BY_QUESTION
        and figure.unit in ("s", "bytes", "FLOPs", "FLOP/byte")
        else format_input(figure)
        for name, figure in inputs.items()
    }


def choose_other_chips(inputs, rng):
    """Choose a random replacement, with the specs needed, for each chip of the inputs."""
    inputs = list(inputs)
    mapping: dict[str, str] = {}
    for name in dict.fromkeys(name for figure in inputs for name in figure.chips):
        conditions = [figure.fits_chip for figure in inputs if name in figure.chips]
        pool = [
            chip.name
            for chip in course_chips()
            if chip.name not in mapping.values() and all(fits(chip) for fits in conditions if fits)
        ]
        if not pool:
            raise ValueError(f"no chip in the table can replace {name}")
        mapping[name] = rng.choice(pool)
    return mapping


def redraw_inputs(inputs, rng, chips):
    return {name: figure.with_new_figures(rng, chips) for name, figure in inputs.items()}
