"""Draw the README's picture with roofkit: python tools/picture.py"""

from pathlib import Path

import roofkit as rk
from roofkit.plot import roofline, show

TARGET = Path(__file__).resolve().parents[1] / "course" / "roofline.png"


def draw():
    """The picture: one vector operation and three matmuls on two chips."""
    kernels = {
        "vector addition": rk.elementwise(8192, reads=2),
        "matmul, 1 token": rk.matmul(1, 8192, 8192),
        "matmul, 32 tokens": rk.matmul(32, 8192, 8192),
        "matmul, 4096 tokens": rk.matmul(4096, 8192, 8192),
    }
    return show(roofline([rk.chip("H100 SXM"), rk.chip("TPU v5e")], kernels))


if __name__ == "__main__":
    TARGET.write_bytes(draw().content)
