"""Figures of rooflines, layers and times, with text descriptions and readable in greyscale."""

import matplotlib.pyplot  # noqa: F401  first, so the error names it if it is missing

from roofkit._tables import table
from roofkit._units import engineering
from rooflab.plot.bottlenecks import bottleneck_map
from rooflab.plot.collectives import collective, topologies
from rooflab.plot.common import COLOURS, LINES, Picture, redrawable, show
from rooflab.plot.convolutions import conv_shapes
from rooflab.plot.drawings import boards, memory_growth, model_stack, timeline, weight_way
from rooflab.plot.matmuls import matmul_batches, matmul_shapes, matmul_times
from rooflab.plot.measured_times import measured_times
from rooflab.plot.models import layers
from rooflab.plot.ridge import ridge
from rooflab.plot.rooflines import roofline, times
from rooflab.plot.sharding import matmul_cuts, matmul_pair, overlap_blocks, split_times
from rooflab.plot.time_breakdown import time_breakdown
from rooflab.plot.tokens import over_tokens
from rooflab.plot.traffic import traffic
from rooflab.plot.years import over_years

__all__ = [
    "COLOURS", "LINES", "Picture", "boards", "bottleneck_map", "collective", "conv_shapes",
    "engineering", "layers", "matmul_batches", "matmul_cuts", "matmul_pair", "matmul_shapes",
    "matmul_times", "measured_times", "memory_growth", "model_stack", "over_tokens", "over_years",
    "overlap_blocks", "ridge", "roofline", "show", "split_times", "table", "time_breakdown",
    "timeline", "times", "topologies", "traffic", "weight_way",
]  # fmt: skip

# For a phone, `show` draws these again.
for _name in set(__all__) - {"COLOURS", "LINES", "Picture", "engineering", "show", "table"}:
    globals()[_name] = redrawable(globals()[_name])
