"""A served model as figures: what a batch brings, and when memory is full."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from roofkit._units import engineering, prefixed
from roofkit.models.llm.deployment import Deployment
from rooflab import palette
from rooflab.plot.figures import COLOURS, LINES, bare, place_labels, ticks
from rooflab.plot.wording import listing, say

# Dotted lines are kept for what does not fit into memory.
STYLES = [style for style in zip(COLOURS, LINES, strict=True) if style[1] != ":"]
BATCHES = tuple(2**i for i in range(11))
LENGTHS = tuple(2**i for i in range(9, 18))


def throughput(deployments, batches=BATCHES, *, context=2048, ax=None):
    """Draw tokens/s and time per token of decode against the batch, one panel above the other.

    Parameters
    ----------
    deployments : Deployment, or a mapping of label to up to four, each on one kind of chip
    batches : two or more rising whole numbers of at least 1
    context : int, tokens in the KV cache of each sequence
    ax : pair of matplotlib Axes, optional

    Tokens/s are those of the whole batch on all chips together. A cross marks the largest batch
    that fits: weights, KV cache and activations of the step, as ``deployment.memory(batch,
    prompt=1, output=context)`` counts them; beyond it a line is dotted. A circle marks the batch
    from which compute, no longer memory, binds most of the weights. Returns the two Axes as a
    tuple. Raises ValueError for anything else.

    >>> import roofkit as rk
    >>> top, bottom = throughput(rk.llm("Llama-2-7B").on("H100"))
    >>> top.get_ylabel(), bottom.get_xlabel()
    ('tokens/s', 'batch')
    """
    deployments = _named(deployments)
    batches = rising(batches, "batches")
    if isinstance(context, bool) or not isinstance(context, (int, np.integer)) or context < 1:
        raise ValueError(f"context must be one whole number of at least 1, got {context!r}")
    if ax is None:
        _, ax = plt.subplots(2, sharex=True, figsize=(6.4, 5.4), layout="constrained")
    top, bottom = _pair(ax)
    last, fastest, labels, curves, told = int(batches[-1]), np.inf, [], [], []
    for (label, served), (colour, line) in zip(deployments.items(), STYLES, strict=False):
        full = _last(lambda batch, on=served: not on.memory(batch, 1, context).spare < 0, last)
        knee = served.compute_bound_batch(context) or last + 1
        xs = np.union1d(batches, [batch for batch in (full, knee) if batches[0] <= batch <= last])
        seconds = served.time_per_token(xs, context)
        fastest = min(fastest, seconds.min())
        for panel, ys in ((top, xs / seconds), (bottom, seconds)):
            _line(panel, xs, ys, full, colour, line)
            _mark(panel, xs, ys, full, "X", colour)
            _mark(panel, xs, ys, knee, "o", colour)
        said = [
            say("serving.line", label=label or served.model.name, first=_rate(xs, seconds, 0),
                last=_rate(xs, seconds, -1))
        ]  # fmt: skip
        for batch, mark in ((full, "full"), (knee, "knee")):
            if batch in xs and not batch == full == last:
                at = batch / served.time_per_token(batch, context)
                labels.append((say(f"serving.{mark}", batch=batch), (batch, at), 5, colour))
                said.append(say(f"serving.{mark}_at", batch=batch))
        if full < xs[0]:
            nothing = say("serving.nothing_fits")
            labels.append((nothing, (xs[0], xs[0] / seconds[0]), 3, colour))
            said.append(say("serving.no_batch"))
        curves.append((xs, xs / seconds))
        told.append(listing(said, "items"))
    scale, prefix = prefixed(fastest)
    top.set_ylabel(say("serving.speed_axis"))
    bottom.set_ylabel(say("serving.latency_axis", unit=f"{prefix}s"))
    bottom.set_xlabel(say("serving.batch_axis"))
    if not top.get_shared_x_axes().joined(top, bottom):
        top.set_xlabel(say("serving.batch_axis"))
    for panel, text in (
        (top, lambda value: engineering(value).strip()), (bottom, lambda s: f"{s / scale:g}"),
    ):  # fmt: skip
        _in_powers_of_two(panel, batches)
        if panel is top:  # room above the lines for labels
            top.set_ylim(top=top.get_ylim()[1] * 1.8)
        ticks(panel.yaxis, panel.get_ylim(), text)
    if len(deployments) > 1:
        top.legend(
            handles=_handles(deployments), loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3,
            frameon=False, fontsize=9,
        )  # fmt: skip
    place_labels(top, labels, lines=curves)
    top.roofkit_description = bottom.roofkit_description = say(
        "serving.throughput", context=context, lines=listing(told)
    )
    return top, bottom


def kv_memory(deployment, lengths=LENGTHS, batches=(1, 8, 64), *, ax=None):
    """Draw the bytes of the KV cache against the length, beside the weights and the capacity.

    Parameters
    ----------
    deployment : Deployment on one kind of chip
    lengths : two or more rising whole numbers of at least 1, tokens of each sequence
    batches : one to four rising whole numbers, a line each
    ax : matplotlib Axes, optional

    Bytes are those on each chip. A circle marks the length from which the KV cache is larger than
    the weights, a cross the largest length that fits: weights, KV cache and activations of a decode
    step, as ``deployment.memory(batch, prompt=1, output=length)`` counts them; beyond it a line is
    dotted. Returns the Axes. Raises ValueError for anything else.

    >>> import roofkit as rk
    >>> kv_memory(rk.llm("Llama-2-7B").on("H100")).get_xlabel()
    'length (tokens)'
    """
    served = one_deployment(deployment)
    lengths, batches = rising(lengths, "lengths"), rising(batches, "batches", least=1)
    if len(batches) > len(STYLES):
        raise ValueError(f"give 1 to {len(STYLES)} batches, got {len(batches)}: more look alike")
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    last, labels, curves, told = int(lengths[-1]), [], [], []
    empty = served.memory(1, 1)
    for batch, (colour, line) in zip(batches.tolist(), STYLES, strict=False):

        def at(length, batch=batch):
            return served.memory(batch, 1, length)

        full = _last(lambda length, at=at: not at(length).spare < 0, last)
        outgrown = 1 + _last(lambda length, at=at: at(length).kv <= empty.weights, last)
        marked = [length for length in (full, outgrown) if lengths[0] <= length <= last]
        xs = np.union1d(lengths, marked)
        ys = at(xs).kv
        _line(ax, xs, ys, full, colour, line)
        _mark(ax, xs, ys, outgrown, "o", colour)
        _mark(ax, xs, ys, full, "X", colour)
        ax.annotate(
            say("serving.batch", batch=batch), (xs[-1], ys[-1]), xytext=(5, 0),
            textcoords="offset points",
            va="center", fontsize=9, color=colour, annotation_clip=False,
        )  # fmt: skip
        said = [
            say("serving.cache", batch=batch, least=f"{engineering(ys[0])}B",
                most=f"{engineering(ys[-1])}B")
        ]  # fmt: skip
        for length, mark in ((outgrown, "outgrown_from"), (full, "full_length")):
            if length in marked and not length == full == last:
                labels.append((f"{length}", (length, at(length).kv), 5, colour))
                said.append(say(f"serving.{mark}", length=length))
        if full < lengths[0]:
            said.append(say("serving.no_length"))
        curves.append((xs, ys))
        told.append(listing(said, "items"))
    level = _length_axes(ax, served, empty, lengths)
    _legend_marks(ax)
    curves += [(ax.get_xlim(), text.xy[1:] * 2) for text in level]
    place_labels(ax, labels, avoid=level, lines=curves)
    known = np.isfinite(empty.capacity)
    ax.roofkit_description = say(
        "serving.on_several" if served.split.chips > 1 else "serving.on_one",
        model=served.model.name, chips=served.split.chips, chip=served.chip.name,
        weights=f"{engineering(empty.weights)}B", lines=listing(told),
        capacity=f"{engineering(empty.capacity)}B" if known else say("serving.unknown"),
    )  # fmt: skip
    return ax


def _named(deployments):
    if not isinstance(deployments, Mapping):
        deployments = {"": deployments}
    if not 1 <= len(deployments) <= len(STYLES):
        raise ValueError(
            f"give 1 to {len(STYLES)} deployments, got {len(deployments)}: more look alike"
        )
    for label, served in deployments.items():
        if not isinstance(served, Deployment):
            raise ValueError(
                f"deployments[{label!r}] must be a Deployment, such as "
                f'rk.llm("Llama-2-7B").on("H100"), got {type(served).__name__}: {served!r}'
            )
        if isinstance(served.chip, tuple):
            raise ValueError(
                f"{served.model.name} is on {len(served.chip)} kinds of chips; give one Deployment "
                "for each"
            )
    return deployments


def one_deployment(deployment):
    """A Deployment on one kind of chip, checked."""
    if isinstance(deployment, Mapping):
        raise ValueError("deployment must be one Deployment, got a mapping; draw a figure for each")
    (served,) = _named(deployment).values()
    return served


def rising(values, name, least=2):
    """Rising whole numbers as an array, checked."""
    array = np.asarray(values)
    whole = array.ndim == 1 and len(array) >= least and np.issubdtype(array.dtype, np.integer)
    if not whole or array[0] < 1 or np.any(np.diff(array) <= 0):
        raise ValueError(
            f"{name} must be {'two' if least == 2 else 'one'} or more rising whole numbers of at "
            f"least 1, got {values!r}"
        )
    return array


def _pair(ax):
    axes = tuple(np.ravel(np.array(ax, dtype=object)))
    if len(axes) != 2:
        raise ValueError(f"ax must be a pair of Axes, got {ax!r}; plt.subplots(2) gives one")
    return axes


def _last(holds, most):
    """The largest number up to ``most`` at which something holds that stops once; 0 if none."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _line(ax, xs, ys, full, colour, line):
    """Draw a line as long as memory suffices, and dots beyond."""
    within, beyond = xs <= full, xs >= full
    if within.any():
        ax.plot(xs[within], ys[within], ls=line, color=colour, lw=2, zorder=3)
    if beyond.sum() > 1 or not within.any():
        ax.plot(xs[beyond], ys[beyond], ":", color=colour, lw=1.3, zorder=3)


def _mark(ax, xs, ys, x, marker, colour):
    if x in xs and not (marker == "X" and x == xs[-1]):
        cross = marker == "X"
        ax.plot(
            x, ys[xs == x][0], marker, ms=10 if cross else 7, zorder=4,
            color=colour if cross else "white", markeredgecolor="white" if cross else colour,
            mew=1 if cross else 2,
        )  # fmt: skip


def _rate(xs, seconds, i):
    return say(
        "serving.rate", speed=engineering(xs[i] / seconds[i]), batch=xs[i],
        time=f"{engineering(seconds[i])}s",
    )  # fmt: skip


def _in_powers_of_two(ax, values):
    ax.set(xscale="log", yscale="log")
    ax.set_xlim(values[0] / 1.15, values[-1] * 1.15)
    ax.xaxis.set_major_locator(LogLocator(base=2, numticks=12))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    bare(ax)


def _handles(deployments):
    return [
        Line2D([], [], ls=line, color=colour, lw=2, label=label)
        for label, (colour, line) in zip(deployments, STYLES, strict=False)
    ]


def _legend_marks(ax):
    grey = palette.colour("reference")
    handles = [
        Line2D([], [], ls="", marker="o", ms=7, color="white", mec=grey, mew=2,
               label=say("serving.outgrown_mark")),
        Line2D([], [], ls="", marker="X", ms=9, color=grey, mec="white",
               label=say("serving.full_mark")),
    ]  # fmt: skip
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False,
              fontsize=9, handletextpad=0.3)  # fmt: skip


def _length_axes(ax, served, empty, lengths):
    """Axes with a line each for weights and capacity; returns the texts on these."""
    ax.set_xlabel(say("serving.length_axis"))
    alone = served.split.chips == 1
    ax.set_ylabel(say("serving.cache_axis" if alone else "serving.cache_axis_each"))
    _in_powers_of_two(ax, lengths)
    texts, highest = [], max(empty.weights, np.nan_to_num(empty.capacity))
    for value, name in ((empty.weights, "weights"), (empty.capacity, "capacity")):
        if np.isfinite(value):
            ax.axhline(value, color=palette.colour("leader"), lw=1.2, zorder=2.5)
            over = value == highest
            texts.append(
                ax.annotate(
                    say(f"serving.{name}", bytes=f"{engineering(value)}B", chip=served.chip.name),
                    (0, value), xycoords=("axes fraction", "data"),
                    xytext=(4, 3 if over else -3), textcoords="offset points",
                    va="bottom" if over else "top", fontsize=9, zorder=3.5,
                    color=palette.colour("note"),
                    bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
                )
            )  # fmt: skip
    ticks(ax.yaxis, ax.get_ylim(), lambda value: engineering(value).strip())
    return texts
