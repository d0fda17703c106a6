"""The speeds and memory sizes of a deployment's chips and links."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from roofkit.hardware import Chip
from roofkit.models.llm.experts import exchange_tokens
from roofkit.network import Group, all_gather, all_reduce, all_to_all, group
from roofkit.network.sharding import group_sizes
from roofkit.roofline import larger

# On-chip bytes if the size is unknown. Finite, because infinity // x is NaN.
UNLIMITED = 1e300
# Bytes of an array so small that only the hops take time.
TINY_ARRAY = float(np.finfo(float).tiny)


class ChipRates(NamedTuple):
    """The speeds and sizes of a machine: numbers, or arrays with an element per kind of chip.

    ``linear``, ``routed``, ``attends`` and ``head`` are the peaks in FLOP/s for dense matrices,
    experts, attention and lm_head. ``bandwidth`` (bytes/s) and ``capacity`` (bytes) describe
    the memory, and ``on_chip`` is the bytes of on-chip memory. Each collective has three values:
    the bytes/s that a chip sends, the bytes that it sends per byte of the array (``share``), and
    the bytes that it could send during the latency of the hops (``wait``).
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
    def of_deployment(cls, served, chips, dtypes):
        """Return the rates of a Deployment on these chips, with the peaks of four dtypes.

        The rates are arrays along the chips if the deployment has a list of chips.
        """
        roof = functools.partial(Chip.roofline, unconfirmed=served.unconfirmed)
        figures = (
            *([roof(chip, dtype).peak_flops for chip in chips] for dtype in dtypes),
            [roof(chip, dtypes[0]).bandwidth for chip in chips],
            [math.nan if chip.usable is None else chip.usable for chip in chips],
            [served.on_chip or chip.on_chip or UNLIMITED for chip in chips],
            *zip(*(_collective_figures(served, chip) for chip in chips), strict=True),
        )
        several = isinstance(served.chip, tuple)
        return cls(
            *(
                None if values[0] is None
                else np.array(values, dtype=float) if several
                else float(values[0])
                for values in figures
            ),
        )  # fmt: skip

    def collective_traffic(self, operation):
        """Return the bytes that a chip sends for an Operation, and the link speed in bytes/s."""
        if not operation.collective:
            return 0.0, 0.0
        egress, share, wait = self[COLLECTIVE_PLACES[operation.collective] :][:3]
        return larger(share * operation.array, wait), egress


COLLECTIVE_PLACES = {
    name: ChipRates._fields.index(field)
    for name, field in {"all-gather": "gather", "all-reduce": "reduce", "exchange": "exchange",
                        "send": "send"}.items()
}  # fmt: skip
NO_COLLECTIVE = (None, None, None)


def find_groups(served, chip):
    """Return the Groups of a Deployment on chips of this kind, by collective."""
    split, links, groups = served.split, served.links, {}
    if split.tensor > 1:
        layer = _make_chip_group(links.tensor, chip, split.tensor, "tensor")
        groups |= {"all-gather": layer, "all-reduce": layer}
    if split.exchanges:
        groups["exchange"] = _make_chip_group(
            links.expert, chip, split.tensor * split.data, "expert"
        )
    return groups


def _collective_figures(served, chip):
    """Return the egress, share and wait of each collective on one kind of chip, as a flat list."""
    groups, rates, links = find_groups(served, chip), [NO_COLLECTIVE] * 4, served.links
    layer, everyone = groups.get("all-reduce"), groups.get("exchange")
    if layer is not None:
        rates[0] = _collective_rate(all_gather(1.0, layer), all_gather, links)
        rates[1] = _collective_rate(
            all_reduce(1.0, layer, in_network=links.in_network), all_reduce, links
        )
    if everyone is not None:
        inside = 1 if layer is None else layer.per_node
        dispatch = exchange_tokens(1.0, served.model, served.split, everyone, inside)
        rates[2] = _collective_rate(dispatch, all_to_all, links)
    if served.split.pipeline > 1:
        rates[3] = _stage_rate(served.split, links, chip)
    return [figure for rate in rates for figure in rate]


def _make_chip_group(link, chip, chips, name):
    """Return a Group of ``chips`` chips that uses the given link, or else the table's links."""
    known = chip.interconnect and chip.interconnect.topology
    if isinstance(link, str) and known:
        raise ValueError(
            f"{chip.name} has the topology {known}; leave {name}={link!r} out of Links"
        )
    if link is None and chip.interconnect and not known:
        raise ValueError(
            f"{chip.name}: the table has no topology for several chips; choose one, such as "
            f'links=rk.models.Links({name}="switch")'
        )
    if not isinstance(link, Group):
        link = group(chip, chips, topology=link)
    if link.n != chips:
        raise ValueError(
            f"{name} of Links is a group of {link.n} chips, but it must join {chips}; use a "
            f"group of {chips}"
        )
    return link


def _collective_rate(moved, hopping, links):
    """Return the egress, share and wait of a collective.

    ``moved`` is the collective's Transfer for an array of one byte, and ``hopping`` is the function
    that counts the hops.
    """
    joined = moved.group
    wait = hopping(TINY_ARRAY, joined, with_latency=True).bytes if links.with_latency else 0.0
    # Across nodes, count the bytes that the links could move in the time of the slower level.
    share = moved.bytes if joined.card is None else moved.seconds * joined.egress
    return joined.egress, share, wait


def _stage_rate(split, links, chip):
    """Return the average egress, share and wait of a send to the counterpart in the next stage."""
    joined, needed = links.tensor, split.tensor * split.pipeline
    if links.pipeline is not None:
        joined = links.pipeline
        if not isinstance(joined, Group | str):
            return joined, 1.0, 0.0
        _make_chip_group(joined, chip, needed, "pipeline")
    elif _count_joinable_chips(joined, chip) < needed:
        raise ValueError(
            f"{split.pipeline} stages of {split.tensor} chips need {needed} {chip.name}, but the "
            "table cannot link so many; give links=rk.models.Links(pipeline=…): a Group of all the "
            "chips, or the one-way bytes/s from a chip to its counterpart in the next stage"
        )
    if not isinstance(joined, Group):
        joined = group(chip, 2, topology=joined)
    egress = joined.egress
    if joined.card is not None:
        nodes = math.ceil(split.pipeline / max(joined.per_node // split.tensor, 1))
        crossing = (nodes - 1) / (split.pipeline - 1)
        egress = 1 / (crossing / joined.card + (1 - crossing) / egress)
    return egress, 1.0, joined.latency * egress if links.with_latency else 0.0


def _count_joinable_chips(joined, chip):
    """Return the most chips that a Group or the table connects; infinity for a topology."""
    if isinstance(joined, Group):
        return joined.n
    return math.inf if joined is not None else group_sizes(chip)[-1]
