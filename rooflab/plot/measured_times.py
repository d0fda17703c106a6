"""Measured times compared with the bracket of an ideal machine."""

import numpy as np

from roofkit.roofline import Estimate
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_INSIDE, LINES, new_axes
from rooflab.plot.wording import join_parts, say

MARKERS = ("o", "^", "s", "D", "v")
COLUMN = 64  # the kernels that one column of a band summarises


def measured_times(groups, *, ax=None):
    """Draw measured times as multiples of the longer of T_math and T_comms.

    Parameters
    ----------
    groups : mapping of label to an (Estimate of arrays, measured seconds) pair of the same length
    ax : matplotlib Axes, optional

    The x-axis is T_math / T_comms, so kernels to the right of 1 are compute-bound. The shaded band
    extends from full overlap, 1, to no overlap, (T_math + T_comms) / max(T_math, T_comms). A group
    of 640 kernels or more is a line, the median, in a band that leaves out a twentieth above and
    below; kernels of a smaller group are points. Returns the Axes. Raises ValueError for different
    lengths and for times that are not above zero.

    >>> ideal = Estimate(math=np.array([1e-3, 2e-3]), comms=np.array([2e-3, 1e-3]))
    >>> ax = measured_times({"mine": (ideal, [2.5e-3, 4e-3])})
    >>> ax.roofkit_description
    'Measured time divided by ideal time. mine, 2 kernels: median ratio 1.62, 50% above the sum.'
    """
    common.check_mapping("groups", groups, len(MARKERS), "(Estimate, seconds)")
    ratios = {label: _read_group(label, *pair) for label, pair in groups.items()}
    ax = ax or new_axes(3.6)
    reach = 1.2 * max(max(ratio.max(), 1 / ratio.min()) for ratio, *_ in ratios.values())
    highest = max(2.0, *(over.max() for _, over, _ in ratios.values()))
    ax.set(xscale="log", yscale="log", xlim=(1 / reach, reach), ylim=(0.85, 1.1 * highest))
    xs = np.geomspace(1 / reach, reach, 201)
    bracket = {"color": palette.colour("band"), "lw": 0, "label": say("axes.bracket")}
    ax.fill_between(xs, 1, 1 + np.minimum(xs, 1 / xs), **bracket)
    descriptions = []
    for index, (label, (ratio, over, slower)) in enumerate(ratios.items()):
        numbers = {"count": len(over), "median": common.format_3g(float(np.median(over)))}
        descriptions.append(say("measured.group", label=label, slower=f"{slower:.0%}", **numbers))
        look = {"color": COLOURS[index], "label": label}
        if len(over) < 10 * COLUMN:
            ax.plot(ratio, over, MARKERS[index], **look, mew=0)
            continue
        parts = np.array_split(np.argsort(ratio, kind="stable"), len(over) // COLUMN)
        x = [np.median(ratio[part]) for part in parts]
        low, middle, high = np.transpose([np.quantile(over[p], (0.05, 0.5, 0.95)) for p in parts])
        ax.fill_between(x, low, high, color=COLOURS[index], alpha=0.18, lw=0)
        ax.plot(x, middle, LINES[index], **look)
    ax.axhline(1, color=palette.colour("reference"), lw=1)
    ax.axvline(1, color=palette.colour("reference"), lw=1, ls=":")
    ax.set_xlabel(r"$T_\mathrm{math}$ / $T_\mathrm{comms}$")
    ax.set_ylabel(say("measured.y_axis"))
    common.set_ticks(ax.xaxis, ax.get_xlim(), lambda value: f"{value:g}")
    ticks = [value for value in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if value <= 1.1 * highest]
    ax.set_yticks(ticks, [f"{value:g}" for value in ticks])
    ax.set_yticks([], minor=True)
    common.draw_grid(ax)
    ax.legend(loc="upper right", **LEGEND_INSIDE)
    ax.roofkit_description = say("measured.described", groups=join_parts(descriptions))
    return ax


def _read_group(label, estimate, seconds):
    """Return T_math / T_comms, measured / longer time, and the share of kernels above the sum."""
    if not isinstance(estimate, Estimate):
        raise ValueError(f"groups[{label!r}] must start with an Estimate, got {estimate!r}")
    math_, comms, seconds = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(a, float)) for a in (estimate.math, estimate.comms, seconds))
    )
    for name, values in (("T_math", math_), ("T_comms", comms), ("measured seconds", seconds)):
        common.check_positive(f"groups[{label!r}]: {name}", values)
    longer = np.maximum(math_, comms)
    return math_ / comms, seconds / longer, float(np.mean(seconds > math_ + comms))
