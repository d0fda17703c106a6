"""How a model is spread over chips: the widths that each of them holds."""

import math
import operator
from typing import NamedTuple


class Split(NamedTuple):
    """What each chip holds of a model, and among how many it is spread.

    ``tensor`` chips share every layer, ``pipeline`` such groups share the layers, and ``data``
    such pipelines serve sequences of their own. The experts of a layer are dealt out in ``expert``
    shares; what chips remain share the width of each. Widths are elements: of the queries, of K
    (or V), of K in the cache, and of what o_proj is multiplied by.
    """

    tensor: int
    pipeline: int
    data: int
    expert: int
    q_dim: int
    kv_dim: int
    kv_cached: float
    o_dim: int
    mlp: int
    experts: int
    expert_width: int
    shared_width: int
    vocabulary: int

    @property
    def chips(self):
        """Chips in all."""
        return self.tensor * self.pipeline * self.data

    @property
    def exchanges(self):
        """Whether experts lie across replicas, so that these send each other tokens: see split."""
        return self.tensor % self.expert != 0


def split(model, chips=1, *, pipeline=1, data=1, expert=1, kv_heads="replicated"):
    """The Split of a model over ``chips`` that share each layer, in ``pipeline`` stages, and so on.

    Where ``expert`` divides ``chips``, every replica holds all experts in so many shares, and sends
    no tokens to others, however many ``data`` replicas there are: 8 shares on 2 replicas of 8 chips
    are an expert's share on each chip of both. Else the shares lie across the replicas, which
    exchange tokens: the same 16 chips in 16 shares. Where there are more chips than KV heads, each
    head is "replicated" on several, or its cache is "split" among them by tokens.

    Raises ValueError where heads, an MLP, experts or layers cannot be split among so many.

    >>> from roofkit.models.llm.configs import llm
    >>> split(llm("Llama-2-70B"), 8).q_dim
    1024
    """
    ways = {"chips": chips, "pipeline": pipeline, "data": data, "expert": expert}
    for name, value in ways.items():
        ways[name] = _ways(value, name)
    chips, pipeline, data, expert = ways.values()
    if kv_heads not in ("replicated", "split"):
        raise ValueError(f'kv_heads={kv_heads!r} must be "replicated" or "split"')

    def refuse(what):
        raise ValueError(f"{model.name}: {what}")

    if model.latent and kv_heads == "split":
        refuse('its latent vectors lie whole on every chip; leave kv_heads="split" out')
    if model.heads % chips:
        refuse(f"its {model.heads} query heads cannot be split among {chips} chips")
    if not model.latent and model.kv_heads % chips and chips % model.kv_heads:
        refuse(f"its {model.kv_heads} KV heads cannot be split among {chips} chips")
    for name in ("mlp", "shared_width"):
        if getattr(model, name) % chips:
            refuse(f"{name} {getattr(model, name)} cannot be split among {chips} chips")
    if pipeline > model.layers:
        refuse(f"its {model.layers} layers cannot be spread over {pipeline} stages")
    if expert > 1 and not model.experts:
        refuse(f"expert={expert} needs a mixture of experts")
    across = expert if chips % expert else 1  # shares that lie across replicas
    ranks = chips * data if across > 1 else chips
    if ranks % expert or (across > 1 and expert % data):
        refuse(
            f"expert={expert} must divide the {chips} chips of a replica, or be {data} (its "
            f"replicas) times a divisor of {chips}"
        )
    if model.experts % expert:
        refuse(f"its {model.experts} experts cannot be dealt out in {expert} shares")
    narrower = ranks // expert
    if model.expert_width % narrower:
        refuse(f"expert_width {model.expert_width} cannot be split among {narrower} chips")
    kv_dim = max(model.kv_heads // chips, 1) * model.head_dim
    return Split(
        chips, pipeline, data, expert,
        q_dim=model.heads // chips * model.head_dim,
        kv_dim=kv_dim,
        kv_cached=kv_dim if kv_heads == "replicated" else model.kv_heads * model.head_dim / chips,
        o_dim=model.heads // chips * (model.latent.value if model.latent else model.head_dim),
        mlp=model.mlp // chips,
        experts=model.experts // expert,
        expert_width=model.expert_width // narrower,
        shared_width=model.shared_width // chips,
        vocabulary=math.ceil(model.vocabulary / chips),
    )  # fmt: skip


def _ways(value, name):
    try:
        whole = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        whole = None
    if whole is None or whole < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
    return whole
