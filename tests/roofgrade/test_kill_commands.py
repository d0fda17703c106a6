"""Killed at any write, a command loses nothing: typed again, it goes on.

A command is killed just before it writes a file or commits to the gradebook: at
two such moments in continuous integration, at each of them every week. The same command is then
typed again; gradebook, kept results, graded notebooks and pages are those of a course in which
nothing was killed.
"""

import contextlib
import datetime
import itertools
import multiprocessing
import os
import shutil
import signal

import marks
import pytest
from answered import RIDGE, SPARSE, graded_class, ridge_within
from classroom import mark
from homework import ask
from marks import NoBox
from nbgrader.api import Gradebook
from sqlalchemy import event
from sqlalchemy.engine import Engine
from standin import SET, autograded, contents, hand_in

from roofgrade.common import safe_files
from roofgrade.course import Course
from roofgrade.gradebook import result_files
from roofgrade.run import grading_run

STUDENTS = [f"s{number}" for number in range(4)]
MOMENTS = pytest.mark.parametrize(
    "moments",
    [
        pytest.param((1, 6), marks=pytest.mark.slow("a killed command loses nothing")),
        pytest.param(range(1000), marks=pytest.mark.weekly("nor does one killed at any write")),
    ],
    ids=["two moments", "every moment"],
)


def run_until(moment, course, *arguments):
    """Run a command in a process that is killed before its write number ``moment``."""
    writes = itertools.count()

    def count_write(*arguments):
        if next(writes) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def counting(write):
        return lambda *given, **options: (count_write(), write(*given, **options))[1]

    for name in ("write", "touch"):
        setattr(safe_files, name, counting(getattr(safe_files, name)))
    event.listen(Engine, "commit", count_write)
    ask(course.root, *arguments)


def kill_at(moment, course, *arguments):
    """Whether the command had as many writes as that, and so was killed."""
    process = multiprocessing.get_context("fork").Process(
        target=run_until, args=[moment, course, *arguments]
    )
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def kill_at_each(moments, courses, change):
    """Kill what ``change`` says to run; ``courses`` are the killed and the undisturbed one."""
    for number, moment in enumerate(moments):
        arguments = change(number)
        killed = kill_at(moment, courses[0], *arguments)
        for course in courses:
            ask(course.root, *arguments)
        assert state(courses[0]) == state(courses[1]), f"killed at write {moment}"
        if not killed:
            break
    assert number, "no write was reached at all"


def state(course):
    """All that is kept of a class, as it is after each command."""
    pages = {path.name: path.read_bytes() for path in course.feedback.rglob("*") if path.is_file()}
    results = {result.student: result for result in result_files.read_results(course, SET)}
    assert not result_files.read_unsaved(course, SET)
    return contents(course.db_url), autograded(course), results, pages


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A class that has handed in late, and has been graded."""
    folder = tmp_path_factory.mktemp("class") / "course"
    course = graded_class(folder, dict.fromkeys(STUDENTS, SPARSE))
    course.case_key  # noqa: B018  made before it is copied
    with Gradebook(course.db_url) as book:
        late = datetime.datetime(2027, 2, 2)
        book.update_or_create_assignment(SET, duedate=late - datetime.timedelta(days=1))
        for student in STUDENTS:
            book.update_or_create_submission(SET, student, timestamp=late)
    for student in STUDENTS:
        mark(course, student, 1)
    return course


@pytest.fixture
def courses(handed_in, tmp_path):
    """Two courses alike: one in which a command is killed, and one in which none is."""
    folders = tmp_path / "killed", tmp_path / "undisturbed"
    return [Course(shutil.copytree(handed_in.root, folder)) for folder in folders]


@MOMENTS
def test_a_killed_run_goes_on(courses, moments, monkeypatch):
    monkeypatch.setitem(grading_run.grade_assignment.__kwdefaults__, "bench", (marks.mark, NoBox))

    def change(number):
        for course, student in itertools.product(courses, STUDENTS[:2]):
            hand_in(course, student, answer=str(number))
        return SET, "--workers", "1"

    kill_at_each(moments, courses, change)


@MOMENTS
def test_a_killed_regrading_goes_on(courses, moments, monkeypatch):
    with contextlib.ExitStack() as tables:

        def change(number):
            tables.close()
            tables.enter_context(ridge_within(monkeypatch, rtol=(1.5, 0.01)[number % 2]))
            return "regrade", SET, RIDGE, "--yes"

        kill_at_each(moments, courses, change)


@MOMENTS
def test_killed_penalties_are_all_there_or_none(courses, moments):
    kill_at_each(
        moments, courses, lambda number: ("late", SET, "--per-day", 0.1 * ((number + 1) % 5))
    )


@MOMENTS
def test_killed_pages_are_written_by_the_next_command(courses, moments):
    def change(number):
        for course, student in itertools.product(courses, STUDENTS):
            mark(course, student, number % 4)
        return "feedback", SET

    kill_at_each(moments, courses, change)
