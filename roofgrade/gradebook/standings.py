"""How each student stands in one set: what the gradebook and the kept results say together.

The table of a run, feedback, export, the late penalty and the report go by this, so that none of
them takes for 0 what nobody has marked.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import sqlalchemy as sa
from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)

from roofgrade.common.results import GRADED, REFUSED, WAITING, Result
from roofgrade.common.sentences import sentence
from roofgrade.course import Course
from roofgrade.gradebook.result_files import read_results
from roofgrade.judge.shared_claims import withhold_shared

# States beside those of a Result: some of it waits for a person, or nothing has come.
UNREAD, NOT_SUBMITTED = "unread", "nothing"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One student's points in one set.

    ``score`` counts what has been read, before ``penalty``; it is None where nothing has been.
    ``unread`` are the points that wait for a person, in the cells ``waiting``; in those of
    ``by_hand`` a person has set points. ``reason`` says why a submission was refused, or why a
    person is needed.
    """

    student: str
    max_score: float
    state: str = NOT_SUBMITTED
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    score: float | None = None
    penalty: float = 0.0
    unread: float = 0.0
    waiting_cells: tuple[str, ...] = ()
    hand_scored_cells: tuple[str, ...] = ()
    reason: str = ""

    @property
    def final(self) -> float | None:
        """The points that count, or None until all has been read."""
        return self.provisional if self.state == GRADED else None

    @property
    def provisional(self) -> float | None:
        """The points so far, or None where nothing has been marked."""
        return None if self.score is None else max(0.0, self.score - self.penalty)


def is_settled(flagged: Collection[str], standing: Standing) -> bool:
    """Whether a person has set the points of all cells that a person was needed for.

    Where no cell is named, as of what could not be taken in, points settle nothing.
    """
    return bool(flagged) and set(flagged) <= set(standing.hand_scored_cells)


def read_counting_results(course: Course, assignment: str) -> dict[str, Result]:
    """The kept Result of each student that counts, by the student's id, without what may be long.

    The notebook is left out, and so is what was replied; an answer without a reply has None.

    Of several folders the one that a person has to look at goes first, then a graded one: a stray
    file that was refused takes nothing from what was graded beside it. What does not tell whose it
    is, is in none.
    """
    order = (REFUSED, GRADED, WAITING)
    kept = (result for result in read_results(course, assignment) if result.student)
    found = [_drop_long_parts(withhold_shared(result)) for result in kept]
    found.sort(key=lambda result: order.index(result.state))
    return {result.student: result for result in found}


def _drop_long_parts(result):
    answers = {
        name: replace(answer, reply=None if answer.reply is None else {})
        for name, answer in result.answers.items()
    }
    return replace(result, notebook="", answers=answers)


def read_standings(course: Course, assignment: str) -> dict[str, Standing]:
    """Every Standing in one set, by id, for each student on the roster or in a result.

    Raises ValueError if the gradebook does not know the set.
    """
    with Gradebook(course.db_url) as gradebook:
        return query_standings(gradebook, assignment, read_counting_results(course, assignment))


def query_standings(
    gradebook: Gradebook,
    assignment: str,
    kept: Mapping[str, Result] | None = None,
    only: str | None = None,
) -> dict[str, Standing]:
    """Every Standing in an open gradebook, or ``only`` one student's.

    Without the results that were ``kept`` it tells what the gradebook says alone. Raises ValueError
    if the gradebook does not know the set.
    """
    kept = kept or {}
    worth = query_max_score(gradebook, assignment)
    if worth is None:
        raise ValueError(sentence("book.unknown_set", assignment=assignment))
    with gradebook.engine.connect() as connection:
        people = {person.id: person._asdict() for person in connection.execute(_query_people(only))}
        penalties = dict(connection.execute(_query_penalties(assignment, only)).all())
        grades = {}
        for student, *grade in connection.execute(_query_grades(assignment, only)):
            grades.setdefault(student, []).append(grade)
    names = people.keys() | kept.keys() if only is None else {only}
    return {
        name: _make_standing(
            name,
            worth,
            people.get(name, {}),
            penalties.get(name),
            grades.get(name, ()),
            kept.get(name),
        )
        for name in sorted(names)
    }


def query_student_ids(gradebook: Gradebook) -> list[str]:
    """The ids of all students whom an open gradebook knows."""
    with gradebook.engine.connect() as connection:
        return list(connection.scalars(sa.select(Student.id)))


def query_max_score(gradebook: Gradebook, assignment: str) -> float | None:
    """The points that a set is worth; None if the gradebook does not know it."""
    query = sa.select(Assignment.max_score).where(Assignment.name == assignment)
    with gradebook.engine.connect() as connection:
        return connection.scalar(query)


def _query_people(only):
    columns = Student.id, Student.first_name, Student.last_name, Student.email, Student.lms_user_id
    query = sa.select(*columns)
    return query if only is None else query.where(Student.id == only)


def _query_penalties(assignment, only):
    points = sa.func.sum(SubmittedNotebook.late_submission_penalty)
    query = _limit_to_set(sa.select(SubmittedAssignment.student_id, points), assignment, only)
    return query.group_by(SubmittedAssignment.student_id)


def _query_grades(assignment, only):
    columns = Grade.score, Grade.max_score, Grade.needs_manual_grade, Grade.manual_score
    query = sa.select(SubmittedAssignment.student_id, BaseCell.name, *columns)
    return (
        _limit_to_set(query, assignment, only)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
    )


def _limit_to_set(query, assignment, only):
    """The query, limited to what was submitted for one set."""
    query = (
        query.select_from(SubmittedNotebook)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .where(Assignment.name == assignment)
    )
    return query if only is None else query.where(SubmittedAssignment.student_id == only)


def _make_standing(name, worth, person, penalty, grades, result):
    waiting = sorted(cell for cell, _, _, waits, _ in grades if waits)
    marked = [score for _, score, _, waits, _ in grades if not waits]
    state = (UNREAD if waiting else GRADED) if grades else NOT_SUBMITTED
    standing = Standing(
        student=name,
        max_score=worth,
        state=state,
        score=sum(marked) if marked else None,
        penalty=penalty or 0.0,
        unread=sum(most for _, _, most, waits, _ in grades if waits),
        waiting_cells=tuple(waiting),
        hand_scored_cells=tuple(
            sorted(cell for cell, *_, waits, by in grades if by is not None and not waits)
        ),
        **{field: value or "" for field, value in person.items() if field != "id"},
    )
    if result is not None and result.state == REFUSED:
        return replace(standing, state=REFUSED, reason=result.reason, score=None)
    if result is not None and result.state == WAITING and not is_settled(result.flagged, standing):
        return replace(standing, state=WAITING, reason=result.reason)
    return standing
