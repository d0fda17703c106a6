"""Several numbers: what follows from what, and what is said once."""

import pytest

from roofcheck.tables.catalogue import find_question
from roofcheck.tables.toml_tables import read_questions

QUESTION = read_questions("""
[q]
kind = "several"
asks = "?"
inputs.sums = { count = 3e9, what = "the sums" }
inputs.numbers = { count = 1e9, what = "the numbers", unit = "numbers" }
steps.work = ["2 * sums", "FLOPs", "the work"]
steps.moved = ["2 * numbers", "bytes", "the bytes: 2 for a number"]
parts."the work" = { unit = "FLOPs", step = "work" }
parts."the bytes" = { unit = "bytes", step = "moved" }
parts."the intensity" = { unit = "FLOP/byte", steps.intensity = ["work / moved", "FLOP/byte"] }
""")["q"]


def test_what_follows_from_a_wrong_answer_keeps_half():
    verdict = QUESTION.judge([6e9, 7.3e8, 6e9 / 7.3e8])
    assert verdict.credit == pytest.approx((1 + 0 + 0.5) / 3)
    assert "depends on your other answers" in verdict.message
    assert "the intensity: follows" in verdict.slips
    assert "follows" not in QUESTION.judge([6e9, ..., 7.7]).message, "nothing follows from nothing"


def test_what_is_said_of_two_parts_is_said_once():
    verdict = QUESTION.judge([-6e9, -2e9, 3])
    assert verdict.message.count("A negative value") == 1
    assert "The work and the bytes: A negative value" in verdict.message


def test_a_hint_speaks_of_no_part_that_is_right():
    verdict = QUESTION.judge([6e9, 7.3e8, 7.7])
    assert verdict.right == ("the work",)
    *_, hint = QUESTION.hints(verdict.right)
    assert "the bytes" in hint
    assert "the work" not in hint


def test_a_hint_skips_the_steps_of_a_part_that_is_right():
    ways = find_question("ps2.int8")
    right = tuple(list(ways.parts)[:2])
    skipped = {step.why for name in right for step in ways.parts[name].formula.steps}
    assert any(why in hint for why in skipped if why for hint in ways.hints())
    assert not any(why in hint for why in skipped if why for hint in ways.hints(right))
