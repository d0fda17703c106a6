"""Formats over tokens: where lines turn, what is said of them, and that they stay apart."""

import functools

import numpy as np
import pytest
from cases import cases
from drawings import texts_overlap

import roofkit as rk
from rooflab import plot

A100 = rk.chip("A100 80GB SXM")
BEST = "best: W4A16"
N, B = 7e9, 2.0 ** np.arange(11)
FORMATS = {
    "W16A16": ("bf16", 2, 153.02), "W8A16": ("bf16", 1, 76.51), "W8A8": ("int8", 1, 153.02),
    "W4A16": ("bf16", 0.5, 38.254), "W4A8": ("int8", 0.5, 76.51),
}  # fmt: skip
STEPS = {
    name: A100.roofline(dtype).estimate(rk.Cost(2 * N * B, N * size))
    for name, (dtype, size, _) in FORMATS.items()
}


@functools.cache
def drawn():
    """Times of every format: one figure, since drawing takes its time."""
    return plot.over_tokens(B, STEPS)


def _curves(ax):
    return [line for line in ax.lines if line.get_marker() == "None"]


def _circles(ax):
    return [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]


def test_a_line_turns_where_weights_and_peak_say():
    for (x, y), (dtype, size, tokens) in zip(_circles(drawn()), FORMATS.values(), strict=True):
        assert x == pytest.approx(tokens, rel=1e-4)
        assert x == pytest.approx(A100.roofline(dtype).ridge * size / 2)
        assert y == pytest.approx(N * size / A100.bandwidth)


def test_times_are_those_of_the_estimate():
    times = drawn()
    for time, step in zip(_curves(times), STEPS.values(), strict=True):
        given = np.isin(time.get_xdata(), B)
        np.testing.assert_allclose(time.get_ydata()[given], step.lower)
    assert times.get_ylabel().endswith("(ms)")
    assert (times.get_xscale(), times.get_yscale()) == ("log", "log")


def test_a_strip_names_the_best_line_wherever_it_changes():
    told = [text.get_text() for text in drawn().texts if text.get_text() in {*STEPS, BEST}]
    assert told == ["best: W4A16", "W4A8", "W8A8"]  # W4A8 is as good as W4A16 at first
    edges = [patch.get_x() for patch in drawn().patches]
    assert edges == pytest.approx([1, 38.254, 153.02], rel=0.02)


def test_a_line_that_never_turns_has_no_circle():
    slow = A100.roofline("bf16").estimate(rk.kernels.batched_matmul(B, 1, 4096, 4096))
    ax = plot.over_tokens(B, {"own": slow})
    assert _circles(ax) == []
    assert "compute-bound" not in ax.roofkit_description


def test_the_description_has_the_figures_of_the_drawing():
    said = drawn().roofkit_description
    assert "W4A16: 1.72 ms at 1, 45.9 ms at 1024, compute-bound from 38.3" in said


def test_lines_that_run_together_stay_visible_and_labels_apart():
    solid, *with_gaps = _curves(drawn())
    assert solid.get_linestyle() == "-"
    assert "-" not in {line.get_linestyle() for line in with_gaps}
    assert len({line.get_linewidth() for line in (solid, *with_gaps)}) == 1
    labels = [text for text in drawn().texts if text.get_text()]
    assert len(labels) == len(STEPS) + len(drawn().patches)
    assert not texts_overlap(labels)


@cases(
    ("tokens", "estimates", "says"),
    [
        ([4, 2], STEPS, "tokens must be two or more increasing numbers"),
        (B, STEPS["W8A8"], "1 to 5 labels"),
        (B, {"x": 3}, r"estimates\['x'\] must be an Estimate"),
        (B[:3], STEPS, r"estimates\['W16A16'\].math .* each of 3 tokens, got shape \(11,\)"),
    ],
)
def test_anything_else_is_refused(tokens, estimates, says):
    with pytest.raises(ValueError, match=says):
        plot.over_tokens(tokens, estimates)
