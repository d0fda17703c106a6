"""Questions that ask for a function that moves as few bytes as possible on a counting machine."""

import functools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofcheck.kinds.question import Question, Verdict, missing_verdict
from roofcheck.reading.agreement import SAME_RTOL
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
    """A question that asks for a function whose computation on a machine moves few bytes.

    ``case`` draws a Case, given a Random and the case's number; there are ``case_count`` cases.

    ``credit`` maps increasing multiples of the least bytes to shares of the points. Between
    them, the share is interpolated in the logarithm of the bytes (constant outside) and rounded to
    tenths, so other sizes change it little. The worst case decides: a schedule must suit all sizes.

    A Slip's formula takes a case's counts by name and returns whether they show the slip. The
    sentence can quote counts, as in {X:g}. ``faults`` are the slips reported if the result is
    wrong, and ``slips`` those reported if it is right.

    ``least`` is a Derivation of the least bytes from the values that ``sizes`` reads from a case,
    and ``par`` one of the bytes of a good schedule, by default the least. ``best_schedule``
    describes a schedule that comes close to the least bytes.

    Grading splits ``judge`` in two: ``record`` runs the function in a sandbox and returns plain
    data, and ``judge_programs`` judges that data.
    """

    case: Callable[[random.Random, int], Case]
    credit: Mapping[float, float]
    case_count: int = 4
    slips: Sequence[Slip] = ()
    faults: Sequence[Slip] = ()
    least: Derivation
    sizes: Callable[[Case], Mapping[str, float]]
    par: Derivation | None = None
    best_schedule: str = ""
    seed: str = "public"

    def derivation(self):
        return self.least.symbolic_lines({}, {}, expanded=False)

    def example(self) -> tuple[str, list[Line]]:
        """Return the sizes of the first public case and the derivation of its least bytes."""
        case = self.case(random.Random("public"), 0)
        values = self.sizes(case)
        figures = {name: format_number(value) for name, value in values.items()}
        return case.text(), self.least.lines(values, figures)

    @functools.cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases that the function is tested on."""
        rng = random.Random(f"{self.seed}")
        return tuple(self.case(rng, number) for number in range(self.case_count))

    def with_case_seed(self, seed):
        return replace(self, seed=seed)

    def judge(self, answer):
        if is_missing(answer):
            return missing_verdict(answer)
        if not callable(answer):
            return Verdict(0, sentence("function.not-one", kind=describe_type(answer)))
        return self.judge_programs(self.record(answer))

    def play(self, function) -> tuple[float, float, float]:
        """Return the least bytes, par, and the bytes moved in the first case, 0 if it is wrong."""
        case = self.cases[0]
        least, par = (each.value(self.sizes(case)) for each in (self.least, self.par or self.least))
        [program, *_] = replace(self, case_count=1).record(function) if function else [""]
        run = None if isinstance(program, str) else case.replay(program)
        right = run and not run.wrong and run.moved_bytes > least * (1 - SAME_RTOL)
        return least, par, run.moved_bytes if right else 0.0

    def record(self, function) -> list:
        """Return the function's program for each case; the last one may be the text of an error."""
        programs = []
        for case in self.cases:
            # Each case has its own time limit, because a long schedule takes time in every case.
            try:
                programs.append(TimeLimit().call(case.record, function))
            except EndlessError:
                programs.append(sentence("puzzle.endless", seconds=time_limit.SECONDS))
            if isinstance(programs[-1], str):
                break
        return programs

    def judge_programs(self, programs) -> Verdict:
        """Return a Verdict on programs from ``record``, or on data forged by a student."""
        if not isinstance(programs, list):
            return Verdict(0, sentence("puzzle.no-programs"))
        if programs == [[]] * len(self.cases):
            return Verdict(0, sentence("puzzle.nothing-done"), "missing")
        worst = None
        for case, program in zip(self.cases, programs, strict=False):
            failed = isinstance(program, str)
            run = None if failed else case.replay(program)
            if failed or run.wrong:
                wrong = program if failed else run.wrong
                slips = [] if failed else _matching_slips(self.faults, run)
                message = sentence("puzzle.in-case", sizes=case.text(), message=wrong)
                return _verdict_with_slips(0, message, slips, run)
            times = run.moved_bytes / self.least.value(self.sizes(case))
            if times < 1 - SAME_RTOL:
                return Verdict(0, sentence("puzzle.below-least"), slips=("below",))
            if worst is None or times > worst[0]:
                worst = times, case, run
        if len(programs) != len(self.cases):
            return Verdict(0, sentence("puzzle.no-programs"))
        times, case, run = worst
        share = self._points_share(times)
        if share == 1:
            reached = "at-most" if times > 1 else "at-least"
            verdict = Verdict(1, case.sentence(reached, times=f"{times:.3g}"))
            return verdict.with_sentence(self.praise)
        slips = _matching_slips(self.slips, run)
        message = case.sentence("least", times=f"{times:.3g}")
        message = sentence("puzzle.in-case", sizes=case.text(), message=message)
        if not slips:
            message = f"{message} {run.words}"
        return _verdict_with_slips(share, message, slips, run)

    def _points_share(self, times):
        """Return the share of the points for a given multiple of the least bytes."""
        if times <= min(self.credit):
            return 1
        logs = [math.log(multiple) for multiple in self.credit]
        return round(float(np.interp(math.log(times), logs, list(self.credit.values()))), 1)

    def _draw_new_figures(self, rng):
        return replace(super()._draw_new_figures(rng), seed=f"{rng.random()}")


def _matching_slips(slips, run):
    return [slip for slip in slips if run.counts and apply_formula(slip.formula, run.counts)]


def _verdict_with_slips(credit, message, slips, run):
    message = " ".join([message, *(slip.says.format(**run.counts) for slip in slips)])
    return Verdict(credit, message, slips=tuple(slip.name for slip in slips))
