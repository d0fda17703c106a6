"""What every formula asks of its inputs: dtypes in any spelling, counts that are whole."""

import numpy as np
import pytest
import sympy
from cases import cases

import roofkit as rk
from roofkit._inputs import ITEMSIZE, check_whole, itemsize, read_dtype

EMPTY = np.array([])
SPELLINGS = {
    "fp8": "FP8 e4m3 float8_e4m3fn fp8_e4m3", "bf16": "bfloat16 torch.bfloat16", "fp16": "half",
    "fp64": "double", "fp4": "float4",
}  # fmt: skip


@cases("name", SPELLINGS)
def test_a_dtype_is_known_in_any_spelling(name):
    for spelled in SPELLINGS[name].split():
        assert read_dtype(spelled) == name
        assert itemsize(spelled) == ITEMSIZE[name]
        assert rk.matmul(8, 8, 8, spelled) == rk.matmul(8, 8, 8, name)


@cases(
    ("bad", "nearest"), [("fp9", "fp8"), ("bflot16", "bf16"), ("int16", "int8"), ("nvfp4", "fp4")]
)
def test_an_unknown_dtype_is_answered_with_the_nearest(bad, nearest):
    with pytest.raises(ValueError, match=f"^kv={bad!r} is not known; use one of fp64") as refusal:
        itemsize(bad, "kv")
    assert nearest in str(refusal.value).partition("; nearest: ")[2]


@cases("bad", ["float", "", "zzzz", None, 16, ["fp8"], np.float32])
def test_what_is_no_dtype_is_refused(bad):
    with pytest.raises(ValueError, match=r"^dtype=.* is not known; use one of"):
        read_dtype(bad)


@cases(
    "bad",
    [
        10**400, np.array(["3"], dtype=object), np.array([True, 2], dtype=object),
        np.array([None, 1.0], dtype=object), np.ma.masked_array([1, 2], mask=[True, False]),
        True, np.bool_(True), "3", None, 1j,
    ],
)  # fmt: skip
def test_what_only_looks_like_numbers_is_refused(bad):
    with pytest.raises(ValueError, match=r"^B must be a number or an array of numbers, got"):
        rk.matmul(bad, 8, 8)


def test_four_bits_are_half_a_byte():
    assert rk.matmul(1, 1024, 1024, "fp4", moves="Y").bytes == 1024 * 1024 / 2


def test_a_count_is_whole():
    assert check_whole(3, "K") == 3
    assert check_whole(np.int64(3), "K") == 3
    assert type(check_whole(np.int64(3), "K")) is int
    assert check_whole(np.array([1.0, 2]), "K").tolist() == [1, 2]
    assert check_whole(EMPTY, "K").shape == (0,)
    assert check_whole(sympy.Symbol("K"), "K") == sympy.Symbol("K")
    for bad, shown in ((1.5, "1.5"), (np.array([2, 2.25]), "2.25")):
        with pytest.raises(ValueError, match=f"^K must be a whole number, got {shown}"):
            check_whole(bad, "K")
    with pytest.raises(ValueError, match=r"^K must be finite and at least 1, got 0"):
        check_whole(0, "K")


@cases("name", ["H", "W", "C_in", "C_out", "K", "stride", "groups", "padding"])
def test_a_convolution_is_made_of_whole_numbers_and_its_batch_may_be_an_average(name):
    sizes = {"N": 1.5, "H": 8, "W": 8, "C_in": 4, "C_out": 4, "K": 3}
    assert rk.kernels.conv2d(**sizes).flops == 1.5 * rk.kernels.conv2d(**sizes | {"N": 1}).flops
    with pytest.raises(ValueError, match=f"^{name} must be a whole number, got 1.5"):
        rk.kernels.conv2d(**sizes | {name: 1.5})


def test_a_tile_has_whole_edges():
    with pytest.raises(ValueError, match=r"tile\[1\] must be a whole number, got 2.5"):
        rk.matmul(8, 8, 8, tile=(2, 2.5))


def test_empty_arrays_give_empty_answers():
    roof = rk.chip("H100").roofline("bf16")
    costs = [rk.matmul(EMPTY, 8, 8), rk.kernels.conv2d(EMPTY, 8, 8, 3, 4, 3), rk.softmax(EMPTY, 8)]
    for cost in (*costs, rk.norm(EMPTY, 8), rk.dot(EMPTY), rk.kernels.axpy(EMPTY), 2 * costs[0]):
        estimate = roof.estimate(cost)
        for found in (cost.intensity, estimate.lower, estimate.upper, estimate.bound):
            assert found.shape == (0,)
        assert repr(cost)
        assert repr(estimate)
        assert roof.share(cost, EMPTY).shape == (0,)
    assert rk.critical_batch(roof, D=EMPTY).shape == roof.attainable(EMPTY).shape == (0,)
    assert rk.Roofline(EMPTY, 1.0).ridge.shape == rk.models.mfu(EMPTY, 1.0, 1e12).shape == (0,)
