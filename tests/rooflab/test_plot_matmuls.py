"""Figures of matrix multiplications: to scale, on the roof, and where the marks belong."""

import re

import numpy as np
import pytest
from cases import cases
from drawings import reads_well
from matplotlib.patches import Rectangle

import roofkit as rk
from rooflab import plot

V5E, H100 = rk.chip("TPU v5e"), rk.chip("H100 SXM")
LAYERS = {"1k": (1024, 1024), "4k": (4096, 4096), "16k": (16384, 16384)}


def _frames(ax):
    """Left, bottom, width and height of X, Y and Z."""
    outlines = [p for p in ax.patches if isinstance(p, Rectangle) and p.get_linewidth() > 1]
    return [(*p.get_xy(), p.get_width(), p.get_height()) for p in outlines]


def _parts(ax):
    """The same of the marked part of each."""
    filled = [p for p in ax.patches if p.get_linewidth() == 0 and p.get_alpha() is None]
    return [(*p.get_xy(), p.get_width(), p.get_height()) for p in filled]


SHAPES = [(512, 4096, 4096), (64, 8192, 2560), (4096, 2048, 8192), (3000, 1024, 1024)]


@cases(("B", "D", "F"), SHAPES)
def test_shapes_are_drawn_to_scale_and_meet_in_z(B, D, F):
    ax = plot.matmul_shapes(B, D, F)
    x, y, z = _frames(ax)
    assert (x[2:], y[2:], z[2:]) == ((D, B), (F, D), (F, B))
    # X lies beside Z, row for row; Y above it, column for column.
    assert x[1] == z[1]
    assert y[0] == z[0]
    assert ax.get_aspect() == 1
    assert reads_well(ax)


def test_shapes_say_their_bytes():
    ax = plot.matmul_shapes(512, 4096, 8192, "fp32")
    said = " ".join(text.get_text() for text in ax.texts).replace("\n", "  ")
    assert re.findall(r"[XYZ]\[., .\]  [\d.]+ MB", said) == [
        "Y[D, F]  134 MB", "X[B, D]  8.39 MB", "Z[B, F]  16.8 MB",
    ]  # fmt: skip
    assert "512, 4096], 8.39 MB, times" in ax.roofkit_description


def test_the_share_of_one_chip_says_what_it_is_a_share_of():
    ax = plot.matmul_shapes(1024, 4096, 8192, chips=2)
    x, y, z = _frames(ax)
    assert (x[2:], y[2:], z[2:]) == ((2048, 1024), (8192, 2048), (8192, 1024))
    said = {line for text in ax.texts for line in re.split(r"\n|  ", text.get_text())}
    assert {"X₁[B, D/2]", "Y₁[D/2, F]", "Z₁[B, F]", "D/2 = 2,048"} <= said
    assert "X₁[1024, 2048], 4.19 MB, times" in ax.roofkit_description
    assert reads_well(ax)
    with pytest.raises(ValueError, match="chips=3 must divide D=4096"):
        plot.matmul_shapes(1024, 4096, 8192, chips=3)


@cases("tile", [(128, 128), (256, 64), (1024, 2048)])
def test_a_tile_is_where_its_rows_meet_its_columns(tile):
    ax = plot.matmul_shapes(1024, 4096, 2048, tile=tile)
    (_, _, z) = _frames(ax)
    rows, columns, block = _parts(ax)
    assert (rows[1], rows[3]) == (block[1], block[3])
    assert (columns[0], columns[2]) == (block[0], block[2])
    assert block[2:] == tile[::-1]
    # On a boundary of tiles, from the upper left corner of Z.
    assert (block[0] - z[0]) % tile[1] == pytest.approx(0, abs=1e-6)
    assert (z[3] - block[1] - block[3]) % tile[0] == pytest.approx(0, abs=1e-6)
    assert 0 <= block[1] <= z[3] - block[3]


@cases(
    ("sizes", "tile", "message"),
    [
        ((0, 4, 4), None, "B must be a whole number of at least 1, got 0"),
        ((4, 4.5, 4), None, "D must be a whole number"),
        ((4, 4, 4), (8, 4), r"tile\[0\]=8 must be at most 4"),
        ((4, 4, 4), (4, 0), r"tile\[1\] must be a whole number"),
    ],
)
def test_shapes_refuse_what_is_none(sizes, tile, message):
    with pytest.raises(ValueError, match=message):
        plot.matmul_shapes(*sizes, tile=tile)


def test_a_layer_reaches_the_peak_at_its_critical_batch():
    ax = plot.matmul_batches(V5E, LAYERS)
    roof = V5E.roofline("bf16")
    circles = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert circles == [rk.critical_batch(roof, D, F) for D, F in LAYERS.values()]
    curves = {line.get_label().split(":")[0]: line for line in ax.lines}
    for label, (D, F) in LAYERS.items():
        xs, ys = curves[label].get_data()
        # An oracle of its own: 1 / I = 1 / B + 1 / D + 1 / F.
        intensity = 1 / (1 / xs + 1 / D + 1 / F)
        assert ys == pytest.approx(np.minimum(roof.peak_flops, roof.bandwidth * intensity))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert "4k reaches the peak at B = 272.5" in ax.roofkit_description


def test_a_layer_too_small_for_any_batch_has_no_circle():
    ax = plot.matmul_batches(H100, {"small": (512, 512)})
    assert not [line for line in ax.lines if line.get_marker() == "o"]
    assert "small never reaches the peak" in ax.roofkit_description
    assert max(ax.lines[1].get_ydata()) < H100.peak_flops("bf16")


@cases(
    ("chip", "layers", "message"),
    [
        (3, LAYERS, "chip must be a Chip or a Roofline"),
        (V5E, {}, "layers must map 1 to 5 labels"),
        (V5E, [(1, 2)], "layers must map"),
    ],
)
def test_batches_refuse_what_they_cannot_draw(chip, layers, message):
    with pytest.raises(ValueError, match=message):
        plot.matmul_batches(chip, layers)


def test_times_stand_in_order_beside_the_models():
    ax = plot.matmul_times([64, 1], [3e-5, 2e-5], {"model": ([1, 32, 64], [1e-5, 1e-5, 2e-5])})
    model, measured = ax.lines
    assert measured.get_xdata().tolist() == [1, 64]
    assert measured.get_ydata() == pytest.approx([20, 30])
    assert model.get_ydata() == pytest.approx([10, 10, 20])
    assert ax.get_ylabel() == "time (µs)"
    assert (ax.get_xscale(), ax.get_ylim()[0]) == ("linear", 0)


def test_descriptions_spell_labels_without_mathematical_type():
    ax = plot.matmul_times([1], [1], {r"⌈n⌉ · $T_\mathrm{tile}$": ([1], [1])})
    assert ax.roofkit_description.endswith("; ⌈n⌉ · T_tile: 1 s at 1 to 1 s at 1.")


@cases(
    ("batches", "seconds", "models", "message"),
    [
        ([1, 2], [1], {}, "measured batches and seconds must be lists of the same length"),
        ([1], [0], {}, "measured seconds must all be finite and above 0"),
        ([1], [1], {"mine": ([1], [np.inf])}, "mine seconds must all be finite"),
        ([1], [1], [1], "models must map up to 5 labels"),
    ],
)
def test_times_refuse_what_they_cannot_draw(batches, seconds, models, message):
    with pytest.raises(ValueError, match=message):
        plot.matmul_times(batches, seconds, models)
