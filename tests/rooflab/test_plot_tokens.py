"""Formats over tokens: where lines turn, what is said of them, and that they stay apart."""

import functools

import numpy as np
import pytest
from cases import cases
from drawings import texts_overlap

import roofkit as rk
from rooflab import plot

A100 = rk.chip("A100 80GB SXM")
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
def drawn(speed):
    """Times, or speeds, of every format: one figure of each, since drawing takes its time."""
    return plot.over_tokens(B, STEPS, flops=2 * N * B if speed else None)


def _curves(ax):
    return [line for line in ax.lines if line.get_marker() == "None"]


def _circles(ax):
    return [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]


@cases("speed", [False, True])
def test_a_line_turns_where_weights_and_peak_say(speed):
    ax = drawn(speed)
    for (x, y), (dtype, size, tokens) in zip(_circles(ax), FORMATS.values(), strict=True):
        assert x == pytest.approx(tokens, rel=1e-4)
        assert x == pytest.approx(A100.roofline(dtype).ridge * size / 2)
        at_turn = A100.peak_flops(dtype) if speed else N * size / A100.bandwidth
        assert y == pytest.approx(at_turn)


def test_times_and_speeds_are_those_of_the_estimate():
    flops = 2 * N * B
    times, speeds = drawn(False), drawn(True)
    for time, speed, step in zip(_curves(times), _curves(speeds), STEPS.values(), strict=True):
        given = np.isin(time.get_xdata(), B)
        np.testing.assert_allclose(time.get_ydata()[given], step.lower)
        np.testing.assert_allclose(speed.get_ydata()[given], flops / step.lower)
    assert times.get_ylabel().endswith("(ms)")
    assert speeds.get_ylabel() == "attainable (FLOP/s)"
    assert (times.get_xscale(), times.get_yscale()) == ("log", "log")


def test_a_line_that_never_turns_has_no_circle():
    slow = A100.roofline("bf16").estimate(rk.kernels.batched_matmul(B, 1, 4096, 4096))
    ax = plot.over_tokens(B, {"own": slow})
    assert _circles(ax) == []
    assert "compute-bound" not in ax.roofkit_description


def test_the_description_has_the_figures_of_the_drawing():
    said = drawn(False).roofkit_description
    assert "W4A16: 1.72 ms at 1, 45.9 ms at 1024, compute-bound from 38.3" in said
    said = drawn(True).roofkit_description
    assert "W8A8: 4.08 TFLOP/s at 1, 624 TFLOP/s at 1024, compute-bound from 153" in said


def test_lines_that_run_together_stay_visible_and_labels_apart():
    for speed in (False, True):
        ax = drawn(speed)
        solid, *with_gaps = _curves(ax)
        assert solid.get_linestyle() == "-"
        assert "-" not in {line.get_linestyle() for line in with_gaps}
        assert len({line.get_linewidth() for line in (solid, *with_gaps)}) == 1
        labels = [text for text in ax.texts if text.get_text()]
        assert len(labels) == len(STEPS)
        assert not texts_overlap(labels)


@cases(
    ("tokens", "estimates", "flops", "says"),
    [
        ([4, 2], STEPS, None, "tokens must be two or more increasing numbers"),
        (B, STEPS["W8A8"], None, "1 to 5 labels"),
        (B, {"x": 3}, None, r"estimates\['x'\] must be an Estimate"),
        (B[:3], STEPS, None, r"estimates\['W16A16'\].math .* each of 3 tokens, got shape \(11,\)"),
        (B, STEPS, B[:3], r"flops .* each of 11 tokens, got shape \(3,\)"),
    ],
)
def test_anything_else_is_refused(tokens, estimates, flops, says):
    with pytest.raises(ValueError, match=says):
        plot.over_tokens(tokens, estimates, flops=flops)
