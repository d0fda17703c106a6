"""Regrades one question after a change to its table, without running student code."""

import contextlib
from dataclasses import dataclass, replace

from roofcheck import find_question
from roofcheck.cells import QuestionCall
from roofcheck.kinds import Verdict
from roofcheck.study.check import Grade
from roofcheck.tables.catalogue import questions_of_set
from roofgrade.common.limits import LimitExceededError, call_in_fork
from roofgrade.common.results import Answer
from roofgrade.common.sentences import escape_text, format_points, sentence
from roofgrade.course import Course
from roofgrade.gradebook import result_files
from roofgrade.gradebook.writer import GradebookWriter
from roofgrade.judge import probes
from roofgrade.judge.judging import judge_reply, make_seed
from roofgrade.judge.marking import replace_check_outputs
from roofgrade.judge.shared_claims import has_own_figures


@dataclass(frozen=True)
class AnswerChange:
    """A judged answer with its location and its new verdict, None if grading must run again."""

    student: str
    folder: str
    cell: str
    answer: Answer
    verdict: Verdict | None

    @property
    def before(self) -> float:
        """The points before the change."""
        return self.answer.credit * self.answer.points

    @property
    def after(self) -> float:
        """The points after the change."""
        return self.verdict.credit * self.answer.points if self.verdict else self.before

    def __str__(self):
        if self.verdict is None:
            return sentence("regrade.again", student=escape_text(self.student))
        return sentence(
            "regrade.moves", student=escape_text(self.student), before=format_points(self.before),
            after=format_points(self.after), message=escape_text(self.verdict.message, None),
        )  # fmt: skip


@dataclass(frozen=True)
class Regrading:
    """The changes that regrading a question would make to a set's answers.

    ``moves`` are the changes of points, and the answers that grading must run again.
    """

    assignment: str
    judged: int
    moves: tuple[AnswerChange, ...]
    changes: tuple[AnswerChange, ...]


def preview_regrade(course: Course, assignment: str, question: str) -> Regrading:
    """Return the changes that regrading would make, without saving them.

    Students who name the same ``me`` have no points, so their points do not change. If the
    question's calls changed, such as a function's arguments, grading must run again. Raises
    ValueError if no answer to the question is stored, or if its points changed.
    """
    if question not in (known := questions_of_set(assignment)):
        fields = {"question": question, "known": ", ".join(known)}
        raise ValueError(sentence("regrade.unknown", assignment=assignment, **fields))
    points = find_question(question).points
    judged, moves, changes = 0, [], []
    for result in result_files.read_results(course, assignment):
        for cell, answer in result.answers.items():
            if answer.question != question or answer.reply is None:
                continue
            if answer.points != points:
                fields = {"in_table": points, "graded": answer.points}
                raise ValueError(sentence("regrade.other_points", question=question, **fields))
            judged += 1
            files = result_files.read_files_hash(result.key)
            secret = course.case_secret(assignment, result.student, files)
            verdict = _judge_again(secret, answer, result.student)
            change = AnswerChange(result.student, result.folder, cell, answer, verdict)
            if verdict is None:
                moves.append(change)
            elif verdict != Verdict(answer.credit, answer.message, answer.state, answer.slips):
                changes.append(change)
                is_withheld = result.alike and has_own_figures(answer)
                if change.after != change.before and not is_withheld:
                    moves.append(change)
    if not judged:
        raise ValueError(sentence("regrade.nothing_kept", question=question, assignment=assignment))
    return Regrading(assignment, judged, tuple(moves), tuple(changes))


def apply_regrade(course: Course, regrading: Regrading):
    """Save the changes from ``preview_regrade``, except to answers that were graded again since."""
    name = regrading.assignment
    with result_files.run_lock(course, name), GradebookWriter(course, name) as writer:
        for change in regrading.changes:
            result = result_files.read_result(course, name, change.student, change.folder)
            if result and result.answers.get(change.cell) == change.answer:
                result = _replace_verdict(result, change.cell, change.verdict)
                result_files.write_result(course, result)
                writer.save(result)


def _judge_again(secret, answer, student):
    """Return the Verdict from the current table, or None if the answer must be graded again.

    It must be graded again if the table asks for something else or judging exceeds its limits.
    """
    call = QuestionCall("check", answer.question, answer.asked["expression"], answer.asked["me"])
    seed = make_seed(secret, answer.question)
    probe = probes.make_probe(call, find_question(answer.question), seed)
    if probes.hash_calls(probe) != answer.asked:
        return None
    with contextlib.suppress(LimitExceededError):
        return call_in_fork(judge_reply, call, answer.reply, seed, student)


def _replace_verdict(result, name, verdict):
    answer = result.answers[name]
    notebook = replace_check_outputs(result.notebook, {name: Grade(verdict, answer.points)})
    fields = {field: getattr(verdict, field) for field in ("credit", "state", "message", "slips")}
    answers = result.answers | {name: replace(answer, **fields)}
    return replace(result, notebook=notebook, answers=answers)
