"""A gradebook in PostgreSQL: a real server, in a temporary folder, on a socket of its own."""

import contextlib
import glob
import multiprocessing
import os
import pwd
import random
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
import sqlalchemy as sa
from standin import SET, autograded, contents, grade_with, hand_in, new_course, result_of

from roofgrade.course import Course
from roofgrade.gradebook.database import GradebookError
from roofgrade.gradebook.writer import GradebookWriter

COMMANDS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
STUDENTS = [f"s{number}" for number in range(6)]
# No test cuts the power, so the server need not wait for the disk.
FAST = "-c fsync=off -c listen_addresses="

pytestmark = [
    pytest.mark.weekly("a gradebook in PostgreSQL holds what one in SQLite does"),
    pytest.mark.skipif(not COMMANDS, reason="no PostgreSQL: on Debian, apt-get install postgresql"),
]


@pytest.fixture(scope="module")
def server():
    """The address of a database, as anyone on this machine may use it."""
    # Nobody else may enter the folder that pytest gives; the server refuses to run as root.
    folder = tempfile.mkdtemp(prefix="postgresql-")
    user, command = as_user(folder)
    data = f"{folder}/data"

    def run(name, *arguments):
        run = [*command, f"{COMMANDS[-1]}/{name}", *arguments]
        subprocess.run(run, check=True, cwd=folder, stdout=subprocess.DEVNULL)

    try:
        run("initdb", "-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"{FAST} -k {folder}"
        run("pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://{user}@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def as_user(folder):
    """A user who is not root, to whom the folder then belongs, and what runs commands so."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid()).pw_name, []
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return user.pw_name, become


@pytest.fixture(scope="module")
def course(server, tmp_path_factory):
    """A course with its gradebook there."""
    made = new_course(tmp_path_factory.mktemp("postgresql") / "course")
    settings = made.root / "nbgrader_config.py"
    settings.write_text(f"{settings.read_text()}\nc.CourseDirectory.db_url = {server!r}\n")
    return Course(made.root)


def tables(course):
    """The gradebook's contents, but for the settings, where the address stands."""
    found = contents(course.db_url)
    found["roofkit_notes"] = {row for row in found["roofkit_notes"] if "registered" not in row}
    return found


def test_postgresql_holds_what_sqlite_would_though_writers_are_killed(course, tmp_path):
    draw = random.Random(1)
    with GradebookWriter(course, SET):
        pass
    other = new_course(tmp_path / "other")
    (other.grading / "key").write_text(course.case_key.hex())
    for _ in range(4):
        for student in STUDENTS:
            answer = str(draw.random())
            hand_in(course, student, answer)
            hand_in(other, student, answer)
        run = multiprocessing.get_context("fork").Process(target=grade_with, args=[course])
        run.start()
        time.sleep(draw.uniform(0.3, 0.8))
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.pid, signal.SIGKILL)
        run.join()
    summary = grade_with(course)
    assert summary.counts["graded"] == len(STUDENTS)
    assert grade_with(other).counts == summary.counts
    assert tables(course) == tables(other)
    assert autograded(course) == autograded(other)
    before = contents(course.db_url)
    assert grade_with(course) == summary
    assert contents(course.db_url) == before


def test_a_locked_table_is_waited_for_and_then_named(course, monkeypatch):
    result = result_of(course, "zoe")
    engine = sa.create_engine(course.db_url)
    monkeypatch.setattr("roofgrade.gradebook.database.WAIT_SECONDS", 0.3)
    with GradebookWriter(course, SET) as writer:
        with engine.begin() as holder:
            holder.exec_driver_sql("lock table student in access exclusive mode")
            with pytest.raises(GradebookError, match="lock timeout"):
                writer.save(result)
        assert writer.save(result)
    engine.dispose()


def test_a_server_that_is_gone_is_told(course, tmp_path):
    settings = course.root / "nbgrader_config.py"
    gone = tmp_path / "course"
    shutil.copytree(course.root, gone)
    (gone / settings.name).write_text(
        settings.read_text() + "\nc.CourseDirectory.db_url = "
        "'postgresql+psycopg://ada:secret@/postgres?host=/nowhere'\n"
    )
    with pytest.raises(GradebookError, match="nowhere") as told, GradebookWriter(Course(gone), SET):
        pass
    assert "secret" not in str(told.value)
