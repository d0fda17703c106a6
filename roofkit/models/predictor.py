"""The interface of an object that predicts the times of a model's kernels.

roofkit only bounds a time. ``rooflab.machine.calibrate`` returns an object that predicts it; any
other object with these methods works too.
"""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class TimePredictor(Protocol):
    """Predicts the time of each kernel of a model on one chip.

    Every method returns a prediction: a dataclass with ``seconds``, ``low``, ``high`` and
    ``coverage``, the share of measured times between low and high, or None if unknown. A prediction
    times n is the prediction of n such kernels. Sizes may be arrays.
    """

    def matmul(self, B, D, F, dtype, weight_itemsize) -> Any:
        """Predict X[B, D] · W[D, F], whose weights have ``weight_itemsize`` bytes each."""

    def attention(self, batch, new, cached, heads, kv_heads, head_dim, dtype, kv_itemsize) -> Any:
        """Predict ``new`` queries of each sequence, which meet ``cached`` keys and their own."""

    def elementwise(self, rows, width, kind, dtype) -> Any:
        """Predict an "add", an "activation" or a norm over ``rows`` of ``width`` numbers."""

    def transfer(self, at_best, array, passes, group) -> Any:
        """Predict a collective or a send that takes at least ``at_best`` seconds."""

    def predict(self, cost, dtype) -> Any:
        """Predict any other kernel by its Cost."""

    def total(self, parts) -> Any:
        """Predict kernels that run one after another."""
