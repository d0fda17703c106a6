"""Results as files: whole or absent, found again while nothing they follow from changes."""

import contextlib
import errno
import os
import shutil
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofgrade.common import safe_files
from roofgrade.common.results import GRADED, Answer, Result
from roofgrade.course import SETTINGS_FILE, Course
from roofgrade.gradebook import result_files

ANSWER = Answer(
    question="ps1.ridge", asked={"kind": "value"}, reply={"t": "num", "v": 1.5}, credit=0.5,
    points=2.0, state="partly", message="Half.", slips=("half",),
)  # fmt: skip


@pytest.fixture
def course(tmp_path):
    (tmp_path / SETTINGS_FILE).touch()
    return Course(tmp_path)


def result(student="ada", folder="ada/ps1", **fields):
    return Result(
        student=student, assignment="ps1", folder=folder, state=GRADED, notebook="{}",
        answers={"ps1-ridge-check": ANSWER}, **fields,
    )  # fmt: skip


def test_a_result_comes_back_as_it_was(course):
    for each in (result(), result("ada", "ada/PS1"), result("\udcff", "\udcff/ps1", reason="é\n")):
        result_files.write_result(course, each)
        assert result_files.read_result(course, "ps1", each.student, each.folder) == each
    assert len(list(result_files.read_results(course, "ps1"))) == 3
    assert course.grading.stat().st_mode & 0o77 == 0
    result_files.write_result(course, result(reason="later"))
    assert result_files.read_result(course, "ps1", "ada", "ada/ps1").reason == "later"
    assert len(list(result_files.read_results(course, "ps1"))) == 3


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff"])
def test_a_damaged_file_counts_as_absent(course, damage):
    result_files.write_result(course, result())
    [path] = (course.grading / "ps1" / result_files.RESULTS_FOLDER).glob("*.json")
    path.write_bytes(damage)
    assert result_files.read_result(course, "ps1", "ada", "ada/ps1") is None
    assert list(result_files.read_results(course, "ps1")) == []
    assert result_files.read_result(course, "ps1", "bea", "bea/ps1") is None


def test_what_was_half_written_when_power_went_is_not_seen(course, monkeypatch):
    result_files.write_result(course, result())

    def fail(*arguments, **places):
        raise OSError("no power")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no power"):
        result_files.write_result(course, result(reason="later"))
    monkeypatch.undo()
    assert list(result_files.read_results(course, "ps1")) == [result()]
    result_files.write_result(course, result(reason="later"))
    result_files.mark_saved(course, result())
    assert os.listdir(course.grading / "ps1" / result_files.RESULTS_FOLDER) == [
        path.name for path in (course.grading / "ps1" / result_files.RESULTS_FOLDER).glob("*.json")
    ]


FILES = st.dictionaries(st.text(), st.binary(), max_size=3)


@given(FILES, FILES, st.lists(st.text(), max_size=2), st.lists(st.text(), max_size=2))
def test_a_key_is_the_same_for_the_same_and_for_nothing_else(one, other, texts, more):
    same = one == other and texts == more
    assert (result_files.make_key(one, *texts) == result_files.make_key(other, *more)) == same
    assert result_files.make_key(dict(reversed(one.items())), *texts) == result_files.make_key(
        one, *texts
    )


@pytest.mark.parametrize(("file", "counts"), [
    ("roofgrade/new.py", True),
    ("roofcheck/words/en.toml", True),
    ("roofkit/hardware/chips.toml", True),
    ("roofcheck/questions/puzzles.toml", True),
    ("roofkit/README.md", False),
])  # fmt: skip
def test_the_version_changes_with_every_file_that_results_depend_on(tmp_path, file, counts):
    copies = [shutil.copytree(each, tmp_path / each.name) for each in result_files.PACKAGES]
    before = result_files.hash_sources(copies)
    assert before == result_files.hash_sources(result_files.PACKAGES)
    with (tmp_path / file).open("a") as opened:
        opened.write("\n")
    assert (result_files.hash_sources(copies) != before) == counts


def test_the_version_changes_with_an_instructors_own_questions(tmp_path, monkeypatch):
    before = result_files.hash_grader()
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path))
    assert result_files.hash_grader() == before
    result_files._hash_grader.cache_clear()
    (tmp_path / "mine.py").write_text("QUESTIONS = {}")
    assert result_files.hash_grader() != before
    monkeypatch.delenv("ROOFKIT_QUESTIONS")
    assert result_files.hash_grader() == before


def test_two_cannot_grade_a_set_at_the_same_time(course):
    with result_files.run_lock(course, "ps1"):
        told = f"process {os.getpid()} is already grading ps1"
        with pytest.raises(RuntimeError, match=told), result_files.run_lock(course, "ps1"):
            pass
        (course.grading / "ps1/lock").write_text("4194305 elsewhere\n")
        told = r"process 4194305 \(elsewhere\) is already grading"
        with pytest.raises(RuntimeError, match=told), result_files.run_lock(course, "ps1"):
            pass
        with result_files.run_lock(course, "ps2"):
            pass
    with result_files.run_lock(course, "ps1"):
        pass


def test_results_of_folders_that_moved_go_and_those_who_left_stay(course):
    for each in (result(), result("ada", "ada/PS1"), result("bea", "bea/ps1")):
        result_files.write_result(course, each)
    result_files.delete_moved(course, "ps1", {"ada/PS1": "ada"})
    assert {each.folder for each in result_files.read_results(course, "ps1")} == {
        "ada/PS1",
        "bea/ps1",
    }


def test_writing_leaves_nothing_behind_and_follows_no_link(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / safe_files.TEMPORARY_NAME).symlink_to("target")
    with safe_files.open_below(tmp_path) as folder:
        safe_files.write(folder, "new", b"1", 0o444)
    assert sorted(os.listdir(tmp_path)) == ["new", "target"]
    assert (tmp_path / "target").read_text() == "old"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o444


def test_a_file_takes_the_place_of_a_folder_handed_in_before(tmp_path):
    with safe_files.open_below(tmp_path) as folder:
        safe_files.write_files(folder, {"data/x.csv": b"1", "old/er/y.csv": b"2"}, 0o600)
        safe_files.write_files(folder, {"data": b"3"}, 0o600)
        assert safe_files.has_files(folder, {"data": b"3"})
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_lock_that_is_soon_released_is_waited_for(course, monkeypatch):
    monkeypatch.setattr(result_files, "WAIT_SECONDS", 300)
    with contextlib.ExitStack() as held:
        held.enter_context(result_files.run_lock(course, "ps1"))
        threading.Timer(0.2, held.close).start()
        with result_files.run_lock(course, "ps1"):
            assert (course.grading / "ps1/lock").read_text().startswith(f"{os.getpid()} ")


def test_a_disk_without_locks_stops_nobody(course, monkeypatch, capsys):
    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with result_files.run_lock(course, "ps1"):
        assert "doesn't support locks" in capsys.readouterr().err


def test_what_belongs_to_another_teacher_is_told(course, monkeypatch):
    def not_allowed(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", not_allowed)
    with (
        pytest.raises(RuntimeError, match="groupshared = True"),
        result_files.run_lock(course, "ps1"),
    ):
        pass
