"""Several numbers: what follows from what, and what is said once."""

import pytest

from roofcheck.kinds import Number, Several
from roofcheck.steps.inputs import count
from roofcheck.tables.catalogue import find_question

FIGURES = {"work": count(6e9, "the work"), "moved": count(2e9, "the bytes", "bytes")}
PARTS = {
    "the work": Number(asks="?", inputs=FIGURES, formula=lambda work: work, unit="FLOPs"),
    "the bytes": Number(asks="?", inputs=FIGURES, formula=lambda moved: moved, unit="bytes"),
    "the intensity": Number(
        asks="?", inputs=FIGURES, formula=lambda work, moved: work / moved, unit="FLOP/byte"
    ),
}
QUESTION = Several(
    asks="?", parts=PARTS,
    follows={"the intensity": lambda given: given["the work"] / given["the bytes"]},
)  # fmt: skip


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
    verdict = QUESTION.judge([6e9, 7.3e8, 3])
    assert verdict.right == ("the work", "the intensity")
    [hint] = QUESTION.hints(verdict.right)
    assert "the bytes" in hint
    assert "the work" not in hint


def test_a_hint_skips_the_steps_of_a_part_that_is_right():
    ways = find_question("ps2.int8")
    right = tuple(list(ways.parts)[:2])
    skipped = {step.why for name in right for step in ways.parts[name].formula.steps}
    assert any(why in hint for why in skipped if why for hint in ways.hints())
    assert not any(why in hint for why in skipped if why for hint in ways.hints(right))
