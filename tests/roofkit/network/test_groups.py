"""Groups of chips: what the table joins, and what it refuses."""

import dataclasses
import itertools
import math
import pickle

import numpy as np
import pytest
import sympy
from cases import cases

import roofkit as rk
from roofkit.hardware import Interconnect
from roofkit.network import Group, all_pairs, group, line, ring, switch, torus
from roofkit.network.sharding import group_sizes


@cases(
    ("chip", "n", "shape", "egress"),
    [
        ("TPU v5e", 1, "line of 1", 45e9),
        ("TPU v5e", 2, "line of 2", 45e9),
        ("TPU v5e", 8, "2x4", 90e9),
        ("TPU v5e", (4, 2), "4x2", 90e9),
        ("TPU v5e", (16,), "ring of 16", 90e9),
        ("TPU v5e", (4,), "line of 4", 45e9),
        ("TPU v5p", (4, 4), "4x4", 360e9),
        ("H100", 8, "switch of 8", 450e9),
        ("A100 80GB PCIe", 2, "all-pairs of 2", 300e9),
        ("MI300X", 8, "all-pairs of 8", 448e9),
        ("MI300X", 2, "all-pairs of 2", 64e9),
    ],
)
def test_chips_of_the_table_are_joined_as_they_are(chip, n, shape, egress):
    made = group(chip, n)
    assert (made.shape, made.egress) == (shape, egress)
    assert made.n == (math.prod(n) if isinstance(n, tuple) else n)
    assert made.chip is rk.chip(chip)


@cases(
    ("chip", "n", "told"),
    [
        ("TPU v5e", 3, "has no slice of n=3 chips; its slices are 2x2, 2x4"),
        ("TPU v5e", (3, 3), r"has no slice with axes \(3, 3\)"),
        ("TPU v5e", (), "has no slice with axes"),
        ("H100", 16, "a switch joins at most 8 H100 SXM, got n=16; for more, give n per node"),
        ("RTX A6000", 3, "an all-pairs topology joins at most 2"),
        ("L40", 2, "the table has no topology for several chips; choose topology="),
        ("H100", 2.5, "n must be a whole number of chips, got 2.5"),
        ("H100", 0, "n must be finite and at least 1, got 0"),
        ("H100", np.array([2, 4]), "n must be a whole number of chips"),
    ],
)
def test_numbers_of_chips_that_do_not_exist_are_refused(chip, n, told):
    with pytest.raises(ValueError, match=told):
        group(chip, n)


def test_a_topology_is_said_only_where_the_table_does_not_know_it():
    assert group("L40", 4, topology="switch").egress == 31e9
    assert group("L40", 4, topology="ring").egress == 31e9
    assert group("MI250X", 4, topology="all-pairs").egress == pytest.approx(350e9)
    assert group("MI250X", 4, topology="line").egress == 175e9
    assert group("H100 PCIe", 2, topology="line").egress == 63e9
    with pytest.raises(ValueError, match="has the topology switch; leave topology='ring' out"):
        group("H100", 8, topology="ring")
    with pytest.raises(ValueError, match=r"choose topology='ring'.* got 'star'"):
        group("L40", 4, topology="star")
    with pytest.raises(ValueError, match="has no rings to make one-way"):
        group("H100", 8, bidirectional=False)


def test_what_a_group_would_ignore_is_refused():
    for topology in ("line", "switch", "all-pairs"):
        with pytest.raises(
            ValueError, match=f"only a ring can be one-way, not topology='{topology}'"
        ):
            group("L40", 4, topology=topology, bidirectional=False)
    assert group("L40", 4, topology="ring", bidirectional=False).egress == 31e9 / 2
    with pytest.raises(ValueError, match="card= applies only to several nodes; leave it out"):
        group("H100", 8, card=50e9)
    with pytest.raises(ValueError, match="only a torus has rings"):
        Group("switch", (8,), 1e9, rings=(True,))
    with pytest.raises(ValueError, match=r"has one number of chips instead of axes, got \(2, 4\)"):
        Group("all-pairs", (2, 4), 1e9)
    for reduces in (True, 1, "yes"):
        with pytest.raises(ValueError, match=r"reduces=.* must be False, or True for a switch"):
            Group("torus", (4,), 1e9, reduces=reduces)


@cases(
    ("given", "told"),
    [
        ({"rings": ("no",)}, r"rings=\('no',\) must be a tuple"),
        ({"topology": "mesh"}, "topology='mesh' is not known"),
        ({"rings": (True, True)}, "must be a tuple"),
        ({"chip": "H100"}, "chip='H100' must be a Chip"),
        ({"bidirectional": 1}, "bidirectional=1 must be True or False"),
        ({"topology": [1]}, r"topology=\[1\] is not known"),
        ({"axes": 5}, "axes=5 must be a tuple"),
        ({"nodes": 1.5, "card": 1e9}, "nodes must be a whole number, got 1.5"),
        ({"nodes": np.array([1, 2, 4]), "card": np.ones(2)}, r"nodes\[3\], card\[2\]"),
    ],
)
def test_a_group_of_your_own_is_checked(given, told):
    with pytest.raises(ValueError, match=told):
        Group(**{"topology": "torus", "axes": (4,), "bandwidth": 1e9} | given)


def test_nodes_may_be_swept_and_counted_by_numpy():
    swept = group("H100", np.int64(8), nodes=np.array([1, 2]), card=50e9)
    assert swept.n.tolist() == [8, 16]
    with pytest.raises(ValueError, match="nodes need card="):
        group("H100", 8, nodes=np.array([1, 2]))
    assert group("H100", 8, nodes=np.int64(2), card=50e9).n == 16
    for bad in (5, 0, "no"):
        with pytest.raises(ValueError, match=f"bidirectional={bad!r} must be True or False"):
            group("TPU v5e", (16,), bidirectional=bad)


def test_chips_that_the_caller_joins_keep_their_latency():
    joined = Interconnect(4, 1e9, latency=1e-6)
    mine = rk.Chip("mine", {"bf16": 1e12}, 1e11, interconnect=joined)
    for topology in ("ring", "line", "switch"):
        assert group(mine, 4, topology=topology).latency == 1e-6


def test_a_ring_can_be_used_one_way_and_nothing_else_can():
    assert group("TPU v5e", (16,), bidirectional=False).egress == 45e9
    with pytest.raises(ValueError, match="only a ring can be one-way"):
        group("TPU v5e", 8, bidirectional=False)


def test_two_levels_need_a_card():
    assert group("H100", 8, nodes=4, card=50e9).n == 32
    with pytest.raises(ValueError, match="4 nodes need card=, the one-way bytes/s"):
        group("H100", 8, nodes=4)
    with pytest.raises(ValueError, match="card must be"):
        group("H100", 8, nodes=4, card=-1)


@cases("made", [ring, lambda n, w: torus((4, n), w)])
def test_two_chips_are_no_ring(made):
    with pytest.raises(ValueError, match="=2 isn't a ring: two chips share one link"):
        made(2, 45e9)


@cases(
    ("bad", "shown"),
    [(0, "at least 1, got 0"), (2.5, "got 2.5"), (math.nan, "nan"), ("8", "'8'"), (True, "True")],
)
@cases("made", [ring, line, switch, all_pairs])
def test_a_bad_number_of_chips_is_named(made, bad, shown):
    with pytest.raises(ValueError, match=r"^axes\[0\] must be ") as refusal:
        made(bad, 45e9)
    assert shown in str(refusal.value)


@cases("made", [ring, line, switch, all_pairs])
def test_a_bad_bandwidth_is_named(made):
    with pytest.raises(ValueError, match="bandwidth must be"):
        made(4, 0)
    with pytest.raises(ValueError, match="latency must be"):
        made(4, 1e9, latency=-1)


def test_counts_may_be_arrays_or_symbols():
    n, w = sympy.symbols("n w", positive=True)
    assert ring(n, w).egress == 2 * w
    assert ring(np.array([1, 4, 8]), 45e9).egress.tolist() == [45e9, 90e9, 90e9]
    assert all_pairs(np.array([1, 2, 8]), 64e9).egress.tolist() == [64e9, 64e9, 448e9]


def test_a_group_shows_itself_and_pickles():
    made = group("H100", 8, nodes=2, card=50e9)
    assert repr(made) == (
        "Group(2 nodes of 8 × H100 SXM, switch of 8, egress 450 GB/s, card 50 GB/s)"
    )
    assert repr(ring(4, 45e9)) == "Group(4 chips, ring of 4, egress 90 GB/s)"
    assert pickle.loads(pickle.dumps(made)) == made
    assert dataclasses.replace(made, nodes=3).n == 24


def test_a_roof_over_links_needs_a_peak():
    assert group("TPU v5e", 2).roofline("bf16").ridge == pytest.approx(197e12 / 45e9)
    assert ring(4, 45e9).roofline(peak_flops=9e10).ridge == 1
    with pytest.raises(ValueError, match="has no chip from the table; give peak_flops="):
        ring(4, 45e9).roofline()


def test_every_size_of_the_table_makes_a_group():
    for chip in rk.chips():
        for n in group_sizes(chip) if chip.interconnect else ():
            if chip.interconnect.topology:
                assert group(chip, n).n == n


def test_more_chips_of_a_slice_never_have_fewer_links():
    for name in ("TPU v4", "TPU v5e", "TPU v5p", "TPU v6e"):
        egress = [group(name, n).egress for n in group_sizes(rk.chip(name))]
        assert all(one <= other for one, other in itertools.pairwise(egress))
