"""The cases of the traffic puzzles in ``questions/puzzles.toml`` and ``questions/ps7.toml``.

Each entry of CASES has a function that draws a case, and one that gives the values from which the
case's least bytes, and par, are derived.
"""

import math

import numpy as np

import roofkit as rk
from roofcheck.running.counting_machine import NetworkCase, ScratchpadCase
from roofkit.network import Fabric, Group

ITEMSIZE = 2  # bf16


def _make_case(rng, room, sizes, shapes, compute):
    """Return a case whose output ``compute`` gives; an input is random, or given, not its shape."""
    draw = np.random.default_rng(rng.getrandbits(32))
    inputs = {
        name: shape if isinstance(shape, np.ndarray) else draw.normal(size=shape)
        for name, shape in shapes.items()
    }
    return ScratchpadCase(
        sizes=sizes, capacity=ITEMSIZE * room, inputs=inputs, output="Z", result=compute(**inputs)
    )


def _multiply(X, Y):
    return X @ Y


def _softmax(S):
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def draw_scale_case(rng, number):
    """Draw a long vector, for c · X and its sum."""
    N = rng.randint(60, 120)

    def compute(X, C):
        return np.append(C * X, C * X.sum())

    return _make_case(rng, rng.randint(8, 16), {"N": N}, {"X": (N,), "C": (1,)}, compute)


def draw_vector_case(rng, number):
    """Draw a matrix and a vector that fits into fast memory, with little room besides."""
    M, K = rng.randint(12, 20), rng.randint(20, 30)
    return _make_case(
        rng, K + rng.randint(8, 12), {"M": M, "K": K}, {"X": (M, K), "Y": (K,)}, _multiply
    )


def _draw_product(rng, room, M, N, K):
    shapes = {"X": (M, K), "Y": (K, N)}
    return _make_case(rng, room, {"M": M, "N": N, "K": K}, shapes, _multiply)


def draw_matmul_case(rng, number):
    """Draw a case: sides that tiles divide evenly or don't, a thin Y, or matrices that all fit."""
    room, M, N, K = (
        (50, rng.choice((18, 24)), rng.choice((18, 24)), rng.randint(21, 24)),
        (82, rng.choice((23, 31)), 23, rng.choice((19, 23))),
        (82, 8 * rng.randint(3, 5), 4, rng.randint(16, 24)),
        (200, rng.randint(6, 8), rng.randint(6, 8), rng.randint(6, 8)),
    )[number]
    return _draw_product(rng, room, M, N, K)


def draw_softmax_case(rng, number):
    """Draw scores of which one row fits."""
    M, N = rng.randint(6, 10), rng.randint(20, 30)
    return _make_case(rng, N + 6, {"M": M, "N": N}, {"S": (M, N)}, _softmax)


def draw_norm_case(rng, number):
    """Draw rows of which half fits, and C = 1/N."""
    M, N = rng.randint(4, 6), 4 * rng.randint(12, 16)

    def compute(X, C):
        return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)

    shapes = {"X": (M, N), "C": np.full((1, 1), 1 / N)}
    return _make_case(rng, N // 2, {"M": M, "N": N}, shapes, compute)


def draw_scores_case(rng, number):
    """Draw queries, keys and values, with room for the queries and their results."""
    M, N, d = rng.randint(4, 6), 8 * rng.randint(6, 9), rng.randint(3, 5)
    shapes = {"Q": (M, d), "K": (N, d), "V": (N, d)}
    room = M * (2 * d + 3) + 4 * (M + 2 * d)
    return _make_case(
        rng, room, {"M": M, "N": N, "d": d}, shapes, lambda Q, K, V: _softmax(Q @ K.T) @ V
    )


def draw_filter_case(rng, number):
    """Draw an image with room for four of its rows, and a filter of 3 × 3."""
    H, W = rng.randint(8, 12), rng.randint(10, 16)

    def compute(X, F):
        windows = np.lib.stride_tricks.sliding_window_view(X, (3, 3))
        return np.einsum("ijkl,kl->ij", windows, F)

    return _make_case(rng, 6 * W, {"H": H, "W": W}, {"X": (H, W), "F": (3, 3)}, compute)


def draw_attention_case(rng, number):
    """Draw scores whose rows don't fit and whose exponentials overflow; the last N is prime."""
    M, d = rng.randint(6, 10), rng.randint(3, 5)
    N = rng.choice((163, 167, 173, 179)) if number == 3 else 8 * rng.randint(20, 24)
    draw = np.random.default_rng(rng.getrandbits(32))
    S = draw.normal(size=(M, N)) + draw.choice([-1000, 1000], size=(M, 1))
    # In one row, the second half is far larger than the first.
    S[0, N // 2 :] += 900
    V = draw.normal(size=(N, d))
    return ScratchpadCase(
        sizes={"M": M, "N": N, "d": d},
        # Maxima, sums and results of all rows; new maxima; four columns of S and their rows of V.
        capacity=ITEMSIZE * (M * (d + 3) + 4 * (M + d)), inputs={"S": S, "V": V}, output="Z",
        result=_softmax(S) @ V,
    )  # fmt: skip


def scratchpad_sizes(case):
    """Return the sizes of a ScratchpadCase, the room in elements, and the bytes of an element."""
    return {**case.sizes, "room": case.capacity / ITEMSIZE, "size": ITEMSIZE}


def tiled_sizes(case):
    """Return the same, and ``tiled``: the elements that the best tile of Z moves.

    An m × n tile stays, and a column of m elements and a row of n pass for each k.
    """
    sizes = scratchpad_sizes(case)
    M, N, K, room = (sizes[name] for name in ("M", "N", "K", "room"))
    moved = (
        K * (M * math.ceil(N / n) + N * math.ceil(M / m))
        for m in range(1, M + 1)
        for n in range(1, N + 1)
        if m * n + m + n <= room
    )
    return sizes | {"tiled": min(moved) + M * N}


def draw_gather_case(rng, number):
    """Draw a ring, a slice whose corners have two links, or a grid that is not a slice."""
    grid = rng.choice(((2, 3), (3, 4), (2, 5), (4, 5)))
    groups = (
        rk.network.ring(rng.randint(5, 9), 45e9),
        *(rk.group("TPU v5e", n) for n in (4, 8, 16)),
        Group("torus", grid, 45e9),
    )
    return NetworkCase(groups[number])


def fabric_sizes(case):
    """Return the number of chips and the fewest links per chip, for a case's least bytes."""
    fabric = Fabric(case.group, case.group.n)
    links = min(len(fabric.neighbours(chip)) for chip in range(fabric.n))
    return {"n": fabric.n, "links": links}


def _draw_sides(rng, *sides):
    return (rng.choice(sides) for _ in range(3))


CASES = {
    "matmul": (draw_matmul_case, scratchpad_sizes),
    "attend": (draw_attention_case, scratchpad_sizes),
    "gather": (draw_gather_case, fabric_sizes),
    "scale": (draw_scale_case, scratchpad_sizes),
    "vector": (draw_vector_case, scratchpad_sizes),
    # 6 · 6 + 6 + 6 numbers fit into 48, and 6 × 6 tiles divide both sides.
    "even": (lambda rng, _: _draw_product(rng, 48, *_draw_sides(rng, 18, 24, 30)), tiled_sizes),
    "ragged": (lambda rng, _: _draw_product(rng, 63, *_draw_sides(rng, 17, 19, 23)), tiled_sizes),
    "softmax": (draw_softmax_case, scratchpad_sizes),
    "norm": (draw_norm_case, scratchpad_sizes),
    "scores": (draw_scores_case, scratchpad_sizes),
    "filter": (draw_filter_case, scratchpad_sizes),
    "ring": (lambda rng, _: NetworkCase(rk.network.ring(rng.randint(5, 9), 45e9)), fabric_sizes),
}
