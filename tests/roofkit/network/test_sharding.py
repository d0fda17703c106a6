"""Matmuls split over chips: published widths, laws and refusals."""

import functools
import math

import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import roofkit as rk
from roofkit.network import critical_width, line, most_chips, ring, sharded_matmul, switch
from roofkit.network.sharding import COLLECTIVES, group_sizes

C, W = 1.97e14, 4.5e10
MEMORY = rk.Roofline(C, 8.2e11)
MAKERS = (
    lambda n: ring(n, W), lambda n: ring(n, W, bidirectional=False), lambda n: line(n, W),
    lambda n: switch(n, W),
)  # fmt: skip
makers, counts, lengths = st.sampled_from(MAKERS), st.integers(3, 2**12), st.integers(1, 2**16)
width = functools.partial(critical_width, peak_flops=C)

TABLE = [
    # n, all-reduce and reduce-scatter one way, the same both ways, all-reduce for many chips
    (2, 8_756, 4_378, None, None, 8_756),
    (4, 26_267, 13_133, 13_133, 6_567, 17_511),
    (8, 61_289, 30_644, 30_644, 15_322, 35_022),
    (16, 131_333, 65_667, 65_667, 32_833, 70_044),
]


@cases(("n", "ar_one_way", "rs_one_way", "ar", "rs", "many"), TABLE)
def test_critical_widths_are_the_published_ones(n, ar_one_way, rs_one_way, ar, rs, many):
    scatter = {"collective": "reduce-scatter"}
    for chain in (line(n, W), switch(n, W), *([ring(n, W, bidirectional=False)] if ar else [])):
        assert round(width(chain)) == ar_one_way
        assert round(width(chain, **scatter)) == rs_one_way
    if ar:
        assert round(width(ring(n, W))) == ar
        assert round(width(ring(n, W), **scatter)) == rs
        assert round(width(ring(n, W), exact=False)) == many


@cases(("n", "wide"), [(2, 8_756), (4, 13_133), (8, 30_644), ((16,), 65_667), ((4,), 26_267)])
def test_slices_of_v5e_have_the_widths_of_the_rings_they_contain(n, wide):
    assert round(critical_width(rk.group("TPU v5e", n))) == wide


def test_two_nodes_are_as_wide_as_their_slower_level_asks():
    one, two = rk.group("H100", 8), rk.group("H100", 8, nodes=2, card=25e9)
    C = float(rk.chip("H100").peak_flops())
    # Each card carries 1/8 of the array twice, half of it each time.
    assert critical_width(two) == pytest.approx(16 * C / 2 * 2 * (1 / 2 / 8) * 2 / 25e9)
    assert critical_width(two) > critical_width(one)


def test_critical_widths_broadcast_and_one_chip_has_none():
    n = np.array([1, 2, 4, 8, 16])
    assert width(line(n, W)).round().tolist() == [0, *(row[1] for row in TABLE)]
    peaks = np.array([[1e14], [2e14]])
    assert critical_width(line(n, W), peak_flops=peaks).shape == (2, 5)


def test_the_critical_width_in_symbols_is_the_formula_of_the_lecture():
    C, W, n = sympy.symbols("C W n", positive=True)
    for group, how, formula in [
        (ring(n, W), {}, (n - 1) * C / W),
        (line(n, W), {}, 2 * (n - 1) * C / W),
        (switch(n, W), {}, 2 * (n - 1) * C / W),
        (line(n, W), {"collective": "reduce-scatter"}, (n - 1) * C / W),
        (ring(n, W), {"collective": "reduce-scatter"}, (n - 1) * C / W / 2),
        (ring(n, W), {"exact": False}, n * C / W),
    ]:
        assert sympy.simplify(critical_width(group, peak_flops=C, **how) - formula) == 0


@given(
    lengths, lengths, counts, makers, st.booleans(),
    st.sampled_from(["all-reduce", "reduce-scatter"]), st.sampled_from(["bf16", "fp32", "fp8"]),
)  # fmt: skip
def test_the_bound_flips_at_the_critical_width_whatever_b_and_f(
    B, F, n, make, exact, collective, out_dtype
):
    group = make(n)
    how = {"exact": exact, "collective": collective, "out_dtype": out_dtype}
    critical = width(group, **how)
    roof = group.roofline(peak_flops=C)

    def bound(D):
        return roof.estimate(sharded_matmul(B, D, F, group, **how).link).bound

    assert bound(critical * (1 + 1e-9)) == "compute"
    assert bound(critical * (1 - 1e-9)) == "link"


@pytest.mark.parametrize("chip", ["TPU v5e", "TPU v5p", "H100", "MI300X"])
@given(D=st.floats(1, 1e7), collective=st.sampled_from(["all-reduce", "reduce-scatter"]))
def test_the_most_chips_pay_and_more_do_not(chip, D, collective):
    n = most_chips(chip, D, collective=collective)
    for other in group_sizes(rk.chip(chip)):
        wide = critical_width(rk.group(chip, other), collective=collective)
        if other == n:
            assert wide <= D
        if other > n:
            assert wide > D


@cases("along", ["B", "D", "F"])
def test_one_chip_does_the_whole_matmul_and_sends_nothing(along):
    whole = MEMORY.estimate(rk.matmul(300, 500, 700))
    for collective in COLLECTIVES[along]:
        alone = sharded_matmul(300, 500, 700, line(1, W), along=along, collective=collective)
        assert alone.local == rk.matmul(300, 500, 700)
        assert alone.link == rk.Cost(alone.local.flops, 0)
        assert alone.estimate(MEMORY).lower == whole.lower
        assert alone.estimate(MEMORY).bound == whole.bound


def test_sharded_matmuls_broadcast_over_shapes_and_chips():
    B, n = np.array([[1], [8], [64]]), np.array([1, 2, 4, 8])
    part = sharded_matmul(B, 8192, 8192, line(n, W))
    assert part.local.bytes.shape == part.link.bytes.shape == (3, 4)
    assert part.estimate(MEMORY).bound.shape == (3, 4)
    alone = sharded_matmul(8, 8192, 8192, line(4, W))
    assert part.link.bytes[1, 2] == alone.link.bytes
    assert part.estimate(MEMORY).lower[1, 2] == alone.estimate(MEMORY).lower


@cases("odd", ["B", "D", "F", "n"])
def test_lengths_that_do_not_broadcast_are_named(odd):
    sizes = dict.fromkeys("BDFn", np.full(2, 8.0)) | {odd: np.full(3, 8.0)}
    with pytest.raises(ValueError, match=rf"shapes do not broadcast: .*{odd}\[3\]"):
        sharded_matmul(sizes["B"], sizes["D"], sizes["F"], line(sizes["n"], W))


@cases(
    ("B", "D", "bound"), [(8, 65_536, "memory"), (1024, 8_000, "link"), (1024, 65_536, "compute")]
)
def test_each_of_the_three_roofs_can_bind(B, D, bound):
    assert sharded_matmul(B, D, 8192, line(2, W)).estimate(MEMORY).bound == bound


def test_between_nodes_the_network_can_bind():
    two = rk.group("H100", 8, nodes=2, card=25e9)
    estimate = sharded_matmul(4096, 16384, 4096, two).estimate(rk.chip("H100").roofline())
    assert estimate.bound == "network"
    assert list(estimate.times) == ["compute", "memory", "link", "network"]


@cases(("n", "batch"), [(1, 255), (2, 263), (4, 282), (8, 326)])
def test_each_chips_memory_asks_for_a_larger_batch(n, batch):
    """Splitting D leaves Z whole: a chip's critical batch is that of a matmul of width D / n."""
    critical = rk.critical_batch(MEMORY, D=8192 / n, F=8192)
    assert round(critical) == batch

    def bound(B):
        return MEMORY.estimate(sharded_matmul(B, 8192, 8192, line(n, W)).local).bound

    assert bound(critical * (1 + 1e-9)) == "compute"
    assert bound(critical * (1 - 1e-9)) == "memory"


def test_sums_travel_in_a_dtype_of_their_own():
    group = line(4, W)
    wide, narrow = (width(group, out_dtype=dtype) for dtype in ("fp32", "fp8"))
    assert wide == 2 * width(group) == 4 * narrow
    assert critical_width(rk.group("TPU v5e", 2), "int8") == pytest.approx(393e12 / 45e9)
    with pytest.raises(ValueError, match="'bf61' is not known"):
        width(group, out_dtype="bf61")


@cases("name", ["B", "D", "F"])
@cases("bad", [0, -1, math.nan, math.inf, "8", None, True])
def test_a_bad_length_is_named_and_shown(name, bad):
    with pytest.raises(ValueError, match=rf"^{name} must be .*{bad}"):
        sharded_matmul(**{"B": 8, "D": 8, "F": 8, "group": line(4, W), name: bad})


@cases("bad", ["X", "d", "", None, 1, ["D"]])
def test_only_b_d_and_f_can_be_split(bad):
    with pytest.raises(ValueError, match="must be the dimension to split: B, D or F"):
        sharded_matmul(8, 8, 8, line(4, W), along=bad)


@cases(
    ("along", "collective", "known"),
    [
        ("D", "all-gather Z", "all-reduce, reduce-scatter"),
        ("B", "all-reduce", "none, all-gather Y, all-gather Z"),
        ("F", "all-gather Y", "none, all-gather X, all-gather Z"),
        ("F", ["none"], "none, all-gather X, all-gather Z"),
    ],
)
def test_a_collective_that_does_not_fit_the_split_is_answered_with_those_that_do(
    along, collective, known
):
    told = f"does not suit a matmul split along {along}; use one of {known}$"
    with pytest.raises(ValueError, match=told):
        sharded_matmul(8, 8, 8, line(4, W), along=along, collective=collective)
    if along == "D":
        with pytest.raises(ValueError, match=told):
            width(line(4, W), collective=collective)


@cases("ask", [lambda bad: sharded_matmul(8, 8, 8, bad), lambda bad: critical_width(bad)])
@cases("bad", [2, "TPU v5e", MEMORY])
def test_a_split_is_over_a_group(ask, bad):
    with pytest.raises(ValueError, match="group must be a Group, got"):
        ask(bad)


def test_only_an_all_reduce_adds_up_in_the_switch():
    eight = rk.group("H100", 8)
    assert most_chips("H100", 8192, in_network=False) == 2
    for ask in (sharded_matmul, lambda *_, **how: critical_width(eight, **how)):
        with pytest.raises(ValueError, match="in_network=True needs an all-reduce, not"):
            ask(8, 8, 8, eight, collective="reduce-scatter", in_network=True)


def test_an_estimate_takes_the_memorys_roof():
    half = sharded_matmul(8, 8, 8, line(2, W))
    for bad in (line(2, W).roofline(peak_flops=C), 1e12, None):
        with pytest.raises(ValueError, match="roof must be a Roofline over memory"):
            half.estimate(bad)


def test_a_chip_that_is_joined_to_none_works_alone():
    assert most_chips("GTX 1080 Ti", 1e9, peak_flops=1e12) == 1


@cases("bad", [0, -1, math.nan, "8192", None, np.ones(2)])
def test_most_chips_refuses_a_bad_width(bad):
    with pytest.raises(ValueError, match=r"D must be|one number for D"):
        most_chips("TPU v5e", bad)


def test_groups_may_have_as_many_chips_as_the_table_joins():
    assert group_sizes(rk.chip("A100 80GB PCIe")) == [1, 2]
    assert group_sizes(rk.chip("H100"))[-1] == 8
