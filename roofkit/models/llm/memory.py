"""The memory that each chip needs to serve a model, compared with its capacity."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofkit._tables import wrap_lines
from roofkit._units import format_quantity
from roofkit.roofline import larger, smaller


@dataclass(frozen=True, repr=False)
class Memory:
    """The bytes of memory that a chip needs and has.

    ``capacity`` is the memory that a program can allocate: the value reported by the driver, else
    the value in the data sheet, else NaN. ``reserve`` bytes of the capacity are kept free for the
    driver's context, communication buffers and other programs.

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
        needed = " + ".join(f"{name} {format_quantity(size, 'B')}" for name, size in parts.items())
        needed += f" = {format_quantity(self.total, 'B')}"
        if np.any(np.isnan(self.capacity)):
            return wrap_lines(f"Memory({needed}, capacity unknown)")
        if not np.ndim(self.spare) and self.spare < 0:
            spare = format_quantity(-self.spare, "B") + " missing"
        else:
            spare = format_quantity(self.spare, "B") + " spare"
        any_reserve = np.any(self.reserve)
        reserve = f"less {format_quantity(self.reserve, 'B')}" if any_reserve else "with nothing"
        capacity = format_quantity(self.capacity, "B")
        return wrap_lines(f"Memory({needed} of {capacity} {reserve} reserved, {spare})")

    @property
    def total(self):
        """Bytes of weights, KV cache and activations together."""
        return self.weights + self.kv + self.activations

    @property
    def spare(self):
        """Free bytes; negative if there is too little memory, NaN if the capacity is unknown."""
        return self.capacity - self.reserve - self.total

    @property
    def fits(self):
        """Whether everything fits; None if the capacity is unknown."""
        spare = self.spare
        if np.ndim(spare):
            known = ~np.isnan(spare)
            return spare >= 0 if known.all() else np.where(known, spare >= 0, None)
        return None if math.isnan(spare) else bool(spare >= 0)


def count_memory(passes, batch, prompt, output, chunk, reserve):
    """Return the peak Memory of the fullest chip during a generation."""
    how, capacity = passes.how, passes.rates.capacity
    model, stages = how.model, how.split.pipeline
    tokens = prompt + output - 1
    cached = (model.layers - model.window_layers) * tokens  # summed over the layers
    if model.window_layers:
        cached = cached + model.window_layers * smaller(tokens, float(model.window))
    stage = math.ceil(model.layers / stages) / model.layers
    part = batch if stages == 1 else larger(batch / stages, 1.0)
    return Memory(
        weights=weight_bytes(how, stage),
        kv=cached_bytes(how) * batch * cached * stage,
        activations=larger(
            _activation_bytes(passes, *_largest_prefill(part, prompt, chunk)),
            # The last step, or the last chunk of a prefill, computes logits for every sequence.
            _activation_bytes(passes, part, 1.0, tokens - 1.0),
        ),
        capacity=capacity,
        reserve=reserve * capacity if reserve < 1 else reserve,
    )


def cached_bytes(how):
    """Return the bytes of KV cache per token and layer on each chip."""
    wide = how.model.cached_width if how.model.latent else 2 * how.shard.kv_cached
    return wide * how.widths.kv


def weight_bytes(how, stage):
    """Return the bytes of weights on a chip with the share ``stage`` of the layers."""
    held, widths = how.model.parameters_by_kind(how.shard), how.widths
    layers = held.matrices * widths.weights + held.experts * widths.experts
    layers += held.vectors * widths.stream
    ends = held.embedding * widths.embedding, held.lm_head * widths.lm_head
    # The first stage has the embedding, and the last has lm_head. If tied, both have the matrix.
    return float(stage * layers + (sum(ends) if how.split.pipeline == 1 else max(ends)))


def _largest_prefill(part, prompt, chunk):
    """Return the sequences, new tokens and cached tokens of the largest pass of a prefill."""
    if chunk is None:
        return part, prompt, 0.0
    new = smaller(prompt, chunk)
    return larger(smaller(part, chunk / new), 1.0), new, prompt - new


def _activation_bytes(passes, part, new, cached):
    """Return the activation bytes of the largest operation in a pass, including the stream."""
    stream = passes.how.widths.stream * part * new * passes.how.model.hidden
    widest = 0.0
    for operation in passes.operations(part, new, cached):
        moved = operation.activations + (0.0 if operation.on_stream else stream)
        widest = larger(widest, moved)
    return widest
