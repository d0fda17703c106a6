"""Log-log figures of rooflines with units, readable in greyscale, and times as bars."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.lines import Line2D

from roofkit._inputs import check_number, pick_16_bit
from roofkit._units import engineering, find_prefix
from roofkit.hardware import Chip
from roofkit.roofline import Cost, Estimate, Roofline
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_ABOVE, LEGEND_INSIDE, LINES, new_axes
from rooflab.plot.wording import join_parts, say, word_bound, word_for

# The hatches of successive bars, so that neighbours differ in greyscale.
HATCHES = ("", "//", "\\\\", "..")


def roofline(roofs, kernels=None, *, measured=None, ax=None, xlim=None, ylim=None):
    """Draw one or more rooflines, with kernels as labelled points on them and below them.

    Under a single roof, the memory-bound (or link-bound) and compute-bound regions are shaded.

    Parameters
    ----------
    roofs : Roofline, Chip, or a mapping of label to either
        A Chip provides its name and its bf16 roofline, or its fp16 roofline if it has no bf16.
    kernels : mapping of label to Cost or to an intensity in FLOPs/byte, optional
        Each appears on every roof, as a circle where it is compute-bound and a triangle where it is
        memory-bound or link-bound. Its label names the bound if all roofs agree; otherwise the
        legend explains circles and triangles.
    measured : mapping of label to a pair (Cost, seconds), optional
        Each is a ring at the FLOP/s that it reached.
    ax : matplotlib Axes, optional
        Where to draw; by default, a new figure.
    xlim, ylim : pairs, optional
        Limits in FLOPs/byte and FLOP/s. By default, they extend from three decades below the ridge
        to two above, so you can compare figures of one chip. Kernels outside widen them.

    Returns the Axes. Raises ValueError for invalid roofs or kernels, and for kernels outside xlim.

    >>> import roofkit as rk
    >>> ax = roofline(rk.chip("TPU v5e"), {"dot": rk.dot(1024)})
    >>> ax.get_xlabel()
    'arithmetic intensity (FLOP/byte)'
    """
    roofs = _check_roofs(roofs)
    for name, given in (("kernels", kernels), ("measured", measured)):
        if not isinstance(given, Mapping | None):
            raise ValueError(f"{name} must map labels to its points, got {given!r}")
    points = {label: _check_intensity(kernel, label) for label, kernel in (kernels or {}).items()}
    rings = {label: _check_measured(pair, label) for label, pair in (measured or {}).items()}
    everything = points | {label: intensity for label, (intensity, _) in rings.items()}
    ridges = [roof.ridge for roof in roofs.values()]
    if xlim is None:
        xlim = common.intensity_limits(ridges, everything.values())
    xlim = common.check_limits(xlim, "xlim")
    for label, intensity in everything.items():
        if not xlim[0] <= intensity <= xlim[1]:
            raise ValueError(
                f"kernels[{label!r}] has intensity {intensity:g}, outside xlim={xlim}; widen it"
            )
    if ylim is None:
        ylim = _height_limits(roofs.values(), xlim, [speed for _, speed in rings.values()])
    ylim = common.check_limits(ylim, "ylim")
    ax = ax or new_axes(3.8)
    common.set_roofline_axes(ax, xlim, ylim)
    if rings:
        ax.set_ylabel(say("axes.speed"))
    for (label, roof), colour, line in zip(roofs.items(), COLOURS, LINES, strict=False):
        # A slope that several roofs share is grey, or their dashes would mix to a third colour.
        alike = [each.ridge for each in roofs.values() if each.bandwidth == roof.bandwidth]
        start = max(min(alike) if len(alike) > 1 else 0, xlim[0])
        # Three points are enough, since the line is straight on both sides of the ridge.
        xs = np.array(sorted({start, min(max(roof.ridge, xlim[0]), xlim[1]), xlim[1]}))
        ax.plot(xs, roof.attainable(xs), ls=line, color=colour, lw=2, zorder=2,
                label=_legend_text(label, roof))  # fmt: skip
        ax.plot([roof.ridge] * 2, [ylim[0], roof.peak_flops], ":", color=colour, lw=1, zorder=1)
        if start > xlim[0]:
            ends, grey = np.array([xlim[0], start]), palette.colour("reference")
            ax.plot(ends, roof.attainable(ends), color=grey, lw=2, zorder=1)
    for intensity in points.values():
        _draw_kernel(ax, intensity, roofs.values())
    labels = _shade_regions(ax, *roofs.values()) if len(roofs) == 1 else []
    # A roof rises from the lower left, so the upper left is free.
    shapes = _marker_handles(roofs.values(), points.values())
    handles = [*ax.get_legend_handles_labels()[0], *shapes]
    inside = {"loc": "upper left", "ncols": 1 + bool(shapes), **LEGEND_INSIDE}
    legend = ax.legend(handles=handles, **(LEGEND_ABOVE if common.is_narrow() else inside))
    ax.figure.draw_without_rendering()
    labels.append(legend)
    kernels = [_name_kernel(name, intensity, roofs.values()) for name, intensity in points.items()]
    lines = [line.get_data() for line in ax.lines if len(line.get_xdata()) > 1]
    dark = palette.colour("mark")
    for label, place in rings.items():
        ax.plot(*place, "o", ms=9, mfc="white", mec=dark, mew=2, zorder=3)
        kernels.append((label, place, 6, dark))
    common.place_labels(ax, kernels, labels, lines)
    ax.roofkit_description = _describe(roofs, points, rings)
    return ax


def _draw_kernel(ax, intensity, roofs):
    """Draw a kernel on each roof, with one dark marker where several roofs coincide."""
    places = {}
    for roof, colour in zip(roofs, COLOURS, strict=False):
        marker = "o" if _find_bound(intensity, roof) == "compute" else "v"
        places.setdefault((roof.attainable(intensity), marker), []).append(colour)
    for (height, marker), (colour, *others) in places.items():
        fill = palette.colour("mark") if others else colour
        ax.plot(intensity, height, marker, color=fill, ms=9, mec="white", zorder=3)


def _marker_handles(roofs, intensities):
    """Return legend entries for circles and triangles if a kernel's bound differs between roofs."""
    verdicts = [{_find_bound(intensity, roof) for roof in roofs} for intensity in intensities]
    mixed = sorted(set().union(*(bounds for bounds in verdicts if len(bounds) > 1)))
    return [
        Line2D(
            [], [], ls="", marker="o" if bound == "compute" else "v", ms=7,
            color=palette.colour("reference"), label=word_bound(bound),
        )
        for bound in mixed
    ]  # fmt: skip


def _shade_regions(ax, roof):
    """Shade the regions of both bounds, and return their names as annotations."""
    names = []
    (left, right), (floor, _) = ax.get_xlim(), ax.get_ylim()
    middle = min(max(roof.ridge, left), right)
    for low, high, colour, strength, bound in (
        (left, middle, COLOURS[1], 0.1, roof.channel),
        (middle, right, COLOURS[0], 0.13, "compute"),
    ):
        if low < high:
            xs = [low, high]
            ax.fill_between(
                xs, floor, roof.attainable(np.array(xs)), fc=colour, alpha=strength, lw=0
            )
        share = math.log(high / low) / math.log(right / left)
        if share > 0.2:
            word = word_bound(bound)
            name = ax.annotate(
                word.replace("-", "-\n") if share * common.find_width() < 1.5 else word,
                (math.sqrt(low * high), floor), xytext=(0, 5), textcoords="offset points",
                ha="center", va="bottom", color=palette.colour("region"), fontsize=9,
            )  # fmt: skip
            names.append(name)
    return names


def times(estimates, *, ax=None):
    """Draw the times of Estimates as time lines: with full overlap and, below, one after the other.

    The bars are T_math and T_comms. If several channels feed a computation, each has its own bar.

    Parameters
    ----------
    estimates : mapping of label to Estimate of scalars, in seconds
    ax : matplotlib Axes, optional

    Returns the Axes. Raises ValueError for other arguments.
    """
    if not isinstance(estimates, Mapping) or not estimates:
        raise ValueError(f"estimates must map labels to Estimates, got {estimates!r}")
    for label, estimate in estimates.items():
        if not isinstance(estimate, Estimate) or not isinstance(estimate.upper, (int, float)):
            raise ValueError(
                f"estimates[{label!r}] must be an Estimate of two numbers, got {estimate!r}"
            )
    bars = {label: _bar_times(each, estimates.values()) for label, each in estimates.items()}
    names = list(dict.fromkeys(name for times in bars.values() for name in times))
    # Bars and their sum share a row; two bars leave a quarter of it free.
    step = 0.78 / (len(names) + 1)
    ax = ax or new_axes(0.9 + 0.95 * len(estimates) * (len(names) + 1) / 3)
    rows = np.arange(len(estimates))[::-1]
    scale, prefix = find_prefix(max(estimate.upper for estimate in estimates.values()))
    for row, label in zip(rows, estimates, strict=True):
        for place, (name, colour, hatch) in enumerate(zip(names, COLOURS, HATCHES, strict=False)):
            time = bars[label].get(name, 0) / scale
            container = ax.barh(
                row + step * (len(names) / 2 - place), time, height=step * 12 / 13, color=colour,
                hatch=hatch, edgecolor="white",
                label=rf"$T_\mathrm{{{name}}}$" if row == rows[0] else None,
            )  # fmt: skip
            ax.bar_label(container, [common.format_3g(time) if time else ""], padding=3, fontsize=9)
        at, left = row - step * len(names) / 2, 0.0
        for name, colour, hatch in [*zip(names, COLOURS, HATCHES, strict=False)][::-1]:
            time = bars[label].get(name, 0) / scale
            ax.barh(at, time, step * 0.6, left, color=colour, hatch=hatch, ec="white", alpha=0.5)
            left += time
        text = f"{common.format_3g(left)} {say('axes.in_turn')}"
        ax.annotate(text, (left, at), (3, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_yticks(rows, list(estimates))
    ax.set_ylim(-step * (len(names) / 2 + 0.6), rows[0] + step * (len(names) / 2 + 0.7))
    ax.set_xlim(0, 1.18 * ax.dataLim.x1)  # room for the words after the longest sum
    ax.set_xlabel(say("axes.time_in", unit=f"{prefix}s"))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(ncols=len(names), **LEGEND_ABOVE)
    rows = [_describe_estimate(label, bars[label], each) for label, each in estimates.items()]
    ax.roofkit_description = say("times.described", rows=join_parts(rows))
    return ax


def _describe_estimate(label, bars, estimate):
    times = [
        say("times.time", name=name, time=f"{engineering(time)}s") for name, time in bars.items()
    ]
    return say(
        "times.row",
        label=label, times=join_parts(times, "items"), bound=word_bound(estimate.bound),
        lower=f"{engineering(estimate.lower)}s", upper=f"{engineering(estimate.upper)}s",
    )  # fmt: skip


def _bar_times(estimate, estimates):
    """Return an Estimate's times by name, per channel if any Estimate has several channels."""
    if not any(other.other_times for other in estimates):
        return {"math": estimate.math, "comms": estimate.comms}
    return {"math": estimate.math, estimate.channel: estimate.comms, **dict(estimate.other_times)}


def _check_roofs(roofs):
    if not isinstance(roofs, Mapping):
        roofs = list(roofs) if isinstance(roofs, (list, tuple)) else [roofs]
        names = [_roof_name(roof, alone=len(roofs) == 1) for roof in roofs]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f'two roofs are named "{name}"; tell them apart in a mapping: '
                    '{"this one": roof, "that one": roof}'
                )
        roofs = dict(zip(names, roofs, strict=True))
    if not 1 <= len(roofs) <= len(COLOURS):
        raise ValueError(f"give 1 to {len(COLOURS)} roofs, got {len(roofs)}; more would look alike")
    return {label: _check_roof(roof, label) for label, roof in roofs.items()}


def _roof_name(roof, alone):
    """Return a chip's name, "" for a lone Roofline, or its values if there are several."""
    if isinstance(roof, Roofline) and not alone and isinstance(roof.ridge, (int, float)):
        return say(
            "roofline.by_figures", peak=f"{engineering(roof.peak_flops)}FLOP/s",
            bandwidth=f"{engineering(roof.bandwidth)}B/s",
        )  # fmt: skip
    return getattr(roof, "name", "")


def _check_roof(roof, label):
    if isinstance(roof, Chip):
        dtype = pick_16_bit(roof.peaks)
        if dtype is None:
            peaks = ", ".join(roof.peaks) or "no peak at all"
            raise ValueError(
                f"{roof.name} has no 16-bit peak (it has {peaks}); "
                'pass a Roofline, such as chip.roofline("fp32")'
            )
        return roof.roofline(dtype)
    if not isinstance(roof, Roofline):
        raise ValueError(
            f"roofs[{label!r}] must be a Roofline or a Chip, got {type(roof).__name__}: {roof!r}"
        )
    if not isinstance(roof.ridge, (int, float)):
        raise ValueError(f"roofs[{label!r}] must have a single peak and bandwidth, got {roof!r}")
    return roof


def _check_intensity(kernel, label):
    value = kernel.intensity if isinstance(kernel, Cost) else kernel
    if isinstance(value, bool) or np.ndim(value) or not isinstance(value, (int, float, np.number)):
        raise ValueError(
            f"kernels[{label!r}] must be a Cost of numbers or one intensity, got {kernel!r}"
        )
    if not 0 < value < np.inf:
        raise ValueError(
            f"kernels[{label!r}] has intensity {value:g}; a log axis needs finite values above 0"
        )
    return float(value)


def _check_measured(pair, label):
    try:
        cost, seconds = pair
        return _check_intensity(cost, label), cost.flops / check_number(seconds, "the time")
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"measured[{label!r}] must be (Cost, seconds): {error}") from None


def _height_limits(roofs, xlim, speeds):
    low = min([*(roof.attainable(xlim[0]) for roof in roofs), *speeds])
    # The label of the lowest marker is below it.
    return low * 0.5, max([*(roof.peak_flops for roof in roofs), *speeds]) * 2.5


def _legend_text(label, roof):
    key = "roofline.legend" if label else "roofline.legend_unnamed"
    return say(key, label=label, ridge=f"{roof.ridge:.4g}")


def _name_kernel(name, intensity, roofs):
    """Return a kernel's label, at the highest roof if all bind by compute, else at the lowest."""
    verdicts = {_find_bound(intensity, roof) for roof in roofs}
    end = max if verdicts == {"compute"} else min
    height = end(roof.attainable(intensity) for roof in roofs)
    if len(verdicts) == 1:
        name = say("roofline.kernel", name=name, resource=word_for("resources", *verdicts))
    return name, (intensity, height), 5, palette.colour("mark")


def _find_bound(intensity, roof):
    return "compute" if intensity >= roof.ridge else roof.channel


def _describe(roofs, points, rings):
    parts = [
        say("roofline.ring", name=name, intensity=common.format_3g(intensity),
            reached=f"{engineering(speed)}FLOP/s")
        for name, (intensity, speed) in rings.items()
    ]  # fmt: skip
    for label, roof in roofs.items():
        parts.append(
            say(
                "roofline.roof", label=label or say("roofline.unnamed"),
                bandwidth=f"{engineering(roof.bandwidth)}B/s", ridge=f"{roof.ridge:.4g}",
                peak=f"{engineering(roof.peak_flops)}FLOP/s",
            )
        )  # fmt: skip
        parts += [
            say(
                "roofline.point", name=name, intensity=common.format_3g(intensity),
                bound=word_bound(_find_bound(intensity, roof)),
                attainable=f"{engineering(roof.attainable(intensity))}FLOP/s",
            )
            for name, intensity in points.items()
        ]  # fmt: skip
    return say("roofline.described", parts=join_parts(parts))
