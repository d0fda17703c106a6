"""Every question of every table, as thousands of right and wrong answers meet it."""

import functools
import itertools
import math
import random
import tomllib
from pathlib import Path

import numpy as np
import pytest
import sympy
from forms import forms

from roofcheck.kinds import (
    Choice,
    Forecast,
    Formula,
    Function,
    Number,
    Order,
    Question,
    Report,
    Several,
)
from roofcheck.reading import units
from roofcheck.reading.agreement import CLOSE_RTOL, EXACT_RTOL, are_equal
from roofcheck.reading.numbers import GivenNumber, read_number
from roofcheck.slips.diagnosis import LONGEST_MESSAGE
from roofcheck.steps.computation import SlipValue
from roofcheck.tables.catalogue import load_questions

TABLE = load_questions()


@functools.cache
def drawn(draw):
    """Each question as it stands, or with figures drawn anew."""
    if not draw:
        return TABLE
    return {f"{name}~{draw}": question.with_new_figures(draw) for name, question in TABLE.items()}


@functools.cache
def of_kind(kind, draw):
    """The questions of one kind; numbers count also as parts of several."""
    found = {name: q for name, q in drawn(draw).items() if isinstance(q, kind)}
    if kind is Number:
        for name, question in of_kind(Several, draw).items():
            found |= {f"{name}/{part}": number for part, number in question.parts.items()}
    return found


RULES = []


def of_every(kind):
    """Hold a rule against every question of a kind; the error names each that breaks it."""

    def decorate(rule):
        RULES.append((rule, kind))

        def test():
            hold(rule, kind, draw=0)

        test.__name__, test.__doc__ = rule.__name__, rule.__doc__
        return test

    return decorate


def hold(rule, kind, draw):
    broken = {}
    for name, question in of_kind(kind, draw).items():
        try:
            rule(name, question)
        except Exception as error:
            broken[name] = f"{type(error).__name__}: {error}"
    assert not broken, "\n\n".join(f"{name}: {error}" for name, error in broken.items())


@pytest.mark.weekly("a question with figures drawn anew tells slips apart, too")
def test_another_draw_keeps_every_rule():
    for rule, kind in RULES:
        hold(rule, kind, draw=1)


def far(question, value):
    """Whether a value is neither right nor another right answer, however it is rounded."""
    return question.known_slips.remark_if_right([GivenNumber(value)]) is None


@of_every(Number)
def test_every_honest_form_of_the_right_number_is_right(name, question):
    for answer in forms(question):
        assert question.judge(answer).credit == 1, repr(answer)


@of_every(Number)
def test_every_slip_is_told_and_never_the_solution(name, question):
    known = question.known_slips
    solution = f"{question.reference():.4g}"
    # Of those that any question has there are thousands: every third, and of the rarer ones fewer.
    usual = [one for one in known.singles if one not in known.steps][::3]
    for candidate in [
        *known.steps,
        *usual,
        *list(known.pairs)[::11],
        *list(known.rare_slips)[::11],
    ]:
        [value] = candidate.column
        verdict = question.judge(value)
        if not math.isfinite(value) or not far(question, value) or verdict.slips == ("few digits",):
            continue
        if verdict.credit == 1 and read_number(value, question.unit).digits < 3:
            continue
        if question.unit == "tokens" and value == math.ceil(question.reference()):
            continue
        assert verdict.credit < 1
        assert len(verdict.message) <= LONGEST_MESSAGE
        if len(solution) > 4:
            assert solution not in verdict.message
        if candidate in known.singles:
            # Of one value, what is said twice is told under the name of the likelier one.
            alike = [one for one in known.singles if are_equal(one.column, candidate.column)]
            named = {one.names[0] for one in alike if str(one.says) == str(candidate.says)}
            assert named & set(verdict.slips), candidate.names
            rounded = float(f"{value:.6g}")
            if read_number(rounded, question.unit).digits > 4:
                shown = question.judge(rounded)
                assert shown.slips or shown.credit == 1, candidate.names


@of_every(Number)
def test_a_slip_is_asserted_only_where_no_other_gives_its_value(name, question):
    """An answer to its last digit: what one sentence asserts, another may not give as well."""
    known = question.known_slips
    for candidate in known.singles:
        alike = [one for one in known.singles if are_equal(one.column, candidate.column)]
        sentences = {str(one.says) for one in alike}
        if len(sentences) == 1 or not far(question, candidate.column[0]):
            continue
        message = question.judge(candidate.column[0]).message
        assert not any(message == sentence for sentence in sentences), message


@of_every(Number)
def test_a_question_is_derived_in_steps_that_a_reader_can_follow(name, question):
    lines = question.derivation()
    assert lines[-1].value == units.format_value(question.reference(), question.unit)
    assert all(line.what and line.arithmetic for line in lines)
    slips = [*question.known_slips.steps, *question.known_slips.single_changes]
    assert question.words.keys() <= {slip.names[0] for slip in slips} or "~" in name


@of_every(Number)
def test_a_near_miss_is_never_right(name, question):
    rng = random.Random(name)
    for _ in range(10):
        off = question.rtol * rng.uniform(1.001, 4) * rng.choice((-1, 1))
        value = question.reference() * (1 + off)
        if far(question, value):
            assert question.judge(value).credit < 1


def spans(candidates, rtol):
    """Where an answer, by its logarithm, is taken for one of the candidates."""
    width = -math.log1p(-rtol)  # as math.isclose has it, relative to the larger of two
    for candidate in candidates:
        if candidate.column[0] > 0:
            middle = math.log(candidate.column[0])
            yield middle - width, middle + width


def length(intervals, window):
    """The length of the union of intervals within a window."""
    total, end = 0.0, window[0]
    for start, stop in sorted(intervals):
        start, stop = max(start, end), min(stop, window[1])
        if stop > start:
            total, end = total + stop - start, stop
    return total


def told_spans(question):
    known = question.known_slips
    yield from spans(known.singles, known.match_rtol)
    yield from spans([*known.pairs, *known.rare_slips, *known.input_slips], EXACT_RTOL)


def right_spans(question):
    known, own = question.known_slips, SlipValue((), (question.reference(),), "")
    yield from (*spans([own], question.rtol), *spans(known.alternatives, CLOSE_RTOL))


@of_every(Number)
def test_a_wrong_answer_seldom_meets_a_slip_by_chance(name, question):
    """Of answers spread evenly, in logarithm, over three decades around the right one."""
    middle, half = math.log(question.reference()), 1.5 * math.log(10)
    window = middle - half, middle + half
    right = list(right_spans(question))
    wrong = 2 * half - length(right, window)
    met = length([*told_spans(question), *right], window) - length(right, window)
    assert met <= 0.02 * wrong


@of_every(Number)
def test_a_slip_is_told_to_no_answer_further_away(name, question):
    """So that the chance of meeting one is what the test before this one reckons."""
    told = list(told_spans(question))
    rng = random.Random(name)
    for _ in range(8):
        answer = question.reference() * 10 ** rng.uniform(-1.5, 1.5)
        if question.known_slips.diagnose([GivenNumber(answer)]):
            at = math.log(answer)
            assert any(start <= at <= stop for start, stop in told)


@of_every(Question)
def test_no_slip_lies_within_the_tolerance(name, question):
    assert question.problems() == []


@of_every(Question)
def test_a_question_can_be_asked_and_hinted_at(name, question):
    assert "{" not in question.text()
    assert question.hints(), "give it a how, or inputs with a what"
    if isinstance(question, Number):
        assert set(question.half) <= {c.names[0] for c in question.known_slips.singles}
        assert question.unit in units.DIMENSIONS


@of_every(Question)
def test_a_draw_depends_on_its_seed_alone(name, question):
    question = TABLE[name.partition("~")[0]]
    one, other = question.with_new_figures(7), question.with_new_figures(7)
    assert one.text() == other.text()
    if isinstance(question, Function):
        assert one.cases == other.cases != question.cases


@of_every(Function)
def test_the_reference_is_right_in_every_style(name, question):
    reference = question.reference

    def listed(*arguments):
        return list(np.atleast_1d(reference(*arguments)))

    def array(*arguments):
        return np.array(reference(*arguments))

    for style in (reference, listed, array):
        assert question.judge(style).credit == 1


@of_every(Function)
def test_a_function_with_a_slip_is_told_so(name, question):
    slips = {} if isinstance(question, Forecast) else question.known_slips
    for result, known in slips.items():
        for candidate in [*known.singles, *list(known.pairs)[::3]]:
            if not all(map(math.isfinite, candidate.column)):
                continue
            values = dict(zip(question.cases, candidate.column, strict=True))

            def wrong(*arguments, values=values, result=result):
                found = dict(
                    zip(
                        question.results, np.atleast_1d(question.reference(*arguments)), strict=True
                    )
                )
                found[result] = values[arguments]
                return tuple(found.values()) if len(found) > 1 else found[result]

            verdict = question.judge(wrong)
            assert verdict.credit < 1
            # Two of one value and one sentence are told under one name.
            every = [*known.singles, *known.pairs, *known.rare_slips]
            alike = [one for one in every if are_equal(one.column, candidate.column)]
            named = {" and ".join(one.names) for one in [candidate, *alike]}
            # Several ways to be wrong twice are a guess, which is not told.
            guess = candidate in known.pairs and len({str(one.says) for one in alike}) > 1
            assert guess or named & set(verdict.slips), candidate.names


@of_every(Choice)
def test_every_option_in_every_wording(name, question):
    for option in question.options:
        for wording in (option, option.upper(), f"'{option}'", f'"{option}"', f" the {option} "):
            verdict = question.judge(wording)
            right = option == question.reference()
            assert verdict.credit == right
            if not right:
                assert verdict.message == question.why_not[option]


@of_every(Order)
def test_every_order_but_the_right_one_is_wrong(name, question):
    for order in itertools.permutations(question.items):
        right = order == question.reference()
        assert (question.judge(order).credit == 1) == right
    for kind in (list, tuple, np.array, iter, dict.fromkeys, ", ".join, " < ".join):
        assert question.judge(kind(question.reference())).credit == 1


@of_every(Several)
def test_several_numbers_in_every_form(name, question):
    right = [part.reference() for part in question.parts.values()]
    for answer in (
        right,
        tuple(right),
        np.array(right),
        dict(zip(question.parts, right, strict=True)),
        question.reference(),
    ):
        assert question.judge(answer).credit == 1
    if isinstance(question, Report):
        return
    if abs(right[0] / right[1] - 1) > 0.1:
        assert question.judge(right[::-1]).credit == 0.5
    wrong = [(0.37 + 0.05 * n) * value for n, value in enumerate(right[1:])]
    first = question.judge([right[0], *wrong])
    points = [part.points or 1 for part in question.parts.values()]
    assert first.credit == pytest.approx(points[0] / sum(points))
    assert f"{next(iter(question.parts))}: right".casefold() in first.message.casefold()
    assert question.judge([...] * len(right)).state == "missing"
    assert f"{len(right)} values" in question.judge(right[:1]).message


@of_every(Several)
def test_what_parts_share_is_drawn_once(name, question):
    written = TABLE[name.partition("~")[0]].parts.values()
    shared = {}
    for before, part in zip(written, question.parts.values(), strict=True):
        for label, given in part.inputs.items():
            key = label, before.inputs[label].value
            assert shared.setdefault(key, given.value) == given.value, label


k, n, B, D, F, N, U, T, S, V, W, C, h = sympy.symbols("k n B D F N U T S V W C h")
FORMULAS = tomllib.loads(Path(__file__).with_name("formulas.toml").read_text(encoding="utf-8"))
# The same in SymPy and as functions.
OBJECTS = {
    "l02.add-many": (
        [
            (k - 1) / (2 * (k + 1)),
            sympy.Rational(1, 2) - 1 / (k + 1),
            (k - 1) / (2 * k + 2),
            lambda k: (k - 1) / 2 / (k + 1),
            lambda n: (n - 1) / (2 * n + 2),
        ],
        {0.3: "formula in k", sympy.Symbol("M") / 2: "'M' isn't one of", ...: "..."},
    ),
    "l03.own-length": ([(2 * N - 1) / (2 * N + 2), lambda n: (2 * n - 1) / 2 / (n + 1)], {}),
    "l04.own-weights": (
        [
            D * F / (D + D * F + F),
            B * D * F / (B * (D + D * F + F)),
            lambda B, D, F: D * F / (D + F + D * F),
        ],
        {1: "the limit"},
    ),
    "ps4.width": (
        [(n - 1) * C / W, C / W * n - C / W, lambda n, C, W: (n - 1) * C / W],
        {4378: "formula in n, C and W"},
    ),
    "ps3.volume": (
        [
            2 * V * (1 - 1 / n**2),
            2 * (n - 1) / n * (V + V / n),
            lambda n, V: 2 * (n * n - 1) * V / n**2,
        ],
        {V: "one pass"},
    ),
    "ps2.own": (
        [
            2 * B * D * F / (2 * B * D + U * D * F + 2 * B * F),
            1 / (1 / D + 1 / F + U / B / 2),
            lambda B, D, F, U: B * D * F / (B * D + U * D * F / 2 + B * F),
        ],
        {},
    ),
    "ps2.attention": (
        [T * S / (T + S), 4 * T * S * h / (4 * h * (T + S)), lambda T, S, h: T * S / (S + T)],
        {1: "the limit"},
    ),
}


@of_every(Formula)
def test_a_formula_in_every_form(name, question):
    name = name.partition("~")[0]
    (right, wrong), texts = OBJECTS[name], FORMULAS[name]
    for answer in (*right, *texts["right"]):
        assert question.judge(answer).credit == 1, answer
    for answer, says in (wrong | texts["wrong"]).items():
        verdict = question.judge(answer)
        assert verdict.credit < 1
        assert says in verdict.message


def test_a_slip_that_is_one_is_not_told_upside_down_besides():
    for name in ("l03.own-length", "l04.own-weights"):
        message = TABLE[name].judge("1").message
        assert "upside down" not in message, name
        assert message.count("the limit") == 1, name
