"""The homework's round trip from release to export, for each set."""

import functools
import itertools

import pytest
from hidden import solution_lines
from homework import (
    ROOT,
    SEED,
    SETS,
    autograded,
    checks,
    hand_in,
    make_course,
    notebook,
    outputs,
    plain,
)
from mistakes import mistakes
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory

from roofcheck import check
from roofcheck.kinds import Several
from roofcheck.study import check as check_module
from roofcheck.tables.catalogue import find_question, questions_of_set
from roofgrade.common.results import GRADED
from roofgrade.course import Course
from roofgrade.judge.judging import make_seed
from roofgrade.pages import feedback
from roofgrade.run import grading_run

pytestmark = pytest.mark.usefixtures("sandbox")

MISTAKES = "mistakes in each question get at home and in grading the same points and message"
PARAMS = [
    SETS[0], *(pytest.param(name, marks=pytest.mark.slow(MISTAKES)) for name in SETS[1:3]),
    *(pytest.param(name, marks=pytest.mark.weekly(MISTAKES)) for name in SETS[3:]),
]  # fmt: skip
GAMES = ("ps7",)  # without a paragraph, and without wrong answers that somebody wrote down
# How many students hand in mistakes; those that only others would make are judged at home alone.
WRONG = 3


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return make_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module", params=PARAMS)
def graded(request, course):
    """A course, and a problem set that a class has handed in there and that has been graded.

    "untouched" is the release, "author" the solution; student mistake-N makes mistake N in each
    question.
    """
    name = request.param
    hand_in(course, name, "untouched", {})
    hand_in(course, name, "author", {}, kind="solutions")
    with pytest.MonkeyPatch.context() as patch:
        # A wrong function is written as a table, which has to know its cases before they are drawn.
        patch.setattr(Course, "case_secret", lambda course, name, student, _: f"{name} {student}")
        for place, answers in enumerate(wrong_answers(Course(course), name)):
            hand_in(course, name, f"mistake-{place}", answers)
        summary = grading_run.grade_assignment(Course(course), name, workers=1, progress=False)
    assert summary.counts[GRADED] == len(summary.rows)
    if name not in GAMES:
        read_paragraph(course, name, "author")
    feedback.write_pages(Course(course), name)
    return course, name


def of_first_part(slips):
    """The slips of the first of several parts that has any."""
    part = slips[0].partition(": ")[0]
    return tuple(slip for slip in slips if slip.partition(": ")[0] == part)


def wrong_answers(course, name):
    """For each student the code of each answer cell, by its id."""
    cells = notebook(course.root, "exercises", name).cells
    signs = f"{name}-me" in {cell.id for cell in cells}
    students = []
    for cell_id, question, variable in checks(cells):
        for place, _ in itertools.islice(made(question), WRONG):
            if place == len(students):
                students.append({f"{name}-me": f'me = "mistake-{place}"'} if signs else {})
            secret = course.case_secret(name, f"mistake-{place}", "")
            code, _ = mistake(question, place, SEED, make_seed(secret, question))
            source = f"from math import inf\n{variable} = {code}"
            students[place][cell_id.removesuffix("-check")] = source
    return students


def mistake(question, place, *seeds):
    """What student ``place`` writes and answers there; None who has no such mistake to make."""
    found = mistakes(question, f"mistake-{place}", *seeds)
    return found[place] if place < len(found) else None


def made(question):
    """Each student who makes a mistake in a question, by number, with the answer that it gives."""
    for place in itertools.count():
        if (found := mistake(question, place)) is None:
            return
        yield place, found[1]


def read_paragraph(course, name, who):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        grade = gradebook.find_grade(f"{name}-paragraph", name, name, who)
        assert grade.needs_manual_grade
        grade.manual_score, grade.needs_manual_grade = grade.max_score_gradecell, False
        gradebook.db.commit()


@functools.cache
def page(course, name, who):
    """A feedback page as a reader sees its text."""
    path = course / "feedback" / who / name / f"{name}.html"
    return plain(path.read_text(encoding="utf-8"))


def handed_in(course, name):
    return sorted(path.parent.name for path in (course / "submitted").glob(f"mistake-*/{name}"))


def judged_at_home(question, answer, who, monkeypatch):
    """The Grade of a first try in the student's own kernel."""
    monkeypatch.setattr(check_module, "_hints_shown", {})
    me = [who] if question.endswith(".mine") else []
    return check(question, answer, *me)


def test_the_committed_release_is_what_nbgrader_generates(graded, tmp_path):
    course, name = graded
    generated, committed = tmp_path / name, ROOT / "exercises/en" / name
    settings = Course(course).config
    directory = CourseDirectory(
        config=settings, root=str(course), assignment_id=name, release_directory=str(tmp_path)
    )
    GenerateAssignment(coursedir=directory, config=settings).start()
    assert [path.name for path in generated.iterdir()] == [f"{name}.ipynb"]
    for path in generated.iterdir():
        assert path.read_bytes() == (committed / path.name).read_bytes()


def test_every_question_of_the_table_is_asked(graded):
    course, name = graded
    asked = [question for _, question, _ in checks(notebook(course, "solutions", name).cells)]
    assert sorted(asked) == sorted(questions_of_set(name))


def test_the_solution_gets_full_marks_and_the_untouched_release_nothing(graded):
    course, name = graded
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        author = gradebook.find_submission(name, "author")
        assert author.score == author.max_score > 15
        untouched = gradebook.find_submission(name, "untouched")
        assert (untouched.score, untouched.needs_manual_grade) == (0, False)
    found = outputs(course, name, "untouched")
    assert found
    assert all(text.startswith("No answer yet.") for _, text in found.values())


def test_each_mistake_gets_the_message_and_the_points_that_it_got_at_home(graded, monkeypatch):
    course, name = graded
    cells = notebook(course, "exercises", name).cells
    told = 0
    for cell_id, question, _ in checks(cells):
        messages = {}
        for place, answer in made(question):
            who = f"mistake-{place}"
            grade = judged_at_home(question, answer, who, monkeypatch)
            shown = plain(grade._repr_html_())
            assert grade.verdict.slips, f"{question}, {who}: {shown}"
            messages[grade.verdict.slips] = shown
            if place < WRONG:
                found = outputs(course, name, who)[cell_id]
                assert found == (float(grade), shown), f"{question}, {who}"
                assert shown.split(". ", 1)[1] in page(course, name, who)
        # A few have the same to say: the sparse peak is twice the dense one, and so is the fp8 one.
        # Of several parts that are wrong in a long way only the first is told.
        first = isinstance(find_question(question), Several)
        told_of = {of_first_part(slips) if first else slips for slips in messages}
        assert len(set(messages.values())) >= 0.75 * len(told_of), question
        told += len(messages)
    assert told >= 30 or name in GAMES


def test_who_marks_sees_the_rubric_and_no_feedback_shows_it(graded):
    course, name = graded
    cells = {cell.id: cell for cell in notebook(course, "solutions", name).cells}
    if name in GAMES:
        assert f"{name}-paragraph" not in cells
        return
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
    for who in handed_in(course, name):
        said = " ".join(text for _, text in outputs(course, name, who).values())
        assert not [line for line in solution_lines() if line in said]
