"""Figures of a matmul split over chips: its parts, its overlap, and its times by n."""

import numpy as np
from matplotlib.patches import Patch, Rectangle

from roofkit._inputs import check_number
from roofkit._units import engineering, find_prefix
from roofkit.network import Group, sharded_matmul
from roofkit.roofline import Roofline
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_ABOVE, LEGEND_INSIDE, LINES, new_axes
from rooflab.plot.wording import join_parts, say, word_bound, word_for

MARKS = {"compute": "o", "memory": "^", "link": "s", "network": "D"}
# How cutting along a dimension splits X, Y and Z: into "rows" or "columns", or every chip has the
# "whole" matrix, or partial "sums" of it.
CUTS = {
    "B": ("rows", "whole", "rows"), "F": ("whole", "columns", "columns"),
    "D": ("columns", "rows", "sums"),
}  # fmt: skip
# The hatches of chips, so that pieces differ without colour. A matrix of partial sums has the
# hatches of all chips on white, where chip 1 also has a hatch.
HATCHES = ("", "///", "...", "xxx")
SUM_HATCHES = ("\\\\\\", *HATCHES[1:])
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


def matmul_cuts(B, D, F, along=("B", "F", "D"), chips=2, *, axes=None):
    """Draw the parts of X[B, D], Y[D, F] and Z[B, F] that each chip has, in one panel per cut.

    Parameters
    ----------
    B, D, F : sizes; the matrices are to scale
    along : the dimensions to cut along, each "B", "F" or "D"
    chips : 2 to 4
    axes : sequence of matplotlib Axes, optional

    Grey matrices are whole on every chip. If D is cut, every chip gets partial sums of all of Z,
    which then has the colours of all chips. A legend explains this. Returns the Axes. Raises
    ValueError for other arguments.

    >>> axes = matmul_cuts(1024, 2048, 2048, along="D")
    >>> axes[0].roofkit_description
    'Cut along D: chip 1 has the first of 2 groups of columns of X, chip 1 has the first of 2 \
groups of rows of Y, every chip gets partial sums of all of Z.'
    """
    B, D, F = (_check_size(size, name) for size, name in ((B, "B"), (D, "D"), (F, "F")))
    _check_chips(chips)
    for dimension in along:
        if dimension not in CUTS:
            raise ValueError(f"along={dimension!r} must be the dimension to cut: B, F or D")
    gap = 0.1 * (D + F)
    width, height = D + gap + F, B + gap + D
    if axes is None:
        wide = 6.4 / len(along) if len(along) > 1 else 3.4
        axes = common.new_panels(len(along), wide, wide * height / width, below=0.85)
    panels = []
    for ax, dimension in zip(axes, along, strict=True):
        _set_equal_scale(ax, width, height)
        places = {"X": (0, 0, D, B), "Y": (D + gap, B + gap, F, D), "Z": (D + gap, 0, F, B)}
        for (name, place), cut in zip(places.items(), CUTS[dimension], strict=True):
            _draw_matrix(ax, name, place, cut, chips)
        _name_sides(ax, places["X"], "B", "D")
        _name_sides(ax, places["Y"], "D", "F")
        ax.set_title(say("cuts.title", along=dimension), fontsize=10, pad=9)
        parts = _describe_cuts("XYZ", CUTS[dimension], chips)
        panels.append(say("cuts.panel", along=dimension, parts=parts))
    drawn = {cut for dimension in along for cut in CUTS[dimension]}
    columns = 2 if len(along) == 1 or common.is_narrow() else chips + 2
    _add_legend(axes[0].figure, chips, drawn, loc="outside lower center", ncols=columns)
    axes[0].roofkit_description = say("cuts.described", panels=join_parts(panels, "sentences"))
    return tuple(axes)


def matmul_pair(B, D, F, chips=2, *, ax=None):
    """Draw two consecutive matmuls, X[B, D] · U[D, F] = H[B, F] and H · V[F, D] = Z[B, D].

    Parameters
    ----------
    B, D, F : sizes; the matrices are to scale
    chips : 2 to 4
    ax : matplotlib Axes, optional

    Both are cut along F: U into columns and V into rows, so H never leaves its chip. A legend
    explains the colours. Returns the Axes. Raises ValueError for other arguments.

    >>> matmul_pair(1024, 2048, 8192).roofkit_description[:49]
    'Two matmuls, both cut along F: every chip has all'
    """
    B, D, F = (_check_size(size, name) for size, name in ((B, "B"), (D, "D"), (F, "F")))
    _check_chips(chips)
    gap = 0.06 * (2 * D + F)
    width, height = 2 * D + F + 2 * gap, B + gap + max(D, F)
    ax = ax or new_axes(3.2)
    _set_equal_scale(ax, width, height)
    places = {
        "X": (0, 0, D, B), "U": (D + gap, B + gap, F, D), "H": (D + gap, 0, F, B),
        "V": (D + F + 2 * gap, B + gap, D, F), "Z": (D + F + 2 * gap, 0, D, B),
    }  # fmt: skip
    cuts = ("whole", "columns", "columns", "rows", "sums")
    for (name, place), cut in zip(places.items(), cuts, strict=True):
        _draw_matrix(ax, name, place, cut, chips)
    for name, rows, columns in (("X", "B", "D"), ("U", "D", "F"), ("V", "F", "D")):
        _name_sides(ax, places[name], rows, columns)
    # The space above X is free.
    _add_legend(ax, chips, set(cuts), loc="upper left")
    ax.roofkit_description = say("cuts.pair", parts=_describe_cuts("XUHVZ", cuts, chips))
    return ax


def _check_size(size, name):
    number = check_number(size, name)
    if not isinstance(number, (int, float)):
        raise ValueError(f"{name} must be one number, got {size!r}")
    return number


def _check_chips(chips):
    if isinstance(chips, bool) or not isinstance(chips, (int, np.integer)) or not 2 <= chips <= 4:
        raise ValueError(f"chips must be a whole number from 2 to 4, got {chips!r}")


def _set_equal_scale(ax, width, height):
    """Give both directions of the Axes the same scale, and hide the frame."""
    ax.set(xlim=(-0.06 * width, 1.01 * width), ylim=(-0.02 * width, height + 0.06 * width))
    ax.set_aspect("equal")
    ax.axis("off")


def _draw_matrix(ax, name, place, cut, chips):
    left, low, wide, high = place
    if cut in ("rows", "columns"):
        for chip in range(chips):
            # The first rows are at the top.
            part = (
                (left, low + high - (chip + 1) * high / chips, wide, high / chips)
                if cut == "rows"
                else (left + chip * wide / chips, low, wide / chips, high)
            )
            _draw_part(ax, part, COLOURS[chip], HATCHES[chip], name + SUBSCRIPTS[chip + 1])
        return
    grey = palette.colour("reference")
    if cut == "whole":
        _draw_part(ax, place, grey, "", name, pale=0.12)
        return
    sums = " + ".join(name + SUBSCRIPTS[chip + 1] for chip in range(chips))
    for chip in range(chips):
        last = chip == chips - 1
        _draw_part(ax, place, COLOURS[chip], SUM_HATCHES[chip], sums if last else "", pale=0)
    ax.add_patch(Rectangle((left, low), wide, high, fc="none", ec=grey, lw=1.2))


def _draw_part(ax, place, colour, hatch, label, pale=0.3):
    left, low, wide, high = place
    ax.add_patch(Rectangle((left, low), wide, high, fc=colour, alpha=pale, lw=0))
    if hatch:
        ax.add_patch(
            Rectangle((left, low), wide, high, fc="none", ec=colour, hatch=hatch, lw=0, alpha=0.45)
        )
    ax.add_patch(Rectangle((left, low), wide, high, fc="none", ec=colour, lw=1.2))
    plate = {"boxstyle": "square,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
    if label:
        ax.text(left + wide / 2, low + high / 2, label, ha="center", va="center", fontsize=9,
                bbox=plate)  # fmt: skip


def _add_legend(ax, chips, cuts, **place):
    """Add a legend of the colours to a figure or to Axes."""
    grey, handles = palette.colour("reference"), {}

    def pieces(pale, hatches):
        return [
            Patch(fc=(COLOURS[chip], pale), ec=COLOURS[chip], hatch=hatches[chip])
            for chip in range(chips)
        ]

    for chip, piece in enumerate(pieces(0.3, HATCHES)):
        handles[say("cuts.chip", n=chip + 1)] = piece
    if "whole" in cuts:
        handles[say("cuts.on_each")] = Patch(fc=(grey, 0.12), ec=grey)
    if "sums" in cuts:
        handles[say("cuts.sums_on_each")] = tuple(pieces(0, SUM_HATCHES))
    ax.legend([*handles.values()], [*handles], frameon=False, fontsize=9, **place)


def _name_sides(ax, place, rows, columns):
    """Name the rows of a matrix on its left, and its columns above it."""
    left, low, wide, high = place
    style = {"fontsize": 9, "color": palette.colour("reference"), "textcoords": "offset points"}
    ax.annotate(rows, (left, low + high / 2), (-4, 0), ha="right", va="center", **style)
    ax.annotate(columns, (left + wide / 2, low + high), (0, 3), ha="center", va="bottom", **style)


def _describe_cuts(names, cuts, chips):
    parts = [say(f"cuts.{cut}", name=name, n=chips) for name, cut in zip(names, cuts, strict=True)]
    return join_parts(parts, "items")


def overlap_blocks(math, link, blocks=(1, 2, 4), *, ax=None):
    """Draw the times when a chip multiplies and its link sends, if Z is cut into blocks.

    Parameters
    ----------
    math, link : total seconds of multiplying and of sending
    blocks : numbers of blocks, one row for each
    ax : matplotlib Axes, optional

    The link sends a block when the chip has computed it and the previous block is sent. Returns the
    Axes. Raises ValueError for other arguments.

    >>> overlap_blocks(2e-3, 2e-3, (1, 4)).roofkit_description
    'Multiplying takes 2 ms and sending takes 2 ms. Everything is sent after 4 ms in 1 block, \
2.5 ms in 4.'
    """
    math, link = (_check_size(time, name) for time, name in ((math, "math"), (link, "link")))
    blocks = list(blocks)
    for count in blocks:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ValueError(f"blocks must be whole numbers of at least 1, got {count!r}")
    scale, prefix = find_prefix(math + link)
    ax = ax or new_axes(0.9 + 0.62 * len(blocks))
    ends = []
    for row, count in enumerate(blocks):
        multiplied = [(math * i / count, math / count) for i in range(count)]
        sent, free = [], 0.0
        for start, took in multiplied:
            begin = max(free, start + took)
            sent.append((begin, link / count))
            free = begin + link / count
        for spans, lane, colour, hatch in (
            (multiplied, 0, COLOURS[0], ""), (sent, 1, COLOURS[2], "///"),
        ):  # fmt: skip
            for start, took in spans:
                box = (start / scale, row + 0.36 * lane), took / scale, 0.32
                ax.add_patch(Rectangle(*box, fc="white", lw=0, zorder=2))
                ax.add_patch(Rectangle(*box, fc=colour, alpha=0.35, lw=0, zorder=2))
                ax.add_patch(
                    Rectangle(*box, fc="none", ec=colour, hatch=hatch, lw=1, alpha=0.8, zorder=2)
                )
        ax.text(free / scale, row + 0.52, f" {engineering(free)}s", va="center", fontsize=9)
        end = f"{engineering(free)}s"
        ends.append(say("overlap.one" if count == 1 else "overlap.row", n=count, end=end))
    ax.set(xlim=(0, 1.14 * (math + link) / scale), ylim=(len(blocks) - 0.1, -0.25))
    ax.set_yticks(
        [row + 0.34 for row in range(len(blocks))],
        [say("overlap.label_one" if count == 1 else "overlap.label", n=count) for count in blocks],
    )
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(say("axes.time_in", unit=f"{prefix}s"))
    common.draw_grid(ax)
    for lane, name in enumerate(("overlap.math", "overlap.link")):
        ax.plot([], [], lw=7, alpha=0.6, color=COLOURS[2 * lane], label=say(name))
    ax.legend(ncols=2, **LEGEND_ABOVE)
    ax.roofkit_description = say(
        "overlap.described", math=f"{engineering(math)}s", link=f"{engineering(link)}s",
        rows=join_parts(ends, "items"),
    )  # fmt: skip
    return ax


def split_times(roof, groups, widths, B=1024, F=8192, dtype="bf16", *, axes=None):
    """Draw the times of X[B, D] · Y[D, F], split along D over groups of chips.

    Parameters
    ----------
    roof : Roofline of one chip over its memory
    groups : Groups with increasing numbers of chips
    widths : values of D, one panel for each
    B, F : sizes, dtype : str
    axes : sequence of matplotlib Axes, optional

    The pale band follows the longest time, T_lower. Returns the Axes. Raises ValueError for other
    arguments.

    >>> import roofkit as rk
    >>> two = [rk.group("TPU v5e", n) for n in (1, 2)]
    >>> axes = split_times(rk.chip("TPU v5e").roofline("bf16"), two, [8192])
    >>> axes[0].roofkit_description
    'Times of a matmul split over chips. D = 8192: 698 µs on 1 chip, compute-bound; 373 µs on 2, \
link-bound.'
    """
    if not isinstance(roof, Roofline):
        raise ValueError(f"roof must be a Roofline, got {roof!r}")
    groups = list(groups)
    if not groups or not all(isinstance(group, Group) for group in groups):
        raise ValueError(f"groups must be Groups from roofkit.network, got {groups!r}")
    if axes is None:
        axes = common.new_panels(len(widths), 3.2, 3.4, sharey=True)
    counts = [group.n for group in groups]
    estimates = [
        [sharded_matmul(B, D, F, group, dtype=dtype).estimate(roof) for group in groups]
        for D in widths
    ]
    times = [t for row in estimates for each in row for t in each.times.values() if t]
    ylim = common.decade_limits(times, 0.1, 0.1)
    panels = []
    for ax, D, row in zip(axes, widths, estimates, strict=True):
        ax.set(xscale="log", yscale="log", ylim=ylim, xlim=(0.8 * counts[0], 1.25 * counts[-1]))
        ax.plot(
            counts, [each.lower for each in row], color=palette.colour("trail"), lw=9,
            solid_capstyle="round", label=say("split.lower"),
        )  # fmt: skip
        channels = dict.fromkeys(name for each in row for name in each.times)
        for name, colour, line in zip(channels, COLOURS, LINES, strict=False):
            points = [(n, each.times[name]) for n, each in zip(counts, row, strict=True)
                      if each.times.get(name)]  # fmt: skip
            ax.plot(*zip(*points, strict=True), ls=line, marker=MARKS[name], ms=5, color=colour,
                    label=word_for("resources", name))  # fmt: skip
        ax.set_title(f"D = {D:,}", fontsize=10)
        ax.set_xlabel(say("split.x_axis"))
        ax.set_xticks(counts, [str(n) for n in counts])
        ax.set_xticks([], minor=True)
        common.set_ticks(ax.yaxis, ylim, lambda value: f"{engineering(value)}s")
        common.draw_grid(ax)
        times = [
            say("split.one_chip" if n == 1 else "split.chips", n=n,
                time=f"{engineering(each.lower)}s", bound=word_bound(each.bound))
            for n, each in zip(counts, row, strict=True)
        ]  # fmt: skip
        panels.append(say("split.panel", D=f"{D:g}", times=join_parts(times)))
    axes[0].set_ylabel(say("axes.time"))
    axes[-1].legend(**LEGEND_INSIDE)
    axes[0].roofkit_description = say("split.described", panels=join_parts(panels, "sentences"))
    return tuple(axes)
