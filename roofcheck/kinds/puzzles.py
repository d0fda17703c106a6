"""A function that drives a counting machine, graded by how few bytes it moves."""

import functools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofcheck.kinds.question import Question, Verdict, missing_verdict
from roofcheck.reading.numbers import describe_type, is_missing
from roofcheck.reading.units import format_number
from roofcheck.running import time_limit
from roofcheck.running.counting_machine import Case
from roofcheck.running.time_limit import EndlessError, TimeLimit
from roofcheck.sentences import sentence
from roofcheck.slips.question_slips import Slip
from roofcheck.steps.computation import apply_formula
from roofcheck.steps.derivation import Derivation, Line


@dataclass(frozen=True, kw_only=True)
class Puzzle(Question):
    """Asks for a function that does a computation on a machine with as few bytes as it can.

    ``case`` draws one Case from a Random and the number of the case; ``case_count`` are drawn.

    ``credit`` maps multiples of the least bytes, in rising order, to shares of the points. Up to
    the first multiple an answer gets its share; between two the share falls evenly in the
    logarithm of the bytes; beyond the last it stays. It is rounded to tenths, so that other sizes
    change it little. The case that does worst decides: a schedule has to suit all sizes.

    ``slips`` are told where a case's counts show them, and ``faults`` where its result is wrong
    besides: a Slip's formula takes any of the counts by name and says whether they do; its sentence
    may quote them, as in {X:g}.

    ``least`` derives the least bytes, as a Derivation of the figures that ``sizes`` takes from a
    case; ``best_schedule`` says in a sentence or two which schedule comes near them.

    ``judge`` does in one go what grading does in two places: ``record`` runs the function, where
    that can do no harm, and gives plain data; ``judge_programs`` judges those data.
    """

    case: Callable[[random.Random, int], Case]
    credit: Mapping[float, float]
    case_count: int = 4
    slips: Sequence[Slip] = ()
    faults: Sequence[Slip] = ()
    least: Derivation | None = None
    sizes: Callable[[Case], Mapping[str, float]] | None = None
    best_schedule: str = ""
    seed: str = "public"

    def derivation(self):
        return self.least.symbolic_lines({}, {}, expanded=False) if self.least else []

    def example(self) -> tuple[str, list[Line]]:
        """The sizes of the first public case, and how its least bytes come about, in figures."""
        case = self.case(random.Random("public"), 0)
        if not self.least:
            return case.text(), []
        values = self.sizes(case)
        return case.text(), self.least.lines(
            values, {k: format_number(v) for k, v in values.items()}
        )

    @functools.cached_property
    def cases(self) -> tuple[Case, ...]:
        """The ``case_count`` cases that the function is tried on."""
        rng = random.Random(f"{self.seed}")
        return tuple(self.case(rng, number) for number in range(self.case_count))

    def with_cases(self, seed):
        return replace(self, seed=seed)

    def judge(self, answer):
        if is_missing(answer):
            return missing_verdict(answer)
        if not callable(answer):
            return Verdict(0, sentence("function.not-one", kind=describe_type(answer)))
        return self.judge_programs(self.record(answer))

    def record(self, function) -> list:
        """What the function does in each case: a program, or last a text of what it raised."""
        programs = []
        for case in self.cases:
            # A long schedule takes its time in every case, and none has more than so many steps.
            try:
                programs.append(TimeLimit().call(case.record, function))
            except EndlessError:
                programs.append(sentence("puzzle.endless", seconds=time_limit.SECONDS))
            if isinstance(programs[-1], str):
                break
        return programs

    def judge_programs(self, programs) -> Verdict:
        """A Verdict on what ``record`` gave, or on anything else that came in its place."""
        if not isinstance(programs, list):
            return Verdict(0, sentence("puzzle.no-programs"))
        if programs == [[]] * len(self.cases):
            return Verdict(0, sentence("puzzle.nothing-done"), "missing")
        worst = None
        for case, program in zip(self.cases, programs, strict=False):
            said = isinstance(program, str)
            run = None if said else case.replay(program)
            if said or run.wrong:
                wrong = program if said else run.wrong
                slips = [] if said else _matching_slips(self.faults, run)
                message = sentence("puzzle.in-case", sizes=case.text(), message=wrong)
                return Verdict(0, _join_messages(message, slips, run), slips=_slip_names(slips))
            if worst is None or run.moved_bytes / case.least > worst[0]:
                worst = run.moved_bytes / case.least, case, run
        if len(programs) != len(self.cases):
            return Verdict(0, sentence("puzzle.no-programs"))
        times, case, run = worst
        share = self._points_share(times)
        if share == 1:
            reached = "at-most" if times > 1 else "at-least"
            return Verdict(1, case.sentence(reached, times=f"{times:.3g}")).with_sentence(
                self.praise
            )
        slips = _matching_slips(self.slips, run)
        said = case.sentence("least", times=f"{times:.3g}")
        message = sentence("puzzle.in-case", sizes=case.text(), message=said)
        if not slips:
            message = f"{message} {run.words}"
        return Verdict(share, _join_messages(message, slips, run), slips=_slip_names(slips))

    def _points_share(self, times):
        """The share of the points for so many times the least bytes."""
        if times <= min(self.credit):
            return 1
        logs = [math.log(each) for each in self.credit]
        return round(float(np.interp(math.log(times), logs, list(self.credit.values()))), 1)

    def _redraw_once(self, rng):
        return replace(super()._redraw_once(rng), seed=f"{rng.random()}")


def _matching_slips(slips, run):
    return [slip for slip in slips if run.counts and apply_formula(slip.formula, run.counts)]


def _join_messages(message, slips, run):
    return " ".join([message, *(slip.says.format(**run.counts) for slip in slips)])


def _slip_names(slips):
    return tuple(slip.name for slip in slips)
