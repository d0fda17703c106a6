"""Questions that ask for a student's own figures, and for others computed from them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from roofcheck.kinds.numbers import Several
from roofcheck.kinds.question import Verdict, join_part_messages, unreadable_verdict
from roofcheck.reading.agreement import SAME_RTOL
from roofcheck.reading.number_texts import UnreadableError
from roofcheck.reading.numbers import read_number
from roofcheck.reading.units import format_value
from roofcheck.sentences import join_items, sentence
from roofcheck.slips.diagnosis import first_that_fits
from roofcheck.steps.derivation import merge_parts

# A measured variable has more digits than this; a figure typed from the screen has fewer.
MOST_TYPED_DIGITS = 6
LONGEST_REPORT = 500  # of a message on a rule and on the computed parts


@dataclass(frozen=True)
class OwnFigure:
    """A part that a student measures or chooses: the input it sets, and the values it may have."""

    input: str
    between: tuple[float, float] = ()
    one_of: Sequence[float] = ()
    whole: bool = False

    def read(self, answer, unit) -> float:
        """Return the figure. Raises UnreadableError, also if it was computed instead of typed.

        Grading runs the notebook on another machine, where a measured variable would change.
        """
        given = read_number(answer, unit)
        if given.digits > MOST_TYPED_DIGITS:
            raise UnreadableError(sentence("report.typed"))
        if self.one_of and given.value not in self.one_of:
            options = join_items([f"{option:g}" for option in self.one_of], "or")
            raise UnreadableError(sentence("report.one-of", options=options))
        if self.whole and given.value % 1:
            raise UnreadableError(sentence("report.whole"))
        low, high = self.between or (-math.inf, math.inf)
        if not low * (1 - SAME_RTOL) <= given.value <= high * (1 + SAME_RTOL):
            low, high = (format_value(limit, unit) for limit in self.between)
            key = "report.between" if unit else "report.beyond"
            given = format_value(given.value, unit)
            raise UnreadableError(sentence(key, given=given, low=low, high=high))
        return given.value


@dataclass(frozen=True)
class Rule:
    """A condition on inputs and steps that a report must not meet, such as ``clock < least``.

    ``says`` explains it, with values by name, as in {least}. ``keeps`` is the share of the credit
    that is left; a report that keeps nothing is refused as a whole.
    """

    name: str
    is_broken: Callable
    says: str
    keeps: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Report(Several):
    """A question that asks for figures of the student's own, and for others computed from them.

    ``own`` maps some parts to OwnFigures. They replace the table's inputs, so the other parts are
    judged, with all their slips, by what the student measured or chose. They earn no credit
    themselves. The first of the ``rules`` that the report breaks is reported.
    """

    own: Mapping[str, OwnFigure]
    rules: Sequence[Rule] = ()

    def derivation(self):
        computed = {name: part for name, part in self.parts.items() if name not in self.own}
        return merge_parts({name: part.derivation() for name, part in computed.items()})

    def _judge_parts(self, answers):
        values, troubles = {}, {}
        for name, figure in self.own.items():
            try:
                values[figure.input] = figure.read(answers[name], self.parts[name].unit)
            except UnreadableError as error:
                troubles[name] = unreadable_verdict(error)
        if troubles:
            state = next(iter(troubles.values())).state
            return Verdict(0, join_part_messages(troubles), state, slips=("own figures",))
        report = self.with_own_figures(values)
        computed = {name: part for name, part in report.parts.items() if name not in self.own}
        rest = Several(asks=self.asks, parts=computed, praise=self.praise)
        verdict = rest.judge({name: answers[name] for name in computed})
        rule, said = report.find_broken_rule()
        if not rule:
            return verdict
        # Whoever computed something else than the rule's sentence says needs to know why.
        messages = [said, verdict.message] if verdict.credit < 1 else [said]
        message = first_that_fits([" ".join(messages), said], LONGEST_REPORT)
        credit = rule.keeps * verdict.credit
        return Verdict(credit, message, slips=(rule.name,), right=verdict.right)

    def with_own_figures(self, values: Mapping[str, float]) -> "Report":
        """Return the report with these values in place of the table's inputs."""
        parts = {
            name: replace(part, inputs={
                key: replace(figure, value=values.get(key, figure.value))
                for key, figure in part.inputs.items()
            })
            for name, part in self.parts.items()
        }  # fmt: skip
        return replace(self, parts=parts)

    def find_broken_rule(self) -> tuple[Rule | None, str]:
        """Return the first rule that the figures break, and its sentence, or (None, "")."""
        values, texts = {}, {}
        for part in self.parts.values():
            inputs = {name: figure.value for name, figure in part.inputs.items()}
            values |= part.formula.values(inputs)
            units = {name: figure.unit for name, figure in part.inputs.items()}
            units |= {step.name: step.unit for step in part.formula.steps}
            texts |= {name: format_value(values[name], unit) for name, unit in units.items()}
        for rule in self.rules:
            if rule.is_broken(**values):
                return rule, rule.says.format_map(texts)
        return None, ""
