"""Drawings of what the models speak of: chips and links, a weight's way, a model, time lines."""

from textwrap import fill

import numpy as np
from matplotlib.patches import FancyBboxPatch, Rectangle

from roofkit._inputs import check_number
from roofkit._units import format_quantity
from roofkit.hardware import chip as find_chip
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.wording import join_parts, say, word_for

# The colour of each kind of work on a time line, and its hatch, which differs without colour.
KINDS = {
    "math": ("roof", ""), "memory": ("comms", "//"), "link": ("link", "\\\\"),
    "wait": ("barred", ""),
}  # fmt: skip


def boards(chip, count=4, between=None):
    """Draw two boards of chips with memory and links, whose widths are to scale.

    ``chip`` is a Chip or a name, ``count`` the chips on a board, and ``between`` the bytes/s of the
    network between boards, for each chip. Returns the Axes. Raises ValueError for a chip without
    links in the table.

    >>> boards("H100", between=50e9).roofkit_description
    'Two boards of 4 H100 SXM, to scale: memory 3.35 TB/s, link 450 GB/s, network 50 GB/s.'
    """
    chip = find_chip(chip)
    if chip.interconnect is None:
        raise ValueError(f"the table does not say how several {chip.name} are joined")
    speeds = {"memory": chip.bandwidth, "link": chip.interconnect.total, "network": between}
    speeds = {name: check_number(speed, name) for name, speed in speeds.items() if speed}
    each = {name: 0.5 * float(speed / chip.bandwidth) for name, speed in speeds.items()}
    narrow = common.is_narrow()  # then one board is below the other
    ax = _canvas(3.1, 6.2) if narrow else _canvas(6.4, 3.1)
    for board in range(2):
        left, up = (0.1, 3.3 - 2.5 * board) if narrow else (0.1 + 3.3 * board, 0)
        _box(ax, left, 0.75 + up, 2.9, 2.2, fc="shade")
        _box(ax, left + 0.1, 0.9 + up, 2.7, each["link"], fc="link", ec="link")
        for place in range(count):
            x, wide = left + 0.2 + place * 2.6 / count, 2.6 / count - 0.12
            _box(ax, x, 2.45 + up, wide, 0.36, say("drawings.memory"), fc="comms", ink="page")
            _box(ax, x, 1.5 + up, wide, 0.55, say("drawings.chip"), fc="roof", ink="page")
            roads = zip(each, (2.05, 0.9), (0.4, 0.6), ("comms", "link"), strict=False)
            for name, low, tall, colour in roads:
                broad = each[name] * min(wide / 0.53, 1)
                _box(ax, x + (wide - broad) / 2, low + up, broad, tall, fc=colour, ec=colour)
    if between:
        road = (1.5, 3.75, each["network"], 0.3) if narrow else (3.0, 1.4, 0.4, each["network"])
        _box(ax, *road, fc="text", ec="text")
    told = [f"{word_for('resources', name)} {format_quantity(float(speed), 'B/s')}"
            for name, speed in speeds.items()]  # fmt: skip
    for i, (words, colour) in enumerate(zip(told, ("comms", "on-link", "text"), strict=False)):
        at = (0.15, 1.15 - 0.3 * i) if narrow else (0.15 + 2.2 * i, 0.35)
        ax.text(*at, words, color=palette.colour(colour), size=11, weight="bold")
    ax.roofkit_description = say("drawings.boards", count=count, chip=chip.name,
                                 speeds=join_parts(told, "items"))  # fmt: skip
    return ax


def weight_way(uses):
    """Draw a weight's way from memory to the arithmetic, for each label's number of uses there.

    Up to 256 uses are drawn. Returns the Axes of the panels as a tuple.

    >>> one, many = weight_way({"writing": 1, "reading": 2048})
    >>> many.texts[-1].get_text()
    'used 2,048 times'
    """
    common.check_mapping("uses", uses, 3, "numbers")
    width, size = common.find_width(), 9 if common.is_narrow() else 11
    figure = common.new_figure(width, 0.242 * width * len(uses))
    panes = figure.subplots(len(uses), 1, squeeze=False)[:, 0]
    told = []
    for ax, (label, times) in zip(panes, uses.items(), strict=True):
        ax.set(xlim=(0, 6.4), ylim=(0, 1.5), aspect="equal")
        ax.axis("off")
        ax.text(0.05, 1.32, label, size=size, weight="bold", va="center")
        for row in range(3):
            _box(ax, 0.1, 0.1 + 0.34 * row, 1.0, 0.28, fc="comms")
        ax.plot([0.6], [0.58], "s", ms=9, color=palette.colour("text"))
        ax.arrow(1.15, 0.58, 1.3, 0, width=0.06, color=palette.colour("comms"))
        ax.text(1.8, 0.8, say("drawings.fetch"), ha="center", size=size - 1)
        shown = np.arange(min(check_number(times, f"uses[{label!r}]"), 256))
        ax.plot(2.8 + 0.085 * (shown // 8), 0.95 - 0.105 * (shown % 8), "s", ms=3.2,
                color=palette.colour("roof"), ls="")  # fmt: skip
        words = say("drawings.used_once" if times == 1 else "drawings.used", times=f"{times:,}")
        ax.text(
            2.75, 1.28, words, size=size, color=palette.colour("anchor"), weight="bold", va="center"
        )
        told.append(say("drawings.way", label=label, words=words))
    for ax in panes:
        ax.roofkit_description = say("drawings.weight_way", panels=join_parts(told))
    return tuple(panes)


def model_stack(model):
    """Draw the seven matrices of a model's layer, their areas to scale, and the stack of layers.

    ``model`` is a dense LLM with a gated MLP. Returns the Axes.

    >>> import roofkit as rk
    >>> model_stack(rk.llm("Llama-3.1-8B")).texts[-1].get_text()
    '× 32 layers'
    """
    kv = model.kv_heads * model.head_dim
    shapes = {
        "q": model.heads * model.head_dim, "k": kv, "v": kv, "o": model.heads * model.head_dim,
        "gate": model.mlp, "up": model.mlp, "down": model.mlp,
    }  # fmt: skip
    ax = _canvas(6.4, 2.9)
    unit, x = 3.95 / sum(shapes.values()), 0.15
    for back in (0.24, 0.16, 0.08):
        _box(ax, x + back, 0.75 + back, 5.05, 1.75, fc="page")
    _box(ax, x, 0.75, 5.05, 1.75, fc="shade")
    x += 0.12
    for name, columns in shapes.items():
        colour = "comms" if name in "qkvo" else "roof"
        _box(ax, x, 1.2, unit * columns, 1.1, fc=colour, ec="page")
        ax.text(x + unit * columns / 2, 0.92, name, ha="center", size=9)
        x += unit * columns + 0.14
    words = say("drawings.matrices", hidden=f"{model.hidden:,}", mlp=f"{model.mlp:,}")
    ax.text(0.15, 0.5, fill(words, 13 * common.find_width()), size=10, va="top")
    count = say("drawings.layers", count=model.layers)
    ax.text(6.35, 2.7, count, size=13, weight="bold", ha="right")
    ax.roofkit_description = say("drawings.stack", model=model.name, count=model.layers,
                                 names=join_parts(shapes, "items"))  # fmt: skip
    return ax


def memory_growth(served, users, tokens):
    """Draw the bytes that a step fetches against the tokens in each cache: weights, then caches.

    ``served`` is an LLM on a chip, ``users`` lists in increasing order how many write at once, and
    ``tokens`` is the largest number in a cache. Returns the Axes.

    >>> import roofkit as rk
    >>> ax = memory_growth(rk.llm("Llama-3.1-8B").on("H100"), [1, 16], 4096)
    >>> ax.roofkit_description
    'Bytes of a step against tokens in each cache, up to 4,096: weights 16.1 GB; caches 537 MB for
    1 user, 8.59 GB for 16 users.'
    """
    ax = common.new_axes(3.4)
    held = [served.memory(count, 1, int(tokens)) for count in users]
    weights, xs = held[0].weights / 1e9, np.array([0, tokens])
    ax.fill_between(xs, 0, weights, color=palette.colour("roof"), alpha=0.85, lw=0)
    ax.text(0.03 * tokens, weights / 2, say("drawings.weights"), color="white", va="center")
    told, below = [], np.full(2, weights)
    for index, (count, memory) in enumerate(zip(users, held, strict=True)):
        top = weights + memory.kv / 1e9 * xs / tokens
        shade = 0.9 - 0.6 * index / len(users)
        ax.fill_between(xs, below, top, color=palette.colour("comms"), alpha=shade, lw=0)
        who = say("drawings.user" if count == 1 else "drawings.users", count=count)
        ax.annotate(who, (tokens, top[1]), (5, 0), textcoords="offset points", va="center", size=10)
        told.append(say("drawings.cache", size=format_quantity(float(memory.kv), "B"), users=who))
        below = top
    ax.set(xlim=(0, tokens), ylim=(0, 1.08 * below[1]))
    ax.set_xlabel(say("drawings.cache_tokens"))
    ax.set_ylabel(say("drawings.step_bytes"))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    common.draw_grid(ax)
    ax.roofkit_description = say(
        "drawings.growth", tokens=f"{tokens:,}", caches=join_parts(told, "items"),
        weights=format_quantity(float(held[0].weights), "B"),
    )  # fmt: skip
    return ax


def timeline(rows, unit="ms"):
    """Draw work on one axis of time, a row each.

    ``rows`` maps a label to (start, seconds, kind) or (start, seconds, kind, words) tuples, with a
    kind in KINDS; ``unit`` is "s", "ms" or "µs". Returns the Axes. Another kind is a ValueError.

    >>> ax = timeline({"reads": [(0, 0.03, "math", "prompt")], "writes": [(0.03, 0.005, "memory")]})
    >>> ax.roofkit_description
    'Time line. reads: math 0 to 30 ms; writes: memory 30 to 35 ms.'
    """
    common.check_mapping("rows", rows, 12, "pieces")
    scale = {"s": 1.0, "ms": 1e3, "µs": 1e6}[unit]
    ax = common.new_axes(0.75 + 0.5 * len(rows))
    end = scale * max(start + taken for pieces in rows.values() for start, taken, *_ in pieces)
    told = []
    for row, (label, pieces) in enumerate(rows.items()):
        for start, taken, kind, *words in pieces:
            if kind not in KINDS:
                raise ValueError(f"kind {kind!r} is not one of {', '.join(KINDS)}")
            colour, hatch = KINDS[kind] if len(pieces) < 25 else (KINDS[kind][0], "")
            ax.barh(row, scale * taken, 0.7, scale * start, fc=palette.colour(colour), hatch=hatch,
                    ec="white", lw=0.5 if hatch else 0)  # fmt: skip
            if words:
                at, plate = scale * (start + taken / 2), common.TEXT_PLATE if hatch else None
                ink = "black" if hatch or kind == "wait" else "white"
                ax.text(at, row, words[0], ha="center", va="center", color=ink, size=9, bbox=plate)
        (start, _, kind, *_), (last, taken, *_) = pieces[0], pieces[-1]
        told.append(f"{label}: {kind} {scale * start:.4g} to {scale * (last + taken):.4g} {unit}")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlim=(0, 1.02 * end), ylim=(len(rows) - 0.5, -0.5))
    ax.set_xlabel(say("axes.time_in", unit=unit))
    common.draw_grid(ax)
    ax.tick_params(axis="y", length=0)
    ax.roofkit_description = say("drawings.timeline", rows=join_parts(told))
    return ax


def _canvas(width, height):
    """Return Axes of a figure in inches, without scales."""
    ax = common.new_axes(height * common.find_width() / width)
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return ax


def _box(ax, x, y, width, height, words="", *, fc, ec="reference", ink="text"):
    shape = FancyBboxPatch if min(width, height) > 0.2 else Rectangle
    style = {"boxstyle": "round,pad=0,rounding_size=0.05"} if shape is FancyBboxPatch else {}
    style |= {"fc": palette.colour(fc), "ec": palette.colour(ec)}
    ax.add_patch(shape((x, y), width, height, lw=0.8, zorder=2, **style))
    if words:
        ax.text(x + width / 2, y + height / 2, words, ha="center", va="center", size=9, zorder=3,
                color=palette.colour(ink))  # fmt: skip
