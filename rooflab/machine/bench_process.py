"""The process that measures: runs a plan step by step and prints every result as a line of JSON.

It is a program of its own: ``measure`` starts it as ``python -m rooflab.machine.bench_process`` with the
number of threads in its environment, where a BLAS reads it once, when it loads.
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

MIN_SAMPLE = 1e-3  # seconds, far more than a clock's resolution
MAX_SAMPLES = 12
ROUNDS = 2
MAX_COPIES = 1024


def make_calls(backend, step, pool):
    """Make the step's calls, each with other operands of the pool, so that no cache holds them."""
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
    """Seconds a call, as measured within the step's budget, and the calls in each sample."""
    start = perf_counter()
    backend.set_up(step.dtype)
    cycle = itertools.cycle(make_calls(backend, step, pool))
    one = backend.time(itertools.islice(cycle, 1))
    if one < step.budget / 5:
        one = backend.time(itertools.islice(cycle, 1))  # the first call also wakes the threads
    repeats = min(max(1, math.ceil(MIN_SAMPLE / max(one, 1e-9))), 10_000)
    taken = []
    while len(taken) < MAX_SAMPLES and (
        not taken or perf_counter() - start + taken[-1] * repeats < step.budget
    ):
        taken.append(backend.time(itertools.islice(cycle, repeats)) / repeats)
    return taken, repeats


def run_plan(plan, backend, emit):
    """Carry out the plan; emit("timing", …) or emit("skipped", …) for every step, at the end.

    Every step comes up twice, seconds apart, so that a burst of other work spoils one turn only.
    """
    begin = perf_counter()
    pools = Pools(backend, plan)
    steps = list(plan.steps(backend.dtypes))
    taken, repeats, reasons = ({step: kept for step in steps} for kept in ((), 1, "time is up"))
    for place, step in enumerate(ROUNDS * steps):
        if perf_counter() - begin > plan.limit:
            break
        emit("step", done=place + 1, steps=ROUNDS * len(steps), **step.title)
        needed = _bound_seconds(step, taken, backend)
        # The budget must have room for a warm-up and one sample.
        if 2 * needed > step.budget:
            reasons[step] = f"would take longer than its {step.budget:g} s"
            continue
        try:
            pool = pools.get(step.dtype)
            if step.elements > len(pool):
                raise MemoryError
            more, repeats[step] = take_samples(backend, step, pool)
            taken[step] += tuple(more)
        except backend.out_of_memory:
            reasons[step] = "too little memory"
    for step in steps:
        if not taken[step]:
            emit("skipped", **step.title, why=reasons[step])
            continue
        cost = step.cost(backend.write_allocate)
        emit(
            "timing", **step.title, flops=cost.flops, bytes=cost.bytes, calls=repeats[step],
            samples=[float(f"{seconds:.5g}") for seconds in taken[step]],
        )  # fmt: skip


def _bound_seconds(step, taken, backend):
    """Bound the seconds of a step by the rates of other steps of its series; 0 if there are none.

    Of many bounds the lowest counts: one disturbed step must not stop all those after it, nor
    itself.
    """
    cost = step.cost(backend.write_allocate)
    return min(
        (
            _scale_seconds(min(seconds), other.cost(backend.write_allocate), cost)
            for other, seconds in taken.items()
            if seconds and other != step and other.series == step.series
        ),
        default=0,
    )


def _scale_seconds(seconds, before, cost):
    """Scale the seconds of one Cost to another, by the one of FLOPs and bytes that grows more."""
    return seconds * max(
        after / done
        for after, done in ((cost.flops, before.flops), (cost.bytes, before.bytes))
        if done
    )


class Pools:
    """Random elements that all steps of a dtype share; one dtype's are held at a time."""

    def __init__(self, backend, plan):
        self.backend = backend
        self.bytes = min(
            max(*plan.sizes, *(2 * 8 * N * N for N in plan.squares)) + 8 * max(GAPS),
            backend.memory() / 4,
        )
        self.dtype = self.pool = None

    def get(self, dtype):
        if dtype != self.dtype:
            # The old pool is freed before the next one is allocated.
            self.dtype = self.pool = None
            self.pool = self.backend.pool(int(self.bytes / itemsize(dtype)), dtype)
            self.dtype = dtype
        return self.pool


def describe_machine(backend, threads):
    """Describe the machine as it describes itself."""
    return {
        "name": " ".join(backend.name().split()),
        "device": backend.device,
        "library": backend.library,
        "cores": count_cores(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
    }


def list_versions(backend):
    """Versions of Python, NumPy, its BLAS, and the library that was timed."""
    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        **backend.versions(),
    }


def count_cores():
    # A process in a container may use fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main():
    """Read {"device", "threads", "quick", "plan"} from the command line; print lines of JSON."""
    asked = json.loads(sys.argv[1])
    threads = asked["threads"]
    # What a library prints goes to standard error, so that standard output is JSON alone.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def emit(event, **content):
        print(json.dumps({"event": event, **content}), file=lines, flush=True)

    try:
        backend = find_backend(asked["device"], threads)
    except ValueError as refusal:
        emit("refused", message=str(refusal))
        return
    plan = Plan(**asked["plan"]) if asked["plan"] else PLANS[backend.kind, asked["quick"]]
    emit("start", machine=describe_machine(backend, threads), versions=list_versions(backend))
    run_plan(plan, backend, emit)
    emit("end")


if __name__ == "__main__":
    main()
