"""The passes of a deployment: lists of layers, and the times of many passes."""

import functools
import math

import numpy as np

from roofkit._blocks import evaluate_in_blocks, map_arrays
from roofkit._inputs import itemsize
from roofkit.models.layers import Layer, LayerTable
from roofkit.models.llm.chip_rates import ChipRates, find_groups
from roofkit.models.llm.llm_viewer import apply_departures
from roofkit.models.llm.operation_counts import (
    CountOptions,
    Pass,
    choose_pass_planner,
    list_operations,
)
from roofkit.models.llm.pass_timer import PassTimer, sum_steps
from roofkit.models.llm.split import shard
from roofkit.roofline import Roofline, larger

# The maximum number of points, over all steps, that a generation computes at a time.
POINTS_AT_ONCE = 1 << 20


class PassCounter:
    """A counter and timer for a deployment's passes, which makes their plan only once.

    ``how`` is the CountOptions, ``parts`` the plan of a pass, and ``departures`` the names of the
    LLM-Viewer conventions to follow. ``peaks`` maps each dtype to the index of its peak in the
    ChipRates, and ``groups`` maps each collective to its Group.
    """

    def __init__(self, how, parts, departures, peaks, groups):
        self.how, self.parts, self.departures = how, parts, departures
        self.peaks, self.groups = peaks, groups
        self.rates = how.rates
        self._clock = None if departures else PassTimer(how, parts, peaks)

    @classmethod
    def of_deployment(cls, served, departures):
        """Return the PassCounter of a Deployment whose options are resolved."""
        several = isinstance(served.chip, tuple)
        chips = served.chip if several else (served.chip,)
        part = shard(served.model, served.split)
        dtypes = choose_dtypes(served.precision, "one_peak" in departures)
        how = CountOptions(
            served.model, served.split, part, served.precision.widths, *dtypes, served.fused,
            served.attention, ChipRates.of_deployment(served, chips, dtypes),
        )  # fmt: skip
        # A collective has no dtype. It computes nothing, so any peak works.
        peaks = {dtype: place for place, dtype in enumerate(dtypes)} | {"": 0}
        # Only predictions need the Groups, and predictions work for only one kind of chip.
        groups = {} if several else find_groups(served, chips[0])
        return cls(how, choose_pass_planner(how), departures, peaks, groups)

    def _with_rates(self, rates):

        how = self.how._replace(rates=rates)
        return PassCounter(how, self.parts, self.departures, self.peaks, self.groups)

    def operations(self, batch, new, cached=0.0, every_logit=False):
        """Return the Operations of a pass on each chip; lengths are floats or arrays."""
        at = Pass(self.how, batch, new, cached, every_logit)
        if "new_token" in self.departures:
            at.cached = larger(cached - at.decoding, 0.0)
        operations = list_operations(self.parts, at)
        if self.departures:
            return apply_departures(operations, at, self.departures)
        return operations

    @functools.cached_property
    def _roofs(self):
        return {
            dtype: Roofline(self.rates[place], self.rates.bandwidth)
            for dtype, place in self.peaks.items()
        }

    def layers(self, *lengths):
        """Return the Layers of a pass; the arguments are those of ``operations``."""
        roofs, traffic_of = self._roofs, self.rates.collective_traffic
        return [
            Layer(operation, roofs[operation.dtype], *traffic_of(operation),
                  self.groups.get(operation.collective))
            for operation in self.operations(*lengths)
        ]  # fmt: skip

    def seconds(self, batch, new, cached, steps=0):
        """Return the seconds of a pass, or of ``steps`` steps along the last axis of lengths."""
        if self._clock:
            return self._clock.seconds(batch, new, cached, steps)
        return sum_steps(steps, LayerTable("", self.layers(batch, new, cached)).time)

    def sweep_seconds(self, *lengths):
        """Return the seconds of any number of passes, computed in blocks."""
        varying = [*self.rates, *lengths]
        if not any([type(value) is np.ndarray for value in varying]):
            return self.seconds(*lengths)
        size = len(self.rates)
        return evaluate_in_blocks(
            lambda *values: self._with_rates(ChipRates(*values[:size])).seconds(*values[size:]),
            *varying,
        )

    def decoding(self, batch, prompt, steps):
        """Return the seconds of ``steps`` decode steps, each with one more cached token."""
        if type(steps) is float:
            return self._step_seconds(batch, prompt, int(steps)) if steps else 0.0
        shape = np.broadcast_shapes(*map(np.shape, (*self.rates, batch, prompt, steps)))
        total = np.empty(shape)
        for count in np.unique(steps):
            seconds = self._step_seconds(batch, prompt, int(count)) if count else 0.0
            np.copyto(total, seconds, where=np.broadcast_to(steps == count, shape))
        return total

    def _step_seconds(self, batch, prompt, steps):
        """Return the total seconds of ``steps`` decode steps, computed a few steps at a time."""
        varying = [*self.rates, batch, prompt]
        shapes = [value.shape for value in varying if type(value) is np.ndarray]
        if not shapes and steps <= POINTS_AT_ONCE:
            return float(self.seconds(batch, 1.0, np.arange(prompt, prompt + steps), steps))
        passes, at_once, total = self, POINTS_AT_ONCE, 0.0
        if shapes:
            at_once = max(1, POINTS_AT_ONCE // math.prod(np.broadcast_shapes(*shapes)))
            *rates, batch, prompt = map_arrays(_add_axis, varying)
            passes = self._with_rates(ChipRates(*rates))
        for first in range(0, steps, at_once):
            last = min(first + at_once, steps)
            if shapes:
                cached = prompt + np.arange(float(first), last)
            else:
                cached = np.arange(prompt + first, prompt + last)
            total = total + passes.seconds(batch, 1.0, cached, last - first)
        return total if np.ndim(total) else float(total)


def choose_dtypes(formats, one_peak):
    """Return the dtypes of multiplications in dense matrices, experts, attention and lm_head.

    With ``one_peak``, all dtypes are int8 if weights, activations and KV cache have at most 8 bits.
    Otherwise, all are the first format of 16 bits or more in activations and weights, or fp16.
    """
    if not one_peak:
        return formats.linear, formats.routed, formats.attention, formats.head
    used = (formats.activations, formats.weights, formats.kv)
    wide = [dtype for dtype in used[:2] if itemsize(dtype) >= 2]
    narrow = all(itemsize(dtype) <= 1 for dtype in used)
    return ("int8" if narrow else (wide or ["fp16"])[0],) * 4


def _add_axis(array):
    return array[..., None]
