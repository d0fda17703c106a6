"""Figures of a served model: lines are the deployment's numbers, marks stand where they belong."""

import dataclasses
import functools
import re
from itertools import combinations

import matplotlib.pyplot as plt
import pytest
from cases import cases
from matplotlib.text import Text

import roofkit as rk
from roofkit.models import Precision, Split
from rooflab import plot
from rooflab.plot.serving import STYLES

pytestmark = pytest.mark.slow("figures of serving read well and say what the tables say")

LLAMA = rk.llm("Llama-2-7B")
H100, V5E, A6000 = LLAMA.on("H100"), LLAMA.on("TPU v5e"), LLAMA.on("RTX A6000")
LARGE = rk.llm("Llama-2-70B").on("H100", split=Split(tensor=8))
MIXTRAL = rk.llm("Mixtral-8x7B").on("H100", split=Split(tensor=2))
WINDOWED = rk.llm("Mistral-7B-v0.1").on("L40S")
SERVED = {"H100": H100, "TPU v5e": V5E, "A6000": A6000, "eight": LARGE, "experts": MIXTRAL}
BATCHES = [2**i for i in range(11)]
# One figure of each, since drawing takes its time.
throughput, kv_memory = functools.cache(plot.throughput), functools.cache(plot.kv_memory)


@pytest.fixture(autouse=True)
def _no_windows_and_no_leftovers():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def _curves(ax):
    """The lines, without marks and without those all across the Axes."""
    return [
        line for line in ax.lines
        if line.get_marker() == "None" and list(line.get_xdata()) != [0, 1]
    ]  # fmt: skip


def _marked(ax, marker):
    return [line.get_xdata()[0] for line in ax.lines if line.get_marker() == marker]


def _reads_well(ax):
    """True where no text covers another and all of the Axes lies within the figure."""
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts if text.get_text()]
    box, whole = ax.get_tightbbox(), ax.figure.bbox
    return (
        not any(a.overlaps(b) for a, b in combinations(boxes, 2))
        and (whole.min - 1 <= box.min).all()
        and (box.max <= whole.max + 1).all()
    )


@cases("served", SERVED.values())
def test_lines_are_tokens_per_second_and_seconds(served):
    top, bottom = throughput(served)
    for panel, expected in (
        (top, lambda xs: xs / served.time_per_token(xs, 2048)),
        (bottom, lambda xs: served.time_per_token(xs, 2048)),
    ):
        for line in _curves(panel):
            assert line.get_ydata().tolist() == expected(line.get_xdata()).tolist()
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert set(BATCHES) <= {x for line in panel.lines for x in line.get_xdata()}
    assert _reads_well(top)
    assert _reads_well(bottom)


@cases("served", SERVED.values())
def test_the_cross_is_at_the_largest_batch_that_fits(served):
    top, bottom = throughput(served)
    (full,) = _marked(top, "X")
    assert served.memory(full, 1, 2048).fits
    assert not served.memory(full + 1, 1, 2048).fits
    assert _marked(bottom, "X") == [full]
    assert f"memory full at batch {full}" in top.roofkit_description
    dotted = [line for line in _curves(top) if line.get_linestyle() == ":"]
    assert min(line.get_xdata()[0] for line in dotted) == full


@cases("served", [H100, V5E, LARGE])
def test_the_circle_is_where_compute_begins_to_bind_the_weights(served):
    top, _ = throughput(served)
    (knee,) = _marked(top, "o")
    assert knee == served.compute_bound_batch(2048)
    assert f"compute binds from batch {knee}" in top.roofkit_description
    assert f"compute binds from {knee}" in [text.get_text() for text in top.texts]


def test_experts_need_a_larger_batch_than_the_figure_shows():
    top, _ = throughput(MIXTRAL)
    assert not _marked(top, "o")
    assert "compute binds" not in top.roofkit_description
    (knee,) = _marked(plot.throughput(MIXTRAL, [2**i for i in range(14)])[0], "o")
    assert MIXTRAL.decode(knee)["experts_gate_up"].bound == "compute"
    assert MIXTRAL.decode(knee - 1)["experts_gate_up"].bound == "memory"


def test_a_model_that_does_not_fit_is_said_not_to():
    top, _ = plot.throughput(
        LLAMA.on("GTX 1080 Ti", precision=Precision(activations="fp32", weights="fp32")), [1, 2, 4]
    )
    assert not _marked(top, "X")
    assert {line.get_linestyle() for line in _curves(top)} == {":"}
    assert "does not fit" in [text.get_text() for text in top.texts]
    assert "no batch fits into memory" in top.roofkit_description


def test_what_fits_to_the_end_has_no_cross():
    top, _ = plot.throughput(H100, [1, 2, 4, 8])
    assert not _marked(top, "X")
    assert not top.texts
    assert {line.get_linestyle() for line in _curves(top)} == {"-"}
    assert "full" not in top.roofkit_description


def test_several_deployments_differ_in_line_and_colour():
    top, bottom = plot.throughput({name: SERVED[name] for name in ("A6000", "H100", "TPU v5e")})
    handles = top.get_legend().get_lines()
    assert [handle.get_label() for handle in handles] == ["A6000", "H100", "TPU v5e"]
    assert len({handle.get_linestyle() for handle in handles}) == 3
    assert len({handle.get_color() for handle in handles}) == 3
    assert ":" not in {line for _, line in STYLES}
    for name in ("A6000: from 53.7 tokens/s", "H100: from 234 tokens/s", "TPU v5e: from"):
        assert name in top.roofkit_description
    assert _reads_well(top)
    assert _reads_well(bottom)


def test_two_panels_are_shown_as_one_picture_or_drawn_on_yours():
    panels = plot.throughput(H100)
    picture = plot.show(panels)
    assert picture.alt == panels[1].roofkit_description
    assert "with 2048 tokens cached. Llama-2-7B: from 234 tokens/s and 4.27 ms" in picture.alt
    assert not plt.get_fignums()
    _, axes = plt.subplots(1, 2, figsize=(12, 4))
    assert plot.throughput(H100, ax=axes) == tuple(axes)
    assert [ax.get_xlabel() for ax in axes] == ["batch", "batch"]


@cases("served", [*SERVED.values(), WINDOWED])
def test_lines_are_the_bytes_of_the_cache(served):
    ax = kv_memory(served)
    found = {}
    for line in _curves(ax):
        for x, y in zip(*line.get_data(), strict=True):
            found.setdefault(x, set()).add(float(y))
    for length in (2**i for i in range(9, 18)):
        assert found[length] == {served.memory(b, 1, length).kv for b in (1, 8, 64)}
    levels = {line.get_ydata()[0] for line in ax.lines if list(line.get_xdata()) == [0, 1]}
    assert levels == {served.memory().weights, served.memory().capacity}
    assert {"batch 1", "batch 8", "batch 64"} <= {text.get_text() for text in ax.texts}
    assert _reads_well(ax)


@cases("served", SERVED.values())
def test_marks_are_where_memory_is_full_and_weights_are_outgrown(served):
    ax = plot.kv_memory(served, batches=[8])
    for length in _marked(ax, "X"):
        assert served.memory(8, 1, length).fits
        assert not served.memory(8, 1, length + 1).fits
        assert f"memory full at {length} tokens" in ax.roofkit_description
    (length,) = _marked(ax, "o")
    assert served.memory(8, 1, length).kv > served.memory().weights
    assert served.memory(8, 1, length - 1).kv <= served.memory().weights
    assert f"larger than the weights from {length} tokens" in ax.roofkit_description
    assert str(length) in [text.get_text() for text in ax.texts]


def test_a_window_keeps_the_cache_from_growing():
    ax = plot.kv_memory(WINDOWED, batches=[1])
    assert not _marked(ax, "o")
    (line,) = _curves(ax)
    assert line.get_ydata()[-1] == line.get_ydata()[-2]
    assert "batch 1: 67.1 MB to 537 MB." in ax.roofkit_description


def test_the_memory_of_each_of_several_chips_is_meant():
    ax = kv_memory(LARGE)
    assert ax.get_ylabel() == "KV cache on each chip (bytes)"
    assert (
        "Llama-2-70B on 8 × H100 SXM; weights 17.2 GB, capacity 85.5 GB" in ax.roofkit_description
    )
    assert kv_memory(H100).get_ylabel() == "KV cache (bytes)"


def test_lengths_none_of_which_fits():
    said = plot.kv_memory(V5E, batches=[1, 64]).roofkit_description
    assert "batch 64: 17.2 GB to 4.4 TB, no length fits into memory" in said


@cases(
    ("deployment", "choices", "told"),
    [
        (None, {}, "must be a Deployment"),
        (LLAMA, {}, "must be a Deployment, such as"),
        (LLAMA.on(["H100", "H200"]), {}, "Llama-2-7B is on 2 kinds of chips"),
        (H100, {"batches": []}, "batches must be (one|two) or more rising whole numbers"),
        (H100, {"batches": [8, 1]}, "batches must be (one|two) or more rising whole numbers"),
        (H100, {"batches": [0, 1]}, "batches must be (one|two) or more rising whole numbers"),
        (H100, {"batches": [1.5]}, "batches must be (one|two) or more rising whole numbers"),
        (H100, {"batches": [[1, 2]]}, "batches must be (one|two) or more rising whole numbers"),
        (H100, {"batches": "8"}, "batches must be (one|two) or more"),
        (H100, {"batches": [True, False]}, "batches must be (one|two) or more"),
        (H100, {"batches": 8}, "batches must be (one|two) or more"),
    ],
)
@cases("draw", [plot.throughput, plot.kv_memory])
def test_what_cannot_be_drawn_is_refused(draw, deployment, choices, told):
    with pytest.raises(ValueError, match=told):
        draw(deployment, **choices)
    assert not plt.get_fignums()


@cases(
    ("draw", "told"),
    [
        (lambda: plot.throughput({}), "give 1 to 4 deployments, got 0"),
        (lambda: plot.throughput({str(i): H100 for i in range(5)}), "1 to 4 deployments, got 5"),
        (
            lambda: plot.throughput(H100, context=0),
            "context must be one whole number of at least 1",
        ),
        (lambda: plot.throughput(H100, context=[1, 2]), "context must be one whole number"),
        (lambda: plot.throughput(H100, ax=3), "ax must be a pair of Axes"),
        (lambda: plot.kv_memory({"mine": H100}), "got a mapping; draw a figure for each"),
        (lambda: plot.kv_memory(H100, [4, 2]), "lengths must be two or more rising whole numbers"),
        (lambda: plot.kv_memory(H100, batches=range(1, 6)), "give 1 to 4 batches, got 5"),
    ],
)
def test_what_would_mislead_is_refused(draw, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        draw()
    assert not plt.get_fignums()


def test_a_chip_of_unknown_capacity_has_no_full_memory():
    chip = dataclasses.replace(rk.chip("H100"), capacity=None, allocatable=None)
    ax = plot.kv_memory(LLAMA.on(chip))
    assert not _marked(ax, "X")
    assert "capacity unknown" in ax.roofkit_description
    assert not _marked(plot.throughput(LLAMA.on(chip))[0], "X")
