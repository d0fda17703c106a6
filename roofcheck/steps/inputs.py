"""The inputs of a question: value, unit, source, and the values each can be mistaken for.

Many slips replace one input of the derivation. The kind of input determines the replacements: the
sparse peak for the dense one, or a link's bandwidth for the memory's.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import roofkit as rk
from roofcheck.sentences import Sentence, join_items
from roofkit._inputs import ITEMSIZE

# The source of an input that the question states.
GIVEN_BY_QUESTION = "the question"
BITS = "bits"
ANOTHER_CHIP = "another chip"


@dataclass(frozen=True)
class Mistaken:
    """A value that an input can be mistaken for, with the name and sentence of the mistake.

    It is reported only for answers of at least ``min_digits``. Shorter ones fit too many mistakes.
    """

    name: str
    value: Any
    says: str | Sentence
    min_digits: int = 2


@dataclass(frozen=True)
class Input:
    """A value that a question computes with.

    Parameters
    ----------
    value : number
    what : str or Sentence
        Its name in a hint, such as "the memory bandwidth of the TPU v6e".
    unit, source : str
    mistaken_for : tuple of Mistaken
    source_of_two : str or Sentence
        The source of a factor of 2 in it, such as "the multiply-add".
    chips : tuple of str
        The chips that the value is from. A new draw replaces all of them.
    fits_chip : function of a Chip
        Whether that chip has the specs for a new draw.
    redraw : function of a Random and a mapping of chip to chip
        Returns the input with a new value; the mapping gives each chip's replacement.
    """

    value: Any
    what: str | Sentence = ""
    unit: str = ""
    source: str = ""
    mistaken_for: tuple[Mistaken, ...] = ()
    source_of_two: str | Sentence = ""
    chips: tuple[str, ...] = ()
    fits_chip: Callable | None = field(default=None, repr=False)
    redraw: Callable | None = field(default=None, repr=False)

    def with_new_figures(self, rng: random.Random, chips: Mapping[str, str]) -> "Input":
        """Return the input with a newly drawn value, or with that of the newly drawn ``chips``."""
        return self.redraw(rng, chips) if self.redraw else self


def peak(chip, dtype="bf16", *, others=(), dtypes=None, sparse=True, printed_sparse=False):
    """Return the input for a chip's dense peak, FLOP/s.

    ``dtypes`` are the dtypes whose peaks it may be mistaken for, by default all of them. Set
    ``printed_sparse`` if the question states the sparse peak, to draw only chips that have one.
    """
    spec = rk.chip(chip)
    value = float(spec.peak_flops(dtype))
    mistakes = []
    names: dict[float, list[str]] = {}
    for other in spec.peaks if dtypes is None else dtypes:
        if other in spec.peaks and abs(spec.peaks[other] / value - 1) > 0.01:
            names.setdefault(float(spec.peaks[other]), []).append(other)
    doubled = sparse and _has_sparsity(spec)
    for figure, alike in names.items():
        if doubled and abs(figure / value - 2) < 0.01:
            doubled = False
            says = Sentence("peak.sparse-or", dtype=dtype, others=join_items(alike))
            mistakes.append(Mistaken("sparse", 2 * value, says))
        else:
            says = Sentence("peak.dtype", dtype=dtype, others=join_items(alike, "or"))
            mistakes.append(Mistaken(" or ".join(alike), figure, says))
    if doubled:
        mistakes.append(Mistaken("sparse", 2 * value, Sentence("peak.sparse")))
    mistakes += _mistaken_chips(chip, others, "peak.other-chip", lambda c: c.peaks.get(dtype))
    same = {"dtype": dtype, "dtypes": dtypes, "sparse": sparse, "printed_sparse": printed_sparse}
    return Input(
        value,
        Sentence("peak.what", dtype=dtype, chip=chip),
        "FLOP/s",
        spec.peaks[dtype].source,
        tuple(mistakes),
        source_of_two=Sentence("peak.two") if sparse and _has_sparsity(spec) else "",
        chips=(chip, *others),
        fits_chip=lambda c: (
            dtype in c.peaks
            and c.peaks[dtype].confirmed
            and (_has_sparsity(c) or not printed_sparse)
        ),
        redraw=_redraw(peak, chip, others, **same),
    )


def printed_peak(chip):
    """Return the input for a bf16 peak as printed on data sheets: with sparsity, so doubled."""
    return Input(
        2 * float(rk.chip(chip).peak_flops("bf16")),
        Sentence("printed-peak.what"),
        "FLOP/s",
        GIVEN_BY_QUESTION,
        chips=(chip,),
        fits_chip=peak(chip, printed_sparse=True).fits_chip,
        redraw=lambda rng, chips: printed_peak(chips[chip]),
    )


def bandwidth(chip, *, others=(), link=True):
    """Return the input for a chip's memory bandwidth, byte/s; ``link`` adds links as a mistake."""
    spec = rk.chip(chip)
    value = float(spec.bandwidth)
    mistakes = _mistaken_chips(chip, others, "bandwidth.other-chip", lambda c: c.bandwidth)
    if link and spec.interconnect:
        mistakes.append(Mistaken("link", spec.interconnect.total, Sentence("bandwidth.link")))
    return Input(
        value,
        Sentence("bandwidth.what", chip=chip),
        "byte/s",
        spec.bandwidth.source,
        (*mistakes, *_mistaken_rates(value)),
        chips=(chip, *others),
        fits_chip=lambda c: (
            c.bandwidth is not None and c.bandwidth.confirmed and bool(c.interconnect or not link)
        ),
        redraw=_redraw(bandwidth, chip, others, link=link),
    )


def link(chip, *, others=(), topology=None, peers=0):
    """Return the input for the total bandwidth of a chip's links to its peers, byte/s one way.

    A new draw uses only chips with this ``topology``, such as "switch", if it is given, and with
    links to at least ``peers`` others.
    """
    interconnect = rk.chip(chip).interconnect
    value = interconnect.total
    mistakes = [Mistaken("both ways", 2 * value, Sentence("link.both-ways"))]
    if interconnect.links > 1:
        says = Sentence("link.one", links=interconnect.links, chip=chip)
        mistakes.append(Mistaken("one link", float(interconnect.bandwidth), says))
    mistakes += _mistaken_chips(chip, others, "link.other-chip", lambda c: c.interconnect.total)
    return Input(
        value,
        Sentence("link.what", chip=chip),
        "byte/s",
        interconnect.bandwidth.source,
        (*mistakes, *_mistaken_rates(value)),
        source_of_two=Sentence("link.two"),
        chips=(chip, *others),
        fits_chip=lambda c: (
            bool(c.interconnect)
            and topology in (None, c.interconnect.topology)
            and (not peers or c.interconnect.links >= peers)
            and (not peers or c.interconnect.topology in ("switch", "all-pairs"))
        ),
        redraw=_redraw(link, chip, others, topology=topology, peers=peers),
    )


def one_link(chip):
    """Return the input for one of a chip's links, byte/s one way; a new draw keeps the layout."""
    interconnect = rk.chip(chip).interconnect
    value = float(interconnect.bandwidth)
    mistakes = [
        Mistaken("both ways", 2 * value, Sentence("one-link.both-ways")),
        Mistaken("memory", float(rk.chip(chip).bandwidth), Sentence("one-link.memory")),
    ]
    if interconnect.links > 2:
        says = Sentence("one-link.all", links=interconnect.links)
        mistakes.append(Mistaken("all links", interconnect.total, says))
    return Input(
        value,
        Sentence("one-link.what", chip=chip),
        "byte/s",
        interconnect.bandwidth.source,
        (*mistakes, *_mistaken_rates(value)),
        source_of_two=Sentence("one-link.two"),
        chips=(chip,),
        # In a group of a given size, a chip with links along more axes has more neighbours.
        fits_chip=lambda c: (
            c.interconnect is not None
            and (c.interconnect.topology, c.interconnect.links)
            == (interconnect.topology, interconnect.links)
        ),
        redraw=lambda rng, chips: one_link(chips[chip]),
    )


def itemsize(dtype="bf16", what="a number"):
    """Return the input for the bytes of one element of a dtype."""
    size = ITEMSIZE[dtype]
    words = {"what": what, "dtype": dtype, "size": size}
    bits = Sentence("itemsize.bits" if size > 1 else "itemsize.bits-of-one", **words)
    mistakes = [Mistaken(BITS, 8 * size, bits)]
    if size != 1:
        mistakes.insert(0, Mistaken("elements", 1, Sentence("itemsize.elements", **words)))
    if size < 4:
        mistakes.append(Mistaken("fp32", 4, Sentence("itemsize.fp32", **words)))
    if size > 2:
        mistakes.append(Mistaken("bf16", 2, Sentence("itemsize.bf16", **words)))
    return Input(
        size,
        Sentence("itemsize.what", **words),
        "bytes",
        "the format's definition",
        tuple(mistakes),
        source_of_two=Sentence("itemsize.two", **words) if size == 2 else "",
    )


def fma():
    """Return the input for the FLOPs of a multiply-add."""
    return Input(
        2,
        Sentence("fma.what"),
        "FLOPs",
        "the field's convention",
        (Mistaken("multiply-add", 1, Sentence("fma.one")),),
        source_of_two=Sentence("fma.two"),
    )


def count(value, what, unit="", *, mistaken_for=(), draw=(0.25, 0.5, 2, 3, 4)):
    """Return the input for a number that the question states.

    A new draw multiplies it by one of the factors in ``draw`` and drops ``mistaken_for``.
    """

    def again(rng, chips):
        return count(value * rng.choice(draw), what, unit, draw=draw)

    return Input(
        value, what, unit, GIVEN_BY_QUESTION, tuple(mistaken_for), redraw=again if draw else None
    )


def _redraw(make, chip, others, **same):
    """Return the ``redraw`` of an input that ``make`` makes for a chip and others."""
    return lambda rng, chips: make(chips[chip], others=[chips[other] for other in others], **same)


def _has_sparsity(chip):
    # NVIDIA's matrix units gained 2:4 sparsity together with bf16.
    return chip.sku.startswith("NVIDIA") and "bf16" in chip.peaks


def _mistaken_chips(chip, others, key, read):
    """Yield the values that ``read`` returns for other chips; ``key`` names the sentence."""
    own = float(read(rk.chip(chip)))
    mistakes = []
    for number, other in enumerate(others, start=1):
        value = read(rk.chip(other))
        if value and abs(value / own - 1) > 1e-9:
            name = f"{ANOTHER_CHIP} {number}" if number > 1 else ANOTHER_CHIP
            mistakes.append(Mistaken(name, float(value), Sentence(key, other=other, chip=chip)))
    return mistakes


def _mistaken_rates(value):
    """Return the values that any number in byte/s can be mistaken for."""
    bits, binary = Sentence("bandwidth.bits"), Sentence("bandwidth.binary")
    return (
        Mistaken(BITS, 8 * value, bits),
        Mistaken("from bits", value / 8, bits),
        Mistaken("binary", value * 2**30 / 1e9, binary, 3),
        Mistaken("binary, backwards", value * 1e9 / 2**30, binary, 3),
    )
