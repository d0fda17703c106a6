"""One question judged again after its table changed, without running student code again."""

import contextlib
from dataclasses import dataclass, replace

import nbformat

from roofcheck import find_question
from roofcheck.cells import Asked
from roofcheck.kinds import Verdict
from roofcheck.study.student import Grade
from roofgrade.common.limits import TooMuchError, apart
from roofgrade.common.results import Answer
from roofgrade.common.sentences import escaped, number, words
from roofgrade.course import Course
from roofgrade.gradebook import kept
from roofgrade.gradebook.gradebook import Writer
from roofgrade.judge import probes
from roofgrade.judge.alike import is_ones_own
from roofgrade.judge.judging import judge, seed_for
from roofgrade.judge.marking import check_output
from roofgrade.judge.outputs import written


@dataclass(frozen=True)
class Move:
    """Whose points change, from what to what; or whose answer has to be asked for ``again``."""

    student: str
    before: float
    after: float
    message: str = ""
    again: bool = False

    def __str__(self):
        if self.again:
            return words("regrade.again", student=escaped(self.student))
        before, after = number(self.before), number(self.after)
        message = escaped(self.message, None)
        student = escaped(self.student)
        return words("regrade.moves", student=student, before=before, after=after, message=message)


@dataclass(frozen=True)
class Change:
    """An answer as it was judged, how it is judged now, and where it stands."""

    student: str
    folder: str
    cell: str
    answer: Answer
    verdict: Verdict


@dataclass(frozen=True)
class Regrading:
    """What judging a question again changes, for those in a set whose answers are kept."""

    assignment: str
    judged: int
    moves: tuple[Move, ...]
    changes: tuple[Change, ...]


def preview(course: Course, assignment: str, question: str) -> Regrading:
    """Tell who moves, and by how much, without changing anything.

    Who names the same ``me`` as another gets nothing for it, and does not move. A question whose
    calls changed, as new arguments of a function do, has to run again: each such student is among
    the moves, with the reason. Raises ValueError if no answer to the question is kept, or if its
    points changed.
    """
    points = find_question(question).points
    judged, moves, changes = 0, [], []
    for result in kept.all_kept(course, assignment):
        for cell, answer in result.answers.items():
            if answer.question != question or answer.reply is None:
                continue
            if answer.points != points:
                both = {"in_table": points, "graded": answer.points}
                raise ValueError(words("regrade.other_points", question=question, **both))
            judged += 1
            before = answer.credit * points
            secret = course.secret(assignment, result.student, kept.files_of(result.key))
            verdict = _judged(secret, answer, result.student)
            if verdict is None:
                moves.append(Move(result.student, before, before, again=True))
            elif verdict != _verdict(answer):
                after = verdict.credit * points
                changes.append(Change(result.student, result.folder, cell, answer, verdict))
                if after != before and not (result.alike and is_ones_own(answer)):
                    moves.append(Move(result.student, before, after, verdict.message))
    if not judged:
        named = {"question": question, "assignment": assignment}
        raise ValueError(words("regrade.nothing_kept", **named))
    return Regrading(assignment, judged, tuple(moves), tuple(changes))


def apply(course: Course, regrading: Regrading):
    """Keep and save what ``preview`` found, but for answers that were graded anew since."""
    with kept.alone(course, regrading.assignment), Writer(course, regrading.assignment) as writer:
        for change in regrading.changes:
            result = kept.kept(course, regrading.assignment, change.student, change.folder)
            if result and result.answers.get(change.cell) == change.answer:
                result = _with(result, change.cell, change.verdict)
                kept.keep(course, result)
                writer.put(result)


def _judged(secret, answer, student):
    """The Verdict as the table is now; None if the answer has to be asked for again.

    That is so where the table asks for something else than was replied, or judging takes too much.
    """
    asked = Asked("check", answer.question, answer.asked["expression"], answer.asked["me"])
    seed = seed_for(secret, answer.question)
    probe = probes.probe(asked, find_question(answer.question), seed)
    if probes.digest(probe) != answer.asked:
        return None
    with contextlib.suppress(TooMuchError):
        return apart(judge, asked, answer.reply, seed, student)


def _verdict(answer):
    return Verdict(answer.credit, answer.message, answer.state, answer.slips)


def _with(result, name, verdict):
    """The result with one answer judged anew, in its notebook too."""
    answer = result.answers[name]
    notebook = nbformat.reads(result.notebook, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == name:
            cell.outputs = [check_output(Grade(verdict, answer.points), cell.execution_count)]
    told = replace(
        answer, credit=verdict.credit, state=verdict.state, message=verdict.message,
        slips=verdict.slips,
    )  # fmt: skip
    answers = result.answers | {name: told}
    return replace(result, notebook=written(notebook), answers=answers)
