"""Schedules on a fabric: its links, its counts, and what it refuses."""

import itertools

import pytest
import sympy
from cases import cases

import roofkit as rk
from roofkit.network import Fabric, Group, all_gather, all_pairs, least_gather_bytes, line, ring
from roofkit.network import switch as switched

GRIDS = [(2, 2), (2, 4), (4, 2), (3, 4), (4, 3), (4, 4), (2, 3), (5, 6)]


def grid(axes, rings=None):
    return Group("torus", axes, 45e9, rings or (False,) * len(axes))


def test_all_pairs_are_all_joined():
    assert Fabric(all_pairs(3, 64e9)).links == tuple(itertools.permutations(range(3), 2))


@cases("axes", GRIDS)
def test_a_ring_goes_through_all_chips_along_links(axes):
    fabric = Fabric(grid(axes))
    assert sorted(fabric.ring) == list(range(fabric.n))
    assert {*itertools.pairwise(fabric.ring), (fabric.ring[-1], fabric.ring[0])} <= {*fabric.links}


@cases("group", [line(4, 45e9), grid((3, 3)), grid((1, 4))])
def test_no_ring_is_made_up(group):
    with pytest.raises(ValueError, match="no known ring through all"):
        _ = Fabric(group).ring


def test_what_was_sent_arrives_when_the_step_ends_and_is_counted():
    fabric = Fabric(ring(3, 45e9), size=6)
    fabric.send(0, 1, piece=0)
    assert (fabric.holds(1, 0), fabric.waiting) == (False, 1)
    with pytest.raises(ValueError, match=r"chip 1 does not have piece 0 in step 1: it arrives"):
        fabric.send(1, 2, piece=0)
    fabric.step()
    fabric.send(1, 2, piece=0)
    fabric.send(0, 2, piece=0)
    fabric.step()
    fabric.send(0, 1, piece=0)
    fabric.step()
    assert (fabric.steps, fabric.sent, fabric.repeats, fabric.waiting) == (3, 4, 2, 0)
    assert fabric.carried[0, 1] == fabric.busiest == 4
    assert fabric.carried[1, 0] == 0
    assert fabric.lacking == {0: [1, 2], 1: [2], 2: [1]}


@cases(
    ("send", "says"),
    [
        ((0, 2, 0), "there's no link from chip 0 to chip 2; its neighbours: 1"),
        ((0, 1, 3), "chip 0 does not have piece 3 in step 1; send"),
        ((0, 4, 0), "target must be a number from 0 to 3, got 4"),
        ((0, 1, "0"), "piece must be a number"),
    ],
)
def test_a_send_that_cannot_be_is_refused_and_not_counted(send, says):
    fabric = Fabric(line(4, 45e9))
    with pytest.raises(ValueError, match=says):
        fabric.send(*send)
    assert fabric.sent == fabric.busiest == 0


@cases(
    "group",
    [
        switched(8, 450e9), rk.group("H100", 8, nodes=2, card=50e9), "ring",
        ring(sympy.Symbol("n"), 45e9),
    ],
)  # fmt: skip
def test_a_group_without_links_from_chip_to_chip_is_refused(group):
    with pytest.raises(ValueError, match=r"no direct links between chips|whole numbers"):
        Fabric(group)


@cases(
    ("group", "pieces"),
    [
        (ring(4, 45e9), 2), (ring(5, 45e9), 2), (ring(5, 45e9, bidirectional=False), 4),
        (line(4, 45e9), 3), (grid((2, 4)), 4), (grid((4, 4)), 8), (all_pairs(8, 64e9), 1),
        (grid((1,)), 0),
    ],
)  # fmt: skip
def test_the_least_is_in_whole_pieces_what_the_collective_costs(group, pieces):
    size = 16.0 * group.n
    assert least_gather_bytes(size, group) == 16 * pieces
    transfer = all_gather(size, group)
    assert least_gather_bytes(size, group) >= transfer.seconds * group.bandwidth * (1 - 1e-12)


def test_no_schedule_of_two_steps_beats_the_least_on_a_ring_of_three():
    """All sends of one step, tried out: 2 pieces come in over 2 links."""
    least = least_gather_bytes(3, ring(3, 45e9))
    found = []
    for sends in itertools.product([False, True], repeat=6):
        fabric = Fabric(ring(3, 45e9), 3)
        for (source, target), sent in zip(fabric.links, sends, strict=True):
            if sent:
                fabric.send(source, target, piece=source)
        fabric.step()
        if not fabric.lacking:
            found.append(fabric.busiest)
    assert min(found) == least == 1


def test_a_piece_is_on_a_link_once_in_a_step():
    fabric = Fabric(ring(4, 1.0))
    fabric.send(0, 1, 0)
    with pytest.raises(ValueError, match="end the step to deliver it"):
        fabric.send(0, 1, 0)
    fabric.step()
    fabric.send(0, 1, 0)
    fabric.step()
    assert fabric.repeats == 1


def test_waiting_for_what_nobody_sends_ends():
    fabric = Fabric(ring(4, 1.0))
    for _ in range(4):
        fabric.step()
    with pytest.raises(ValueError, match="nothing was sent in the last 5 steps"):
        fabric.step()
