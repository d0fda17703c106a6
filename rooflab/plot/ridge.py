"""The ridge as squares: the FLOPs that a chip could do while one byte arrives."""

import math

import numpy as np

from roofkit._inputs import check_number
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.wording import join_parts, say

COLUMNS = 20


def ridge(squares, panels, chip=""):
    """Draw a chip's ridge as squares, once for each kind of work, and light those in use.

    Parameters
    ----------
    squares : float
        The ridge in FLOP/byte: the FLOPs that the chip could do while one byte arrives.
    panels : mapping of label to the FLOPs that the work does with each byte, up to four
    chip : str, optional
        Its name, for the title.

    Returns the Axes of the panels as a tuple. Raises ValueError for numbers that are not above 0.

    >>> writing, reading = ridge(295.3, {"writing, 1 user": 1, "reading 2,048 tokens": 2048})
    >>> writing.get_xlabel(), reading.get_xlabel()
    ('1 of 295 in use', '295 of 295 in use')
    """
    count = round(check_number(squares, "squares"))
    common.check_mapping("panels", panels, 4, "FLOPs")
    figure = common.new_figure(max(1.0 + 2.1 * len(panels), 5.2), 2.75)
    figure.suptitle(say("ridge.title", chip=chip or say("ridge.chip"), count=count), fontsize=11)
    places = np.arange(count)
    lit_colour, dark_colour = palette.colour("roof"), palette.colour("line")
    panes = figure.subplots(1, len(panels), squeeze=False)[0]
    told = []
    for ax, (label, used) in zip(panes, panels.items(), strict=True):
        lit = min(max(round(check_number(used, f"panels[{label!r}]")), 1), count)
        colours = np.where(places < lit, lit_colour, dark_colour)
        ax.scatter(places % COLUMNS, places // COLUMNS, s=33, c=colours, marker="s", linewidths=0)
        ax.set(xlim=(-1, COLUMNS), ylim=(math.ceil(count / COLUMNS), -1), aspect="equal")
        ax.set(xticks=[], yticks=[], facecolor=palette.colour("shade"))
        ax.spines[:].set_color(palette.colour("frame"))
        ax.set_title(label, fontsize=10)
        ax.set_xlabel(say("ridge.lit", lit=lit, count=count))
        told.append(say("ridge.told", label=label, lit=lit, count=count))
    description = say("ridge.described", chip=chip or say("ridge.chip"), count=count,
                      panels=join_parts(told))  # fmt: skip
    for ax in panes:
        ax.roofkit_description = description
    return tuple(panes)
