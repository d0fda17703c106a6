"""What every figure shares: colours that differ in grey too, axes, labels that do not overlap."""

import base64
import html
import io
import math
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator
from matplotlib.transforms import Bbox

from roofkit._html import start_with_blank_line
from roofkit._units import engineering
from rooflab import palette
from rooflab.plot.wording import say

# The colours of lines also differ in grey; the styles tell lines apart without any colour.
COLOURS = palette.series()
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
# A legend within the axes or above them, and what lies under words that cross a line.
LEGEND_INSIDE = {"fontsize": 9, "framealpha": 0.9, "edgecolor": "none"}
LEGEND_ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "frameon": False, "fontsize": 9}
TEXT_PLATE = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}


def new_axes(height):
    """The Axes of a new figure, as wide as all are and so many inches high."""
    return plt.subplots(figsize=(6.4, height), layout="constrained")[1]


def show(ax, alt=None):
    """The Axes' figure as a picture with alternative text, for a notebook cell to end on.

    Figures drawn by this package describe themselves; give ``alt`` for any other. Of a figure with
    several Axes give one or all. The picture is a PNG, or an SVG where matplotlib's
    ``savefig.format`` says so. Returns an object with ``_repr_html_``; the figure itself is closed.
    Raises ValueError where no text is known.
    """
    ax = ax[0] if isinstance(ax, tuple) else ax
    figure = ax.figure
    alt = alt or getattr(ax, "roofkit_description", None)
    if not alt:
        raise ValueError('this figure has no description; give one: show(ax, alt="what it shows")')
    kind = "svg" if plt.rcParams["savefig.format"] == "svg" else "png"
    # No version and no date, so that a picture drawn again is the same.
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    picture = io.BytesIO()
    figure.savefig(picture, format=kind, dpi=144, metadata=metadata)
    width = round(figure.get_size_inches()[0] * 100)
    plt.close(figure)
    return Picture(picture.getvalue(), alt, width, "svg+xml" if kind == "svg" else "png")


class Picture:
    """A PNG or SVG with the text that stands for it where it cannot be seen."""

    def __init__(self, content, alt, width, kind="png"):
        self.content, self.alt, self.width, self.kind = content, alt, width, kind

    def __repr__(self):
        return f"Picture({self.alt!r})"

    def _repr_html_(self):
        data = base64.b64encode(self.content).decode()
        return start_with_blank_line(
            f'<img alt="{html.escape(self.alt, quote=True)}" width="{self.width}" '
            f'style="max-width: 100%" src="data:image/{self.kind};base64,{data}">'
        )


def decade_limits(values, before, after):
    """Limits of a log axis, in half decades, with so many decades of room around the values."""
    low, high = np.log10(min(values)) - before, np.log10(max(values)) + after
    return 10 ** (np.floor(2 * low) / 2), 10 ** (np.ceil(2 * high) / 2)


def intensity_limits(ridges, intensities, above=2):
    """Limits of the intensity axis, in whole decades around the ridges of the chips.

    From three decades below that of the lowest ridge to ``above`` that of the highest. They do not
    follow the kernels, so that one sees a kernel move that gets tenfold faster; only a kernel that
    would lie outside widens them.
    """
    first, last = (math.floor(math.log10(ridge)) for ridge in (min(ridges), max(ridges)))
    # Nothing lies below 0.01: adding vectors in fp64, 1/24 FLOP/byte, is about the lowest there is.
    start = max(first - 3, min(first - 1, -2))
    least, most = min(intensities, default=math.inf), max(intensities, default=0)
    low, high = (
        min(10.0**start, least / EDGE_FACTOR),
        max(10.0 ** (last + above), most * EDGE_FACTOR),
    )
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


# A marker whose distance from the frame is this factor is not cut off.
EDGE_FACTOR = 1.3


def check_limits(pair, name):
    """Limits of an axis that a caller gives, as floats."""
    low, high = pair
    if not 0 < low < high < math.inf:
        raise ValueError(f"{name} must be two rising numbers above 0, got {pair!r}")
    return float(low), float(high)


def set_roofline_axes(ax, xlim, ylim):
    """Make both axes logarithmic: intensity from left to right, FLOP/s upward."""
    ax.set(xscale="log", yscale="log", xlim=xlim, ylim=ylim)
    ax.set_xlabel(say("axes.intensity"))
    ax.set_ylabel(say("axes.attainable"))
    set_ticks(ax.xaxis, xlim, lambda value: f"{value:g}")
    set_ticks(ax.yaxis, ylim, lambda value: engineering(value).strip())
    draw_grid(ax)


def set_ticks(axis, limits, text):
    """Label the decades of a log axis and, if it shows fewer than two, some values between them."""
    decades_shown = math.log10(limits[1] / limits[0])
    between = (2, 3, 4, 5, 6, 8) if decades_shown < 1 else (2, 5) if decades_shown < 2 else ()
    axis.set_major_locator(LogLocator(numticks=12))
    axis.set_major_formatter(lambda value, _: text(value))
    axis.set_minor_formatter(
        lambda value, _: text(value) if int(f"{value:e}"[0]) in between else ""
    )
    axis.set_tick_params(which="minor", pad=5)


def draw_grid(ax):
    """Draw a pale grid, and leave out the two sides of the frame that have no scale."""
    ax.grid(which="major", color=palette.colour("grid"), lw=0.8, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)


def check_positive(name, values):
    """Raise ValueError unless all values of an array are finite and above 0."""
    if not (values > 0).all() or not np.isfinite(values).all():
        raise ValueError(f"{name} must all be finite and above 0")


def format_3g(value):
    """A number with three significant digits and no exponent."""
    return f"{float(f'{value:.3g}'):.10g}"


def place_labels(ax, labels, avoid=(), lines=(), nearest=False):
    """Write labels beside their points, each where it covers neither a label nor anything else.

    ``labels`` holds (text, (x, y) in data, radius of the point in points of type, colour);
    ``avoid`` holds artists, and ``lines`` pairs of arrays (xs, ys) in data, which are straight on
    the figure; no label should cover either. Early labels choose first. A label that finds room
    only farther away is joined to its point by a thin line; with ``nearest`` labels
    without such a line keep off the points of others. Returns the annotations.
    """
    ax.figure.draw_without_rendering()
    point = ax.figure.dpi / 72
    inside = ax.get_window_extent()
    centres = [ax.transData.transform(xy) for _, xy, *_ in labels]
    boxes = [artist.get_window_extent() for artist in avoid]
    boxes += [
        _box(centre, 1.8 * radius * point, 1.8 * radius * point)
        for centre, (_, _, radius, _) in zip(centres, labels, strict=True)
    ]
    fixed, inked = len(boxes), [np.empty((0, 2))]
    inked += [_sample_line(ax.transData.transform(np.c_[line]), point) for line in lines]
    placed = []
    for centre, (text, xy, radius, colour) in zip(centres, labels, strict=True):
        label = ax.annotate(
            text, xy, xytext=(0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=9, linespacing=1.15, color=colour, zorder=6,
        )  # fmt: skip
        size = label.get_window_extent()
        half = np.array([size.width + 5 * point, size.height + 2 * point]) / 2
        ink = np.concatenate(inked)

        others = [
            (other, far) for other, (_, at, far, _) in zip(centres, labels, strict=True) if at != xy
        ]

        def cost(place, centre=centre, half=half, ink=ink, others=others):
            """How bad a place is: its distance in points, and more for what it covers."""
            middle, gap, turn = place
            box = _box(middle, *(2 * half))
            covered = sum(_overlap_area(box, other) for other in boxes)
            outside = 4 * half.prod() - _overlap_area(box, inside)
            struck = (abs(ink - middle) < half).all(axis=1).sum()
            if gap > LINE_FROM:
                way = _sample_line([centre, _box_edge(middle, centre, half)], point)
                struck += 2 * sum(_are_inside(other, way).sum() for other in boxes[fixed:])
                struck += sum(
                    _are_inside(other, way).sum()
                    for other in boxes[len(avoid) : fixed]
                    if not _are_inside(other, centre[None])[0]
                )
            elif nearest:
                gaps = [
                    np.hypot(*_distance_from(box, other)) / point - far for other, far in others
                ]
                struck += 4 * (min(gaps, default=math.inf) < gap + 2)
            return gap + turn / 4 + 8 * struck + 4 * (covered + outside) / point**2

        least, (middle, gap) = math.inf, (centre, 0)
        for tried in (3, 7, 12, 18, 26, 36, 48, 62, 78, 96):
            for turn, way in enumerate(DIRECTIONS):
                if tried + turn / 4 >= least:
                    continue  # its distance alone costs more than the best place
                place = centre + way * (radius + tried) * point + np.clip(1.42 * way, -1, 1) * half
                if (found := cost((place, tried, turn))) < least:
                    least, middle, gap = found, place, tried
        label.xyann = (middle - centre) / point
        # The lines of a label beside its point start or end at the point.
        aside = int(np.sign((middle - centre)[0]) * (abs(middle - centre)[0] > half[0]))
        label.set_multialignment(("center", "left", "right")[aside])
        boxes.append(_box(middle, *(2 * half)))
        if gap > LINE_FROM:
            end = _box_edge(middle, centre, half)
            inked.append(_sample_line([centre, end], point))
            ax.annotate(
                "", xy, xytext=(end - centre) / point, textcoords="offset points", zorder=5,
                arrowprops={
                    "arrowstyle": "-", "color": palette.colour("leader"), "lw": 0.8,
                    "shrinkA": 0, "shrinkB": radius,
                },
            )  # fmt: skip
        placed.append(label)
    return placed


# The directions in which a label is tried: above, below and beside its point come first. A label
# farther away than FAR, in points, is joined to its point by a line.
DIRECTIONS = [
    np.array([math.cos(angle), math.sin(angle)])
    for angle in np.pi / 8 * np.array([4, 12, 0, 8, 2, 6, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15])
]
LINE_FROM = 12


def _box(middle, width, height):
    return Bbox.from_bounds(middle[0] - width / 2, middle[1] - height / 2, width, height)


def _overlap_area(a, b):
    # Bbox.intersection takes twenty times as long, and a figure asks thousands of times.
    (left, low), (right, top) = a.get_points().tolist()
    (other_left, other_low), (other_right, other_top) = b.get_points().tolist()
    across = min(right, other_right) - max(left, other_left)
    up = min(top, other_top) - max(low, other_low)
    return across * up if across > 0 and up > 0 else 0.0


def _are_inside(box, points):
    return ((points > box.min) & (points < box.max)).all(axis=1)


def _distance_from(box, place):
    """How far a place lies from a box, across and up."""
    return np.maximum(np.maximum(box.min - place, place - box.max), 0)


def _sample_line(corners, point):
    """Points along a line through corners, all in pixels, two points of type apart."""
    steps = []
    for a, b in pairwise(np.asarray(corners)):
        many = max(2, math.ceil(np.hypot(*(b - a)) / (2 * point)))
        steps.append(np.linspace(a, b, many))
    return np.concatenate(steps)


def _box_edge(middle, target, half):
    """Where the way from the middle of a box to a target leaves the box."""
    way = target - middle
    return middle + way * min(1.0, *(half / np.maximum(abs(way), 1e-9)))
