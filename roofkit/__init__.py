"""Cost models and chip specifications for the roofline model.

>>> import roofkit as rk
>>> roof = rk.chip("TPU v5e").roofline("bf16")
>>> roof.estimate(rk.matmul(B=256, D=8192, F=8192)).bound
'compute'

Common names are at the top level. The rest are in these packages:

- ``rk.hardware``: chips, their specifications and the links between them
- ``rk.kernels``: costs of matmuls, softmaxes, convolutions and other kernels
- ``rk.network``: groups of chips and the data they exchange
- ``rk.models``: complete language models and convolutional networks

The ``rooflab`` package plots these costs and measures machines.
"""

import importlib

from roofkit.hardware import Chip, chip, chips
from roofkit.kernels import critical_batch, dot, elementwise, matmul, norm, softmax
from roofkit.roofline import Cost, Estimate, Roofline

__all__ = [
    "Chip",
    "Cost",
    "Estimate",
    "Roofline",
    "chip",
    "chips",
    "cnn",
    "critical_batch",
    "critical_width",
    "dot",
    "elementwise",
    "group",
    "llm",
    "matmul",
    "norm",
    "softmax",
]

# These load on first use, so ``import roofkit`` takes little longer than ``import numpy``.
_LAZY_PACKAGES = ("models", "network")
_FUNCTIONS = {
    "cnn": "models.cnn.catalogue", "llm": "models.llm.configs",
    "critical_width": "network", "group": "network",
}  # fmt: skip


def __getattr__(name):
    if name in _FUNCTIONS:
        function = getattr(importlib.import_module(f"roofkit.{_FUNCTIONS[name]}"), name)
        return globals().setdefault(name, function)
    if name not in _LAZY_PACKAGES:
        raise AttributeError(f"module 'roofkit' has no attribute {name!r}")
    return importlib.import_module(f"roofkit.{name}")


def __dir__():
    return sorted({*globals(), *_LAZY_PACKAGES, *_FUNCTIONS})
