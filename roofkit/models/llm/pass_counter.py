"""The passes of a model on its chips: tables of layers, and the seconds of many passes at once."""

import functools
import math

import numpy as np

from roofkit._blocks import evaluate_in_blocks, map_arrays
from roofkit._inputs import itemsize
from roofkit.models.layers import Layer, LayerTable
from roofkit.models.llm.chip_rates import ChipRates, find_groups
from roofkit.models.llm.llm_viewer import apply_departures
from roofkit.models.llm.operation_counts import CountOptions, Pass, list_operations, plan_pass
from roofkit.models.llm.pass_timer import PassTimer, sum_steps
from roofkit.models.llm.split import shard
from roofkit.roofline import Roofline, larger

# Points of all steps that a generation works on at a time.
POINTS_AT_ONCE = 1 << 20


class PassCounter:
    """What every pass of a deployment follows from, worked out once.

    ``how`` is all that a count follows from, ``parts`` the plan of a pass, and ``departures`` are
    the names of what is counted as LLM-Viewer does. ``peaks`` says at which place of the rates the
    peak of a dtype stands, and ``groups`` over which Group a collective runs.
    """

    def __init__(self, how, parts, departures, peaks, groups):
        self.how, self.parts, self.departures = how, parts, departures
        self.peaks, self.groups = peaks, groups
        self.rates = how.rates
        self._clock = None if departures else PassTimer(how, parts, peaks)

    @classmethod
    def of_deployment(cls, served, departures):
        """The Passes of a Deployment whose choices are settled."""
        several = isinstance(served.chip, tuple)
        chips = served.chip if several else (served.chip,)
        held = shard(served.model, served.split)
        dtypes = choose_dtypes(served.precision, "one_peak" in departures)
        how = CountOptions(
            served.model, served.split, held, served.precision.widths, *dtypes, served.fused,
            served.attention, ChipRates.of_deployment(served, chips, dtypes),
        )  # fmt: skip
        # A collective has no dtype and computes nothing, at whichever peak.
        peaks = {dtype: place for place, dtype in enumerate(dtypes)} | {"": 0}
        # A prediction, which asks for the Group, is of one kind of chip.
        over = {} if several else find_groups(served, chips[0])
        return cls(how, plan_pass(how), departures, peaks, over)

    def _with_rates(self, rates):
        """The same passes on a machine of other Rates."""
        how = self.how._replace(rates=rates)
        return PassCounter(how, self.parts, self.departures, self.peaks, self.groups)

    def operations(self, batch, new, cached=0.0, every_logit=False):
        """The Operations of a pass on each chip, lengths given as floats or arrays."""
        at = Pass(self.how, batch, new, cached, every_logit)
        if "new_token" in self.departures:
            at.cached = larger(cached - at.decoding, 0.0)
        found = list_operations(self.parts, at)
        return apply_departures(found, at, self.departures) if self.departures else found

    @functools.cached_property
    def _roofs(self):
        return {
            dtype: Roofline(self.rates[place], self.rates.bandwidth)
            for dtype, place in self.peaks.items()
        }

    def layers(self, *lengths):
        """The Layers of a pass; the lengths are those of ``operations``."""
        roofs, over_link = self._roofs, self.rates.link_traffic
        return [
            Layer(one, roofs[one.dtype], *over_link(one), self.groups.get(one.collective))
            for one in self.operations(*lengths)
        ]

    def seconds(self, batch, new, cached, steps=0):
        """Seconds of a pass, or of so many ``steps``, if any, along the lengths' last axis."""
        if self._clock:
            return self._clock.seconds(batch, new, cached, steps)
        return sum_steps(steps, LayerTable("", self.layers(batch, new, cached)).time)

    def sweep_seconds(self, *lengths):
        """Seconds of passes of any number, worked on in blocks."""
        varying = [*self.rates, *lengths]
        if not any([type(value) is np.ndarray for value in varying]):
            return self.seconds(*lengths)
        size = len(self.rates)
        return evaluate_in_blocks(
            lambda *values: self._with_rates(ChipRates(*values[:size])).seconds(*values[size:]),
            *varying,
        )

    def decoding(self, batch, prompt, steps):
        """Seconds of so many decode steps, each on a cache one longer."""
        if type(steps) is float:
            return self._step_seconds(batch, prompt, int(steps)) if steps else 0.0
        shape = np.broadcast_shapes(*map(np.shape, (*self.rates, batch, prompt, steps)))
        found = np.empty(shape)
        for count in np.unique(steps):
            seconds = self._step_seconds(batch, prompt, int(count)) if count else 0.0
            np.copyto(found, seconds, where=np.broadcast_to(steps == count, shape))
        return found

    def _step_seconds(self, batch, prompt, steps):
        """The same for one number of steps, some steps at a time."""
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
    """The dtypes that matrices, experts, attention and lm_head are multiplied in.

    With ``one_peak``, all are multiplied in 8 bits if weights, activations and KV cache have as
    few, else in the 16 bits of one of them.
    """
    if not one_peak:
        return formats.linear, formats.routed, formats.attention, formats.head
    used = (formats.activations, formats.weights, formats.kv)
    wide = [dtype for dtype in used[:2] if itemsize(dtype) >= 2]
    narrow = all(itemsize(dtype) <= 1 for dtype in used)
    return ("int8" if narrow else (wide or ["fp16"])[0],) * 4


def _add_axis(array):
    return array[..., None]
