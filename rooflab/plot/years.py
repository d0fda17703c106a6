"""Chips by the year in which they came: peaks, bandwidths, and the ridges between the two."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np

from roofkit._inputs import check_number, pick_16_bit
from roofkit._units import engineering
from roofkit.hardware import Chip
from roofkit.hardware import chip as find_chip
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_ABOVE, LINES
from rooflab.plot.measured_times import MARKERS
from rooflab.plot.wording import join_parts, say


def over_years(families, dtype=None):
    """Draw the peaks, the memory bandwidths and the ridges of chips against their years.

    Parameters
    ----------
    families : mapping of label to a mapping of chip to its year, up to five
        A chip is a Chip or the name of one. A family's line joins its chips in the given order.
    dtype : str, optional
        Which peak; each chip's 16-bit one otherwise.

    Returns the three Axes: peak and bandwidth on log scales above, the ridge below with the names
    of the chips. Raises ValueError for an unknown chip, a peak or a bandwidth that the table does
    not have, and a year that is not a number above 0.

    >>> peak, bandwidth, ridge = over_years({"GPU": {"V100": 2017, "H100": 2022}})
    >>> [text.get_text() for text in ridge.texts]
    ['V100 SXM2: 139', 'H100 SXM: 295']
    """
    if not isinstance(families, Mapping) or not 1 <= len(families) <= len(COLOURS):
        raise ValueError(
            f"families must map 1 to {len(COLOURS)} labels to chips and years, got {families!r}"
        )
    figure = plt.figure(figsize=(6.4, 6.2), layout="constrained")
    axes = figure.subplot_mosaic([["peak", "bandwidth"], ["ridge", "ridge"]], height_ratios=(3, 7))
    peak, bandwidth, ridge = axes.values()
    labels, lines, told = [], [], []
    for (label, chips), colour, style, marker in zip(
        families.items(), COLOURS, LINES, MARKERS, strict=False
    ):
        found = [each if isinstance(each, Chip) else find_chip(each) for each in chips]
        years = np.array(
            [check_number(year, f"families[{label!r}]: year") for year in chips.values()]
        )
        roofs = [each.roofline(dtype or pick_16_bit(each.peaks)) for each in found]
        for ax, values in (
            (peak, [roof.peak_flops for roof in roofs]),
            (bandwidth, [roof.bandwidth for roof in roofs]),
            (ridge, [roof.ridge for roof in roofs]),
        ):
            ax.plot(
                years, values, marker, ls=style, lw=1, ms=6, color=colour, mec="white", mew=0.6,
                label=label, zorder=3,
            )  # fmt: skip
        lines.append((years, np.array([roof.ridge for roof in roofs])))
        for each, year, roof in zip(found, years, roofs, strict=True):
            name = say("years.chip", chip=each.name, ridge=common.format_3g(round(roof.ridge)))
            labels.append((name, (year, roof.ridge), 4, colour))
            told.append(
                say("years.told", chip=each.name, year=f"{year:g}",
                    peak=engineering(roof.peak_flops), bandwidth=engineering(roof.bandwidth),
                    ridge=common.format_3g(round(roof.ridge)))
            )  # fmt: skip
    every = np.concatenate([years for years, _ in lines])
    for ax, name, unit in ((peak, "peak", "FLOP/s"), (bandwidth, "bandwidth", "B/s")):
        drawn = np.concatenate([line.get_ydata() for line in ax.lines])
        ax.set(yscale="log", ylim=common.decade_limits(drawn, 0.1, 0.1))
        common.set_ticks(
            ax.yaxis, ax.get_ylim(), lambda value, unit=unit: f"{engineering(value)}{unit}"
        )
        ax.set_title(say(f"years.{name}"), fontsize=10)
        ax.set_xlim(every.min() - 0.6, every.max() + 0.6)
    ridge.set_xlim(every.min() - 1.3, every.max() + 1.4)
    ridge.set_ylim(0, 1.15 * max(values.max() for _, values in lines))
    ridge.set_ylabel(say("years.ridge"))
    for ax in (peak, bandwidth, ridge):
        common.draw_grid(ax)
        ax.xaxis.get_major_locator().set_params(integer=True)
    ridge.legend(ncols=len(families), **LEGEND_ABOVE)
    joined = [line for line in lines if len(line[0]) > 1]
    common.place_labels(ridge, labels, lines=joined, nearest=True)
    ridge.roofkit_description = say("years.described", chips=join_parts(told))
    peak.roofkit_description = bandwidth.roofkit_description = ridge.roofkit_description
    return peak, bandwidth, ridge
