"""Cost models and hardware figures for the roofline model.

>>> import roofkit as rk
>>> roof = rk.chip("TPU v5e").roofline("bf16")
>>> roof.estimate(rk.matmul(B=256, D=8192, F=8192)).bound
'compute'

Numbers need NumPy alone; ``roofkit.network`` holds what several chips send each other,
``roofkit.scratchpad`` a fast and a slow memory to write loops on.
``roofkit.plot`` draws (matplotlib), ``roofkit.explore`` moves sliders (ipywidgets), ``measure``,
``calibrate`` and ``compare`` put this very machine under a roof, ``calibration`` predicts what
kernels take on GPUs that others measured; they are imported when first used.
"""

import importlib

from roofkit.efficiency import mbu, mfu
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
    "CNN",
    "LLM",
    "Chip",
    "Cost",
    "Estimate",
    "Figure",
    "Measurements",
    "Roofline",
    "axpy",
    "batched_matmul",
    "calibrate",
    "calibration",
    "cheapest",
    "chip",
    "chips",
    "cnn",
    "cnns",
    "compare",
    "conv2d",
    "critical_batch",
    "critical_width",
    "dot",
    "elementwise",
    "group",
    "llm",
    "llms",
    "load_chips",
    "matmul",
    "mbu",
    "measure",
    "mfu",
    "norm",
    "softmax",
]

# What is imported when first asked for: import roofkit stays near the cost of import numpy.
_MODULES = ("network", "scratchpad", "plot", "explore")
_FUNCTIONS = {
    "CNN": "models.cnn.network", "cnn": "models.cnn.known", "cnns": "models.cnn.known",
    "LLM": "models.llm.model", "llm": "models.llm.configs", "llms": "models.llm.configs",
    "cheapest": "models.llm.solve",
    "critical_width": "network", "group": "network",
    "calibrate": "machine.calibration", "calibration": "machine.gpus",
    "compare": "machine.comparison",
    "Measurements": "machine.measurements", "measure": "machine.measurements",
}  # fmt: skip


def __getattr__(name):
    if name in _FUNCTIONS:
        found = getattr(importlib.import_module(f"roofkit.{_FUNCTIONS[name]}"), name)
        return globals().setdefault(name, found)
    if name not in _MODULES:
        raise AttributeError(f"module 'roofkit' has no attribute {name!r}")
    try:
        return importlib.import_module(f"roofkit.{name}")
    except ModuleNotFoundError as error:
        package = error.name.partition(".")[0]
        raise ModuleNotFoundError(
            f'roofkit.{name} needs {package}: pip install "roofkit[{name}]"', name=package
        ) from error


def __dir__():
    return sorted({*globals(), *_MODULES, *_FUNCTIONS})
