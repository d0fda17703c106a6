"""Shares of a peak: what they are, how they broadcast, and that none is above one."""

import numpy as np
import pytest
import sympy

import roofkit as rk
from roofkit.models import mbu, mfu

ROOF = rk.Roofline(1e12, 1e11)
WORK = rk.Cost(flops=1e12, bytes=5e10)  # 1 s of arithmetic, 0.5 s of memory


def test_utilisation_is_the_least_time_over_the_measured():
    assert mfu(1e12, 2.0, 1e12) == 0.5
    assert mbu(5e10, 2.0, 1e11) == 0.25
    assert type(mfu(1e12, 2.0, 1e12)) is float
    eight = 8 * rk.chip("H100").peak_flops("bf16")
    assert mfu(8e15, 2.0, eight) == pytest.approx(8e15 / 2 / eight)


def test_the_share_of_the_roof_is_that_of_the_ceiling_that_binds():
    assert ROOF.share(WORK, 2.0) == mfu(WORK.flops, 2.0, ROOF.peak_flops) == 0.5
    wide = rk.Cost(flops=1e11, bytes=5e10)
    assert ROOF.share(wide, 2.0) == mbu(wide.bytes, 2.0, ROOF.bandwidth) == 0.25
    estimate = ROOF.estimate(WORK)
    assert ROOF.share(WORK, estimate.lower) == 1
    assert ROOF.share(WORK, estimate.upper) == pytest.approx(2 / 3)


def test_everything_broadcasts():
    seconds, peaks = np.array([1.0, 2, 4]), np.array([[1e12], [2e12]])
    assert mfu(1e12, seconds, peaks).tolist() == [[1, 0.5, 0.25], [0.5, 0.25, 0.125]]
    assert mbu(np.array([1e11, 5e10]), 1.0, 1e11).tolist() == [1, 0.5]
    assert ROOF.share(WORK * np.array([[1], [2]]), seconds + 1).shape == (2, 3)
    with pytest.raises(ValueError, match=r"do not broadcast: seconds\[3\], peak_flops\[2\]"):
        mfu(1.0, seconds, np.ones(2))
    with pytest.raises(ValueError, match="do not broadcast"):
        ROOF.share(WORK * np.ones(2), seconds)


@pytest.mark.parametrize(
    ("ask", "reasons"),
    [
        (
            lambda t: mfu(1e12, t, 1e12),
            ("fewer FLOPs", "causal", "wider dtype", "one chip"),
        ),
        (lambda t: mbu(1e11, t, 1e11), ("cache", "fewer bytes", "one chip")),
        (lambda t: ROOF.share(WORK, t), ("cache", "sparsity", "wider dtype", "clock")),
    ],
)
def test_more_than_all_is_refused_with_the_likely_reasons(ask, reasons):
    assert ask(1.0) == 1
    # A time computed from the peak may round below it.
    assert ask(1 - 1e-12) == pytest.approx(1)
    for seconds in (0.5, np.array([2.0, 0.5])):
        with pytest.raises(ValueError, match=r"^2 times .*: no measured time can beat it") as told:
            ask(seconds)
        for reason in reasons:
            assert reason in str(told.value)


def test_a_model_has_a_share_of_all_that_overlaps():
    step = rk.llm("Llama-2-7B").on("A100 80GB SXM").decode(np.array([1, 64]), 2048)
    least = step.estimate.lower
    assert step.share(2 * least) == pytest.approx([0.5, 0.5])
    assert (step.share(step.time) <= 1).all()
    with pytest.raises(ValueError, match=r"1.25 times what a decode after 2048 tokens") as told:
        step.share(least * [1, 0.8])
    for reason in ("cache", "sparsity", "one chip"):
        assert reason in str(told.value)
        assert "TFLOP/s" not in str(told.value)
    with pytest.raises(ValueError, match="shapes do not broadcast"):
        step.share(np.ones(3))


def test_a_share_far_above_all_is_one_of_units():
    for ask in (lambda: mfu(1e12, 1, 989), lambda: mbu(16e9, 6.5, 3350)):
        with pytest.raises(ValueError, match="Likely reasons: figures in TFLOP/s, GB/s or ms"):
            ask()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((-1, 1, 1), "flops must be"),
        ((1, 0, 1), "seconds must be"),
        ((1, 1, 0), "peak_flops must be"),
        ((1, 1, rk.chip("H100")), "peak_flops must be a number"),
        ((sympy.Symbol("F"), 1, 1), "flops must be a number, got the formula F"),
    ],
)
def test_bad_figures_are_named(given, told):
    with pytest.raises(ValueError, match=told):
        mfu(*given)


def test_a_share_wants_a_cost_and_a_time():
    with pytest.raises(ValueError, match="cost must be a Cost"):
        ROOF.share(1e12, 1.0)
    with pytest.raises(ValueError, match="seconds must be"):
        ROOF.share(WORK, 0)
