"""What each chip must hold to serve a model, against what it has."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit.roofline import larger, smaller


@dataclass(frozen=True)
class Memory:
    """What a chip must hold, in bytes, against what it has.

    ``capacity`` is NaN where it is not known; ``reserve`` of it is left to others.

    >>> Memory(weights=14e9, kv=1e9, activations=1e9, capacity=24e9, reserve=2e9).spare
    6000000000.0
    """

    weights: Any
    kv: Any
    activations: Any
    capacity: Any
    reserve: Any = 0.0

    @property
    def total(self):
        """Weights, KV cache and activations together."""
        return self.weights + self.kv + self.activations

    @property
    def spare(self):
        """Capacity left; below zero, what is missing; NaN where the capacity is not known."""
        return self.capacity - self.reserve - self.total

    @property
    def fits(self):
        """True where everything fits, None where the capacity is not known."""
        spare = self.spare
        if np.ndim(spare):
            known = ~np.isnan(spare)
            return spare >= 0 if known.all() else np.where(known, spare >= 0, None)
        return None if math.isnan(spare) else bool(spare >= 0)


def memory(served, capacity, batch, prompt, output, chunk, reserve):
    """The Memory of a Deployment at the fullest moment of a generation."""
    model, split, widths = served.model, served.split, served.precision.widths
    held = prompt + output - 1
    kept = (model.layers - model.windowed) * held
    if model.windowed:
        kept = kept + model.windowed * smaller(held, float(model.window))
    stage = math.ceil(model.layers / split.pipeline) / model.layers
    cached = served.kv_bytes_per_token / model.layers
    part = batch if split.pipeline == 1 else larger(batch / split.pipeline, 1.0)
    return Memory(
        weights=_weight_bytes(model, split, widths, stage),
        kv=cached * batch * kept * stage,
        activations=larger(
            _activation_bytes(served, *_prefilled(part, prompt, chunk)),
            # The last step, or the end of a prefill in chunks, makes logits of every sequence.
            _activation_bytes(served, part, 1.0, held - 1.0),
        ),
        capacity=capacity,
        reserve=reserve * capacity if reserve < 1 else reserve,
    )


def _weight_bytes(model, split, widths, stage):
    held = model.parameters_by_kind(split)
    layers = held.matrices * widths.weights + held.experts * widths.experts
    layers += held.vectors * widths.stream
    ends = held.embedding * widths.embedding, held.lm_head * widths.lm_head
    # The first stage embeds, the last makes logits; a tied matrix lies on both.
    return float(stage * layers + (sum(ends) if split.pipeline == 1 else max(ends)))


def _prefilled(part, prompt, chunk):
    """Sequences, new tokens and cached ones of the hungriest pass of a prefill."""
    if chunk is None:
        return part, prompt, 0.0
    new = smaller(prompt, chunk)
    return larger(smaller(part, chunk / new), 1.0), new, prompt - new


def _activation_bytes(served, part, new, cached):
    """Of the hungriest operation of a pass, and the residual stream beside it."""
    stream = served.precision.widths.stream * part * new * served.model.hidden
    widest = 0.0
    for each in served.operations(part, new, cached):
        widest = larger(widest, each.activations + (0.0 if each.on_stream else stream))
    return widest
