"""Predicted times of GPU kernels: the formulas, the fit behind them, and what intervals hold."""

import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from cases import cases

import roofkit as rk
from benchmarks import fit_gpus
from roofkit.models import Precision
from roofkit.models.predictions import Prediction
from rooflab.machine import calibrate, gpu_kernels

A100, H100, L40S = calibrate("A100 80GB SXM"), calibrate("H100"), calibrate("L40S")
NOW, BEFORE = "vLLM 2026", "PyTorch 2024"
OLD = calibrate("H100", software=BEFORE)
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
    monkeypatch.setattr(gpu_kernels, "LARGEST_TILE", 2**16)
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


def test_weights_that_were_multiplied_by_in_turn_lie_in_the_cache_if_all_fit():
    memory = {**FREE, "peak": 1e30, "bandwidth": 0.5, "turns": 4}
    D = np.array([750, 875, 1000, 2000])  # four W fill 0.75, 0.875, 1 and 2 times the cache
    moved = [0, 0.5 * 2 * 875 * 5000, 2 * 1000 * 5000, 2 * 2000 * 5000]
    seconds, _ = gpu_kernels.matmul(PLAIN, memory, 1, D, 5000, 2)
    assert seconds == pytest.approx((np.array(moved) + 2 * (D + 5000)) / 0.5e12)


def test_a_matmul_of_8_bits_narrows_its_input_and_its_rows_choose_the_tile():
    free = {**FREE, "row": 0.0, "narrow": 1e30}
    narrowed = {**free, "row": 1e-6, "narrow": 0.5}
    plain, more = (gpu_kernels.matmul(PLAIN, c, 200, 1024, 12800, 1)[0] for c in (free, narrowed))
    assert more - plain == pytest.approx(1e-6 * 200 / 100 + 3 * 200 * 1024 / 0.5e12)
    # One tile of 64 × 64, 64 × 128 or 128 × 128 on a multiprocessor; no sum is split.
    rows = np.array([64, 128, 256])
    seconds, _ = gpu_kernels.matmul(PLAIN, free, rows, 2**20, 64, 1)
    assert seconds == pytest.approx(2 * 64 * 2**20 / 1e12 * np.array([64, 128, 256]))


def test_rows_of_a_norm_come_in_waves_and_of_an_add_do_not():
    norm = {"bandwidth": 1e30, "rate": 1e30, "step": 1e-6, "overhead": 0.0, "cached": 0.0}
    rows = np.array([1, 200, 201, 401])
    seconds = gpu_kernels.row_kernel(PLAIN, norm, rows, 1025, 2, "rms_norm")
    assert seconds == pytest.approx([2e-6, 2e-6, 4e-6, 6e-6])
    # 1 GB/s a multiprocessor, 100 of them: 4 MB take 40 µs.
    norm |= {"rate": 1e9, "step": 0.0}
    seconds = gpu_kernels.row_kernel(PLAIN, norm, 1000, 1000, 2, "rms_norm")
    assert seconds == pytest.approx(4e-5)
    add = {"bandwidth": 0.5, "overhead": 1e-6, "cached": 0.5}
    rows = np.array([4, 6, 8, 16]) * 1e6 / 1024  # of 1,024: 24, 36, 48 and 96 MB of a 40 MB cache
    assert gpu_kernels.row_kernel(PLAIN, add, rows, 1024, 2, "add") == pytest.approx(
        1e-6 + np.array([24 * 0.5, 36 * 0.75, 48, 96]) * 1e6 / 0.5e12
    )
    fast = replace(PLAIN, clock=2.0, speed=16.0)
    assert gpu_kernels.row_kernel(fast, add, 0.0, 1024, 2, "add") == pytest.approx(5e-7)
    # Twice the clock halves a step; the rate grows with the root of a multiprocessor's speed.
    norm |= {"step": 1e-6}
    assert gpu_kernels.row_kernel(fast, norm, 1, 1024, 2, "rms_norm") == pytest.approx(
        np.cbrt(5e-7**3 + (4096 / (1e9 * 4 * 100)) ** 3)
    )


@cases(
    ("kind", "passes"),
    [("add", 3), ("rms_norm", 2), ("layer_norm", 2), ("gated_activation", 3), ("activation", 2)],
)
def test_each_kind_of_row_kernel_moves_its_own_bytes(kind, passes):
    its = {"bandwidth": 0.5, "rate": 1e30, "step": 0.0, "overhead": 0.0, "cached": 0.0}
    seconds = gpu_kernels.row_kernel(PLAIN, its, 10000, 8192, 2, kind)
    assert seconds == pytest.approx(passes * 2 * 10000 * 8192 / 0.5e12)


ATTENDS = {"peak": 1.0, "softmax": 0.0, "block": 0.0, "bandwidth": 1e30, "store": 1e30,
           "overhead": 0.0}  # fmt: skip
DECODES = {"block": 0.0, "rate": 1e30, "join": 0.0, "bandwidth": 1e30, "overhead": 0.0,
           "grouped": 0.0, "grouped_only": 0}  # fmt: skip


def test_a_prefill_meets_whole_blocks_of_keys_up_to_the_diagonal():
    # 100 multiprocessors of 1 TFLOP/s: 2 blocks of queries meet 1 and 2 blocks of keys.
    step = 64 * 64 * 4 * 128 / 1e12
    found = gpu_kernels.prefill(PLAIN, ATTENDS, 50, 128, 0, 4, 2, 128)
    assert found == pytest.approx(50 * 4 * 3 * step / 100 + 2 * step)
    # Part of a block costs all of it, and cached keys are met by every block.
    after = gpu_kernels.prefill(PLAIN, ATTENDS, 50, 65, 100, 4, 2, 128)
    assert after == pytest.approx(50 * 4 * (2 * 2 + 3) * step / 100 + 4 * step)
    # A softmax of 4 · 128 FLOPs a score takes as long as the products.
    assert gpu_kernels.prefill(
        PLAIN, {**ATTENDS, "softmax": 512.0}, 50, 128, 0, 4, 2, 128
    ) == pytest.approx(2 * found)


def test_a_prefill_moves_queries_and_stores_keys():
    moved = {**ATTENDS, "peak": 1e30, "bandwidth": 0.5}
    queries = 4 * 8 * 1000 * 32 * 128
    assert gpu_kernels.prefill(PLAIN, moved, 8, 1000, 0, 32, 8, 128) == pytest.approx(
        queries / 0.5e12
    )
    stored = gpu_kernels.prefill(PLAIN, {**moved, "store": 0.25}, 8, 1000, 0, 32, 8, 128)
    assert stored == pytest.approx(queries / 0.5e12 + 4 * 8 * 1000 * 8 * 128 / 0.25e12)


def test_a_decoding_step_reads_the_cache_and_splits_it_where_blocks_are_few():
    read = gpu_kernels.decode(PLAIN, {**DECODES, "bandwidth": 0.5}, 64, 4095, 32, 8, 128)
    assert read == pytest.approx(64 * (4 * 128 * 4096 * 8 + 4 * 32 * 128) / 0.5e12)
    # A head's 2 MiB at 1 GB/s, by one block, or by 128 of which 100 work at a time.
    slow = {**DECODES, "rate": 1e9}
    alone, shared = (
        gpu_kernels.decode(PLAIN, {**slow, "join": join}, 1, 4095, 4, 1, 128) for join in (1.0, 0.0)
    )
    whole = 4 * 128 * 4096 / 1e9
    assert alone == pytest.approx(whole)
    assert shared == pytest.approx(whole / 100)
    # Blocks that share keys only in groups leave single heads to one block each.
    for heads, seconds in ((4, whole / 100), (1, whole)):
        only = gpu_kernels.decode(PLAIN, {**slow, "grouped_only": 1}, 1, 4095, heads, 1, 128)
        assert only == pytest.approx(seconds)
    sorting = gpu_kernels.decode(PLAIN, {**slow, "grouped": 1e-3}, 1, 4095, [4, 1], 1, 128)
    assert sorting == pytest.approx([whole / 100 + 1e-3, whole / 100])


def test_a_collective_sends_its_bytes_once_or_twice_and_fills_a_pipeline():
    link = {"latency": 1e-5, "bus": 1e11, "fill": 0.0}
    assert gpu_kernels.collective(link, 1e9, 4) == pytest.approx(1e-5 + 1.5e9 / 1e11)
    assert gpu_kernels.collective(link, 1e9, 4, 1) == pytest.approx(1e-5 + 0.75e9 / 1e11)
    filled = gpu_kernels.collective({**link, "fill": 4e-6}, 0.5e6, 2)
    assert filled == pytest.approx(1e-5 + (2e-3 + np.sqrt(5e-6)) ** 2)
    assert gpu_kernels.collective({**link, "hop": 1e-6}, 0.0, 8) == pytest.approx(1.7e-5)


# The fit


BEST = list(csv.DictReader((fit_gpus.DATA / "best-matmuls.csv").open(encoding="utf-8")))


@cases("row", BEST)
def test_the_fastest_matmuls_that_others_found_are_near_and_above_the_bound(row):
    chip, dtype = rk.chip(row["chip"]), row["dtype"]
    M, N, K = (int(row[size]) for size in "MNK")
    measured = 2 * M * N * K / (float(row["tflops"]) * 1e12)
    cost = rk.kernels.matmul(M, K, N, dtype=dtype, out_dtype="bf16")
    assert measured > chip.roofline(dtype).estimate(cost).lower
    if chip.multiprocessors is not None and chip.sku.startswith("NVIDIA"):
        for software in (NOW, BEFORE):
            predicted = calibrate(chip, software=software).matmul(M, K, N, dtype)
            # One kernel that a search found, and of 8 bits without narrowing its input.
            least = 0.8 if dtype in ("bf16", "fp16") else 0.35
            assert least < measured / predicted.seconds < 1.1


# Predictions


def test_every_basis_names_gpu_library_and_year():
    for prediction, told in (
        (H100.matmul(64, 8192, 8192), "vLLM 0.24.0's 16-bit matmuls on H100 SXM, 2026"),
        (L40S.matmul(64, 8192, 8192, "fp8"), "vLLM 0.24.0's fp8 matmuls on L40S, 2026"),
        (OLD.matmul(64, 8192, 8192), "PyTorch's 16-bit matmuls on H100 SXM, 2024"),
        (OLD.elementwise(64, 8192, "rms_norm"), "vLLM's RMSNorms on H100 SXM, 2024"),
        (H100.all_reduce(1e6, 8), "NCCL 2.29.2's all-reduces on H100 SXM, 2026"),
        (A100.attention(1, 2048, 0, 32, 8, 128),
         "vLLM 0.14.0's attention in prefills on A100 80GB SXM, 2026"),
    ):  # fmt: skip
        assert prediction.basis == f"fitted to {told}"
        assert prediction.coverage == 0.9
        # Whole layers were timed with the older software alone.
        assert (prediction.correlation < 0.5) == ("2024" in told)


def test_predictions_broadcast_and_plain_numbers_stay_plain():
    B, D = np.array([[1], [64], [4096]]), np.array([1024, 8192])
    grid = H100.matmul(B, D, 8192)
    assert grid.seconds.shape == grid.low.shape == grid.high.shape == (3, 2)
    one = H100.matmul(64, 8192, 8192)
    assert (grid.seconds[1, 1], grid.low[1, 1], grid.high[1, 1]) == (one.seconds, one.low, one.high)
    assert type(one.seconds) is type(one.low) is float
    assert A100.elementwise(B, D, "rms_norm").high.shape == (3, 2)
    assert type(A100.elementwise(1, 8192).seconds) is float
    assert A100.all_reduce(np.array([1e4, 1e6]), 8).low.shape == (2,)
    assert H100.attention(B, 1, D, 32, 8, 128).low.shape == (3, 2)
    assert H100.attention(4, D, 0, 32, 8, 128).low.shape == (2,)
    assert type(H100.attention(4, 512, 0, 32, 8, 128).high) is float


def test_the_interval_of_one_is_its_own_whatever_is_beside_it():
    both, near = H100.matmul(np.array([512, 10**6]), 8192, 8192), H100.matmul(512, 8192, 8192)
    far = H100.matmul(10**6, 8192, 8192)
    assert both.low.tolist() == [near.low, far.low]
    assert both.high.tolist() == [near.high, far.high]
    assert (near.coverage, both.coverage, far.coverage) == (0.9, None, None)


def test_more_shapes_than_fit_at_once_are_predicted_in_pieces(monkeypatch):
    B, D = np.arange(1, 41)[:, None], np.array([1024, 4096, 8192])
    at_once = A100.matmul(B, D, 8192)
    monkeypatch.setattr(gpu_kernels, "SHAPES_AT_ONCE", 7)
    assert np.array_equal(A100.matmul(B, D, 8192).high, at_once.high)


@cases(
    ("told", "ask"),
    [
        ("no H200 was timed", lambda: calibrate("H200").matmul(64, 8192, 8192)),
        ("no L40S was timed", lambda: L40S.attention(1, 2048, 0, 32, 8, 128)),
        ("no int8 matmul was timed", lambda: H100.matmul(64, 8192, 8192, "int8")),
        ("none was timed with PyTorch 2024", lambda: OLD.matmul(64, 8192, 8192, "fp8")),
        ("none was timed with vLLM 2026", lambda: H100.elementwise(64, 8192)),
        ("no layer norm was timed", lambda: OLD.elementwise(64, 4096, "layer_norm")),
        ("4-bit weights was timed", lambda: H100.matmul(64, 8192, 8192, weight_itemsize=0.5)),
        ("no fp8 attention was timed", lambda: H100.attention(8, 1, 999, 32, 8, 128, "fp8")),
        ("no 8-bit cache was timed",
         lambda: H100.attention(8, 1, 999, 32, 8, 128, kv_itemsize=1)),
        ("cached outside 0 to 0", lambda: H100.attention(8, 64, 999, 32, 8, 128)),
        ("tokens outside", lambda: H100.attention(256, 16384, 0, 8, 1, 128)),
        ("D outside 256 to 16,384", lambda: H100.matmul(64, 2**15, 8192)),
        ("size outside 512 to 536,870,912", lambda: H100.all_reduce(1e9, 8)),
        ("gpus outside 4 to 4",
         lambda: calibrate("A100 80GB SXM", software=BEFORE).all_reduce(1e6, 8, "pairs")),
    ],
)  # fmt: skip
def test_coverage_is_claimed_for_nothing_that_was_not_timed(told, ask):
    prediction = ask()
    assert told in prediction.basis
    assert prediction.coverage is None
    assert prediction.correlation == 1
    assert prediction.low < prediction.seconds < prediction.high
    assert "%" not in repr(prediction)


FORMATS = [
    {}, {"weights": "fp8", "activations": "fp8"}, {"weights": "int8"}, {"weights": "int4"},
    {"weights": "mxfp8", "activations": "fp8"}, {"weights": "nvfp4", "activations": "fp4"},
    {"weights": "int8", "activations": "int8", "scales": 128}, {"weights": "nvfp4"},
    {"weights": "int4", "activations": "int8", "scales": 128},
]  # fmt: skip


@cases("formats", FORMATS)
def test_every_predicted_time_is_finite_and_not_below_its_bound(formats):
    batches, counted = np.array([1, 2, 7, 16, 17, 33, 48, 100, 999]), 0
    for chip in rk.chips():
        try:
            served = rk.llm("Llama-3.1-8B").on(
                chip, precision=Precision(**formats), calibration=calibrate(chip)
            )
            table = served.decode(batches, 1024)
        except ValueError as refusal:
            if re.search("only NVIDIA|predictions (need|for)|no peak|no unit", str(refusal)):
                continue
            raise
        found, counted = table.prediction, counted + 1
        assert np.isfinite([found.seconds, found.low, found.high]).all()
        assert (found.seconds >= table.time).all()
        assert (found.low <= found.seconds).all()
        assert (found.seconds <= found.high).all()
    assert counted > 3


def test_a_chip_of_ones_own_is_not_the_timed_one_whose_name_it_has():
    slower = calibrate(replace(H100.chip, bandwidth=2e12))
    assert H100.is_timed
    assert not slower.is_timed
    assert "no H100 SXM was timed" in slower.matmul(64, 8192, 8192).basis


def test_a_gpu_that_was_not_timed_goes_by_the_most_alike():
    assert calibrate("L40S", software=BEFORE).nearest_gpu == "A100 80GB SXM"
    assert L40S.nearest_gpu == calibrate("L40").nearest_gpu == "L40S"
    assert calibrate("B200").nearest_gpu == "H100 SXM"
    # Of what was timed on other GPUs alone, the most alike of these.
    assert "on A100 80GB SXM" in L40S.attention(1, 2048, 0, 32, 8, 128).basis
    # 1,536 threads a multiprocessor hold one row of a norm at a time: more waves.
    rows = L40S.gpu.multiprocessors + 1
    assert L40S.gpu.rows == 1
    more, fewer = (
        calibration.elementwise(rows, 1024, "rms_norm").seconds
        for calibration in (L40S, calibrate(replace(L40S.chip, threads=2048)))
    )
    assert more > fewer


def test_a_kernel_that_was_never_timed_claims_no_coverage():
    attention = rk.Cost(1e12, 1e9)
    prediction = H100.predict(attention)
    assert prediction.coverage is None
    assert prediction.low == H100.chip.roofline("bf16").estimate(attention).lower
    assert prediction.low < prediction.seconds < prediction.high
    whole = H100.total([prediction, H100.matmul(64, 8192, 8192)])
    assert whole.coverage is None


@cases(
    ("call", "told"),
    [
        (lambda: calibrate("TPU v5e"), "TPU v5e is not one"),
        (lambda: calibrate(rk.chip("H100"), rk.Roofline(1e14, 1e12)), "leave out roof= and dtype="),
        (lambda: calibrate("AGX Orin"), "predictions for AGX Orin need confirmed values"),
        (lambda: calibrate(rk.Chip("mine", {"bf16": 1e14}, 1e12)), "'multiprocessors'"),
        (lambda: A100.matmul(0, 1, 1), "B must be finite and above 0"),
        (lambda: A100.elementwise(1, 1024, "gelu"), "kind must be one of add, rms_norm, layer"),
        (lambda: calibrate("H100", software="vidur"), "choose 'vLLM 2026' or 'PyTorch 2024'"),
        (lambda: calibrate([], software=NOW), "software="),
        (lambda: H100.attention(1, 0, 0, 8, 8, 128), "new must be finite and above 0"),
        (lambda: A100.all_reduce(1e6, 1), "gpus must be a whole number of at least 2"),
        (
            lambda: A100.all_reduce(1e6, 8, topology="torus"),
            "topology='torus' is not one of switch, pairs",
        ),
        (lambda: H100.all_reduce(1e6, 16, gpus_per_node=8), "over a 'network-8' link"),
        (lambda: H100.all_reduce(1e6, 64), "a switch joins at most 8 H100 SXM, got 64"),
        (lambda: H100.all_gather(1e6, 4, "pairs"), "no all-gather over a"),
        (lambda: L40S.all_reduce(1e6, 2, "pairs"), "no all-reduce over a"),
        (lambda: Prediction.total([]), "at least one prediction"),
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
    assert len(reasons) == len(set(reasons)) == 5
    assert reasons.count("no H200 was timed") == 1


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
