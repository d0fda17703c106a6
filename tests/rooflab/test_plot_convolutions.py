"""The figure of a convolution: to scale, with the bytes that conv2d counts, and readable."""

import pytest
from cases import cases
from drawings import reads_well

from rooflab import plot

LAYERS = [
    ((56, 56, 128, 256, 3), {"padding": 1}), ((112, 112, 32, 64, 1), {}),
    ((56, 56, 128, 128, 3), {"padding": 1, "groups": 128}),
    ((224, 224, 3, 32, 3), {"stride": 2, "padding": 1}),
]  # fmt: skip


def _fronts(ax):
    """Width and height of the front of each box, in the order in which they are drawn."""
    corners = [patch.get_xy() for patch in ax.patches if patch.get_linewidth() == 0]
    return [
        (round(points[2][0] - points[0][0], 9), round(points[2][1] - points[0][1], 9))
        for points in corners
        if points[0][1] == points[1][1] and points[1][0] == points[2][0]
    ]


@cases(("sizes", "how"), LAYERS)
def test_rows_and_columns_are_to_scale_and_texts_apart(sizes, how):
    H, W, _, _, K = sizes
    ax = plot.conv_shapes(*sizes, **how)
    stride, padding = how.get("stride", 1), how.get("padding", 0)
    rows = (H + 2 * padding - K) // stride + 1
    x, _, z, _, made = _fronts(ax)
    assert (x, z, made) == ((W, H), (rows, rows), (1, 1))
    assert ax.get_aspect() == 1
    assert reads_well(ax)


def test_a_convolution_names_its_sizes_and_bytes():
    ax = plot.conv_shapes(56, 56, 128, 256, 3, padding=1)
    said = [text.get_text() for text in ax.texts]
    # 4 bytes each: 128 · 56 · 56, 256 · 128 · 9 and 256 · 56 · 56 numbers.
    assert said[-3:] == [
        "X: 128 channels\nof 56 × 56\n1.61 MB",
        "Y: 256 filters\nof 128 × 3 × 3\n1.18 MB in total",
        "Z: 256 channels\nof 56 × 56\n3.21 MB",
    ]
    assert said[:-3] == ["what one\nfilter sees", "one\nnumber", "one filter"]


def test_a_depthwise_filter_is_one_channel_deep():
    ax = plot.conv_shapes(56, 56, 128, 128, 3, padding=1, groups=128, dtype="bf16")
    assert ax.texts[-2].get_text() == "Y: 128 filters\nof 1 × 3 × 3\n2.3 kB in total"
    assert "128 filters Y, each 1 by 3 by 3, 2.3 kB in total" in ax.roofkit_description


def test_a_convolution_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="groups=3"):
        plot.conv_shapes(8, 8, 4, 4, 3, groups=3)
