"""The layers of a model on the roofline, and the kinds that group layers in figures."""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnchoredOffsetbox, DrawingArea, TextArea, VPacker
from matplotlib.patches import Circle
from matplotlib.text import Text

from roofkit._units import engineering
from roofkit.models.layers import LayerTable
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_ABOVE, LINES, TEXT_PLATE, find_width, new_axes
from rooflab.plot.wording import join_parts, say, word_bound, word_for

# Kinds of layers with a pattern for their names; the first match counts.
KINDS = {
    "communication": r"all_reduce|all_gather|^(dispatch|combine|send)$",
    "norms, adds, activations": r"(^|[_.])(norm|bn|add|act|sum|rotary|relu)[\d_]*$",
    "attention projections": r"^([qkvo]|qkv|(q|kv|qkv)_down|kv_up)_proj$",
    "attention": r"^(window_)?(attention|qk_matmul|softmax|sv_matmul)$",
    "experts": r"^(experts_|shared_|router)", "MLP": r"^(gate|up|gate_up|down)_proj$",
    "convolutions": r"conv(_dw|_pw)?[\d_]*$|downsample$",
    "fully connected": r"^(fc|dense|preds)|preds$", "pooling": r"pool|^gap$",
    "embedding, lm_head": r"embedding|lm_head", "other layers": "",
}  # fmt: skip
# Markers, each with the share of its bounding square that it fills, so equal areas look equal.
MARKERS = {"o": math.pi / 4, "s": 1.0, "D": 1.0, "^": 0.5}
WHOLE_AREA = 1600  # area of a point with all the time, in square typographic points
MERGE_WITHIN = 1.25  # layers whose intensities differ by a smaller factor become one point
SMALL_SHARE = 0.005  # a smaller share is drawn as a dot
NAMED_SHARES = 0.005, 0.03  # minimum shares of labelled points, for one table and for several


def layers(tables, *, xlim=None, ax=None):
    """Draw a pass on the roofline, with a point for each layer whose area is its share of the time.

    Parameters
    ----------
    tables : LayerTable, or a mapping of label to LayerTable
        Such as ``deployment.decode(batch=8)``; up to four on one roofline, with different markers.
    xlim : (number, number), optional
        The lowest and the highest intensity on the axis.
    ax : matplotlib Axes, optional

    Layers with similar intensity and the same peak and bound share a point. Points below 0.5 % of
    the time are dots without a label; with several tables, points below 3 % also have no label.
    Layers without arithmetic, such as communication, cannot be on a roofline, so the figure only
    gives their time. Returns the Axes. Raises ValueError for tables of several passes, and for
    layers outside xlim.

    >>> import roofkit as rk
    >>> deployment = rk.llm("Llama-2-7B").on("H100")
    >>> layers({"prefill": deployment.prefill(), "decode": deployment.decode()}).get_ylabel()
    'attainable (FLOP/s)'
    """
    tables = check_tables(tables, most=len(MARKERS))
    points = {label: _points(table) for label, table in tables.items()}
    for label, table_points in points.items():
        if not table_points:
            raise ValueError(f"{tables[label].title}: no layer computes, so none has an intensity")
    roofs = _roofs(tables)
    ridges = [peak / bandwidth for peak, bandwidth in roofs]
    intensities = [point.intensity for row in points.values() for point in row]
    # The name of the peak needs room to the right of the large points of a prefill.
    xlim = common.check_limits(
        xlim or common.intensity_limits(ridges, intensities, 3 + common.is_narrow()), "xlim"
    )
    if not xlim[0] <= min(intensities) <= max(intensities) <= xlim[1]:
        raise ValueError(
            f"the layers' intensities range from {min(intensities):g} to {max(intensities):g}, "
            f"outside xlim={xlim}; widen it"
        )
    ylim = 0.6 * min(xlim[0] * bandwidth for _, bandwidth in roofs), roofs[0][0] * 10
    ax = ax or new_axes(4.2)
    common.set_roofline_axes(ax, xlim, ylim)
    lines = []
    for (peak, bandwidth), line in zip(roofs, LINES, strict=False):
        xs = np.array([xlim[0], min(max(peak / bandwidth, xlim[0]), xlim[1]), xlim[1]])
        lines.append((xs, np.minimum(peak, xs * bandwidth)))
        ax.plot(*lines[-1], ls=line, color=palette.colour("reference"), lw=1.5, zorder=2)
    labels, named_share = [], NAMED_SHARES[len(tables) > 1]
    for table_points, marker, colour in zip(points.values(), MARKERS, COLOURS, strict=False):
        for point in table_points:
            xy, area = (point.intensity, point.attainable), _area(point.share, marker)
            large = point.share >= SMALL_SHARE
            # Smaller points are drawn over larger ones.
            ax.scatter(
                *xy, marker=marker, s=area if large else 9, color=colour, edgecolor="white",
                alpha=0.85 if large else 1, lw=0.8 if large else 0.3, zorder=4 - point.share,
            )  # fmt: skip
            if point.share >= named_share:
                labels.append((_point_label(point, named_share), xy, math.sqrt(area) / 2, colour))
    if len(tables) > 1:
        _draw_legend(ax, tables)
    sizes = _draw_size_key(ax, palette.colour("sizes") if len(tables) > 1 else COLOURS[0])
    note = ax.text(
        0.015, 0.985, "\n".join(_total_text(label, table) for label, table in tables.items()),
        transform=ax.transAxes, va="top", fontsize=9, linespacing=1.3, bbox=TEXT_PLATE,
    )  # fmt: skip
    ax.figure.draw_without_rendering()
    names = [text for roof in roofs for text in _label_roof(ax, roof, roofs, tables)]
    labels.sort(key=lambda label: -label[2])
    common.place_labels(ax, labels, avoid=[sizes, note, *names], lines=lines, nearest=True)
    ax.roofkit_description = _describe(tables, points, roofs)
    return ax


def check_tables(tables, most=None):
    """Return checked tables by label; a single table has an empty label."""
    if isinstance(tables, LayerTable):
        tables = {"": tables}
    if not isinstance(tables, Mapping) or not tables:
        raise ValueError(f"tables must be a LayerTable or map labels to them, got {tables!r}")
    if most and len(tables) > most:
        raise ValueError(f"give 1 to {most} tables, got {len(tables)}; more would look alike")
    for label, table in tables.items():
        if not isinstance(table, LayerTable):
            raise ValueError(
                f"tables[{label!r}] must be a LayerTable, such as deployment.decode(batch=8), got "
                f"{type(table).__name__}: {table!r}"
            )
        if np.ndim(table.time):
            raise ValueError(
                f"{table.title}: a figure shows one pass, not {np.size(table.time)}; give a single "
                "batch and length, and one chip"
            )
    return tables


def layer_kind(name):
    return next(kind for kind, pattern in KINDS.items() if re.search(pattern, name))


class _Point(NamedTuple):
    """Layers at a point on the roofline. ``parts`` maps kinds to (layers, share), largest first."""

    intensity: float
    attainable: float
    bound: str
    share: float
    parts: tuple


def _points(table):
    clusters = []
    for layer in sorted(table, key=lambda layer: layer.intensity):
        if not (layer.flops > 0 and layer.bytes > 0):
            continue
        roof = layer.bound, layer.peak, layer.bandwidth
        for first, cluster in clusters:
            if layer.intensity <= MERGE_WITHIN * first.intensity and roof == cluster[0]:
                cluster[1].append(layer)
                break
        else:
            clusters.append((layer, (roof, [layer])))
    points = []
    for _, ((bound, peak, bandwidth), cluster) in clusters:
        intensity = _sum(cluster, "flops") / _sum(cluster, "bytes")
        kinds = {}
        for layer in sorted(cluster, key=table.layers.index):
            kinds.setdefault(layer_kind(layer.name), []).append(layer)
        parts = [(same, _sum(same, "time") / table.time) for same in kinds.values()]
        parts.sort(key=lambda part: -part[1])
        share = _sum(cluster, "time") / table.time
        points.append(
            _Point(intensity, min(peak, intensity * bandwidth), bound, share, tuple(parts))
        )
    return points


def _sum(layers, name):
    return sum(layer.count * getattr(layer, name) for layer in layers)


def _roofs(tables):
    """Return the (peak, bandwidth) pairs of all roofs of layers, highest first."""
    roofs = {
        (layer.peak, layer.bandwidth)
        for table in tables.values() for layer in table if layer.flops > 0 and layer.bytes > 0
    }  # fmt: skip
    if len(roofs) > len(LINES):
        raise ValueError(
            f"the tables have {len(roofs)} different roofs, but more than {len(LINES)} would look "
            "alike; draw fewer tables"
        )
    return sorted(roofs, reverse=True)


def _area(share, marker):
    """Return the area of a marker's bounding square, in square typographic points."""
    return WHOLE_AREA * find_width() / 6.4 * share / MARKERS[marker]


def _point_label(point, least, most=4):
    """Return a line of text for each kind of layer with at least this share of the time."""
    parts = [part for part in point.parts if part[1] >= least] or point.parts[:1]
    lines = [
        say("layers.named", layers=_join_names(layers), share=f"{share:.0%}")
        for layers, share in parts[:most]
    ]
    if len(parts) > most:
        lines.append(say("layers.more", count=len(parts) - most))
    return "\n".join(lines)


def _join_names(layers, longest=34):
    """Return the names of layers in short form, such as q/k/v/o_proj."""
    names = [layer.name for layer in layers]
    words = [name.split("_") for name in names]
    before, after = _common_length(words), _common_length([parts[::-1] for parts in words])
    middles = ["_".join(parts[before : len(parts) - after]) for parts in words]
    text = join_parts(names, "items")
    if len(names) > 1 and before + after and all(middles):
        head, tail = words[0][:before], words[0][len(words[0]) - after :]
        text = "_".join([*head, "/".join(middles), *tail])
    return text if len(text) <= longest else _format_count(layers)


def _format_count(layers):
    """Return a count, such as "32 MLP", for layers with too many names."""
    return say(
        "kinds.several", count=len(layers), kind=word_for("kinds", layer_kind(layers[0].name))
    )


def _common_length(words):
    """Return the number of leading words that the lists have in common."""
    return next(
        (i for i, column in enumerate(zip(*words, strict=False)) if len(set(column)) > 1),
        min(map(len, words)),
    )


def _draw_legend(ax, tables):
    handles = [
        Line2D([], [], ls="", marker=marker, ms=9, color=colour, mec="white", label=label)
        for label, marker, colour in zip(tables, MARKERS, COLOURS, strict=False)
    ]
    ax.legend(handles=handles, ncols=len(handles), handletextpad=0.3, **LEGEND_ABOVE)


def _draw_size_key(ax, colour):
    """Draw the legend of areas in the lower right, where there is no roof."""
    shares = 0.01, 0.1, 0.5
    tallest = math.sqrt(_area(shares[-1], "o"))
    key, left = DrawingArea(4 * tallest, tallest + 13), 0.0
    for share in shares:
        across = math.sqrt(_area(share, "o"))
        middle = left + max(across, 22) / 2
        key.add_artist(Circle((middle, 13 + across / 2), across / 2, fc=colour, alpha=0.85, lw=0))
        key.add_artist(
            Text(middle, 0, f"{share:.0%}", ha="center", fontsize=9, color=palette.colour("note"))
        )
        left = middle + max(across, 22) / 2 + 6
    key.width = left
    title = TextArea(
        say("layers.sizes"), textprops={"fontsize": 9, "color": palette.colour("note")}
    )
    packed = VPacker(children=[key, title], align="center", pad=0, sep=3)
    box = AnchoredOffsetbox("lower right", child=packed, pad=0.3, borderpad=0.2, frameon=False)
    return ax.add_artist(box)


def _find_absent(table):
    """Return the layers without arithmetic, and their share of the time."""
    absent = [layer for layer in table if not (layer.flops > 0 and layer.bytes > 0)]
    return absent, _sum(absent, "time") / table.time


def _total_text(label, table):
    key = "layers.total" if label else "layers.total_unnamed"
    text = say(key, label=label, time=f"{engineering(table.time)}s")
    absent, share = _find_absent(table)
    if share < SMALL_SHARE:
        return text
    kinds = dict.fromkeys(
        layer_kind(layer.name)
        for layer in absent
        if layer.count * layer.time >= SMALL_SHARE * table.time
    )
    names = join_parts([word_for("kinds", kind) for kind in kinds], "pair")
    return say("layers.absent", total=text, share=f"{share:.0%}", kinds=names)


def _label_roof(ax, roof, roofs, tables):
    """Write the peak over the flat part of a roof and the bandwidth along its slope."""
    peak, bandwidth = roof
    text = f"{engineering(peak)}FLOP/s"
    if sum(other[0] == peak for other in roofs) < len(roofs):
        under = {
            layer_kind(layer.name)
            for table in tables.values() for layer in table if layer.peak == peak
        }  # fmt: skip
        if len(under) == 1:
            text = say("layers.peak_of", peak=text, kind=word_for("kinds", under.pop()))
    (left, right), names = ax.get_xlim(), []
    # The text is below its line if another roof is just above it.
    low = any(peak < other[0] < 3 * peak for other in roofs)
    names.append(
        ax.annotate(
            text, (right, peak), xytext=(-2, -4 if low else 3), textcoords="offset points",
            ha="right", va="top" if low else "bottom", fontsize=9, color=palette.colour("note"),
        )
    )  # fmt: skip
    if roof == next(other for other in roofs if other[1] == bandwidth):
        low = any(bandwidth < other[1] < 3 * bandwidth for other in roofs)
        ends = ax.transData.transform([(left, left * bandwidth), (2 * left, 2 * left * bandwidth)])
        across, up = ends[1] - ends[0]
        x = left * 1.25
        names.append(
            ax.annotate(
                f"{engineering(bandwidth)}B/s", (x, x * bandwidth),
                xytext=(4, -4) if low else (0, 4), textcoords="offset points",
                rotation=math.degrees(math.atan2(up, across)), rotation_mode="anchor",
                va="top" if low else "bottom", fontsize=9, color=palette.colour("note"),
            )
        )  # fmt: skip
    return names


def _describe(tables, points, roofs):
    parts = [
        say("layers.roof", bandwidth=f"{engineering(bandwidth)}B/s",
            peak=f"{engineering(peak)}FLOP/s", ridge=f"{peak / bandwidth:.4g}")
        for peak, bandwidth in roofs
    ]  # fmt: skip
    for label, table in tables.items():
        descriptions = [
            say("layers.point",
                intensity=common.format_3g(point.intensity), bound=word_bound(point.bound),
                layers=join_parts([_list_layers(layers) for layers, _ in point.parts], "pair"),
                share=f"{point.share:.1%}")
            for point in sorted(points[label], key=lambda point: -point.share)
        ]  # fmt: skip
        absent, share = _find_absent(table)
        if absent:
            names = _list_layers(absent)
            descriptions.append(say("layers.left_out", layers=names, share=f"{share:.1%}"))
        time = f"{engineering(table.time)}s"
        text = join_parts(descriptions)
        parts.append(say("layers.table", label=label or table.title, time=time, points=text))
    return say("layers.described", parts=join_parts(parts, "sentences"))


def _list_layers(layers, most=8):
    if len(layers) > most:
        return _format_count(layers)
    return join_parts([layer.name for layer in layers], "items")
