"""The one writer: what nbgrader would have saved, once, and files that go nowhere else."""

import shutil
import sqlite3
from dataclasses import replace

import nbformat
import pytest
from classroom import mark
from nbgrader.api import Gradebook
from nbgrader.preprocessors import latesubmissions, saveautogrades
from standin import PARAGRAPH, SET, autograded, contents, new_course, result_of

from roofgrade.common import safe_files
from roofgrade.common.results import WAITING
from roofgrade.gradebook import result_files
from roofgrade.gradebook.database import GradebookError
from roofgrade.gradebook.standings import query_max_score, read_standings
from roofgrade.gradebook.writer import GradebookWriter

pytestmark = pytest.mark.slow("the gradebook holds what was judged, and keeps what a person gave")

NOTEBOOK = f"{SET}.ipynb"


@pytest.fixture
def course(tmp_path):
    return new_course(tmp_path / "course")


def put(course, result, beside=None):
    with GradebookWriter(course, SET) as writer:
        return writer.save(result, beside)


def grade(course, student, cell):
    with Gradebook(course.db_url) as book:
        found = book.find_grade(cell, SET, SET, student)
        return found.auto_score, found.manual_score, found.needs_manual_grade


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own
def test_grades_comments_and_files_are_those_that_nbgrader_saves(course, tmp_path):
    result = result_of(course, "ada", submitted="2026-11-01 12:00:00 UTC")
    assert put(course, result, {"data.csv": b"1", "deep/er/x": b"2", "old.ipynb": b"{}"})
    other = new_course(tmp_path / "other")
    resources = {"nbgrader": {"student": "ada", "assignment": SET, "notebook": SET}}
    resources["nbgrader"]["db_url"] = other.db_url
    with Gradebook(other.db_url, "roofline") as book:
        book.update_or_create_student("ada")
        book.update_or_create_submission(SET, "ada", timestamp=result.submitted)
    notebook = nbformat.reads(result.notebook, as_version=4)
    saveautogrades.SaveAutoGrades().preprocess(notebook, resources)
    latesubmissions.AssignLatePenalties().preprocess(notebook, resources)
    ours, theirs = contents(course.db_url), contents(other.db_url)
    for table in ("student", "submitted_assignment", "submitted_notebook", "grade", "comment"):
        assert ours[table] == theirs[table], table
    assert sum(ours["grade"].values()) == 9
    saved = autograded(course)
    assert {path: mode & 0o777 for path, (mode, _) in saved.items()} == dict.fromkeys(
        [f"ada/{SET}/{name}" for name in (NOTEBOOK, "data.csv", "deep/er/x", "timestamp.txt")],
        0o444,
    )
    assert saved[f"ada/{SET}/{NOTEBOOK}"][1].decode() == result.notebook + "\n"


def test_saving_again_changes_nothing(course):
    result = result_of(course, "ada")
    assert put(course, result, {"data.csv": b"1"})
    before = contents(course.db_url), autograded(course)
    assert not put(course, result, {"data.csv": b"1"})
    assert (contents(course.db_url), autograded(course)) == before
    assert not put(course, replace(result, notebook="", state="person"))
    assert (contents(course.db_url), autograded(course)) == before


def test_what_a_person_marked_waits_again_only_where_the_work_changed(course):
    result = result_of(course, "ada")
    put(course, result)
    assert grade(course, "ada", PARAGRAPH) == (None, None, True)
    mark(course, "ada", 3, "Well said.")
    mark(course, "ada", 1, cell=f"{SET}-ridge-check")
    put(course, result)
    # A check's message changes, say, and its points do not.
    put(course, replace(result, notebook=result.notebook + " "))
    assert grade(course, "ada", PARAGRAPH) == (None, 3, False)
    assert grade(course, "ada", f"{SET}-ridge-check")[1:] == (1, False)
    put(course, result_of(course, "ada", answer="2"))
    assert grade(course, "ada", PARAGRAPH) == (None, 3, False)
    assert grade(course, "ada", f"{SET}-ridge-check")[1:] == (1, True)
    put(course, replace(result, notebook=result.notebook.replace("its bytes", "the links")))
    assert grade(course, "ada", PARAGRAPH) == (None, 3, True)
    with Gradebook(course.db_url) as book:
        assert book.find_comment(PARAGRAPH, SET, SET, "ada").comment == "Well said."


def needs_a_person(course):
    return read_standings(course, SET)["ada"].state == WAITING


def test_a_person_is_needed_until_one_has_scored_each_flagged_cell(course):
    cells = f"{SET}-time-check", f"{SET}-mine-check"
    result = result_of(course, "ada", flagged=cells, state=WAITING, reason="a crash", key="files-1")
    result_files.write_result(course, result)
    put(course, result)
    assert [grade(course, "ada", cell)[2] for cell in cells] == [True, True]
    mark(course, "ada", 3)
    mark(course, "ada", 2, cell=cells[0])
    assert needs_a_person(course)
    mark(course, "ada", 0, cell=cells[1])
    assert not needs_a_person(course)
    # The same work on another grader, whether it crashes again or not.
    for again in ({}, {"state": "graded", "flagged": (), "reason": ""}):
        put(course, replace(result, notebook=f"{result.notebook} ", key="files-2", **again))
        assert [grade(course, "ada", cell)[1:] for cell in cells] == [(2, False), (0, False)]
        assert not needs_a_person(course)
    later = replace(result_of(course, "ada", answer="2"), **{
        name: getattr(result, name) for name in ("state", "reason", "flagged")
    }, key="others-1")  # fmt: skip
    result_files.write_result(course, later)
    put(course, later)
    assert needs_a_person(course)


def test_why_a_person_is_needed_stands_in_the_notebook_that_formgrader_shows(course):
    cell = f"{SET}-time-check"
    result = result_of(course, "ada", flagged=(cell,), state=WAITING, reason="a crash")
    path = course.autograded / "ada" / SET / NOTEBOOK
    for each in (result, replace(result, reason="another")):
        assert put(course, each)
        told = nbformat.read(path, as_version=4).metadata["roofgrade"]
        assert told == {"reason": each.reason, "flagged": [cell]}
        assert not put(course, each)
    put(course, replace(result, state="graded", flagged=(), reason=""))
    assert "roofgrade" not in nbformat.read(path, as_version=4).metadata


def test_other_cases_for_new_work_do_not_unsettle_an_answer_that_is_the_same(course):
    cell = f"{SET}-attainable-check"

    def tried_on(*drawn):
        result = result_of(course, "ada")
        reply = {"value": {"t": "callable"}, "calls": ["known", *drawn], "said": f"{drawn}"}
        answer = replace(result.answers[cell], reply=reply, shared=1)
        return replace(result, notebook=f"{result.notebook}{' ' * len(drawn)}",
                       answers=result.answers | {cell: answer})  # fmt: skip

    put(course, tried_on("one"))
    mark(course, "ada", 1, cell=cell)
    put(course, tried_on("two", "three"))
    assert grade(course, "ada", cell)[1:] == (1, False)


def test_missing_changed_and_leftover_files_are_put_right(course):
    result = result_of(course, "ada")
    put(course, result, {"data.csv": b"1"})
    before = autograded(course)
    folder = course.autograded / "ada" / SET
    (folder / NOTEBOOK).unlink()
    (folder / safe_files.TEMPORARY_NAME).write_text("{")
    (folder / "older.csv").write_text("2")
    assert put(course, result, {"data.csv": b"1"})
    assert autograded(course) == before
    (folder / ".ipynb_checkpoints").mkdir()
    assert not put(course, result, {"data.csv": b"1"})
    shutil.rmtree(course.autograded)
    assert put(course, result, {"data.csv": b"1"})
    assert autograded(course) == before


def test_a_writer_that_dies_before_its_commit_is_made_good(course, monkeypatch):
    first, second = result_of(course, "ada"), result_of(course, "ada", answer="2")
    put(course, first)
    grades = contents(course.db_url)

    def killed(*arguments, **options):
        fill(*arguments, **options)
        raise KeyboardInterrupt

    fill = safe_files.write_files
    monkeypatch.setattr(safe_files, "write_files", killed)
    with pytest.raises(KeyboardInterrupt):
        put(course, second)
    monkeypatch.undo()
    assert contents(course.db_url) == grades
    assert (course.autograded / "ada" / SET / NOTEBOOK).read_text() == second.notebook + "\n"
    assert put(course, second)
    assert contents(course.db_url) != grades
    assert put(course, first)
    assert contents(course.db_url) == grades


@pytest.mark.parametrize("where", ["ada", f"ada/{SET}", f"ada/{SET}/{NOTEBOOK}"])
def test_no_link_is_followed(course, tmp_path, where):
    result = result_of(course, "ada")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    link = course.autograded / where
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "file" if where.endswith("ipynb") else outside)
    if where.endswith("ipynb"):
        assert put(course, result, {})
        assert not link.is_symlink()
    else:
        with pytest.raises(OSError, match=r"directory|link"):
            put(course, result, {})
        assert not contents(course.db_url)["student"]
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("file", "mine")]


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_a_student_of_an_impossible_name_is_not_written(course, name):
    with pytest.raises(ValueError, match="not a valid name"):
        put(course, replace(result_of(course, "ada"), student=name))


def test_beside_files_stay_below_the_folder(course):
    for path in ("../x", "/x", "a/../../x"):
        with pytest.raises((ValueError, OSError)):
            put(course, result_of(course, "ada"), {path: b""})
    assert not contents(course.db_url)["student"]


def test_a_locked_gradebook_is_waited_for_and_then_named(course, monkeypatch):
    result = result_of(course, "ada")
    monkeypatch.setattr("roofgrade.gradebook.database.WAIT_SECONDS", 0.3)
    with GradebookWriter(course, SET) as writer:
        holder = sqlite3.connect(course.root / "gradebook.db")
        holder.execute("begin immediate")
        with pytest.raises(GradebookError, match="database is locked") as told:
            writer.save(result)
        assert "close that program" in str(told.value)
        holder.rollback()
        assert writer.save(result)
        holder.close()


def test_a_changed_source_is_registered_and_grades_survive(course):
    put(course, result_of(course, "ada"))
    mark(course, "ada", 3)
    before = grade(course, "ada", PARAGRAPH)
    release = course.release_path(SET).read_bytes()
    source = nbformat.read(course.source_path(SET), as_version=4)
    cells = {cell.id: cell for cell in source.cells}
    cells[f"{SET}-ridge-check"].metadata.nbgrader.points = 5
    rubric = cells[f"{SET}-paragraph-rubric"]
    rubric.source = rubric.source.replace("### END", "One more thing.\n### END")
    nbformat.write(source, course.source_path(SET))
    with GradebookWriter(course, SET) as writer:
        assert "One more thing." in writer.release_json
        assert writer.query(query_max_score, SET) == 29
    assert grade(course, "ada", PARAGRAPH) == before
    assert course.release_path(SET).read_bytes() == release
    source.cells = [cell for cell in source.cells if cell.id != f"{SET}-ridge-check"]
    nbformat.write(source, course.source_path(SET))
    with (
        pytest.raises(ValueError, match="Cannot add or remove cells"),
        GradebookWriter(course, SET),
    ):
        pass
    assert grade(course, "ada", PARAGRAPH) == before


def test_a_release_that_belongs_to_another_source_is_told(course):
    release = nbformat.read(course.release_path(SET), as_version=4)
    release.cells = [cell for cell in release.cells if cell.id != f"{SET}-ridge-check"]
    nbformat.write(release, course.release_path(SET))
    with (
        GradebookWriter(course, SET) as writer,
        pytest.raises(ValueError, match="generate_assignment ps1"),
    ):
        _ = writer.release_json


def test_a_set_that_nobody_knows_is_told(course):
    course.source_path(SET).unlink()
    put(course, result_of(course, "ada"))
    with pytest.raises(ValueError, match="has no set ps9"), GradebookWriter(course, "ps9"):
        pass
