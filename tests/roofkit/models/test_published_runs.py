"""No published run is faster than our bound, and what was run is said to fit.

Figures of vendors and projects, read from copies of their pages; those of MLPerf that name a log,
from the log. MLPerf's rows do not say their batch, nor gpt-fast's their prompt: 256 images and 5
tokens are taken, and the mean prompt of Llama-2-70B's data set is told to be 294 tokens.
"""

import tomllib

from cases import cases
from test_families import config_of

import roofkit as rk
from benchmarks import whole_runs
from roofkit.models import Links, Precision, Split
from rooflab.machine import calibrate, gpus

RUNS = [run for run in whole_runs.every_run() if not run.is_cnn]
CNNS = [run for run in whole_runs.every_run() if run.is_cnn]


@cases("run", RUNS)
def test_no_run_beats_the_bound(run):
    assert run.bound < run.measured < 4 * run.bound


def test_the_interval_of_whole_runs_is_that_of_the_published_ones():
    shipped = tomllib.loads(gpus.GPUS_TABLE.read_text(encoding="utf-8"))["runs"]
    assert shipped == whole_runs.find_interval()
    judged = [run for run in RUNS if not run.is_first_token]
    assert all(run.prediction.low <= run.measured <= run.prediction.high for run in judged)
    assert {run.prediction.coverage for run in judged} == {0.9}


APART = {"split": Split(tensor=16, kv_heads="split"),
         "links": Links(tensor=rk.group("H200", 8, nodes=2, card=50e9))}  # fmt: skip
WIDE = {"precision": Precision(weights="fp32", stream="fp32")}


@cases(
    ("model", "options", "batch", "coverage"),
    [("Llama-2-7B", {}, 8, 0.9), ("Llama-2-7B", {}, 10**5, None), ("Llama-2-7B", WIDE, 8, None),
     ("Llama-3.1-8B", APART, 8, None), ("Mixtral-8x7B", {}, 8, None),
     ("DeepSeek-V2-Lite", {}, 8, None), ("Llama-2-7B", {"fused": False}, 8, None),
     ("Llama-2-7B", {"attention": "unfused"}, 8, None)],
)  # fmt: skip
def test_runs_of_the_published_kind_alone_claim_the_interval(model, options, batch, coverage):
    served = rk.llm(model).on("H200", calibration=calibrate("H200"), **options)
    assert served.generate(batch, 512, 64).prediction.coverage == coverage


@cases("run", [run for run in RUNS if run.given["batch"]])
def test_every_batch_that_was_run_fits(run):
    lengths = (int(run.given[name]) for name in ("prompt", "output"))
    assert whole_runs.serve(run.given).memory(run.batch, *lengths).fits


@cases("run", CNNS)
def test_no_images_are_classified_faster_than_the_bound(run):
    assert run.bound < run.measured < 2 * run.bound
    network = rk.cnn(run.given["model"])
    unfused = network.forward(run.given["chip"], run.batch, run.given["weights"], fused=False)
    assert run.bound < unfused.time


@cases(("prompt", "a_node"), [(1024, 57674), (2048, 54543), (4096, 50302)])
def test_no_prefill_on_many_nodes_beats_the_bound(prompt, a_node):
    """DeepSeek-V3 on 4 nodes of 8 H100, input tokens/s a node, 16,384 tokens a chip at a time.

    "Deploying DeepSeek with PD Disaggregation and Large-scale Expert Parallelism on 96 H100 GPUs",
    LMSYS, 5 May 2025. It overlaps two batches, and takes longer than layer after layer at best.
    """
    nodes = rk.group("H100", 8, nodes=4, card=50e9)
    served = rk.llm(config_of("DeepSeek-V3")).on(
        "H100", precision=Precision(weights="fp8", activations="fp8"),
        split=Split(data=32, expert=32), links=Links(expert=nodes),
    )  # fmt: skip
    table = served.prefill(16384 // prompt, prompt)
    layer_after_layer, overlapping = 16384 / table.time, 16384 / table.estimate.lower
    assert 1.2 * a_node / 8 < layer_after_layer < overlapping < 3 * a_node / 8
