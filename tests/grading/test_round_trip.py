"""The homework's round trip from release to export, for each set, and what stock makes of it."""

import csv
import functools
import re
import shutil

import pytest
from hidden import solution_lines
from homework import (
    ROOT,
    SEED,
    SETS,
    autograded,
    checks,
    grade,
    hand_in,
    make_course,
    nbgrader,
    notebook,
    outputs,
    plain,
)
from mistakes import mistakes
from nbgrader.api import Gradebook

from roofkit.check import check, student
from roofkit.check.table import find_question, questions_of
from roofkit.grading.course import Course
from roofkit.grading.judging import seed_for

ME = "ada"


@pytest.fixture(scope="module", params=SETS)
def graded(request, tmp_path_factory):
    """A course in which a class has handed in one problem set and everything has been graded.

    "untouched" is the release, "author" the solution; student N makes mistake N in each question.
    """
    course, name = make_course(tmp_path_factory.mktemp("course")), request.param
    nbgrader(course, "generate_assignment", name, "--create", "--force")
    hand_in(course, name, "untouched", {})
    hand_in(course, name, "author", {}, kind="solutions")
    for place, answers in enumerate(wrong_answers(course, name)):
        hand_in(course, name, f"mistake-{place}", answers)
    grade(course, name)
    read_paragraph(course, name, "author")
    nbgrader(course, "generate_feedback", name)
    nbgrader(course, "export", "--to", "grades.csv")
    return course, name


@pytest.fixture(scope="module")
def stock(graded, tmp_path_factory):
    """The first of the class again, under nbgrader's own autograde."""
    course, name = graded
    other = make_course(tmp_path_factory.mktemp("stock"))
    for who in ("author", "untouched", *handed_in(course)[:3]):
        shutil.copytree(course / "submitted" / who, other / "submitted" / who)
    nbgrader(other, "generate_assignment", name, "--create", "--force")
    nbgrader(other, "autograde", name, "--create")
    return other, name


def wrong_answers(course, name):
    """For each student the code of each answer cell, by its id."""
    cells = notebook(course, "exercises", name).cells
    me = {f"{name}-me": f"me = {ME!r}"} if f"{name}-me" in {cell.id for cell in cells} else {}
    students = []
    for cell_id, question, variable in checks(cells):
        for place in range(len(mistakes(question, ME))):
            if place == len(students):
                students.append(dict(me))
            secret = Course(course).secret(name, f"mistake-{place}")
            code, _ = mistakes(question, ME, SEED, seed_for(secret, question))[place]
            source = f"from math import inf\n{variable} = {code}"
            students[place][cell_id.removesuffix("-check")] = source
    return students


def read_paragraph(course, name, who):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        grade = gradebook.find_grade(f"{name}-paragraph", name, name, who)
        assert grade.needs_manual_grade
        grade.manual_score, grade.needs_manual_grade = grade.max_score_gradecell, False
        gradebook.db.commit()


def submission(course, name, who):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        found = gradebook.find_submission(name, who)
        return found.score, found.max_score, found.needs_manual_grade


@functools.cache
def page(course, name, who):
    """A feedback page as a reader sees its text."""
    path = course / "feedback" / who / name / f"{name}.html"
    return plain(path.read_text(encoding="utf-8"))


def handed_in(course):
    return sorted(path.name for path in (course / "submitted").glob("mistake-*"))


def judged_at_home(question, answer, monkeypatch):
    """The Grade of a first try in the student's own kernel."""
    monkeypatch.setattr(student, "_tries", {})
    me = [ME] if question.endswith(".mine") else []
    return check(question, answer, *me)


def test_the_committed_release_is_what_nbgrader_generates(graded):
    course, name = graded
    generated, committed = course / "exercises/en" / name, ROOT / "exercises/en" / name
    assert [path.name for path in generated.iterdir()] == [f"{name}.ipynb"]
    for path in generated.iterdir():
        assert path.read_bytes() == (committed / path.name).read_bytes()


def test_the_prompts_promise_the_points_of_the_question_table(graded):
    course, name = graded
    cells = notebook(course, "solutions", name).cells
    texts = "\n".join(cell.source for cell in cells)
    promised = [float(points) for points in re.findall(r"^## .*\((\d+) points", texts, re.M)]
    asked = [question for _, question, _ in checks(cells)]
    [paragraph] = [c.metadata.nbgrader.points for c in cells if c.id == f"{name}-paragraph"]
    assert promised == [*(find_question(each).points for each in asked), paragraph]
    assert f"Total: {sum(promised):g} points" in texts
    assert sorted(asked) == sorted(questions_of(name))


def test_the_solution_gets_full_marks_once_its_paragraph_is_read(graded):
    score, max_score, _ = submission(*graded, "author")
    assert score == max_score > 15


def test_the_untouched_release_gets_nothing_and_waits_for_nobody(graded):
    course, name = graded
    score, _, needs_reading = submission(*graded, "untouched")
    assert (score, needs_reading) == (0, False)
    found = outputs(course, name, "untouched")
    assert found
    assert all(text.startswith("No answer yet.") for _, text in found.values())


def test_each_mistake_gets_the_message_and_the_points_that_it_got_at_home(graded, monkeypatch):
    course, name = graded
    cells = notebook(course, "exercises", name).cells
    told = 0
    for cell_id, question, _ in checks(cells):
        messages = {}
        for place, (_, answer) in enumerate(mistakes(question, ME)):
            grade = judged_at_home(question, answer, monkeypatch)
            who = f"mistake-{place}"
            found = outputs(course, name, who)[cell_id]
            shown = plain(grade._repr_html_())
            assert found == (float(grade), shown), f"{question}, {who}"
            assert grade.verdict.slips, f"{question}, {who}: {shown}"
            assert shown.split(". ", 1)[1] in page(course, name, who)
            messages[grade.verdict.slips] = shown
        # A few have the same to say: the sparse peak is twice the dense one, and so is the fp8 one.
        assert len(set(messages.values())) >= 0.75 * len(messages), question
        told += len(messages)
    assert told >= 30


def test_stock_gives_the_same_points_and_messages(graded, stock):
    for path in (stock[0] / "submitted").iterdir():
        assert outputs(*stock, path.name) == outputs(*graded, path.name)


def test_the_scores_add_up_in_gradebook_and_export(graded):
    course, name = graded
    with (course / "grades.csv").open(encoding="utf-8") as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert len(exported) == len(handed_in(course)) + 2
    for who in handed_in(course):
        found = outputs(course, name, who)
        assert exported[who] == pytest.approx(sum(points for points, _ in found.values()))


def test_who_marks_sees_the_rubric_and_no_feedback_shows_it(graded):
    course, name = graded
    cells = {cell.id: cell for cell in notebook(course, "solutions", name).cells}
    scheme = cells[f"{name}-paragraph-rubric"].source
    _, hidden = scheme.split("### BEGIN MARK SCHEME")
    line = max(hidden.splitlines(), key=len)
    assert scheme in [cell["source"] for cell in autograded(course, name, "untouched")]
    assert line[:60] not in page(course, name, "untouched")
    assert "MARK SCHEME" not in page(course, name, "untouched")


def test_a_feedback_page_holds_no_solution(graded):
    course, name = graded
    for line in solution_lines():
        assert line not in page(course, name, "untouched")
    # What a student wrote stands in the student's page; what the checks say there must not tell.
    for who in handed_in(course):
        said = " ".join(text for _, text in outputs(course, name, who).values())
        assert not [line for line in solution_lines() if line in said]
