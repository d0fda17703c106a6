"""Figures of collectives, step by step, and of the links in a group of chips."""

import math
from itertools import pairwise

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from roofkit.network import Group
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS
from rooflab.plot.wording import join_parts, say

# Letters name chips, numbers name pieces of the array.
LETTERS = "ABCDEFGH"


def collective(name, n=4, *, axes=None):
    """Draw a collective step by step on a one-way ring, with a row per chip and a column per piece.

    Parameters
    ----------
    name : "all-gather", "reduce-scatter", "all-reduce" or "all-to-all"
    n : number of chips, 2 to 5
    axes : sequence of matplotlib Axes, one for each state, optional

    A filled cell means that the chip has the piece. In a sum, the number in a cell shows how many
    chips have added their part. A thick frame marks a piece that has just arrived over a link. In
    an all-to-all, a piece has the colour and letter of its target chip. The second row of an
    all-reduce is its all-gather. Returns the Axes. Raises ValueError for other arguments.

    >>> len(collective("all-gather", 4))
    4
    """
    if name not in STATES:
        raise ValueError(f"{name!r} is not a collective; choose one of {', '.join(STATES)}")
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 2 <= n <= len(COLOURS):
        raise ValueError(f"n must be a whole number from 2 to {len(COLOURS)}, got {n!r}")
    states = STATES[name](n)
    if axes is None:
        rows = 2 if name == "all-reduce" else 1
        axes = [*common.new_panels(n * rows, min(1.6, 6.4 / n), 1.75)]
        if rows == 2:
            halves = axes.pop(n)
            halves.axis("off")
            halves.text(0.5, 0.5, say("collective.halves"), ha="center", va="center",
                        fontsize=9, color=palette.colour("reference"))  # fmt: skip
    before = None
    for step, (ax, held) in enumerate(zip(axes, states, strict=True)):
        _draw_state(ax, step, held, before, name)
        before = held
    descriptions = [
        say("collective.state", step=step, chips=_describe_state(held))
        for step, held in enumerate(states)
    ]
    axes[0].roofkit_description = say(
        "collective.described", name=name, n=n, steps=len(states) - 1,
        states=join_parts(descriptions),
    )  # fmt: skip
    return tuple(axes)


def _gather_states(n, held=None):
    """Yield the states of an all-gather: each chip passes on the last piece that it received."""
    held = [{chip: (chip, n)} for chip in range(n)] if held is None else held
    yield held
    for step in range(n - 1):
        held = [dict(pieces) for pieces in held]
        for chip in range(n):
            piece = (chip - step) % n
            held[(chip + 1) % n][piece] = held[chip][piece]
        yield held


def _scatter_states(n):
    """Yield the states of a reduce-scatter: each piece goes around the ring once and is summed."""
    held = [{piece: (piece, 1) for piece in range(n)} for _ in range(n)]
    yield held
    for step in range(n - 1):
        now = [dict(pieces) for pieces in held]
        for chip in range(n):
            piece = (chip - step - 1) % n
            _, parts = held[chip][piece]
            now[(chip + 1) % n][piece] = (piece, parts + 1)
            del now[chip][piece]
        held = now
        yield held


def _reduce_states(n):
    scattered = list(_scatter_states(n))
    yield from scattered
    yield from list(_gather_states(n, scattered[-1]))[1:]


def _exchange_states(n):
    """Yield the states of an all-to-all: at step s, every chip sends to the chip s places ahead."""
    held = [{target: (target, n) for target in range(n)} for _ in range(n)]
    yield held
    for step in range(1, n):
        held = [dict(pieces) for pieces in held]
        for chip in range(n):
            held[(chip + step) % n][chip] = ((chip + step) % n, n)
        yield held


STATES = {
    "all-gather": lambda n: list(_gather_states(n)),
    "reduce-scatter": lambda n: list(_scatter_states(n)),
    "all-reduce": lambda n: list(_reduce_states(n)),
    "all-to-all": lambda n: list(_exchange_states(n)),
}


def _draw_state(ax, step, held, before, name):
    n, grey = len(held), palette.colour("reference")
    counted = name in ("reduce-scatter", "all-reduce")
    ax.set(xlim=(-1.2, n + 0.05), ylim=(n + 0.6, -0.6), aspect="equal")
    ax.axis("off")
    for row, pieces in enumerate(held):
        ax.text(-0.4, row + 0.5, LETTERS[row], ha="center", va="center", fontsize=9)
        for column in range(n):
            ax.add_patch(
                Rectangle((column, row), 1, 1, fc="none", ec=palette.colour("frame"), lw=0.6)
            )
        for column, (colour, parts) in pieces.items():
            cell = (column + 0.07, row + 0.07)
            ax.add_patch(
                Rectangle(cell, 0.86, 0.86, fc=COLOURS[colour], alpha=parts / n * 0.85, lw=0)
            )
            new = before is not None and before[row].get(column) != (colour, parts)
            if new:
                ax.add_patch(Rectangle(cell, 0.86, 0.86, fc="none", ec="black", lw=1.8))
            if counted:
                ax.text(column + 0.5, row + 0.5, parts, ha="center", va="center", fontsize=8)
            if name == "all-to-all":
                ax.text(column + 0.5, row + 0.5, LETTERS[colour], ha="center", va="center",
                        fontsize=8, color="white")  # fmt: skip
    title = say("collective.step", step=step) if step else say("collective.start")
    small = {"ha": "center", "va": "center", "fontsize": 9, "color": grey}
    ax.text(n / 2, -0.35, title, **small)
    if not step:
        ax.text(-0.95, n / 2, say("collective.chips"), rotation=90, **small)
        ax.text(n / 2, n + 0.35, say("collective.pieces"), **small)


def _describe_state(held):
    n, chips = len(held), []
    for letter, pieces in zip(LETTERS, held, strict=False):
        texts = [
            say("collective.whole" if parts == n else "collective.partial",
                piece=piece, parts=parts, n=n)
            for piece, (_, parts) in sorted(pieces.items())
        ]  # fmt: skip
        chips.append(say("collective.chip", chip=letter, pieces=join_parts(texts, "words")))
    return join_parts(chips, "items")


def topologies(groups, *, axes=None):
    """Draw the chips of groups and the links between them, side by side.

    Parameters
    ----------
    groups : mapping of label to Group with at most two axes of 16 chips
    axes : sequence of matplotlib Axes, optional

    A chip with the fewest links is dark, like its links, whose bandwidth is the egress of the
    group. Links are as wide as they are fast. A legend explains this. Returns the Axes. Raises
    ValueError for other arguments.

    >>> from roofkit.network import group
    >>> axes = topologies({"4": group("TPU v5e", 4)})
    >>> axes[0].roofkit_description
    '4: 4 chips, 2x2, at least 2 links per chip.'
    """
    for label, group in groups.items():
        if not isinstance(group, Group):
            raise ValueError(f"groups[{label!r}] must be a Group, got {group!r}")
    if axes is None:
        axes = common.new_panels(len(groups), 1.6, 1.7, below=0.4)
    fastest = max(float(group.bandwidth) for group in groups.values())
    for ax, (label, group) in zip(axes, groups.items(), strict=True):
        _draw_group(ax, label, group, 8 * float(group.bandwidth) / fastest)
    style = {"marker": "s", "ms": 7, "mec": palette.colour("reference"), "color": COLOURS[0]}
    handles = [Line2D([], [], lw=2.4, label=say("topologies.fewest"), **style)]
    if any(group.topology == "switch" for group in groups.values()):
        style |= {"marker": "D", "color": palette.colour("trail")}
        handles.append(Line2D([], [], ls="", label=say("topologies.centre"), **style))
    axes[0].figure.legend(handles=handles, loc="outside lower center", frameon=False, fontsize=10,
                          ncols=1 if common.is_narrow() else 2)  # fmt: skip
    descriptions = [
        say(
            "topologies.switch" if group.topology == "switch"
            else "topologies.one_link" if group.links == 1 else "topologies.links",
            label=label, n=group.n, shape=group.shape, links=group.links,
        )
        for label, group in groups.items()
    ]  # fmt: skip
    axes[0].roofkit_description = say("topologies.described", groups=join_parts(descriptions))
    return tuple(axes)


def _draw_group(ax, label, group, width):
    ax.axis("off")
    ax.set_aspect("equal")
    places, links = _layout(group)
    degree = {chip: sum(chip in link for link, _ in links) for chip in places}
    chips = [chip for chip in places if chip != "switch"]
    poorest = min(chips, key=degree.get)
    for (a, b), bend in links:
        dark = poorest in (a, b)
        ax.annotate(
            "", places[a], places[b],
            arrowprops={
                "arrowstyle": "-", "color": COLOURS[0] if dark else palette.colour("wire"),
                "lw": width, "connectionstyle": f"arc3,rad={bend}",
                "shrinkA": 0, "shrinkB": 0,
            },
        )  # fmt: skip
    for chip, place in places.items():
        style = {"marker": "s", "ms": 12, "mec": palette.colour("reference"), "color": "white"}
        if chip == "switch":
            style |= {"marker": "D", "ms": 10, "color": palette.colour("trail")}
        elif chip == poorest:
            style |= {"color": COLOURS[0]}
        ax.plot(*place, zorder=3, **style)
    # All boxes have the same shape, so the titles line up. A title above a box without axes would
    # be cut off, so it is inside the box, at the top.
    least, most = np.min(list(places.values()), axis=0), np.max(list(places.values()), axis=0)
    half = max(most - least) / 2 + 0.7
    x, y = (least + most) / 2
    ax.set(xlim=(x - half, x + half), ylim=(y - half, y + 1.5 * half))
    ax.set_title(label, fontsize=10, y=1, pad=-10)


def _layout(group):
    """Return the position of each chip, and the links as pairs of chips with a curvature."""
    if group.topology != "torus" or (len(group.axes) == 1 and group.rings[0]):
        n = group.n
        places = {
            chip: (1.4 * math.sin(2 * math.pi * chip / n), 1.4 * math.cos(2 * math.pi * chip / n))
            for chip in range(n)
        }
        if group.topology == "switch":
            return places | {"switch": (0, 0)}, [((chip, "switch"), 0) for chip in range(n)]
        if group.topology == "all-pairs":
            return places, [((a, b), 0) for a in range(n) for b in range(a)]
        return places, [((chip, (chip + 1) % n), 0) for chip in range(n)]
    rows, columns = (1, *group.axes)[-2:]
    row_ring, column_ring = (False, *group.rings)[-2:]
    places = {(r, c): (c, -r) for r in range(rows) for c in range(columns)}
    links = [(((r, a), (r, b)), 0) for r in range(rows) for a, b in pairwise(range(columns))]
    links += [(((a, c), (b, c)), 0) for c in range(columns) for a, b in pairwise(range(rows))]
    if column_ring:
        links += [(((r, 0), (r, columns - 1)), -0.25) for r in range(rows)]
    if row_ring:
        links += [(((0, c), (rows - 1, c)), 0.25) for c in range(columns)]
    return places, links
