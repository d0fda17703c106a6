"""Problem set 4: the speed of light that a contest printed for a matmul on eight chips."""

import math
from dataclasses import replace

from roofcheck.kinds import Function, Number, Several
from roofcheck.slips.slips import Slip, always
from roofcheck.steps.algebra import read
from roofcheck.steps.derivation import Derivation, step
from roofcheck.steps.inputs import bandwidth, count, fma, itemsize, link, peak

MI300X = "MI300X"

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
GATHERED = (
    "Eight GPUs multiply A[M, K] by weights [K, N] in bf16. Each starts with M/8 rows of A and "
    "keeps N/8 columns of the weights. It gathers the rest of A from the others, over all its "
    "links, and then multiplies all of A with its own columns. Each operand and the result cross "
    "its memory once. With full overlap the longest of the three times decides."
)
TABLE = "\n".join(
    [
        GATHERED,
        "",
        "| M    | N     | K    | µs     |",
        "|------|-------|------|--------|",
        *(f"| {M:4} | {N:5} | {K:4} | {time:6.2f} |" for (M, N, K), time in PUBLISHED.items()),
    ]
)
RIGHT_ROWS = [(64, 18432, 7168), (2048, 2880, 2880), (4096, 4096, 4096)]
WRONG_ROWS = [row for row in PUBLISHED if row not in RIGHT_ROWS]
BOUND_BY_LINK = WRONG_ROWS[:2]

# The time of A[M, K], gathered in full by each GPU, times its own N/chips columns.
LIGHT = Derivation(
    [
        step(
            "flops",
            "ops * M * N * K / chips",
            "FLOPs",
            "a GPU's FLOPs: it multiplies all rows of A by its N/8 columns",
        ),
        step("t_math", "flops / peak", "s", "the time of the arithmetic"),
        step(
            "moved",
            "size * (M * K + (K * N + M * N) / chips)",
            "bytes",
            "the bytes of its memory: all of A, and its columns of weights and result",
        ),
        step("t_memory", "moved / bandwidth", "s", "the time of the memory"),
        step(
            "lacks",
            "size * (chips - 1) / chips * M * K",
            "bytes",
            "the bytes that it lacks: it has an eighth of A already",
        ),
        step("t_link", "lacks / link", "s", "the time of the link"),
        step(
            "light",
            "max(t_math, t_memory, t_link)",
            "s",
            "the speed of light: with full overlap the longest of the three is all",
        ),
    ],
    "µs",
)
WHOLE_ARRAY = "lacks: short chips, chips − 1"
WORDS = {
    "light: max-sum max(t_math, t_memory, t_link)": "The times are right, but added. With full "
    "overlap the longest decides.",
    "light: max-alone t_link": "That is the gather alone. With full overlap the longest time "
    "decides.",
    "light: max-alone t_math": "That is the arithmetic alone. With full overlap the longest time "
    "decides.",
    "light: left-out t_link": "That leaves out the link. A has to be gathered first.",
    "light: left-out t_memory": "That leaves out each GPU's own memory.",
    "light: left-out t_math": "That leaves out the arithmetic.",
    WHOLE_ARRAY: "That lets all of A come over the links. Each GPU has its own eighth already.",
    "lacks: left-out chips": "That brings all of A from each of the others. Each of them has an "
    "eighth.",
    "lacks: left-out chips − 1": "That brings one eighth of A. Each GPU lacks the other seven.",
    "lacks: left-out size": "That takes 1 byte for an element on the link. bf16 has 2.",
    "flops: left-out chips": "That has each GPU do all of the FLOPs. Each has an eighth of the "
    "columns.",
    "flops: squared chips": "That divides the FLOPs by 8 twice. Each GPU has all rows of A and an "
    "eighth of the columns.",
    "moved: left-out M · N": "That leaves out the result, which crosses the memory, too.",
    "moved: twice M · K": "That has A cross the memory twice. Each operand crosses once here.",
    "moved: left-out chips": "That has each GPU read all weights and write all results. Each has "
    "an eighth of the columns.",
}
WHOLE_MATMUL = LIGHT.with_step("flops", read("ops * M * N * K")).with_step(
    "moved", read("size * (M * K + K * N + M * N)")
)
OUTPUT_TRAVELS = LIGHT.with_step("lacks", read("size * (chips - 1) / chips * M * N"))


def _slip(name, expression, says):
    """A slip in one step of the time."""
    changed, _, tree = expression.partition(" = ")
    return Slip(name, LIGHT.with_step(changed, read(tree)), says)


def _joined_to_all(chip):
    wires = chip.interconnect
    return bool(wires) and wires.topology in ("switch", "all-pairs") and wires.links >= 7


def _all_gather():
    """Eight chips that gather A from each other, then multiply it, each with its own columns."""
    return {
        "chips": count(8, "the GPUs", "chips", draw=()),
        "ops": fma(),
        "size": itemsize("bf16", "an element"),
        "peak": peak(MI300X, dtypes=(), sparse=False),
        "bandwidth": bandwidth(MI300X, link=False),
        # Every GPU reaches every other, so that all its links count.
        "link": replace(link(MI300X), has=_joined_to_all),
    }


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


def _right(row, light=LIGHT):
    """The right time of a row, µs, or what a wrong derivation makes of it."""
    figures = {name: given.value for name, given in _all_gather().items()}
    return light.value(figures | dict(zip("MNK", row, strict=True)))


def _row(row):
    """A row of the published table: its right time, µs."""
    # Each length has a unit of its own, since none is taken for another.
    lengths = {
        name: count(value, f"the length {name}", name, draw=())
        for name, value in zip("MNK", row, strict=True)
    }
    return Number(
        asks=f"The speed of light of (M, N, K) = {row}, in µs.",
        inputs={**lengths, **_of_the_table()},
        formula=LIGHT,
        unit="µs",
        words={WHOLE_ARRAY: WORDS[WHOLE_ARRAY]} if row in BOUND_BY_LINK else {},
        slips=[
            Slip("as printed", OUTPUT_TRAVELS, "That is the table's figure. Which matrix travels?"),
            Slip(
                "halved",
                LIGHT.with_step("light", read("max(t_math, t_memory, t_link) / 2")),
                "That is half: 1 FLOP for a multiply-add, or 1 byte for an element.",
            ),
            *(
                Slip(
                    "another wrong row",
                    always(_right(other)),
                    "That is the right time of another of the three rows. They go from top to "
                    "bottom.",
                )
                for other in WRONG_ROWS
                if other != row
            ),
            *(
                Slip(
                    f"row {other[0]}",
                    always(PUBLISHED[other]),
                    "That is the time of a row which is right as it stands.",
                    here=True,
                )
                for other in RIGHT_ROWS
            ),
        ],
    )


# How many times too long the table's geometric mean is.
MEAN = Derivation(
    [
        step("factor_1", "24.58 / first", "", "the first factor: printed over right"),
        step("factor_2", "458.75 / second", "", "the second factor"),
        step("factor_3", "946.18 / third", "", "the third factor"),
        step(
            "product",
            "factor_1 * factor_2 * factor_3 * rest",
            "",
            "the product: over all six rows, of which three have about 1",
        ),
        step("mean", "product ** (1 / 6)", "times", "the mean: the sixth root"),
    ],
    "times",
)


def _times():
    """What the mean is of: the right times of the wrong rows, and the factor of all others."""
    named = zip(("first", "second", "third"), WRONG_ROWS, strict=True)
    rest = math.prod(PUBLISHED[row] / _right(row) for row in RIGHT_ROWS)
    return {
        **{name: count(_right(row), f"the {name} time", "µs", draw=()) for name, row in named},
        "rest": count(rest, "the factor of the rows that are right", draw=()),
    }


def _mean_slip(name, expression, says):
    return Slip(name, MEAN.ending(read(expression)), says)


def _by_all(name, expression, says):
    """A slip of the mean: all six times with another last step."""
    light = LIGHT.with_step("light", read(expression))
    mean = math.prod(time / _right(row, light) for row, time in PUBLISHED.items()) ** (1 / 6)
    return Slip(name, always(mean), says)


def _mean_by(given):
    """How many times too long the mean is by a student's own times; nan if they change nothing."""
    times = {name: abs(given[name]) for name in ("first", "second", "third")}
    mean = MEAN.value(times | {"rest": 1.0})
    return mean if abs(mean - 1) > 0.01 else math.nan


QUESTIONS = {
    "ps4.light": Function(
        asks="Write light(M, N, K), in µs: the longest of the arithmetic, the memory and the link "
        "of an all-gather of A and a matmul on eight {chip}.",
        beside=GATHERED,
        points=4,
        arguments=("M", "N", "K"),
        inputs=_all_gather(),
        results={"light": LIGHT},
        case=_light_case,
        unit="µs",
        half=["light: max-sum max(t_math, t_memory, t_link)"],
        words=WORDS,
        slips={
            "light": [
                Slip(
                    "output travels",
                    OUTPUT_TRAVELS,
                    "That sends a matrix of the output's size, M · N. A has M · K elements.",
                ),
                Slip(
                    "columns not shared",
                    WHOLE_MATMUL,
                    "That has each GPU multiply A by all of the columns. Each GPU has an eighth "
                    "of them.",
                ),
                _slip(
                    "sparse peak",
                    "t_math = flops / (2 * peak)",
                    "That takes twice the dense peak, as with sparsity. These matrices are dense.",
                ),
                _slip(
                    "eight links",
                    "lacks = size * ((chips - 1) / chips) ** 2 * M * K",
                    "That takes eight links. A GPU has one to each of the seven others.",
                ),
                _slip(
                    "two passes",
                    "lacks = 2 * size * (chips - 1) / chips * M * K",
                    "That gathers A in two passes, as an all-reduce needs. One is enough.",
                ),
                _slip(
                    "weights travel",
                    "lacks = size * (chips - 1) / chips * N * K",
                    "That sends the weights. They stay where they are; A travels.",
                ),
                _slip(
                    "A shared",
                    "moved = size * (M * K + K * N + M * N) / chips",
                    "That has each GPU read an eighth of A. Once gathered, each multiplies all of "
                    "it.",
                ),
            ]
        },
        praise="The longest of the three times decides.",
        how="for one GPU: its FLOPs over the peak, its bytes over the memory, what it lacks of A "
        "over the links",
    ),
    "ps4.rows": Several(
        asks="Eight MI300X: in three rows of the table the time of the links is that of the wrong "
        "matrix. Give the right times of these rows, in µs, from top to bottom, and how many times "
        "too long the table makes the geometric mean of all its rows.",
        chips=(MI300X,),
        beside=TABLE,
        points=3,
        parts={
            **dict(zip(("first", "second", "third"), map(_row, WRONG_ROWS), strict=True)),
            "mean": Number(
                asks="How many times too long is the geometric mean of the table's times?",
                inputs=_times(),
                formula=MEAN,
                unit="times",
                words={
                    "product given": "That is the product of the factors. Take the sixth root.",
                },
                slips=[
                    _mean_slip(
                        "longer by",
                        "product ** (1 / 6) - 1",
                        "That is by how much it is too long. How many times as long is it?",
                    ),
                    _mean_slip(
                        "wrong rows alone",
                        "(factor_1 * factor_2 * factor_3) ** (1 / 3)",
                        "That is the mean of the wrong rows. The contest takes all six.",
                    ),
                    Slip(
                        "arithmetic mean",
                        always(sum(PUBLISHED.values()) / sum(map(_right, PUBLISHED))),
                        "That compares the sums, which the long rows rule. In a geometric mean "
                        "every row weighs the same.",
                    ),
                    Slip(
                        "mean of factors",
                        always(sum(time / _right(row) for row, time in PUBLISHED.items()) / 6),
                        "That is the arithmetic mean of the factors. A geometric mean multiplies, "
                        "then takes the sixth root.",
                    ),
                    _by_all(
                        "added",
                        "t_math + t_memory + t_link",
                        "The times are right, but added. With full overlap the longest decides.",
                    ),
                    _by_all(
                        "no link",
                        "max(t_math, t_memory)",
                        "That leaves the link out of each time. A has to be gathered first.",
                    ),
                    _by_all(
                        "no memory",
                        "max(t_math, t_link)",
                        "That leaves each GPU's own memory out of the times.",
                    ),
                    _by_all(
                        "no arithmetic",
                        "max(t_memory, t_link)",
                        "That leaves the arithmetic out of each time.",
                    ),
                    _mean_slip(
                        "square root",
                        "product ** (1 / 2)",
                        "That takes the square root of the product. Six rows need the sixth.",
                    ),
                ],
                how="the sixth root of the product of all factors, 1 where a row is right",
            ),
        },
        follows={"mean": _mean_by},
        praise="Where N equals K the mistake cannot be seen, and where the memory binds it does "
        "not matter.",
        how="run your function on all six rows and compare; the mean is the sixth root of the "
        "product of printed over right",
    ),
}
