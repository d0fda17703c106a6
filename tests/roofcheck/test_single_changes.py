"""What can go wrong in a step: each change by what it gives and what is said of it."""

import tomllib
from pathlib import Path

import pytest
from cases import cases

from roofcheck.slips.single_changes import list_single_changes, list_tree_changes
from roofcheck.steps.algebra import read_expression
from roofcheck.steps.derivation import Derivation, make_step
from roofcheck.steps.inputs import bandwidth, count, fma

VALUES = {"a": 3.0, "b": 5.0, "c": 7.0}
TOLD = tomllib.loads(Path(__file__).with_name("single_changes.toml").read_text(encoding="utf-8"))
CHANGES, SAYS = TOLD["changes"], TOLD["says"]


def named(change):
    return (
        f"{change.kind} {', '.join(node.text(str, plain=True) for node in change.about.values())}"
    )


@cases("text", CHANGES)
def test_each_place_of_an_expression_can_go_wrong(text):
    found = {
        named(each): each.tree.value(VALUES) for each in list_tree_changes(read_expression(text))
    }
    for name, value in CHANGES[text].items():
        assert found[name] == pytest.approx(eval(f"{value}")), name
    if len(CHANGES[text]) > 5:
        assert found.keys() == CHANGES[text].keys()


TIMES = Derivation(
    [
        make_step("t_math", "ops * pairs / peak", "s", "T_math"),
        make_step("t_comms", "size / bandwidth", "s", "T_comms"),
        make_step("time", "max(t_math, t_comms)", "s", "the time"),
    ],
    "ms",
)
INPUTS = {
    "ops": fma(), "pairs": count(4e9, "the multiply-adds"),
    "size": count(2e9, "the array", "bytes"), "other": count(3e9, "the other array", "bytes"),
    "peak": count(1e13, "the peak", "FLOP/s"), "bandwidth": bandwidth("TPU v5e"),
}  # fmt: skip


def test_each_act_says_what_was_done_and_where():
    found = {act.name: act for act in list_single_changes(TIMES, INPUTS)}
    assert {name: str(found[name].says) for name in SAYS} == SAYS
    assert len(found) == len(list(list_single_changes(TIMES, INPUTS)))
    # Each is carried on to the answer.
    values = {name: given.value for name, given in INPUTS.items()}
    wrong = found["t_comms: swapped size, other"]
    assert wrong.derivation(**values) == pytest.approx(1e3 * 3e9 / 819e9)
    # What is true of a value however it came about is plain.
    plain = {name for name in SAYS if found[name].holds_for_value}
    assert plain == {"time: max-sum max(t_math, t_comms)", "time: max-alone t_math", "t_math given"}
