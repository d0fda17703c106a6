"""The traffic puzzles of the problem sets: schedules to write, graded by the bytes they move."""

from math import ceil, isqrt

import numpy as np

import roofkit as rk
from roofcheck.kinds import Puzzle
from roofcheck.running.counting_machine import NetworkCase, ScratchpadCase
from roofcheck.slips.question_slips import Slip
from roofcheck.steps.derivation import Derivation, make_step
from roofkit.network import Fabric, Group
from rooflab.scratchpad import least_matmul_bytes

SIZE = 2  # bf16
PAD = """
A Scratchpad has a large slow memory, in which arrays such as X lie, and a small fast one. To
compute with a region of an array, load it into fast memory, where it is a block in bf16. At no time
may blocks take more than pad.capacity bytes together.

| call                              | what it does                                            |
|-----------------------------------|---------------------------------------------------------|
| x = pad.load(X[0:4, 8:16])        | copies a region of X into a new block; its bytes cross  |
| pad.store(z, Z[0:4, 0:8])         | copies block z over a region of Z; its bytes cross      |
| z = pad.zeros((4, 8))             | makes a new block of zeros                              |
| m = pad.full((4, 1), -np.inf)     | makes a new block of 0, 1, inf or -inf                  |
| pad.matmul(a, b, into=z)          | adds a @ b to z                                         |
| pad.apply(np.exp, x, into=x)      | applies a NumPy ufunc to one block or two               |
| pad.apply(np.positive, m, into=o) | copies block m over block o                             |
| pad.sum(x, axis=1, into=s)        | adds the sum of each row of x to s                      |
| pad.max(x, axis=1, into=m)        | replaces m where a row of x has a larger number         |
| pad.free(x, y)                    | frees the room of blocks x and y                        |

This function adds two arrays. "with" frees a block at its end, and the last block may have fewer
rows, since a slice ends where its array does.

```
def add(pad, X, Y, Z):
    rows, columns = X.shape
    step = pad.capacity // 2 // (2 * columns)
    for i in range(0, rows, step):
        with pad.load(X[i:i+step]) as x, pad.load(Y[i:i+step]) as y:
            pad.apply(np.add, x, y, into=x)
            pad.store(x, Z[i:i+step])
```
"""
FABRIC = """
The array has n pieces, and chip i starts with piece i.

| of a fabric             | what it is or does                                                   |
|-------------------------|----------------------------------------------------------------------|
| .n, .neighbours(i)      | how many chips there are; those that chip i has a link to            |
| .ring                   | all chips, each joined to the next one, and the last to the first    |
| .send(i, j, piece=p)    | puts piece p on the link from i to j; i must hold it                 |
| .step()                 | ends a step: what was sent has arrived                               |
| .holds(i, p), .lacking  | whether chip i holds piece p; which pieces chips still lack          |
| .busiest, .carried      | bytes over the busiest link; bytes over each link                    |

This sends everything among three chips in a line:

```
def gather_three(fabric):
    fabric.send(0, 1, piece=0)
    fabric.send(2, 1, piece=2)
    fabric.send(1, 0, piece=1)
    fabric.send(1, 2, piece=1)
    fabric.step()
    fabric.send(1, 0, piece=2)
    fabric.send(1, 2, piece=0)
    fabric.step()
```
"""


def _matmul_case(rng, number):
    """Sides that tiles divide, sides that nothing divides, a thin Y, and one where all fits."""
    room, M, N, K = (
        (50, rng.choice((18, 24)), rng.choice((18, 24)), rng.randint(21, 24)),
        (82, rng.choice((23, 31)), 23, rng.choice((19, 23))),
        (82, 8 * rng.randint(3, 5), 4, rng.randint(16, 24)),
        (200, rng.randint(6, 8), rng.randint(6, 8), rng.randint(6, 8)),
    )[number]
    draw = np.random.default_rng(rng.getrandbits(32))
    X, Y = draw.normal(size=(M, K)), draw.normal(size=(K, N))
    return ScratchpadCase(
        sizes={"M": M, "N": N, "K": K},
        capacity=SIZE * room,
        inputs={"X": X, "Y": Y},
        output="Z",
        result=X @ Y,
        least=least_matmul_bytes(M, N, K, SIZE * room),
    )


def _matmul_sizes(case):
    return {**case.sizes, "capacity": case.capacity, "size": SIZE}


LEAST_MATMUL = Derivation(
    [
        make_step("room", "capacity / size", "", "the room: the elements that fast memory holds"),
        make_step(
            "once", "M * K + K * N + M * N", "",
            "the elements of all three: each of X and Y is loaded once, each of Z stored once",
        ),
        make_step(
            "short", "2 * M * N * K / sqrt(room)", "",
            "the elements for so little room: while twice as many of them pass as there is "
            "room for, a schedule does at most room · √room of the M · N · K multiply-adds",
        ),
        make_step("least", "size * max(once, short)", "bytes", "the least bytes: both bounds hold"),
    ],
    "bytes",
)  # fmt: skip


def _attend_case(rng, number):
    """Rows that do not fit, of scores whose exponentials overflow; the last is not divisible."""
    M, d = rng.randint(6, 10), rng.randint(3, 5)
    N = rng.choice((163, 167, 173, 179)) if number == 3 else 8 * rng.randint(20, 24)
    draw = np.random.default_rng(rng.getrandbits(32))
    S = draw.normal(size=(M, N)) + draw.choice([-1000, 1000], size=(M, 1))
    # One row whose second half is far above its first.
    S[0, N // 2 :] += 900
    V = draw.normal(size=(N, d))
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return ScratchpadCase(
        sizes={"M": M, "N": N, "d": d},
        # Maxima, sums and results of all rows; new maxima; four columns of S with their rows of V.
        capacity=SIZE * (M * (d + 3) + 4 * (M + d)),
        inputs={"S": S, "V": V},
        output="Z",
        result=P @ V / P.sum(axis=1, keepdims=True),
        least=SIZE * (M * N + N * d + M * d),
    )


def _attend_sizes(case):
    return {**case.sizes, "size": SIZE}


LEAST_ATTEND = Derivation(
    [
        make_step("scores", "size * M * N", "bytes", "the bytes of S: each score is loaded once"),
        make_step("values", "size * N * d", "bytes", "the bytes of V: each value is loaded once"),
        make_step("results", "size * M * d", "bytes", "the bytes of Z: each result is stored once"),
        make_step("least", "scores + values + results", "bytes", "the least bytes"),
    ],
    "bytes",
)


def _gather_case(rng, number):
    """A ring, slices whose corners have two links, and a grid that is no slice."""
    grid = rng.choice(((2, 3), (3, 4), (2, 5), (4, 5)))
    return NetworkCase(
        (
            rk.network.ring(rng.randint(5, 9), 45e9),
            rk.group("TPU v5e", 4),
            rk.group("TPU v5e", 8),
            rk.group("TPU v5e", 16),
            Group("torus", grid, 45e9),
        )[number]
    )


def _gather_sizes(case):
    fabric = Fabric(case.group, case.group.n)
    return {
        "n": fabric.n,
        "links": min(len(fabric.neighbours(chip)) for chip in range(fabric.n)),
    }


LEAST_GATHER = Derivation(
    [
        make_step("lacking", "n - 1", "", "the pieces that a chip lacks: it holds one of n"),
        make_step(
            "least", "ceil(lacking / links)", "",
            "the pieces over the busiest link: those of the chip with fewest links come in over "
            "all of its links evenly",
        ),
    ]
)  # fmt: skip


def _squares(M, N, X, Y, room):
    """Whether X and Y cross as often as with three square blocks that fill fast memory."""
    side = isqrt(room // 3)
    return side > 1 and ceil(N / side) == X and ceil(M / side) == Y


QUESTIONS = {
    "ps2.matmul-bytes": Puzzle(
        asks="Write matmul(pad, X, Y, Z), which puts the product of X[M, K] and Y[K, N] into Z and "
        "loads and stores as few bytes as it can. Sizes are X.shape and Y.shape, the room in fast "
        "memory pad.capacity, in bytes of bf16 elements.",
        beside=PAD,
        points=5,
        case=_matmul_case,
        credit={1.5: 1, 2.3: 0.65, 8: 0.1},
        slips=[
            Slip(
                "dot products",
                lambda M, N, X, Y: X == N and Y == M,
                "Every element of Z is a dot product of its own: X crosses {X:g} times, once for "
                "every column of Z, and Y {Y:g} times, once for every row.",
            ),
            Slip(
                "X for every column",
                lambda M, N, X, Y: X == N > 1 and Y != M,
                "X crosses {X:g} times: once for every column of Z.",
            ),
            Slip(
                "Y for every row",
                lambda M, N, X, Y: Y == M > 1 and X != N,
                "Y crosses {Y:g} times: once for every row of Z.",
            ),
            Slip(
                "partial sums",
                lambda back: back > 0,
                "Partial sums of Z are stored and loaded again, {back:.3g} times over, for every "
                "block of K. Which loop must be the innermost, so that a block of Z can stay?",
            ),
            Slip(
                "three square blocks",
                lambda M, N, X, Y, room, back: not back and _squares(M, N, X, Y, room),
                "X crosses {X:g} times and Y {Y:g} times, as with three square blocks that share "
                "fast memory evenly. Only one of the three decides how often X and Y cross.",
            ),
            Slip(
                "room left empty",
                lambda M, N, X, Y, used: used < 0.7 and X < N and Y < M,
                "X crosses {X:g} times and Y {Y:g} times, while never more than {used:.0%} of fast "
                "memory is taken.",
            ),
            Slip(
                "all fits",
                lambda M, N, K, room: room >= M * K + K * N + M * N,
                "Here X, Y and Z fit into fast memory together: each has to cross only once.",
            ),
        ],
        how="X crosses once for every block of columns of Z that is worked on, Y for every block "
        "of rows; what takes room in fast memory without making those blocks larger?",
        praise="The tile that stays is large, and the blocks that pass are thin.",
        least=LEAST_MATMUL,
        sizes=_matmul_sizes,
        best_schedule="Keep a block of Z that takes nearly all of fast memory, and add to it one column "
        "of X times one row of Y after the other. X then crosses once for every block of columns "
        "of Z, and Y once for every block of rows.",
    ),
    "ps2.softmax-bytes": Puzzle(
        asks="Write attend(pad, S, V, Z), which puts softmax(S) · V into Z, with the softmax taken "
        "of every row of S[M, N], and loads and stores as few bytes as it can. A row is longer "
        "than fast memory; there is room for the maxima, sums and results of all M rows, and for a "
        "few columns of S with their rows of V besides.",
        beside=PAD,
        points=5,
        case=_attend_case,
        credit={1.05: 1, 1.7: 0.5, 2.4: 0.25, 5: 0.1},
        slips=[
            Slip(
                "three passes",
                lambda S: S == 3,
                "S crosses three times: maximum, sum and weighted sum each fetch it again. Which "
                "of them can be taken in the same pass?",
            ),
            Slip(
                "two passes",
                lambda S: S == 2,
                "S crosses twice. When a larger score comes, what must happen to the sums that "
                "were taken with the maximum before?",
            ),
            Slip(
                "V for every row",
                lambda M, V: V == M,
                "V is fetched again for every row of S, {V:g} times in all.",
            ),
            Slip(
                "V for every block of rows",
                lambda M, V: 1 < V < M,
                "V crosses {V:.3g} times, where every row of S could use it while it is there.",
            ),
            Slip(
                "exponentials stored",
                lambda spilled: spilled > 0,
                "Exponentials go to slow memory and come back, which costs as much as S itself.",
            ),
            Slip(
                "results stored",
                lambda out, back, spilled: not spilled and (out > 1 or back > 0),
                "Unfinished results are stored and come back, though all of Z has room in fast "
                "memory.",
            ),
        ],
        faults=[
            Slip(
                "exponentials overflow",
                lambda finite: not finite,
                "Z holds inf or nan: exp overflows above 709, and 0/0 is nan. The scores lie near "
                "1000 and near -1000; take the largest of its row from every score first. If you "
                "do: a sum that stayed 0, a division by a factor of 0, an exponent with the wrong "
                "sign or one block under two names gives the same.",
            ),
            Slip(
                "sum wrong",
                lambda finite, proportional: finite and proportional,
                "Each row of Z is the right one times a factor: it was not divided by the sum, or "
                "the sum was not corrected when a larger score came.",
            ),
            Slip(
                "row not put right",
                lambda finite, proportional, out: finite and not proportional and out >= 1,
                "Check first: when a larger score came, were the sum and the row of Z both "
                "corrected before anything was added?",
            ),
        ],
        how="keep a maximum, a sum and a result for every row; when the maximum rises, multiply "
        "the other two by a factor before you add to them",
        praise="Scores, values and results cross once each, as in fused attention.",
        least=LEAST_ATTEND,
        sizes=_attend_sizes,
        best_schedule="Take a few columns of S at a time, for all rows, with their rows of V. Keep the "
        "largest score, the sum and the result of every row. When a larger score comes, multiply "
        "sum and result by exp(old maximum − new maximum), then add. Divide by the sum at the end.",
    ),
    "ps3.gather": Puzzle(
        asks="Write gather(fabric), which sends pieces until every chip has all of them, with as "
        "few as possible over the busiest link. Each direction of a link is counted separately.",
        beside=FABRIC,
        points=4,
        case=_gather_case,
        case_count=5,
        credit={1: 1, 2: 0.5, 8: 0.1},
        slips=[
            Slip(
                "one way",
                lambda one_way, sent: one_way and sent > 0,
                "Links carry pieces one way only. The other direction is counted separately, and "
                "carries nothing.",
            ),
            Slip(
                "one link",
                lambda one_way, again, n, busiest, idlest: (
                    not (one_way or again) and busiest >= n - 1 > 2 * idlest
                ),
                "One link carries {busiest:g} pieces, nearly all there are, and another "
                "{idlest:g}.",
            ),
            Slip(
                "sent again",
                lambda again: again > 0,
                "{again} of {sent} sends bring a piece to a chip that holds it already.",
            ),
        ],
        faults=[
            Slip(
                "step left open",
                lambda waiting: waiting > 0,
                "{waiting} pieces were sent in a step that did not end: fabric.step() lets them "
                "arrive.",
            ),
        ],
        how="every piece must reach every chip; a chip with two links has two ways in, and on a "
        "ring a piece can leave both ways",
        praise="Pieces go both ways round, so each chip receives evenly over two links.",
        least=LEAST_GATHER,
        sizes=_gather_sizes,
        best_schedule="Number the chips along a ring through all of them. In every step each chip passes "
        "on what came last: to the next chip what came from the one before, and to the one before "
        "what came from the next. Stop each way when half of the pieces have come that way.",
    ),
}
