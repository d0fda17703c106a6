"""Lecture 01, "Where does the time go?"."""

import math

import roofkit as rk
from roofkit._inputs import ITEMSIZE
from roofkit.judge import Choice, Number, Turn

WEIGHTS, TOKENS = 1e9, 500
PROMPT = rk.Cost(flops=2 * WEIGHTS * TOKENS, bytes=2 * WEIGHTS)
ANSWER = 80 * rk.Cost(flops=2 * WEIGHTS, bytes=2 * WEIGHTS)
H100, V6E, A100, A100_40 = (
    rk.chip(name) for name in ("H100 SXM", "TPU v6e", "A100 80GB SXM", "A100 40GB SXM")
)
ON_V6E = V6E.roofline().estimate(PROMPT)
ON_A100 = A100.roofline().estimate(PROMPT)

QUESTIONS = {
    "l01.bf16-bytes": Number(
        lambda: ITEMSIZE["bf16"],
        "bytes",
        turns=(
            Turn(lambda: 16, "16 is the number of bits. A byte has 8 of them."),
            Turn(lambda: 4, "4 bytes are 32 bits."),
        ),
    ),
    "l01.multiply-adds": Number(
        lambda: 2 * 5e11,
        "FLOPs",
        turns=(
            Turn(lambda: 5e11, "A multiply-add is one multiplication and one addition: 2 FLOPs."),
        ),
    ),
    "l01.h100-math": Number(lambda: PROMPT.flops / H100.peak_flops("bf16"), "s"),
    "l01.v6e-comms": Number(
        lambda: ON_V6E.comms,
        "s",
        turns=(
            Turn(
                lambda: PROMPT.bytes / H100.bandwidth,
                "That is the H100's memory. Use the v6e's bandwidth.",
            ),
            Turn(lambda: ON_V6E.math, "That is T_math. Here bytes are divided, not FLOPs."),
            Turn(
                lambda: PROMPT.flops / V6E.bandwidth,
                "You divided FLOPs by a bandwidth. Bytes go over it.",
            ),
            Turn(
                lambda: PROMPT.bytes / V6E.peak_flops("bf16"),
                "You divided bytes by FLOP/s. Bytes go over a bandwidth, in bytes/s.",
            ),
            Turn(
                lambda: PROMPT.bytes / V6E.link,
                "That is the time over the chip-to-chip link. The weights are in the chip's own "
                "memory.",
            ),
        ),
    ),
    "l01.v6e-bound": Choice(
        lambda: ON_V6E.bound,
        why_not={
            "compute": "T_comms is the longer of the two on this chip. The longer one binds.",
            "network": "One chip works alone here: nothing crosses the network.",
        },
        praise="The weights arrive later than the arithmetic would need them.",
    ),
    "l01.link-ratio": Number(lambda: H100.bandwidth / H100.link, "times"),
    "l01.sum-over-max": Number(
        lambda: 2.0,
        "times",
        turns=(
            Turn(lambda: 1.0, "That is the smallest value: one time is next to nothing."),
            Turn(lambda: math.inf, "Each term of the sum is at most the longer time."),
        ),
    ),
    "l01.answer-ms": Number(
        lambda: H100.roofline().estimate(ANSWER).lower * 1e3,
        "ms",
    ),
    "l01.a100-lower": Number(
        lambda: ON_A100.lower,
        "s",
        turns=(
            Turn(lambda: ON_A100.comms, "That is T_comms. The longer of the two times decides."),
            Turn(
                lambda: PROMPT.bytes / A100_40.bandwidth,
                "That is T_comms at the 40 GB card's bandwidth; and the longer of the two times "
                "decides.",
            ),
            Turn(lambda: ON_A100.upper, "That is the sum: the time with no overlap at all."),
            Turn(
                lambda: PROMPT.flops / A100.peak_flops("fp32"),
                "You divided by the fp32 peak. The work is in bf16.",
            ),
            Turn(
                lambda: PROMPT.flops / (2 * A100.peak_flops("bf16")),
                "You used the sparse peak. It holds only for matrices pruned 2:4.",
            ),
        ),
    ),
    "l01.no-overlap": Number(
        lambda: ON_A100.upper,
        "s",
        turns=(
            Turn(lambda: ON_A100.lower, "That is the best case. Here nothing overlaps."),
            Turn(
                lambda: ON_A100.comms,
                "That is one of the two times. With no overlap they add.",
            ),
            Turn(
                lambda: 2 * ON_A100.lower,
                "Twice the longer time bounds the sum, but is not it.",
            ),
        ),
    ),
    "l01.v6e-utilisation": Number(
        lambda: ON_V6E.math / ON_V6E.lower,
        "of peak",
        turns=(
            Turn(
                lambda: ON_V6E.math / ON_V6E.upper,
                "That is the share without overlap. At best, the total is the longer time alone.",
            ),
            Turn(
                lambda: 1 - ON_V6E.math / ON_V6E.lower,
                "That is the share of the time in which the arithmetic waits.",
            ),
            Turn(
                lambda: 1,
                "Only work that compute binds reaches its peak, even at best. What binds here?",
            ),
            Turn(
                lambda: PROMPT.flops / ON_V6E.lower,
                "That is a speed, FLOP/s. A fraction of peak is asked.",
            ),
            Turn(
                lambda: ON_V6E.lower / ON_V6E.math,
                "Upside down: a share of peak cannot exceed 1.",
            ),
            Turn(
                lambda: 100 * ON_V6E.math / ON_V6E.lower,
                "The number is right, as a percentage. Give it as a fraction.",
            ),
        ),
        praise="The rest of the time the arithmetic units wait.",
    ),
}
