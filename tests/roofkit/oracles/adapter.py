"""The one place where oracles meet roofkit: what it says, in the oracles' terms.

Counts are those of all occurrences of a layer together.
"""

import dataclasses
import tomllib
from dataclasses import dataclass
from importlib import resources

import roofkit as rk
from roofkit.hardware import Interconnect
from roofkit.models import Precision, Split
from roofkit.models.cnn import layers as cnn_layers
from roofkit.models.llm.families import FAMILIES
from roofkit.models.llm.model import Latent

# A width each, as far as there are so many: a scale of 2 bytes comes with 16 narrow weights.
FORMATS = {
    "weights": "int8", "experts": "int4", "scales": 16, "activations": "bf16", "stream": "fp32",
    "kv": "fp64", "travel": "fp8", "embedding": "int4", "lm_head": "fp64",
}  # fmt: skip
# Bytes an element by what it is; biases and norms are stored as the stream is.
WIDTHS = {
    "matrix": 1.125, "expert": 0.625, "vector": 4, "embedding": 0.5, "lm_head": 8,
    "stream": 4, "activation": 2, "cache": 8, "travel": 1,
}  # fmt: skip
PEAK, BANDWIDTH, EGRESS = 1e12, 1e11, 1e10
CHIP = rk.Chip(
    "any", peaks=dict.fromkeys(("fp64", "fp32", "bf16"), PEAK), bandwidth=BANDWIDTH, capacity=1e12,
    interconnect=Interconnect(1, EGRESS, "switch", largest=16),
)  # fmt: skip


@dataclass
class Said:
    """What a table says of the layers of one name: FLOPs, bytes, and bytes over the link."""

    times: int
    flops: float
    weight: float
    activation: float
    cache: float
    sent: float


def families():
    """The model_type of every config that roofkit claims to read."""
    return sorted(FAMILIES)


def shape(fields):
    """All that decides the costs of a config's model: the context that it was made for does not."""
    return dataclasses.replace(rk.llm(fields), context=None)


def served(sizes, chips=1, how="fused", rows=None, *, riding=False, bandwidth=BANDWIDTH,
           **ways):  # fmt: skip
    """A model of these sizes, on a chip or split among several behind a switch.

    ``rows`` of queries are what fused attention has room for beside their output, K and V. With
    ``riding`` norms, activations and sums ride along with matmuls.
    """
    # There a flag; and experts have biases where every MLP has.
    also = {"qk_norm": "head" if sizes.get("qk_norm") else ""}
    also["expert_bias"] = bool(sizes.get("experts") and sizes.get("mlp_bias"))
    also["latent"] = Latent(*sizes["latent"]) if sizes["latent"] else None
    model = rk.models.LLM("tiny", **sizes | also)
    attention = {"fused": "flash", "unfused": "unfused"}[how]
    on_chip = None if rows is None else 4 * WIDTHS["stream"] * model.head_dim * rows
    formats = FORMATS | ({"lm_head": FORMATS["embedding"]} if model.tied else {})
    chip = dataclasses.replace(CHIP, bandwidth=bandwidth)
    return model.on(
        chip, split=Split(tensor=chips, **ways), precision=Precision(**formats),
        attention=attention, fused=riding, on_chip=on_chip,
    )  # fmt: skip


def layers(served, batch, new, cached=0):
    """A pass over new tokens on a cached prefix, as {name: Said}."""
    return {
        layer.name: Said(
            layer.count,
            layer.count * layer.flops,
            layer.count * layer.weights,
            layer.count * layer.activations,
            layer.count * layer.kv,
            layer.count * layer.link,
        )
        for layer in served.forward(batch, new, cached)
    }


def times(served, batch, new, cached=0):
    """The seconds of a pass at best and at worst, and of each layer: {name: (…, …, bound)}."""
    table = served.forward(batch, new, cached)
    each = {
        layer.name: (layer.count * layer.time, layer.count * layer.estimate.upper, layer.bound)
        for layer in table
    }
    return (table.time, table.upper), each


def memory(served, batch, prompt, output=1):
    """Bytes that a chip must hold: {"weight": …, "cache": …, "activation": …}."""
    held = served.memory(batch, prompt, output, chunk=None)
    return {"weight": held.weights, "cache": held.kv, "activation": held.activations}


def network(layers, shape):
    """roofkit's CNN of the tiny one's layers, each named by its place as there."""
    return rk.models.CNN("tiny", _described(layers, ""), shape)


def _described(layers, at):
    makers = {
        "conv": cnn_layers.Conv, "dense": cnn_layers.Dense, "pool": cnn_layers.Pool,
        "global_pool": cnn_layers.GlobalPool, "norm": cnn_layers.BatchNorm,
        "relu": cnn_layers.ReLU,
    }  # fmt: skip
    described = []
    for place, (kind, *sizes) in enumerate(layers):
        name = f"{at}{kind}{place}"
        if kind == "residual":
            ways = [_described(way, f"{name}.{n}.") for n, way in enumerate(sizes)]
            described.append(cnn_layers.Residual(*ways, name=name))
        else:
            described.append(makers[kind](*sizes, name=name))
    return described


def forward(network, batch, **how):
    """The layers of a forward pass of a CNN, as {name: Said}, but elements."""
    table = network.forward(CHIP, batch, "fp32", **how)
    return {
        layer.name: Said(layer.count, layer.flops, layer.weights / 4, layer.activations / 4, 0, 0)
        for layer in table
    }


# What the oracle counts by place, as the layers that roofkit splits it into.
_PLACES = {
    "projections": ("q_proj", "k_proj", "v_proj", "o_proj", "q_down_proj", "kv_down_proj",
                    "kv_up_proj"),
    "mlp": ("gate_proj", "up_proj", "down_proj", "router", "experts_gate", "experts_up",
            "experts_down", "shared_gate", "shared_up", "shared_down", "shared_scale"),
    "head": ("lm_head",),
    "rectangle": ("qk_matmul", "sv_matmul", "window_qk_matmul", "window_sv_matmul"),
    "attention": ("attention", "window_attention"),
}  # fmt: skip


def flops_by_place(fields, batch, new, cached):
    """FLOPs of a pass by place; attention with the softmax that is fused into it.

    On a memory so fast that FLOPs alone decide what is quicker.
    """
    model, chip = rk.llm(fields), dataclasses.replace(CHIP, bandwidth=1e30)
    tables = [
        layers(model.on(chip, attention=how, fused=False), batch, new, cached)
        for how in ("unfused", "flash")
    ]
    found = {
        place: sum(table[name].flops for name in names if name in table)
        for table in tables
        for place, names in _PLACES.items()
        if any(name in table for name in names)
    }
    if model.latent:
        found.pop("rectangle", None)
    return found


def parameters(fields):
    """Parameters of the model that a config describes; ValueError where it is refused."""
    return rk.llm(fields).parameters


def windows(fields):
    """The window of each layer: how many keys a token attends to at most, or None."""
    model = rk.llm(fields)
    return [model.window] * model.window_layers + [None] * (model.layers - model.window_layers)


def cache(fields, batch, length):
    """Elements of the KV cache of so many sequences of this length."""
    return (
        memory(rk.llm(fields).on(CHIP, precision=Precision(kv="fp64")), batch, length)["cache"] / 8
    )


def published():
    """The configs of roofkit's table of models, by name, with what it counts of each."""
    return {
        entry["name"]: (
            entry["config"] | dict.fromkeys(entry.get("null", ())),
            rk.llm(entry["name"]).parameters,
        )
        for entry in _table()
    }


def _table():
    text = (resources.files("roofkit.models.llm") / "models.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["llm"]
