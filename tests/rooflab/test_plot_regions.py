"""The map of what a decode step waits for: its regions are those of a count by hand."""

import numpy as np
import pytest
from cases import cases

import roofkit as rk
from roofkit.models import Split
from rooflab import plot
from rooflab.plot.bottlenecks import region_leads

LLAMA = rk.llm("Llama-2-7B")
A6000 = LLAMA.on("RTX A6000")
WEIGHTS, CACHE, COMPUTE = range(3)
# By hand: a layer has 4 · 4096² + 3 · 4096 · 11008 parameters, a token 2 · 4096 numbers of cache.
CROSSING = (4 * 4096 + 3 * 11008) / 2
RIDGE = A6000.chip.roofline("bf16").ridge


def _region(served, batch, context):
    return region_leads(served, batch, context).argmax(axis=0)


@cases("batch", [1, 4, 32, 128])
def test_the_cache_takes_over_where_it_weighs_as_much_as_the_weights(batch):
    # lm_head is fetched, too: 2% more.
    assert _region(A6000, batch, 0.97 * CROSSING / batch) == WEIGHTS
    assert _region(A6000, batch, 1.07 * CROSSING / batch) == CACHE


def test_compute_needs_a_batch_beyond_the_ridge_and_a_short_context():
    contexts = np.array([16.0, 0.9, 1.2]) * [1, CROSSING / RIDGE, CROSSING / RIDGE]
    found = _region(A6000, np.array([[0.9 * RIDGE // 1], [1024]]), contexts)
    assert found.tolist() == [[WEIGHTS, WEIGHTS, CACHE], [COMPUTE, COMPUTE, CACHE]]


def test_a_region_is_where_it_is_ahead():
    ahead = region_leads(A6000, np.array([[1], [64], [512]]), np.array([64.0, 1024.0, 16384.0]))
    assert ((ahead > 0).sum(axis=0) == 1).all()


@cases(
    "served",
    [
        A6000,
        rk.llm("Qwen3-30B-A3B").on("H100"),
        rk.llm("DeepSeek-V3").on("H200", split=Split(tensor=8)),
    ],
)
def test_each_region_has_its_name_in_it(served):
    ax = plot.bottleneck_map(served)
    ax.figure.draw_without_rendering()
    for text in ax.texts:
        batch, context = text.get_position()
        name = ["weights", "KV cache", "compute"][_region(served, batch, context)]
        assert text.get_text() == name
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_the_line_of_full_memory():
    ax = plot.bottleneck_map(A6000)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "memory full beyond this line"
    ]
    assert plot.bottleneck_map(A6000, [1, 2], [16, 32]).get_legend() is None


def test_the_description_has_the_figures_of_the_drawing():
    said = plot.show(plot.bottleneck_map(A6000)).alt
    assert "Llama-2-7B on 1 × RTX A6000" in said
    assert "batch 1: weights, from 2.53e+04 tokens on KV cache" in said
    assert "batch 1024: compute, from 126 tokens on KV cache" in said


@cases(
    ("deployment", "choices", "told"),
    [
        ({"a": A6000}, {}, "one Deployment, got a mapping"),
        (LLAMA, {}, "must be a Deployment, such as"),
        (LLAMA.on(["A100 80GB SXM", "H100"]), {}, "2 kinds of chips"),
        (A6000, {"contexts": [8, 4]}, "contexts must be two or more increasing whole numbers"),
        (A6000, {"batches": [0, 1]}, "batches must be two or more increasing whole numbers"),
        (A6000, {"batches": [1]}, "batches must be two or more increasing whole numbers"),
        (A6000, {"batches": [1.5, 2]}, "batches must be two or more increasing whole numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(deployment, choices, told):
    with pytest.raises(ValueError, match=told):
        plot.bottleneck_map(deployment, **choices)
