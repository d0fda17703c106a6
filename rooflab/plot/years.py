"""Peaks, bandwidths and ridges of chips by year."""

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
    """Draw the peaks, memory bandwidths and ridges of chips by year.

    Parameters
    ----------
    families : mapping of label to a mapping of chip to its year, up to five
        A chip is a Chip or a name. A line connects the chips of a family in the given order.
    dtype : str, optional
        Selects the peak; by default, the 16-bit peak of each chip.

    Returns three Axes: peak and bandwidth on log scales at the top, and the ridge with the names of
    the chips below. Raises ValueError for an unknown chip, a peak or bandwidth that is missing in
    the table, and a year that is not a number above 0.

    >>> peak, bandwidth, ridge = over_years({"GPU": {"V100": 2017, "H100": 2022}})
    >>> [text.get_text() for text in ridge.texts]
    ['V100 SXM2: 139', 'H100 SXM: 295']
    """
    common.check_mapping("families", families, len(COLOURS), "chips and years")
    figure = common.new_figure(6.4, 6.2)
    axes = figure.subplot_mosaic([["peak", "bandwidth"], ["ridge", "ridge"]], height_ratios=(3, 7))
    peak, bandwidth, ridge = axes.values()
    labels, lines, descriptions = [], [], []
    for (label, years_by_chip), colour, style, marker in zip(
        families.items(), COLOURS, LINES, MARKERS, strict=False
    ):
        chips = [chip if isinstance(chip, Chip) else find_chip(chip) for chip in years_by_chip]
        years = np.array(
            [check_number(year, f"families[{label!r}]: year") for year in years_by_chip.values()]
        )
        roofs = [chip.roofline(dtype or pick_16_bit(chip.peaks)) for chip in chips]
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
        for chip, year, roof in zip(chips, years, roofs, strict=True):
            name = say("years.chip", chip=chip.name, ridge=common.format_3g(round(roof.ridge)))
            labels.append((name, (year, roof.ridge), 4, colour))
            descriptions.append(
                say("years.told", chip=chip.name, year=f"{year:g}",
                    peak=engineering(roof.peak_flops), bandwidth=engineering(roof.bandwidth),
                    ridge=common.format_3g(round(roof.ridge)))
            )  # fmt: skip
    all_years = np.concatenate([years for years, _ in lines])
    for ax, name, unit in ((peak, "peak", "FLOP/s"), (bandwidth, "bandwidth", "B/s")):
        drawn = np.concatenate([line.get_ydata() for line in ax.lines])
        ax.set(yscale="log", ylim=common.decade_limits(drawn, 0.1, 0.1))
        common.set_ticks(
            ax.yaxis, ax.get_ylim(), lambda value, unit=unit: f"{engineering(value)}{unit}"
        )
        ax.set_title(say(f"years.{name}"), fontsize=10)
        ax.set_xlim(all_years.min() - 0.6, all_years.max() + 0.6)
    ridge.set_xlim(all_years.min() - 1.3, all_years.max() + 1.4)
    ridge.set_ylim(0, 1.15 * max(values.max() for _, values in lines))
    ridge.set_ylabel(say("years.ridge"))
    for ax in (peak, bandwidth, ridge):
        common.draw_grid(ax)
        ax.xaxis.get_major_locator().set_params(integer=True)
    ridge.legend(ncols=len(families), **LEGEND_ABOVE)
    joined = [line for line in lines if len(line[0]) > 1]
    common.place_labels(ridge, labels, lines=joined, nearest=True)
    ridge.roofkit_description = say("years.described", chips=join_parts(descriptions))
    peak.roofkit_description = bandwidth.roofkit_description = ridge.roofkit_description
    return peak, bandwidth, ridge
