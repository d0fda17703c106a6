"""Cost, Roofline and Estimate: published figures, and the laws that hold for every machine."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import roofkit as rk

V5E = rk.Roofline(1.97e14, 8.2e11)
A6000 = rk.Roofline(309.677e12 / 2, 768e9)
GTX_1080_TI = rk.Roofline(11.3e12, 484e9)

work = st.floats(1e-3, 1e24)
speeds = st.floats(1e3, 1e18)
roofs = st.builds(rk.Roofline, speeds, speeds)
costs = st.builds(rk.Cost, work, work)
whole_costs = st.builds(rk.Cost, st.integers(0, 2**80), st.integers(0, 2**80))


@cases(
    ("peak", "bandwidth", "ridge"),
    [
        (1.97e14, 8.2e11, 240.24),
        (312e12, 2.039e12, 153.02),
        (309.677e12 / 2, 768e9, 201.61),
        (11.3e12, 484e9, 23.35),
    ],
)
def test_ridge_is_the_published_one(peak, bandwidth, ridge):
    assert rk.Roofline(peak, bandwidth).ridge == pytest.approx(ridge, rel=3e-4)


@cases(
    ("roof", "intensity", "attainable"),
    [
        (A6000, 1024, 154.8385e12),
        (A6000, 113.7778, 87.3813e12),
        (A6000, 1 / 6, 128e9),
        (GTX_1080_TI, 50.9, 11.3e12),
        (V5E, math.inf, 1.97e14),
        (V5E, 0, 0),
    ],
)
def test_attainable_speed_is_the_published_one(roof, intensity, attainable):
    assert roof.attainable(intensity) == pytest.approx(attainable, rel=1e-6)


def test_estimate_gives_both_times_and_their_bracket():
    estimate = rk.Roofline(peak_flops=4, bandwidth=2).estimate(rk.Cost(flops=8, bytes=6))
    assert (estimate.math, estimate.comms, estimate.lower, estimate.upper) == (2, 3, 3, 5)
    assert estimate.bound == "memory"


def test_equal_times_count_as_compute_bound():
    roof, tie = rk.Roofline(4, 2), rk.Cost(8, 4)
    assert roof.estimate(tie).bound == "compute"
    assert roof.estimate(tie * np.ones(2)).bound.tolist() == ["compute", "compute"]


def test_intensity_is_infinite_without_bytes_and_undefined_without_work():
    assert rk.Cost(1, 0).intensity == math.inf
    assert math.isnan(rk.Cost(0, 0).intensity)
    np.testing.assert_array_equal(rk.Cost(np.array([0, 1]), 0).intensity, [np.nan, np.inf])


@given(roofs, costs)
def test_upper_is_at_least_lower_and_at_most_twice_lower(roof, cost):
    estimate = roof.estimate(cost)
    assert estimate.lower <= estimate.upper <= 2 * estimate.lower
    assert estimate.lower in (estimate.math, estimate.comms)


@given(roofs, st.floats(0, 1e12))
def test_attainable_is_the_lower_of_the_two_roofs(roof, intensity):
    assert roof.attainable(intensity) == min(roof.peak_flops, intensity * roof.bandwidth)


@given(roofs, st.lists(st.tuples(work, work), min_size=1, max_size=8))
def test_arrays_and_scalars_agree_to_the_last_bit(roof, pairs):
    flops, moved = np.array(pairs).T
    together = rk.Cost(flops, moved)
    swept = roof.estimate(together)
    for i, pair in enumerate(pairs):
        alone = rk.Cost(*pair)
        one = roof.estimate(alone)
        for field in ("math", "comms", "lower", "upper", "bound"):
            assert getattr(swept, field)[i] == getattr(one, field)
        assert together.intensity[i] == alone.intensity
        assert roof.attainable(together.intensity)[i] == roof.attainable(alone.intensity)


@given(roofs, costs)
def test_plain_floats_stay_plain_floats(roof, cost):
    estimate = roof.estimate(cost)
    values = (estimate.math, estimate.comms, estimate.lower, estimate.upper)
    values += (cost.intensity, roof.ridge, roof.attainable(cost.intensity))
    assert {type(value) for value in values} == {float}
    assert type(estimate.bound) is str


@given(whole_costs, whole_costs, whole_costs)
def test_costs_add_in_any_order_and_grouping(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c) == sum([a, b, c])


@given(whole_costs, whole_costs, st.integers(0, 1000))
def test_scaling_a_cost_is_repeating_it_and_spreads_over_sums(a, b, times):
    assert times * a == a * times == sum([a] * times, rk.Cost(0, 0))
    assert times * (a + b) == times * a + times * b


def test_adding_counts_flops_and_bytes_apart():
    assert rk.Cost(1, 20) + rk.Cost(300, 4000) == rk.Cost(301, 4020)


def test_arrays_scale_costs_from_either_side():
    layers = np.array([1, 40])
    for cost in (rk.Cost(2, 3) * layers, layers * rk.Cost(2, 3), [1, 40] * rk.Cost(2, 3)):
        assert isinstance(cost, rk.Cost)
        np.testing.assert_array_equal(cost.flops, [2, 80])
        np.testing.assert_array_equal(cost.bytes, [3, 120])
    assert np.float64(2) * rk.Cost(2, 3) == np.int8(2) * rk.Cost(2, 3) == rk.Cost(4, 6)


@cases("other", [1, 1.5, None])
def test_a_cost_adds_to_nothing_but_a_cost(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        rk.Cost(1, 2) + other
    with pytest.raises(TypeError, match="unsupported operand"):
        other + rk.Cost(1, 2)


def test_costs_times_costs_have_no_meaning():
    with pytest.raises(TypeError, match="unsupported operand"):
        rk.Cost(1, 2) * rk.Cost(1, 2)


def test_everything_broadcasts():
    cost = rk.Cost(flops=np.full((3, 1), 1e12), bytes=np.full(4, 2e9))
    roof = rk.Roofline(peak_flops=np.full((2, 1, 1), 1e14), bandwidth=1e12)
    estimate = roof.estimate(cost)
    assert cost.intensity.shape == (3, 4)
    assert estimate.lower.shape == estimate.upper.shape == estimate.bound.shape == (2, 3, 4)
    assert roof.attainable(cost.intensity).shape == (2, 3, 4)


@cases(
    ("call", "names"),
    [
        (lambda: rk.Cost(np.ones(2), np.ones(3)), ("flops[2]", "bytes[3]")),
        (lambda: np.ones(2) * rk.Cost(1, np.ones(3)), ("times[2]", "bytes[3]")),
        (
            lambda: rk.Roofline(np.ones(2), 1).estimate(rk.Cost(1, np.ones(3))),
            ("peak_flops[2]", "bytes[3]"),
        ),
    ],
)
def test_shapes_that_do_not_fit_are_named_with_the_way_out(call, names):
    with pytest.raises(ValueError, match="do not broadcast") as refusal:
        call()
    for name in (*names, "insert axes"):
        assert name in str(refusal.value)


@cases(
    ("call", "name"),
    [
        (lambda bad: rk.Cost(bad, 1), "flops"),
        (lambda bad: rk.Cost(1, bad), "bytes"),
        (lambda bad: rk.Cost(1, 1) * bad, "times"),
        (lambda bad: rk.Roofline(bad, 1), "peak_flops"),
        (lambda bad: rk.Roofline(1, bad), "bandwidth"),
    ],
)
@cases(
    ("bad", "shown"),
    [
        (-1, "-1"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (np.array([1, math.nan]), "nan"),
        (True, "True"),
        ("12", "'12'"),
        (None, "None"),
        (1j, "1j"),
        (sympy.Integer(-7), "-7"),
        (sympy.zoo, "zoo"),
    ],
)
def test_a_bad_number_is_named_and_shown(call, name, bad, shown):
    with pytest.raises(ValueError, match=f"{name} must be ") as refusal:
        call(bad)
    assert shown in str(refusal.value)


@cases("zero", [0, 0.0, np.zeros(3), np.int64(0)])
def test_a_cost_may_be_zero_but_a_speed_may_not(zero):
    rk.Cost(zero, zero)
    for speeds in ((zero, 1), (1, zero)):
        with pytest.raises(ValueError, match="must be finite and above 0, got 0"):
            rk.Roofline(*speeds)


@cases("bad", [-1, math.nan, "240", None, True])
def test_attainable_refuses_a_bad_intensity(bad):
    with pytest.raises(ValueError, match=f"intensity must be .*{bad}"):
        V5E.attainable(bad)


@cases("bad", [1e12, None, (1e12, 1e9), V5E])
def test_estimate_refuses_what_is_no_cost(bad):
    with pytest.raises(ValueError, match=r"cost must be a Cost\(flops, bytes\), got"):
        V5E.estimate(bad)


def test_symbols_give_the_formulas_of_the_lecture():
    B, D, F, C, W = sympy.symbols("B D F C W", positive=True)
    roof, cost = rk.Roofline(C, W), rk.Cost(2 * B * D * F, 2 * (B * D + D * F + B * F))
    estimate = roof.estimate(cost)
    assert sympy.simplify(roof.ridge - C / W) == 0
    assert sympy.simplify(cost.intensity - B * D * F / (B * D + D * F + B * F)) == 0
    assert sympy.simplify(estimate.math - 2 * B * D * F / C) == 0
    assert sympy.simplify(estimate.upper - estimate.math - estimate.comms) == 0
    assert (3 * cost).flops == 6 * B * D * F
    assert (cost + cost).bytes == 2 * cost.bytes


@cases("undecided", ["lower", "bound"])
def test_the_larger_of_two_formulas_is_refused_until_symbols_have_values(undecided):
    estimate = V5E.estimate(rk.Cost(sympy.Symbol("x"), sympy.Symbol("y")))
    with pytest.raises(ValueError, match="symbols have values"):
        getattr(estimate, undecided)


@cases("value", [rk.Cost(1, 2), V5E, V5E.estimate(rk.Cost(1, 2))])
def test_values_are_frozen_and_survive_copying_and_pickling(value):
    field = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, 3)
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
