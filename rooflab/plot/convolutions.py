"""A figure of the arrays of a convolution: its input, one of its filters and its output."""

from matplotlib.patches import Polygon

from roofkit import kernels
from roofkit._units import engineering
from rooflab import palette
from rooflab.plot.common import COLOURS, find_width, is_narrow, new_axes
from rooflab.plot.wording import say

# Offset of each further channel to the right and up, as shares of the height of a row.
SLANT = 0.36, 0.3
# The minimum size of a drawn filter, as a share of the width of the figure.
THINNEST = 0.008
# The distance of a name above the front of an array, as a share of the width of the figure.
RAISED = 0.045


def conv_shapes(H, W, C_in, C_out, K, *, stride=1, padding=0, groups=1, dtype="fp32", ax=None):
    """Draw the arrays of a convolution to scale: X[C_in, H, W], a filter of Y, and Z.

    Arguments are as for ``rk.kernels.conv2d`` with one image; ``ax`` is where to draw. The colour
    of the filter marks the part of X that it sees at one position. The dark spot in Z is its
    result. Rows and columns are to scale. Channels are behind each other, each about half as deep
    as a row is high. The text below each array gives its sizes and bytes. Returns the Axes. Raises
    ValueError as in ``conv2d``.

    >>> ax = conv_shapes(56, 56, 128, 256, 3, padding=1)
    >>> ax.roofkit_description[:79]
    'Drawn to scale: the input X, 128 channels of 56 by 56, 1.61 MB; 256 filters Y, '
    """

    def bytes_of(moves):
        moved = kernels.conv2d(
            1, H, W, C_in, C_out, K,
            stride=stride, padding=padding, groups=groups, dtype=dtype, moves=moves,
        ).bytes  # fmt: skip
        return f"{engineering(moved)}B"

    out = bytes_of("Z")
    rows, columns = ((side + 2 * padding - K) // stride + 1 for side in (H, W))
    deep = C_in // groups
    across, up = SLANT
    widths = [W + across * C_in, K + across * deep, columns + across * C_out]
    gap = 0.24 * max(widths)
    width = sum(widths) + 2 * gap
    height = max(H + up * C_in, rows + up * C_out)
    narrow = is_narrow()  # then the middle caption is below the others
    below = (0.36 if narrow else 0.12) * width
    ax = ax or new_axes(0.1 + find_width() * (height + below) / (1.06 * width))
    ax.set(xlim=(-0.05 * width, 1.01 * width), ylim=(-below, 1.02 * height))
    ax.set_aspect("equal")
    ax.axis("off")
    thick = max(K, THINNEST * width)
    lefts = [0, widths[0] + gap, widths[0] + widths[1] + 2 * gap]
    _draw_box(ax, (lefts[0], 0), (W, H, C_in), COLOURS[0])
    _draw_box(ax, (lefts[1], 0), (thick, thick, deep), COLOURS[1], dark=True)
    _draw_box(ax, (lefts[2], 0), (columns, rows, C_out), COLOURS[2])
    # The filter sees a part of X as deep as the filter itself and produces one number of Z.
    for left, size, part, reach, colour, name in (
        (lefts[0], (W, H), thick, deep, COLOURS[1], say("convolution.seen")),
        (lefts[2], (columns, rows), 1, 1, COLOURS[2], say("convolution.made")),
    ):
        corner = left + 0.3 * (size[0] - part), 0.55 * (size[1] - part)
        # The part is inside the array, so the faces of the array are drawn over it.
        _draw_box(ax, corner, (part, part, reach), colour, dark=True, zorder=0.5)
        ax.annotate(
            name, (corner[0] + part / 2, corner[1] + part), ha="center", va="bottom", fontsize=9.8,
            xytext=(left, size[1] + RAISED * width), linespacing=1.1,
            arrowprops={"arrowstyle": "-", "color": palette.colour("leader"), "lw": 0.8,
                        "shrinkA": 0, "shrinkB": 1},
        )  # fmt: skip
    ax.annotate(
        say("convolution.one"), (lefts[1] + thick / 2, thick), xytext=(0, 3),
        textcoords="offset points", ha="right", va="bottom", fontsize=9.8,
    )  # fmt: skip
    captions = (
        (lefts[0] + W / 2, _size_text("X", C_in, H, W, bytes_of("X"))),
        (lefts[1] + thick / 2, say(
            "convolution.filters", count=C_out, deep=deep, kernel=K, bytes=bytes_of("Y"),
        )),
        (lefts[2] + columns / 2, _size_text("Z", C_out, rows, columns, out)),
    )  # fmt: skip
    for place, (centre, text) in enumerate(captions):
        ax.annotate(
            text, (centre, 0), xytext=(0, -45 if narrow and place == 1 else -5),
            textcoords="offset points", ha="center", va="top", fontsize=10,
        )  # fmt: skip
    ax.roofkit_description = say(
        "convolution.described", channels=C_in, rows=H, columns=W, filters=C_out, deep=deep,
        kernel=K, made_rows=rows, made_columns=columns,
        X=bytes_of("X"), Y=bytes_of("Y"), Z=out,
    )  # fmt: skip
    return ax


def _size_text(name, channels, rows, columns, bytes):
    return say(
        "convolution.array", name=name, channels=channels, rows=rows, columns=columns, bytes=bytes
    )


def _draw_box(ax, corner, sizes, colour, *, dark=False, zorder=1):
    """Draw the front, the top and the right side of a box in an oblique view."""
    (left, low), (wide, high, deep) = corner, sizes
    right, top = left + wide, low + high
    back = SLANT[0] * deep, SLANT[1] * deep
    faces = (
        ([(left, low), (right, low), (right, top), (left, top)], 0.2),
        ([(left, top), (right, top), (right + back[0], top + back[1]),
          (left + back[0], top + back[1])], 0.1),
        ([(right, low), (right + back[0], low + back[1]),
          (right + back[0], top + back[1]), (right, top)], 0.32),
    )  # fmt: skip
    for corners, alpha in faces if deep else faces[:1]:
        shade = 1 if dark and alpha == 0.2 else 2 * alpha if dark else alpha
        ax.add_patch(Polygon(corners, fc=colour, alpha=shade, lw=0, zorder=zorder))
        ax.add_patch(Polygon(corners, fc="none", ec=colour, lw=1, zorder=zorder))
