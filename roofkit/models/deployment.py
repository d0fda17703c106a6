"""A language model on a chip: what every layer of prefill and decode costs, and what fits."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from roofkit import hardware
from roofkit._blocks import each_array, in_blocks
from roofkit._inputs import check_broadcast, is_symbolic, itemsize, number
from roofkit.models.conventions import convention_named
from roofkit.models.layers import Layer, LayerTable, layer_time
from roofkit.models.llm import LLM
from roofkit.models.transformer import count_pass, head_bytes
from roofkit.network import Group, all_gather, group
from roofkit.roofline import larger, smaller

# Points of all steps that a generation works on at a time.
AT_ONCE = 1 << 20
# On-chip bytes where no figure is known: finite, since infinity // x is not a number.
UNLIMITED = 1e300


@dataclass(frozen=True)
class Deployment:
    """A model served by one kind of chip with everything else decided.

    Parameters
    ----------
    model : LLM
    chip : Chip, its name, or a list of them
        A list makes every figure an array along the chips; lengths broadcast against it.
    weights, activations, kv : dtype names, optional
        Precisions. Weights default to the chip's 16-bit format, activations to 16 bits of the same
        kind, the KV cache to the activations. Narrower operands are widened before they are
        multiplied, so that int8 weights with bf16 activations run at the bf16 peak.
    chips : int
        Tensor parallelism: heads, MLP widths and vocabulary split among so many chips, with an
        all-reduce after attention, MLP and embedding, and an all-gather of the logits.
    attention : "flash" or "unfused"
        Fused attention keeps the scores on the chip; unfused writes, normalises and reads them.
    on_chip : bytes, optional
        Memory that holds a head's K and V during fused prefill; the chip's own unless given, and
        without limit where the table has none. Where they do not fit they are read again for every
        block of query rows that does (a quarter of it each for Q, K, V and the output).
    joined : Group, or kind of one, optional
        How the chips are joined: a Group of roofkit.network, or, for chips of which the table does
        not say it, "ring", "line", "switch" or "all-pairs". The chip's own unless given.
    latency : bool
        Whether a collective waits for its hops one after another.
    convention : name or Convention

    Every count is that of the ideal machine: an operand crosses the memory once, layers follow one
    another, communication waits for the layer before it. Raises ValueError where a chip lacks a
    peak, a bandwidth or a link, and where a model cannot be split.

    >>> import roofkit as rk
    >>> served = rk.llm("Llama-2-7B").on("A100 80GB SXM")
    >>> step = served.decode(batch=1, context=2048)
    >>> step["q_proj"].bound, round(step.time * 1e3, 1)
    ('memory', 7.0)
    """

    model: LLM
    chip: Any
    weights: str | None = None
    activations: str | None = None
    kv: str | None = None
    chips: int = 1
    attention: str = "flash"
    on_chip: float | None = None
    joined: Any = None
    latency: bool = False
    convention: Any = "roofkit"
    split: Any = field(init=False, repr=False, compare=False)
    itemsizes: Any = field(init=False, repr=False, compare=False)
    _rates: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        def settle(name, value):
            object.__setattr__(self, name, value)

        if not isinstance(self.model, LLM):
            raise ValueError(
                f"model must be an LLM, got {type(self.model).__name__}: {self.model!r}; "
                'rk.llm("Llama-2-7B") gives one'
            )
        several = isinstance(self.chip, (list, tuple))
        chips = [
            each if isinstance(each, hardware.Chip) else hardware.chip(each)
            for each in (self.chip if several else [self.chip])
        ]
        if not chips:
            raise ValueError("chip is an empty list; name at least one")
        settle("chip", tuple(chips) if several else chips[0])
        half = next((dtype for dtype in ("bf16", "fp16") if dtype in chips[0].peaks), "bf16")
        for name in ("weights", "activations", "kv"):
            if getattr(self, name) is not None:
                itemsize(getattr(self, name), name)
        wide = [dtype for dtype in (self.weights, self.activations) if dtype and _is_wide(dtype)]
        wide = wide[0] if wide else half
        settle("weights", self.weights or wide)
        settle("activations", self.activations or wide)
        settle("kv", self.kv or self.activations)
        settle("convention", convention_named(self.convention))
        if self.attention not in ("flash", "unfused"):
            raise ValueError(f'attention={self.attention!r} must be "flash" or "unfused"')
        settle("split", self.model.split(self.chips))
        settle("itemsizes", Itemsizes(*map(itemsize, (self.weights, self.activations, self.kv))))
        if not isinstance(self.latency, bool):
            raise ValueError(f"latency={self.latency!r} must be True or False")
        if self.on_chip is not None:
            settle("on_chip", number(self.on_chip, "on_chip"))
        settle("_rates", _Rates.of(self, chips, several))

    # Passes

    def prefill(self, batch=1, prompt=2048):
        """The layers of one pass over ``batch`` prompts of ``prompt`` tokens each.

        Sizes are numbers or arrays that broadcast. Raises ValueError for one below 1.
        """
        batch, prompt = _lengths(batch=batch, prompt=prompt)
        title = f"prefill of {_said(prompt)} tokens, batch {_said(batch)}, {self._said()}"
        return LayerTable(title, self._layers(batch, prompt))

    def decode(self, batch=1, context=2048):
        """The layers of one step: a token for each of ``batch`` sequences with ``context`` cached.

        Sizes are numbers or arrays that broadcast. Raises ValueError for one below 1.
        """
        batch, context = _lengths(batch=batch, context=context)
        title = f"decode after {_said(context)} tokens, batch {_said(batch)}, {self._said()}"
        return LayerTable(title, self._layers(batch, 1.0, context))

    def time_to_first_token(self, batch=1, prompt=2048):
        """Seconds of a prefill; arrays of any size, worked on in blocks."""
        return self._swept(*_lengths(batch=batch, prompt=prompt))

    def time_per_token(self, batch=1, context=2048):
        """Seconds of a decode step; arrays of any size, worked on in blocks.

        >>> import numpy as np, roofkit as rk
        >>> served = rk.llm("Llama-2-7B").on("H100")
        >>> served.time_per_token(batch=np.array([1, 64]), context=np.array([[512], [4096]])).shape
        (2, 2)
        """
        batch, context = _lengths(batch=batch, context=context)
        return self._swept(batch, 1.0, context)

    def generate(self, batch=1, prompt=2048, output=128):
        """A whole generation of ``output`` tokens for each of ``batch`` prompts, as a Generation.

        The prefill yields the first token; each further one is a step on a cache one longer.
        """
        batch, prompt = _lengths(batch=batch, prompt=prompt)
        if isinstance(output, bool) or not isinstance(output, (int, np.integer)) or output < 1:
            raise ValueError(f"output must be a whole number of at least 1, got {output!r}")
        steps = int(output) - self.convention.prefill_token
        first = self._swept(batch, prompt)
        rest = self._decoding(batch, prompt, steps) if steps else 0.0
        return Generation(self, batch, prompt, int(output), first, rest, steps)

    # Memory

    @property
    def kv_bytes_per_token(self):
        """Bytes of KV cache that one token of one sequence takes on each chip."""
        return 2 * self.model.layers * self.split[1] * self.itemsizes.kv

    def memory(self, batch=1, prompt=2048, output=1):
        """What each chip must hold at the fullest moment of a generation, as a Memory.

        Activations are those of the hungriest layer, what it reads and what it writes, beside the
        residual stream.
        """
        batch, prompt, output = _lengths(batch=batch, prompt=prompt, output=output)
        held = prompt + output - 1
        if self.model.window is not None:
            held = smaller(held, float(self.model.window))
        widest = 0.0
        for layer in self._layers(batch, prompt):
            widest = larger(widest, layer.activations)
        return Memory(
            weights=float(self.model.parameters_on(self.chips) * self.itemsizes.weights),
            kv=self.kv_bytes_per_token * batch * held,
            activations=self.itemsizes.activations * batch * prompt * self.model.hidden + widest,
            capacity=self._rates.capacity,
        )

    def on_chip_needed(self, context):
        """Bytes that keep one head's K and V of ``context`` tokens on the chip."""
        (context,) = _lengths(context=context)
        return head_bytes(self, context)

    # How it is added up

    def _layers(self, *lengths):
        rates, layers = self._rates, []

        def add(
            name, count, flops, weights=0.0, activations=0.0, kv=0.0, link=0.0, peak=rates.linear
        ):
            layers.append(
                Layer(
                    name, count, flops, weights, activations, kv, link, peak, rates.bandwidth,
                    rates.link,
                )
            )  # fmt: skip

        count_pass(self, rates, add, *lengths)
        return layers

    def _seconds(self, rates, *lengths, steps=0):
        """Seconds of a pass without keeping its layers: a LayerTable's time, bit for bit.

        With ``steps``, those of so many passes that differ along the last axis of the lengths.
        """
        seconds = 0.0

        def add(
            name, count, flops, weights=0.0, activations=0.0, kv=0.0, link=0.0, peak=rates.linear
        ):
            nonlocal seconds
            moved = weights + activations + kv
            time = layer_time(flops, moved, link, peak, rates.bandwidth, rates.link)
            seconds = seconds + count * (_over(steps, time) if steps else time)

        count_pass(self, rates, add, *lengths)
        return seconds

    def _swept(self, *lengths):
        size = len(self._rates)
        return in_blocks(
            lambda *values: self._seconds(_Rates(*values[:size]), *values[size:]),
            *self._rates, *lengths,
        )  # fmt: skip

    def _decoding(self, batch, prompt, steps):
        """Seconds of so many decode steps, each on a cache one longer, some steps at a time."""
        varying = [*self._rates, batch, prompt]
        shapes = [value.shape for value in varying if isinstance(value, np.ndarray)]
        at_once = max(1, AT_ONCE // math.prod(np.broadcast_shapes(*shapes))) if shapes else AT_ONCE
        *rates, batch, prompt = each_array(_as_column, varying)
        rates = _Rates(*rates)
        total = 0.0
        for first in range(0, steps, at_once):
            cached = prompt + np.arange(float(first), min(first + at_once, steps))
            total = total + self._seconds(rates, batch, 1.0, cached, steps=cached.shape[-1])
        return total

    def _said(self):
        chips = self.chip if isinstance(self.chip, tuple) else (self.chip,)
        names = ", ".join(chip.name for chip in chips)
        many = f"{self.chips} × " if self.chips > 1 else ""
        return (
            f"{self.model.name} on {many}{names} "
            f"({self.weights} weights, {self.activations} activations, {self.kv} KV cache)"
        )


@dataclass(frozen=True)
class Memory:
    """What a chip must hold, in bytes, against what it has.

    >>> Memory(weights=14e9, kv=1e9, activations=1e9, capacity=24e9).spare
    8000000000.0
    """

    weights: Any
    kv: Any
    activations: Any
    capacity: Any

    @property
    def total(self):
        """Weights, KV cache and activations together."""
        return self.weights + self.kv + self.activations

    @property
    def spare(self):
        """Capacity left; below zero, what is missing."""
        return self.capacity - self.total

    @property
    def fits(self):
        """True where everything fits."""
        return self.spare >= 0


@dataclass(frozen=True)
class Generation:
    """A whole generation: the seconds of its two stages.

    ``time_to_first_token`` is the prefill, ``decoding`` the ``steps`` decode steps after it.
    """

    served: Deployment = field(repr=False)
    batch: Any
    prompt: Any
    output: int
    time_to_first_token: Any
    decoding: Any
    steps: int

    @property
    def memory(self):
        """What each chip must hold at the end, as a Memory."""
        return self.served.memory(self.batch, self.prompt, self.output)

    @property
    def time(self):
        """Seconds from the prompt to the last token."""
        return self.time_to_first_token + self.decoding

    @property
    def time_per_token(self):
        """Seconds of an average decode step; NaN where there is none."""
        return self.decoding / self.steps if self.steps else math.nan

    @property
    def tokens_per_second(self):
        """Output tokens of the whole batch over the whole time."""
        return self.batch * self.output / self.time


class Itemsizes(NamedTuple):
    """Bytes an element of each kind of operand takes."""

    weights: float
    activations: float
    kv: float


class _Rates(NamedTuple):
    """What a deployment takes from its chips: a number each, or an array along several chips."""

    linear: Any
    attention: Any
    bandwidth: Any
    capacity: Any
    on_chip: Any
    link: Any  # egress of a chip in its group
    share: Any  # bytes that go over it in one pass of a collective, for each byte of the array
    wait: Any  # at least so many in a pass, because of the hops

    @classmethod
    def of(cls, served, chips, several):
        if served.convention.one_peak:
            narrow = {served.weights, served.activations, served.kv}
            wide = [dtype for dtype in (served.activations, served.weights) if _is_wide(dtype)]
            narrow = all(itemsize(dtype) <= 1 for dtype in narrow)
            linear = attention = "int8" if narrow else (wide or ["fp16"])[0]
        else:
            linear = _multiplied_in(served.activations, served.weights)
            attention = _multiplied_in(served.activations, served.kv)
        link = [(None, None, None)]
        if served.chips > 1:
            link = [_over_links(served, chip) for chip in chips]
        figures = (
            [chip.roofline(linear).peak_flops for chip in chips],
            [chip.roofline(attention).peak_flops for chip in chips],
            [chip.roofline(linear).bandwidth for chip in chips],
            [math.nan if chip.usable is None else chip.usable for chip in chips],
            [served.on_chip or chip.on_chip or UNLIMITED for chip in chips],
            *zip(*link, strict=True),
        )
        return cls(
            *(
                None if each[0] is None
                else np.array(each, dtype=float) if several
                else float(each[0])
                for each in figures
            ),
        )  # fmt: skip


def _over_links(served, chip):
    """What one chip's links take in a collective: egress, share and wait of _Rates."""
    joined = served.joined
    if not isinstance(joined, Group):
        joined = group(chip, served.chips, kind=joined)
    if joined.n != served.chips:
        raise ValueError(
            f"joined is a group of {joined.n} chips, but chips={served.chips}; give the same"
        )
    # An array so small that it waits for hops alone.
    least = np.finfo(float).tiny
    wait = all_gather(least, joined, latency=True).bytes if served.latency else 0.0
    gathered = all_gather(1.0, joined)
    # Over several nodes as many bytes as the links carry while the slower level works.
    share = gathered.bytes if joined.card is None else gathered.seconds * joined.egress
    return joined.egress, share, wait


def _multiplied_in(first, second):
    """The dtype that two operands are multiplied in: the wider, or an error where there is none."""
    if first == second:
        return first
    widths = itemsize(first), itemsize(second)
    wider = first if widths[0] > widths[1] else second
    if widths[0] == widths[1]:
        raise ValueError(
            f"no unit multiplies {first} by {second}; use one format for both, or a wider one for "
            "the activations"
        )
    return wider


def _is_wide(dtype):
    return itemsize(dtype) >= 2


def _lengths(**named):
    values = []
    for name, value in named.items():
        values.append(number(value, name, minimum=1, above=False))
        if is_symbolic(values[-1]):
            raise ValueError(f"{name}={value} is a symbol; a model's tables need numbers or arrays")
    check_broadcast(**dict(zip(named, values, strict=True)))
    return [float(value) if isinstance(value, int) else value for value in values]


def _over(steps, time):
    """The sum of a time that changes from step to step, or that is the same in all."""
    if type(time) is float:
        return time * steps
    return np.add.reduce(time, axis=-1) * (steps / time.shape[-1])


def _as_column(array):
    return array[..., None]


def _said(value):
    return f"{value:g}" if not np.ndim(value) else f"{np.min(value):g} to {np.max(value):g}"
