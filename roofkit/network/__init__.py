"""Communication between chips: groups of chips, collectives and split matmuls.

A Group is a set of chips and the links between them. The cost of a collective is the number of
bytes through one chip's links. The time is this number divided by the group's ``egress``:

>>> import roofkit as rk
>>> v5e = rk.network.group("TPU v5e", 8)
>>> v5e, rk.network.all_gather(16e6, v5e).seconds
(Group(8 × TPU v5e, 2x4, egress 90 GB/s), 0.00015555555555555556)
"""

from roofkit.network.collectives import Transfer, all_gather, all_reduce, all_to_all, reduce_scatter
from roofkit.network.groups import Group, all_pairs, group, line, ring, switch, torus
from roofkit.network.schedule import Fabric, least_gather_bytes
from roofkit.network.sharding import ShardedMatmul, critical_width, most_chips, sharded_matmul

__all__ = [
    "Fabric",
    "Group",
    "ShardedMatmul",
    "Transfer",
    "all_gather",
    "all_pairs",
    "all_reduce",
    "all_to_all",
    "critical_width",
    "group",
    "least_gather_bytes",
    "line",
    "most_chips",
    "reduce_scatter",
    "ring",
    "sharded_matmul",
    "switch",
    "torus",
]
