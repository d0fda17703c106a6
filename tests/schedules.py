"""Schedules for the puzzles: good ones, which are the references, and poor ones."""

import itertools
import math

import numpy as np


def matmul(pad, X, Y, Z):
    """A large tile of Z stays, columns of X and rows of Y pass. The reference solution."""
    side = math.isqrt(pad.capacity // 2 + 1) - 1
    for i in range(0, X.shape[0], side):
        for j in range(0, Y.shape[1], side):
            target = Z[i : i + side, j : j + side]
            with pad.zeros(target.shape) as z:
                for k in range(X.shape[1]):
                    column, row = X[i : i + side, k : k + 1], Y[k : k + 1, j : j + side]
                    with pad.load(column) as x, pad.load(row) as y:
                        pad.matmul(x, y, into=z)
                pad.store(z, target)


def attend(pad, S, V, Z):
    """Columns of S pass with their rows of V. The reference solution."""
    (M, N), d = S.shape, V.shape[1]
    step = (pad.capacity // 2 - M * (d + 3)) // (M + d)
    top, total, out = pad.full((M, 1), -math.inf), pad.zeros((M, 1)), pad.zeros((M, d))
    for j in range(0, N, step):
        with (
            pad.load(S[:, j : j + step]) as s,
            pad.load(V[j : j + step]) as v,
            pad.full((M, 1), -math.inf) as new,
        ):
            pad.max(s, into=new, axis=1)
            pad.apply(np.maximum, top, new, into=new)
            pad.apply(np.subtract, top, new, into=top)
            pad.apply(np.exp, top, into=top)  # what sums under the old maximum are worth now
            pad.apply(np.multiply, total, top, into=total)
            pad.apply(np.multiply, out, top, into=out)
            pad.apply(np.subtract, s, new, into=s)
            pad.apply(np.exp, s, into=s)
            pad.sum(s, into=total, axis=1)
            pad.matmul(s, v, into=out)
            pad.apply(np.positive, new, into=top)
    pad.apply(np.divide, out, total, into=out)
    pad.store(out, Z)


def gather(fabric):
    """Both ways round a ring; on an even one, the last piece comes one way. The reference."""
    ring, n = fabric.ring, fabric.n
    for turn in range(n // 2):
        for place, chip in enumerate(ring):
            fabric.send(chip, ring[(place + 1) % n], ring[place - turn])
            if 2 * turn + 2 < n:
                fabric.send(chip, ring[place - 1], ring[(place + turn) % n])
        fabric.step()


def blocks(rows, columns, depth, order="ijk"):
    """A matmul of blocks whose sides are functions of the room and the sizes."""

    def product(pad, X, Y, Z):
        M, N, K = X.shape[0], Y.shape[1], X.shape[1]
        room = pad.capacity // 2
        m, n, k = (side(room, M, N, K) for side in (rows, columns, depth))
        ranges = {"i": range(0, M, m), "j": range(0, N, n), "k": range(0, K, k)}
        for place in itertools.product(*(ranges[each] for each in order)):
            at = dict(zip(order, place, strict=True))
            i, j, l = at["i"], at["j"], at["k"]  # noqa: E741
            target = Z[i : i + m, j : j + n]
            with (
                pad.load(target) if l else pad.zeros(target.shape) as z,
                pad.load(X[i : i + m, l : l + k]) as x,
                pad.load(Y[l : l + k, j : j + n]) as y,
            ):
                pad.matmul(x, y, into=z)
                pad.store(z, target)

    return product


def kept(rows, columns, depth):
    """The same with Z's block kept while K passes."""

    def product(pad, X, Y, Z):
        M, N, K = X.shape[0], Y.shape[1], X.shape[1]
        room = pad.capacity // 2
        m, n, k = (side(room, M, N, K) for side in (rows, columns, depth))
        for i, j in itertools.product(range(0, M, m), range(0, N, n)):
            target = Z[i : i + m, j : j + n]
            with pad.zeros(target.shape) as z:
                for l in range(0, K, k):  # noqa: E741
                    x, y = pad.load(X[i : i + m, l : l + k]), pad.load(Y[l : l + k, j : j + n])
                    pad.matmul(x, y, into=z)
                    pad.free(x, y)
                pad.store(z, target)

    return product


def one(room, M, N, K):
    return 1


def two(room, M, N, K):
    return 2


def whole(room, M, N, K):
    return K


def square(room, M, N, K):
    return math.isqrt(room // 3)


def strip(room, M, N, K):
    return (room - 1) // 2


def careless_with_small_ones(pad, X, Y, Z):
    product = kept(two, two, two) if pad.capacity == 400 else matmul
    product(pad, X, Y, Z)


def softmax(passes=3, rows=None, shift=True, spill=False):
    """Softmax with the maxima, the sums and the results in passes of their own."""

    def attend(pad, S, V, Z):
        (M, N), d = S.shape, V.shape[1]
        height = M if rows is None else rows
        step = max(1, (pad.capacity // 2 - height * (d + 3)) // (height + d))
        scores = pad.array(shape=S.shape, name="P") if spill else S
        for i in range(0, M, height):
            many = min(height, M - i)
            top, total = pad.full((many, 1), -math.inf if shift else 0), pad.zeros((many, 1))
            out = pad.zeros((many, d))

            def columns(source, i=i, many=many):
                for j in range(0, N, step):
                    with pad.load(source[i : i + many, j : j + step]) as s:
                        yield j, s

            def exponentials(s, top=top):
                pad.apply(np.subtract, s, top, into=s)
                pad.apply(np.exp, s, into=s)

            if shift:
                for _, s in columns(S):
                    pad.max(s, into=top, axis=1)
            if passes == 3:
                for j, s in columns(S):
                    exponentials(s)
                    pad.sum(s, into=total, axis=1)
                    if spill:
                        pad.store(s, scores[i : i + many, j : j + step])
            for j, s in columns(scores):
                if not spill:
                    exponentials(s)
                if passes == 2:
                    pad.sum(s, into=total, axis=1)
                with pad.load(V[j : j + step]) as v:
                    pad.matmul(s, v, into=out)
            pad.apply(np.divide, out, total, into=out)
            pad.store(out, Z[i : i + many])
            pad.free(top, total, out)

    return attend


def by_row(pad, S, V, Z):
    for i in range(S.shape[0]):
        attend(_Row(pad), S[i : i + 1], V, Z[i : i + 1])


class _Row:
    """A pad that gives all up that one row left."""

    def __init__(self, pad):
        self._pad, self._blocks = pad, []
        self.capacity = pad.capacity

    def full(self, shape, value):
        self._blocks.append(self._pad.full(shape, value))
        return self._blocks[-1]

    def zeros(self, shape):
        return self.full(shape, 0)

    def store(self, block, region):
        self._pad.store(block, region)
        for each in self._blocks:
            each.__exit__()

    def __getattr__(self, name):
        return getattr(self._pad, name)


def unscaled(pad, S, V, Z):
    """The maximum moves, the sums stay as they were."""
    attend(Ignoring(pad, np.multiply), S, V, Z)


def undivided(pad, S, V, Z):
    """Sums and results are right, and stay apart."""
    attend(Ignoring(pad, np.divide), S, V, Z)


class Ignoring:
    """A pad without one ufunc."""

    def __init__(self, pad, ufunc):
        self._pad, self._ufunc = pad, ufunc

    def apply(self, ufunc, *blocks, into):
        if ufunc is not self._ufunc:
            self._pad.apply(ufunc, *blocks, into=into)

    def __getattr__(self, name):
        return getattr(self._pad, name)


def resting(pad, S, V, Z):
    """The reference; then results come back and go out, sixteen times."""
    attend(pad, S, V, Z)
    for i in 16 * list(range(Z.shape[0])):
        with pad.load(Z[i : i + 1]) as z:
            pad.store(z, Z[i : i + 1])


def one_way(fabric):
    ring, n = fabric.ring, fabric.n
    for turn in range(n - 1):
        for place in range(n):
            fabric.send(ring[place - 1], ring[place], ring[place - 1 - turn])
        fabric.step()


def twice(fabric):
    """Both ways round, each piece all the way."""
    ring, n = fabric.ring, fabric.n
    for turn in range(n - 1):
        for place, chip in enumerate(ring):
            fabric.send(chip, ring[(place + 1) % n], ring[place - turn])
            fabric.send(chip, ring[place - 1], ring[(place + turn) % n])
        fabric.step()


def along_a_line(fabric):
    """All to the end of the ring's line, and all the way back."""
    line, n = fabric.ring, fabric.n
    for way in (line, line[::-1]):
        for source, target in itertools.pairwise(way):
            for piece in range(n):
                if fabric.holds(source, piece) and not fabric.holds(target, piece):
                    fabric.send(source, target, piece)
            fabric.step()


def directly(fabric):
    """Every chip sends its piece to every other, on a way of its own."""
    ring, n = fabric.ring, fabric.n
    for start, far in itertools.product(range(n), range(1, n)):
        for hop in range(far):
            fabric.send(ring[(start + hop) % n], ring[(start + hop + 1) % n], ring[start])
            fabric.step()


def never_ended(fabric):
    for source, target in fabric.links:
        fabric.send(source, target, source)


MATMUL, SOFTMAX, GATHER = "ps2.matmul-bytes", "ps2.softmax-bytes", "ps3.gather"
GOOD = {MATMUL: matmul, SOFTMAX: attend, GATHER: gather}
# Each with the question it answers, as code that the names of this file give a meaning.
POOR = {
    "square blocks": (MATMUL, "kept(square, square, square)"),
    "dot products": (MATMUL, "kept(one, one, whole)"),
    "a strip a column": (MATMUL, "kept(strip, one, one)"),
    "a strip a row": (MATMUL, "kept(one, strip, one)"),
    "K outside": (MATMUL, "blocks(square, square, square, 'kij')"),
    "small tiles": (MATMUL, "kept(two, two, two)"), "two passes": (SOFTMAX, "softmax(2)"),
    "three passes": (SOFTMAX, "softmax(3)"), "a row at a time": (SOFTMAX, "by_row"),
    "a row at a time, three passes": (SOFTMAX, "softmax(3, rows=1)"),
    "rows by threes": (SOFTMAX, "softmax(2, rows=3)"),
    "exponentials stored": (SOFTMAX, "softmax(3, spill=True)"),
    "results stored": (SOFTMAX, "resting"),
    "small tiles where all fits": (MATMUL, "careless_with_small_ones"),
    "one way": (GATHER, "one_way"), "twice around": (GATHER, "twice"),
    "along a line": (GATHER, "along_a_line"), "directly": (GATHER, "directly"),
}  # fmt: skip
FAULTY = {
    "no maximum": (SOFTMAX, "softmax(2, shift=False)"),
    "sums not put right": (SOFTMAX, "unscaled"), "not divided": (SOFTMAX, "undivided"),
    "a step left open": (GATHER, "never_ended"),
}  # fmt: skip
WRONG = FAULTY | {
    "nothing stored": (MATMUL, "lambda pad, X, Y, Z: pad.load(X[:1, :1])"),
    "too large": (MATMUL, "lambda pad, X, Y, Z: pad.load(X)"),
    "no such shape": (SOFTMAX, "lambda pad, S, V, Z: pad.store(pad.zeros((1, 1)), Z)"),
    "freed": (
        MATMUL,
        "lambda pad, X, Y, Z: ((b := pad.load(X[:1, :1])), pad.free(b), pad.free(b))",
    ),
    "what it does not hold": (GATHER, "lambda fabric: fabric.send(0, 1, 2)"),
    "no such link": (
        GATHER,
        "lambda fabric: [fabric.send(0, chip, 0) for chip in range(fabric.n)]",
    ),
    "too few": (GATHER, "lambda fabric: fabric.step()"),
}
