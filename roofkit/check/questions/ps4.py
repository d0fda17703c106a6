"""Problem set 4: published claims, and the step of each that is wrong."""

import math
from dataclasses import replace

import roofkit as rk
from roofkit.check.inputs import (
    Input,
    Instead,
    bandwidth,
    count,
    fma,
    itemsize,
    link,
    longer,
    lower_roof,
    peak,
)
from roofkit.check.kinds import Choice, Formula, Function, Number, Several
from roofkit.check.slips import Slip

A100, A100_40, B200, H100, H200 = "A100 80GB SXM", "A100 40GB SXM", "B200", "H100 SXM", "H200"
MI250X, MI300X, GTX = "MI250X", "MI300X", "GTX 1080 Ti"

# gpu-mode/reference-kernels, problems/amd_distributed/ag-gemm/task.yml at f83cb92: (M, N, K) of
# each row and its "speed of light", µs.
PUBLISHED = {
    (64, 18432, 7168): 6.46,
    (512, 12288, 4096): 24.58,
    (2048, 2880, 2880): 23.04,
    (4096, 4096, 4096): 65.54,
    (8192, 14336, 4096): 458.75,
    (8192, 29568, 8192): 946.18,
}
RIGHT_ROWS = [(64, 18432, 7168), (2048, 2880, 2880), (4096, 4096, 4096)]


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
                    _always(found),
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


def _cnns():
    """Two networks' multiply-adds and bytes, as an article has them, and the card they run on."""
    return {
        "macs": count(0.5687e9, "the multiply-adds of MobileNet", draw=()),
        "moved": count(74e6, "the bytes of MobileNet", "bytes", draw=()),
        "fused": count(37e6, "the bytes of MobileNet, fused", "bytes", draw=()),
        "vgg_macs": count(15.47e9, "the multiply-adds of VGG16", draw=()),
        "vgg_moved": count(600e6, "the bytes of VGG16", "bytes", draw=()),
        "ops": fma(),
        "peak": peak(GTX, "fp32", dtypes=(), sparse=False),
        "bandwidth": bandwidth(GTX, link=False),
    }


def _speeds(roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth):
    """VGG16's FLOP/s over MobileNet's."""
    fast = roof(peak, ops * vgg_macs / vgg_moved * bandwidth)
    return fast / roof(peak, ops * macs / moved * bandwidth)


LLAMA = {
    "n": count(40, "the layers", draw=()),
    "h": count(5120, "the width h", draw=()),
    "size": itemsize("fp16", "a parameter"),
}


def _weights(size, n, h):
    return size * 12 * n * h**2


def _prefill(n, h, size, b, s, o, V, margin=1.0):
    flops = n * (24 * b * s * h**2 + 4 * b * s**2 * h) + 2 * b * s * h * V
    return flops / (1.2 * _weights(size, n, h) + margin * 4 * n * b * h * (s + o))


def _longest(*times):
    return max(times)


def _joined_to_all(chip):
    wires = chip.interconnect
    return bool(wires) and wires.kind in ("switch", "all-pairs") and wires.links >= 7


def _all_gather():
    """Eight chips that gather A from each other, then multiply it, each with its own columns."""
    return {
        "pick": Input(
            _longest,
            instead=(
                Instead(
                    "sum",
                    lambda *times: sum(times),
                    "The times are right, but added. With full overlap the longest decides.",
                ),
                Instead(
                    "no link",
                    lambda t_math, memory, link: max(t_math, memory),
                    "That leaves out the link, or takes the memory for it. A has to be gathered "
                    "first.",
                ),
                Instead(
                    "no memory",
                    lambda t_math, memory, link: max(t_math, link),
                    "That leaves out each GPU's own memory.",
                ),
                Instead(
                    "no arithmetic",
                    lambda t_math, memory, link: max(memory, link),
                    "That leaves out the arithmetic, or counts too little of it: a multiply-add is "
                    "2 FLOPs, the peak the dense bf16 one.",
                ),
                Instead(
                    "link alone",
                    lambda t_math, memory, link: link,
                    "That is the gather alone. With full overlap the longest time decides.",
                ),
                Instead(
                    "math alone",
                    lambda t_math, memory, link: t_math,
                    "That is the arithmetic alone. With full overlap the longest time decides.",
                ),
                Instead(
                    "shortest",
                    lambda *times: min(times),
                    "That is the shortest time. With full overlap the longest decides.",
                ),
            ),
        ),
        "chips": count(8, "the GPUs", draw=()),
        "ops": replace(
            fma(),
            instead=(
                Instead(
                    "multiply-add",
                    1,
                    "That counts half the arithmetic: a multiply-add is 2 FLOPs, the peak the "
                    "dense bf16 one.",
                ),
            ),
        ),
        "size": itemsize("bf16", "an element"),
        "peak": peak(MI300X, dtypes=(), sparse=False),
        "bandwidth": bandwidth(MI300X, link=False),
        # Every GPU reaches every other, so that all its links count.
        "link": replace(link(MI300X), has=_joined_to_all),
    }


def _light(
    work=lambda chips, M, N, K: M * N * K / chips,
    crossing=lambda chips, M, N, K: M * K + (K * N + M * N) / chips,
    arriving=lambda chips, M, N, K: (chips - 1) / chips * M * K,
):
    """The time of A[M, K], gathered in full by each GPU, times its own N/chips columns: µs.

    A formula of multiply-adds, elements that cross a GPU's memory and elements that it receives.
    """
    return lambda pick, chips, ops, size, peak, bandwidth, link, M, N, K: (
        1e6
        * pick(
            ops * work(chips, M, N, K) / peak,
            size * crossing(chips, M, N, K) / bandwidth,
            size * arriving(chips, M, N, K) / link,
        )
    )


OUTPUT_TRAVELS = _light(arriving=lambda chips, M, N, K: (chips - 1) / chips * M * N)
WHOLE_ARRIVES = _light(arriving=lambda chips, M, N, K: M * K)


def _light_case(rng, number):
    """Each time longest in turn, with N below K and above, and with an eighth of the arithmetic."""
    M, N, K = (
        (8192, 28672, 8192),
        (64, 8192, 4096),
        (4096, 2048, 7168),
        (8192, 9216, 4096),
        (8192, 262144, 8192),
        (8192, 8192, 64),
    )[number % 6]
    return tuple(128 * round(rng.uniform(0.8, 1.2) * x / 128) if x > 64 else x for x in (M, N, K))


def _of_the_table():
    """The same on the chip that the table is about, in every draw."""
    return {name: replace(given, chips=(), again=None) for name, given in _all_gather().items()}


def _seldom(inputs):
    """The same, with slips that no answer of two digits is told: a mean blurs them."""
    return {
        name: replace(given, instead=tuple(replace(i, digits=3) for i in given.instead))
        for name, given in inputs.items()
    }


def _always(value):
    return lambda: value


def _row(M, N, K):
    """A row of the published table: its right time, µs."""
    return Number(
        asks=f"The speed of light of (M, N, K) = ({M}, {N}, {K}), in µs.",
        inputs={
            **{
                name: count(value, f"the length {name}", draw=())
                for name, value in (("M", M), ("N", N), ("K", K))
            },
            **_of_the_table(),
        },
        formula=_light(),
        unit="µs",
        slips=[
            Slip(
                "as printed",
                OUTPUT_TRAVELS,
                "That is the table's figure. Which matrix travels?",
            ),
            Slip(
                "whole array",
                WHOLE_ARRIVES,
                "That lets all of A come over the links. Each GPU has its own eighth already.",
            ),
            Slip(
                "halved",
                _of_rows(lambda right: right((M, N, K)) / 2),
                "That is half: 1 FLOP for a multiply-add, or 1 byte for an element.",
            ),
            *(
                Slip(
                    "another wrong row",
                    _of_rows(lambda right, shape=shape: right(shape)),
                    "That is the right time of another of the three rows. They go from top to "
                    "bottom.",
                )
                for shape in PUBLISHED
                if shape not in [*RIGHT_ROWS, (M, N, K)]
            ),
            *(
                Slip(
                    f"row {shape[0]}",
                    _always(PUBLISHED[shape]),
                    "That is the time of a row which is right as it stands.",
                    here=True,
                )
                for shape in RIGHT_ROWS
            ),
        ],
    )


def _geometric(right, rows=PUBLISHED):
    """How many times too long the table's geometric mean is."""
    return math.prod(PUBLISHED[row] / right(row) for row in rows) ** (1 / len(rows))


def _mean_by(given):
    """How many times too long the mean is by a student's own times; nan if they change nothing."""
    wrong = [row for row in PUBLISHED if row not in RIGHT_ROWS]
    times = (abs(given[name]) for name in ("first", "second", "third"))
    factors = [PUBLISHED[row] / time for row, time in zip(wrong, times, strict=True)]
    mean = math.prod(factors) ** (1 / len(PUBLISHED))
    return mean if abs(mean - 1) > 0.01 else math.nan


def _of_rows(mean):
    """What ``mean`` makes of the function that gives each row's right time, as a formula."""
    return lambda pick, chips, ops, size, peak, bandwidth, link: mean(
        lambda row: _light()(pick, chips, ops, size, peak, bandwidth, link, *row)
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
    "ps4.cnn": Several(
        asks="Multiply-adds and bytes of an image, fp32: VGG16 {vgg_macs} and {vgg_moved}, "
        "MobileNet {macs} and {moved}, fused {fused}. On the {chip}: how many times the FLOP/s of "
        "MobileNet does VGG16 reach, unfused and fused, and how many times as long does its image "
        "take as an unfused MobileNet's?",
        points=3,
        parts={
            "unfused": Number(
                asks="How many times MobileNet's FLOP/s does VGG16 reach?",
                inputs={"roof": lower_roof()} | _cnns(),
                formula=lambda roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth: (
                    _speeds(roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth)
                ),
                unit="times",
                slips=[
                    Slip(
                        "as printed",
                        lambda: 3.0,
                        "That is the article's third. Count both networks' FLOPs anew.",
                        here=True,
                    ),
                    *(
                        Slip(
                            "printed intensities",
                            _always(found),
                            "That takes the article's 7 FLOP/byte, which counts multiply-adds.",
                            here=True,
                        )
                        for found in (25 / 7, 23.3 / 7, 23.35 / 7)
                    ),
                    Slip(
                        "one network mended",
                        lambda: 25 / 14,
                        "That doubles MobileNet's FLOPs and leaves VGG16 as it was. The peak "
                        "bounds it, too.",
                        here=True,
                    ),
                ],
                how="FLOP/s under the roof for each network, with 2 FLOPs a multiply-add",
            ),
            "fused": Number(
                asks="How many times the FLOP/s of a fused MobileNet does VGG16 reach?",
                inputs={"roof": lower_roof()} | _cnns(),
                formula=lambda roof, vgg_macs, vgg_moved, macs, fused, ops, peak, bandwidth: (
                    _speeds(roof, vgg_macs, vgg_moved, macs, fused, ops, peak, bandwidth)
                ),
                unit="times",
                slips=[
                    Slip(
                        "before fusing",
                        lambda roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth: (
                            _speeds(roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth)
                        ),
                        "That keeps the bytes from before fusing.",
                    ),
                    Slip(
                        "past the peak",
                        lambda macs, fused, ops, peak, bandwidth: (
                            peak / (ops * macs / fused * bandwidth)
                        ),
                        "That lets the fused MobileNet run faster than the peak. Which roof is it "
                        "under?",
                        here=True,
                    ),
                ],
                how="on which side of the ridge does MobileNet lie now?",
            ),
            "time": Number(
                asks="How many times as long does VGG16 need for an image?",
                inputs={"pick": longer()} | _cnns(),
                formula=lambda pick, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth: (
                    pick(ops * vgg_macs / peak, vgg_moved / bandwidth)
                    / pick(ops * macs / peak, moved / bandwidth)
                ),
                unit="times",
                slips=[
                    Slip(
                        "work",
                        lambda vgg_macs, macs: vgg_macs / macs,
                        "That is the ratio of the multiply-adds. MobileNet waits for its bytes.",
                    ),
                    Slip(
                        "rounded work",
                        lambda: 30.0,
                        "That is the ratio of the multiply-adds, rounded. MobileNet waits for its "
                        "bytes.",
                        here=True,
                    ),
                    Slip(
                        "bytes",
                        lambda vgg_moved, moved: vgg_moved / moved,
                        "That is the ratio of the bytes. VGG16 does not wait for them.",
                    ),
                ],
                how="a time for each network, the longer of two",
            ),
        },
        praise="A third of the speed was a convention, and the network that is slower in FLOP/s "
        "is done long before.",
        how="a peak counts a multiply-add as 2 FLOPs",
    ),
    "ps4.llama": Several(
        asks="A model of {n} layers and width {h} in fp16. The intensity of reading {b} prompts of "
        "{s} tokens by the text's formula, mended; how many times as fast a step for one user "
        "would be without its cache of {tokens} tokens; and with how many tokens in all the cache "
        "weighs as much as the weights?",
        points=3,
        parts={
            "prefill": Number(
                asks="The intensity by the text's formula, with its slip mended, in FLOP/byte?",
                inputs={
                    "b": count(8, "the prompts", draw=(0.5, 2)),
                    "s": count(1024, "the tokens of a prompt", draw=(0.5, 2)),
                    "o": count(1024, "the tokens written", draw=()),
                    "V": count(32000, "the vocabulary", draw=()),
                }
                | LLAMA,
                formula=lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V),
                unit="FLOP/byte",
                slips=[
                    Slip(
                        "cache doubled",
                        lambda n, h, b, s, o, V: _prefill(n, h, 1, b, s, o, V, 2),
                        "That doubles the cache. 4nbh(s + o) is in bytes already: K and V, 2 bytes "
                        "a number.",
                    ),
                    Slip(
                        "all doubled",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V, 2),
                        "That doubles the cache, too. 4nbh(s + o) is in bytes already: K and V, 2 "
                        "bytes a number.",
                    ),
                    Slip(
                        "cache halved",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V, 0.5),
                        "That halves the cache: it keeps s + o tokens, a K and a V of each, and "
                        "4nbh(s + o) is in bytes already.",
                    ),
                    Slip(
                        "numbers for bytes",
                        lambda n, h, b, s, o, V: _prefill(n, h, 1, b, s, o, V, 0.5),
                        "That counts numbers in both terms. Which of them did so before?",
                    ),
                    Slip(
                        "margin on all",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V, 1.2),
                        "That puts the 1.2 on the cache, too. The text has it on the weights.",
                    ),
                    Slip(
                        "no margin",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size / 1.2, b, s, o, V),
                        "That drops the 1.2. The slip lies elsewhere: keep the rest as it is.",
                    ),
                ],
                rtol=0.005,
                how="which term of the divisor is a number of parameters, not of bytes?",
            ),
            "no cache": Number(
                asks="How many times as fast is a step of one user without its cache?",
                inputs={"tokens": count(2048, "the tokens in the cache", draw=(2, 4))} | LLAMA,
                formula=lambda n, h, size, tokens: (
                    1 + 2 * size * n * h * tokens / _weights(size, n, h)
                ),
                unit="times",
                rtol=0.005,
                slips=[
                    Slip(
                        "parameters for bytes",
                        lambda n, h, tokens: 1 + 4 * n * h * tokens / _weights(1, n, h),
                        "That sets the cache's bytes against a number of parameters.",
                    ),
                    Slip(
                        "K alone",
                        lambda n, h, tokens: 1 + 2 * n * h * tokens / _weights(2, n, h),
                        "That reads K alone. Attention reads V, too.",
                    ),
                    Slip(
                        "cache over weights",
                        lambda n, h, tokens: 4 * n * h * tokens / _weights(2, n, h),
                        "That is the cache over the weights. A step fetches both.",
                    ),
                    Slip(
                        "the share",
                        lambda n, h, tokens: 1 / (1 + _weights(2, n, h) / (4 * n * h * tokens)),
                        "That is the cache's share of a step. How many times as fast is one "
                        "without?",
                    ),
                    Slip(
                        "with the margin",
                        lambda n, h, tokens: 1 + 4 * n * h * tokens / (1.2 * _weights(2, n, h)),
                        "That keeps the margin of 1.2. Leave it out here.",
                    ),
                    Slip(
                        "eight users",
                        lambda n, h, tokens: 1 + 8 * 4 * n * h * tokens / _weights(2, n, h),
                        "That has the caches of eight users. One is asked for.",
                        here=True,
                    ),
                    Slip(
                        "one layer's cache",
                        lambda n, h, tokens: 1 + 4 * h * tokens / _weights(2, n, h),
                        "That takes the cache of one layer. Every layer has one.",
                    ),
                ],
                how="the bytes of a step with the cache over those without",
            ),
            "tokens": Number(
                asks="With how many tokens does the cache weigh as much as the weights?",
                inputs={
                    "pair": count(
                        2,
                        "K and V",
                        instead=[Instead("K alone", 1, "That keeps K alone. There is V, too.")],
                        draw=(),
                    ),
                    "cached": itemsize("fp16", "a cached number"),
                }
                | LLAMA,
                formula=lambda n, h, size, pair, cached: (
                    _weights(size, n, h) / (pair * cached * n * h)
                ),
                unit="tokens",
                slips=[
                    Slip(
                        "one layer's cache",
                        lambda n, h, size: _weights(size, n, h) / (4 * h),
                        "That takes the cache of one layer. Every layer has one.",
                    ),
                    Slip(
                        "one layer's weights",
                        lambda n, h, size: _weights(size, n, h) / (4 * n**2 * h),
                        "That takes the weights of one layer, and the cache of all.",
                    ),
                    Slip(
                        "with the margin",
                        lambda n, h, size: 1.2 * _weights(size, n, h) / (4 * n * h),
                        "That keeps the margin of 1.2. Leave it out here.",
                    ),
                    Slip(
                        "each user's",
                        lambda n, h, size: _weights(size, n, h) / (8 * 4 * n * h),
                        "Those are the tokens of each of eight users. How many is that in all?",
                        here=True,
                    ),
                ],
                how="the bytes of all weights over the bytes that one token adds to the cache",
            ),
        },
        praise="The first verdict survives its slip, by luck. The second blames the smaller part: "
        "it is the weights that a lone user waits for.",
        how="all three need the same two figures, in bytes: the weights, and what one token adds "
        "to the cache in all layers",
    ),
    "ps4.light": Function(
        asks="Write light(M, N, K), in µs: the longest of the arithmetic, the memory and the link "
        "of an all-gather of A and a matmul on eight {chip}.",
        points=4,
        arguments=("M", "N", "K"),
        inputs=_all_gather(),
        results={"light": _light()},
        case=_light_case,
        unit="µs",
        half=["pick: sum"],
        slips={
            "light": [
                Slip(
                    "output travels",
                    OUTPUT_TRAVELS,
                    "That sends a matrix of the output's size, M · N. A has M · K elements.",
                ),
                Slip(
                    "whole array",
                    WHOLE_ARRIVES,
                    "That lets all of A come over the links. Each GPU has its own eighth already.",
                ),
                Slip(
                    "seven whole",
                    _light(arriving=lambda chips, M, N, K: (chips - 1) * M * K),
                    "That brings all of A from each of the others. Each of them has an eighth.",
                ),
                Slip(
                    "eight links",
                    _light(arriving=lambda chips, M, N, K: ((chips - 1) / chips) ** 2 * M * K),
                    "That takes eight links. A GPU has one to each of the seven others.",
                ),
                Slip(
                    "two passes",
                    _light(arriving=lambda chips, M, N, K: 2 * (chips - 1) / chips * M * K),
                    "That gathers A in two passes, as an all-reduce needs. One is enough.",
                ),
                Slip(
                    "half the bytes",
                    _light(arriving=lambda chips, M, N, K: (chips - 1) / chips * M * K / 2),
                    "That has 1 byte for an element on the link. bf16 has 2.",
                ),
                Slip(
                    "one share",
                    _light(arriving=lambda chips, M, N, K: M * K / chips),
                    "That brings one eighth of A. Each GPU lacks the other seven.",
                ),
                Slip(
                    "weights travel",
                    _light(arriving=lambda chips, M, N, K: (chips - 1) / chips * N * K),
                    "That sends the weights. They stay where they are; A travels.",
                ),
                Slip(
                    "work not shared",
                    _light(work=lambda chips, M, N, K: M * N * K),
                    "That has each GPU do all of the FLOPs, or takes the fp32 peak. Each has an "
                    "eighth of the columns, in bf16.",
                ),
                Slip(
                    "work shared twice",
                    _light(work=lambda chips, M, N, K: M * N * K / chips**2),
                    "That divides the FLOPs by 8 twice. Each GPU has all rows of A and an eighth "
                    "of the columns.",
                ),
                Slip(
                    "no result",
                    _light(crossing=lambda chips, M, N, K: M * K + N * K / chips),
                    "That leaves out the result, which crosses the memory, too.",
                ),
                Slip(
                    "A twice",
                    _light(crossing=lambda chips, M, N, K: 2 * M * K + (K * N + M * N) / chips),
                    "That has A cross the memory twice. Each operand crosses once here.",
                ),
                Slip(
                    "weights not shared",
                    _light(crossing=lambda chips, M, N, K: M * K + K * N + M * N),
                    "That has each GPU's memory bring all weights and all results. Each has an "
                    "eighth of the columns.",
                ),
                Slip(
                    "A shared",
                    _light(crossing=lambda chips, M, N, K: (M * K + K * N + M * N) / chips),
                    "That has each GPU read an eighth of A. Once gathered, each multiplies all of "
                    "it.",
                ),
            ]
        },
        praise="Three times, and the longest of them.",
        how="for one GPU: its FLOPs over the peak, its bytes over the memory, what it lacks of A "
        "over the links",
    ),
    "ps4.rows": Several(
        asks="Eight MI300X: the right times, in µs, of the rows of the table that are wrong, and "
        "how many times too long the table makes the geometric mean of all its rows.",
        points=3,
        parts={
            "first": _row(512, 12288, 4096),
            "second": _row(8192, 14336, 4096),
            "third": _row(8192, 29568, 8192),
            "mean": Number(
                asks="How many times too long is the geometric mean of the table's times?",
                inputs=_seldom(_of_the_table()),
                formula=_of_rows(_geometric),
                unit="times",
                slips=[
                    Slip(
                        "longer by",
                        _of_rows(lambda right: _geometric(right) - 1),
                        "That is by how much it is too long. How many times as long is it?",
                    ),
                    Slip(
                        "wrong rows alone",
                        _of_rows(
                            lambda right: _geometric(
                                right, [row for row in PUBLISHED if row not in RIGHT_ROWS]
                            )
                        ),
                        "That is the mean of the wrong rows. The contest takes all six.",
                    ),
                    Slip(
                        "arithmetic mean",
                        _of_rows(
                            lambda right: sum(PUBLISHED.values()) / sum(map(right, PUBLISHED))
                        ),
                        "That compares the sums, which the long rows rule. In a geometric mean "
                        "every row weighs the same.",
                    ),
                    Slip(
                        "mean of factors",
                        _of_rows(
                            lambda right: sum(PUBLISHED[row] / right(row) for row in PUBLISHED) / 6
                        ),
                        "That is the arithmetic mean of the factors. A geometric mean multiplies, "
                        "then takes the sixth root.",
                    ),
                    Slip(
                        "no root",
                        _of_rows(lambda right: _geometric(right) ** 6),
                        "That is the product of the factors. Take the sixth root.",
                    ),
                    Slip(
                        "square root",
                        _of_rows(lambda right: _geometric(right) ** 3),
                        "That takes the square root of the product. Six rows need the sixth.",
                    ),
                ],
                how="the sixth root of the product of all factors, 1 where a row is right",
            ),
        },
        follows={"mean": _mean_by},
        praise="Where N equals K the slip cannot be seen, and where the memory binds it does not "
        "matter.",
        how="run your function on all six rows and compare; the mean is the sixth root of the "
        "product of printed over right",
    ),
}
