"""Measured times beside the bracket that an ideal machine gives them."""

from collections.abc import Mapping

import numpy as np

from roofkit.roofline import Estimate
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_INSIDE, new_axes
from rooflab.plot.wording import join_parts, say

MARKERS = ("o", "^", "s", "D", "v")


def measured_times(groups, *, ax=None):
    """Draw how many times the longer of T_math and T_comms each measured kernel took.

    Parameters
    ----------
    groups : mapping of label to a pair (Estimate of arrays, measured seconds of the same length)
    ax : matplotlib Axes, optional

    A kernel's place on the x-axis is T_math / T_comms, so that compute binds right of 1. The shaded
    band reaches from full overlap, 1, to none, (T_math + T_comms) / max(T_math, T_comms). Returns
    the Axes. Raises ValueError for lengths that differ, and for times that are not above zero.

    >>> ideal = Estimate(math=np.array([1e-3, 2e-3]), comms=np.array([2e-3, 1e-3]))
    >>> ax = measured_times({"mine": (ideal, [2.5e-3, 4e-3])})
    >>> ax.roofkit_description
    'Measured over ideal time. mine, 2 kernels: 1.62 times in the median, 50% above the sum.'
    """
    if not isinstance(groups, Mapping) or not 1 <= len(groups) <= len(MARKERS):
        raise ValueError(
            f"groups must map 1 to {len(MARKERS)} labels to (Estimate, seconds), got {groups!r}"
        )
    read = {label: _read_group(label, *pair) for label, pair in groups.items()}
    ax = ax or new_axes(3.6)
    everything = [ratio for ratio, *_ in read.values()]
    reach = 1.2 * max(max(r.max(), 1 / r.min()) for r in everything)
    highest = max(2.0, *(over.max() for _, over, _ in read.values()))
    ax.set(xscale="log", yscale="log", xlim=(1 / reach, reach), ylim=(0.85, 1.1 * highest))
    xs = np.geomspace(1 / reach, reach, 201)
    ax.fill_between(
        xs,
        1,
        1 + np.minimum(xs, 1 / xs),
        color=palette.colour("band"),
        lw=0,
        label=say("axes.bracket"),
    )
    for (label, (ratio, over, _)), colour, marker in zip(
        read.items(), COLOURS, MARKERS, strict=False
    ):
        ax.plot(ratio, over, marker, color=colour, ms=2.5, alpha=0.35, mew=0, label=label)
    ax.axhline(1, color=palette.colour("reference"), lw=1)
    ax.axvline(1, color=palette.colour("reference"), lw=1, ls=":")
    ax.set_xlabel(r"$T_\mathrm{math}$ / $T_\mathrm{comms}$")
    ax.set_ylabel(say("measured.y_axis"))
    common.set_ticks(ax.xaxis, ax.get_xlim(), lambda value: f"{value:g}")
    shown = [value for value in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if value <= 1.1 * highest]
    ax.set_yticks(shown, [f"{value:g}" for value in shown])
    ax.set_yticks([], minor=True)
    common.draw_grid(ax)
    legend = ax.legend(loc="upper right", **LEGEND_INSIDE)
    for handle in legend.legend_handles[1:]:
        handle.set(markersize=6, alpha=1)
    told = [
        say(
            "measured.group", label=label, count=len(over), slower=f"{slower:.0%}",
            median=common.format_3g(float(np.median(over))),
        )
        for label, (_, over, slower) in read.items()
    ]  # fmt: skip
    ax.roofkit_description = say("measured.described", groups=join_parts(told))
    return ax


def _read_group(label, estimate, seconds):
    """T_math / T_comms, measured / longer time, and the share of kernels above the sum."""
    if not isinstance(estimate, Estimate):
        raise ValueError(f"groups[{label!r}] must begin with an Estimate, got {estimate!r}")
    math_, comms, seconds = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(a, float)) for a in (estimate.math, estimate.comms, seconds))
    )
    for name, values in (("T_math", math_), ("T_comms", comms), ("measured seconds", seconds)):
        common.check_positive(f"groups[{label!r}]: {name}", values)
    longer = np.maximum(math_, comms)
    return math_ / comms, seconds / longer, float(np.mean(seconds > math_ + comms))
