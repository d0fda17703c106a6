"""An all-reduce costs the same whoever asks for it, and its options mean the same everywhere."""

import json

import pytest
from cases import cases
from click.testing import CliRunner

import roofkit as rk
from roofkit import network
from roofkit.__main__ import main
from roofkit.models import Links, Split
from rooflab.machine import calibrate

# Partial sums of one matmul of Llama 2 70B: 64 tokens of width 8,192 in 16 bits.
TOKENS, WIDTH = 64, 8192
SIZE = 2 * TOKENS * WIDTH
# A switch that adds up, one that does not, chips in pairs, a torus, and two nodes.
GROUPS = {
    "eight H100": ("H100", {}), "eight H200": ("H200", {}), "eight A100": ("A100 80GB SXM", {}),
    "eight TPU v5e": ("TPU v5e", {}), "eight MI300X": ("MI300X", {}),
    "two nodes of H100": ("H100", {"nodes": 2, "card": 50e9}),
}  # fmt: skip


def _answer(*arguments):
    told = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert told.exit_code == 0, told.output
    return json.loads(told.output)


def _seconds(figures):
    return max(figures["link_seconds"], figures.get("network_seconds", 0))


def _ways(chip, nodes=1, card=None, in_network=None):
    """The seconds of that all-reduce among eight chips of each node, by who is asked."""
    group = rk.group(chip, 8, nodes=nodes, card=card)
    between = ["--nodes", nodes, "--card", card] if card else []
    adding = {None: [], True: ["--in-network"], False: ["--over-links"]}[in_network]
    how = {} if in_network is None else {"in_network": in_network}
    links = Links(tensor=group, **how) if card else Links(**how)
    split = network.sharded_matmul(TOKENS, WIDTH, WIDTH, group, **how)
    served = rk.llm("Llama-2-70B").on(chip, split=Split(tensor=8 * nodes), links=links)
    places = [f"links.nodes={nodes}", f"links.card={card}"] if card else []
    sums = [] if in_network is None else [f"links.in_network={in_network}"]
    settings = [part for setting in (*places, *sums) for part in ("--set", setting)]
    told = _answer("llm", "llama-2-70b", "--chip", chip, "--tensor", 8 * nodes, "--batch", TOKENS,
                   *settings)  # fmt: skip
    rows = {row["layer"]: row for row in told["decode"]}
    # The width at which T_math of the split matmul takes as long as its all-reduce.
    width = network.critical_width(group, **how)
    peak = float(rk.chip(chip).peak_flops())
    return {
        "network": network.all_reduce(SIZE, group, **how).seconds,
        "split matmul": split.transfer.seconds,
        "its estimate": max(
            split.estimate(rk.chip(chip).roofline()).times[name] for name in split.transfer.times
        ),
        "critical width": 2 * TOKENS * width * WIDTH / (group.n * peak),
        "deployment, decode": served.decode(TOKENS, 100)["attn_all_reduce"].time,
        "deployment, prefill": served.prefill(1, TOKENS)["mlp_all_reduce"].time,
        "shard": _seconds(_answer("shard", TOKENS, WIDTH, WIDTH, 8, "--chip", chip, *between,
                                  *adding)),
        "llm": rows["attn_all_reduce"]["seconds"],
    }  # fmt: skip


@cases("name", GROUPS)
def test_an_all_reduce_takes_the_same_time_everywhere(name):
    chip, several = GROUPS[name]
    found = _ways(chip, **several)
    assert found == {way: pytest.approx(found["network"], rel=1e-12) for way in found}
    adds = rk.chip(chip).interconnect.reduces
    least = SIZE / rk.group(chip, 8).egress
    if adds and not several:
        assert found["network"] == pytest.approx(9 / 8 * least)
    elif not several:
        assert found["network"] == pytest.approx(2 * 7 / 8 * least)


@cases("name", ["eight H100", "two nodes of H100"])
@cases("in_network", [True, False])
def test_in_network_means_the_same_everywhere(name, in_network):
    chip, several = GROUPS[name]
    found = _ways(chip, **several, in_network=in_network)
    assert found == {way: pytest.approx(found["network"], rel=1e-12) for way in found}
    if not several:
        assert (found["network"] == pytest.approx(_ways(chip)["network"])) == in_network


@cases("chip", ["H100", "H200", "B200", "A100 80GB SXM", "A40", "A30"])
def test_no_prediction_of_an_all_reduce_begins_before_that_time(chip):
    sizes = [2.0**power for power in range(10, 36)]
    calibration = calibrate(chip)
    layout = rk.chip(chip).interconnect
    topology = {"switch": "switch", "all-pairs": "pairs"}[layout.topology]
    for gpus in (2, 4, 8):
        if gpus > layout.largest:
            continue
        for size in sizes:
            predicted = calibration.all_reduce(size, gpus, topology)
            least = network.all_reduce(size, rk.group(chip, gpus)).seconds
            assert least <= predicted.low <= predicted.seconds <= predicted.high
