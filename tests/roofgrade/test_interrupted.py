"""What a killed command has kept and not saved is saved by the next one, whichever it is."""

import os
import shutil

import pytest
from answered import RIDGE, SPARSE, graded_class, result_of, ridge_within
from homework import ask, scores
from marks import NoBox, mark
from standin import SET

from roofgrade.course import Course
from roofgrade.gradebook import result_files
from roofgrade.gradebook.writer import GradebookWriter
from roofgrade.regrade_export import regrade
from roofgrade.run import grading_run

COMMANDS = {
    "run": (SET, "--only", "bob"), "regrade": ("regrade", SET, RIDGE),
    "feedback": ("feedback", SET), "export": ("export", SET),
}  # fmt: skip


@pytest.fixture(scope="module")
def regraded(tmp_path_factory):
    """A course whose regrading was killed once it had kept the first of two results."""
    folder = tmp_path_factory.mktemp("class") / "course"
    course = graded_class(folder, {"ada": SPARSE, "bob": SPARSE})
    with pytest.MonkeyPatch.context() as patch, ridge_within(patch, rtol=1.5):
        found = regrade.preview_regrade(course, SET, RIDGE)
        assert [(move.before, move.after) for move in found.moves] == [(1, 2), (1, 2)]
        patch.setattr(GradebookWriter, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            regrade.apply_regrade(course, found)
    assert scores(folder) == {"ada": 1, "bob": 1}
    return course


def killed(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", COMMANDS)
def test_the_next_command_saves_what_a_killed_regrading_kept(
    regraded, command, tmp_path, monkeypatch
):
    course = Course(shutil.copytree(regraded.root, tmp_path / "copy"))
    monkeypatch.setitem(grading_run.grade_assignment.__kwdefaults__, "bench", (mark, NoBox))
    with ridge_within(monkeypatch, rtol=1.5):
        ask(course.root, *COMMANDS[command])
    assert scores(course.root)["ada"] == 2
    assert not result_files.read_unsaved(course, SET)


def test_what_was_graded_anew_since_a_preview_is_not_regraded(tmp_path, monkeypatch):
    course = graded_class(tmp_path / "course", {"ada": SPARSE})
    with ridge_within(monkeypatch, rtol=1.5):
        found = regrade.preview_regrade(course, SET, RIDGE)
        with GradebookWriter(course, SET) as writer:
            later = result_of(course, writer.release_json, "ada", "no idea")
            result_files.write_result(course, later)
            writer.save(later)
        regrade.apply_regrade(course, found)
    assert scores(course.root) == {"ada": 0}


def test_while_a_run_is_under_way_a_command_says_so_and_goes_on(regraded, tmp_path):
    course = Course(shutil.copytree(regraded.root, tmp_path / "copy"))
    with result_files.run_lock(course, SET):
        said = ask(course.root, "export", SET)
    told = f"not included: process {os.getpid()} is already grading {SET}"
    assert told in said.stderr
    assert "process" not in said.stdout
    assert len(result_files.read_unsaved(course, SET)) == 1


def test_what_cannot_be_saved_is_said_and_stops_no_other(regraded, tmp_path):
    course = Course(shutil.copytree(regraded.root, tmp_path / "copy"))
    result_files.write_result(
        course,
        next(each for each in result_files.read_results(course, SET) if each.student == "bob"),
    )
    (course.autograded / "ada").rename(tmp_path / "ada")
    (course.autograded / "ada").symlink_to(tmp_path / "ada")
    said = ask(course.root, "export", SET)
    assert f"ada/{SET}: it could not be saved: " in said.stderr
    assert [result.student for result in result_files.read_unsaved(course, SET)] == ["ada"]
