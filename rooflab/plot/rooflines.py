"""Rooflines as figures: log-log, in units, readable in grey."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.lines import Line2D

from roofkit._inputs import pick_16_bit
from roofkit._units import engineering, find_prefix
from roofkit.hardware import Chip
from roofkit.roofline import Cost, Estimate, Roofline
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LEGEND_ABOVE, LEGEND_INSIDE, LINES, TEXT_PLATE, new_axes
from rooflab.plot.wording import join_parts, say, word_bound, word_for

# Where the label of a kernel stands: how many points to the right of it and above, and which side
# of the label is nearest to it.
OVER, BELOW, BESIDE = (0, 9, "center", "bottom"), (8, -4, "left", "top"), (-8, 4, "right", "bottom")
LEFT = (-12, -1, "right", "center")
# The hatches of the first bar, the second, and so on: neighbours differ in grey.
HATCHES = ("", "//", "\\\\", "..")


def roofline(roofs, kernels=None, *, ax=None, xlim=None, ylim=None):
    """Draw one roofline or several, with kernels as labelled points on them.

    Under a single roof two regions are shaded: where its channel binds, and where compute does.

    Parameters
    ----------
    roofs : Roofline, Chip, or a mapping of label to either
        A Chip stands for its bf16 roofline (fp16 where it has no bf16) and its own name.
    kernels : mapping of label to Cost or to an intensity in FLOPs/byte, optional
        Each is drawn on every roof: a circle where compute binds it, a triangle where the channel
        (memory or link) does, and the label names the bound. A kernel that the roofs disagree on
        has no bound in its label; then the legend says what circles and triangles are.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.
    xlim, ylim : pairs, optional
        Limits in FLOPs/byte and FLOP/s. Otherwise the roofs choose them, so that figures of one
        chip compare: from three decades below the ridge's to two above. Kernels outside widen them.

    Returns the Axes. Raises ValueError for anything that is not a roof or a kernel, and for a
    kernel outside xlim.

    >>> import roofkit as rk
    >>> ax = roofline(rk.chip("TPU v5e"), {"dot": rk.dot(1024)})
    >>> ax.get_xlabel()
    'arithmetic intensity (FLOP/byte)'
    """
    roofs = _check_roofs(roofs)
    if not isinstance(kernels, Mapping | None):
        raise ValueError(f"kernels must map labels to Costs or intensities, got {kernels!r}")
    points = {label: _check_intensity(kernel, label) for label, kernel in (kernels or {}).items()}
    ridges = [roof.ridge for roof in roofs.values()]
    if xlim is None:
        xlim = common.intensity_limits(ridges, points.values())
    xlim = common.check_limits(xlim, "xlim")
    for label, intensity in points.items():
        if not xlim[0] <= intensity <= xlim[1]:
            raise ValueError(
                f"kernels[{label!r}] has intensity {intensity:g}, outside xlim={xlim}; widen it"
            )
    if ylim is None:
        ylim = _height_limits(roofs.values(), xlim)
    ylim = common.check_limits(ylim, "ylim")
    ax = ax or new_axes(3.8)
    common.set_roofline_axes(ax, xlim, ylim)
    for (label, roof), colour, line in zip(roofs.items(), COLOURS, LINES, strict=False):
        # Three points make the whole line, since it is straight on both sides of the ridge.
        xs = np.array(sorted({xlim[0], min(max(roof.ridge, xlim[0]), xlim[1]), xlim[1]}))
        ax.plot(
            xs,
            roof.attainable(xs),
            ls=line,
            color=colour,
            lw=2,
            label=_legend_text(label, roof),
            zorder=2,
        )
        ax.plot([roof.ridge] * 2, [ylim[0], roof.peak_flops], ":", color=colour, lw=1, zorder=1)
    for intensity in points.values():
        _draw_kernel(ax, intensity, roofs.values())
    labels = _shade_regions(ax, *roofs.values()) if len(roofs) == 1 else []
    # A roof rises from the lower left, so that the upper left is free.
    handles, shapes = (
        ax.get_legend_handles_labels()[0],
        _marker_handles(roofs.values(), points.values()),
    )
    legend = ax.legend(
        handles=[*handles, *shapes], loc="upper left", ncols=2 if shapes else 1, **LEGEND_INSIDE
    )
    ax.figure.draw_without_rendering()
    labels.append(legend)
    for name, intensity in points.items():
        labels.append(_label_kernel(ax, name, intensity, roofs.values(), labels))
    ax.roofkit_description = _describe(roofs, points)
    return ax


def _draw_kernel(ax, intensity, roofs):
    """Draw a kernel on each roof; where roofs share its place, one dark marker stands for all."""
    places = {}
    for roof, colour in zip(roofs, COLOURS, strict=False):
        marker = "o" if _find_bound(intensity, roof) == "compute" else "v"
        places.setdefault((roof.attainable(intensity), marker), []).append(colour)
    for (height, marker), (colour, *others) in places.items():
        ax.plot(
            intensity, height, marker, color=palette.colour("mark") if others else colour, ms=9,
            markeredgecolor="white", zorder=3,
        )  # fmt: skip


def _marker_handles(roofs, intensities):
    """What circles and triangles are, for the legend, if a label cannot say it of its kernel."""
    verdicts = [{_find_bound(intensity, roof) for roof in roofs} for intensity in intensities]
    told = sorted(set().union(*(bounds for bounds in verdicts if len(bounds) > 1)))
    return [
        Line2D(
            [], [], ls="", marker="o" if bound == "compute" else "v", ms=7,
            color=palette.colour("reference"), label=word_bound(bound),
        )
        for bound in told
    ]  # fmt: skip


def _shade_regions(ax, roof):
    """Shade where the channel binds and where compute does; returns the names of the regions."""
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
            name = ax.annotate(
                word_bound(bound), (math.sqrt(low * high), floor), xytext=(0, 5),
                textcoords="offset points", ha="center", color=palette.colour("region"), fontsize=9,
            )  # fmt: skip
            names.append(name)
    return names


def times(estimates, *, ax=None):
    """Draw each Estimate's times as bars with their numbers, and the bracket from lower to upper.

    The bars are T_math and T_comms; where several channels feed a computation, T_math and a bar for
    each of them.

    Parameters
    ----------
    estimates : mapping of label to Estimate of scalars, seconds
    ax : matplotlib Axes, optional

    Returns the Axes. Raises ValueError for anything else.

    >>> from roofkit import Estimate
    >>> times({"mine": Estimate(math=1e-3, comms=2e-3)}).get_xlabel()
    'time (ms)'
    """
    if not isinstance(estimates, Mapping) or not estimates:
        raise ValueError(f"estimates must map labels to Estimates, got {estimates!r}")
    for label, estimate in estimates.items():
        if not isinstance(estimate, Estimate) or not isinstance(estimate.upper, (int, float)):
            raise ValueError(
                f"estimates[{label!r}] must be an Estimate of two numbers, got {estimate!r}"
            )
    bars = {
        label: _bar_times(estimate, estimates.values()) for label, estimate in estimates.items()
    }
    names = list(dict.fromkeys(name for times in bars.values() for name in times))
    # Bars and bracket share a row; two bars leave a quarter of it free.
    step = 0.78 / (len(names) + 1)
    ax = ax or new_axes(0.9 + 0.95 * len(estimates) * (len(names) + 1) / 3)
    rows = np.arange(len(estimates))[::-1]
    scale, prefix = find_prefix(max(estimate.upper for estimate in estimates.values()))
    for row, (label, estimate) in zip(rows, estimates.items(), strict=True):
        for place, (name, colour, hatch) in enumerate(zip(names, COLOURS, HATCHES, strict=False)):
            time = bars[label].get(name, 0) / scale
            drawn = ax.barh(
                row + step * (len(names) / 2 - place), time, height=step * 12 / 13, color=colour,
                hatch=hatch, edgecolor="white",
                label=rf"$T_\mathrm{{{name}}}$" if row == rows[0] else None,
            )  # fmt: skip
            ax.bar_label(drawn, [common.format_3g(time) if time else ""], padding=3, fontsize=9)
        lower, upper = estimate.lower / scale, estimate.upper / scale
        ax.plot([lower, upper], [row - step * len(names) / 2] * 2, "k|-", lw=1.5, ms=9,
                label=say("axes.bracket") if row == rows[0] else None)  # fmt: skip
    ax.set_yticks(rows, list(estimates))
    # The last bracket keeps its distance from the axis, the longest bar's number from the frame.
    ax.set_ylim(-step * (len(names) / 2 + 0.6), rows[0] + step * (len(names) / 2 + 0.7))
    ax.set_xlim(0, 1.09 * ax.dataLim.x1)
    ax.set_xlabel(say("axes.time_in", unit=f"{prefix}s"))
    ax.spines[["top", "right"]].set_visible(False)
    handles, labels = ax.get_legend_handles_labels()
    ax.legend([*handles[1:], handles[0]], [*labels[1:], labels[0]], ncols=len(handles), numpoints=2,
              **LEGEND_ABOVE)  # fmt: skip
    told = [
        _describe_estimate(label, bars[label], estimate) for label, estimate in estimates.items()
    ]
    ax.roofkit_description = say("times.described", rows=join_parts(told))
    return ax


def _describe_estimate(label, bars, estimate):
    times = [
        say("times.time", name=name, time=f"{engineering(time)}s") for name, time in bars.items()
    ]
    return say(
        "times.row", label=label, times=join_parts(times, "items"), bound=word_bound(estimate.bound),
        lower=f"{engineering(estimate.lower)}s", upper=f"{engineering(estimate.upper)}s",
    )  # fmt: skip


def _bar_times(estimate, beside):
    """The times of an Estimate by name; each channel has one if any estimate has several."""
    if not any(other.other_times for other in beside):
        return {"math": estimate.math, "comms": estimate.comms}
    return {"math": estimate.math, estimate.channel: estimate.comms, **dict(estimate.other_times)}


def _check_roofs(roofs):
    if not isinstance(roofs, Mapping):
        listed = list(roofs) if isinstance(roofs, (list, tuple)) else [roofs]
        names = [_roof_name(roof, alone=len(listed) == 1) for roof in listed]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f'two roofs are named "{name}"; say which is which in a mapping: '
                    '{"this one": roof, "that one": roof}'
                )
        roofs = dict(zip(names, listed, strict=True))
    if not 1 <= len(roofs) <= len(COLOURS):
        raise ValueError(f"give 1 to {len(COLOURS)} roofs, got {len(roofs)}: more look alike")
    return {label: _check_roof(roof, label) for label, roof in roofs.items()}


def _roof_name(roof, alone):
    """The name of a chip; Rooflines have none and, if there are several, go by their figures."""
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
            listed = ", ".join(roof.peaks) or "no peak at all"
            raise ValueError(
                f"{roof.name} has no 16-bit peak (it has {listed}); "
                'pass a Roofline, such as chip.roofline("fp32")'
            )
        return roof.roofline(dtype)
    if not isinstance(roof, Roofline):
        raise ValueError(
            f"roofs[{label!r}] must be a Roofline or a Chip, got {type(roof).__name__}: {roof!r}"
        )
    if not isinstance(roof.ridge, (int, float)):
        raise ValueError(f"roofs[{label!r}] must hold one number each, got {roof!r}")
    return roof


def _check_intensity(kernel, label):
    value = kernel.intensity if isinstance(kernel, Cost) else kernel
    if isinstance(value, bool) or np.ndim(value) or not isinstance(value, (int, float, np.number)):
        raise ValueError(
            f"kernels[{label!r}] must be a Cost of numbers or one intensity, got {kernel!r}"
        )
    if not 0 < value < np.inf:
        raise ValueError(
            f"kernels[{label!r}] has intensity {value:g}; a log axis shows finite values above 0"
        )
    return float(value)


def _height_limits(roofs, xlim):
    low = min(roof.attainable(xlim[0]) for roof in roofs)
    # The label of the leftmost marker stands below it.
    return low * 0.5, max(roof.peak_flops for roof in roofs) * 2.5


def _legend_text(label, roof):
    sentence = "roofline.legend" if label else "roofline.legend_unnamed"
    return say(sentence, label=label, ridge=f"{roof.ridge:.4g}")


def _label_kernel(ax, name, intensity, roofs, others):
    """Name a kernel once: above the roofs if compute binds it under each, else at the lowest.

    There it stands below the roof or, if it would cover a line or lie beyond the only ridge, to the
    left of the kernel.
    """
    verdicts = {_find_bound(intensity, roof) for roof in roofs}
    flat = verdicts == {"compute"}
    heights = [roof.attainable(intensity) for roof in roofs]
    if len(verdicts) == 1:
        name = say("roofline.kernel", name=name, resource=word_for("resources", *verdicts))
    label = ax.annotate(
        name, (intensity, max(heights) if flat else min(heights)), xytext=(0, 0),
        textcoords="offset points", fontsize=9,
    )  # fmt: skip
    places = (OVER,) if flat else (BELOW, BESIDE, LEFT)
    ridges = [roof.ridge for roof in roofs]
    for place in places:
        _move_label(ax, label, *place)
        beyond = not flat and len(ridges) == 1 and _label_end(ax, label) > ridges[0]
        if not beyond and not _covers(ax, label, others):
            return label
    # It moves away from the roof until it is free or, in a plot that is too crowded, 50 times.
    _move_label(ax, label, *places[0])
    label.set_bbox(TEXT_PLATE)
    for _ in range(50):
        box = label.get_window_extent()
        if not any(box.overlaps(other.get_window_extent()) for other in others):
            break
        label.xyann = (label.xyann[0], label.xyann[1] + (4 if flat else -4))
    return label


def _move_label(ax, label, x, y, across, up):
    """Put a label so far from its kernel, or farther left if it would leave the frame there."""
    label.set(ha=across, va=up)
    label.xyann = (x, y)
    beyond = label.get_window_extent().x1 - ax.get_window_extent().x1
    if beyond > 0:
        label.xyann = (x - 72 / ax.figure.dpi * beyond, y)


def _label_end(ax, label):
    """The intensity at which a label ends."""
    return ax.transData.inverted().transform(label.get_window_extent().max)[0]


def _covers(ax, label, others):
    """Whether a label covers another, a roof or the line below a ridge, or leaves the frame."""
    box, frame = label.get_window_extent(), ax.get_window_extent()
    return (
        box.x0 < frame.x0
        or box.y0 < frame.y0
        or any(box.overlaps(other.get_window_extent()) for other in others)
        or any(
            line.get_path().transformed(line.get_transform()).intersects_bbox(box, filled=False)
            for line in ax.lines
            if len(line.get_xdata()) > 1
        )
    )


def _find_bound(intensity, roof):
    return "compute" if intensity >= roof.ridge else roof.channel


def _describe(roofs, points):
    parts = []
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
