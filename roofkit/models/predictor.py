"""What a model needs of whatever predicts its times.

roofkit bounds a time. ``rooflab.machine.calibrate`` gives an object that predicts it, and so may
any other that has these methods.
"""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class TimePredictor(Protocol):
    """Predicts what each kernel of a model takes on one chip.

    Every method returns a prediction: a dataclass with ``seconds``, ``low`` and ``high``, and with
    ``coverage``, the share of measured times that lie between the last two, or None where that is
    not known. A prediction multiplied by n is that of n such kernels. Sizes may be arrays.
    """

    def matmul(self, B, D, F, dtype, weight_itemsize) -> Any:
        """Predict X[B, D] · W[D, F], whose weights have ``weight_itemsize`` bytes each."""

    def attention(self, batch, new, cached, heads, kv_heads, head_dim, dtype, kv_itemsize) -> Any:
        """Predict ``new`` queries of each sequence, which meet ``cached`` keys and their own."""

    def elementwise(self, rows, width, kind, dtype) -> Any:
        """Predict an "add", an "activation" or a norm over ``rows`` of ``width`` numbers."""

    def transfer(self, at_best, array, passes, group) -> Any:
        """Predict what chips send each other, which takes ``at_best`` seconds by their links."""

    def predict(self, cost, dtype) -> Any:
        """Predict any other kernel by its Cost."""

    def total(self, parts) -> Any:
        """Predict kernels that run one after another."""
