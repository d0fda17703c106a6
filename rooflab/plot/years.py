"""Peaks against bandwidths of chips, in the order of their years."""

import numpy as np

from roofkit._inputs import check_number, pick_16_bit
from roofkit._units import engineering
from roofkit.hardware import Chip
from roofkit.hardware import chip as find_chip
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_ABOVE, LEGEND_INSIDE, LINES
from rooflab.plot.measured_times import MARKERS
from rooflab.plot.wording import join_parts, say

RIDGES = (100, 200, 300, 600)  # FLOP/byte of the diagonals


def over_years(families, dtype=None):
    """Draw the peaks of chips against their memory bandwidths, with a line through each family.

    Parameters
    ----------
    families : mapping of label to a mapping of chip to its year, up to five
        A chip is a Chip or a name. A line connects the chips of a family in the given order.
    dtype : str, optional
        Selects the peak; by default, the 16-bit peak of each chip.

    Chips on a diagonal have the same ridge. Returns the Axes. Raises ValueError for an unknown
    chip, a peak or bandwidth that is missing in the table, and a year that is not a number above 0.

    >>> [text.get_text() for text in over_years({"GPU": {"V100": 2017, "H100": 2022}}).texts[-2:]]
    ['V100 SXM2 2017: 139', 'H100 SXM 2022: 295']
    """
    common.check_mapping("families", families, len(COLOURS), "chips and years")
    narrow = common.is_narrow()
    ax = common.new_axes(5.5 if narrow else 4.0)
    labels, lines, told, notes = [], [], [], []
    looks = zip(families.items(), COLOURS, LINES, MARKERS, strict=False)
    for (label, years_by_chip), colour, style, marker in looks:
        chips = [chip if isinstance(chip, Chip) else find_chip(chip) for chip in years_by_chip]
        years = [check_number(y, f"families[{label!r}]: year") for y in years_by_chip.values()]
        roofs = [chip.roofline(dtype or pick_16_bit(chip.peaks)) for chip in chips]
        line = [roof.bandwidth for roof in roofs], [roof.peak_flops for roof in roofs]
        ax.plot(*line, marker, ls=style, lw=1.2, ms=7, color=colour, mec="white", label=label)
        lines.append(np.array(line, float))
        for chip, year, roof in zip(chips, years, roofs, strict=True):
            ridge = common.format_3g(round(roof.ridge))
            name = say("years.chip", chip=chip.name, year=f"{year:g}", ridge=ridge)
            labels.append((name, (roof.bandwidth, roof.peak_flops), 4, palette.colour("mark")))
            told.append(say("years.told", chip=chip.name, year=f"{year:g}", ridge=ridge,
                            peak=engineering(roof.peak_flops),
                            bandwidth=engineering(roof.bandwidth)))  # fmt: skip
    (slow, low), (fast, high) = (end(np.concatenate(lines, 1), axis=1) for end in (np.min, np.max))
    ax.set(xscale="log", yscale="log", xlim=(slow / 1.7, 1.9 * fast), ylim=(low / 2, 2 * high))
    ends = np.array(ax.get_xlim())
    for ridge in RIDGES:
        ax.plot(ends, ridge * ends, color=palette.colour("frame"), lw=1, ls=":", zorder=0)
        at = 1.04 * max(ends[0], ax.get_ylim()[0] / ridge)
        words = say("years.ridge", ridge=ridge)
        notes.append(ax.text(at, 1.12 * ridge * at, words, size=9, color=palette.colour("note")))
    for axis, name, unit in ((ax.xaxis, "bandwidth", "B/s"), (ax.yaxis, "peak", "FLOP/s")):
        limits = axis.get_view_interval()
        common.set_ticks(axis, limits, lambda value, unit=unit: f"{engineering(value)}{unit}")
        axis.set_label_text(say(f"years.{name}"))
    ax.legend(**(LEGEND_ABOVE if narrow else {"loc": "lower right", **LEGEND_INSIDE}))
    joined = [tuple(line) for line in lines if line.shape[1] > 1]
    common.place_labels(ax, labels, notes, lines=joined, nearest=True)
    ax.roofkit_description = say("years.described", chips=join_parts(told))
    return ax
