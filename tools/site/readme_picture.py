"""Draw the README's picture with roofkit: python -m tools.site.readme_picture"""

from pathlib import Path

import roofkit as rk
from rooflab.plot import roofline, show
from tools.sentences import sentence

TARGET = Path(__file__).resolve().parents[2] / "course" / "roofline.png"


def draw_picture():
    """Draw one vector operation and three matmuls on two chips."""
    kernels = {
        sentence("picture.vector"): rk.elementwise(8192, reads=2),
        sentence("picture.one", tokens=1): rk.matmul(1, 8192, 8192),
        sentence("picture.several", tokens=32): rk.matmul(32, 8192, 8192),
        sentence("picture.several", tokens=4096): rk.matmul(4096, 8192, 8192),
    }
    return show(roofline([rk.chip("H100 SXM"), rk.chip("TPU v5e")], kernels))


if __name__ == "__main__":
    TARGET.write_bytes(draw_picture().content)
