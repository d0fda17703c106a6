"""A class graded by a Dask cluster: a real scheduler, real workers, the real sandbox."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from homework import ROOT, ask, hand_in, make_course
from marks import BrokenBox

from roofgrade.common.errors import MachineryError
from roofgrade.common.results import GRADED
from roofgrade.course import Course
from roofgrade.judge.marking import mark_submission
from roofgrade.run import cluster, grading_run
from roofgrade.run.workers import MarkingSetup
from roofgrade.sandbox import Box

WEEKLY = pytest.mark.weekly(
    "Dask workers grade as those of one machine do, and one that is lost loses nothing"
)
SET = "ps1"


@pytest.fixture(scope="module")
def dask():
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError:
        pytest.skip("distributed is not installed: pip install distributed")
    with contextlib.ExitStack() as running:

        def start(*command):
            path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
            environment = os.environ | {"PYTHONPATH": path}
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            running.callback(end, process)
            return process

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        start("scheduler", "--host", address, "--no-dashboard")
        worker = ("worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        yield address, [start(*worker, "--name", str(number)) for number in range(2)]


def end(process):
    for each in psutil.Process(process.pid).children(recursive=True) if not process.poll() else ():
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    process.kill()
    process.wait()


@pytest.fixture
def course(tmp_path):
    root = make_course(tmp_path)
    for student, kind in {"ada": "solutions", "bob": "exercises", "cyd": "solutions"}.items():
        hand_in(root, SET, student, {}, kind)
    return Course(root)


def points(summary):
    return {row.student: (row.state, row.points) for row in summary.rows}


@WEEKLY
def test_a_class_gets_the_points_that_one_machine_gives_also_where_a_worker_is_lost(dask, course):
    address, workers = dask
    alone = points(grading_run.grade_assignment(course, SET, workers=1, progress=False))
    assert {state for state, _ in alone.values()} == {GRADED}
    assert alone["ada"] > alone["bob"]
    assert (
        points(grading_run.grade_assignment(course, SET, dask=address, again=True, progress=False))
        == alone
    )
    lost, _ = workers
    marked = cluster.Cluster.mark_all

    def losing(self, tasks):
        for number, done in enumerate(marked(self, tasks)):
            if not number:
                os.kill(lost.pid, signal.SIGKILL)
            yield done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster.Cluster, "mark_all", losing)
        assert (
            points(
                grading_run.grade_assignment(course, SET, dask=address, again=True, progress=False)
            )
            == alone
        )
    assert lost.wait() == -signal.SIGKILL


@WEEKLY
def test_without_a_sandbox_nothing_is_graded(dask, course):
    with pytest.raises(MachineryError, match="no user namespaces here"):
        grading_run.grade_assignment(
            course, SET, dask=dask[0], progress=False, bench=(mark_submission, BrokenBox)
        )


@WEEKLY
def test_a_worker_with_another_grader_is_told(dask, course, monkeypatch):
    monkeypatch.setattr(cluster, "hash_grader", lambda: "another")
    with pytest.raises(RuntimeError, match="a different version of the grader"):
        grading_run.grade_assignment(course, SET, dask=dask[0], progress=False)


def test_an_open_scheduler_is_refused_unless_one_says_so(course):
    said = ask(course.root, SET, "--dask", "tcp://192.0.2.7:8786", code=1).output
    assert "add --trust-network" in said


@WEEKLY
def test_where_the_scheduler_listens_counts_too(dask, course, monkeypatch):
    monkeypatch.setattr(cluster, "is_protected", Mock(side_effect=[True, False]))
    with pytest.raises(ValueError, match="without TLS"):
        grading_run.grade_assignment(course, SET, dask=dask[0], progress=False)


@WEEKLY
def test_nobody_at_the_address_is_told_in_a_sentence(dask, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", "1s")
    with (
        pytest.raises(RuntimeError, match="Start a Dask scheduler"),
        cluster.Cluster(MarkingSetup(mark_submission, Box, False), "tcp://127.0.0.1:9"),
    ):
        pass
