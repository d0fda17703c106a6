"""A decoder-only transformer, described by the sizes that determine its costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from roofkit._tables import wrap_lines
from roofkit.models.llm.split import Shard, shard

ACTIVATIONS = ("silu", "gelu", "relu")
# Norms per block: usually two; one if attention and MLP run in parallel on the same normalised
# input; four if their results are also normalised.
BLOCK_NORMS = (1, 2, 4)


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention, which derives all heads' K and V from one vector per token.

    kv_rank : int
        Width of this vector, which is cached.
    q_rank : int
        Width of the vector that yields the queries; 0 if the residual stream yields them directly.
    nope, value : int
        Width of the part of a head's key without position encoding, and of a head's value.
    rope : int
        Width of the part of a key with position encoding, shared by all heads and also cached.

    Source: DeepSeek-V2, arXiv:2405.04434, section 2.1.
    """

    kv_rank: int
    q_rank: int
    nope: int
    rope: int
    value: int


class Parameters(NamedTuple):
    """Parameter counts by storage format; ``vectors`` are biases and norm parameters."""

    matrices: int
    experts: int
    vectors: int
    embedding: int
    lm_head: int


@dataclass(frozen=True, repr=False)
class LLM:
    """A decoder-only transformer.

    Parameters
    ----------
    name : str
    hidden : int
        Width of the residual stream.
    layers, heads : int
        Number of blocks, and of query heads per block.
    vocabulary : int
        Number of token vectors, which is also the width of the logits.
    mlp : int
        Width of the dense MLP; 0 if every block is a mixture of experts.
    kv_heads, head_dim : int, optional
        Number of K and V heads (default: ``heads``) and their width (default: hidden / heads).
    latent : Latent, optional
        Multi-head latent attention instead of K and V heads.
    gated : bool
        Whether the MLP has a gate matrix in addition to its up and down matrices.
    activation : "silu", "gelu" or "relu"
        The activation function of the MLP.
    norm, norm_bias : "rms" or "layer", bool
        Kind of norm. A layer norm has a scale and a shift, or only a scale if ``norm_bias=False``.
    block_norms : 1, 2 or 4
        Number of norms per block. With one, attention and MLP read the same normalised input.
    parallel : bool
        Whether attention and MLP run in parallel and add their results to the residual stream
        together. Always true if blocks have one norm.
    rotary : bool
        Whether positions are encoded with rotary embeddings.
    positions : int
        Number of learned position vectors; 0 for none.
    tied : bool
        Whether lm_head shares the embedding matrix.
    qkv_bias, out_bias, mlp_bias, head_bias : bool
        Whether there are biases in Q, K and V, in the output matrix of attention, in the MLP and in
        lm_head.
    sinks : bool
        Whether each head has an attention sink: a learned score without a key.
    qk_norm : "", "head" or "width"
        Whether queries and keys are normalised, with parameters for one head or the full width.
    window, windowed_layers : int, optional
        Maximum number of keys that a token attends to (sliding-window attention), and the number of
        layers with this window (default: all).
    experts, experts_per_token, expert_width : int
        Mixture of experts: number of experts, number used per token, and width of each.
    shared_width, shared_gate : int, bool
        Width of the shared expert, which every token uses, and whether it has a gate.
    expert_bias, router_bias : bool
        Whether the experts have biases, and whether the router has one.
    dense_layers : int
        Number of blocks with a dense MLP in a mixture-of-experts model.
    context : int, optional
        Longest sequence that the model was trained for. Longer sequences are computed anyway.
    stored : mapping
        Formats of a quantised checkpoint, which ``on`` uses as defaults.
    source : str
        Source of these sizes.

    Raises ValueError naming the size that is missing or inconsistent.

    >>> tiny = LLM("tiny", hidden=64, layers=2, heads=4, vocabulary=100, mlp=256)
    >>> tiny
    LLM(tiny: 144,192 parameters, 2 layers, hidden 64, 4 heads, MLP 256, vocabulary 100)
    """

    name: str
    hidden: int
    layers: int
    heads: int
    vocabulary: int
    mlp: int
    kv_heads: int | None = None
    head_dim: int | None = None
    latent: Latent | None = None
    gated: bool = True
    activation: str = "silu"
    norm: str = "rms"
    norm_bias: bool = True
    block_norms: int = 2
    parallel: bool = False
    rotary: bool = True
    positions: int = 0
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    sinks: bool = False
    qk_norm: str = ""
    window: int | None = None
    windowed_layers: int | None = None
    experts: int = 0
    experts_per_token: int = 0
    expert_width: int = 0
    shared_width: int = 0
    shared_gate: bool = False
    expert_bias: bool = False
    router_bias: bool = False
    dense_layers: int = 0
    context: int | None = None
    stored: Mapping = field(default_factory=dict, hash=False)
    source: str = "given by the user"

    def __post_init__(self):
        def settle(name, value):
            object.__setattr__(self, name, value)

        if self.kv_heads is None:
            settle("kv_heads", self.heads)
        at_least = dict.fromkeys(("hidden", "layers", "heads", "vocabulary", "kv_heads"), 1)
        at_least |= dict.fromkeys(
            ("mlp", "positions", "experts", "experts_per_token", "expert_width", "shared_width",
             "dense_layers"), 0,
        )  # fmt: skip
        optional = {"head_dim": 1, "window": 1, "windowed_layers": 0, "context": 1}
        at_least |= {
            name: least for name, least in optional.items() if getattr(self, name) is not None
        }
        for name, least in at_least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                self._refuse(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.head_dim is None:
            if self.hidden % self.heads:
                self._refuse(
                    f"{self.heads} heads do not divide the hidden width {self.hidden}; "
                    "give head_dim if it isn't hidden / heads"
                )
            settle("head_dim", self.hidden // self.heads)
        if self.kv_heads > self.heads:
            self._refuse(f"{self.kv_heads} KV heads exceed the {self.heads} query heads")
        if self.heads % self.kv_heads:
            self._refuse(f"{self.kv_heads} KV heads do not divide the {self.heads} query heads")
        for name, known in (
            ("activation", ACTIVATIONS), ("norm", ("rms", "layer")), ("block_norms", BLOCK_NORMS),
            ("qk_norm", ("", "head", "width")),
        ):  # fmt: skip
            if getattr(self, name) not in known:
                listed = ", ".join(str(each) or '""' for each in known)
                self._refuse(f"{name}={getattr(self, name)!r} must be one of {listed}")
        for name in ("gated", "norm_bias", "parallel", "rotary", "tied", "qkv_bias", "out_bias",
                     "mlp_bias", "head_bias", "sinks", "shared_gate", "expert_bias",
                     "router_bias"):  # fmt: skip
            if not isinstance(getattr(self, name), bool):
                self._refuse(f"{name}={getattr(self, name)!r} must be True or False")
        if self.block_norms == 1:
            settle("parallel", True)
        for name in ("dense_layers", "windowed_layers"):
            if (getattr(self, name) or 0) > self.layers:
                self._refuse(f"{name}={getattr(self, name)} exceeds its {self.layers} layers")
        if self.windowed_layers and self.window is None:
            self._refuse(f"{self.windowed_layers} windowed layers need a window")
        if self.experts and not (self.expert_width and 1 <= self.experts_per_token <= self.experts):
            self._refuse(
                f"{self.experts} experts need an expert_width above 0 and experts_per_token of 1 "
                f"to {self.experts}, got {self.expert_width} and {self.experts_per_token}"
            )
        if not self.experts and (self.expert_width or self.shared_width or self.dense_layers):
            self._refuse("expert_width, shared_width and dense_layers need experts")
        if not self.mlp and self.dense_mlps:
            self._refuse(f"{self.dense_mlps} of its layers need a dense MLP, but mlp is 0")
        if self.latent is not None and (self.qk_norm or self.qkv_bias or self.window):
            self._refuse("latent attention supports no qk_norm, qkv_bias or window")

    def _refuse(self, what):
        raise ValueError(f"{self.name}: {what}")

    def __repr__(self):
        heads = f"{self.heads} heads"
        if self.kv_heads != self.heads:
            heads += f" ({self.kv_heads} KV heads)"
        mlps = [f"MLP {self.mlp}"] if self.dense_mlps else []
        if self.experts:
            mlps.append(
                f"{self.experts_per_token} of {self.experts} experts of width {self.expert_width}"
            )
        parts = [
            f"{self.parameters:,} parameters", f"{self.layers} layers", f"hidden {self.hidden}",
            heads, *mlps, f"vocabulary {self.vocabulary}",
        ]  # fmt: skip
        return wrap_lines(f"LLM({self.name}: {', '.join(parts)})")

    @property
    def dense_mlps(self):
        """Number of blocks with a dense MLP."""
        return self.dense_layers if self.experts else self.layers

    @property
    def expert_mlps(self):
        """Number of blocks with a mixture of experts."""
        return self.layers - self.dense_mlps

    @property
    def window_layers(self):
        """Number of layers whose attention has a window."""
        if self.window is None:
            return 0
        return self.layers if self.windowed_layers is None else self.windowed_layers

    @property
    def norm_vectors(self):
        """Norm parameters per element of width."""
        return 2 if self.norm == "layer" and self.norm_bias else 1

    @property
    def cached_width(self):
        """KV cache elements per token and layer, if one chip has the whole cache."""
        if self.latent:
            return self.latent.kv_rank + self.latent.rope
        return 2 * self.kv_heads * self.head_dim

    @property
    def parameters(self):
        """Number of weights, biases and norm parameters; a tied matrix counts once.

        >>> import roofkit as rk
        >>> rk.llm("Llama-2-7B").parameters
        6738415616
        """
        return sum(self.parameters_by_kind())

    @property
    def active_parameters(self):
        """Number of parameters used for one token, counting only the experts that it uses."""
        idle = self.experts - self.experts_per_token
        matrices, biases = self.mlp_parameters(self.expert_width, self.expert_bias)
        return self.parameters - self.expert_mlps * idle * (matrices + biases)

    def parameters_by_kind(self, held: Shard | None = None) -> Parameters:
        """Return the Parameters on one chip, summed over the pipeline stages.

        Heads, MLP widths, experts and the vocabulary are split across chips. Every chip has all
        norms, routers and output biases, and at least one whole K and V head.
        """
        on = held or shard(self)
        d, norm = self.hidden, self.norm_vectors
        matrices, vectors = self._attention(on)
        matrices, vectors = self.layers * matrices, self.layers * vectors
        vectors += (self.layers * self.block_norms + 1) * norm * d
        if self.dense_mlps:
            weights, biases = self.mlp_parameters(on.mlp, self.mlp_bias)
            matrices += self.dense_mlps * weights
            vectors += self.dense_mlps * biases
        routed = 0
        if self.expert_mlps:
            weights, biases = self.mlp_parameters(on.expert_width, self.expert_bias)
            routed = self.expert_mlps * on.experts * weights
            shared, shared_biases = self.mlp_parameters(on.shared_width, self.mlp_bias)
            matrices += self.expert_mlps * (self.experts * d + shared + self.shared_gate * d)
            vectors += self.expert_mlps * (
                on.experts * biases + self.router_bias * self.experts + shared_biases
            )
        return Parameters(
            matrices,
            routed,
            vectors + self.head_bias * on.vocabulary,
            (on.vocabulary + self.positions) * d,
            0 if self.tied else on.vocabulary * d,
        )

    def mlp_parameters(self, width, bias):
        """Return the number of weights and the number of biases in an MLP of this width."""
        if not width:
            return 0, 0
        biases = bias * ((1 + self.gated) * width + self.hidden)
        return (2 + self.gated) * self.hidden * width, biases

    def _attention(self, on):
        """Return two parameter counts for one layer's attention: matrices, and biases and norms."""
        d = self.hidden
        if self.latent:
            wide = self.latent
            heads = on.heads
            key = wide.nope + wide.rope
            down = d * (wide.q_rank + wide.kv_rank + wide.rope)
            queries = heads * key * (wide.q_rank or d)
            up = heads * wide.kv_rank * (wide.nope + wide.value)
            return (
                down + queries + up + heads * wide.value * d,
                (wide.q_rank + wide.kv_rank) * self.norm_vectors + self.out_bias * d,
            )
        q, kv = on.q_dim, on.kv_dim
        normed = {"": 0, "head": 2 * self.head_dim, "width": q + kv}[self.qk_norm]
        vectors = self.qkv_bias * (q + 2 * kv) + self.out_bias * d
        vectors += self.norm_vectors * normed + self.sinks * on.heads
        return d * (q + 2 * kv) + q * d, vectors

    def on(self, chip, *, precision=None, split=None, links=None, fused=None, attention="flash",
           on_chip=None, unconfirmed=False, calibration=None, convention="roofkit",
           **unknown):  # fmt: skip
        """Return the Deployment of this model on one or more chips; see Deployment for the options.

        Raises ValueError for an unknown option and suggests the closest ones.

        >>> import roofkit as rk
        >>> served = rk.llm("Llama-2-7B").on(rk.chip("RTX A6000"), convention="llm-viewer")
        >>> round(served.decode(batch=1, context=2048)["q_proj"].attainable / 1e9)
        768
        """
        # Imported here because a model without a deployment needs no chips.
        from roofkit.models.llm.deployment import Deployment, refuse_option

        for name, value in unknown.items():
            refuse_option(name, value)
        return Deployment(
            self, chip, precision=precision, split=split, links=links, fused=fused,
            attention=attention, on_chip=on_chip, unconfirmed=unconfirmed,
            calibration=calibration, convention=convention,
        )  # fmt: skip

    def fewest_chips(self, chip, batch=1, prompt=2048, output=1, **choices):
        """Return the Deployment on the fewest chips that fit; see ``solve.fewest_chips``."""
        from roofkit.models.llm.solve import fewest_chips

        return fewest_chips(self, chip, batch, prompt, output, **choices)
