"""Problem set 4: a contest's table of speed-of-light times, three of which are wrong.

This question is in Python because its slips are the times of other rows and the mean of six rows.
In TOML, these would be numbers that nobody can check.
"""

import math
from dataclasses import replace
from pathlib import Path

from roofcheck.kinds import Number, Several
from roofcheck.slips.question_slips import Slip, constant_formula
from roofcheck.steps.algebra import read_expression
from roofcheck.steps.derivation import Derivation, make_step
from roofcheck.steps.inputs import count
from roofcheck.tables.toml_tables import read_table

# The function that ps4.light asks for; each row of the table is one call of it.
FUNCTION = read_table(Path(__file__).with_suffix(".toml"))["ps4.light"]
LIGHT = FUNCTION.results["light"]
WRONG_MATRIX = next(slip for slip in FUNCTION.slips["light"] if slip.name == "output travels")
WHOLE_ARRAY = "lacks: short chips, chips − 1"

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
TABLE = "\n".join(
    [
        FUNCTION.beside,
        "",
        "| M    | N     | K    | µs     |",
        "|------|-------|------|--------|",
        *(f"| {M:4} | {N:5} | {K:4} | {time:6.2f} |" for (M, N, K), time in PUBLISHED.items()),
    ]
)
RIGHT_ROWS = [(64, 18432, 7168), (2048, 2880, 2880), (4096, 4096, 4096)]
WRONG_ROWS = [row for row in PUBLISHED if row not in RIGHT_ROWS]
BOUND_BY_LINK = WRONG_ROWS[:2]
# With these inputs, every draw keeps the table's chip.
INPUTS = {name: replace(given, chips=(), redraw=None) for name, given in FUNCTION.inputs.items()}


def _right(row, light=LIGHT):
    """Return the right time of a row in µs, or the result of another derivation."""
    figures = {name: value.value for name, value in INPUTS.items()}
    return light.value(figures | dict(zip("MNK", row, strict=True)))


def _row(row):
    """Return the question for a row's right time in µs."""
    # Each length has its own unit, so no slip can swap two lengths.
    lengths = {
        name: count(value, f"the length {name}", name, draw=())
        for name, value in zip("MNK", row, strict=True)
    }
    return Number(
        asks=f"The speed of light of (M, N, K) = {row}, in µs.",
        inputs={**lengths, **INPUTS},
        formula=LIGHT,
        unit="µs",
        words={WHOLE_ARRAY: FUNCTION.words[WHOLE_ARRAY]} if row in BOUND_BY_LINK else {},
        slips=[
            replace(
                WRONG_MATRIX,
                name="as printed",
                says="That is the table's number. Which matrix travels?",
            ),
            Slip(
                "halved",
                LIGHT.with_step("light", read_expression("max(t_math, t_memory, t_link) / 2")),
                "That is half: it counts 1 FLOP for a multiply-add, or 1 byte per element.",
            ),
            *(
                Slip(
                    "another wrong row",
                    constant_formula(_right(other)),
                    "That is the right time of another of the three rows. Their order is from top "
                    "to bottom.",
                )
                for other in WRONG_ROWS
                if other != row
            ),
            *(
                Slip(
                    f"row {other[0]}",
                    constant_formula(PUBLISHED[other]),
                    "That is the time of a row that is already right.",
                    here=True,
                )
                for other in RIGHT_ROWS
            ),
        ],
    )


# The factor by which the table's geometric mean is too large.
MEAN = Derivation(
    [
        make_step("factor_1", "24.58 / first", "", "the first factor: printed over right"),
        make_step("factor_2", "458.75 / second", "", "the second factor"),
        make_step("factor_3", "946.18 / third", "", "the third factor"),
        make_step(
            "product",
            "factor_1 * factor_2 * factor_3 * rest",
            "",
            "the product: over all six rows, three of which have about 1",
        ),
        make_step("mean", "product ** (1 / 6)", "times", "the mean: the sixth root"),
    ],
    "times",
)


def _times():
    """Return the mean's inputs: the right times of the wrong rows, and the other rows' factor."""
    rows = zip(("first", "second", "third"), WRONG_ROWS, strict=True)
    rest = math.prod(PUBLISHED[row] / _right(row) for row in RIGHT_ROWS)
    return {
        **{name: count(_right(row), f"the {name} time", "µs", draw=()) for name, row in rows},
        "rest": count(rest, "the factor of the right rows", draw=()),
    }


def _mean_slip(name, expression, says):
    return Slip(name, MEAN.with_answer(read_expression(expression)), says)


def _by_all(name, expression, says):
    """Return a slip of the mean that changes the last step of all six times."""
    light = LIGHT.with_step("light", read_expression(expression))
    mean = math.prod(time / _right(row, light) for row, time in PUBLISHED.items()) ** (1 / 6)
    return Slip(name, constant_formula(mean), says)


def _mean_by(answer):
    """Return the mean's factor for a student's own times, or nan if they are the printed ones."""
    times = {name: abs(answer[name]) for name in ("first", "second", "third")}
    mean = MEAN.value(times | {"rest": 1.0})
    return mean if abs(mean - 1) > 0.01 else math.nan


QUESTIONS = {
    "ps4.rows": Several(
        asks="Eight MI300X: in three rows of the table the time of the links is that of the wrong "
        "matrix. Give the right times of these rows, in µs, from top to bottom, and how many times "
        "too long the table makes the geometric mean of all its rows.",
        chips=("MI300X",),
        beside=TABLE,
        points=3,
        parts={
            **dict(zip(("first", "second", "third"), map(_row, WRONG_ROWS), strict=True)),
            "mean": Number(
                asks="How many times too long is the geometric mean of the table's times?",
                inputs=_times(),
                formula=MEAN,
                unit="times",
                words={"product given": "That is the product of the factors. Take the sixth root."},
                slips=[
                    _mean_slip(
                        "longer by",
                        "product ** (1 / 6) - 1",
                        "That is the excess. How many times as long is it?",
                    ),
                    _mean_slip(
                        "wrong rows alone",
                        "(factor_1 * factor_2 * factor_3) ** (1 / 3)",
                        "That is the mean of the wrong rows. The contest uses all six.",
                    ),
                    Slip(
                        "arithmetic mean",
                        constant_formula(sum(PUBLISHED.values()) / sum(map(_right, PUBLISHED))),
                        "That compares the sums, in which the long rows dominate. In a geometric "
                        "mean, every row has the same weight.",
                    ),
                    Slip(
                        "mean of factors",
                        constant_formula(
                            sum(time / _right(row) for row, time in PUBLISHED.items()) / 6
                        ),
                        "That is the arithmetic mean of the factors. A geometric mean multiplies, "
                        "then takes the sixth root.",
                    ),
                    _by_all(
                        "added",
                        "t_math + t_memory + t_link",
                        "The times are right, but added. With full overlap, the longest counts.",
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
                        "That is the square root of the product. Six rows need the sixth root.",
                    ),
                ],
                how="the sixth root of the product of all factors; a right row has 1",
            ),
        },
        follows={"mean": _mean_by},
        praise="You can't see the mistake when N equals K, and it doesn't matter when the memory "
        "binds.",
        how="run your function on all six rows and compare; the mean is the sixth root of the "
        "product of printed over right",
    )
}
