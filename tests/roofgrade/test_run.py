"""A run over a class: every folder ends with one result, and only what changed is marked again."""

import fcntl
import multiprocessing
import os
import runpy
import shutil
import signal
import stat
import sys

import nbformat
import pytest
import standin
from homework import ROOT
from marks import BrokenBox, NoBox, mark
from nbgrader.api import Gradebook
from standin import SET, grade_with, hand_in, new_course

from roofcheck.tables.catalogue import find_question
from roofgrade.common.errors import MachineryError
from roofgrade.common.results import GRADED, REFUSED, WAITING
from roofgrade.course import Course
from roofgrade.gradebook.result_files import read_result, read_results
from roofgrade.gradebook.standings import read_standings
from roofgrade.judge.marking import read_release
from roofgrade.pages import feedback
from roofgrade.pages.summary import UNGRADED
from roofgrade.run import workers
from roofgrade.run.grading_run import grade_assignment, summarise_without_grading
from tools.notebooks.myst_cells import read_problem_set
from tools.notebooks.problem_sets import fill_in_set

pytestmark = pytest.mark.slow("each folder ends with one result, whatever happens in a run")


@pytest.fixture
def course(tmp_path):
    return new_course(tmp_path / "course")


def rows(summary):
    return {row.student: row for row in summary.rows}


def states(summary):
    return {row.student: row.state for row in summary.rows}


def marked_now(course):
    """When each result was last written."""
    results = course.grading / SET / "results"
    return {path.name: path.stat().st_mtime_ns for path in results.iterdir()}


def test_each_folder_ends_with_one_result_and_the_counts_add_up(course, tmp_path):
    hand_in(course, "ada")
    hand_in(course, "bea", machinery="")
    hand_in(course, "cem", **{"raise": ""})
    hand_in(course, "dia", kill="")
    hand_in(course, "eli", kill_once=tmp_path / "killed")
    hand_in(course, "fay", machinery_once=tmp_path / "failed")
    (course.submitted / "gus" / SET).mkdir(parents=True)
    (course.submitted / "gus" / SET / "essay.txt").write_text("Dear reader")
    hand_in(course, "hal").joinpath(f"{SET}.ipynb").chmod(0o600)
    hand_in(course, "ivy", half="")  # its worker dies in the middle of a result
    summary = grade_with(course)
    assert states(summary) == {
        "ada": GRADED, "bea": WAITING, "cem": WAITING, "dia": WAITING, "eli": GRADED, "fay": GRADED,
        "gus": REFUSED, "hal": GRADED, "ivy": WAITING,
    }  # fmt: skip
    found = rows(summary)
    assert found["bea"].reason == "the grader failed twice: the warm Python died"
    assert found["cem"].reason == "the grader failed: ZeroDivisionError: by nought"
    for student in ("dia", "ivy"):
        assert found[student].reason.startswith("its worker was stopped twice")
    assert summary.counts == {GRADED: 4, REFUSED: 1, WAITING: 4, UNGRADED: 0}
    assert len(list(read_results(course, SET))) == 9
    assert found["ada"].points is not None
    assert found["bea"].points is None


def test_what_is_nobodys_is_counted_and_no_student(course):
    hand_in(course, "ada")
    for name in ("cem.zip", "fay.docx"):
        (course.submitted / name).touch()
    (course.submitted / "<b>" / SET).mkdir(parents=True)
    summary = grade_with(course)
    assert summary.counts == {GRADED: 1, REFUSED: 0, WAITING: 3, UNGRADED: 0}
    assert summarise_without_grading(course, SET).counts == summary.counts
    assert "4 folders for ps1: 1 graded, 0 refused, 3 need review." in summary.sentences()
    text = summary.text()
    assert "cem.zip" in text
    assert "fay.docx" in text
    assert {*read_standings(course, SET)} == {"ada"}
    for name in ("cem.zip", "fay.docx"):
        (course.submitted / name).unlink()
    shutil.rmtree(course.submitted / "<b>")
    assert grade_with(course).counts[WAITING] == 0
    assert [result.student for result in read_results(course, SET)] == ["ada"]


def test_a_folder_in_another_spelling_is_no_new_student(course):
    with Gradebook(course.db_url) as gradebook:
        gradebook.add_student("zo\u00e9", email="zoe@example.edu")
    hand_in(course, "Zoe\u0301")
    [row] = summarise_without_grading(course, SET).rows
    assert row.student == "zo\u00e9"
    [row] = grade_with(course).rows
    assert (row.student, row.state, row.points is None) == ("zo\u00e9", GRADED, False)
    assert {*read_standings(course, SET)} == {"zo\u00e9"}


def test_what_has_not_changed_is_taken_from_what_is_kept(course, monkeypatch):
    for student in ("ada", "bea", "cem"):
        hand_in(course, student)
    hand_in(course, "dia", machinery="")
    first = grade_with(course)
    before, book = marked_now(course), standin.contents(course.db_url)
    hand_in(course, "bea", answer="2")
    hand_in(course, "eli")
    second = grade_with(course)
    after = marked_now(course)
    again = {name for name, when in after.items() if before.get(name) != when}
    # Changed, new, and the one that the grader failed at.
    assert len(again) == 3
    assert states(second) == states(first) | {"eli": GRADED}
    hand_in(course, "bea")
    (course.submitted / "eli" / SET / f"{SET}.ipynb").unlink()
    os.rmdir(course.submitted / "eli" / SET)
    os.rmdir(course.submitted / "eli")
    third = grade_with(course)
    assert third.gone == ("eli",)
    grades = standin.contents(course.db_url)["grade"]
    assert not book["grade"] - grades
    assert grades - book["grade"], "eli's are gone"
    last = marked_now(course)
    grade_with(course, again=True)
    now = marked_now(course)
    assert sum(now[name] != last[name] for name in now) == 4


def test_a_changed_grader_is_announced_and_marks_anew(course, monkeypatch, capsys):
    for student in ("ada", "bea", "cem"):
        hand_in(course, student)
    grade_with(course, only=("ada", "bea"))
    assert "changed" not in capsys.readouterr().err
    key = read_result(course, SET, "ada", f"ada/{SET}").key
    monkeypatch.setattr("roofgrade.gradebook.result_files.hash_grader", lambda: "another")
    grade_with(course)
    said = capsys.readouterr().err
    assert "have changed, so all 2 earlier results are graded again" in said
    assert read_result(course, SET, "ada", f"ada/{SET}").key != key
    grade_with(course)
    assert "changed" not in capsys.readouterr().err


def test_whose_process_was_ended_is_tried_once_more_by_the_next_run(course, tmp_path):
    hand_in(course, "ada", gone="")
    hand_in(course, "bea", gone_once=tmp_path / "gone")
    assert states(grade_with(course)) == {"ada": WAITING, "bea": WAITING}
    assert states(grade_with(course)) == {"ada": WAITING, "bea": GRADED}
    before = marked_now(course)
    assert states(grade_with(course)) == {"ada": WAITING, "bea": GRADED}
    assert marked_now(course) == before


def test_other_work_is_tried_on_other_cases_and_the_same_on_the_same(course, monkeypatch):
    drawn, secret = [], Course.case_secret
    monkeypatch.setattr(
        Course, "case_secret", lambda *about: drawn.append(secret(*about)) or drawn[-1]
    )
    for answer in ("1", "1", "2"):
        hand_in(course, "ada", answer)
        grade_with(course)
    assert len(drawn) == 3
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_ran_without_a_sandbox_is_marked_again_in_one(course):
    hand_in(course, "ada")
    grade_with(course, unsandboxed=True)
    assert not read_result(course, SET, "ada", f"ada/{SET}").sandboxed
    grade_with(course)
    assert read_result(course, SET, "ada", f"ada/{SET}").sandboxed
    grade_with(course, unsandboxed=True)
    assert read_result(course, SET, "ada", f"ada/{SET}").sandboxed


def test_without_a_sandbox_nothing_is_graded(course):
    hand_in(course, "ada")
    with pytest.raises(MachineryError, match="no user namespaces here"):
        grade_assignment(course, SET, bench=(mark, BrokenBox), workers=2, progress=False)
    assert not list(read_results(course, SET))


def test_a_run_that_fails_before_it_marks_leaves_no_worker(course):
    hand_in(course, "ada")
    with pytest.raises(ValueError, match="from zoe"):
        grade_with(course, only=["zoe"])
    for worker in multiprocessing.active_children():
        worker.join(300)
    assert not multiprocessing.active_children()


def test_two_runs_of_one_set_exclude_each_other(course):
    hand_in(course, "ada")
    grade_with(course)
    with (course.grading / SET / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RuntimeError, match=f"process {os.getpid()} is already grading {SET}"):
            grade_with(course)
    assert states(grade_with(course)) == {"ada": GRADED}


def test_a_run_over_some_students_leaves_the_rest_as_it_stands(course):
    for student in ("ada", "bea", "cem"):
        hand_in(course, student)
    summary = grade_with(course, only=("bea",))
    assert states(summary) == {"ada": UNGRADED, "bea": GRADED, "cem": UNGRADED}
    assert states(summarise_without_grading(course, SET)) == states(summary)
    with pytest.raises(ValueError, match="no ps1 from dia"):
        grade_with(course, only=("bea", "dia"))


def test_a_later_submission_is_seen_before_it_is_graded(course):
    folder = hand_in(course, "ada")
    grade_with(course)
    assert rows(summarise_without_grading(course, SET))["ada"].remarks == ()
    later = folder.stat().st_mtime + 60
    os.utime(folder / f"{SET}.ipynb", (later, later))  # as a copy of the course has it
    assert rows(summarise_without_grading(course, SET))["ada"].remarks == ()
    hand_in(course, "ada", answer="2")
    summary = summarise_without_grading(
        course, SET, remarks={"ada": ["the feedback page is out of date"]}
    )
    assert rows(summary)["ada"].remarks == (
        "handed in again since it was graded",
        "the feedback page is out of date",
    )


def test_a_submission_that_cannot_be_saved_stops_no_other(course, tmp_path):
    hand_in(course, "ada")
    hand_in(course, "bea")
    course.autograded.mkdir()
    (course.autograded / "ada").symlink_to(tmp_path)
    summary = grade_with(course)
    assert states(summary) == {"ada": WAITING, "bea": GRADED}
    assert rows(summary)["ada"].reason.startswith("it could not be saved: ")
    assert not (tmp_path / SET).exists()


def test_where_a_group_grades_each_of_it_may_write_what_another_wrote(course):
    hand_in(course, "ada")
    course.case_key  # noqa: B018  made before anybody else grades
    assert not stat.S_IMODE(course.grading.stat().st_mode) & 0o077
    settings = course.root / "nbgrader_config.py"
    settings.write_text(settings.read_text() + "\nc.CourseDirectory.groupshared = True\n")
    shared = Course(course.root)
    before = os.umask(0o022)
    try:
        grade_with(shared)
        feedback.write_pages(shared, SET)
    finally:
        os.umask(before)
    own = [course.grading / name for name in (f"{SET}/lock", "key")]
    results = [*(course.grading / SET / "results").iterdir()]
    for path in (course.root / "gradebook.db", *own, *results):
        assert path.stat().st_mode & 0o660 == 0o660, path
    for top in (course.grading, course.autograded, course.feedback):
        for path in (top, *(path for path in top.rglob("*") if path.is_dir())):
            assert path.stat().st_mode & 0o2770 == 0o2770, path
    graded = course.autograded / "ada" / SET
    assert os.listdir(graded) == [f"{SET}.ipynb"]
    assert (graded / f"{SET}.ipynb").stat().st_mode & 0o777 == 0o664


def test_an_exam_is_graded_only_on_what_its_notebook_asks(course, tmp_path, monkeypatch):
    (tmp_path / "ps1.toml").write_text('["ps1.ridge"]\nlike = "ps1.ridge"\nseed = "exam 1"\n')
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path))
    read_release.cache_clear()
    hand_in(course, "ada")
    question = find_question("ps1.ridge")
    with pytest.raises(ValueError, match="with other figures than the notebook") as refused:
        grade_with(course)
    assert str(refused.value).endswith(question.text())
    assert not (course.grading / SET / "results").exists()
    [path] = (ROOT / "solutions/text").glob("ps1-*.md")
    source = path.read_text().replace("An RTX A6000 is", "{eval}`ps1.ridge.text` It is")
    built = read_problem_set(path.name, source, lambda name: find_question(name).points)
    fill_in_set(built, ROOT)
    [text] = [cell for cell in built.notebook.cells if cell.id == "ps1-ridge-text"]
    for path in (course.source_path(SET), course.release_path(SET)):
        notebook = nbformat.read(path, as_version=4)
        cell = next(cell for cell in notebook.cells if cell.id == text.id)
        cell.source, cell.metadata.asks = text.source, text.metadata.asks
        nbformat.write(notebook, path)
    assert states(grade_with(course)) == {"ada": GRADED}
    monkeypatch.delenv("ROOFKIT_QUESTIONS")
    read_release.cache_clear()
    with pytest.raises(ValueError, match="with other figures than the notebook"):
        grade_with(course)


def test_ctrl_c_does_not_reach_a_worker_that_is_starting():
    worker = workers._WorkerProcess(workers.MarkingSetup(mark, NoBox, False))
    os.kill(worker._process.pid, signal.SIGINT)
    assert worker.receive() is None
    worker.kill()
    assert worker.is_ready


def test_ctrl_c_during_imports_prints_no_traceback(monkeypatch):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "roofgrade.commands", Interrupted())
    with pytest.raises(SystemExit, match="Aborted!"):
        runpy.run_module("roofgrade", run_name="__main__")
