"""A question judged anew after its table changed: who moves, and nothing runs again."""

from dataclasses import replace

import mixed
import pytest
from classroom import mark
from homework import make_course, outputs, scores
from nbgrader.api import Gradebook

from roofcheck.slips.question_slips import Slip
from roofcheck.tables import catalogue
from roofgrade.course import Course
from roofgrade.regrade_export import regrade
from roofgrade.run import grading_run

pytestmark = pytest.mark.usefixtures("sandbox")


def known_as(monkeypatch, name, question):
    """From here on the table holds this question under this name."""
    changed = catalogue.load_questions() | {name: question}
    monkeypatch.setattr(catalogue, "load_questions", lambda: changed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ada is right, Bob gives the ridge of the sparse peak, Cy gives nothing."""
    folder = make_course(tmp_path_factory.mktemp("course"))
    for student, ridge in {"ada": None, "bob": "ridge = 309.7e12 / 768e9", "cy": ""}.items():
        work = mixed.good_work(student)
        if ridge is not None:
            work.write("ps1-ridge", ridge)
        work.hand_in(folder / "submitted")
    grading_run.grade_assignment(Course(folder), "ps1", workers=1, progress=False)
    mark(Course(folder), "bob", 3)
    return folder


def test_a_preview_changes_nothing_and_the_change_moves_who_it_says(folder, monkeypatch):
    question = catalogue.find_question("ps1.ridge")
    printed = Slip("as printed", lambda: 309.7e12 / 768e9, "As printed.", credit=1)
    sparse = replace(question, slips=[*question.slips, printed])
    known_as(monkeypatch, "ps1.ridge", sparse)
    before = scores(folder)
    found = regrade.preview_regrade(Course(folder), "ps1", "ps1.ridge")
    assert [(move.student, move.before, move.after) for move in found.moves] == [("bob", 1, 2)]
    assert scores(folder) == before

    with monkeypatch.context() as context:
        context.setattr("roofgrade.sandbox.Box.open", None)  # nothing runs again
        regrade.apply_regrade(Course(folder), found)
    assert scores(folder) == before | {"bob": before["bob"] + 1}
    points, message = outputs(folder, "ps1", "bob")["ps1-ridge-check"]
    assert (points, message[:5]) == (2, "Right")
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        paragraph = book.find_grade("ps1-paragraph", "ps1", "ps1", "bob")
        assert (paragraph.manual_score, paragraph.needs_manual_grade) == (3, False)
    assert regrade.preview_regrade(Course(folder), "ps1", "ps1.ridge").moves == ()
    grading_run.grade_assignment(Course(folder), "ps1", workers=1, progress=False)
    assert scores(folder)["bob"] == before["bob"] + 1


def test_a_function_tried_on_other_arguments_has_to_run_again(folder, monkeypatch):
    question = catalogue.find_question("ps1.attainable")
    known_as(monkeypatch, "ps1.attainable", replace(question, seed="other cases"))
    found = regrade.preview_regrade(Course(folder), "ps1", "ps1.attainable")
    assert len(found.moves) == 3
    assert all("--again" in str(move) for move in found.moves)
    assert not found.changes


def test_other_points_and_unasked_questions_are_refused(folder, monkeypatch):
    known_as(monkeypatch, "ps1.time", replace(catalogue.find_question("ps1.time"), points=9))
    with pytest.raises(ValueError, match="Make the release again"):
        regrade.preview_regrade(Course(folder), "ps1", "ps1.time")
    with pytest.raises(ValueError, match=r"no stored answers to .ps2\.int8."):
        regrade.preview_regrade(Course(folder), "ps2", "ps2.int8")
    with pytest.raises(ValueError, match=r"ps1 has no question 'ps1\.rigde', only ps1\.ridge"):
        regrade.preview_regrade(Course(folder), "ps1", "ps1.rigde")
