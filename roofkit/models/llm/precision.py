"""What is stored, what is multiplied and what travels: a format for each."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from roofkit._inputs import ITEMSIZE, dtype_named, half, itemsize

# What a group of narrow weights shares, unless told otherwise.
SCALE = "fp16"
# Whose scales they are.
SCALES = {"weights": "scales", "experts": "expert_scales"}
# Names of a format together with its scales, as what they are called here.
WITH_SCALES = {
    "mxfp8": ("fp8", (32, "fp8")), "mxfp4": ("fp4", (32, "fp8")), "nvfp4": ("fp4", (16, "fp8")),
    "nf4": ("int4", (64, "fp32")), "awq": ("int4", 128), "gptq": ("int4", 128),
    "w4a16": ("int4", 128),
}  # fmt: skip


class Widths(NamedTuple):
    """Bytes an element takes, by what it is; of weights with their share of a scale."""

    weights: float
    experts: float
    activations: float
    stream: float
    kv: float
    travel: float
    embedding: float
    lm_head: float


@dataclass(frozen=True)
class Precision:
    """The formats of a model as it is served, as dtype names.

    Parameters
    ----------
    weights, experts : str
        What matrices are stored as: those of attention and MLPs, and those of routed experts.
    activations : str
        What these matrices are multiplied by. "fp8" means that their inputs are quantised.
    stream : str
        The residual stream, and all that is computed between matrices; biases and norms too.
    kv : str
        The KV cache.
    travel : str
        What chips send each other.
    embedding, lm_head : str
        These two matrices, which most quantised models leave at 16 bits.
    scales, expert_scales : int, or (int, str), optional
        Of weights, and of experts, below 16 bits: how many share a scale, and its dtype, fp16
        unless given.

    A matrix runs at the peak of the wider of its two operands, as narrower ones are widened before
    they are multiplied: int8 weights with bf16 activations compute at the bf16 peak, and int8
    activations at that of int8.

    >>> Precision(weights="int4", scales=128).widths.weights
    0.515625
    """

    weights: str = "bf16"
    experts: str = "bf16"
    activations: str = "bf16"
    stream: str = "bf16"
    kv: str = "bf16"
    travel: str = "bf16"
    embedding: str = "bf16"
    lm_head: str = "bf16"
    scales: int | tuple[int, str] | None = None
    expert_scales: int | tuple[int, str] | None = None

    def __post_init__(self):
        for name in Widths._fields:
            object.__setattr__(self, name, format_named(getattr(self, name), name))
        for name in SCALES.values():
            scale_bytes(getattr(self, name), name)

    @property
    def widths(self):
        """Bytes an element of each kind takes, as Widths."""
        plain = Widths(*(itemsize(getattr(self, name)) for name in Widths._fields))
        scaled = {
            name: getattr(plain, name) + scale_bytes(getattr(self, scales), scales)
            for name, scales in SCALES.items()
            if getattr(plain, name) < 2
        }
        return plain._replace(**scaled)

    @property
    def linear(self):
        """The dtype that the matrices of attention and MLPs are multiplied in."""
        return multiplied_in(self.activations, self.weights)

    @property
    def routed(self):
        """The dtype that the matrices of experts are multiplied in."""
        return multiplied_in(self.activations, self.experts)

    @property
    def attention(self):
        """The dtype that queries are multiplied by keys in: narrow where inputs and cache are."""
        return self.kv if self.kv == self.activations else multiplied_in(self.stream, self.kv)

    @property
    def head(self):
        """The dtype that lm_head is multiplied in."""
        return multiplied_in(self.stream, self.lm_head)

    def __str__(self):
        stored = f"{self.weights} weights, {self.activations} activations, {self.kv} KV cache"
        return stored + (f", {self.experts} experts" if self.experts != self.weights else "")


def as_stored(given, stored):
    """The formats that were ``given``, and for what was not, those ``stored`` in a checkpoint.

    What is given replaces the stored format of that part alone. Stored scales, and the stored
    activations of weights, fall where the matrices they belong to have another format than stored.
    """
    found = {name: stored.get(name) if dtype is None else dtype for name, dtype in given.items()}

    def kept(name, of):
        return found[name] is not None and format_named(found[name], name) == stored.get(of)

    if not kept("weights", "weights"):
        found |= {name: given[name] for name in ("activations", "scales")}
    if given["expert_scales"] is None and not ("experts" in stored and kept("experts", "experts")):
        found["expert_scales"] = found["scales"] if found["experts"] is None else given["scales"]
        if given["scales"] is None and kept("experts", "weights"):
            found["expert_scales"] = stored.get("scales")
    return found


def precision(peaks, weights=None, experts=None, activations=None, kv=None, stream=None,
              travel=None, embedding=None, lm_head=None, scales=None,
              expert_scales=None):  # fmt: skip
    """The Precision with everything settled that was left open, for chips with these ``peaks``.

    The 16-bit format is the chips' own, or that of what was given. The stream is 16 bits wide, or
    as the activations where these are wider; the KV cache, the links, the embedding and lm_head
    follow the stream, and the experts follow the weights.
    """
    settled = [
        dtype and format_named(dtype, name)
        for name, dtype in (("stream", stream), ("activations", activations),
                            ("weights", weights), ("kv", kv))
    ]  # fmt: skip
    usual = half(peaks, "bf16")
    wide = next((dtype for dtype in settled if dtype and ITEMSIZE[dtype] >= 2), usual)
    stream, activations, weights, kv = settled
    stream = stream or (activations if activations and ITEMSIZE[activations] >= 2 else wide)
    activations = activations or stream
    weights = weights or stream
    return Precision(
        weights, experts or weights, activations, stream, kv or stream, travel or stream,
        embedding or stream, lm_head or embedding or stream, scales, expert_scales,
    )  # fmt: skip


def format_named(dtype, name):
    """The short name of a format; ValueError also where the name says its scales too."""
    key = re.sub(r"[\s_-]", "", dtype.casefold()) if isinstance(dtype, str) else ""
    if key in WITH_SCALES:
        plain, scales = WITH_SCALES[key]
        said = f'({scales[0]}, "{scales[1]}")' if isinstance(scales, tuple) else f"{scales}"
        raise ValueError(
            f'{name}={dtype!r} is a format with its scales: say {name}="{plain}"'
            + (f", {SCALES[name]}={said}" if name in SCALES else " (scales are not counted here)")
        )
    return dtype_named(dtype, name)


def scale_bytes(scales, name):
    """Bytes of scales that come with each weight."""
    if scales is None:
        return 0.0
    pair = scales if isinstance(scales, tuple) else (scales, SCALE)
    group = pair[0] if len(pair) == 2 else None
    if isinstance(group, bool) or not isinstance(group, int) or group < 1:
        raise ValueError(
            f"{name}={scales!r} must be how many weights share a scale, such as 128, or that and "
            'its dtype, as in (32, "fp8")'
        )
    return itemsize(pair[1], f"the dtype of {name}") / group


def multiplied_in(first, second):
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
