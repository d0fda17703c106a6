"""Live pictures: sliders and an SVG joined in the browser, so they move without a kernel."""

from rooflab.explore.bars import times
from rooflab.explore.chips import chips
from rooflab.explore.matmul import matmul
from rooflab.explore.model import model
from rooflab.explore.rooflines import roofline

__all__ = ["chips", "matmul", "model", "roofline", "times"]
