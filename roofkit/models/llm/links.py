"""The links between a deployment's chips: within a layer, across replicas and between stages."""

from dataclasses import dataclass

import numpy as np

from roofkit._inputs import check_number
from roofkit._units import format_quantity
from roofkit.models.llm.options import Options
from roofkit.network import Group

# Topologies to choose from if the chip table has only the number of links.
TOPOLOGIES = ("ring", "line", "switch", "all-pairs")


@dataclass(frozen=True, repr=False)
class Links(Options):
    """How the chips of a deployment are connected, if the chip table does not specify it.

    Parameters
    ----------
    tensor : Group or topology, optional
        Connects the chips that share every layer: a ``roofkit.network`` Group of that size, or
        "ring", "line", "switch" or "all-pairs" (default: the table's links).
    expert : Group or topology, optional
        Connects the chips of all replicas, if the experts are spread across replicas.
    pipeline : Group, topology or bytes/s, optional
        Connects the stages of a pipeline: a Group of the chips of all stages, or the one-way
        bytes/s from a chip to its counterpart in the next stage (default: same as ``tensor``).
    in_network : bool, optional
        Whether a switch sums the arrays of an all-reduce (default: if the switch supports it).
    with_latency : bool
        Whether a collective's time includes the latency of its hops, one after another.

    Raises ValueError for a value of the wrong type.

    >>> Links(pipeline=50e9, with_latency=True)
    Links(pipeline=50 GB/s, with_latency=True)
    """

    tensor: Group | str | None = None
    expert: Group | str | None = None
    pipeline: Group | str | float | None = None
    in_network: bool | None = None
    with_latency: bool = False

    def _format_option(self, value):
        speed = isinstance(value, int | float) and not isinstance(value, bool)
        return format_quantity(value, "B/s") if speed else repr(value)

    def __post_init__(self):
        for name in ("tensor", "expert", "pipeline"):
            value = getattr(self, name)
            if isinstance(value, Group | None):
                continue
            if isinstance(value, str) and value in TOPOLOGIES:
                continue
            if name == "pipeline" and not isinstance(value, str):
                speed = check_number(value, name)
                if not np.ndim(speed):
                    continue
            bytes_a_second = ", or a number of bytes/s" if name == "pipeline" else ""
            raise ValueError(
                f'{name}={value!r} must be a Group, such as rk.group("H100", 8), or one of '
                f"{', '.join(TOPOLOGIES)}{bytes_a_second}"
            )
        if not isinstance(self.in_network, bool | None):
            raise ValueError(f"in_network={self.in_network!r} must be True, False or None")
        if not isinstance(self.with_latency, bool):
            raise ValueError(f"with_latency={self.with_latency!r} must be True or False")
