"""The homework's round trip with the real commands, from release to export."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from roofkit.check import find_question

ROOT = Path(__file__).resolve().parents[1]
MACHINE_POINTS, PARAGRAPH_POINTS = 17, 4
BY_RIDGE = ["A100 80GB SXM", "A100 40GB SXM", "TPU v5e", "H100 SXM", "TPU v6e"]

# What each student writes over the release, by cell id.
RIGHT = {
    "ps1-ridge": "from fractions import Fraction\nridge = Fraction(154_800, 768)",
    "ps1-time": "import numpy as np\ntime_us = np.array([500.0])",
    "ps1-bound": "bound = ' Compute-bound '",
    "ps1-order": f"lowest_first = {BY_RIDGE!r}",
    "ps1-attainable": (
        "import numpy as np\nimport warnings\n"
        "def attainable(intensity, peak_flops, bandwidth):\n"
        "    warnings.warn('slow path')\n"
        "    return np.minimum(peak_flops, intensity * bandwidth)"
    ),
    "ps1-bracket": (
        "def bracket(flops, bytes_moved, peak_flops, bandwidth):\n"
        "    a, b = flops / peak_flops, bytes_moved / bandwidth\n"
        "    return [max(a, b), a + b]"
    ),
    "ps1-paragraph": "The intensity and the ridge decide.",
}
HALF = {
    "ps1-ridge": "ridge = 309.7e12 / 768e9",
    "ps1-time": "time_us = 904.3",
    "ps1-bound": "bound = 'compute'",
    "ps1-order": f"lowest_first = {[BY_RIDGE[1], BY_RIDGE[0], *BY_RIDGE[2:]]!r}",
    "ps1-attainable": "def attainable(i, peak, bandwidth):\n    return i * bandwidth",
    "ps1-bracket": (
        "def bracket(flops, bytes_moved, peak_flops, bandwidth):\n"
        "    a, b = flops / peak_flops, bytes_moved / bandwidth\n"
        "    return a + b, max(a, b)"
    ),
}
WRONG = {
    "ps1-ridge": "ridge = 768e9 / 154.8e12",
    "ps1-time": "time_us = 404.3",
    "ps1-bound": "bound = 'memory'",
    "ps1-order": f"lowest_first = {BY_RIDGE[::-1]!r}",
    "ps1-attainable": "def attainable(i, peak, bandwidth):\n    return 1 / 0",
    "ps1-bracket": "bracket = 3",
}
STUDENTS = {"right": RIGHT, "half": HALF, "wrong": WRONG, "untouched": {}}
EXPECTED = {"right": 17, "half": 1 + 1 + 2 + 1.5 + 2 + 2, "wrong": 0, "untouched": 0}
MESSAGES = {
    "right": ["Dense peak over memory bandwidth.", "The lower of the two roofs, everywhere."],
    "half": [
        "That takes the peak with sparsity, twice the dense one.",
        "That is the sum: the time if nothing overlaps.",
        "Neighbours have changed places; nothing else is wrong.",
        "That is intensity times bandwidth alone, one roof of two.",
        "The values are right, in the wrong order: with overlap and without overlap.",
    ],
    "wrong": [
        "Upside down: that is 1 over the value asked for.",
        "That is T_math alone. The longer time decides.",
        "40% of peak does not make it memory-bound.",
        "Exactly reversed: the lowest ridge comes first.",
        "Your function raised ZeroDivisionError: division by zero",
        "That is a value of type int. Keep the def line and fill in its body.",
    ],
    "untouched": ["Replace the ... with your answer and run it again.", "returned None"],
}


def nbgrader(course, *arguments):
    # nbgrader calls alembic by name, as it finds it in an activated environment.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A temporary course in which the class has handed in and everything has been graded."""
    course = tmp_path_factory.mktemp("course")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    for folder in ("solutions", "exercises"):
        shutil.copytree(ROOT / folder, course / folder)
    nbgrader(course, "generate_assignment", "ps1", "--create", "--force")
    for student, answers in STUDENTS.items():
        hand_in(course, student, answers)
    hand_in(course, "author", {}, source=course / "solutions/en/ps1/ps1.ipynb")
    nbgrader(course, "autograde", "ps1", "--create")
    read_paragraph(course, "author", PARAGRAPH_POINTS)
    nbgrader(course, "generate_feedback", "ps1")
    nbgrader(course, "export", "--to", "grades.csv")
    return course


def hand_in(course, student, answers, source=None):
    notebook = nbformat.read(source or course / "exercises/en/ps1/ps1.ipynb", as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    for cell_id, text in answers.items():
        cells[cell_id].source = text
    target = course / "submitted" / student / "ps1" / "ps1.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(notebook, target)


def read_paragraph(course, student, points):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        grade = gradebook.find_grade("ps1-paragraph", "ps1", "ps1", student)
        assert grade.needs_manual_grade
        grade.manual_score = points
        grade.needs_manual_grade = False
        gradebook.db.commit()


def submission(course, student):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        found = gradebook.find_submission("ps1", student)
        return found.score, found.max_score, found.needs_manual_grade


def test_the_committed_release_is_what_nbgrader_generates(course):
    generated = course / "exercises/en/ps1"
    committed = ROOT / "exercises/en/ps1"
    assert [path.name for path in generated.iterdir()] == ["ps1.ipynb"]
    assert (generated / "ps1.ipynb").read_bytes() == (committed / "ps1.ipynb").read_bytes()


def test_the_release_gives_no_solution_away(course):
    source = nbformat.read(course / "solutions/en/ps1/ps1.ipynb", as_version=4)
    release = (course / "exercises/en/ps1/ps1.ipynb").read_text(encoding="utf-8")
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "BEGIN MARK SCHEME"):
        assert marker not in release
    solution_lines = [
        line.strip()
        for cell in source.cells
        if "### BEGIN SOLUTION" in cell.source
        for line in cell.source.split("### BEGIN SOLUTION")[1].split("### END")[0].splitlines()
        if line.strip()
    ]
    assert len(solution_lines) >= 9
    for line in solution_lines:
        assert line not in release
    assert not list((course / "exercises").rglob("*.md"))


def test_the_prompts_promise_the_points_of_the_question_table(course):
    source = nbformat.read(course / "solutions/en/ps1/ps1.ipynb", as_version=4)
    texts = "\n".join(cell.source for cell in source.cells)
    promised = [float(points) for points in re.findall(r"^## .*\((\d+) points", texts, re.M)]
    asked = re.findall(r'check\("(ps1\..*?)"', texts)
    assert promised == [*(find_question(name).points for name in asked), PARAGRAPH_POINTS]
    assert f"Total: {sum(promised):g} points" in texts


@pytest.mark.parametrize("student", STUDENTS)
def test_each_student_gets_the_points_of_the_question_table(course, student):
    score, max_score, _ = submission(course, student)
    assert score == pytest.approx(EXPECTED[student])
    assert max_score == MACHINE_POINTS + PARAGRAPH_POINTS


def test_the_solution_gets_full_marks_once_its_paragraph_is_read(course):
    score, max_score, _ = submission(course, "author")
    assert score == max_score


def test_a_written_paragraph_waits_for_a_person(course):
    assert submission(course, "right")[2]


def test_an_untouched_paragraph_needs_no_reading(course):
    assert not submission(course, "untouched")[2]


@pytest.mark.parametrize("student", STUDENTS)
def test_the_feedback_page_names_each_wrong_turn(course, student):
    page = (course / "feedback" / student / "ps1" / "ps1.html").read_text(encoding="utf-8")
    for message in MESSAGES[student]:
        assert message in page
    others = {text for name in MESSAGES if name != student for text in MESSAGES[name]}
    for message in others - set(MESSAGES[student]):
        assert message not in page


def test_a_warning_in_a_right_answer_costs_nothing_and_is_shown(course):
    page = (course / "feedback/right/ps1/ps1.html").read_text(encoding="utf-8")
    assert "It also printed: UserWarning: slow path" in page


def test_the_export_lists_every_student_with_the_score(course):
    with (course / "grades.csv").open(encoding="utf-8") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {**EXPECTED, "author": MACHINE_POINTS + PARAGRAPH_POINTS}
