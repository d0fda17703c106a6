"""Collectives against published shares and every cut of a graph of links."""

import math

import links
import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import roofkit as rk
from roofkit.network import (
    Group,
    all_gather,
    all_pairs,
    all_reduce,
    all_to_all,
    line,
    reduce_scatter,
    ring,
    switch,
    torus,
)

W = 45e9
COLLECTIVES = (all_gather, reduce_scatter, all_reduce, all_to_all)
MAKERS = {
    "ring": lambda n, **how: ring(n, W, **how),
    "one-way ring": lambda n, **how: ring(n, W, bidirectional=False, **how),
    "line": lambda n, **how: line(n, W, **how), "switch": lambda n, **how: switch(n, W, **how),
    "all pairs": lambda n, **how: all_pairs(n, W, **how),
}  # fmt: skip
collectives, makers = st.sampled_from(COLLECTIVES), st.sampled_from(list(MAKERS.values()))
sizes, counts = st.floats(1, 1e15), st.integers(3, 2**12)


@cases("n", [4, 8, 16, 64])
@cases(
    ("collective", "one_way", "both_ways", "many"),
    [
        (all_gather, lambda n: (n - 1) / n, lambda n: (n - 1) / n / 2, 1 / 2),
        (reduce_scatter, lambda n: (n - 1) / n, lambda n: (n - 1) / n / 2, 1 / 2),
        (all_reduce, lambda n: 2 * (n - 1) / n, lambda n: (n - 1) / n, 1),
        (all_to_all, lambda n: (n - 1) / (2 * n), lambda n: 1 / 8, 1 / 8),
    ],
)
def test_collectives_take_the_published_time(n, collective, one_way, both_ways, many):
    V, unit = 3e9, 3e9 / W

    def time(group, **how):
        return pytest.approx(collective(V, group, **how).seconds / unit, rel=1e-14)

    assert time(ring(n, W, bidirectional=False)) == one_way(n)
    assert time(ring(n, W)) == both_ways(n)
    assert time(ring(n, W), exact=False) == many
    if collective is not all_to_all:
        assert time(line(n, W)) == one_way(n)
        assert time(switch(n, W)) == one_way(n)
        assert time(torus((n, n, n), W), exact=False) == many / 3
        assert time(line(n, W), exact=False) == 2 * many


TORI = [
    ((2,), (False,)), ((5,), (False,)), ((3,), (True,)), ((4,), (True,)), ((7,), (True,)),
    ((8,), (True,)), ((2, 2), (False, False)), ((2, 4), (False, False)), ((3, 3), (False, False)),
    ((2, 6), (False, False)), ((3, 4), (False, False)), ((2, 4), (False, True)),
    ((3, 4), (False, True)), ((3, 4), (True, True)), ((2, 2, 2), (False,) * 3),
    ((2, 2, 3), (False,) * 3), ((1, 4), (False, True)),
]  # fmt: skip


@cases(("axes", "rings"), TORI)
def test_no_cut_of_a_torus_lets_a_gather_be_faster_or_forces_it_to_be_slower(axes, rings):
    """The slowest cut is a lower bound; fractional trees reach it (Edmonds 1973)."""
    group, n = Group("torus", axes, 1.0, rings), math.prod(axes)
    slowest = links.slowest_cut(links.torus(axes, rings), links.gather)
    assert all_gather(n, group).seconds == pytest.approx(slowest, rel=1e-12)
    assert reduce_scatter(n, group).seconds == pytest.approx(slowest, rel=1e-12)


@cases(("axes", "rings"), TORI)
def test_an_all_to_all_takes_as_long_as_the_busiest_link_of_a_torus(axes, rings):
    group, n = Group("torus", axes, 1.0, rings), math.prod(axes)
    found = all_to_all(n**2, group).seconds
    assert found == pytest.approx(links.busiest_link(axes, rings), rel=1e-12)
    slowest = links.slowest_cut(links.torus(axes, rings), links.exchange)
    assert found >= slowest * (1 - 1e-12)
    if len(axes) == 1:
        assert found == pytest.approx(slowest, rel=1e-12)


@given(sizes, counts, makers, st.booleans(), st.booleans())
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(size, n, make, exact, latency):
    group, how = make(n, latency=1e-6), {"exact": exact, "with_latency": latency}
    parts = reduce_scatter(size, group, **how).bytes + all_gather(size, group, **how).bytes
    assert all_reduce(size, group, **how).bytes == pytest.approx(parts, rel=1e-14)


def test_an_all_reduce_in_the_network_sends_the_array_and_its_own_totals():
    h100 = rk.group("H100", 8)
    inside = all_reduce(16e6, h100, in_network=True)
    assert inside.bytes == 16e6 * 9 / 8
    around = all_reduce(16e6, h100, in_network=False)
    assert inside.seconds / around.seconds == pytest.approx(9 / 14)
    # Two and three chips do not send more than without such a switch.
    for n, sent in ((2, 16e6), (3, 64e6 / 3), (4, 20e6)):
        assert all_reduce(16e6, rk.group("H100", n)).bytes == pytest.approx(sent)
    with pytest.raises(ValueError, match="needs a switch that sums arrays"):
        all_reduce(16e6, rk.group("A100 80GB SXM", 8), in_network=True)
    several = rk.group("H100", 8, nodes=4, card=50e9)
    found = all_reduce(16e6, several, in_network=True)
    # Cards carry what they would without: each the sums of an eighth of the array.
    without = all_reduce(16e6, several, in_network=False)
    assert (found.bytes, found.network_bytes) == (18e6, without.network_bytes)


@cases("exact", [True, False])
@cases("make", MAKERS.values())
@cases("collective", COLLECTIVES)
def test_one_chip_alone_communicates_nothing(collective, make, exact):
    how = {"exact": exact, "with_latency": True}
    assert collective(1e9, make(1, latency=1e-6), **how).bytes == 0
    swept = collective(1e9, make(np.array([1, 4]), latency=1e-6), **how).bytes
    assert swept.tolist() == [0, collective(1e9, make(4, latency=1e-6), **how).bytes]


@given(
    collectives, makers, st.booleans(),
    st.lists(st.tuples(st.integers(1, 2**60) | sizes, counts), min_size=1, max_size=5),
)  # fmt: skip
def test_arrays_and_scalars_agree_to_the_last_bit(collective, make, exact, calls):
    size, n = (list(column) for column in zip(*calls, strict=True))
    swept = collective(np.array(size, dtype=float), make(np.array(n)), exact=exact)
    alone = [collective(each, make(count), exact=exact) for each, count in calls]
    assert swept.bytes.tolist() == [each.bytes for each in alone]
    assert {type(each.bytes) for each in alone} == {float}


def test_collectives_in_symbols_are_the_formulas_of_the_table():
    V, n, m, w = sympy.symbols("V n m w", positive=True)
    for transfer, formula in [
        (all_gather(V, ring(n, w)), (n - 1) / n * V / (2 * w)),
        (reduce_scatter(V, ring(n, w, bidirectional=False)), (n - 1) / n * V / w),
        (all_reduce(V, line(n, w)), 2 * (n - 1) / n * V / w),
        (all_reduce(V, ring(n, w), exact=False), V / w),
        (all_gather(V, torus((n, m), w)), (n * m - 1) / (n * m) * V / (4 * w)),
        (all_to_all(V, ring(n, w, bidirectional=False)), (n - 1) / (2 * n) * V / w),
        (all_to_all(V, switch(n, w)), (n - 1) / n**2 * V / w),
        (all_to_all(V, ring(n, w), exact=False), V / (8 * w)),
    ]:
        assert sympy.simplify(transfer.seconds - formula) == 0


@cases(
    ("group", "hops"),
    [
        (ring(16, W, latency=1e-6), 8),
        (ring(16, W, bidirectional=False, latency=1e-6), 15),
        (line(4, W, latency=1e-6), 3),
        (switch(8, W, latency=1e-6), 1),
        (torus((4, 8, 12), W, latency=1e-6), 12),
        (rk.group("TPU v5e", 8), 4),
    ],
)
def test_small_arrays_wait_for_one_hop_after_another(group, hops):
    for collective in COLLECTIVES:
        passes = 2 if collective is all_reduce else 1
        late = collective(1, group, with_latency=True)
        assert late.seconds == pytest.approx(passes * hops * 1e-6)
        large = collective(1e12, group, with_latency=True)
        assert large == collective(1e12, group)


@cases("bad", [0, -1, math.nan, math.inf, "1e6", None, True])
@cases("collective", COLLECTIVES)
def test_a_bad_amount_of_bytes_is_named_and_shown(collective, bad):
    with pytest.raises(ValueError, match=rf"^size must be .*{bad}"):
        collective(bad, ring(4, W))


@cases("bad", ["yes", 1, 0, None, np.ones(2)])
@cases("name", ["with_latency", "exact"])
def test_a_choice_is_true_or_false(name, bad):
    with pytest.raises(ValueError, match=rf"^{name}=.* must be True or False"):
        all_gather(1e6, ring(4, W, latency=1e-6), **{name: bad})


def test_latency_is_asked_of_a_group_that_has_one():
    with pytest.raises(ValueError, match="has no latency; build the group with one"):
        all_gather(1e6, ring(4, W), with_latency=True)
    with pytest.raises(ValueError, match="has no latency; build the group with one"):
        all_gather(1e6, ring(4, W, latency=np.zeros(2)), with_latency=True)


def test_latency_may_be_an_array():
    swept = ring(4, W, latency=np.array([0, 1e-6, 1e-3]))
    times = all_reduce(1e6, swept, with_latency=True).seconds
    each = [
        all_reduce(1e6, ring(4, W, latency=t), with_latency=t > 0).seconds for t in swept.latency
    ]
    assert times.tolist() == each
    with pytest.raises(ValueError, match=r"do not broadcast: size\[2\], latency\[3\]"):
        all_reduce(np.ones(2), swept, with_latency=True)
    assert all_reduce(np.ones(2), swept).bytes.shape == (2,)


def test_no_array_of_bytes_is_none_at_all():
    empty = np.array([])
    for group in (ring(4, W), rk.group("H100", 8, nodes=2, card=50e9)):
        for collective in COLLECTIVES:
            moved = collective(empty, group)
            assert moved.seconds.shape == (0,)
            assert repr(moved)


def test_a_sum_in_the_switch_has_no_approximation():
    with pytest.raises(ValueError, match="exact=False has no effect"):
        all_reduce(1e6, rk.group("H100", 8), in_network=True, exact=False)


@cases("bad", [8, "ring", rk.chip("TPU v5e")])
def test_a_collective_runs_over_a_group(bad):
    with pytest.raises(ValueError, match="group must be a Group, got"):
        all_gather(1e6, bad)
