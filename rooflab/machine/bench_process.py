"""The measuring process, which runs the steps of a plan and prints each result as a JSON line.

``measure`` starts it as ``python -m rooflab.machine.bench_process`` and sets the number of threads
in its environment, because BLAS libraries read that number only when they are loaded.
"""

import functools
import itertools
import json
import math
import os
import platform
import sys
from time import perf_counter

import numpy as np

from roofkit._inputs import itemsize
from rooflab.machine.backends import find_backend
from rooflab.machine.plans import GAPS, PLANS, Plan

MIN_SAMPLE = 1e-3  # seconds, far longer than the resolution of the clock
MAX_SAMPLES = 12
ROUNDS = 2
MAX_COPIES = 1024


def make_calls(backend, step, pool):
    """Return the calls of a step, each with different operands, so that none are cached."""
    operation = getattr(backend, step.kernel)
    if step.kernel != "matmul":
        (N,) = step.shape
        gaps = GAPS if max(GAPS) * 64 < N else (0,)
        return [functools.partial(operation, pool[:N], pool[N + gap : 2 * N + gap]) for gap in gaps]
    B, D, F = step.shape
    x, rest = pool[: B * D].reshape(B, D), pool[B * D :]
    out = backend.empty((B, F), step.dtype)
    copies = min(len(rest) // (D * F), MAX_COPIES)
    flats = (rest[i * D * F : (i + 1) * D * F] for i in range(copies))
    return [
        functools.partial(operation, x, backend.weight(flat, D, F, step.dtype), out)
        for flat in flats
    ]


def take_samples(backend, step, pool):
    """Return the samples (seconds per call) taken within the budget, and the calls per sample."""
    start = perf_counter()
    backend.set_up(step.dtype)
    cycle = itertools.cycle(make_calls(backend, step, pool))
    seconds = backend.time(itertools.islice(cycle, 1))
    if seconds < step.budget / 5:
        seconds = backend.time(itertools.islice(cycle, 1))  # the first call also wakes the threads
    repeats = min(max(1, math.ceil(MIN_SAMPLE / max(seconds, 1e-9))), 10_000)
    samples = []
    while len(samples) < MAX_SAMPLES and (
        not samples or perf_counter() - start + samples[-1] * repeats < step.budget
    ):
        samples.append(backend.time(itertools.islice(cycle, repeats)) / repeats)
    return samples, repeats


def run_plan(plan, backend, emit):
    """Run the plan, then call emit("timing", …) or emit("skipped", …) for each step.

    Every step runs twice, seconds apart, so a short disturbance affects only one of the runs.
    """
    begin = perf_counter()
    pools = Pools(backend, plan)
    steps = list(plan.steps(backend.dtypes))
    samples, repeats, reasons = (dict.fromkeys(steps, start) for start in ((), 1, "time is up"))
    for place, step in enumerate(ROUNDS * steps):
        if perf_counter() - begin > plan.limit:
            break
        emit("step", done=place + 1, steps=ROUNDS * len(steps), **step.title)
        needed = _bound_seconds(step, samples, backend)
        # The budget must allow a warm-up call and one sample.
        if 2 * needed > step.budget:
            reasons[step] = f"would take longer than its limit of {step.budget:g} s"
            continue
        try:
            pool = pools.get(step.dtype)
            if step.elements > len(pool):
                raise MemoryError
            new_samples, repeats[step] = take_samples(backend, step, pool)
            samples[step] += tuple(new_samples)
        except backend.out_of_memory:
            reasons[step] = "too little memory"
    for step in steps:
        if not samples[step]:
            emit("skipped", **step.title, why=reasons[step])
            continue
        cost = step.cost(backend.write_allocate)
        emit(
            "timing", **step.title, flops=cost.flops, bytes=cost.bytes, calls=repeats[step],
            samples=[float(f"{seconds:.5g}") for seconds in samples[step]],
        )  # fmt: skip


def _bound_seconds(step, samples, backend):
    """Estimate the seconds of a step from other steps in its series; return 0 without any.

    Returns the lowest estimate, so that one disturbed step cannot rule out itself or later ones.
    """
    cost = step.cost(backend.write_allocate)
    return min(
        (
            _scale_seconds(min(seconds), other.cost(backend.write_allocate), cost)
            for other, seconds in samples.items()
            if seconds and other != step and other.series == step.series
        ),
        default=0,
    )


def _scale_seconds(seconds, before, cost):
    """Scale seconds from one Cost to another by the larger of the FLOPs and bytes ratios."""
    return seconds * max(
        after / done
        for after, done in ((cost.flops, before.flops), (cost.bytes, before.bytes))
        if done
    )


class Pools:
    """Random elements shared by all steps of a dtype. Only one dtype is in memory at a time."""

    def __init__(self, backend, plan):
        self.backend = backend
        self.bytes = min(
            max(*plan.sizes, *(2 * 8 * N * N for N in plan.squares)) + 8 * max(GAPS),
            backend.memory() / 4,
        )
        self.dtype = self.pool = None

    def get(self, dtype):
        if dtype != self.dtype:
            # Free the old pool before allocating the next one.
            self.dtype = self.pool = None
            self.pool = self.backend.pool(int(self.bytes / itemsize(dtype)), dtype)
            self.dtype = dtype
        return self.pool


def describe_machine(backend, threads):
    return {
        "name": " ".join(backend.name().split()), "device": backend.device,
        "library": backend.library, "cores": count_cores(), "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
    }  # fmt: skip


def list_versions(backend):
    """Return the versions of Python, NumPy, its BLAS and the timed library."""
    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return {
        "python": platform.python_version(), "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        **backend.versions(),
    }  # fmt: skip


def count_cores():
    # A process in a container may be limited to some of the cores.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main():
    """Read {"device", "threads", "quick", "plan"} from the command line and print lines of JSON."""
    request = json.loads(sys.argv[1])
    threads = request["threads"]
    # Whatever libraries print goes to standard error, so standard output contains only JSON.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def emit(event, **content):
        print(json.dumps({"event": event, **content}), file=lines, flush=True)

    try:
        backend = find_backend(request["device"], threads)
    except ValueError as error:
        emit("refused", message=str(error))
        return
    plan = Plan(**request["plan"]) if request["plan"] else PLANS[backend.kind, request["quick"]]
    emit("start", machine=describe_machine(backend, threads), versions=list_versions(backend))
    run_plan(plan, backend, emit)
    emit("end")


if __name__ == "__main__":
    main()
