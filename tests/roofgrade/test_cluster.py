"""The same class on Dask's workers: the same grades, also when workers die."""

import pytest
from marks import BrokenBox, mark
from standin import SET, autograded, contents, grade_with, hand_in, new_course

from roofgrade import cluster
from roofgrade.book.kept import all_kept
from roofgrade.errors import MachineryError
from roofgrade.results import GRADED, PERSON
from roofgrade.run import grade


@pytest.fixture(scope="module")
def scheduler():
    with cluster.local(2) as address:
        yield address


@pytest.fixture
def course(tmp_path):
    return new_course(tmp_path / "course")


def test_grades_are_those_of_workers_on_one_machine(course, scheduler, tmp_path):
    other = new_course(tmp_path / "other")
    for number in range(8):
        hand_in(course, f"s{number}", answer=number)
        hand_in(other, f"s{number}", answer=number)
    (other.own / "key").write_text(course.key.hex())
    there, here = grade_with(course, cluster=scheduler), grade_with(other)
    assert there == here
    assert there.counts[GRADED] == 8
    assert contents(course.db_url) == contents(other.db_url)
    assert autograded(course) == autograded(other)
    before = contents(course.db_url)
    assert grade_with(course, cluster=scheduler) == there
    assert grade_with(course, cluster=scheduler, again=True) == there
    assert contents(course.db_url) == before


def test_a_worker_that_dies_takes_nobody_elses_grade(course, scheduler, tmp_path):
    hand_in(course, "ada", kill="")
    hand_in(course, "bea", kill_once=tmp_path / "killed")
    hand_in(course, "cem", machinery="")
    hand_in(course, "dia", **{"raise": ""})
    for student in ("eli", "fay", "gus"):
        hand_in(course, student)
    summary = grade_with(course, cluster=scheduler)
    found = {row.student: row for row in summary.rows}
    assert found["ada"].state == PERSON
    assert found["ada"].reason == "it stopped the worker twice"
    assert found["cem"].reason == "the grader failed twice: the warm Python died"
    assert found["dia"].reason == "the grader failed: ZeroDivisionError: by nought"
    assert {found[name].state for name in ("bea", "eli", "fay", "gus")} == {GRADED}


def test_workers_with_another_grader_are_refused(course, scheduler, monkeypatch):
    hand_in(course, "ada")
    monkeypatch.setattr(cluster, "version", lambda: "another")
    with pytest.raises(RuntimeError, match="have another roofkit, Python or NumPy"):
        grade_with(course, cluster=scheduler)
    assert not list(all_kept(course, SET))


def test_without_a_sandbox_nothing_is_graded(course, scheduler):
    hand_in(course, "ada")
    with pytest.raises(MachineryError, match="no user namespaces here"):
        grade(course, SET, bench=(mark, BrokenBox), cluster=scheduler, progress=False)
    assert not list(all_kept(course, SET))


def test_a_scheduler_that_is_not_there_is_told(course, monkeypatch):
    hand_in(course, "ada")
    monkeypatch.setitem(cluster.DASK, "distributed.comm.timeouts.connect", "1s")
    with pytest.raises(RuntimeError, match="no Dask scheduler at tcp"):
        grade_with(course, cluster="tcp://127.0.0.1:9")


def test_workers_of_its_own(course):
    hand_in(course, "ada")
    assert grade_with(course, cluster="local", workers=1).counts[GRADED] == 1
