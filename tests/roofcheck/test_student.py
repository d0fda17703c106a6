"""The question table and its checks, as a student's kernel meets them."""

import dataclasses
import math
import sys
import tomllib
import warnings
from operator import add
from pathlib import Path

import numpy as np
import pytest
import sympy
from cases import cases

import roofkit as rk
from roofcheck import check, find_question, hint, predict, reveal
from roofcheck.kinds import Function
from roofcheck.reading.numbers import GivenNumber
from roofcheck.study import check as check_module
from roofcheck.tables.catalogue import load_questions

RIDGE = 154.8e12 / 768e9
QUESTIONS = load_questions()
ANSWERS = tomllib.loads(Path(__file__).with_name("answers.toml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _new_student():
    """Nobody has tried or guessed anything yet."""
    check_module._hints_shown.clear()
    check_module._guesses.clear()


@cases("answer", [RIDGE, 202, sympy.Rational(154_800, 768)])
def test_a_right_number_gets_the_points_and_is_shown_as_a_plain_float(answer):
    grade = check("ps1.ridge", answer)
    assert (float(grade), repr(grade)) == (2.0, "2.0")
    assert str(grade).startswith("Right.")


@cases(("name", "answer", "credit", "says"), ANSWERS["judged"])
def test_an_answer_earns_its_share_and_is_told_why_and_never_the_solution(
    name, answer, credit, says
):
    check_module._hints_shown.clear()
    grade = check(name, answer)
    assert grade.verdict.credit == credit
    assert says in str(grade)
    assert says in grade._repr_html_().replace("&#x27;", "'")
    assert len(grade.verdict.message) <= 200
    assert "(34," not in str(grade)
    assert credit == 1 or name != "ps1.ridge" or "201" not in str(grade)


@cases(
    ("answer", "says"),
    [
        (abs, "a function (call it"),
        (3 + 4j, "a value of type complex"),
        (sympy.Symbol("x"), "a value of type Symbol"),
        (rk.chip("A6000"), "which has .peak_flops"),
    ],
)
def test_what_is_no_number_is_told_so(answer, says):
    assert says in str(check("ps1.ridge", answer))


def test_an_object_equal_to_everything_is_not_a_right_answer():
    class Chameleon:
        __eq__ = __ne__ = lambda self, other: True
        __hash__ = None

    for question in ("ps1.ridge", "ps1.bound", "ps1.order", "ps1.attainable"):
        assert check(question, Chameleon()) == 0


def test_an_answer_that_raises_when_looked_at_gets_zero_and_a_message():
    class Grenade:
        def __float__(self):
            raise RuntimeError("boom")

        __str__ = __float__

    assert "boom" in str(check("ps1.ridge", Grenade()))
    assert check("ps1.bound", Grenade()) == 0


def test_nothing_a_students_function_prints_as_an_error_or_warns_reaches_stderr(capsys):
    def noisy(intensity, peak_flops, bandwidth):
        print("careful", file=sys.stderr)
        warnings.warn("slow" * 10**6, stacklevel=1)
        return min(peak_flops, intensity * bandwidth)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grade = check("ps1.attainable", noisy)
    assert grade == 4
    assert capsys.readouterr().err == ""
    assert "slow" in str(grade)
    assert "careful" in str(grade)
    assert len(str(grade)) < 300


@cases("name", QUESTIONS)
@cases("answer", [..., None])
def test_an_unanswered_question_earns_nothing_and_says_so(name, answer):
    grade = check(name, answer)
    assert grade == 0
    assert str(grade).startswith("No answer yet.")


@cases(("name", "guess", "says"), ANSWERS["guessed"])
def test_a_guess_is_never_wrong_and_shows_which_way_off_it_was(name, guess, says):
    grade = predict(name, guess)
    assert says in str(grade)
    assert grade == 0


@cases(("name", "says"), [("ps1.rigde", r"nearest are ps1\.ridge"), (["ps1.ridge"], "no question")])
def test_an_unknown_question_names_the_nearest(name, says):
    with pytest.raises(ValueError, match=says):
        check(name, 1)


def test_feedback_stays_short_and_is_no_html_whatever_the_answer_holds():
    def loud(*arguments):
        raise ValueError("x" * 10**6)

    for grade in (check("ps1.bound", "<script>" + "x" * 10**6), check("ps1.attainable", loud)):
        assert len(grade._repr_html_()) < 1000
        assert "<script>" not in grade._repr_html_()
        assert "0 of" in str(grade)
    assert "&lt;script&gt;" in check("ps1.bound", "<script>")._repr_html_()


def test_a_reveal_says_what_was_guessed():
    assert "No answer yet" in str(predict("l01.h100-math"))
    answer = 1e12 / rk.chip("H100").peak_flops("bf16")
    assert repr(reveal("l01.h100-math", answer)) == "It is 1.01 ms."
    predict("l01.h100-math", "5 ms")
    shown = reveal("l01.h100-math", answer)
    assert repr(shown) == "You said 5 ms; it is 1.01 ms."
    assert shown._repr_html_().strip() == "<b>You said 5 ms; it is 1.01 ms.</b>"


RIDGE_V5E = 197e12 / 819e9


@cases("guess", [2 * RIDGE_V5E, "481"])
def test_a_reveal_says_which_mistake_gives_the_guess(guess):
    predict("l02.ridge", guess)
    said = repr(reveal("l02.ridge", RIDGE_V5E))
    found = find_question("l02.ridge").known_slips.diagnose([GivenNumber(2 * RIDGE_V5E)])
    assert said.startswith("You said 481")
    assert said.endswith(f" FLOP/byte. {found.message} It is 240.5 FLOP/byte.")
    assert len(said) <= 200


@cases("guess", [240, 0.97 * RIDGE_V5E, 500, 1, 2e5])
def test_a_reveal_names_no_mistake_where_none_is_sure(guess):
    predict("l02.ridge", guess)
    assert repr(reveal("l02.ridge", RIDGE_V5E)).endswith(" FLOP/byte; it is 240.5 FLOP/byte.")


def test_a_reveal_names_none_of_several_mistakes_that_give_the_guess():
    question = find_question("l01.h100-math")
    values = [single.column[0] for single in question.known_slips.singles]
    found = {value: question.known_slips.diagnose([GivenNumber(value)]) for value in values}
    several = [value for value, slip in found.items() if slip and len(slip.names) > 1]
    assert several
    for guess in several:
        predict("l01.h100-math", guess)
        shown = repr(reveal("l01.h100-math", question.reference()))
        assert shown.endswith("; it is 1.01 ms.")


def test_a_reveal_refuses_what_its_question_does_not_compute():
    with pytest.raises(ValueError, match=r"h100-math: the cell gives 1, the question 0.001"):
        reveal("l01.h100-math", 1)
    with pytest.raises(ValueError, match=r"ps1\.bound doesn't ask for a single number"):
        reveal("ps1.bound", 1)


@pytest.mark.parametrize("answers", [(123, 124, 125), (123, 123, 123)])
def test_hints_come_in_steps_for_wrong_answers_the_same_or_not(answers):
    first, second, third = (str(check("ps1.ridge", answer)) for answer in answers)
    assert "Hint" not in first
    assert "Hint: you need the dense bf16 peak of the RTX A6000 and" in second
    assert "the ridge is the dense peak over the bandwidth" in third
    assert "Hint" in str(check("ps1.ridge", 2 * RIDGE))
    assert "Hint" not in str(check("ps1.ridge", RIDGE))
    assert "Hint" not in str(check("ps1.ridge", ...))


def test_hints_are_counted_for_each_student_come_on_demand_and_skip_what_is_right():
    for me in ("ada", "bob"):
        assert "Hint" not in str(check("ps1.time", 1e9, me))
    assert "Hint: you need" in str(check("ps1.time", 1e9, "ada"))
    assert repr(hint("ps1.time", "ada")) == "Hint: find T_math (the FLOPs over the peak)."
    assert "Hint: find T_comms (" in str(check("ps1.time", 1e9, "ada"))
    check("ps2.int8", find_question("ps2.int8").reference() | {"T_upper": 1})
    assert repr(hint("ps2.int8")) == "Hint: find T_upper (without overlap, the times add up)."
    assert repr(hint("ps2.int8")) == "There are no more hints for this question."
    check("ps2.int8", find_question("ps2.int8").reference())
    assert "is right, so there is no hint" in repr(hint("ps2.int8"))


def test_a_roofkit_object_is_the_answer_where_one_of_its_figures_is():
    h200, layer = rk.chip("H200").roofline(), rk.Cost(4e11, 2.4e9)
    assert check("ps1.time", h200.estimate(layer)) == 2
    assert check("ps1.ridge", rk.chip("A6000").roofline()) == 2
    assert str(check("l02.axpy", rk.kernels.axpy(10))).startswith("Right.")
    mine = rk.hardware.Figure(1.5e12, "byte/s", source="me")
    assert str(check("l08.other-board", mine)) == str(check("l08.other-board", 1.5e12))
    assert check("ps1.bound", h200.estimate(rk.Cost(250e9, 1e9))) == 2
    assert "which has .flops, .bytes or .intensity" in str(check("ps1.time", layer))
    assert "which has .lower" in str(check("ps1.ridge", h200.estimate(layer)))


@cases(("lower", "upper"), [(max, max), (max, lambda a, b: 2 * max(a, b)), (add, max), (min, add)])
def test_one_right_half_keeps_half_whichever_it_is(lower, upper):
    def bracket(flops, moved, peak, bandwidth):
        a, b = flops / peak, moved / bandwidth
        return lower(a, b), upper(a, b)

    assert check("ps1.bracket", bracket) == 2


@cases("side", ["left", "right", "neither"])
def test_one_branch_keeps_half_whichever_it_is(side):
    def attainable(intensity, peak, bandwidth):
        if intensity < peak / bandwidth:
            return intensity * bandwidth if side == "left" else None
        if side == "right":
            return peak

    grade = check("ps1.attainable", attainable)
    assert grade == (0 if side == "neither" else 2)
    assert "your function returned None" in str(grade)


def test_a_partial_answer_says_which_half_is_right():
    grade = check("ps1.bracket", lambda f, m, p, b: (f / p, f / p + m / b))
    assert "Without overlap: right." in str(grade)
    assert "With overlap: You get this from T_math alone" in str(grade)
    assert "With (3.32e+12, " in str(grade)
    assert "it gives 0.1566; it should give 0.2396." in str(grade)


def test_what_cannot_be_an_order_is_told_so():
    assert "list.sort() sorts in place" in str(check("ps1.order", None))
    assert "A set has no order" in str(check("ps1.order", {"TPU v5e"}))


def test_an_order_takes_names_aliases_chips_and_pairs():
    right = find_question("ps1.order").reference()
    ridges = {name: rk.chip(name).roofline().ridge for name in right}
    for answer in (
        right,
        map(rk.chip, right),
        sorted((ridge, name) for name, ridge in ridges.items()),
        dict(sorted(ridges.items(), key=lambda item: item[1])),
        np.array(right),
        str([*right]),
    ):
        assert check("ps1.order", answer) == 3


def test_what_is_right_at_home_alone_counts_nothing(monkeypatch):
    question = find_question("ps1.attainable")
    known = {case: question.reference(*case) for case in question.cases}

    def memorised(*case):
        return known[case]

    assert check("ps1.attainable", memorised) == 4
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    grade = check("ps1.attainable", memorised)
    assert grade == 0
    assert "right for the arguments that this check uses" in str(grade)
    assert check("ps1.attainable", question.reference) == 4


def test_no_message_quotes_arguments_that_were_drawn_for_grading(monkeypatch):
    at_home = check("ps1.attainable", lambda i, p, b: i * b)
    check_module._hints_shown.clear()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    graded = check("ps1.attainable", lambda i, p, b: i * b)
    assert (str(graded), float(graded)) == (str(at_home), float(at_home))
    assert "it should give" in str(graded)


@cases("rounding", [lambda v: round(v, 1), lambda v: float(f"{v:.1e}")])
def test_rounded_results_keep_half_and_are_told_so(rounding):
    question = find_question("ps4.light")
    grade = check("ps4.light", lambda *case: rounding(question.reference(*case)))
    assert grade == question.points / 2
    assert "These results are rounded" in str(grade)


def test_a_draw_that_never_binds_is_refused_and_raises_nothing():
    drawn = find_question("l04.fp32")
    never = dataclasses.replace(drawn, formula=lambda peak: math.inf, slips=())
    assert any("lies within the tolerance" in problem for problem in never.problems())
    assert never.judge(20).credit == 0


@cases("name", [name for name, q in QUESTIONS.items() if isinstance(q, Function)])
def test_a_wrong_function_is_told_what_it_gives_and_should_give_in_at_most_200_characters(name):
    question = QUESTIONS[name]

    def off(factors):
        def function(*case):
            found = np.atleast_1d(question.reference(*case)) * factors[: len(question.results)]
            return tuple(found) if len(found) > 1 else found[0]

        return function

    for factors in ((1.37, 1.37), (2, 2), (1, 3.1), (2.6, 1.7), (-1, 1), (math.inf, 1), (0, 0)):
        verdict = question.judge(off(factors))
        if verdict.credit == 1:
            continue
        assert len(verdict.message) <= 200, verdict.message
        # Two mistakes may leave no room for the call.
        told = verdict.message.count("it should give")
        assert told == 1 or (told == 0 and len(verdict.message) > 90), verdict.message


def test_a_sentence_about_a_call_is_shortened_where_there_are_many_arguments():
    question = find_question("ps3.step")
    verdict = question.judge(eval(f"lambda {', '.join(question.arguments)}: int('{'x' * 79}')"))
    assert "Called with (" in verdict.message
    assert len(verdict.message) <= 200
    known = {case: question.reference(*case) for case in question.cases[1:]}
    assert question.judge(known.get).credit == 0
    verdict = question.judge(lambda *case: known.get(case))
    assert verdict.credit == 0.5
    assert len(verdict.message) <= 200


def raises(error):
    """A function of three arguments that raises this."""

    def function(i, p, b):
        raise error

    return function


class Silent(Exception):  # noqa: N818
    def __str__(self):
        raise RuntimeError


@cases(
    ("function", "says"),
    [
        (lambda i, p, b: 10.0**400, "raised OverflowError: Numerical result out of range."),
        (raises(ValueError("many\n\nlines, " * 1000)), "raised ValueError: many lines, many lin"),
        (raises(Silent), "raised Silent: …."),
        (raises(AssertionError), "raised AssertionError."),
        (raises(SystemExit), "raised SystemExit"),
        (lambda i, p, b: None, "returned None"),
        (lambda i, p, b: "fast", "I can't read 'fast' as a number"),
        (lambda i, p, b: (1, 2), "returned 2 value(s) instead of 1"),
        (lambda i, p, b: math.nan, "nan"),
        (lambda i, p, b: -1, "negative"),
        (lambda *case: 0, "round a division down"),
        (lambda i, p, b: 2 * min(p, i * b), "Too large by a factor of 2."),
        (lambda i, p, b: i * b, "That is only intensity times bandwidth"),
        (lambda i, p, b: int(p) ** 100, "it gives inf; it should give"),
        (lambda i: i, "raised TypeError: lambda() takes 1 positional argument but 3 were given"),
        (lambda i, p, b: max * p, "for *: 'function' and 'float'"),
        (lambda i, p, b: [][0], "Called with (i=1.94, p=2.12e+13, b=1.97e+11), your"),
        (lambda i, p, b: {}[p], "raised KeyError: 21200000000000.0"),
    ],
)
def test_a_wrong_function_is_told_for_which_call_and_why_and_shows_nothing_of_pythons_own(
    function, says
):
    verdict = find_question("ps1.attainable").judge(function)
    assert verdict.credit < 1
    assert says in verdict.message
    assert len(verdict.message) <= 200
    assert not any(each in verdict.message for each in ("<", "(34", "builtin_function", "locals"))


def test_the_values_that_differ_look_different():
    question = find_question("ps1.attainable")
    verdict = question.judge(lambda *case: 1.0012 * question.reference(*case))
    found, right = verdict.message.split("it gives ")[1].split("; it should give ")
    assert found != right.rstrip(".")


def test_nothing_but_a_keyboard_interrupt_gets_out_of_a_check():
    assert "raised GeneratorExit." in str(check("ps1.attainable", raises(GeneratorExit)))
    with pytest.raises(KeyboardInterrupt):
        check("ps1.attainable", raises(KeyboardInterrupt))
