"""Reads each student's standing in one set from the gradebook and the stored results.

The run's table, feedback, export, late penalties and the report all use standings, so unmarked work
never counts as 0.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import sqlalchemy as sa
from nbgrader import api
from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment, SubmittedNotebook

from roofgrade.common.results import GRADED, REFUSED, WAITING, Result
from roofgrade.common.sentences import sentence
from roofgrade.course import Course
from roofgrade.gradebook.database import open_gradebook
from roofgrade.gradebook.result_files import read_results
from roofgrade.judge.shared_claims import withhold_shared

# States in addition to a Result's: some cells are unread, or nothing was submitted.
UNREAD, NOT_SUBMITTED = "unread", "nothing"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A student's points on a problem set.

    ``score`` is the sum over the cells that have been read, before ``penalty``, or None if there
    are none. ``unread`` is the number of points in ``waiting_cells``. A person has set the points
    of ``hand_scored_cells``. ``reason`` says why a submission was refused or needs a person.
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
    def name(self) -> str:
        """The full name, or the part of it that is on the roster."""
        return " ".join(filter(None, (self.first_name, self.last_name)))

    @property
    def final(self) -> float | None:
        """The final points, or None until everything has been read."""
        return self.provisional if self.state == GRADED else None

    @property
    def provisional(self) -> float | None:
        """The points so far, or None if nothing has been marked."""
        return None if self.score is None else max(0.0, self.score - self.penalty)


def is_settled(flagged: Collection[str], standing: Standing) -> bool:
    """Return whether there are flagged cells and a person has set the points of all of them."""
    return bool(flagged) and set(flagged) <= set(standing.hand_scored_cells)


def read_counting_results(course: Course, assignment: str) -> dict[str, Result]:
    """Return the one Result of each student that counts, by id, without its notebook.

    Replies are dropped, too, but remain None where there was none. If a student has several
    folders, one that needs a person takes precedence, then a graded one, so that a refused stray
    file does not hide graded work. Results without an owner are omitted.
    """
    owned = (result for result in read_results(course, assignment) if result.student)
    results = [_drop_long_parts(withhold_shared(result)) for result in owned]
    results.sort(key=lambda result: (REFUSED, GRADED, WAITING).index(result.state))
    return {result.student: result for result in results}


def _drop_long_parts(result):
    answers = {
        name: replace(answer, reply=None if answer.reply is None else {})
        for name, answer in result.answers.items()
    }
    return replace(result, notebook="", answers=answers)


def read_standings(course: Course, assignment: str) -> dict[str, Standing]:
    """Return the Standing of each student on the roster or with a result, by id.

    Raises ValueError if the gradebook does not have the set.
    """
    with open_gradebook(course) as gradebook:
        return query_standings(gradebook, assignment, read_counting_results(course, assignment))


def query_standings(
    gradebook: Gradebook,
    assignment: str,
    results: Mapping[str, Result] | None = None,
    only: str | None = None,
) -> dict[str, Standing]:
    """Return each student's Standing, or ``only`` one student's, from an open gradebook.

    ``results`` has the students' results by id. Without it, only the gradebook counts. Raises
    ValueError if the gradebook does not have the set.
    """
    results = results or {}
    worth = query_max_score(gradebook, assignment)
    if worth is None:
        raise ValueError(sentence("book.unknown_set", assignment=assignment))
    names = Student.id, Student.first_name, Student.last_name
    students = sa.select(*names, Student.email, Student.lms_user_id)
    students = students if only is None else students.where(Student.id == only)
    sums = SubmittedAssignment.student_id, sa.func.sum(SubmittedNotebook.late_submission_penalty)
    penalty_sums = _limit_to_set(sa.select(*sums), assignment, only).group_by(sums[0])
    with gradebook.engine.connect() as connection:
        people = {person.id: person._asdict() for person in connection.execute(students)}
        penalties = dict(connection.execute(penalty_sums).all())
        grades = {}
        for student, *grade in connection.execute(_query_grades(assignment, only)):
            grades.setdefault(student, []).append(grade)
    ids = people.keys() | results.keys() if only is None else {only}
    return {
        name: _make_standing(
            name, worth, people.get(name, {}), penalties.get(name), grades.get(name, ()),
            results.get(name),
        )
        for name in sorted(ids)
    }  # fmt: skip


def query_student_ids(gradebook: Gradebook) -> list[str]:
    """Return the ids of all students in an open gradebook."""
    with gradebook.engine.connect() as connection:
        return list(connection.scalars(sa.select(Student.id)))


def query_max_score(gradebook: Gradebook, assignment: str) -> float | None:
    """Return the points that a set is worth, or None if the gradebook does not have it."""
    query = sa.select(Assignment.max_score).where(Assignment.name == assignment)
    with gradebook.engine.connect() as connection:
        return connection.scalar(query)


def _query_grades(assignment, only):
    grade, cell = api.Grade, api.BaseCell
    columns = grade.score, grade.max_score, grade.needs_manual_grade, grade.manual_score
    query = sa.select(SubmittedAssignment.student_id, cell.name, *columns)
    query = _limit_to_set(query, assignment, only)
    query = query.join(grade, grade.notebook_id == SubmittedNotebook.id)
    return query.join(cell, cell.id == grade.cell_id)


def _limit_to_set(query, assignment, only):
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
    hand_scored = sorted(cell for cell, *_, waits, by in grades if by is not None and not waits)
    state = (UNREAD if waiting else GRADED) if grades else NOT_SUBMITTED
    standing = Standing(
        student=name, max_score=worth, state=state, score=sum(marked) if marked else None,
        penalty=penalty or 0.0, unread=sum(most for _, _, most, waits, _ in grades if waits),
        waiting_cells=tuple(waiting),
        hand_scored_cells=tuple(hand_scored),
        **{field: value or "" for field, value in person.items() if field != "id"},
    )  # fmt: skip
    if result and result.state == REFUSED:
        return replace(standing, state=REFUSED, reason=result.reason, score=None)
    if result and result.state == WAITING and not is_settled(result.flagged, standing):
        return replace(standing, state=WAITING, reason=result.reason)
    return standing
