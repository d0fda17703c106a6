"""A problem set in the gradebook: what nbgrader has to know of it before anything can be graded."""

import contextlib
import hashlib
import logging
import tempfile

import nbformat
from nbgrader.api import MissingEntry
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import OverwriteCells, overwritecells
from nbgrader.utils import is_locked

from roofgrade.common.sentences import sentence
from roofgrade.course import SETTINGS_FILE, Course
from roofgrade.gradebook.database import QUIET_LOG, CourseGradebook, lend_gradebook


def register_set(course: Course, assignment: str, book: CourseGradebook):
    """Make the gradebook know a set as its source has it now; grades that it holds survive.

    Does what ``nbgrader generate_assignment SET --create --force`` does, but leaves the release as
    students got it. Raises ValueError if the gradebook cannot take the set, or lacks its source.
    """
    source, name = course.source_path(assignment), f"registered {assignment}"
    if not source.is_file():
        if _is_known(book, assignment):
            return
        known = ", ".join(course.released_sets()) or "–"
        raise ValueError(
            sentence("book.no_source", assignment=assignment, path=source, known=known)
        )
    settings = course.root / SETTINGS_FILE
    now = hashlib.sha256(source.read_bytes() + settings.read_bytes()).hexdigest()
    if book.read_note(name).get("hash") == now and _is_known(book, assignment):
        return
    _generate_assignment(course, assignment)
    with book.transaction():
        book.write_note(name, {"hash": now})


def make_release_json(course: Course, assignment: str, book: CourseGradebook) -> str:
    """The release with its locked cells as the gradebook has them, marking schemes included.

    JSON text. Raises ValueError if the release has other cells than the gradebook.
    """
    path = course.release_path(assignment)
    notebook = nbformat.read(path, as_version=4)
    released = {
        cell.metadata.nbgrader.grade_id: is_locked(cell)
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    }
    named = {"nbgrader": {"notebook": assignment, "assignment": assignment, "db_url": book.url}}
    with book.transaction(), lend_gradebook(book, overwritecells):
        cells = book.find_notebook(assignment, assignment).source_cells
        if released != {cell.name: cell.locked for cell in cells}:
            source = course.source_path(assignment)
            raise ValueError(
                sentence("book.other_cells", path=path, source=source, assignment=assignment)
            )
        overwrite = OverwriteCells(config=course.config, log=QUIET_LOG)
        notebook, _ = overwrite.preprocess(notebook, named)
    return nbformat.writes(notebook)


def _is_known(book, assignment):
    with book.transaction(), contextlib.suppress(MissingEntry):
        return bool(book.find_notebook(assignment, assignment))


def _generate_assignment(course, assignment):
    said = _LastError()
    QUIET_LOG.addHandler(said)
    try:
        with tempfile.TemporaryDirectory() as release:
            directory = CourseDirectory(
                config=course.config, root=str(course.root), assignment_id=assignment,
                release_directory=release,
            )  # fmt: skip
            GenerateAssignment(
                coursedir=directory, config=course.config, force=True, log=QUIET_LOG
            ).start()
    except NbGraderException as error:
        told = sentence("book.not_taken", assignment=assignment, reason=said.last or error)
        raise ValueError(told) from None
    finally:
        QUIET_LOG.removeHandler(said)


class _LastError(logging.Handler):
    """The last line of the last traceback that nbgrader logged: why it gave up."""

    last = ""

    def emit(self, record):
        lines = record.getMessage().strip().splitlines()
        if record.levelno >= logging.ERROR and lines[0].startswith("Traceback"):
            self.last = lines[-1]
