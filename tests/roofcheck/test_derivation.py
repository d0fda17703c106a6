"""How expressions are shown, and how a question's answer is derived with its own figures."""

import math
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from cases import cases

from roofcheck import find_question
from roofcheck.kinds import Choice, Formula, Function, Number, Several
from roofcheck.kinds.question import Verdict
from roofcheck.reading import units
from roofcheck.sentences import sentence
from roofcheck.showing import derivation_page
from roofcheck.steps.algebra import ExpressionError, find_names, read_expression, substitute
from roofcheck.steps.derivation import Derivation, Line, make_step, merge_parts
from roofcheck.steps.inputs import bandwidth, count, fma, itemsize
from roofcheck.study.check import Grade

VALUES = {"a": 7.0, "b": 2.0, "c": 5.0, "n": 4}
SHOWN = tomllib.loads(Path(__file__).with_name("shown.toml").read_text(encoding="utf-8"))


@cases(("expression", "shown"), SHOWN["expressions"].items())
def test_an_expression_is_shown_as_on_paper_and_gives_what_it_says(expression, shown):
    tree = read_expression(expression)
    assert tree.text(str) == shown
    right = eval(expression, {"max": max, "round": round, **vars(math), "abs": abs}, VALUES)
    assert tree.value(VALUES) == pytest.approx(right)


@pytest.mark.parametrize("language", ["en", "zz"])
def test_the_plain_text_that_acts_go_by_is_the_same_in_every_language(
    tmp_path, monkeypatch, language
):
    shutil.copy(Path(sentence.folder, "en.toml"), tmp_path)
    (tmp_path / "zz.toml").write_text("list.or = '?'\nderivation.either = '?'", encoding="utf-8")
    monkeypatch.setattr(sentence, "folder", tmp_path)
    monkeypatch.setenv("ROOFLINE_LANGUAGE", language)
    text = "(ceil(a) ** 2 if b < 1e9 or c > 1 else log2(n)) + 1"
    plain = "(ceil(a)^2 if b < 1,000,000,000 or c > 1 else log2(n)) + 1"
    assert read_expression(text).text(str, plain=True) == plain
    assert (read_expression(text).text(str) == "(?) + 1") is (language == "zz")


@cases(("expression", "shown"), SHOWN["with-figures"].items())
def test_a_figure_with_a_sign_a_power_or_a_unit_has_parentheses_where_it_needs_them(
    expression, shown
):
    assert read_expression(expression).text(SHOWN["figures"].__getitem__) == shown


@cases("expression", ["b / c", "a - b + c", "b ** 2 * a", "a / (b * c)", "max(b, c) - b", "-b"])
def test_what_is_put_in_for_a_name_changes_no_value(expression):
    trees = {"b": read_expression("a / n - 1"), "c": read_expression("(a + n) / (2 * a)")}
    whole = substitute(read_expression(expression), trees)
    assert set(find_names(whole)) <= {"a", "n"}
    found = {name: tree.value(VALUES) for name, tree in trees.items()}
    assert whole.value(VALUES) == pytest.approx(read_expression(expression).value(VALUES | found))


@cases(("expression", "shown"), SHOWN["with-trees"].items())
def test_sums_and_products_stay_flat_when_others_are_put_in(expression, shown):
    trees = {name: read_expression(text) for name, text in SHOWN["trees"].items()}
    assert substitute(read_expression(expression), trees).text(str) == shown


@cases(("shown", "given"), SHOWN["values"].items())
def test_a_value_is_shown_without_powers_that_nobody_would_write(shown, given):
    assert units.format_value(*given) == shown


STEPS = [
    make_step("moved", "size * N", "bytes", "the bytes: each number crosses once"),
    make_step("time", "moved / bandwidth", "s", "T_comms"),
    make_step("twice", "2 * time", "s", "the time of two"),
]
INPUTS = {
    "size": itemsize("bf16", "a number"), "N": count(1e6, "N"), "bandwidth": bandwidth("TPU v5e"),
}  # fmt: skip


def number(up_to, unit):
    formula = Derivation(STEPS, "s").up_to(up_to, unit)
    return Number(asks="{N} on {chip}", inputs=INPUTS, formula=formula, unit=unit)


def test_a_number_is_derived_with_its_own_figures_and_those_of_a_new_draw():
    assert [str(line) for line in number("time", "µs").derivation()] == [
        "the bytes = 2 · 1,000,000 = 2 MB  (each number crosses once)",
        "T_comms = 2 MB / 819 GB/s = 2.44 µs",
    ]
    drawn = number("time", "µs").with_new_figures(1)
    assert f"{drawn.inputs['N'].value:,.0f}" in str(drawn.derivation()[0])
    assert drawn.derivation()[-1].value == units.format_value(drawn.reference(), "µs")


def test_a_figure_that_the_question_gives_has_its_unit():
    work = {"work": count(3e9, "the work", "FLOPs"), "ops": fma()}
    formula = Derivation([make_step("all", "ops * work", "FLOPs")], "FLOPs")
    [line] = Number(asks="", inputs=work, formula=formula, unit="FLOPs").derivation()
    assert line.sides == ("2 · 3 · 10⁹ FLOPs", "6 · 10⁹ FLOPs")


def test_a_step_that_parts_share_stands_there_once_and_an_answer_with_its_part():
    parts = {"T": number("time", "µs"), "2T": number("twice", "s"), "B": number("moved", "bytes")}
    lines = Several(asks="{parts}", parts=parts).derivation()
    assert [(line.part, line.what, line.is_answer) for line in lines] == [
        ("B", "the bytes", True),
        ("T", "T_comms", True),
        ("2T", "the time of two", True),
    ]
    del parts["B"]
    lines = Several(asks="{parts}", parts=parts).derivation()
    assert [line.part for line in lines] == ["", "T", "2T"]


def test_steps_that_only_look_alike_are_both_told():
    lines = {
        "A": [Line("the bytes", "2 · 3", "6 bytes"), Line("a", "6 bytes", "6", is_answer=True)],
        "B": [Line("the bytes", "2 · 4", "8 bytes"), Line("b", "8 bytes", "8", is_answer=True)],
    }
    assert [line.part for line in merge_parts(lines)] == ["A", "A", "B", "B"]


def test_a_formula_is_derived_in_its_symbols():
    steps = [
        make_step("flops", "2 * N - 1", "FLOPs", "the FLOPs: N products, N − 1 additions"),
        make_step("moved", "size * (N + 1)", "bytes"),
        make_step("intensity", "flops / moved", "FLOP/byte", "the intensity"),
    ]
    own = {"size": itemsize("bf16", "a number")}
    asked = {
        "asks": "", "arguments": ("N",), "inputs": own, "case": lambda rng, number: (number + 2,),
    }  # fmt: skip
    formula = Derivation(steps, "FLOP/byte")
    lines = Formula(**asked, results={"I": formula}).derivation()
    assert [str(line) for line in lines] == [
        "the FLOPs = 2 · N − 1  (N products, N − 1 additions)",
        "moved = 2 · (N + 1)",
        "the intensity = the FLOPs / moved = (2 · N − 1) / (2 · (N + 1))",
    ]
    both = {"I": formula, "bytes": formula.up_to("moved", "bytes")}
    lines = Function(**asked, results=both).derivation()
    assert [line.part for line in lines] == ["bytes", "I", "I"]
    assert lines[-1].sides == ("the FLOPs / moved",), "code has steps, too"


def test_what_has_no_steps_has_no_derivation():
    plain = Number(asks="", formula=lambda: 2, unit="s")
    choice = Choice(asks="", formula=lambda: "a", why_not={"b": "No."})
    for question in (plain, Several(asks="", parts={"a": plain, "b": plain}), choice):
        assert question.derivation() == []
    assert derivation_page.as_text([]) == derivation_page.as_html_list([]) == ""


def test_steps_are_left_out_and_refused_by_name():
    derivation = Derivation(STEPS, "s")
    assert [each.name for each in derivation.up_to("time", "ms").steps] == ["moved", "time"]
    with pytest.raises(ExpressionError, match="converted to bytes"):
        Derivation(STEPS, "bytes")


def test_a_derivation_is_shown_under_a_grade_and_on_a_page():
    question = Several(
        asks="{parts}", parts={"T": number("time", "µs"), "2T": number("twice", "s")}
    )
    grade = Grade(Verdict(0, "Upside down."), 0, question)
    assert str(grade).splitlines() == [
        "Not yet. Upside down.",
        "The derivation, step by step",
        "  the bytes = 2 · 1,000,000 = 2 MB  (each number crosses once)",
        "  T:",
        "    T_comms = 2 MB / 819 GB/s = 2.44 µs",
        "  2T:",
        "    the time of two = 2 · 2.442 µs = 4.88 µs",
    ]
    shown = grade._repr_html_()
    assert "<details open><summary" in shown
    assert "<i>T</i><sub>comms</sub>" in shown
    assert "bold" in re.search(r'<span style="([^"]*)">= 2\.44', shown)[1]
    assert "bold" not in re.search(r'<span style="([^"]*)">= 2\N{NO-BREAK SPACE}MB', shown)[1]
    assert "details" not in Grade(Verdict(1, ""), 0)._repr_html_()


def test_a_line_begins_with_a_capital_unless_it_is_a_symbol_and_holds_no_html():
    words = ("the bytes", "a chip's FLOPs", "n − 1", "T_math", "1/B", "<b>")
    shown = derivation_page.as_html_list([Line(word, "a < b", "<i>") for word in words])
    found = re.findall(r"<dt[^>]*>(.*?)</dt>", shown.replace(derivation_page.SPACE, " "))
    symbol = "<i>T</i><sub>math</sub>"
    assert found == ["The bytes", "A chip&#x27;s FLOPs", "n − 1", symbol, "1/B", "&lt;b&gt;"]
    assert not re.search(r"<[bi]>(?!T<)", shown)


def headings(lines):
    return [line for line in derivation_page.as_text(lines).splitlines() if line.endswith(":")]


def test_parts_have_headings_and_a_step_for_all_after_a_part_says_so():
    lines = [Line("a", "1", "1", part="X"), Line("b", "2", "2"), Line("c", "3", "3", part="Y")]
    assert headings(lines) == ["  X:", "  Used below:", "  Y:"]
    # A single step that is called as its part needs no heading.
    lines = [Line("the bytes", "1", "1", part="Bytes"), Line("a", "2", "2")]
    assert headings(lines) == []
    more = [Line("b", "3", "3", part="Y"), Line("the time", "4", "4", part="time")]
    assert headings([*lines, *more]) == ["  Y:", "  Time:"]


def test_a_lecture_shows_a_derivation_as_a_list():
    listed = derivation_page.as_markdown(find_question("l01.v6e-comms").derivation())
    assert f"2{derivation_page.SPACE}GB" in listed
    shown = listed.replace(derivation_page.SPACE, " ").splitlines()
    assert shown[0].startswith("- The bytes = 2 · 10⁹ = 2 GB (each weight crosses once")
    assert shown[-1].startswith(r"- $T_\text{comms}$ = 2 GB / 1.638 TB/s = **1.22 ms**")
