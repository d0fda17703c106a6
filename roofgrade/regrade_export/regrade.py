"""One question judged again after its table changed, without running student code again."""

import contextlib
from dataclasses import dataclass, replace

import nbformat

from roofcheck import find_question
from roofcheck.cells import QuestionCall
from roofcheck.kinds import Verdict
from roofcheck.study.check import Grade
from roofgrade.common.limits import LimitExceededError, call_in_fork
from roofgrade.common.results import Answer
from roofgrade.common.sentences import escape_text, format_points, sentence
from roofgrade.course import Course
from roofgrade.gradebook import result_files
from roofgrade.gradebook.writer import GradebookWriter
from roofgrade.judge import probes
from roofgrade.judge.judging import judge_reply, make_seed
from roofgrade.judge.marking import make_check_output
from roofgrade.judge.outputs import format_notebook
from roofgrade.judge.shared_claims import has_own_figures


@dataclass(frozen=True)
class PointChange:
    """Whose points change, from what to what; or whose answer has to be asked for ``again``."""

    student: str
    before: float
    after: float
    message: str = ""
    again: bool = False

    def __str__(self):
        if self.again:
            return sentence("regrade.again", student=escape_text(self.student))
        before, after = format_points(self.before), format_points(self.after)
        message = escape_text(self.message, None)
        student = escape_text(self.student)
        return sentence(
            "regrade.moves", student=student, before=before, after=after, message=message
        )


@dataclass(frozen=True)
class AnswerChange:
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
    moves: tuple[PointChange, ...]
    changes: tuple[AnswerChange, ...]


def preview_regrade(course: Course, assignment: str, question: str) -> Regrading:
    """Tell who moves, and by how much, without changing anything.

    Who names the same ``me`` as another gets nothing for it, and does not move. A question whose
    calls changed, as new arguments of a function do, has to run again: each such student is among
    the moves, with the reason. Raises ValueError if no answer to the question is kept, or if its
    points changed.
    """
    points = find_question(question).points
    judged, moves, changes = 0, [], []
    for result in result_files.read_results(course, assignment):
        for cell, answer in result.answers.items():
            if answer.question != question or answer.reply is None:
                continue
            if answer.points != points:
                both = {"in_table": points, "graded": answer.points}
                raise ValueError(sentence("regrade.other_points", question=question, **both))
            judged += 1
            before = answer.credit * points
            secret = course.case_secret(
                assignment, result.student, result_files.read_files_hash(result.key)
            )
            verdict = _judge_again(secret, answer, result.student)
            if verdict is None:
                moves.append(PointChange(result.student, before, before, again=True))
            elif verdict != _rebuild_verdict(answer):
                after = verdict.credit * points
                changes.append(AnswerChange(result.student, result.folder, cell, answer, verdict))
                if after != before and not (result.alike and has_own_figures(answer)):
                    moves.append(PointChange(result.student, before, after, verdict.message))
    if not judged:
        named = {"question": question, "assignment": assignment}
        raise ValueError(sentence("regrade.nothing_kept", **named))
    return Regrading(assignment, judged, tuple(moves), tuple(changes))


def apply_regrade(course: Course, regrading: Regrading):
    """Keep and save what ``preview_regrade`` found, but for answers that were graded anew since."""
    with (
        result_files.run_lock(course, regrading.assignment),
        GradebookWriter(course, regrading.assignment) as writer,
    ):
        for change in regrading.changes:
            result = result_files.read_result(
                course, regrading.assignment, change.student, change.folder
            )
            if result and result.answers.get(change.cell) == change.answer:
                result = _replace_verdict(result, change.cell, change.verdict)
                result_files.write_result(course, result)
                writer.save(result)


def _judge_again(secret, answer, student):
    """The Verdict as the table is now; None if the answer has to be asked for again.

    That is so where the table asks for something else than was replied, or judging takes too much.
    """
    asked = QuestionCall("check", answer.question, answer.asked["expression"], answer.asked["me"])
    seed = make_seed(secret, answer.question)
    probe = probes.make_probe(asked, find_question(answer.question), seed)
    if probes.hash_calls(probe) != answer.asked:
        return None
    with contextlib.suppress(LimitExceededError):
        return call_in_fork(judge_reply, asked, answer.reply, seed, student)


def _rebuild_verdict(answer):
    return Verdict(answer.credit, answer.message, answer.state, answer.slips)


def _replace_verdict(result, name, verdict):
    """The result with one answer judged anew, in its notebook too."""
    answer = result.answers[name]
    notebook = nbformat.reads(result.notebook, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == name:
            cell.outputs = [make_check_output(Grade(verdict, answer.points), cell.execution_count)]
    told = replace(
        answer, credit=verdict.credit, state=verdict.state, message=verdict.message,
        slips=verdict.slips,
    )  # fmt: skip
    answers = result.answers | {name: told}
    return replace(result, notebook=format_notebook(notebook), answers=answers)
