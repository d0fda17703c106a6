"""Saves results in the gradebook with nbgrader's own code, as its only writer.

Each submission is one transaction. Its files in ``autograded/`` are written just before the
database commits, so nobody marks an outdated version. If a writer is killed in between, the
gradebook has no record of the files, and ``save_unsaved`` saves the submission again.
"""

import json
from functools import cached_property
from pathlib import PurePosixPath

import nbformat
import sqlalchemy as sa
from nbgrader.api import Assignment, BaseCell, Comment, Grade, MissingEntry, SubmittedAssignment
from nbgrader.preprocessors import latesubmissions, saveautogrades
from nbgrader.utils import is_grade, parse_utc

from roofgrade.common import safe_files
from roofgrade.common.results import WAITING, Result
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.course import Course
from roofgrade.gradebook import registration, result_files
from roofgrade.gradebook.database import QUIET_LOG, CourseGradebook, explain_errors, lend_gradebook
from roofgrade.gradebook.due_dates import apply_extension
from roofgrade.gradebook.result_files import LockHeldError, hash_values
from roofgrade.judge.shared_claims import withhold_shared


class GradebookWriter:
    """A context manager that saves the results of one set: ``GradebookWriter(course, "ps1")``.

    Entering the context registers the set as it is now. Raises ValueError if that is impossible,
    and GradebookError if someone else locks the gradebook for too long.
    """

    def __init__(self, course: Course, assignment: str):
        self._course, self._assignment = course, safe_files.check_name(assignment)

    def __enter__(self) -> "GradebookWriter":
        self._book = CourseGradebook(self._course)
        try:
            with explain_errors(self._book.url):
                registration.register_set(self._course, self._assignment, self._book)
        except BaseException:
            self._book.close_database()
            raise
        return self

    def __exit__(self, *error):
        self._book.close_database()

    @cached_property
    def release_json(self) -> str:
        """The released notebook with the gradebook's locked cells, as JSON text."""
        with explain_errors(self._book.url):
            return registration.make_release_json(self._course, self._assignment, self._book)

    def save(self, result: Result, beside: dict[str, bytes] | None = None) -> bool:
        """Save a result, with its notebook and the files ``beside`` it in ``autograded/``.

        Returns whether there was anything to save. Manual scores and comments stay. A cell that a
        person scored waits for a person again only if both the submission and the cell changed. The
        notebook's metadata gives the reason why a person is needed. If ``beside`` is None, existing
        files stay. A result without a notebook changes nothing.
        """
        changed = bool(result.notebook) and self._save_if_changed(withhold_shared(result), beside)
        result_files.mark_saved(self._course, result)
        return changed

    def _save_if_changed(self, result, beside):
        safe_files.check_name(result.student)
        with explain_errors(self._book.url):
            contents = self._make_files(result, beside)
            is_saved = self._read_saved_hash(result.student) == _hash_result(result)
            if is_saved and self._has_files(result, contents, beside):
                return False
            with self._book.transaction():
                self._save_grades(result)
                self._write_files(result, contents, beside)
        return True

    def query(self, function, *arguments):
        """Return the result of calling a query of ``standings`` with the open gradebook."""
        with explain_errors(self._book.url):
            return function(self._book, *arguments)

    def _read_saved_hash(self, student):
        query = (
            sa.select(SubmittedAssignment.id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .where(Assignment.name == self._assignment, SubmittedAssignment.student_id == student)
        )
        with self._book.engine.connect() as connection:
            submission_id = connection.scalar(query)
        note = self._book.read_note(_note_name(submission_id)) if submission_id else {}
        return note.get("hash")

    def _save_grades(self, result):
        book, name, student = self._book, self._assignment, result.student
        notebook = nbformat.v4.reads(result.notebook)
        submitted = parse_utc(result.submitted or None)
        book.update_or_create_student(student)
        submission = book.update_or_create_submission(name, student, timestamp=submitted)
        apply_extension(book, name, submission)
        loaded_cells = _LoadedCells(book, book.find_submission_notebook(name, name, student).id)
        grades = loaded_cells.grades
        was_waiting = {cell: grade.needs_manual_grade for cell, grade in grades.items()}
        self._run_nbgrader(notebook, student, loaded_cells)
        note = book.read_note(_note_name(submission.id))
        noted_cells, files = note.get("cells", {}), result_files.read_files_hash(result.key)
        cells = _hash_cells(result, notebook)
        for cell, grade in grades.items():
            is_settled = grade.manual_score is not None and not was_waiting[cell]
            same_work = bool(files) and note.get("files") == files
            same_cell = cell in noted_cells and noted_cells[cell] == cells.get(cell)
            if same_cell or (same_work and is_settled):
                grade.needs_manual_grade = was_waiting[cell]
            elif _is_waiting(cell, result):
                grade.needs_manual_grade = True
        new_note = {"hash": _hash_result(result), "cells": cells, "files": files}
        book.write_note(_note_name(submission.id), new_note)

    def _run_nbgrader(self, notebook, student, loaded_cells):
        names = {"student": student, "assignment": self._assignment, "notebook": self._assignment}
        resources = {"nbgrader": names | {"db_url": self._book.url}}
        settings = {"config": self._course.config, "log": QUIET_LOG}
        with lend_gradebook(loaded_cells, saveautogrades):
            saveautogrades.SaveAutoGrades(**settings).preprocess(notebook, resources)
        self._book.db.commit()
        self._book.db.expire_all()  # otherwise sums would be stale
        with lend_gradebook(self._book, latesubmissions):
            latesubmissions.AssignLatePenalties(**settings).preprocess(notebook, resources)

    def _make_files(self, result, beside):
        name = f"{self._assignment}.ipynb"
        files = {
            path: content
            for path, content in (beside or {}).items()
            if not path.endswith(".ipynb")
            and PurePosixPath(path).parts[0] != name
            and safe_files.TEMPORARY_NAME not in PurePosixPath(path).parts
        }
        if result.submitted:
            files["timestamp.txt"] = result.submitted.encode() + b"\n"  # nbgrader reads it
        return {name: _with_reason(result).encode() + b"\n", **files}

    def _folder_names(self, result):
        return self._course.autograded, result.student, self._assignment

    def _has_files(self, result, contents, beside):
        try:
            with safe_files.open_below(*self._folder_names(result)) as folder:
                return safe_files.has_files(folder, contents, only=beside is not None)
        except OSError:
            return False

    def _write_files(self, result, contents, beside):
        shared = self._course.shared
        self._course.autograded.mkdir(exist_ok=True)
        self._course.open_to_group(self._course.autograded)
        with safe_files.open_below(*self._folder_names(result), make=True, shared=shared) as folder:
            mode = 0o664 if shared else 0o444
            safe_files.write_files(folder, contents, mode, shared=shared, only=beside is not None)


def save_unsaved(course: Course, assignment: str) -> list[str]:
    """Save the results that an interrupted run or regrading left unsaved.

    Returns a message for each result that could not be saved, or one if a run is under way. The
    next run adds the other files of their folders.
    """
    if not result_files.read_unsaved(course, assignment):
        return []
    messages, lock = [], result_files.run_lock(course, assignment)
    try:
        with lock, GradebookWriter(course, assignment) as writer:
            for result in result_files.read_unsaved(course, assignment):
                try:
                    writer.save(result)
                except (OSError, ValueError) as error:  # for example a damaged result
                    if getattr(error, "errno", None) in safe_files.DISK_FULL_ERRORS:
                        raise
                    reason = sentence("run.not_saved", error=error)
                    messages.append(f"{escape_text(result.folder)}: {reason}")
    except LockHeldError as error:
        messages.append(sentence("book.saves_itself", error=error))
    return messages


class _LoadedCells:
    """Gives SaveAutoGrades a notebook's grades and comments, all read from the gradebook at once.

    nbgrader's own code is slow, because it queries the gradebook for each cell.
    """

    def __init__(self, book, notebook_id):
        def load(kind):
            query = book.db.query(BaseCell.name, kind).join(kind, kind.cell_id == BaseCell.id)
            return dict(query.filter(kind.notebook_id == notebook_id).all())

        self.grades, self.comments = load(Grade), load(Comment)

    @property
    def db(self):
        return self

    def commit(self):
        """Do nothing: the writer commits when everything is saved."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def find_grade(self, cell, *where):
        return self._find(self.grades, cell)

    def find_comment(self, cell, *where):
        return self._find(self.comments, cell)

    def _find(self, entries, cell):
        if cell not in entries:
            raise MissingEntry(f"the gradebook has no cell {cell!r} for this notebook")
        return entries[cell]


def _note_name(submission_id):
    return f"saved {submission_id}"


def _hash_result(result):
    waiting = result.reading, result.flagged, result.reason
    return hash_values(result.notebook, *waiting, result.submitted)


def _with_reason(result):
    """Return the notebook for ``autograded/``, with the reason that Formgrader shows."""
    if result.state != WAITING:
        return result.notebook
    notebook = json.loads(result.notebook)
    notebook["metadata"]["roofgrade"] = {"reason": result.reason, "flagged": result.flagged}
    return json.dumps(notebook, ensure_ascii=False)


def _is_waiting(cell, result):
    return cell in result.reading or cell in result.flagged


def _hash_cells(result, notebook):
    hashes = {}
    for cell in notebook.cells:
        if is_grade(cell):
            name = cell.metadata.nbgrader.grade_id
            answer = result.answers.get(name)
            judged = [_drop_drawn_calls(answer), answer.credit, answer.points] if answer else []
            hashes[name] = hash_values(cell.source, judged, _is_waiting(name, result))
    return hashes


def _drop_drawn_calls(answer):
    """Return the reply without the drawn calls, which differ for the next submission."""
    if not answer.reply or "calls" not in answer.reply:
        return answer.reply
    calls = answer.reply["calls"] or []
    return answer.reply | {"calls": calls[: answer.shared], "said": ""}
