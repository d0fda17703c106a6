"""What a class got wrong: counts, slips and the lecture cells that teach against them."""

import re
import tomllib

import pytest
from classroom import RIGHT, SET, WRONG, classroom, keep
from homework import ROOT, SETS

from roofcheck.tables.catalogue import load_questions
from roofgrade.pages.lesson_finder import LessonFinder, find_steps
from roofgrade.pages.report import make_report

CELLS = {
    cell
    for path in ROOT.glob("course/text/*.md")
    for cell in re.findall(r'^(?:\+\+\+ \{"id": "|:id: )([\w-]+)', path.read_text(), re.MULTILINE)
}
LESSONS = tomllib.loads((ROOT / "course/lessons.toml").read_text(encoding="utf-8"))
HOMEWORK = sorted(name for name in load_questions() if name.startswith("ps"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    course = classroom(tmp_path_factory.mktemp("course"))
    (course.root / "course").symlink_to(ROOT / "course")
    for number in range(3):
        keep(course, f"sparse{number}", "graded", answers=WRONG)
    keep(course, "right", "graded", answers=RIGHT)
    keep(course, "strange", "person", answers={"ps1.ridge": 123456.7, "ps1.bound": ...})
    keep(course, "refused", "refused", reason="no notebook")
    return make_report(course, SET)


def test_each_answer_counts_once(made):
    [ridge, bound] = made.rows
    assert ridge.question == "ps1.ridge"
    counted = {"right": 1, "partly": 3, "slip": 0, "wrong": 1, "missing": 0}
    assert ridge.counts == counted
    assert ridge.slips == {"peak: sparse": 3}
    assert ridge.lessons == {"peak: sparse": "l01-dense"}
    assert (bound.counts["slip"], bound.counts["missing"]) == (3, 1)
    assert sum(bound.counts.values()) == 5
    assert bound.lessons == {"memory": "l02-misread-below-answer"}
    assert re.search(r"ps1.ridge  peak: sparse +3 +l01-dense", str(made))


def test_a_function_that_is_still_empty_is_missing_and_no_slip(tmp_path):
    def attainable(intensity, peak_flops, bandwidth): ...

    course = classroom(tmp_path)
    keep(course, "ada", "graded", answers={"ps1.attainable": attainable})
    [row] = make_report(course, SET).rows
    assert (row.counts["missing"], row.slips) == (1, {})
    assert LessonFinder(course.root).find_cell("ps1.ridge", "peak: sparse") == "", (
        "it has no lectures"
    )


def test_nothing_kept_is_said(tmp_path):
    with pytest.raises(ValueError, match="no results for 'ps1'"):
        make_report(classroom(tmp_path), SET)


@pytest.mark.parametrize("question", HOMEWORK)
def test_each_mistake_in_homework_has_a_lesson(question):
    lessons = LessonFinder(ROOT)
    for step in ("", *find_steps(question)):
        cell = lessons.find_cell(question, step)
        assert cell in CELLS, f"{question}: course/lessons.toml or coverage.toml needs a cell"


def test_every_cell_and_question_of_the_table_of_lessons_is_there():
    assert set(LESSONS) == {"anywhere", "questions"}
    for part in LESSONS.values():
        assert set(part.values()) <= CELLS
    assert set(LESSONS["questions"]) <= {*HOMEWORK, *(f"{name}-paragraph" for name in SETS)}
