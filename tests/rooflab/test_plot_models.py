"""Figures of whole models: their data are the tables', their labels keep apart, grey suffices."""

import functools
import math
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from cases import cases
from drawings import lightness, reads_well
from matplotlib.collections import PathCollection
from matplotlib.patches import Rectangle

import roofkit as rk
from roofkit.models import Precision, Split
from roofkit.models.cnn.catalogue import cnn
from roofkit.models.layers import Layer, LayerTable
from roofkit.models.operations import Operation
from rooflab import plot
from rooflab.plot.models import KINDS, MARKERS, SMALL_SHARE, WHOLE_AREA, layer_kind
from rooflab.plot.time_breakdown import STYLES

pytestmark = pytest.mark.slow("figures of models read well and say what the tables say")

LLAMA = rk.llm("Llama-2-7B")
H100, V5E = LLAMA.on("H100"), LLAMA.on("TPU v5e")
LARGE = rk.llm("Llama-2-70B").on("H100", split=Split(tensor=8))
MIXTRAL = rk.llm("Mixtral-8x7B").on("H100", split=Split(tensor=2))
MIXED = LLAMA.on("H100", precision=Precision(weights="int8", activations="int8", kv="bf16"))
TABLES = {
    "prefill": H100.prefill(), "one token": H100.decode(1),
    "unfused": LLAMA.on("TPU v5e", attention="unfused", fused=False).prefill(),
    "eight chips": LARGE.prefill(), "experts": MIXTRAL.decode(8),
    "shared experts": rk.llm("DeepSeek-MoE-16B").on("MI300X").prefill(4, 4096),
    "two peaks": MIXED.prefill(), "convolutions": cnn("ResNet-50").forward("H100", on_chip=0),
}  # fmt: skip


@functools.cache
def _layers(name):
    """One figure of each, since drawing takes its time."""
    return plot.layers(TABLES[name])


def _points(ax):
    return [each for each in ax.collections if isinstance(each, PathCollection)]


def _bars(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def _table(*layers):
    return LayerTable("three layers", layers)


def _layer(name, flops, moved=1e9, link=0.0, peak=1e14):
    return Layer(Operation(name, 1, flops, moved), rk.Roofline(peak, 1e12), link, 1e11)


# Layers on the roofline


def test_areas_are_shares_of_the_time():
    table = LLAMA.on("H100", fused=False).decode(64)
    attention, linear, *dots = sorted(_points(plot.layers(table)), key=lambda p: -p.get_sizes()[0])
    of_attention = 32 * table["attention"].time
    norms = sum(table[n].count * table[n].time for n in ("attn_norm", "mlp_norm", "final_norm"))
    drawn = attention.get_sizes()[0] * math.pi / 4
    assert drawn == pytest.approx(WHOLE_AREA * (of_attention + norms) / table.time)
    projections = sum(layer.count * layer.time for layer in table if "_proj" in layer.name)
    projections += table["lm_head"].time
    assert linear.get_sizes()[0] * math.pi / 4 == pytest.approx(
        WHOLE_AREA * projections / table.time
    )
    assert {dot.get_sizes()[0] for dot in dots} == {9}


@cases("name", TABLES)
def test_points_lie_on_the_roof_and_take_what_is_not_left_out(name):
    table = TABLES[name]
    points = [p for p in _points(_layers(name)) if p.get_sizes()[0] != 9]
    computing = [layer for layer in table if layer.flops > 0]
    absent = 1 - sum(layer.count * layer.time for layer in computing) / table.time
    total = sum(p.get_sizes()[0] for p in points) * math.pi / 4 / WHOLE_AREA
    assert 1 - absent - 20 * SMALL_SHARE < total <= 1 - absent + 1e-9
    peaks = {layer.peak for layer in computing}
    for point in points:
        ((x, y),) = point.get_offsets()
        assert any(y == pytest.approx(min(p, x * computing[0].bandwidth)) for p in peaks)


@cases("name", TABLES)
def test_labels_of_layers_keep_apart_and_whole(name):
    assert reads_well(_layers(name))


def test_prefill_and_decode_share_a_roof_and_differ_in_marker_and_colour():
    ax = plot.layers({"prefill": H100.prefill(), "decode": H100.decode(8)})
    (roof,) = ax.lines
    assert roof.get_ydata()[-1] == pytest.approx(989.4e12)
    shapes = {len(point.get_paths()[0].vertices) for point in _points(ax)}
    assert len(shapes) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["prefill", "decode"]
    assert reads_well(ax)
    assert len(MARKERS) == 4
    shades = sorted(lightness(colour) for colour in plot.COLOURS[:4])
    assert min(b - a for a, b in pairwise(shades)) > 3


def test_two_peaks_are_two_roofs():
    ax = _layers("two peaks")
    high, low = ax.lines
    peaks = [rk.chip("H100").roofline(dtype).peak_flops for dtype in ("int8", "bf16")]
    assert [high.get_ydata()[-1], low.get_ydata()[-1]] == peaks
    assert high.get_linestyle() != low.get_linestyle()
    texts = {text.get_text() for text in ax.texts}
    assert {"1.98 PFLOP/s", "989 TFLOP/s"} <= texts


def test_layers_of_one_place_share_a_label():
    texts = [text.get_text() for text in _layers("one token").texts]
    assert "gate_up/down_proj 61%\nqkv/o_proj 30%\nattention 8%\nlm_head 2%" in texts
    texts = [text.get_text() for text in _layers("convolutions").texts]
    assert "12 convolutions 17%" in texts


def test_the_figure_names_the_layers_that_it_leaves_out():
    ax = _layers("eight chips")
    assert "49.7 ms, 27% of it communication (not shown)" in [text.get_text() for text in ax.texts]
    said = ax.roofkit_description
    assert "without arithmetic and therefore not shown, embedding, embedding_all_reduce" in said
    assert "logits_all_gather, 27.2%." in said


@cases("name", [name for name in TABLES if name != "convolutions"])
def test_the_description_names_every_layer(name):
    said = _layers(name).roofkit_description
    for layer in TABLES[name]:
        assert layer.name in said
    assert "e+" not in said


def test_a_layer_that_waits_for_the_link_is_called_link_bound():
    said = plot.layers(_table(_layer("exchange", 1e10, link=1e10))).roofkit_description
    assert "exchange at 10 FLOP/byte, link-bound, 100.0%" in said


# Time by kinds of layers


@cases("table", TABLES.values())
def test_segments_add_up_to_the_time(table):
    ax = plot.time_breakdown({"": table})
    scale = {"ms": 1e-3, "µs": 1e-6}[ax.get_xlabel()[6:-1]]
    assert sum(bar.get_width() for bar in _bars(ax)) * scale == pytest.approx(table.time)
    assert _bars(ax)[-1].get_x() + _bars(ax)[-1].get_width() == pytest.approx(table.time / scale)
    assert reads_well(ax)


OF_EACH_KIND = {
    "attention projections": "k_proj", "MLP": "gate_proj",
    "experts": "experts_down shared_up router", "attention": "softmax",
    "norms, adds, activations": "attn_norm qk_norm experts_sum shared_act rotary conv1_bn",
    "communication": "attn_all_reduce embedding_all_reduce", "embedding, lm_head": "lm_head",
    "convolutions": "conv_dw_3 layer1.0.conv2", "fully connected": "fc6", "pooling": "maxpool",
    "other layers": "mystery",
}  # fmt: skip


def test_kinds_of_layers():
    for kind, names in OF_EACH_KIND.items():
        assert {layer_kind(name) for name in names.split()} == {kind}


def test_few_layers_are_shown_one_by_one():
    ax = plot.time_breakdown(_table(_layer("a", 1e15), _layer("b", 2e15), _layer("c", 1e12)))
    assert [bar.get_width() for bar in _bars(ax)] == pytest.approx([10, 20, 0.01])
    assert "a 33.3%, b 66.6%, c 0.0%" in ax.roofkit_description
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["c"]


def test_every_kind_is_named_in_a_segment_or_in_the_legend():
    ax = plot.time_breakdown({f"batch {b}": MIXTRAL.decode(b) for b in (1, 8, 64)})
    inside = " ".join(text.get_text() for text in ax.texts)
    listed = [text.get_text() for text in ax.get_legend().get_texts()]
    for kind in {layer_kind(layer.name) for layer in MIXTRAL.decode(1)}:
        assert (kind in listed) != (kind in inside.replace("attention projections", ""))
        assert kind in ax.roofkit_description
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["batch 1", "batch 8", "batch 64"]
    assert "batch 8: 12.9 ms, made up of" in ax.roofkit_description


def test_kinds_can_be_told_apart_in_grey():
    assert set(STYLES) == set(KINDS)
    # Kinds of language models; those of CNNs stand beside few of them.
    kinds = [k for k in STYLES if k not in ("convolutions", "fully connected", "pooling")]
    for a, b in combinations(kinds, 2):
        (one, hatch), (other, another) = STYLES[a], STYLES[b]
        assert hatch != another or abs(lightness(one) - lightness(other)) > 8


# What is refused


@cases("draw", [plot.layers, plot.time_breakdown])
@cases(
    ("tables", "told"),
    [
        (None, "tables must be a LayerTable or map labels to them"),
        ({}, "tables must be a LayerTable or map labels to them"),
        ({"mine": 1e-3}, r"tables\['mine'\] must be a LayerTable.*got float"),
        ({"mine": H100}, r"tables\['mine'\] must be a LayerTable.*got Deployment"),
        (H100.decode(np.array([1, 8])), "a figure shows one pass, not 2"),
    ],
)
def test_what_is_no_table_is_refused(draw, tables, told):
    with pytest.raises(ValueError, match=told):
        draw(tables)


@cases(
    ("tables", "told"),
    [
        ({str(i): H100.decode() for i in range(5)}, "give 1 to 4 tables, got 5"),
        (_table(_layer("send", 0.0, 0.0, link=1e9)), "three layers: no layer computes"),
        (
            {"": LayerTable("six", [_layer("a", 1e9, peak=10.0**i) for i in range(6)])},
            "6 different roofs",
        ),
    ],
)
def test_a_roofline_of_layers_that_would_mislead_is_refused(tables, told):
    with pytest.raises(ValueError, match=told):
        plot.layers(tables)


@cases("draw", [plot.layers, plot.time_breakdown])
def test_they_are_drawn_on_your_axes_and_shown(draw):
    _, (left, right) = plt.subplots(1, 2, figsize=(12, 4))
    assert draw(H100.decode(), ax=right) is right
    assert not left.has_data()
    assert plot.show(right).alt == right.roofkit_description


def test_the_frame_belongs_to_the_chip_and_not_to_the_layers():
    served = rk.llm("Llama-2-7B").on("H100")
    frames = [_layers("one token"), plot.layers(served.decode(64))]
    frames.append(plot.layers({"prefill": served.prefill(), "decode": served.decode()}))
    assert {ax.get_xlim() for ax in frames} == {(0.1, 1e5)}
    assert len({ax.get_ylim() for ax in frames}) == 1


def test_given_limits_are_kept_and_have_to_hold_every_layer():
    assert plot.layers(TABLES["convolutions"], xlim=(0.1, 1e3)).get_xlim() == (0.1, 1e3)
    with pytest.raises(ValueError, match=r"outside xlim=\(10.0, 1000.0\); widen it"):
        plot.layers(TABLES["convolutions"], xlim=(10, 1e3))
