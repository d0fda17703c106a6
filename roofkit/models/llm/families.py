"""How each model family names its sizes in a config.json, and the defaults it uses."""

from roofkit.models.llm.model import LLM, Latent


def _make_llm(fields, *, activation="silu", tied=False, act="hidden_act", needs=(), **choices):
    """Return the LLM from ``choices`` and the fields that most families share.

    ``needs`` names fields that must be in the config. If they were missing, transformers would use
    a family default that the config does not show.
    """
    for name in needs:
        fields[name]
    sizes = {
        "hidden": fields["hidden_size"],
        "layers": fields["num_hidden_layers"],
        "heads": fields["num_attention_heads"],
        "kv_heads": fields.size("num_key_value_heads", least=1),
        "head_dim": fields.size("head_dim", least=1),
        "vocabulary": fields["vocab_size"],
        "activation": fields.activation(act, activation),
        "tied": fields.flag("tie_word_embeddings", tied),
    }
    if "mlp" not in choices:
        sizes["mlp"] = fields["intermediate_size"]
    return LLM(fields.name, **{**sizes, **choices}, source=fields.source)


def _read_windows(fields, sliding=None):
    """Return the LLM arguments for sliding windows.

    ``layer_types`` in the config lists the kind of every layer. If it is missing, the function
    ``sliding`` returns whether the i-th layer has a window.
    """
    window, types = fields.size("sliding_window", least=1), fields.list("layer_types", str)
    layers = fields["num_hidden_layers"]
    if window is None:
        return {}
    if types is not None:
        if len(types) != layers or set(types) - {"sliding_attention", "full_attention"}:
            fields.refuse("layer_types", types, f"needs {layers} sliding_attention/full_attention")
        windowed = types.count("sliding_attention")
    else:
        windowed = sum(map(sliding, range(layers))) if sliding else layers
    return {"window": window, "windowed_layers": windowed} if windowed else {}


def _read_optional_windows(fields, sliding=lambda layer, bound: layer >= bound):
    """Return the window arguments of the Qwen families, which need ``use_sliding_window``.

    Windows start at layer ``max_window_layers``, except in the older mixture-of-experts family.
    """
    bound = fields.size("max_window_layers", 0)
    if not fields.flag("use_sliding_window"):
        fields.ignore("sliding_window", "layer_types")
        return {}
    return _read_windows(fields, lambda layer: sliding(layer, bound))


def _count_dense_layers(fields):
    """Return the number of dense blocks: those listed, and all except every n-th block."""
    step = fields.size("decoder_sparse_step", 1, least=1)
    listed = fields.list("mlp_only_layers", int) or []
    layers = range(fields["num_hidden_layers"])
    return sum(layer in listed or (layer + 1) % step != 0 for layer in layers)


def _llama(fields):
    biases = fields.flag("attention_bias", False)
    return _make_llm(
        fields, qkv_bias=biases, out_bias=biases, mlp_bias=fields.flag("mlp_bias", False)
    )


def _mistral(fields):
    return _make_llm(fields, needs=["num_key_value_heads"], **_read_windows(fields))


def _phi3(fields):
    return _make_llm(fields, **_read_windows(fields))


def _mixtral(fields):
    return _make_llm(
        fields, needs=["num_key_value_heads"], **_read_windows(fields), mlp=0,
        experts=fields["num_local_experts"],
        experts_per_token=fields["num_experts_per_tok"], expert_width=fields["intermediate_size"],
    )  # fmt: skip


def _qwen2(fields):
    return _make_llm(
        fields, needs=["num_key_value_heads"], qkv_bias=True, **_read_optional_windows(fields)
    )


def _qwen3(fields):
    biases = fields.flag("attention_bias", False)
    return _make_llm(
        fields, needs=["num_key_value_heads", "head_dim"], qkv_bias=biases, out_bias=biases,
        qk_norm="head", **_read_optional_windows(fields),
    )  # fmt: skip


def _qwen2_moe(fields):
    return _make_llm(
        fields, needs=["num_key_value_heads"], qkv_bias=fields.flag("qkv_bias", True),
        **_read_optional_windows(fields, lambda layer, bound: layer % 2 == 0 and layer < bound),
        experts=fields["num_experts"], experts_per_token=fields["num_experts_per_tok"],
        expert_width=fields["moe_intermediate_size"],
        shared_width=fields["shared_expert_intermediate_size"], shared_gate=True,
        dense_layers=_count_dense_layers(fields),
    )  # fmt: skip


def _qwen3_moe(fields):
    dense = _count_dense_layers(fields)
    biases = fields.flag("attention_bias", False)
    fields.expect("use_qk_norm", True, why="queries and keys are normalised")
    width = fields.size("intermediate_size", 0)
    fields.ignore("layer_types")  # windows apply to every layer
    return _make_llm(
        fields, needs=["num_key_value_heads", "head_dim"], qkv_bias=biases, out_bias=biases,
        qk_norm="head", **_read_optional_windows(fields, lambda layer, bound: True),
        mlp=width if dense else 0,
        experts=fields.size("num_local_experts") or fields["num_experts"],
        experts_per_token=fields["num_experts_per_tok"],
        expert_width=fields["moe_intermediate_size"], dense_layers=dense,
    )  # fmt: skip


def _read_experts(fields):
    """Return the LLM arguments for routed and shared experts after the leading dense layers."""
    fields.ignore("num_nextn_predict_layers", "norm_topk_prob")
    width = fields["moe_intermediate_size"]
    return {
        "experts": fields["n_routed_experts"], "experts_per_token": fields["num_experts_per_tok"],
        "expert_width": width, "shared_width": width * fields.size("n_shared_experts", 0),
        "dense_layers": fields.size("first_k_dense_replace", 0),
    }  # fmt: skip


def _deepseek(fields):
    fields.expect("moe_layer_freq", 1, why="experts are in every layer after the dense ones")
    fields.ignore("ep_size")
    biases = fields.flag("attention_bias", False)
    return _make_llm(
        fields, out_bias=biases, **_read_experts(fields),
        **(_read_latent(fields) if fields.size("kv_lora_rank") else {"qkv_bias": biases}),
    )  # fmt: skip


def _glm4_moe(fields):
    return _make_llm(
        fields, needs=["num_key_value_heads"], **_read_experts(fields),
        qkv_bias=fields.flag("attention_bias", False),
        qk_norm="head" if fields.flag("use_qk_norm", False) else "",
    )  # fmt: skip


def _read_latent(fields):
    """Return the LLM arguments for multi-head latent attention."""
    wide = Latent(
        fields["kv_lora_rank"], fields.size("q_lora_rank", 0), fields["qk_nope_head_dim"],
        fields["qk_rope_head_dim"], fields["v_head_dim"],
    )  # fmt: skip
    fields.expect("attention_bias", False, why="latent attention has no biases here")
    fields.ignore("head_dim", "num_key_value_heads", "qk_head_dim")
    return {"latent": wide, "kv_heads": None, "head_dim": wide.nope + wide.rope}


def _gemma(fields):
    fields.ignore("hidden_act")
    fields.expect("use_bidirectional_attention", False, why="tokens attend backwards")
    biases = fields.flag("attention_bias", False)
    return _make_llm(
        fields, needs=["num_key_value_heads", "head_dim"], act="hidden_activation",
        activation="gelu_pytorch_tanh", tied=True,
        qkv_bias=biases, out_bias=biases,
    )  # fmt: skip


def _gemma2(fields):
    fields.ignore("hidden_act")
    fields.expect("use_bidirectional_attention", False, why="tokens attend backwards")
    # Published files give the window under two names.
    window = fields.size("sliding_window")
    fields.expect("sliding_window_size", window, why=f"sliding_window is {window}")
    biases = fields.flag("attention_bias", False)
    return _make_llm(
        fields, needs=["num_key_value_heads", "head_dim"], act="hidden_activation",
        activation="gelu_pytorch_tanh", tied=True, block_norms=4,
        qkv_bias=biases, out_bias=biases, **_read_windows(fields, lambda layer: layer % 2 == 0),
    )  # fmt: skip


def _gemma3(fields):
    pattern = fields.size("sliding_window_pattern", 6, least=1)
    fields.expect("use_bidirectional_attention", False, why="tokens attend backwards")
    biases = fields.flag("attention_bias", False)
    return _make_llm(
        fields, needs=["num_key_value_heads", "head_dim"], act="hidden_activation",
        activation="gelu_pytorch_tanh", tied=True, block_norms=4,
        qk_norm="head", qkv_bias=biases, out_bias=biases,
        **_read_windows(fields, lambda layer: (layer + 1) % pattern != 0),
    )  # fmt: skip


def _gpt_oss(fields):
    biases = fields.flag("attention_bias", True)
    visits = fields.size("num_experts_per_tok") or fields["experts_per_token"]
    fields.ignore("experts_per_token")
    return _make_llm(
        fields, needs=["num_key_value_heads", "head_dim"], mlp=0, qkv_bias=biases,
        out_bias=biases, sinks=True,
        experts=fields["num_local_experts"], experts_per_token=visits,
        expert_width=fields["intermediate_size"], expert_bias=True, router_bias=True,
        **_read_windows(fields, lambda layer: layer % 2 == 0),
    )  # fmt: skip


def _phi(fields):
    normed = "head" if fields.flag("qk_layernorm", False) else ""
    return _make_llm(
        fields, qk_norm=normed, activation="gelu_new", gated=False, norm="layer", block_norms=1,
        qkv_bias=True, out_bias=True, mlp_bias=True, head_bias=True,
    )  # fmt: skip


def _olmo2(fields):
    biases = fields.flag("attention_bias", False)
    return _make_llm(fields, qk_norm="width", qkv_bias=biases, out_bias=biases)


def _cohere(fields):
    biases = fields.flag("attention_bias", False)
    return _make_llm(
        fields, tied=True, norm="layer", norm_bias=False, block_norms=1, qkv_bias=biases,
        out_bias=biases, qk_norm="width" if fields.flag("use_qk_norm", False) else "",
    )  # fmt: skip


def _starcoder2(fields):
    biases = fields.flag("use_bias", True)
    fields.expect("norm_type", "layer_norm", why="norms are layer norms")
    fields.ignore("mlp_type")
    return _make_llm(
        fields, needs=["num_key_value_heads"], activation="gelu_pytorch_tanh", tied=True,
        gated=False, norm="layer", qkv_bias=biases, out_bias=biases, mlp_bias=biases,
        **_read_windows(fields),
    )  # fmt: skip


def _falcon(fields):
    new = fields.flag("new_decoder_architecture", False)
    heads, hidden = fields["num_attention_heads"], fields["hidden_size"]
    if new:
        kv_heads = fields.size("num_kv_heads", heads)
    else:
        kv_heads = 1 if fields.flag("multi_query", True) else heads
    fields.ignore("num_kv_heads", "multi_query", "parallel_attn")
    parallel = new or fields.flag("parallel_attn", True)
    norms = fields.size("num_ln_in_parallel_attn", 2 if new else 1)
    biases = fields.flag("bias", False)
    return _make_llm(
        fields, tied=True, act="activation", activation="gelu", gated=False, norm="layer",
        kv_heads=kv_heads, mlp=fields.size("ffn_hidden_size", 4 * hidden), parallel=parallel,
        block_norms=norms if parallel else 2, rotary=not fields.flag("alibi", False),
        qkv_bias=biases, out_bias=biases, mlp_bias=biases,
    )  # fmt: skip


def _opt(fields):
    hidden = fields["hidden_size"]
    fields.expect("word_embed_proj_dim", hidden, why="it must equal hidden_size")
    fields.expect("do_layer_norm_before", True, why="norms come before their layers")
    fields.expect("layer_norm_elementwise_affine", True, why="norms have parameters")
    fields.expect("_remove_final_layer_norm", False, why="a norm comes before lm_head")
    biases = fields.flag("enable_bias", True)
    return LLM(
        fields.name, hidden, fields["num_hidden_layers"], fields["num_attention_heads"],
        fields["vocab_size"], fields["ffn_dim"], gated=False,
        activation=fields.activation("activation_function", "relu"), norm="layer", rotary=False,
        # OPT numbers positions from 2, so its table has two extra vectors.
        positions=fields["max_position_embeddings"] + 2,
        tied=fields.flag("tie_word_embeddings", True), qkv_bias=biases, out_bias=biases,
        mlp_bias=biases, source=fields.source,
    )  # fmt: skip


def _gpt2(fields):
    hidden = fields["n_embd"]
    fields.expect("add_cross_attention", False, why="the model has no encoder")
    fields.ignore("n_ctx", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn")
    return LLM(
        fields.name, hidden, fields["n_layer"], fields["n_head"], fields["vocab_size"],
        fields.size("n_inner", 4 * hidden), gated=False,
        activation=fields.activation("activation_function", "gelu_new"), norm="layer",
        rotary=False, positions=fields["n_positions"],
        tied=fields.flag("tie_word_embeddings", True), qkv_bias=True, out_bias=True, mlp_bias=True,
        source=fields.source,
    )  # fmt: skip


FAMILIES = {
    "llama": _llama, "mistral": _mistral, "mixtral": _mixtral, "qwen2": _qwen2, "qwen3": _qwen3,
    "qwen2_moe": _qwen2_moe, "qwen3_moe": _qwen3_moe, "deepseek": _deepseek,
    "deepseek_v2": _deepseek, "deepseek_v3": _deepseek, "kimi_k2": _deepseek,
    "glm4_moe": _glm4_moe, "gemma": _gemma, "gemma2": _gemma2, "gemma3_text": _gemma3,
    "gpt_oss": _gpt_oss, "phi": _phi, "phi3": _phi3, "olmo2": _olmo2, "granite": _llama,
    "cohere": _cohere, "starcoder2": _starcoder2, "falcon": _falcon, "opt": _opt, "gpt2": _gpt2,
}  # fmt: skip
# The defaults that transformers uses for absent keys, if they differ from the meaning of null.
_QWEN = {"sliding_window": 4096, "max_window_layers": 28}
_DEEPSEEK_V3 = {"kv_lora_rank": 512, "q_lora_rank": 1536, "n_shared_experts": 1,
                "first_k_dense_replace": 3}  # fmt: skip
FAMILY_DEFAULTS = {
    "mistral": {"sliding_window": 4096},
    "qwen2": _QWEN, "qwen3": _QWEN, "qwen2_moe": _QWEN, "qwen3_moe": _QWEN,
    "deepseek_v2": {"kv_lora_rank": 512, "q_lora_rank": 1536, "n_shared_experts": 2},
    "deepseek_v3": _DEEPSEEK_V3, "kimi_k2": _DEEPSEEK_V3,
    "glm4_moe": {"n_shared_experts": 1, "first_k_dense_replace": 1},
    "gemma2": {"sliding_window": 4096},
    "gemma3_text": {"sliding_window": 4096, "vocab_size": 262208, "num_attention_heads": 8,
                    "num_key_value_heads": 4, "head_dim": 256,
                    "max_position_embeddings": 131072},
    "gpt_oss": {"sliding_window": 128},
}  # fmt: skip
# Models that also process images; their text_config describes the language model.
VISION_FAMILIES = ("gemma3", "mistral3", "llava", "kimi_k25")

# Maps each model_type to the feature that this package doesn't count (apart from vision).
_DELTA = "its linear attention layers (a gated delta net), which keep a state instead of K and V"
_MAMBA = "its state space layers (Mamba), which keep a state instead of K and V"
_SPARSE = "its sparse attention, in which an indexer picks the keys that a token attends to"
UNSUPPORTED = {
    "qwen3_next": _DELTA, "qwen3_5": _DELTA, "qwen3_5_moe": _DELTA, "kimi_linear": _DELTA,
    "llama4": "its attention in chunks (attention_chunk_size) in three of four layers",
    "nemotron_h": _MAMBA, "jamba": _MAMBA, "bamba": _MAMBA, "falcon_h1": _MAMBA, "mamba": _MAMBA,
    "mamba2": _MAMBA, "granitemoehybrid": _MAMBA,
    "deepseek_v32": _SPARSE, "glm_moe_dsa": _SPARSE, "deepseek_v4": _SPARSE,
}  # fmt: skip
