"""Figures: what they show, what they say in words, and that grey paper still tells lines apart."""

import base64
import functools
import html
import io
import math
import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy
from cases import cases
from drawings import lightness, texts_overlap
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import roofkit as rk
from rooflab import explore, palette, plot

pytestmark = pytest.mark.slow("rooflines read well and say what the models say")

V5E, H100 = rk.chip("TPU v5e"), rk.chip("H100")
DOT, LARGE = rk.dot(1024), rk.matmul(4096, 4096, 4096)


@functools.cache
def _usual():
    """One figure for several tests, since drawing takes its time."""
    return plot.roofline(V5E, {"dot": DOT, "large": LARGE})


def _roof_lines(ax):
    return [line for line in ax.lines if not line.get_label().startswith("_")]


def _points(ax):
    return [line for line in ax.lines if line.get_marker() in ("o", "v")]


def test_the_line_rises_to_the_ridge_and_stays_at_the_peak():
    (line,) = _roof_lines(plot.roofline(rk.Roofline(8e12, 2e12), xlim=(0.5, 64)))
    assert line.get_xdata().tolist() == [0.5, 4, 64]
    assert line.get_ydata().tolist() == [1e12, 8e12, 8e12]


def test_limits_that_hide_the_ridge_leave_one_straight_line():
    (line,) = _roof_lines(plot.roofline(rk.Roofline(8e12, 2e12), xlim=(8, 64)))
    assert line.get_ydata().tolist() == [8e12, 8e12]


def test_given_limits_are_kept_and_chosen_ones_show_everything():
    ax = plot.roofline(V5E, xlim=(1, 1e4), ylim=(1e10, 1e15))
    assert (ax.get_xlim(), ax.get_ylim()) == ((1, 1e4), (1e10, 1e15))
    roofs, kernels = [V5E, H100], {"dot": DOT, "tiny": 1e-3, "vast": 1e6}
    ax = plot.roofline(roofs, kernels)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    for x in (1e-3, 1e6, 240.5, 295.3):
        assert left < x < right
        for chip in roofs:
            assert bottom < chip.roofline("bf16").attainable(x) < top


def test_the_frame_belongs_to_the_chips_and_not_to_the_points():
    slow, fast = (plot.roofline(H100, {"mine": x}) for x in (3, 30))
    assert slow.get_xlim() == fast.get_xlim() == plot.roofline(H100).get_xlim() == (0.1, 1e4)
    assert slow.get_ylim() == fast.get_ylim()
    # Two chips show what each shows alone.
    assert plot.roofline([H100, rk.Roofline(1e12, 1e11)]).get_xlim() == (0.01, 1e4)
    assert plot.roofline(H100, {"left": 0.05}).get_xlim() == (0.01, 1e4)
    assert plot.roofline(H100, {"right": 9e3}).get_xlim() == (0.1, 1e5)


def test_rooflines_without_names_are_told_apart_by_their_figures():
    ax = plot.roofline([rk.Roofline(1e12, 1e11), rk.Roofline(2e12, 1e11)])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["1 TFLOP/s, 100 GB/s, ridge 10", "2 TFLOP/s, 100 GB/s, ridge 20"]


def test_markers_and_labels_say_which_roof_binds():
    ax = _usual()
    markers = {round(point.get_xdata()[0], 1): point.get_marker() for point in _points(ax)}
    assert markers == {0.5: "v", 1365.3: "o"}
    labels = {text.get_text() for text in ax.texts} - {"memory-bound", "compute-bound"}
    assert len(labels) == 2
    assert any("dot" in label and "memory" in label for label in labels)
    assert any("large" in label and "compute" in label for label in labels)


def test_points_lie_on_their_roofs():
    roof = V5E.roofline("bf16")
    for point in _points(plot.roofline(V5E, {"dot": DOT, "large": LARGE, "at ridge": roof.ridge})):
        (x,), (y,) = point.get_data()
        assert y == roof.attainable(x)


def test_a_kernel_that_roofs_disagree_on_is_not_labelled_with_either_bound():
    ax = plot.roofline([V5E, H100], {"between": 270})
    assert [point.get_marker() for point in _points(ax)] == ["o", "v"]
    assert [text.get_text() for text in ax.texts] == ["between"]
    shapes = [text.get_text() for text in ax.get_legend().get_texts()][2:]
    assert shapes == ["compute-bound", "memory-bound"]


def test_one_dark_marker_stands_for_a_kernel_where_roofs_coincide():
    roofs = {"matrix": rk.Roofline(4e14, 2e12), "vector": rk.Roofline(1e13, 2e12)}
    shared, low, high = _points(plot.roofline(roofs, {"sum": 0.5, "large": 1000}))
    assert shared.get_xdata()[0] == 0.5
    colours = [line.get_color() for line in _roof_lines(shared.axes)]
    assert shared.get_color() not in colours
    assert [low.get_color(), high.get_color()] == colours


@cases("intensity", [1, 150])
def test_a_label_covers_no_line_and_no_legend(intensity):
    for drawn in (V5E, {"bf16": V5E, "int8": V5E.roofline("int8")}):
        ax = plot.roofline(drawn, {"X · Y, B = 64": intensity})
        ax.figure.canvas.draw()
        box = ax.texts[-1].get_window_extent()
        assert not box.overlaps(ax.get_legend().get_window_extent())
        for line in ax.lines:
            if len(line.get_xdata()) > 1:
                path = line.get_path().transformed(line.get_transform())
                assert not path.intersects_bbox(box, filled=False)


def test_a_link_binds_under_its_own_name():
    ax = plot.roofline(rk.group(V5E, 2).roofline("bf16"), {"exchange": 10})
    assert "link" in ax.texts[0].get_text()
    assert "exchange at 10 FLOP/byte is link-bound" in ax.roofkit_description


def test_labels_of_neighbouring_kernels_do_not_overlap():
    kernels = {f"{x} FLOP/byte": x for x in (1, 1.1, 1.2, 300, 310, 320, 330)}
    ax = plot.roofline(V5E, kernels)
    ax.figure.canvas.draw()
    assert sum(bool(text.get_text()) for text in ax.texts) == len(kernels) + 2
    assert not texts_overlap(ax.texts)


def test_roofs_can_be_told_apart_in_grey():
    lines = _roof_lines(plot.roofline({str(i): rk.Roofline(10**12 * 2**i, 1e11) for i in range(4)}))
    assert len({line.get_linestyle() for line in lines}) == 4
    assert len({str(style) for style in plot.LINES}) == len(plot.LINES) == len(plot.COLOURS)
    shades = sorted(lightness(colour) for colour in plot.COLOURS)
    assert min(b - a for a, b in pairwise(shades)) > 3
    # And the lightest still stands out from white paper.
    assert shades[-1] < 70


def test_the_description_says_in_words_what_the_figure_shows():
    said = _usual().roofkit_description
    for part in (
        "TPU v5e", "819 G", "197 TFLOP/s", "240.5 FLOP/byte",
        "dot at 0.5 FLOP/byte is memory-bound", "409 GFLOP/s",
        "large at 1370 FLOP/byte is compute-bound",
    ):  # fmt: skip
        assert part in said
    assert "e+" not in said


@cases(
    ("kernel", "told"),
    [
        ("dot", "'dot'"),
        (np.ones(2), "one intensity"),
        (rk.dot(sympy.Symbol("N")), "a Cost of numbers"),
        (0, "intensity 0"),
        (rk.Cost(1, 0), "intensity inf"),
    ],
)
def test_what_is_no_kernel_is_refused(kernel, told):
    with pytest.raises(ValueError, match=r"kernels\['mine'\]") as refusal:
        plot.roofline(V5E, {"fine": DOT, "mine": kernel})
    assert told in str(refusal.value)


def test_show_gives_a_png_with_alternative_text_of_a_figure_unknown_to_pyplot():
    ax = plot.roofline({'"quoted" <b>': V5E}, {"dot": DOT})
    assert not plt.get_fignums()
    tag = plot.show(ax)._repr_html_()
    assert tag == ax._repr_html_()
    alt, data = re.search(r'alt="([^"]*)".*base64,([^"]*)"', tag).groups()
    assert html.unescape(alt) == ax.roofkit_description
    assert "<b>" not in tag
    pixels = plt.imread(io.BytesIO(base64.b64decode(data)))
    assert min(pixels.shape[:2]) > 300
    assert pixels[..., :3].std() > 0.01


def test_the_same_figure_is_the_same_picture():
    first, second = (plot.show(plot.roofline(V5E, {"dot": DOT})) for _ in range(2))
    assert first.content == second.content
    assert b"Software" not in first.content  # the drawing library's version would change it


def test_times_are_bars_that_start_at_once_above_a_row_in_turn():
    roof = rk.Roofline(1e12, 1e9)
    ax = plot.times({"a": roof.estimate(rk.Cost(2e9, 3e6)), "b": roof.estimate(rk.Cost(4e9, 1e6))})
    assert ax.get_xlabel() == "time (ms)"
    first = [(round(bar.get_x(), 9), round(bar.get_width(), 9)) for bar in ax.patches[:4]]
    assert first == [(0, 2), (0, 3), (0, 3), (3, 2)]  # math, comms; then both in turn
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    told = {text.get_text() for text in ax.texts}
    assert told == {"1", "2", "3", "4", "5 in turn"}


def test_several_channels_have_a_bar_each():
    several = rk.Estimate(2e-3, 1e-3, "memory", (("link", 4e-3),))
    ax = plot.times({"a": several, "b": rk.Estimate(3e-3, 2e-3)})
    overlapped = [bar for bar in ax.patches if bar.get_alpha() is None]
    assert sorted(bar.get_width() for bar in overlapped) == pytest.approx([0, 1, 2, 2, 3, 4])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [re.sub(r"\W|mathrm", "", name) for name in names[:3]] == [
        "T_math",
        "T_memory",
        "T_link",
    ]
    assert len({bar.get_hatch() for bar in ax.patches}) == 3
    spans = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in overlapped]
    assert all(below <= above for (_, below), (above, _) in pairwise(sorted(spans)))
    assert "T_memory 1 ms, T_link 4 ms, total between 4 ms and 7 ms, link" in ax.roofkit_description


@cases(
    ("roofs", "kernels", "limits", "told"),
    [
        ([V5E, V5E], None, {}, 'two roofs are named "TPU v5e"; tell them apart'),
        ({str(i): V5E for i in range(6)}, None, {}, "1 to 5 roofs"),
        (None, None, {}, "must be a Roofline or a Chip, got NoneType"),
        ([], None, {}, "1 to 5 roofs"),
        ({"mine": 1e12}, None, {}, "roofs['mine'] must be a Roofline or a Chip, got float"),
        (V5E, {"dot": DOT}, {"xlim": (10, 1e4)}, "kernels['dot'] has intensity 0.49"),
        (V5E, {"dot": DOT}, {"xlim": (0.01, 0.1)}, "outside xlim"),
        (rk.chip("GTX 1080 Ti"), None, {}, 'chip.roofline("fp32")'),
        (rk.Roofline(sympy.Symbol("p"), 1), None, {}, "a single peak and bandwidth"),
        (V5E, [1, 2], {}, "kernels must map"),
        (V5E, None, {"xlim": (0, 1)}, "xlim must be two increasing numbers"),
        (V5E, None, {"measured": [1]}, "measured must map labels"),
        (V5E, None, {"measured": {"dot": 3}}, "measured['dot'] must be (Cost, seconds)"),
        (V5E, None, {"measured": {"dot": (DOT, 0)}}, "the time must be finite and above 0"),
    ],
)
def test_a_plot_that_would_mislead_is_refused(roofs, kernels, limits, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        plot.roofline(roofs, kernels, **limits)


@cases("estimates", [{}, [1], {"a": 3}, {"a": rk.Estimate(np.ones(2), 1)}])
def test_times_refuses_what_is_not_one_estimate_a_bar(estimates):
    with pytest.raises(ValueError, match="estimates"):
        plot.times(estimates)


@cases(
    ("value", "text"),
    [
        (999.6, "1 k"), (999.4, "999 "), (1e-3, "1 m"), (0, "0 "), (4.2e-13, "0.42 p"),
        (1e18, "1e+03 P"), (math.inf, "inf "), (1.5e-6, "1.5 µ"),
    ],
)  # fmt: skip
def test_engineering_rounds_before_it_picks_a_prefix(value, text):
    assert plot.engineering(value) == text


def test_a_figure_of_ones_own_is_shown_only_with_a_description():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="no description; give one"):
        plot.show(ax)
    assert plot.show(ax, alt="two empty axes").alt == "two empty axes"
    assert not plt.get_fignums()


def test_times_draws_beside_other_axes_without_a_warning(recwarn):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot.times({"mine": rk.Estimate(1e-3, 2e-3)}, ax=right) is right
    figure.draw_without_rendering()
    assert not figure.legends
    assert right.get_legend()
    assert not left.get_legend()
    assert not recwarn.list


def test_a_single_roof_shades_what_binds_under_it():
    ax = plot.roofline({"mine": rk.group(V5E, 2).roofline("bf16")})
    assert [text.get_text() for text in ax.texts] == ["link-bound", "compute-bound"]
    left, right = (region.get_paths()[0].get_extents() for region in ax.collections)
    ridge = rk.group(V5E, 2).roofline("bf16").ridge
    assert left.x1 == pytest.approx(ridge) == right.x0
    assert not plot.roofline([V5E, H100]).collections


def test_measured_times_stand_beside_the_bracket():
    ideal = rk.Estimate(math=np.array([1.0, 2.0, 4.0]), comms=np.array([4.0, 2.0, 1.0]))
    ax = plot.measured_times({"mine": (ideal, [5.5, 3.0, 4.4])})
    band = ax.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((1, 2))
    [points] = [line for line in ax.lines if line.get_label() == "mine"]
    assert points.get_xdata() == pytest.approx([0.25, 1, 4])
    assert points.get_ydata() == pytest.approx([1.375, 1.5, 1.1])
    assert ax.roofkit_description.endswith("median ratio 1.38, 33% above the sum.")


def test_measured_times_of_many_kernels_are_a_median_in_a_band():
    ideal = rk.Estimate(math=np.repeat(np.geomspace(0.1, 10, 10), 64), comms=np.ones(640))
    over = np.tile(np.linspace(1, 2, 64), 10)
    ax = plot.measured_times({"mine": (ideal, over * ideal.lower)})
    [line] = [line for line in ax.lines if line.get_label() == "mine"]
    assert line.get_xdata() == pytest.approx(np.geomspace(0.1, 10, 10))
    assert line.get_ydata() == pytest.approx(np.full(10, 1.5))
    band = ax.collections[1].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((1.05, 1.95))


@cases(
    ("groups", "message"),
    [
        ({}, "must map 1 to 5 labels"),
        ({"mine": (3, [1])}, "must start with an Estimate"),
        ({"mine": (rk.Estimate(1.0, 2.0), [0.0])}, "measured seconds must all be finite and above"),
        ({"mine": (rk.Estimate(0, 2.0), [1.0])}, "T_math must all be finite and above 0"),
    ],
)
def test_measured_refuses_what_it_cannot_draw(groups, message):
    with pytest.raises(ValueError, match=message):
        plot.measured_times(groups)


def test_traffic_stands_above_what_the_memory_takes():
    ax = plot.traffic({"mine": ([1e4, 1e5, 1e6, 1e8], [1e-6, 3e-6, 3e-6, 1.5e-4])}, bandwidth=1e12)
    bound, floor, points = ax.lines
    assert np.divide(*bound.get_data()) == pytest.approx([1e12, 1e12])
    told = [text.get_text() for text in ax.texts]
    assert told == ["faster than the bound", "bytes / 1 TB/s", "mine, small: 2 µs"]
    # The median of the two with at most ten times the fewest bytes, along these two.
    assert floor.get_ydata() == pytest.approx([2e-6, 2e-6])
    assert floor.get_xdata() == pytest.approx([1e4, 1e5])
    assert points.get_xdata() == pytest.approx([1e4, 1e5, 1e6, 1e8])
    assert points.get_ydata() == pytest.approx([1e-6, 3e-6, 3e-6, 1.5e-4])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_traffic_shows_what_the_clock_leaves_open():
    groups = {"mine": ([1e4, 1e8], [1e-6, 1.5e-4]), "other": ([1e5], [3e-7])}
    ax = plot.traffic(groups, bandwidth=1e12, resolution=1e-6)
    _, mine, other = ax.collections
    ends = [bar[:, 1] for bar in mine.get_segments()]
    assert np.array(ends) == pytest.approx(np.array([[5e-7, 1.5e-6], [1.495e-4, 1.505e-4]]))
    # What may have taken no time at all is drawn to the lower edge.
    assert other.get_segments()[0][0, 1] == pytest.approx(ax.get_ylim()[0])
    assert "10 kB in 1 µs, 50 to 150 times the bound" in ax.roofkit_description
    assert "100 kB in 300 ns, 0 to 8 times" in ax.roofkit_description
    assert ax.roofkit_description.endswith("Bars show the uncertainty of a 1 µs clock.")


@cases(
    ("groups", "bandwidth", "message"),
    [
        ({}, 1e12, "must map 1 to 5 labels"),
        ({"mine": ([1.0], [1.0])}, 0, "bandwidth"),
        ({"mine": ([1.0, 2.0], [1.0])}, 1e12, "as many bytes as seconds, got 2 and 1"),
        ({"mine": ([1.0], [0.0])}, 1e12, "measured seconds must all be finite and above 0"),
    ],
)
def test_traffic_refuses_what_it_cannot_draw(groups, bandwidth, message):
    with pytest.raises(ValueError, match=message):
        plot.traffic(groups, bandwidth)


def test_an_empty_head_of_a_table_is_no_heading():
    assert "<td></td>" in plot.table({"": ["one"], "count": [1]})._repr_html_()


def test_the_ridge_as_squares_lights_what_is_used():
    writing, batch, reading = plot.ridge(295.3, {"one": 1, "sixteen": 16.2, "all": 2048})
    lit = palette.colour("roof")
    for ax, count in ((writing, 1), (batch, 16), (reading, 295)):
        colours = [to_hex(colour).upper() for colour in ax.collections[0].get_facecolors()]
        assert (len(colours), colours.count(lit)) == (295, count)
    assert "sixteen: 16 of 295 are lit" in writing.roofkit_description
    with pytest.raises(ValueError, match="above 0"):
        plot.ridge(295.3, {"none": 0})
    with pytest.raises(ValueError, match=r"Mixtral-8x7B-v0\.1 has experts"):
        explore.ridge("Mixtral-8x7B")
    live = explore.ridge(users=64, weights=8)
    assert (round(live.squares), live.flops_per_byte) == (295, 128)
    page = live._repr_mimebundle_()[0]["text/html"]
    assert "Writing for 64 users, it does 128.: 128 of 295" in page
    assert "<table" not in page


def test_a_measured_kernel_is_a_ring_that_never_leaves_the_figure():
    times = {"slow": 1e3, "beyond the peak": 1e-4}
    rings = {label: (rk.Cost(1e9, 1e9), time) for label, time in times.items()}
    ax = plot.roofline(rk.Roofline(1e12, 1e11), measured=rings)
    low, high = ax.get_ylim()
    said = "was measured at 1 MFLOP/s" in ax.roofkit_description
    assert (low < 1e6, high > 1e13, said) == (True, True, True)
