"""What people write for a number, for several and for a formula, and what is asked back."""

import itertools
import random
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from roofcheck import check
from roofcheck.kinds import Formula, Number, Several
from roofcheck.reading.agreement import agrees
from roofcheck.reading.expressions import LONGEST_TEXT, evaluate
from roofcheck.reading.labels import order_by_labels
from roofcheck.reading.numbers import ALL_DIGITS, UnreadableError, list_items, read_number
from roofcheck.reading.spelling import extract_formula
from roofcheck.tables.catalogue import find_question

# What is written, and how it is read in the question's unit or what is asked back.
WRITTEN = tomllib.loads(Path(__file__).with_name("written.toml").read_text(encoding="utf-8"))


@cases("unit", WRITTEN["read"])
def test_a_number_as_people_write_it(unit):
    for value, forms in WRITTEN["read"][unit].items():
        found = {text: read_number(text, unit).value for text in forms}
        assert found == pytest.approx(dict.fromkeys(forms, float(value)), rel=1e-12)


@cases("digits", WRITTEN["digits"])
def test_digits_are_those_that_were_written(digits):
    found = {text: read_number(text, unit).digits for text, unit in WRITTEN["digits"][digits]}
    assert found == dict.fromkeys(found, ALL_DIGITS if digits == "exact" else int(digits))


@cases(("value", "answers"), WRITTEN["agrees"].items())
def test_an_answer_agrees_to_the_digits_it_has_and_no_fewer_than_two(value, answers):
    for fits, each in zip((True, False), answers, strict=True):
        assert {agrees([read_number(answer)], [float(value)]) for answer in each} <= {fits}


ASKED = {(text, unit): says for says, found in WRITTEN["asked"].items() for text, unit in found} | {
    ("(" * 40 + "1" + ")" * 40, ""): "too many nested parentheses or signs",
    ("-" * 200 + "1", ""): "too many nested parentheses or signs",
    ("^".join("2" * 100), ""): "too many nested parentheses or signs",
    ("1+" * 200 + "1", ""): "more than 300 characters",
    ("ﷺ" * 250, ""): "more than 300 characters", (10**400, ""): "too large to compare",
    ((1, 2), ""): "type tuple with 2 values",
}  # fmt: skip
# What only a programmer of this check understands.
INTERNALS = re.compile(
    r"Error|Traceback|Errno|\(34|out of range|object|float\(|could not convert|invalid|NoneType"
)


def is_plain(message):
    return len(message) <= 200 and not INTERNALS.search(message)


@cases(("answer", "unit"), ASKED)
def test_what_cannot_be_decided_is_asked_in_a_sentence(answer, unit):
    with pytest.raises(UnreadableError) as error:
        read_number(answer, unit)
    assert ASKED[answer, unit] in str(error.value)
    assert is_plain(str(error.value))


@given(st.integers(1, 10**12), st.sampled_from([",", " ", "'", "_", "\u00a0", "\u202f", "，"]))
def test_thousands_may_be_set_apart(value, sign):
    assert read_number(f"{value:,}".replace(",", sign)).value == value


PIECES = [*WRITTEN["signs"], *WRITTEN["pieces"]]
NAMES = ["FLOPs", "bytes"]
SYMBOLS = {"B": 2.0, "D": 3.0, "n": 4.0}


def strange_texts(many):
    rng = random.Random(22)
    for _ in range(many):
        length = rng.choice((1, 2, 3, 5, 8, 13, 30, 80, 200))
        yield "".join(rng.choice(PIECES) for _ in range(length))
        yield (rng.choice(PIECES) + rng.choice(PIECES)) * rng.choice((10, 50, 140))


def what_is_said(read, text):
    """The message of what was raised, if anything was; no other error is expected."""
    try:
        read(text)
    except (UnreadableError, ValueError) as error:
        return str(error)
    return ""


def test_strange_text_is_asked_about_and_never_raises_anything_else():
    for text in strange_texts(400):
        for read in (
            lambda text: read_number(text, "s"),
            lambda text: read_number(text, ""),
            lambda text: order_by_labels(text, NAMES),
            lambda text: evaluate(extract_formula(text), SYMBOLS),
        ):
            assert is_plain(what_is_said(read, text)), text


def test_reading_takes_few_steps_however_strange_the_text():
    """Steps are counted, not seconds: a busy machine is no failure."""
    steps = 0

    def counting(frame, event, argument):
        nonlocal steps
        steps += event == "call"

    tall = ("(" * 300, "9^" * 149 + "9", "1 " * 150, "亿" * 300, "x" * 300)
    for text in (*strange_texts(300), *tall):
        steps = 0
        sys.setprofile(counting)
        what_is_said(read_number, text)
        sys.setprofile(None)
        assert steps < 100 * LONGEST_TEXT, text


@cases(
    "answer",
    [
        *WRITTEN["several"]["read"],
        [3000000000.0, 2000000.0],
        (3000000000.0, 2000000.0),
        np.array([3000000000.0, 2000000.0]),
        {"bytes": 2000000.0, "FLOPs": 3000000000.0},
        {"Bytes": 2000000.0, "flops": 3000000000.0},
        {"bytes (in all)": 2000000.0, "FLOP": 3000000000.0},
        {"x": 3000000000.0, "y": 2000000.0},
        {"b": 2000000.0, "f": 3000000000.0},
        ["bytes: 2e6", "FLOPs = 3e9"],
        [("bytes", 2000000.0), ("FLOPs", 3000000000.0)],
    ],
)
def test_several_numbers_go_by_their_labels(answer):
    values = [read_number(value).value for value in order_by_labels(answer, NAMES)]
    assert values == [3e9, 2e6]


def test_several_numbers_may_come_one_by_one():
    names, values = ("bytes", "FLOPs"), (2e6, 3e9)
    for answer in (
        (value for value in values[::-1]),
        dict(zip(names, values, strict=True)).items(),
        zip(names, values, strict=True),
    ):
        assert [read_number(value).value for value in order_by_labels(answer, NAMES)] == [3e9, 2e6]


@cases(
    ("answer", "says"),
    [
        ({3e9, 2e6}, "A set has no order"),
        ("bytes: 2, bytes: 3", "the label bytes"),
        ("240,153", "Give 2 values, in this order: FLOPs and bytes."),
        ("1.2 ms", "Give 2 values"),
        ([1, 2, 3], "Give 2 values"),
        (5, "Give 2 values"),
    ],
)
def test_several_numbers_that_cannot_be_told_apart_are_asked_for(answer, says):
    with pytest.raises(UnreadableError) as error:
        order_by_labels(answer, NAMES)
    assert says in str(error.value)
    assert is_plain(str(error.value))


def test_names_of_parts_may_hold_signs():
    shapes = ["4x4", "8x16", "16x16"]
    assert order_by_labels("16x16: 3, 4×4: 1, 8 x 16 = 2", shapes) == ["1", "2", "3"]
    widths = ["D = F = 3072", "D = F = 1280"]
    assert order_by_labels("D = F = 1280: 3; D = F = 3072: 4", widths) == ["4", "3"]
    assert order_by_labels({"lower": 1, "bytes": 2}, ["bytes", "T_lower"]) == [2, 1]


def test_an_endless_answer_is_read_no_further_than_needed():
    taken = []

    def numbers():
        for number in itertools.count():
            taken.append(number)
            yield number

    parts = {name: Number(asks="?", formula=lambda: 3.0) for name in NAMES}
    assert "Give 2 values" in Several(asks="?", parts=parts).judge(numbers()).message
    assert taken == [0, 1, 2]
    message = Number(asks="?", formula=lambda: 3.0).judge(numbers()).message
    assert message.startswith("That is a value of type generator with several values; the question")
    assert len(taken) == 5
    assert list_items(itertools.repeat(1), 4) == (1, 1, 1, 1)
    assert len(list_items(range(10**12), 4)) == 1000


def test_one_number_may_come_in_anything_that_holds_it():
    for answer in ([5], (5,), np.array([[5]]), {"ridge": 5}, iter([5]), {"a": 5}.values(), ["5"]):
        assert read_number(answer).value == 5


AROUND = Formula(
    asks="?", arguments=("n", "V"), results={"bytes": lambda n, V: 2 * V * (1 - 1 / n**2)},
    case=lambda rng, number: (rng.randint(2, 9), rng.uniform(1e3, 1e6)), cancels={"B": 7.0},
)  # fmt: skip


@cases("text", WRITTEN["formula"]["read"])
def test_a_formula_as_people_write_it(text):
    assert AROUND.judge(text).credit == 1


@cases(("text", "says"), [*WRITTEN["formula"]["asked"].items(), ("(" * 99, "too many nested")])
def test_a_formula_that_cannot_be_read_is_told_why(text, says):
    verdict = AROUND.judge(text)
    assert verdict.credit == 0
    assert says in verdict.message
    assert is_plain(verdict.message)


@cases("text", ["3-4", "5 or 6", "291 (3.4e12)", "1,234e9"])
def test_what_may_mean_two_numbers_is_asked_about_and_not_judged(text):
    grade = check("ps1.ridge", text)
    assert (grade.verdict.state, grade.verdict.slips) == ("asked", ())
    assert str(grade).startswith("Unclear. ")
    assert "Hint" not in str(check("ps1.ridge", text))


def test_a_thousands_comma_that_would_be_right_as_a_decimal_comma_is_asked_about():
    hours = find_question("l11.hours")
    written = f"{hours.reference():.3f}".replace(".", ",")
    assert hours.judge(written).state == hours.judge(f"about {written} h").state == "asked"
    assert hours.judge("9,999").state == "wrong"
