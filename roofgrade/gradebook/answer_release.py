"""Whether the answers of a set are released, so that feedback pages may hold them.

An empty file in the set's own folder of ``grading/`` says that they are.
"""

import contextlib
import datetime
import re

import nbformat
from nbgrader.api import Gradebook, MissingEntry

from roofgrade.common import safe_files
from roofgrade.course import Course

RELEASED_FILE = "answers-released"
SOLUTION = re.compile(r"^### BEGIN SOLUTION$(.*?)^### END SOLUTION$", re.DOTALL | re.MULTILINE)


def release_answers(course: Course, assignment: str):
    """Release the answers of a set. Raises ValueError if there is no such set."""
    course.release_path(assignment)
    with safe_files.open_below(
        course.grading, assignment, make=True, shared=course.shared
    ) as folder:
        safe_files.touch(folder, RELEASED_FILE)


def withdraw_answers(course: Course, assignment: str):
    """Take the release back; nothing happens where there is none."""
    course.release_path(assignment)
    with contextlib.suppress(FileNotFoundError):
        (course.grading / assignment / RELEASED_FILE).unlink()


def are_answers_released(course: Course, assignment: str) -> bool:
    """Whether the answers of a set are released."""
    return (course.root / "grading" / assignment / RELEASED_FILE).is_file()


def read_model_answers(course: Course, assignment: str) -> dict[str, str]:
    """The model answer of each paragraph of a set, as Markdown by grade id.

    They stand between nbgrader's marks in the solution; none where there is no solution.
    """
    path, found = course.source_path(assignment), {}
    for cell in nbformat.read(path, as_version=4).cells if path.is_file() else ():
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and marks.get("solution"):
            found[marks["grade_id"]] = "\n\n".join(map(str.strip, SOLUTION.findall(cell.source)))
    return {name: text for name, text in found.items() if text}


def find_last_due_date(course: Course, assignment: str) -> datetime.datetime | None:
    """When the last student has to hand in, extensions included; None where no time is set."""
    with Gradebook(course.db_url) as gradebook, contextlib.suppress(MissingEntry):
        last = gradebook.find_assignment(assignment).duedate
        if last:
            given = gradebook.assignment_submissions(assignment)
            last = max([last, *(each.duedate for each in given)])
            return last.replace(tzinfo=datetime.UTC)  # nbgrader keeps it so, without saying it
    return None
