"""Due dates, which come from ``course/term.toml`` if it has them, and students' extensions.

nbgrader stores an extension with a submission, so until there is one, a note keeps it.
"""

import contextlib
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from nbgrader.api import Gradebook, MissingEntry, SubmittedAssignment

from roofcheck.course import INDEX
from roofcheck.course import Course as Contents
from roofgrade.common.sentences import sentence
from roofgrade.course import Course
from roofgrade.gradebook.database import NOTES_TABLE, CourseGradebook, open_gradebook


def update_due_date(gradebook: Gradebook, course: Course, assignment: str) -> datetime | None:
    """Set a set's due date to the one in term.toml, if any, and return the date that counts.

    Raises ValueError if term.toml is invalid. nbgrader stores UTC without a time zone.
    """
    is_contents = (course.root / INDEX).is_file()
    due = Contents(course.root).term.due.get(assignment) if is_contents else None
    due = due and due.astimezone(UTC).replace(tzinfo=None)
    with contextlib.suppress(MissingEntry):
        entry = gradebook.find_assignment(assignment)
        if due and due != entry.duedate:
            entry.duedate = due
            gradebook.db.commit()
        due = entry.duedate
    return due and due.replace(tzinfo=UTC)


def find_last_due_date(course: Course, assignment: str) -> datetime | None:
    """Return the last due date of a set, including extensions, or None if it has none."""
    name = NOTES_TABLE.c.name
    notes = sa.select(name).where(name.startswith(_note_name(assignment, ""), autoescape=True))
    with open_gradebook(course) as book, book.transaction():
        due = update_due_date(book, course, assignment)
        days = [book.read_note(each).get("days", 0) for each in book.db.scalars(notes)]
        with contextlib.suppress(MissingEntry):
            extensions = [each.extension for each in book.assignment_submissions(assignment)]
            days += [extension / timedelta(days=1) for extension in extensions if extension]
    return due and due + timedelta(days=max(days, default=0))


def grant_extension(course: Course, assignment: str, student: str, days: float):
    """Give a student this many days after the due date. Replaces any earlier extension.

    Raises ValueError if the set has no due date, or the student is not in the gradebook.
    """
    course.release_path(assignment)
    with open_gradebook(course) as book, book.transaction():
        if update_due_date(book, course, assignment) is None:
            raise ValueError(sentence("extend.no_date", assignment=assignment))
        try:
            book.find_student(student)
        except MissingEntry:
            raise ValueError(sentence("extend.nobody", student=student)) from None
        with contextlib.suppress(MissingEntry):
            book.grant_extension(assignment, student, days=days)
        book.write_note(_note_name(assignment, student), {"days": days})


def apply_extension(book: CourseGradebook, assignment: str, submission: SubmittedAssignment):
    """Give a new submission the extension granted before it was handed in, in a transaction."""
    note = book.read_note(_note_name(assignment, submission.student.id))
    if submission.extension is None and note.get("days"):
        submission.extension = timedelta(days=note["days"])


def _note_name(assignment, student):
    return f"extension {assignment} {student}"
