"""Released answers: each page derives what its student was asked, and before that says nothing."""

import datetime
import json
import re
import shutil

import pytest
from classroom import RIGHT, SET, WRONG, classroom, grade, keep, mark, page
from homework import ROOT, ask, plain
from nbgrader.api import Gradebook

from roofcheck.showing.derivation_page import SPACE
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import find_variant
from roofgrade.gradebook import answer_release
from roofgrade.pages import feedback

pytestmark = pytest.mark.slow("released answers derive what each student was asked")

# Two questions of ps1 in steps, one of them with figures of each student's own.
TABLE = """
["ps1.ridge"]
asks = "The bf16 ridge of the {chip}?"
unit = "FLOP/byte"
points = 2
inputs.peak = { peak = "A100 40GB SXM" }
inputs.bandwidth = { bandwidth = "A100 40GB SXM" }
steps.ridge = ["peak / bandwidth", "FLOP/byte", "the ridge: where both <times> are equal"]

["ps1.mine"]
asks = "{N} bf16 numbers, fetched by the {chip}: how many seconds?"
unit = "s"
points = 2
inputs.N = { count = 1e9, what = "the numbers", draw = [0.25, 0.5, 2, 3, 4, 5, 6, 7, 9] }
inputs.size = { itemsize = "bf16", of = "a number" }
inputs.bandwidth = { bandwidth = "B200" }
steps.moved = ["size * N", "bytes", "the bytes"]
steps.time = ["moved / bandwidth", "s", "the time: each byte crosses once"]
"""
RIDGE, MINE = "ps1-ridge-check", "ps1-mine-check"
# Words of the model answer to the paragraph of ps1.
MODEL = "The share of peak does not decide which roof"
SITE = "https://example.org/roofline"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """ps1 with Ada, who has the ridge right, and Bob, who has not."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "ps1.toml").write_text(TABLE, encoding="utf-8")
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path / "own"))
    course = classroom(tmp_path / "course")
    right = find_question("ps1.ridge").reference()
    grade(course, "ada", RIGHT | {"ps1.ridge": right})
    grade(course, "bob", WRONG | {"ps1.ridge": 1 / right})
    return course


def section(html, cell):
    """What a page says below a heading of its own."""
    return re.search(rf'<section id="{cell}".*?</section>', html, flags=re.S)[0]


def told(html):
    """The text of a page, as it can be searched."""
    return plain(html).replace(SPACE, " ")


def deadline(course, when):
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_assignment(SET, duedate=when.replace(tzinfo=None))


PAST = datetime.datetime(2020, 1, 31, 18, tzinfo=datetime.UTC)


def test_before_the_release_a_page_holds_nothing_of_a_derivation(course):
    html = page(course, "bob")
    for question in (find_question("ps1.ridge"), find_variant("ps1.mine", "bob")):
        for line in question.derivation():
            assert not any(side in told(html) for side in line.sides)
            assert not line.why or line.why not in told(html)
    assert "<details" not in html
    assert "step by step" not in html
    assert MODEL not in told(html)
    assert "Read it again" not in told(html)


def test_a_page_derives_each_answer_open_where_points_were_lost(course):
    answer_release.release_answers(course, SET)
    right, wrong = (section(page(course, who), RIDGE) for who in ("ada", "bob"))
    assert "<details><summary" in right
    assert "<details open><summary" in wrong
    [line] = find_question("ps1.ridge").derivation()
    for html in (right, wrong):
        verdict, _, below = told(html).partition("step by step")
        assert f"= {line.value}" in below
        assert f"= {line.value}" not in verdict
    assert "&lt;times&gt;" in wrong, "a table writes no HTML"
    assert "<script" not in page(course, "bob")
    mark(course, "bob", 2, cell=RIDGE)
    assert "<details><summary" in section(page(course, "bob"), RIDGE), "a person gave all points"


def test_a_question_of_ones_own_is_derived_with_ones_own_figures(course):
    answer_release.release_answers(course, SET)
    for who in ("ada", "bob"):
        shown = told(section(page(course, who), MINE))
        lines = find_variant("ps1.mine", who).derivation()
        assert all(f"= {side}" in shown for line in lines for side in line.sides)
    ada, bob = (find_variant("ps1.mine", who).derivation()[-1].value for who in ("ada", "bob"))
    assert ada != bob
    assert bob not in told(section(page(course, "ada"), MINE))


def test_every_question_is_explained_and_the_paragraph_has_its_model_answer(course):
    answer_release.release_answers(course, SET)
    html = page(course, "bob")
    bound, order, roof, paragraph = (
        told(section(html, f"ps1-{name}"))
        for name in ("bound-check", "order-check", "attainable-check", "paragraph")
    )
    assert "250 ≥ 989.4 TFLOP/s / 4.8 TB/s = 206.1" in bound
    places = [order.index(name) for name in find_question("ps1.order").reference()]
    assert places == sorted(places)
    assert "The slope= intensity · bandwidth" in roof
    assert "With numbers, for the call (intensity=" in roof
    assert MODEL in paragraph
    assert "SOLUTION" not in html
    assert MODEL not in told(html).replace(paragraph, "")


def test_the_value_that_was_judged_stands_beside_the_verdict_as_text(course):
    given = {"ps1.ridge": 1 / 201.6, "ps1.bound": "<script>memory</script>", "ps1.order": [1, 2]}
    keep(course, "bob", "graded", answers=given)
    assert "Your answer:" not in told(page(course, "bob"))
    answer_release.release_answers(course, SET)
    html = page(course, "bob")
    assert "Your answer: 0.00496032 FLOP/byte" in told(section(html, RIDGE))
    assert "<b>&lt;script&gt;memory&lt;/script&gt;</b>" in section(html, "ps1-bound-check")
    assert "Your answer: 1, 2" in told(section(html, "ps1-order-check"))
    assert "Your answer:" not in told(section(html, MINE)), "no value was judged there"


@pytest.mark.parametrize("site", ["", SITE])
def test_each_question_leads_to_the_section_that_teaches_it(course, site):
    (course.root / "course/en").mkdir(parents=True)
    shutil.copy(ROOT / "course/en/index.json", course.root / "course/en")
    (course.root / "course/term.toml").write_text(f'site = "{site}/"' if site else "")
    assert "Read it again" not in page(course, "ada")
    answer_release.release_answers(course, SET)
    html = section(page(course, "ada"), RIDGE)
    assert "covers it: Lecture 2, section “From two times to one comparison”" in told(html)
    place = f"{SITE}/lectures/02-arithmetic-intensity.html#from-two-times-to-one-comparison"
    assert re.findall(r'href="(http[^"]+)"', html) == ([place] if site else [])


def test_a_model_answer_that_a_student_put_into_a_cell_is_not_shown(course):
    path = course.autograded / "bob" / SET / f"{SET}.ipynb"
    book = json.loads(path.read_text())
    for cell in book["cells"]:
        cell["metadata"].setdefault("nbgrader", {})["model"] = "my own model"
    path.write_text(json.dumps(book))
    for change in (answer_release.withdraw_answers, answer_release.release_answers):
        change(course, SET)
        assert "my own model" not in page(course, "bob")


def test_a_release_makes_pages_old_and_so_does_its_withdrawal(course):
    keep(course, "bob", "graded")
    before = page(course, "bob")
    assert feedback.find_remarks(course, SET)["bob"] == []
    for change in (answer_release.release_answers, answer_release.withdraw_answers):
        change(course, SET)
        assert feedback.find_remarks(course, SET)["bob"] == [
            "the feedback page is out of date; run feedback again"
        ]
        assert {made.status for made in feedback.write_pages(course, SET)} == {"written"}
        assert {made.status for made in feedback.write_pages(course, SET)} == {"left"}
        assert feedback.find_remarks(course, SET)["bob"] == []
    assert page(course, "bob") == before


def test_the_command_releases_one_set_and_takes_it_back(course):
    deadline(course, PAST)
    assert "python -m roofgrade feedback ps1" in ask(course.root, "answers", SET).output
    assert answer_release.are_answers_released(course, SET)
    assert not answer_release.are_answers_released(course, "ps2")
    for _ in range(2):  # twice is no error
        assert "are withdrawn" in ask(course.root, "answers", SET, "--withdraw").output
        assert not answer_release.are_answers_released(course, SET)
    assert "'ps99' has no release" in ask(course.root, "answers", "ps99", code=1).output
    assert not (course.root / "grading" / "ps99").exists()


def test_what_can_still_be_handed_in_is_released_only_on_purpose(course):
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    deadline(course, soon)
    said = ask(course.root, "answers", SET, code=1).output
    assert f"{soon:%Y-%m-%d %H:%M} UTC" in said
    assert not answer_release.are_answers_released(course, SET)
    ask(course.root, "answers", SET, "--yes")
    assert answer_release.are_answers_released(course, SET)
    deadline(course, PAST)
    ask(course.root, "answers", SET)
    with Gradebook(course.db_url) as gradebook:
        gradebook.grant_extension(SET, "bob", days=10_000)
    ask(course.root, "answers", SET, code=1)
