"""A matmul split over more and more chips: compute, memory and links, against their number."""

import matplotlib.pyplot as plt

from roofkit import palette
from roofkit._units import engineering
from roofkit.network import Group, sharded_matmul
from roofkit.plot.figures import COLOURS, LINES, WITHIN, bare, decades, ticks
from roofkit.plot.wording import bound_by, listing, named, say
from roofkit.roofline import Roofline

MARKS = {"compute": "o", "memory": "^", "link": "s", "network": "D"}


def split_times(roof, groups, widths, B=1024, F=8192, dtype="bf16", *, axes=None):
    """Draw the times of X[B, D] · Y[D, F], split along D over groups of chips.

    Parameters
    ----------
    roof : Roofline of one chip over its memory
    groups : Groups of growing numbers of chips
    widths : the Ds, a panel each
    B, F : sizes, dtype : str
    axes : sequence of matplotlib Axes, optional

    The pale band follows the longest of the times. Returns the Axes. Raises ValueError for
    anything else.

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
        raise ValueError(f"groups must be Groups of roofkit.network, got {groups!r}")
    if axes is None:
        size = (3.4 * len(widths), 3.4)
        _, grid = plt.subplots(1, len(widths), figsize=size, layout="constrained", squeeze=False,
                               sharey=True)  # fmt: skip
        axes = grid[0]
    counts = [group.n for group in groups]
    found = [
        [sharded_matmul(B, D, F, group, dtype=dtype).estimate(roof) for group in groups]
        for D in widths
    ]
    everything = [t for row in found for each in row for t in each.times.values() if t]
    ylim = decades(everything, 0.1, 0.1)
    told = []
    for ax, D, row in zip(axes, widths, found, strict=True):
        ax.set(xscale="log", yscale="log", ylim=ylim, xlim=(0.8 * counts[0], 1.25 * counts[-1]))
        ax.plot(
            counts,
            [each.lower for each in row],
            color=palette.colour("trail"),
            lw=9,
            solid_capstyle="round",
        )
        channels = dict.fromkeys(name for each in row for name in each.times)
        for name, colour, line in zip(channels, COLOURS, LINES, strict=False):
            points = [(n, each.times[name]) for n, each in zip(counts, row, strict=True)
                      if each.times.get(name)]  # fmt: skip
            ax.plot(*zip(*points, strict=True), ls=line, marker=MARKS[name], ms=5, color=colour,
                    label=named("resources", name))  # fmt: skip
        ax.set_title(f"D = {D:,}", fontsize=10)
        ax.set_xlabel(say("split.x_axis"))
        ax.set_xticks(counts, [str(n) for n in counts])
        ax.set_xticks([], minor=True)
        ticks(ax.yaxis, ylim, lambda value: f"{engineering(value)}s")
        bare(ax)
        times = [
            say("split.one_chip" if n == 1 else "split.chips", n=n,
                time=f"{engineering(each.lower)}s", bound=bound_by(each.bound))
            for n, each in zip(counts, row, strict=True)
        ]  # fmt: skip
        told.append(say("split.panel", D=f"{D:g}", times=listing(times)))
    axes[0].set_ylabel(say("axes.time"))
    axes[-1].legend(**WITHIN)
    axes[0].roofkit_description = say("split.described", panels=listing(told, "sentences"))
    return tuple(axes)
