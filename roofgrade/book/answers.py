"""Whether the answers of a set are released, so that feedback pages may hold their derivations.

An empty file in the set's own folder of ``grading/`` says that they are.
"""

import contextlib
import datetime

from nbgrader.api import Gradebook, MissingEntry

from roofgrade import safe
from roofgrade.course import Course

RELEASED = "answers-released"


def release(course: Course, assignment: str):
    """Release the answers of a set. Raises ValueError if there is no such set."""
    course.release(assignment)
    with safe.opened(course.own, assignment, make=True, shared=course.shared) as folder:
        safe.touch(folder, RELEASED)


def withdraw(course: Course, assignment: str):
    """Take the release back; nothing happens where there is none."""
    course.release(assignment)
    with contextlib.suppress(FileNotFoundError):
        (course.own / assignment / RELEASED).unlink()


def are_released(course: Course, assignment: str) -> bool:
    """Whether the answers of a set are released."""
    return (course.root / "grading" / assignment / RELEASED).is_file()


def due(course: Course, assignment: str) -> datetime.datetime | None:
    """When the last student has to hand in, extensions included; None where no time is set."""
    with Gradebook(course.db_url) as gradebook, contextlib.suppress(MissingEntry):
        last = gradebook.find_assignment(assignment).duedate
        if last:
            given = gradebook.assignment_submissions(assignment)
            last = max([last, *(each.duedate for each in given)])
            return last.replace(tzinfo=datetime.UTC)  # nbgrader keeps it so, without saying it
    return None
