"""Shared by all figures: colours that differ in greyscale, axes, and non-overlapping labels."""

import base64
import functools
import html
import io
import math
import re
from collections.abc import Mapping
from itertools import pairwise
from urllib.parse import quote

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from matplotlib.transforms import Bbox

from roofkit._html import start_with_blank_line
from roofkit._units import engineering
from rooflab import palette
from rooflab.plot.wording import say

# These also differ in greyscale, and line styles without colour; words in pale ones are darker.
COLOURS = palette.series()
INKS = {line: palette.colour(f"on-{name}")
        for line, name in zip(COLOURS[1:4], ("comms", "link", "purple"), strict=True)}  # fmt: skip
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
# Styles of a legend inside or above the axes, and of the box behind text on a line.
LEGEND_INSIDE = {"fontsize": 9, "framealpha": 0.9, "edgecolor": "none"}
LEGEND_ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "frameon": False, "fontsize": 9}
UNQUOTED = "!$'()*+,/:;=?@[]"  # in the address of an SVG
NARROW = 3.75  # inches; at 100 pixels an inch, the width of a phone
TEXT_PLATE = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}


def new_figure(width, height):
    """Return an empty Figure of a size in inches that pyplot does not know.

    When a slider moves, a notebook shows and closes the figures of pyplot, even half-drawn ones.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # as in pyplot; the canvas of a plain Figure draws nothing
    return figure


def new_axes(height):
    """Return the Axes of a new figure with matplotlib's usual width and a height in inches."""
    return new_figure(find_width(), height).subplots(subplot_kw={"axes_class": _Axes})


def find_width():
    """Return matplotlib's usual width of a figure in inches; a phone's figures have NARROW."""
    return plt.rcParams["figure.figsize"][0]


def new_panels(count, wide, high, below=0, **options):
    """Return the Axes of ``count`` panels of a size in inches, in more rows if a row is too wide.

    ``below`` is for a legend. The other ``options`` are those of ``Figure.subplots``.
    """
    width = min(count * wide, find_width())
    across = round(width / wide)
    rows = math.ceil(count / across)
    figure = new_figure(width, rows * high * min(1, width / (across * wide)) + below)
    grid = figure.subplots(rows, across, squeeze=False, **options).ravel()
    for ax in grid[count:]:
        ax.axis("off")
    return grid[:count]


def is_narrow():
    """Return whether figures are now drawn for a phone."""
    return find_width() < 5


def redrawable(draw):
    """Return a function that draws like ``draw``, and whose figures ``show`` can draw again."""

    @functools.wraps(draw)
    def drawing(*args, **options):
        axes = draw(*args, **options)
        first = axes[0] if isinstance(axes, tuple) else axes
        if not {"ax", "axes"} & options.keys():
            first.roofkit_redraw = functools.partial(draw, *args, **options)
        return axes

    return drawing


class _Axes(Axes):
    """Axes that a notebook shows as a picture if a cell ends on them."""

    def _repr_html_(self):
        return show(self)._repr_html_()


def show(ax, alt=None):
    """Return the figure of the Axes as a Picture with alternative text for a notebook to display.

    Figures drawn by this package have a description; pass ``alt`` for other figures. For a figure
    with several Axes, pass one of them or all. The picture is a PNG, or an SVG if matplotlib's
    ``savefig.format`` is "svg". Closes a figure of pyplot. Raises ValueError if there is no
    description.
    """
    ax = ax[0] if isinstance(ax, tuple) else ax
    figure = ax.figure
    alt = alt or getattr(ax, "roofkit_description", None)
    if not alt:
        raise ValueError('this figure has no description; give one: show(ax, alt="what it shows")')
    kind = "svg" if plt.rcParams["savefig.format"] == "svg" else "png"
    width = round(figure.get_size_inches()[0] * 100)
    content, narrow = _save_figure(figure, kind), b""
    if kind == "svg" and hasattr(ax, "roofkit_redraw"):
        with plt.rc_context({"figure.figsize": (NARROW, NARROW)}):
            axes = ax.roofkit_redraw()
            narrow = _save_figure((axes[0] if isinstance(axes, tuple) else axes).figure, kind)
    return Picture(content, alt, width, kind, narrow)


def _save_figure(figure, kind):
    """Return the file of a figure; equal figures give equal files."""
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    picture = io.BytesIO()
    figure.savefig(picture, format=kind, dpi=144, metadata=metadata)
    plt.close(figure)
    if kind == "png":
        return picture.getvalue()
    # An SVG is half as large if its paths have two digits after the point and fewer spaces.
    short = re.sub(rb"(?<=\d\.\d\d)\d+(?= |\n|\")", b"", picture.getvalue())
    return re.sub(rb"(?<=\d) ([LMQC]) (?=[-\d])", rb"\1", re.sub(rb"\s*\n\s*", b" ", short))


class Picture:
    """A PNG or SVG with its alternative text, and perhaps a ``narrow`` one for phones."""

    def __init__(self, content, alt, width, kind="png", narrow=b""):
        self.content, self.alt, self.width, self.kind = content, alt, width, kind
        self.narrow = narrow

    def __repr__(self):
        return f"Picture({self.alt!r})"

    def _repr_html_(self):
        image, narrow = (self._write_address(each) for each in (self.content, self.narrow))
        shown = (
            f'<img alt="{html.escape(self.alt, quote=True)}" width="{self.width}" '
            f'style="max-width: 100%" src="{image}">'
        )
        if self.narrow:
            source = f'<source media="(max-width: 520px)" srcset="{narrow}">'
            shown = f"<picture>{source}{shown}</picture>"
        return start_with_blank_line(shown)

    def _write_address(self, content):
        if self.kind == "png":
            return f"data:image/png;base64,{base64.b64encode(content).decode()}"
        return f"data:image/svg+xml,{quote(content, safe=UNQUOTED)}"  # packs better than base64


def decade_limits(values, before, after):
    """Return log-axis limits in half decades, at least this many decades away from the values."""
    low, high = np.log10(min(values)) - before, np.log10(max(values)) + after
    return 10 ** (np.floor(2 * low) / 2), 10 ** (np.ceil(2 * high) / 2)


def intensity_limits(ridges, intensities, above=2):
    """Return limits of the intensity axis, in whole decades around the ridges of the chips.

    They extend from three decades below the lowest ridge to ``above`` decades above the highest.
    Kernels inside do not affect them, so figures are comparable; a kernel outside widens them.
    """
    first, last = (math.floor(math.log10(ridge)) for ridge in (min(ridges), max(ridges)))
    # Adding vectors in fp64, at 1/24 FLOP/byte, is about the lowest intensity of any kernel.
    start = max(first - 3, min(first - 1, -2))
    least, most = min(intensities, default=math.inf), max(intensities, default=0)
    low = min(10.0**start, least / EDGE_FACTOR)
    high = max(10.0 ** (last + above), most * EDGE_FACTOR)
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


# A marker is not cut off if it is at least this factor away from the frame.
EDGE_FACTOR = 1.3


def check_limits(pair, name):
    """Return the axis limits from a caller, as floats."""
    low, high = pair
    if not 0 < low < high < math.inf:
        raise ValueError(f"{name} must be two increasing numbers above 0, got {pair!r}")
    return float(low), float(high)


def set_roofline_axes(ax, xlim, ylim):
    """Set up logarithmic axes of intensity (across) and FLOP/s (up)."""
    ax.set(xscale="log", yscale="log", xlim=xlim, ylim=ylim)
    ax.set_xlabel(say("axes.intensity"))
    ax.set_ylabel(say("axes.attainable"))
    set_ticks(ax.xaxis, xlim, lambda value: f"{value:.9g}")
    set_ticks(ax.yaxis, ylim, lambda value: engineering(value).strip())
    draw_grid(ax)


def set_ticks(axis, limits, text):
    """Label the decades of a log axis and, if it shows fewer than two, some values in between."""
    decades_shown = math.log10(limits[1] / limits[0])
    between = (2, 3, 4, 5, 6, 8) if decades_shown < 1 else (2, 5) if decades_shown < 2 else ()
    axis.set_major_locator(LogLocator(numticks=6 if is_narrow() else 12))
    axis.set_major_formatter(lambda value, _: text(value))
    axis.set_minor_formatter(
        lambda value, _: text(value) if int(f"{value:e}"[0]) in between else ""
    )
    axis.set_tick_params(which="minor", pad=5)


def draw_grid(ax):
    """Draw a pale grid, and hide the two sides of the frame without a scale."""
    ax.set_axisbelow(True)
    ax.grid(which="major", color=palette.colour("grid"), lw=0.8, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)


def check_positive(name, values):
    """Raise ValueError unless all values of an array are finite and above 0."""
    if not (values > 0).all() or not np.isfinite(values).all():
        raise ValueError(f"{name} must all be finite and above 0")


def check_mapping(name, mapping, most, content):
    """Raise ValueError unless a mapping has 1 to ``most`` labels."""
    if not isinstance(mapping, Mapping) or not 1 <= len(mapping) <= most:
        raise ValueError(f"{name} must map 1 to {most} labels to {content}, got {mapping!r}")


def format_3g(value):
    """Return a number as text with three significant digits and no exponent."""
    return f"{float(f'{value:.3g}'):.10g}"


def place_labels(ax, labels, avoid=(), lines=(), nearest=False):
    """Write labels next to their points with as little overlap as possible.

    ``labels`` has tuples (text, (x, y) in data coordinates, radius of the point in typographic
    points, colour). Labels avoid the artists in ``avoid`` and the straight ``lines``, given as (xs,
    ys) pairs in data coordinates. Earlier labels choose first. A thin line connects a label to its
    point if there is no room nearby. With ``nearest``, labels without such a line keep away from
    the points of other labels. Returns the annotations.
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
            fontsize=9, linespacing=1.15, color=INKS.get(colour, colour), zorder=6,
        )  # fmt: skip
        size = label.get_window_extent()
        half = np.array([size.width + 5 * point, size.height + 2 * point]) / 2
        ink = np.concatenate(inked)

        others = [
            (other, other_radius)
            for other, (_, other_xy, other_radius, _) in zip(centres, labels, strict=True)
            if other_xy != xy
        ]

        def cost(place, centre=centre, half=half, ink=ink, others=others):
            """Return the cost of a place: its distance in points plus a penalty for overlap."""
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
                    np.hypot(*_distance_from(box, other)) / point - other_radius
                    for other, other_radius in others
                ]
                struck += 4 * (min(gaps, default=math.inf) < gap + 2)
            return gap + turn / 4 + 8 * struck + 4 * (covered + outside) / point**2

        least, (middle, gap) = math.inf, (centre, 0)
        for distance in (3, 7, 12, 18, 26, 36, 48, 62, 78, 96):
            for turn, way in enumerate(DIRECTIONS):
                if distance + turn / 4 >= least:
                    continue  # its distance alone costs more than the best place
                shift = way * (radius + distance) * point + np.clip(1.42 * way, -1, 1) * half
                if (price := cost((centre + shift, distance, turn))) < least:
                    least, middle, gap = price, centre + shift, distance
        label.xyann = (middle - centre) / point
        # A label to the left or right of its point is aligned towards the point.
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


# Possible directions of a label, in order of preference: above, below, right and left. A line
# connects a label to its point if their distance in typographic points exceeds LINE_FROM.
DIRECTIONS = [
    np.array([math.cos(angle), math.sin(angle)])
    for angle in np.pi / 8 * np.array([4, 12, 0, 8, 2, 6, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15])
]
LINE_FROM = 12


def _box(middle, width, height):
    return Bbox.from_bounds(middle[0] - width / 2, middle[1] - height / 2, width, height)


def _overlap_area(a, b):
    # Bbox.intersection takes twenty times as long, and a figure needs thousands of areas.
    (left, low), (right, top) = a.get_points().tolist()
    (other_left, other_low), (other_right, other_top) = b.get_points().tolist()
    across = min(right, other_right) - max(left, other_left)
    up = min(top, other_top) - max(low, other_low)
    return across * up if across > 0 and up > 0 else 0.0


def _are_inside(box, points):
    return ((points > box.min) & (points < box.max)).all(axis=1)


def _distance_from(box, place):
    """Return the horizontal and vertical distance of a place from a box."""
    return np.maximum(np.maximum(box.min - place, place - box.max), 0)


def _sample_line(corners, point):
    """Return points along a line through corners, in pixels, two typographic points apart."""
    steps = [np.asarray(corners)[:1]]
    for a, b in pairwise(np.asarray(corners)):
        count = max(2, math.ceil(np.hypot(*(b - a)) / (2 * point)))
        steps.append(np.linspace(a, b, count))
    return np.concatenate(steps)


def _box_edge(middle, target, half):
    """Return where the line from the middle of a box to a target leaves the box."""
    way = target - middle
    return middle + way * min(1.0, *(half / np.maximum(abs(way), 1e-9)))
