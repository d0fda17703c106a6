"""Chips, switches and one-way links, and collectives that send pieces over them step by step.

Vertices are tuples for chips and text for switches. A piece is a key with a size and a value; what
each link carries is counted, and the values show that the collective did its work.
"""

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np


def chain(axes, rings, both_ways=True):
    """Links between neighbours along every axis, closed to rings where it is said."""
    links = set()
    for place in np.ndindex(*axes):
        for axis, (length, ring) in enumerate(zip(axes, rings, strict=True)):
            ahead = place[axis] + 1
            if length > 1 and (ring or ahead < length):
                other = (*place[:axis], ahead % length, *place[axis + 1 :])
                links |= {(place, other), *([(other, place)] if both_ways else [])}
    return links


def pairs(n):
    """A link from each chip to each other."""
    return {((a,), (b,)) for a, b in itertools.permutations(range(n), 2)}


def star(chips, hub):
    """A link from each of these chips to a switch, and back."""
    return {link for chip in chips for link in ((chip, hub), (hub, chip))}


def nodes(count, n):
    """Switches of n chips each, and one among all of their network cards."""
    chips = list(itertools.product(range(count), range(n)))
    inner = [star([chip for chip in chips if chip[0] == node], f"switch {node}")
             for node in range(count)]  # fmt: skip
    return set.union(star(chips, "cards"), *inner)


class Wires:
    """Links at work: who holds which pieces, and what each link carried."""

    def __init__(self, links):
        self.links, self.carried, self.steps = set(links), Counter(), 0
        self.chips = sorted({end for link in links for end in link if isinstance(end, tuple)})
        self.holds = defaultdict(dict)

    def step(self, sends, adding=False):
        """Sends (piece, size, way), each along a way of vertices; all arrive together.

        ``adding`` adds what arrives to what is held; the sender gives it away.
        """
        arriving = []
        for piece, size, way in sends:
            for link in itertools.pairwise(way):
                if link not in self.links:
                    raise ValueError(f"no link {link}")
                self.carried[link] += Fraction(size)
            arriving.append((piece, way[-1], self.holds[way[0]][piece]))
            if adding:
                del self.holds[way[0]][piece]
        for piece, target, value in arriving:
            held = self.holds[target].get(piece, 0) if adding else 0
            self.holds[target][piece] = held + value
        self.steps += 1

    def flood(self, ways=None):
        """Steps until everyone holds what anyone held, all passing on all they have."""
        ways = ways or list(self.links)
        for chip in self.chips:
            self.holds[chip] = {chip: 1}
        steps = 0
        while any(len(self.holds[chip]) < len(self.chips) for chip in self.chips):
            before = {chip: dict(pieces) for chip, pieces in self.holds.items()}
            for source, *_, target in ways:
                self.holds[target] |= before[source]
            steps += 1
        return steps

    def busiest(self, of=lambda link: True):
        """The bytes over the link that carried most, of those that are asked for."""
        return max((bytes for link, bytes in self.carried.items() if of(link)), default=0)


def ring_gather(wires, order, size, both_ways=True):
    """Each chip of an order passes on what it got last; half goes the other way round."""
    n = len(order)
    ways = (1, -1) if both_ways else (1,)
    part = Fraction(size) / n / len(ways)
    for place, chip in enumerate(order):
        wires.holds[chip] |= {(place, way): 1 for way in ways}
    for turn in range(n - 1):
        wires.step(
            (((place - way * turn) % n, way), part, (order[place], order[(place + way) % n]))
            for place in range(n) for way in ways
        )  # fmt: skip


def ring_scatter(wires, order, size, both_ways=True):
    """Sums that travel once round, each chip adding its own; they end at their owners."""
    n = len(order)
    ways = (1, -1) if both_ways else (1,)
    part = Fraction(size) / n / len(ways)
    for place, chip in enumerate(order):
        wires.holds[chip] |= {(owner, way): 2**place for owner in range(n) for way in ways}
    for turn in range(n - 1):
        wires.step(
            [
                (((place - way * (turn + 1)) % n, way), part,
                 (order[place], order[(place + way) % n]))
                for place in range(n) for way in ways
            ],
            adding=True,
        )  # fmt: skip


def line_gather(wires, n, size):
    """Along a line both ways, the nearest pieces first."""
    order = [(place,) for place in range(n)]
    for place, chip in enumerate(order):
        wires.holds[chip] |= {place: 1}
    for turn in range(n - 1):
        wires.step(
            (place - way * turn, Fraction(size) / n, (order[place], order[place + way]))
            for place in range(n) for way in (1, -1)
            if 0 <= place + way < n and 0 <= place - way * turn < n
        )  # fmt: skip


def torus_gather(wires, length, dimensions, size):
    """Rings along one axis after another, each part of a piece in an order of its own."""
    shape = (length,) * dimensions
    parts = [(first, way) for first in range(dimensions) for way in (1, -1)]
    part = Fraction(size) / length**dimensions / len(parts)
    for chip in wires.chips:
        wires.holds[chip] = {(chip, *each): 1 for each in parts}
    for phase, turn in itertools.product(range(dimensions), range(length - 1)):
        sends = []
        for chip in np.ndindex(*shape):
            for first, way in parts:
                axis = (first + phase) % dimensions
                done = {(first + before) % dimensions for before in range(phase)}
                source = (chip[axis] - way * turn) % length
                target = tuple((x + way * (a == axis)) % length for a, x in enumerate(chip))
                for origin in np.ndindex(*shape):
                    same = (origin[a] == chip[a] for a in range(dimensions)
                            if a != axis and a not in done)  # fmt: skip
                    if origin[axis] == source and all(same):
                        sends.append(((origin, first, way), part, (chip, target)))
        wires.step(sends)


def direct(wires, size, way, sends_all=True):
    """Each chip sends each other a piece straight: its own, or one for each of them."""
    chips, n = wires.chips, len(wires.chips)
    for chip in chips:
        wires.holds[chip] |= {(chip, other): 1 for other in chips}
    part = Fraction(size) / n if sends_all else Fraction(size) / n**2
    wires.step(((a, b), part, way(a, b)) for a, b in itertools.permutations(chips, 2))


def two_levels(wires, count, n, size):
    """Chips of one place in their nodes gather over the cards, then each node within itself."""
    chips, part = wires.chips, Fraction(size) / (count * n)
    for chip in chips:
        wires.holds[chip] |= {chip: 1}
    wires.step(
        (a, part, (a, "cards", b))
        for a, b in itertools.permutations(chips, 2) if a[1] == b[1]
    )  # fmt: skip
    wires.step(
        ((other, a[1]), part, (a, f"switch {a[0]}", b))
        for a, b in itertools.permutations(chips, 2) if a[0] == b[0]
        for other in range(count)
    )  # fmt: skip
