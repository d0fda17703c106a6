"""A language model deployed on chips, with its layer tables, times and memory use."""

from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

import numpy as np

from roofkit import hardware
from roofkit._inputs import check_broadcast, check_number
from roofkit._tables import wrap_lines
from roofkit._units import format_quantity
from roofkit.models.layers import LayerTable
from roofkit.models.llm import solve
from roofkit.models.llm.attention import head_bytes
from roofkit.models.llm.generation import Generation
from roofkit.models.llm.lengths import check_lengths, format_length
from roofkit.models.llm.links import Links
from roofkit.models.llm.llm_viewer import read_convention
from roofkit.models.llm.memory import cached_bytes, count_memory
from roofkit.models.llm.options import check_options
from roofkit.models.llm.pass_counter import PassCounter
from roofkit.models.llm.precision import Precision, settle_precision
from roofkit.models.llm.split import Split
from roofkit.models.predictor import TimePredictor
from roofkit.roofline import larger

# Serving engines process this many tokens of a prefill at a time.
CHUNK = 8192
# Maps the option names of serving engines to those of this package.
OTHER_SPELLINGS = {
    "tp": "tensor", "tensor_parallel": "tensor", "tensor_parallel_size": "tensor",
    "chips": "tensor", "pp": "pipeline", "pipeline_parallel_size": "pipeline", "dp": "data",
    "ep": "expert", "dtype": "weights", "quantization": "weights", "kv_cache_dtype": "kv",
}  # fmt: skip
NAMES_SHOWN = 3  # the most chips that a title names


@dataclass(frozen=True, repr=False)
class Deployment:
    """A model on one kind of chip with all options resolved, created by ``LLM.on``.

    Parameters
    ----------
    model : LLM
    chip : Chip, its name, or a list of them
        With a list, every result is an array along the chips. Lengths broadcast against it.
    precision : Precision, optional
        Formats for storing, multiplying and sending numbers (default: the checkpoint's).
    split : Split, optional
        How the model is split across chips (default: one chip). Results are per chip, and ``batch``
        is per replica.
    links : Links, optional
        How the chips are connected, if the chip table does not specify it.
    fused : bool, optional
        Whether matmuls also compute norms, activations, rotations and residual adds (default: True,
        unless the convention has departures).
    attention : "flash" or "unfused"
        Flash attention keeps the scores on the chip. Unfused attention moves them through memory.
    on_chip : bytes, optional
        On-chip memory for a head's K and V during flash attention (default: the chip's own, or
        unlimited if unknown). If K and V do not fit, they are read again for every block of query
        rows. The Q, K, V and output of a block each get a quarter of the memory.
    unconfirmed : bool
        Whether to use chip data that no second source confirms.
    calibration : optional
        A TimePredictor, such as one from ``rooflab.machine.calibrate``. With a calibration, tables
        and generations have a ``prediction``.
    convention : "roofkit", "llm-viewer", or a list of departures
        Counting convention; see ``roofkit.models.llm.llm_viewer.DEPARTURES``. Departures modify the
        count without fusion.

    In a Deployment, no field of ``precision`` is None.

    Counts assume an ideal machine: each operand crosses the memory channel once, layers run one
    after another, and communication waits for the preceding layer. Raises ValueError if a chip
    lacks a peak, a bandwidth or a link, or if the model cannot be split this way.

    >>> import roofkit as rk
    >>> served = rk.llm("Llama-2-7B").on("A100 80GB SXM")
    >>> served
    Deployment(Llama-2-7B on A100 80GB SXM, bf16 weights, bf16 activations, bf16 KV cache)
    >>> step = served.decode(batch=1, context=2048)
    >>> step["qkv_proj"].bound, round(step.time * 1e3, 1)
    ('memory', 7.0)
    """

    model: Any
    chip: Any
    _: KW_ONLY
    precision: Precision | None = None
    split: Split | None = None
    links: Links | None = None
    fused: bool | None = None
    attention: str = "flash"
    on_chip: float | None = None
    unconfirmed: bool = False
    calibration: Any = None
    convention: Any = "roofkit"
    _passes: PassCounter = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        departures = read_convention(self.convention)
        self._check(departures)
        for name, value in self._settle_options(departures).items():
            object.__setattr__(self, name, value)
        self._check_calibration()
        object.__setattr__(self, "_passes", PassCounter.of_deployment(self, departures))

    def _check(self, departures):
        if self.fused is not None and not isinstance(self.fused, bool):
            raise ValueError(f"fused={self.fused!r} must be True or False")
        if self.fused and departures:
            raise ValueError(f"convention={self.convention!r} needs fused=False")
        if self.attention not in ("flash", "unfused"):
            raise ValueError(f'attention={self.attention!r} must be "flash" or "unfused"')
        if not isinstance(self.unconfirmed, bool):
            raise ValueError(f"unconfirmed={self.unconfirmed!r} must be True or False")

    def _settle_options(self, departures):
        """Return the resolved field values by name."""
        several = isinstance(self.chip, (list, tuple))
        chips = tuple(hardware.chip(name) for name in (self.chip if several else [self.chip]))
        if not chips:
            raise ValueError("chip is an empty list; name at least one")
        on_chip = None if self.on_chip is None else check_number(self.on_chip, "on_chip")
        if np.ndim(on_chip):
            raise ValueError(f"on_chip={on_chip!r} must be one number of bytes")
        given = check_options(self.precision, Precision, "precision", 'weights="int4"')
        peaks = set.intersection(*(set(chip.peaks) for chip in chips))
        return {
            "chip": chips if several else chips[0],
            "precision": settle_precision(
                given, self.model, peaks, one_format="one_format" in departures
            ),
            "split": check_options(self.split, Split, "split", "tensor=8"),
            "links": check_options(self.links, Links, "links", 'tensor="switch"'),
            "fused": not departures if self.fused is None else self.fused,
            "on_chip": on_chip,
        }  # fmt: skip

    def _check_calibration(self):
        if self.calibration is None:
            return
        if not isinstance(self.calibration, TimePredictor):
            raise ValueError(
                f"calibration={self.calibration!r} must predict times, such as "
                'rooflab.machine.calibrate("H100")'
            )
        chip = getattr(self.calibration, "chip", self.chip)
        if chip != self.chip:
            raise ValueError(f"calibration is for {chip.name}, but the model is on another chip")

    def __repr__(self):
        usual = {field.name: field.default for field in fields(self)}
        others = [
            f"{name}={getattr(self, name)!r}" for name in ("attention", "unconfirmed", "convention")
            if getattr(self, name) != usual[name]
        ]  # fmt: skip
        parts = [
            self.title, str(self.precision), *self.precision.unusual_formats,
            *(repr(group) for group in (self.split, self.links) if group != type(group)()),
            *(["fused=False"] if not self.fused else []),
            *([f"on_chip={format_quantity(self.on_chip, 'B')}"] if self.on_chip else []),
            *([f"calibration={self.calibration!r}"] if self.calibration else []), *others,
        ]  # fmt: skip
        return wrap_lines(f"Deployment({', '.join(parts)})")

    @property
    def title(self):
        """The model and its chips, for use in titles."""
        chips = self.chip if isinstance(self.chip, tuple) else (self.chip,)
        names = ", ".join(chip.name for chip in chips[:NAMES_SHOWN])
        if len(chips) > NAMES_SHOWN:
            names += f" and {len(chips) - NAMES_SHOWN} more"
        many = f"{self.split.chips} × " if self.split.chips > 1 else ""
        return f"{self.model.name} on {many}{names}"

    # Passes

    def prefill(self, batch=1, prompt=2048):
        """Return the LayerTable of a pass over ``batch`` prompts of ``prompt`` tokens each.

        Sizes are numbers or arrays that broadcast. Raises ValueError for sizes below 1.
        """
        batch, prompt = check_lengths(batch=batch, prompt=prompt)
        return self._make_table(f"prefill of {format_length(prompt)} tokens", batch, prompt, 0.0)

    def decode(self, batch=1, context=2048):
        """Return the LayerTable of a decode step: one token per sequence after ``context`` tokens.

        Sizes are numbers or arrays that broadcast. Raises ValueError for sizes below 1.
        """
        batch, context = check_lengths(batch=batch, context=context)
        return self._make_table(
            f"decode after {format_length(context)} tokens", batch, 1.0, context
        )

    def forward(self, batch=1, new=1, cached=0, *, every_logit=False):
        """Return the LayerTable of any pass: ``new`` tokens per sequence after ``cached`` tokens.

        Use this for a chunk of a prefill, a prompt with a cached prefix, or (with
        ``every_logit=True``) a speculative step that checks several tokens at the same time. Sizes
        are numbers or arrays that broadcast. Raises ValueError if ``batch`` or ``new`` is below 1,
        or if ``cached`` is below 0.

        >>> import roofkit as rk
        >>> served = rk.llm("Llama-2-7B").on("H100")
        >>> whole = served.prefill(1, 4096).flops
        >>> halves = served.forward(1, 2048), served.forward(1, 2048, cached=2048)
        >>> round(sum(half.flops for half in halves) / whole, 3)
        1.0
        """
        batch, new = check_lengths(batch=batch, new=new)
        (cached,) = check_lengths(minimum=0, cached=cached)
        check_broadcast(batch=batch, new=new, cached=cached)
        if not isinstance(every_logit, bool):
            raise ValueError(f"every_logit={every_logit!r} must be True or False")
        title = f"{format_length(new)} new tokens after {format_length(cached)}"
        return self._make_table(title, batch, new, cached, every_logit)

    def _make_table(self, title, batch, new, cached, every_logit=False):
        title = f"{title}, batch {format_length(batch)}, {self.title} ({self.precision})"
        context, longest = self.model.context, new + cached
        if context and (longest.max() if type(longest) is np.ndarray else longest) > context:
            title += f", beyond the {context:,} tokens it was trained for"
        layers = self._passes.layers(self._stage_batch(batch), new, cached, every_logit)
        return LayerTable(title, layers, calibration=self.calibration)

    def time_to_first_token(self, batch=1, prompt=2048):
        """Return the seconds of a prefill; large arrays are computed in blocks.

        Pipeline stages process different parts of the batch and prompt at the same time. At best,
        all stages are busy until the last token leaves the first stage. This token then passes
        through the other stages alone.
        """
        return self._prefill_seconds(*check_lengths(batch=batch, prompt=prompt))

    def _prefill_seconds(self, batch, prompt):
        whole, stages = self._passes.sweep_seconds(batch, prompt, 0.0), self.split.pipeline
        if stages == 1:
            return whole
        last = self._passes.sweep_seconds(1.0, 1.0, prompt - 1.0)
        return (whole + (stages - 1) * last) / stages

    def time_per_token(self, batch=1, context=2048):
        """Return the seconds of a decode step; large arrays are computed in blocks.

        >>> import numpy as np, roofkit as rk
        >>> served = rk.llm("Llama-2-7B").on("H100")
        >>> served.time_per_token(batch=np.array([1, 64]), context=np.array([[512], [4096]])).shape
        (2, 2)
        """
        batch, context = check_lengths(batch=batch, context=context)
        return self._passes.sweep_seconds(self._stage_batch(batch), 1.0, context)

    def _stage_batch(self, batch):
        """Return the number of sequences that a pipeline stage processes at a time."""
        stages = self.split.pipeline
        return batch if stages == 1 else larger(batch / stages, 1.0)

    def generate(self, batch=1, prompt=2048, output=128):
        """Return the Generation of ``output`` tokens for each of ``batch`` prompts.

        The prefill yields the first token. Each further token takes a decode step with one more
        cached token. An engine whose passes mix prefill and decode can be faster: this is at best
        only without such passes. ``output`` is a whole number or an array of whole numbers.
        """
        batch, prompt, output = check_lengths(batch=batch, prompt=prompt, output=output)
        steps = output - ("prefill_token" not in self._passes.departures)
        first = self._prefill_seconds(batch, prompt)
        decoding = self._passes.decoding(self._stage_batch(batch), prompt, steps)
        return Generation(self, batch, prompt, output, first, decoding, steps)

    # Memory

    @property
    def shard(self):
        """Each chip's part of the model, as a Shard."""
        return self._passes.how.shard

    @property
    def kv_bytes_per_token(self):
        """Bytes of KV cache per token on each chip, as if no layer had a window.

        With a pipeline, this is the sum over all stages.
        """
        return self.model.layers * cached_bytes(self._passes.how)

    def memory(self, batch=1, prompt=2048, output=1, *, chunk=CHUNK, reserve=0.0):
        """Return the peak Memory that each chip needs during a generation.

        Activations are the residual stream plus the inputs and outputs of the layer that needs the
        most memory. A prefill processes ``chunk`` tokens at a time, as in serving engines, or all
        tokens with ``chunk=None``. ``reserve`` is the memory kept free for the driver,
        communication and other programs: in bytes, or as a share of the capacity if below 1. With a
        pipeline, the Memory describes the fullest stage, assuming equal layers.
        """
        batch, prompt, output = check_lengths(batch=batch, prompt=prompt, output=output)
        at_once = None if chunk is None else check_lengths(chunk=chunk)[0]
        reserve = check_number(reserve, "reserve", above=False)
        if np.ndim(reserve):
            raise ValueError(f"reserve must be one number, got {np.size(reserve)} in an array")
        return count_memory(self._passes, batch, prompt, output, at_once, reserve)

    def on_chip_needed(self, context):
        """Return the bytes of a head's K and V, or of latent vectors, for ``context`` tokens."""
        (context,) = check_lengths(context=context)
        return head_bytes(self.model, self._passes.how.widths, context)

    # Inverse questions

    def largest_batch(self, prompt=2048, output=1, *, chunk=CHUNK, reserve=0.0):
        """Return the largest batch that fits in memory; see ``solve.largest_batch``."""
        return solve.largest_batch(self, prompt, output, chunk=chunk, reserve=reserve)

    def longest_prompt(self, batch=1, output=1, *, chunk=CHUNK, reserve=0.0):
        """Return the longest prompt that fits in memory; see ``solve.longest_prompt``."""
        return solve.longest_prompt(self, batch, output, chunk=chunk, reserve=reserve)

    def compute_bound_batch(self, context=2048):
        """Return the smallest compute-bound decode batch; see ``solve.compute_bound_batch``."""
        return solve.compute_bound_batch(self, context)


OPTION_GROUPS = {"precision": Precision, "split": Split, "links": Links}


def refuse_option(name, value):
    """Raise ValueError for an unknown option, suggesting the closest ones."""
    import difflib  # imported only on error, to keep imports fast

    options = [field.name for field in fields(Deployment)[2:] if field.init]
    calls = {option: f"{option}={value!r}" for option in options}
    for option, group in OPTION_GROUPS.items():
        if group is Links and type(value) is int:
            continue  # a whole number is a chip count, so it belongs to Split
        for member in fields(group):
            call = f"{option}=rk.models.{group.__name__}({member.name}={value!r})"
            known = calls.get(member.name)
            calls[member.name] = f"{known} or {call}" if known else call
    spelling = OTHER_SPELLINGS.get(name, name)
    exact = [spelling] if spelling in calls else []
    near = exact or difflib.get_close_matches(spelling, calls, cutoff=0.6)
    if near:
        advice = f"use {' or '.join(calls[option] for option in near)}"
    else:
        advice = f"the options are {', '.join(options)}"
    raise ValueError(f"{name}={value!r} isn't an option of LLM.on; {advice}")
