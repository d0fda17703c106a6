"""How a model is split across chips, and each chip's part of it."""

import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

from roofkit.models.llm.options import Options


@dataclass(frozen=True, repr=False)
class Split(Options):
    """How a model is split across chips.

    Parameters
    ----------
    tensor : int
        Number of chips that share every layer (tensor parallelism). Heads, MLP widths and the
        vocabulary are split among them, with an all-reduce after attention, MLP and embedding, and
        an all-gather of the logits.
    pipeline : int
        Number of stages that the layers are divided into (pipeline parallelism). The batch is
        divided into the same number of parts.
    data : int
        Number of replicas that serve separate sequences (data parallelism).
    expert : int
        Number of shares that a layer's experts are divided into (expert parallelism). Chips with
        the same share split the width of its experts. If ``expert`` divides ``tensor``, every
        replica has all experts and sends no tokens to others. For example, with 8 shares on 2
        replicas of 8 chips, each chip has one share. Otherwise, as with 16 shares on these 16
        chips, the shares are spread across the replicas, which exchange tokens.
    kv_heads : "replicated" or "split"
        What to do if there are fewer KV heads than ``tensor`` chips: copy each head to several
        chips, or split its cache among them by tokens. The queries and partial results exchanged by
        chips that share a split head are not counted.

    Raises ValueError for a count that isn't a whole number of at least 1.

    >>> Split(tensor=8, pipeline=2).chips
    16
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    kv_heads: str = "replicated"

    def __post_init__(self):
        for name in ("tensor", "pipeline", "data", "expert"):
            value = getattr(self, name)
            try:
                whole = None if isinstance(value, bool) else operator.index(value)
            except TypeError:
                whole = None
            if whole is None or whole < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
            object.__setattr__(self, name, whole)
        if self.kv_heads not in ("replicated", "split"):
            raise ValueError(f'kv_heads={self.kv_heads!r} must be "replicated" or "split"')

    @property
    def chips(self):
        """The total number of chips."""
        return self.tensor * self.pipeline * self.data

    @property
    def exchanges(self):
        """Whether experts are spread across replicas, which then exchange tokens."""
        return self.tensor % self.expert != 0


class Shard(NamedTuple):
    """Each chip's part of a split model: heads, experts, and widths in elements.

    ``q_dim`` and ``kv_dim`` are the widths of the queries and of K (or V), ``kv_cached`` is the
    width of K in the cache, and ``o_dim`` is the input width of o_proj.
    """

    heads: int
    q_dim: int
    kv_dim: int
    kv_cached: float
    o_dim: int
    mlp: int
    experts: int
    expert_width: int
    shared_width: int
    vocabulary: int


def shard(model, split=None):
    """Return each chip's Shard of a model with this Split (default: the whole model).

    Raises ValueError if heads, an MLP, experts or layers cannot be split this way.

    >>> from roofkit.models.llm.configs import llm
    >>> shard(llm("Llama-2-70B"), Split(tensor=8)).q_dim
    1024
    """
    split = split or Split()
    chips, data, expert = split.tensor, split.data, split.expert

    def refuse(what):
        raise ValueError(f"{model.name}: {what}")

    if model.latent and split.kv_heads == "split":
        refuse('its latent vectors cannot be split; leave kv_heads="split" out')
    if model.heads % chips:
        refuse(f"its {model.heads} query heads cannot be split among {chips} chips")
    if not model.latent and model.kv_heads % chips and chips % model.kv_heads:
        refuse(f"its {model.kv_heads} KV heads cannot be split among {chips} chips")
    for name in ("mlp", "shared_width"):
        if getattr(model, name) % chips:
            refuse(f"{name} {getattr(model, name)} cannot be split among {chips} chips")
    if split.pipeline > model.layers:
        refuse(f"its {model.layers} layers cannot be spread over {split.pipeline} stages")
    if expert > 1 and not model.experts:
        refuse(f"expert={expert} needs a mixture of experts")
    ranks = chips * data if split.exchanges else chips
    if ranks % expert or (split.exchanges and expert % data):
        refuse(
            f"expert={expert} must divide the {chips} chips of a replica, or be {data} (the number "
            f"of replicas) times a divisor of {chips}"
        )
    if model.experts % expert:
        refuse(f"its {model.experts} experts cannot be split into {expert} equal shares")
    narrower = ranks // expert
    if model.expert_width % narrower:
        refuse(f"expert_width {model.expert_width} cannot be split among {narrower} chips")
    heads = model.heads // chips
    kv_dim = max(model.kv_heads // chips, 1) * model.head_dim
    replicated = split.kv_heads == "replicated"
    return Shard(
        heads=heads,
        q_dim=heads * model.head_dim,
        kv_dim=kv_dim,
        kv_cached=kv_dim if replicated else model.kv_heads * model.head_dim / chips,
        o_dim=heads * (model.latent.value if model.latent else model.head_dim),
        mlp=model.mlp // chips,
        experts=model.experts // expert,
        expert_width=model.expert_width // narrower,
        shared_width=model.shared_width // chips,
        vocabulary=math.ceil(model.vocabulary / chips),
    )
