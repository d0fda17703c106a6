"""Killed at any moment, a run leaves no process, loses nothing and counts nothing twice.

Every week three runs in the sandbox are killed at a random time: a worker, the coordinator with
its writer, or both. `test_kill_commands.py` kills commands at each of their writes.
"""

import itertools
import multiprocessing
import os
import random
import shutil
import signal
import time

import homework
import psutil
import pytest
from standin import SET, autograded, contents, grade_with, hand_in, new_course

from roofgrade.gradebook.result_files import read_results
from roofgrade.run.grading_run import grade_assignment

WHOM = "worker", "coordinator", "both"
PATIENCE = 300  # seconds that no machine needs
STUDENTS = [f"s{number}" for number in range(10)]


def start(course, run=grade_with, *arguments):
    """A run in a process of its own, which has all imports done."""
    process = multiprocessing.get_context("fork").Process(target=run, args=[course, *arguments])
    process.start()
    return process


def workers_of(process):
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def kill(process, whom):
    """SIGKILL to one worker, to the coordinator, or to both; whether the run was still going on."""
    try:
        workers = workers_of(process)[:1] if whom != "coordinator" else []
        if whom != "coordinator" and not workers:
            return False
        for pid in [worker.pid for worker in workers] + [process.pid] * (whom != "worker"):
            os.kill(pid, signal.SIGKILL)
    except (psutil.Error, ProcessLookupError):
        return False
    process.join()
    return whom == "worker" or process.exitcode == -signal.SIGKILL


def saved(course):
    kept = {
        result.student: (result.state, result.notebook, result.answers)
        for result in read_results(course, SET)
    }
    return contents(course.db_url), autograded(course), kept


def grade_in_sandbox(course):
    return grade_assignment(course, SET, workers=2, progress=False)


@pytest.mark.weekly("a killed run leaves no process of a sandbox behind, and no half grade")
@pytest.mark.usefixtures("sandbox")
def test_killed_sandboxes_leave_what_undisturbed_ones_leave(tmp_path):
    course, undisturbed = new_course(tmp_path / "killed"), new_course(tmp_path / "undisturbed")
    for number, student in enumerate(STUDENTS):
        for each in (course, undisturbed):
            homework.hand_in(each.root, SET, student, {}, ("solutions", "exercises")[number % 2])
    (undisturbed.grading / "key").write_text(course.case_key.hex())
    grade_in_sandbox(undisturbed)
    draw, killed = random.Random("sandbox"), 0
    for run in itertools.count():
        process = start(course, grade_in_sandbox)
        while len(workers_of(process)) < 2 and process.is_alive():
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 4))
        running = psutil.Process(process.pid).children(recursive=True) if process.is_alive() else []
        killed += kill(process, WHOM[killed % len(WHOM)])
        process.join()
        assert not psutil.wait_procs(running, timeout=PATIENCE)[1]
        if killed == 3:
            break
        if run % 2:  # some start where others were killed
            shutil.rmtree(course.grading / SET, ignore_errors=True)
    assert grade_in_sandbox(course).counts["graded"] == len(STUDENTS)
    assert saved(course) == saved(undisturbed)


def grade_until_stopped(course, told):
    # What a shell starts in the background ignores it, and so does all that comes of that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    told.put(grade_with(course))


def test_ctrl_c_ends_a_run_with_what_is_done(tmp_path):
    course = new_course(tmp_path / "course")
    (wall := tmp_path / "wall").touch()  # so that it is not over before it is stopped
    for number in range(20):
        hand_in(course, f"s{number:02}", **({"wait": wall} if number >= 10 else {}))
    told = multiprocessing.get_context("fork").SimpleQueue()
    process = start(course, grade_until_stopped, told)
    while len([*course.autograded.glob(f"*/{SET}/{SET}.ipynb")]) < 10:
        time.sleep(0.01)
    # As a terminal does; the coordinator, which ends the others, comes last here.
    for each in (*(worker.pid for worker in workers_of(process)), process.pid):
        os.kill(each, signal.SIGINT)
    summary = told.get()
    process.join()
    assert process.exitcode == 0
    assert summary.stopped
    assert summary.counts["graded"] == summary.counts["ungraded"] == 10
    wall.unlink()
    assert grade_with(course).counts["graded"] == 20


def test_no_worker_outlives_its_coordinator(tmp_path):
    course = new_course(tmp_path / "course")
    for student in STUDENTS:
        hand_in(course, student)
    process = start(course)
    deadline = time.monotonic() + PATIENCE
    workers = []
    while len(workers) < 2 and time.monotonic() < deadline:
        workers = workers_of(process)
    while not list(read_results(course, SET)) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    gone, alive = psutil.wait_procs(workers, timeout=PATIENCE)
    assert len(gone) == 2
    assert not alive
