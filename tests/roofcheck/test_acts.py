"""What can go wrong in a step: each change by what it gives and what is said of it."""

import pytest
from cases import cases

from roofcheck.slips.acts import acts, changes
from roofcheck.steps.algebra import read
from roofcheck.steps.derivation import Derivation, step
from roofcheck.steps.inputs import bandwidth, count, fma

VALUES = {"a": 3.0, "b": 5.0, "c": 7.0}
CHANGES = {
    "a * b": {
        "left-out a": 5, "left-out b": 3, "divided a": 5 / 3, "divided b": 3 / 5,
        "squared a": 45, "squared b": 75,
    },
    "a / b": {
        "left-out a": 1 / 5, "divided a": 1 / 15, "squared a": 9 / 5, "left-out b": 3,
        "multiplied b": 15, "squared b": 3 / 25, "turned a / b": 5 / 3,
    },
    "a / (b * c)": {"undivided b · c": 3, "multiplied c": 3 * 7 / 5},
    "a - b": {"left-out a": -5, "twice a": 1, "left-out b": 3, "added b": 8, "twice b": -7},
    "a + b": {"subtracted b": -2, "left-out b": 3, "twice a": 11},
    "a - 1": {"short a, a − 1": 3, "added 1": 4},
    "c * (a + b)": {"parentheses a + b": 26, "left-out a + b": 7, "left-out a": 35},
    "c / (a + b)": {"parentheses a + b": 7 / 3 + 5},
    "(a - 1) / b * c": {"parentheses a − 1": 3 - 1 / 5 * 7},
    "a ** 2": {"power a^2": 3},
    "ceil(c / a)": {"unrounded c / a": 7 / 3, "to-floor c / a": 2},
    "sqrt(a)": {"function a": 3},
    "max(a, b)": {"max-sum max(a, b)": 8, "max-alone a": 3, "max-mean max(a, b)": 4},
    "max(a, b, c)": {"max-other max(a, b, c)": 3, "left-out c": 5},
    "min(a, b)": {"min-alone b": 5, "min-sum min(a, b)": 8},
    "a if b > 2 else c": {"branch c": 7},
}  # fmt: skip


def named(change):
    return (
        f"{change.kind} {', '.join(node.text(str, plain=True) for node in change.about.values())}"
    )


@cases("text", CHANGES)
def test_each_place_of_an_expression_can_go_wrong(text):
    found = {named(each): each.tree.value(VALUES) for each in changes(read(text))}
    for name, value in CHANGES[text].items():
        assert found[name] == pytest.approx(value), name
    if len(CHANGES[text]) > 5:
        assert found.keys() == CHANGES[text].keys()


TIMES = Derivation(
    [
        step("t_math", "ops * pairs / peak", "s", "T_math"),
        step("t_comms", "size / bandwidth", "s", "T_comms"),
        step("time", "max(t_math, t_comms)", "s", "the time"),
    ],
    "ms",
)
INPUTS = {
    "ops": fma(),
    "pairs": count(4e9, "the multiply-adds"),
    "size": count(2e9, "the array", "bytes"),
    "other": count(3e9, "the other array", "bytes"),
    "peak": count(1e13, "the peak", "FLOP/s"),
    "bandwidth": bandwidth("TPU v5e"),
}
SAYS = {
    "time: max-sum max(t_math, t_comms)": "That takes the sum for the time: the time if nothing "
    "overlaps.",
    "time: max-alone t_math": "That takes T_math alone for the time. The longer decides.",
    "t_math given": "That is T_math. From there it is at least one step more to the time.",
    "t_comms: multiplied bandwidth": "That is the value after multiplying by the memory "
    "bandwidth of the TPU v5e instead of dividing, in T_comms.",
    "t_math: left-out pairs": "That is the value without the multiply-adds in T_math.",
    "t_comms: swapped size, other": "That is the value with the other array in place of the array.",
}


def test_each_act_says_what_was_done_and_where():
    found = {act.name: act for act in acts(TIMES, INPUTS)}
    for name, says in SAYS.items():
        assert str(found[name].says) == says
    assert len(found) == len(list(acts(TIMES, INPUTS)))


def test_what_is_true_of_a_value_however_it_came_about_is_plain():
    plain = {act.name for act in acts(TIMES, INPUTS) if act.plain}
    assert {"t_math given", "t_comms given", "time: max-alone t_math"} <= plain
    assert "t_math: left-out pairs" not in plain


def test_an_act_is_carried_on_to_the_answer():
    values = {name: given.value for name, given in INPUTS.items()}
    [wrong] = [a for a in acts(TIMES, INPUTS) if a.name == "t_comms: swapped size, other"]
    assert wrong.derivation(**values) == pytest.approx(1e3 * 3e9 / 819e9)
