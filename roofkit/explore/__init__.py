"""Live pictures: sliders and an SVG joined in the browser, so they move without a kernel."""

from roofkit.explore.bars import times
from roofkit.explore.frame import TEXT
from roofkit.explore.matmul import matmul
from roofkit.explore.rooflines import roofline

__all__ = ["TEXT", "matmul", "roofline", "times"]
