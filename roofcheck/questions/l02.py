"""Lecture 02, "One number: arithmetic intensity"."""

import roofkit as rk
from roofcheck.inputs import (
    Instead,
    bandwidth,
    count,
    fma,
    itemsize,
    lower_roof,
    peak,
)
from roofcheck.kinds import Choice, Formula, Number, Several
from roofcheck.slips import Slip

V5E, A100_40, A100_80 = "TPU v5e", "A100 40GB SXM", "A100 80GB SXM"
ATTAINABLE = {"roof": lower_roof()}


def _attainable(roof, intensity, peak, bandwidth):
    return roof(peak, intensity * bandwidth)


DIVIDED = Slip(
    "divided",
    lambda intensity, bandwidth: bandwidth / intensity,
    "That divides bandwidth by intensity. byte/s times FLOP/byte is FLOP/s.",
)
SHARE = Slip(
    "share",
    lambda intensity, peak, bandwidth: intensity * bandwidth / peak,
    "That is the share of peak. FLOP/s are asked for.",
)
RIDGE = Slip(
    "ridge",
    lambda peak, bandwidth: peak / bandwidth,
    "That is the ridge, FLOP/byte. FLOP/s are asked for.",
)


def _of_a_million(flops, moved):
    """What a million elements take, given for the intensity."""
    return [
        Slip(
            "FLOPs",
            lambda: 1e6 * flops,
            "That is the number of FLOPs. Divide it by the bytes that cross.",
        ),
        Slip(
            "bytes",
            lambda: 1e6 * moved,
            "That is the number of bytes. Intensity is FLOPs over bytes.",
        ),
    ]


def _reachable(chip, other):
    """How fast a kernel of intensity 100 can run on one of two chips."""
    return Number(
        asks="How many FLOP/s can a kernel of intensity {intensity} reach on the {chip}?",
        inputs={
            "intensity": count(100, "the intensity", draw=(0.5, 1, 2, 4)),
            "peak": peak(chip, others=[other], dtypes=("fp32",)),
            "bandwidth": bandwidth(chip, others=[other], link=False),
        }
        | ATTAINABLE,
        formula=_attainable,
        unit="FLOP/s",
        usual="roof: first",
        slips=[
            DIVIDED,
            SHARE,
            RIDGE,
            Slip(
                "peak over intensity",
                lambda intensity, peak: peak / intensity,
                "That divides the peak by the intensity. The slope is intensity times bandwidth.",
            ),
            Slip(
                "peak times intensity",
                lambda intensity, peak: peak * intensity,
                "That multiplies the peak by the intensity. The slope is intensity times "
                "bandwidth.",
            ),
        ],
        how="intensity times bandwidth, but no more than the peak",
    )


QUESTIONS = {
    "l02.warmup-time": Number(
        asks="How many seconds does the {chip} need for {flops} bf16 FLOPs?",
        inputs={
            "flops": count(5e11, "the FLOPs"),
            "peak": peak(V5E),
            "bandwidth": bandwidth(V5E),
        },
        formula=lambda flops, peak: flops / peak,
        unit="s",
        figure="math",
        slips=[
            Slip(
                "FLOPs over bandwidth",
                lambda flops, bandwidth: flops / bandwidth,
                "FLOPs go over FLOP/s, not over bytes/s.",
            ),
        ],
        how="divide FLOPs by FLOP/s",
    ),
    "l02.warmup-bound": Choice(
        asks="T_math is {math} ms, T_comms over the memory {comms} ms. What binds?",
        inputs={
            "math": count(2, "T_math", draw=(1, 2, 4)),
            "comms": count(3, "T_comms", draw=(0.5, 1)),
        },
        formula=lambda math, comms: "memory" if comms > math else "compute",
        why_not={
            "compute": "Moving outlasts the arithmetic: the longer time binds.",
            "memory": "The arithmetic outlasts moving: the longer time binds.",
            "network": "Neither time is one of a network.",
        },
        how="the longer time binds",
        praise="The longer time binds.",
    ),
    "l02.axpy": Number(
        asks="What is the intensity of y <- a x + y on vectors of bf16 numbers, in FLOP/byte?",
        inputs={
            "ops": fma(),
            "size": itemsize("bf16", "an element"),
            "arrays": count(
                3,
                "the arrays that cross",
                instead=[
                    Instead(
                        "a moved",
                        4,
                        "That moves four arrays. x is read, y is read and written; a is one "
                        "number.",
                    ),
                    Instead(
                        "two passes",
                        5,
                        "That moves five arrays. x is read, y is read and written: in one pass "
                        "a·x never goes to memory.",
                    ),
                    Instead("one array", 1, "That moves one array. x and y both cross."),
                ],
                draw=(),
            ),
        },
        formula=lambda ops, size, arrays: ops / (size * arrays),
        unit="FLOP/byte",
        slips=[
            Slip(
                "y once",
                lambda ops, size: ops / (size * 2),
                "That moves two arrays. x is read, y is read and written: three cross.",
            ),
            Slip(
                "three FLOPs",
                lambda size, arrays: 3 / (size * arrays),
                "That counts 3 FLOPs an element. There is one multiplication and one addition.",
            ),
            *_of_a_million(flops=2, moved=6),
        ],
        exact=True,
        how="list what is read and what is written, in bytes; then the FLOPs of one element",
    ),
    "l02.sum": Number(
        asks="N bf16 numbers are read and their sum is written. What is the intensity, in "
        "FLOP/byte?",
        inputs={
            "adds": count(1, "the additions of an element", draw=()),
            "size": itemsize("bf16", "an element"),
            "arrays": count(
                1,
                "the arrays that cross",
                instead=[
                    Instead(
                        "sums written",
                        2,
                        "That moves 2N numbers. N are read, once, and only one is written.",
                    ),
                    Instead(
                        "two vectors",
                        3,
                        "That moves 3N numbers, as adding two vectors does. Here N are read and "
                        "one is written.",
                    ),
                ],
                draw=(),
            ),
        },
        formula=lambda adds, size, arrays: adds / (size * arrays),
        unit="FLOP/byte",
        slips=[
            Slip(
                "2 FLOPs",
                lambda size, arrays: 2 / (size * arrays),
                "That counts 2 FLOPs an element. A sum adds and does not multiply.",
            ),
            Slip(
                "one number moved",
                lambda: 1e6 / 2,
                "That counts the bytes of one number. N of them are read.",
            ),
            *_of_a_million(flops=1, moved=2),
            Slip(
                "axpy",
                lambda: 1 / 3,
                "That is y <- a x + y. Here one vector is read, and nothing is multiplied.",
            ),
        ],
        exact=True,
        praise="One addition for every 2 bytes read.",
        how="count the operations of one element, and the bytes it brings along",
    ),
    "l02.add-many": Formula(
        asks="k vectors of N bf16 numbers are added in one pass: every one is read once, the "
        "result is written once. Give the intensity as a formula of k.",
        arguments=("k",),
        inputs={"size": itemsize("bf16", "an element")},
        results={"intensity": lambda k, size: (k - 1) / (size * (k + 1))},
        case=lambda rng, number: (rng.randint(2, 9) + 8 * number,),
        cancels={"N": 1e6},
        unit="FLOP/byte",
        slips={
            "intensity": [
                Slip(
                    "k additions",
                    lambda k, size: k / (size * (k + 1)),
                    "k additions are one too many: adding k numbers takes k - 1.",
                ),
                Slip(
                    "result not written",
                    lambda k, size: (k - 1) / (size * k),
                    "That reads k vectors and writes none. The result crosses too.",
                ),
                Slip(
                    "both",
                    lambda size: 1 / size,
                    "That does not depend on k. Count k = 2 and k = 3 by hand: the additions, and "
                    "the arrays that cross.",
                ),
                Slip(
                    "one at a time",
                    lambda size: 1 / (3 * size),
                    "That adds two at a time, and every running sum goes to memory and back. In "
                    "one pass it stays on the chip.",
                ),
                Slip(
                    "upside down",
                    lambda k, size: size * (k + 1) / (k - 1),
                    "Upside down: intensity is FLOPs over bytes.",
                ),
            ]
        },
        how="count the additions for k = 2 and k = 3, then the arrays that cross",
        praise="It starts at 1/6 and approaches 1/2: each further vector costs one read, not three "
        "crossings.",
    ),
    "l02.ridge": Number(
        asks="How many bf16 FLOPs must be done with every byte to keep the {chip} busy?",
        inputs={"peak": peak(V5E), "bandwidth": bandwidth(V5E)},
        formula=lambda peak, bandwidth: peak / bandwidth,
        unit="FLOP/byte",
        usual="upside down",
        slips=[
            Slip(
                "8.1e11",
                lambda peak: peak / 8.1e11,
                "With 8.1e11 byte/s, an older figure; the page says 819 GB/s.",
                credit=1,
                here=True,
            ),
            Slip(
                "product",
                lambda peak, bandwidth: peak * bandwidth,
                "That multiplies peak and bandwidth. Divide: FLOP/s over byte/s is FLOP/byte.",
            ),
            Slip(
                "difference",
                lambda peak, bandwidth: peak - bandwidth,
                "That subtracts. Divide: FLOP/s over byte/s is FLOP/byte.",
            ),
        ],
        praise="About that many FLOPs with every byte keep the arithmetic busy.",
        how="the ridge is peak over bandwidth",
    ),
    "l02.one-token": Number(
        asks="A kernel of intensity {intensity} runs on the {chip}. Which fraction of its bf16 "
        "peak can it reach?",
        inputs={
            "intensity": count(1, "the intensity", draw=(1, 2, 4)),
            "peak": peak(V5E),
            "bandwidth": bandwidth(V5E),
        },
        formula=lambda intensity, peak, bandwidth: intensity * bandwidth / peak,
        unit="of peak",
        slips=[
            Slip(
                "all of it",
                lambda: 1.0,
                "Only work that compute binds reaches its peak. What binds here?",
            ),
            Slip(
                "a speed",
                lambda intensity, bandwidth: intensity * bandwidth,
                "That is a speed, FLOP/s. A fraction of peak is asked for.",
            ),
        ],
        beyond=lambda answer: "A fraction of peak cannot exceed 1." if answer > 1 else "",
        how="intensity times bandwidth is the speed; divide it by the peak",
    ),
    "l02.a100-80-ridge": Number(
        asks="What is the bf16 ridge of the {chip}, in FLOP/byte?",
        inputs={
            "peak": peak(A100_80),
            "bandwidth": bandwidth(A100_80, others=[A100_40, "A100 80GB PCIe"]),
        },
        formula=lambda peak, bandwidth: peak / bandwidth,
        unit="FLOP/byte",
        usual="bandwidth: another chip",
        slips=[
            Slip(
                "the kernel",
                lambda: 180,
                "That is the intensity of the kernel in the figure below, not the card's ridge.",
                here=True,
            ),
            Slip(
                "2 TB/s",
                lambda peak: peak / 2e12,
                "With 2.0 TB/s, as the bandwidth is often rounded.",
                credit=1,
                here=True,
            ),
            Slip(
                "1.5 TB/s",
                lambda peak: peak / 1.5e12,
                "That takes the 40 GB card's bandwidth, and rounded down at that.",
                here=True,
            ),
        ],
        how="the ridge is peak over bandwidth, each from this card's own line",
    ),
    "l02.attainable": Number(
        asks="A bf16 kernel of intensity {intensity} runs on the {chip}. How many FLOP/s can it "
        "reach at most?",
        inputs={
            "intensity": count(190, "the intensity", draw=(0.25, 0.5, 1)),
            "peak": peak(A100_40, dtypes=("fp32",)),
            "bandwidth": bandwidth(A100_40),
        }
        | ATTAINABLE,
        formula=_attainable,
        unit="FLOP/s",
        usual="roof: first",
        slips=[
            Slip(
                "80 GB card",
                lambda intensity: intensity * rk.chip(A100_80).bandwidth,
                "That is the slope of the 80 GB card, and above its own peak besides.",
                here=True,
            ),
            DIVIDED,
            SHARE,
            RIDGE,
            Slip(
                "peak over intensity",
                lambda intensity, peak: peak / intensity,
                "That divides the peak by the intensity. The slope is intensity times bandwidth.",
            ),
        ],
        beyond=lambda answer, peak: (
            "That is above the peak: no computation gets there." if answer > peak else ""
        ),
        how="intensity times bandwidth, but no more than the peak",
        holds=lambda intensity, peak, bandwidth: intensity < 0.97 * peak / bandwidth,
    ),
    "l02.far-below": Choice(
        asks="On the TPU v5e a kernel of intensity 80 is measured at a tenth of the peak. Under "
        "which roof does it stand?",
        formula=lambda: "memory",
        why_not={
            "compute": "Its intensity is left of the ridge, where the slope is the lower roof.",
            "cannot tell": "Intensity and ridge are known, and they say which roof it is. What you "
            "cannot tell is why the kernel stays below it.",
        },
        how="compare the intensity with the ridge, not the height with the roof",
        praise="Intensity against ridge says which roof it has. What keeps it below that roof is "
        "another question, and the plot does not answer it.",
    ),
    "l02.axis": Choice(
        asks="Which part of a roofline plot shows the bandwidth?",
        formula=lambda: "slope",
        why_not={
            "vertical line": "A vertical line at the ridge marks an intensity, FLOP/byte.",
            "flat line": "The flat line is the peak, FLOP/s.",
            "area": "Areas mean nothing on logarithmic axes.",
        },
        also={
            "slope": (
                "slanted line",
                "the slanted part",
                "sloped line",
                "slanting line",
                "diagonal",
                "diagonal line",
                "the sloping line",
                "slant",
                "slanted",
                "inclined line",
                "ramp",
                "left of the ridge",
                "the roof left of the ridge",
                "left part",
                "rising line",
                "sloped part",
                "sloping part",
                "the rise",
            ),
            "vertical line": ("vertical", "dotted line", "the ridge", "ridge"),
            "flat line": (
                "peak",
                "flat",
                "flat part",
                "horizontal line",
                "horizontal",
                "plateau",
                "flat roof",
                "the top",
                "ceiling",
            ),
            "area": ("area under the roof", "surface", "shaded area", "region"),
        },
        how="its unit is FLOP/s per FLOP/byte",
        praise="The slanted line: FLOP/s per FLOP/byte. On logarithmic axes all such lines are "
        "equally steep; how high one lies is its bandwidth.",
    ),
    "l02.two-chips": Several(
        asks="How many FLOP/s can a bf16 kernel of intensity {intensity} reach at most, on each of "
        "{parts}?",
        parts={
            "L40S": _reachable("L40S", A100_40),
            A100_40: _reachable(A100_40, "L40S"),
        },
        praise="The L40S has the higher peak and the lower speed: at this intensity only memory "
        "counts.",
        how="on each chip, intensity times bandwidth, but no more than the peak",
    ),
    "l02.which-bandwidth": Number(
        asks="A text gives the A100, {peak}, a ridge of {ridge} FLOP/byte. Which bandwidth, in "
        "byte/s, does that take?",
        inputs={
            "peak": count(
                float(rk.chip(A100_40).peak_flops()),
                "the peak",
                "FLOP/s",
                instead=[
                    Instead(
                        "sparse",
                        2 * float(rk.chip(A100_40).peak_flops()),
                        "That takes twice the peak of the question: the figure with sparsity.",
                    ),
                ],
                draw=(),
            ),
            "ridge": count(
                208,
                "the ridge",
                instead=[
                    Instead("153", 153, "That is the bandwidth that gives 153. Which gives 208?")
                ],
                draw=(0.5, 1, 1.5),
            ),
        },
        formula=lambda peak, ridge: peak / ridge,
        unit="byte/s",
        slips=[
            Slip(
                "40 GB card",
                lambda: rk.chip(A100_40).bandwidth,
                "That is the 40 GB card's bandwidth; 312 / 1.555 is 200.6. Which rounded bandwidth "
                "gives 208?",
                here=True,
            ),
            Slip(
                "PCIe card",
                lambda: rk.chip("A100 80GB PCIe").bandwidth,
                "That is the 80 GB PCIe card's bandwidth; 312 / 1.935 is 161. Solve for the "
                "bandwidth that gives 208.",
                here=True,
            ),
            Slip(
                "80 GB card",
                lambda: rk.chip(A100_80).bandwidth,
                "That is the 80 GB card's bandwidth; 312 / 2.039 is 153. Solve for the bandwidth "
                "that gives 208.",
                here=True,
            ),
            Slip(
                "product",
                lambda peak, ridge: peak * ridge,
                "That multiplies peak and ridge. The ridge is peak over bandwidth: solve for the "
                "bandwidth.",
            ),
            Slip(
                "upside down",
                lambda peak, ridge: ridge / peak,
                "Upside down: the bandwidth is peak over ridge.",
            ),
            Slip(
                "difference",
                lambda peak: peak / 153 - peak / 208,
                "That is the difference between the two bandwidths.",
                here=True,
            ),
        ],
        praise="That is the 40 GB card's 1.555 TB/s, rounded down.",
        how="the ridge is peak over bandwidth: solve for the bandwidth",
    ),
}
