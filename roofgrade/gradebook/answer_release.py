"""Records whether a set's answers are released, so that feedback pages may contain them.

An empty file in the set's folder in ``grading/`` marks the release.
"""

import contextlib
import re

import nbformat

from roofgrade.common import safe_files
from roofgrade.common.cell_roles import is_solution, read_grade_id
from roofgrade.course import Course

RELEASED_FILE = "answers-released"
SOLUTION = re.compile(r"^### BEGIN SOLUTION$(.*?)^### END SOLUTION$", re.DOTALL | re.MULTILINE)


def release_answers(course: Course, assignment: str):
    """Release the answers of a set. Raises ValueError if the set has no release."""
    course.release_path(assignment)
    place = course.grading, assignment
    with safe_files.open_below(*place, make=True, shared=course.shared) as folder:
        safe_files.touch(folder, RELEASED_FILE)


def withdraw_answers(course: Course, assignment: str):
    """Withdraw the answers of a set, whether or not they were released."""
    course.release_path(assignment)
    with contextlib.suppress(FileNotFoundError):
        (course.grading / assignment / RELEASED_FILE).unlink()


def are_answers_released(course: Course, assignment: str) -> bool:
    """Return whether the answers of a set are released."""
    return (course.root / "grading" / assignment / RELEASED_FILE).is_file()


def read_model_answers(course: Course, assignment: str) -> dict[str, str]:
    """Return the model answer of each paragraph of a set, in Markdown, by grade id.

    Model answers are the text between nbgrader's solution marks in the source notebook. Without a
    source notebook, the result is empty.
    """
    path, answers = course.source_path(assignment), {}
    for cell in nbformat.read(path, as_version=4).cells if path.is_file() else ():
        parts = map(str.strip, SOLUTION.findall(cell.source))
        if cell.cell_type == "markdown" and is_solution(cell) and (text := "\n\n".join(parts)):
            answers[read_grade_id(cell)] = text
    return answers
