"""Problem set 1, on lectures 01 and 02: its orders and functions."""

from itertools import pairwise

import roofkit as rk
from roofcheck.kinds import Function, Order
from roofcheck.reading.units import in_units
from roofcheck.slips.slips import Slip
from roofcheck.steps.chips import course_chips
from roofcheck.steps.derivation import Derivation, step
from roofkit._units import quantity

TO_SORT = ("H100 SXM", "TPU v5e", "A100 80GB SXM", "TPU v6e", "A100 40GB SXM")


def _ridge(name):
    return rk.chip(name).roofline("bf16").ridge


def _ridge_shown(name):
    chip = rk.chip(name)
    peak, bandwidth = (
        quantity(float(f), u)
        for f, u in ((chip.peak_flops("bf16"), "FLOP/s"), (chip.bandwidth, "B/s"))
    )
    return f"{peak} / {bandwidth} = {in_units(_ridge(name), 'FLOP/byte')}"


def _chips_of_distinct_ridges(rng):
    """Five chips whose 16-bit ridges differ by more than rounding."""
    known = [chip for chip in course_chips() if "bf16" in chip.peaks and chip.bandwidth]
    known = [chip.name for chip in known if chip.peaks["bf16"].confirmed]
    while True:
        names = rng.sample(known, 5)
        ridges = sorted(map(_ridge, names))
        if all(b > 1.02 * a for a, b in pairwise(ridges)):
            return {"items": tuple(names)}


def _one_of(item):
    return rk.chip(item).name


def _three_digits(value):
    return float(f"{value:.3g}")


def _machine(rng):
    """A peak and a bandwidth, as far apart as those of real chips."""
    return (
        _three_digits(10 ** rng.uniform(12.5, 15.5)),
        _three_digits(10 ** rng.uniform(11, 13)),
    )


def _attainable_case(rng, number):
    """From far left of the ridge to far right of it, in six steps."""
    peak_flops, speed = _machine(rng)
    low, high = (
        (0.002, 0.02), (0.1, 0.5), (0.8, 0.95), (1.05, 1.2), (2, 10), (20, 60),
    )[number % 6]  # fmt: skip
    return _three_digits(rng.uniform(low, high) * peak_flops / speed), peak_flops, speed


def _bracket_case(rng, number):
    """T_math longer and T_comms longer, in turn."""
    peak_flops, speed = _machine(rng)
    low, high = ((0.05, 0.8), (1.25, 20))[number % 2]
    moved = _three_digits(10 ** rng.uniform(8, 11))
    flops = _three_digits(rng.uniform(low, high) * moved * peak_flops / speed)
    return flops, moved, peak_flops, speed


# The two times that both results of the bracket are made of.
TIMES = [
    step("t_math", "flops / peak_flops", "s", "T_math: the FLOPs over the peak"),
    step("t_comms", "bytes_moved / bandwidth", "s", "T_comms: the bytes over the bandwidth"),
]


def _bracket(name, expression, words):
    return Derivation([*TIMES, step(name, expression, "s", words)], "s")


def _both_times_wrong(combine):
    """The slips that concern both times, which the text ``combine`` joins."""
    wrong = {
        "FLOPs over bandwidth": (
            "flops / bandwidth",
            "bytes_moved / peak_flops",
            "That divides FLOPs by the bandwidth and bytes by the peak.",
        ),
        "upside down": (
            "peak_flops / flops",
            "bandwidth / bytes_moved",
            "Both fractions are upside down: work over speed is time.",
        ),
    }
    return [
        Slip(name, Derivation([step("time", combine.format(math, comms))]), says)
        for name, (math, comms, says) in wrong.items()
    ]


LINES = {
    "A": "FLOPs / bytes > peak / bandwidth",
    "B": "T_math > T_comms",
    "C": "FLOPs > bytes · peak / bandwidth",
    "D": "FLOPs / peak > bytes / bandwidth",
    "E": "intensity > ridge",
}
CHANGES = {
    "B": "that is what compute-bound means",
    "D": "each time is work over speed",
    "C": "both sides times the peak",
    "A": "both sides over the bytes",
    "E": "the two sides by their names",
}

QUESTIONS = {
    "ps1.order": Order(
        asks="Order these chips by their bf16 ridge, lowest first.",
        points=3,
        items=TO_SORT,
        key=_ridge,
        read=_one_of,
        again=_chips_of_distinct_ridges,
        shows=_ridge_shown,
        reversed_says="Exactly reversed: the lowest ridge comes first.",
        wrong={
            "by name": (str, "That is alphabetical order."),
            "by bandwidth": (
                lambda name: rk.chip(name).bandwidth,
                "That is the order of bandwidth; the ridge divides the peak by it.",
            ),
            "by peak": (
                lambda name: rk.chip(name).peak_flops(),
                "That is the order of peaks; the ridge divides them by the bandwidth.",
            ),
        },
        how="a ridge is peak over bandwidth; sorted(names, key=...) sorts by it",
        praise="A newer chip does not always have a higher ridge: memory grows too.",
    ),
    "ps1.chain": Order(
        asks="Order the steps from what compute-bound means to intensity > ridge. "
        + " ".join(f"{letter}: {line}." for letter, line in LINES.items()),
        points=2,
        items=("A", "B", "C", "D", "E"),
        key="BDCAE".index,
        shows=lambda letter: f"{LINES[letter]} ({CHANGES[letter]})",
        needs={
            ("B", "D"): "D writes two times as work over speed. Which comparison of them comes "
            "first?",
            ("D", "C"): "C is D with both sides multiplied by the peak.",
            ("C", "A"): "A is C with both sides divided by the bytes.",
            ("A", "E"): "E gives the two sides of A their names.",
        },
        reversed_says="That begins with what is to be shown. Begin with what compute-bound means.",
        how="each line is the one before with a single change; what is compared at first?",
        praise="Every step can be undone, so the two comparisons always agree.",
    ),
    "ps1.attainable": Function(
        asks="Write attainable(intensity, peak_flops, bandwidth): the most FLOP/s that a kernel of "
        "this intensity can reach.",
        points=4,
        arguments=("intensity", "peak_flops", "bandwidth"),
        results={
            "attainable": Derivation(
                [
                    step("slope", "intensity * bandwidth", "FLOP/s", "the slope"),
                    step("roof", "min(peak_flops, slope)", "FLOP/s", "the roof"),
                ],
                "FLOP/s",
            )
        },
        case=_attainable_case,
        unit="FLOP/s",
        half=[
            "roof: min-alone peak_flops",
            "roof: min-alone slope",
            "share of peak",
            "an intensity",
        ],
        words={
            "roof: min-alone peak_flops": "That is the peak alone, one roof of two.",
            "roof: min-alone slope": "That is intensity times bandwidth alone, one roof of two.",
            "roof: min-other min(peak_flops, slope)": "That is the higher roof. A computation "
            "stays under the lower.",
            "slope: divided intensity": "That divides the bandwidth by the intensity. Multiply: "
            "the result is FLOP/s.",
            "slope: divided bandwidth": "That divides the intensity by the bandwidth. Multiply: "
            "the result is FLOP/s.",
            "slope: left-out intensity": "That takes the bandwidth alone for the slope. The slope "
            "is intensity times bandwidth.",
        },
        slips={
            "attainable": [
                Slip(
                    "share of peak",
                    lambda intensity, peak_flops, bandwidth: min(
                        1, intensity * bandwidth / peak_flops
                    ),
                    "That is a share of peak. Multiply by the peak.",
                ),
                Slip(
                    "an intensity",
                    lambda intensity, peak_flops, bandwidth: min(intensity, peak_flops / bandwidth),
                    "That is an intensity, FLOP/byte. Multiply by the bandwidth to get FLOP/s.",
                ),
                Slip(
                    "the ridge",
                    lambda peak_flops, bandwidth: peak_flops / bandwidth,
                    "That is the ridge, FLOP/byte. Which speed does it allow at this intensity?",
                ),
                Slip(
                    "no overlap",
                    lambda intensity, peak_flops, bandwidth: (
                        1 / (1 / peak_flops + 1 / (intensity * bandwidth))
                    ),
                    "That adds the times of both, as if nothing overlapped. The roof is the lower "
                    "of the two.",
                ),
            ]
        },
        praise="The lower of the two roofs, everywhere.",
        how="write down both roofs for one intensity; which of them is reached first?",
    ),
    "ps1.bracket": Function(
        asks="Write bracket(flops, bytes_moved, peak_flops, bandwidth): the time with full "
        "overlap and the time with none, in seconds.",
        points=4,
        arguments=("flops", "bytes_moved", "peak_flops", "bandwidth"),
        results={
            "with overlap": _bracket(
                "overlapped", "max(t_math, t_comms)", "the time with full overlap"
            ),
            "without overlap": _bracket("apart", "t_math + t_comms", "the time without overlap"),
        },
        case=_bracket_case,
        unit="s",
        words={
            "t_math given": "That is T_math alone. With no overlap the times add.",
            "t_comms given": "That is T_comms alone. With no overlap the times add.",
        },
        slips={
            "with overlap": [
                *_both_times_wrong("max({}, {})"),
                Slip(
                    "FLOPs doubled",
                    lambda flops, bytes_moved, peak_flops, bandwidth: max(
                        2 * flops / peak_flops, bytes_moved / bandwidth
                    ),
                    "That doubles the FLOPs or halves the peak. Both are given as they count.",
                ),
                Slip(
                    "bytes doubled",
                    lambda flops, bytes_moved, peak_flops, bandwidth: max(
                        flops / peak_flops, 2 * bytes_moved / bandwidth
                    ),
                    "That takes 2 bytes for each of the bytes.",
                ),
            ],
            "without overlap": [
                *_both_times_wrong("{} + {}"),
                Slip(
                    "the longer",
                    lambda flops, bytes_moved, peak_flops, bandwidth: max(
                        flops / peak_flops, bytes_moved / bandwidth
                    ),
                    "That is the longer time alone. With no overlap the times add.",
                ),
            ],
        },
        praise="The maximum below, the sum above.",
        how="compute the two times first; then ask what is left to see of the shorter one",
    ),
}
