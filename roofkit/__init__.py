"""Cost models and hardware figures for the roofline model.

>>> import roofkit as rk
>>> roof = rk.chip("TPU v5e").roofline("bf16")
>>> roof.estimate(rk.matmul(B=256, D=8192, F=8192)).bound
'compute'

Numbers need NumPy alone. ``roofkit.plot`` draws (matplotlib), ``roofkit.explore`` moves sliders
(ipywidgets), ``roofkit.check`` answers students; they are imported when first used.
"""

import importlib

from roofkit.hardware import Chip, Figure, chip, chips, load_chips
from roofkit.kernels import (
    axpy,
    batched_matmul,
    conv2d,
    critical_batch,
    dot,
    elementwise,
    matmul,
    norm,
    softmax,
)
from roofkit.roofline import Cost, Estimate, Roofline

__all__ = [
    "Chip",
    "Cost",
    "Estimate",
    "Figure",
    "Roofline",
    "axpy",
    "batched_matmul",
    "chip",
    "chips",
    "conv2d",
    "critical_batch",
    "dot",
    "elementwise",
    "load_chips",
    "matmul",
    "norm",
    "softmax",
]

_OUTER_RINGS = ("plot", "explore", "check")


def __getattr__(name):
    if name not in _OUTER_RINGS:
        raise AttributeError(f"module 'roofkit' has no attribute {name!r}")
    try:
        return importlib.import_module(f"roofkit.{name}")
    except ModuleNotFoundError as error:
        package = error.name.partition(".")[0]
        raise ModuleNotFoundError(
            f'roofkit.{name} needs {package}: pip install "roofkit[{name}]"', name=package
        ) from error
