"""A function that drives a counting machine, graded by how few bytes it moves."""

import functools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofcheck.kinds.question import Question, Verdict, missing
from roofcheck.reading.reading import is_missing, kind_of
from roofcheck.reading.units import digits
from roofcheck.running import time_limit
from roofcheck.running.programs import Case
from roofcheck.running.time_limit import EndlessError, TimeLimit
from roofcheck.sentences import say
from roofcheck.slips.slips import Slip
from roofcheck.steps.computation import apply
from roofcheck.steps.derivation import Derivation, Line


@dataclass(frozen=True, kw_only=True)
class Puzzle(Question):
    """Asks for a function that does a computation on a machine with as few bytes as it can.

    ``case`` draws one Case from a Random and the number of the case; ``many`` are drawn.

    ``credit`` maps multiples of the least bytes, in rising order, to shares of the points. Up to
    the first multiple an answer gets its share; between two the share falls evenly in the
    logarithm of the bytes; beyond the last it stays. It is rounded to tenths, so that other sizes
    change it little. The case that does worst decides: a schedule has to suit all sizes.

    ``slips`` are told where a case's counts show them, and ``faults`` where its result is wrong
    besides: a Slip's formula takes any of the counts by name and says whether they do; its sentence
    may quote them, as in {X:g}.

    ``least`` derives the least bytes, as a Derivation of the figures that ``sizes`` takes from a
    case; ``reached`` says in a sentence or two which schedule comes near them.

    ``judge`` does in one go what grading does in two places: ``record`` runs the function, where
    that can do no harm, and gives plain data; ``judge_programs`` judges those data.
    """

    case: Callable[[random.Random, int], Case]
    credit: Mapping[float, float]
    many: int = 4
    slips: Sequence[Slip] = ()
    faults: Sequence[Slip] = ()
    least: Derivation | None = None
    sizes: Callable[[Case], Mapping[str, float]] | None = None
    reached: str = ""
    seed: str = "public"

    def derivation(self):
        return self.least.in_symbols({}, {}, expanded=False) if self.least else []

    def example(self) -> tuple[str, list[Line]]:
        """The sizes of the first public case, and how its least bytes come about, in figures."""
        case = self.case(random.Random("public"), 0)
        if not self.least:
            return case.text(), []
        values = self.sizes(case)
        return case.text(), self.least.lines(values, {k: digits(v) for k, v in values.items()})

    @functools.cached_property
    def cases(self) -> tuple[Case, ...]:
        """The ``many`` cases that the function is tried on."""
        rng = random.Random(f"{self.seed}")
        return tuple(self.case(rng, number) for number in range(self.many))

    def with_cases(self, seed):
        return replace(self, seed=seed)

    def judge(self, answer):
        if is_missing(answer):
            return missing(answer)
        if not callable(answer):
            return Verdict(0, say("function.not-one", kind=kind_of(answer)))
        return self.judge_programs(self.record(answer))

    def record(self, function) -> list:
        """What the function does in each case: a program, or last a text of what it raised."""
        programs = []
        for case in self.cases:
            # A long schedule takes its time in every case, and none has more than so many steps.
            try:
                programs.append(TimeLimit().call(case.record, function))
            except EndlessError:
                programs.append(say("puzzle.endless", seconds=time_limit.SECONDS))
            if isinstance(programs[-1], str):
                break
        return programs

    def judge_programs(self, programs) -> Verdict:
        """A Verdict on what ``record`` gave, or on anything else that came in its place."""
        if not isinstance(programs, list):
            return Verdict(0, say("puzzle.no-programs"))
        if programs == [[]] * len(self.cases):
            return Verdict(0, say("puzzle.nothing-done"), "missing")
        worst = None
        for case, program in zip(self.cases, programs, strict=False):
            said = isinstance(program, str)
            run = None if said else case.replay(program)
            if said or run.wrong:
                wrong = program if said else run.wrong
                slips = [] if said else _shown(self.faults, run)
                message = say("puzzle.in-case", sizes=case.text(), message=wrong)
                return Verdict(0, _told(message, slips, run), slips=_names(slips))
            if worst is None or run.moved / case.least > worst[0]:
                worst = run.moved / case.least, case, run
        if len(programs) != len(self.cases):
            return Verdict(0, say("puzzle.no-programs"))
        times, case, run = worst
        share = self._share(times)
        if share == 1:
            reached = "at-most" if times > 1 else "at-least"
            return Verdict(1, case.say(reached, times=f"{times:.3g}")).adding(self.praise)
        slips = _shown(self.slips, run)
        said = case.say("least", times=f"{times:.3g}")
        message = say("puzzle.in-case", sizes=case.text(), message=said)
        if not slips:
            message = f"{message} {run.words}"
        return Verdict(share, _told(message, slips, run), slips=_names(slips))

    def _share(self, times):
        """The share of the points for so many times the least bytes."""
        if times <= min(self.credit):
            return 1
        logs = [math.log(each) for each in self.credit]
        return round(float(np.interp(math.log(times), logs, list(self.credit.values()))), 1)

    def _drawn_once(self, rng):
        return replace(super()._drawn_once(rng), seed=f"{rng.random()}")


def _shown(slips, run):
    return [slip for slip in slips if run.counts and apply(slip.formula, run.counts)]


def _told(message, slips, run):
    return " ".join([message, *(slip.says.format(**run.counts) for slip in slips)])


def _names(slips):
    return tuple(slip.name for slip in slips)
