"""What each chip must hold to serve a model, against what it has."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit._tables import wrap_lines
from roofkit._units import format_quantity
from roofkit.roofline import larger, smaller


@dataclass(frozen=True, repr=False)
class Memory:
    """What a chip must hold, in bytes, against what it has.

    ``capacity`` is what a program can have of the chip, as its driver reports it, or what the data
    sheet prints where no report is known; NaN where neither is. ``reserve`` bytes of it are left
    to others: the driver's own context, buffers of communication, other programs.

    >>> Memory(weights=14e9, kv=1e9, activations=1e9, capacity=24e9)
    Memory(weights 14 GB + KV cache 1 GB + activations 1 GB = 16 GB of 24 GB with nothing
        reserved, 8 GB spare)
    >>> Memory(weights=14e9, kv=1e9, activations=1e9, capacity=24e9, reserve=2e9)
    Memory(weights 14 GB + KV cache 1 GB + activations 1 GB = 16 GB of 24 GB less 2
        GB reserved, 6 GB spare)
    """

    weights: Any
    kv: Any
    activations: Any
    capacity: Any
    reserve: Any = 0.0

    def __repr__(self):
        parts = {"weights": self.weights, "KV cache": self.kv, "activations": self.activations}
        needed = " + ".join(f"{name} {format_quantity(each, 'B')}" for name, each in parts.items())
        needed += f" = {format_quantity(self.total, 'B')}"
        if np.any(np.isnan(self.capacity)):
            return wrap_lines(f"Memory({needed}, capacity not known)")
        lacks = not np.ndim(self.spare) and self.spare < 0
        spare = format_quantity(-self.spare, "B") + " missing"
        spare = spare if lacks else format_quantity(self.spare, "B") + " spare"
        kept = (
            f"less {format_quantity(self.reserve, 'B')}" if np.any(self.reserve) else "with nothing"
        )
        return wrap_lines(
            f"Memory({needed} of {format_quantity(self.capacity, 'B')} {kept} reserved, {spare})"
        )

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


def count_memory(passes, batch, prompt, output, chunk, reserve):
    """The Memory of a deployment with these Passes at the fullest moment of a generation."""
    how, capacity = passes.how, passes.rates.capacity
    model, stages = how.model, how.split.pipeline
    held = prompt + output - 1
    kept = (model.layers - model.window_layers) * held
    if model.window_layers:
        kept = kept + model.window_layers * smaller(held, float(model.window))
    stage = math.ceil(model.layers / stages) / model.layers
    part = batch if stages == 1 else larger(batch / stages, 1.0)
    return Memory(
        weights=_weight_bytes(how, stage),
        kv=cached_bytes(how) * batch * kept * stage,
        activations=larger(
            _activation_bytes(passes, *_largest_prefill(part, prompt, chunk)),
            # The last step, or the end of a prefill in chunks, makes logits of every sequence.
            _activation_bytes(passes, part, 1.0, held - 1.0),
        ),
        capacity=capacity,
        reserve=reserve * capacity if reserve < 1 else reserve,
    )


def cached_bytes(how):
    """Bytes of KV cache that a token of one sequence takes in one layer, on each chip."""
    wide = how.model.cached_width if how.model.latent else 2 * how.shard.kv_cached
    return wide * how.widths.kv


def _weight_bytes(how, stage):
    held, widths = how.model.parameters_by_kind(how.shard), how.widths
    layers = held.matrices * widths.weights + held.experts * widths.experts
    layers += held.vectors * widths.stream
    ends = held.embedding * widths.embedding, held.lm_head * widths.lm_head
    # The first stage embeds, the last makes logits; a tied matrix lies on both.
    return float(stage * layers + (sum(ends) if how.split.pipeline == 1 else max(ends)))


def _largest_prefill(part, prompt, chunk):
    """Sequences, new tokens and cached ones of the hungriest pass of a prefill."""
    if chunk is None:
        return part, prompt, 0.0
    new = smaller(prompt, chunk)
    return larger(smaller(part, chunk / new), 1.0), new, prompt - new


def _activation_bytes(passes, part, new, cached):
    """What the hungriest operation of a pass reads and writes, and the residual stream beside."""
    stream = passes.how.widths.stream * part * new * passes.how.model.hidden
    widest = 0.0
    for each in passes.operations(part, new, cached):
        widest = larger(widest, each.activations + (0.0 if each.on_stream else stream))
    return widest
