"""How a model is spread over chips, and what each of them then holds of it."""

import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

from roofkit.models.llm.options import Options


@dataclass(frozen=True, repr=False)
class Split(Options):
    """In how many ways a model is spread over chips.

    Parameters
    ----------
    tensor : int
        Chips that share every layer (tensor parallelism). Heads, MLP widths and the vocabulary are
        split among them, with an all-reduce after attention, MLP and embedding, and an all-gather
        of the logits.
    pipeline : int
        Stages among which the layers are dealt out (pipeline parallelism). They work on a batch in
        as many parts.
    data : int
        Replicas that serve sequences of their own (data parallelism).
    expert : int
        Shares in which the experts of a layer are dealt out (expert parallelism). A share on
        several chips has the width of its experts split among them. Where ``expert`` divides
        ``tensor``, every replica holds all experts and sends no tokens to others, however many
        replicas there are: with 8 shares, 2 replicas of 8 chips have one share on each chip. Else
        the shares lie across the replicas, which exchange tokens: the same 16 chips in 16 shares.
    kv_heads : "replicated" or "split"
        What happens where ``tensor`` is more than the KV heads: each head is on several chips, or
        its cache is split among them by tokens. What chips that split a head send each other,
        queries and partial results, is not counted.

    Raises ValueError for a count that is no whole number of at least 1.

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
        """Chips in all."""
        return self.tensor * self.pipeline * self.data

    @property
    def exchanges(self):
        """Whether experts lie across replicas, so that these send each other tokens."""
        return self.tensor % self.expert != 0


class Shard(NamedTuple):
    """What each chip holds of a model that is split: widths in elements, heads and experts.

    ``q_dim`` and ``kv_dim`` are the widths of the queries and of K (or V), ``kv_cached`` is that of
    K in the cache, and ``o_dim`` that of what o_proj is multiplied by.
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
    """The Shard that a chip holds of a model with this Split; of the whole model unless given.

    Raises ValueError where heads, an MLP, experts or layers cannot be split among so many.

    >>> from roofkit.models.llm.configs import llm
    >>> shard(llm("Llama-2-70B"), Split(tensor=8)).q_dim
    1024
    """
    split = split or Split()
    chips, data, expert = split.tensor, split.data, split.expert

    def refuse(what):
        raise ValueError(f"{model.name}: {what}")

    if model.latent and split.kv_heads == "split":
        refuse('its latent vectors lie whole on every chip; leave kv_heads="split" out')
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
            f"expert={expert} must divide the {chips} chips of a replica, or be {data} (its "
            f"replicas) times a divisor of {chips}"
        )
    if model.experts % expert:
        refuse(f"its {model.experts} experts cannot be dealt out in {expert} shares")
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
