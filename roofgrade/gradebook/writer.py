"""The one writer: what became of each submission, saved in the gradebook with nbgrader's own code.

Each submission is one transaction. Its files in ``autograded/`` are put in place when all else is
done, just before the database commits: so nobody marks a paragraph there while a newer version is
already counted. A writer that is killed in between leaves files of which the gradebook has no
note, and the next command saves that submission again: ``save_unsaved`` is the door to it.
"""

import json
from functools import cached_property
from pathlib import PurePosixPath

import nbformat
import sqlalchemy as sa
from nbgrader.api import Assignment, BaseCell, Comment, Grade, MissingEntry, SubmittedAssignment
from nbgrader.preprocessors import (
    AssignLatePenalties,
    SaveAutoGrades,
    latesubmissions,
    saveautogrades,
)
from nbgrader.utils import is_grade, parse_utc

from roofgrade.common import safe_files
from roofgrade.common.results import WAITING, Result
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.course import Course
from roofgrade.gradebook import registration
from roofgrade.gradebook.database import QUIET_LOG, CourseGradebook, explain_errors, lend_gradebook
from roofgrade.gradebook.result_files import (
    LockHeldError,
    hash_values,
    mark_saved,
    read_files_hash,
    read_unsaved,
    run_lock,
)
from roofgrade.gradebook.standings import (
    Standing,
    query_max_score,
    query_standings,
    query_student_ids,
)
from roofgrade.judge.shared_claims import withhold_shared

# Seconds to wait for someone else who holds the gradebook.
WAIT_SECONDS = 60


class GradebookWriter:
    """Saves the results of one set: ``GradebookWriter(course, "ps1")``, a context manager.

    Entering registers the set where the gradebook does not know it as it is now. Raises ValueError
    if that cannot be done, GradebookError if someone holds the gradebook for longer than
    ``patience`` seconds.
    """

    def __init__(self, course: Course, assignment: str, patience: float = WAIT_SECONDS):
        self._course, self._assignment = course, safe_files.check_name(assignment)
        self._patience = patience

    def __enter__(self) -> "GradebookWriter":
        self._book = CourseGradebook(self._course, self._patience)
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
        """Save a result, and in ``autograded/`` its notebook and the files that came ``beside`` it.

        Returns whether there was anything to save. Manual scores and comments stay; a cell that a
        person has scored waits for one again only where what was handed in is another, and the cell
        has changed with it. Why a person is needed stands in the notebook's metadata. Without
        ``beside``, the files that lie there stay. A result without a notebook leaves everything as
        it is.
        """
        done = bool(result.notebook) and self._save_if_changed(withhold_shared(result), beside)
        mark_saved(self._course, result)
        return done

    def save_unsaved(self) -> list[str]:
        """Save what was kept and not saved; says what cannot be.

        Files that came in beside a notebook follow with the next run.
        """
        said = []
        for result in read_unsaved(self._course, self._assignment):
            try:
                self.save(result)
            except (OSError, ValueError) as error:  # one submission stops no other
                if getattr(error, "errno", None) in safe_files.DISK_FULL_ERRORS:
                    raise
                reason = sentence("run.not_saved", error=error)
                said.append(f"{escape_text(result.folder)}: {reason}")
        return said

    def _save_if_changed(self, result, beside):
        safe_files.check_name(result.student)
        with explain_errors(self._book.url):
            contents = self._make_files(result, beside)
            known = self._read_saved_hash(result.student) == _hash_result(result)
            if known and self._has_files(result, contents, beside):
                return False
            with self._book.transaction():
                self._save_grades(result)
                self._write_files(result, contents, beside)
        return True

    def standings(self) -> dict[str, Standing]:
        """What the gradebook says of each student."""
        with explain_errors(self._book.url):
            return query_standings(self._book, self._assignment)

    def student_ids(self) -> list[str]:
        """The ids of all whom the gradebook knows."""
        with explain_errors(self._book.url):
            return query_student_ids(self._book)

    def max_score(self) -> float:
        """The points that the set is worth."""
        with explain_errors(self._book.url):
            return query_max_score(self._book, self._assignment)

    def _read_saved_hash(self, student):
        """The hash of the result that was saved last."""
        query = (
            sa.select(SubmittedAssignment.id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .where(Assignment.name == self._assignment, SubmittedAssignment.student_id == student)
        )
        with self._book.engine.connect() as connection:
            found = connection.scalar(query)
        return self._book.read_note(_note_name(found)).get("hash") if found else None

    def _save_grades(self, result):
        book, name, student = self._book, self._assignment, result.student
        notebook = nbformat.v4.reads(result.notebook)
        submitted = parse_utc(result.submitted or None)
        book.update_or_create_student(student)
        submission = book.update_or_create_submission(name, student, timestamp=submitted)
        loaded = _LoadedCells(book, book.find_submission_notebook(name, name, student).id)
        grades = loaded.grades
        waited = {cell: grade.needs_manual_grade for cell, grade in grades.items()}
        self._run_nbgrader(notebook, student, loaded)
        note = book.read_note(_note_name(submission.id))
        noted, files = note.get("cells", {}), read_files_hash(result.key)
        cells = _hash_cells(result, notebook)
        for cell, grade in grades.items():
            is_settled = grade.manual_score is not None and not waited[cell]
            same_work = bool(files) and note.get("files") == files
            if (same_work and is_settled) or (cell in noted and noted[cell] == cells.get(cell)):
                grade.needs_manual_grade = waited[cell]
            elif _is_waiting(cell, result):
                grade.needs_manual_grade = True
        now = {"hash": _hash_result(result), "cells": cells, "files": files}
        book.write_note(_note_name(submission.id), now)

    def _run_nbgrader(self, notebook, student, loaded):
        names = {"student": student, "assignment": self._assignment, "notebook": self._assignment}
        resources = {"nbgrader": names | {"db_url": self._book.url}}
        settings = {"config": self._course.config, "log": QUIET_LOG}
        with lend_gradebook(loaded, saveautogrades):
            SaveAutoGrades(**settings).preprocess(notebook, resources)
        self._book.db.commit()
        self._book.db.expire_all()  # so that sums are read anew
        with lend_gradebook(self._book, latesubmissions):
            AssignLatePenalties(**settings).preprocess(notebook, resources)

    def _make_files(self, result, beside):
        name = f"{self._assignment}.ipynb"
        rest = {
            path: content
            for path, content in (beside or {}).items()
            if not path.endswith(".ipynb")
            and PurePosixPath(path).parts[0] != name
            and safe_files.TEMPORARY_NAME not in PurePosixPath(path).parts
        }
        if result.submitted:
            rest["timestamp.txt"] = result.submitted.encode() + b"\n"  # nbgrader reads it
        return {name: _with_reason(result).encode() + b"\n", **rest}

    def _folder_names(self, result):
        return self._course.autograded, result.student, self._assignment

    def _has_files(self, result, contents, beside):
        try:
            with safe_files.open_below(*self._folder_names(result)) as folder:
                return safe_files.has_files(folder, contents, alone=beside is not None)
        except OSError:
            return False

    def _write_files(self, result, contents, beside):
        shared = self._course.shared
        self._course.autograded.mkdir(exist_ok=True)
        self._course.open_to_group(self._course.autograded)
        with safe_files.open_below(*self._folder_names(result), make=True, shared=shared) as folder:
            mode = 0o664 if shared else 0o444
            safe_files.write_files(folder, contents, mode, shared=shared, alone=beside is not None)


def save_unsaved(course: Course, assignment: str) -> list[str]:
    """Save what a run or a regrading that was killed has kept and not saved, before all else.

    Says what could not be saved, such as that a run is under way, which saves its results itself.
    """
    if not read_unsaved(course, assignment):
        return []
    try:
        with run_lock(course, assignment), GradebookWriter(course, assignment) as writer:
            return writer.save_unsaved()
    except LockHeldError as error:
        return [sentence("book.saves_itself", error=error)]


class _LoadedCells:
    """Stands in for the gradebook that SaveAutoGrades asks for one notebook's grades and comments.

    They are read at once: asking for each cell on its own is what makes nbgrader's saving slow.
    """

    def __init__(self, book, notebook_id):
        self.grades, self.comments = (
            dict(
                book.db.query(BaseCell.name, kind)
                .join(kind, kind.cell_id == BaseCell.id)
                .filter(kind.notebook_id == notebook_id)
                .all()
            )
            for kind in (Grade, Comment)
        )

    @property
    def db(self):
        return self

    def commit(self):
        """Do nothing: the writer commits when all is saved."""

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
            raise MissingEntry(f"the gradebook knows no cell {cell!r} in this notebook")
        return entries[cell]


def _note_name(submission_id):
    return f"saved {submission_id}"


def _hash_result(result):
    return hash_values(
        result.notebook, result.reading, result.flagged, result.reason, result.submitted
    )


def _with_reason(result):
    """The notebook as it lies in ``autograded/``, where Formgrader shows why a person is needed."""
    if result.state != WAITING:
        return result.notebook
    notebook = json.loads(result.notebook)
    about = {"reason": result.reason, "flagged": result.flagged}
    notebook["metadata"]["roofgrade"] = about
    return json.dumps(notebook, ensure_ascii=False)


def _is_waiting(cell, result):
    return cell in result.reading or cell in result.flagged


def _hash_cells(result, notebook):
    """The hash of each graded cell: what the student wrote there or replied, what it got for it."""
    hashes = {}
    for cell in notebook.cells:
        if is_grade(cell):
            name = cell.metadata.nbgrader.grade_id
            answer = result.answers.get(name)
            got = [_drop_drawn_calls(answer), answer.credit, answer.points] if answer else []
            hashes[name] = hash_values(cell.source, got, _is_waiting(name, result))
    return hashes


def _drop_drawn_calls(answer):
    """The reply without the calls that were drawn for this work: the next one meets others."""
    if not answer.reply or "calls" not in answer.reply:
        return answer.reply
    calls = answer.reply["calls"] or []
    return answer.reply | {"calls": calls[: answer.shared], "said": ""}
