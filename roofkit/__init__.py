"""Cost models and hardware figures for the roofline model.

>>> import roofkit as rk
>>> roof = rk.chip("TPU v5e").roofline("bf16")
>>> roof.estimate(rk.matmul(B=256, D=8192, F=8192)).bound
'compute'

The names of everyday use stand here; every other one stands in its room:

- ``rk.hardware``: chips, their figures and what joins them
- ``rk.kernels``: what a matmul, a softmax or a convolution costs
- ``rk.network``: groups of chips, and what they send each other
- ``rk.models``: whole language models and convolutional networks

The package ``rooflab`` draws what this one counts, and measures machines.
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

# These load when first asked for, so that ``import roofkit`` takes hardly longer than NumPy's.
_ROOMS = ("models", "network")
_FUNCTIONS = {
    "cnn": "models.cnn.catalogue", "llm": "models.llm.configs",
    "critical_width": "network", "group": "network",
}  # fmt: skip


def __getattr__(name):
    if name in _FUNCTIONS:
        found = getattr(importlib.import_module(f"roofkit.{_FUNCTIONS[name]}"), name)
        return globals().setdefault(name, found)
    if name not in _ROOMS:
        raise AttributeError(f"module 'roofkit' has no attribute {name!r}")
    return importlib.import_module(f"roofkit.{name}")


def __dir__():
    return sorted({*globals(), *_ROOMS, *_FUNCTIONS})
