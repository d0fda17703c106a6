"""The question table and its checks, as a student's kernel meets them."""

import contextlib
import io
import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy

from roofkit.check import _tables, check, find_question, predict
from roofkit.judge import Choice, Function, Number, Order

RIDGE = 154.8e12 / 768e9
QUESTIONS = _tables()


@pytest.mark.parametrize(
    "answer",
    [
        RIDGE,
        202,
        np.float32(RIDGE),
        np.float64(RIDGE),
        np.int64(202),
        np.array(RIDGE),
        np.array([RIDGE]),
        Fraction(154_800, 768),
        Decimal("201.6"),
        sympy.Rational(154_800, 768),
        sympy.Float(RIDGE),
    ],
    ids=lambda answer: f"{type(answer).__name__}",
)
def test_every_form_of_the_right_number_is_right(answer):
    grade = check("ps1.ridge", answer)
    assert (float(grade), repr(grade)) == (2.0, "2.0")
    assert str(grade).startswith("Right.")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (..., "No answer yet."),
        (None, "No answer yet."),
        ("201.6", "That is text."),
        (True, "a value of type bool"),
        (abs, "a function (call it"),
        ([1, 2], "a value of type list"),
        (np.array([1.0, 2.0]), "a value of type ndarray"),
        (3 + 4j, "a value of type complex"),
        (sympy.Symbol("x"), "a value of type Symbol"),
        (math.nan, "nan"),
        (-RIDGE, "negative"),
        (RIDGE * 8, "A byte has 8 bits"),
        (RIDGE / 2, "multiply-add"),
        (RIDGE * 1e12, "10^12 times too large"),
        (RIDGE * 2**30 / 1e9, "2^30"),
        (RIDGE * 2, "sparsity"),
        (123.0, "divided by what"),
        (0, "divided by what"),
        (math.inf, "divided by what"),
    ],
    ids=str,
)
def test_every_other_answer_is_told_why_and_never_the_solution(answer, says):
    grade = check("ps1.ridge", answer)
    assert says in str(grade)
    assert says in grade._repr_html_().replace("&#x27;", "'")
    assert float(grade) <= 1.0
    assert "201" not in str(grade)


def test_an_object_equal_to_everything_is_not_a_right_answer():
    class Chameleon:
        def __eq__(self, other):
            return True

        __hash__ = None

    for question in ("ps1.ridge", "ps1.bound", "ps1.order", "ps1.attainable"):
        assert check(question, Chameleon()) == 0


def test_an_answer_that_raises_when_looked_at_gets_zero_and_a_message():
    class Grenade:
        def __float__(self):
            raise RuntimeError("boom")

        __str__ = __float__

    assert "boom" in str(check("ps1.ridge", Grenade()))
    assert "boom" in str(check("ps1.bound", Grenade()))


def test_nothing_a_students_function_prints_as_an_error_or_warns_reaches_stderr(capsys):
    def noisy(intensity, peak_flops, bandwidth):
        print("careful", file=sys.stderr)
        warnings.warn("slow", stacklevel=1)
        return min(peak_flops, intensity * bandwidth)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grade = check("ps1.attainable", noisy)
    assert grade == 4
    assert capsys.readouterr().err == ""
    assert "slow" in str(grade)
    assert "careful" in str(grade)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda i, p, b: None, "returned None"),
        (lambda i, p, b: "fast", "That is text"),
        (lambda i, p, b: (1, 2), "returned 2 value(s); asked for: 1"),
        (lambda i: i, "TypeError"),
        (lambda i, p, b: sys.exit(), "SystemExit"),
        (lambda i, p, b: math.nan, "nan"),
        (lambda i, p, b: -1, "negative"),
        (lambda i, p, b: 8 * min(p, i * b), "A byte has 8 bits"),
        (lambda i, p, b: i * b, "more than the peak"),
    ],
    ids=lambda value: value if isinstance(value, str) else "f",
)
def test_a_wrong_function_is_told_for_which_call_and_why(function, says):
    grade = check("ps1.attainable", function)
    assert says in str(grade)
    assert grade < 4


def test_a_keyboard_interrupt_is_not_swallowed():
    def interrupted(*arguments):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("ps1.attainable", interrupted)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_reference_is_right_and_every_wrong_turn_is_told_apart(name):
    question = find_question(name)
    match question:
        case Number():
            assert question.judge(question.reference()).credit == 1
            for turn in question.turns:
                assert question.judge(turn.leads_to()).message == turn.message
        case Function():
            assert question.judge(question.reference).credit == 1
            for turn in question.turns:
                assert question.judge(turn.leads_to).message == turn.message
        case Choice():
            right = question.answer()
            assert question.judge(right.upper()).credit == 1
            assert right not in question.why_not
            for option, message in question.why_not.items():
                assert question.judge(option).message == message
        case Order():
            right = question.answer()
            assert question.judge(list(right)).credit == 1
            for turn in question.turns:
                assert question.judge(turn.leads_to()).message == turn.message
        case _:
            pytest.fail(f"{name} is of no known kind")


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("answer", [..., None], ids=["ellipsis", "none"])
def test_an_unanswered_question_earns_nothing_and_says_so(name, answer):
    grade = check(name, answer)
    assert grade == 0
    assert str(grade).startswith("No answer yet.")


def test_a_partly_ordered_list_gets_part_of_the_points():
    right = list(find_question("ps1.order").answer())
    swapped = [right[1], right[0], *right[2:]]
    grade = check("ps1.order", swapped)
    assert grade == 1.5
    assert f"{swapped[0]} does not come before {swapped[1]}" in str(grade)
    assert "Give a list" in str(check("ps1.order", "A100"))
    assert "each of these once" in str(check("ps1.order", right[:-1]))


def test_a_guess_is_never_wrong_and_shows_how_far_off_it_was():
    assert "Within a factor of 2" in str(predict("l01.h100-math", 1.4e-3))
    assert "Too large, by a factor of about 1,000" in str(predict("l01.h100-math", 1.0))
    assert "Too small, by a factor of about 100." in str(predict("l01.h100-math", 1e-5))
    assert "No answer yet" in str(predict("l01.h100-math"))
    assert "That is text" in str(predict("l01.h100-math", "1 ms"))
    assert "above 0" in str(predict("l01.h100-math", -1))
    assert "above 0" in str(predict("l01.h100-math", 0))
    assert predict("l01.h100-math", 1e-3) == 0


def test_an_unknown_question_names_the_nearest():
    with pytest.raises(ValueError, match=r"nearest: ps1\.ridge"):
        check("ps1.rigde", 1)
    with pytest.raises(ValueError, match="no question"):
        check(["ps1.ridge"], 1)


def test_feedback_stays_short_whatever_the_answer_holds():
    def loud(*arguments):
        raise ValueError("x" * 10**6)

    for grade in (check("ps1.bound", "x" * 10**6), check("ps1.attainable", loud)):
        assert len(grade._repr_html_()) < 1000
        assert "0 of" in str(grade)


def test_feedback_escapes_what_the_student_wrote():
    with contextlib.redirect_stdout(io.StringIO()):
        html = check("ps1.bound", "<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in html
