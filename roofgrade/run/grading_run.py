"""A whole class: every folder that came in ends as graded, refused or waiting for a person.

What was graded before and has not changed is taken from what is kept; the rest goes to the workers,
a few at a time. Results are kept as they come, and the one writer saves them. So a run can be
stopped or killed at any time, and the same command goes on from there.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

import click

from roofgrade.common import safe_files
from roofgrade.common.errors import RefusedError
from roofgrade.common.results import PERSON, REFUSED, Result
from roofgrade.common.sentences import escaped, words
from roofgrade.common.task import CELL_SECONDS, NOTEBOOK_SECONDS, Task
from roofgrade.course import Course
from roofgrade.gradebook.database import Book, GradebookError, explained
from roofgrade.gradebook.gradebook import PATIENCE, Writer
from roofgrade.gradebook.kept import (
    RESULTS,
    alone,
    files_of,
    forget_moved,
    hash_of_files,
    is_of_this_grader,
    keep,
    kept,
    key_of,
)
from roofgrade.gradebook.standing import max_score, standings_in, students_in
from roofgrade.intake.folders import Folder, folders, take_in
from roofgrade.judge.alike import alike, claims, told_apart
from roofgrade.judge.marking import mark, released
from roofgrade.pages.summary import UNGRADED, Row, Summary, summarise
from roofgrade.run.cluster import Cluster
from roofgrade.run.workers import Bench, Workers
from roofgrade.sandbox import Box


def grade(
    course: Course,
    assignment: str,
    *,
    workers: int | None = None,
    dask: str = "",
    unsandboxed: bool = False,
    again: bool = False,
    progress: bool = True,
    only: Collection[str] = (),
    cell_seconds: float = CELL_SECONDS,
    notebook_seconds: float = NOTEBOOK_SECONDS,
    bench: tuple[Callable, Callable] = (mark, Box),
) -> Summary:
    """Grade a set, and say what became of each folder; the table is kept in ``autograded/`` too.

    On ``workers`` processes, one a core unless given, or by the workers of the Dask scheduler whose
    address is ``dask``. ``again`` marks what has not changed too; ``only`` names the students to
    look at. Ctrl-C ends with a Summary of what is done.

    Raises ValueError if there is no release of the set, or the gradebook cannot take it;
    RuntimeError if another run grades it, or the gradebook is held or lost; MachineryError if the
    sandbox cannot be started.
    """
    course.release(assignment)  # raises an error for the name of no set
    count = workers or len(os.sched_getaffinity(0))
    kind = Bench(*bench, unsandboxed, course.private())
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone(course, assignment))
        pool = stack.enter_context(Cluster(kind, dask) if dask else Workers(kind, count))
        pool.start(_at_least_to_mark(course, assignment, again))
        writer = stack.enter_context(Writer(course, assignment))
        released(writer.master)  # what is wrong with it is wrong with all
        listed = folders(course, assignment, writer.students())
        if unknown := sorted(set(only) - {folder.student for folder in listed}):
            students = ", ".join(unknown)
            raise ValueError(words("run.no_folder", students=students, assignment=assignment))
        chosen = [folder for folder in listed if not only or folder.student in only]
        if not again and (changed := _of_another_grader(course, chosen)):
            click.echo(words("run.grader_changed", count=changed), err=True)
        bar = stack.enter_context(_bar(assignment, len(chosen), progress))
        run = _Run(course, assignment, writer, bar, again=again, unsandboxed=unsandboxed,
                   seconds=(cell_seconds, notebook_seconds))  # fmt: skip
        stopped = False
        try:
            run.grade(chosen, pool)
        except KeyboardInterrupt:
            stopped = True
        run.tell_apart(listed)
        rest = [folder for folder in listed if folder.name not in run.rows]
        if not rest:
            _forget_moved(course, assignment, listed)
        rows = [*run.rows.values(), *(_untouched(course, folder) for folder in rest)]
        summary = summarise(
            assignment, rows, writer.standings(), writer.max_score(), stopped=stopped
        )
        write_page(course, summary)
    return summary


def overview(
    course: Course, assignment: str, remarks: Mapping[str, Collection[str]] = MappingProxyType({})
) -> Summary:
    """The Summary as things stand, without grading anything.

    ``remarks`` are those on each student's feedback page. Raises ValueError if
    there is no release, GradebookError if the gradebook cannot be read.
    """
    course.release(assignment)
    book = Book(course, PATIENCE)
    try:
        with explained(book.url):
            students = students_in(book)
            worth = max_score(book, assignment)
            standings = {} if worth is None else standings_in(book, assignment)
    finally:
        book.shut()
    listed = folders(course, assignment, students)
    rows = [_untouched(course, folder) for folder in listed]
    return summarise(assignment, rows, standings, worth or 0.0, remarks=remarks)


def write_page(course: Course, summary: Summary):
    """Put the summary's page into ``autograded/``, as SET.html."""
    course.autograded.mkdir(exist_ok=True)
    with safe_files.opened(course.opened_to_group(course.autograded)) as folder:
        safe_files.write(folder, f"{summary.assignment}.html", summary.page().encode(), 0o644)


class _Run:
    """One run: the row of each folder that is done, by the folder's name."""

    def __init__(self, course, assignment, writer, bar, *, again, unsandboxed, seconds):
        self._course, self._assignment, self._writer, self._bar = course, assignment, writer, bar
        self._again, self._unsandboxed = again, unsandboxed
        self._cell_seconds, self._notebook_seconds = seconds
        self._tried_again = set()
        self._claims: dict[str, tuple[str, set[str], tuple[str, ...]]] = {}
        self.rows: dict[str, Row] = {}

    def grade(self, chosen, pool):
        # When interrupted, this closes the workers at once, so that none goes on.
        with contextlib.closing(pool.marked(self._tasks(chosen))) as marked:
            for task, result in marked:
                self._finish(result, task.files, new=True)

    def tell_apart(self, listed):
        """Tell all who name the same ``me`` of each other, and those who no longer do of nobody."""
        for folder in listed:
            if folder.name not in self._claims and (earlier := _kept(self._course, folder)):
                self._note(earlier)
        naming = alike((student, claimed) for student, claimed, _ in self._claims.values())
        for name, (student, claimed, before) in self._claims.items():
            others = naming.get(student, ()) if claimed else ()
            if others == before:
                continue
            if (result := kept(self._course, self._assignment, student, name)) is not None:
                result = replace(result, alike=others)
                keep(self._course, result)
                self._writer.put(result)
                self.rows[name] = Row.of(told_apart(result))

    def _note(self, result):
        self._claims[result.folder] = result.student, claims(result), result.alike

    def _tasks(self, chosen):
        """The Tasks that have to be marked; all other folders are finished on the way."""
        for folder in chosen:
            taken = self._taken(folder)
            if isinstance(taken, Result):
                self._finish(taken, new=True)
            elif earlier := self._earlier(taken):
                self._finish(earlier, taken.files)
            else:
                yield taken

    def _taken(self, folder):
        """A Task, or the Result of what cannot be marked."""
        named = {"student": folder.student, "assignment": self._assignment, "folder": folder.name}
        if folder.state:
            return Result(**named, state=folder.state, reason=folder.why, remarks=folder.remarks)
        try:
            return self._task(folder, named)
        except RefusedError as error:
            return Result(**named, state=REFUSED, reason=str(error), remarks=folder.remarks)
        except Exception as error:  # one folder stops no other
            reason = words("run.not_taken_in", error=str(error) or type(error).__name__)
            return Result(**named, state=PERSON, reason=reason, remarks=folder.remarks)

    def _task(self, folder, named):
        handed = take_in(folder)
        files = _files(handed)
        secret = self._course.secret(self._assignment, folder.student, hash_of_files(files))
        follows = (self._writer.master, secret, handed.submitted, handed.needs, *handed.remarks)
        return Task(
            **named,
            notebook=handed.notebook,
            files=handed.files,
            master=self._writer.master,
            secret=secret,
            key=key_of(files, *follows),
            submitted=handed.submitted,
            remarks=handed.remarks,
            needs=handed.needs,
            cell_seconds=self._cell_seconds,
            notebook_seconds=self._notebook_seconds,
        )

    def _earlier(self, task):
        earlier = kept(self._course, self._assignment, task.student, task.folder)
        if self._again or earlier is None or earlier.key != task.key:
            return None
        if earlier.gone:  # perhaps it was killed by something that has nothing to do with it
            self._tried_again.add(task.folder)
            return None
        return earlier if earlier.sandboxed or self._unsandboxed else None

    def _finish(self, result, beside=None, new=False):
        try:
            if new and result.gone and result.folder in self._tried_again:
                result = replace(result, gone=False)  # twice is the notebook's own doing
            if new:
                keep(self._course, result)
            self._writer.put(result, beside)
            self._note(result)
            row = Row.of(told_apart(result))
        except GradebookError:
            raise
        except Exception as error:  # one submission stops no other
            if getattr(error, "errno", None) in safe_files.FULL:
                raise  # it would stop them all, one by one
            reason = words("run.not_saved", error=str(error) or type(error).__name__)
            row = Row(student=result.student, folder=result.folder, state=PERSON, reason=reason)
        self.rows[result.folder] = row
        self._bar.update(1)


def _of_another_grader(course, chosen):
    """How many were graded before the grader or a question table changed."""
    found = (_kept(course, folder) for folder in chosen)
    return sum(1 for each in found if each and each.key and not is_of_this_grader(each.key))


def _kept(course, folder: Folder):
    return kept(course, folder.assignment, folder.student, folder.name)


def _untouched(course, folder: Folder):
    """The row of a folder that this run did not look at."""
    result = _kept(course, folder)
    if folder.state or result is None:
        return Row(
            student=folder.student, folder=folder.name, state=folder.state or UNGRADED,
            reason=folder.why, remarks=folder.remarks,
        )  # fmt: skip
    return Row.of(told_apart(result), *([words("run.since")] if _is_newer(folder, result) else []))


def _files(handed):
    return {"": handed.notebook, **handed.files}


def _is_newer(folder, result):
    """Whether what lies there is not what the result was made of."""
    try:
        handed = take_in(folder)
    except Exception:  # it is as bad as before, or worse: the next run says so
        return bool(result.key)
    if result.key:
        return files_of(result.key) != hash_of_files(_files(handed))
    # Without a key it was refused as it came in, or the grader failed, which the reason says.
    return result.state == REFUSED


def _forget_moved(course, assignment, listed):
    places = {}
    for folder in listed:
        places.setdefault(folder.student, []).append(folder.name)
    forget_moved(course, assignment, places)


def _at_least_to_mark(course, assignment, again):
    """How many submissions are new for sure, as far as can be told without reading any."""
    results = course.own / assignment / RESULTS
    done = len(os.listdir(results)) if results.is_dir() and not again else 0
    return len([*course.submitted.glob(f"*/{assignment}")]) - done


def _bar(assignment, count, wanted):
    if not wanted:
        return _Silent()
    return click.progressbar(
        length=count, label=escaped(assignment), show_pos=True, file=sys.stderr
    )


class _Silent(contextlib.nullcontext):
    """A progress bar that shows nothing."""

    def __init__(self):
        super().__init__(self)

    def update(self, steps):
        """Show nothing."""
