"""Write rooflab/ACCURACY.md and its picture: how far predictions lie from measurements.

``python -m benchmarks.accuracy`` fits the constants anew with parts of the timings left out, which
takes a minute, and reads ``peers.csv``, which ``benchmarks.peers`` writes. The text is that of
accuracy.txt, with tables and numbers filled in.
"""

import csv
import statistics
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import roofkit as rk
from benchmarks import fit_gpus, peers
from benchmarks.whole_runs import bound_run, every_run
from roofkit.models import Precision
from rooflab import palette
from rooflab.machine import calibrate
from rooflab.plot import COLOURS

ROOT = Path(__file__).parents[1]
TEXT = Path(__file__).with_name("accuracy.txt")
PAGE, PICTURE = ROOT / "rooflab/ACCURACY.md", Path(__file__).with_name("accuracy.png")
WIDE, SHORT = ("rows", "median error", "90% of errors below", "within 15%", "inside", "width"), 4


def list_kernels():
    """Return the table of kernels that were left out of the fit."""
    return _format_rows(fit_gpus.summary(), len(WIDE))


def list_other_cards():
    """Return the table of kernels on a card that another card's constants predict."""
    return _format_rows(fit_gpus.crossed(), SHORT)


def _format_rows(results, count):
    lines = ["| tested on | " + " | ".join(WIDE[:count]) + " |", "|---|" + "--:|" * count]
    for label, figures in results:
        cells = fit_gpus.row(label, figures).split("|")[1 : 2 + count]
        lines.append(f"|{'|'.join(cells)}|")
    return "\n".join(lines)


def list_runs():
    """Return the table of published runs: batch or step, bound, prediction and measurement."""
    heads = (
        "run",
        "bound (ms)",
        "predicted (ms)",
        "measured (ms)",
        "of the bound",
        "of the prediction",
    )
    lines = [f"| {' | '.join(heads)} |", "|---|--:|--:|--:|--:|--:|"]
    source = ""
    for run in every_run():
        if run.given["source"] != source:
            source = run.given["source"]
            lines.append(f"| **{source}** |" + " |" * 5)
        predicted, ratio = "–", "–"
        if run.prediction is not None:
            predicted = _milliseconds(run.prediction.seconds)
            ratio = f"{run.measured / run.prediction.seconds:.2f}"
        cells = run.name, _milliseconds(run.bound), predicted, _milliseconds(run.measured)
        lines.append(f"| {' | '.join(cells)} | {run.measured / run.bound:.2f} | {ratio} |")
    return "\n".join(lines)


def _milliseconds(seconds):
    return f"{1e3 * seconds:,.2f}" if seconds < 0.1 else f"{1e3 * seconds:,.0f}"


def list_peers():
    """Return the table of what others say of the runs that they model."""
    runs = {run.label: run for run in every_run() if not run.is_cnn}
    answers = {"roofkit, bound": {label: run.bound for label, run in runs.items()}}
    answers["roofkit, predicted"] = {
        label: run.prediction.seconds for label, run in runs.items() if run.prediction is not None
    }
    answers["LLM-Viewer's formulas, roofkit's chips"] = {
        label: bound_run(run.given, run.batch, convention="llm-viewer")[0]
        for label, run in runs.items()
    }
    with peers.TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["run"] in runs:
                answers.setdefault(row["peer"], {})[row["run"]] = float(row["seconds"])
    lines = ["| | runs | median | lowest to highest | off by more than 2 | below the bound |",
             "|---|--:|--:|--:|--:|--:|"]  # fmt: skip
    for peer, said in answers.items():
        ratios = sorted(runs[label].measured / seconds for label, seconds in said.items())
        off = sum(not 0.5 <= ratio <= 2 for ratio in ratios)
        below = sum(seconds < 0.99 * runs[label].bound for label, seconds in said.items())
        span = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        lines.append(f"| {peer} | {len(ratios)} | {statistics.median(ratios):.2f} | {span} | {off} "
                     f"| {below} |")  # fmt: skip
    return "\n".join(lines)


def count_inside_by_source():
    """Return how many runs lie within the range of all runs of other sources, and of how many."""
    runs = [run for run in every_run() if run.prediction and not run.is_first_token]
    ratios = [
        (run.given["source"].split()[0], run.measured / run.prediction.seconds) for run in runs
    ]
    inside = 0
    for source, ratio in ratios:
        others = [other for theirs, other in ratios if theirs != source]
        inside += min(others) <= ratio <= max(others)
    return inside, len(ratios)


def judge_widest():
    """Return the lowest and the highest share inside among the widest timed matmuls, left out."""
    label, shares = "vLLM 2026: matmuls", []
    table = fit_gpus.study(label).table
    narrow = table["F"] < table["F"].max() / 2
    for chip, variant in fit_gpus.parts(label):
        widest = fit_gpus.pick(
            table, ~narrow & (table["chip"] == chip) & (table["variant"] == variant)
        )
        constants = fit_gpus.fit(label, variant, chip, narrow)
        seconds, regime = fit_gpus.predict("matmul", variant, chip, constants, widest)
        low, high = fit_gpus.interval(label, chip, variant, narrow)[regime].T
        ratio = widest["seconds"] / seconds
        shares.append(np.mean((ratio >= low) & (ratio <= high)))
    return min(shares), max(shares)


def judge_h20():
    """Return measured / predicted of the passes of Qwen3-8B in fp8 that InferSim's README has."""
    fp8 = Precision(weights="fp8", activations="fp8")
    served = rk.llm("Qwen3-8B").on("H20", precision=fp8, calibration=calibrate("H20"))
    passes = [(served.prefill(4, 4096), 16384), (served.decode(64, 5120), 64)]
    return sorted(
        tokens / measured / table.prediction.seconds
        for (table, tokens), (measured, _) in zip(passes, peers.INFERSIM[-2:], strict=True)
    )


def draw_runs():
    """Draw measured over predicted, and over the bound, for each published run."""
    runs = sorted((run for run in every_run() if run.prediction), key=lambda run: run.measured)
    rows = range(len(runs))
    _, ax = plt.subplots(figsize=(8, 5.6), layout="constrained")
    bounds = [run.measured / run.bound for run in runs]
    predictions = [run.measured / run.prediction.seconds for run in runs]
    ax.hlines(rows, predictions, bounds, color=palette.colour("grid"), lw=1)
    ax.plot(bounds, rows, "s", color=COLOURS[1], label="measured / bound", ms=6)
    ax.plot(predictions, rows, "o", color=COLOURS[0], label="measured / predicted", ms=6)
    ax.axvline(1, color=palette.colour("reference"), lw=1)
    ax.set_xscale("log", base=2)
    ax.set_xticks([0.75, 1, 1.5, 2, 3, 4], ["0.75", "1", "1.5", "2", "3", "4"])
    names = [run.name.replace(" 80GB SXM", "").replace(" SXM", "") for run in runs]
    ax.set_yticks(rows, names, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", color=palette.colour("grid"), lw=0.6)
    ax.set_axisbelow(True)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
    return ax.figure


def write_page():
    """Return the text of ACCURACY.md."""
    runs = [run for run in every_run() if run.prediction is not None]
    whole, first = (
        sorted(run.measured / run.prediction.seconds for run in runs if run.is_first_token == first)
        for first in (False, True)
    )
    medians = sorted(figures[1] for _, figures in fit_gpus.crossed())
    inside, count = count_inside_by_source()
    widest, h20 = judge_widest(), judge_h20()
    infersim = sorted(simulated / measured for measured, simulated in peers.INFERSIM)
    off = max(figures[2] for label, figures in fit_gpus.summary() if "fp8 L40S" in label)
    return TEXT.read_text(encoding="utf-8").format(
        kernels=list_kernels(), other_cards=list_other_cards(), runs=list_runs(),
        peers=list_peers(), count=len(every_run()), predicted=len(whole),
        least=f"{whole[0]:.2f}", most=f"{whole[-1]:.2f}", median=f"{statistics.median(whole):.2f}",
        widest_least=f"{widest[0]:.0%}", widest_most=f"{widest[1]:.0%}", off=f"{off:.0%}",
        h20_least=f"{h20[0]:.2f}", h20_most=f"{h20[1]:.2f}",
        infersim_least=f"{infersim[0]:.2f}", infersim_most=f"{infersim[-1]:.2f}",
        first_tokens=len(first), first_least=f"{first[0]:.2f}", first_most=f"{first[-1]:.2f}",
        other_least=f"{medians[0]:.0%}", other_most=f"{medians[-1]:.0%}", inside=inside,
        tested=count, tightest=f"{min(run.measured / run.bound for run in every_run()):.2f}",
    )  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
    draw_runs().savefig(PICTURE, dpi=144, metadata={"Software": None})
