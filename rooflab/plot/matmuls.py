"""Figures of matmuls: their shapes, and their speed and time by batch."""

import math
import re
from collections.abc import Mapping

import numpy as np
from matplotlib.patches import Rectangle

import roofkit as rk
from roofkit._units import engineering, find_prefix
from roofkit.roofline import Roofline
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_INSIDE, LINES, new_axes
from rooflab.plot.wording import join_parts, say

# The minimum thickness of a drawn row or column, as a share of the width of the figure.
THINNEST = 0.006
# The position of a text relative to a point: its offset in points, and its alignment.
SIDES = {
    "on": ((0, 0), "center", "center"), "left": ((-5, 0), "right", "center"),
    "right": ((5, 0), "left", "center"), "above": ((0, 4), "center", "bottom"),
    "below": ((0, -5), "center", "top"),
}  # fmt: skip
# The limits of the batch axis.
SMALLEST_BATCH, LARGEST_BATCH = 16, 8192


def matmul_shapes(B, D, F, dtype="bf16", *, tile=None, chips=1, ax=None):
    """Draw X[B, D] · Y[D, F] = Z[B, F] to scale with bytes, Z below Y and to the right of X.

    Parameters
    ----------
    B, D, F : whole numbers of at least 1
    dtype : str
    tile : two whole numbers, optional
        Rows and columns of one block of Z, at most B and F, drawn with the rows of X and the
        columns of Y that it needs. By default, one element with one row and one column.
    chips : whole number that divides D, optional
        The number of chips that split D. The figure shows the part of the first chip in its colour.
    ax : matplotlib Axes, optional

    Returns the Axes. Raises ValueError for sizes that are not whole numbers, a tile that is too
    large, and a D that the chips cannot split.

    >>> ax = matmul_shapes(512, 4096, 4096)
    >>> ax.roofkit_description[:57]
    'Drawn to scale: X[512, 4096], 4.19 MB, times Y[4096, 4096'
    """
    rows, columns = tile or (1, 1)
    for name, size, most in (
        ("B", B, math.inf), ("D", D, math.inf), ("F", F, math.inf),
        ("tile[0]", rows, B), ("tile[1]", columns, F), ("chips", chips, D),
    ):  # fmt: skip
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {size!r}")
        if size > most:
            raise ValueError(f"{name}={size} must be at most {most}")
    if D % chips:
        raise ValueError(f"chips={chips} must divide D={D}")
    D //= chips
    one, depth = ("₁", f"D/{chips}") if chips > 1 else ("", "D")
    # Y is above Z, and X is to its left. Lengths are in elements; Z starts at (right, 0).
    gap = 0.06 * (D + F)
    right, above = D + gap, B + gap
    width, height = right + F, above + D
    flat = B / width < 0.16
    ax = ax or new_axes(0.8 + 4.6 * height / width)
    ax.set(xlim=(-0.1 * width, 1.01 * width), ylim=(-(0.1 if flat else 0.06) * width, height))
    ax.set_aspect("equal")
    ax.axis("off")
    # The block is about a third of the way in, where a tile starts.
    thick, wide = max(rows, THINNEST * width), max(columns, THINNEST * width)
    under = B - rows * (B // rows // 3) - thick
    left = right + columns * (F // columns // 3)
    # If chips split D, each chip has a colour, as in the figures of cuts.
    colours = COLOURS[:3] if chips == 1 else COLOURS[:1] * 3
    for corner, size, inner, part, colour in (
        ((0, 0), (D, B), (0, under), (D, thick), colours[0]),
        ((right, above), (F, D), (left, above), (wide, D), colours[1]),
        ((right, 0), (F, B), (left, under), (wide, thick), colours[2]),
    ):
        ax.add_patch(Rectangle(corner, *size, fc=colour, alpha=0.2, lw=0))
        ax.add_patch(Rectangle(inner, *part, fc=colour, lw=0))
        ax.add_patch(Rectangle(corner, *size, fc="none", ec=colour, lw=1.2))
    moved = {name: f"{engineering(rk.matmul(B, D, F, dtype, moves=name).bytes)}B" for name in "XYZ"}
    free = (left + wide + width) / 2
    _write_beside(ax, f"Y{one}[{depth}, F]\n{moved['Y']}", (free, above + D / 2), "on")
    if flat:
        _write_beside(ax, f"X{one}[B, {depth}]  {moved['X']}", (D / 2, B), "above")
        _write_beside(ax, f"Z{one}[B, F]  {moved['Z']}", (free, 0), "below")
    else:
        _write_beside(ax, f"X{one}[B, {depth}]\n{moved['X']}", (D / 2, under / 2), "on")
        _write_beside(ax, f"Z{one}[B, F]\n{moved['Z']}", (free, under / 2), "on")
    edge = {"fontsize": 9, "color": palette.colour("reference")}
    if tile and not flat:
        end = (left + wide, under + thick / 2)
        _write_beside(ax, f"{rows:,} × {columns:,}", end, "right", **edge)
    _write_beside(ax, f"B = {B:,}", (0, B / 2), "left", rotation=0 if flat else 90, **edge)
    _write_beside(ax, f"{depth} = {D:,}", (D / 2, 0), "below", **edge)
    _write_beside(ax, f"{depth} = {D:,}", (right, above + D / 2), "left", rotation=90, **edge)
    _write_beside(ax, f"F = {F:,}", (right + F / 2, height), "above", **edge)
    ax.roofkit_description = say(
        "shapes.block" if tile else "shapes.element", rows=rows, columns=columns,
        X=f"X{one}[{B}, {D}]", Y=f"Y{one}[{D}, {F}]", Z=f"Z{one}[{B}, {F}]",
        **{f"{name}_bytes": moved[name] for name in "XYZ"},
    )  # fmt: skip
    return ax


def matmul_batches(chip, layers, dtype="bf16", *, ax=None):
    """Draw the FLOP/s that X[B, D] · Y[D, F] can reach on a roofline, against B.

    Parameters
    ----------
    chip : Chip or Roofline
        A Chip provides its name and its roofline in this dtype.
    layers : mapping of label to a (D, F) pair
    dtype : str
        The dtype of all three matrices.
    ax : matplotlib Axes, optional

    A circle marks the critical batch of each layer that has one. The pale line is the limit for
    infinite D and F: B · bandwidth · 2 / bytes per element, up to the peak. Returns the Axes.
    Raises ValueError for other arguments.
    """
    roof = chip.roofline(dtype) if isinstance(chip, rk.Chip) else chip
    name = getattr(chip, "name", "")
    if not isinstance(roof, Roofline) or not isinstance(roof.ridge, (int, float)):
        raise ValueError(f"chip must be a Chip or a Roofline of two numbers, got {chip!r}")
    common.check_mapping("layers", layers, len(COLOURS), "(D, F)")
    ax = ax or new_axes(3.8)
    xs = np.geomspace(SMALLEST_BATCH, LARGEST_BATCH, 400)
    rule = rk.critical_batch(roof, dtype=dtype)
    ax.set(xscale="log", yscale="log", xlim=(SMALLEST_BATCH, LARGEST_BATCH))
    ax.plot(xs, roof.peak_flops * np.minimum(xs / rule, 1), color=palette.colour("frame"), lw=5,
            label=say("batches.limit", batch=f"{rule:.4g}"))  # fmt: skip
    descriptions = []
    for (label, (D, F)), colour, line in zip(layers.items(), COLOURS, LINES, strict=False):
        speeds = roof.attainable(rk.matmul(xs, D, F, dtype).intensity)
        critical = rk.critical_batch(roof, D, F, dtype)
        batch = f"{critical:.4g}" if math.isfinite(critical) else "∞"
        legend = say("batches.legend", label=label, batch=batch)
        ax.plot(xs, speeds, ls=line, color=colour, lw=1.8, label=legend)
        if critical <= LARGEST_BATCH:
            ax.plot(critical, roof.peak_flops, "o", color=colour, ms=7, mec="white", zorder=3)
            ax.plot([critical] * 2, [0, roof.peak_flops], ":", color=colour, lw=1, zorder=1)
        key = "batches.reaches" if math.isfinite(critical) else "batches.never"
        descriptions.append(say(key, label=label, batch=batch))
    ax.set_ylim(roof.peak_flops * SMALLEST_BATCH / rule * 0.7, roof.peak_flops * 1.6)
    ax.set_xlabel(say("axes.tokens"))
    ax.set_ylabel(say("axes.attainable"))
    marks = [2**i for i in range(4, 14, 1 + common.is_narrow())]
    ax.set_xticks(marks, [f"{mark:,}" for mark in marks])
    ax.set_xticks([], minor=True)
    common.set_ticks(ax.yaxis, ax.get_ylim(), lambda value: engineering(value).strip())
    common.draw_grid(ax)
    legend = ax.legend(loc="lower right", **LEGEND_INSIDE, title=name)
    legend.get_title().set_fontsize(9)
    ax.roofkit_description = say(
        "batches.described" if name else "batches.described_unnamed",
        name=name, layers=join_parts(descriptions), rule=f"{rule:.4g}",
    )  # fmt: skip
    return ax


def matmul_times(batches, seconds, models, *, ax=None):
    """Draw the measured times of a layer at several batches, and the times that models predict.

    Parameters
    ----------
    batches, seconds : arrays of the same length, tokens and measured times
    models : mapping of label to a pair of arrays (batches, seconds)
    ax : matplotlib Axes, optional

    Both axes are linear, so equal steps look equal. Returns the Axes. Raises ValueError for
    different lengths and for times that are not above zero.

    >>> ax = matmul_times([1, 64], [19e-6, 21e-6], {"T_lower": ([1, 64], [12e-6, 13e-6])})
    >>> ax.roofkit_description
    'Measured times, 19 µs at 1 token to 21 µs at 64; T_lower: 12 µs at 1 to 13 µs at 64.'
    """
    batches, seconds = _check_pairs("the measured", batches, seconds)
    if not isinstance(models, Mapping) or len(models) > len(COLOURS):
        raise ValueError(f"models must map up to {len(COLOURS)} labels to pairs, got {models!r}")
    models = {label: _check_pairs(label, *pair) for label, pair in models.items()}
    slowest = max(times.max() for times in [seconds, *(times for _, times in models.values())])
    scale, prefix = find_prefix(slowest)
    ax = ax or new_axes(3.8)
    for (label, (xs, times)), colour, line in zip(models.items(), COLOURS, LINES, strict=False):
        ax.plot(xs, times / scale, ls=line, color=colour, lw=1.8, label=label)
    ax.plot(batches, seconds / scale, "ko", ms=5, mec="white", mew=0.6, zorder=3,
            label=say("matmul_times.measured"))  # fmt: skip
    ax.set(xlim=(0, 1.02 * batches.max()), ylim=(0, None))
    ax.set_xlabel(say("axes.tokens"))
    ax.set_ylabel(say("axes.time_in", unit=f"{prefix}s"))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    common.draw_grid(ax)
    ax.legend(loc="upper left", **LEGEND_INSIDE)
    parts = [
        _describe_ends("one_token" if batches[0] == 1 else "tokens", batches, seconds),
        *(
            _describe_ends("model", *pair, label=_strip_math(label))
            for label, pair in models.items()
        ),
    ]
    ax.roofkit_description = say("matmul_times.described", parts=join_parts(parts))
    return ax


def _describe_ends(key, batches, seconds, **fields):
    """Describe the times of the smallest and the largest batch."""
    return say(
        f"matmul_times.{key}", **fields, few=f"{batches[0]:g}", many=f"{batches[-1]:g}",
        first=f"{engineering(seconds[0])}s", last=f"{engineering(seconds[-1])}s",
    )  # fmt: skip


def _write_beside(ax, text, xy, side, **style):
    offset, across, along = SIDES[side]
    ax.annotate(
        text, xy, xytext=offset, textcoords="offset points", ha=across, va=along,
        **{"fontsize": 10, **style},
    )  # fmt: skip


def _strip_math(label):
    """Return a label without TeX, so $T_\\mathrm{tile}$ becomes T_tile."""
    return re.sub(r"\\mathrm|[${}]", "", label)


def _check_pairs(name, batches, seconds):
    batches, seconds = np.asarray(batches, float), np.asarray(seconds, float)
    if batches.ndim != 1 or batches.shape != seconds.shape or not batches.size:
        raise ValueError(
            f"{name} batches and seconds must be lists of the same length, got "
            f"{batches.shape} and {seconds.shape}"
        )
    for quantity, values in (("batches", batches), ("seconds", seconds)):
        common.check_positive(f"{name} {quantity}", values)
    order = np.argsort(batches)
    return batches[order], seconds[order]
