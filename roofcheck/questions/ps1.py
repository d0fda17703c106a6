"""Problem set 1, on lectures 01 and 02."""

from dataclasses import replace
from itertools import pairwise

import roofkit as rk
from roofcheck.chips import course_chips
from roofcheck.inputs import (
    Input,
    Instead,
    bandwidth,
    count,
    longer,
    lower_roof,
    peak,
    retold,
    total,
)
from roofcheck.kinds import Choice, Function, Number, Order
from roofcheck.slips import Slip

A6000, H200, H100, A100 = "RTX A6000", "H200", "H100 SXM", "A100 80GB SXM"
NOT_A_TIME = "That is FLOPs over bytes, FLOP/byte. A time is asked for: work over speed."
TO_SORT = ("H100 SXM", "TPU v5e", "A100 80GB SXM", "TPU v6e", "A100 40GB SXM")


def _ridge(name, dtype="bf16"):
    return rk.chip(name).roofline(dtype).ridge


def _chips_of_distinct_ridges(rng):
    """Five chips whose 16-bit ridges differ by more than rounding."""
    known = [chip for chip in course_chips() if "bf16" in chip.peaks and chip.bandwidth]
    known = [chip.name for chip in known if chip.peaks["bf16"].confirmed]
    while True:
        names = rng.sample(known, 5)
        ridges = sorted(map(_ridge, names))
        if all(b > 1.02 * a for a, b in pairwise(ridges)):
            return tuple(names)


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


def _sum(a, b):
    return a + b


def _dense(chip):
    """A chip's dense bf16 peak, and twice of it told alike for every chip."""
    found = rk.chip(chip).peaks
    others = [name for name, figure in found.items() if abs(figure / found["bf16"] - 2) > 0.01]
    given = peak(chip, dtypes=others, sparse=False)
    twice = Instead(
        "twice",
        2 * given.value,
        "That takes twice the dense peak: sparsity, fp8 or int8. Dense bf16 matrices reach half.",
    )
    return replace(
        given, instead=(twice, *given.instead), again=lambda rng, chips: _dense(chips[chip])
    )


def _shorter():
    """The shorter of T_math and T_comms: what full overlap hides."""
    return Input(
        min,
        instead=(
            Instead("longer", max, "That is the longer time, which is left. What is saved?"),
            Instead("sum", _sum, "That is the time without overlap. What is saved of it?"),
            Instead("first", lambda x, y: x, "That is T_math, which full overlap leaves."),
            Instead("second", lambda x, y: y, "That is T_comms, which full overlap leaves."),
            Instead(
                "difference",
                lambda x, y: abs(x - y),
                "That is the difference of the times: how long one unit waits for the other.",
            ),
            Instead(
                "half",
                lambda x, y: (x + y) / 2,
                "Half of the sum is saved only where both times are equal.",
                3,
            ),
        ),
    )


def _bracket_slips(combine):
    """The slips of two times: the wrong pairs, or one of them off by a factor."""

    def scaled(name, math, comms, says):
        return Slip(
            name,
            lambda flops, bytes_moved, peak_flops, bandwidth: combine(
                math * flops / peak_flops, comms * bytes_moved / bandwidth
            ),
            says,
        )

    return [
        scaled(
            "FLOPs doubled",
            2,
            1,
            "That doubles the FLOPs or halves the peak. Both are given as they count.",
        ),
        scaled("bytes doubled", 1, 2, "That takes 2 bytes for each of the bytes."),
        scaled("bits", 1, 8, "That counts the bits of each byte. The bandwidth is in bytes too."),
        Slip(
            "FLOPs over bandwidth",
            lambda flops, bytes_moved, peak_flops, bandwidth: combine(
                flops / bandwidth, bytes_moved / peak_flops
            ),
            "That divides FLOPs by the bandwidth and bytes by the peak.",
        ),
        Slip(
            "upside down",
            lambda flops, bytes_moved, peak_flops, bandwidth: combine(
                peak_flops / flops, bandwidth / bytes_moved
            ),
            "Both fractions are upside down: work over speed is time.",
        ),
    ]


QUESTIONS = {
    "ps1.ridge": Number(
        asks="The data sheet of the {chip} gives twice {peak} in bf16 with sparsity, and "
        "{bandwidth} of memory bandwidth. What is its ridge for dense bf16 matrices, in FLOP/byte?",
        points=2,
        inputs={
            "peak": peak(A6000, dtypes=("fp32",), printed_sparse=True),
            "bandwidth": bandwidth(A6000, link=False),
        },
        formula=lambda peak, bandwidth: peak / bandwidth,
        unit="FLOP/byte",
        half=["peak: sparse"],
        slips=[
            Slip(
                "A100 40GB",
                lambda: _ridge("A100 40GB SXM"),
                "That is the ridge of lecture 2's 40 GB A100, which lies near this card's.",
                here=True,
            ),
            Slip(
                "sparse, tera over giga",
                lambda peak, bandwidth: 2 * peak / bandwidth / 1000,
                "That takes the peak with sparsity. Besides, it divides tera by giga, 10^12 by "
                "10^9.",
            ),
            Slip(
                "both peaks",
                lambda peak, bandwidth: (2 * peak + rk.chip(A6000).peak_flops("fp32")) / bandwidth,
                "That adds the fp32 peak. The work is in bf16 alone.",
                here=True,
            ),
            Slip(
                "fp32 halved",
                lambda bandwidth: rk.chip(A6000).peak_flops("fp32") / 2 / bandwidth,
                "That takes half the fp32 peak. Only the figure with sparsity is halved, and the "
                "work is in bf16.",
                here=True,
            ),
        ],
        # The 40 GB A100's ridge lies half a percent away.
        rtol=0.004,
        praise="Dense peak over memory bandwidth.",
        how="the ridge is the dense peak over the bandwidth; with sparsity a sheet prints twice "
        "the dense peak",
    ),
    "ps1.time": Number(
        asks="A layer takes {flops} bf16 FLOPs and moves {moved} bytes on the {chip}. With full "
        "overlap, how many microseconds does it take?",
        points=2,
        inputs={
            "flops": count(4e11, "the FLOPs"),
            "moved": count(2.4e9, "the bytes", "bytes", draw=(0.5, 1, 2)),
            "peak": peak(H200, others=[]),
            "bandwidth": bandwidth(H200, others=[H100]),
            "pick": retold(
                longer(),
                "twice",
                says="That is twice the longer time: FLOPs or bytes doubled, or a bound of the sum "
                "taken for the time.",
            ),
        },
        formula=lambda pick, flops, moved, peak, bandwidth: (
            1e6 * pick(flops / peak, moved / bandwidth)
        ),
        unit="µs",
        figure="lower",
        half=["pick: sum", "bandwidth: another chip"],
        slips=[
            Slip(
                "intensity",
                lambda flops, moved: flops / moved,
                NOT_A_TIME,
            ),
            Slip(
                "ridge",
                lambda peak, bandwidth: peak / bandwidth,
                "That is the ridge, FLOP/byte. A time is asked for: work over speed.",
            ),
            Slip(
                "sum, H100",
                lambda flops, moved, peak: 1e6 * (flops / peak + moved / rk.chip(H100).bandwidth),
                "That is the sum, the time if nothing overlaps, and with the H100's memory.",
                here=True,
            ),
            Slip(
                "FLOPs over bandwidth",
                lambda flops, bandwidth: 1e6 * flops / bandwidth,
                "That divides FLOPs by a bandwidth. Bytes go over a bandwidth, FLOPs over a peak.",
            ),
            Slip(
                "bytes over peak",
                lambda moved, peak: 1e6 * moved / peak,
                "That divides bytes by a peak. Bytes go over a bandwidth, FLOPs over a peak.",
            ),
        ],
        praise="The memory binds, so the bytes set the time.",
        how="compute T_math and T_comms; with full overlap the longer one is all",
        holds=lambda flops, moved, peak, bandwidth: moved / bandwidth > 1.05 * flops / peak,
    ),
    "ps1.bound": Choice(
        asks="A bf16 kernel of intensity {intensity} runs on the {chip} at 40% of its peak. Which "
        "roof is it under?",
        points=2,
        inputs={
            "intensity": count(250, "the intensity", draw=(1, 0.5, 2)),
            "peak": peak(H200),
            "bandwidth": bandwidth(H200),
        },
        formula=lambda intensity, peak, bandwidth: (
            "compute" if intensity >= peak / bandwidth else "memory"
        ),
        why_not={
            "memory": "40% of peak does not make it memory-bound. Compute this card's ridge and "
            "compare.",
            "compute": "Compute this card's ridge and compare: the intensity lies left of it.",
            "network": "One card works alone: no byte crosses a link between chips.",
            "cannot tell": "Intensity and ridge are both known, and they say which roof it is "
            "under. What you cannot tell is why it stays below.",
        },
        how="compare the intensity with peak over bandwidth; the measured share has no part in it",
        praise="It lies right of this card's ridge.",
        holds=lambda intensity, peak, bandwidth: (
            intensity * bandwidth / peak > 0.5 and abs(intensity * bandwidth / peak - 1) > 0.1
        ),
    ),
    "ps1.order": Order(
        asks="Order these chips by their bf16 ridge, lowest first.",
        points=3,
        items=TO_SORT,
        key=_ridge,
        read=_one_of,
        again=_chips_of_distinct_ridges,
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
        asks="Order the steps from what compute-bound means to intensity > ridge. A: FLOPs / bytes "
        "> peak / bandwidth. B: T_math > T_comms. C: FLOPs > bytes · peak / bandwidth. D: FLOPs / "
        "peak > bytes / bandwidth. E: intensity > ridge.",
        points=2,
        items=("A", "B", "C", "D", "E"),
        key="BDCAE".index,
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
    "ps1.mine": Number(
        asks="A layer takes {flops} bf16 FLOPs and moves {moved} bytes on the {chip}. By how many "
        "microseconds can full overlap of computing and moving shorten it, against none at all?",
        points=3,
        inputs={
            "flops": count(3e11, "the FLOPs", draw=(0.5, 1, 2, 3, 4, 8)),
            "moved": count(3e9, "the bytes", "bytes", draw=(0.5, 1, 1.5, 2, 3)),
            "peak": _dense(A100),
            "bandwidth": bandwidth(A100),
            "pick": _shorter(),
        },
        formula=lambda pick, flops, moved, peak, bandwidth: (
            1e6 * pick(flops / peak, moved / bandwidth)
        ),
        unit="µs",
        half=["pick: longer"],
        slips=[
            Slip(
                "FLOPs over bandwidth",
                lambda flops, bandwidth: 1e6 * flops / bandwidth,
                "That divides FLOPs by a bandwidth. Bytes go over a bandwidth, FLOPs over a peak.",
            ),
            Slip(
                "share",
                lambda flops, moved, peak, bandwidth: (
                    min(flops / peak, moved / bandwidth) / (flops / peak + moved / bandwidth)
                ),
                "That is the share of the time that is saved. Microseconds are asked for.",
            ),
            Slip(
                "percent",
                lambda flops, moved, peak, bandwidth: (
                    100 * min(flops / peak, moved / bandwidth) / (flops / peak + moved / bandwidth)
                ),
                "That is the share of the time that is saved, in percent. Microseconds are asked "
                "for.",
            ),
            Slip(
                "ratio",
                lambda flops, moved, peak, bandwidth: (
                    (flops / peak + moved / bandwidth) / max(flops / peak, moved / bandwidth)
                ),
                "That is how many times as long it takes without overlap. Microseconds are asked "
                "for.",
            ),
            Slip("intensity", lambda flops, moved: flops / moved, NOT_A_TIME),
        ],
        praise="The shorter time disappears behind the longer.",
        how="the time with no overlap less the time with full overlap",
        holds=lambda flops, moved, peak, bandwidth: (
            0.3 < flops / peak / (moved / bandwidth) < 0.9
            # At 2, twice the peak would give the right time.
            or 1.1 < flops / peak / (moved / bandwidth) < 1.9
        ),
    ),
    "ps1.attainable": Function(
        asks="Write attainable(intensity, peak_flops, bandwidth), in FLOP/s.",
        points=4,
        arguments=("intensity", "peak_flops", "bandwidth"),
        inputs={"roof": lower_roof()},
        results={
            "attainable": lambda roof, intensity, peak_flops, bandwidth: roof(
                peak_flops, intensity * bandwidth
            )
        },
        case=_attainable_case,
        unit="FLOP/s",
        half=["roof: first", "roof: second", "share of peak", "an intensity"],
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
                    "divided",
                    lambda intensity, peak_flops, bandwidth: min(peak_flops, bandwidth / intensity),
                    "That divides the bandwidth by the intensity. Multiply: the result is FLOP/s.",
                ),
                Slip(
                    "intensity over bandwidth",
                    lambda intensity, peak_flops, bandwidth: min(peak_flops, intensity / bandwidth),
                    "That divides the intensity by the bandwidth. Multiply: the result is FLOP/s.",
                ),
                Slip(
                    "bandwidth alone",
                    lambda bandwidth: bandwidth,
                    "That is the bandwidth in every call. The slope is intensity times bandwidth.",
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
        inputs={"pick": longer(), "add": total()},
        results={
            "with overlap": lambda pick, flops, bytes_moved, peak_flops, bandwidth: pick(
                flops / peak_flops, bytes_moved / bandwidth
            ),
            "without overlap": lambda add, flops, bytes_moved, peak_flops, bandwidth: add(
                flops / peak_flops, bytes_moved / bandwidth
            ),
        },
        case=_bracket_case,
        unit="s",
        slips={"with overlap": _bracket_slips(max), "without overlap": _bracket_slips(_sum)},
        praise="The maximum below, the sum above.",
        how="compute the two times first; then ask what is left to see of the shorter one",
    ),
}
