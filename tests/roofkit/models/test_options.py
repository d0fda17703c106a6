"""How a model is served: the groups of options, and what objects say of themselves."""

import dataclasses

import numpy as np
import pytest
from cases import cases

import roofkit as rk
from roofkit.models import Links, Precision, Split
from rooflab.machine import calibrate

LLAMA, MIXTRAL = rk.llm("Llama-3-70B"), rk.llm("Mixtral-8x7B")
SERVED = LLAMA.on(
    "H100",
    precision=Precision(weights="int4", scales=128, lm_head="fp8"),
    split=Split(tensor=8, pipeline=2),
    links=Links(tensor=rk.group("H100", 8), pipeline=50e9, with_latency=True),
    attention="unfused", fused=False, on_chip=1e6, convention=["causal"],
    calibration=calibrate("H100"),
)  # fmt: skip
EVERY = [chip.name for chip in rk.chips() if {"bf16"} <= set(chip.peaks) and chip.bandwidth]


@cases(
    "shown",
    [
        SERVED, SERVED.model, rk.llm("DeepSeek-V3"), SERVED.precision, SERVED.split, SERVED.links,
        SERVED.generate(), SERVED.generate(np.array([1, 8]), 100, np.array([[5], [9]])),
        SERVED.memory(), SERVED.memory(10**6, reserve=0.1), SERVED.decode()[3],
        SERVED.decode()["attn_all_reduce"], SERVED.decode(np.array([1, 64]))[3].operation,
        rk.models.cheapest(MIXTRAL.on("H100", split=Split(tensor=2))), rk.cnn("ResNet-50"),
        rk.cnn("ResNet-50").forward("H100")[0],
    ],
)  # fmt: skip
def test_every_object_fits_on_a_screen(shown):
    lines = repr(shown).splitlines()
    assert len(lines) <= 6
    assert max(map(len, lines)) <= 100


def test_the_title_of_a_table_stays_within_the_screen_and_counts_chips():
    served = rk.llm("Llama-2-7B").on(EVERY, unconfirmed=True, attention="unfused")
    assert len(EVERY) > 9
    table = served.decode(np.array([[1], [64]]), 100)
    assert f"and {len(EVERY) - 3} more (" in table.title
    assert max(map(len, repr(table).splitlines()[:2])) <= 100


def test_a_deployment_names_what_differs_from_the_usual_alone():
    usual = rk.llm("Llama-2-7B").on("H100")
    assert repr(usual) == (
        "Deployment(Llama-2-7B on H100 SXM, bf16 weights, bf16 activations, bf16 KV cache)"
    )
    text = " ".join(repr(SERVED).split())
    for each in (
        "Llama-3-70B on 16 × H100 SXM", "int4 weights", "lm_head='fp8'", "scales=128",
        "Split(tensor=8, pipeline=2)", "pipeline=50 GB/s, with_latency=True", "fused=False",
        "on_chip=1 MB", "attention='unfused'", "convention=['causal']",
    ):  # fmt: skip
        assert each in text
    assert "travel" not in text
    assert "unconfirmed" not in text
    held = rk.llm("Llama-2-7B").on("H100").memory(batch=1000)
    assert "missing)" in repr(held)
    assert "spare)" in repr(usual.memory())


def test_groups_show_the_fields_that_were_given():
    assert repr(Precision()) == "Precision()"
    assert repr(Precision(weights="FP8", kv="bfloat16")) == "Precision(weights='fp8', kv='bf16')"
    assert repr(Split(8, expert=4)) == "Split(tensor=8, expert=4)"
    assert repr(Links("ring", in_network=False)) == "Links(tensor='ring', in_network=False)"


def test_none_is_the_usual_group():
    usual = LLAMA.on("H200")
    assert LLAMA.on("H200", precision=Precision(), split=Split(), links=Links()) == usual
    assert LLAMA.on("H200", precision=None, split=None, links=None) == usual


def test_a_deployment_is_changed_field_by_field():
    """What was settled is given again as it is."""
    for served in (SERVED, rk.llm("gpt-oss-20b").on("H100"), rk.llm("DeepSeek-V3").on("H200")):
        assert dataclasses.replace(served) == served
        moved = dataclasses.replace(served, chip="H200", calibration=None)
        assert moved.precision == served.precision
        assert moved.decode().bytes == served.decode().bytes
    assert dataclasses.replace(SERVED, attention="flash").decode().bytes < SERVED.decode().bytes


@cases("convention", ["roofkit", "llm-viewer"])
def test_a_sweep_over_chips_and_many_points_is_that_of_each_chip(convention):
    """More points than are worked on at a time, with an on-chip memory of each chip's own."""
    names, contexts = ["H100", "L40S", "TPU v5e"], np.arange(1, 9001)[:, None]
    model = rk.llm("Llama-2-7B")
    together = model.on(names, convention=convention).time_to_first_token(2, contexts)
    for column, name in enumerate(names):
        alone = model.on(name, convention=convention).time_to_first_token(2, contexts[:, 0])
        assert together[:, column] == pytest.approx(alone, rel=1e-14)
