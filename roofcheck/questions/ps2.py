"""Problem set 2, on lectures 03, 04 and 06: its order, its function, and a data sheet to read."""

import functools
from dataclasses import replace
from itertools import pairwise

import roofkit as rk
from roofcheck.kinds import Function, Number, Order, Several
from roofcheck.reading.units import in_units
from roofcheck.slips.slips import Slip
from roofcheck.steps.algebra import read
from roofcheck.steps.chips import course_chips
from roofcheck.steps.derivation import Derivation, step
from roofcheck.steps.inputs import Input, Instead, bandwidth, count, fma, itemsize, peak

H200, H100 = "H200", "H100 SXM"

# Which bytes and which arithmetic, for D and F so large that X and Z do not count.
FORMATS = {
    "fp32": ("fp32", 4),
    "W32A16": ("bf16", 4),
    "W16A16": ("bf16", 2),
    "W8A16": ("bf16", 1),
    "W4A16": ("bf16", 0.5),
}


FORMATS_TABLE = """
D and F are so large that only the bytes of the weights count.

| name   | weights are stored in                  | multiplied in |
|--------|----------------------------------------|---------------|
| fp32   | fp32                                   | fp32          |
| W32A16 | fp32, converted to bf16 on the chip    | bf16          |
| W16A16 | bf16                                   | bf16          |
| W8A16  | int8, converted to bf16 on the chip    | bf16          |
| W4A16  | 4 bits, converted to bf16 on the chip  | bf16          |
"""


def _tokens_of(name, chip=H200):
    dtype, size = FORMATS[name]
    return rk.chip(chip).roofline(dtype).ridge * size / 2


def _tokens_shown(name, chip=H200):
    dtype, size = FORMATS[name]
    ridge = in_units(rk.chip(chip).roofline(dtype).ridge, "FLOP/byte", 4)
    return f"{ridge} · {size:g} / 2 = {in_units(_tokens_of(name, chip), 'tokens', 4)}"


def _formats_on(chip):
    """What ps2.formats says of a chip."""
    return {
        "asks": "Order these formats by the tokens from which compute binds on this chip, fewest "
        f"first: {chip}.",
        "chips": (chip,),
        "key": functools.partial(_tokens_of, chip=chip),
        "shows": functools.partial(_tokens_shown, chip=chip),
    }


def _formats_elsewhere(rng):
    """The same of another chip, on which no two formats need about as many tokens."""
    while True:
        chip = rng.choice([chip for chip in course_chips() if {"bf16", "fp32"} <= {*chip.peaks}])
        tokens = sorted(_tokens_of(name, chip.name) for name in FORMATS)
        if all(b > 1.1 * a for a, b in pairwise(tokens)):
            return _formats_on(chip.name)


# The roofline over B: int8 weights Y, bf16 activations X and Z.
INT8 = itemsize("int8", "a weight")
SIXTEEN_BITS = "That fetches 2 bytes a weight, as in W16A16, or each weight twice. In int8 it is 1."
ONE_BYTE = "That comes to 1 byte for an activation. Each takes 2 bytes in bf16."
FOUR_BYTES = "That comes to 4 bytes for an activation, or X and Z twice. It takes 2 in bf16."
W8A16 = {
    "ops": fma(),
    "size": replace(INT8, instead=(*INT8.instead, Instead("16 bits", 2, SIXTEEN_BITS))),
    "wide": itemsize("bf16", "an activation"),
}
REACHED = Derivation(
    [
        step("flops", "ops * B * D * F", "FLOPs", "the FLOPs"),
        step("weights", "size * D * F", "bytes", "the bytes of Y"),
        step("activations", "wide * B * D + wide * B * F", "bytes", "the bytes of X and Z"),
        step("moved", "weights + activations", "bytes", "the bytes"),
        step("intensity", "flops / moved", "FLOP/byte", "the intensity"),
        step("slope", "intensity * bandwidth", "FLOP/s", "the slope"),
        step("reached", "min(peak_flops, slope)", "FLOP/s", "the speed"),
    ],
    "FLOP/s",
)


def _wrong(derivation, name, expression, says):
    """A slip that gives another expression of a derivation's steps for its answer."""
    return Slip(name, derivation.ending(read(expression)), says)


def _intensity(B, D, F):
    return 2 * B * D * F / (D * F + 2 * B * D + 2 * B * F)


def _three_digits(value):
    return float(f"{value:.3g}")


def _reached_case(rng, number):
    """From far left of the ridge to far right of it, in six steps; wide layers and narrow."""
    B, D, F = (rng.choice((1, 3, 8)) * 2 ** rng.randint(2, 9) for _ in "BDF")
    low, high = (
        (0.01, 0.05), (0.1, 0.5), (0.8, 0.95), (1.05, 1.2), (2, 10), (20, 60),
    )[number % 6]  # fmt: skip
    speed = _three_digits(10 ** rng.uniform(11.5, 13))
    slope = speed * _intensity(B, D, F)
    return B, D, F, _three_digits(slope / rng.uniform(low, high)), speed


def _sheet(chip):
    """The bf16 peak with sparsity, twice the dense one, as a data sheet prints it."""
    value = 2 * float(rk.chip(chip).peak_flops("bf16"))
    return Input(
        value,
        "the printed peak",
        "FLOP/s",
        "the question",
        chips=(chip,),
        has=peak(chip, printed_sparse=True).has,
        again=lambda rng, chips: _sheet(chips[chip]),
    )


# So short that X and Z count on every chip.
LENGTHS = (0.375, 0.5, 0.75, 1)
# In both parts, so that a draw is the same in both.
ON_SHEET = {"sparse": _sheet(H100), "bandwidth": bandwidth(H100, link=False)}
DENSE = step(
    "dense", "sparse / 2", "FLOP/s", "the dense peak: half of the one printed with sparsity"
)
RIDGE = step(
    "ridge", "dense / bandwidth", "FLOP/byte", "the ridge: from this intensity on compute binds"
)
MATMUL = Derivation(
    [
        DENSE,
        RIDGE,
        step(
            "allowed", "ops / ridge", "bytes",
            "the bytes per multiply-add: at the ridge, its FLOPs over the ridge",
        ),
        step(
            "x_and_z", "2 / F + 2 / D", "bytes",
            "the bytes of X and Z per multiply-add: an element of X serves F of them, one of Z "
            "takes D",
        ),
        step("left", "allowed - x_and_z", "bytes", "the bytes of Y per multiply-add: what is left"),
        step(
            "batch", "2 / left", "tokens",
            "the critical batch: each element of Y serves B multiply-adds",
        ),
    ],
    "tokens",
)  # fmt: skip
ATTENTION = Derivation(
    [
        DENSE,
        RIDGE,
        step(
            "tokens", "2 * ridge", "tokens",
            "the tokens: with as many keys as queries the intensity T · S / (T + S) is T / 2",
        ),
    ],
    "tokens",
)  # fmt: skip

NINE_TENTHS = "That is where 90% of the peak is reached. Compute binds where all of it is."
NOT_PRINTED = (
    "That takes the printed peak, which holds only where two of every four weights are zero. "
    "Dense matrices reach half."
)
MINE_PARTS = {
    "matmul": Number(
        asks="From how many tokens on?",
        inputs={"D": count(4096, "D", draw=LENGTHS), "F": count(4096, "F", draw=LENGTHS)}
        | ON_SHEET
        | {"ops": fma()},
        formula=MATMUL,
        unit="tokens",
        words={
            "dense: left-out 2": NOT_PRINTED,
            "ridge given": "That is the ridge. B would be the ridge if D and F were so large that "
            "X and Z do not count.",
            "left: added x_and_z": "That adds the bytes of X and Z. They are a part of the bytes "
            "allowed.",
            "x_and_z: left-out 2 / F": "That leaves out X, which is read.",
            "x_and_z: left-out 2 / D": "That leaves out Z, which is written.",
        },
        slips=[
            _wrong(
                MATMUL,
                "nine tenths",
                "2 / (allowed / 0.9 - x_and_z)",
                NINE_TENTHS,
            ),
            _wrong(
                MATMUL,
                "printed ridge",
                "2 * ridge",
                "That is the ridge of the printed peak. Dense matrices reach half of it, and X "
                "and Z cross too.",
            ),
        ],
    ),
    "attention": Number(
        asks="From how many tokens on?",
        inputs=ON_SHEET,
        formula=ATTENTION,
        unit="tokens",
        words={
            "dense: left-out 2": NOT_PRINTED,
            "ridge given": "That takes T for the intensity. What is it with as many keys as "
            "queries?",
            "tokens: divided 2": "That takes 2T for the intensity. With T = S it is T/2.",
        },
        slips=[
            Slip(
                "nine tenths",
                lambda sparse, bandwidth: 0.9 * sparse / bandwidth,
                NINE_TENTHS,
            ),
        ],
    ),
}

QUESTIONS = {
    "ps2.formats": Order(
        **_formats_on(H200),
        beside=FORMATS_TABLE,
        points=2,
        items=("W16A16", "fp32", "W4A16", "W32A16", "W8A16"),
        again=_formats_elsewhere,
        reversed_says="Exactly reversed: the fewest tokens come first.",
        wrong={
            "by bytes": (
                lambda name: FORMATS[name][1],
                "That is the order of the bytes of a weight, or the reverse. At which peak does "
                "each multiply, and do more bytes take fewer tokens or more?",
            ),
        },
        how="the critical batch is the peak of the multiplication over the bandwidth, times the "
        "bytes of a stored weight, over 2",
        praise="fp32 has the widest weights, and still needs the fewest tokens, because its peak "
        "is so low. Weights stored in fp32 and multiplied in bf16 need the most.",
    ),
    "ps2.reached": Function(
        asks="Write reached(B, D, F, peak_flops, bandwidth): the most FLOP/s that X[B, D] · "
        "Y[D, F] reaches with int8 weights Y and bf16 activations X and Z. Each matrix crosses "
        "once; peak_flops is the chip's bf16 peak.",
        points=3,
        arguments=("B", "D", "F", "peak_flops", "bandwidth"),
        inputs=W8A16,
        results={"reached": REACHED},
        case=_reached_case,
        unit="FLOP/s",
        half=["reached: min-alone slope"],
        words={
            "reached: min-alone peak_flops": "That is the peak in every call. Is the other roof "
            "missing, or the parentheses around its divisor? a / b + c divides by b alone.",
            "reached: min-alone slope": "That is intensity times bandwidth alone, one roof of two.",
            "reached: min-other min(peak_flops, slope)": "That is the higher roof. A computation "
            "stays under the lower.",
            "moved: left-out activations": "That counts the weights' bytes alone. X is read and Z "
            "is written, too.",
            "moved: left-out weights": "That leaves out Y, the weights.",
            "activations: left-out wide · B · D": "That leaves out X, which is read.",
            "activations: left-out wide · B · F": "That leaves out Z, which is written.",
            "moved: twice weights": SIXTEEN_BITS,
            "weights: swapped size, wide": SIXTEEN_BITS,
            "wide: elements": ONE_BYTE,
            "activations: swapped wide, size": ONE_BYTE,
            "wide: fp32": FOUR_BYTES,
            "moved: twice activations": FOUR_BYTES,
            "activations: left-out wide": "That counts X or Z at 1 byte a number. Both are bf16: "
            "2 bytes.",
            "intensity given": "That is the intensity, FLOP/byte. Which speed do the two roofs "
            "allow at it?",
            "flops given": "Those are the FLOPs of the matmul. Which speed do the two roofs allow?",
        },
        slips={
            "reached": [
                _wrong(
                    REACHED,
                    "an intensity",
                    "min(intensity, peak_flops / bandwidth)",
                    "That is an intensity, FLOP/byte. Multiply by the bandwidth to get FLOP/s.",
                ),
                _wrong(
                    REACHED,
                    "a time",
                    "max(flops / peak_flops, moved / bandwidth)",
                    "That is the time in seconds. Divide the FLOPs by it to get FLOP/s.",
                ),
                _wrong(
                    REACHED,
                    "share of peak",
                    "min(1, slope / peak_flops)",
                    "That is a share of peak. Multiply by the peak.",
                ),
                _wrong(
                    REACHED,
                    "B for the intensity",
                    "min(peak_flops, bandwidth * B)",
                    "That is lecture 4's I ≈ B, which holds in bf16 where D and F are far above B.",
                ),
                _wrong(
                    REACHED,
                    "no overlap",
                    "1 / (1 / peak_flops + 1 / slope)",
                    "That adds the times of both, as if nothing overlapped. The roof is the lower "
                    "of the two.",
                ),
            ]
        },
        praise="Now draw it, below.",
        how="count bytes and FLOPs of one matmul; then take the lower of the two roofs",
    ),
    "ps2.mine": Several(
        asks="The data sheet of the {chip} prints {sparse} in bf16, with sparsity, and {bandwidth} "
        "of memory bandwidth. From how many tokens on is dense bf16 compute-bound: the B of "
        "X[B, {D}] · Y[{D}, {F}]; and the T of one head's attention, T queries on T keys, that "
        "reads Q, K and V once, writes its result once and keeps the scores on the chip?",
        points=3,
        parts=MINE_PARTS,
        how="halve the printed peak; then set each intensity to the ridge",
        praise="The ridge is the same, but the two computations reach it at different sizes.",
    ),
}
