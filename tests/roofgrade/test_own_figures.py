"""The round trip of a set with figures of each student's own."""

import re
import shutil

import pytest
from homework import ROOT, autograded, hand_in, notebook, outputs, plain

from roofcheck.cells import question_call
from roofcheck.study import check
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import find_variant
from roofgrade.course import Course
from roofgrade.run import grading_run
from tools.notebooks import build as notebooks
from tools.notebooks.myst_cells import read_problem_set
from tools.notebooks.own_figures import give_own_figures
from tools.notebooks.problem_sets import fill_in_set

pytestmark = pytest.mark.usefixtures("sandbox")

HEADER = '---\ntitle: "Problem set 0: a part"\nminutes: 5\n---\n\n'
TIME = """
import roofkit
chip = roofkit.chip(given_time.chip)
time_us = 1e6 * max(given_time.flops / chip.peak_flops("bf16"), given_time.moved / chip.bandwidth)
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class's graded homework: the first questions of ps1, with figures of one's own."""
    root = tmp_path_factory.mktemp("course")
    for name in ("nbgrader_config.py", "course/en/index.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "course/term.toml").write_text('own_figures = ["ps1"]')
    (root / "course/text").symlink_to(ROOT / "course/text")
    texts = root / "solutions/text"
    texts.mkdir(parents=True)
    [path] = (ROOT / "solutions/text").glob("ps1-*.md")
    text = path.read_text(encoding="utf-8")
    start, end = (text.index(f'+++ {{"id": "{cell}"') for cell in ("ps1-title", "ps1-bound-text"))
    # Numbers of questions and totals are those of the whole set.
    part = re.sub(r"{eval}`[^`]*`", "1", text[start:end])
    (texts / "ps1-own.md").write_text(HEADER + part)
    assert notebooks.main([str(texts / "ps1-own.md")], root) == 0
    hand_in(root, "ps1", "untouched", {})
    hand_in(root, "ps1", "model", {}, kind="solutions")
    # Ada answers with her own figures; Cem has her ridge, and the time of the printed figures.
    ridge = f"ridge = {find_variant('ps1.ridge', 'ada').reference()}"
    printed = f"time_us = {find_question('ps1.time').reference()}"
    for who, time in {"ada": TIME, "cem": printed}.items():
        answers = {"ps1-me": f"me = {who!r}", "ps1-ridge": ridge, "ps1-time": time}
        hand_in(root, "ps1", who, answers)
    grading_run.grade_assignment(Course(root), "ps1", workers=1, progress=False)
    return root


def points(course, who):
    return {cell: earned for cell, (earned, _) in outputs(course, "ps1", who).items()}


def test_the_solution_earns_all_and_the_untouched_release_nothing(course):
    cells = notebook(course, "exercises", "ps1").cells
    worth = {c.id: c.metadata.nbgrader.points for c in cells if c.metadata.nbgrader.grade}
    assert points(course, "model") == worth
    assert set(points(course, "untouched").values()) == {0}


def test_the_printed_figures_are_gone_and_each_question_shows_the_students_own(course):
    cells = {cell.id: cell for cell in notebook(course, "exercises", "ps1").cells}
    assert cells["ps1-me-text"].source.startswith("Questions 1 and 2 have figures of your own")
    assert "309.7" not in "".join(cell.source for cell in cells.values())
    assert question_call(cells["ps1-ridge-check"].source).me == "me"
    assert cells["ps1-ridge-given"].source == 'given_ridge = ask("ps1.ridge", me)\ngiven_ridge'


def test_own_answers_count_and_those_of_others_do_not(course):
    assert points(course, "ada") == {"ps1-ridge-check": 2, "ps1-time-check": 2}
    [asks] = [cell for cell in autograded(course, "ps1", "ada") if cell["id"] == "ps1-time-given"]
    shown = plain("".join(asks["outputs"][0]["data"]["text/html"]))
    assert find_variant("ps1.time", "ada").text() in shown
    assert "memory bandwidth" in shown
    assert points(course, "cem") == {"ps1-ridge-check": 0, "ps1-time-check": 0}
    said = outputs(course, "ps1", "cem")["ps1-ridge-check"][1]
    assert "another student" in said


@pytest.mark.weekly("each set with figures of one's own")
@pytest.mark.parametrize(
    "path", sorted((ROOT / "solutions/text").glob("ps[1-5]*.md")), ids=lambda p: p.stem
)
def test_the_solution_of_every_set_is_right_with_own_figures(path):
    source = path.read_text(encoding="utf-8")
    text = read_problem_set(path.name, source, notebooks.find_question_points)
    fill_in_set(text, ROOT)
    changed, names = give_own_figures(text), {}
    assert f"{path.name[:3]}.mine" in changed
    for cell in text.notebook.cells:
        if cell.cell_type == "code" and not cell.source.startswith(("hand_in", "progress")):
            exec(cell.source, names)
    graded = check.latest_grades()
    checked = [
        found.question for cell in text.notebook.cells if (found := question_call(cell.source))
    ]
    assert {name: float(graded[name]) for name in checked} == {
        name: graded[name].points for name in checked
    }
