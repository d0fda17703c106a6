"""Express the counts of a pass as coefficients, for a web page that cannot run Python.

Each count of an operation is a sum of a few functions of the lengths, each times a coefficient.
Bytes have one such sum for each of the Widths. The coefficients are fitted to passes of several
lengths in several formats, and must reproduce every one of these passes.
"""

import math

import numpy as np

from roofkit.models.llm.attention import count_keys_read, count_pairs, list_attention_operations
from roofkit.models.llm.chip_rates import UNLIMITED, ChipRates
from roofkit.models.llm.llm_viewer import apply_departures, read_convention
from roofkit.models.llm.memory import cached_bytes, weight_bytes
from roofkit.models.llm.operation_counts import (
    CountOptions,
    Pass,
    choose_pass_planner,
    list_operations,
)
from roofkit.models.llm.precision import Widths
from roofkit.models.llm.split import Split, shard
from roofkit.roofline import smaller

# Batch, new tokens and cached tokens of the fitted passes. They cover both sides of every window
# and vocabulary size, and use few experts or all experts.
LENGTHS = np.array([
    (1, 2, 3), (1, 1, 5), (1, 7, 40), (1, 9, 300), (8, 1, 5000), (5, 3, 9000), (1, 700, 100),
    (2, 6000, 1), (7, 90, 20000), (64, 1, 70000), (1, 30000, 33), (900, 40000, 3000),
    (2000, 90000, 60), (30, 400, 12000), (300, 2, 640),
], dtype=float).T  # fmt: skip
# The functions that may appear in each count of an operation.
FUNCTIONS = {
    "flops": ("tokens", "rows", "keys", "scores", "pairs"),
    "held": ("one", "new", "gathered", "touched", "tokens", "read"),
    "moved": ("one", "tokens", "rows", "keys", "scores", "prompts"),
}
TOLERANCE = 1e-12  # relative; rounding errors are far smaller
PLAIN_WIDTHS = Widths(*[2.0] * len(Widths._fields))
# Some counts of experts take another form if activations have fewer than 8 bits.
NARROW_WIDTHS = PLAIN_WIDTHS._replace(activations=0.5)
WIDER = 1.5  # how many times as wide each of the Widths is made, one at a time
# If matrices take no time, latent attention expands its keys. If attention takes no time, it
# projects queries into the latent space instead.
NO_TIME_RATES = ChipRates(*[None] * len(ChipRates._fields))._replace(
    bandwidth=math.inf, on_chip=UNLIMITED
)
MACHINES = [
    NO_TIME_RATES._replace(linear=math.inf, attends=1.0),
    NO_TIME_RATES._replace(linear=1.0, attends=math.inf),
]  # fmt: skip


def fit_count_coefficients(model, tensor=1, convention="roofkit"):
    """Return the counts of a model's passes on each of ``tensor`` chips as plain data.

    The counts are valid for any chip and any formats, with fusion or, in LLM-Viewer's convention,
    without fusion and with scores written out. An operation is a dict. ``flops`` maps functions of
    the lengths to coefficients. ``held`` (bytes of weights and KV cache) and ``moved`` (bytes of
    activations) map each of the Widths to such a dict. ``on`` names the operation's peak in
    ChipRates, or its collective, whose array is ``moved``. Operations are listed ``before`` the
    attention, under ``attention`` by kind, and ``after`` it. If a kind of attention can be computed
    in two ways, a pass uses the faster way. Operations under ``narrow`` replace those of the same
    name if activations have fewer than 8 bits.

    The functions are "one" (1), all "tokens", "rows" (one for each sequence), the "new" tokens of a
    sequence, rows "gathered" from the embedding, the share of experts "touched", "keys" of all
    sequences, "scores" (tokens times keys), attended "pairs", keys "read" by fused attention, and
    the tokens of "prompts". Raises ValueError if the model cannot be split, or if a count is not
    such a sum.

    >>> from roofkit.models.llm.configs import llm
    >>> [[attention]] = fit_count_coefficients(llm("Llama-2-7B"))["attention"]["flash"]
    >>> attention["flops"], attention["held"]
    ({'pairs': 16544.0}, {'kv': {'read': 8192.0}})
    """
    split, wide, departures = Split(tensor=tensor), model.latent, read_convention(convention)
    held, lengths = shard(model, split), LENGTHS
    if "new_token" in departures:
        lengths = LENGTHS - [[0], [0], [1]] * (LENGTHS[1] == 1)
    kinds = ("unfused",) if departures else ("flash", "unfused")
    how = CountOptions(
        model, split, held, PLAIN_WIDTHS, "linear", "routed", "attends", "head", not departures,
        kinds[0], None,
    )  # fmt: skip
    place = choose_pass_planner(how).index(list_attention_operations)
    functions = _length_functions(Pass(how, *lengths))

    def fit_part(part, widths=PLAIN_WIDTHS, **changes):
        counts = {}
        for name, option in {"": widths, **_widen(widths)}.items():
            choice = how._replace(widths=option, **changes)
            at = Pass(choice, *lengths)
            operations = list_operations(choose_pass_planner(choice)[part], at)
            counts[name] = apply_departures(operations, at, departures)
        return [_operation_data(dict(zip(counts, operations, strict=True)), widths, functions)
                for operations in zip(*counts.values(), strict=True)]  # fmt: skip

    plain_weights, after = weight_bytes(how, 1.0), fit_part(slice(place + 1, None))
    narrow = fit_part(slice(place + 1, None), NARROW_WIDTHS) if model.experts else after
    return {
        "before": fit_part(slice(place)),
        "attention": {
            kind: [
                fit_part(slice(place, place + 1), attention=kind, rates=rates)
                for rates in MACHINES[: 2 if wide else 1]
            ]
            for kind in kinds
        },
        "after": after, "narrow": {one["name"]: one for one in narrow if one not in after},
        "weights": {
            name: weight_bytes(how._replace(widths=wider), 1.0) - plain_weights
            for name, wider in _widen(PLAIN_WIDTHS).items()
        },
        "kv": cached_bytes(how) / PLAIN_WIDTHS.kv,
        "group": held.heads if wide else held.q_dim // held.kv_dim,
        "row": wide.kv_rank + wide.rope if wide else model.head_dim,
        "head": model.cached_width if wide else 2 * model.head_dim,
        "vocabulary": held.vocabulary,
    }  # fmt: skip


def _widen(widths):
    return {
        name: widths._replace(**{name: WIDER * width}) for name, width in widths._asdict().items()
    }


def _length_functions(at):
    """Return the values of each count's functions of the lengths, by count and function name."""
    model, tokens = at.model, at.tokens
    values = {
        "one": np.ones_like(tokens), "new": at.new, "tokens": tokens, "rows": at.rows,
        "gathered": smaller(tokens / at.split.tensor, float(at.shard.vocabulary)),
        "prompts": tokens * (1.0 - at.decoding),
    }  # fmt: skip
    if model.experts:
        values["touched"] = 1 - (1 - model.experts_per_token / model.experts) ** tokens
    for name, window in {"": None, "window ": model.window}.items():
        if not name or window:
            keys = count_keys_read(at.new, at.cached, window)
            values[f"{name}keys"] = values[f"{name}read"] = at.batch * keys
            values[f"{name}scores"] = tokens * keys
            values[f"{name}pairs"] = at.batch * count_pairs(at.new, at.cached, window)
    return {
        field: {name: value for name, value in values.items() if name.split()[-1] in names}
        for field, names in FUNCTIONS.items()
    }


def _operation_data(operations, widths, functions):
    """Return an operation as data, from its counts at these widths and at each wider width."""
    plain = operations.pop("")

    def fit_widths(field, figures_of):
        return _fit_widths(field, figures_of, plain, operations, widths, functions)

    return {
        "name": plain.name, "count": plain.count, "on": plain.collective or plain.dtype,
        "stream": plain.on_stream,
        "flops": _fit_lengths(plain.flops, "flops", functions, plain.name),
        "held": fit_widths("held", lambda operation: operation.weights + operation.kv),
        "moved": fit_widths("moved", lambda operation: operation.activations + operation.array),
    }  # fmt: skip


def _fit_widths(field, figures_of, plain, wider, widths, functions):
    base, total, terms = figures_of(plain), 0.0, {}
    for name, operation in wider.items():
        increase = figures_of(operation) - base
        if np.count_nonzero(increase):
            a_byte = increase / ((WIDER - 1) * getattr(widths, name))
            total = total + getattr(widths, name) * a_byte
            terms[name] = _fit_lengths(a_byte, field, functions, plain.name)
    if not _is_same(total, base):
        raise ValueError(f"{plain.name}: its bytes {field} are not a sum of multiples of widths")
    return {name: coefficients for name, coefficients in terms.items() if coefficients}


def _fit_lengths(figures, field, functions, name):
    """Return the coefficients that make the functions of a field add up to ``figures``."""
    if not np.count_nonzero(figures):
        return {}
    figures = np.broadcast_to(figures, LENGTHS.shape[1:])
    known = functions[field]
    for function, values in known.items():
        if _is_same(figures[0] / values[0] * values, figures):
            return {function: float(figures[0] / values[0])}
    # Normalise so that every pass and every function has the same weight in the fit.
    columns = np.array(list(known.values())) / figures
    sizes = np.linalg.norm(columns, axis=1)
    solution = np.linalg.lstsq((columns / sizes[:, None]).T, np.ones_like(figures), rcond=None)[0]
    coefficients = {
        function: float(f"{value / size:.12g}")
        for function, value, size in zip(known, solution, sizes, strict=True) if abs(value) > 1e-9
    }  # fmt: skip
    fitted = sum(value * known[function] for function, value in coefficients.items())
    if not _is_same(fitted, figures):
        raise ValueError(f"{name}: its {field} are not a sum of {', '.join(known)}")
    return coefficients


def _is_same(value, expected):
    return np.all(abs(value - expected) <= TOLERANCE * abs(expected))
