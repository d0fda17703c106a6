"""Registers a problem set in the gradebook, as nbgrader requires before grading."""

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
    """Register a set in the gradebook according to its current source, and keep existing grades.

    This is like ``nbgrader generate_assignment SET --create --force``, but does not change the
    release that students got. Raises ValueError if the gradebook rejects the set, or if the source
    is missing.
    """
    source, name = course.source_path(assignment), f"registered {assignment}"
    if not source.is_file():
        if _is_known(book, assignment):
            return
        fields = {"path": source, "known": ", ".join(course.released_sets()) or "–"}
        raise ValueError(sentence("book.no_source", assignment=assignment, **fields))
    settings = course.root / SETTINGS_FILE
    current = hashlib.sha256(source.read_bytes() + settings.read_bytes()).hexdigest()
    if book.read_note(name).get("hash") == current and _is_known(book, assignment):
        return
    _generate_assignment(course, assignment)
    with book.transaction():
        book.write_note(name, {"hash": current})


def make_release_json(course: Course, assignment: str, book: CourseGradebook) -> str:
    """Return the release as JSON, with the gradebook's locked cells, including rubrics.

    Raises ValueError if the release and the gradebook have different cells.
    """
    path = course.release_path(assignment)
    notebook = nbformat.read(path, as_version=4)
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    released = {cell.metadata.nbgrader.grade_id: is_locked(cell) for cell in marked}
    resources = {"nbgrader": {"notebook": assignment, "assignment": assignment, "db_url": book.url}}
    with book.transaction(), lend_gradebook(book, overwritecells):
        cells = book.find_notebook(assignment, assignment).source_cells
        if released != {cell.name: cell.locked for cell in cells}:
            fields = {"path": path, "source": course.source_path(assignment)}
            raise ValueError(sentence("book.other_cells", assignment=assignment, **fields))
        overwrite = OverwriteCells(config=course.config, log=QUIET_LOG)
        notebook, _ = overwrite.preprocess(notebook, resources)
    return nbformat.writes(notebook)


def _is_known(book, assignment):
    with book.transaction(), contextlib.suppress(MissingEntry):
        return bool(book.find_notebook(assignment, assignment))


def _generate_assignment(course, assignment):
    last_error = _LastError()
    QUIET_LOG.addHandler(last_error)
    try:
        with tempfile.TemporaryDirectory() as release:
            directory = CourseDirectory(
                config=course.config, root=str(course.root), assignment_id=assignment,
                release_directory=release,
            )  # fmt: skip
            settings = {"coursedir": directory, "config": course.config, "log": QUIET_LOG}
            GenerateAssignment(**settings, force=True).start()
    except NbGraderException as error:
        message = sentence("book.not_taken", assignment=assignment, reason=last_error.last or error)
        raise ValueError(message) from None
    finally:
        QUIET_LOG.removeHandler(last_error)


class _LastError(logging.Handler):
    """Keeps the last line of the last traceback in nbgrader's log, which gives the reason."""

    last = ""

    def emit(self, record):
        lines = record.getMessage().strip().splitlines()
        if record.levelno >= logging.ERROR and lines[0].startswith("Traceback"):
            self.last = lines[-1]
