"""The interface of objects that predict how long a model's kernels take.

roofkit itself only computes bounds on times. ``rooflab.machine.calibrate`` returns an object that
predicts times, and any other object with these methods works too.
"""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class TimePredictor(Protocol):
    """A predictor of kernel times for a model on one chip.

    Every method returns a prediction, a dataclass with ``seconds``, ``low``, ``high`` and
    ``coverage``. ``coverage`` is the share of measured times between low and high, or None if
    unknown. Multiplying a prediction by n predicts n such kernels. Sizes may be arrays.
    """

    def matmul(self, B, D, F, dtype, weight_itemsize) -> Any:
        """Predict X[B, D] · W[D, F], with ``weight_itemsize`` bytes per weight."""

    def attention(self, batch, new, cached, heads, kv_heads, head_dim, dtype, kv_itemsize) -> Any:
        """Predict ``new`` queries per sequence, over ``cached`` keys and the new tokens' keys."""

    def elementwise(self, rows, width, kind, dtype) -> Any:
        """Predict an "add", an "activation" or a norm over ``rows`` rows of ``width`` elements."""

    def transfer(self, at_best, array, passes, group) -> Any:
        """Predict a collective or a send that takes at least ``at_best`` seconds."""

    def predict(self, cost, dtype) -> Any:
        """Predict any other kernel from its Cost."""

    def total(self, parts) -> Any:
        """Predict kernels that run one after another."""

    def judge_run(self, prediction, least) -> Any:
        """Give a run of ``least`` seconds or more the interval of timed runs, if there are any."""
