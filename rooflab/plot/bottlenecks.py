"""A map over batch and context of the bottleneck of a decode step."""

from collections.abc import Mapping

import numpy as np
from matplotlib.lines import Line2D

from roofkit.models.llm.deployment import Deployment
from rooflab import palette
from rooflab.plot.common import COLOURS, LEGEND_ABOVE, TEXT_PLATE, draw_grid, new_axes, set_ticks
from rooflab.plot.wording import join_parts, say

BATCHES = tuple(2**i for i in range(11))
CONTEXTS = tuple(2**i for i in range(4, 16))
# The colour and opacity of each bottleneck, from pale to dark.
REGIONS = {"weights": (COLOURS[1], 0.2), "cache": (COLOURS[2], 0.45), "compute": (COLOURS[0], 0.75)}
POINTS = 385  # on each axis
NAME_RATIO = 2.4  # width over height of a name, each as a share of its axis


def bottleneck_map(deployment, batches=BATCHES, contexts=CONTEXTS, *, ax=None):
    """Draw a map of what takes the most time in a decode step: weights, KV cache or computing.

    Parameters
    ----------
    deployment : Deployment on one kind of chip
    batches, contexts : two or more increasing whole numbers of at least 1
        The ranges of the axes: sequences, and tokens per sequence in the cache.
    ax : matplotlib Axes, optional

    A compute-bound layer counts as computing. The time of a memory-bound layer is split between
    weights and cache in proportion to their bytes. Activations and links have no region. The cache
    leads if it takes longer than weights and computing together. Beyond the dashed line, memory is
    full according to ``deployment.memory(batch, prompt=1, output=context)``. Returns the Axes.
    Raises ValueError for other arguments.
    """
    _check_deployment(deployment)
    batches, contexts = _check_rising(batches, "batches"), _check_rising(contexts, "contexts")
    ax = ax or new_axes(4)
    xs = np.unique(np.rint(np.geomspace(batches[0], batches[-1], POINTS)))
    ys = np.unique(np.rint(np.geomspace(contexts[0], contexts[-1], POINTS)))
    batch, context = xs[None, :], ys[:, None]
    ahead = region_leads(deployment, batch, context)
    spare = deployment.memory(batch, 1, context).spare
    longest = ahead.argmax(axis=0)
    for number, (name, (colour, alpha)) in enumerate(REGIONS.items()):
        region = longest == number
        if not region.any():
            continue
        ax.contourf(xs, ys, ahead[number], [0, np.inf], colors=colour, alpha=alpha, zorder=1)
        # The name is inside the region, if possible where memory is not full.
        fits = region & (spare >= 0)
        row, column = _find_room(fits if fits.any() else region, xs, ys)
        ax.text(
            xs[column], ys[row], say(f"regions.{name}"), ha="center", va="center", fontsize=9.5,
            color=palette.colour("mark"), bbox=TEXT_PLATE, zorder=4,
        )  # fmt: skip
    if np.nanmin(spare) < 0 < np.nanmax(spare):
        line = {"color": palette.colour("mark"), "ls": "--", "lw": 1.5}
        ax.contourf(xs, ys, spare, [-np.inf, 0], colors="white", alpha=0.5, zorder=1.5)
        ax.contour(xs, ys, spare, [0], colors=line["color"], linestyles="--", linewidths=line["lw"])
        ax.legend(handles=[Line2D([], [], label=say("regions.full"), **line)], **LEGEND_ABOVE)
    ax.set(xscale="log", yscale="log", xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]))
    ax.set_xlabel(say("regions.batch_axis"))
    ax.set_ylabel(say("regions.context_axis"))
    set_ticks(ax.xaxis, ax.get_xlim(), lambda value: f"{value:g}")
    set_ticks(ax.yaxis, ax.get_ylim(), lambda value: f"{value:g}")
    draw_grid(ax)
    columns = [_describe_column(int(xs[i]), ys, longest[:, i]) for i in (0, -1)]
    ax.roofkit_description = say(
        "regions.described", model=deployment.model.name, chip=deployment.chip.name,
        chips=deployment.split.chips, columns=join_parts(columns),
    )  # fmt: skip
    return ax


def region_leads(deployment, batch, context):
    """Return the lead of each region, in seconds of a decode step; the highest lead wins.

    The first axis is that of REGIONS. Arrays broadcast.
    """
    weights = cache = computing = 0.0
    for layer in deployment.decode(batch, context):
        time, bound = layer.count * layer.time, layer.bound
        # Communication layers have no bytes in memory.
        fetching = np.where(bound == "memory", time, 0.0) / np.maximum(layer.bytes, 1.0)
        weights = weights + fetching * layer.weights
        cache = cache + fetching * layer.kv
        computing = computing + np.where(bound == "compute", time, 0.0)
    # Layers become compute-bound one by one, so the cache is compared with weights and computing.
    matrices = weights + computing - cache
    return np.stack([np.minimum(matrices, weights - computing), -matrices,
                     np.minimum(matrices, computing - weights)])  # fmt: skip


def _check_deployment(deployment):
    if isinstance(deployment, Mapping):
        raise ValueError(
            "deployment must be one Deployment, got a mapping; draw one figure for each"
        )
    if not isinstance(deployment, Deployment):
        raise ValueError(
            'deployment must be a Deployment, such as rk.llm("Llama-2-7B").on("H100"), got '
            f"{type(deployment).__name__}: {deployment!r}"
        )
    if isinstance(deployment.chip, tuple):
        raise ValueError(
            f"{deployment.model.name} is on {len(deployment.chip)} kinds of chips; give one "
            "Deployment for each"
        )


def _check_rising(values, name):
    array = np.asarray(values)
    whole = array.ndim == 1 and len(array) >= 2 and np.issubdtype(array.dtype, np.integer)
    if not whole or array[0] < 1 or np.any(np.diff(array) <= 0):
        raise ValueError(
            f"{name} must be two or more increasing whole numbers of at least 1, got {values!r}"
        )
    return array


def _find_room(region, xs, ys):
    """Return the row and column in a region that are farthest from its edges."""
    step = 4 if region[::4, ::4].any() else 1  # faster, and fine unless the region is tiny
    across, up = (np.log(axis / axis[0]) / np.log(axis[-1] / axis[0]) for axis in (xs, ys))
    across, up, coarse = across[::step] / NAME_RATIO, up[::step], region[::step, ::step]
    outside = np.pad(~coarse, 1, constant_values=True)
    next_to_outside = (
        outside[:-2, 1:-1] | outside[2:, 1:-1] | outside[1:-1, :-2] | outside[1:-1, 2:]
    )
    rows, columns = np.nonzero(coarse)
    edges = np.nonzero(coarse & next_to_outside)
    room = np.maximum(
        abs(up[rows, None] - up[edges[0]]), abs(across[columns, None] - across[edges[1]])
    )
    least = room.min(axis=1)
    best = np.flatnonzero(least >= 0.95 * least.max())
    middle = best[len(best) // 2]
    return step * rows[middle], step * columns[middle]


def _describe_column(batch, contexts, longest):
    """Describe the bottlenecks of a batch as its context grows."""
    names = [say(f"regions.{name}") for name in REGIONS]
    parts = [names[longest[0]]]
    parts += [
        say("regions.then", name=names[longest[turn + 1]], tokens=f"{contexts[turn + 1]:.3g}")
        for turn in np.flatnonzero(np.diff(longest))
    ]
    return say("regions.column", batch=batch, parts=join_parts(parts, "items"))
