"""Measured times against bytes moved, with the bound of a memory or link."""

import numpy as np

from roofkit._inputs import check_number
from roofkit._units import engineering
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, new_axes
from rooflab.plot.measured_times import MARKERS
from rooflab.plot.wording import join_parts, say

# The small cases of a group move at most this many times its fewest bytes.
SMALL_CASES = 10


def traffic(groups, bandwidth, *, resolution=None, ax=None):
    """Draw measured times against the bytes that a memory or links moved.

    Parameters
    ----------
    groups : mapping of label to a (bytes, measured seconds) pair of arrays of the same length
    bandwidth : float
        Bytes/s of the memory or of the links; the line of bytes / bandwidth is the bound.
    resolution : float, optional
        The resolution of the clock in seconds. A bar through each point then shows the times that
        are rounded to this reading: half a resolution up and down.
    ax : matplotlib Axes, optional

    Points in the grey region would be faster than the memory or the links. A dotted line with the
    name of a group shows the median time of its small cases, which have at most ten times its
    fewest bytes. Returns the Axes. Raises ValueError for different lengths, and for
    values that are not finite and above zero.

    >>> ax = traffic({"x + y": ([3e4, 3e8], [1e-6, 1.2e-4])}, bandwidth=3e12)
    >>> ax.roofkit_description
    'Measured time against bytes moved. x + y, 2 points: 30 kB in 1 µs, 100 times the bound at \
3 TB/s; 300 MB in 120 µs, 1.2 times the bound. Dotted lines show the median time of the points \
with at most ten times the fewest bytes of their group.'
    """
    common.check_mapping("groups", groups, len(MARKERS), "(bytes, seconds)")
    bandwidth = check_number(bandwidth, "bandwidth")
    half = 0 if resolution is None else check_number(resolution, "resolution") / 2
    groups = {label: _read_group(label, *pair) for label, pair in groups.items()}
    ax = ax or new_axes(3.8)
    xlim = common.decade_limits(np.concatenate([moved for moved, _ in groups.values()]), 0.2, 0.2)
    ylim = common.decade_limits(
        np.concatenate([seconds for _, seconds in groups.values()]), 0.5, 0.1
    )
    ax.set(xscale="log", yscale="log", xlim=xlim, ylim=ylim)
    edges = np.array(xlim)
    speed = f"{engineering(bandwidth)}B/s"
    ax.plot(edges, edges / bandwidth, color=palette.colour("bound"), lw=1.6)
    ax.fill_between(edges, ylim[0], edges / bandwidth, color=palette.colour("barred"), lw=0)
    ink = palette.colour("note")
    barred = ax.text(0.98, 0.04, say("traffic.barred"), transform=ax.transAxes, ha="right",
                     size=9, color=ink)  # fmt: skip
    top = min(xlim[1], ylim[1] * bandwidth)
    bound = ax.annotate(say("traffic.bound", speed=speed), (top, top / bandwidth), (-14, -12),
                        textcoords="offset points", ha="right", size=9, color=ink)  # fmt: skip
    names = []
    for group, colour, marker in zip(groups.items(), COLOURS, MARKERS, strict=False):
        label, (moved, seconds) = group
        small = np.array([1, SMALL_CASES]) * moved.min()
        floor = float(np.median(seconds[moved <= small[1]]))
        ax.plot(small, [floor] * 2, ":", color=colour, lw=1.8)
        name = say("traffic.name", label=label, floor=f"{engineering(floor)}s")
        names.append((name, (small[0], floor), 6, colour))
        if half:
            least = np.maximum(seconds - half, ylim[0])
            ax.vlines(moved, least, seconds + half, color=colour, lw=0.8)
            # Caps separate neighbouring readings. Short bars hide behind their points.
            long = half > 0.1 * seconds
            for ends in (least[long], seconds[long] + half):
                ax.plot(moved[long], ends, "_", color=colour, ms=5, mew=0.8)
        ax.plot(moved, seconds, marker, color=colour, ms=4.5, mec="white", mew=0.4)
    ax.set_xlabel(say("traffic.x_axis"))
    ax.set_ylabel(say("traffic.y_axis"))
    common.set_ticks(ax.xaxis, xlim, lambda value: f"{engineering(value)}B")
    common.set_ticks(ax.yaxis, ylim, lambda value: f"{engineering(value)}s")
    common.draw_grid(ax)
    points = [(moved, seconds) for moved, seconds in groups.values()]
    for name in common.place_labels(ax, names, [barred, bound], lines=points):
        name.set_bbox(common.TEXT_PLATE)
    descriptions = [
        _describe("other" if i else "first", label, *pair, bandwidth, half)
        for i, (label, pair) in enumerate(groups.items())
    ]
    ax.roofkit_description = say("traffic.described", groups=join_parts(descriptions))
    if half:
        ax.roofkit_description += " " + say("traffic.bars", step=f"{engineering(resolution)}s")
    return ax


def _read_group(label, moved, seconds):
    """Return bytes and seconds as arrays of one length."""
    moved, seconds = np.atleast_1d(np.asarray(moved, float), np.asarray(seconds, float))
    if moved.shape != seconds.shape:
        raise ValueError(
            f"groups[{label!r}] must have as many bytes as seconds, got {moved.size} and "
            f"{seconds.size}"
        )
    for name, values in (("bytes", moved), ("measured seconds", seconds)):
        common.check_positive(f"groups[{label!r}]: {name}", values)
    return moved, seconds


def _describe(key, label, moved, seconds, bandwidth, half):
    """Describe the median times of the fewest and the most bytes, as multiples of their bound."""
    least, most = moved.min(), moved.max()
    fast, slow = (float(np.median(seconds[moved == size])) for size in (least, most))
    return say(
        f"traffic.{key}", label=label, count=len(moved), speed=f"{engineering(bandwidth)}B/s",
        few=f"{engineering(least)}B", fast=f"{engineering(fast)}s",
        low=_format_times(fast, least / bandwidth, half),
        many=f"{engineering(most)}B", slow=f"{engineering(slow)}s",
        high=_format_times(slow, most / bandwidth, half),
    )  # fmt: skip


def _format_times(seconds, bound, half):
    """Return a time as a multiple of its bound, or the range that the clock leaves possible."""
    ends = [
        common.format_3g(max(seconds + off, 0) / bound) for off in ((-half, half) if half else (0,))
    ]
    return ends[0] if len(set(ends)) == 1 else say("traffic.range", low=ends[0], high=ends[1])
