"""What a slide says of a question is what its check says."""

import re

import pytest
from cases import cases

from roofcheck.kinds import Choice, Number
from roofcheck.reading.numbers import read_number
from roofcheck.showing.deck_answer import deck_answer
from roofcheck.tables.catalogue import load_questions

LECTURES = {
    name: question for name, question in load_questions().items() if re.match(r"l\d\d\.", name)
}


@cases("name", load_questions())
def test_every_question_has_an_answer_to_show(name):
    assert deck_answer(load_questions()[name]).answer.strip("$ ")


@cases("name", LECTURES)
def test_an_answer_shown_is_right_and_its_slip_is_told_so(name):
    question, told = LECTURES[name], deck_answer(LECTURES[name])
    if isinstance(question, Number):
        # To the three digits of a slide, which may be fewer than a check wants.
        shown = read_number(told.answer, question.unit).value
        assert shown == pytest.approx(question.reference(), rel=5e-3)
    if isinstance(question, Choice):
        assert question.judge(told.answer).state == "right"
    if told.slip and isinstance(question, (Number, Choice)):
        verdict = question.judge(told.slip)
        assert verdict.credit < 1
        assert told.says == verdict.message


def test_a_part_has_its_slip_told_with_its_name_and_a_formula_is_shown_as_one():
    assert deck_answer(LECTURES["l04.tokens"]).slip == "Reading: 4 tokens"
    told = deck_answer(LECTURES["l04.own-weights"])
    assert told.answer[0] == told.slip[0] == "$"
