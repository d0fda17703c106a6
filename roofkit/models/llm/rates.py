"""What a deployment takes from its chips and from what joins them."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from roofkit._inputs import number
from roofkit.hardware import Chip
from roofkit.models.llm.experts import exchange
from roofkit.network import Group, all_gather, all_reduce, all_to_all, group
from roofkit.network.sharding import group_sizes
from roofkit.roofline import larger

# On-chip bytes where no figure is known: finite, since infinity // x is not a number.
UNLIMITED = 1e300
# An array so small that it waits for hops alone.
LEAST = float(np.finfo(float).tiny)


class Rates(NamedTuple):
    """A number each, or an array along several chips.

    The peaks of matrices, experts, attention and lm_head, FLOP/s; the memory's bytes/s, its bytes,
    and those on the chip. For each collective the bytes/s that leave a chip, the bytes that do for
    each byte of the array, and those that could while the hops pass.
    """

    linear: Any
    routed: Any
    attends: Any
    head: Any
    bandwidth: Any
    capacity: Any
    on_chip: Any
    gather: Any
    gather_share: Any
    gather_wait: Any
    reduce: Any
    reduce_share: Any
    reduce_wait: Any
    exchange: Any
    exchange_share: Any
    exchange_wait: Any
    send: Any
    send_share: Any
    send_wait: Any

    @classmethod
    def of(cls, served, chips, several, *dtypes):
        """The Rates of a Deployment's chips, with the peaks of these four dtypes."""
        roof = functools.partial(Chip.roofline, unconfirmed=served.unconfirmed)
        figures = (
            *([roof(chip, dtype).peak_flops for chip in chips] for dtype in dtypes),
            [roof(chip, dtypes[0]).bandwidth for chip in chips],
            [math.nan if chip.usable is None else chip.usable for chip in chips],
            [served.on_chip or chip.on_chip or UNLIMITED for chip in chips],
            *zip(*(_joined(served, chip) for chip in chips), strict=True),
        )
        return cls(
            *(
                None if each[0] is None
                else np.array(each, dtype=float) if several
                else float(each[0])
                for each in figures
            ),
        )  # fmt: skip

    def over_link(self, operation):
        """Bytes that leave a chip for an Operation, and the bytes/s at which they do."""
        if not operation.collective:
            return 0.0, 0.0
        egress, share, wait = self[PLACES[operation.collective] :][:3]
        return larger(share * operation.array, wait), egress


PLACES = {
    name: Rates._fields.index(field)
    for name, field in {"all-gather": "gather", "all-reduce": "reduce", "exchange": "exchange",
                        "send": "send"}.items()
}  # fmt: skip
NONE = (None, None, None)


def links(served, chip):
    """The Group that each collective of a Deployment runs over, on this kind of chip."""
    split, found = served.split, {}
    if split.tensor > 1:
        layer = _group(served.joined, chip, split.tensor, "joined")
        found |= {"all-gather": layer, "all-reduce": layer}
    if split.exchanges:
        found["exchange"] = _group(served.between, chip, split.tensor * split.data, "between")
    return found


def _joined(served, chip):
    """Egress, share and wait of each collective between chips of one kind."""
    found, rates = links(served, chip), [NONE] * 4
    layer, everyone = found.get("all-reduce"), found.get("exchange")
    if layer is not None:
        adds = layer.reduces if served.in_network is None else served.in_network
        rates[0] = _rate(all_gather(1.0, layer), all_gather, served)
        rates[1] = _rate(all_reduce(1.0, layer, in_network=adds), all_reduce, served)
    if everyone is not None:
        inside = 1 if layer is None else layer.per_node
        fed = exchange(1.0, served.model, served.split, everyone, inside)
        rates[2] = _rate(fed, all_to_all, served)
    if served.split.pipeline > 1:
        rates[3] = _sending(served, chip)
    return [figure for rate in rates for figure in rate]


def _group(joined, chip, chips, name):
    if not isinstance(joined, Group):
        joined = group(chip, chips, topology=joined)
    if joined.n != chips:
        raise ValueError(
            f"{name} is a group of {joined.n} chips, but it has to join {chips}; give as many"
        )
    return joined


def _rate(moved, hopping, served):
    """Of what moves for one byte, as a Transfer, and of a collective with as many hops."""
    joined = moved.group
    wait = hopping(LEAST, joined, with_latency=True).bytes if served.latency else 0.0
    # Over several nodes as many bytes as the links carry while the slower level works.
    share = moved.bytes if joined.card is None else moved.seconds * joined.egress
    return joined.egress, share, wait


def _sending(served, chip):
    """The same of what a chip hands to its like in the next stage, on average over the stages."""
    joined, split = served.joined, served.split
    needed = split.tensor * split.pipeline
    if served.stages is not None:
        joined = served.stages
        if not isinstance(joined, Group):
            return number(joined, "stages"), 1.0, 0.0
        _group(joined, chip, needed, "stages")
    elif _most_joined(joined, chip) < needed:
        raise ValueError(
            f"{split.pipeline} stages of {split.tensor} are {needed} chips, and nothing says what "
            f"joins so many {chip.name}; give stages=, a Group of all of them, or the bytes/s one "
            "way from a chip to its like in the next stage"
        )
    if not isinstance(joined, Group):
        joined = group(chip, 2, topology=joined)
    egress = joined.egress
    if joined.card is not None:
        nodes = math.ceil(split.pipeline / max(joined.per_node // split.tensor, 1))
        crossing = (nodes - 1) / (split.pipeline - 1)
        egress = 1 / (crossing / joined.card + (1 - crossing) / egress)
    return egress, 1.0, joined.latency * egress if served.latency else 0.0


def _most_joined(joined, chip):
    """The most chips that the table, or a Group, joins; without limit where the caller says how."""
    if isinstance(joined, Group):
        return joined.n
    return math.inf if joined is not None else group_sizes(chip)[-1]
