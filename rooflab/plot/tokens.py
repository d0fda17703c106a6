"""Times against the number of tokens in a pass."""

import math

import numpy as np

from roofkit._units import engineering, find_prefix
from roofkit.roofline import Estimate
from rooflab import palette
from rooflab.plot import common
from rooflab.plot.common import COLOURS, LINES, new_axes
from rooflab.plot.wording import join_parts, say

# Lines may overlap. All have the same width, and all except the first have gaps that show the line
# below.
WIDTH = 2.6


def over_tokens(tokens, estimates, *, ax=None):
    """Draw T_lower against the number of tokens in a pass.

    Parameters
    ----------
    tokens : two or more increasing numbers above 0
    estimates : mapping of label to Estimate, up to five, with one time for each of the tokens
    ax : matplotlib Axes, optional

    A circle marks where a line becomes compute-bound (T_math = T_comms), interpolated between two
    of the tokens. Lines may overlap, so the later lines have gaps. The strip at the bottom names
    the best line, the first of equal ones. Returns the Axes. Raises ValueError for other arguments.

    >>> import roofkit as rk
    >>> B = np.array([1, 10, 100, 1000])
    >>> a100 = rk.chip("A100 80GB SXM").roofline("bf16")
    >>> step = a100.estimate(rk.Cost(flops=2 * 7e9 * B, bytes=7e9 / 2))
    >>> over_tokens(B, {"W4A16": step}).texts[0].get_text()
    'W4A16: 38.3'
    """
    tokens = _check_rising(tokens)
    common.check_mapping("estimates", estimates, len(COLOURS), "Estimates")
    ax = ax or new_axes(4)
    descriptions, labels, lines = [], [], []
    for (label, estimate), colour, style in zip(estimates.items(), COLOURS, LINES, strict=False):
        if not isinstance(estimate, Estimate):
            raise ValueError(f"estimates[{label!r}] must be an Estimate, got {estimate!r}")
        math, comms = (
            _broadcast_along(getattr(estimate, name), tokens, f"estimates[{label!r}].{name}")
            for name in ("math", "comms")
        )
        turn = _find_turn(tokens, math - comms)
        xs = np.union1d(tokens, turn)
        ys = np.interp(xs, tokens, math).clip(np.interp(xs, tokens, comms))
        ax.plot(xs, ys, color=colour, ls=style, lw=WIDTH, zorder=2)
        lines.append((xs, ys))
        parts = [
            say("tokens.line", label=label, few=f"{xs[0]:g}", many=f"{xs[-1]:g}",
                first=f"{engineering(ys[0])}s", last=f"{engineering(ys[-1])}s")
        ]  # fmt: skip
        for x in turn:
            y = ys[xs == x][0]
            ax.plot(x, y, "o", ms=8, color="white", mec=colour, mew=2, zorder=4)
            text = say("tokens.turn", label=label, tokens=common.format_3g(x))
            labels.append((text, (x, y), 6, palette.colour("mark")))
            parts.append(say("tokens.from", tokens=common.format_3g(x)))
        if not len(turn):  # a line without a circle has its label in the middle
            middle = len(xs) // 2
            labels.append((label, (xs[middle], ys[middle]), 3, colour))
        descriptions.append(join_parts(parts, "items"))
    least, most = (bound([bound(ys) for _, ys in lines]) for bound in (min, max))
    scale, prefix = find_prefix(least)
    ylim = least / 1.9, most * 1.5
    ax.set(xscale="log", yscale="log", xlim=(tokens[0], tokens[-1]), ylim=ylim)
    ax.set_xlabel(say("tokens.x_axis"))
    ax.set_ylabel(say("tokens.lower", unit=f"{prefix}s"))
    common.set_ticks(ax.xaxis, ax.get_xlim(), lambda value: f"{value:g}")
    common.set_ticks(ax.yaxis, ax.get_ylim(), lambda value: f"{value / scale:g}")
    common.draw_grid(ax)
    common.place_labels(ax, labels, _draw_best(ax, list(estimates), lines), lines=lines)
    ax.roofkit_description = say("tokens.time", lines=join_parts(descriptions))
    return ax


def _draw_best(ax, names, lines):
    """Draw a strip with the name of the best line at each number of tokens; return its texts."""
    if len(lines) == 1:
        return []
    xs = np.geomspace(*ax.get_xlim(), 400)
    heights = np.array([np.interp(xs, *line) for line in lines])
    best, texts = np.argmax(heights <= 1.001 * heights.min(axis=0), axis=0), []
    for part in np.split(np.arange(400), np.flatnonzero(np.diff(best)) + 1):
        first, last, which = xs[part[0]], xs[part[-1]], best[part[0]]
        ax.axvspan(first, last, 0, 0.07, color=COLOURS[which], lw=0, alpha=0.3)
        words = say("tokens.best", label=names[which]) if not texts else names[which]
        texts.append(ax.text(math.sqrt(first * last), 0.035, words, size=9, ha="center",
                             va="center", transform=ax.get_xaxis_transform()))  # fmt: skip
    return texts


def _check_rising(tokens):
    array = np.asarray(tokens, dtype=float)
    if array.ndim != 1 or len(array) < 2 or array[0] <= 0 or np.any(np.diff(array) <= 0):
        raise ValueError(f"tokens must be two or more increasing numbers above 0, got {tokens!r}")
    return array


def _broadcast_along(values, tokens, name):
    try:
        return np.broadcast_to(np.asarray(values, dtype=float), tokens.shape)
    except ValueError:
        raise ValueError(
            f"{name} must be one number, or one for each of {len(tokens)} tokens, got shape "
            f"{np.shape(values)}"
        ) from None


def _find_turn(tokens, ahead):
    """Return the tokens where ``ahead`` (T_math - T_comms) rises through 0, as an array."""
    i = np.flatnonzero((ahead[:-1] < 0) & (ahead[1:] >= 0))
    share = -ahead[i] / (ahead[i + 1] - ahead[i])
    return tokens[i] + share * (tokens[i + 1] - tokens[i])
