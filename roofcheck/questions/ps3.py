"""Problem set 3, on lecture 05: the questions that are no numbers."""

from roofcheck.kinds import Function, Order
from roofcheck.slips.slips import Slip
from roofcheck.steps.algebra import read
from roofcheck.steps.derivation import Derivation, step
from roofcheck.steps.inputs import Input, Instead, fma, itemsize

ONE_PASS = "That counts one pass. An all-reduce is a reduce-scatter and an all-gather."
X_SENT = "That sends as many bytes as X has, of B · D. The partial sums are those of Z."
HALF_EGRESS = (
    "That halves egress, as if it were for both directions. It is what a chip sends in a second."
)
ALWAYS_EIGHT = "That counts for eight chips whatever n is."
WHOLE_MATMUL = "That gives each chip the whole matmul. It does 1/n of the multiplications."
Z_SPLIT = "That splits Z too. Each chip has a part of every sum: its array is all of Z."
WEIGHTS_SENT = "That sends the weights. They stay where they are; the partial sums travel."

TIME = Derivation(
    [
        step(
            "arithmetic",
            "ops * B * D * F / (n * peak_flops)",
            "s",
            "the arithmetic: the chips share the FLOPs",
        ),
        step(
            "sent",
            "passes * (n - 1) / n * size * B * F",
            "bytes",
            "the bytes that a chip sends: Z has B · F sums, and in each pass 1/n of them stays",
        ),
        step("exchange", "sent / egress", "s", "the exchange"),
        step(
            "time",
            "max(arithmetic, exchange)",
            "s",
            "the time: with full overlap the longer of the two is all",
        ),
    ],
    "s",
)
OF_EIGHT = "max(ops * B * D * F / (8 * peak_flops), passes * 7 / 8 * size * B * F / egress)"
CHIPS = Derivation(
    [
        step(
            "others",
            "ops * D * egress / (passes * size * peak_flops)",
            "",
            "n − 1: where the two times are equal, B, F and the divisor n cancel",
        ),
        step("chips", "others + 1", "", "the number of chips"),
    ]
)


def _time(name, expression, says):
    """A slip in one step of the time."""
    changed, _, tree = expression.partition(" = ")
    return Slip(name, TIME.with_step(changed, read(tree)), says)


def _chips(name, expression, says, credit=0.0):
    """A slip that gives another number of chips."""
    return Slip(name, CHIPS.ending(read(expression)), says, credit)


def _case(rng, number):
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


STEPS = {
    "K": "The FLOPs over these bytes are the intensity towards the links: D / (2 (n − 1)).",
    "L": "For two chips n − 1 is 1, so D > 2C/W.",
    "M": "With 2BDF/n FLOPs each chip makes a part of every sum in Z: an array of V = 2BF bytes.",
    "P": "Solving for the width gives D > 2 (n − 1) · C/W.",
    "Q": "The matmul takes 2BDF FLOPs. The chips share them: 2BDF/n each.",
    "R": "Compute binds where this intensity lies above the ridge of the links, C/W.",
    "S": "Of these V bytes the all-reduce sends 2 (n − 1)/n over the links of each chip.",
}

QUESTIONS = {
    "ps3.derive": Order(
        asks="n chips split a bf16 matmul along D and all-reduce the sums. From which width D on "
        "are they compute-bound? Order the steps. "
        + " ".join(f"{letter}: {step}" for letter, step in STEPS.items()),
        beside="C is the peak of one chip, in FLOP/s. W is what all links of one chip carry in one "
        "direction, in byte/s.",
        points=2,
        items=tuple(STEPS),
        key="QMSKRPL".index,
        shows=STEPS.get,
        needs={
            ("Q", "M"): "M speaks of each chip's FLOPs: count them before.",
            ("M", "S"): "S sends V bytes: say before which array that is.",
            ("S", "K"): "K divides by the bytes sent: count them before.",
            ("K", "R"): "R compares the intensity with a ridge: compute it before.",
            ("R", "P"): "P solves for the width: state the condition before.",
            ("P", "L"): "L sets n = 2: find the width for n chips before.",
        },
        how="FLOPs, bytes, intensity, bound; each step names what the one before it found",
        praise="The order is FLOPs, bytes, intensity, bound.",
    ),
    "ps3.step": Function(
        asks="Write step(n, B, D, F, peak_flops, egress): the seconds that a bf16 matmul takes "
        "that n chips split along D and all-reduce, with full overlap, and the number of chips at "
        "which the exchange takes as long as the arithmetic. peak_flops and egress are one chip's; "
        "do not round.",
        points=4,
        arguments=("n", "B", "D", "F", "peak_flops", "egress"),
        inputs={
            "passes": Input(
                2,
                "the passes of an all-reduce",
                instead=(Instead("one pass", 1, ONE_PASS),),
                two="the passes",
            ),
            "size": itemsize("bf16", "a partial sum"),
            "ops": fma(),
        },
        results={"the time": TIME, "the number of chips": CHIPS},
        case=_case,
        words={
            "sent: short n, n − 1": "That lets the whole array travel in each pass. Of n chips "
            "each has 1/n of it already; one alone sends nothing.",
            "arithmetic: left-out n": WHOLE_MATMUL,
            "sent: left-out n": "That sends n − 1 whole arrays a pass. Each of the others sends "
            "1/n of one.",
            "sent: squared n": Z_SPLIT,
            "others given": "That solves for n as if the whole array travelled. It is (n − 1)/n "
            "of it.",
            "others: turned ops · D · egress / (passes · size · peak_flops)": "Peak and egress "
            "have changed places: better links let more chips keep up.",
        },
        slips={
            "the time": [
                _time(
                    "as for two",
                    "sent = size * B * F",
                    "That sends all of Z once, as two chips do. Among n it is two passes, each of "
                    "(n − 1)/n of it.",
                ),
                _time("half of egress", "exchange = 2 * sent / egress", HALF_EGRESS),
                _time("X sent", "sent = passes * (n - 1) / n * size * B * D", X_SENT),
                _time("weights sent", "sent = passes * (n - 1) / n * size * D * F", WEIGHTS_SENT),
                _time(
                    "n and n − 1 swapped",
                    "sent = passes * (n / (n - 1) if n > 1 else 0) * size * B * F",
                    "That sends n/(n − 1) of the array, more than all of it.",
                ),
                _time(
                    "always eight in the exchange",
                    "sent = passes * 7 / 8 * size * B * F",
                    ALWAYS_EIGHT,
                ),
                Slip("always eight", TIME.ending(read(OF_EIGHT)), ALWAYS_EIGHT),
            ],
            "the number of chips": [
                _chips(
                    "the width",
                    "2 * (n - 1) * peak_flops / egress",
                    "That is the critical width of n chips. Solve for the number of chips at this "
                    "D instead.",
                ),
                _chips(
                    "n itself",
                    "n",
                    "That is n, as it was given. At which number are the two times equal?",
                ),
                _chips("X sent", "1 + ops * F * egress / (passes * size * peak_flops)", X_SENT),
                _chips(
                    "weights sent",
                    "1 + ops * B * egress / (passes * size * peak_flops)",
                    WEIGHTS_SENT,
                ),
                _chips("not shared", "1 / (1 - others)", WHOLE_MATMUL),
                _chips("Z split", "1 / (1 - others)", Z_SPLIT),
                _chips(
                    "rounded up",
                    "ceil(others + 1)",
                    "That is rounded to whole chips. Return the number itself.",
                    credit=0.5,
                ),
                _chips(
                    "rounded down",
                    "floor(others + 1)",
                    "That is rounded to whole chips. Return the number itself.",
                    credit=0.5,
                ),
            ],
        },
        praise="Up to that number of chips the step grows shorter, beyond it longer again.",
        how="the exchange is an all-reduce of 2BF bytes, over egress; for the second result set "
        "it equal to the arithmetic and solve for n",
    ),
}
