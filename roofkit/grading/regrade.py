"""One question judged again after its table changed, without running student code again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import nbformat

from roofkit.check import find_question
from roofkit.check.student import Grade
from roofkit.grading import kept, probes
from roofkit.grading.course import Course
from roofkit.grading.gradebook import Writer
from roofkit.grading.judging import judge, seed_for
from roofkit.grading.marking import shown
from roofkit.grading.results import Result


@dataclass(frozen=True)
class Move:
    """Whose points change, from what to what; or, with ``why``, whose answer cannot be judged."""

    student: str
    before: float
    after: float
    message: str = ""
    why: str = ""


@dataclass(frozen=True)
class Regrading:
    """What judging a question again changes, for those in a set whose answers are kept."""

    assignment: str
    question: str
    judged: int
    moves: tuple[Move, ...]
    results: tuple[Result, ...]


def preview(course: Course, assignment: str, question: str) -> Regrading:
    """Who moves and by how much; nothing is changed yet. Raises ValueError for another's question.

    A question whose calls changed, as new arguments of a function do, has to run again: each such
    student is among the moves, with the reason.
    """
    table = find_question(question)
    judged, moves, results = 0, [], []
    for result in kept.all_kept(course, assignment):
        for name, answer in result.answers.items():
            if answer.question != question or answer.reply is None:
                continue
            judged += 1
            if answer.points != table.points:
                raise ValueError(
                    f"{question} is worth {table.points:g} points in its table and "
                    f"{answer.points:g} in what was graded: make the release anew, then grade"
                )
            asked = probes.Asked(question, answer.asked["expression"], answer.asked["me"])
            seed = seed_for(course.secret(assignment, result.student), question)
            before = answer.credit * answer.points
            if probes.digest(probes.probe(asked, table, seed)) != answer.asked:
                why = "its calls changed: grade again with --again"
                moves.append(Move(result.student, before, before, why=why))
                continue
            verdict = judge(asked, answer.reply, seed)
            told = replace(
                answer, credit=verdict.credit, state=verdict.state, message=verdict.message,
                slips=verdict.slips,
            )  # fmt: skip
            if told != answer:
                grade = Grade(verdict, table.points)
                results.append(_with(result, name, told, grade))
                if grade != before:
                    moves.append(Move(result.student, before, float(grade), verdict.message))
    if not judged:
        raise ValueError(
            f"no kept answer of {assignment} is to {question!r}: grade {assignment} first"
        )
    return Regrading(assignment, question, judged, tuple(moves), tuple(results))


def apply(course: Course, regrading: Regrading) -> int:
    """Keep and save what ``preview`` found; how many results changed."""
    with Writer(course, regrading.assignment) as writer:
        for result in regrading.results:
            kept.keep(course, result)
            writer.put(result)
    return len(regrading.results)


def summary(moves: Iterable[Move]) -> str:
    """A line a student."""
    return "\n".join(
        f"{move.student}: {move.why or f'{move.before:g} -> {move.after:g}. {move.message}'}"
        for move in moves
    )


def _with(result, name, answer, grade):
    notebook = nbformat.reads(result.notebook, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == name:
            cell.outputs = [shown(grade, cell.execution_count)]
    return replace(
        result,
        notebook=nbformat.writes(notebook),
        answers=result.answers | {name: answer},
    )
