"""Problem set 4: published claims, and the step of each that is wrong."""

import math
from dataclasses import replace

import roofkit as rk
from roofcheck.inputs import Input, Instead, bandwidth, count, fma, itemsize, longer, peak
from roofcheck.kinds import Choice, Formula, Number, Several
from roofcheck.slips import Slip, always

A100, A100_40, B200, H100, H200 = "A100 80GB SXM", "A100 40GB SXM", "B200", "H100 SXM", "H200"
MI250X, MI300X = "MI250X", "MI300X"


def _time(pick, ops, size, B, D, F, peak, bandwidth):
    """Of a matmul, seconds."""
    t_math = ops * B * D * F / peak
    return pick(t_math, size * (B * D + D * F + B * F) / bandwidth)


def _on(bandwidth):
    """The time of a matmul, µs, with this bandwidth in place of the chip's."""
    return lambda pick, ops, size, B, D, F, peak: (
        1e6 * _time(pick, ops, size, B, D, F, peak, bandwidth)
    )


def _first_batch(D, F, ridge, ops, size):
    """The tokens at which a matmul's intensity is the ridge."""
    return 1 / (ops / (size * ridge) - 1 / D - 1 / F)


def _longer_by_the_notes():
    """The longer of two times, of which the notes, with elements for bytes, give T_math."""
    told = {
        "first": "That is T_math. The notes count elements; in bytes, which time is longer?",
        "sum": "Both times are right, and added: the time if nothing overlaps.",
        "twice": "That is twice the longer time: as with 4 bytes for an element, or none "
        "overlapped.",
    }
    pick = longer()
    instead = tuple(replace(one, says=told.get(one.name, one.says)) for one in pick.instead)
    return replace(pick, instead=instead)


def _flips(ops, size, B, D, F, peak, bandwidth):
    """Whether elements in place of bytes move a matmul over the ridge."""
    share = ops / size / (1 / B + 1 / D + 1 / F) * bandwidth / peak
    return 0.55 < share < 0.93


def _int8(chip):
    """The tokens from which on int8 times int8 is compute-bound on a chip."""
    return Number(
        asks=f"From how many tokens on is a wide int8 matmul compute-bound on the {chip}?",
        inputs={
            "peak": peak(chip, "int8", dtypes=("fp32",), sparse=False),
            "bandwidth": bandwidth(chip, link=False),
            "size": itemsize("int8", "a weight"),
            # A multiply-add as one FLOP gives the ridge, which has a slip of its own.
            "ops": replace(fma(), instead=()),
            "narrow": Input(rk.chip(chip).peak_flops("bf16"), chips=(chip,), again=_bf16(chip)),
        },
        formula=lambda peak, bandwidth, size, ops: peak * size / (ops * bandwidth),
        unit="tokens",
        slips=[
            Slip(
                "the slides' rule",
                lambda narrow, bandwidth: narrow / bandwidth / 2,
                "That halves the bf16 batch, as the slides do, or counts the 2 FLOPs twice. Take "
                "this chip's own int8 peak: on some chips it doubles.",
            ),
            *(
                Slip(
                    "the slides'",
                    always(found),
                    "That is the slides' figure, for another chip.",
                    here=True,
                )
                for found in (120.0, 240.0)
            ),
            Slip(
                "doubled",
                # On most chips it does double, and this is right.
                lambda narrow, bandwidth, peak: (
                    narrow / bandwidth if peak < 1.9 * narrow else math.nan
                ),
                "That lets the peak double in int8. Look up whether this chip's does.",
            ),
            Slip(
                "the ridge",
                lambda peak, bandwidth: peak / bandwidth,
                "That is the int8 ridge, or the batch by a peak with sparsity. An int8 matmul does "
                "2 FLOPs a token on each byte, against the dense peak.",
            ),
        ],
    )


def _bf16(chip):
    return lambda rng, chips: Input(
        rk.chip(chips[chip]).peak_flops("bf16"), chips=(chips[chip],), again=_bf16(chips[chip])
    )


QUESTIONS = {
    "ps4.dense": Choice(
        asks="A page gives the {chip} twice {peak} in fp8, calls that dense, and gives it "
        "{bandwidth}. Under which roof is a dense fp8 kernel of {intensity} FLOP/byte?",
        points=2,
        inputs={
            "intensity": count(800, "the intensity", draw=(0.25, 0.5, 0.75, 1)),
            "peak": peak(B200, "fp8", dtypes=(), printed_sparse=True),
            "bandwidth": bandwidth(B200, link=False),
        },
        formula=lambda intensity, peak, bandwidth: (
            "compute" if intensity >= peak / bandwidth else "memory"
        ),
        why_not={
            "memory": "That holds against the printed peak. What do dense matrices reach? Look for "
            "the figure that the page compares it with.",
            "compute": "Compute the ridge of the dense peak: the intensity lies left of it.",
            "cannot tell": "The dense peak is in rk.chip; with the intensity that is enough.",
        },
        how="a sheet prints twice the dense peak where it adds sparsity; put the dense one over "
        "the bandwidth",
        praise="The printed peak needs two of every four weights to be zero. With the dense one "
        "the verdict turns.",
        holds=lambda intensity, peak, bandwidth: (
            0.5 < intensity * bandwidth / peak < 1.8 and abs(intensity * bandwidth / peak - 1) > 0.1
        ),
    ),
    "ps4.a100": Several(
        asks="Notes give the {chip} a ridge of {ridge} FLOP/byte. By that, from how many tokens on "
        "is a matmul with {D} × {F} bf16 weights compute-bound, the bytes of all three matrices "
        "counted? And how many µs do {B} tokens take with the chip's own figures, with full "
        "overlap?",
        points=2,
        parts={
            "tokens": Number(
                asks="From how many tokens on is the matmul compute-bound, by the ridge?",
                inputs={
                    "D": count(8192, "D", draw=(0.5, 1)),
                    "F": count(8192, "F", draw=(0.5, 1)),
                    "ridge": count(208, "the ridge", "FLOP/byte", draw=(0.75, 1.25, 1.5)),
                    "ops": fma(),
                    "size": itemsize("bf16", "an element"),
                },
                formula=_first_batch,
                unit="tokens",
                slips=[
                    Slip(
                        "weights alone",
                        lambda ridge: ridge,
                        "That counts the weights' bytes alone. X and Z move, too.",
                    ),
                    Slip(
                        "one of X and Z",
                        lambda ridge, D: 1 / (1 / ridge - 1 / D),
                        "That leaves out X or Z. One is read, the other written.",
                    ),
                    Slip(
                        "by 200",
                        lambda D, F, ops, size: _first_batch(D, F, 200, ops, size),
                        "That is by 200. Take the 208.",
                        here=True,
                    ),
                    Slip(
                        "by its own ridge",
                        lambda D, F, ops, size: _first_batch(
                            D, F, rk.chip(A100).roofline("bf16").ridge, ops, size
                        ),
                        "That is by the board's own ridge. What do the notes say, by 208?",
                        here=True,
                    ),
                ],
                how="set the matmul's intensity equal to the ridge and solve for the tokens",
            ),
            "time": Number(
                asks="How many µs does the matmul take on the board that is named?",
                inputs={
                    "D": count(8192, "D", draw=(0.5, 1)),
                    "F": count(8192, "F", draw=(0.5, 1)),
                    "B": count(180, "the tokens", draw=(0.5, 0.75, 1.5)),
                    "ops": fma(),
                    "size": itemsize("bf16", "an element"),
                    "peak": peak(A100, dtypes=(), sparse=True),
                    "bandwidth": bandwidth(A100),
                    "pick": longer(),
                },
                formula=lambda pick, ops, size, B, D, F, peak, bandwidth: (
                    1e6 * _time(pick, ops, size, B, D, F, peak, bandwidth)
                ),
                unit="µs",
                slips=[
                    *(
                        Slip(
                            "the text's bandwidth",
                            _on(other),
                            "That takes the bandwidth of the 40 GB board. Which one is named?",
                            here=True,
                        )
                        for other in (1.55e12, float(rk.chip(A100_40).bandwidth))
                    ),
                    Slip(
                        "the later bandwidth",
                        _on(1.5e12),
                        "That takes the bandwidth behind 208. Which board is named?",
                        here=True,
                    ),
                    Slip(
                        "half of T_math",
                        lambda B, D, F, peak: 1e6 * B * D * F / peak,
                        "That is half of T_math: a multiply-add as 1 FLOP, or the peak with "
                        "sparsity.",
                    ),
                    Slip(
                        "weights alone",
                        lambda D, F, size, bandwidth: 1e6 * size * D * F / bandwidth,
                        "That is what fetching the weights takes. Compare with the arithmetic, and "
                        "do not leave out X and Z.",
                    ),
                ],
                how="compute T_math and T_comms with the board's own bandwidth; the longer decides",
            ),
        },
        praise="With the right memory compute binds; with 1.55 TB/s the same matmul would wait.",
        how="solve for the tokens at which the intensity is the notes' ridge; the time is by the "
        "board's own figures",
    ),
    "ps4.dot": Several(
        asks="On the {chip}: which share of its bf16 peak does a long bf16 dot product reach, and "
        "how many FLOPs could each pair of numbers take in all before the fp32 units need as long "
        "as the memory?",
        points=2,
        parts={
            "share": Number(
                asks="Which share of the bf16 peak does a long dot product reach?",
                inputs={
                    "intensity": count(0.5, "the intensity of a long dot product", draw=()),
                    "peak": peak(H200),
                    "bandwidth": bandwidth(H200),
                },
                formula=lambda intensity, peak, bandwidth: intensity * bandwidth / peak,
                unit="of peak",
                slips=[
                    Slip(
                        "as the slides do",
                        lambda peak, bandwidth: bandwidth / peak,
                        "That is what an intensity of 1 reaches. The slides divide so, too; a dot "
                        "product has 0.5.",
                    ),
                    Slip(
                        "the slides' own",
                        lambda: 0.005,
                        "That is the slides' figure, for another chip and for an intensity of 1.",
                        here=True,
                    ),
                ],
                beyond=lambda answer: "A share of peak cannot exceed 1." if answer > 1 else "",
                how="the intensity over the ridge",
            ),
            "FLOPs": Number(
                asks="How many FLOPs can each pair take while memory binds?",
                inputs={
                    "size": itemsize("bf16", "a number"),
                    "pair": count(
                        2,
                        "the numbers of a pair",
                        instead=[Instead("one", 1, "That counts one number. A pair has two.")],
                        draw=(),
                    ),
                    "peak": peak(H200, "fp32", sparse=False),
                    "bandwidth": bandwidth(H200),
                },
                formula=lambda size, pair, peak, bandwidth: pair * size * peak / bandwidth,
                unit="FLOPs",
                slips=[
                    Slip(
                        "ridge",
                        lambda peak, bandwidth: peak / bandwidth,
                        "That is the ridge, FLOPs for each byte. How many bytes has a pair?",
                    ),
                    Slip(
                        "further",
                        lambda size, pair, peak, bandwidth: pair * size * peak / bandwidth - 2,
                        "Those are the FLOPs beside the dot product's own two.",
                        credit=0.5,
                    ),
                ],
                how="the bytes of a pair take a time; how many FLOPs do the fp32 units do in it?",
            ),
        },
        praise="Measured against the unit that does it, a few dozen FLOPs a pair are free; the "
        "matrix unit's ridge would promise hundreds.",
        how="which unit adds and multiplies number by number?",
    ),
    "ps4.int8": Several(
        asks="From how many tokens on is a wide matmul with int8 weights and int8 activations "
        "compute-bound, on each of {parts}?",
        points=3,
        parts={chip: _int8(chip) for chip in (A100, MI300X, MI250X)},
        praise="The batch halves on one of the three, and there because its int8 peak is no "
        "higher than its bf16 peak.",
        how="2 FLOPs on every byte of weights and token, against the int8 peak over the bandwidth",
    ),
    "ps4.mine": Number(
        asks="X[{B}, {D}] · Y[{D}, {F}] in bf16 on the {chip}. By 2BDF / (BD + DF + BF) it lies "
        "right of the ridge, and its time would be T_math. How many µs does it take, with full "
        "overlap?",
        points=3,
        inputs={
            "B": count(192, "B", draw=(0.5, 0.75, 1, 1.5, 2)),
            "D": count(4096, "D", draw=(0.5, 0.75, 1, 1.5, 2)),
            "F": count(4096, "F", draw=(0.5, 0.75, 1, 1.5, 2)),
            "ops": fma(),
            "size": itemsize("bf16", "an element"),
            "peak": peak(H100),
            "bandwidth": bandwidth(H100),
            "pick": _longer_by_the_notes(),
        },
        formula=lambda pick, ops, size, B, D, F, peak, bandwidth: (
            1e6 * _time(pick, ops, size, B, D, F, peak, bandwidth)
        ),
        unit="µs",
        figure="lower",
        half=["pick: sum"],
        slips=[
            Slip(
                "weights alone",
                lambda D, F, size, bandwidth: 1e6 * size * D * F / bandwidth,
                "That fetches Y alone. X is read and Z is written, too.",
            ),
            Slip(
                "Z left out",
                lambda B, D, F, size, bandwidth: 1e6 * size * (B * D + D * F) / bandwidth,
                "That leaves out Z, which is written.",
            ),
            Slip(
                "X left out",
                lambda B, D, F, size, bandwidth: 1e6 * size * (D * F + B * F) / bandwidth,
                "That leaves out X, which is read.",
            ),
            Slip(
                "half the bytes",
                lambda B, D, F, bandwidth: 1e6 * (B * D + D * F + B * F) / bandwidth,
                "That has 1 byte for an element. bf16 has 2.",
            ),
        ],
        praise="The intensity was twice too high, and the verdict with it.",
        how="count the bytes, not the elements; then compare both times",
        holds=_flips,
    ),
    "ps4.width": Formula(
        asks="n chips on a switch share X · Y along D and reduce-scatter the bf16 sums, so that "
        "each keeps 1/n of Z. Above which D is the arithmetic longer? A formula of n, C and W.",
        points=3,
        arguments=("n", "C", "W"),
        results={"width": lambda n, C, W: (n - 1) * C / W},
        case=lambda rng, number: (
            2 + number,
            1e12 * rng.randint(100, 2000),
            1e9 * rng.randint(40, 900),
        ),
        slips={
            "width": [
                Slip(
                    "two passes",
                    lambda n, C, W: 2 * (n - 1) * C / W,
                    "That is what an all-reduce needs, with two passes; or the FLOPs are halved "
                    "once too often, as on the slide. Here is one pass.",
                ),
                Slip(
                    "both",
                    lambda n, C, W: 4 * (n - 1) * C / W,
                    "That halves the FLOPs as the slide does, and counts two passes.",
                ),
                Slip(
                    "n - 1 without parentheses",
                    lambda n, C, W: n - C / W,
                    "Without parentheses the 1 alone is multiplied. Write (n - 1).",
                ),
                Slip(
                    "1 subtracted last",
                    lambda n, C, W: n * C / W - 1,
                    "That subtracts 1 from the width. Subtract it from n: (n - 1).",
                ),
                Slip(
                    "own share too",
                    lambda n, C, W: n * C / W,
                    "That sends a chip its own share of the sums, too.",
                ),
                Slip(
                    "own share too, twice",
                    lambda n, C, W: 2 * n * C / W,
                    "That sends a chip its own share of the sums too, in two passes.",
                ),
                Slip(
                    "FLOPs not shared",
                    lambda n, C, W: (n - 1) / n * C / W,
                    "That has every chip do all 2BDF FLOPs. Each does 1/n of them.",
                ),
                Slip(
                    "FLOPs not shared, two passes",
                    lambda n, C, W: 2 * (n - 1) / n * C / W,
                    "That has every chip do all 2BDF FLOPs, and counts two passes or halves the "
                    "FLOPs once too often.",
                ),
                Slip(
                    "all the sums",
                    lambda n, C, W: n * (n - 1) * C / W,
                    "That sends n - 1 whole arrays. To each of the others goes the 1/n it keeps.",
                ),
                Slip(
                    "the slide's",
                    lambda C, W: 4 * C / W,
                    "That is the slide's, for two chips that both want all of Z.",
                ),
                Slip(
                    "for two, all of Z",
                    lambda C, W: 2 * C / W,
                    "That is for two chips that both want all of Z. Here are n, and each keeps a "
                    "part.",
                ),
                Slip("for two", lambda C, W: C / W, "That is for two chips. Here are n."),
                Slip(
                    "1 byte",
                    lambda n, C, W: (n - 1) * C / (2 * W),
                    "That comes to 1 byte for a sum, or to the link in both directions.",
                ),
                Slip(
                    "upside down",
                    lambda n, C, W: (n - 1) * W / C,
                    "That has peak and link the wrong way round.",
                ),
            ]
        },
        how="set 2BDF/n over C equal to the bytes that leave a chip over W, and solve for D",
        praise="Half of an all-reduce's width: the sums are added once and not passed on.",
    ),
}
