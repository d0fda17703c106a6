"""The one writer: what became of each submission, saved in the gradebook with nbgrader's own code.

Each submission is one transaction. Its files in ``autograded/`` are put in place when all else is
done, just before the database commits: so nobody marks a paragraph there while a newer version is
already counted. A writer that is killed in between leaves files of which the gradebook has no
note, and the next command saves that submission again: ``catch_up`` is the door to it.
"""

import json
from functools import cached_property
from pathlib import PurePosixPath

import nbformat
import sqlalchemy as sa
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    MissingEntry,
    SubmittedAssignment,
)
from nbgrader.preprocessors import (
    AssignLatePenalties,
    SaveAutoGrades,
    latesubmissions,
    saveautogrades,
)
from nbgrader.utils import is_grade, parse_utc

from roofgrade.common import safe_files
from roofgrade.common.results import PERSON, Result
from roofgrade.common.sentences import escaped, words
from roofgrade.course import Course
from roofgrade.gradebook import register
from roofgrade.gradebook.database import QUIET, Book, explained, lent
from roofgrade.gradebook.kept import HeldError, alone, files_of, hash_of, saved, unsaved
from roofgrade.gradebook.standing import Standing, max_score, standings_in, students_in
from roofgrade.judge.alike import told_apart

# Seconds to wait for someone else who holds the gradebook.
PATIENCE = 60


class Writer:
    """Saves the results of one set: ``with Writer(course, "ps1") as writer: writer.put(result)``.

    Entering registers the set where the gradebook does not know it as it is now. Raises ValueError
    if that cannot be done, GradebookError if someone holds the gradebook for longer than
    ``patience`` seconds.
    """

    def __init__(self, course: Course, assignment: str, patience: float = PATIENCE):
        self._course, self._assignment = course, safe_files.checked(assignment)
        self._patience = patience

    def __enter__(self) -> "Writer":
        self._book = Book(self._course, self._patience)
        try:
            with explained(self._book.url):
                register.register(self._course, self._assignment, self._book)
        except BaseException:
            self._book.shut()
            raise
        return self

    def __exit__(self, *error):
        self._book.shut()

    @cached_property
    def master(self) -> str:
        """The released notebook with the gradebook's locked cells, as JSON text."""
        with explained(self._book.url):
            return register.master(self._course, self._assignment, self._book)

    def put(self, result: Result, beside: dict[str, bytes] | None = None) -> bool:
        """Save a result, and in ``autograded/`` its notebook and the files that came ``beside`` it.

        Returns whether there was anything to save. Manual scores and comments stay; a cell that a
        person has scored waits for one again only where what was handed in is another, and the cell
        has changed with it. Why a person is needed stands in the notebook's metadata. Without
        ``beside``, the files that lie there stay. A result without a notebook leaves everything as
        it is.
        """
        done = bool(result.notebook) and self._put(told_apart(result), beside)
        saved(self._course, result)
        return done

    def catch_up(self) -> list[str]:
        """Save what was kept and not saved; says what cannot be.

        Files that came in beside a notebook follow with the next run.
        """
        said = []
        for result in unsaved(self._course, self._assignment):
            try:
                self.put(result)
            except (OSError, ValueError) as error:  # one submission stops no other
                if getattr(error, "errno", None) in safe_files.FULL:
                    raise
                reason = words("run.not_saved", error=error)
                said.append(f"{escaped(result.folder)}: {reason}")
        return said

    def _put(self, result, beside):
        safe_files.checked(result.student)
        with explained(self._book.url):
            contents = self._contents(result, beside)
            known = self._noted(result.student) == _hash(result)
            if known and self._lies(result, contents, beside):
                return False
            with self._book.transaction():
                self._save(result)
                self._write(result, contents, beside)
        return True

    def standings(self) -> dict[str, Standing]:
        """What the gradebook says of each student."""
        with explained(self._book.url):
            return standings_in(self._book, self._assignment)

    def students(self) -> list[str]:
        """The ids of all whom the gradebook knows."""
        with explained(self._book.url):
            return students_in(self._book)

    def max_score(self) -> float:
        """The points that the set is worth."""
        with explained(self._book.url):
            return max_score(self._book, self._assignment)

    def _noted(self, student):
        """The hash of the result that was saved last."""
        query = (
            sa.select(SubmittedAssignment.id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .where(Assignment.name == self._assignment, SubmittedAssignment.student_id == student)
        )
        with self._book.engine.connect() as connection:
            found = connection.scalar(query)
        return self._book.note(_note(found)).get("hash") if found else None

    def _save(self, result):
        book, name, student = self._book, self._assignment, result.student
        notebook = nbformat.v4.reads(result.notebook)
        submitted = parse_utc(result.submitted or None)
        book.update_or_create_student(student)
        submission = book.update_or_create_submission(name, student, timestamp=submitted)
        loaded = _Loaded(book, book.find_submission_notebook(name, name, student).id)
        grades = loaded.grades
        waited = {cell: grade.needs_manual_grade for cell, grade in grades.items()}
        self._run_nbgrader(notebook, student, loaded)
        note = book.note(_note(submission.id))
        noted, files = note.get("cells", {}), files_of(result.key)
        cells = _cells(result, notebook)
        for cell, grade in grades.items():
            is_settled = grade.manual_score is not None and not waited[cell]
            same_work = bool(files) and note.get("files") == files
            if (same_work and is_settled) or (cell in noted and noted[cell] == cells.get(cell)):
                grade.needs_manual_grade = waited[cell]
            elif _waits(cell, result):
                grade.needs_manual_grade = True
        now = {"hash": _hash(result), "cells": cells, "files": files}
        book.write_note(_note(submission.id), now)

    def _run_nbgrader(self, notebook, student, loaded):
        names = {"student": student, "assignment": self._assignment, "notebook": self._assignment}
        resources = {"nbgrader": names | {"db_url": self._book.url}}
        settings = {"config": self._course.config, "log": QUIET}
        with lent(loaded, saveautogrades):
            SaveAutoGrades(**settings).preprocess(notebook, resources)
        self._book.db.commit()
        self._book.db.expire_all()  # so that sums are read anew
        with lent(self._book, latesubmissions):
            AssignLatePenalties(**settings).preprocess(notebook, resources)

    def _contents(self, result, beside):
        name = f"{self._assignment}.ipynb"
        rest = {
            path: content
            for path, content in (beside or {}).items()
            if not path.endswith(".ipynb")
            and PurePosixPath(path).parts[0] != name
            and safe_files.TEMPORARY not in PurePosixPath(path).parts
        }
        if result.submitted:
            rest["timestamp.txt"] = result.submitted.encode() + b"\n"  # nbgrader reads it
        return {name: _shown(result).encode() + b"\n", **rest}

    def _place(self, result):
        return self._course.autograded, result.student, self._assignment

    def _lies(self, result, contents, beside):
        try:
            with safe_files.opened(*self._place(result)) as folder:
                return safe_files.holds(folder, contents, alone=beside is not None)
        except OSError:
            return False

    def _write(self, result, contents, beside):
        shared = self._course.shared
        self._course.autograded.mkdir(exist_ok=True)
        self._course.opened_to_group(self._course.autograded)
        with safe_files.opened(*self._place(result), make=True, shared=shared) as folder:
            mode = 0o664 if shared else 0o444
            safe_files.fill(folder, contents, mode, shared=shared, alone=beside is not None)


def catch_up(course: Course, assignment: str) -> list[str]:
    """Save what a run or a regrading that was killed has kept and not saved, before all else.

    Says what could not be saved, such as that a run is under way, which saves its results itself.
    """
    if not unsaved(course, assignment):
        return []
    try:
        with alone(course, assignment), Writer(course, assignment) as writer:
            return writer.catch_up()
    except HeldError as error:
        return [words("book.saves_itself", error=error)]


class _Loaded:
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
        return self._found(self.grades, cell)

    def find_comment(self, cell, *where):
        return self._found(self.comments, cell)

    def _found(self, entries, cell):
        if cell not in entries:
            raise MissingEntry(f"the gradebook knows no cell {cell!r} in this notebook")
        return entries[cell]


def _note(submission_id):
    return f"saved {submission_id}"


def _hash(result):
    return hash_of(result.notebook, result.reading, result.flagged, result.reason, result.submitted)


def _shown(result):
    """The notebook as it lies in ``autograded/``, where Formgrader shows why a person is needed."""
    if result.state != PERSON:
        return result.notebook
    notebook = json.loads(result.notebook)
    about = {"reason": result.reason, "flagged": result.flagged}
    notebook["metadata"]["roofgrade"] = about
    return json.dumps(notebook, ensure_ascii=False)


def _waits(cell, result):
    return cell in result.reading or cell in result.flagged


def _cells(result, notebook):
    """The hash of each graded cell: what the student wrote there or replied, what it got for it."""
    hashes = {}
    for cell in notebook.cells:
        if is_grade(cell):
            name = cell.metadata.nbgrader.grade_id
            answer = result.answers.get(name)
            got = [_lasting(answer), answer.credit, answer.points] if answer else []
            hashes[name] = hash_of(cell.source, got, _waits(name, result))
    return hashes


def _lasting(answer):
    """The reply without the calls that were drawn for this work: the next one meets others."""
    if not answer.reply or "calls" not in answer.reply:
        return answer.reply
    calls = answer.reply["calls"] or []
    return answer.reply | {"calls": calls[: answer.shared], "said": ""}
