"""No published run is faster than our bound, and what was run is said to fit.

Figures of vendors and projects, read from copies of their pages; those of MLPerf that name a log,
from the log. MLPerf's rows do not say their batch, nor gpt-fast's their prompt: 256 images and 5
tokens are taken, and the mean prompt of Llama-2-70B's data set is told to be 294 tokens.
"""

import csv
from pathlib import Path

from cases import cases
from test_families import config_of

import roofkit as rk
from roofkit.models import Links, Precision, Split

RUNS = list(csv.DictReader(Path(__file__).with_name("published_runs.csv").open(encoding="utf-8")))
LANGUAGE = [run for run in RUNS if run["unit"] != "images/s"]


def served(run):
    """fp8 runs have 16-bit streams and collectives; int4 comes with scales."""
    weights, _, group = run["weights"].partition(" group ")
    return rk.llm(run["model"]).on(
        run["chip"], split=Split(tensor=int(run["chips"])),
        precision=Precision(weights=weights, activations=run["activations"], kv=run["kv"],
                            scales=int(group) if group else None),
    )  # fmt: skip


def speed(run, batch):
    """The figure that was published, at best."""
    made = served(run).generate(batch, int(run["prompt"]), int(run["output"]))
    speeds = {
        "time to first token": 1e-3 / made.time_to_first_token,
        "decode speed": batch / made.time_per_token,
    }
    share = int(run["chips"]) if "per GPU" in run["quantity"] else 1
    return speeds.get(run["quantity"], made.tokens_per_second) / share


@cases("run", LANGUAGE)
def test_no_run_beats_the_bound(run):
    # Engines admit sequences as others end: the most that fit, where no batch is given.
    batch = run["batch"] or served(run).largest_batch(int(run["prompt"]), int(run["output"]))
    published = float(run["measured"])
    if run["unit"] == "ms":
        published = 1 / published
    bound = speed(run, int(batch))
    assert published < bound < 4 * published


@cases("run", [run for run in LANGUAGE if run["batch"]])
def test_every_batch_that_was_run_fits(run):
    lengths = (int(run[name]) for name in ("batch", "prompt", "output"))
    assert served(run).memory(*lengths).fits


@cases("run", [run for run in RUNS if run["unit"] == "images/s"])
def test_no_images_are_classified_faster_than_the_bound(run):
    batch = int(run["batch"])
    bound = batch / rk.cnn(run["model"]).forward(run["chip"], batch, run["weights"]).time
    assert float(run["measured"]) < bound < 2 * float(run["measured"])
    unfused = rk.cnn(run["model"]).forward(run["chip"], batch, run["weights"], fused=False).time
    assert batch / unfused < bound


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
