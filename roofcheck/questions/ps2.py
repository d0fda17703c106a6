"""Problem set 2, on lectures 03, 04 and 06."""

from dataclasses import replace

import roofkit as rk
from roofcheck.inputs import (
    Input,
    Instead,
    bandwidth,
    count,
    fma,
    itemsize,
    longer,
    lower_roof,
    peak,
    retold,
    total,
)
from roofcheck.kinds import Formula, Function, Number, Order, Several
from roofcheck.slips import Slip

V6E, V5E, H200 = "TPU v6e", "TPU v5e", "H200"
H100, H100_PCIE = "H100 SXM", "H100 PCIe"
LAYER = {"D": count(6144, "D", draw=(1, 2)), "F": count(8192, "F", draw=(0.5, 1, 2))}
# In every part of question 1, so that a draw is the same in all.
MATMUL = {"B": count(384, "B", draw=(0.5, 1))} | LAYER

AT_RIDGE = Slip(
    "ridge",
    lambda peak, bandwidth: peak / bandwidth,
    "That is the ridge, FLOP/byte. Which B has that intensity?",
)


def _also(given, name, value, says):
    """An input that may be mistaken for one figure more."""
    return replace(given, instead=(*given.instead, Instead(name, value, says)))


def _without(given, name):
    """An input that is not mistaken for one of its figures."""
    return replace(given, instead=tuple(one for one in given.instead if one.name != name))


INT8 = _also(
    itemsize("int8", "a number"),
    "bf16",
    2,
    "That takes 2 bytes for a number, as in bf16. In int8 it is 1.",
)
INT8_WEIGHT = _also(
    itemsize("int8", "a weight"),
    "16 bits",
    2,
    "That fetches 2 bytes a weight, as in W16A16. In int8 it is 1.",
)
ACTIVATION = retold(itemsize("bf16", "an activation"), "elements", digits=3)
W8A16 = {"ops": fma(), "size": INT8_WEIGHT, "wide": ACTIVATION}


def _bytes(B, D, F, size, wide, x=1, z=1):
    """Of X, Y and Z: weights of so many bytes, activations of so many; X and Z so often."""
    return x * wide * B * D + size * D * F + z * wide * B * F


def _intensity(B, D, F, ops, size, wide, x=1, z=1):
    return ops * B * D * F / _bytes(B, D, F, size, wide, x, z)


def _reaching(intensity, D, F, ops, size, wide, x=1, z=1):
    """The B of that intensity."""
    return size / (ops / intensity - z * wide / D - x * wide / F)


def _crossings(matrix, does, *, narrow=True):
    """How often X or Z crosses: once."""
    missing = f"That leaves out {matrix}, which is {does}."
    half = f"That counts {matrix} at 1 byte a number. It is bf16: 2 bytes."
    instead = [Instead("left out", 0, missing, 3)]
    if narrow:
        instead.append(Instead("1 byte", 0.5, half, 3))
    return Input(1, instead=tuple(instead))


ACTIVATIONS = {"x": _crossings("X", "read"), "z": _crossings("Z", "written")}


def _batch_of(dtype):
    """The critical batch of questions 1 and 2's layer, all of it in one dtype."""
    return rk.critical_batch(
        rk.chip(V6E).roofline(dtype), LAYER["D"].value, LAYER["F"].value, dtype
    )


NO_OUTPUT = "That leaves out Z, which is written."
WEIGHTS_ALONE = "That counts the weights' bytes alone. X is read and Z is written besides."

# The parts of question 1.


DOUBLED = "That takes twice the int8 peak, as with sparsity. This chip has none."


def _int8_times(pick, combine):
    return Number(
        asks="How many microseconds?",
        inputs={
            "pick": pick,
            "ops": fma(),
            "size": INT8,
            "peak": peak(V6E, "int8"),
            "bandwidth": bandwidth(V6E),
        }
        | MATMUL,
        formula=lambda pick, B, D, F, ops, size, peak, bandwidth: (
            1e6 * pick(ops * B * D * F / peak, _bytes(B, D, F, size, size) / bandwidth)
        ),
        unit="µs",
        points=0.5,
        slips=[
            Slip(
                "doubled peak",
                lambda B, D, F, peak, bandwidth: (
                    1e6 * combine(B * D * F / peak, _bytes(B, D, F, 1, 1) / bandwidth)
                ),
                DOUBLED,
                here=True,
            ),
        ],
    )


def _v6e_times(given):
    """T_math and T_comms, in µs, of given FLOPs and bytes."""
    v6e = rk.chip(V6E)
    return 1e6 * given["FLOPs"] / v6e.peak_flops("int8"), 1e6 * given["bytes"] / v6e.bandwidth


INT8_PARTS = {
    "bytes": Number(
        asks="How many bytes?",
        inputs={"size": INT8} | MATMUL,
        formula=lambda B, D, F, size: _bytes(B, D, F, size, size),
        unit="bytes",
        points=0.5,
        slips=[
            Slip("no output", lambda B, D, F: B * D + D * F, NO_OUTPUT),
            Slip("no input", lambda B, D, F: D * F + B * F, "That leaves out X, which is read."),
            Slip("weights alone", lambda D, F: D * F, WEIGHTS_ALONE),
            Slip(
                "activations alone",
                lambda B, D, F: B * D + B * F,
                "That leaves out Y, most of the bytes.",
            ),
            Slip(
                "Z wide",
                lambda B, D, F: B * D + D * F + 4 * B * F,
                "That writes Z in 4 bytes, as it was summed. It leaves in int8, as all else.",
            ),
            Slip(
                "bf16 activations",
                lambda B, D, F: _bytes(B, D, F, 1, 2),
                "That keeps X and Z in bf16. Here they are int8 too.",
            ),
        ],
    ),
    "FLOPs": Number(
        asks="How many FLOPs?",
        inputs={"ops": fma()} | MATMUL,
        formula=lambda B, D, F, ops: ops * B * D * F,
        unit="FLOPs",
        points=0.5,
        slips=[
            Slip(
                "elements of Z",
                lambda B, F: 2 * B * F,
                "That is one multiply-add for each element of Z. Each takes D of them.",
            ),
            Slip(
                "binary",
                lambda B, D, F: 2 * B * D * F * 1e9 / 2**30,
                "That takes 2^30 for a giga. It is 10^9.",
            ),
        ],
    ),
    "intensity": Number(
        asks="Which intensity, FLOP/byte?",
        inputs={"ops": fma(), "size": INT8} | MATMUL,
        formula=lambda B, D, F, ops, size: _intensity(B, D, F, ops, size, size),
        unit="FLOP/byte",
        points=0.5,
        slips=[
            Slip("weights alone", lambda B: 2 * B, WEIGHTS_ALONE),
            Slip("B", lambda B: B, "That is about the intensity in bf16. In int8 the bytes halve."),
            Slip("no output", lambda B, F: 2 / (1 / B + 1 / F), NO_OUTPUT),
        ],
    ),
    # Twice the longer time is that of bf16's bytes, which is told.
    "T_lower": _int8_times(_without(longer(), "twice"), max),
    "T_upper": _int8_times(total(), lambda math, comms: math + comms),
    "critical batch": Number(
        asks="From how many tokens on does compute bind?",
        inputs={
            "ops": fma(),
            # At 2 bytes a number it is lecture 4's line, told below.
            "size": itemsize("int8", "a number"),
            "peak": peak(V6E, "int8"),
            "bandwidth": bandwidth(V6E),
            "x": _crossings("X", "read", narrow=False),
            "z": _crossings("Z", "written", narrow=False),
        }
        | MATMUL,
        formula=lambda peak, bandwidth, D, F, ops, size, x, z: _reaching(
            peak / bandwidth, D, F, ops, size, size, x, z
        ),
        unit="tokens",
        points=1.5,
        slips=[
            Slip(
                "lecture 4",
                lambda peak, bandwidth, D, F: _reaching(peak / bandwidth, D, F, 2, 2, 2),
                "That is lecture 4's line, which holds for 2 bytes a number. Write down I(B) in "
                "int8 and set it to the ridge.",
            ),
            Slip(
                "doubled peak",
                lambda peak, bandwidth, D, F: _reaching(2 * peak / bandwidth, D, F, 2, 1, 1),
                DOUBLED,
                here=True,
            ),
            AT_RIDGE,
            Slip(
                "without end",
                lambda peak, bandwidth: peak / bandwidth / 2,
                "There it would lie if D and F had no end. X and Z cross too.",
            ),
            Slip(
                "bf16 peak, no end",
                lambda peak, bandwidth: peak / bandwidth / 4,
                "That halves the bytes and leaves the peak, which doubles too, and leaves out X "
                "and Z.",
            ),
        ],
    ),
}


def _speed(roof, B, D, F, peak_flops, bandwidth, ops, size, wide, x, z):
    return roof(peak_flops, bandwidth * _intensity(B, D, F, ops, size, wide, x, z))


def _three_digits(value):
    return float(f"{value:.3g}")


def _reached_case(rng, number):
    """From far left of the ridge to far right of it, in six steps; wide layers and narrow."""
    B, D, F = (rng.choice((1, 3, 8)) * 2 ** rng.randint(2, 9) for _ in "BDF")
    low, high = (
        (0.01, 0.05), (0.1, 0.5), (0.8, 0.95), (1.05, 1.2), (2, 10), (20, 60),
    )[number % 6]  # fmt: skip
    speed = _three_digits(10 ** rng.uniform(11.5, 13))
    slope = speed * _intensity(B, D, F, 2, 1, 2)
    return B, D, F, _three_digits(slope / rng.uniform(low, high)), speed


def _reached_slip(name, bytes_moved, says):
    return Slip(
        name,
        lambda roof, B, D, F, peak_flops, bandwidth: roof(
            peak_flops, bandwidth * 2 * B * D * F / bytes_moved(B, D, F)
        ),
        says,
    )


SHARE = Input(
    0.9,
    "the share of the peak",
    instead=(
        Instead("all of it", 1, "That is where the whole peak is reached. 90% of it come sooner."),
    ),
)


EITHER = retold(
    W8A16["wide"],
    "elements",
    says="That leaves out X or Z, or counts both at 1 byte a number. Both cross, at 2 bytes.",
)


def _ninety(width):
    return Number(
        asks="From how many tokens on is 90% of the peak reached?",
        inputs={"share": SHARE, "peak": peak(H100_PCIE), "bandwidth": bandwidth(H100_PCIE)}
        | {"width": count(width, "D and F", draw=())}
        | W8A16
        | {"wide": EITHER},
        formula=lambda share, peak, bandwidth, width, ops, size, wide: _reaching(
            share * peak / bandwidth, width, width, ops, size, wide
        ),
        unit="tokens",
        slips=[
            Slip(
                "share of the batch",
                lambda peak, bandwidth, width: (
                    0.9 * _reaching(peak / bandwidth, width, width, 2, 1, 2)
                ),
                "That is 90% of the batch that reaches the peak. X and Z keep the speed from "
                "growing with B in proportion.",
            ),
            Slip(
                "without end",
                lambda share, peak, bandwidth: share * peak / bandwidth / 2,
                "There it would lie if D and F had no end. X and Z cross too.",
            ),
            Slip(
                "X or Z narrow",
                lambda share, peak, bandwidth, width: _reaching(
                    share * peak / bandwidth, width, width, 2, 1, 1.5
                ),
                "That counts X or Z at 1 byte a number. Both are bf16: 2 bytes.",
            ),
            Slip(
                "no end, bf16",
                lambda share, peak, bandwidth: share * peak / bandwidth,
                "That is 90% of the ridge. Which B has that intensity?",
            ),
        ],
    )


# Which bytes and which arithmetic, at D and F without end.
FORMATS = {
    "fp32": ("fp32", 4),
    "W32A16": ("bf16", 4),
    "W16A16": ("bf16", 2),
    "W8A16": ("bf16", 1),
    "W4A16": ("bf16", 0.5),
}


def _tokens_of(name):
    dtype, size = FORMATS[name]
    return rk.chip(H200).roofline(dtype).ridge * size / 2


def _own_case(rng, number):
    """More tokens than users, both more than one."""
    users = rng.randint(2, 9)
    return users * rng.randint(2, 9), rng.randint(10, 60), rng.randint(10, 60), users


def _own(B, D, F, U, ops=2, size=1, wide=2):
    return ops * B * D * F / (wide * B * D + U * size * D * F + wide * B * F)


def _attention_case(rng, number):
    """Queries fewer than keys, as many, and one."""
    keys = rng.randint(20, 200)
    return (rng.randint(2, 19), keys, 1)[number % 3], keys, rng.choice((16, 64, 128))


def _attention(T, S, ops=4, size=2, queries=1, keys=1, values=1, outputs=1, scores=0, h=1):
    """Of a head: how often each matrix crosses, the scores too."""
    moved = (queries + outputs) * T * h + (keys + values) * S * h + scores * T * S
    return ops * T * S * h / (size * moved)


def _sheet(chip):
    """The bf16 peak with sparsity, twice the dense one, as a data sheet prints it."""
    value = 2 * float(rk.chip(chip).peak_flops("bf16"))
    return Input(
        value,
        "the printed peak",
        "FLOP/s",
        "the question",
        (
            Instead(
                "printed",
                2 * value,
                "That takes the printed peak, which holds only where two of every four weights "
                "are zero. Dense matrices reach half.",
            ),
        ),
        chips=(chip,),
        has=peak(chip, printed_sparse=True).has,
        again=lambda rng, chips: _sheet(chips[chip]),
    )


ON_SHEET = {"sparse": _sheet(H100), "bandwidth": bandwidth(H100, link=False), "ops": fma()}
# So short that X and Z count on every chip.
LENGTHS = (0.375, 0.5, 0.75, 1)
MINE_PARTS = {
    "matmul": Number(
        asks="From how many tokens on?",
        inputs={
            "D": count(4096, "D", draw=LENGTHS),
            "F": count(4096, "F", draw=LENGTHS),
            "x": _crossings("X", "read", narrow=False),
            "z": _crossings("Z", "written", narrow=False),
        }
        | ON_SHEET,
        formula=lambda sparse, bandwidth, D, F, ops, x, z: _reaching(
            sparse / 2 / bandwidth, D, F, ops, 2, 2, x, z
        ),
        unit="tokens",
        slips=[
            Slip(
                "plus",
                lambda sparse, bandwidth, D, F: 1 / (2 * bandwidth / sparse + 1 / D + 1 / F),
                "That adds 1/D and 1/F. On the other side of the equation they are subtracted.",
            ),
            Slip(
                "share of the batch",
                lambda sparse, bandwidth, D, F: (
                    0.9 * _reaching(sparse / 2 / bandwidth, D, F, 2, 2, 2)
                ),
                "That is 90% of the tokens from which compute binds.",
            ),
            Slip(
                "nine tenths",
                lambda sparse, bandwidth, D, F: _reaching(
                    0.9 * sparse / 2 / bandwidth, D, F, 2, 2, 2
                ),
                "That is where 90% of the peak is reached. Compute binds from all of it on.",
            ),
            Slip(
                "ridge",
                lambda sparse, bandwidth: sparse / 2 / bandwidth,
                "That is the ridge, where B would lie if D and F had no end. X and Z cross too.",
            ),
            Slip(
                "printed ridge",
                lambda sparse, bandwidth: sparse / bandwidth,
                "That is the ridge of the printed peak. Dense matrices reach half of it, and X "
                "and Z cross too.",
            ),
        ],
    ),
    "attention": Number(
        asks="From how many tokens on?",
        inputs=ON_SHEET,
        # T/2 at the ridge.
        formula=lambda sparse, bandwidth, ops: 4 / ops * sparse / 2 / bandwidth,
        unit="tokens",
        slips=[
            Slip(
                "ridge",
                lambda sparse, bandwidth: sparse / 2 / bandwidth,
                "That takes T for the intensity. What is it if as many keys as queries cross?",
            ),
            Slip(
                "half the ridge",
                lambda sparse, bandwidth: sparse / 4 / bandwidth,
                "That takes 2T for the intensity. With T = S it is T/2.",
            ),
            Slip(
                "nine tenths",
                lambda sparse, bandwidth: 0.9 * sparse / bandwidth,
                "That is where 90% of the peak is reached. Compute binds from all of it on.",
            ),
        ],
    ),
}

QUESTIONS = {
    "ps2.int8": Several(
        asks="X[{B}, {D}] · Y[{D}, {F}] all in int8, at the int8 peak, on one {chip}: {parts}?",
        points=4,
        parts=INT8_PARTS,
        follows={
            "intensity": lambda given: given["FLOPs"] / given["bytes"],
            "T_lower": lambda given: max(_v6e_times(given)),
            "T_upper": lambda given: sum(_v6e_times(given)),
        },
        how="count the bytes of X, Y and Z and the FLOPs first; the other four follow from them",
        praise="Twice the intensity of bf16 under twice the ridge.",
    ),
    "ps2.weights": Number(
        asks="Y[{D}, {F}] is int8, X[B, {D}] and Z[B, {F}] are bf16, multiplied at the bf16 peak "
        "of the {chip}. From how many tokens on does compute bind, exactly?",
        points=2,
        inputs={
            "peak": retold(
                peak(V6E),
                "int8",
                says="That takes twice the dense bf16 peak: the int8 peak, or one with sparsity.",
            ),
            "bandwidth": bandwidth(V6E),
        }
        | LAYER
        | W8A16
        | ACTIVATIONS,
        formula=lambda peak, bandwidth, D, F, ops, size, wide, x, z: _reaching(
            peak / bandwidth, D, F, ops, size, wide, x, z
        ),
        unit="tokens",
        slips=[
            AT_RIDGE,
            Slip(
                "without end",
                lambda peak, bandwidth: peak / bandwidth / 2,
                "There it would lie if D and F had no end. X and Z cross too, at 2 bytes a number.",
            ),
            Slip(
                "lecture 6",
                lambda: rk.chip(V5E).roofline("bf16").ridge / 2,
                "That is lecture 6's, of a TPU v5e with D and F without end.",
                here=True,
            ),
            Slip(
                "both sides",
                lambda: _batch_of("int8"),
                "That is question 1's batch, with int8 on both sides. Here the bytes of X and Z "
                "and the peak are others.",
                here=True,
            ),
            Slip(
                "B",
                lambda: MATMUL["B"].value,
                "That is question 1's B, which is given. Here B is what is sought.",
                here=True,
            ),
        ],
        praise=f"Half of the {_batch_of('bf16'):.0f} that bf16 and int8 on both sides take: "
        "against bf16 the weights' bytes have halved, against int8 the peak has.",
        how="write down bytes and FLOPs, set their ratio to the ridge, solve for B",
    ),
    "ps2.formats": Order(
        asks="Order these formats by the tokens from which compute binds on an H200, fewest first.",
        points=2,
        items=("W16A16", "fp32", "W4A16", "W32A16", "W8A16"),
        key=_tokens_of,
        reversed_says="Exactly reversed: the fewest tokens come first.",
        wrong={
            "by bytes": (
                lambda name: FORMATS[name][1],
                "That is the order of the bytes of a weight. At which peak does each multiply?",
            ),
        },
        how="the critical batch is the peak of the multiplication over the bandwidth, times the "
        "bytes of a stored weight, over 2",
        praise="fp32 is the widest, and the first to be compute-bound: its peak is so low. Stored "
        "in fp32 and multiplied in bf16, weights are the last.",
    ),
    "ps2.reached": Function(
        asks="Write reached(B, D, F, peak_flops, bandwidth): the most FLOP/s that X[B, D] · "
        "Y[D, F] reaches with int8 weights and bf16 activations.",
        points=3,
        arguments=("B", "D", "F", "peak_flops", "bandwidth"),
        inputs={
            "roof": retold(
                lower_roof(),
                "first",
                says="That is the peak in every call: the second roof is missing, or its divisor's "
                "parentheses. a / b + c divides by b alone.",
            )
        }
        | W8A16
        | ACTIVATIONS,
        results={"reached": _speed},
        case=_reached_case,
        unit="FLOP/s",
        half=["roof: second"],
        slips={
            "reached": [
                _reached_slip("weights alone", lambda B, D, F: D * F, WEIGHTS_ALONE),
                _reached_slip(
                    "activations alone",
                    lambda B, D, F: 2 * B * D + 2 * B * F,
                    "That leaves out Y, the weights.",
                ),
                Slip(
                    "an intensity",
                    lambda B, D, F, peak_flops, bandwidth: min(
                        _intensity(B, D, F, 2, 1, 2), peak_flops / bandwidth
                    ),
                    "That is an intensity, FLOP/byte. Multiply by the bandwidth to get FLOP/s.",
                ),
                Slip(
                    "a time",
                    lambda B, D, F, peak_flops, bandwidth: max(
                        2 * B * D * F / peak_flops, _bytes(B, D, F, 1, 2) / bandwidth
                    ),
                    "That is the time in seconds. Divide the FLOPs by it to get FLOP/s.",
                ),
                Slip(
                    "share of peak",
                    lambda B, D, F, peak_flops, bandwidth: min(
                        1, bandwidth * _intensity(B, D, F, 2, 1, 2) / peak_flops
                    ),
                    "That is a share of peak. Multiply by the peak.",
                ),
                Slip(
                    "B for the intensity",
                    lambda roof, B, peak_flops, bandwidth: roof(peak_flops, bandwidth * B),
                    "That is lecture 4's I ≈ B, which holds in bf16 and for D and F without end.",
                ),
                Slip(
                    "2B for the intensity",
                    lambda roof, B, peak_flops, bandwidth: roof(peak_flops, bandwidth * 2 * B),
                    WEIGHTS_ALONE,
                ),
                Slip(
                    "the intensity",
                    lambda B, D, F: _intensity(B, D, F, 2, 1, 2),
                    "That is the intensity, FLOP/byte. Which speed do the two roofs allow at it?",
                ),
                Slip(
                    "FLOPs",
                    lambda B, D, F: 2 * B * D * F,
                    "Those are the FLOPs of the matmul. Which speed do the two roofs allow?",
                ),
            ]
        },
        praise="Now draw it, below.",
        how="count bytes and FLOPs of one matmul; then take the lower of the two roofs",
    ),
    "ps2.ninety": Several(
        asks="int8 weights, bf16 activations, on one {chip}: from how many tokens on is 90% of "
        "the bf16 peak reached with {parts}?",
        points=2,
        parts={"D = F = 3072": _ninety(3072), "D = F = 1280": _ninety(1280)},
        how="set the intensity to 90% of the ridge and solve for B",
        praise="The wider layer gets there first: its weights are most of its bytes.",
    ),
    "ps2.own": Formula(
        asks="B tokens come from U users, B/U from each, and each user has int8 weights Y[D, F] "
        "of their own; X[B, D] and Z[B, F] are bf16. Give the intensity as a formula of B, D, F "
        "and U.",
        points=2,
        arguments=("B", "D", "F", "U"),
        inputs=W8A16,
        results={
            "intensity": lambda B, D, F, U, ops, size, wide: _own(B, D, F, U, ops, size, wide)
        },
        case=_own_case,
        unit="FLOP/byte",
        slips={
            "intensity": [
                Slip(
                    "shared",
                    lambda B, D, F: _own(B, D, F, 1),
                    "That shares one matrix among all users. U of them are fetched.",
                ),
                Slip(
                    "a matrix for each token",
                    lambda B, D, F: _own(B, D, F, B),
                    "That fetches a matrix for each token. The tokens of one user share theirs.",
                ),
                Slip(
                    "lecture 4",
                    lambda D, F: D * F / (D + D * F + F),
                    "That is lecture 4's: a matrix for each token, all in bf16.",
                ),
                Slip(
                    "shared, roughly",
                    lambda B: 2 * B,
                    "That is about the intensity where all users share one matrix. U of them are "
                    "fetched.",
                ),
                Slip(
                    "limit of a matrix for each token",
                    lambda: 2,
                    "That is what a matrix for each token approaches. The tokens of one user "
                    "share theirs.",
                ),
                Slip(
                    "weights alone",
                    lambda B, U: 2 * B / U,
                    "That counts the weights' bytes alone. X is read and Z is written besides.",
                ),
                Slip(
                    "U times X and Z",
                    lambda B, D, F, U: _own(B, D, F, 1) / U,
                    "That moves X and Z once for each user. Each token has one row of either.",
                ),
                Slip(
                    "FLOPs of one user",
                    lambda B, D, F, U: _own(B, D, F, U) / U,
                    "That counts the FLOPs of one user and the bytes of all.",
                ),
                Slip(
                    "U times the FLOPs",
                    lambda B, D, F, U: _own(B, D, F, U) * U,
                    "That multiplies each token with the weights of every user. It meets those of "
                    "its own.",
                ),
                Slip("Z not written", lambda B, D, F, U: 2 * B * F / (2 * B + U * F), NO_OUTPUT),
                Slip(
                    "X not read",
                    lambda B, D, F, U: 2 * B * D / (2 * B + U * D),
                    "That leaves out X, which is read.",
                ),
                Slip(
                    "FLOPs",
                    lambda B, D, F: 2 * B * D * F,
                    "Those are the FLOPs. Divide them by the bytes.",
                ),
                Slip(
                    "bytes",
                    lambda B, D, F, U: 2 * B * D + U * D * F + 2 * B * F,
                    "Those are the bytes. Intensity is FLOPs over bytes.",
                ),
            ]
        },
        how="each user is a matmul of B/U tokens; add up the FLOPs of all, then the bytes of all",
        praise="With one user it is question 2; with a user for each token it stays below 2, "
        "however many come.",
    ),
    "ps2.attention": Formula(
        asks="One head of attention, all bf16: Z = softmax(Q · Kᵀ) · V with T queries, S keys and "
        "values, h numbers each. Q, K and V are read and Z is written once; the scores stay on "
        "the chip. Give the intensity of the two matmuls as a formula of T, S and h.",
        points=3,
        arguments=("T", "S", "h"),
        inputs={"ops": fma(), "size": itemsize("bf16", "a number")},
        results={"intensity": lambda T, S, h, ops, size: 2 * _attention(T, S, ops, size)},
        case=_attention_case,
        unit="FLOP/byte",
        slips={
            "intensity": [
                Slip(
                    "one matmul",
                    lambda T, S: _attention(T, S, ops=2),
                    "That counts the FLOPs of one matmul. There are two: the scores, then their "
                    "product with V.",
                ),
                Slip(
                    "scores alone",
                    lambda T, S, h: _attention(T, S, 2, values=0, outputs=0, scores=1, h=h),
                    "That is Q · Kᵀ alone, with its scores written. They stay on the chip, and a "
                    "product with V follows.",
                ),
                Slip(
                    "scores alone, kept",
                    lambda T, S: _attention(T, S, 2, values=0, outputs=0),
                    "That is Q · Kᵀ alone. A product with V follows, and Z is written.",
                ),
                Slip(
                    "scores cross once",
                    lambda T, S, h: _attention(T, S, scores=1, h=h),
                    "That moves the scores. They stay on the chip.",
                ),
                Slip(
                    "scores cross twice",
                    lambda T, S, h: _attention(T, S, scores=2, h=h),
                    "That writes the scores and reads them again. They stay on the chip.",
                ),
                Slip(
                    "scores cross four times",
                    lambda T, S, h: _attention(T, S, scores=4, h=h),
                    "That writes and reads the scores twice, before and after the softmax. They "
                    "stay on the chip.",
                ),
                Slip(
                    "no output",
                    lambda T, S: _attention(T, S, outputs=0),
                    NO_OUTPUT,
                ),
                Slip(
                    "no queries",
                    lambda T, S: _attention(T, S, queries=0, outputs=0),
                    "That leaves out Q, which is read, and Z, which is written.",
                ),
                Slip(
                    "K or V",
                    lambda T, S: _attention(T, S, values=0),
                    "That leaves out K or V. Both are read.",
                ),
                Slip(
                    "prefill",
                    lambda T: T / 2,
                    "That is the case T = S. Here the two may differ.",
                ),
                Slip(
                    "keys",
                    lambda S: S / 2,
                    "That is the case T = S. Here the two may differ.",
                ),
                Slip(
                    "decode",
                    lambda S: S / (S + 1),
                    "That is the case of a single query.",
                ),
                Slip(
                    "limit of decode",
                    lambda: 1,
                    "That is what a single query approaches. Here there are T.",
                ),
                Slip(
                    "FLOPs",
                    lambda T, S, h: 4 * T * S * h,
                    "Those are the FLOPs. Divide them by the bytes.",
                ),
                Slip(
                    "bytes",
                    lambda T, S, h: 4 * h * (T + S),
                    "Those are the bytes. Intensity is FLOPs over bytes.",
                ),
            ]
        },
        how="two matmuls, T × h by h × S and T × S by S × h; four matrices cross",
        praise="The width has cancelled. A prompt, T = S, has T/2; a single new token less than "
        "1, however long the past.",
    ),
    "ps2.mine": Several(
        asks="The data sheet of the {chip} prints {sparse} in bf16, with sparsity, and {bandwidth} "
        "of memory bandwidth. From how many tokens on is dense bf16 compute-bound: the B of "
        "X[B, {D}] · Y[{D}, {F}]; and the T of one head's attention, T queries on T keys, that "
        "reads Q, K and V once, writes its result once and keeps the scores on the chip?",
        points=3,
        parts=MINE_PARTS,
        how="halve the printed peak; then set each intensity to the ridge",
        praise="One ridge, two thresholds.",
    ),
}
