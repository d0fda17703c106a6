"""The formats in which a deployed model stores, multiplies and sends numbers."""

import re
from dataclasses import dataclass, fields
from typing import NamedTuple

from roofkit._inputs import ITEMSIZE, itemsize, pick_16_bit, read_dtype
from roofkit.models.llm.options import Options

# The default dtype of a scale that a group of narrow weights shares.
DEFAULT_SCALE = "fp16"
# Maps each weight field to the field for its scales.
SCALE_FIELDS = {"weights": "scales", "experts": "expert_scales"}
# Common names for a dtype with scales.
SCALED_FORMATS = {
    "mxfp8": ("fp8", (32, "fp8")), "mxfp4": ("fp4", (32, "fp8")), "nvfp4": ("fp4", (16, "fp8")),
    "nf4": ("int4", (64, "fp32")), "awq": ("int4", 128), "gptq": ("int4", 128),
    "w4a16": ("int4", 128),
}  # fmt: skip


class Widths(NamedTuple):
    """Bytes per element of each kind; for weights, including their share of a scale."""

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
    """The formats of a deployed model, as dtype names.

    Parameters
    ----------
    weights, experts : str, optional
        Formats of the matrices of attention and MLPs, and of the routed experts (default: same as
        ``weights``).
    activations : str, optional
        Format of the inputs to these matrices; "fp8" means that the inputs are quantised.
    stream : str, optional
        Format of the residual stream, biases, norms and everything computed between matrices.
    kv : str, optional
        Format of the KV cache (default: same as ``stream``).
    travel : str, optional
        Format of the arrays sent between chips (default: same as ``stream``).
    embedding, lm_head : str, optional
        Formats of these two matrices, which most quantised models keep at 16 bits (default: same as
        ``stream``).
    scales, expert_scales : int, or (int, str), optional
        Number of weights (or expert weights) narrower than 16 bits that share a scale, optionally
        with the dtype of the scale (default: fp16). 0 means that there are no scales. The formats
        "mxfp8", "mxfp4", "nvfp4", "nf4", "awq" and "gptq" of ``weights`` imply it.

    A field that is None uses the checkpoint's format, or 16 bits if the checkpoint does not specify
    a format. In the ``precision`` of a Deployment, no field is None.

    A matmul runs at the peak of its wider operand, because the narrower operand is widened before
    multiplication. With int8 weights, bf16 activations run at the bf16 peak, and int8 activations
    at the int8 peak. Raises ValueError for an unknown format.

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
            plain, scales = SCALED_FORMATS.get(_normalise(dtype), (dtype, None))
            if scales is not None and name in SCALE_FIELDS:
                dtype, given = plain, getattr(self, SCALE_FIELDS[name])
                object.__setattr__(self, SCALE_FIELDS[name], scales if given is None else given)
            if dtype is not None:
                object.__setattr__(self, name, read_format(dtype, name))
        for name in SCALE_FIELDS.values():
            scale_bytes(getattr(self, name), name)

    @property
    def widths(self):
        """Bytes per element of each kind, as Widths; no field may be None."""
        plain = Widths(*(itemsize(getattr(self, name)) for name in Widths._fields))
        scaled = {
            name: getattr(plain, name) + scale_bytes(getattr(self, scales), scales)
            for name, scales in SCALE_FIELDS.items()
            if getattr(plain, name) < 2
        }
        return plain._replace(**scaled)

    @property
    def linear(self):
        """The dtype of multiplications in attention and MLP matrices."""
        return wider_dtype(self.activations, self.weights)

    @property
    def routed(self):
        """The dtype of multiplications in expert matrices."""
        return wider_dtype(self.activations, self.experts)

    @property
    def attention(self):
        """The dtype of query-key products: narrow if both the inputs and the cache are narrow."""
        return self.kv if self.kv == self.activations else wider_dtype(self.stream, self.kv)

    @property
    def head(self):
        """The dtype of multiplications in lm_head."""
        return wider_dtype(self.stream, self.lm_head)

    def __str__(self):
        stored = f"{self.weights} weights, {self.activations} activations, {self.kv} KV cache"
        return stored + (f", {self.experts} experts" if self.experts != self.weights else "")

    @property
    def unusual_formats(self):
        """Texts for non-default fields that ``str`` leaves out."""
        usual = {"stream": pick_16_bit([self.stream], "bf16"), "travel": self.stream,
                 "embedding": self.stream, "lm_head": self.stream, "scales": 0,
                 "expert_scales": self.scales}  # fmt: skip
        return [
            f"{name}={getattr(self, name)!r}" for name, dtype in usual.items()
            if getattr(self, name) != dtype
        ]  # fmt: skip


def settle_precision(given, model, peaks, *, one_format=False):
    """Return the Precision ``given`` with every None filled in, for chips with these ``peaks``.

    A None field uses the format of the model's checkpoint or, if there is none, a default. The
    stream uses the activations' format if it has at least 16 bits, else the first such format
    given, else the chips' own. Experts use the weights' format, and all other formats are that of
    the stream. With ``one_format``, the stream uses the activations' format, and the embedding and
    lm_head use the weights' format.

    Raises ValueError if the embedding and lm_head are tied but have different formats.
    """
    formats = _take_stored_formats(
        {field.name: getattr(given, field.name) for field in fields(given)}, model
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
    precision = _fill_in_formats(peaks, formats)
    if model.tied and precision.embedding != precision.lm_head:
        raise ValueError(
            f"{model.name}: its embedding and lm_head share a matrix, which cannot be both "
            f"{precision.embedding} and {precision.lm_head}; give only one of them, or the same "
            "format for both"
        )
    return precision


def _take_stored_formats(given, model):
    """Return the formats ``given`` by name, with each None replaced by the checkpoint's format.

    A given format replaces only its own field. The stored scales, and the stored activation format
    that belongs to the weights, do not apply if the matrices' format differs from the checkpoint's.
    """
    stored = model.stored
    formats = {name: stored.get(name) if dtype is None else dtype for name, dtype in given.items()}

    def is_as_stored(name, stored_name):
        dtype = formats[name]
        return dtype is not None and read_format(dtype, name) == stored.get(stored_name)

    if not is_as_stored("weights", "weights"):
        formats |= {name: given[name] for name in ("activations", "scales")}
    experts_are_stored = "experts" in stored and is_as_stored("experts", "experts")
    if given["expert_scales"] is None and not experts_are_stored:
        no_experts = formats["experts"] is None
        formats["expert_scales"] = formats["scales"] if no_experts else given["scales"]
        if given["scales"] is None and is_as_stored("experts", "weights"):
            formats["expert_scales"] = stored.get("scales")
    return formats


def _fill_in_formats(peaks, formats):
    """Return the Precision of these formats, with None replaced by defaults from the others."""
    main_formats = {
        name: formats.get(name) and read_format(formats[name], name)
        for name in ("stream", "activations", "weights", "kv")
    }
    usual = pick_16_bit(peaks, "bf16")
    wide = next((dtype for dtype in main_formats.values() if dtype and ITEMSIZE[dtype] >= 2), usual)
    stream, activations, weights, kv = main_formats.values()
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
    """Return a format's short name; raises ValueError if unknown, or if it includes scales."""
    if (key := _normalise(dtype)) in SCALED_FORMATS:
        raise ValueError(
            f"{name}={dtype!r} includes the format of scales, which are not counted here; use "
            f'{name}="{SCALED_FORMATS[key][0]}"'
        )
    return read_dtype(dtype, name)


def _normalise(dtype):
    return re.sub(r"[\s_-]", "", dtype.casefold()) if isinstance(dtype, str) else ""


def scale_bytes(scales, name):
    """Return the bytes of scales per weight."""
    if scales is None or (type(scales) is int and scales == 0):
        return 0.0
    pair = scales if isinstance(scales, tuple) else (scales, DEFAULT_SCALE)
    group = pair[0] if len(pair) == 2 else None
    if isinstance(group, bool) or not isinstance(group, int) or group < 1:
        raise ValueError(
            f"{name}={scales!r} must be the number of weights per scale, such as 128, or that "
            'number and the dtype of scales, as in (32, "fp8")'
        )
    return itemsize(pair[1], f"the dtype of {name}") / group


def wider_dtype(first, second):
    """Return the wider of two dtypes; raises ValueError if they differ but are equally wide."""
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
