"""What a deployment takes from its chips and from what joins them."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from roofkit.hardware import Chip
from roofkit.models.llm.experts import exchange_tokens
from roofkit.network import Group, all_gather, all_reduce, all_to_all, group
from roofkit.network.sharding import group_sizes
from roofkit.roofline import larger

# On-chip bytes where no figure is known: finite, since infinity // x is not a number.
UNLIMITED = 1e300
# Bytes of an array so small that sending it takes the time of the hops alone.
TINY_ARRAY = float(np.finfo(float).tiny)


class ChipRates(NamedTuple):
    """What a machine does in a second and what it holds: numbers, or arrays along several chips.

    ``linear``, ``routed``, ``attends`` and ``head`` are the peaks in FLOP/s of matrices, experts,
    attention and lm_head. ``bandwidth`` is that of the memory in bytes/s, ``capacity`` its bytes,
    ``on_chip`` the bytes on the chip. Each collective has three figures: the bytes/s that leave a
    chip, the bytes that leave it for each byte of the array (``share``), and those that could leave
    it while the hops pass (``wait``).
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
        """The Rates of a Deployment on these chips, with the peaks of four dtypes.

        They are arrays along the chips where the deployment names a list of these.
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
                None if each[0] is None
                else np.array(each, dtype=float) if several
                else float(each[0])
                for each in figures
            ),
        )  # fmt: skip

    def link_traffic(self, operation):
        """Bytes that leave a chip for an Operation, and the bytes/s at which they do."""
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
    """The Group that each collective of a Deployment runs over, on chips of this kind."""
    split, links, found = served.split, served.links, {}
    if split.tensor > 1:
        layer = _join_chips(links.tensor, chip, split.tensor, "tensor")
        found |= {"all-gather": layer, "all-reduce": layer}
    if split.exchanges:
        found["exchange"] = _join_chips(links.expert, chip, split.tensor * split.data, "expert")
    return found


def _collective_figures(served, chip):
    """Egress, share and wait of each collective among chips of one kind."""
    found, rates, links = find_groups(served, chip), [NO_COLLECTIVE] * 4, served.links
    layer, everyone = found.get("all-reduce"), found.get("exchange")
    if layer is not None:
        rates[0] = _collective_rate(all_gather(1.0, layer), all_gather, links)
        rates[1] = _collective_rate(
            all_reduce(1.0, layer, in_network=links.in_network), all_reduce, links
        )
    if everyone is not None:
        inside = 1 if layer is None else layer.per_node
        fed = exchange_tokens(1.0, served.model, served.split, everyone, inside)
        rates[2] = _collective_rate(fed, all_to_all, links)
    if served.split.pipeline > 1:
        rates[3] = _stage_rate(served.split, links, chip)
    return [figure for rate in rates for figure in rate]


def _join_chips(given, chip, chips, name):
    """So many chips in the Group or the topology that was given, or as the table joins them."""
    known = chip.interconnect and chip.interconnect.topology
    if isinstance(given, str) and known:
        raise ValueError(
            f"{chip.name} are joined by a {known}; leave {name}={given!r} out of the Links"
        )
    if given is None and chip.interconnect and not known:
        raise ValueError(
            f"{chip.name}: the table does not say how several are joined; say it, as in "
            f'links=rk.models.Links({name}="switch")'
        )
    if not isinstance(given, Group):
        given = group(chip, chips, topology=given)
    if given.n != chips:
        raise ValueError(
            f"{name} of the Links is a group of {given.n} chips, but it has to join {chips}; give "
            "as many"
        )
    return given


def _collective_rate(moved, hopping, links):
    """Egress, share and wait of a collective that takes a byte as ``moved``, a Transfer.

    Its hops are those of the collective ``hopping``.
    """
    joined = moved.group
    wait = hopping(TINY_ARRAY, joined, with_latency=True).bytes if links.with_latency else 0.0
    # Over several nodes as many bytes as the links carry while the slower level works.
    share = moved.bytes if joined.card is None else moved.seconds * joined.egress
    return joined.egress, share, wait


def _stage_rate(split, links, chip):
    """Egress, share and wait of what a chip hands to its like in the next stage, on average."""
    joined, needed = links.tensor, split.tensor * split.pipeline
    if links.pipeline is not None:
        joined = links.pipeline
        if not isinstance(joined, Group | str):
            return joined, 1.0, 0.0
        _join_chips(joined, chip, needed, "pipeline")
    elif _most_chips(joined, chip) < needed:
        raise ValueError(
            f"{split.pipeline} stages of {split.tensor} are {needed} chips, and nothing says what "
            f"joins so many {chip.name}; give links=rk.models.Links(pipeline=…): a Group of all of "
            "them, or the bytes/s one way from a chip to its like in the next stage"
        )
    if not isinstance(joined, Group):
        joined = group(chip, 2, topology=joined)
    egress = joined.egress
    if joined.card is not None:
        nodes = math.ceil(split.pipeline / max(joined.per_node // split.tensor, 1))
        crossing = (nodes - 1) / (split.pipeline - 1)
        egress = 1 / (crossing / joined.card + (1 - crossing) / egress)
    return egress, 1.0, joined.latency * egress if links.with_latency else 0.0


def _most_chips(joined, chip):
    """The most chips that the table, or a Group, joins; without limit where the caller says how."""
    if isinstance(joined, Group):
        return joined.n
    return math.inf if joined is not None else group_sizes(chip)[-1]
