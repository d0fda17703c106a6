"""How each student stands in one set: what the gradebook and the kept results say together.

Feedback, export and the late penalty go by this, so that none takes for 0 what nobody has marked.
"""

import contextlib
from dataclasses import dataclass, replace

from nbgrader.api import Gradebook, MissingEntry

from roofgrade.book.kept import all_kept
from roofgrade.results import GRADED, PERSON, REFUSED

# What an instructor reads of each, beside "graded".
UNREAD, NOTHING = "not yet read", "nothing handed in"
REFUSED_SAID, PERSON_SAID = "refused", "needs a person"
FIELDS = ("first_name", "last_name", "email", "lms_user_id")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One student's points in one set; None where nothing has been marked.

    ``score`` counts what has been read, before ``penalty``; ``unread`` are the points that wait for
    a person, and ``reason`` is why a submission was refused.
    """

    student: str
    first_name: str
    last_name: str
    email: str
    lms_user_id: str
    state: str
    score: float | None
    penalty: float
    unread: float
    max_score: float
    reason: str = ""

    @property
    def final(self):
        """The points that count, or None until all has been read."""
        return max(0.0, self.score - self.penalty) if self.state == GRADED else None

    @property
    def provisional(self):
        """The points so far, or None where nothing has been marked."""
        return None if self.score is None else max(0.0, self.score - self.penalty)


def results(course, assignment):
    """The kept Result of each student that counts, by the student's id, without its notebook.

    Of several folders the one that a person has to look at goes first, then a graded one: a stray
    file that was refused takes nothing from what was graded beside it.
    """
    order = (REFUSED, GRADED, PERSON)
    found = [replace(result, notebook="") for result in all_kept(course, assignment)]
    found.sort(key=lambda result: order.index(result.state))
    return {result.student: result for result in found}


def standings(course, assignment):
    """Every Standing in one set, by id, for each student on the roster or in a result.

    Raises ValueError if the gradebook does not know the set.
    """
    kept = results(course, assignment)
    with Gradebook(course.db_url) as gradebook:
        names = {student.id for student in gradebook.students} | kept.keys()
        return {
            name: standing_of(gradebook, assignment, name, kept.get(name)) for name in sorted(names)
        }


def standing_of(gradebook, assignment, name, result=None):
    """One student's Standing, by the gradebook and the Result where there is one.

    Raises ValueError if the gradebook does not know the set.
    """
    try:
        max_score = gradebook.find_assignment(assignment).max_score
    except MissingEntry:
        raise ValueError(
            f"the gradebook does not know {assignment!r}: grade it first, with "
            f"python -m roofgrade {assignment}"
        ) from None
    student = submission = None
    with contextlib.suppress(MissingEntry):
        student = gradebook.find_student(name)
        submission = gradebook.find_submission(assignment, name)
    grades = [grade for book in submission.notebooks for grade in book.grades] if submission else []
    unread = sum(grade.max_score for grade in grades if grade.needs_manual_grade)
    said = {REFUSED: REFUSED_SAID, PERSON: PERSON_SAID}.get(result.state if result else "")
    by_hand = any(grade.manual_score is not None for grade in grades)
    if said == PERSON_SAID and by_hand and not unread:
        said = None  # the person has been there
    state = said or ((UNREAD if unread else GRADED) if grades else NOTHING)
    marked = [grade.score for grade in grades if not grade.needs_manual_grade]
    own = {field: (getattr(student, field) or "") if student else "" for field in FIELDS}
    return Standing(
        student=name,
        **own,
        state=state,
        score=sum(marked) if marked and said != REFUSED_SAID else None,
        penalty=(submission.late_submission_penalty or 0.0) if submission else 0.0,
        unread=unread,
        max_score=max_score,
        reason=result.reason if result and said == REFUSED_SAID else "",
    )
