"""What a deployment takes from its chips and from what joins them."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from roofkit.hardware import Chip
from roofkit.network import Group, all_gather, all_reduce, all_to_all, group
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
    for name, field in {"all-gather": "gather", "all-reduce": "reduce", "all-to-all": "exchange",
                        "send": "send"}.items()
}  # fmt: skip
NONE = (None, None, None)


def _joined(served, chip):
    """Egress, share and wait of each collective between chips of one kind."""
    split, joined = served.split, served.joined
    rates = [NONE] * 4
    if split.tensor > 1:
        layer = _group(joined, chip, split.tensor, "joined")
        rates[0] = _rate(all_gather, layer, served.latency)
        adds = layer.reduces and layer.card is None
        reduced = functools.partial(all_reduce, in_network=True) if adds else all_reduce
        rates[1] = _rate(reduced, layer, served.latency)
    if split.exchanges:
        everyone = _group(served.between, chip, split.tensor * split.data, "between")
        rates[2] = _rate(all_to_all, everyone, served.latency)
    if split.pipeline > 1:
        pair = joined if isinstance(joined, Group) else group(chip, 2, kind=joined)
        rates[3] = (pair.egress, 1.0, pair.latency * pair.egress if served.latency else 0.0)
    return [figure for rate in rates for figure in rate]


def _group(joined, chip, chips, name):
    if not isinstance(joined, Group):
        joined = group(chip, chips, kind=joined)
    if joined.n != chips:
        raise ValueError(
            f"{name} is a group of {joined.n} chips, but it has to join {chips}; give as many"
        )
    return joined


def _rate(collective, joined, latency):
    whole = collective(1.0, joined)
    wait = collective(LEAST, joined, latency=True).bytes if latency else 0.0
    # Over several nodes as many bytes as the links carry while the slower level works.
    share = whole.bytes if joined.card is None else whole.seconds * joined.egress
    return joined.egress, share, wait
