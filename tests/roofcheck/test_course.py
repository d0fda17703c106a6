"""The course around a notebook: its index as built, and the dates of a term."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from roofcheck import course, progress
from tools.notebooks import contents

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    """A course that holds its index alone; a test writes its term."""
    (tmp_path / "course/en").mkdir(parents=True)
    (tmp_path / course.INDEX).write_bytes((ROOT / course.INDEX).read_bytes())

    def term(text):
        (tmp_path / course.TERM).write_text(text, encoding="utf-8")
        return course.Course(tmp_path)

    return term


def test_the_index_and_the_readmes_are_what_the_texts_give():
    assert contents.main(["--check"]) == 0, "make build"


def test_a_list_that_differs_is_noticed_and_written_anew(tmp_path, capsys):
    for name in ("course", "exercises"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "solutions").symlink_to(ROOT / "solutions")
    lists = [str(course.INDEX), "course/README.md", "exercises/README.md"]
    for name, old in zip(lists, ("The dot product", "set 1", "1 h 25 min"), strict=True):
        made = (ROOT / name).read_text(encoding="utf-8")
        assert old in made
        (tmp_path / name).write_text(made.replace(old, "other"), encoding="utf-8")
    assert contents.main(["--check"], tmp_path) == 1
    differs = r"^(\S+) is out of date; to fix: make build$"
    assert re.findall(differs, capsys.readouterr().err, re.M) == lists
    assert contents.main([], tmp_path) == 0
    for name in lists:
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
    (tmp_path / "course/README.md").write_text("# The lectures\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"course/README.md: put one <!-- made by make build"):
        contents.main([], tmp_path)


def test_every_lecture_and_set_is_found_with_its_questions():
    here = course.Course(ROOT)
    assert [each.number for each in here.lectures] == list(range(1, len(here.lectures) + 1))
    for each in (*here.lectures, *here.sets):
        assert (ROOT / each.file).is_file()
    for each in here.sets:
        assert {question.lecture for question in each.questions} <= {it.id for it in here.lectures}
        assert all(question.lesson or question.paragraph for question in each.questions)


def test_the_course_is_found_from_a_folder_below_it(folder, monkeypatch):
    here = folder("")
    below = here.root / "exercises/en/ps1"
    below.mkdir(parents=True)
    assert course.find_course(below) == here
    assert course.find_course(here.root.parent) is None
    monkeypatch.setenv(course.COURSE_VARIABLE, str(here.root))
    assert course.find_course("/") == here
    monkeypatch.setenv(course.COURSE_VARIABLE, str(below))
    with pytest.raises(ValueError, match="Set it to the course folder"):
        course.find_course()


def test_a_term_gives_dates_with_a_zone(folder):
    term = folder("due.ps1 = 2027-01-31T18:00:00+01:00\nids = 'course/ids.txt'").term
    assert term.due["ps1"] == datetime(2027, 1, 31, 17, tzinfo=UTC)
    assert term.due["ps1"].tzinfo
    assert term.ids.name == "ids.txt"
    assert folder("due.ps1 = 2027-01-31T18:00:00").term.due["ps1"].tzinfo
    assert folder("upload = 'Moodle'").term.upload == {"": "Moodle"}
    assert folder("upload.ps1 = 'Set 1'").term.upload == {"ps1": "Set 1"}
    assert course.Course(ROOT).term == course.Term(), "the file that goes out sets nothing"


@pytest.mark.parametrize(("text", "told"), [
    ("due.ps1 = '31 January'", "without quotes"),
    ("due.ps99 = 2027-01-31T18:00:00", "The course has: ps1"),
    ("upload.ps99 = 'Moodle'", "The course has: ps1"),
    ("deadline = 1", "no setting deadline"),
    ("due.ps1 = ", "term.toml: Invalid value"),
])  # fmt: skip
def test_a_term_in_error_says_where(folder, text, told):
    with pytest.raises(ValueError, match=told):
        _ = folder(text).term


def test_progress_takes_the_date_from_the_term(folder, monkeypatch):
    monkeypatch.chdir(folder("due.ps1 = 2027-01-31T18:00:00+01:00").root)
    assert "to hand in" in repr(progress("ps1"))
    assert "to hand in" not in repr(progress("ps2"))
    monkeypatch.chdir(folder("due.ps1 = 'soon'").root)
    assert "to hand in" not in repr(progress("ps1"))
