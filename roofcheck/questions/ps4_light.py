"""Problem set 4: the speed of light that a contest printed for a matmul on eight chips."""

import math
from dataclasses import replace

from roofcheck.inputs import Input, Instead, bandwidth, count, fma, itemsize, link, peak
from roofcheck.kinds import Function, Number, Several
from roofcheck.slips import Slip, always

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
RIGHT_ROWS = [(64, 18432, 7168), (2048, 2880, 2880), (4096, 4096, 4096)]


def _longest(*times):
    return max(times)


def _joined_to_all(chip):
    wires = chip.interconnect
    return bool(wires) and wires.topology in ("switch", "all-pairs") and wires.links >= 7


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
                    always(PUBLISHED[shape]),
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
