"""Problem set 1, on lectures 01 and 02."""

import roofkit as rk
from roofkit.judge import Choice, Function, Number, Order, Turn

A6000, H200, H100 = (rk.chip(name) for name in ("RTX A6000", "H200", "H100 SXM"))
LAYER = rk.Cost(flops=4e11, bytes=2.4e9)
ON_H200 = H200.roofline().estimate(LAYER)
TO_SORT = ("TPU v6e", "H100 SXM", "A100 40GB SXM", "TPU v5e", "A100 80GB SXM")


def _sorted_by(key):
    return tuple(chip.name for chip in sorted(map(rk.chip, TO_SORT), key=key))


def _attainable(intensity, peak_flops, bandwidth):
    return rk.Roofline(peak_flops, bandwidth).attainable(intensity)


def _bracket(flops, bytes_moved, peak_flops, bandwidth):
    estimate = rk.Roofline(peak_flops, bandwidth).estimate(rk.Cost(flops, bytes_moved))
    return estimate.lower, estimate.upper


# Left of the ridge, right of it, on it, and with nothing in common but the formula.
ROOFS = ((197e12, 819e9), (989.4e12, 3.35e12), (11.3e12, 484e9))
ATTAINABLE_CASES = tuple(
    (factor * peak / bandwidth, peak, bandwidth)
    for peak, bandwidth in ROOFS
    for factor in (0.002, 0.9, 1, 1.1, 40)
)
BRACKET_CASES = tuple(
    (flops, 1e9, peak, bandwidth)
    for peak, bandwidth in ROOFS
    for flops in (1e8, 0.7e9 * peak / bandwidth, 3e9 * peak / bandwidth)
)

QUESTIONS = {
    "ps1.ridge": Number(
        lambda: A6000.roofline().ridge,
        "FLOP/byte",
        points=2,
        turns=(
            Turn(
                lambda: 2 * A6000.roofline().ridge,
                "You used 309.7 TFLOP/s. Read what that takes: sparsity. The question "
                "asks for dense matrices.",
                credit=0.5,
            ),
            Turn(
                lambda: A6000.peak_flops("fp32") / A6000.bandwidth,
                "You used the fp32 peak. The question asks for bf16 matrices.",
            ),
            Turn(
                lambda: A6000.bandwidth / A6000.peak_flops(),
                "Upside down: the ridge is FLOP/s over bytes/s.",
            ),
            Turn(
                lambda: A6000.peak_flops() / (A6000.bandwidth * 8),
                "You turned the bandwidth into bits. Intensity counts bytes.",
            ),
        ),
        praise="Dense peak over memory bandwidth.",
    ),
    "ps1.time": Number(
        lambda: ON_H200.lower * 1e6,
        "µs",
        points=2,
        turns=(
            Turn(
                lambda: ON_H200.math * 1e6,
                "That is T_math. On this chip the bytes take longer, and the longer time binds.",
            ),
            Turn(
                lambda: ON_H200.upper * 1e6,
                "That is the sum: the time if nothing overlaps. The question grants full overlap.",
                credit=0.5,
            ),
            Turn(
                lambda: LAYER.bytes / H100.bandwidth * 1e6,
                "You used the H100's memory. The H200 computes alike but is fed faster.",
                credit=0.5,
            ),
            Turn(lambda: ON_H200.lower, "That is in seconds; microseconds are asked for."),
            Turn(lambda: ON_H200.lower * 1e3, "That is in milliseconds; microseconds are asked."),
        ),
        praise="The memory binds, so the bytes set the time.",
    ),
    "ps1.bound": Choice(
        lambda: H200.roofline().estimate(rk.Cost(flops=250e9, bytes=1e9)).bound,
        points=2,
        why_not={
            "memory": "40% of peak does not make it memory-bound. Compute this card's ridge and "
            "compare.",
            "network": "One card works alone: no byte crosses a link between chips.",
            "cannot tell": "Intensity and ridge are both known, and they say which roof it is "
            "under. What you cannot tell is why it stays below.",
        },
        praise="Intensity against ridge decides, whatever speed was measured.",
    ),
    "ps1.order": Order(
        lambda: _sorted_by(lambda chip: chip.roofline().ridge),
        points=3,
        turns=(
            Turn(
                lambda: _sorted_by(lambda chip: chip.roofline().ridge)[::-1],
                "Exactly reversed: the lowest ridge comes first.",
            ),
            Turn(lambda: _sorted_by(lambda chip: chip.name), "That is alphabetical order."),
            Turn(
                lambda: _sorted_by(lambda chip: chip.bandwidth),
                "That is the order of bandwidth; the ridge divides the peak by it.",
            ),
            Turn(
                lambda: _sorted_by(lambda chip: chip.peak_flops()),
                "That is the order of peaks; the ridge divides them by the bandwidth.",
            ),
        ),
        praise="A newer chip does not always have a higher ridge: memory grows too.",
    ),
    "ps1.attainable": Function(
        _attainable,
        ATTAINABLE_CASES,
        points=4,
        turns=(
            Turn(
                lambda intensity, peak_flops, bandwidth: intensity * bandwidth,
                "Right on the slope, but beyond the ridge it promises more than the peak. The "
                "lower of two roofs holds.",
                credit=0.5,
            ),
            Turn(
                lambda intensity, peak_flops, bandwidth: peak_flops,
                "The peak is one roof of two. Left of the ridge the memory cannot feed it.",
                credit=0.25,
            ),
            Turn(
                lambda intensity, peak_flops, bandwidth: max(peak_flops, intensity * bandwidth),
                "You returned the higher roof. A computation stays under the lower one.",
                credit=0.25,
            ),
            Turn(
                lambda intensity, peak_flops, bandwidth: min(1, intensity * bandwidth / peak_flops),
                "That is a share of peak. Multiply by the peak.",
                credit=0.5,
            ),
            Turn(
                lambda intensity, peak_flops, bandwidth: min(intensity, peak_flops / bandwidth),
                "That is an intensity, FLOP/byte. Multiply by the bandwidth to get FLOP/s.",
                credit=0.5,
            ),
        ),
        praise="The lower of the two roofs, everywhere.",
    ),
    "ps1.bracket": Function(
        _bracket,
        BRACKET_CASES,
        points=4,
        turns=(
            Turn(
                lambda *arguments: _bracket(*arguments)[::-1],
                "Both times are right, in the wrong order: lower first.",
                credit=0.75,
            ),
            Turn(
                lambda *arguments: (_bracket(*arguments)[0], 2 * _bracket(*arguments)[0]),
                "Twice the lower time bounds the upper one, but is not it. With no overlap the "
                "times add.",
                credit=0.5,
            ),
            Turn(
                lambda flops, moved, peak, bandwidth: (
                    min(flops / peak, moved / bandwidth),
                    max(flops / peak, moved / bandwidth),
                ),
                "Even with perfect overlap the longer time remains: lower is the maximum of the "
                "two, upper their sum.",
                credit=0.25,
            ),
            Turn(
                lambda flops, moved, peak, bandwidth: (flops / peak, moved / bandwidth),
                "Those are the two times themselves. Which combination is best, which worst?",
            ),
            Turn(
                lambda flops, moved, peak, bandwidth: (
                    flops / peak,
                    flops / peak + moved / bandwidth,
                ),
                "The upper time is right. Is T_math always the longer one?",
                credit=0.5,
            ),
            Turn(
                lambda flops, moved, peak, bandwidth: (
                    min(flops / peak, moved / bandwidth),
                    flops / peak + moved / bandwidth,
                ),
                "The upper time is right. Even with perfect overlap the longer time remains.",
                credit=0.5,
            ),
        ),
        praise="The maximum below, the sum above.",
    ),
}
