"""Fit the constants of rooflab/machine/gpus.toml to timed kernels, and report their accuracy.

``python -m benchmarks.fit_gpus`` prints errors, and the coverage and width of intervals, for
models, shapes and sizes held out of the fit. ``--write`` updates gpus.toml. Requires SciPy.
"""

import argparse
import csv
import functools
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

import roofkit as rk
from benchmarks import whole_runs
from roofkit.models.predictions import Prediction
from rooflab import published
from rooflab.machine import gpus

PUBLISHED = Path(published.__file__).parent
DATA = Path(__file__).parents[1] / "tests/data/gpu"
VIDUR = {"a100": "A100 80GB SXM", "h100": "H100 SXM"}
KINDS = {"add": "add", "input_layernorm": "rms_norm", "mlp_act": "gated_activation"}
NOW, BEFORE = "vLLM 2026", "PyTorch 2024"
FOLDS = 5
# aiconfigurator cycled through this many matrices of the same shape.
TURNS = 6.0
# The share of timings outside an interval on each side. It is below 5%, because a new model differs
# more from the fit than the models that were held out one by one. At 4%, intervals from the other
# models cover 90% of a held-out model.
TAIL = 0.04
# Heads of 512 elements use a different kernel that is many times slower.
WIDEST_HEAD = 256
# Fits start from plausible values: near full speed, microseconds, a tenth.
MATMUL = {
    "peak": 0.9, "bandwidth": 0.9, "write": 1e-10, "cache": 2e10, "overhead": 3e-6, "join": 2e-6,
    "throttle": 0.1,
}  # fmt: skip
NARROWING = {"row": 1e-6, "narrow": 0.5}  # no split sums to join
ROWS = {
    "add": {"bandwidth": 0.9, "overhead": 2.5e-6, "cached": 0.3},
    "rms_norm": {"rate": 5e9, "overhead": 2.5e-6, "cached": 0.3, "step": 9e-7},
    "gated_activation": {"rate": 5e9, "overhead": 2.5e-6, "step": 9e-7},
}
ATTENTION = {
    "prefill": {"peak": 0.7, "softmax": 100.0, "block": 1e-6, "bandwidth": 0.6, "store": 0.3,
                "overhead": 1e-5},
    "decode": {"block": 3e-6, "rate": 2e10, "join": 1e-6, "bandwidth": 0.8, "overhead": 1e-5,
               "grouped": 1e-6},
}  # fmt: skip
LINK = {"latency": 3e-5, "bus": 1e11, "fill": 1e-6}
HOP = {"hop": 1e-6}  # only if 2, 4 and 8 GPUs were timed in the same way
AT_MOST = {"cached": 1.0, "bandwidth": 1.0, "peak": 1.0}


class Study(NamedTuple):
    """Timings of one kind of kernel in one software package, and the sizes that span its range."""

    software: str
    kernel: str
    table: dict
    sizes: tuple
    # True if all variants share intervals, because each one has few rows.
    pooled: bool = False


def rows_of(file):
    """Read the columns of a CSV file as arrays, numeric ones as floats and times in seconds."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    table = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    for key, values in table.items():
        if key not in ("gpu", "library", "dtype", "model", "op", "node", "pass"):
            table[key] = values.astype(float)
    table["seconds"] = table.pop("microseconds") * 1e-6
    return table


def pick(table, keep):
    return {key: values[keep] for key, values in table.items()}


def _numbered(*columns):
    """Assign rows to folds; rows with the same values in all columns are in the same fold."""
    rows = [tuple(map(float, row)) for row in zip(*columns, strict=True)]
    distinct = sorted(set(rows))
    # Neighbouring sizes are in different folds.
    return np.array([{row: i for i, row in enumerate(distinct)}[row] for row in rows]) % FOLDS


@functools.cache
def study(label):
    return STUDIES[label]()


def vidur_matmuls():
    table = rows_of(PUBLISHED / "matmuls.csv")
    count = len(table["seconds"])
    table |= {"chip": _vidur(table["gpu"]), "variant": np.full(count, "bf16"),
              "library": np.full(count, "PyTorch"), "fold": _models(table)}  # fmt: skip
    return Study(BEFORE, "matmul", table, ("B", "D", "F"))


def vidur_rows():
    table = rows_of(PUBLISHED / "elementwise.csv")
    table |= {"chip": _vidur(table["gpu"]), "fold": _models(table),
              "variant": np.array([KINDS[op] for op in table["op"]]),
              "library": np.full(len(table["seconds"]), "vLLM")}  # fmt: skip
    return Study(BEFORE, "elementwise", table, ("rows", "width"), pooled=True)


def vidur_links():
    table = rows_of(PUBLISHED / "all_reduces.csv")
    table["size"] = table.pop("bytes")
    variant = [
        gpus.name_link("switch" if node.endswith("dgx") else "pairs", count, per_node)
        for node, count, per_node in zip(
            table["node"], table["gpus"], table["gpus_per_node"], strict=True
        )
    ]
    table |= {"chip": _vidur(table["node"]), "variant": np.array(variant),
              "library": np.full(len(variant), "NCCL"),
              "fold": _numbered(table["size"])}  # fmt: skip
    return Study(BEFORE, "all_reduce", table, ("size", "gpus"), pooled=True)


def _vidur(names):
    return np.array([VIDUR[name.split("_")[0]] for name in names])


def _models(table):
    return np.unique(table["model"], return_inverse=True)[1]


def library_matmuls():
    table = rows_of(DATA / "library-matmuls.csv")
    table |= {"chip": table["gpu"], "variant": table["dtype"],
              "fold": _numbered(table["D"], table["F"])}  # fmt: skip
    return Study(NOW, "matmul", table, ("B", "D", "F"))


def library_attention():
    table = rows_of(DATA / "library-attention.csv")
    table["new"] = table.pop("tokens")
    decoding = table["pass"] == "decode"
    table = pick(table, (table["head_dim"] <= WIDEST_HEAD) & ((table["new"] > 1) | decoding))
    heads = [table[name] for name in ("heads", "kv_heads", "head_dim")]
    table |= {"chip": table["gpu"], "variant": table["pass"], "fold": _numbered(*heads),
              "tokens": table["batch"] * (table["new"] + table["cached"])}  # fmt: skip
    sizes = "batch", "new", "cached", "heads", "kv_heads", "head_dim", "tokens"
    return Study(NOW, "attention", table, sizes)


def library_links(kernel):
    table = rows_of(DATA / "library-collectives.csv")
    table = pick(table, table["op"] == kernel)
    table["size"] = 2 * table.pop("message_elements")
    table |= {"chip": table["gpu"], "variant": np.full(len(table["seconds"]), "switch"),
              "fold": _numbered(table["size"])}  # fmt: skip
    return Study(NOW, kernel, table, ("size", "gpus"))


STUDIES = {
    "vLLM 2026: matmuls": library_matmuls,
    "vLLM 2026: attention": library_attention,
    "vLLM 2026: all-reduces": lambda: library_links("all_reduce"),
    "vLLM 2026: all-gathers": lambda: library_links("all_gather"),
    "PyTorch 2024: matmuls": vidur_matmuls,
    "PyTorch 2024: norms, adds, activations": vidur_rows,
    "PyTorch 2024: all-reduces": vidur_links,
}
BYTES = {"bf16": 2, "fp8": 1}


def predict(kernel, variant, chip, constants, part):
    """Predict the seconds and the regime's index for each row of one chip and variant."""
    gpu = figures(chip, variant)
    if kernel == "matmul":
        return gpus.time_matmul(gpu, constants, part["B"], part["D"], part["F"], BYTES[variant])
    if kernel == "elementwise":
        return gpus.time_row_kernel(gpu, constants, part["rows"], part["width"], 2, variant)
    if kernel == "attention":
        sizes = ("batch", "new", "cached", "heads", "kv_heads", "head_dim")
        return gpus.time_attention(gpu, constants, *(part[size] for size in sizes))
    return gpus.time_collective(constants, variant, part["size"], part["gpus"], gpus.PASSES[kernel])


@functools.cache
def figures(chip, variant):
    gpu = gpus.gpu_figures(rk.chip(chip))
    return replace(gpu, peak=float(rk.chip(chip).peak_flops("fp8"))) if variant == "fp8" else gpu


def starting(label, variant, chip):
    """Return a kernel's initial values for the fit, and its fixed constants."""
    kernel = study(label).kernel
    if kernel == "matmul":
        turns = {"turns": TURNS} if study(label).software == NOW else {}
        if variant == "fp8":
            return {name: at for name, at in MATMUL.items() if name != "join"} | NARROWING, turns
        return MATMUL, turns
    if kernel == "elementwise":
        return ROWS[variant], {} if "cached" in ROWS[variant] else {"cached": 0.0}
    if kernel == "attention":
        start, old = ATTENTION[variant], chip.startswith("A100")
        if variant == "decode":
            # The A100 timings used vLLM 0.14.0, whose attention splits keys only for groups.
            return start, {"grouped_only": int(old)}
        # With only one head width, the fit cannot separate the softmax from the matmuls.
        return {name: at for name, at in start.items() if not old or name != "softmax"}, (
            {"softmax": start["softmax"]} if old else {}
        )
    return LINK | (HOP if study(label).software == NOW else {}), {}


def fit(label, variant, chip, keep):
    """Fit constants to minimise |log(predicted / measured)|.

    The loss is soft L1, to limit the influence of kernels that the library chose badly.
    """
    its = study(label)
    part = pick(its.table, keep & _of(its, chip, variant))
    start, given = starting(label, variant, chip)
    if its.kernel == "elementwise" and variant != "add":
        given = given | {"bandwidth": fit(label, "add", chip, keep)["bandwidth"]}

    def residuals(logs):
        constants = given | dict(zip(start, np.exp(logs), strict=True))
        return np.log(predict(its.kernel, variant, chip, constants, part)[0] / part["seconds"])

    most = np.log([AT_MOST.get(name, 1e30) for name in start])
    found = least_squares(
        residuals, np.log(list(start.values())), bounds=(-np.inf, most), loss="soft_l1",
        f_scale=0.1 if its.kernel in gpus.PASSES else 0.05,
        diff_step=1e-3, max_nfev=200, xtol=1e-6, ftol=1e-7,
    )  # fmt: skip
    # Times below a picosecond and shares below 1e-12 become 0.
    values = np.where(found.x < np.log(1e-12), 0, np.exp(found.x)).tolist()
    return given | dict(zip(start, values, strict=True))


def _of(its, chip, variant):
    return (its.table["chip"] == chip) & (its.table["variant"] == variant)


def parts(label):
    """Return all (chip, variant) pairs of a study."""
    table = study(label).table
    both = zip(table["chip"].tolist(), table["variant"].tolist(), strict=True)
    return list(dict.fromkeys(both))


@functools.cache
def fitted(label):
    """Fit the constants of gpus.toml, by chip and variant."""
    every = np.ones(len(study(label).table["seconds"]), bool)
    return {(chip, variant): fit(label, variant, chip, every) for chip, variant in parts(label)}


@functools.cache
def left_out(label):
    """Return measured / predicted and the regime of every row, using fits to the other folds."""
    its = study(label)
    seconds, regime = np.empty(len(its.table["seconds"])), np.empty(len(its.table["seconds"]), int)
    for number in np.unique(its.table["fold"]):
        out = its.table["fold"] == number
        for chip, variant in parts(label):
            here = out & _of(its, chip, variant)
            constants = fit(label, variant, chip, ~out)
            found = predict(its.kernel, variant, chip, constants, pick(its.table, here))
            seconds[here], regime[here] = found
    return its.table["seconds"] / seconds, regime


@functools.cache
def by_others(label, chip, other):
    """Return measured / predicted, regime and index of a chip's rows, with another's constants."""
    its, rows = study(label), []
    for variant in dict.fromkeys(v for c, v in parts(label) if c == chip):
        constants = fitted(label).get((other, variant))
        if constants is None:
            continue
        if its.kernel in gpus.PASSES:
            bus = gpus.scale_bus(constants["bus"], variant, rk.chip(other), rk.chip(chip))
            if bus is None or variant == "host":
                continue
            constants = constants | {"bus": bus}
        here = np.flatnonzero(_of(its, chip, variant))
        part = pick(its.table, here)
        seconds, regime = predict(its.kernel, variant, chip, constants, part)
        rows.append((part["seconds"] / seconds, regime, here))
    return tuple(np.concatenate(column) for column in zip(*rows, strict=True)) if rows else None


def regimes(label):
    """Return the number of regimes of a study."""
    return int(left_out(label)[1].max()) + 1


def intervals(ratio, regime, count):
    """Return the interval of measured / predicted in each regime, or of all rows if it has none.

    On each side, a share ``TAIL`` of the rows (at least one row) lies on or beyond the limit.
    """
    bounds = []
    for at in range(count):
        ordered = np.sort(ratio[regime == at] if np.any(regime == at) else ratio)
        left_off = max(int((len(ordered) + 1) * TAIL), 1)
        bounds.append((ordered[left_off - 1], ordered[-left_off]))
    return np.array(bounds)


def interval(label, chip, variant, keep=True):
    """Return the interval of a kernel on a chip, from held-out rows."""
    its = study(label)
    ratio, regime = left_out(label)
    here = its.table["chip"] == chip if its.pooled else _of(its, chip, variant)
    here = here & keep
    return intervals(ratio[here], regime[here], regimes(label))


def around(label, variant):
    """Return intervals that cover all chips, with their own and with each other's constants."""
    its = study(label)
    chips = dict.fromkeys(chip for chip, its_variant in parts(label) if its_variant == variant)
    found = [interval(label, chip, variant) for chip in chips]
    for chip in chips:
        for other in chips:
            crossed = by_others(label, chip, other) if chip != other else None
            if crossed is None:
                continue
            ratio, regime, place = crossed
            here = its.pooled | (its.table["variant"][place] == variant)
            found.append(intervals(ratio[here], regime[here], regimes(label)))
    low, high = np.moveaxis(np.array(found), -1, 0)
    return np.stack([low.min(axis=0), high.max(axis=0)], axis=-1)


@functools.cache
def judged(label):
    """Return measured / predicted, and intervals computed from the other folds."""
    its = study(label)
    ratio, regime = left_out(label)
    low, high = np.empty(len(ratio)), np.empty(len(ratio))
    for number in np.unique(its.table["fold"]):
        out = its.table["fold"] == number
        for chip, variant in parts(label):
            here = out & _of(its, chip, variant)
            low[here], high[here] = interval(label, chip, variant, ~out)[regime[here]].T
    return ratio, low, high


@functools.cache
def layers():
    """Group the kernels that vidur timed by layer: calls, measured, predicted, low, high.

    For one chip, model, split and number of tokens, a layer consists of four matmuls, a gated
    activation, two norms and two residual adds.
    """
    found = {}
    for label, tokens in (
        ("PyTorch 2024: matmuls", "B"), ("PyTorch 2024: norms, adds, activations", "rows"),
    ):  # fmt: skip
        table = study(label).table
        ratio, low, high = judged(label)
        predicted = table["seconds"] / ratio
        calls = np.where(np.isin(table["op"], ("add", "input_layernorm")), 2, 1)
        columns = (calls, table["seconds"], predicted, predicted * low, predicted * high)
        keys = zip(*(table[key] for key in ("chip", "model", "tp", tokens)), strict=True)
        for key, *row in zip(keys, *columns, strict=True):
            found.setdefault(key, []).append(row)
    return {key: np.array(rows).T for key, rows in found.items() if len(rows) == 7}


@functools.cache
def whole_layers(correlation):
    """Return measured / predicted and its interval per layer, for a given error correlation."""
    found = []
    for calls, measured, predicted, low, high in layers().values():
        each_part = [
            Prediction(*each, correlation=correlation) * number
            for number, *each in zip(calls, predicted, low, high, strict=True)
        ]
        total = Prediction.total(each_part)
        found.append(np.array([calls @ measured, total.low, total.high]) / total.seconds)
    return np.array(found).T


TRIED = tuple(np.arange(0, 1.01, 0.05).round(2).tolist())


def correlation(among=slice(None)):
    """Return the smallest correlation within layers for which intervals cover 90% of layers."""
    for tried in TRIED:
        ratio, low, high = whole_layers(tried)[:, among]
        # Add half a percent, so a single layer cannot change the result.
        if np.mean((ratio >= low) & (ratio <= high)) >= gpus.COVERAGE + 0.005:
            return tried
    return TRIED[-1]


def judged_layers():
    """Return measured / predicted and intervals of layers, using correlations from other models."""
    models = np.array([model for _, model, *_ in layers()])
    found = np.empty((3, len(models)))
    for model in np.unique(models):
        here = models == model
        found[:, here] = whole_layers(correlation(~here))[:, here]
    return found


def document():
    """Return the text of gpus.toml."""
    lines = [HEAD.strip(), "", f'correlation."{BEFORE}" = {correlation()}']
    lines.append(f"runs = {_inline(whole_runs.find_interval())}")
    for label in STUDIES:
        its = study(label)
        for chip, variant in parts(label):
            table = pick(its.table, _of(its, chip, variant))
            # vidur's authors do not state which 16-bit dtype they used.
            dtypes = ["fp8"] if variant == "fp8" else ["bf16"]
            dtypes = ["bf16", "fp16"] if its.software == BEFORE else dtypes
            lines += [
                "", f'[software."{its.software}"."{chip}".{its.kernel}.{variant}]',
                f'library = "{table["library"][0]}"',
                *([] if its.kernel in gpus.PASSES else [f"dtypes = {_inline(dtypes)}"]),
                f"constants = {_inline(fitted(label)[chip, variant])}",
                f"range = {_inline({size: _range(table[size]) for size in its.sizes})}",
                f"interval = {_bounds(interval(label, chip, variant))}",
            ]  # fmt: skip
        lines += ["", f'[software."{its.software}".other.{its.kernel}]']
        for variant in dict.fromkeys(variant for _, variant in parts(label)):
            lines.append(f"{variant} = {_bounds(around(label, variant))}")
    return "\n".join(lines) + "\n"


HEAD = """
# Constants of the formulas in gpu_kernels.py for kernels on real GPUs. Written by
# benchmarks/fit_gpus.py from rooflab/published and tests/data/gpu. Their README.md files give the
# authors and licences; fit_gpus.py reports how well the constants predict. Keys: software, GPU,
# kernel, variant; "other" is a GPU that was not timed. An interval has the lowest and the highest
# measured / predicted time in each regime.
#
#   peak, bandwidth     fractions of the data-sheet values that are reached
#   write, cache        s per element written, and bytes/s read, by a multiprocessor of 1 TFLOP/s
#   overhead            s per call; for an add, norm or activation, at a clock of 1 GHz
#   join                s to add the parts of a split sum
#   throttle            how much slower long kernels at the peak get
#   turns               number of matmuls, with different W, that the timings cycled through
#   row, narrow         s per row that a multiprocessor takes to narrow the input, and the fraction
#                       of the bandwidth that its reads and writes reach
#   cached              fraction of the memory time that the L2 cache saves
#   rate                bytes/s of a multiprocessor; in row kernels, of one with 1 TFLOP/s
#   step                s that a block takes for 1,024 elements of a row at 1 GHz
#   softmax             FLOPs that take as long as the softmax of one score
#   block               s that a block of attention takes to start
#   store               fraction of the bandwidth reached when new K and V are written to the cache
#   grouped             s to sort queries by their KV head; grouped_only: without such groups, one
#                       block reads all keys of a head
#   latency, hop, bus   of a collective: s, s for each GPU except one, bytes/s
#   fill                s to fill the pipeline of a collective
#   correlation         of the errors of two kernels in a layer, if whole layers were timed
#   runs                published runs of whole models: the chips, and the lowest and the highest
#                       measured / predicted time, with the constants that the file had before
"""


def _range(values):
    """Return the smallest and the largest timed value."""
    return [int(values.min()), int(values.max())]


def _inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_inline(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return (
        f"{value:.4g}"
        if isinstance(value, float)
        else f'"{value}"'
        if isinstance(value, str)
        else str(value)
    )


def _bounds(rows):
    return "[" + ", ".join(f"[{low:.3f}, {high:.3f}]" for low, high in rows) + "]"


def figures_of(ratio, low, high):
    """Return row count, median and 90th-percentile error, shares within 15% and interval, width."""
    error = np.abs(1 / ratio - 1)
    inside = (ratio >= low) & (ratio <= high)
    return (
        len(ratio), np.median(error), np.quantile(error, 0.9), np.mean(error <= 0.15),
        np.mean(inside), np.median(high / low),
    )  # fmt: skip


def summary():
    """Yield the rows of README.md's table: labels and results on held-out data."""
    for label in STUDIES:
        its = study(label)
        found = judged(label)
        shown = dict.fromkeys((chip, "" if its.pooled else v) for chip, v in parts(label))
        for chip, variant in shown:
            here = _of(its, chip, variant) if variant else its.table["chip"] == chip
            named = variant if its.kernel in ("matmul", "attention") else ""
            yield (
                " ".join(filter(None, (f"{label},", named, chip))),
                figures_of(*(each[here] for each in found)),
            )
    yield "PyTorch 2024: whole layers, both GPUs", figures_of(*judged_layers())


def crossed():
    """Yield the results of each GPU with the constants of every other GPU."""
    for label in STUDIES:
        its = study(label)
        chips = dict.fromkeys(chip for chip, _ in parts(label))
        for chip in chips:
            for other in chips:
                found = by_others(label, chip, other) if chip != other else None
                if found is None:
                    continue
                ratio, regime, place = found
                bounds = {v: around(label, v) for v in set(its.table["variant"][place].tolist())}
                low, high = np.array([
                    bounds[v][r] for v, r in zip(its.table["variant"][place], regime, strict=True)
                ]).T  # fmt: skip
                yield f"{label}, {chip} by {other}", figures_of(ratio, low, high)


def in_detail():
    """Yield the results for every model, kernel and other column."""
    for label in STUDIES:
        its, found = study(label), judged(label)
        for chip in dict.fromkeys(its.table["chip"].tolist()):
            for column in ("model", "op", "node", "gpus", "variant", "fold"):
                for value in np.unique(its.table.get(column, [])):
                    here = (its.table["chip"] == chip) & (its.table[column] == value)
                    if here.any():
                        yield f"{chip}: {column} {value}", figures_of(*(e[here] for e in found))


def row(label, figures):
    rows, median, most, close, inside, width = figures
    shares = f"{median:.1%} | {most:.0%} | {close:.0%} | {inside:.0%}"
    return f"| {label} | {rows:,} | {shares} | {width:.2f} |"


def report():
    print("| tested on | rows | median error | 90% of errors below | within 15% | inside | width |")
    print("|---|---|---|---|---|---|---|")
    for each in (*summary(), *crossed(), *in_detail()):
        print(row(*each))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew gpus.toml")
    options = parser.parse_args()
    report()
    if options.write:
        gpus.GPUS_TABLE.write_text(document(), encoding="utf-8")
