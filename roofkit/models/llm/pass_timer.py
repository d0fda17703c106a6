"""Compute the time of a pass without building its layers, for sweeps over millions of passes."""

from typing import NamedTuple

import numpy as np

from roofkit.models.llm.operation_counts import Pass, PerToken
from roofkit.roofline import larger


class OperationTime(NamedTuple):
    """The seconds of all occurrences of an operation: the larger of two linear functions.

    Computing takes ``compute_per_token`` seconds per token. Moving data takes ``weight_seconds``
    for the weights plus ``move_per_token`` per token. The tokens are all tokens of the pass or,
    with ``last``, the last token of each sequence.
    """

    compute_per_token: float
    weight_seconds: float
    move_per_token: float
    last: bool


class PassTimer:
    """A timer that adds up the seconds of a plan's parts on the machine of the CountOptions.

    ``peaks`` maps a dtype to the index of its peak in the ChipRates.
    """

    def __init__(self, how, plan, peaks):
        self._how, self._rates, self._peaks = how, how.rates, peaks
        self._parts = [
            self._time_operation(part)
            if type(part) is PerToken and not part.operation.collective
            else part
            for part in plan
        ]

    def seconds(self, batch, new, cached, steps):
        """Return the seconds of a pass, or of ``steps`` steps along the last axis of lengths."""
        at, other_seconds, linear_seconds = Pass(self._how, batch, new, cached), 0.0, 0.0
        for part in self._parts:
            if type(part) is OperationTime:
                tokens = at.rows if part.last else at.tokens
                computing = part.compute_per_token * tokens
                moving = part.weight_seconds + part.move_per_token * tokens
                if type(computing) is float is type(moving):  # a fast path for the usual case
                    linear_seconds += computing if computing >= moving else moving
                else:
                    linear_seconds = linear_seconds + larger(computing, moving)
                continue
            if type(part) is PerToken:
                operations = [part.for_tokens(at.rows if part.last else at.tokens)]
            else:
                operations = part(at)
            for operation in operations:
                seconds = sum_steps(steps, self.operation_seconds(operation))
                other_seconds = other_seconds + operation.count * seconds
        return other_seconds + sum_steps(steps, linear_seconds)

    def operation_seconds(self, operation):
        """Return the seconds of one occurrence of an Operation: the lower bound of its Estimate."""
        rates = self._rates
        if operation.collective:
            link, egress = rates.collective_traffic(operation)
            return link / egress
        peak = rates[self._peaks[operation.dtype]]
        return larger(operation.flops / peak, operation.bytes / rates.bandwidth)

    def _time_operation(self, part):
        operation, bandwidth = part.operation, self._rates.bandwidth
        return OperationTime(
            operation.count * operation.flops / self._rates[self._peaks[operation.dtype]],
            operation.count * operation.weights / bandwidth,
            operation.count * (operation.activations + operation.kv) / bandwidth,
            part.last,
        )


def sum_steps(steps, seconds):
    """Return the total seconds of ``steps`` steps, or ``seconds`` unchanged if steps is 0.

    ``seconds`` varies along the last axis, or is the same for all steps.
    """
    if not steps:
        return seconds
    if type(seconds) is float:
        return seconds * steps
    return np.add.reduce(seconds, axis=-1) * (steps / seconds.shape[-1])
