"""Shares of a peak: what they are, how they broadcast, and why one is above one."""

import numpy as np
import pytest
import sympy
from cases import cases

import roofkit as rk
from benchmarks import fit_gpus
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


@cases(
    ("ask", "reasons"),
    [
        (lambda t: mfu(1e12, t, 1e12), ("fewer FLOPs", "causal", "wider dtype", "one chip")),
        (lambda t: mbu(1e11, t, 1e11), ("cache", "fewer bytes", "one chip")),
        (lambda t: ROOF.share(WORK, t), ("cache", "sparsity", "wider dtype", "clock")),
    ],
)
def test_more_than_all_is_refused_with_the_likely_reasons(ask, reasons):
    assert ask(1.0) == 1
    # A time computed from the peak may round below it.
    assert ask(1 - 1e-12) == pytest.approx(1)
    for seconds in (0.5, np.array([2.0, 0.5])):
        with pytest.raises(ValueError, match=r"^2 times .*, which is more than 100%") as told:
            ask(seconds)
        for reason in reasons:
            assert reason in str(told.value)


@cases("label", ["vLLM 2026: matmuls", "PyTorch 2024: norms, adds, activations"])
def test_no_timed_kernel_beats_the_roof_but_by_arrays_in_the_cache(label):
    """With the cache's bytes left out every one is slower; some adds and matmuls beat memory."""
    table, faster = fit_gpus.study(label).table, 0
    for name, variant in fit_gpus.parts(label):
        chip = rk.chip(name)
        part = fit_gpus.pick(table, (table["chip"] == name) & (table["variant"] == variant))
        if "B" in part:
            sizes = (part[size] for size in "BDF")
            cost = rk.kernels.matmul(*sizes, dtype=variant, out_dtype="bf16")
        else:
            reads = 1 if variant == "rms_norm" else 2
            cost = rk.elementwise(part["rows"] * part["width"], reads=reads)
        roof = chip.roofline("fp8" if variant == "fp8" else "bf16")
        assert roof.share(cost, part["seconds"], on_chip=chip.on_chip).max() < 1
        share = roof.estimate(cost).lower / part["seconds"]
        faster += np.sum(share > 1)
        large = cost.bytes > 2 * chip.on_chip
        assert share[large].max() < 1.01  # the older timings are in whole microseconds
    assert faster > 60


def test_an_impossible_share_names_the_cache_as_a_likely_reason():
    roof, add = rk.chip("H100").roofline("bf16"), rk.elementwise(256 * 4096, reads=2)
    with pytest.raises(ValueError, match="more than 100%") as told:
        roof.share(add, 1e-6)
    first = "the arrays (6.29 MB) fit in the 50 MB last-level cache; pass the bytes that"
    assert f"Likely reasons: {first}" in str(told.value)
    assert roof.share(add, 1e-6, on_chip=add.bytes) == pytest.approx(add.flops / 989.4e12 / 1e-6)
    two_operands = 4 * 256 * 4096
    assert roof.share(add, 1e-6, on_chip=two_operands) == pytest.approx(add.bytes / 3 / 3.35e6)
    # Of arrays that do not fit, or on a roof whose cache is not known, a part may have stayed.
    for asked in ((roof, 100 * add, 1e-5), (rk.Roofline(1e15, 3e12), add, 1e-6)):
        with pytest.raises(ValueError, match="arrays stayed in the last-level cache: pass their"):
            asked[0].share(*asked[1:])
    with pytest.raises(ValueError, match="on_chip must be"):
        roof.share(add, 1e-6, on_chip=-1)
    # What the cache holds is no part of what a roof is.
    assert roof == rk.Roofline(roof.peak_flops, roof.bandwidth)


def test_a_model_whose_activations_stay_on_the_chip_has_a_lower_bound():
    table = rk.llm("OPT-6.7B").on("A100 80GB SXM", fused=False).prefill(1, 128)
    cache = rk.chip("A100 80GB SXM").on_chip
    least, kept = table.estimate.lower, table.share(1.0, on_chip=cache)
    assert 0 < kept < table.share(1.0) == least
    weights = sum(layer.count * (layer.weights + layer.kv) for layer in table)
    assert kept == pytest.approx(max(weights / 2.039e12, table.estimate.math))
    # A little cache keeps a little: as much of what is read and of what is written.
    fewer = least - table.share(1.0, on_chip=1e3)
    moved = sum(layer.count for layer in table if layer.activations >= 2e3)
    assert fewer == pytest.approx(moved * 2e3 / 2.039e12, rel=0.05)
    with pytest.raises(ValueError, match="pass their bytes as on_chip="):
        table.share(least / 2)


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
        with pytest.raises(ValueError, match="Likely reasons: values were given in TFLOP/s"):
            ask()


@cases(
    ("given", "told"),
    [
        ((-1, 1, 1), "flops must be"),
        ((1, 0, 1), "seconds must be"),
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
