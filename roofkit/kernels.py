"""Costs of common kernels: FLOPs, and bytes over the memory channel.

Unless ``tile`` is given, counts are ideal: each operand crosses the memory channel once, and
intermediate results stay on the chip. Sizes can be numbers, NumPy arrays that broadcast, or SymPy
symbols. Counting conventions vary, so each one is an argument:

- ``fma``: operations per multiply-add: 2 counts FLOPs (the default), 1 counts MACs.
- ``moves``: the operands that cross the memory channel; omit those that stay on the chip.
- ``tile``: rows and columns of the result that the chip computes at a time.
- ``flops_per_element``: FLOPs per element of a softmax or a norm.

A size can be an average, such as the number of tokens per expert in a step. The sizes of a
convolution or a tile must be whole numbers. If a size, dtype or convention is invalid, the
ValueError names it.
"""

import math

import numpy as np

from roofkit._inputs import (
    check_broadcast,
    check_number,
    check_sizes,
    check_whole,
    is_symbolic,
    itemsize,
)
from roofkit.roofline import Cost, Roofline, smaller

# A LayerNorm takes seven operations per element: mean, subtraction of the mean, square, sum of
# squares, scale, gamma and beta. RMSNorm skips the mean, its subtraction and beta.
NORM_FLOPS = {"layer": 7, "rms": 4}
# A softmax takes five per element: maximum, subtraction, exponential, sum and division.
SOFTMAX_FLOPS = 5
NORM_PARAMETERS = {"layer": 2, "rms": 1}


def dot(N, dtype="bf16", *, fma=2, moves="xyz"):
    """Return the Cost of a dot product z = x · y of two vectors of length N.

    N multiplications and N - 1 additions add up to 2N - 1 FLOPs (N with ``fma=1``). The kernel
    reads x and y, and writes the scalar z in the same dtype.

    >>> dot(1024).intensity
    0.4995119570522206
    """
    (N,) = check_sizes(N=N)
    flops = 2 * N - 1 if _check_fma(fma) == 2 else N
    return Cost(flops, itemsize(dtype) * _sum_moved(moves, x=N, y=N, z=1))


def axpy(N, dtype="bf16", *, fma=2, moves="xyz"):
    """Return the Cost of N multiply-adds y <- a x + y, which read x and y and write z (the new y).

    The scalar a stays in a register. NumPy needs two passes and moves 5N elements instead of 3N.

    >>> axpy(1000, "fp32").intensity
    0.16666666666666666
    """
    (N,) = check_sizes(N=N)
    return Cost(_check_fma(fma) * N, itemsize(dtype) * _sum_moved(moves, x=N, y=N, z=N))


def elementwise(N, dtype="bf16", *, flops_per_element=1, reads=1, writes=1):
    """Return the Cost of computing N elements, each from matching elements of ``reads`` arrays.

    To add two arrays, use ``reads=2``; to scale one array, ``reads=1``.

    >>> elementwise(1000, reads=2).intensity
    0.16666666666666666
    """
    (N,) = check_sizes(N=N)
    flops = check_number(flops_per_element, "flops_per_element", above=False)
    reads = check_number(reads, "reads", above=False)
    writes = check_number(writes, "writes", above=False)
    check_broadcast(N=N, flops_per_element=flops, reads=reads, writes=writes)
    return Cost(flops * N, itemsize(dtype) * (reads + writes) * N)


def matmul(
    B, D, F, dtype="bf16", *, weight_dtype=None, out_dtype=None, fma=2, moves="XYZ", tile=None
):
    """Return the Cost of X[B, D] · Y[D, F] -> Z[B, F].

    Each of the B·F outputs takes D multiply-adds, 2BDF FLOPs in all. X, Y and Z move once each; in
    bf16 that is 2(BD + DF + BF) bytes. ``weight_dtype`` (of Y) and ``out_dtype`` default to dtype.

    With ``tile=(b_m, b_n)``, the chip keeps b_m rows and b_n columns of Z until they are complete,
    while it streams X and Y. X crosses the channel once per column of tiles (⌈F / b_n⌉ times), Y
    once per row of tiles (⌈B / b_m⌉ times), and Z once. Tiles are assumed to divide symbolic sizes.

    Source: "How to Scale Your Model", chapter 1, for the intensity BDF / (BD + DF + BF), and a note
    in that chapter for the intensity b_m·b_n / (b_m + b_n) of a tile.

    >>> matmul(B=256, D=8192, F=8192).intensity
    240.94117647058823
    >>> matmul(B=256, D=8192, F=8192, tile=(128, 128)).intensity
    63.50387596899225
    """
    B, D, F = check_sizes(B=B, D=D, F=F)
    crossings = (1, 1) if tile is None else _count_operand_reads(B, F, tile)
    return _matmul_cost(1, B, D, F, dtype, weight_dtype, out_dtype, fma, moves, crossings)


def batched_matmul(
    N, B, D, F, dtype="bf16", *, weight_dtype=None, out_dtype=None, fma=2, moves="XYZ"
):
    """Return the Cost of N products X[n, B, D] · Y[n, D, F] -> Z[n, B, F] without shared operands.

    With B = 1, every example has different weights, and the intensity stays below 2 / itemsize for
    any N.

    >>> round(batched_matmul(N=512, B=1, D=4096, F=4096, dtype="int8").intensity, 3)
    1.999
    """
    N, B, D, F = check_sizes(N=N, B=B, D=D, F=F)
    return _matmul_cost(N, B, D, F, dtype, weight_dtype, out_dtype, fma, moves)


def softmax(rows, cols, dtype="bf16", *, flops_per_element=SOFTMAX_FLOPS, reads=1, writes=1):
    """Return the Cost of a softmax over ``rows`` rows of ``cols`` elements each.

    A softmax takes five operations per element: maximum, subtraction, exponential, sum and
    division. An exponential counts as one, although hardware needs many. By default, a row is read
    once and stays on the chip. For a kernel that reads it three times, use ``reads=3``.

    >>> softmax(1024, 1024).intensity
    1.25
    """
    rows, cols = check_sizes(rows=rows, cols=cols)
    return elementwise(
        rows * cols, dtype, flops_per_element=flops_per_element, reads=reads, writes=writes
    )


def norm(rows, cols, dtype="bf16", *, kind="rms", flops_per_element=None, read_parameters=True):
    """Return the Cost of an RMSNorm (``kind="rms"``) or a LayerNorm (``"layer"``) over rows.

    Takes 4 FLOPs per element (LayerNorm: 7) or ``flops_per_element``. Reads and writes rows once,
    and reads cols parameters (LayerNorm: 2 cols) unless ``read_parameters=False``.

    >>> norm(2048, 4096, kind="layer", read_parameters=False).intensity
    1.75
    """
    rows, cols = check_sizes(rows=rows, cols=cols)
    if not isinstance(kind, str) or kind not in NORM_FLOPS:
        raise ValueError(f"kind={kind!r} is not known; use one of {', '.join(NORM_FLOPS)}")
    per_element = NORM_FLOPS[kind] if flops_per_element is None else flops_per_element
    per_element = check_number(per_element, "flops_per_element", above=False)
    check_broadcast(rows=rows, cols=cols, flops_per_element=per_element)
    parameters = NORM_PARAMETERS[kind] * cols if read_parameters else 0
    return Cost(per_element * rows * cols, itemsize(dtype) * (2 * rows * cols + parameters))


def conv2d(
    N, H, W, C_in, C_out, K, *, stride=1, padding=0, groups=1, dtype="bf16",
    weight_dtype=None, out_dtype=None, fma=2, moves="XYZ",
):  # fmt: skip
    """Return the Cost of convolving N images X[C_in, H, W] with C_out filters Y[C_in/groups, K, K].

    Each of the N·C_out·H'·W' outputs takes K·K·C_in/groups multiply-adds, with
    H' = (H + 2 padding - K) // stride + 1. A bias adds no FLOPs, because it takes the place of the
    missing first addition of each output. For a depthwise convolution, use ``groups=C_in``. If the
    stride is longer than K, the input elements that no filter covers are not counted, except with
    symbols. ``moves="YZ"`` omits the input, as many published tables do.

    >>> conv2d(1, 224, 224, 3, 64, 3, padding=1, fma=1).flops   # VGG16, first layer, MACs
    86704128
    """
    N = check_number(N, "N")
    counts = {"H": H, "W": W, "C_in": C_in, "C_out": C_out, "K": K, "stride": stride}
    H, W, C_in, C_out, K, stride = (check_whole(value, name) for name, value in counts.items())
    groups, padding = check_whole(groups, "groups"), check_whole(padding, "padding", minimum=0)
    check_broadcast(
        N=N, H=H, W=W, C_in=C_in, C_out=C_out, K=K, stride=stride, groups=groups, padding=padding
    )
    for name, channels in (("C_in", C_in), ("C_out", C_out)):
        if not is_symbolic(channels) and not is_symbolic(groups) and np.any(channels % groups):
            raise ValueError(f"{name}={channels} must be a multiple of groups={groups}")
    rows = _conv_output_length(H, K, stride, padding, "H")
    cols = _conv_output_length(W, K, stride, padding, "W")
    symbolic = is_symbolic(C_in) or is_symbolic(groups)
    weights = C_out * (C_in / groups if symbolic else C_in // groups) * K * K
    outputs = N * C_out * rows * cols
    width = _itemsizes(dtype, weight_dtype, out_dtype)
    seen = _count_inputs_in_filters(H, rows, K, stride) * _count_inputs_in_filters(
        W, cols, K, stride
    )
    moved = _sum_moved(
        moves, X=width[0] * N * C_in * seen, Y=width[1] * weights, Z=width[2] * outputs
    )
    return Cost(_check_fma(fma) * N * rows * cols * weights, moved)


def critical_batch(
    roof, D=math.inf, F=math.inf, dtype="bf16", *, weight_dtype=None, out_dtype=None
):
    """Return the batch B above which ``matmul(B, D, F)`` is compute-bound on this roofline.

    With infinite D and F (the default), this is the rule of thumb: the ridge times half the bytes
    per weight. With finite D and F, it is the exact solution of I(B) = ridge:
    B = ridge · s_Y / (2 - ridge · (s_X / F + s_Z / D)). If D and F are too small for any batch to
    reach the ridge, the result is infinity. Symbols return the formula for large enough sizes.

    The result is a float. To get the smallest compute-bound batch, round up with ``math.ceil``.
    ``roof.peak_flops`` must be the peak for the dtype of the multiplications.

    >>> v5e = Roofline(1.97e14, 8.2e11)
    >>> round(critical_batch(v5e), 1), round(critical_batch(v5e, D=8192, F=8192), 1)
    (240.2, 255.2)
    >>> critical_batch(Roofline(989.4e12, 3.35e12), D=512, F=512)
    inf
    """
    if not isinstance(roof, Roofline):
        raise ValueError(
            f"roof must be a Roofline, got {type(roof).__name__}: {roof!r}; "
            'get one from a chip: chip.roofline("bf16")'
        )
    D, F = check_number(D, "D", finite=False), check_number(F, "F", finite=False)
    check_broadcast(D=D, F=F, peak_flops=roof.peak_flops, bandwidth=roof.bandwidth)
    x, y, z = _itemsizes(dtype, weight_dtype, out_dtype)
    slack = 2 - roof.ridge * (x / F + z / D)
    if is_symbolic(slack):
        return roof.ridge * y / slack
    if isinstance(slack, np.ndarray):
        with np.errstate(divide="ignore"):
            return np.where(slack > 0, roof.ridge * y / slack, np.inf)
    return roof.ridge * y / slack if slack > 0 else math.inf


def _matmul_cost(N, B, D, F, dtype, weight_dtype, out_dtype, fma, moves, crossings=(1, 1)):
    x, y, z = _itemsizes(dtype, weight_dtype, out_dtype)
    x, y = x * crossings[0], y * crossings[1]
    moved = _sum_moved(moves, X=x * N * B * D, Y=y * N * D * F, Z=z * N * B * F)
    return Cost(_check_fma(fma) * N * B * D * F, moved)


def _count_operand_reads(B, F, tile):
    """Count how many times X and Y cross the memory channel."""
    if not isinstance(tile, (tuple, list)) or len(tile) != 2:
        raise ValueError(f"tile must be a (rows, columns) pair of the result, got {tile!r}")
    rows, columns = (
        check_whole(edge, name) for edge, name in zip(tile, ("tile[0]", "tile[1]"), strict=True)
    )
    check_broadcast(B=B, F=F, **{"tile[0]": rows, "tile[1]": columns})
    return _count_pieces(F, columns), _count_pieces(B, rows)


def _count_pieces(length, edge):
    if is_symbolic(length) or is_symbolic(edge):
        return length / edge
    return -(-length // edge)


def _itemsizes(dtype, weight_dtype, out_dtype):
    base = itemsize(dtype)
    return (
        base,
        base if weight_dtype is None else itemsize(weight_dtype, "weight_dtype"),
        base if out_dtype is None else itemsize(out_dtype, "out_dtype"),
    )


def _check_fma(fma):
    if isinstance(fma, (bool, np.bool_, np.ndarray)) or fma not in (1, 2):
        raise ValueError(f"fma={fma!r} must be 2 (count FLOPs) or 1 (count multiply-adds)")
    return fma


def _sum_moved(moves, **operands):
    if not isinstance(moves, str) or set(moves) - set(operands):
        raise ValueError(
            f"moves={moves!r} must use only letters of {''.join(operands)!r}, the kernel's operands"
        )
    # Not sum(): since Python 3.12 it rounds floats differently from arrays.
    total = 0
    for place, size in enumerate(size for name, size in operands.items() if name in moves):
        # For 10^7 points, adding in place is ten times as fast as allocating a new array.
        if place > 1 and isinstance(total, np.ndarray) and _is_broadcast_into(total, size):
            total += size
        else:
            total = total + size
    return total


def _is_broadcast_into(total, size):
    return not is_symbolic(size) and np.broadcast_shapes(total.shape, np.shape(size)) == total.shape


def _count_inputs_in_filters(length, outputs, K, stride):
    """Count the input elements along one side that at least one filter covers."""
    if is_symbolic(K) or is_symbolic(stride):
        return length
    if isinstance(K, np.ndarray) or isinstance(stride, np.ndarray):
        return np.where(np.asarray(K) < stride, np.minimum(outputs * K, length), length)
    return smaller(outputs * K, length) if stride > K else length


def _conv_output_length(length, K, stride, padding, name):
    span = length + 2 * padding - K
    if is_symbolic(span) or is_symbolic(stride):
        # SymPy would keep floor() around symbols not declared as integers.
        return (span if stride == 1 else span // stride) + 1
    if np.any(np.asarray(span) < 0):
        raise ValueError(
            f"{name}={length} with padding={padding} is smaller than the kernel K={K}; "
            "pad more or use a smaller kernel"
        )
    return span // stride + 1
