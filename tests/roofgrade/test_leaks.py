"""What students get before and after grading holds no solution and no right answer."""

import re

import pytest
from hidden import solution_lines
from homework import ROOT, SETS, checks, notebook, plain

from roofcheck import check
from roofcheck.kinds import Number, Order, Several
from roofcheck.study import check as check_module
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import list_variants


def right_answers(question):
    """The digits of a question's right answers, where they are more than a guess."""
    if isinstance(question, Order):
        yield from (", ".join(question.reference()), "".join(question.reference()))
    parts = {Number: [question], Several: getattr(question, "parts", {}).values()}
    for part in parts.get(type(question), []):
        value = part.reference()
        for digits in (4, 5, 6):
            if float(f"{value:.{digits - 1}g}") != float(f"{value:.{digits}g}"):
                yield from {f"{value:.{digits}g}", f"{value:,.{digits}g}"}


def within(text, words):
    """Those of the words that stand in a text by themselves."""
    return [word for word in words if re.search(rf"(?<![\d.,]){re.escape(word)}(?![\d])", text)]


@pytest.fixture(scope="module", params=SETS)
def release(request):
    name = request.param
    path = ROOT / "exercises/en" / name / f"{name}.ipynb"
    return name, path.read_text(encoding="utf-8")


def test_a_release_holds_no_line_of_a_solution_or_a_rubric(release):
    _, text = release
    for line in solution_lines():
        assert line not in text


def test_a_release_holds_no_right_answer(release):
    name, text = release
    for _, question, _ in checks(notebook(ROOT, "exercises", name).cells):
        asked = [find_question(question)]
        if question.endswith(".mine"):
            asked = list_variants(question)
        for each in asked:
            assert not within(text, right_answers(each)), question


def test_no_message_on_a_wrong_answer_holds_the_right_one(release, monkeypatch):
    name, _ = release
    for _, question, _ in checks(notebook(ROOT, "exercises", name).cells):
        monkeypatch.setattr(check_module, "_hints_shown", {})
        for answer in (1.234567, 7.7e9, [1.234567] * 9, "A", ["B", "A"], lambda *case: 0.123):
            shown = plain(check(question, answer)._repr_html_())
            assert not within(shown, right_answers(find_question(question))), question
            assert not [line for line in solution_lines() if line in shown]
