"""Simulate chips that send each other pieces of an array, and count the bytes on every link."""

import math
from collections import Counter

import numpy as np

from roofkit._inputs import check_number, is_symbolic
from roofkit._units import format_quantity
from roofkit.network.groups import Group


class Fabric:
    """The chips and links of a group, to write an all-gather for; counts bytes on each link.

    Parameters
    ----------
    group : a Group of one node whose chips are joined directly, not by a switch
    size : bytes of the whole array; chip i starts with piece i, a share of size / n

    Chips are numbered from 0 in the order of ``np.ndindex(*group.axes)``: in a 2 x 4 grid chip 4 is
    below chip 0. The two directions of a link count separately. ``send`` puts a piece on a link,
    and ``step`` lets everything sent arrive.

    Raises ValueError for a send of a piece that the chip does not have yet, over a link that does
    not exist, or repeated within a step.

    In this example each chip passes on the last piece it received around the ring, so that n - 1
    pieces go over every link.

    >>> from roofkit.network import group
    >>> fabric = Fabric(group("TPU v5e", 8), size=8e6)
    >>> ring = fabric.ring
    >>> for turn in range(7):
    ...     for place in range(8):
    ...         fabric.send(ring[place - 1], ring[place], piece=ring[place - 1 - turn])
    ...     fabric.step()
    >>> fabric.lacking
    {}
    >>> fabric
    Fabric(8 × TPU v5e, 2x4: 7 steps, 7 MB over the busiest link)
    """

    def __init__(self, group, size=1.0):
        self._group, self._links = group, _list_links(group)
        size = check_number(size, "size")
        if isinstance(size, np.ndarray) or is_symbolic(size):
            raise ValueError(f"a Fabric takes one number of bytes for size, got {size!r}")
        self._piece = size / group.n
        self._holds = [{chip} for chip in range(group.n)]
        self._carried = Counter()
        self._sent = {}  # (source, target, piece) of this step, in order
        self._steps = self._repeats = self._idle = 0

    def __repr__(self):
        chips = f"{self.n} × {self._group.chip.name if self._group.chip else 'chips'}"
        counts = f"{self.steps} steps, {format_quantity(self.busiest, 'B')} over the busiest link"
        return f"Fabric({chips}, {self._group.shape}: {counts})"

    @property
    def n(self):
        """The number of chips."""
        return self._group.n

    @property
    def group(self):
        """The Group that was given."""
        return self._group

    @property
    def links(self):
        """All links as a tuple of (source, target), with each direction separate."""
        return self._links

    @property
    def ring(self):
        """All chips, ordered so each is joined to the next, and the last to the first.

        Raises ValueError if this class knows none: for a line, and for a grid with odd lengths.

        >>> from roofkit.network import group
        >>> Fabric(group("TPU v5e", 8)).ring
        (0, 1, 2, 3, 7, 6, 5, 4)
        """
        axes = tuple(length for length in self._group.axes if length > 1)
        numbers = np.arange(self.n).reshape(axes or 1)
        if len(axes) == 2:
            numbers = numbers if axes[1] % 2 == 0 else numbers.T
            # The ring goes along the first row, then back column by column, down and up in turn.
            columns = numbers[1:, ::-1].T.copy()
            columns[1::2] = columns[1::2, ::-1]
            numbers = np.concatenate([numbers[0], columns.ravel()])
        found = tuple(numbers.ravel().tolist())
        if not set(zip(found, (*found[1:], found[0]), strict=True)) <= set(self._links):
            raise ValueError(f"no ring through the chips of a {self._group.shape} is known here")
        return found

    @property
    def carried(self):
        """Bytes that each link has carried: {(source, target): bytes}."""
        return {link: self._carried[link] * self._piece for link in self._links}

    @property
    def busiest(self):
        """Bytes over the link that carried the most, one way."""
        return max(self.carried.values(), default=0.0)

    @property
    def steps(self):
        """How many steps have ended."""
        return self._steps

    @property
    def sent(self):
        """How many pieces were sent over all links."""
        return self._carried.total()

    @property
    def repeats(self):
        """How many pieces arrived at a chip that already had them."""
        return self._repeats

    @property
    def waiting(self):
        """How many pieces were sent in the current step and have not arrived."""
        return len(self._sent)

    @property
    def lacking(self):
        """The pieces that chips still lack, {chip: pieces}; empty once the gather is complete."""
        every = range(self.n)
        return {
            chip: [piece for piece in every if piece not in held]
            for chip, held in enumerate(self._holds)
            if len(held) < self.n
        }

    def neighbours(self, chip):
        """Return the chips that a chip has a link to."""
        return tuple(target for source, target in self._links if source == chip)

    def holds(self, chip, piece):
        """Return whether a chip has a piece; pieces sent in this step have not arrived yet."""
        return piece in self._holds[self._check_number(chip, "chip")]

    def send(self, source, target, piece):
        """Put a piece on the link from source to target; it arrives when the step ends."""
        source, target = self._check_number(source, "source"), self._check_number(target, "target")
        piece = self._check_number(piece, "piece")
        if (source, target) not in self._links:
            joined = ", ".join(map(str, self.neighbours(source))) or "none"
            raise ValueError(
                f"no link leads from chip {source} to chip {target}; its neighbours: {joined}"
            )
        if piece not in self._holds[source]:
            coming = any((source, piece) == sent[1:] for sent in self._sent)
            late = ": it arrives when this step ends" if coming else ""
            raise ValueError(
                f"chip {source} does not hold piece {piece} in step {self._steps + 1}{late}; "
                "send what it holds"
            )
        if (source, target, piece) in self._sent:
            raise ValueError(
                f"piece {piece} is on the link from chip {source} to chip {target} already; "
                "end the step to let it arrive"
            )
        self._carried[source, target] += 1
        self._sent[source, target, piece] = None

    def step(self):
        """End the step; every piece sent has then arrived.

        Raises ValueError after more steps without a send than there are chips, since a loop that
        waits for a piece that nobody sends would never end.
        """
        self._idle = 0 if self._sent else self._idle + 1
        if self._idle > self.n:
            raise ValueError(
                f"nothing was sent in the last {self._idle} steps; send pieces before the step ends"
            )
        for _, target, piece in self._sent:
            self._repeats += piece in self._holds[target]
            self._holds[target].add(piece)
        self._sent = {}
        self._steps += 1

    def _check_number(self, value, name):
        if isinstance(value, (int, np.integer)) and 0 <= value < self.n:
            return int(value)
        raise ValueError(f"{name} must be a number from 0 to {self.n - 1}, got {value!r}")


def least_gather_bytes(size, group):
    """Return the least bytes over the busiest link of an all-gather in whole pieces of size / n.

    The n - 1 pieces that the chip with the fewest links lacks must arrive over its links, so one of
    them carries ceil((n - 1) / links). Raises ValueError as Fabric does.

    >>> from roofkit.network import group, ring
    >>> least_gather_bytes(4e6, ring(4, 45e9)), least_gather_bytes(8e6, group("TPU v5e", 8))
    (2000000.0, 4000000.0)
    """
    into = Counter(target for _, target in _list_links(group))
    fewest = min(into.values(), default=1)
    return check_number(size, "size") / group.n * math.ceil((group.n - 1) / fewest)


def _list_links(group):

    if not isinstance(group, Group) or group.topology == "switch" or group.card is not None:
        raise ValueError(
            f"{group!r} has no links from chip to chip; take a ring, line, torus or all pairs"
        )
    if any(is_symbolic(length) or isinstance(length, np.ndarray) for length in group.axes):
        raise ValueError(f"axes={group.axes!r} must be whole numbers here")
    places = list(np.ndindex(*map(int, group.axes)))
    numbers = {place: chip for chip, place in enumerate(places)}
    if group.topology == "all-pairs":
        return tuple((a, b) for a in range(group.n) for b in range(group.n) if a != b)
    found = []
    for place in places:
        for axis, (length, ring) in enumerate(zip(group.axes, group.rings, strict=True)):
            ahead = [*place]
            ahead[axis] = (place[axis] + 1) % length if ring else place[axis] + 1
            if length > 1 and (other := numbers.get(tuple(ahead))) is not None:
                found.append((numbers[place], other))
    back = [(b, a) for a, b in found] if group.bidirectional else []
    return tuple(sorted({*found, *back}))
