"""The seconds of a pass without a table of its layers, for sweeps over millions of passes."""

from typing import NamedTuple

import numpy as np

from roofkit.models.llm.operation_counts import Pass, PerToken
from roofkit.roofline import larger


class OperationTime(NamedTuple):
    """The seconds of all occurrences of an operation: the higher of two lines over the tokens.

    Computing takes ``slope`` seconds a token. Moving takes ``start`` seconds for the weights, and
    ``moved`` seconds a token. The tokens are those of the pass, or with ``last`` the last of each
    sequence.
    """

    compute_per_token: float
    weight_seconds: float
    move_per_token: float
    last: bool


class PassTimer:
    """Adds up what the parts of a plan take on the machine that ``how`` names.

    ``peaks`` says at which place of the Rates the peak of a dtype stands.
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
        """Seconds of a pass, or of so many ``steps``, if any, along the lengths' last axis."""
        at, seconds, alike = Pass(self._how, batch, new, cached), 0.0, 0.0
        for part in self._parts:
            if type(part) is OperationTime:
                tokens = at.rows if part.last else at.tokens
                computing, moving = (
                    part.compute_per_token * tokens,
                    part.weight_seconds + part.move_per_token * tokens,
                )
                if type(computing) is float is type(moving):  # the usual case, without calls
                    alike += computing if computing >= moving else moving
                else:
                    alike = alike + larger(computing, moving)
                continue
            per_token = type(part) is PerToken
            found = (
                [part.for_tokens(at.rows if part.last else at.tokens)] if per_token else part(at)
            )
            for one in found:
                seconds = seconds + one.count * sum_steps(steps, self.operation_seconds(one))
        return seconds + sum_steps(steps, alike)

    def operation_seconds(self, operation):
        """Seconds of one occurrence of an Operation: the lower bound of its Estimate."""
        rates = self._rates
        if operation.collective:
            link, egress = rates.link_traffic(operation)
            return link / egress
        peak = rates[self._peaks[operation.dtype]]
        return larger(operation.flops / peak, operation.bytes / rates.bandwidth)

    def _time_operation(self, part):
        one, bandwidth = part.operation, self._rates.bandwidth
        return OperationTime(
            one.count * one.flops / self._rates[self._peaks[one.dtype]],
            one.count * one.weights / bandwidth,
            one.count * (one.activations + one.kv) / bandwidth,
            part.last,
        )


def sum_steps(steps, taken):
    """The seconds of so many steps; without steps, the time as it is.

    The time ``taken`` by a step changes along its last axis, or is the same in all steps.
    """
    if not steps:
        return taken
    if type(taken) is float:
        return taken * steps
    return np.add.reduce(taken, axis=-1) * (steps / taken.shape[-1])
