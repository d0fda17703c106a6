"""Interactive figures. Sliders are linked in the browser, so they work without a kernel."""

from rooflab.explore.chips import chips
from rooflab.explore.matmul import matmul
from rooflab.explore.model import model
from rooflab.explore.pages import write_html
from rooflab.explore.ridge import ridge
from rooflab.explore.rooflines import roofline
from rooflab.explore.times import times

__all__ = ["chips", "matmul", "model", "ridge", "roofline", "times", "write_html"]
