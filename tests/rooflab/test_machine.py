"""Measuring: structure, budgets and files, never a speed. Fitting: known truths are found again."""

import json
import subprocess
import sys
import types
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import roofkit as rk
from rooflab.machine import backends, bench_process, bench_reader, measurements, plans
from rooflab.machine.calibration import Calibration, calibrate
from rooflab.machine.measurements import Measurements, Timing

TINY = plans.Plan(
    squares=(64, 128),
    sizes=(2**14, 2**17, 2**20),
    weights=((64, 64), (128, 256)),
    batches=(1, 4, 16, 64, 256),
    swept=1, peak=60, ladder=60, sweep=60, limit=600,  # a busy machine takes longer, that is all
)  # fmt: skip
ROOF = rk.Roofline(1e15, 3e12)
SHAPES = rk.matmul(
    np.array([1, 4, 16, 64, 256, 1024, 4096, 8192, 16384, 32768])[:, None],
    *np.array([[1024, 4096, 16384]] * 2),
)


def _asked(device="cpu", plan=TINY):
    return {"device": device, "threads": 1, "quick": True, "plan": asdict(plan)}


@pytest.fixture(scope="module")
def measured():
    return measurements._measure(_asked())


def _structure(measurements):
    return {(t.part, t.kernel, t.dtype, t.shape) for t in measurements.timings}


# What a run returns


def test_every_step_of_the_plan_is_measured_or_named_as_skipped(measured):
    steps = list(TINY.steps(backends.NumPy.dtypes))
    assert len(steps) == 2 + 3 * 3 + 2 * 2 + 2 * 5
    assert len(measured.timings) + len(measured.skipped) == len(steps)
    assert _structure(measured) <= {(s.part, s.kernel, s.dtype, s.shape) for s in steps}
    assert {"overhead", "ladder", "peak", "sweep"} == {t.part for t in measured.timings}


def test_every_sample_is_kept_with_what_it_did(measured):
    for timing in measured.timings:
        assert 1 <= timing.count <= bench_process.ROUNDS * bench_process.MAX_SAMPLES
        assert 0 < timing.best <= timing.median <= max(timing.samples)
        assert timing.calls >= 1
    one = measured.select(part="sweep", shape=(16, 128, 256))[0]
    assert one.cost == rk.matmul(16, 128, 256, "fp32")
    assert one.label == "16×128×256"


def test_bytes_count_the_write_allocate_of_a_copy_on_a_cpu_and_of_nothing_else(measured):
    N = 2**17 // 8
    counted = {
        kernel: measured.select(kernel=kernel, shape=(N,))[0].cost for kernel in plans.LADDER
    }
    assert counted["add_in_place"] == rk.Cost(N, 12 * N)
    assert counted["copy"] == rk.Cost(0, 12 * N)
    assert counted["dot"] == rk.dot(N, "fp32")
    step = plans.Step("ladder", "copy", "fp32", (N,), 1)
    assert step.cost(0).bytes == 8 * N


def test_ceilings_are_peaks_a_ladder_and_an_overhead(measured):
    ceilings = measured.ceilings
    assert set(ceilings.peaks) == {"fp32", "fp64"}
    assert tuple(ceilings.bandwidth) == TINY.sizes
    assert set(ceilings.ladders) == set(plans.LADDER)
    for size, speed in ceilings.bandwidth.items():
        assert speed == max(ceilings.ladders[kernel][size] for kernel in ("add_in_place", "dot"))
    assert 0 < ceilings.overhead < 1e-2
    assert ceilings.peaks["fp32"] == max(
        t.flops / t.best
        for t in measured.select(kernel="matmul", dtype="fp32")
        if min(t.shape) >= 64
    )


def test_the_memory_bandwidth_is_that_of_the_largest_working_sets():
    def ladder(kernel, size, speed):
        N = size // 8
        cost = plans.Step("ladder", kernel, "fp32", (N,), 1).cost(1)
        seconds = cost.bytes / speed
        return Timing("ladder", kernel, "fp32", (N,), cost.flops, cost.bytes, 1, (seconds,))

    cached = {2**14: 9e11, 2**20: 5e11, 2**26: 6e10, 2**27: 5e10, 2**28: 4e10}
    timings = [ladder("dot", size, speed) for size, speed in cached.items()]
    timings.append(ladder("copy", 2**28, 9e10))
    somewhere = measurements.Machine("a machine", "cpu", "numpy", 1, 1, "an OS")
    mine = Measurements(somewhere, "2026-01-01", {}, timings)
    assert mine.ceilings.memory == pytest.approx(5e10)
    assert repr(mine.ceilings) == "Ceilings(memory 50 GB/s)"
    small, matmul = (
        Timing("peak", "matmul", "fp32", (N, N, N), 2 * N**3, 12 * N**2, 1, (1e-5,))
        for N in (8, 64)
    )
    with pytest.raises(ValueError, match="no large matmul was timed, and 1 of 8 steps"):
        replace(mine, timings=(*timings, small), skipped=["peak"]).chip()
    whole = replace(mine, timings=(*timings, matmul))
    assert whole.chip().bandwidth == pytest.approx(5e10)
    roofs = whole.rooflines("fp32")
    bandwidths = {name: roof.bandwidth for name, roof in roofs.items()}
    assert bandwidths == pytest.approx({"memory": 5e10, "1 MiB": 5e11, "16 KiB": 9e11})
    on_a_gpu = replace(mine, machine=replace(somewhere, device="cuda"))
    assert on_a_gpu.ceilings.bandwidth[2**28] == pytest.approx(9e10)


def test_a_measured_chip_is_a_chip(measured):
    chip = measured.chip()
    day = measured.date[:10]
    assert chip.sku == f"measured, {measured.machine.name}, {day}"
    assert (chip.on_chip, chip.interconnect, chip.usable) == (None, None, None)
    for figure in (*chip.peaks.values(), chip.bandwidth):
        assert figure.source.startswith("measured on ")
        assert figure.source.endswith(day)
    assert chip.roofline("fp32").estimate(rk.matmul(8, 8, 8, "fp32")).lower > 0
    with pytest.raises(ValueError, match="has no peak for dtype 'bf16'"):
        chip.roofline("bf16")


def test_measurements_show_as_a_table(measured):
    text, page = repr(measured), measured._repr_html_()
    for part in ("fp32 matmul", "FLOP/s", "bandwidth, 128 KiB", "one call", measured.machine.name):
        assert part in text
        assert part in page
    assert "<table>" in page
    assert len(text.splitlines()) == 2 + 2 + 3 + 2


def test_a_disturbed_run_carries_a_warning(measured):
    def run(*samples):
        rows = [replace(timing, samples=samples) for timing in measured.timings]
        return replace(measured, timings=rows)

    assert not run(1e-3, 1.02e-3, 1.05e-3, 9e-3).was_disturbed
    assert run(1e-3, 1.5e-3, 1.6e-3, 9e-3).was_disturbed
    assert "the times vary" in repr(run(1e-3, 1.5e-3, 1.6e-3, 9e-3))
    assert "close what else runs" not in repr(run(1e-3, 1e-3, 1e-3, 1e-3))


# Plans and budgets


@cases(("kind", "quick"), plans.PLANS)
def test_a_plans_budgets_add_up_to_less_than_its_limit_and_that_to_less_than_promised(kind, quick):
    plan = plans.PLANS[kind, quick]
    dtypes = ("bf16", "fp16", "fp32", "tf32", "fp8") if kind == "gpu" else ("fp32", "fp64")
    steps = list(plan.steps(dtypes))
    assert sum(step.budget for step in steps) <= plan.limit
    assert plan.limit + 2 * max(step.budget for step in steps) < (8 if quick else 50)
    assert len(set(steps)) == len(steps)
    assert plan.sizes[0] == 2**14
    assert quick or plan.sizes[-1] >= 2**29
    assert plan.batches[0] == 1
    assert plan.batches[-1] >= 1024


class Simulated(backends.NumPy):
    """A machine of known speed on a clock of its own."""

    def __init__(self, flops_per_s, bytes_per_s):
        self.clock, self.speeds = 0.0, (flops_per_s, bytes_per_s)
        for kernel in ("matmul", *plans.LADDER):
            setattr(self, kernel, lambda *arrays, kernel=kernel: self._spend(kernel, arrays))

    def _spend(self, kernel, arrays):
        shape = arrays[0].shape if kernel != "matmul" else (*arrays[0].shape, arrays[1].shape[1])
        cost = plans.Step("", kernel, "fp32", shape, 1).cost(1)
        self.clock += max(cost.flops / self.speeds[0], cost.bytes / self.speeds[1])

    def memory(self):
        return 2**34

    def pool(self, count, dtype):
        return np.broadcast_to(np.float32(1), count)

    def empty(self, shape, dtype):
        return None

    def time(self, calls):
        before = self.clock
        for call in calls:
            call()
        return self.clock - before


def _simulate(monkeypatch, backend, plan):
    monkeypatch.setattr(bench_process, "perf_counter", lambda: backend.clock)
    # Few samples: this simulation runs every call in Python.
    monkeypatch.setattr(bench_process, "MAX_SAMPLES", 2)
    monkeypatch.setattr(bench_process, "MIN_SAMPLE", 1e-5)
    events = []
    bench_process.run_plan(plan, backend, lambda event, **content: events.append((event, content)))
    return events


@pytest.mark.parametrize(("speed", "quick"), [(1e9, True), (1e10, False), (1e12, True)])
def test_a_slow_machine_measures_less_and_takes_no_longer(monkeypatch, quick, speed):
    backend = Simulated(speed, speed)
    plan = plans.PLANS["cpu", quick]
    events = _simulate(monkeypatch, backend, plan)
    assert backend.clock < (10 if quick else 60)
    results = [event for event, _ in events if event != "step"]
    assert len(results) == len(list(plan.steps(backend.dtypes)))
    skipped = results.count("skipped") / len(results)
    assert (skipped > 0.1) if speed == 1e9 else (skipped < 0.4)
    parts = {content["part"] for event, content in events if event == "timing"}
    assert parts == {"overhead", "ladder", "peak", "sweep"}


def test_one_disturbed_turn_stops_nothing_after_it(monkeypatch):
    backend = Simulated(1e11, 1e11)
    honest, turns = backend.time, []

    def disturbed(calls):
        # The first square takes a thousand times longer, the first time it comes up.
        before = backend.clock
        taken = honest(calls)
        if 5.0e-6 < taken < 5.5e-6 and len(turns) < 3:
            turns.append(taken)
            backend.clock = before + 0.02
        return backend.clock - before

    backend.time = disturbed
    events = _simulate(monkeypatch, backend, TINY)
    assert len(turns) == 3
    assert not [content for event, content in events if event == "skipped"]


def test_a_step_that_memory_does_not_hold_is_skipped(monkeypatch):
    backend = Simulated(1e11, 1e11)
    backend.memory = lambda: 2**21
    skipped = [c for e, c in _simulate(monkeypatch, backend, TINY) if e == "skipped"]
    assert skipped
    assert {content["why"] for content in skipped} == {"too little memory"}


def test_each_call_of_a_matmul_takes_another_weight():
    backend = backends.NumPy()
    pool = backend.pool(10 * 64 * 64, "fp32")
    assert pool.std() > 0.1
    calls = bench_process.make_calls(
        backend, plans.Step("sweep", "matmul", "fp32", (8, 64, 64), 1), pool
    )
    weights = [call.args[1] for call in calls]
    assert len(weights) == 9
    assert not any(np.shares_memory(weights[0], other) for other in weights[1:])


# Backends


@pytest.mark.weekly("measuring through PyTorch gives what NumPy gives")
def test_torch_on_the_cpu_gives_the_same_structure(measured):
    pytest.importorskip("torch")
    other = measurements._measure(_asked("torch-cpu"))
    common = {row for row in _structure(measured) if row[2] in ("fp32", "fp64")}
    missing = common - _structure(other)
    assert len(missing) <= len(other.skipped)
    assert {row[2] for row in _structure(other)} >= {"fp32", "fp64"}
    assert (other.machine.library, other.machine.device) == ("torch", "torch-cpu")
    assert "torch" in other.versions
    by_shape = {(t.kernel, t.dtype, t.shape): t.cost for t in measured.timings}
    for timing in other.timings:
        key = (timing.kernel, timing.dtype, timing.shape)
        assert by_shape.get(key, timing.cost) == timing.cost


@pytest.mark.weekly("measuring through PyTorch gives what NumPy gives")
def test_torch_multiplies_in_every_dtype_it_offers():
    torch = pytest.importorskip("torch")
    backend = backends.Torch(torch, "torch-cpu", threads=torch.get_num_threads())
    for dtype in (*backend.dtypes, "tf32"):
        backend.set_up(dtype)
        pool = backend.pool(2 * 16 * 32 + 7, dtype)
        assert pool.float().std() > 0.1
        step = plans.Step("peak", "matmul", dtype, (16, 32, 16), 1)
        (call,) = bench_process.make_calls(backend, step, pool)
        call()
        x, y, out = call.args
        assert torch.allclose(out.float(), x.float() @ y.float(), rtol=0.05, atol=0.05)
    backend.set_up("fp32")


def test_without_a_gpu_auto_is_numpy_and_cuda_is_refused(monkeypatch):
    monkeypatch.setattr(backends, "_import", lambda name, **_: None)
    assert type(backends.find_backend("auto", 1)) is backends.NumPy
    with pytest.raises(ValueError, match="PyTorch finds no GPU"):
        backends.find_backend("cuda", 1)
    with pytest.raises(ValueError, match="pip install torch"):
        backends.find_backend("torch-cpu", 1)


@cases(
    ("arguments", "told"),
    [
        ({"device": "tpu"}, "device='tpu' is not known; use one of auto, cpu, cuda, torch-cpu"),
        ({"threads": 0}, "threads=0 must be a whole number"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, told):
    with pytest.raises(ValueError, match=r"must be|not known") as refusal:
        measurements.measure(**arguments)
    assert told in str(refusal.value)


# The process that measures


def _worker_runs(monkeypatch, code):
    start = subprocess.Popen
    monkeypatch.setattr(
        bench_reader.subprocess, "Popen",
        lambda command, **rest: start([sys.executable, "-c", code], **rest),
    )  # fmt: skip


def test_the_worker_gets_its_threads_through_its_environment(monkeypatch):
    _worker_runs(
        monkeypatch,
        "import json, os; print(json.dumps({'event': 'refused', 'message': "
        "os.environ['OMP_NUM_THREADS'] + os.environ['OPENBLAS_NUM_THREADS']}))",
    )
    with pytest.raises(ValueError, match=r"^11$"):
        measurements._measure(_asked())


def test_a_worker_that_fails_says_where_and_why(monkeypatch):
    _worker_runs(
        monkeypatch,
        "import json; print(json.dumps({'event': 'step', 'part': 'peak', 'kernel': 'matmul', "
        "'dtype': 'fp32', 'shape': [8, 8, 8]}), flush=True); raise OSError('no BLAS')",
    )
    with pytest.raises(RuntimeError) as failure:
        measurements._measure(_asked())
    for part in ("exit code 1", "during peak matmul fp32 [8, 8, 8]", "OSError: no BLAS"):
        assert part in str(failure.value)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_killed_worker_names_the_signal(monkeypatch):
    _worker_runs(monkeypatch, "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(RuntimeError, match=r"died \(SIGKILL: out of memory.*during its start"):
        measurements._measure(_asked())


def test_a_worker_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(bench_reader, "STALL_SECONDS", 0.2)
    _worker_runs(monkeypatch, "import time; time.sleep(60)")
    with pytest.raises(RuntimeError, match="died"):
        measurements._measure(_asked())


def test_a_worker_that_stops_early_is_no_measurement(monkeypatch):
    _worker_runs(monkeypatch, "")
    with pytest.raises(RuntimeError, match="stopped before its last step"):
        measurements._measure(_asked())


def test_a_file_in_the_readers_folder_does_not_stand_in_for_a_module(monkeypatch, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('wrong json')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    brief = replace(TINY, squares=(8,), sizes=(2**14,), batches=(1,), weights=((8, 8),))
    assert measurements._measure(_asked(plan=brief)).timings


# Progress


def test_a_notebook_shows_one_bar_and_nothing_on_standard_error(monkeypatch, capsys):
    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data))

    def display(data, raw, display_id):
        shown.append(data)
        return handle

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    progress = bench_reader.Progress()
    progress.show(0.25, "ladder copy fp32")
    progress.show(0.5, "peak matmul fp32")
    progress.end()
    assert 'value="0.250"' in shown[0]["text/html"]
    assert "peak matmul" in shown[1]["text/html"]
    assert shown[2] == {"text/plain": "", "text/html": ""}
    assert capsys.readouterr() == ("", "")


# Files


def test_a_saved_run_loads_as_it_was(measured, tmp_path):
    path = tmp_path / "mine.json"
    measured.save(path)
    loaded = Measurements.load(path)
    assert loaded == measured
    assert hash(loaded) == hash(measured)
    assert loaded.ceilings == measured.ceilings
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["format"], document["version"]) == ("roofkit measurements", 1)


def _damaged(change):
    def rewrite(document):
        change(document)
        return json.dumps(document)

    return rewrite


@pytest.mark.parametrize(("rewrite", "told"), [
    (lambda d: "{", "mine.json as JSON: Expecting property name"),
    (lambda d: '{"name": "mine"}', 'has no measurements: its "format"'),
    (_damaged(lambda d: d.update(version=2)), "has version 2, not 1"),
    (_damaged(lambda d: d.pop("machine")), "its header is damaged: 'machine' is missing"),
    (_damaged(lambda d: d.update(timings=7)), "its header is damaged"),
    (_damaged(lambda d: d["timings"][2].pop("bytes")), "timing 2 is damaged"),
    (_damaged(lambda d: d["timings"][2].update(samples=[])), "timing 2 is damaged: samples"),
    (_damaged(lambda d: d["timings"][2].update(dtype="fp31")), "dtype='fp31' is not known"),
])  # fmt: skip
def test_a_bad_or_foreign_file_is_refused(measured, tmp_path, rewrite, told):
    path = tmp_path / "mine.json"
    measured.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(rewrite(document), encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.json") as refusal:
        Measurements.load(path)
    assert told in str(refusal.value)


# Calibration


@given(
    eff_flops=st.floats(0.3, 1),
    eff_bw=st.floats(0.3, 1),
    overhead=st.floats(2e-6, 5e-5),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=20, derandomize=True)
def test_known_efficiencies_are_found_again_through_noise_and_outliers(
    eff_flops, eff_bw, overhead, seed
):
    truth = Calibration(ROOF, eff_flops, eff_bw, overhead)
    rng = np.random.default_rng(seed)
    seconds = truth.seconds(SHAPES) * rng.lognormal(0, 0.01, SHAPES.flops.shape)
    # One on each side of the ridge: two of the few points that fix one term could outvote it.
    compute = ROOF.estimate(SHAPES).bound.ravel() == "compute"
    for side in (compute, ~compute):
        seconds.flat[rng.choice(np.flatnonzero(side))] *= 4
    fit = calibrate([(SHAPES, seconds)], ROOF)
    assert fit.eff_flops == pytest.approx(eff_flops, rel=0.1)
    assert fit.eff_bw == pytest.approx(eff_bw, rel=0.1)
    assert fit.overhead == pytest.approx(overhead, rel=0.2)
    assert fit.points == seconds.size
    assert fit.median_error < 0.03


def test_without_noise_the_fit_is_exact_and_the_bound_stays_apart():
    truth = Calibration(ROOF, 0.7, 0.9, 1.3e-5)
    fit = calibrate([(SHAPES, truth.seconds(SHAPES))], ROOF)
    assert fit.roof is ROOF
    assert fit.seconds(SHAPES) == pytest.approx(truth.seconds(SHAPES), rel=1e-3)
    assert fit.effective.peak_flops == pytest.approx(0.7e15, rel=1e-3)
    assert ROOF.estimate(SHAPES).lower.shape == fit.seconds(SHAPES).shape
    assert isinstance(fit.seconds(rk.Cost(1e9, 1e6)), float)
    assert repr(fit).startswith("Calibration(eff_flops=0.7, eff_bw=0.9, overhead=13 µs, median err")


LARGE = rk.matmul(2 ** np.arange(13)[:, None], *np.array([[4096, 16384]] * 2))  # no quick call


def test_points_that_do_not_determine_the_overhead_give_a_warning():
    truth = Calibration(ROOF, 0.7, 0.9, 1e-7)  # the quickest takes 12 µs
    noise = np.random.default_rng(4).lognormal(0, 0.05, LARGE.flops.shape)
    with pytest.warns(UserWarning, match="do not determine the overhead: anything from 0 to"):
        fit = calibrate([(LARGE, truth.seconds(LARGE) * noise)], ROOF)
    assert fit.eff_flops == pytest.approx(0.7, rel=0.05)
    assert fit.eff_bw == pytest.approx(0.9, rel=0.05)


def test_the_measured_call_that_does_nothing_bounds_the_overhead(measured, recwarn):
    truth = Calibration(ROOF, 0.7, 0.9, 1.1e-6)
    noise = np.random.default_rng(1).lognormal(0, 0.05, LARGE.flops.shape)
    seconds = truth.seconds(LARGE) * noise
    timings = [
        Timing("sweep", "matmul", "fp32", (1, 1, 1), *point, 1, (taken,))
        for *point, taken in zip(LARGE.flops.flat, LARGE.bytes.flat, seconds.flat, strict=True)
    ]
    nothing = Timing("overhead", "matmul", "fp32", (1, 1, 1), 2, 12, 1, (1.1e-6, 1.3e-6))
    fit = calibrate(replace(measured, timings=(nothing, *timings)), ROOF)
    assert 1.1e-6 <= fit.overhead <= seconds.min()
    assert not recwarn.list


def test_a_calibration_predicts_with_the_interval_of_points_left_out():
    truth, rng = Calibration(ROOF, 0.7, 0.9, 1e-5), np.random.default_rng(2)
    inside = []
    for _ in range(20):
        measured, later = (
            truth.seconds(SHAPES) * rng.lognormal(0, 0.05, SHAPES.flops.shape) for _ in range(2)
        )
        fit = calibrate([(SHAPES, measured)], ROOF, dtype="bf16")
        prediction = fit.predict(SHAPES)
        inside.append((prediction.low <= later) & (later <= prediction.high))
    assert fit.coverage == pytest.approx(0.9, abs=0.04)
    assert np.mean(inside) == pytest.approx(fit.coverage, abs=0.04)


def test_a_calibration_serves_what_one_of_a_gpu_does():
    cost = rk.matmul(np.array([1, 16, 1024, 8192])[:, None], *np.array([[1024, 8192]] * 2))
    truth = Calibration(ROOF, 0.7, 0.9, 1e-5)
    seconds = truth.seconds(cost) * [[1.1, 0.9], [0.9, 1.1], [1.1, 0.9], [0.9, 1.1]]
    fit = calibrate([(cost, seconds)], ROOF, dtype="bf16")
    assert fit.coverage == pytest.approx(7 / 9)  # of eight points the outermost
    one = fit.matmul(256, 4096, 4096, "bfloat16")
    assert one.seconds == fit.seconds(rk.matmul(256, 4096, 4096))
    assert one.low < one.seconds < one.high
    assert "8 points on this machine" in one.basis
    assert fit.elementwise(256, 4096, "rms_norm").seconds == fit.seconds(rk.Cost(0, 4 * 256 * 4096))
    whole = fit.total([2 * one, fit.elementwise(256, 4096)])
    assert whole.high == pytest.approx(2 * one.high + fit.elementwise(256, 4096).high)
    for call, told in (
        (lambda: fit.all_reduce(1e6, 8), "include no all-reduces"),
        (lambda: fit.matmul(1, 1, 1, "fp8"), "bf16 was fitted, not fp8"),
        (lambda: fit.elementwise(1, 1, "gelu"), "kind must be one of add"),
        (lambda: truth.predict(cost), "not fitted"),
        (lambda: truth.matmul(1, 1, 1), "pass dtype="),
    ):
        with pytest.raises(ValueError, match=told):
            call()


def _pretend(roof, truth, measured):
    """The run, with times that follow a known truth instead of this machine's."""
    shapes = [rk.matmul(B, D, D, "fp32") for D in (64, 1024, 4096) for B in (1, 4, 64, 1024)]
    timings = [
        Timing("sweep", "matmul", "fp32", (64, 64, 64), c.flops, c.bytes, 1, (truth.seconds(c),))
        for c in shapes
    ]
    return replace(measured, timings=(*measured.select(part="ladder"), *timings))


def test_a_run_is_calibrated_against_a_chip_a_roofline_or_itself(measured):
    laptop = rk.Chip("laptop", {"fp32": 4e11}, bandwidth=5e10)
    truth = Calibration(laptop.roofline("fp32"), 0.5, 0.8, 1e-6)
    run = _pretend(laptop.roofline("fp32"), truth, measured)
    by_chip = calibrate(run, laptop)
    assert by_chip.eff_flops == pytest.approx(0.5, rel=1e-2)
    assert by_chip.eff_bw == pytest.approx(0.8, rel=1e-2)
    assert calibrate(run, laptop.roofline("fp32"), dtype="fp32") == by_chip
    rows = [(timing.cost, timing.best) for timing in run.select(part="sweep")]
    assert calibrate(rows, laptop, dtype="fp32") == by_chip
    own = calibrate(run, rk.Roofline(run.chip().peak_flops("fp32"), 5e10))
    assert own.eff_flops == pytest.approx(1, rel=0.05)


@cases(
    ("pairs", "roof", "dtype", "told"),
    [
        ([(rk.Cost(1e12, [1.0, 2, 3]), 1e-3)], ROOF, None, "3 memory-bound points, got 0 of 3"),
        ([(rk.Cost(1e12, 1), -1)], ROOF, None, "the seconds of pair 0 must be finite and above 0"),
        ([(rk.Cost([1, 2], 1), [1, 2, 3])], ROOF, None, "pair 0: the Cost and its seconds do not"),
        ([(1e12, 1e-3)], ROOF, None, "pair 0 must be (Cost, seconds)"),
        ([], ROOF, None, "no points"),
        (7, ROOF, None, "a list of (Cost, seconds) pairs or a GPU's name, got int"),
        ([(rk.Cost(1, 1), 1)], None, None, "roof must be a Chip or a Roofline"),
        ([(rk.Cost(1, 1), 1)], rk.chip("H100"), None, "a peak per dtype"),
    ],
)
def test_what_cannot_be_fitted_is_refused(pairs, roof, dtype, told):
    with pytest.raises(ValueError, match=r"point|pair|roof|peak") as refusal:
        calibrate(pairs, roof, dtype=dtype)
    assert told in str(refusal.value)


def test_one_weight_alone_does_not_tell_overhead_from_bandwidth():
    truth = Calibration(ROOF, 0.7, 0.9, 1e-5)
    cost = rk.matmul(2.0 ** np.arange(13), 4096, 4096)
    with pytest.raises(ValueError, match="move about the same bytes"):
        calibrate([(cost, truth.seconds(cost))], ROOF)


def test_points_that_are_all_overhead_determine_no_bandwidth():
    truth = Calibration(ROOF, 0.7, 0.9, 1.0)
    with pytest.raises(ValueError, match=r"do not determine eff_(flops|bw)"):
        calibrate([(SHAPES, truth.seconds(SHAPES))], ROOF)


def test_a_dtype_that_was_not_swept_is_refused(measured):
    with pytest.raises(ValueError, match="no sweep of dtype 'fp64'; available: fp32"):
        calibrate(measured, dtype="fp64")


def list_impossible(mine):
    """Return the matmuls that are faster than the card's data sheet, if the table has one."""
    sheets = [chip.peaks for chip in rk.chips() if mine.machine.name in (chip.name, *chip.aliases)]
    return [t for t in mine.timings for at in sheets if t.flops > t.best * at.get(t.dtype, 9e99)]


@cases("path", sorted((Path(__file__).parents[2] / "rooflab/published").glob("*.json")))
def test_a_measurement_that_a_reader_sent_is_possible(path):
    mine = Measurements.load(path)
    assert not mine.was_disturbed
    assert len(mine.skipped) < len(mine.timings) / 4
    assert not list_impossible(mine)
    faster = [replace(timing, samples=(timing.best / 1e3,)) for timing in mine.timings]
    assert list_impossible(replace(mine, machine=replace(mine.machine, name="T4"), timings=faster))
