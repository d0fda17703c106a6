"""Fit the constants of roofkit/machine/gpus.toml to measured kernels, and say how well they do.

``python tools/fit_gpus.py`` prints the report: errors, coverage and width of the intervals on
models, sizes and GPUs that were left out of the fit. ``--write`` renews gpus.toml. Needs SciPy.
"""

import argparse
import csv
import functools
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

import roofkit as rk
from roofkit.machine import gpu_kernels, gpus
from roofkit.machine.predictions import Prediction

DATA = Path(__file__).parents[1] / "tests/data/gpu"
GPUS = {"a100": "A100 80GB SXM", "h100": "H100 SXM"}
KINDS = {"add": "add", "input_layernorm": "norm", "mlp_act": "activation"}
MATMUL = ("peak", "bandwidth")
SHARED = ("write", "cache", "overhead", "join", "throttle")
ROWS = {
    "add": ("bandwidth", "overhead", "cached"),
    "norm": ("rate", "overhead", "cached", "step"),
    "activation": ("rate", "overhead", "step"),
}
ITEMSIZE = 2
# On either side of an interval: less than 5%, because a model that nobody has seen differs more
# from the fit than those that were left out of it one by one. At 4% the models judged by the
# quantiles of the others are covered nine times in ten.
TAIL = 0.04
LINK = ("latency", "bus", "fill")
# A fit starts where physics would put it: full speed, microseconds, a tenth.
START = {
    "peak": 0.9, "write": 1e-10, "cache": 6e10, "bandwidth": 0.9, "overhead": 4e-6,
    "join": 2e-6, "throttle": 0.1,
}  # fmt: skip
ROWS_START = {"bandwidth": 0.9, "rate": 5e9, "overhead": 2.5e-6, "cached": 0.3, "step": 9e-7}


@functools.cache
def read(name):
    """Read the columns of a file as arrays: times in seconds, chips by their names in roofkit."""
    with (DATA / f"gpu-{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    table = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    for key in table:
        if key not in ("gpu", "model", "op", "node"):
            table[key] = table[key].astype(float)
    table["seconds"] = table.pop("microseconds") * 1e-6
    for key in ("gpu", "node"):
        if key in table:
            table["chip"] = np.array([GPUS[value.split("_")[0]] for value in table[key]])
    return table


def figures(name):
    return gpus.figures(rk.chip(name))


def pick(table, keep):
    return {key: values[keep] for key, values in table.items()}


def minimise(residuals, start, scale=0.05, most=np.inf):
    """Find constants above zero at which the logarithms of predicted / measured are small.

    The loss is soft L1, so that a kernel that the library chose badly bends the fit little.
    """
    found = least_squares(
        lambda logs: residuals(np.exp(logs)), np.log(start), bounds=(-np.inf, np.log(most)),
        loss="soft_l1", f_scale=scale, diff_step=1e-3, max_nfev=40, xtol=1e-4, ftol=1e-5,
    )  # fmt: skip
    # A time below a picosecond, or a share below 1e-12, counts as 0.
    return np.where(found.x < np.log(1e-12), 0, np.exp(found.x)).tolist()


def fit_matmuls(table, start=None):
    """Fit constants by chip; those that are no shares of its data sheet are one for all chips."""
    chips = {chip: figures(chip) for chip in GPUS.values() if chip in table["chip"]}
    parts = {chip: pick(table, table["chip"] == chip) for chip in chips}
    measured = np.concatenate([part["seconds"] for part in parts.values()])

    def unpack(values):
        shared = dict(zip(SHARED, values[len(MATMUL) * len(chips) :], strict=True))
        return {
            chip: {**dict(zip(MATMUL, values[len(MATMUL) * i :], strict=False)), **shared}
            for i, chip in enumerate(chips)
        }

    def residuals(values):
        by_chip = unpack(values)
        predicted = [
            gpus.matmul_by(chips[chip], its, *(parts[chip][size] for size in "BDF"), ITEMSIZE)[0]
            for chip, its in by_chip.items()
        ]
        return np.log(np.concatenate(predicted) / measured)

    start = start or dict.fromkeys(chips, START)
    first = [start[chip][name] for chip in chips for name in MATMUL]
    shared = [start[next(iter(chips))][name] for name in SHARED]
    return unpack(minimise(residuals, [*first, *shared]))


def fit_rows(table):
    """Fit constants by chip and kind; that of the add gives the speed of memory for the others."""
    constants = {chip: {} for chip in GPUS.values() if chip in table["chip"]}
    for chip, its in constants.items():
        for kind in KINDS.values():
            its[kind] = _fit_kind(table, chip, kind, its)
    return constants


def _fit_kind(table, chip, kind, fitted_before):
    ops = [op for op, its_kind in KINDS.items() if its_kind == kind]
    part = pick(table, (table["chip"] == chip) & np.isin(table["op"], ops))
    names = ROWS[kind]

    def residuals(values):
        constants = {
            **fitted_before,
            kind: {"cached": 0.0, **dict(zip(names, values, strict=True))},
        }
        predicted = gpu_kernels.row_kernel(
            figures(chip), constants, part["rows"], part["width"], ITEMSIZE, kind
        )
        return np.log(predicted / part["seconds"])

    most = [1.0 if name in ("cached", "bandwidth") else np.inf for name in names]
    found = minimise(residuals, [ROWS_START[name] for name in names], most=most)
    return {"cached": 0.0, **dict(zip(names, found, strict=True))}


def fit_all_reduce(table):
    """Fit the constants of all-reduces by chip and links."""
    constants = {}
    for chip in GPUS.values():
        links = links_of(table)
        for link in dict.fromkeys(links[table["chip"] == chip]):
            part = pick(table, (table["chip"] == chip) & (links == link))

            def residuals(values, part=part):
                its = dict(zip(LINK, values, strict=True))
                predicted = gpu_kernels.all_reduce(its, part["bytes"], part["gpus"])
                return np.log(predicted / part["seconds"])

            found = minimise(residuals, [3e-5, 1e11, 1e-6], scale=0.1)
            constants.setdefault(chip, {})[str(link)] = dict(zip(LINK, found, strict=True))
    return constants


def links_of(table):
    """How the GPUs of each row are joined, in the names of ``GPUCalibration.all_reduce``."""
    return np.array([
        gpus.link_named("switch" if node.endswith("dgx") else "pairs", gpus_, per_node)
        for node, gpus_, per_node in zip(
            table["node"], table["gpus"], table["gpus_per_node"], strict=True
        )
    ])  # fmt: skip


def predict(name, table, constants):
    """Predicted seconds of each row and the place of its regime."""
    seconds, regime = np.empty(len(table["seconds"])), np.empty(len(table["seconds"]), int)
    for keep, chip, which in _groups(name, table):
        part, gpu, its = pick(table, keep), figures(chip), constants[chip]
        if name == "matmuls":
            found = gpus.matmul_by(gpu, its, part["B"], part["D"], part["F"], ITEMSIZE)
        elif name == "elementwise":
            found = gpus.rows_by(gpu, its, part["rows"], part["width"], ITEMSIZE, which)
        else:
            found = gpus.all_reduce_by(its[which], which, part["bytes"], part["gpus"])
        seconds[keep], regime[keep] = found
    return seconds, regime


def _groups(name, table):
    which = {
        "matmuls": lambda: np.full(len(table["chip"]), ""),
        "elementwise": lambda: np.array([KINDS[op] for op in table["op"]]),
        "allreduce": lambda: links_of(table),
    }[name]()
    for chip, each in dict.fromkeys(zip(table["chip"], which, strict=True)):
        yield (table["chip"] == chip) & (which == each), str(chip), str(each)


FITS = {"matmuls": fit_matmuls, "elementwise": fit_rows, "allreduce": fit_all_reduce}


@functools.cache
def fitted(name):
    return FITS[name](read(name))


def folds(name):
    """Which fold each row belongs to: the rows of one model, or every fifth size."""
    table = read(name)
    if "model" in table:
        return np.unique(table["model"], return_inverse=True)[1]
    return np.unique(table["bytes"], return_inverse=True)[1] % 5


@functools.cache
def left_out(name):
    """measured / predicted of every row by a fit to the other folds, and its regime."""
    table, fold = read(name), folds(name)
    ratio, regime = np.empty(len(fold)), np.empty(len(fold), int)
    for number in np.unique(fold):
        out = fold == number
        rest = pick(table, ~out)
        constants = fit_matmuls(rest, fitted(name)) if name == "matmuls" else FITS[name](rest)
        part = pick(table, out)
        seconds, regime[out] = predict(name, part, constants)
        ratio[out] = part["seconds"] / seconds
    return ratio, regime


@functools.cache
def other_gpu(name):
    """measured / predicted, regime and chip of rows by a fit to the other GPU; links by share."""
    table = read(name)
    one, two = GPUS.values()
    constants = {chip: FITS[name](pick(table, table["chip"] == chip))[chip] for chip in (one, two)}
    exchanged = {one: constants[two], two: constants[one]}
    if name == "allreduce":
        table = pick(table, np.isin(links_of(table), ("switch", "pair")))
        exchanged = {
            chip: gpus.links_by_share(constants[other], rk.chip(other), rk.chip(chip))
            for chip, other in ((one, two), (two, one))
        }
    seconds, regime = predict(name, table, exchanged)
    return table["seconds"] / seconds, regime, table["chip"]


def intervals(ratio, regime, count):
    """Quantiles of measured / predicted in every regime; NaN where a regime has no rows."""
    seen = [ratio[regime == at] for at in range(count)]
    return np.array([
        np.quantile(part, (TAIL, 1 - TAIL)) if part.size else (np.nan, np.nan) for part in seen
    ])  # fmt: skip


def around(name):
    """Intervals wide enough for both GPUs, each by its own constants and by the other's."""
    chips, count = read(name)["chip"], len(REGIMES[name])
    found = [
        intervals(ratio[whose == chip], regime[whose == chip], count)
        for ratio, regime, whose in ((*left_out(name), chips), other_gpu(name))
        for chip in GPUS.values()
    ]
    low, high = np.moveaxis(np.array(found), -1, 0)
    # All-reduces between nodes were measured on one GPU alone.
    unknown = np.isnan(low).any(axis=0)
    bounds = np.stack([low.min(axis=0), high.max(axis=0)], axis=-1)
    return np.where(unknown[:, None], np.nan, bounds)


REGIMES = {
    "matmuls": gpus.MATMUL_REGIMES, "elementwise": gpus.ROW_REGIMES, "allreduce": gpus.LINK_REGIMES,
}  # fmt: skip


def judged(name):
    """Coverage and width of intervals whose quantiles come from the other folds."""
    ratio, regime = left_out(name)
    fold, chips, count = folds(name), read(name)["chip"], len(REGIMES[name])
    low, high = np.empty(len(ratio)), np.empty(len(ratio))
    for number in np.unique(fold):
        for chip in GPUS.values():
            keep, here = (fold != number) & (chips == chip), (fold == number) & (chips == chip)
            bounds = intervals(ratio[keep], regime[keep], count)
            low[here], high[here] = bounds[regime[here]].T
    return ratio, low, high


@functools.cache
def layers():
    """The kernels of every measured layer: calls, measured, predicted, low and high, by name.

    Of one chip, model, split and number of tokens: four matmuls, a gated activation, and two norms
    and two residual adds, which a layer has two of.
    """
    found = {}
    for name, tokens in (("matmuls", "B"), ("elementwise", "rows")):
        table = read(name)
        ratio, low, high = judged(name)
        predicted = table["seconds"] / ratio
        calls = np.where(np.isin(table["op"], ("add", "input_layernorm")), 2, 1)
        columns = (calls, table["seconds"], predicted, predicted * low, predicted * high)
        keys = zip(*(table[key] for key in ("chip", "model", "tp", tokens)), strict=True)
        for key, *row in zip(keys, *columns, strict=True):
            found.setdefault(key, []).append(row)
    return {key: np.array(rows).T for key, rows in found.items() if len(rows) == 7}


@functools.cache
def whole_layers(correlation):
    """measured / predicted of every layer, and its interval for such a correlation of errors."""
    found = []
    for calls, measured, predicted, low, high in layers().values():
        parts = [
            Prediction(*each, correlation=correlation) * number
            for number, *each in zip(calls, predicted, low, high, strict=True)
        ]
        total = Prediction.total(parts)
        found.append(np.array([calls @ measured, total.low, total.high]) / total.seconds)
    return np.array(found).T


TRIED = tuple(np.arange(0, 1.01, 0.05).round(2).tolist())


def correlation(among=slice(None)):
    """The correlation of errors within a layer: the least whose intervals cover 90% of layers."""
    for tried in TRIED:
        ratio, low, high = whole_layers(tried)[:, among]
        # Half a percent more is asked for, so that a single layer does not decide.
        if np.mean((ratio >= low) & (ratio <= high)) >= gpus.COVERAGE + 0.005:
            return tried
    return TRIED[-1]


def judged_layers():
    """Ratios and intervals of layers; the correlation comes from the layers of other models."""
    models = np.array([model for _, model, *_ in layers()])
    found = np.empty((3, len(models)))
    for model in np.unique(models):
        here = models == model
        found[:, here] = whole_layers(correlation(~here))[:, here]
    return found


def document():
    """gpus.toml as text."""
    lines = [HEAD.strip(), "", f"correlation = {correlation()}", ""]
    names = {"matmuls": "matmul", "elementwise": "elementwise", "allreduce": "all_reduce"}
    for name, sizes in (("matmuls", "BDF"), ("elementwise", ("rows", "width"))):
        lines.append(f"range.{names[name]} = {_inline(_ranges(read(name), sizes))}")
    for chip in GPUS.values():
        lines += ["", f'[gpu."{chip}"]', f"matmul = {_inline(fitted('matmuls')[chip])}"]
        for name in ("elementwise", "allreduce"):
            for which, its in fitted(name)[chip].items():
                if name == "allreduce":
                    table = read(name)
                    table = pick(table, (table["chip"] == chip) & (links_of(table) == which))
                    its = {**its, **_ranges(table, ("bytes", "gpus"))}
                lines.append(f"{names[name]}.{which} = {_inline(its)}")
    lines += ["", "# measured / predicted, from and to, in each regime", "[interval.other]"]
    for name, shown in names.items():
        lines.append(f"{shown} = {_bounds(around(name))}")
    for chip in GPUS.values():
        lines += ["", f'[interval."{chip}"]']
        for name, shown in names.items():
            here = read(name)["chip"] == chip
            ratio, regime = left_out(name)
            bounds = intervals(ratio[here], regime[here], len(REGIMES[name]))
            lines.append(f"{shown} = {_bounds(bounds)}")
    return "\n".join(lines) + "\n"


HEAD = """
# What kernels of real GPUs take, as constants of the formulas in gpu_kernels.py. Written by
# tools/fit_gpus.py from tests/data/gpu (timings published by the authors of vidur,
# https://github.com/microsoft/vidur, MIT licence); it reports how well they predict.
#
#   peak, bandwidth     shares of the data sheet's figures that are reached
#   write, cache        s an element written and bytes/s read by a multiprocessor of 1 TFLOP/s
#   overhead            s a call; of an add, norm or activation at a clock of 1 GHz
#   join                s that adding up the parts of a split sum costs
#   throttle            how much slower long work at the peak gets
#   cached              share of the memory's time that the L2 cache saves
#   step                s that a block takes for 1,024 elements of a row at 1 GHz
#   latency, fill, bus  of an all-reduce: s, s and bytes/s; of the size and gpus that were measured
#   correlation         of the errors of two kernels of one layer
"""


def _ranges(table, sizes):
    """The least and the largest of each size that was measured."""
    return {
        "size" if size == "bytes" else size: [int(table[size].min()), int(table[size].max())]
        for size in sizes
    }


def _inline(constants):
    def shown(value):
        if isinstance(value, list):
            return f"[{', '.join(map(str, value))}]"
        return f"{value:.4g}"

    return "{ " + ", ".join(f"{name} = {shown(value)}" for name, value in constants.items()) + " }"


def _bounds(rows):
    # A regime that this GPU does not have is not predicted for it.
    return "[" + ", ".join(f"[{low:.3f}, {high:.3f}]" for low, high in rows) + "]"


def figures_of(ratio, low, high):
    """Rows, median error, 90% of errors, share within 15%, share in the interval, its width."""
    error = np.abs(1 / ratio - 1)
    inside = (ratio >= low) & (ratio <= high)
    return (
        len(ratio), np.median(error), np.quantile(error, 0.9), np.mean(error <= 0.15),
        np.mean(inside), np.median(high / low),
    )  # fmt: skip


def summary():
    """The rows of README.md: label and figures, all judged on what the fit did not see."""
    labels = {"matmuls": "matmuls", "elementwise": "norms, adds, activations",
              "allreduce": "all-reduces"}  # fmt: skip
    for name, label in labels.items():
        for chip in GPUS.values():
            here = read(name)["chip"] == chip
            yield f"{label}, {chip}", figures_of(*(each[here] for each in judged(name)))
    yield "whole layers, both GPUs", figures_of(*judged_layers())
    for name, label in labels.items():
        for chip, other in (one_two := tuple(GPUS.values())), one_two[::-1]:
            yield f"{label}, {chip} by {other}", figures_of(*one_way(name, chip, other))


def one_way(name, chip, other):
    """Ratios of a GPU by the constants of the other, with intervals from the reverse case."""
    ratio, regime, chips = other_gpu(name)
    here, there = chips == chip, chips == other
    bounds = intervals(ratio[there], regime[there], len(REGIMES[name]))
    return ratio[here], *bounds[regime[here]].T


def in_detail():
    """The figures of every model and of every kernel."""
    for name in FITS:
        table, found = read(name), judged(name)
        for chip in GPUS.values():
            for column in ("model", "op", "node", "gpus"):
                for value in np.unique(table.get(column, [])):
                    here = (table["chip"] == chip) & (table[column] == value)
                    if here.any() and not (column == "op" and name == "matmuls"):
                        yield f"{chip}: {column} {value}", figures_of(*(e[here] for e in found))


def row(label, figures):
    rows, median, most, close, inside, width = figures
    shares = f"{median:.1%} | {most:.0%} | {close:.0%} | {inside:.0%}"
    return f"| {label} | {rows:,} | {shares} | {width:.2f} |"


def report():
    print("| judged on | rows | median error | 90% of errors below | within 15% | inside | width |")
    print("|---|---|---|---|---|---|---|")
    for each in (*summary(), *in_detail()):
        print(row(*each))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew gpus.toml")
    options = parser.parse_args()
    report()
    if options.write:
        gpus.TABLE.write_text(document(), encoding="utf-8")
