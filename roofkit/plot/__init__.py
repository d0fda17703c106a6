"""Rooflines, layers, times and memory as figures: in units, readable in grey, told in words."""

import matplotlib.pyplot  # noqa: F401  first: an installation without it is told so

from roofkit._units import engineering
from roofkit.plot.collectives import collective, topologies
from roofkit.plot.convolutions import conv_shapes
from roofkit.plot.figures import COLOURS, LINES, Picture, show
from roofkit.plot.matmuls import matmul_batches, matmul_shapes, matmul_times
from roofkit.plot.measured import measured
from roofkit.plot.models import layers
from roofkit.plot.regions import waits
from roofkit.plot.rooflines import roofline, times
from roofkit.plot.serving import kv_memory, throughput
from roofkit.plot.sharding import matmul_cuts, matmul_pair, overlap_blocks, split_times
from roofkit.plot.stacks import breakdown
from roofkit.plot.tables import table
from roofkit.plot.tokens import over_tokens
from roofkit.plot.traffic import traffic
from roofkit.plot.years import over_years

__all__ = [
    "COLOURS",
    "LINES",
    "Picture",
    "breakdown",
    "collective",
    "conv_shapes",
    "engineering",
    "kv_memory",
    "layers",
    "matmul_batches",
    "matmul_cuts",
    "matmul_pair",
    "matmul_shapes",
    "matmul_times",
    "measured",
    "over_tokens",
    "over_years",
    "overlap_blocks",
    "roofline",
    "show",
    "split_times",
    "table",
    "throughput",
    "times",
    "topologies",
    "traffic",
    "waits",
]
