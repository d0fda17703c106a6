"""The time of a pass as bars, stacked by kinds of layers."""

import numpy as np

from roofkit._units import engineering, find_prefix
from rooflab import palette
from rooflab.plot.common import COLOURS, is_narrow, new_axes
from rooflab.plot.models import check_tables, layer_kind
from rooflab.plot.wording import join_parts, say, word_for

# Colour and hatch of each kind, in the order of a bar. Neighbours differ in greyscale.
STYLES = {
    "attention projections": (COLOURS[0], ""), "attention": (palette.colour("orange"), "///"),
    "MLP": (COLOURS[2], ""), "experts": (COLOURS[1], ".."), "convolutions": (COLOURS[2], ""),
    "fully connected": (COLOURS[0], ".."), "pooling": (COLOURS[1], "xx"),
    "other layers": (COLOURS[3], "||"), "norms, adds, activations": (COLOURS[3], "\\\\\\"),
    "embedding, lm_head": (palette.colour("sizes"), "xxx"), "communication": (COLOURS[4], ""),
}  # fmt: skip
LAYERS_SHOWN = 6  # the most layers that a figure shows individually


def time_breakdown(tables, *, ax=None):
    """Draw the time of one pass as a bar for each table, stacked by kinds of layers.

    Parameters
    ----------
    tables : LayerTable, or a mapping of label to LayerTable
        Such as {"batch 1": deployment.decode(1), "batch 64": deployment.decode(64)}.
    ax : matplotlib Axes, optional

    Up to six layers appear individually; more are grouped into attention projections, attention,
    MLP or experts, and so on. Returns the Axes. Raises ValueError for tables of several passes.

    >>> import roofkit as rk
    >>> deployment = rk.llm("Llama-2-7B").on("H100")
    >>> time_breakdown({"1": deployment.decode(1), "64": deployment.decode(64)}).get_xlabel()
    'time (ms)'
    """
    tables = check_tables(tables)
    stacks, styles = _stacks(tables)
    longest = max(table.time for table in tables.values())
    scale, prefix = find_prefix(longest)
    ax = ax or new_axes(1.3 + 0.5 * len(tables))
    rows = np.arange(len(tables))[::-1]
    ax.set_yticks(rows, list(tables))
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(0, longest / scale * 1.13), ylim=(-0.55, len(tables) - 0.45))
    ax.set_xlabel(say("axes.time_in", unit=f"{prefix}s"))
    ax.grid(axis="x", color=palette.colour("grid"), lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    bars = {kind: [] for kind in styles}
    for row, stack, table in zip(rows, stacks.values(), tables.values(), strict=True):
        left = 0.0
        for kind, seconds in stack.items():
            colour, hatch = styles[kind]
            (bar,) = ax.barh(
                row, seconds / scale, left=left, height=0.66, color=colour, hatch=hatch,
                edgecolor="white", lw=0.6,
            )  # fmt: skip
            bars[kind].append((bar, seconds / table.time))
            left += seconds / scale
        ax.annotate(
            f"{engineering(table.time)}s", (left, row), xytext=(5, 0), textcoords="offset points",
            va="center", fontsize=9,
        )  # fmt: skip
    legend = _draw_legend(ax, bars)
    ax.figure.draw_without_rendering()
    # any() gets a list, not a generator, so that every bar with room gets a text.
    unnamed = {
        kind: segments for kind, segments in bars.items()
        if not any([_write_on_bar(ax, bar, _bar_texts(kind, share)) for bar, share in segments])
    }  # fmt: skip
    legend.remove()
    if unnamed:
        _draw_legend(ax, unnamed)
    for segments in unnamed.values():
        for bar, share in segments:
            _write_on_bar(ax, bar, [f"{share:.0%}"])
    ax.roofkit_description = _describe(tables, stacks)
    return ax


def _stacks(tables):
    """Return the seconds of each kind for each table, and the style of each kind."""
    names = dict.fromkeys(layer.name for table in tables.values() for layer in table)
    if len(names) <= LAYERS_SHOWN:
        styles = dict(zip(names, STYLES.values(), strict=False))
        order, kind = list(names), str
    else:
        order, kind = list(STYLES), layer_kind
        styles = STYLES
    stacks = {}
    for label, table in tables.items():
        seconds = dict.fromkeys(order, 0.0)
        for layer in table:
            seconds[kind(layer.name)] += layer.count * layer.time
        stacks[label] = {name: time for name, time in seconds.items() if time}
    drawn = {name for stack in stacks.values() for name in stack}
    return stacks, {name: style for name, style in styles.items() if name in drawn}


def _draw_legend(ax, bars):
    return ax.legend(
        [segments[0][0] for segments in bars.values()],
        [word_for("kinds", kind) for kind in bars],
        loc="lower left", bbox_to_anchor=(0, 1), ncols=1 if is_narrow() else 3,
        frameon=False, fontsize=9, handlelength=1.6, columnspacing=1.4, borderaxespad=0.2,
    )  # fmt: skip


def _bar_texts(kind, share):
    """Return the texts for a bar with enough room and for a bar with little room."""
    kind = word_for("kinds", kind)
    return [say("breakdown.bar", kind=kind, share=f"{share:.0%}"), kind]


def _write_on_bar(ax, bar, texts):
    """Write the first text that fits into a bar, and return whether one did."""
    colour = bar.get_facecolor()
    dark = np.dot([0.2126, 0.7152, 0.0722], np.power(colour[:3], 2.2)) < 0.18
    for text in texts:
        label = ax.text(
            bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2, text,
            ha="center", va="center", fontsize=9, color="white" if dark else "black",
            bbox={"boxstyle": "square,pad=0.15", "fc": colour, "ec": "none"},
        )  # fmt: skip
        room = bar.get_window_extent().width - 6 * ax.figure.dpi / 72
        if label.get_window_extent().width <= room:
            return True
        label.remove()
    return False


def _describe(tables, stacks):
    rows = []
    for label, stack in stacks.items():
        table = tables[label]
        kinds = [
            say("breakdown.bar", kind=word_for("kinds", kind), share=f"{seconds / table.time:.1%}")
            for kind, seconds in stack.items()
        ]
        rows.append(
            say("breakdown.row", label=label or table.title, time=f"{engineering(table.time)}s",
                kinds=join_parts(kinds, "items"))
        )  # fmt: skip
    return say("breakdown.described", bars=join_parts(rows))
