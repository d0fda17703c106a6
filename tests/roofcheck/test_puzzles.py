"""Puzzles: good schedules and poor ones, each slip, and functions that mean no good."""

import contextlib
import json
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
import schedules
from cases import cases
from schedules import GOOD, MATMUL, SOFTMAX, matmul

from roofcheck import board, check
from roofcheck.kinds import Puzzle
from roofcheck.running.counting_machine import MOST_OPERATIONS
from roofcheck.tables.catalogue import load_questions

PUZZLES = {name: q for name, q in load_questions().items() if isinstance(q, Puzzle)}
SEEDS = range(4)
ROOT = Path(__file__).parents[2]
GOLF = {name.partition(".")[2] for name in PUZZLES if name.startswith("ps7")}


def solutions():
    """The functions of the golf set's model solution, by name."""
    cells = nbformat.read(ROOT / "solutions/en/ps7/ps7.ipynb", as_version=4).cells
    names = {"np": np}
    for cell in cells:
        if "### BEGIN SOLUTION" in cell.source:
            exec(cell.source, names)
    return {name: names[name] for name in GOLF}


SOLVED = solutions()
GOOD |= {f"ps7.{name}": function for name, function in SOLVED.items()}


TOLD = tomllib.loads(Path(__file__).with_name("schedules.toml").read_text(encoding="utf-8"))
POOR, WRONG = TOLD["poor"], TOLD["wrong"]


def written(which):
    """The question and the function of a poor or wrong schedule."""
    name, code = (schedules.POOR | schedules.WRONG)[which]
    return name, eval(code, vars(schedules))


@cases("name", PUZZLES)
@cases("seed", [None, 0])
def test_a_good_schedule_gets_all_points(name, seed):
    question = PUZZLES[name] if seed is None else PUZZLES[name].with_new_figures(seed)
    verdict = question.judge(GOOD[name])
    assert (verdict.credit, verdict.slips) == (1, ())
    assert "minimum number of bytes" in verdict.message
    assert question.praise in verdict.message


def test_the_model_solutions_play_to_par_and_the_board_counts_them():
    for name, function in SOLVED.items():
        question = PUZZLES[f"ps7.{name}"]
        for case in question.cases:
            [program] = replace(question, case=lambda *_, case=case: case, case_count=1).record(
                function
            )
            par = (question.par or question.least).value(question.sizes(case))
            assert case.replay(program).moved_bytes == par, name
    unlikely = replace(PUZZLES["ps7.ring"], sizes=lambda case: {"n": 99, "links": 2})
    assert unlikely.judge(SOLVED["ring"]).slips == ("below",), "nobody beats the bound"
    shown = board("ps7", **SOLVED)
    assert shown.message == f"{len(GOLF)} of {len(GOLF)} at par or better."
    assert repr(board("ps7", ring=endless, even=print)).startswith("0 of")
    with pytest.raises(ValueError, match="no puzzle hole"):
        board("ps7", hole=None)


@cases(("N", "room"), [(4, 1), (4, 2), (5, 3), (5, 5)])
def test_no_schedule_of_a_layer_norm_loads_less_than_the_bound(N, room):
    """All ways to load and store a row whose every output needs all of its inputs."""
    everything = 2**N - 1
    states, loads = {(0, 0, 0)}, 0  # what was seen, what is in fast memory, what was stored
    while True:
        stored = {
            (seen, held, done | held) if seen == everything else (seen, held, done)
            for seen, held, done in states
        }
        if any(done == everything for *_, done in stored):
            break
        states = {
            (seen | 1 << i, kept | 1 << i, done)
            for seen, held, done in stored
            for i in range(N)
            for kept in {held, *(held & ~(1 << j) for j in range(N))}
            if (kept | 1 << i).bit_count() <= room
        }
        loads += 1
    sizes = {"size": 1, "M": 1, "N": N, "room": room}
    assert N + loads == PUZZLES["ps7.norm"].least.value(sizes)


@pytest.mark.slow("a poor schedule gets its share")
@cases("which", POOR)
def test_a_poor_schedule_gets_its_share_and_is_told_why(which):
    (least, most, slips, says), (name, function) = POOR[which], written(which)
    verdict = PUZZLES[name].judge(function)
    assert least <= verdict.credit <= most, verdict
    assert sorted(verdict.slips) == slips, verdict
    assert says in verdict.message
    assert "times the minimum number of bytes" in verdict.message


@cases("which", WRONG)
def test_a_wrong_schedule_gets_nothing_and_is_told_where(which):
    (slips, says), (name, function) = WRONG[which], written(which)
    verdict = PUZZLES[name].judge(function)
    assert verdict.credit == 0
    assert sorted(verdict.slips) == slips, verdict
    assert says in verdict.message
    assert verdict.message.startswith("For ")


def test_every_slip_is_met_by_some_schedule():
    found = {which: slips for which, (*_, slips, _) in (POOR | WRONG).items()}
    told = {(written(which)[0], slip) for which, slips in found.items() for slip in slips}
    assert told == {
        (name, slip.name) for name, q in PUZZLES.items() for slip in [*q.slips, *q.faults]
    }


@cases("name", PUZZLES)
def test_what_is_recorded_is_plain_data_and_says_it_all(name):
    question = PUZZLES[name]
    programs = question.record(GOOD[name])
    carried = json.loads(json.dumps(programs, allow_nan=False))
    assert carried == programs
    assert question.judge_programs(carried) == question.judge(GOOD[name])
    assert max(map(len, programs)) < MOST_OPERATIONS / 4


def test_every_operation_can_be_recorded_and_done_again():
    case = PUZZLES[MATMUL].cases[0]

    def everything(pad, X, Y, Z):
        P = pad.array(shape=(2, 3))
        with pad.load(X[0:2, -3:]) as x, pad.full((3, 2), 1) as y, pad.zeros((2, 2)) as z:
            pad.matmul(x, x.T, into=z)
            pad.matmul(y.T[::-1], y[::-1, ::-1], into=z.T)
            pad.apply(np.minimum, x[0], x.T[:, 1], into=y.T[0])
            pad.sum(x, into=z[0, 0])
            pad.sum(x, into=z[:, 1], axis=1)
            pad.max(y, into=z[1:], axis=0)
            pad.store(y.T, P)
            pad.store(z, Z[:2, :2])
            pad.store(z[0:1, np.int64(1) :], Z[3:4, 5:6])
            pad.load(P[1])

    pad, *arrays = case.make_machine()
    everything(pad, *arrays)
    run = case.replay(case.record(everything))
    assert (run.moved_bytes, run.counts["spilled"]) == (pad.cost.bytes, 12)
    assert "Z is not complete" in run.wrong


def endless(pad, *arrays):
    while True:
        with contextlib.suppress(Exception):
            pad.free(pad.zeros((1, 1)))


def fabricated(pad, X, Y, Z):
    pad._loaded = pad._stored = 0
    pad._record("stored", "everything")
    pad._record({"loaded": 0})


def fake(pad, X, Y, Z):
    pad.load = pad.zeros = lambda *arguments: X
    pad.store(pad.load(X), Z)


def patched(pad, X, Y, Z):
    matmul(pad, X, Y, Z)
    pad._record("free", [10**30])


def forged(pad, X, Y, Z):
    block = pad.zeros((1, 1))
    part = type(block)(pad, np.zeros(Z.shape), "mine", block)
    pad.store(part, Z)


def deep(pad, X, Y, Z):
    block = pad.zeros((2, 2))
    for _ in range(100):
        block = block.T
    pad.sum(block, into=pad.zeros((1, 1)))


@cases(
    ("answer", "says"),
    [
        (endless, "never ends"),
        (fabricated, "couldn't be repeated"),
        (fake, "your function raised ValueError: X is in slow memory"),
        (patched, "couldn't be repeated"),
        (forged, "your function raised"),
        (deep, "at most 8 levels deep"),
        (lambda pad, X, Y, Z: pad.array(np.zeros(Z.shape)), "all data is already in slow memory"),
        (lambda pad, X, Y, Z: pad.zeros((10**6, 10**6)), "are free"),
        (lambda pad, X, Y, Z: pad.array(shape=(10**9, 10**9)), "your function raised"),
        (lambda pad, X, Y, Z: pad.full((1, 1), 0.5), "0, 1, inf or -inf"),
        (lambda pad, X, Y, Z: np.asarray(X), "read the numbers of X"),
        (
            lambda pad, X, Y, Z: pad.apply(np.frompyfunc(abs, 1, 1), X, into=X),
            "takes a NumPy ufunc",
        ),
        (lambda pad, X, Y, Z: sys.exit(), "your function raised SystemExit"),
        (lambda: None, "your function raised TypeError"),
        (lambda *arguments: iter(int, 1), "Your function doesn't do anything"),
        ([matmul], "a value of type list"),
    ],
)
def test_a_function_that_means_no_good_gets_nothing_and_a_message(answer, says):
    verdict = PUZZLES[MATMUL].judge(answer)
    assert verdict.credit == 0
    assert says in verdict.message
    assert len(verdict.message) < 1000
    assert check(MATMUL, answer) == 0


LOAD = '["load", [0, [[0, 1, null], [0, 1, null]]]]'
MALFORMED = [json.loads(each.replace("LOAD", LOAD)) for each in TOLD["malformed"]]
LONG = [[json.loads(LOAD)] * (MOST_OPERATIONS + 1), [["load", [0, *["T"] * 10**5]]]]


@cases("program", [*MALFORMED, *LONG])
def test_a_malformed_program_is_refused(program):
    for name, question in PUZZLES.items():
        verdict = question.judge_programs([program] * len(question.cases))
        assert verdict.credit == 0, name
        assert verdict.message.startswith("For "), name
        assert len(verdict.message) < 1000


def test_what_is_no_list_of_one_program_for_each_case_is_refused():
    question = PUZZLES[MATMUL]
    programs = question.record(matmul)
    for wrong in (None, "right", {"credit": 1}, programs[:-1], [*programs, programs[0]]):
        verdict = question.judge_programs(wrong)
        assert verdict.credit == 0
        assert "no record" in verdict.message
    assert question.judge_programs(programs[::-1]).credit == 0, "they are of other sizes"


def test_a_function_not_filled_in_is_missing():
    assert {q.judge(lambda *arguments: ...).state for q in PUZZLES.values()} == {"missing"}


def test_what_a_recording_shows_are_no_numbers():
    seen = []
    PUZZLES[SOFTMAX].record(lambda pad, S, V, Z: seen.append((S._values.any(), V._values.any())))
    assert seen == [(False, False)] * 4


def test_credit_falls_as_the_bytes_grow():
    for question in PUZZLES.values():
        times, shares = list(question.credit), list(question.credit.values())
        assert times == sorted(times)
        found = [
            1, *(question._points_share(each) for each in np.geomspace(1, 100, 50)), shares[-1],
        ]  # fmt: skip
        assert found == sorted(found, reverse=True)


def test_fresh_draws_have_other_cases():
    for question in PUZZLES.values():
        texts = {
            tuple(case.text() for case in question.with_new_figures(seed).cases) for seed in SEEDS
        }
        assert len(texts) > len(SEEDS) / 2
