"""Killed at any moment, the commands after a run lose nothing either: typed again, they go on.

Each is killed at one moment, and at ten where slow tests run. After each kill the same command
is typed again; gradebook, kept results, graded notebooks and pages are then those of a course in
which nothing was killed.
"""

import contextlib
import datetime
import itertools
import multiprocessing
import os
import random
import shutil
import signal
import time
import zipfile

import pytest
from answered import RIDGE, SPARSE, graded_class, ridge_within
from click.testing import CliRunner
from nbgrader.api import Gradebook
from standin import SET, autograded, contents

from roofgrade.after import regrade
from roofgrade.book import kept
from roofgrade.book.gradebook import Writer
from roofgrade.commands import main
from roofgrade.course import Course

STUDENTS = [f"s{number}" for number in range(8)]
TEN = pytest.mark.slow("nothing is lost at rarer moments of a kill")
MOMENTS = pytest.mark.parametrize("kills", [1, pytest.param(10, marks=TEN)])


def ask(course, *arguments):
    said = CliRunner().invoke(main, ["--course", str(course.root), *map(str, arguments)])
    assert said.exit_code == 0, said.output


def killed(draw, longest, course, *arguments):
    """Whether the command was still at work when it was killed, some time after its start."""
    process = multiprocessing.get_context("fork").Process(target=ask, args=[course, *arguments])
    process.start()
    time.sleep(draw.uniform(0, longest))
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode == -signal.SIGKILL


def kill_often(courses, kills, change):
    """Kill what ``change`` says to ask for; ``courses`` are the killed and the undisturbed one."""
    draw, longest, hits = random.Random(kills), 1.0, 0
    for number in itertools.count():
        arguments = change(number)
        hit = killed(draw, longest, courses[0], *arguments)
        hits += hit
        longest *= 1 if hit else 0.8  # it was over sooner
        for course in courses:
            ask(course, *arguments)
        assert state(courses[0]) == state(courses[1])
        if hits == kills:
            return


def state(course):
    """All that is kept of a class, as it is after each command."""
    pages = {path.name: path.read_bytes() for path in course.feedback.rglob("*") if path.is_file()}
    results = {result.student: result for result in kept.all_kept(course, SET)}
    assert not kept.unsaved(course, SET)
    return contents(course.db_url), autograded(course), results, pages


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A class that has handed in late, and has been graded."""
    folder = tmp_path_factory.mktemp("class") / "course"
    course = graded_class(folder, dict.fromkeys(STUDENTS, SPARSE))
    course.key  # noqa: B018  made before it is copied
    with Gradebook(course.db_url) as book:
        late = datetime.datetime(2027, 2, 2)
        book.update_or_create_assignment(SET, duedate=late - datetime.timedelta(days=1))
        for student in STUDENTS:
            book.update_or_create_submission(SET, student, timestamp=late)
    mark(course, 1)
    return course


@pytest.fixture
def courses(handed_in, tmp_path):
    """Two courses alike: one in which a command is killed, and one in which none is."""
    folders = tmp_path / "killed", tmp_path / "undisturbed"
    return [Course(shutil.copytree(handed_in.root, folder)) for folder in folders]


def mark(course, points):
    """Score all paragraphs by hand."""
    with Gradebook(course.db_url) as book:
        for student in STUDENTS:
            grade = book.find_grade(f"{SET}-paragraph", SET, SET, student)
            grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


@MOMENTS
def test_a_killed_regrading_goes_on(courses, kills, monkeypatch):
    with contextlib.ExitStack() as tables:

        def change(number):
            tables.close()
            tables.enter_context(ridge_within(monkeypatch, rtol=(1.5, 0.01)[number % 2]))
            return "regrade", SET, RIDGE, "--yes"

        kill_often(courses, kills, change)


@MOMENTS
def test_killed_penalties_are_all_there_or_none(courses, kills):
    kill_often(courses, kills, lambda number: ("late", SET, "--per-day", 0.1 * (number % 5)))


@MOMENTS
def test_killed_pages_are_written_by_the_next_command(courses, kills):
    def change(number):
        for course in courses:
            mark(course, number % 4)
        return "feedback", SET

    kill_often(courses, kills, change)


@MOMENTS
def test_an_export_that_is_killed_while_it_saves_what_a_run_left_goes_on(
    courses, kills, monkeypatch
):
    def change(number):
        rtol = (1.5, 0.01)[number % 2]
        with ridge_within(monkeypatch, rtol), monkeypatch.context() as patch:
            patch.setattr(Writer, "put", lambda *arguments: None)  # it keeps, and saves nothing
            for course in courses:
                regrade.apply(course, regrade.preview(course, SET, RIDGE))
                assert len(kept.unsaved(course, SET)) == len(STUDENTS)
        return "export", SET

    kill_often(courses, kills, change)


@MOMENTS
def test_a_killed_unpacking_leaves_each_student_a_whole_folder(courses, kills, tmp_path):
    archive = tmp_path / "class.zip"
    release = courses[0].release(SET).read_bytes()

    def pack(number):
        with zipfile.ZipFile(archive, "w") as made:
            for student in STUDENTS:
                made.writestr(f"{student}/{SET}/{SET}.ipynb", release)
                made.writestr(f"{student}/{SET}/version.txt", str(number))
                made.writestr(f"{student}/{SET}/only-{number}.txt", "")

    def files(course):
        own = course.own / "earlier"
        found = [*course.submitted.rglob("*"), *own.rglob("*")]
        assert not (course.own / "unpacking").exists()
        return {
            str(path.relative_to(course.root)): path.read_bytes()
            for path in found
            if path.is_file()
        }

    def versions(course):
        for student in STUDENTS:
            folder = course.submitted / student / SET
            number = (folder / "version.txt").read_text()
            wanted = {f"{SET}.ipynb", "version.txt", f"only-{number}.txt"}
            assert {path.name for path in folder.iterdir()} == wanted
            yield int(number)

    draw, longest, hits = random.Random(kills), 1.0, 0
    for number in itertools.count():
        pack(number)
        if number:
            hit = killed(draw, longest, courses[0], "unpack", archive, SET)
            hits += hit
            longest *= 1 if hit else 0.8
            assert set(versions(courses[0])) <= {number, number - 1}
        for course in courses:
            ask(course, "unpack", archive, SET)
        assert files(courses[0]) == files(courses[1])
        if hits == kills:
            return
