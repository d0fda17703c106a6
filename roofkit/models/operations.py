"""The operations that a chip performs in a pass over a model, independent of the chip's speed.

llm/operation_counts.py and cnn/network.py list the Operations of a pass. layers.py combines each
Operation with the speeds of a chip into a Layer.
"""

from typing import Any, NamedTuple

import numpy as np

from roofkit._units import format_quantity
from roofkit.roofline import Cost


class Operation(NamedTuple):
    """One kind of operation in a pass, on one chip.

    ``count`` is the number of times that the operation occurs in the pass. All other values are for
    one occurrence and are numbers or arrays that broadcast. ``weights``, ``activations`` and ``kv``
    are bytes of memory traffic, and ``on_stream`` means that the activations include the residual
    stream. ``dtype`` is the format of the multiplications. A ``collective`` ("all-reduce",
    "all-gather", "exchange" or "send") moves an array of ``array`` bytes. ``kernel`` identifies a
    kernel that a calibration may have timed: ("matmul", B, D, F, stored bytes per weight),
    ("attention", batch, new, cached, heads, KV heads, head width, bytes per element of the KV
    cache), or a kind of row kernel (``rooflab.machine.gpu_kernels``) with its rows and width.

    >>> Operation("up", 32, flops=2e9, weights=9e7, activations=1e6)
    Operation(32 × up: 2 GFLOP, 91 MB each)
    """

    name: str
    count: int
    flops: Any = 0.0
    weights: Any = 0.0
    activations: Any = 0.0
    kv: Any = 0.0
    dtype: str = ""
    on_stream: bool = False
    collective: str = ""
    array: Any = 0.0
    kernel: tuple = ()

    def __repr__(self):
        return f"Operation({self.count} × {self.name}: {', '.join(self.figure_texts)} each)"

    @property
    def figure_texts(self):
        """The nonzero values, as texts."""
        figures = {"FLOP": self.flops, "B": self.bytes}
        texts = [format_quantity(value, unit) for unit, value in figures.items() if np.any(value)]
        if self.collective:
            texts.append(f"{self.collective} of {format_quantity(self.array, 'B')}")
        return texts

    @property
    def bytes(self):
        """Bytes moved to and from memory: weights, activations and KV cache."""
        moved = self.weights + self.activations
        return moved + self.kv if type(self.kv) is not float or self.kv else moved

    @property
    def cost(self):
        """FLOPs and bytes of memory traffic, as a Cost."""
        return Cost(self.flops, self.bytes)
