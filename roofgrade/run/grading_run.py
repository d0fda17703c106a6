"""Grades a whole class: each folder ends up graded, refused or waiting for a person.

Unchanged submissions keep their stored results, and workers mark the rest. Each result is stored
immediately. A run can therefore be stopped or killed at any time, and the same command then
continues it.
"""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

import click

from roofgrade.common import safe_files
from roofgrade.common.errors import RefusedError
from roofgrade.common.marking_task import CELL_SECONDS, NOTEBOOK_SECONDS, Task
from roofgrade.common.results import REFUSED, WAITING, Result
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.course import Course
from roofgrade.gradebook import result_files
from roofgrade.gradebook.database import GradebookError, open_gradebook
from roofgrade.gradebook.standings import query_max_score, query_standings, query_student_ids
from roofgrade.gradebook.writer import GradebookWriter
from roofgrade.intake.submitted_folders import Folder, list_folders, read_submission
from roofgrade.judge import shared_claims
from roofgrade.judge.marking import mark_submission, read_release
from roofgrade.pages.summary import UNGRADED, FolderRow, Summary, summarise
from roofgrade.run.cluster import Cluster
from roofgrade.run.workers import MarkingSetup, Workers
from roofgrade.sandbox import Box


def grade_assignment(
    course: Course,
    assignment: str,
    *,
    workers: int | None = None,
    dask: str = "",
    trust_network: bool = False,
    unsandboxed: bool = False,
    again: bool = False,
    progress: bool = True,
    only: Collection[str] = (),
    cell_seconds: float = CELL_SECONDS,
    notebook_seconds: float = NOTEBOOK_SECONDS,
    bench: tuple[Callable, Callable] = (mark_submission, Box),
) -> Summary:
    """Grade a set, write the summary's page to ``autograded/`` and return the summary.

    The work is done by ``workers`` processes, by default one per core, or by the workers of the
    Dask scheduler at the address ``dask``; see Cluster for ``trust_network``. ``again`` also marks
    unchanged submissions, and ``only`` limits the run to these students. After Ctrl-C, the Summary
    covers the finished part.

    Raises ValueError if the set has no release or the gradebook rejects it, RuntimeError if another
    run is grading it or the gradebook is locked or lost, and MachineryError if the sandbox cannot
    be started.
    """
    course.release_path(assignment)  # Raise ValueError for an unknown set.
    count = workers or len(os.sched_getaffinity(0))
    kind = MarkingSetup(*bench, unsandboxed, course.private_paths())
    with contextlib.ExitStack() as stack:
        stack.enter_context(result_files.run_lock(course, assignment))
        pool = Cluster(kind, dask, trust_network) if dask else Workers(kind, count)
        stack.enter_context(pool)
        writer = stack.enter_context(GradebookWriter(course, assignment))
        read_release(writer.release_json)  # An error here would fail every submission.
        folders = list_folders(course, assignment, writer.query(query_student_ids))
        if unknown := sorted(set(only) - {folder.student for folder in folders}):
            students = ", ".join(unknown)
            raise ValueError(sentence("run.no_folder", students=students, assignment=assignment))
        chosen = [folder for folder in folders if not only or folder.student in only]
        if not again and (changed := _count_other_grader(course, chosen)):
            click.echo(sentence("run.grader_changed", count=changed), err=True)
        bar = stack.enter_context(click.progressbar(
            length=len(chosen), label=escape_text(assignment), show_pos=True,
            file=sys.stderr if progress else io.StringIO(),
        ))  # fmt: skip
        run = _GradingRun(course, assignment, writer, bar, again=again, unsandboxed=unsandboxed,
                          seconds=(cell_seconds, notebook_seconds))  # fmt: skip
        stopped = False
        try:
            run.grade_folders(chosen, pool)
        except KeyboardInterrupt:
            stopped = True
        run.withhold_shared(folders)
        rest = [folder for folder in folders if folder.name not in run.rows]
        if not rest:
            owned = {folder.name: folder.student for folder in folders}
            result_files.delete_moved(course, assignment, owned)
        rows = [*run.rows.values(), *(_make_kept_row(course, folder) for folder in rest)]
        standings = writer.query(query_standings, assignment)
        worth = writer.query(query_max_score, assignment)
        summary = summarise(assignment, rows, standings, worth, stopped=stopped)
        write_summary_page(course, summary)
    return summary


def summarise_without_grading(
    course: Course, assignment: str, remarks: Mapping[str, Collection[str]] = MappingProxyType({})
) -> Summary:
    """Return the Summary of the stored results, without grading anything.

    ``remarks`` has the remarks on each student's feedback page. Raises ValueError if the set has no
    release, and GradebookError if the gradebook cannot be read.
    """
    course.release_path(assignment)
    with open_gradebook(course) as book:
        students = query_student_ids(book)
        worth = query_max_score(book, assignment)
        standings = {} if worth is None else query_standings(book, assignment)
    folders = list_folders(course, assignment, students)
    rows = [_make_kept_row(course, folder) for folder in folders]
    return summarise(assignment, rows, standings, worth or 0.0, remarks=remarks)


def write_summary_page(course: Course, summary: Summary):
    """Write the summary's page to ``autograded/``, as SET.html."""
    course.autograded.mkdir(exist_ok=True)
    with safe_files.open_below(course.open_to_group(course.autograded)) as folder:
        safe_files.write(folder, f"{summary.assignment}.html", summary.page().encode(), 0o644)


class _GradingRun:
    """A grading run. ``rows`` has the summary's row of each finished folder, by folder name."""

    def __init__(self, course, assignment, writer, bar, *, again, unsandboxed, seconds):
        self._course, self._assignment, self._writer, self._bar = course, assignment, writer, bar
        self._again, self._unsandboxed = again, unsandboxed
        self._cell_seconds, self._notebook_seconds = seconds
        self._retried = set()
        self._claims: dict[str, tuple[str, set[str], tuple[str, ...]]] = {}
        self._owners: set[str] = set()
        self.rows: dict[str, FolderRow] = {}

    def grade_folders(self, chosen, pool):
        # An interrupt closes the generator, which ends the workers immediately.
        with contextlib.closing(pool.mark_all(self._make_tasks(chosen))) as results:
            for task, result in results:
                self._finish_folder(result, task.files, new=True)

    def withhold_shared(self, folders):
        """Update the results of students who now share, or no longer share, their ``me``."""
        for folder in folders:
            if folder.name not in self._claims and (earlier := _find_kept(self._course, folder)):
                self._note_claims(earlier)
        standings = self._writer.query(query_standings, self._assignment)
        on_roster = {name for name, standing in standings.items() if standing.name}
        claims = [claims[:2] for claims in self._claims.values()]
        sharing = shared_claims.find_shared_claims(claims, self._owners & on_roster)
        for name, (student, claimed, before) in self._claims.items():
            others = sharing.get(student, ()) if claimed else ()
            if others == before:
                continue
            result = result_files.read_result(self._course, self._assignment, student, name)
            if result is not None:
                result = replace(result, alike=others)
                result_files.write_result(self._course, result)
                self._writer.save(result)
                self.rows[name] = FolderRow.from_result(shared_claims.withhold_shared(result))

    def _note_claims(self, result):
        claimed = shared_claims.find_claims(result)
        self._claims[result.folder] = result.student, claimed, result.alike
        self._owners |= {result.student} if shared_claims.has_own_work(result) else set()

    def _make_tasks(self, chosen):
        """Yield the tasks to mark, and finish all other folders in the process."""
        for folder in chosen:
            task = self._task_or_result(folder)
            if isinstance(task, Result):
                self._finish_folder(task, new=True)
            elif earlier := self._find_earlier(task):
                self._finish_folder(earlier, task.files)
            else:
                yield task

    def _task_or_result(self, folder):
        ids = {"student": folder.student, "assignment": self._assignment, "folder": folder.name}
        if folder.state:
            return Result(**ids, state=folder.state, reason=folder.why, remarks=folder.remarks)
        try:
            return self._make_task(folder, ids)
        except RefusedError as error:
            return Result(**ids, state=REFUSED, reason=str(error), remarks=folder.remarks)
        except Exception as error:  # One folder must not stop the others.
            reason = sentence("run.not_taken_in", error=str(error) or type(error).__name__)
            return Result(**ids, state=WAITING, reason=reason, remarks=folder.remarks)

    def _make_task(self, folder, ids):
        submission, release_json = read_submission(folder), self._writer.release_json
        files = _all_files(submission)
        files_hash = result_files.hash_files(files)
        secret = self._course.case_secret(self._assignment, folder.student, files_hash)
        key = result_files.make_key(
            files, release_json, secret, submission.submitted, submission.review_reason,
            *submission.remarks,
        )  # fmt: skip
        return Task(
            **ids, notebook=submission.notebook, files=submission.files, release_json=release_json,
            secret=secret, key=key, submitted=submission.submitted, remarks=submission.remarks,
            review_reason=submission.review_reason, cell_seconds=self._cell_seconds,
            notebook_seconds=self._notebook_seconds,
        )  # fmt: skip

    def _find_earlier(self, task):
        place = self._assignment, task.student, task.folder
        earlier = result_files.read_result(self._course, *place)
        if self._again or earlier is None or earlier.key != task.key:
            return None
        if earlier.gone:  # Something else may have killed it.
            self._retried.add(task.folder)
            return None
        return earlier if earlier.sandboxed or self._unsandboxed else None

    def _finish_folder(self, result, beside=None, new=False):
        try:
            if new and result.gone and result.folder in self._retried:
                # If the process ended twice, the notebook is to blame.
                result = replace(result, gone=False)
            if new:
                result_files.write_result(self._course, result)
            self._writer.save(result, beside)
            self._note_claims(result)
            row = FolderRow.from_result(shared_claims.withhold_shared(result))
        except GradebookError:
            raise
        except Exception as error:  # One submission must not stop the others.
            if getattr(error, "errno", None) in safe_files.DISK_FULL_ERRORS:
                raise  # All others would fail, too.
            reason = sentence("run.not_saved", error=str(error) or type(error).__name__)
            ids = {"student": result.student, "folder": result.folder}
            row = FolderRow(**ids, state=WAITING, reason=reason)
        self.rows[result.folder] = row
        self._bar.update(1)


def _count_other_grader(course, chosen):
    """Count the results from before a change to the grader or a question table."""
    results = (_find_kept(course, folder) for folder in chosen)
    keys = [result.key for result in results if result and result.key]
    return sum(not result_files.is_of_this_grader(key) for key in keys)


def _find_kept(course, folder: Folder):
    return result_files.read_result(course, folder.assignment, folder.student, folder.name)


def _make_kept_row(course, folder: Folder):
    result = _find_kept(course, folder)
    if folder.state or result is None:
        return FolderRow(
            student=folder.student, folder=folder.name, state=folder.state or UNGRADED,
            reason=folder.why, remarks=folder.remarks,
        )  # fmt: skip
    since = [sentence("run.since")] if _is_newer(folder, result) else []
    return FolderRow.from_result(shared_claims.withhold_shared(result), *since)


def _all_files(submission):
    return {"": submission.notebook, **submission.files}


def _is_newer(folder, result):
    try:
        submission = read_submission(folder)
    except Exception:  # The next run reports the error.
        return bool(result.key)
    if result.key:
        files_hash = result_files.hash_files(_all_files(submission))
        return result_files.read_files_hash(result.key) != files_hash
    # Without a key, it was refused before marking, or the grader failed, as the reason says.
    return result.state == REFUSED
