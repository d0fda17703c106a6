"""Small configs by family, with the keys that published config.json files have.

One entry of SMALL for each model_type, with variants of it; CHANGES changes one key at a time.
transformers has to know the model_type, since it builds the model that is counted.
"""

_SIZES = {
    "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 6,
    "num_key_value_heads": 2, "vocab_size": 96, "max_position_embeddings": 64,
}  # fmt: skip
_EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 20}
_LATENT = {
    **_SIZES, **_EXPERTS, "num_key_value_heads": 6, "kv_lora_rank": 16, "q_lora_rank": 24,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 10, "n_routed_experts": 4,
    "n_shared_experts": 2, "first_k_dense_replace": 1, "n_group": 2, "topk_group": 1,
}  # fmt: skip
# So wide a latent vector, beside such heads, that making K and V always takes less.
_WIDE = {**_LATENT, "kv_lora_rank": 64, "qk_nope_head_dim": 1, "v_head_dim": 1}
_FOUR = {"num_hidden_layers": 4, "sliding_window": 3}
_GLM = {**_SIZES, **_EXPERTS, "head_dim": 12, "n_routed_experts": 4, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "attention_bias": True, "use_qk_norm": True,
        "partial_rotary_factor": 0.5}  # fmt: skip
SMALL = {
    "llama": (_SIZES, {**_SIZES, "tie_word_embeddings": True, "attention_bias": True},
              {**_SIZES, "head_dim": 12, "mlp_bias": True}),
    "mistral": ({**_SIZES, "sliding_window": 3}, {**_SIZES, "sliding_window": None}),
    "mixtral": ({**_SIZES, "num_local_experts": 4, "num_experts_per_tok": 2,
                 "sliding_window": None},),
    "qwen2": ({**_SIZES, "use_sliding_window": False, "sliding_window": 3},
              {**_SIZES, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0}),
    "qwen3": ({**_SIZES, "head_dim": 12},),
    "qwen3_moe": ({**_SIZES, **_EXPERTS, "head_dim": 12, "num_experts": 4,
                   "decoder_sparse_step": 1, "mlp_only_layers": []},),
    "deepseek": ({**_SIZES, **_EXPERTS, "num_key_value_heads": 6, "n_routed_experts": 4,
                  "n_shared_experts": 2, "first_k_dense_replace": 1},),
    "gemma": ({**_SIZES, "head_dim": 12, "hidden_act": "gelu_pytorch_tanh"},),
    "phi3": ({**_SIZES, "sliding_window": 3, "pad_token_id": 0}, {**_SIZES, "pad_token_id": 0}),
    "opt": ({"hidden_size": 48, "word_embed_proj_dim": 48, "ffn_dim": 80, "num_hidden_layers": 2,
             "num_attention_heads": 6, "vocab_size": 96, "max_position_embeddings": 64,
             "do_layer_norm_before": True, "activation_function": "relu"},),
    "gpt2": ({"n_embd": 48, "n_layer": 2, "n_head": 6, "vocab_size": 96, "n_positions": 64},
             {"n_embd": 48, "n_layer": 2, "n_head": 6, "vocab_size": 96, "n_positions": 64,
              "n_inner": 80, "tie_word_embeddings": False}),
    "deepseek_v2": (_LATENT, {**_LATENT, "q_lora_rank": None}),
    "deepseek_v3": (_LATENT, {**_LATENT, "q_lora_rank": None, "n_shared_experts": 1}, _WIDE),
    "kimi_k2": (_LATENT,),
    "glm4_moe": (_GLM, {**_GLM, "num_hidden_layers": 3, "n_shared_experts": 2,
                        "attention_bias": False, "use_qk_norm": False}),
    "gemma2": ({**_SIZES, **_FOUR, "head_dim": 12},),
    "gemma3_text": ({**_SIZES, **_FOUR, "num_hidden_layers": 7, "head_dim": 12},),
    "gpt_oss": ({**_SIZES, **_FOUR, "head_dim": 12, "num_local_experts": 4,
                 "num_experts_per_tok": 2, "intermediate_size": 20},),
    "qwen2_moe": ({**_SIZES, **_EXPERTS, "num_experts": 4, "shared_expert_intermediate_size": 28,
                   "decoder_sparse_step": 1, "mlp_only_layers": []},),
    "phi": ({**_SIZES, "num_key_value_heads": 6, "partial_rotary_factor": 0.5},
            {**_SIZES, "qk_layernorm": True}),
    "olmo2": (_SIZES,),
    "granite": (_SIZES, {**_SIZES, "attention_bias": True, "mlp_bias": True}),
    "cohere": (_SIZES, {**_SIZES, "use_qk_norm": True}),
    "cohere2": ({**_SIZES, **_FOUR, "num_hidden_layers": 5},),
    "starcoder2": ({**_SIZES, "sliding_window": 3}, {**_SIZES, "use_bias": False}),
    "falcon": ({"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 6,
                "vocab_size": 96, "multi_query": True, "parallel_attn": True, "bias": False,
                "new_decoder_architecture": False},
               {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 6,
                "num_kv_heads": 2, "vocab_size": 96, "bias": False,
                "new_decoder_architecture": True}),
}  # fmt: skip

ABSENT = object()
_SOME = {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}
# What changes one key of a family, or leaves it out: it is counted, or refused by name.
CHANGES = [
    (family, changes)
    for changes, names in (
        # GLM-4.5, which stands in for the first DeepSeek, has no bias after attention.
        ({"attention_bias": True}, "llama qwen3 qwen3_moe gemma deepseek_v3"),
        ({"attention_bias": False}, "glm4_moe"),
        ({"use_qk_norm": False}, "glm4_moe"),
        ({"mlp_bias": True}, "llama"),
        ({"head_dim": 20}, "llama mistral mixtral qwen3 qwen3_moe gemma"),
        ({"head_dim": ABSENT}, "qwen3 qwen3_moe gemma"),
        ({"num_key_value_heads": ABSENT},
         "llama mistral mixtral qwen2 qwen3 qwen3_moe gemma phi3"),
        ({"tie_word_embeddings": True},
         "mistral mixtral qwen2 qwen3 qwen3_moe deepseek phi3"),
        ({"tie_word_embeddings": False}, "gemma opt gpt2"),
        ({"sliding_window": ABSENT}, "mistral mixtral phi3"),
        ({"sliding_window": 3}, "mixtral"),
        (_SOME, "qwen2 qwen3 qwen2_moe qwen3_moe"),
        ({"use_sliding_window": True, "sliding_window": 3}, "qwen3_moe"),
        ({"mlp_only_layers": [1]}, "qwen3_moe"),
        ({"decoder_sparse_step": 2}, "qwen3_moe"),
        ({"n_shared_experts": 1}, "deepseek"),
        ({"first_k_dense_replace": 0}, "deepseek glm4_moe"),
        ({"enable_bias": False}, "opt"),
        ({"layer_norm_elementwise_affine": False}, "opt"),
        ({"_remove_final_layer_norm": True}, "opt"),
        ({"word_embed_proj_dim": 24}, "opt"),
        ({"do_layer_norm_before": False}, "opt"),
        ({"n_inner": 100}, "gpt2"),
        ({"scale_attn_by_inverse_layer_idx": True}, "gpt2"),
        ({"multi_query": ABSENT}, "falcon"),
        ({"rope_theta": 5e5}, "llama"),
    )
    for family in names.split()
]  # fmt: skip
