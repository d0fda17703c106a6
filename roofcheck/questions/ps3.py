"""Problem set 3, on lecture 05."""

import math

import roofkit as rk
from roofcheck.computation import apply
from roofcheck.inputs import (
    Input,
    Instead,
    bandwidth,
    count,
    fma,
    itemsize,
    link,
    longer,
    one_link,
    peak,
)
from roofcheck.kinds import Choice, Formula, Function, Number, Order, Several
from roofcheck.slips import Slip

H100, V6E, MI300X = "H100 SXM", "TPU v6e", "MI300X"
# The other chips of a board of MI300X.
OTHERS = rk.chip(MI300X).interconnect.largest - 1
V5E_LINK = float(rk.chip("TPU v5e").interconnect.bandwidth)


def _passes(many):
    """The passes of a collective over its array: two of an all-reduce, one of its halves."""
    if many == 2:
        other = Instead(
            "one pass",
            1,
            "That counts one pass. An all-reduce is a reduce-scatter and an all-gather.",
        )
    else:
        other = Instead(
            "two passes",
            2,
            "That counts two passes, as for an all-reduce. A reduce-scatter is the first of them "
            "alone.",
        )
    what = "the passes of an all-reduce" if many == 2 else "the one pass of a reduce-scatter"
    return Input(many, what, instead=(other,), two="the passes")


def _links(many, instead):
    """The links of the chip that has fewest."""
    return Input(many, "the links of the chip that has fewest", instead=instead)


# How many times as long as its arithmetic a layer's collective takes.
def _share(D, n, passes, size, ops, peak, links):
    return (n - 1) * passes * size * peak / (ops * links) / D


# The width from which on compute binds where every pair of chips has a link.
def _paired(n, passes, size, ops, peak, link):
    return (n - 1) * passes * size * peak / (ops * (n - 1) * link)


def _gathered(n, links, instead, slips):
    return Number(
        asks="In µs?",
        inputs={
            "volume": count(256e6, "the array", "bytes"),
            "n": count(n, "the chips", draw=()),
            "links": _links(links, instead),
            "link": one_link(V6E),
            "memory": bandwidth(V6E, link=False),
        },
        formula=lambda volume, n, links, link: 1e6 * (n - 1) / n * volume / (links * link),
        unit="µs",
        slips=[
            *slips,
            Slip(
                "own share",
                lambda volume, n, links, link: 1e6 * volume / n / (links * link),
                "That sends one chip's share. Every chip lacks all the others'.",
            ),
            Slip(
                "all-reduce",
                lambda volume, n, links, link: 2e6 * (n - 1) / n * volume / (links * link),
                "That is an all-reduce, two passes. A gather is one.",
            ),
            Slip(
                "the chip before",
                lambda volume, n, links: 1e6 * (n - 1) / n * volume / (links * V5E_LINK),
                "That takes the links of the TPU v5e.",
                here=True,
            ),
            Slip(
                "memory",
                lambda volume, n, memory: 1e6 * (n - 1) / n * volume / memory,
                "That takes the memory's bandwidth. The pieces cross links.",
            ),
        ],
        how="each chip lacks (n − 1)/n of the array; which chip has the fewest links for it to "
        "come in by?",
    )


WRAPPED = "That gives every chip four links, as if rows and columns closed. None of length 4 does."
ONE_LINK = "That uses one link of the poorest chip. It has more neighbours."


X_SENT = "That sends as many bytes as X has, of B · D. The partial sums are those of Z."
ALWAYS_EIGHT = "That counts for eight chips whatever n is."
WHOLE_MATMUL = "That gives each chip the whole matmul. It does 1/n of the multiplications."
Z_SPLIT = "That splits Z too. Each chip has a part of every sum: its array is all of Z."
WEIGHTS_SENT = "That sends the weights. They stay where they are; the partial sums travel."


def _time(pick, passes, size, ops, n, B, D, F, peak_flops, egress):
    return pick(ops * B * D * F / (n * peak_flops), passes * (n - 1) / n * size * B * F / egress)


def _step_case(rng, number):
    """One chip, few and many; the arithmetic longer and the exchange longer, in turn."""
    n = 1 if number == 5 else rng.choice((2, 3, 4, 6, 8, 12, 16))
    peak_flops = _three_digits(10 ** rng.uniform(13.5, 15.5))
    egress = _three_digits(10 ** rng.uniform(10.5, 12))
    width = 2 * max(n - 1, 1) * peak_flops / egress
    low, high = ((0.1, 0.7), (1.4, 6))[number % 2]
    D = max(16, round(rng.uniform(low, high) * width))
    return n, rng.randint(1, 9000), D, rng.randint(500, 40000), peak_flops, egress


def _three_digits(value):
    return float(f"{value:.3g}")


def _whole_array_sent(pick, passes, size, ops, n, B, D, F, peak_flops, egress):
    return pick(ops * B * D * F / (n * peak_flops), passes * size * B * F / egress)


def _rounded(way, whole):
    return Slip(
        f"rounded {way}",
        lambda D, peak_flops, egress: whole(1 + D * egress / (2 * peak_flops)),
        "That is rounded to whole chips. Return the number itself.",
        credit=0.5,
    )


def _arithmetic(B, D, F, n, ops, peak):
    return 1e6 * ops * B * D * F / (n * peak)


def _gather(D, F, n, size, links):
    return 1e6 * (n - 1) / n * size * D * F / links


def _layer(pick, B, D, F, n, ops, size, peak, links):
    return pick(_arithmetic(B, D, F, n, ops, peak), _gather(D, F, n, size, links))


def _carried(slip, other):
    """A slip in one of the two times, taken on to the longer."""

    def formula(pick, B, D, F, n, ops, size, peak, links, memory):
        given = {
            "B": B, "D": D, "F": F, "n": n, "ops": ops, "size": size, "peak": peak,
            "links": links, "memory": memory,
        }  # fmt: skip
        return pick(apply(slip.formula, given), apply(other, given))

    return Slip(slip.name, formula, slip.says)


# A layer whose tokens are shared out, and whose weights are gathered.
SHARED = {
    # Never as many tokens as D or F, nor half as many: sending Z or X would cost the same.
    "B": count(12288, "the tokens of all chips", draw=(0.125, 0.25, 0.5, 1, 2)),
    "D": count(8192, "the width D", draw=(0.5, 0.625, 0.875, 1)),
    "F": count(28672, "the width F", draw=(0.5, 0.75, 1, 1.25)),
    "n": count(8, "the chips", draw=(0.5, 1)),
    "ops": fma(),
    "size": itemsize("bf16", "a weight"),
    "peak": peak(H100, dtypes=("fp8",)),
    "links": link(H100, topology="switch"),
    "memory": bandwidth(H100, link=False),
}
ARITHMETIC_SLIPS = [
    Slip(
        "tokens not shared",
        lambda B, D, F, ops, peak: 1e6 * ops * B * D * F / peak,
        "That gives every chip all the tokens. They are shared too: each has B/n.",
    ),
    Slip(
        "weights split",
        lambda B, D, F, n, ops, peak: _arithmetic(B, D, F, n * n, ops, peak),
        "That splits the multiplications twice. Gathered, all the weights meet a "
        "chip's B/n tokens.",
    ),
]
GATHER_SLIPS = [
    Slip(
        "whole array",
        lambda D, F, size, links: 1e6 * size * D * F / links,
        "That lets each chip receive all the weights. It has 1/n of them already.",
    ),
    Slip(
        "own part",
        lambda D, F, n, size, links: 1e6 * size * D * F / (n * links),
        "That sends one chip's part of the weights. Every chip lacks all the others'.",
    ),
    Slip(
        "two passes",
        lambda D, F, n, size, links: 2 * _gather(D, F, n, size, links),
        "That counts two passes. A gather is one.",
    ),
    Slip(
        "sums sent",
        lambda B, F, n, size, links: 2 * _gather(B, F, n, size, links),
        "That all-reduces Z. With the tokens split no sum has parts on two chips: "
        "only weights travel.",
    ),
    Slip(
        "X sent",
        lambda B, D, n, size, links: _gather(B, D, n, size, links),
        "That gathers X. Each chip keeps its own tokens: only weights travel.",
    ),
    Slip(
        "Z sent",
        lambda B, F, n, size, links: _gather(B, F, n, size, links),
        "That gathers Z. Each chip keeps its own tokens: only weights travel.",
    ),
    Slip(
        "memory",
        lambda D, F, n, size, memory: _gather(D, F, n, size, memory),
        "That takes the memory's bandwidth. The weights cross the links.",
    ),
]
# What a slip of either part makes of the longer of the two.
LAYER_SLIPS = [
    *(_carried(slip, _gather) for slip in ARITHMETIC_SLIPS),
    *(_carried(slip, _arithmetic) for slip in GATHER_SLIPS),
]


STEPS = {
    "K": "FLOPs over these bytes are the intensity towards the links, D / (2 (n − 1)).",
    "L": "Between two chips n − 1 is 1: D > 2C/W.",
    "M": "With its 2BDF/n FLOPs each chip has a part of every sum in Z: an array of V = 2BF bytes.",
    "P": "Solved for the width: D > 2 (n − 1) · C/W.",
    "Q": "The matmul takes 2BDF FLOPs. The chips share them: 2BDF/n each.",
    "R": "Compute binds where this intensity lies above the ridge of the links, C/W.",
    "S": "Of these V bytes the all-reduce sends 2 (n − 1)/n over the links of each chip.",
}

QUESTIONS = {
    "ps3.narrow": Number(
        asks="{n} {chip} behind their switch split a bf16 matmul along D = {D} and reduce-scatter "
        "the partial sums. How many times as long as the arithmetic does that take?",
        points=2,
        inputs={
            "D": count(1024, "the width D", draw=(0.5, 2, 4)),
            "n": count(8, "the chips", draw=(0.5, 0.75, 1)),
            # Of the slips that give the same number the first are told: the likelier ones.
            "passes": _passes(1),
            "peak": peak(H100, dtypes=("fp8",)),
            "ops": fma(),
            "size": itemsize("bf16", "a partial sum"),
            "links": link(H100, topology="switch"),
            "memory": bandwidth(H100, link=False),
        },
        formula=_share,
        unit="times",
        slips=[
            Slip(
                "own share too",
                lambda D, n, size, ops, peak, links: n * size * peak / (ops * links) / D,
                "That lets all of the array travel. A chip keeps 1/n of it: the rest is (n − 1)/n.",
            ),
            Slip(
                "not shared",
                lambda D, n, passes, size, ops, peak, links: (
                    _share(D, n, passes, size, ops, peak, links) / n
                ),
                "That compares with the arithmetic of the whole matmul. Each chip does 1/n of it.",
            ),
            Slip(
                "two chips",
                lambda D, size, ops, peak, links: 2 * size * peak / (ops * links) / D,
                "That is the all-reduce of two chips, 2C/W over D. Count for n of them.",
            ),
            Slip(
                "width",
                lambda D, n, passes, size, ops, peak, links: (
                    D * _share(D, n, passes, size, ops, peak, links)
                ),
                "That is the width at which the two take equally long. How far is D from it?",
            ),
            Slip(
                "memory",
                lambda D, n, passes, size, ops, peak, memory: _share(
                    D, n, passes, size, ops, peak, memory
                ),
                "That takes the memory's bandwidth. The sums cross the links.",
            ),
        ],
        praise="A narrow layer split along D waits for its links.",
        how="arithmetic: 2BDF/n FLOPs over the peak; links: (n − 1)/n of 2BF bytes over all the "
        "links of a chip. B and F cancel",
    ),
    "ps3.helps": Choice(
        asks="Eight H100 SXM split a bf16 layer, D = 1,024 and F = 4,096, along D and "
        "reduce-scatter the sums: the links bind. It has B = 8,192 tokens, and every chip has room "
        "for all the weights. Which one change makes compute bind: double B, double F, int8, two "
        "chips (split D over two of them alone) or split B (not D)?",
        points=2,
        formula=lambda: "split B",
        why_not={
            "double B": "Twice the tokens are twice the FLOPs, and twice the sums to send.",
            "double F": "Twice the columns are twice the FLOPs, and twice the sums to send.",
            "int8": "Half the bytes, but the arithmetic takes half as long too. What is the ratio?",
            "two chips": "Better, and not enough: what is the critical width of two?",
        },
        also={
            "split B": ("split along B", "along B", "split the tokens", "splitting B"),
            "double B": ("twice the tokens", "more tokens", "doubling B"),
            "double F": ("twice the columns", "doubling F"),
            "two chips": ("2 chips", "fewer chips"),
        },
        how="for each change, what becomes of the FLOPs of a chip, and of the bytes it sends?",
        praise="Each chip has other tokens and all of the weights: no sum has parts on two chips.",
    ),
    "ps3.torus": Several(
        asks="An array of {volume} bytes is all-gathered on slices of 4x4, 8x16 and 16x16 {chip}. "
        "How many µs does each take? Give {parts}.",
        points=3,
        parts={
            "4x4": _gathered(
                16,
                2,
                (
                    Instead("one link", 1, ONE_LINK),
                    Instead("an edge", 3, "That counts the links of an edge. A corner has fewer."),
                    Instead("wrapped", 4, WRAPPED),
                ),
                [
                    Slip(
                        "whole array",
                        lambda volume, links, link: 1e6 * volume / (links * link),
                        "That lets each chip receive the whole array. It has 1/n of it already.",
                    )
                ],
            ),
            "8x16": _gathered(
                128,
                3,
                (
                    Instead("one link", 1, ONE_LINK),
                    Instead(
                        "a corner",
                        2,
                        "That counts the corner of an open grid. Here one axis closes.",
                    ),
                    Instead(
                        "wrapped",
                        4,
                        "That lets both axes close to rings. Only the one of length 16 does.",
                    ),
                ),
                [],
            ),
            "16x16": _gathered(
                256,
                4,
                (
                    Instead("one link", 1, ONE_LINK),
                    Instead(
                        "a corner",
                        2,
                        "That counts the corner of an open grid. Here both axes close, and nothing "
                        "is a corner.",
                    ),
                    Instead(
                        "an edge",
                        3,
                        "That counts three links. Here both axes close to rings.",
                    ),
                ),
                [],
            ),
        },
        praise="More chips, and sooner: every chip lacks nearly all of it, and has more links.",
        how="count the links of the poorest chip of each slice first",
    ),
    "ps3.derive": Order(
        asks="From which width on are n chips compute-bound that split a bf16 matmul along D and "
        "all-reduce the sums? Order the steps. "
        + " ".join(f"{letter}: {step}" for letter, step in STEPS.items()),
        points=2,
        items=tuple(STEPS),
        key="QMSKRPL".index,
        needs={
            ("Q", "M"): "M speaks of each chip's FLOPs: count them before.",
            ("M", "S"): "S sends V bytes: say before which array that is.",
            ("S", "K"): "K divides by the bytes sent: count them before.",
            ("K", "R"): "R compares the intensity with a ridge: form it before.",
            ("R", "P"): "P solves for the width: write down before what is to hold.",
            ("P", "L"): "L sets n = 2: find the width for n chips before.",
        },
        how="FLOPs, bytes, intensity, bound; each step names what the one before it found",
        praise="FLOPs, bytes, intensity, bound.",
    ),
    "ps3.pairs": Number(
        asks="On a board of {chip} every two are joined by a link of their own. {n} of them split "
        "a bf16 matmul along D and all-reduce the sums. Above which D does compute bind?",
        points=3,
        inputs={
            "n": count(4, "the chips", draw=(1, 1.25, 1.5)),
            "passes": _passes(2),
            "size": itemsize("bf16", "a partial sum"),
            "ops": fma(),
            "peak": peak(MI300X, dtypes=()),
            "link": one_link(MI300X),
            "memory": bandwidth(MI300X, link=False),
        },
        formula=_paired,
        slips=[
            Slip(
                "twice the peak",
                lambda n, passes, size, ops, peak, link: _paired(
                    n, passes, size, ops, 2 * peak, link
                ),
                "That takes twice the dense bf16 peak: the one with sparsity, or fp8's.",
            ),
            Slip(
                "memory",
                lambda n, passes, size, ops, peak, memory: (
                    (n - 1) * passes * size * peak / (ops * memory)
                ),
                "That takes the memory's bandwidth. The sums cross links.",
            ),
            Slip(
                "not shared",
                lambda n, passes, size, ops, peak, link: (
                    _paired(n, passes, size, ops, peak, link) / n
                ),
                "That compares with the arithmetic of the whole matmul. Each chip does 1/n of it.",
            ),
            Slip(
                "the whole board's chips",
                lambda n, passes, size, ops, peak, link: (
                    OTHERS * passes * size * peak / (ops * (n - 1) * link)
                ),
                "That shares the sums among all chips of the board. Only n have a part in them.",
            ),
            Slip(
                "ridge",
                lambda n, size, ops, peak, link: size * peak / (ops * (n - 1) * link),
                "That is C/W, the ridge of the links. The width for n chips is a multiple of it.",
            ),
            Slip(
                "two chips",
                lambda n, passes, size, ops, peak, link: (
                    passes * size * peak / (ops * (n - 1) * link)
                ),
                "That is 2C/W, the width for two chips. Count for n of them.",
            ),
            Slip(
                "the whole board's links",
                lambda n, passes, size, ops, peak: (
                    (n - 1) * passes * size * peak / (ops * rk.chip(MI300X).interconnect.total)
                ),
                "That uses all seven links of a chip. Those to the chips that have no part in it "
                "carry nothing.",
            ),
            Slip(
                "one link",
                lambda n, passes, size, ops, peak, link: (
                    (n - 1) * passes * size * peak / (ops * link)
                ),
                "That sends all over one link. A chip has one to each of the others, all at once.",
            ),
            Slip(
                "a ring",
                lambda n, passes, size, ops, peak, link: (
                    (n - 1) * passes * size * peak / (ops * 2 * link)
                ),
                "That uses two links of a chip, as a ring does. Here it has one to each of the "
                "others.",
            ),
            Slip(
                "own share too",
                lambda n, passes, size, ops, peak, link: (
                    n * passes * size * peak / (ops * (n - 1) * link)
                ),
                "That lets the whole array travel. A chip has 1/n of it already: the rest is "
                "(n − 1)/n.",
            ),
            Slip(
                "n links",
                lambda n, passes, size, ops, peak, link: (
                    (n - 1) * passes * size * peak / (ops * n * link)
                ),
                "That gives a chip n links. It has none to itself.",
            ),
        ],
        praise="It is the same for two, four and eight: with every chip comes a link for each.",
        how="D = 2 (n − 1) · C/W; how many links of a chip lead to the others of the n?",
    ),
    "ps3.volume": Formula(
        asks="On n by n chips, each row and column a ring, V bytes on each chip are all-reduced: "
        "reduce-scattered along the rows (1), what that leaves along the columns (2), gathered "
        "along the columns (3) and along the rows (4). How many bytes does each chip send? A "
        "formula of n and V.",
        points=3,
        arguments=("n", "V"),
        results={"bytes": lambda n, V: 2 * (n * n - 1) / (n * n) * V},
        case=lambda rng, number: (rng.randint(3, 9), float(rng.randint(2, 30))),
        unit="bytes",
        slips={
            "bytes": [
                Slip(
                    "columns whole",
                    lambda n, V: 4 * (n - 1) / n * V,
                    "That sends as much along the columns as along the rows. After step 1 a chip "
                    "has 1/n of the array left to sum.",
                ),
                Slip(
                    "columns of what was sent",
                    lambda n, V: 2 * (n - 1) / n * V * (1 + (n - 1) / n),
                    "That takes along the columns what step 1 has sent away. What is left on a "
                    "chip is the rest.",
                ),
                Slip(
                    "whole each time",
                    lambda V: 4 * V,
                    "That sends all of V in each step. In a ring of n a piece of it stays, and "
                    "steps 2 and 3 work on less than V.",
                ),
                Slip(
                    "one pass",
                    lambda n, V: (n * n - 1) / (n * n) * V,
                    "Those are steps 1 and 2, the reduce-scatters. Steps 3 and 4 send too.",
                ),
                Slip(
                    "rows alone",
                    lambda n, V: 2 * (n - 1) / n * V,
                    "That is one axis alone, an all-reduce among n chips. There are two axes.",
                ),
                Slip(
                    "rows, one pass",
                    lambda n, V: (n - 1) / n * V,
                    "That is step 1 alone. Add what the other three send.",
                ),
                Slip(
                    "sent and received",
                    lambda n, V: 4 * (n * n - 1) / (n * n) * V,
                    "That counts each byte twice, as it leaves and as it comes. What a chip sends "
                    "is asked for.",
                ),
                Slip(
                    "n rounds",
                    lambda n, V: 2 * (n + 1) / n * V,
                    "That takes n rounds in a ring of n. n − 1 are enough: a piece need not come "
                    "home.",
                ),
                Slip(
                    "limit",
                    lambda V: 2 * V,
                    "That is what it approaches for many chips. How much of V never leaves a chip?",
                ),
                Slip(
                    "limit of one pass",
                    lambda V: V,
                    "That is what one pass approaches for many chips. There are two, and some of V "
                    "never leaves a chip.",
                ),
                Slip(
                    "all chips",
                    lambda n, V: 2 * (n * n - 1) * V,
                    "That is what all the chips send together.",
                ),
                Slip(
                    "gather of whole pieces",
                    lambda n, V: (n * n - 1) / (n * n) * V + 2 * (n - 1) / n * V,
                    "Steps 1 and 2 are right; 3 and 4 are not alike. Step 3 gathers only what "
                    "step 2 has scattered.",
                ),
            ]
        },
        praise="As many as in one ring of all n² chips. What the two axes save is rounds: "
        "4 (n − 1) instead of 2 (n² − 1).",
        how="write down for each of the four steps the array that it works on, and (n − 1)/n of it",
    ),
    "ps3.step": Function(
        asks="Write step(n, B, D, F, peak_flops, egress): the seconds that a bf16 matmul takes "
        "that n chips split along D and all-reduce, with full overlap, and the number of chips at "
        "which the exchange takes as long as the arithmetic. peak_flops and egress are one chip's; "
        "do not round.",
        points=4,
        arguments=("n", "B", "D", "F", "peak_flops", "egress"),
        inputs={
            "pick": longer("the arithmetic", "the exchange"),
            "passes": _passes(2),
            "size": itemsize("bf16", "a partial sum"),
            "ops": fma(),
        },
        results={
            "the time": _time,
            "the number of chips": lambda passes, size, ops, D, peak_flops, egress: (
                1 + ops * D * egress / (passes * size * peak_flops)
            ),
        },
        case=_step_case,
        slips={
            "the time": [
                Slip(
                    "whole array",
                    _whole_array_sent,
                    "That lets the whole array travel in each pass. Of n chips each has 1/n of it "
                    "already; one alone sends nothing.",
                ),
                Slip(
                    "as for two",
                    lambda pick, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / (n * peak_flops), size * B * F / egress
                    ),
                    "That sends all of Z once, as two chips do. Among n it is two passes, each of "
                    "(n − 1)/n of it.",
                ),
                Slip(
                    "not shared",
                    lambda pick, passes, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / peak_flops, passes * (n - 1) / n * size * B * F / egress
                    ),
                    WHOLE_MATMUL,
                ),
                Slip(
                    "n copies",
                    lambda pick, passes, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / (n * peak_flops),
                        passes * (n - 1) * size * B * F / egress,
                    ),
                    "That sends n − 1 whole arrays a pass. Each of the others sends 1/n of one.",
                ),
                Slip(
                    "Z split",
                    lambda pick, passes, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / (n * peak_flops),
                        passes * (n - 1) / n * size * B * F / n / egress,
                    ),
                    Z_SPLIT,
                ),
                Slip(
                    "X sent",
                    lambda pick, passes, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / (n * peak_flops),
                        passes * (n - 1) / n * size * B * D / egress,
                    ),
                    X_SENT,
                ),
                Slip(
                    "n and n − 1 swapped",
                    lambda pick, passes, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / (n * peak_flops),
                        passes * (n / (n - 1) if n > 1 else 0) * size * B * F / egress,
                    ),
                    "That sends n/(n − 1) of the array, more than all of it.",
                ),
                Slip(
                    "always eight",
                    lambda pick, passes, size, ops, B, D, F, peak_flops, egress: _time(
                        pick, passes, size, ops, 8, B, D, F, peak_flops, egress
                    ),
                    ALWAYS_EIGHT,
                ),
                Slip(
                    "always eight in the exchange",
                    lambda pick, passes, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / (n * peak_flops),
                        passes * 7 / 8 * size * B * F / egress,
                    ),
                    ALWAYS_EIGHT,
                ),
                Slip(
                    "weights sent",
                    lambda pick, passes, size, ops, n, B, D, F, peak_flops, egress: pick(
                        ops * B * D * F / (n * peak_flops),
                        passes * (n - 1) / n * size * D * F / egress,
                    ),
                    WEIGHTS_SENT,
                ),
            ],
            "the number of chips": [
                Slip(
                    "n for n − 1",
                    lambda passes, size, ops, D, peak_flops, egress: (
                        ops * D * egress / (passes * size * peak_flops)
                    ),
                    "That solves for n as if the whole array travelled. It is (n − 1)/n of it.",
                ),
                Slip(
                    "the width",
                    lambda n, peak_flops, egress: 2 * (n - 1) * peak_flops / egress,
                    "That is the critical width of n chips. Solve for the number of chips at this "
                    "D instead.",
                ),
                Slip(
                    "n itself",
                    lambda n: n,
                    "That is n, as it was given. At which number do the two times meet?",
                ),
                Slip(
                    "X sent",
                    lambda passes, size, ops, F, peak_flops, egress: (
                        1 + ops * F * egress / (passes * size * peak_flops)
                    ),
                    X_SENT,
                ),
                Slip(
                    "weights sent",
                    lambda passes, size, ops, B, peak_flops, egress: (
                        1 + ops * B * egress / (passes * size * peak_flops)
                    ),
                    WEIGHTS_SENT,
                ),
                # Either leads to 1 / (1 - x) where 1 + x is right.
                *(
                    Slip(
                        name,
                        lambda passes, size, ops, D, peak_flops, egress: (
                            1 / (1 - ops * D * egress / (passes * size * peak_flops))
                        ),
                        says,
                    )
                    for name, says in (("not shared", WHOLE_MATMUL), ("Z split", Z_SPLIT))
                ),
                _rounded("up", math.ceil),
                _rounded("down", math.floor),
                Slip(
                    "upside down",
                    lambda passes, size, ops, D, peak_flops, egress: (
                        1 + passes * size * peak_flops / (ops * D * egress)
                    ),
                    "Peak and egress have changed places: better links let more chips keep up.",
                ),
            ],
        },
        praise="Up to that number of chips the step grows shorter, beyond it longer again.",
        how="the exchange is an all-reduce of 2BF bytes, over egress; for the second result set "
        "it equal to the arithmetic and solve for n",
    ),
    "ps3.mine": Several(
        asks="{n} {chip} behind their switch share {B} tokens. Of a layer's bf16 weights, "
        "D = {D} by F = {F}, each keeps 1/{n}, and gathers the rest. How many µs does each chip's "
        "arithmetic take, how many the gather, and how many, with full overlap, the layer?",
        points=3,
        parts={
            "the arithmetic": Number(
                asks="The arithmetic?",
                inputs=SHARED,
                formula=_arithmetic,
                unit="µs",
                slips=ARITHMETIC_SLIPS,
                how="one chip multiplies its B/n tokens with all of Y",
            ),
            "the gather": Number(
                asks="The gather?",
                inputs=SHARED,
                formula=_gather,
                unit="µs",
                slips=GATHER_SLIPS,
                how="of the weights' bytes a chip lacks (n − 1)/n",
            ),
            "the layer": Number(
                asks="The layer?",
                inputs=SHARED | {"pick": longer("the arithmetic", "the gather")},
                formula=_layer,
                unit="µs",
                slips=LAYER_SLIPS,
                how="with full overlap the longer of the two is all",
            ),
        },
        how="one chip multiplies B/n tokens with all of Y; of Y it lacks (n − 1)/n",
        praise="Tokens set the arithmetic, weights the gather.",
    ),
}
