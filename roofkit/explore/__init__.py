"""Live pictures: sliders and an SVG joined in the browser, so they move without a kernel."""

from roofkit.explore.bars import times
from roofkit.explore.chips import chips
from roofkit.explore.matmul import matmul
from roofkit.explore.model import model
from roofkit.explore.rooflines import roofline

__all__ = ["chips", "matmul", "model", "roofline", "times"]
