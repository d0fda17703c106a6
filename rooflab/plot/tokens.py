"""Times or speeds against the number of tokens in a pass."""

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


def over_tokens(tokens, estimates, *, flops=None, ax=None):
    """Draw T_lower (or the speed, if ``flops`` is given) against the number of tokens in a pass.

    Parameters
    ----------
    tokens : two or more increasing numbers above 0
    estimates : mapping of label to Estimate, up to five, with one time for each of the tokens
    flops : FLOPs of a pass, one number for each of the tokens, optional
        Draws FLOPs / T_lower in FLOP/s instead of seconds.
    ax : matplotlib Axes, optional

    A circle marks where a line becomes compute-bound (T_math = T_comms), interpolated between two
    of the tokens. Lines may overlap, so the later lines have gaps. Returns the Axes. Raises
    ValueError for other arguments.

    >>> import roofkit as rk
    >>> B = np.array([1, 10, 100, 1000])
    >>> a100 = rk.chip("A100 80GB SXM").roofline("bf16")
    >>> step = a100.estimate(rk.Cost(flops=2 * 7e9 * B, bytes=7e9 / 2))
    >>> over_tokens(B, {"W4A16": step}).texts[0].get_text()
    'W4A16: 38.3'
    """
    tokens = _check_rising(tokens)
    if flops is not None:
        flops = _broadcast_along(flops, tokens, "flops")
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
        if flops is not None:
            ys = np.interp(xs, tokens, flops) / ys
        ax.plot(xs, ys, color=colour, ls=style, lw=WIDTH, zorder=2)
        lines.append((xs, ys))
        parts = [
            say("tokens.line", label=label, few=f"{xs[0]:g}", many=f"{xs[-1]:g}",
                first=_format_quantity(ys[0], flops), last=_format_quantity(ys[-1], flops))
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
    # Lines of speed bend near the top, so their labels need room there.
    ylim = least / 1.7, most * (1.5 if flops is None else 2.6)
    ax.set(xscale="log", yscale="log", xlim=(tokens[0], tokens[-1]), ylim=ylim)
    ax.set_xlabel(say("tokens.x_axis"))
    lower = say("tokens.lower", unit=f"{prefix}s")
    ax.set_ylabel(lower if flops is None else say("axes.attainable"))
    common.set_ticks(ax.xaxis, ax.get_xlim(), lambda value: f"{value:g}")
    common.set_ticks(
        ax.yaxis, ax.get_ylim(),
        lambda y: f"{y / scale:g}" if flops is None else engineering(y).strip(),
    )  # fmt: skip
    common.draw_grid(ax)
    common.place_labels(ax, labels, lines=lines)
    key = "tokens.time" if flops is None else "tokens.speed"
    ax.roofkit_description = say(key, lines=join_parts(descriptions))
    return ax


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


def _format_quantity(value, flops):
    return f"{engineering(value)}{'s' if flops is None else 'FLOP/s'}"
