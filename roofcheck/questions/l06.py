"""Lecture 06, "int8 and friends"."""

import roofkit as rk
from roofcheck.inputs import (
    Input,
    Instead,
    bandwidth,
    count,
    fma,
    itemsize,
    link,
    longer,
    peak,
)
from roofcheck.kinds import Choice, Number
from roofcheck.slips import Slip

V5E, V4, A100, H100, H200 = "TPU v5e", "TPU v4", "A100 80GB SXM", "H100 SXM", "H200"


def _critical(peak, bandwidth, size, ops):
    return peak / bandwidth * size / ops


def _stored(bits, *, wide=True):
    """The bytes of a weight of so many bits; ``wide`` if 16 bits may be taken for them."""
    found = itemsize(f"int{bits}", "a weight")
    instead = list(found.instead)
    if wide:
        says = f"That fetches 2 bytes a weight, as in W16A16. A weight of {bits} bits takes fewer."
        instead.append(Instead("16 bits", 2, says))
    if bits == 4:
        # In place of "elements", which says the same of it.
        instead[0] = Instead(
            "8 bits", 1, "That fetches 1 byte a weight, as W8 does. 4 bits are half a byte."
        )
    return Input(found.value, found.what, found.unit, found.source, tuple(instead), found.rarely)


# From a peak, a bandwidth, the bytes of a weight and the FLOPs of a multiply-add to tokens.
OF_TOKENS = [
    Slip(
        "ridge",
        lambda peak, bandwidth: peak / bandwidth,
        "That is the ridge, FLOP/byte. Set the intensity, 2B over the bytes of a weight, equal to "
        "it and solve for B.",
    ),
    Slip(
        "narrower needs more",
        lambda peak, bandwidth, size, ops: peak / bandwidth * ops / size,
        "That divides by the bytes of a weight. Narrower weights arrive sooner: fewer tokens fill "
        "the time, not more.",
    ),
]
AT_RIDGE = "the intensity is 2B over the bytes of a stored weight; it must reach the ridge of the "
AT_RIDGE += "peak that the multiplication runs at"


def _tokens(asks, peak, bandwidth, size, *, slips=(), praise=""):
    """From how many tokens on a matmul of wide matrices is compute-bound."""
    return Number(
        asks=asks,
        inputs={"peak": peak, "bandwidth": bandwidth, "size": size, "ops": fma()},
        formula=_critical,
        unit="tokens",
        slips=[*slips, *OF_TOKENS],
        how=AT_RIDGE,
        praise=praise,
    )


def _step(pick, tokens, ops, size, peak, bandwidth):
    """Seconds of a decode step for each weight."""
    return pick(ops * tokens / peak, size / bandwidth)


def _fetched(blocks, head, cache, bits):
    return blocks * bits / 16 + head + cache


QUESTIONS = {
    "l06.warmup-bytes": _tokens(
        "X[B, D] · Y[D, F] in bf16, with D and F far larger than B, on the {chip}. From how many "
        "tokens B on is it compute-bound?",
        peak(H100),
        bandwidth(H100),
        itemsize("bf16", "a number"),
        slips=[
            Slip(
                "as published",
                lambda: 149,
                "That is the figure as published. How many bytes has a bf16 number?",
                here=True,
            ),
        ],
        praise="The published figure counts one byte a number.",
    ),
    "l06.warmup-width": Number(
        asks="Two {chip} split the width D of a bf16 matmul between them. From which D on does the "
        "link keep up with the arithmetic?",
        inputs={
            "peak": peak(H100),
            "link": link(H100),
            "ops": fma(),
            "size": itemsize("bf16", "a partial sum"),
            "chips": count(
                2,
                "the chips",
                instead=[
                    Instead(
                        "one chip",
                        1,
                        "That lets one chip do all the arithmetic. Each of the two does half.",
                    )
                ],
                draw=(),
            ),
        },
        formula=lambda peak, link, ops, size, chips: size * chips / ops * peak / link,
        slips=[
            Slip(
                "halved twice",
                lambda peak, link: 4 * peak / link,
                "That halves T_math twice. Two chips share 2BDF FLOPs: BDF each.",
            ),
            Slip(
                "memory",
                lambda peak: 2 * peak / rk.chip(H100).bandwidth,
                "That takes the memory's bandwidth. The partial sums cross the link.",
                here=True,
            ),
            Slip(
                "memory ridge",
                lambda peak: peak / rk.chip(H100).bandwidth,
                "That is the ridge over the memory. The partial sums cross the link.",
                here=True,
            ),
            Slip(
                "v5e",
                lambda: rk.critical_width(rk.group(V5E, 2)),
                "That is the width of two TPU v5e. The H100 has another peak and other links.",
                here=True,
            ),
            Slip(
                "four chips",
                lambda peak, link: 6 * peak / link,
                "That is the width for four of them. Two are asked about.",
            ),
            Slip(
                "upside down",
                lambda peak, link: link / peak / 2,
                "Upside down: that is 1 over the value asked for.",
            ),
        ],
        how="each chip computes BDF FLOPs and sends 2BF bytes; D drops out of one of the two times",
    ),
    "l06.int8": _tokens(
        "Both matrices of a matmul are int8 on the {chip}. From how many tokens on is it "
        "compute-bound?",
        peak(V5E, "int8"),
        bandwidth(V5E),
        _stored(8),
    ),
    "l06.w8a16": _tokens(
        "Weights are int8, activations bf16, on the {chip}. From how many tokens on is the matmul "
        "compute-bound?",
        peak(V5E),
        bandwidth(V5E),
        _stored(8),
    ),
    "l06.forgotten": Choice(
        asks="A text on int8 times int8: half the bytes for the same FLOPs, so the critical batch "
        "falls from 240 to 120. What did it forget?",
        formula=lambda: "peak",
        why_not={
            "bytes": "Those it did halve. What else changes when both matrices are int8?",
            "bandwidth": "A memory carries as many bytes a second in any format. What does change "
            "when both matrices are int8?",
        },
        also={"peak": ("the ridge", "FLOP/s", "peak FLOP/s", "compute", "the int8 peak")},
        praise="With twice the peak the ridge doubles as well as the intensity.",
        how="list what int8 on both sides changes: the bytes, and which figure of the chip?",
    ),
    "l06.rounding": Choice(
        asks="An answer key has 240 tokens for bf16, from 1.97e14 FLOP/s and 8.2e11 byte/s, and "
        "243 for int8, from 3.94e14 and 8.1e11. What makes the 3?",
        formula=lambda: "bandwidth",
        why_not={
            "int8": "In int8 the bytes halve and the peak doubles: the two cancel to the last "
            "digit. Compare the inputs of the two lines.",
            "peak": "3.94 is twice 1.97, to the last digit. Compare the other input.",
        },
        also={
            "bandwidth": (
                "memory",
                "rounding",
                "the rounded bandwidth",
                "rounding of the bandwidth",
                "8.1",
            ),
            "int8": ("the format", "quantisation", "the bytes"),
        },
        praise="One memory in two roundings. A figure moved by its rounding is no effect.",
        how="which of the four figures are not in the ratio that int8 gives them?",
    ),
    "l06.w4a16": _tokens(
        "Weights of 4 bits are widened to bf16 on the {chip}. From how many tokens on is the "
        "matmul compute-bound?",
        peak(A100, dtypes=("int8",), sparse=False),
        bandwidth(A100, others=["A100 40GB SXM"]),
        _stored(4),
        praise="A quarter of the bytes of W16A16, a quarter of its tokens.",
    ),
    "l06.w4a8": _tokens(
        "Weights of 4 bits are widened to int8 and multiplied by int8 activations on the {chip}. "
        "From how many tokens on is the matmul compute-bound?",
        peak(A100, "int8"),
        bandwidth(A100, others=["A100 40GB SXM"]),
        _stored(4, wide=False),
        praise="The same bytes as W4A16 and twice the peak: twice the tokens to fill it.",
    ),
    "l06.hundred": Number(
        asks="On the {chip} a model writes a token for each of {tokens} users at once. Its weights "
        "go from 16 to 4 bits, its activations stay at 16. How many times as fast is the step, "
        "with full overlap?",
        inputs={
            "tokens": count(100, "the tokens", draw=(0.5, 0.75, 1, 1.2)),
            "wide": count(2, "the bytes of a 16-bit weight", draw=()),
            "narrow": count(0.5, "the bytes of a 4-bit weight", draw=()),
            "ops": fma(),
            "peak": peak(A100, dtypes=(), sparse=False),
            "bandwidth": bandwidth(A100, link=False),
            "pick": longer(),
        },
        formula=lambda pick, tokens, ops, wide, narrow, peak, bandwidth: (
            _step(pick, tokens, ops, wide, peak, bandwidth)
            / _step(pick, tokens, ops, narrow, peak, bandwidth)
        ),
        unit="times",
        slips=[
            Slip(
                "bytes",
                lambda wide, narrow: wide / narrow,
                "That is the ratio of the bytes. It holds while both steps wait for memory.",
            ),
            Slip(
                "int8 peak",
                lambda pick, tokens, ops, wide, narrow, peak, bandwidth: (
                    _step(pick, tokens, ops, wide, peak, bandwidth)
                    / _step(pick, tokens, ops, narrow, 2 * peak, bandwidth)
                ),
                "That multiplies in int8. Activations stay at 16 bits, and so does the peak.",
            ),
        ],
        how="the longer of T_math and T_comms, before and after",
        # Before, memory binds; after, compute does.
        holds=lambda tokens, peak, bandwidth: (
            1.1 * peak / bandwidth / 4 < tokens < 0.9 * peak / bandwidth
        ),
    ),
    "l06.axis": Choice(
        asks="Charts of weight formats have the axis 'MACs per element': multiply-adds for each "
        "weight. Which quantity is that?",
        formula=lambda: "tokens",
        why_not={
            "FLOP/s": "A speed counts by the second; this counts by the weight. How often is each "
            "weight used?",
            "FLOP/byte": "Close: an intensity counts by the byte, and a weight takes 2, 1 or half "
            "a byte by its format. How often is each weight used?",
        },
        also={
            "tokens": ("B", "batch", "the batch", "tokens B", "batch size", "number of tokens"),
            "FLOP/s": ("TOPS", "TOP/s", "speed", "FLOPS", "performance"),
            "FLOP/byte": ("intensity", "arithmetic intensity", "operational intensity"),
        },
        praise="Each token meets each weight in one multiply-add.",
        how="a weight fetched once meets each of B tokens; how many multiply-adds is that?",
    ),
    "l06.q4-1": Number(
        asks="Weights of {bits} bits come in groups of {group}, each with a scale of {scale} bits "
        "and an offset of {offset}. They are multiplied in bf16 on the {chip}. From how many "
        "tokens on is the matmul compute-bound?",
        inputs={
            "bits": count(4, "the bits of a weight", draw=()),
            "scale": count(
                16,
                "the bits of a scale",
                instead=[
                    Instead(
                        "no scale",
                        0,
                        "That leaves out the scale, or the offset: 16 bits each for every group.",
                    )
                ],
                draw=(),
            ),
            "offset": count(16, "the bits of an offset", draw=()),
            "group": count(
                32,
                "the weights of a group",
                instead=[
                    Instead(
                        "each weight",
                        1,
                        "That gives each weight a scale and an offset of its "
                        "own. A group shares them.",
                    )
                ],
                draw=(0.5, 2, 4),
            ),
            "byte": Input(8, "the bits of a byte"),
            "ops": fma(),
            "peak": peak(A100, dtypes=("int8",), sparse=False),
            "bandwidth": bandwidth(A100),
        },
        formula=lambda bits, scale, offset, group, byte, ops, peak, bandwidth: (
            peak / bandwidth * (bits + (scale + offset) / group) / byte / ops
        ),
        unit="tokens",
        slips=[
            Slip(
                "bare bits",
                lambda bits, byte, ops, peak, bandwidth: peak / bandwidth * bits / byte / ops,
                "That fetches the bits of the weights alone. Scales and offsets are fetched too.",
            ),
            Slip(
                "bytes of scale as bits",
                lambda bits, scale, offset, group, byte, ops, peak, bandwidth: (
                    peak / bandwidth * (bits + (scale + offset) / byte / group) / byte / ops
                ),
                "That adds the bytes of scale and offset to the bits of a weight.",
            ),
            Slip(
                "bits",
                lambda bits, scale, offset, group, ops, peak, bandwidth: (
                    peak / bandwidth * (bits + (scale + offset) / group) / ops
                ),
                "That takes the bits of a weight for its bytes. A byte has 8.",
            ),
            Slip(
                "bits a weight",
                lambda bits, scale, offset, group: bits + (scale + offset) / group,
                "Those are the bits a weight. Tokens are asked for.",
            ),
            Slip(
                "ridge",
                lambda peak, bandwidth: peak / bandwidth,
                "That is the ridge, FLOP/byte, which W16A16 reaches at as many tokens.",
            ),
        ],
        how="first the bits a weight, scale and offset included; then ridge times bytes over 2",
        praise="Five bits a weight, a quarter more than four.",
    ),
    "l06.llama": Number(
        asks="A step fetches {blocks} GB of weights in 16 bits, {head} for lm_head and {cache} for "
        "the KV cache. The weights go to {bits} bits, the rest stays. How many times fewer bytes "
        "does it fetch?",
        inputs={
            "blocks": count(12.95, "the blocks in 16 bits, GB", draw=(0.5, 1, 2)),
            "head": count(0.262, "lm_head, GB", draw=(1, 2)),
            "cache": count(1.074, "the KV cache, GB", draw=(0.5, 1, 2)),
            "bits": count(
                4.125,
                "the bits of a weight",
                instead=[
                    Instead("4", 4, "That leaves out the scales: 4 bits for 4.125.", digits=3),
                ],
                draw=(),
            ),
        },
        formula=lambda blocks, head, cache, bits: (
            _fetched(blocks, head, cache, 16) / _fetched(blocks, head, cache, bits)
        ),
        unit="times",
        rtol=0.005,
        slips=[
            Slip(
                "blocks alone",
                lambda bits: 16 / bits,
                "That is the ratio of the blocks alone. lm_head and the cache stay as they were.",
            ),
            Slip(
                "no cache",
                lambda blocks, head, bits: (
                    _fetched(blocks, head, 0, 16) / _fetched(blocks, head, 0, bits)
                ),
                "That leaves out the cache. A step reads it too, before and after.",
            ),
            Slip(
                "all narrow",
                lambda: 4,
                "That narrows everything to 4 bits. lm_head and the cache stay as they were.",
            ),
        ],
        how="all the bytes before over all the bytes after",
    ),
    "l06.v100": Choice(
        asks="A V100's matrix units multiply fp16 alone. Its weights go from fp16 to int8. Which "
        "time shrinks?",
        formula=lambda: "T_comms",
        why_not={
            "both": "One does. The weights are widened to fp16 before they are multiplied: as many "
            "FLOPs, at the same peak.",
            "T_math": "They are widened to fp16 before they are multiplied: as many FLOPs, at the "
            "same peak.",
            "neither": "Stored in 8 bits, the weights are half the bytes, whatever they are "
            "multiplied in.",
        },
        also={
            "T_comms": ("memory", "comms", "T comms", "memory time", "bytes", "fetching"),
            "T_math": ("compute", "math", "T math", "arithmetic"),
            "both": ("both times", "T_math and T_comms", "T_comms and T_math"),
            "neither": ("none", "nothing"),
        },
        praise="Half the bytes, the same peak: W8A16.",
        how="what is stored sets the bytes, what is multiplied sets the peak",
    ),
    "l06.v4": _tokens(
        "Both matrices are int8 on the {chip}, whose int8 peak is {peak} and whose memory carries "
        "{bandwidth}. From how many tokens on is a matmul compute-bound?",
        peak(V4, "int8"),
        bandwidth(V4),
        _stored(8, wide=False),
        slips=[
            Slip(
                "doubled peak",
                lambda peak, bandwidth: 2 * peak / bandwidth / 2,
                "That doubles the peak as the bits halve, or keeps bf16's bytes. On this chip int8 "
                "runs at the bf16 peak, on 1 byte a number.",
                here=True,
            ),
        ],
        praise="Half the bytes at the same peak: the critical batch halves.",
    ),
    "l06.sparse": _tokens(
        "The data sheet of the {chip} gives twice {peak} in int8 with sparsity, and {bandwidth}. "
        "From how many tokens on is a dense int8 matmul compute-bound?",
        peak(H200, "int8", dtypes=(), sparse=False, printed_sparse=True),
        bandwidth(H200, others=[H100], link=False),
        _stored(8, wide=False),
        slips=[
            Slip(
                "printed",
                lambda peak, bandwidth, size, ops: _critical(2 * peak, bandwidth, size, ops),
                "That takes the printed peak. With sparsity a sheet prints twice what dense "
                "matrices reach.",
            ),
        ],
        praise="The dense peak, half of what is printed.",
    ),
    "l06.overtakes": Number(
        asks="The {chip} does {peak} in bf16, twice that in fp8, and its memory carries "
        "{bandwidth}. From how many tokens on does W8A8 in fp8 beat W4A16?",
        inputs={
            "peak": peak(H100, dtypes=(), sparse=False),
            "bandwidth": bandwidth(H100, link=False),
            "size": count(
                1,
                "the bytes of an fp8 weight",
                instead=[
                    Instead(
                        "2 bytes",
                        2,
                        "That is where W8A8 itself turns compute-bound, or W16A16; it has been "
                        "ahead of W4A16 for a while. From where on?",
                    ),
                ],
                draw=(),
            ),
            "ops": fma(),
        },
        formula=_critical,
        unit="tokens",
        slips=[
            Slip(
                "W4A16 at its ridge",
                lambda peak, bandwidth, ops: _critical(peak, bandwidth, 0.5, ops),
                "That is where W4A16 itself turns compute-bound; there it is still ahead. Where "
                "does its T_math pass the time that W8A8's weights take?",
            ),
            Slip(
                "bits",
                lambda peak, bandwidth: peak / bandwidth * 8 / 2,
                "That takes the 8 bits of a weight for its bytes. A byte has 8.",
            ),
        ],
        how="near there W4A16 computes and W8A8 still waits for its weights: set the two times "
        "equal",
        praise="There W4A16 has long been computing, and W8A8 still waits for memory.",
    ),
    "l06.own-weights": Number(
        asks="Each of 512 users has an int8 matrix of its own, 4096 × 4096: X[B, D] · Y[B, D, F], "
        "all int8. What is the intensity, in FLOP/byte?",
        inputs={"ops": fma(), "size": _stored(8)},
        formula=lambda ops, size: ops / size,
        unit="FLOP/byte",
        slips=[
            Slip(
                "shared",
                lambda: 2 * 512,
                "That fetches one matrix for all users. Each brings its own.",
            ),
            Slip(
                "bytes for a FLOP",
                lambda ops, size: size / ops,
                "That is bytes over FLOPs. Intensity is FLOPs over bytes.",
            ),
            Slip(
                "shared, exactly",
                lambda: rk.matmul(512, 4096, 4096, "int8").intensity,
                "That fetches one matrix for all users. Each brings its own.",
            ),
            Slip(
                "batch",
                lambda: 512,
                "That is B, the intensity in bf16 where all users share one matrix. Each brings "
                "its own here.",
            ),
        ],
        exact=True,
        how="count FLOPs and bytes of one user; the others do the same again",
        praise="Each weight is fetched for one multiply-add. No batch helps.",
    ),
}
