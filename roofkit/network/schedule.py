"""Simulate chips that exchange pieces of an array, and count the bytes on every link."""

import math
from collections import Counter

import numpy as np

from roofkit._inputs import check_number, is_symbolic
from roofkit._units import format_quantity
from roofkit.network.groups import Group


class Fabric:
    """A simulation of a group's chips and links, for trying out schedules of an all-gather.

    Parameters
    ----------
    group : a Group with a single node and direct links between chips instead of a switch
    size : bytes of the whole array; chip i starts with piece i, which has size / n bytes

    Chips are numbered from 0 in the order of ``np.ndindex(*group.axes)``: in a 2 x 4 grid, chip 4
    is below chip 0. The two directions of a link are counted separately. ``send`` puts a piece on a
    link, and ``step`` delivers all pieces that were sent.

    Raises ValueError if a chip sends a piece that it does not have yet, uses a link that does not
    exist, or sends the same piece over a link twice in a step.

    In this example, each chip forwards its latest piece around the ring until every link has
    carried n - 1 pieces.

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
            raise ValueError(f"a Fabric needs a single number of bytes as size, got {size!r}")
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
        """Number of chips."""
        return self._group.n

    @property
    def group(self):
        """The simulated Group."""
        return self._group

    @property
    def links(self):
        """All links, as a tuple of (source, target) pairs, one for each direction."""
        return self._links

    @property
    def ring(self):
        """All chips in an order that links each chip to the next, and the last to the first.

        Raises ValueError if no such order is known: for a line, or a grid with odd lengths.

        >>> from roofkit.network import group
        >>> Fabric(group("TPU v5e", 8)).ring
        (0, 1, 2, 3, 7, 6, 5, 4)
        """
        axes = tuple(length for length in self._group.axes if length > 1)
        numbers = np.arange(self.n).reshape(axes or 1)
        if len(axes) == 2:
            numbers = numbers if axes[1] % 2 == 0 else numbers.T
            # Follow the first row, then return column by column, alternating down and up.
            columns = numbers[1:, ::-1].T.copy()
            columns[1::2] = columns[1::2, ::-1]
            numbers = np.concatenate([numbers[0], columns.ravel()])
        found = tuple(numbers.ravel().tolist())
        if not set(zip(found, (*found[1:], found[0]), strict=True)) <= set(self._links):
            raise ValueError(f"a {self._group.shape} has no known ring through all its chips")
        return found

    @property
    def carried(self):
        """Bytes sent over each link so far: {(source, target): bytes}."""
        return {link: self._carried[link] * self._piece for link in self._links}

    @property
    def busiest(self):
        """Bytes over the busiest link, in one direction."""
        return max(self.carried.values(), default=0.0)

    @property
    def steps(self):
        """Number of completed steps."""
        return self._steps

    @property
    def sent(self):
        """Number of pieces sent over all links together."""
        return self._carried.total()

    @property
    def repeats(self):
        """Number of pieces that arrived at a chip that already had them."""
        return self._repeats

    @property
    def waiting(self):
        """Number of pieces sent in the current step that have not arrived yet."""
        return len(self._sent)

    @property
    def lacking(self):
        """Missing pieces by chip, {chip: pieces}; empty when the gather is complete."""
        every = range(self.n)
        return {
            chip: [piece for piece in every if piece not in held]
            for chip, held in enumerate(self._holds)
            if len(held) < self.n
        }

    def neighbours(self, chip):
        """Return the chips that a chip is linked to."""
        return tuple(target for source, target in self._links if source == chip)

    def holds(self, chip, piece):
        """Return whether a chip has a piece, ignoring pieces sent in the current step."""
        return piece in self._holds[self._check_number(chip, "chip")]

    def send(self, source, target, piece):
        """Put a piece on the link from source to target; it arrives when the step ends."""
        source, target = self._check_number(source, "source"), self._check_number(target, "target")
        piece = self._check_number(piece, "piece")
        if (source, target) not in self._links:
            joined = ", ".join(map(str, self.neighbours(source))) or "none"
            raise ValueError(
                f"there's no link from chip {source} to chip {target}; its neighbours: {joined}"
            )
        if piece not in self._holds[source]:
            coming = any((source, piece) == sent[1:] for sent in self._sent)
            late = ": it arrives when this step ends" if coming else ""
            raise ValueError(
                f"chip {source} does not have piece {piece} in step {self._steps + 1}{late}; "
                "send a piece that it has"
            )
        if (source, target, piece) in self._sent:
            raise ValueError(
                f"piece {piece} is already on the link from chip {source} to chip {target}; "
                "end the step to deliver it"
            )
        self._carried[source, target] += 1
        self._sent[source, target, piece] = None

    def step(self):
        """End the step and deliver all pieces that were sent.

        Raises ValueError if there are more steps in a row without a send than there are chips,
        because a loop waiting for a piece that no chip sends would never end.
        """
        self._idle = 0 if self._sent else self._idle + 1
        if self._idle > self.n:
            raise ValueError(
                f"nothing was sent in the last {self._idle} steps; send pieces before ending a step"
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
    """Return the minimum bytes over the busiest link of an all-gather of whole pieces (size / n).

    The chip with the fewest links receives n - 1 pieces over them, so one of its links carries at
    least ceil((n - 1) / links) pieces. Raises ValueError for the same groups as Fabric.

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
            f"{group!r} has no direct links between chips; use a ring, line, torus or all_pairs"
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
