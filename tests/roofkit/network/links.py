"""An explicit graph of links, and what no collective over it can beat.

An oracle that shares nothing with roofkit.network: it knows chips, switches and one-way links, and
looks at every way to part the vertices in two.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np


def torus(axes, rings, both_ways=True):
    """Links of capacity 1 between neighbours: {(from, to): capacity}."""
    capacity = Counter()
    for place in np.ndindex(*axes):
        for axis, (length, ring) in enumerate(zip(axes, rings, strict=True)):
            ahead = place[axis] + 1
            if length < 2 or (ahead == length and not ring):
                continue
            other = (*place[:axis], ahead % length, *place[axis + 1 :])
            capacity[place, other] += 1
            if both_ways:
                capacity[other, place] += 1
    return capacity


def slowest_cut(capacity, demand):
    """The most time that any parting of the vertices needs, in bytes over capacity.

    ``demand(inside, outside)`` says how many bytes must leave so many chips for so many others.
    """
    vertices = sorted({vertex for pair in capacity for vertex in pair}, key=str)
    bits = {vertex: 1 << place for place, vertex in enumerate(vertices)}
    links = [(bits[a], bits[b], speed) for (a, b), speed in capacity.items()]
    chips = [bits[vertex] for vertex in vertices if isinstance(vertex, tuple)]
    slowest = Fraction(0)
    for part in range(1, (1 << len(vertices)) - 1):
        inside = sum(1 for chip in chips if part & chip)
        needed = demand(inside, len(chips) - inside)
        if needed:
            out = sum(speed for a, b, speed in links if part & a and not part & b)
            slowest = max(slowest, Fraction(needed) / Fraction(out))
    return float(slowest)


def gather(inside, outside):
    """An all-gather of one byte a chip: what the chips inside hold, the others lack."""
    return inside if outside else 0


def exchange(inside, outside):
    """An all-to-all of one byte from each chip to each."""
    return inside * outside


def busiest_link(axes, rings, both_ways=True):
    """The bytes over the busiest link when an all-to-all of n² bytes goes the shortest ways."""
    loads = Counter()
    for source, target in itertools.product(np.ndindex(*axes), repeat=2):
        for link, share in _shortest(axes, source, target, rings, both_ways):
            loads[link] += share
    return float(max(loads.values()))


def _shortest(axes, source, target, rings, both_ways):
    at = list(source)
    for axis, (length, ring) in enumerate(zip(axes, rings, strict=True)):
        ahead = (target[axis] - at[axis]) % length if ring else target[axis] - at[axis]
        steps = [(ahead, 1)]
        if ring and both_ways and 2 * ahead > length:
            steps = [(ahead - length, 1)]
        elif ring and both_ways and 2 * ahead == length:
            steps = [(ahead, Fraction(1, 2)), (-ahead, Fraction(1, 2))]
        for hops, share in steps:
            place = at[axis]
            for _ in range(abs(hops)):
                direction = int(math.copysign(1, hops))
                yield (axis, *at[:axis], place, *at[axis + 1 :], direction), share
                place = (place + direction) % length if ring else place + direction
        at[axis] = target[axis]
