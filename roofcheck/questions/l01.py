"""Lecture 01, "Where does the time go?"."""

import math

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
    total,
)
from roofcheck.kinds import Choice, Number
from roofcheck.slips import Slip

H100, V6E, A100, A100_40 = "H100 SXM", "TPU v6e", "A100 80GB SXM", "A100 40GB SXM"
# A model of a billion weights reads a prompt of 500 tokens.
WORK = {
    "weights": count(1e9, "the number of weights"),
    "tokens": count(500, "the number of tokens"),
    "ops": fma(),
    "size": itemsize("bf16", "a weight"),
}
ON_V6E = WORK | {
    "peak": peak(V6E, others=[H100]),
    "bandwidth": bandwidth(V6E, others=[H100]),
}
ON_A100 = WORK | {
    "peak": peak(A100, others=[H100, V6E]),
    "bandwidth": bandwidth(A100, others=[H100, V6E]),
}


def t_math(weights, tokens, ops, peak):
    return ops * weights * tokens / peak


def t_comms(weights, size, bandwidth):
    return size * weights / bandwidth


def t_lower(weights, tokens, ops, size, peak, bandwidth):
    return max(t_math(weights, tokens, ops, peak), t_comms(weights, size, bandwidth))


def t_upper(weights, tokens, ops, size, peak, bandwidth):
    return t_math(weights, tokens, ops, peak) + t_comms(weights, size, bandwidth)


def on_40_gb(weights, tokens, ops, size, peak):
    """T_upper with the memory of the 40 GB card."""
    return t_upper(weights, tokens, ops, size, peak, rk.chip(A100_40).bandwidth)


def speed(weights, tokens, ops, size, peak, bandwidth):
    return ops * weights * tokens / t_lower(weights, tokens, ops, size, peak, bandwidth)


def _bound(weights, tokens, ops, size, peak, bandwidth):
    late = t_comms(weights, size, bandwidth) > t_math(weights, tokens, ops, peak)
    return "memory" if late else "compute"


FLOPS_OVER_BANDWIDTH = Slip(
    "FLOPs over bandwidth",
    lambda weights, tokens, ops, bandwidth: ops * weights * tokens / bandwidth,
    "That divides FLOPs by a bandwidth. Bytes go over a bandwidth, FLOPs over a peak.",
)
BYTES_OVER_PEAK = Slip(
    "bytes over peak",
    lambda weights, size, peak: size * weights / peak,
    "That divides bytes by a peak. Bytes go over a bandwidth, FLOPs over a peak.",
)
# What else one can work out of the same figures, and give for the time.
NOT_A_TIME = [
    Slip(
        "intensity",
        lambda ops, weights, tokens, size: ops * tokens / size,
        "That is FLOPs over bytes, FLOP/byte. A time is asked for: work over speed.",
    ),
    Slip(
        "ridge",
        lambda peak, bandwidth: peak / bandwidth,
        "That is peak over bandwidth, FLOP/byte. A time is asked for: work over speed.",
    ),
    Slip(
        "share",
        lambda ops, tokens, size, peak, bandwidth: ops * tokens / size / (peak / bandwidth),
        "That is T_math over T_comms, a ratio. A time is asked for.",
    ),
    Slip(
        "speed",
        speed,
        "That is a speed, FLOP/s. A time is asked for.",
    ),
    Slip(
        "FLOPs themselves",
        lambda ops, weights, tokens: ops * weights * tokens,
        "Those are the FLOPs. Divide them by the peak, the bytes by the bandwidth.",
    ),
    Slip(
        "bytes themselves",
        lambda size, weights: size * weights,
        "Those are the bytes. Divide them by the bandwidth.",
    ),
]
EVERY_TOKEN = (
    "That fetches every weight again for each token. One fetch serves all tokens of a prompt."
)


QUESTIONS = {
    "l01.bf16-bytes": Number(
        asks="How many bytes does a number of {bits} bits take?",
        inputs={
            "bits": count(
                16,
                "the bits of the format",
                instead=[
                    Instead("fp32", 32, "4 bytes are 32 bits."),
                    Instead("8 bits", 8, "1 byte is 8 bits: fp8 or int8."),
                ],
                draw=(),
            ),
            "byte": Input(8, "the bits of a byte"),
        },
        formula=lambda bits, byte: bits / byte,
        unit="bytes",
        slips=[
            Slip(
                "bits of a byte",
                lambda byte: byte,
                "8 is the number of bits in a byte. How many bytes are 16 bits?",
            ),
            Slip("product", lambda bits, byte: bits * byte, "A byte has 8 bits: divide by 8."),
        ],
        rtol=1e-6,
        exact=True,
        how="a byte has 8 bits",
    ),
    "l01.multiply-adds": Number(
        asks="How many FLOPs are {pairs} multiply-adds?",
        inputs={"pairs": count(5e11, "the number of multiply-adds"), "ops": fma()},
        formula=lambda pairs, ops: pairs * ops,
        unit="FLOPs",
        usual="ops: multiply-add",
        slips=[
            Slip(
                "three",
                lambda pairs: 3 * pairs,
                "That counts 3 FLOPs for each multiply-add. Storing the result is none.",
            ),
            Slip(
                "powers added",
                lambda pairs, ops: (pairs * ops) ** 2,
                "That squares. Each multiply-add is 2 FLOPs: multiply by 2.",
            ),
            Slip(
                "number squared",
                lambda pairs: pairs**2,
                "That squares. Each multiply-add is 2 FLOPs: multiply by 2.",
            ),
            Slip(
                "halved",
                lambda pairs, ops: pairs / ops,
                "Each multiply-add is 2 FLOPs: multiply by 2, do not divide.",
            ),
            Slip(
                "squared",
                lambda pairs, ops: pairs * ops * ops,
                "That counts 4 FLOPs for each multiply-add. It is one multiplication and one "
                "addition.",
            ),
        ],
        how="a multiply-add is one multiplication and one addition",
    ),
    "l01.h100-math": Number(
        asks="How many seconds do {flops} FLOPs take on the {chip}, in bf16?",
        inputs={
            "flops": count(1e12, "the FLOPs"),
            "peak": peak(H100, others=[V6E]),
            "bandwidth": bandwidth(H100),
        },
        formula=lambda flops, peak: flops / peak,
        unit="s",
        figure="math",
        slips=[
            Slip(
                "FLOPs over bandwidth",
                lambda flops, bandwidth: flops / bandwidth,
                FLOPS_OVER_BANDWIDTH.says,
            ),
            Slip(
                "FLOPs over the link",
                lambda flops: flops / rk.chip(H100).interconnect.total,
                FLOPS_OVER_BANDWIDTH.says,
                here=True,
            ),
        ],
        how="divide FLOPs by FLOP/s",
    ),
    "l01.v6e-comms": Number(
        asks="{weights} bf16 weights are fetched once from the memory of the {chip}: how many "
        "seconds does that take?",
        inputs=ON_V6E,
        formula=t_comms,
        unit="s",
        figure="comms",
        slips=[
            Slip("T_math", t_math, "That is T_math. Here bytes are divided, not FLOPs."),
            *NOT_A_TIME,
            Slip(
                "bytes of the prompt",
                lambda tokens, size, bandwidth: tokens * size / bandwidth,
                "That moves the bytes of the tokens. The weights are fetched, 2 bytes each.",
            ),
            Slip(
                "difference",
                lambda weights, tokens, ops, size, peak, bandwidth: abs(
                    t_comms(weights, size, bandwidth) - t_math(weights, tokens, ops, peak)
                ),
                "That subtracts T_math and T_comms. T_comms alone is asked for.",
            ),
            FLOPS_OVER_BANDWIDTH,
            BYTES_OVER_PEAK,
            Slip(
                "every token",
                lambda weights, tokens, size, bandwidth: tokens * size * weights / bandwidth,
                EVERY_TOKEN,
            ),
            Slip(
                "per token",
                lambda weights, tokens, size, bandwidth: size * weights / bandwidth / tokens,
                "That divides by the number of tokens. All weights are fetched, once for all "
                "tokens.",
            ),
            Slip(
                "sum",
                t_upper,
                "That is T_math + T_comms. T_comms alone is asked for.",
            ),
            Slip(
                "rounded",
                lambda weights, size: size * weights / 1.6e12,
                "With 1.6e12, as some texts round the bandwidth.",
                credit=1,
                here=True,
            ),
        ],
        how="T_comms is bytes over bandwidth; each weight takes 2 bytes and crosses once",
    ),
    "l01.v6e-bound": Choice(
        asks="A prompt of {tokens} tokens meets {weights} bf16 weights on the {chip}. What binds?",
        inputs=ON_V6E,
        formula=_bound,
        why_not={
            "compute": "T_comms is the longer of the two on this chip. The longer one binds.",
            "memory": "T_math is the longer of the two on this chip. The longer one binds.",
            "network": "One chip works alone here: nothing crosses the network.",
        },
        how="compute both times; the longer one binds",
        praise="The weights arrive later than the arithmetic would need them.",
    ),
    "l01.link-ratio": Number(
        asks="How many times as fast as all links of the {chip}, one way, is its own memory?",
        inputs={
            "bandwidth": bandwidth(H100, others=[V6E], link=False),
            "link": link(H100),
        },
        formula=lambda bandwidth, link: bandwidth / link,
        unit="times",
        slips=[
            Slip(
                "PCIe",
                lambda bandwidth: bandwidth / rk.chip("H100 PCIe").interconnect.total,
                "That is the PCIe bus. The question asks for NVLink.",
                here=True,
            ),
            Slip(
                "ridge",
                lambda bandwidth: rk.chip(H100).peak_flops() / bandwidth,
                "That is peak over bandwidth, the ridge. Two bandwidths are compared here.",
                here=True,
            ),
            Slip(
                "share",
                lambda bandwidth, link: (bandwidth - link) / link,
                "That is how much more the memory carries. The question asks how many times as "
                "much.",
            ),
        ],
        how="memory bandwidth over link bandwidth",
    ),
    "l01.h100-send": Number(
        asks="{weights} bf16 weights leave the {chip} over all its links at once, one way: how "
        "many seconds does that take?",
        inputs={
            "weights": count(1e9, "the number of weights"),
            "size": itemsize("bf16", "a weight"),
            "link": link(H100),
            "bandwidth": bandwidth(H100, link=False),
        },
        formula=lambda weights, size, link: size * weights / link,
        unit="s",
        figure="comms",
        slips=[
            Slip(
                "memory",
                lambda weights, size, bandwidth: size * weights / bandwidth,
                "That goes over the memory's bandwidth. These bytes leave the chip, over its "
                "links.",
            ),
            Slip(
                "memory added",
                lambda weights, size, link, bandwidth: (
                    size * weights / link + size * weights / bandwidth
                ),
                "That adds the time of the memory. Only the links' is asked for.",
            ),
        ],
        how="bytes over the bandwidth of all links together; each weight takes 2 bytes",
    ),
    "l01.sum-over-max": Number(
        asks="What is the largest value that (T_math + T_comms) / max(T_math, T_comms) can take?",
        formula=lambda: 2.0,
        unit="times",
        slips=[
            Slip(
                "smallest",
                lambda: 1.0,
                "That is the smallest value, where one time is next to nothing.",
            ),
            Slip(
                "unbounded",
                lambda: math.inf,
                "The sum cannot grow without limit: each of its terms is at most the longer time.",
            ),
            Slip(
                "mean",
                lambda: 1.5,
                "Some pair of times gives that, and another pair gives more.",
            ),
            Slip("three", lambda: 3.0, "There are two times, and each is at most the longer one."),
        ],
        rtol=0.005,
        exact=True,
        beyond=lambda answer: (
            "Some pair of times gives that, and another pair gives more."
            if 1 <= answer < 2
            else "No pair of times gives that: the longer time is at most their sum."
            if answer < 1
            else "No pair of times gives that: each of the two is at most the longer one."
        ),
        how="let one time be 1 and move the other from 0 to far beyond 1",
    ),
    "l01.answer-ms": Number(
        asks="Each of {tokens} tokens needs {weights} bf16 weights again. How many milliseconds do "
        "they take on the {chip}, with full overlap?",
        inputs={
            "tokens": count(80, "the number of tokens written"),
            "weights": count(1e9, "the number of weights"),
            "ops": fma(),
            "size": itemsize("bf16", "a weight"),
            "peak": peak(H100, others=[V6E]),
            "bandwidth": bandwidth(H100, others=[V6E]),
        },
        formula=lambda tokens, weights, size, bandwidth: 1e3 * tokens * size * weights / bandwidth,
        unit="ms",
        figure="lower",
        slips=[
            Slip(
                "fetched once",
                lambda weights, size, bandwidth: 1e3 * size * weights / bandwidth,
                "That is one token, or weights fetched once for all. Here every token fetches "
                "them again.",
            ),
            Slip(
                "T_math",
                lambda tokens, weights, ops, peak: 1e3 * tokens * ops * weights / peak,
                "That is T_math, the shorter of the two by far.",
            ),
            Slip(
                "sum",
                lambda tokens, weights, ops, size, peak, bandwidth: (
                    1e3 * tokens * weights * (ops / peak + size / bandwidth)
                ),
                "That is T_math + T_comms, the time if nothing overlaps.",
            ),
            Slip(
                "prompt added",
                lambda tokens, weights, ops, size, peak, bandwidth: (
                    1e3 * tokens * size * weights / bandwidth + 1e3 * 500 * ops * weights / peak
                ),
                "That adds the prompt's time. Only the writing is asked for.",
                here=True,
            ),
            Slip(
                "answers a second",
                lambda tokens, weights, size, bandwidth: bandwidth / (tokens * size * weights),
                "That is answers a second. A time in milliseconds is asked for.",
            ),
            Slip(
                "prompt",
                lambda weights, ops, peak: 1e3 * 500 * ops * weights / peak,
                "That is the prompt's time. Now the model writes.",
                here=True,
            ),
            Slip(
                "a prompt each",
                lambda tokens, weights, ops, peak: 1e3 * tokens * 500 * ops * weights / peak,
                "That gives every token the time of the whole prompt's arithmetic.",
                here=True,
            ),
            Slip(
                "500 tokens",
                lambda weights, size, bandwidth: 1e3 * 500 * size * weights / bandwidth,
                "That is 500 tokens. The answer has fewer.",
                here=True,
            ),
            Slip(
                "a rate",
                lambda tokens, weights, size, bandwidth: bandwidth / (size * weights),
                "That is tokens a second. A time in milliseconds is asked for.",
            ),
        ],
        # The sum lies a third of a percent away: nearly all of it is fetching.
        rtol=0.002,
        how="every token moves all weights once; bytes over bandwidth",
    ),
    "l01.a100-lower": Number(
        asks="A prompt of {tokens} tokens meets {weights} bf16 weights on the {chip}. How many "
        "seconds does that take with full overlap?",
        inputs=ON_A100 | {"pick": longer()},
        formula=lambda pick, weights, tokens, ops, size, peak, bandwidth: pick(
            t_math(weights, tokens, ops, peak), t_comms(weights, size, bandwidth)
        ),
        unit="s",
        figure="lower",
        usual="pick: second",
        slips=[
            FLOPS_OVER_BANDWIDTH,
            BYTES_OVER_PEAK,
            *NOT_A_TIME,
            Slip(
                "T_comms, 40 GB",
                lambda weights, size: size * weights / rk.chip(A100_40).bandwidth,
                "That is T_comms alone, and of the 40 GB card.",
                here=True,
            ),
            Slip(
                "sum, 40 GB",
                on_40_gb,
                "That is the sum, the time if nothing overlaps, and of the 40 GB card.",
                here=True,
            ),
            Slip(
                "every token",
                lambda weights, tokens, size, bandwidth: tokens * size * weights / bandwidth,
                EVERY_TOKEN,
            ),
        ],
        how="T_math is FLOPs over peak, T_comms bytes over bandwidth; they overlap",
    ),
    "l01.no-overlap": Number(
        asks="A prompt of {tokens} tokens meets {weights} bf16 weights on the {chip}. How many "
        "seconds does that take if nothing overlaps?",
        inputs=ON_A100 | {"add": total()},
        formula=lambda add, weights, tokens, ops, size, peak, bandwidth: add(
            t_math(weights, tokens, ops, peak), t_comms(weights, size, bandwidth)
        ),
        unit="s",
        figure="upper",
        slips=[
            Slip(
                "FLOPs doubled",
                lambda weights, tokens, ops, size, peak, bandwidth: (
                    2 * t_math(weights, tokens, ops, peak) + t_comms(weights, size, bandwidth)
                ),
                "That takes T_math twice: the FLOPs count each multiply-add as 2 already.",
            ),
            Slip(
                "40 GB",
                on_40_gb,
                "That takes the memory bandwidth of the 40 GB card; the question is about the "
                "80 GB one.",
                here=True,
            ),
            FLOPS_OVER_BANDWIDTH,
            *NOT_A_TIME,
            Slip(
                "upper over lower",
                lambda weights, tokens, ops, size, peak, bandwidth: (
                    t_upper(weights, tokens, ops, size, peak, bandwidth)
                    / t_lower(weights, tokens, ops, size, peak, bandwidth)
                ),
                "That is T_upper over T_lower, a ratio. A time is asked for.",
            ),
            Slip(
                "every token",
                lambda weights, tokens, ops, peak, size, bandwidth: (
                    t_math(weights, tokens, ops, peak) + tokens * t_comms(weights, size, bandwidth)
                ),
                EVERY_TOKEN,
            ),
        ],
        how="T_math is FLOPs over peak, T_comms bytes over bandwidth; without overlap they add",
    ),
    "l01.v6e-utilisation": Number(
        asks="A prompt of {tokens} tokens meets {weights} bf16 weights on the {chip}. Which "
        "fraction of its peak does the work reach, with full overlap?",
        inputs=ON_V6E,
        formula=lambda weights, tokens, ops, size, peak, bandwidth: (
            t_math(weights, tokens, ops, peak)
            / t_lower(weights, tokens, ops, size, peak, bandwidth)
        ),
        unit="of peak",
        slips=[
            Slip(
                "no overlap",
                lambda weights, tokens, ops, size, peak, bandwidth: (
                    t_math(weights, tokens, ops, peak)
                    / t_upper(weights, tokens, ops, size, peak, bandwidth)
                ),
                "That is the share without overlap. With it, the total is the longer time.",
            ),
            Slip(
                "all of it",
                lambda: 1.0,
                "Only work that compute binds reaches its peak. What binds here?",
            ),
            Slip(
                "a speed",
                speed,
                "That is a speed, FLOP/s. A fraction of peak is asked for.",
            ),
            Slip(
                "share of the sum",
                lambda weights, tokens, ops, size, peak, bandwidth: (
                    t_comms(weights, size, bandwidth)
                    / t_upper(weights, tokens, ops, size, peak, bandwidth)
                ),
                "That is the share of T_comms in the sum. Speed is FLOPs over total time.",
            ),
            Slip(
                "a time",
                t_comms,
                "That is T_comms, a time. A fraction of peak is asked for.",
            ),
            Slip(
                "T_math",
                t_math,
                "That is T_math, a time. A fraction of peak is asked for.",
            ),
        ],
        beyond=lambda answer: "A fraction of peak cannot exceed 1." if answer > 1 else "",
        praise="The rest of the time the arithmetic units wait.",
        how="speed is FLOPs over the longer time; divide it by the peak",
    ),
}
