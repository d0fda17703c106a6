"""The formats of a model as it is served: what is stored, what is multiplied and what travels."""

import re
from dataclasses import dataclass, fields
from typing import NamedTuple

from roofkit._inputs import ITEMSIZE, itemsize, pick_16_bit, read_dtype
from roofkit.models.llm.options import Options

# The dtype of a scale that a group of narrow weights shares, unless it is given.
DEFAULT_SCALE = "fp16"
# The field with the scales of each field of weights.
SCALE_FIELDS = {"weights": "scales", "experts": "expert_scales"}
# Well-known names that mean a format and its scales at once: the dtype, and the scales.
SCALED_FORMATS = {
    "mxfp8": ("fp8", (32, "fp8")), "mxfp4": ("fp4", (32, "fp8")), "nvfp4": ("fp4", (16, "fp8")),
    "nf4": ("int4", (64, "fp32")), "awq": ("int4", 128), "gptq": ("int4", 128),
    "w4a16": ("int4", 128),
}  # fmt: skip


class Widths(NamedTuple):
    """Bytes that an element takes, by what it is; a weight takes its share of a scale too."""

    weights: float
    experts: float
    activations: float
    stream: float
    kv: float
    travel: float
    embedding: float
    lm_head: float


@dataclass(frozen=True, repr=False)
class Precision(Options):
    """The formats of a model as it is served, as dtype names.

    Parameters
    ----------
    weights, experts : str, optional
        What matrices are stored as: those of attention and MLPs, and those of routed experts, which
        are stored as the others unless given.
    activations : str, optional
        What these matrices are multiplied by. "fp8" means that their inputs are quantised.
    stream : str, optional
        The residual stream, and all that is computed between matrices; biases and norms too.
    kv : str, optional
        The KV cache, as the stream unless given.
    travel : str, optional
        What chips send each other, as the stream unless given.
    embedding, lm_head : str, optional
        These two matrices, which most quantised models leave at 16 bits: as the stream unless
        given.
    scales, expert_scales : int, or (int, str), optional
        How many of the weights, and of the experts' weights, share a scale where they have fewer
        than 16 bits, and the dtype of a scale: fp16 unless given. 0 says that there are no scales.

    What is None is as the model's checkpoint stores it, and 16 bits wide where that does not say.
    The ``precision`` of a Deployment is settled: nothing in it is None.

    A matrix runs at the peak of the wider of its two operands, as narrower ones are widened before
    they are multiplied: int8 weights with bf16 activations compute at the bf16 peak, and int8
    activations at that of int8. Raises ValueError for a format that is not known.

    >>> import roofkit as rk
    >>> four_bits = Precision(weights="int4", scales=128)
    >>> settled = rk.llm("Llama-2-7B").on("H100", precision=four_bits).precision
    >>> settled.kv, settled.widths.weights                     # bytes, with their share of a scale
    ('bf16', 0.515625)
    """

    weights: str | None = None
    experts: str | None = None
    activations: str | None = None
    stream: str | None = None
    kv: str | None = None
    travel: str | None = None
    embedding: str | None = None
    lm_head: str | None = None
    scales: int | tuple[int, str] | None = None
    expert_scales: int | tuple[int, str] | None = None

    def __post_init__(self):
        for name in Widths._fields:
            dtype = getattr(self, name)
            if dtype is not None:
                object.__setattr__(self, name, read_format(dtype, name))
        for name in SCALE_FIELDS.values():
            scale_bytes(getattr(self, name), name)

    @property
    def widths(self):
        """Bytes an element of each kind takes once all is settled, as Widths."""
        plain = Widths(*(itemsize(getattr(self, name)) for name in Widths._fields))
        scaled = {
            name: getattr(plain, name) + scale_bytes(getattr(self, scales), scales)
            for name, scales in SCALE_FIELDS.items()
            if getattr(plain, name) < 2
        }
        return plain._replace(**scaled)

    @property
    def linear(self):
        """The dtype that the matrices of attention and MLPs are multiplied in."""
        return wider_dtype(self.activations, self.weights)

    @property
    def routed(self):
        """The dtype that the matrices of experts are multiplied in."""
        return wider_dtype(self.activations, self.experts)

    @property
    def attention(self):
        """The dtype that queries are multiplied by keys in: narrow where inputs and cache are."""
        return self.kv if self.kv == self.activations else wider_dtype(self.stream, self.kv)

    @property
    def head(self):
        """The dtype that lm_head is multiplied in."""
        return wider_dtype(self.stream, self.lm_head)

    def __str__(self):
        stored = f"{self.weights} weights, {self.activations} activations, {self.kv} KV cache"
        return stored + (f", {self.experts} experts" if self.experts != self.weights else "")

    @property
    def unusual_formats(self):
        """What ``str`` does not say and differs from the usual, field by field as text."""
        usual = {"stream": pick_16_bit([self.stream], "bf16"), "travel": self.stream,
                 "embedding": self.stream, "lm_head": self.stream, "scales": 0,
                 "expert_scales": self.scales}  # fmt: skip
        return [
            f"{name}={getattr(self, name)!r}" for name, dtype in usual.items()
            if getattr(self, name) != dtype
        ]  # fmt: skip


def settle_precision(given, model, peaks, *, one_format=False):
    """The Precision of a model that is served as ``given``, on chips with these ``peaks``.

    What was left open is as the model's checkpoint stores it. What that leaves open follows from
    the rest: the 16-bit format is that of something given, or else the chips' own; the stream has
    16 bits, or is as wide as wider activations; the KV cache, what travels, the embedding and
    lm_head follow the stream, and the experts follow the weights. With ``one_format`` what lies
    between matrices follows the activations, and the embedding and lm_head the weights.

    Raises ValueError for an embedding and an lm_head that are one matrix and differ.
    """
    formats = _take_stored_formats(
        {each.name: getattr(given, each.name) for each in fields(given)}, model
    )
    if model.tied and formats["embedding"] is None:
        formats["embedding"] = formats["lm_head"]
    if one_format:
        usual = _fill_in_formats(
            peaks, {name: formats[name] for name in ("weights", "activations", "kv")}
        )
        same = {"stream": usual.activations, "lm_head": usual.weights,
                "embedding": usual.weights, "experts": usual.weights}  # fmt: skip
        formats |= {name: dtype for name, dtype in same.items() if formats[name] is None}
    found = _fill_in_formats(peaks, formats)
    if model.tied and found.embedding != found.lm_head:
        raise ValueError(
            f"{model.name}: its embedding and lm_head are one matrix, which cannot be "
            f"{found.embedding} and {found.lm_head} at once; give one, or both alike"
        )
    return found


def _take_stored_formats(given, model):
    """The formats by name that were ``given``, and where None was, those of the checkpoint.

    What is given replaces the stored format of that part alone. Stored scales, and the stored
    activations of weights, fall where the matrices they belong to have another format than stored.
    """
    stored = model.stored
    found = {name: stored.get(name) if dtype is None else dtype for name, dtype in given.items()}

    def kept(name, of):
        return found[name] is not None and read_format(found[name], name) == stored.get(of)

    if not kept("weights", "weights"):
        found |= {name: given[name] for name in ("activations", "scales")}
    if given["expert_scales"] is None and not ("experts" in stored and kept("experts", "experts")):
        found["expert_scales"] = found["scales"] if found["experts"] is None else given["scales"]
        if given["scales"] is None and kept("experts", "weights"):
            found["expert_scales"] = stored.get("scales")
    return found


def _fill_in_formats(peaks, formats):
    """The Precision of these formats by name; those that are None follow from the others."""
    named = {
        name: formats.get(name) and read_format(formats[name], name)
        for name in ("stream", "activations", "weights", "kv")
    }
    usual = pick_16_bit(peaks, "bf16")
    wide = next((dtype for dtype in named.values() if dtype and ITEMSIZE[dtype] >= 2), usual)
    stream, activations, weights, kv = named.values()
    stream = stream or (activations if activations and ITEMSIZE[activations] >= 2 else wide)
    weights, embedding = weights or stream, formats.get("embedding")
    return Precision(
        weights=weights, experts=formats.get("experts") or weights,
        activations=activations or stream, stream=stream, kv=kv or stream,
        travel=formats.get("travel") or stream, embedding=embedding or stream,
        lm_head=formats.get("lm_head") or embedding or stream, scales=formats.get("scales") or 0,
        expert_scales=formats.get("expert_scales") or 0,
    )  # fmt: skip


def read_format(dtype, name):
    """The short name of a format; ValueError for one not known, or that means its scales too."""
    key = re.sub(r"[\s_-]", "", dtype.casefold()) if isinstance(dtype, str) else ""
    if key in SCALED_FORMATS:
        plain, scales = SCALED_FORMATS[key]
        said = f'({scales[0]}, "{scales[1]}")' if isinstance(scales, tuple) else f"{scales}"
        raise ValueError(
            f'{name}={dtype!r} is a format with its scales: say {name}="{plain}"'
            + (
                f", {SCALE_FIELDS[name]}={said}"
                if name in SCALE_FIELDS
                else " (scales are not counted here)"
            )
        )
    return read_dtype(dtype, name)


def scale_bytes(scales, name):
    """Bytes of scales that each weight brings along."""
    if scales is None or (type(scales) is int and scales == 0):
        return 0.0
    pair = scales if isinstance(scales, tuple) else (scales, DEFAULT_SCALE)
    group = pair[0] if len(pair) == 2 else None
    if isinstance(group, bool) or not isinstance(group, int) or group < 1:
        raise ValueError(
            f"{name}={scales!r} must be how many weights share a scale, such as 128, or that and "
            'its dtype, as in (32, "fp8")'
        )
    return itemsize(pair[1], f"the dtype of {name}") / group


def wider_dtype(first, second):
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
