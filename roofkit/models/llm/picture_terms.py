"""What a pass asks of each chip as coefficients, for a page that cannot run count.py.

A figure of an operation is a sum of a few functions of the lengths, each times a coefficient; bytes
are such a sum for each of the Widths. The coefficients are found by counting passes of several
lengths in several formats, and hold only if every one of these passes comes out.
"""

import math

import numpy as np

from roofkit.models.llm.attention import attend, count_keys_read, count_pairs
from roofkit.models.llm.chip_rates import UNLIMITED, ChipRates
from roofkit.models.llm.memory import weight_bytes, cached_bytes
from roofkit.models.llm.operation_counts import CountOptions, Pass, list_operations, plan_pass
from roofkit.models.llm.precision import Widths
from roofkit.models.llm.split import Split, shard
from roofkit.roofline import smaller

# Batches, new tokens and cached ones of the passes that are counted: on both sides of every window
# and vocabulary, with few experts visited and with all of them.
LENGTHS = np.array([
    (1, 2, 3), (1, 1, 5), (1, 7, 40), (1, 9, 300), (8, 1, 5000), (5, 3, 9000), (1, 700, 100),
    (2, 6000, 1), (7, 90, 20000), (64, 1, 70000), (1, 30000, 33), (900, 40000, 3000),
    (2000, 90000, 60), (30, 400, 12000), (300, 2, 640),
], dtype=float).T  # fmt: skip
# What each figure of an operation may be made of.
FUNCTIONS = {
    "flops": ("tokens", "rows", "keys", "scores", "pairs"),
    "held": ("one", "new", "gathered", "touched", "tokens", "read"),
    "moved": ("tokens", "rows", "keys", "scores"),
}
TOLERANCE = 1e-12  # of a figure; what is rounded stays far below
PLAIN_WIDTHS = Widths(*[2.0] * len(Widths._fields))
WIDER_WIDTHS = {name: PLAIN_WIDTHS._replace(**{name: 3.0}) for name in Widths._fields}
# Where matrices take no time, latent attention makes keys; where pairs take none, it carries
# queries to the latent vectors.
NO_TIME_RATES = ChipRates(*[None] * len(ChipRates._fields))._replace(
    bandwidth=math.inf, on_chip=UNLIMITED
)
MACHINES = [
    NO_TIME_RATES._replace(linear=math.inf, attends=1.0), NO_TIME_RATES._replace(linear=1.0, attends=math.inf),
]  # fmt: skip


def picture_terms(model, tensor=1):
    """What the passes of a model ask of each of ``tensor`` chips, and what it holds, as plain data.

    It holds on any chip and in any formats, for a model that is fused. An operation is a dict: its
    ``flops`` are a coefficient for each function of the lengths; ``held``, the bytes of weights and
    KV cache, and ``moved``, those of activations, are such coefficients for each of the Widths.
    ``on`` is the peak of the Rates that it computes at, or the collective whose array is ``moved``.
    The operations come ``before`` the attention, in the ``attention`` of each kind, and ``after``.
    Where a kind of attention can go two ways, a pass goes the quicker.

    The functions are 1 ("one"), all "tokens", the last "rows" of the sequences, "new" tokens of
    one, rows "gathered" of the embedding, the share of the experts "touched", "keys" of all
    sequences, "scores" (tokens times keys), "pairs" that meet, and keys that fused attention has
    "read". Raises ValueError where the model cannot be split, or where a figure is no such sum.

    >>> from roofkit.models.llm.configs import llm
    >>> [[attention]] = picture_terms(llm("Llama-2-7B"))["attention"]["flash"]
    >>> attention["flops"], attention["held"]
    ({'pairs': 16544.0}, {'kv': {'read': 8192.0}})
    """
    split, wide = Split(tensor=tensor), model.latent
    on = shard(model, split)
    how = CountOptions(
        model, split, on, PLAIN_WIDTHS, "linear", "routed", "attends", "head", True, "flash", None
    )
    hows = {"": how, **{name: how._replace(widths=each) for name, each in WIDER_WIDTHS.items()}}
    plans = {name: plan_pass(each) for name, each in hows.items()}
    place = plans[""].index(attend)
    functions = _length_functions(Pass(how, *LENGTHS))

    def counted(part, **others):
        found = {
            name: list_operations(plans[name][part], Pass(each._replace(**others), *LENGTHS))
            for name, each in hows.items()
        }
        return [_operation_data(dict(zip(found, each, strict=True)), functions)
                for each in zip(*found.values(), strict=True)]  # fmt: skip

    return {
        "before": counted(slice(place)),
        "attention": {
            kind: [
                counted(slice(place, place + 1), attention=kind, rates=each)
                for each in MACHINES[: 2 if wide else 1]
            ]
            for kind in ("flash", "unfused")
        },
        "after": counted(slice(place + 1, None)),
        "weights": {
            name: weight_bytes(hows[name], 1.0) - weight_bytes(how, 1.0) for name in WIDER_WIDTHS
        },
        "kv": cached_bytes(how) / PLAIN_WIDTHS.kv,
        "group": on.heads if wide else on.q_dim // on.kv_dim,
        "row": wide.kv_rank + wide.rope if wide else model.head_dim,
        "head": model.cached_width if wide else 2 * model.head_dim,
        "vocabulary": on.vocabulary,
    }  # fmt: skip


def _length_functions(at):
    """For each figure the functions of the lengths that it may be made of, by their names."""
    model, tokens = at.model, at.tokens
    found = {
        "one": np.ones_like(tokens), "new": at.new, "tokens": tokens, "rows": at.rows,
        "gathered": smaller(tokens / at.split.tensor, float(at.shard.vocabulary)),
    }  # fmt: skip
    if model.experts:
        found["touched"] = 1 - (1 - model.experts_per_token / model.experts) ** tokens
    for name, window in {"": None, "window ": model.window}.items():
        if not name or window:
            keys = count_keys_read(at.new, at.cached, window)
            found[f"{name}keys"] = found[f"{name}read"] = at.batch * keys
            found[f"{name}scores"] = tokens * keys
            found[f"{name}pairs"] = at.batch * count_pairs(at.new, at.cached, window)
    return {
        field: {name: of for name, of in found.items() if name.split()[-1] in names}
        for field, names in FUNCTIONS.items()
    }


def _operation_data(found, functions):
    """An operation, found in plain widths and with each of them wider, as data."""
    plain = found.pop("")
    return {
        "name": plain.name, "count": plain.count, "on": plain.collective or plain.dtype,
        "stream": plain.on_stream, "flops": _fit_lengths(plain.flops, "flops", functions, plain.name),
        "held": _fit_widths("held", lambda one: one.weights + one.kv, plain, found, functions),
        "moved": _fit_widths(
            "moved", lambda one: one.activations + one.array, plain, found, functions
        ),
    }  # fmt: skip


def _fit_widths(field, figures_of, plain, wider, functions):
    base, total, made = figures_of(plain), 0.0, {}
    for name, each in wider.items():
        more = figures_of(each) - base
        if np.count_nonzero(more):
            total = total + PLAIN_WIDTHS[0] * more
            made[name] = _fit_lengths(more, field, functions, plain.name)
    if not _is_same(total, base):
        raise ValueError(f"{plain.name}: its bytes {field} are no sum of multiples of the widths")
    return {name: each for name, each in made.items() if each}


def _fit_lengths(figures, field, functions, name):
    """The coefficients with which the functions of a field add up to these figures."""
    if not np.count_nonzero(figures):
        return {}
    figures = np.broadcast_to(figures, LENGTHS.shape[1:])
    known = functions[field]
    for each, of in known.items():
        if _is_same(figures[0] / of[0] * of, figures):
            return {each: float(figures[0] / of[0])}
    # Each pass has the same weight, whatever its size, and so has each function.
    columns = np.array(list(known.values())) / figures
    sizes = np.linalg.norm(columns, axis=1)
    found = np.linalg.lstsq((columns / sizes[:, None]).T, np.ones_like(figures), rcond=None)[0]
    made = {
        each: float(f"{value / size:.12g}")
        for each, value, size in zip(known, found, sizes, strict=True) if abs(value) > 1e-9
    }  # fmt: skip
    if not _is_same(sum(value * known[each] for each, value in made.items()), figures):
        raise ValueError(f"{name}: its {field} are no sum of {', '.join(known)}")
    return made


def _is_same(one, other):
    return np.all(abs(one - other) <= TOLERANCE * abs(other))
