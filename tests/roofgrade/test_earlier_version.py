"""A course that was graded before the files of grading had rooms opens, and its marks stand.

``old/`` holds its gradebook as SQL and its kept results. Bob's ridge is half right, a person gave
him 3 points for the paragraph and a comment, and Eve's notebook could not be read.
"""

import csv
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from homework import make_releases
from nbgrader.api import Gradebook

from roofgrade.common.results import GRADED, REFUSED
from roofgrade.course import Course
from roofgrade.gradebook import result_files
from roofgrade.gradebook.standings import query_standings
from roofgrade.gradebook.writer import GradebookWriter
from roofgrade.pages import feedback
from roofgrade.regrade_export import export
from roofgrade.run import grading_run

OLD = Path(__file__).parent / "old"
SET = "ps1"


@pytest.fixture
def course(tmp_path):
    make_releases(tmp_path, SET)
    with sqlite3.connect(tmp_path / "gradebook.db") as book:
        book.executescript((OLD / "gradebook.sql").read_text(encoding="utf-8"))
    course = Course(tmp_path)
    shutil.copytree(
        OLD, course.grading / SET / result_files.RESULTS_FOLDER,
        ignore=lambda _, names: {*names} & {"gradebook.sql"},
    )  # fmt: skip
    for result in result_files.read_results(course, SET):
        (course.submitted / result.folder).mkdir(parents=True)
        if result.notebook:
            graded = course.autograded / result.student / SET / f"{SET}.ipynb"
            graded.parent.mkdir(parents=True)
            graded.write_text(result.notebook, encoding="utf-8")
    return course


def test_the_table_has_its_points(course):
    for result in result_files.read_results(course, SET):
        (course.submitted / result.folder / f"{SET}.ipynb").write_text("handed in since")
    rows = {row.student: row for row in grading_run.summarise_without_grading(course, SET).rows}
    assert (rows["bob"].state, rows["bob"].points, rows["bob"].unread) == (GRADED, 24, ())
    assert rows["bob"].remarks[0] == "the notebook is called 'PS1 (1).ipynb'"
    assert (rows["eve"].state, rows["eve"].points) == (REFUSED, None)
    assert not any(result.flagged for result in result_files.read_results(course, SET))
    assert rows["eve"].reason.startswith("the notebook cannot be read")


def test_feedback_and_export_follow(course):
    pages = {
        page.student: page.path.read_text("utf-8") for page in feedback.write_pages(course, SET)
    }
    assert "<b>24</b> of 26 points" in pages["bob"]
    assert "Say where" in pages["bob"]
    assert "not JSON in UTF-8" in pages["eve"]
    rows = {
        row["student"]: row for row in csv.DictReader(export.export_plain(course, SET).splitlines())
    }
    assert {who: (row["status"], row["grade"]) for who, row in rows.items()} == {
        "bob": ("graded", "24"), "eve": ("refused", ""), "lou": ("nothing handed in", ""),
    }  # fmt: skip


def test_marks_set_by_hand_outlive_another_result(course):
    [result] = [each for each in result_files.read_results(course, SET) if each.student == "bob"]
    with GradebookWriter(course, SET) as writer:
        assert writer.save(replace(result, notebook=f"{result.notebook} "))
        assert writer.query(query_standings, SET)["bob"].final == 24
    with Gradebook(course.db_url) as book:
        paragraph = book.find_grade("ps1-paragraph", SET, SET, "bob")
        assert (paragraph.manual_score, paragraph.needs_manual_grade) == (3, False)
