"""Groups and collectives against links that carry every piece, step by step."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
import wiring
from cases import cases

import roofkit as rk
from roofkit.network import (
    Fabric,
    Group,
    all_gather,
    all_pairs,
    all_reduce,
    all_to_all,
    least_gather_bytes,
    line,
    reduce_scatter,
    ring,
    sharded_matmul,
    switch,
    torus,
)

SIZE, SPEED, LATE = 5040.0, 7.0, 1e9  # a latency that no time of bytes comes near
CHAINS = [
    ((1,), (False,), True), ((2,), (False,), True), ((5,), (False,), True), ((3,), (True,), True),
    ((6,), (True,), True), ((5,), (True,), False), ((2, 3), (False, False), True),
    ((4, 4), (True, True), True), ((3, 5), (True, False), True), ((3, 4), (True, True), False),
    ((2, 2, 3), (False, False, True), True), ((3, 3, 4), (True, True, True), True),
]  # fmt: skip


@cases(("axes", "rings", "both_ways"), CHAINS)
def test_a_torus_has_the_links_and_hops_of_its_graph(axes, rings, both_ways):
    wires = wiring.Wires(wiring.chain(axes, rings, both_ways))
    group = Group("torus", axes, SPEED, rings, bidirectional=both_ways, latency=LATE)
    assert group.n == math.prod(axes)
    number = {place: count for count, place in enumerate(np.ndindex(*axes))}
    assert sorted(Fabric(group).links) == sorted((number[a], number[b]) for a, b in wires.links)
    if group.n == 1:
        assert (group.hops, group.links) == (0, 1)
        return
    fewest = min(Counter(source for source, _ in wires.links).values())
    assert (group.links, group.egress) == (fewest, fewest * SPEED)
    assert group.hops == wires.flood()
    for collective, passes in ((all_gather, 1), (reduce_scatter, 1), (all_reduce, 2)):
        late = collective(SIZE, group, with_latency=True)
        assert late.seconds == pytest.approx(passes * group.hops * LATE)
    assert all_to_all(SIZE, group, with_latency=True).seconds == pytest.approx(group.hops * LATE)


def over_a_link(transfer):
    return transfer.bytes / transfer.group.links


@cases("both_ways", [True, False])
@cases("n", [3, 4, 5, 8])
def test_ring_collectives_cost_what_the_links_carry(n, both_ways):
    group = ring(n, SPEED, bidirectional=both_ways)
    links = wiring.chain((n,), (True,), both_ways)
    order = [(place,) for place in range(n)]
    gather, scatter = wiring.Wires(links), wiring.Wires(links)
    wiring.ring_gather(gather, order, SIZE, both_ways)
    ways = (1, -1) if both_ways else (1,)
    whole = set(itertools.product(range(n), ways))
    assert all(gather.holds[chip].keys() == whole for chip in order)
    wiring.ring_scatter(scatter, order, SIZE, both_ways)
    # Every chip added 2 to the power of its place.
    assert all(
        scatter.holds[chip] == {(place, way): 2**n - 1 for way in ways}
        for place, chip in enumerate(order)
    )
    for wires, collective in ((gather, all_gather), (scatter, reduce_scatter)):
        assert set(wires.carried) == links
        assert set(wires.carried.values()) == {wires.busiest()}
        assert over_a_link(collective(SIZE, group)) == pytest.approx(float(wires.busiest()))
        assert collective(SIZE, group).seconds == pytest.approx(float(wires.busiest()) / SPEED)
    both = float(gather.busiest() + scatter.busiest())
    assert over_a_link(all_reduce(SIZE, group)) == pytest.approx(both)


@cases("n", [2, 3, 6])
def test_a_gather_on_a_line_costs_what_the_links_carry_in_as_many_steps_as_hops(n):
    wires = wiring.Wires(wiring.chain((n,), (False,)))
    wiring.line_gather(wires, n, SIZE)
    assert all(wires.holds[chip].keys() == set(range(n)) for chip in wires.chips)
    assert over_a_link(all_gather(SIZE, line(n, SPEED))) == pytest.approx(float(wires.busiest()))
    assert wires.steps == line(n, SPEED).hops


@cases(("length", "dimensions"), [(3, 2), (4, 2), (3, 3)])
def test_a_torus_keeps_all_of_its_links_busy(length, dimensions):
    axes = (length,) * dimensions
    wires = wiring.Wires(wiring.chain(axes, (True,) * dimensions))
    wiring.torus_gather(wires, length, dimensions, SIZE)
    pieces = 2 * dimensions * length**dimensions
    assert all(len(wires.holds[chip]) == pieces for chip in wires.chips)
    assert set(wires.carried.values()) == {wires.busiest()}
    group = torus(axes, SPEED)
    assert over_a_link(all_gather(SIZE, group)) == pytest.approx(float(wires.busiest()))


@cases("n", [2, 5])
def test_pairs_and_switches_cost_what_direct_sends_carry(n):
    through = {
        "pairs": (wiring.pairs(n), lambda a, b: (a, b), all_pairs(n, SPEED)),
        "switch": (
            wiring.star([(chip,) for chip in range(n)], "switch"),
            lambda a, b: (a, "switch", b),
            switch(n, SPEED),
        ),
    }
    for links, way, group in through.values():
        for collective, sends_all in ((all_gather, True), (all_to_all, False)):
            wires = wiring.Wires(links)
            wiring.direct(wires, SIZE, way, sends_all)
            found = float(wires.busiest())
            assert over_a_link(collective(SIZE, group)) == pytest.approx(found)
    adding = switch(n, SPEED, reduces=True, latency=LATE)
    # All partial sums go up, and the totals of the chip's own part go out.
    parts = min(n + 1, 2 * (n - 1))
    assert all_reduce(SIZE, adding, in_network=True).bytes == pytest.approx(SIZE * parts / n)
    late = all_reduce(SIZE, adding, in_network=True, with_latency=True)
    assert late.seconds == pytest.approx(2 * LATE)


@cases(("count", "n"), [(2, 2), (3, 2), (2, 4)])
def test_collectives_over_nodes_cost_what_links_and_cards_carry(count, n):
    group = Group("switch", (n,), SPEED, nodes=count, card=2.0)
    assert group.n == count * n
    wires = wiring.Wires(wiring.nodes(count, n))
    wiring.two_levels(wires, count, n, SIZE)
    assert all(len(wires.holds[chip]) == count * n for chip in wires.chips)
    cards, inner = (
        float(wires.busiest(lambda link, at_cards=at_cards: ("cards" in link) == at_cards))
        for at_cards in (True, False)
    )
    for collective, passes in ((all_gather, 1), (reduce_scatter, 1), (all_reduce, 2)):
        transfer = collective(SIZE, group)
        assert (transfer.bytes, transfer.network_bytes) == pytest.approx(
            (passes * inner, passes * cards)
        )
        assert transfer.times == pytest.approx(
            {"link": passes * inner / SPEED, "network": passes * cards / 2.0}
        )
        assert transfer.seconds == max(transfer.times.values())
    exchange = wiring.Wires(wiring.nodes(count, n))
    wiring.direct(
        exchange, SIZE, sends_all=False,
        way=lambda a, b: (a, f"switch {a[0]}" if a[0] == b[0] else "cards", b),
    )  # fmt: skip
    transfer = all_to_all(SIZE, group)
    assert transfer.network_bytes == pytest.approx(
        float(exchange.busiest(lambda link: "cards" in link))
    )
    assert transfer.bytes == pytest.approx(
        float(exchange.busiest(lambda link: "cards" not in link))
    )


@cases(("axes", "rings"), [((4,), (True,)), ((2, 3), (False, False)), ((3, 3), (True, True))])
@cases("seed", range(3))
def test_a_fabric_counts_what_the_links_carry(axes, rings, seed):
    """Pieces sent at random, told to both."""
    draw = random.Random(seed)
    group = Group("torus", axes, SPEED, rings)
    fabric, wires = Fabric(group, size=SIZE), wiring.Wires(wiring.chain(axes, rings))
    number = {place: count for count, place in enumerate(np.ndindex(*axes))}
    assert {(number[a], number[b]) for a, b in wires.links} == set(fabric.links)
    for chip in wires.chips:
        wires.holds[chip] = {chip: 1}
    again = sent = 0
    for _ in range(6):
        sends = [
            (piece, SIZE / group.n, (a, b))
            for a, b in sorted(wires.links)
            for piece in sorted(wires.holds[a])
            if draw.random() < 0.5
        ]
        again += sum(1 for piece, _, (_, b) in sends if piece in wires.holds[b])
        twice = Counter((piece, b) for piece, _, (_, b) in sends if piece not in wires.holds[b])
        again += sum(count - 1 for count in twice.values())
        for piece, _, (a, b) in sends:
            fabric.send(number[a], number[b], number[piece])
        assert fabric.waiting == len(sends)
        wires.step(sends)
        fabric.step()
        sent += len(sends)
    assert (fabric.steps, fabric.sent, fabric.repeats) == (wires.steps, sent, again)
    assert fabric.carried == pytest.approx(
        {(number[a], number[b]): float(wires.carried[a, b]) for a, b in wires.links}
    )
    assert fabric.busiest == pytest.approx(float(wires.busiest()))
    missing = {number[chip]: set(number) - wires.holds[chip].keys() for chip in wires.chips}
    assert {chip: set(pieces) for chip, pieces in fabric.lacking.items()} == {
        chip: {number[piece] for piece in pieces} for chip, pieces in missing.items() if pieces
    }
    into = min(Counter(target for _, target in wires.links).values())
    assert least_gather_bytes(SIZE, group) == SIZE / group.n * math.ceil((group.n - 1) / into)


@cases(
    ("along", "collective"),
    [
        ("D", None), ("D", "reduce-scatter"), ("B", None), ("B", "all-gather Y"),
        ("B", "all-gather Z"), ("F", None), ("F", "all-gather X"), ("F", "all-gather Z"),
    ],
)  # fmt: skip
def test_a_split_matmul_computes_moves_and_sends_its_part(along, collective):
    B, D, F, n = 8, 12, 16, 4
    X, Y = np.arange(B * D).reshape(B, D) % 7, np.arange(D * F).reshape(D, F) % 5
    cut = {"B": (0, None), "D": (1, 0), "F": (None, 1)}[along]
    xs, ys = (
        [each] * n if axis is None else np.split(each, n, axis)
        for each, axis in zip((X, Y), cut, strict=True)
    )
    zs = [x @ y for x, y in zip(xs, ys, strict=True)]
    whole = sum(zs) if along == "D" else np.concatenate(zs, 0 if along == "B" else 1)
    assert (whole == X @ Y).all()
    group = switch(n, SPEED)
    found = sharded_matmul(
        B, D, F, group, along=along, collective=collective,
        dtype="bf16", weight_dtype="int8", out_dtype="fp32",
    )  # fmt: skip
    x, y, z = xs[0], ys[0], zs[0]
    assert found.local == rk.Cost(2 * x.size * y.shape[1], 2 * x.size + y.size + 4 * z.size)
    sizes = {"X": 2 * X.size, "Y": Y.size, "Z": 4 * whole.size}
    if along != "D" and collective is None:
        assert found.transfer is None
        return
    size = sizes[collective[-1] if collective and "gather" in collective else "Z"]
    gather = wiring.Wires(wiring.star([(chip,) for chip in range(n)], "switch"))
    wiring.direct(gather, size, lambda a, b: (a, "switch", b))
    passes = 2 if along == "D" and collective is None else 1
    assert found.link.bytes == pytest.approx(passes * float(gather.busiest()))
    assert found.link.flops == found.local.flops
