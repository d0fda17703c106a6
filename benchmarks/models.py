"""Measure the speed of the model engine and of plain Python in the same run.

Run ``python -m benchmarks.models`` or ``make bench`` with nothing else running on the machine. The
benchmark only reports and never fails, because other load on the machine can halve any speed.
"""

import resource
import subprocess
import sys
import timeit
from time import perf_counter

import numpy as np
from ring1 import report

import roofkit as rk
from roofkit.models import Precision

SERVED = rk.llm("Llama-2-7B").on("RTX A6000")
PLAIN = rk.llm("Llama-2-7B").on("RTX A6000", fused=False)  # has the same layers as the dicts
PEAK, BANDWIDTH = SERVED.chip.peak_flops("bf16"), SERVED.chip.bandwidth


def main():
    report("both layer tables of one point", milliseconds(both_tables), " ms", at_most=0.2)
    report(
        "the same, chip and precisions chosen anew", milliseconds(chosen_anew), " ms", at_most=0.3
    )
    ours = milliseconds(lambda: PLAIN.generate(batch=1, prompt=1024, output=1024))
    theirs = milliseconds(lambda: generation_in_dicts(1024, 1024), number=1)
    same = generation_in_dicts(1024, 1024) / PLAIN.generate(batch=1, prompt=1024, output=1024).time
    print(
        f"{'':42} ours {ours:.3g} ms, dictionaries {theirs:.3g} ms, their result / ours {same:.12f}"
    )
    report("1,024-token generation, dictionaries / ours", theirs / ours, "x", at_least=1500)
    for name, shape in (("broadcast", (1000, 1000)), ("flat", (1_000_000,))):
        speed = 1e-6 * max(sweep_speed(shape) for _ in range(3))
        report(f"decode sweep of 10^6 points, {name}", speed, " M/s", at_least=20)
    report("memory of a flat sweep of 10^7 points", sweep_memory(), " MB", at_most=500)


def milliseconds(call, number=200):
    return min(timeit.repeat(call, number=number, repeat=5)) / number * 1e3


def both_tables():
    return SERVED.prefill(batch=1, prompt=2048).rows, SERVED.decode(batch=1, context=2048).rows


def chosen_anew():
    served = SERVED.model.on(SERVED.chip, precision=Precision(weights="int8"))
    return served.prefill(batch=1, prompt=2048).rows, served.decode(batch=1, context=2048).rows


def lengths(shape):
    points = np.prod(shape)
    context = np.linspace(1, 8192, points // (shape[0] if len(shape) > 1 else 1))
    return (
        np.arange(1, shape[0] + 1)[:, None] if len(shape) > 1 else np.floor(context % 64) + 1
    ), context


def sweep_speed(shape):
    batch, context = lengths(shape)
    start = perf_counter()
    points = SERVED.time_per_token(batch, context).size
    return points / (perf_counter() - start)


def sweep_memory():
    """Return how many megabytes a flat sweep of 10^7 points adds to a new process's peak."""
    code = "from benchmarks import models; models.print_sweep_memory()"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(run.stdout)


def print_sweep_memory():
    before = peak_bytes()
    sweep_speed((10_000_000,))
    print((peak_bytes() - before) / 1e6)


def peak_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# The baseline has the same layers in plain Python dictionaries. Like LLM-Viewer, it builds the
# tables of both stages in each step and sums every column.
SUMMED = ("flops", "bytes", "weights", "activations", "kv", "time")


def generation_in_dicts(prompt, output):
    seconds = tables_in_dicts(prompt)["prefill"]["totals"]["time"]
    for step in range(output - 1):
        seconds += tables_in_dicts(prompt + step)["decode"]["totals"]["time"]
    return seconds


def tables_in_dicts(length, batch=1, width=2):
    model = SERVED.model
    d, q_dim, kv_dim = model.hidden, model.hidden, model.kv_heads * model.head_dim
    results = {}
    for stage, new in (("prefill", length), ("decode", 1)):
        keys = length if stage == "prefill" else length + 1
        pairs = length * (length + 1) / 2 if stage == "prefill" else keys
        tokens, rows = batch * new, {}

        def add(name, count, flops, weights=0, activations=0, kv=0, rows=rows):
            moved = weights + activations + kv
            math, memory = flops / PEAK, moved / BANDWIDTH
            rows[name] = {
                "count": count,
                "flops": flops,
                "bytes": moved,
                "intensity": flops / moved,
                "attainable": min(PEAK, flops / moved * BANDWIDTH),
                "bound": "compute" if math >= memory else "memory",
                "weights": weights,
                "activations": activations,
                "kv": kv,
                "time": max(math, memory),
            }

        def linear(name, count, d_in, d_out, rows, cached=0, add=add):
            add(
                name, count, 2 * rows * d_in * d_out, width * d_in * d_out,
                width * rows * (d_in + d_out - cached), width * rows * cached,
            )  # fmt: skip

        n = model.layers
        add("embedding", 1, 0, width * d * tokens, width * d * tokens)
        add("attn_norm", n, 4 * tokens * d, width * d, 2 * width * tokens * d)
        linear("q_proj", n, d, q_dim, tokens)
        linear("k_proj", n, d, kv_dim, tokens)
        linear("v_proj", n, d, kv_dim, tokens, cached=kv_dim)
        turned = tokens * (q_dim + kv_dim)
        add("rotary", n, 3 * turned, 0, width * (turned + tokens * q_dim), width * tokens * kv_dim)
        scores = batch * pairs * model.heads
        add(
            "attention", n, (4 * model.head_dim + 5) * scores, 0, 2 * width * tokens * q_dim,
            2 * width * batch * keys * kv_dim,
        )  # fmt: skip
        linear("o_proj", n, q_dim, d, tokens)
        add("attn_add", n, tokens * d, 0, 3 * width * tokens * d)
        add("mlp_norm", n, 4 * tokens * d, width * d, 2 * width * tokens * d)
        linear("gate_proj", n, d, model.mlp, tokens)
        linear("up_proj", n, d, model.mlp, tokens)
        add("mlp_act", n, 4 * tokens * model.mlp, 0, 3 * width * tokens * model.mlp)
        linear("down_proj", n, model.mlp, d, tokens)
        add("mlp_add", n, tokens * d, 0, 3 * width * tokens * d)
        add("final_norm", 1, 4 * batch * d, width * d, 2 * width * batch * d)
        linear("lm_head", 1, d, model.vocabulary, batch)
        totals = dict.fromkeys(SUMMED, 0)
        for row in rows.values():
            for column in SUMMED:
                totals[column] += row["count"] * row[column]
        results[stage] = {"rows": rows, "totals": totals}
    return results


if __name__ == "__main__":
    main()
