"""The cases of the traffic puzzles in ``questions/puzzles.toml``, and their sizes."""

import numpy as np

import roofkit as rk
from roofcheck.running.counting_machine import NetworkCase, ScratchpadCase
from roofkit.network import Fabric, Group
from rooflab.scratchpad import least_matmul_bytes

ITEMSIZE = 2  # bf16


def draw_matmul_case(rng, number):
    """Draw a case: sides that tiles divide evenly or don't, a thin Y, or matrices that all fit."""
    room, M, N, K = (
        (50, rng.choice((18, 24)), rng.choice((18, 24)), rng.randint(21, 24)),
        (82, rng.choice((23, 31)), 23, rng.choice((19, 23))),
        (82, 8 * rng.randint(3, 5), 4, rng.randint(16, 24)),
        (200, rng.randint(6, 8), rng.randint(6, 8), rng.randint(6, 8)),
    )[number]
    draw = np.random.default_rng(rng.getrandbits(32))
    X, Y = draw.normal(size=(M, K)), draw.normal(size=(K, N))
    capacity = ITEMSIZE * room
    return ScratchpadCase(
        sizes={"M": M, "N": N, "K": K}, capacity=capacity, inputs={"X": X, "Y": Y}, output="Z",
        result=X @ Y, least=least_matmul_bytes(M, N, K, capacity),
    )  # fmt: skip


def draw_attention_case(rng, number):
    """Draw scores whose rows don't fit and whose exponentials overflow; the last N is prime."""
    M, d = rng.randint(6, 10), rng.randint(3, 5)
    N = rng.choice((163, 167, 173, 179)) if number == 3 else 8 * rng.randint(20, 24)
    draw = np.random.default_rng(rng.getrandbits(32))
    S = draw.normal(size=(M, N)) + draw.choice([-1000, 1000], size=(M, 1))
    # In one row, the second half is far larger than the first.
    S[0, N // 2 :] += 900
    V = draw.normal(size=(N, d))
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return ScratchpadCase(
        sizes={"M": M, "N": N, "d": d},
        # Maxima, sums and results of all rows; new maxima; four columns of S and their rows of V.
        capacity=ITEMSIZE * (M * (d + 3) + 4 * (M + d)), inputs={"S": S, "V": V}, output="Z",
        result=P @ V / P.sum(axis=1, keepdims=True), least=ITEMSIZE * (M * N + N * d + M * d),
    )  # fmt: skip


def scratchpad_sizes(case):
    """Return the values, by name, from which a ScratchpadCase's least bytes are computed."""
    return {**case.sizes, "capacity": case.capacity, "size": ITEMSIZE}


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


CASES = {
    "matmul": (draw_matmul_case, scratchpad_sizes),
    "attend": (draw_attention_case, scratchpad_sizes),
    "gather": (draw_gather_case, fabric_sizes),
}
