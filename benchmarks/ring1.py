"""Measure the speed of ring 1 (roofline, cost, chips), and compare each result with its bound.

Run ``python -m benchmarks.ring1`` or ``make bench`` with nothing else running on the machine. The
benchmark only reports and never fails, because other load on the machine can halve any speed.
"""

import statistics
import subprocess
import sys
import timeit
from time import perf_counter

import numpy as np

import roofkit as rk

PEAK, BANDWIDTH = 1.97e14, 8.2e11
ROOF = rk.Roofline(PEAK, BANDWIDTH)


def main():
    report("import roofkit / import numpy, wall", import_ratio(), "x", at_most=1.3)
    report("one scalar estimate of a matmul", scalar_microseconds(), " us", at_most=10)
    report("sweep, points/s / pure-Python loop", sweep_ratio(), "x", at_least=50)


def report(what, value, unit, *, at_most=None, at_least=None):
    met = value <= at_most if at_least is None else value >= at_least
    bound = f"at most {at_most}" if at_least is None else f"at least {at_least}"
    print(f"{what:36} {value:7.2f}{unit:3}  bound: {bound}{unit}, {'met' if met else 'missed'}")


def import_ratio(runs=15):
    """Return the median time to start Python and import roofkit, relative to NumPy."""
    walls = {"numpy": [], "roofkit": []}
    for name in walls:
        import_seconds(name)  # byte-compiles the code and warms the file cache
    for _ in range(runs):
        for name, taken in walls.items():
            taken.append(import_seconds(name))
    return statistics.median(walls["roofkit"]) / statistics.median(walls["numpy"])


def import_seconds(name):
    start = perf_counter()
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
    return perf_counter() - start


def scalar_microseconds(calls=20_000):
    roof = rk.chip("TPU v5e").roofline("bf16")
    taken = timeit.repeat(lambda: roof.estimate(rk.matmul(256, 8192, 8192)), number=calls, repeat=5)
    return statistics.median(taken) / calls * 1e6


def sweep_ratio(rounds=3):
    """Return the best points/s of broadcasting 10^7 points, relative to looping over 10^6."""
    swept, looped = [], []
    for _ in range(rounds):
        swept.append(points_per_second(sweep, *grid(100, 316, 317)))
        looped.append(points_per_second(loop, *grid(100, 100, 100)))
    print(f"{'':36} sweep {max(swept):.3g} points/s, loop {max(looped):.3g} points/s")
    return max(swept) / max(looped)


def grid(*lengths):
    return [np.arange(1, length + 1) * 16 for length in lengths]


def points_per_second(compute, Bs, Ds, Fs):
    start = perf_counter()
    compute(Bs, Ds, Fs)
    return len(Bs) * len(Ds) * len(Fs) / (perf_counter() - start)


def sweep(Bs, Ds, Fs):
    estimate = ROOF.estimate(rk.matmul(Bs[:, None, None], Ds[:, None], Fs))
    return estimate.math, estimate.comms, estimate.lower, estimate.upper


def loop(Bs, Ds, Fs):
    results = []
    for B in Bs.tolist():
        for D in Ds.tolist():
            for F in Fs.tolist():
                math = 2 * B * D * F / PEAK
                comms = 2 * (B * D + D * F + B * F) / BANDWIDTH
                results.append((math, comms, max(math, comms), math + comms))
    return results


if __name__ == "__main__":
    main()
