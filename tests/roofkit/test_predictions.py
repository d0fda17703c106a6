"""Predicted times of GPU kernels: the formulas, the fit behind them, and what intervals hold."""

import csv
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import roofkit as rk
from roofkit.machine import calibrate, gpu_kernels, gpus
from roofkit.machine.predictions import Prediction

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
import fit_gpus  # noqa: E402

A100, H100 = calibrate("A100 80GB SXM"), calibrate("H100")
# A machine on which each formula can be followed by hand: no cost but the one that is asked for.
PLAIN = gpu_kernels.GPU(1e14, 1e12, 100, 4e7, 2, clock=1.0, speed=1.0)
FREE = {
    "peak": 1.0, "write": 0.0, "cache": 1e30, "bandwidth": 1e30, "overhead": 0.0, "join": 1.0,
    "throttle": 0.0,
}  # fmt: skip


# Formulas


def test_a_matmul_of_whole_waves_takes_its_flops_at_the_peak():
    # 100 blocks of 128 × 128 on 100 multiprocessors: nothing stands idle.
    seconds, _ = gpu_kernels.matmul(PLAIN, FREE, 1280, 4096, 1280, 2)
    assert seconds == pytest.approx(2 * 1280 * 4096 * 1280 / 1e14, rel=1e-6)


def test_one_block_more_than_a_wave_costs_a_wave():
    tiles = {"peak": 1.0, "write": 1.0}  # writes so dear that only whole waves of tiles count
    one, two = (
        gpu_kernels.matmul(PLAIN, {**FREE, **tiles}, 64, 64, 64 * blocks, 2)[0]
        for blocks in (100, 101)
    )
    assert two == pytest.approx(2 * one, rel=1e-3)


def test_a_part_of_a_tile_or_of_a_step_costs_all_of_it():
    whole = gpu_kernels.matmul(PLAIN, FREE, 128, 512, 12800, 2)[0]
    assert gpu_kernels.matmul(PLAIN, FREE, 65, 449, 12737, 2)[0] == pytest.approx(whole)
    assert gpu_kernels.matmul(PLAIN, FREE, 128, 513, 12800, 2)[0] == pytest.approx(whole * 9 / 8)


def test_splitting_the_sum_fills_idle_multiprocessors_for_its_price():
    # One tile of 64 × 64: 1 of 100 multiprocessors works, or up to 8 on parts of D.
    alone = gpu_kernels.matmul(PLAIN, FREE, 64, 2**20, 64, 2)[0]
    shared = gpu_kernels.matmul(PLAIN, {**FREE, "join": 0.0}, 64, 2**20, 64, 2)[0]
    assert alone == pytest.approx(8 * shared, rel=1e-6)
    priced = gpu_kernels.matmul(PLAIN, {**FREE, "join": 1e-6}, 64, 2**20, 64, 2)[0]
    assert priced == pytest.approx(shared + 1e-6)


def test_memory_moves_every_operand_once_and_the_cache_feeds_every_tile(monkeypatch):
    memory = {**FREE, "peak": 1e30, "bandwidth": 0.5}
    seconds, waves = gpu_kernels.matmul(PLAIN, memory, 8, 4096, 4096, 2)
    assert waves == 0
    assert seconds == pytest.approx(2 * (4096 * 4096 + 2 * 8 * 4096) / 0.5e12)
    cache = {**FREE, "peak": 1e30, "cache": 1e10}
    tiles = (4096 / 128) * (4096 / 256)  # the largest tile reads least
    assert gpu_kernels.matmul(PLAIN, cache, 4096, 4096, 4096, 2)[0] == pytest.approx(
        tiles * (128 + 256) * 0.8 * 4096 * 2 / (100 * 1e10)
    )
    # One that is half as large shares nothing.
    monkeypatch.setattr(gpu_kernels, "LARGE", 2**16)
    assert gpu_kernels.matmul(PLAIN, cache, 4096, 4096, 4096, 2)[0] == pytest.approx(
        tiles * (128 + 256) * 4096 * 2 / (100 * 1e10)
    )


def test_long_work_is_throttled_and_every_call_has_its_overhead():
    constants = {**FREE, "overhead": 4e-6, "throttle": 0.2}
    short, long = (
        gpu_kernels.matmul(PLAIN, constants, B, 6400, 12800, 2)[0] - 4e-6 for B in (128, 128 * 1000)
    )
    ideal = 2 * 128 * 6400 * 12800 / 1e14
    assert short == pytest.approx(ideal * (1 + 0.2 * ideal / (ideal + 1e-3)))
    assert long == pytest.approx(1000 * ideal * (1 + 0.2 * ideal / (ideal + 1e-6)))


def test_rows_of_a_norm_come_in_waves_and_of_an_add_do_not():
    free = {"overhead": 0.0, "cached": 0.0}
    constants = {
        "add": {"bandwidth": 1e30, **free}, "norm": {"rate": 1e30, "step": 1e-6, **free},
    }  # fmt: skip
    rows = np.array([1, 200, 201, 401])
    seconds = gpu_kernels.row_kernel(PLAIN, constants, rows, 1025, 2, "norm")
    assert seconds == pytest.approx([2e-6, 2e-6, 4e-6, 6e-6])
    # 1 GB/s a multiprocessor, 100 of them: 4 MB take 40 µs.
    constants["norm"] |= {"rate": 1e9, "step": 0.0}
    seconds = gpu_kernels.row_kernel(PLAIN, constants, 1000, 1000, 2, "norm")
    assert seconds == pytest.approx(4e-5)
    add = {"add": {"bandwidth": 0.5, "overhead": 1e-6, "cached": 0.5}}
    rows = np.array([4, 6, 8, 16]) * 1e6 / 1024  # of 1,024: 24, 36, 48 and 96 MB of a 40 MB cache
    assert gpu_kernels.row_kernel(PLAIN, add, rows, 1024, 2, "add") == pytest.approx(
        1e-6 + np.array([24 * 0.5, 36 * 0.75, 48, 96]) * 1e6 / 0.5e12
    )
    fast = replace(PLAIN, clock=2.0, speed=16.0)
    assert gpu_kernels.row_kernel(fast, add, 0.0, 1024, 2, "add") == pytest.approx(5e-7)
    # Twice the clock halves a step; the rate grows with the root of a multiprocessor's speed.
    constants["norm"] |= {"step": 1e-6}
    assert gpu_kernels.row_kernel(fast, constants, 1, 1024, 2, "norm") == pytest.approx(
        np.cbrt(5e-7**3 + (4096 / (1e9 * 4 * 100)) ** 3)
    )


def test_an_all_reduce_sends_nearly_twice_its_bytes_and_fills_a_pipeline():
    link = {"latency": 1e-5, "bus": 1e11, "fill": 0.0}
    assert gpu_kernels.all_reduce(link, 1e9, 4) == pytest.approx(1e-5 + 1.5e9 / 1e11)
    filled = gpu_kernels.all_reduce({**link, "fill": 4e-6}, 0.5e6, 2)
    assert filled == pytest.approx(1e-5 + (2e-3 + np.sqrt(5e-6)) ** 2)


# The fit


def test_the_shipped_constants_are_those_of_a_refit():
    shipped = tomllib.loads(gpus.TABLE.read_text(encoding="utf-8"))
    refitted = tomllib.loads(fit_gpus.document())

    def numbers(tree):
        if isinstance(tree, dict):
            return {
                f"{key}.{path}": value
                for key, inner in tree.items()
                for path, value in numbers(inner).items()
            }
        if isinstance(tree, list):
            return numbers(dict(enumerate(tree)))
        return {"": tree}

    expected = numbers(refitted)
    # A nanosecond of latency is none; the last digit of an interval may fall either way.
    assert numbers(shipped) == pytest.approx(expected, rel=0.01, abs=2e-9, nan_ok=True)


@pytest.mark.parametrize("chip", fit_gpus.GPUS.values())
def test_matmuls_of_a_model_that_was_left_out_are_predicted(chip):
    ratio, low, high = (
        values[fit_gpus.read("matmuls")["chip"] == chip] for values in fit_gpus.judged("matmuls")
    )
    error = np.abs(1 / ratio - 1)
    assert np.median(error) < 0.06
    assert np.mean(error <= 0.15) >= 0.9
    assert 0.88 <= np.mean((low <= ratio) & (ratio <= high)) <= 0.92
    assert np.median(high / low) <= 1.4


def test_all_kernels_of_one_gpu_together_are_predicted():
    judged = [fit_gpus.judged(name) for name in ("matmuls", "elementwise")]
    ratio, low, high = np.concatenate(judged, axis=1)
    error = np.abs(1 / ratio - 1)
    assert np.median(error) < 0.06
    assert np.mean(error <= 0.15) > 0.89
    assert 0.88 <= np.mean((low <= ratio) & (ratio <= high)) <= 0.92
    assert np.median(high / low) <= 1.4


def test_whole_layers_are_covered_by_the_interval_of_a_sum():
    ratio, low, high = fit_gpus.judged_layers()
    assert len(ratio) > 900
    assert np.median(np.abs(1 / ratio - 1)) < 0.04
    assert 0.9 <= np.mean((low <= ratio) & (ratio <= high)) <= 0.93
    assert np.median(high / low) < 1.25
    # Were errors taken to have nothing in common, the interval would promise too much.
    ratio, low, high = fit_gpus.whole_layers(0.0)
    assert np.mean((low <= ratio) & (ratio <= high)) < 0.9


@pytest.mark.parametrize("chip", fit_gpus.GPUS.values())
def test_one_gpu_tells_the_other_within_the_wider_interval(chip):
    for name, median in (("matmuls", 0.065), ("elementwise", 0.095)):
        ratio, regime, chips = fit_gpus.other_gpu(name)
        low, high = fit_gpus.around(name)[regime].T
        error, inside = np.abs(1 / ratio - 1), (low <= ratio) & (ratio <= high)
        here = chips == chip
        assert np.median(error[here]) < median
        assert np.mean(inside[here]) >= 0.9
        assert np.median(high / low) < 1.5
        assert np.median(ratio[here]) == pytest.approx(1, abs=0.04)


BEST = list(csv.DictReader((fit_gpus.DATA / "best-matmuls.csv").open(encoding="utf-8")))


@pytest.mark.parametrize("row", BEST, ids=lambda row: f"{row['gpu']} {row['dtype']}")
def test_the_fastest_matmuls_that_others_found_are_near_and_above_the_bound(row):
    chip, dtype = rk.chip(row["chip"]), row["dtype"]
    M, N, K = (int(row[size]) for size in "MNK")
    measured = 2 * M * N * K / (float(row["tflops"]) * 1e12)
    cost = rk.kernels.matmul(M, K, N, dtype=dtype, out_dtype="bf16")
    assert measured > chip.roofline(dtype).estimate(cost).lower
    if chip.multiprocessors is not None and chip.sku.startswith("NVIDIA"):
        assert 0.83 < measured / calibrate(chip).matmul(M, K, N, dtype).seconds < 1


def test_the_guide_tells_the_errors_that_the_fit_has():
    guide = (ROOT / "roofkit/README.md").read_text(encoding="utf-8")
    for label, figures in fit_gpus.summary():
        cells = re.search(rf"^\| {label} \|(.*)\|$", guide, re.M)[1].replace(",", "").split("|")
        told = [float(cell.strip().rstrip("%")) / (100 if "%" in cell else 1) for cell in cells]
        # To the digits printed, and the last may fall either way.
        assert told == pytest.approx(figures, rel=0.02, abs=0.011), label


# Predictions


def test_a_prediction_near_a_published_timing():
    # Rows of the data: a prefill, a decode step, a norm and an all-reduce, in microseconds.
    for prediction, measured in (
        (A100.matmul(4096, 8192, 8192), 2466),
        (H100.matmul(16, 8192, 24576), 139),
        (A100.elementwise(256, 24576, "activation"), 50),
        (H100.all_reduce(67108864, 8), 322),
    ):
        assert prediction.low < measured * 1e-6 < prediction.high
        assert prediction.coverage == 0.9


def test_predictions_broadcast_and_plain_numbers_stay_plain():
    B, D = np.array([[1], [64], [4096]]), np.array([1024, 8192])
    grid = H100.matmul(B, D, 8192)
    assert grid.seconds.shape == grid.low.shape == grid.high.shape == (3, 2)
    one = H100.matmul(64, 8192, 8192)
    assert (grid.seconds[1, 1], grid.low[1, 1], grid.high[1, 1]) == (one.seconds, one.low, one.high)
    assert type(one.seconds) is type(one.low) is float
    assert A100.elementwise(B, D, "norm").high.shape == (3, 2)
    assert type(A100.elementwise(1, 8192).seconds) is float
    assert A100.all_reduce(np.array([1e4, 1e6]), 8).low.shape == (2,)


def test_the_interval_of_one_is_its_own_whatever_is_beside_it():
    both, near = H100.matmul(np.array([512, 10**6]), 8192, 8192), H100.matmul(512, 8192, 8192)
    far = H100.matmul(10**6, 8192, 8192)
    assert both.low.tolist() == [near.low, far.low]
    assert both.high.tolist() == [near.high, far.high]


def test_more_shapes_than_fit_at_once_are_predicted_in_pieces(monkeypatch):
    B, D = np.arange(1, 41)[:, None], np.array([1024, 4096, 8192])
    at_once = A100.matmul(B, D, 8192)
    monkeypatch.setattr(gpu_kernels, "MOST", 7)
    assert np.array_equal(A100.matmul(B, D, 8192).high, at_once.high)


def test_a_gpu_a_dtype_or_a_size_that_was_not_measured_widens_the_interval():
    known = H100.matmul(64, 8192, 8192)
    assert "gpus beyond 4 to 4" in A100.all_reduce(1e6, 8, "pairs").basis
    assert "size beyond 2,048 to 67,108,864" in H100.all_reduce(1e9, 8).basis
    cases = {
        "no H200 was measured": calibrate("H200").matmul(64, 8192, 8192),
        "no fp8 kernel was measured": H100.matmul(64, 8192, 8192, "fp8"),
        "D beyond 512 to 24,576": H100.matmul(64, 2**15, 8192),
    }
    for told, prediction in cases.items():
        assert told in prediction.basis
        assert prediction.high / prediction.low > known.high / known.low
        assert prediction.correlation == 1
    assert known.basis == "fitted to PyTorch's 16-bit matmuls on H100 SXM"
    assert known.correlation < 0.5


def test_a_chip_of_ones_own_is_not_the_measured_one_whose_name_it_has():
    slower = calibrate(replace(H100.chip, bandwidth=2e12))
    assert H100.measured
    assert not slower.measured
    assert "no H100 SXM was measured" in slower.matmul(64, 8192, 8192).basis


def test_a_gpu_that_was_not_measured_goes_by_the_most_alike():
    assert calibrate("L40S").like == "A100 80GB SXM"
    assert calibrate("B200").like == "H100 SXM"
    # 1,536 threads a multiprocessor hold one row of a norm at a time: more waves.
    l40s = calibrate("L40S")
    rows = l40s.gpu.multiprocessors + 1
    assert l40s.gpu.rows == 1
    more, fewer = (
        calibration.elementwise(rows, 1024, "norm").seconds
        for calibration in (l40s, calibrate(replace(l40s.chip, threads=2048)))
    )
    assert more > fewer


def test_a_kernel_that_was_never_measured_claims_no_coverage():
    attention = rk.Cost(1e12, 1e9)
    prediction = H100.predict(attention)
    assert prediction.coverage is None
    assert prediction.low == H100.chip.roofline("bf16").estimate(attention).lower
    assert prediction.low < prediction.seconds < prediction.high
    whole = H100.total([prediction, H100.matmul(64, 8192, 8192)])
    assert whole.coverage is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: calibrate("TPU v5e"), "TPU v5e is none"),
        (lambda: calibrate("H100", dtype="bf16"), "leave out roof= and dtype="),
        (lambda: calibrate(rk.chip("H100"), rk.Roofline(1e14, 1e12)), "leave out roof= and dtype="),
        (lambda: calibrate("Snapdragon"), "Snapdragon"),
        (
            lambda: calibrate("AGX Orin"),
            "AGX Orin that predictions rest on is not confirmed",
        ),
        (lambda: calibrate(rk.Chip("mine", {"bf16": 1e14}, 1e12)), "'multiprocessors'"),
        (lambda: calibrate(replace(H100.chip, threads=None)), "'threads'"),
        (lambda: A100.matmul(0, 1, 1), "B must be finite and above 0"),
        (lambda: A100.matmul(1, 1024, 1024, "fp8"), "no peak for dtype 'fp8'"),
        (lambda: A100.elementwise(1, 1024, "gelu"), "kind must be one of add, norm, activation"),
        (lambda: A100.all_reduce(1e6, 1), "gpus must be a whole number of at least 2"),
        (lambda: H100.all_reduce(1e6, 64), "a switch joins at most 8 H100 SXM, got 64"),
        (lambda: A100.all_reduce(1e6, 64, gpus_per_node=16), "joins at most 8 A100 80GB SXM"),
        (
            lambda: A100.all_reduce(1e6, 8, topology="torus"),
            "topology='torus' is not one of switch, pairs",
        ),
        (lambda: H100.all_reduce(1e6, 16, gpus_per_node=8), "over 'network-8'"),
        (lambda: A100.all_reduce(1e9, 16, gpus_per_node=8), "no interval is known"),
        (lambda: Prediction.total([]), "one prediction or more"),
    ],
)
def test_what_cannot_be_predicted_is_refused(call, told):
    with pytest.raises(ValueError, match=r".") as refusal:
        call()
    assert told in str(refusal.value)


def test_a_sum_says_once_what_its_parts_rest_on():
    h200 = calibrate("H200")
    parts = [h200.matmul(1, 4096, 4096), h200.elementwise(1, 4096), h200.predict(rk.Cost(1e9, 1e9))]
    reasons = h200.total(parts).basis.split("; ")
    assert len(reasons) == len(set(reasons)) == 4
    assert reasons.count("no H200 was measured") == 1


def test_the_interval_of_a_sum_lies_between_root_and_plain_sum():
    parts = [Prediction(1.0, 0.9, 1.2, correlation=r) for r in (0.0, 0.0, 0.0, 0.0)]
    assert Prediction.total(parts).low == pytest.approx(4 - 0.2)
    assert Prediction.total(parts).high == pytest.approx(4 + 0.4)
    parts[0] = Prediction(1.0, 0.9, 1.2, correlation=1.0)
    assert Prediction.total(parts).high == pytest.approx(4 + 0.8)
    # The same kernel forty times makes the same error forty times.
    assert (40 * parts[1]).low == pytest.approx(36)
    several = Prediction.total([Prediction(np.ones(2), np.zeros(2), 2 * np.ones(2))] * 2)
    assert several.high.tolist() == [4, 4]
