"""How each kind of answer comes about, and the page of answers for who learns alone."""

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path

import nbformat
import numpy as np
import pytest
from cases import cases
from docutils.nodes import make_id

from roofcheck import check, course, find_question
from roofcheck.kinds import Choice, Function, Order, Puzzle
from roofcheck.reading.units import format_value
from roofcheck.showing.derivation_page import SPACE
from roofcheck.showing.explanation import explain_answer, format_answer
from roofcheck.study import answers, page_templates
from roofcheck.study.answer_page import give_up, make_answer_page, may_be_shown
from roofcheck.tables.catalogue import load_questions, questions_of_set
from roofcheck.tables.variants import find_variant
from tools.kit.build import write_model_answers

ROOT = Path(__file__).resolve().parents[2]
HOMEWORK = [name for name in load_questions() if name.startswith("ps")]
CALLED = [name for name, each in load_questions().items() if isinstance(each, (Function, Puzzle))]
SCRIPT = "<script>window.hacked = 1</script>"
MODEL = "The share of peak does not decide"


def plain(html):
    return unescape(re.sub(r"<[^>]*>", "", html)).replace(SPACE, " ")


@cases("name", HOMEWORK)
def test_every_question_of_homework_is_explained(name):
    question, said = find_question(name), plain(explain_answer(find_question(name)))
    match question:
        case Choice():
            assert f"“{question.reference()}” is right" in said
            assert all(
                why in said for o, why in question.why_not.items() if o != question.reference()
            )
        case Order():
            found = re.findall(r"<li><b>(.*?)</b>", explain_answer(question).replace(SPACE, " "))
            assert found == [*question.reference()]
            assert question.shows is not None
        case Puzzle():
            assert question.best_schedule in said
        case _:
            sides = [side for line in question.derivation() for side in line.sides]
            assert all(side.replace("T_", "T") in said for side in sides)
            assert question.derivation()


@cases("name", CALLED)
def test_the_figures_of_a_call_come_to_what_the_check_compares_with(name):
    question = find_question(name)
    _, lines = question.example()
    found = [line.value for line in lines if line.is_answer]
    case = question.cases[0]
    if isinstance(question, Puzzle):
        unit = question.least.unit
        assert found == [format_value(question.least.value(question.sizes(case)), unit)]
    elif lines:
        right = np.atleast_1d(question.reference(*case))
        units = (formula.unit for formula in question.results.values())
        assert sorted(found) == sorted(map(format_value, map(float, right), units))


@cases(
    ("name", "value", "shown"),
    [
        ("ps1.ridge", np.float64(403.2961), "403.296 FLOP/byte"),
        ("ps1.ridge", "about 400", "about 400"),
        ("ps1.ridge", 10**400, f"{10**297:d} …"),
        ("ps1.attainable", max, ""),
        (
            "ps5.orin",
            [1.0, 2, 500],
            "ridge: 1 FLOP/byte; one image: 2 ms; images a second: 500 images/s",
        ),
        ("ps5.orin", {"ridge": 1, "x": True}, "ridge: 1 FLOP/byte; x: True"),
        ("ps1.order", ["a", "b"], "a, b"),
        ("ps1.order", range(10**9), "range(0, 1000000000)"),
        ("ps1.order", [*range(50)], ", ".join(map(str, range(40))) + " …"),
    ],
)
def test_a_value_that_was_given_is_shown_as_a_reader_writes_it(name, value, shown):
    assert format_answer(find_question(name), value) == shown


def headings(path):
    """The headings of a notebook."""
    cells = nbformat.read(path, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.findall(r"(?m)^#+ (.*)", prose)


def test_a_section_has_the_address_that_the_site_gives_it():
    for path in (ROOT / "course/en").glob("*.ipynb"):
        for heading in headings(path):
            assert page_templates.heading_anchor(heading) == make_id(re.sub(r"[*`]", "", heading))
    here = course.Course(ROOT)
    taught = {each.lesson for found in here.sets for each in found.questions}
    assert None not in taught
    for lecture in here.lectures:
        found = Counter(headings(ROOT / lecture.file))
        for lesson in taught:
            assert lesson.lecture != lecture.id or found[lesson.heading] == 1, lesson


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A course for self-study, and a file of answers with nothing in it."""
    (tmp_path / "course/en").mkdir(parents=True)
    for path in (ROOT / "exercises", *(ROOT / "course/en").iterdir()):
        (tmp_path / path.relative_to(ROOT)).symlink_to(path)
    (tmp_path / "course/answers.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("ROOFKIT_ANSWERS", str(tmp_path / "kept/answers.jsonl"))
    return tmp_path


def answer_all(name, but=()):
    """Answer every question of a set right, and wrong those that are named."""
    answers.file_path().parent.mkdir(exist_ok=True)
    line = {"time": f"{datetime.now().astimezone()}", "answer": "1", "slips": []}
    with answers.file_path().open("a", encoding="utf-8") as out:
        for each in questions_of_set(name):
            said = line | {"question": each, "credit": float(each not in but)}
            out.write(json.dumps(said) + "\n")


def due(folder, moment):
    (folder / "course/term.toml").write_text(f"due.ps1 = {moment.isoformat()}", encoding="utf-8")


def test_answers_are_shown_once_a_set_is_finished_or_given_up_and_due_no_more(folder):
    def shown(name="ps1"):
        return may_be_shown(course.Course(folder), name)

    now, hour = datetime.now().astimezone(), timedelta(hours=1)
    assert not shown()
    answer_all("ps1", but=["ps1.mine"])
    assert not shown()
    with pytest.raises(PermissionError, match="the answers to ps1"):
        make_answer_page(course.Course(folder), "ps1")
    answer_all("ps1")
    assert shown()
    due(folder, now + hour)
    assert not shown(), "it can still be handed in"
    due(folder, now - hour)
    assert shown()
    give_up("ps2")
    assert (shown("ps2"), shown("ps3")) == (True, False)
    give_up("ps1")
    due(folder, now + hour)
    assert not shown(), "giving up does not end the time to hand in"
    for unknown in (shown, give_up):
        with pytest.raises(ValueError, match="ps99"):
            unknown("ps99")


@pytest.mark.parametrize("kind", ["kit", "exchange"])
def test_in_a_class_nothing_opens_whatever_a_student_writes_into_the_settings(folder, kind):
    give_up("ps1")
    answer_all("ps1")
    assert may_be_shown(course.Course(folder), "ps1")
    if kind == "kit":
        (folder / "course/answers.json").unlink()
    else:
        settings = f"c = get_config()\nc.Exchange.root = {str(folder)!r}"
        (folder / "nbgrader_config.py").write_text(settings, encoding="utf-8")
    for text in ("", "# due.ps1 = 2099-01-31", "due.ps1 = 2020-01-31T18:00:00Z"):
        (folder / "course/term.toml").write_text(text, encoding="utf-8")
        with pytest.raises(PermissionError, match="In a class, your teacher releases them"):
            make_answer_page(course.Course(folder), "ps1")


def test_what_is_wrong_in_the_file_of_sets_given_up_is_passed_over(folder):
    give_up("ps1")
    file = answers.file_path().with_name("given-up.jsonl")
    file.write_text(f'{{"set": []}}\nno JSON\n[1]\n{file.read_text()}', encoding="utf-8")
    assert may_be_shown(course.Course(folder), "ps1")


def test_giving_up_says_so_where_nothing_is_kept(monkeypatch):
    monkeypatch.setenv("ROOFKIT_ANSWERS", "")
    with pytest.raises(ValueError, match="ROOFKIT_ANSWERS"):
        give_up("ps1")


def attainable(intensity, peak_flops, bandwidth):
    """</pre><script>window.hacked = 1</script>"""
    return intensity * bandwidth


def test_the_page_holds_answers_as_text_and_teaches_each_question(folder):
    check("ps1.ridge", np.float64(403.3))
    check("ps1.mine", 10, SCRIPT)
    check("ps1.attainable", attainable)
    give_up("ps1")
    give_up("ps4")
    html = make_answer_page(course.Course(folder), "ps1")
    assert "<script" not in html
    other = plain(make_answer_page(course.Course(folder), "ps4"))
    assert find_variant("ps4.mine", SCRIPT).text()[:20] in other  # the id is known from ps1
    said = plain(html)
    assert "Your answer: 403.3 FLOP/byte" in said
    assert SCRIPT in said
    assert f'"""</pre>{SCRIPT}"""\n    return intensity * bandwidth' in said
    mine = find_variant("ps1.mine", SCRIPT)
    assert mine.text() in said
    assert f"= {mine.derivation()[-1].value}" in said
    assert "uses the peak with sparsity" in said
    assert said.count("Where the course covers it:") == 9
    assert said.count("no answer saved") == 10, "in the table and in the heading of each"
    links = re.findall(r'href="([^#"][^"]*)"', html)
    assert "../../lab/tree/course/en/02-arithmetic-intensity.ipynb#cell-id=l02-chain" in links
    for link in links:
        file, cell = link.removeprefix("../../lab/tree/").split("#cell-id=")
        cells = nbformat.read(folder / file, as_version=4).cells
        assert cell in {each.id for each in cells}
    moved = make_answer_page(course.Course(folder), "ps1", lab="/user/ada/lab/tree/roofline/")
    assert '"/user/ada/lab/tree/roofline/course/en/02-' in moved


def test_a_model_answer_is_shown_where_the_course_has_one(folder):
    give_up("ps1")
    here = course.Course(folder)
    said = plain(make_answer_page(here, "ps1"))
    assert 'A colleague writes: "Our kernel reaches a quarter' in said
    assert "Ask your teacher for this one" in said
    assert MODEL not in said
    write_model_answers(folder / "course/answers.json")
    models = json.loads((folder / "course/answers.json").read_text(encoding="utf-8"))
    found = {name: len(each) for name, each in models.items()}
    assert found == {
        each.id: sum(question.paragraph for question in each.questions) for each in here.sets
    }
    said = plain(make_answer_page(here, "ps1"))
    assert MODEL in said
    assert "ask your teacher" not in said


def test_a_page_of_every_set_can_be_made(folder):
    for found in course.Course(folder).sets:
        give_up(found.id)
        html = make_answer_page(course.Course(folder), found.id)
        assert html.count('class="graded') == len(found.questions)
        own = any(each.id.endswith(".mine") for each in found.questions)
        assert html.count("These are the figures as printed") == own
        assert html.count("<details") >= len(found.questions) - 1


def test_an_answer_is_kept_with_what_was_said_and_whose_figures_it_had(folder):
    for _ in range(2):
        check("ps1.attainable", attainable)
        check("ps1.mine", 10, "ada")
        check("ps1.mine", 10, "bob")
    kept = answers.read_answers()[0]
    assert [each.me for each in kept] == ["", "ada", "bob", "ada", "bob"]
    assert kept[0].answer.startswith("def attainable(intensity")
    assert "one of two roofs" in kept[0].said
    check("ps1.ridge", "9" * 9_000)
    assert len(answers.read_answers()[0][-1].answer) == answers.LONGEST
