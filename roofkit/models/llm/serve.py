"""A language model on a chip: its operations meet hardware, as tables, seconds and memory."""

import functools
import math
import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from roofkit import hardware
from roofkit._blocks import each_array, in_blocks
from roofkit._inputs import check_broadcast, is_symbolic, itemsize, number, whole
from roofkit.models.layers import Layer, LayerTable
from roofkit.models.llm import solve
from roofkit.models.llm.attention import head_bytes
from roofkit.models.llm.clock import Clock, over
from roofkit.models.llm.count import How, Pass, operations, plan
from roofkit.models.llm.generation import Generation
from roofkit.models.llm.llm_viewer import departed, departures_of
from roofkit.models.llm.memory import memory
from roofkit.models.llm.precision import Precision, as_stored, precision
from roofkit.models.llm.rates import Rates, links
from roofkit.models.llm.split import split
from roofkit.roofline import larger

FORMATS = ("weights", "experts", "activations", "kv", "stream", "travel", "embedding", "lm_head",
           "scales", "expert_scales")  # fmt: skip
WHOLE = ("batch", "new", "output", "chunk")
# Tokens of a prefill that serving engines work on at a time.
CHUNK = 8192
MOST_LENGTH = 1 << 53  # whole numbers beyond it are no floats
# Points of all steps that a generation works on at a time.
AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Deployment:
    """A model served by one kind of chip with everything else decided.

    Parameters
    ----------
    model : LLM
    chip : Chip, its name, or a list of them
        A list makes every figure an array along the chips; lengths broadcast against it.
    weights, experts, activations, kv, stream, travel, embedding, lm_head : optional
    scales, expert_scales : optional
        Formats: see ``Precision``. What is not given is as the model's checkpoint stores it, and
        16 bits wide where that does not say.
    chips, pipeline, data, expert : int
        How many chips share each layer (tensor parallelism: heads, MLP widths and vocabulary are
        split, with an all-reduce after attention, MLP and embedding, and an all-gather of the
        logits), in how many stages the layers lie, how many replicas serve sequences of their own,
        and in how many shares experts are dealt out, within each replica where they divide its
        chips, else across all: see ``split``. ``batch`` is that of one replica; a pipeline works
        on it in as many parts as it has stages.
    kv_heads : "replicated" or "split"
        Where there are more chips than KV heads. What chips that split a head send each other,
        queries and partial results, is not counted.
    fused : bool
        Whether norms, activations, rotations and residual adds ride along with matmuls.
    attention : "flash" or "unfused"
        Fused attention keeps the scores on the chip; unfused writes, normalises and reads them.
    on_chip : bytes, optional
        Memory that holds a head's K and V during fused attention; the chip's own unless given, and
        without limit where the table has none. Where they do not fit they are read again for every
        block of query rows that does (a quarter of it each for Q, K, V and the output).
    joined : Group, or kind of one, optional
        How the chips are joined: a Group of roofkit.network, or, for chips of which the table does
        not say it, "ring", "line", "switch" or "all-pairs". The chip's own unless given.
    between : the same, optional
        How the chips of all replicas are joined, where experts are dealt out across them.
    stages : Group, or bytes/s, optional
        What joins the stages of a pipeline: a Group of all their chips, or what a chip sends one
        way to its like in the next stage. As ``joined`` unless given, which has to reach them.
    in_network : bool, optional
        Whether a switch adds up what is all-reduced; wherever it can, unless given.
    latency : bool
        Whether a collective waits for its hops one after another.
    unconfirmed : bool
        Whether to use figures of the chip that no second look confirmed.
    calibrated : calibration, optional
        What ``rk.machine.calibrate`` gives: tables and generations then have a
        ``prediction``.
    convention : "roofkit", "llm-viewer", or a list of departures
        Whose count: see ``roofkit.models.llm.llm_viewer.DEPARTURES``. Any departure is from the
        count without fusion.

    Every count is that of the ideal machine: an operand crosses the memory once, layers follow one
    another, communication waits for the layer before it. Raises ValueError where a chip lacks a
    peak, a bandwidth or a link, and where a model cannot be split.

    >>> import roofkit as rk
    >>> served = rk.llm("Llama-2-7B").on("A100 80GB SXM")
    >>> step = served.decode(batch=1, context=2048)
    >>> step["qkv_proj"].bound, round(step.time * 1e3, 1)
    ('memory', 7.0)
    """

    model: Any
    chip: Any
    weights: str | None = None
    experts: str | None = None
    activations: str | None = None
    kv: str | None = None
    stream: str | None = None
    travel: str | None = None
    embedding: str | None = None
    lm_head: str | None = None
    scales: Any = None
    expert_scales: Any = None
    chips: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    kv_heads: str = "replicated"
    fused: bool | None = None
    attention: str = "flash"
    on_chip: float | None = None
    joined: Any = None
    between: Any = None
    stages: Any = None
    in_network: bool | None = None
    latency: bool = False
    unconfirmed: bool = False
    calibrated: Any = None
    convention: Any = "roofkit"
    precision: Precision = field(init=False, repr=False, compare=False)
    split: Any = field(init=False, repr=False, compare=False)
    _several: bool = field(init=False, repr=False, compare=False)
    _departures: Any = field(init=False, repr=False, compare=False)
    _rates: Any = field(init=False, repr=False, compare=False)
    _links: Any = field(init=False, repr=False, compare=False)
    _peaks: Any = field(init=False, repr=False, compare=False)
    _how: Any = field(init=False, repr=False, compare=False)
    _plan: Any = field(init=False, repr=False, compare=False)
    _clock: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        def settle(name, value):
            object.__setattr__(self, name, value)

        several = isinstance(self.chip, (list, tuple))
        chips = [hardware.chip(each) for each in (self.chip if several else [self.chip])]
        if not chips:
            raise ValueError("chip is an empty list; name at least one")
        settle("chip", tuple(chips) if several else chips[0])
        settle("_several", several)
        settle("_departures", departures_of(self.convention))
        settle("fused", self._settled_fusion())
        if self.attention not in ("flash", "unfused"):
            raise ValueError(f'attention={self.attention!r} must be "flash" or "unfused"')
        for name in ("latency", "unconfirmed"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r} must be True or False")
        if not isinstance(self.in_network, bool | None):
            raise ValueError(f"in_network={self.in_network!r} must be True, False or None")
        if self.on_chip is not None:
            settle("on_chip", number(self.on_chip, "on_chip"))
            if np.ndim(self.on_chip):
                raise ValueError(f"on_chip={self.on_chip!r} must be one number of bytes")
        self._check_calibration()
        settle("precision", self._settled_precision(chips))
        for name in FORMATS:
            settle(name, getattr(self.precision, name))
        settle("split", split(self.model, self.chips, pipeline=self.pipeline, data=self.data,
                              expert=self.expert, kv_heads=self.kv_heads))  # fmt: skip
        for name, ways in zip(("chips", "pipeline", "data", "expert"), self.split[:4], strict=True):
            settle(name, ways)
        dtypes = self._multiplied_in()
        settle("_rates", Rates.of(self, chips, several, *dtypes))
        # What is predicted is on one kind of chip.
        settle("_links", {} if several else links(self, chips[0]))
        # Where the peak of a dtype stands; a collective computes nothing.
        settle("_peaks", {dtype: place for place, dtype in enumerate(dtypes)} | {"": 0})
        settle("_how", How(
            self.model, self.split, self.precision.widths, *dtypes, self.fused, self.attention,
            self._rates,
        ))  # fmt: skip
        settle("_plan", plan(self._how))
        settle("_clock", Clock(self._how, self._plan, self._rates, self._peaks))

    def _check_calibration(self):
        if self.calibrated is None:
            return
        if not hasattr(self.calibrated, "total"):
            raise ValueError(
                f"calibrated={self.calibrated!r} must be what rk.machine.calibrate gives"
            )
        of = getattr(self.calibrated, "chip", self.chip)
        if of != self.chip:
            raise ValueError(f"calibrated is of {of.name}, but the model is on another chip")

    def _settled_fusion(self):
        if self.fused is not None and not isinstance(self.fused, bool):
            raise ValueError(f"fused={self.fused!r} must be True or False")
        if self.fused and self._departures:
            raise ValueError(f"convention={self.convention!r} counts without fusion: fused=False")
        return not self._departures if self.fused is None else self.fused

    def _settled_precision(self, chips):
        peaks = set.intersection(*(set(chip.peaks) for chip in chips))
        given = as_stored({name: getattr(self, name) for name in FORMATS}, self.model.stored)
        if self.model.tied and given["embedding"] is None:
            given["embedding"] = given["lm_head"]
        if "one_format" in self._departures:
            usual = precision(
                peaks, given["weights"], activations=given["activations"], kv=given["kv"]
            )
            same = {"stream": usual.activations, "lm_head": usual.weights,
                    "embedding": usual.weights, "experts": usual.weights}  # fmt: skip
            given |= {name: dtype for name, dtype in same.items() if given[name] is None}
        settled = precision(peaks, **given)
        if self.model.tied and settled.embedding != settled.lm_head:
            raise ValueError(
                f"{self.model.name}: its embedding and lm_head are one matrix, which cannot be "
                f"{settled.embedding} and {settled.lm_head} at once; give one, or both alike"
            )
        return settled

    def _multiplied_in(self):
        formats = self.precision
        if "one_peak" not in self._departures:
            return formats.linear, formats.routed, formats.attention, formats.head
        used = (formats.activations, formats.weights, formats.kv)
        wide = [dtype for dtype in used[:2] if itemsize(dtype) >= 2]
        narrow = all(itemsize(dtype) <= 1 for dtype in used)
        return ("int8" if narrow else (wide or ["fp16"])[0],) * 4

    # Passes

    def prefill(self, batch=1, prompt=2048):
        """The layers of one pass over ``batch`` prompts of ``prompt`` tokens each.

        Sizes are numbers or arrays that broadcast. Raises ValueError for one below 1.
        """
        batch, prompt = _lengths(batch=batch, prompt=prompt)
        return self._table(f"prefill of {_said(prompt)} tokens", batch, prompt, 0.0)

    def decode(self, batch=1, context=2048):
        """The layers of one step: a token for each of ``batch`` sequences with ``context`` cached.

        Sizes are numbers or arrays that broadcast. Raises ValueError for one below 1.
        """
        batch, context = _lengths(batch=batch, context=context)
        return self._table(f"decode after {_said(context)} tokens", batch, 1.0, context)

    def forward(self, batch=1, new=1, cached=0, *, every_logit=False):
        """The layers of any pass: ``new`` tokens of each sequence after ``cached`` ones.

        A chunk of a prefill, a prompt whose beginning is cached, or a speculative step that checks
        several tokens at once, with ``every_logit=True``. Sizes are numbers or arrays that
        broadcast. Raises ValueError for a batch or new tokens below 1, or cached ones below 0.

        >>> import roofkit as rk
        >>> served = rk.llm("Llama-2-7B").on("H100")
        >>> whole = served.prefill(1, 4096).flops
        >>> halves = served.forward(1, 2048), served.forward(1, 2048, cached=2048)
        >>> round(sum(half.flops for half in halves) / whole, 3)
        1.0
        """
        batch, new = _lengths(batch=batch, new=new)
        (cached,) = _lengths(minimum=0, cached=cached)
        check_broadcast(batch=batch, new=new, cached=cached)
        if not isinstance(every_logit, bool):
            raise ValueError(f"every_logit={every_logit!r} must be True or False")
        title = f"{_said(new)} new tokens after {_said(cached)}"
        return self._table(title, batch, new, cached, every_logit)

    def time_to_first_token(self, batch=1, prompt=2048):
        """Seconds of a prefill; arrays of any size, worked on in blocks.

        The stages of a pipeline work on different parts of the batch and of a prompt at the same
        time: at best each is busy all the time, until the last token has passed the first stage and
        goes through the others alone.
        """
        return self._first(*_lengths(batch=batch, prompt=prompt))

    def _first(self, batch, prompt):
        whole = self._swept(batch, prompt, 0.0)
        if self.pipeline == 1:
            return whole
        last = self._swept(1.0, 1.0, prompt - 1.0)
        return (whole + (self.pipeline - 1) * last) / self.pipeline

    def time_per_token(self, batch=1, context=2048):
        """Seconds of a decode step; arrays of any size, worked on in blocks.

        >>> import numpy as np, roofkit as rk
        >>> served = rk.llm("Llama-2-7B").on("H100")
        >>> served.time_per_token(batch=np.array([1, 64]), context=np.array([[512], [4096]])).shape
        (2, 2)
        """
        batch, context = _lengths(batch=batch, context=context)
        return self._swept(self._part(batch), 1.0, context)

    def generate(self, batch=1, prompt=2048, output=128):
        """A whole generation of ``output`` tokens for each of ``batch`` prompts, as a Generation.

        The prefill yields the first token; each further one is a step on a cache one longer.
        ``output`` is a whole number or an array of them.
        """
        batch, prompt, output = _lengths(batch=batch, prompt=prompt, output=output)
        steps = output - ("prefill_token" not in self._departures)
        first = self._first(batch, prompt)
        return Generation(self, batch, prompt, output, first,
                          self._decoding(self._part(batch), prompt, steps), steps)  # fmt: skip

    # Memory

    @property
    def kv_bytes_per_token(self):
        """Bytes of KV cache that one token of one sequence takes on each chip, all layers alike.

        With a pipeline, on all its stages together. Layers with a window forget.
        """
        return self.model.layers * self._cached_bytes

    @property
    def _cached_bytes(self):
        wide = self.model.cached_width if self.model.latent else 2 * self.split.kv_cached
        return wide * self._how.widths.kv

    def memory(self, batch=1, prompt=2048, output=1, *, chunk=CHUNK, reserve=0.0):
        """What each chip must hold at the fullest moment of a generation, as a Memory.

        Activations are those of the hungriest layer, what it reads and what it writes, and the
        residual stream. A prefill works on ``chunk`` tokens at a time, as serving engines do, or
        on all of them with ``chunk=None``. ``reserve`` is what the driver, communication and other
        programs take: bytes, or a share of the capacity below 1. Nothing is reserved unless it is
        given. With a pipeline it is the fullest stage, layers taken as alike.
        """
        batch, prompt, output = _lengths(batch=batch, prompt=prompt, output=output)
        at_once = None if chunk is None else _lengths(chunk=chunk)[0]
        reserve = number(reserve, "reserve", above=False)
        if np.ndim(reserve):
            raise ValueError(f"reserve must be one number, got an array of {np.size(reserve)}")
        return memory(self, self._rates.capacity, batch, prompt, output, at_once, reserve)

    def on_chip_needed(self, context):
        """Bytes that keep K and V of ``context`` tokens on the chip: a head's, or latent ones."""
        (context,) = _lengths(context=context)
        return head_bytes(self.model, self._how.widths, context)

    # Backwards

    def largest_batch(self, prompt=2048, output=1, *, chunk=CHUNK, reserve=0.0):
        """The most sequences whose generation fits in memory: see ``solve.largest_batch``."""
        return solve.largest_batch(self, prompt, output, chunk=chunk, reserve=reserve)

    def longest_prompt(self, batch=1, output=1, *, chunk=CHUNK, reserve=0.0):
        """The longest prompt that fits in memory: see ``solve.longest_prompt``."""
        return solve.longest_prompt(self, batch, output, chunk=chunk, reserve=reserve)

    def compute_bound_batch(self, context=2048):
        """The batch from which compute binds a decode step: see ``solve.compute_bound_batch``."""
        return solve.compute_bound_batch(self, context)

    # How it is added up

    def operations(self, batch, new, cached=0.0, every_logit=False):
        """The Operations of a pass on each chip, lengths given as floats or arrays."""
        at = Pass(self._how, batch, new, cached, every_logit)
        if "new_token" in self._departures:
            at.cached = larger(cached - at.decoding, 0.0)
        found = operations(self._plan, at)
        return departed(found, at, self._departures) if self._departures else found

    def _part(self, batch):
        """Sequences that a stage of the pipeline works on at a time."""
        return batch if self.pipeline == 1 else larger(batch / self.pipeline, 1.0)

    def _table(self, title, batch, *lengths):
        rates = self._rates
        title = f"{title}, batch {_said(batch)}, {self._said()}"
        context, longest = self.model.context, lengths[0] + lengths[1]
        if context and (longest.max() if type(longest) is np.ndarray else longest) > context:
            title += f", beyond the {context:,} tokens it was trained for"
        layers = []
        for each in self.operations(self._part(batch), *lengths):
            link, egress = rates.over_link(each)
            layers.append(Layer(
                each.name, each.times, each.flops, each.weights, each.activations, each.kv,
                link, rates[self._peaks[each.dtype]], rates.bandwidth, egress, each,
                self._links.get(each.collective),
            ))  # fmt: skip
        return LayerTable(title, layers, calibration=self.calibrated)

    def _seconds(self, rates, *lengths, steps=0):
        """Seconds of a pass without keeping its layers: a LayerTable's time."""
        clock = self._clock
        if rates is not self._rates:
            clock = Clock(self._how, self._plan, rates, self._peaks)
        if not self._departures:
            return clock.seconds(*lengths, steps)
        taken = (each.times * over(steps, clock.once(each)) for each in self.operations(*lengths))
        return functools.reduce(operator.add, taken, 0.0)

    def _swept(self, *lengths):
        if not self._several and all([type(value) is float for value in lengths]):
            return self._seconds(self._rates, *lengths)
        size = len(self._rates)
        return in_blocks(
            lambda *values: self._seconds(Rates(*values[:size]), *values[size:]),
            *self._rates, *lengths,
        )  # fmt: skip

    def _decoding(self, part, prompt, steps):
        """Seconds of so many decode steps, each on a cache one longer."""
        if type(steps) is float:
            return self._steps(part, prompt, int(steps)) if steps else 0.0
        shape = np.broadcast_shapes(*map(np.shape, (*self._rates, part, prompt, steps)))
        found = np.empty(shape)
        for count in np.unique(steps):
            seconds = self._steps(part, prompt, int(count)) if count else 0.0
            np.copyto(found, seconds, where=np.broadcast_to(steps == count, shape))
        return found

    def _steps(self, part, prompt, steps):
        """The same for one number of steps, some steps at a time."""
        if type(part) is float is type(prompt) and steps <= AT_ONCE and not self._several:
            cached = np.arange(prompt, prompt + steps)
            return float(self._seconds(self._rates, part, 1.0, cached, steps=steps))
        varying = [*self._rates, part, prompt]
        shapes = [value.shape for value in varying if type(value) is np.ndarray]
        rates, at_once, total = self._rates, AT_ONCE, 0.0
        if shapes:
            at_once = max(1, AT_ONCE // math.prod(np.broadcast_shapes(*shapes)))
            *rates, part, prompt = each_array(_as_column, varying)
            rates = Rates(*rates)
        for first in range(0, steps, at_once):
            last = min(first + at_once, steps)
            if shapes:
                cached = prompt + np.arange(float(first), last)
            else:
                cached = np.arange(prompt + first, prompt + last)
            total = total + self._seconds(rates, part, 1.0, cached, steps=last - first)
        return total if np.ndim(total) else float(total)

    def _said(self):
        chips = self.chip if isinstance(self.chip, tuple) else (self.chip,)
        names = ", ".join(chip.name for chip in chips)
        many = f"{self.split.chips} × " if self.split.chips > 1 else ""
        return f"{self.model.name} on {many}{names} ({self.precision})"


def _lengths(minimum=1, **named):
    """Lengths as floats or arrays. A prompt, and what is cached, may be an average."""
    values = []
    for name, value in named.items():
        # The usual case, without further calls.
        if type(value) is int and minimum <= value <= MOST_LENGTH:
            values.append(float(value))
            continue
        if is_symbolic(value):
            raise ValueError(f"{name}={value} is a symbol; a model's tables need numbers or arrays")
        if np.ndim(value) and not np.size(value):
            raise ValueError(f"{name} is empty; give at least one")
        values.append(
            whole(value, name, minimum) if name in WHOLE
            else number(value, name, minimum=minimum, above=False)
        )  # fmt: skip
    if any(isinstance(value, np.ndarray) for value in values):
        check_broadcast(**dict(zip(named, values, strict=True)))
    return [float(value) if isinstance(value, int) else value for value in values]


def _as_column(array):
    return array[..., None]


def _said(value):
    return f"{value:g}" if not np.ndim(value) else f"{np.min(value):g} to {np.max(value):g}"
