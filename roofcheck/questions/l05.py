"""Lecture 05, "Several chips"."""

import roofkit as rk
from roofcheck.inputs import Input, Instead, count, fma, itemsize, link, longer, one_link, peak
from roofcheck.kinds import Choice, Number
from roofcheck.slips import Slip

V5E, H100 = "TPU v5e", "H100 SXM"


# Two chips that swap partial sums over the one link between them.
PAIR = {
    "chips": count(2, "the chips", draw=()),
    "size": itemsize("bf16", "a partial sum"),
    "ops": fma(),
    "peak": peak(V5E, dtypes=("int8",)),
    "link": one_link(V5E),
}


def _two_chips(D):
    return {
        "B": count(1024, "the tokens", draw=(0.5, 2)),
        "D": count(D, "the width D", draw=(0.75, 1.25)),
        "F": count(8192, "the width F", draw=(0.5, 2)),
        "ops": fma(),
        "size": itemsize("bf16", "a partial sum"),
        "peak": peak(V5E, dtypes=()),
        "link": one_link(V5E),
    }


def _alone(B, D, F, ops, peak):
    return ops * B * D * F / peak


def _exchange(B, F, size, link):
    return size * B * F / link


def _speedup(B, D, F, ops, size, peak, link, longer):
    alone = _alone(B, D, F, ops, peak)
    return alone / longer(alone / 2, _exchange(B, F, size, link))


# The matmul's width for an all-reduce of n chips whose poorest has so many links.
def _width(n, passes, size, ops, peak, links, link):
    return (n - 1) * passes * size * peak / (ops * links * link)


def _split(n, links=2):
    return {
        "n": count(n, "the chips", draw=()),
        "passes": Input(
            2,
            "the passes of an all-reduce",
            instead=(
                Instead(
                    "one pass",
                    1,
                    "That counts one pass. An all-reduce is a reduce-scatter and an all-gather.",
                ),
            ),
            two="the two passes",
        ),
        "size": itemsize("bf16", "a partial sum"),
        "ops": fma(),
        "peak": peak(V5E, dtypes=()),
        "links": Input(
            links,
            "the links of a corner chip",
            instead=(
                Instead(
                    "one link",
                    1,
                    "That uses one link of each chip. In this slice even a corner has two.",
                ),
                Instead(
                    "four links",
                    4,
                    "That uses four links of each chip. A corner of this slice has two neighbours.",
                ),
            ),
            two="the two links of a corner",
        ),
        "link": one_link(V5E),
    }


WHOLE_ARRAY = Slip(
    "own share too",
    lambda n, passes, size, ops, peak, links, link: n * passes * size * peak / (ops * links * link),
    "That grows with n, as if the whole array travelled. A chip has 1/n of it already: the rest "
    "is (n − 1)/n.",
)
LIKE_TWO = Slip(
    "as for two",
    lambda size, ops, peak, link: 2 * size * peak / (ops * link),
    "That is the width for two chips, over one link. Count the passes and links of this slice.",
)

HALVED_TWICE = "That halves the FLOPs twice. 2BDF FLOPs, half of them on each chip, are BDF."
FEWER = (
    "That needs fewer tokens, the more chips there are. A share has narrower weights, and X and Z "
)
FEWER += "weigh more beside them: it needs more."

QUESTIONS = {
    "l05.warmup-flops": Number(
        asks="How many FLOPs does X[{B}, {D}] · Y[{D}, {F}] take?",
        inputs={
            "B": count(512, "the rows of X"),
            "D": count(4096, "the inner length D"),
            "F": count(8192, "the columns of Y"),
            "ops": fma(),
        },
        formula=lambda B, D, F, ops: ops * B * D * F,
        unit="FLOPs",
        slips=[
            Slip(
                "weights alone",
                lambda D, F, ops: ops * D * F,
                "That is one token's share. All B rows of X meet every weight.",
            ),
            Slip(
                "Z alone",
                lambda B, F, ops: ops * B * F,
                "Each of the BF results is a dot product of length D: a factor D is missing.",
            ),
            Slip(
                "bytes",
                lambda B, D, F: 2 * (B * D + D * F + B * F),
                "Those are the bytes in bf16. FLOPs are asked for.",
            ),
            Slip(
                "square",
                lambda B, D, F, ops: ops * B * D * F * D,
                "That has D twice. Each of the BF results takes D multiply-adds.",
            ),
        ],
        how="B times F results, each a dot product of length D",
    ),
    "l05.warmup-list": Number(
        asks="A list of accelerators took a chip's links for its memory. They carry {bits} Gbit/s. "
        "How many byte/s is that?",
        inputs={"bits": count(1600, "the Gbit/s of the links", draw=(0.5, 2, 3))},
        formula=lambda bits: bits * 1e9 / 8,
        unit="byte/s",
        slips=[
            Slip(
                "bits",
                lambda bits: bits * 1e9,
                "That takes bits for bytes, as the list did. A byte has 8.",
            ),
            Slip(
                "times 8",
                lambda bits: 8 * bits * 1e9,
                "That multiplies by 8. A byte is more than a bit, so there are fewer of them.",
            ),
            Slip(
                "the memory",
                lambda: float(rk.chip(V5E).bandwidth),
                "That is what the chip's memory really brings. What do its links carry?",
                here=True,
            ),
        ],
        how="8 bits are a byte; giga is 10⁹",
        praise="Links are sold in bits, memory in bytes.",
    ),
    "l05.speedup": Number(
        asks="Two {chip}s halve the multiplications of a matmul, {B} tokens, D = {D}, F = {F}, and "
        "swap their bf16 partial sums over one link. How many times as fast are they as one, with "
        "full overlap?",
        inputs=_two_chips(4096) | {"longer": longer("the arithmetic", "the exchange")},
        formula=_speedup,
        unit="times",
        slips=[
            Slip(
                "no exchange",
                lambda: 2.0,
                "That leaves the exchange out: twice as fast if nothing had to be sent.",
            ),
            Slip(
                "both ways at once",
                lambda B, D, F, ops, size, peak, link, longer: _speedup(
                    B, D, F, ops, 2 * size, peak, link, longer
                ),
                "That lets both chips' sums share one direction. Each direction carries one.",
            ),
            Slip(
                "X sent too",
                lambda B, D, F, ops, size, peak, link: (
                    _alone(B, D, F, ops, peak)
                    / max(_alone(B, D, F, ops, peak) / 2, size * (B * F + B * D) / link)
                ),
                "That sends X too. Each chip already holds its half; only sums travel.",
            ),
            Slip(
                "weights sent",
                lambda B, D, F, ops, size, peak, link: (
                    _alone(B, D, F, ops, peak)
                    / max(_alone(B, D, F, ops, peak) / 2, size * D * F / 2 / link)
                ),
                "That sends the weights. They stay where they are; the partial sums travel.",
            ),
        ],
        how="one chip's time is T_math; two take half of it or the exchange, whichever is longer",
    ),
    "l05.threshold": Number(
        asks="Two {chip}s split a bf16 matmul along D and swap partial sums over one link. Above "
        "which D does the arithmetic take longer than the exchange?",
        inputs=PAIR,
        formula=lambda chips, size, ops, peak, link: chips * size * peak / (ops * link),
        slips=[
            Slip(
                "halved twice",
                lambda size, ops, peak, link: 4 * size * peak / (ops * link),
                HALVED_TWICE,
            ),
            Slip(
                "break even",
                lambda size, ops, peak, link: size * peak / (ops * link),
                "That is where two chips are just as fast as one. To be compute-bound the local "
                "half must outlast the exchange.",
            ),
            Slip(
                "memory ridge",
                lambda: 240.0,
                "That is the ridge over the memory. Here the link is what the arithmetic waits "
                "for.",
                here=True,
            ),
            Slip(
                "bytes both ways",
                lambda chips, size, ops, peak, link: chips * size * peak / (ops * 2 * link),
                "That spreads the sums over both directions. Each chip sends all of its own one "
                "way.",
            ),
        ],
        how="set the local FLOPs over the peak equal to the bytes of Z over the link, and solve "
        "for D",
    ),
    "l05.wrong-term": Choice(
        asks="Somebody writes (BDF/2)/C > 2BF/W and gets D > 4C/W. Which term is wrong?",
        formula=lambda: "BDF/2",
        why_not={
            "2BF": "Z has BF elements of 2 bytes, and every chip sends all of its own.",
            "C": "The peak is that of one chip, and each chip does its own share.",
            "W": "Each direction of the link carries one chip's sums.",
        },
        also={
            "BDF/2": (
                "bdf / 2",
                "(BDF/2)",
                "the FLOPs",
                "flops",
                "BDF",
                "left side",
                "the left",
                "the numerator on the left",
                "T_math",
            ),
            "C": ("peak", "the peak"),
            "2BF": ("bytes", "the bytes", "2 BF", "BF", "the right side"),
            "W": ("link", "the link", "bandwidth"),
        },
        how="how many FLOPs are left for each chip, of 2BDF?",
        praise="2BDF FLOPs shared by two chips are BDF each; the half is already in it.",
    ),
    "l05.early-link": Number(
        asks="An early edition has the threshold {width} for two chips, with the same {peak}. "
        "Which link bandwidth, in byte/s, did it take?",
        inputs={
            "peak": count(float(rk.chip(V5E).peak_flops()), "the peak", "FLOP/s", draw=()),
            "width": count(7880, "the threshold", draw=(0.5, 1.5)),
            "chips": Input(
                2,
                "the factor of the threshold, 2C/W",
                instead=(
                    Instead("break even", 1, "That solves D = C/W. The threshold is 2C/W."),
                    Instead("halved twice", 4, "That solves D = 4C/W. The threshold is 2C/W."),
                ),
            ),
        },
        formula=lambda peak, width, chips: chips * peak / width,
        unit="byte/s",
        slips=[
            Slip(
                "today's",
                lambda: float(rk.chip(V5E).interconnect.bandwidth),
                "That is the link that gives 8,756. Which one gives 7,880?",
                here=True,
            ),
            Slip(
                "product",
                lambda peak, width, chips: peak * width / chips,
                "That multiplies. D = 2C/W: solve for W.",
            ),
        ],
        how="D = 2C/W: solve for W",
        praise="The specified rate of a link; what programs reach of it is less.",
    ),
    "l05.gather": Number(
        asks="An array of {volume} bytes is all-gathered over {n} TPU v5e, a slice whose corners "
        "have two links. How many seconds does it take?",
        inputs={
            "volume": count(64e6, "the array"),
            "n": count(8, "the chips", draw=()),
            "links": Input(2, "the links of a corner chip", two="the two links"),
            "link": one_link(V5E),
        },
        formula=lambda volume, n, links, link: (n - 1) / n * volume / (links * link),
        unit="s",
        slips=[
            Slip(
                "whole array",
                lambda volume, links, link: volume / (links * link),
                "That lets each chip receive the whole array. It has an eighth of it already.",
            ),
            Slip(
                "own share",
                lambda volume, n, links, link: volume / n / (links * link),
                "That sends one chip's share. Every chip lacks all the others'.",
            ),
            Slip(
                "one link",
                lambda volume, n, link: (n - 1) / n * volume / link,
                "That uses one link. A corner of this slice has two neighbours.",
            ),
            Slip(
                "n copies",
                lambda volume, n, links, link: (n - 1) * volume / (links * link),
                "That counts n − 1 whole arrays. Each of the others holds 1/n of it.",
            ),
            Slip(
                "all-reduce",
                lambda volume, n, links, link: 2 * (n - 1) / n * volume / (links * link),
                "That is an all-reduce, two passes. A gather is one.",
            ),
            Slip(
                "memory",
                lambda volume, n: (n - 1) / n * volume / float(rk.chip(V5E).bandwidth),
                "That takes the chip's memory bandwidth. These bytes cross its links.",
                here=True,
            ),
        ],
        how="each chip lacks (n − 1)/n of the array, and it comes in over two links",
    ),
    "l05.exchange": Number(
        asks="On a ring of {n} chips, both ways, an all-gather of V bytes puts (n − 1)/n · V/2 on "
        "every link, an all-to-all V/8 on the busiest. How many times as long does the gather "
        "take?",
        inputs={"n": count(8, "the chips", draw=(0.5, 2))},
        formula=lambda n: (n - 1) / n / 2 * 8,
        unit="times",
        slips=[
            Slip(
                "many chips", lambda: 4.0, "That is so for many chips, where (n − 1)/n is nearly 1."
            ),
            Slip(
                "one way",
                lambda n: (n - 1) / n * 8,
                "That puts the gather on one direction. Both carry half of it.",
            ),
            Slip(
                "gather alone",
                lambda n: (n - 1) / n / 2,
                "Those are the bytes of the gather on one link, in V. Divide by those of the "
                "all-to-all.",
            ),
            Slip(
                "more chips",
                lambda n: n - 1.0,
                "That compares what one chip holds with what it lacks. Compare the bytes of a "
                "link.",
            ),
        ],
        how="divide the one link's bytes by the other's",
        praise="Each piece of an all-to-all has one reader, of a gather n − 1.",
    ),
    "l05.four-chips": Number(
        asks="Four {chip}s, a slice of 2 by 2, split a bf16 matmul along D and all-reduce the "
        "sums. Above which D does compute bind?",
        inputs=_split(4),
        formula=_width,
        slips=[
            WHOLE_ARRAY,
            LIKE_TWO,
            Slip(
                "four times",
                lambda size, ops, peak, link: 4 * size * peak / (ops * link),
                "That doubles the width for two chips. Each has two links now, and lacks 3/4.",
            ),
        ],
        how="D = n · 2 (n − 1)/n · C / W, with all the links that lead into the slice as W",
    ),
    "l05.eight-chips": Number(
        asks="Eight {chip}s, a slice of 2 by 4, split a bf16 matmul along D and all-reduce the "
        "sums. Above which D does compute bind?",
        inputs=_split(8),
        formula=_width,
        slips=[
            WHOLE_ARRAY,
            LIKE_TWO,
            Slip(
                "four chips",
                lambda passes, size, ops, peak, links, link: (
                    3 * passes * size * peak / (ops * links * link)
                ),
                "That is the width for four chips.",
            ),
            Slip(
                "twice four",
                lambda passes, size, ops, peak, links, link: (
                    6 * passes * size * peak / (ops * links * link)
                ),
                "That doubles the width for four chips. It grows as n − 1: from 3 to 7.",
            ),
        ],
        how="D = 2 (n − 1) · C / W, with all the links that lead into the slice as W",
    ),
    "l05.narrow": Number(
        asks="A bf16 layer has D = {D}. Two {chip}s split it along D and swap partial sums over "
        "one link. How many times as long as the arithmetic does the exchange take?",
        inputs={"D": count(1024, "the width", draw=(0.5, 2, 4))} | PAIR,
        formula=lambda D, chips, size, ops, peak, link: chips * size * peak / (ops * link) / D,
        unit="times",
        slips=[
            Slip(
                "against one chip",
                lambda D, size, ops, peak, link: size * peak / (ops * link) / D,
                "That compares with the arithmetic of one chip alone. Each does half here.",
            ),
            Slip(
                "halved twice",
                lambda D, size, ops, peak, link: 4 * size * peak / (ops * link) / D,
                HALVED_TWICE,
            ),
            Slip(
                "difference",
                lambda D, chips, size, ops, peak, link: chips * size * peak / (ops * link) / D - 1,
                "That is how much longer. How many times as long is asked for.",
            ),
            Slip(
                "width",
                lambda chips, size, ops, peak, link: chips * size * peak / (ops * link),
                "That is the width at which the two take equally long. How far is D from it?",
            ),
        ],
        how="the two times are equal at the critical width; the arithmetic shrinks with D",
    ),
    "l05.memory": Number(
        asks="A bf16 matmul of D = {D} and F = {F} is split along D over {n} TPU v5e. From how "
        "many tokens on does each chip's memory keep up? (The exact count, with X, Y and Z.)",
        inputs={
            "D": count(8192, "the width D", draw=()),
            "F": count(8192, "the width F", draw=()),
            "n": count(4, "the chips", draw=(0.5, 2)),
            "ridge": Input(float(rk.chip(V5E).roofline("bf16").ridge), "the ridge of the TPU v5e"),
        },
        formula=lambda D, F, n, ridge: ridge * D * F / (D * F - ridge * (D + n * F)),
        unit="tokens",
        slips=[
            Slip(
                "not split",
                lambda D, F, ridge: ridge * D * F / (D * F - ridge * (D + F)),
                "That is for one chip. Each has D/n columns of X and rows of Y.",
            ),
            Slip(
                "rule of thumb",
                lambda ridge: ridge,
                "That is the rule for a layer without end. A narrow share needs more.",
            ),
            Slip(
                "share of the tokens",
                lambda D, F, n, ridge: n * ridge * D * F / (D * F - ridge * (D + F)),
                "That shares the tokens among the chips. All of them meet each chip's weights.",
            ),
            Slip(
                "both split",
                lambda D, F, n, ridge: ridge * D * F / (D * F - n * ridge * (D + F)),
                "That splits F too. Only D is split; Z stays whole on each chip.",
            ),
            Slip(
                "fewer, one chip",
                lambda D, F, n, ridge: ridge * D * F / (D * F - ridge * (D + F)) / n,
                FEWER,
            ),
            Slip("fewer, rule of thumb", lambda n, ridge: ridge / n, FEWER),
            Slip(
                "more, rule of thumb",
                lambda n, ridge: ridge * n,
                "That multiplies the rule of thumb by n. Count the share, a matmul of width D/n.",
            ),
            Slip(
                "two chips",
                lambda D, F, ridge: ridge * D * F / (D * F - ridge * (D + 2 * F)),
                "That is for two chips.",
                here=True,
            ),
            Slip(
                "eight chips",
                lambda D, F, ridge: ridge * D * F / (D * F - ridge * (D + 8 * F)),
                "That is for eight chips.",
                here=True,
            ),
        ],
        rtol=0.004,
        how="the critical batch of a matmul of width D/n",
    ),
    "l05.small": Number(
        asks="An all-reduce of {volume} bytes among 8 H100 over NVLink: how many microseconds did "
        "it take?",
        inputs={
            "volume": count(18432, "the array", draw=()),
            "measured": Input(29.0, "the measured time", "µs", "course/data/gpu-allreduce.csv"),
        },
        formula=lambda measured: measured,
        unit="µs",
        rtol=0.2,
        slips=[
            Slip(
                "bytes over bandwidth",
                lambda volume: 1e6 * 7 / 4 * volume / 450e9,
                "That is what its bytes take.",
            ),
        ],
        how="bytes over bandwidth is not what it waits for",
    ),
    "l05.floor": Number(
        asks="A small all-reduce among {n} {chip} takes {wait} s, whatever its size. From an array "
        "of how many bytes on does sending take longer?",
        inputs={
            "wait": count(30e-6, "the wait", "s", draw=(0.5, 2)),
            "n": count(8, "the chips", draw=()),
            "passes": Input(
                2,
                "the passes",
                instead=(Instead("one pass", 1, "That counts one pass; an all-reduce has two."),),
                two="the two passes",
            ),
            "links": link(H100),
        },
        formula=lambda wait, n, passes, links: wait * links * n / (passes * (n - 1)),
        unit="bytes",
        slips=[
            Slip(
                "plain",
                lambda wait, links: wait * links,
                "That is what the links carry meanwhile. Of an array of V bytes they carry "
                "2 (n − 1)/n · V.",
            ),
            Slip(
                "whole array",
                lambda wait, passes, links: wait * links / passes,
                "That lets the whole array travel in each pass. A chip has 1/n of it already.",
            ),
            Slip(
                "multiplied",
                lambda wait, n, passes, links: wait * links * passes * (n - 1) / n,
                "That multiplies by 2 (n − 1)/n. Solve 2 (n − 1)/n · V / W = wait for V.",
            ),
            Slip(
                "memory",
                lambda wait, n, passes: (
                    wait * float(rk.chip(H100).bandwidth) * n / (passes * (n - 1))
                ),
                "That takes the memory's bandwidth. An all-reduce goes over the links.",
                here=True,
            ),
        ],
        how="solve 2 (n − 1)/n · V / W = wait for V",
    ),
    "l05.h100-pair": Number(
        asks="Two {chip} behind an NVSwitch split a bf16 matmul along D. Above which D does "
        "compute bind?",
        inputs={
            "chips": count(2, "the chips", draw=()),
            "size": itemsize("bf16", "a partial sum"),
            "ops": fma(),
            "peak": peak(H100, dtypes=("fp8",)),
            "links": link(H100),
        },
        formula=lambda chips, size, ops, peak, links: chips * size * peak / (ops * links),
        slips=[
            Slip(
                "break even",
                lambda size, ops, peak, links: size * peak / (ops * links),
                "That is C/W, where two chips are as fast as one. The threshold is 2C/W.",
            ),
            Slip(
                "halved twice",
                lambda size, ops, peak, links: 4 * size * peak / (ops * links),
                HALVED_TWICE,
            ),
            Slip(
                "v5e",
                lambda: 2 * 197e12 / 45e9,
                "That is the pair of TPUs. The H100 has another peak and other links.",
                here=True,
            ),
            Slip(
                "memory",
                lambda peak: peak / float(rk.chip(H100).bandwidth),
                "That is the ridge over the memory. The links are asked about.",
            ),
            Slip(
                "four chips",
                lambda size, ops, peak, links: 6 * size * peak / (ops * links),
                "That is the width for four of them behind the switch. Two are asked about.",
            ),
            Slip(
                "eight chips",
                lambda size, ops, peak, links: 14 * size * peak / (ops * links),
                "That is the width for eight of them behind the switch. Two are asked about.",
            ),
        ],
        how="D = 2C/W, with W all that one chip can send to the switch",
    ),
}
