"""What a question computes with: each input's value, unit and source, and what is taken for it.

A slip is the question's own formula with one input replaced, so most slips follow from the kind of
the inputs: a peak is mistaken for the sparse one or another dtype's, a bandwidth for the link's, a
longer time for the sum. Operations are inputs too: ``longer()`` is ``max``, and its slips are the
sum, the mean, one time alone.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import roofkit as rk
from roofkit._inputs import ITEMSIZE

BITS = "bits"
ANOTHER_CHIP = "another chip"


@dataclass(frozen=True)
class Instead:
    """What is taken for an input by mistake: a name, the value it gives, what to say of it.

    An answer of fewer than so many ``digits`` is not told it: it could be many other things.
    """

    name: str
    value: Any
    says: str
    digits: int = 2


@dataclass(frozen=True)
class Input:
    """A figure or an operation that a question computes with.

    Parameters
    ----------
    value : number, or a function for an operation
    what : str
        What it is, for a hint: "the memory bandwidth of the TPU v6e". Empty for an operation.
    unit, source : str
    instead : tuple of Instead
    rarely : tuple of Instead
        What is taken for it seldom: told only to an answer that is exactly what it gives.
    two : str
        Where a factor of 2 that concerns it comes from: "the multiply-add".
    chips : tuple of str
        The chips its figures are of, drawn anew together.
    has : function of a Chip, whether that chip could stand in
    again : function of (Random, mapping of chip to chip), the input with other figures
    """

    value: Any
    what: str = ""
    unit: str = ""
    source: str = ""
    instead: tuple[Instead, ...] = ()
    rarely: tuple[Instead, ...] = ()
    two: str = ""
    chips: tuple[str, ...] = ()
    has: Callable | None = field(default=None, repr=False)
    again: Callable | None = field(default=None, repr=False)

    def drawn(self, rng: random.Random, chips: Mapping[str, str]) -> "Input":
        """The same input with figures of its own draw, or of the chips drawn for all."""
        return self.again(rng, chips) if self.again else self


def peak(chip, dtype="bf16", *, others=(), dtypes=None, sparse=True, printed_sparse=False):
    """A chip's dense peak, FLOP/s.

    ``dtypes`` are those it may be mistaken for, all by default; ``printed_sparse`` if the question
    prints the figure with sparsity, so that a new draw needs a chip that has one.
    """
    found = rk.chip(chip)
    value = float(found.peak_flops(dtype))
    instead = []
    names: dict[float, list[str]] = {}
    for other in found.peaks if dtypes is None else dtypes:
        if other in found.peaks and abs(found.peaks[other] / value - 1) > 0.01:
            names.setdefault(float(found.peaks[other]), []).append(other)
    doubled = sparse and _has_sparsity(found)
    for figure, listed in names.items():
        if doubled and abs(figure / value - 2) < 0.01:
            doubled = False
            instead.append(
                Instead(
                    "sparse",
                    2 * value,
                    f"That takes twice the dense {dtype} peak: the data sheet's figure with "
                    f"sparsity, or for {' and '.join(listed)}. Dense {dtype} matrices reach half.",
                )
            )
        else:
            instead.append(
                Instead(
                    " or ".join(listed),
                    figure,
                    f"That takes the {' or '.join(listed)} peak; the work is in {dtype}.",
                )
            )
    if doubled:
        instead.append(
            Instead(
                "sparse",
                2 * value,
                "That takes the peak with sparsity, twice the dense one. It holds only where two "
                "of every four weights are zero.",
            )
        )
    instead += _of_others(chip, others, "peak", lambda c: c.peaks.get(dtype))
    return Input(
        value,
        f"the dense {dtype} peak of the {chip}",
        "FLOP/s",
        found.peaks[dtype].source,
        tuple(instead),
        two="the peak, dense or sparse" if sparse and _has_sparsity(found) else "",
        chips=(chip, *others),
        has=lambda c: (
            dtype in c.peaks
            and c.peaks[dtype].confirmed
            and (_has_sparsity(c) or not printed_sparse)
        ),
        again=lambda rng, chips: peak(
            chips[chip],
            dtype,
            others=[chips[other] for other in others],
            dtypes=dtypes,
            sparse=sparse,
            printed_sparse=printed_sparse,
        ),
    )


def bandwidth(chip, *, others=(), link=True):
    """A chip's memory bandwidth, byte/s. ``link`` if the chip's link may be taken for it."""
    found = rk.chip(chip)
    value = float(found.bandwidth)
    instead = _of_others(chip, others, "memory bandwidth", lambda c: c.bandwidth)
    if link and found.interconnect:
        instead.append(
            Instead(
                "link",
                found.interconnect.total,
                "That goes over the chip-to-chip link. These bytes come from the chip's own "
                "memory.",
            )
        )
    return Input(
        value,
        f"the memory bandwidth of the {chip}",
        "byte/s",
        found.bandwidth.source,
        (*instead, *_sizes(value)),
        rarely=(
            *_tebi(value, "bandwidth"),
            *(
                [
                    Instead(
                        "capacity",
                        float(found.capacity),
                        "That takes the memory's capacity, bytes, for its bandwidth, byte/s.",
                    )
                ]
                if found.capacity
                else ()
            ),
        ),
        chips=(chip, *others),
        has=lambda c: (
            c.bandwidth is not None and c.bandwidth.confirmed and bool(c.interconnect or not link)
        ),
        again=lambda rng, chips: bandwidth(
            chips[chip], others=[chips[other] for other in others], link=link
        ),
    )


def link(chip, *, others=(), topology=None):
    """All links of a chip to others of its kind together, byte/s one way.

    ``topology``, such as "switch", if a new draw needs chips that are joined so.
    """
    found = rk.chip(chip).interconnect
    value = found.total
    both = Instead(
        "both ways",
        2 * value,
        "That counts the link in both directions. One way is asked for: data sheets print both "
        "together.",
    )
    return Input(
        value,
        f"the links of the {chip}, one way",
        "byte/s",
        found.bandwidth.source,
        (
            both,
            *(
                [
                    Instead(
                        "one link",
                        float(found.bandwidth),
                        f"That takes one link of the {found.links} that the {chip} has. "
                        "All are asked for.",
                    )
                ]
                if found.links > 1
                else ()
            ),
            *_of_others(chip, others, "links", lambda c: c.interconnect.total),
            *_sizes(value),
        ),
        two="the links, one way or both",
        chips=(chip, *others),
        has=lambda c: bool(c.interconnect) and topology in (None, c.interconnect.topology),
        again=lambda rng, chips: link(
            chips[chip], others=[chips[other] for other in others], topology=topology
        ),
    )


def one_link(chip):
    """One of a chip's links, byte/s one way; a new draw has as many, laid out alike."""
    found = rk.chip(chip).interconnect
    value = float(found.bandwidth)
    instead = [
        Instead(
            "both ways",
            2 * value,
            "That counts the link in both directions. Each direction has its own traffic here.",
        ),
        Instead(
            "memory",
            float(rk.chip(chip).bandwidth),
            "That takes the chip's memory bandwidth. These bytes cross a link.",
        ),
    ]
    if found.links > 2:
        instead.append(
            Instead(
                "all links",
                found.total,
                f"That takes all {found.links} links of the chip. Only those that lead to the "
                "other chips of this group count.",
            )
        )
    return Input(
        value,
        f"one link of the {chip}, one way",
        "byte/s",
        found.bandwidth.source,
        (*instead, *_sizes(value)),
        two="the link, one way or both",
        chips=(chip,),
        # A slice of so many chips has other corners where a chip has more axes.
        has=lambda c: (
            c.interconnect is not None
            and (c.interconnect.topology, c.interconnect.links) == (found.topology, found.links)
        ),
        again=lambda rng, chips: one_link(chips[chip]),
    )


def itemsize(dtype="bf16", what="a number"):
    """The bytes of one element of a dtype."""
    value = ITEMSIZE[dtype]
    instead = [
        Instead(
            BITS,
            8 * value,
            f"That counts the bits of {what}. A byte has 8: {dtype} takes {value} "
            f"byte{'s' if value > 1 else ''}.",
        )
    ]
    if value != 1:
        instead.insert(
            0,
            Instead(
                "elements",
                1,
                f"That comes to 1 byte for {what}. Each takes {value} bytes in {dtype}.",
            ),
        )
    if value < 4:
        instead.append(
            Instead(
                "fp32",
                4,
                f"That comes to 4 bytes for {what}, as in fp32 or for one that crosses twice; "
                f"{dtype} takes {value}.",
            )
        )
    return Input(
        value, f"the bytes of {what} in {dtype}", "bytes", "the format's definition",
        tuple(instead),
        rarely=(Instead("fp64", 8, f"That gives each number 8 bytes, as fp64 takes; {dtype} has "
                        "fewer."),),
        two=f"the {value} bytes of {what}" if value == 2 else "",
    )  # fmt: skip


def fma():
    """The FLOPs of a multiply-add."""
    return Input(
        2,
        "what a multiply-add counts",
        "FLOPs",
        "the field's convention",
        (
            Instead(
                "multiply-add",
                1,
                "A multiply-add is one multiplication and one addition: 2 FLOPs.",
            ),
        ),
        two="the multiply-add",
    )


def count(value, what, unit="", *, instead=(), draw=(0.25, 0.5, 2, 3, 4)):
    """A number that the question gives. ``draw`` are the factors that a new draw may change it by.

    ``instead`` holds Instead entries, which a new draw leaves out.
    """

    def again(rng, chips):
        return count(value * rng.choice(draw), what, unit, draw=draw)

    return Input(value, what, unit, "the question", tuple(instead), again=again if draw else None)


def retold(given, name, **changes):
    """The same input, with what is taken for it under this name told in another way."""
    instead = (replace(one, **changes) if one.name == name else one for one in given.instead)
    return replace(given, instead=tuple(instead))


# Operations, under the names that a sentence gives their two operands.


def longer(a="T_math", b="T_comms"):
    """The longer of two times: full overlap."""
    return Input(
        max,
        instead=(
            Instead("sum", lambda x, y: x + y, "That is the sum: the time if nothing overlaps."),
            Instead("first", lambda x, y: x, f"That is {a} alone. The longer time decides."),
            Instead("second", lambda x, y: y, f"That is {b} alone. The longer time decides."),
            Instead("shorter", min, "That is the shorter time. The longer one decides."),
            Instead("mean", lambda x, y: (x + y) / 2, f"That is the mean of {a} and {b}.", 3),
            Instead(
                "twice",
                lambda x, y: 2 * max(x, y),
                "That is twice the longer time. It bounds the sum; overlapped, the longer time is "
                "all.",
                3,
            ),
            Instead("difference", lambda x, y: abs(x - y), f"That subtracts {a} and {b}.", 3),
        ),
    )


def total(a="T_math", b="T_comms"):
    """The sum of two times: no overlap."""
    return Input(
        lambda x, y: x + y,
        instead=(
            Instead("longer", max, "That is the longer time alone. With no overlap the times add."),
            Instead(
                "twice",
                lambda x, y: 2 * max(x, y),
                "That is twice the longer time. It bounds the sum, but is not it.",
            ),
            Instead("first", lambda x, y: x, f"That is {a} alone. With no overlap the times add."),
            Instead("second", lambda x, y: y, f"That is {b} alone. With no overlap the times add."),
            Instead("mean", lambda x, y: (x + y) / 2, f"That is the mean of {a} and {b}.", 3),
            Instead("difference", lambda x, y: abs(x - y), f"That subtracts {a} and {b}.", 3),
            Instead("product", lambda x, y: x * y, f"That multiplies {a} and {b}.", 3),
        ),
    )


def lower_roof(a="the peak", b="intensity times bandwidth"):
    """The lower of the two roofs."""
    return Input(
        min,
        instead=(
            Instead("first", lambda x, y: x, f"That is {a} alone, one roof of two."),
            Instead("second", lambda x, y: y, f"That is {b} alone, one roof of two."),
            Instead("higher", max, "That is the higher roof. A computation stays under the lower."),
            Instead("sum", lambda x, y: x + y, "That is the sum of the two roofs.", 3),
            Instead("mean", lambda x, y: (x + y) / 2, "That is the mean of the two roofs.", 3),
            Instead(
                "harmonic",
                lambda x, y: 1 / (1 / x + 1 / y),
                "That adds the times of both, as if nothing overlapped. The roof is the lower of "
                "the two.",
                3,
            ),
        ),
    )


def _has_sparsity(chip):
    # 2:4 sparsity came to NVIDIA's matrix units together with bf16.
    return chip.sku.startswith("NVIDIA") and "bf16" in chip.peaks


def _of_others(chip, others, what, read):
    return [
        Instead(
            f"{ANOTHER_CHIP}{f' {number}' if number > 1 else ''}",
            float(read(rk.chip(other))),
            f"That takes the {what} of the {other}; the question is about the {chip}.",
        )
        for number, other in enumerate(others, start=1)
        if read(rk.chip(other)) and abs(read(rk.chip(other)) / read(rk.chip(chip)) - 1) > 1e-9
    ]


def _tebi(value, what):
    """2^40 for a tera, either way."""
    says = f"That takes 2^40 for the tera of the {what}. Data sheets mean 10^12."
    return (
        Instead("tebi", value * 2**40 / 1e12, says),
        Instead("tebi, backwards", value * 1e12 / 2**40, says),
    )


def _sizes(value):
    """The slips of every figure in byte/s."""
    bits = "That is off by the 8 bits of a byte. Bytes and bandwidth are both in bytes here."
    giga = (
        "That takes 2^30 for a giga, in the bytes or in the bandwidth. Data sheets and this "
        "course mean 10^9."
    )
    return (
        Instead(BITS, 8 * value, bits),
        Instead("from bits", value / 8, bits),
        Instead("binary", value * 2**30 / 1e9, giga, 3),
        Instead("binary, backwards", value * 1e9 / 2**30, giga, 3),
    )
