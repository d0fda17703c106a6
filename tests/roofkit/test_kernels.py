"""Kernel costs against published counts, against each other, and at the edges of their inputs."""

import inspect
import itertools
import math

import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import assume, given
from hypothesis import strategies as st

import roofkit as rk
from roofkit.kernels import axpy, batched_matmul, conv2d

BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "int4": 0.5}

# Every kernel with sizes it accepts; the tests below vary one argument at a time.
KERNELS = {
    rk.dot: {"N": 8},
    axpy: {"N": 8},
    rk.elementwise: {"N": 8},
    rk.matmul: {"B": 2, "D": 3, "F": 5},
    batched_matmul: {"N": 7, "B": 2, "D": 3, "F": 5},
    rk.softmax: {"rows": 2, "cols": 3},
    rk.norm: {"rows": 2, "cols": 3},
    conv2d: {
        "N": 2, "H": 8, "W": 9, "C_in": 4, "C_out": 8, "K": 3, "stride": 2, "groups": 2,
    },
}  # fmt: skip
SIZES = [(kernel, name) for kernel, sizes in KERNELS.items() for name in sizes]
# Arguments that may be zero.
AMOUNTS = [
    (kernel, name)
    for kernel in KERNELS
    for name in ("flops_per_element", "reads", "writes", "padding")
    if name in inspect.signature(kernel).parameters
]
DTYPES = [
    (kernel, name)
    for kernel in KERNELS
    for name in ("dtype", "weight_dtype", "out_dtype")
    if name in inspect.signature(kernel).parameters
]

dtypes = st.sampled_from(list(BYTES))
# Three such sizes multiply to at most 2^51, which a float64 holds exactly.
sizes = st.integers(1, 2**17)
kernel_calls = st.sampled_from(list(KERNELS)).flatmap(
    lambda kernel: st.tuples(st.just(kernel), _sizes_for(kernel))
)


def _sizes_for(kernel):
    if kernel is not conv2d:
        small = st.integers(1, 2**12)
        return st.fixed_dictionaries(dict.fromkeys(KERNELS[kernel], small))
    small = st.integers(1, 64)
    return st.builds(
        lambda groups, per_in, per_out, H, W, **rest: {
            **rest, "groups": groups, "C_in": groups * per_in, "C_out": groups * per_out,
            "H": H + rest["K"], "W": W + rest["K"],
        },
        groups=st.integers(1, 8), per_in=small, per_out=small, N=small, H=small, W=small,
        K=st.integers(1, 7), stride=st.integers(1, 4),
    )  # fmt: skip


def _pair(cost):
    return cost.flops, cost.bytes


def test_dot_products_count_2n_minus_1_flops_and_4n_plus_2_bytes():
    assert _pair(rk.dot(8)) == (15, 34)
    assert rk.dot(8).intensity == pytest.approx(0.441, abs=5e-4)
    assert rk.dot(1024).intensity == pytest.approx(0.49951, abs=5e-6)
    N = sympy.Symbol("N", positive=True)
    assert sympy.limit(rk.dot(N).intensity, N, sympy.oo) == sympy.Rational(1, 2)


def test_axpy_moves_three_vectors():
    assert _pair(axpy(1000, "fp32")) == (2000, 12_000)


def test_matmul_intensity_tends_to_b_in_bf16_and_to_2b_in_int8():
    B, D = sympy.symbols("B D", positive=True)
    assert sympy.limit(rk.matmul(B, D, D).intensity, D, sympy.oo) == B
    assert sympy.limit(rk.matmul(B, D, D, "int8").intensity, D, sympy.oo) == 2 * B


def test_norms_read_their_parameters_once_unless_told_otherwise():
    assert _pair(rk.norm(10, 100)) == (4 * 1000, 2 * (2 * 1000 + 100))
    assert _pair(rk.norm(10, 100, kind="layer")) == (7 * 1000, 2 * (2 * 1000 + 200))
    assert rk.norm(10, 100, flops_per_element=0).flops == 0
    assert rk.norm(10, 100, read_parameters=False).bytes == 2 * 2 * 1000
    assert _pair(rk.softmax(10, 100)) == (5 * 1000, 4 * 1000)


def test_a_softmax_in_three_passes_reads_three_times():
    assert rk.softmax(10, 100, reads=3).bytes == 2 * rk.softmax(10, 100).bytes


@given(
    N=st.integers(1, 8), H=st.integers(1, 40), W=st.integers(1, 40), K=st.integers(1, 9),
    stride=st.integers(1, 5), padding=st.integers(0, 4), groups=st.integers(1, 4),
)  # fmt: skip
def test_convolutions_place_one_filter_wherever_it_fits(N, H, W, K, stride, padding, groups):
    rows = len(range(0, H + 2 * padding - K + 1, stride))
    cols = len(range(0, W + 2 * padding - K + 1, stride))
    assume(rows and cols)
    C_in, C_out = 3 * groups, 5 * groups
    cost = conv2d(
        N, H, W, C_in, C_out, K, stride=stride, padding=padding, groups=groups, dtype="fp32"
    )
    outputs = N * C_out * rows * cols
    assert cost.flops == outputs * 2 * 3 * K * K

    def seen(length, places):
        under = {place * stride + k for place in range(places) for k in range(K)}
        # What lies after the last filter counts as read, and padding as if it were input.
        return length if stride <= K else min(len(under), length)

    read = N * C_in * seen(H, rows) * seen(W, cols)
    assert cost.bytes == 4 * (read + C_out * 3 * K * K + outputs)


@given(sizes, sizes, sizes, dtypes, dtypes, dtypes)
def test_a_pointwise_convolution_is_a_matmul_over_its_pixels(N, D, F, x, y, z):
    mixed = {"dtype": x, "weight_dtype": y, "out_dtype": z}
    assert conv2d(N, 1, 1, D, F, 1, **mixed) == rk.matmul(N, D, F, **mixed)


@given(st.integers(1, 512), sizes, sizes, sizes, dtypes)
def test_a_batch_of_matmuls_is_so_many_matmuls(N, B, D, F, dtype):
    assert batched_matmul(N, B, D, F, dtype) == N * rk.matmul(B, D, F, dtype)


@given(sizes, sizes, sizes, dtypes, dtypes, dtypes)
def test_matmul_operands_take_the_bytes_of_their_own_dtypes(B, D, F, x, y, z):
    cost = rk.matmul(B, D, F, x, weight_dtype=y, out_dtype=z)
    assert cost.flops == 2 * B * D * F
    assert cost.bytes == BYTES[x] * B * D + BYTES[y] * D * F + BYTES[z] * B * F


@given(sizes, sizes, sizes, sizes, sizes, dtypes)
def test_a_tile_fetches_x_for_each_column_of_tiles_and_y_for_each_row(
    B, D, F, rows, columns, dtype
):
    tile = rows, columns
    x, y, z = (rk.matmul(B, D, F, dtype, tile=tile, moves=operand).bytes for operand in "XYZ")
    assert x == BYTES[dtype] * B * D * math.ceil(F / columns)
    assert y == BYTES[dtype] * D * F * math.ceil(B / rows)
    assert z == BYTES[dtype] * B * F
    cost, once = rk.matmul(B, D, F, dtype, tile=tile), rk.matmul(B, D, F, dtype)
    assert (cost.flops, cost.bytes) == (once.flops, x + y + z)
    assert cost.bytes >= once.bytes
    assert rk.matmul(B, D, F, dtype, tile=(B, F)) == once
    swept = rk.matmul(B, D, F, dtype, tile=(np.array([rows, B]), np.array([[columns], [F]])))
    assert swept.bytes[[0, 1], [0, 1]].tolist() == [cost.bytes, once.bytes]


def test_a_tile_has_the_published_intensity():
    B, D, F, b_m, b_n = sympy.symbols("B D F b_m b_n", positive=True)
    intensity = rk.matmul(B, D, F, tile=(b_m, b_n)).intensity
    assert sympy.simplify(sympy.limit(intensity, D, sympy.oo) - b_m * b_n / (b_m + b_n)) == 0
    assert rk.matmul(4096, 10**9, 4096, tile=(128, 128)).intensity == pytest.approx(64, rel=1e-5)
    # A tile alone may be a symbol, too.
    assert rk.matmul(256, 512, 384, tile=(b_m, b_n)).bytes.subs({b_m: 128, b_n: 128}) == (
        rk.matmul(256, 512, 384, tile=(128, 128)).bytes
    )


@cases(
    ("tile", "message"),
    [
        (128, r"tile must be a \(rows, columns\) pair of the result, got 128"),
        ((128,), r"tile must be a \(rows, columns\) pair"),
        ("ab", r"tile must be a \(rows, columns\) pair"),
        ((0, 128), r"tile\[0\] must be finite and at least 1, got 0"),
        ((128, math.inf), r"tile\[1\] must be finite and at least 1, got inf"),
        ((128, [1, 2]), r"shapes do not broadcast: B\[3\], tile\[1\]\[2\]"),
    ],
)
def test_a_tile_that_cannot_be_is_named(tile, message):
    with pytest.raises(ValueError, match=message):
        rk.matmul([1, 2, 3], 4, 5, tile=tile)


@cases(
    ("kernel", "operands"),
    [(rk.dot, "xyz"), (axpy, "xyz"), (rk.matmul, "XYZ"), (batched_matmul, "XYZ"),
     (conv2d, "XYZ")],
)  # fmt: skip
def test_operands_left_on_the_chip_are_not_moved(kernel, operands):
    sizes = KERNELS[kernel]
    each = [kernel(**sizes, moves=operand).bytes for operand in operands]
    assert min(each) > 0
    assert sum(each) == kernel(**sizes).bytes == kernel(**sizes, moves=operands).bytes
    assert kernel(**sizes, moves="") == rk.Cost(kernel(**sizes).flops, 0)


@cases("kernel", [axpy, rk.matmul, batched_matmul, conv2d])
def test_counting_multiply_adds_halves_the_flops_and_moves_as_much(kernel):
    macs, flops = kernel(**KERNELS[kernel], fma=1), kernel(**KERNELS[kernel])
    assert _pair(flops) == (2 * macs.flops, macs.bytes)


@cases("kernel", KERNELS)
def test_every_size_may_be_an_axis_of_a_sweep(kernel):
    names = list(KERNELS[kernel])
    swept = {}
    for axis, (name, size) in enumerate(KERNELS[kernel].items()):
        values = np.array([size, 2 * size])
        swept[name] = values.reshape([-1 if axis == i else 1 for i in range(len(names))])
    cost = kernel(**swept)
    assert np.broadcast_shapes(cost.flops.shape, cost.bytes.shape) == (2,) * len(names)
    for at in itertools.product((0, 1), repeat=len(names)):
        alone = kernel(
            **{name: int(swept[name].ravel()[i]) for name, i in zip(names, at, strict=True)}
        )
        assert np.broadcast_to(cost.flops, (2,) * len(names))[at] == alone.flops
        assert np.broadcast_to(cost.bytes, (2,) * len(names))[at] == alone.bytes


@given(kernel_calls, dtypes)
def test_formulas_in_symbols_give_the_numbers(call, dtype):
    kernel, sizes = call
    # With symbols every pixel is seen by some filter.
    assume(sizes.get("stride", 1) <= sizes.get("K", 1))
    symbols = {name: sympy.Symbol(name, positive=True) for name in sizes}
    values = {symbols[name]: size for name, size in sizes.items()}
    formula, number = kernel(**symbols, dtype=dtype), kernel(**sizes, dtype=dtype)
    assert formula.flops.subs(values) == number.flops
    assert formula.bytes.subs(values) == pytest.approx(number.bytes, rel=1e-14)


@cases("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
@cases("kernel", KERNELS)
def test_no_numpy_integer_overflows(kernel, kind):
    large = 120 if kind in (np.int8, np.uint8) else 32_760 if kind == np.int16 else 2**30
    huge = {name: large for name in KERNELS[kernel] if name not in ("K", "stride", "groups")}
    exact = kernel(**KERNELS[kernel] | huge)
    as_kind = {name: kind(size) for name, size in huge.items()}
    as_array = {name: np.array([size], kind) for name, size in huge.items()}
    assert kernel(**KERNELS[kernel] | as_kind) == exact
    swept = kernel(**KERNELS[kernel] | as_array)
    assert swept.flops.item() == pytest.approx(exact.flops, rel=1e-14)
    assert swept.bytes.item() == pytest.approx(exact.bytes, rel=1e-14)


@cases(
    ("bad", "shown"),
    [
        (-1, "-1"),
        (0, "0"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (np.array([8, -8]), "-8"),
        ([8, math.nan], "nan"),
        (True, "True"),
        ((8, "8"), "'8'"),
    ],
)
@cases(("kernel", "name"), SIZES)
def test_a_bad_size_is_named_and_shown(kernel, name, bad, shown):
    with pytest.raises(ValueError, match=f"^{name} must be ") as refusal:
        kernel(**KERNELS[kernel] | {name: bad})
    assert shown in str(refusal.value)


@cases(
    ("kernel", "name", "bad"),
    [
        (*amount, bad)
        for amount in AMOUNTS
        for bad in (-1, math.nan, math.inf, True, "2", None)
        # None stands for the norm's own count.
        if bad is not None or amount[0] is not rk.norm
    ],
)
def test_a_bad_amount_is_named_but_zero_is_fine(kernel, name, bad):
    kernel(**KERNELS[kernel], **{name: 0})
    with pytest.raises(ValueError, match=f"^{name} must be .*{bad}"):
        kernel(**KERNELS[kernel], **{name: bad})


@cases("bad", ["bf61", "BF61", "", 16, np.float32, ["bf16"]])
@cases(("kernel", "name"), DTYPES)
def test_an_unknown_dtype_is_answered_with_those_there_are(kernel, name, bad):
    with pytest.raises(ValueError, match="is not known; use one of") as refusal:
        kernel(**KERNELS[kernel], **{name: bad})
    for part in (name, repr(bad), *BYTES):
        assert part in str(refusal.value)


@cases(
    ("kernel", "first", "second"),
    [
        (kernel, *names)
        for kernel in KERNELS
        for names in itertools.combinations(
            [*KERNELS[kernel], *(name for of, name in AMOUNTS if of is kernel)], 2
        )
        if kernel is not rk.softmax or set(names) == {"rows", "cols"}
    ],
)
def test_shapes_that_do_not_fit_are_named_with_the_way_out(kernel, first, second):
    clash = {first: np.full(2, 4), second: np.full(3, 4)}
    with pytest.raises(ValueError, match="do not broadcast") as refusal:
        kernel(**KERNELS[kernel] | clash)
    for part in (f"{first}[2]", f"{second}[3]", "insert axes"):
        assert part in str(refusal.value)


@cases("bad", [0, 3, "2", None, True, np.array([1, 2])])
@cases("kernel", [rk.dot, axpy, rk.matmul, batched_matmul, conv2d])
def test_a_multiply_add_counts_1_or_2(kernel, bad):
    with pytest.raises(ValueError, match=r"fma=.* must be 2"):
        kernel(**KERNELS[kernel], fma=bad)


@cases("bad", ["W", "XYw", None, 3])
@cases("kernel", [rk.dot, axpy, rk.matmul, batched_matmul, conv2d])
def test_only_operands_of_the_kernel_move(kernel, bad):
    with pytest.raises(ValueError, match=f"moves={bad!r} must use only letters of '[xX][yY][zZ]'"):
        kernel(**KERNELS[kernel], moves=bad)


@cases("bad", ["batch", None, ["rms"]])
def test_an_unknown_norm_is_answered_with_those_there_are(bad):
    with pytest.raises(ValueError, match="is not known; use one of layer, rms"):
        rk.norm(2, 3, kind=bad)


@cases(
    ("change", "parts"),
    [
        ({"H": 2}, ("H=2", "K=3", "pad more")),
        ({"W": 2}, ("W=2", "K=3", "pad more")),
        ({"C_in": 5}, ("C_in=5", "groups=2")),
        ({"C_out": 7}, ("C_out=7", "groups=2")),
    ],
)
def test_a_convolution_that_cannot_be_is_refused(change, parts):
    with pytest.raises(ValueError, match=r"smaller than the kernel|a multiple of") as refusal:
        conv2d(**KERNELS[conv2d] | change)
    for part in parts:
        assert part in str(refusal.value)


@cases(("size", "batch"), [(512, 3902), (1024, 453), (4096, 272), (16384, 247)])
def test_critical_batch_is_the_published_one_at_ridge_240_24(size, batch):
    assert round(rk.critical_batch(rk.Roofline(240.24, 1), size, size)) == batch


def test_an_h100_is_never_reached_by_512_wide_layers():
    assert rk.critical_batch(rk.Roofline(9.894e14, 3.35e12), 512, 512) == math.inf


@cases(
    ("roof", "dtype", "weight_dtype", "batch"),
    [
        (rk.Roofline(1.97e14, 8.2e11), "bf16", "int8", 120.1),
        (rk.Roofline(312e12, 2.039e12), "bf16", "int4", 38.3),
        (rk.Roofline(624e12, 2.039e12), "int8", "int4", 76.5),
    ],
)
def test_the_rule_of_thumb_scales_with_the_bytes_of_a_weight(roof, dtype, weight_dtype, batch):
    found = rk.critical_batch(roof, dtype=dtype, weight_dtype=weight_dtype)
    assert found == pytest.approx(batch, rel=2e-3)


@given(
    st.floats(1, 2000), st.integers(1, 10**5), st.integers(1, 10**5), dtypes, dtypes, dtypes
)  # fmt: skip
def test_the_bound_flips_exactly_at_the_critical_batch(ridge, D, F, x, y, z):
    roof, mixed = rk.Roofline(ridge, 1.0), {"dtype": x, "weight_dtype": y, "out_dtype": z}
    critical = rk.critical_batch(roof, D, F, **mixed)

    def bound(B):
        return roof.estimate(rk.matmul(B, D, F, **mixed)).bound

    if critical == math.inf:
        assert bound(1e9) == "memory"
        return
    # Nearer to the asymptote, rounding decides.
    assume(critical < 1e7 * ridge)
    assert bound(critical * (1 + 1e-6)) == "compute"
    assert bound(critical * (1 - 1e-6)) == "memory"


@given(st.floats(1, 2000), st.lists(st.tuples(sizes, sizes), min_size=1, max_size=5), dtypes)
def test_critical_batches_of_arrays_and_scalars_agree_to_the_last_bit(ridge, shapes, dtype):
    roof, (D, F) = rk.Roofline(ridge, 1.0), np.array(shapes).T
    alone = [rk.critical_batch(roof, *shape, dtype) for shape in shapes]
    assert rk.critical_batch(roof, D, F, dtype).tolist() == alone


def test_critical_batch_in_symbols_is_the_formula_of_the_lecture():
    R, D, F = sympy.symbols("R D F", positive=True)
    formula = rk.critical_batch(rk.Roofline(R, 1), D, F)
    assert sympy.simplify(formula - R * D * F / (D * F - R * (D + F))) == 0
    assert sympy.simplify(rk.critical_batch(rk.Roofline(R, 1)) - R) == 0


@cases("name", ["D", "F"])
@cases("bad", [-1, 0, math.nan, True, "8192", None])
def test_critical_batch_refuses_bad_sizes_but_not_infinite_ones(name, bad):
    roof = rk.Roofline(240, 1)
    assert rk.critical_batch(roof, **{name: math.inf}) == 240
    with pytest.raises(ValueError, match=f"^{name} must be .*{bad}"):
        rk.critical_batch(roof, **{name: bad})


def test_critical_batch_refuses_a_chip_and_says_how_to_get_its_roofline():
    with pytest.raises(ValueError, match=r"roof must be a Roofline.*chip\.roofline"):
        rk.critical_batch(rk.chip("H100"))
