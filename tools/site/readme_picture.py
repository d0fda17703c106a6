"""Draw the README's picture with roofkit: python -m tools.site.readme_picture"""

from pathlib import Path

import roofkit as rk
from rooflab.plot import ridge, show
from tools.sentences import sentence

TARGET = Path(__file__).resolve().parents[2] / "course" / "ridge.png"


def draw_picture():
    """Draw how much of an H100 three kinds of work use while one byte of weights arrives."""
    roof = rk.chip("H100 SXM").roofline()
    panels = {
        sentence("picture.writing"): 1,
        sentence("picture.batch", users=16): 16,
        sentence("picture.reading", tokens="2,048"): 2048,
    }
    return show(ridge(roof.ridge, panels, chip="an H100"))


if __name__ == "__main__":
    TARGET.write_bytes(draw_picture().content)
