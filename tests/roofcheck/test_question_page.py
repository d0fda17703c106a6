"""A question that review asks can be understood, and its answer written, without its notebook."""

import re
from string import Formatter

import pytest
from cases import cases

from roofcheck.kinds import Choice, Formula, Number, Order, Several
from roofcheck.showing import context
from roofcheck.showing.question_page import (
    as_html,
    as_text,
    describe_answer,
    find_signature,
    is_answered_by_code,
)
from roofcheck.steps.computation import formula_arguments
from roofcheck.steps.course_chips import CHIP_NAMES
from roofcheck.steps.inputs import GIVEN_BY_QUESTION
from roofcheck.tables.catalogue import load_questions
from roofcheck.tables.toml_tables import TableError, read_questions

# What points to a place outside the question. "Above what D" and "above the ridge" do not.
POINTING = re.compile(
    r"\b(?:[Aa]bove|[Bb]elow)(?! which| what| how many| its| the ridge| [BDF]\b)|"
    r"\b[Tt]he (?:table|sheet|picture|next cell)\b|[Tt]he text\b|\b[Ll]ecture|"
    r"[Qq]uestion \d"
)
# Letters that the course uses for a peak and for the bandwidth of a link, and for nothing else.
SYMBOLS = re.compile(r"(?<![\w.])[CWπβ](?!\w)")


def asked():
    """Every question that review asks."""
    return {name: each for name, each in load_questions().items() if not each.not_reviewed}


def fields(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def shown(question):
    """The inputs whose values a reader sees."""
    return fields(question.asks) | set(re.findall(r"\{(\w+)\}", question.beside))


def used(question):
    """The inputs that an answer is computed from, or each part of it."""
    parts = getattr(question, "parts", {"": question}).values()
    for part in parts:
        known = {name for formula in part.formulas() for name in formula_arguments(formula)}
        yield from ((name, given) for name, given in part.inputs.items() if name in known)


def test_what_a_question_points_to_stands_beside_it():
    found = {name for name, each in asked().items() if POINTING.search(each.text())}
    assert {name for name in found if not load_questions()[name].beside} == set()


def test_what_a_symbol_stands_for_is_said():
    for name, question in asked().items():
        said = f"{question.text()} {question.beside}"
        symbols = set(SYMBOLS.findall(question.text()))
        unsaid = {each for each in symbols if f"{each} is" not in said and f"{each}:" not in said}
        assert unsaid == set(), name
        if isinstance(question, Formula):
            assert all(re.search(rf"(?<!\w){each}(?!\w)", said) for each in question.arguments)


def test_every_figure_that_an_answer_takes_is_shown():
    for name, question in asked().items():
        hidden = {
            each
            for each, given in used(question)
            if given.redraw and not given.chips and each not in shown(question)
        }
        assert hidden == set(), name
        known = {chip for chip in CHIP_NAMES if chip in question.text()}
        if known and not any(given.chips for given in question.all_inputs().values()):
            # Figures of this chip that stand in no text are looked up in code.
            assert (
                question.chips or context.find_chips_to_look_up(question) or question.all_inputs()
            ), name


def test_a_number_of_bytes_is_said_to_be_bytes():
    for name, question in asked().items():
        for each, given in question.all_inputs().items():
            if given.source == GIVEN_BY_QUESTION and given.unit in ("bytes", "FLOPs"):
                for after in re.findall(rf"\{{{each}\}}(.{{0,12}})", question.asks):
                    assert given.unit in after, (name, each)


def test_what_stands_beside_questions_is_well_written():
    for name, question in load_questions().items():
        assert context.find_problems(question) == [], name


BESIDE = """
["l01.fetch"]
asks = "How many bytes are {weights} bf16 weights?"
beside = '''
HERE
'''
unit = "bytes"
inputs.weights = { count = 1e9, what = "the weights" }
steps.moved = ["weights * 2", "bytes", "the bytes"]
"""


@cases(
    ("written", "says"),
    [
        ("| a | b |\n|---|---|\n| 10 | 2 |", "are not aligned"),
        ("```\nx = 1", "has no end"),
        ("There are {weigths}.", "did you mean 'weights'"),
    ],
)
def test_a_table_says_what_is_wrong_beside_a_question(written, says):
    with pytest.raises(TableError, match=says):
        read_questions(BESIDE.replace("HERE", written))


@pytest.mark.slow("an example of an answer that is the answer, or cannot be read")
def test_the_format_is_said_and_its_example_is_no_answer():
    for name, written in asked().items():
        question = written.with_new_figures(f"{name}, review 1")
        said = describe_answer(question, "seed")
        assert said.startswith("Answer with "), name
        assert "\n" not in said
        if isinstance(question, (Choice, Order)):
            wanted = question.options if isinstance(question, Choice) else question.items
            assert all(each in said for each in wanted), name
        elif is_answered_by_code(question):
            assert find_signature(question), name
            assert find_signature(question) in said, name
        else:
            examples = re.search(r"(?:such as|For example:) (.*)\.$", said)[1]
            for example in examples.split(" or ") if isinstance(question, Number) else [examples]:
                verdict = question.judge(example)
                assert verdict.state in ("wrong", "partly"), (name, example)
                assert "not a number" not in verdict.message, (name, example)


def test_the_order_of_options_changes_from_review_to_review():
    for name in ("l09.sentence", "ps3.helps", "ps1.chain"):
        said = {describe_answer(load_questions()[name], f"review {number}") for number in range(6)}
        assert len(said) > 2, name


def test_choices_and_orders_of_figures_have_other_answers_in_other_draws():
    for name, question in asked().items():
        if not isinstance(question, (Choice, Order)) or not question.has_new_figures:
            continue
        draws = [question.with_new_figures(seed) for seed in range(12)]
        assert len({as_text(draw, "") for draw in draws}) > 2, name
        # On every chip of the course fp32 needs the fewest tokens, or as few as another format.
        assert len({draw.reference() for draw in draws}) > 1 or name == "ps2.formats", name


def test_tables_and_code_are_seen_as_such():
    gelu, formats = load_questions()["l03.fused-gain"], load_questions()["ps2.formats"]
    assert "\n    s = tanh(s)\n" in as_text(gelu, "")
    assert "<pre><code>s = x * x\n" in as_html(gelu, "")
    assert "\n| W8A16  | int8, " in as_text(formats, "")
    assert "<td>W8A16</td>" in as_html(formats, "")


def test_a_figure_that_the_question_prints_does_not_stand_beside_it():
    """The peak of a data sheet with sparsity would be answered by the dense one beside it."""
    for name in ("ps1.ridge", "ps2.mine", "ps4.dense", "l07.sparse"):
        assert "peak, dense" not in as_text(load_questions()[name], ""), name
    assert "989.4 TFLOP/s" in as_text(load_questions()["l01.h100-math"], "")


def test_every_part_has_its_unit():
    question = load_questions()["ps2.int8"]
    assert isinstance(question, Several)
    assert "T_lower in microseconds" in describe_answer(question, "")
