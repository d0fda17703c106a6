"""Language models by name, from models.toml, or from any Hugging Face config.json."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from roofkit._names import index, look_up
from roofkit._tables import html_table, text_table
from roofkit._units import engineering
from roofkit.models.llm.model import LLM

TABLE = Path(__file__).with_name("models.toml")
ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu", "relu": "relu",
}  # fmt: skip


class LLMTable(tuple):
    """Language models that show as a table, in a terminal and in a notebook."""

    __slots__ = ()
    _HEAD = (
        "model",
        "parameters",
        "active",
        "layers",
        "hidden",
        "heads",
        "KV heads",
        "MLP",
        "vocabulary",
    )
    _UNITS = ("",) * 9

    def _rows(self):
        for model in self:
            experts = f"{model.experts} × {model.expert_width}" if model.experts else f"{model.mlp}"
            yield [
                (model.name, model.source),
                engineering(model.parameters),
                engineering(model.active_parameters),
                *map(str, (model.layers, model.hidden, model.heads, model.kv_heads)),
                experts,
                str(model.vocabulary),
            ]

    def __repr__(self):
        return text_table(self._HEAD, self._UNITS, self._rows())

    def _repr_html_(self):
        return html_table(self._HEAD, self._UNITS, self._rows())


def llm(model):
    """A language model: by name, or from a config.json given as a dict or a path.

    Names ignore case, spaces, hyphens and underscores. Raises ValueError with the nearest names
    for one that is not in the table, and for a config that lacks a field or that describes
    something this package does not model.

    >>> llm("llama-2-7b").parameters
    6738415616
    """
    if isinstance(model, LLM):
        return model
    if isinstance(model, Mapping):
        return from_config(model)
    if isinstance(model, Path) or (isinstance(model, str) and model.endswith(".json")):
        return _from_file(Path(model))
    return look_up(model, _index(), "model")


@functools.cache
def llms():
    """Every language model of the table; shows as a table.

    >>> [model.name for model in llms() if model.experts]
    ['Mixtral-8x7B-v0.1', 'DeepSeek-MoE-16B']
    """
    table = _read()
    return LLMTable(
        from_config(entry["config"], entry["name"], source=table["sources"][entry["source"]])
        for entry in table["llm"]
    )


@functools.cache
def _index():
    entries = zip(_read()["llm"], llms(), strict=True)
    return index(
        {name: model for entry, model in entries for name in (entry["name"], *entry["aliases"])}
    )


@functools.cache
def _read():
    import tomllib  # read on demand: importing roofkit stays cheap

    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def _from_file(path):
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(config, Mapping):
        raise ValueError(f"{path} must hold a JSON object, got {type(config).__name__}")
    return from_config(config, source=str(path))


def from_config(config, name=None, *, source="given by the user"):
    """The LLM that the fields of a Hugging Face config.json describe.

    ``model_type`` names the family: what a config leaves unsaid, such as biases, follows from it.
    Raises ValueError naming the field that is missing or the feature that is not modelled.

    >>> from_config({"model_type": "llama", "hidden_size": 64, "intermediate_size": 256,
    ...              "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}).heads
    4
    """
    family = config.get("model_type")
    name = name or str(config.get("_name_or_path") or family or "config")
    read = _FAMILIES.get(family) if isinstance(family, str) else None
    if read is None:
        raise ValueError(
            f"{name}: model_type={family!r} is not modelled; known: {', '.join(_FAMILIES)}. "
            "A model of the same shape as one of them can borrow its model_type"
        )
    return read(_Fields(config, name, source))


class _Fields:
    """The fields of a config, each asked for by name so that a missing one can be named."""

    def __init__(self, config, name, source):
        self.config, self.name, self.source = config, name, source

    def __getitem__(self, field):
        value = self.config.get(field)
        if value is None:
            raise ValueError(f"{self.name}: the config has no {field!r}, which its costs need")
        return value

    def get(self, field, default=None):
        value = self.config.get(field)
        return default if value is None else value

    def flag(self, field, default=False):
        value = self.get(field, default)
        if not isinstance(value, bool):
            raise ValueError(f"{self.name}: {field}={value!r} must be true or false")
        return value

    def refuse(self, field, value, why):
        raise ValueError(f"{self.name}: {field}={value!r} is not modelled: {why}")

    def activation(self, field, default):
        function = self.get(field, default)
        if function not in ACTIVATIONS:
            self.refuse(field, function, f"known are {', '.join(ACTIVATIONS)}")
        return ACTIVATIONS[function]


def _llama_like(fields, *, activation="silu", tied=False, **choices):
    if fields.get("kv_lora_rank"):
        fields.refuse("kv_lora_rank", fields["kv_lora_rank"], "latent attention has other shapes")
    sizes = {
        "hidden": fields["hidden_size"],
        "layers": fields["num_hidden_layers"],
        "heads": fields["num_attention_heads"],
        "kv_heads": fields.get("num_key_value_heads"),
        "head_dim": fields.get("head_dim"),
        "vocabulary": fields["vocab_size"],
        "activation": fields.activation("hidden_act", activation),
        "tied": fields.flag("tie_word_embeddings", tied),
    }
    if "mlp" not in choices:
        sizes["mlp"] = fields["intermediate_size"]
    return LLM(fields.name, **{**sizes, **choices}, source=fields.source)


def _llama(fields):
    biases = fields.flag("attention_bias", False)
    return _llama_like(
        fields, qkv_bias=biases, out_bias=biases, mlp_bias=fields.flag("mlp_bias", False)
    )


def _mistral(fields):
    return _llama_like(fields, window=fields.get("sliding_window"))


def _mixtral(fields):
    return _llama_like(
        fields, window=fields.get("sliding_window"), mlp=0,
        experts=fields["num_local_experts"], experts_per_token=fields["num_experts_per_tok"],
        expert_width=fields["intermediate_size"],
    )  # fmt: skip


def _qwen2(fields):
    window = fields.get("sliding_window") if fields.flag("use_sliding_window") else None
    return _llama_like(fields, qkv_bias=True, window=window)


def _qwen3(fields):
    biases = fields.flag("attention_bias", False)
    return _llama_like(fields, qkv_bias=biases, out_bias=biases, qk_norm="head")


def _qwen3_moe(fields):
    if fields.get("decoder_sparse_step", 1) != 1 or fields.get("mlp_only_layers"):
        fields.refuse(
            "mlp_only_layers", fields.get("mlp_only_layers"), "experts are in every layer"
        )
    return _llama_like(
        fields, qk_norm="head", mlp=0, experts=fields["num_experts"],
        experts_per_token=fields["num_experts_per_tok"],
        expert_width=fields["moe_intermediate_size"],
    )  # fmt: skip


def _deepseek(fields):
    if fields.get("moe_layer_freq", 1) != 1:
        fields.refuse("moe_layer_freq", fields["moe_layer_freq"], "experts are in every layer")
    width = fields["moe_intermediate_size"]
    return _llama_like(
        fields, experts=fields["n_routed_experts"],
        experts_per_token=fields["num_experts_per_tok"], expert_width=width,
        shared_width=width * fields.get("n_shared_experts", 0),
        dense_layers=fields.get("first_k_dense_replace", 0),
    )  # fmt: skip


def _gemma(fields):
    return _llama_like(fields, activation="gelu_pytorch_tanh", tied=True)


def _opt(fields):
    hidden = fields["hidden_size"]
    if fields.get("word_embed_proj_dim", hidden) != hidden:
        fields.refuse("word_embed_proj_dim", fields["word_embed_proj_dim"], "hidden_size expected")
    if not fields.flag("do_layer_norm_before", True):
        fields.refuse("do_layer_norm_before", False, "norms come before their layers")
    biases = fields.flag("enable_bias", True)
    return LLM(
        fields.name, hidden, fields["num_hidden_layers"], fields["num_attention_heads"],
        fields["vocab_size"], fields["ffn_dim"], gated=False,
        activation=fields.activation("activation_function", "relu"), norm="layer", rotary=False,
        # Two positions come before the first.
        positions=fields["max_position_embeddings"] + 2,
        tied=fields.flag("tie_word_embeddings", True), qkv_bias=biases, out_bias=biases,
        mlp_bias=biases, source=fields.source,
    )  # fmt: skip


def _gpt2(fields):
    hidden = fields["n_embd"]
    return LLM(
        fields.name, hidden, fields["n_layer"], fields["n_head"], fields["vocab_size"],
        fields.get("n_inner", 4 * hidden), gated=False,
        activation=fields.activation("activation_function", "gelu_new"), norm="layer",
        rotary=False, positions=fields["n_positions"],
        tied=fields.flag("tie_word_embeddings", True), qkv_bias=True, out_bias=True, mlp_bias=True,
        source=fields.source,
    )  # fmt: skip


_FAMILIES = {
    "llama": _llama, "mistral": _mistral, "mixtral": _mixtral, "qwen2": _qwen2, "qwen3": _qwen3,
    "qwen3_moe": _qwen3_moe, "deepseek": _deepseek, "gemma": _gemma, "phi3": _mistral,
    "opt": _opt, "gpt2": _gpt2,
}  # fmt: skip
