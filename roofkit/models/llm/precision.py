"""What is stored, what is multiplied and what travels: a format for each."""

from dataclasses import dataclass
from typing import NamedTuple

from roofkit._inputs import ITEMSIZE, dtype_named, itemsize

# What a group of narrow weights shares, unless told otherwise.
SCALE = "fp16"


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
    scales : int, or (int, str), optional
        Of weights and experts below 16 bits: how many share a scale, and its dtype, fp16 unless
        given.

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

    def __post_init__(self):
        for name in Widths._fields:
            object.__setattr__(self, name, dtype_named(getattr(self, name), name))
        self.scale_bytes  # noqa: B018  checked now

    @property
    def widths(self):
        """Bytes an element of each kind takes, as Widths."""
        plain = Widths(*(itemsize(getattr(self, name)) for name in Widths._fields))
        scaled = {
            name: getattr(plain, name) + self.scale_bytes
            for name in ("weights", "experts")
            if getattr(plain, name) < 2
        }
        return plain._replace(**scaled)

    @property
    def scale_bytes(self):
        """Bytes of scales that come with each weight."""
        if self.scales is None:
            return 0.0
        group, dtype = self.scales if isinstance(self.scales, tuple) else (self.scales, SCALE)
        if isinstance(group, bool) or not isinstance(group, int) or group < 1:
            raise ValueError(
                f"scales={self.scales!r} must be how many weights share a scale, such as 128, or "
                'that and its dtype, as in (32, "fp8")'
            )
        return itemsize(dtype, "the dtype of scales") / group

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


def precision(peaks, weights=None, experts=None, activations=None, kv=None, stream=None,
              travel=None, embedding=None, lm_head=None, scales=None):  # fmt: skip
    """The Precision with everything settled that was left open, for a chip with these ``peaks``.

    The 16-bit format is the chip's own, or that of what was given. The stream is 16 bits wide, or
    as the activations where these are wider; the KV cache, the links, the embedding and lm_head
    follow the stream, and the experts follow the weights.
    """
    settled = [
        dtype and dtype_named(dtype, name)
        for name, dtype in (("stream", stream), ("activations", activations),
                            ("weights", weights), ("kv", kv))
    ]  # fmt: skip
    half = next((dtype for dtype in ("bf16", "fp16") if dtype in peaks), "bf16")
    wide = next((dtype for dtype in settled if dtype and ITEMSIZE[dtype] >= 2), half)
    stream, activations, weights, kv = settled
    stream = stream or (activations if activations and ITEMSIZE[activations] >= 2 else wide)
    activations = activations or stream
    weights = weights or stream
    return Precision(
        weights, experts or weights, activations, stream, kv or stream, travel or stream,
        embedding or stream, lm_head or embedding or stream, scales,
    )  # fmt: skip


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
