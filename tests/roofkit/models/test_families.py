"""Families of models by their config.json: the parameters of their checkpoints, and refusals."""

import re

import numpy as np
import pytest
from cases import cases

import roofkit as rk
from roofkit.models import Precision, Split
from roofkit.models.llm.deployment import Deployment

MLA = {
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
}  # fmt: skip
# Configs as published, and the parameters that a checkpoint holds (Hugging Face counts them).
PUBLISHED = {
    "DeepSeek-V3": ({
        "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
        "n_shared_experts": 1, "n_routed_experts": 256, "q_lora_rank": 1536,
        "num_experts_per_tok": 8, "first_k_dense_replace": 3, "vocab_size": 129280, **MLA,
        "moe_layer_freq": 1, "num_nextn_predict_layers": 1, "hidden_act": "silu",
        # Without the 256 corrections of each router, which are no parameters.
    }, 671_026_404_352),
    "DeepSeek-V2-Lite": ({
        "model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
        "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
        "n_shared_experts": 2, "n_routed_experts": 64, "q_lora_rank": None,
        "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 102400, **MLA,
    }, 15_706_484_224),
    "gemma-2-9b": ({
        "model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336,
        "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 256, "vocab_size": 256000, "sliding_window": 4096,
        "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
    }, 9_241_705_984),
    "gpt-oss-120b": ({
        "model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "vocab_size": 201088, "intermediate_size": 2880, "num_local_experts": 128,
        "num_experts_per_tok": 4, "sliding_window": 128, "tie_word_embeddings": False,
    }, 116_829_156_672),
    "phi-2": ({
        "model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 51200,
        "hidden_act": "gelu_new", "partial_rotary_factor": 0.4,
    }, 2_779_683_840),
    "falcon-7b": ({
        "model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
        "num_attention_heads": 71, "vocab_size": 65024, "multi_query": True,
        "parallel_attn": True, "bias": False, "alibi": False, "new_decoder_architecture": False,
    }, 6_921_720_704),
}  # fmt: skip


@cases("name", PUBLISHED)
def test_parameters_are_those_of_the_checkpoint(name):
    config, parameters = PUBLISHED[name]
    assert rk.llm(config).parameters == parameters


def config_of(name, **changed):
    return {**PUBLISHED[name][0], **changed}


def test_windows_alternate_with_full_attention():
    gemma, oss = (rk.llm(config_of(name)) for name in ("gemma-2-9b", "gpt-oss-120b"))
    assert (gemma.window, gemma.windowed, oss.window, oss.windowed) == (4096, 21, 128, 18)
    five_to_one = {"model_type": "gemma3_text", "sliding_window": 512, "num_hidden_layers": 26}
    assert rk.llm(config_of("gemma-2-9b", **five_to_one)).windowed == 22
    listed = ["sliding_attention"] * 30 + ["full_attention"] * 12
    assert rk.llm(config_of("gemma-2-9b", layer_types=listed)).windowed == 30
    with pytest.raises(ValueError, match="layer_types="):
        rk.llm(config_of("gemma-2-9b", layer_types=listed[1:]))


LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 128256, "head_dim": 128,
}  # fmt: skip
QWEN = {"num_hidden_layers": 40, "use_sliding_window": True}
QWEN_MOE = {**QWEN, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
            "shared_expert_intermediate_size": 64}  # fmt: skip


@cases(
    ("changed", "window", "windowed"),
    [
        ({"model_type": "mistral"}, 4096, 32),
        ({"model_type": "mistral", "sliding_window": None}, None, 0),
        ({"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}, None, 0),
        ({"model_type": "gemma2"}, 4096, 16),
        ({"model_type": "gemma2", "sliding_window": None}, None, 0),
        ({"model_type": "gemma3_text"}, 4096, 27),
        ({"model_type": "gpt_oss", "num_local_experts": 8, "num_experts_per_tok": 2}, 128, 16),
        ({"model_type": "qwen2"}, None, 0),
        ({"model_type": "qwen2", **QWEN}, 4096, 12),
        ({"model_type": "qwen3", **QWEN, "max_window_layers": 8}, 4096, 32),
        ({"model_type": "qwen2_moe", **QWEN_MOE}, 4096, 14),
        ({"model_type": "qwen3_moe", **QWEN_MOE}, 4096, 40),
    ],
)
def test_an_absent_window_is_that_of_the_family_and_null_is_none(changed, window, windowed):
    config = {**LLAMA, **changed}
    if changed["model_type"] == "qwen3_moe":
        del config["shared_expert_intermediate_size"]
    model = rk.llm(config)
    assert (model.window, model.windowed) == (window, windowed)


def test_a_window_may_be_said_twice():
    twice = {**LLAMA, "model_type": "gemma2", "sliding_window": 512, "sliding_window_size": 512}
    assert rk.llm(twice).window == 512


def test_an_absent_rank_is_that_of_the_family_and_null_is_none():
    config = config_of("DeepSeek-V3")
    for key in ("q_lora_rank", "kv_lora_rank", "n_shared_experts", "first_k_dense_replace"):
        del config[key]
    assert rk.llm(config).parameters == PUBLISHED["DeepSeek-V3"][1]
    assert rk.llm(config_of("DeepSeek-V3", q_lora_rank=None)).latent.q_rank == 0


@cases(
    ("changed", "message"),
    [
        ({"model_type": "llama", "gated_mlp": False}, "gated_mlp=False"),
        ({"model_type": "gemma2", "sliding_window_size": 512}, "sliding_window is 4096"),
        ({"model_type": "gemma2", "use_bidirectional_attention": True}, "use_bidirectional"),
        ({"model_type": "gemma", "use_bidirectional_attention": True}, "use_bidirectional"),
        ({"model_type": "gemma2", "layer_types": [["full_attention"]] * 32}, "layer_types="),
        ({"model_type": "gemma3_text", "sliding_window_pattern": 0}, "sliding_window_pattern=0"),
        ({"model_type": "mistral", "sliding_window": 0}, "sliding_window=0"),
        ({"model_type": "qwen3_moe", "decoder_sparse_step": 0}, "decoder_sparse_step=0"),
        ({"model_type": "qwen3_moe", "mlp_only_layers": 3}, "mlp_only_layers=3"),
        ({"model_type": "qwen3_moe", "mlp_only_layers": [[3]]}, "mlp_only_layers="),
    ],
)
def test_a_field_that_cannot_be_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        rk.llm({**LLAMA, **changed})


# As published: what the language model has in common with its class is left out. The checkpoints
# hold 4,300,079,472, 12,187,325,040 and 27,432,406,640 with the vision tower and its projector.
GEMMA_3 = {
    "4B": ({"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34},
           3_880_263_168),
    "12B": ({"hidden_size": 3840, "intermediate_size": 15360, "num_hidden_layers": 48,
             "num_attention_heads": 16, "num_key_value_heads": 8}, 11_766_034_176),
    "27B": ({"hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62,
             "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128},
            27_009_346_304),
}  # fmt: skip


@cases("size", GEMMA_3)
def test_the_language_model_in_one_that_sees(size):
    text, parameters = GEMMA_3[size]
    seeing = {
        "model_type": "gemma3", "vision_config": {"hidden_size": 1152}, "image_token_index": 262144,
        "text_config": {"model_type": "gemma3_text", "sliding_window": 1024, **text},
        "quantization_config": compressed(NARROW, ignore=["lm_head", "re:vision_tower.*"]),
    }  # fmt: skip
    model = rk.llm(seeing)
    assert (model.parameters, model.context) == (parameters, 131072)
    assert model.stored["weights"] == "fp8"
    assert model.source.endswith("without its vision part")


def test_what_the_whole_leaves_open_its_text_config_says():
    text = {**config_of("gemma-2-9b"), "quantization_config": BLOCKS}
    whole = {"model_type": "llava", "text_config": text}
    whole |= {"quantization_config": None, "tie_word_embeddings": None}
    found = rk.llm(whole)
    assert found.stored == rk.llm(text).stored != {}
    assert found.tied
    for bad in (["llama"], 3, None):
        with pytest.raises(ValueError, match="model_type="):
            rk.llm({**text, "model_type": bad})
        with pytest.raises(ValueError, match="needs a text_config with a model_type of"):
            rk.llm({"model_type": "llava", "text_config": {**text, "model_type": bad}})


def test_a_seeing_model_that_ties_in_two_ways_is_refused():
    seeing = {"model_type": "mistral3", "text_config": {**LLAMA, "model_type": "mistral"}}
    assert not rk.llm(seeing).tied
    assert rk.llm({**seeing, "tie_word_embeddings": True}).tied
    seeing["text_config"]["tie_word_embeddings"] = False
    with pytest.raises(ValueError, match="tie_word_embeddings=True, but its text_config"):
        rk.llm({**seeing, "tie_word_embeddings": True})


def test_a_mixed_model_forgets_in_some_layers_alone():
    served = rk.llm(config_of("gemma-2-9b")).on("H100")
    step = served.decode(2, 10_000)
    assert (step["attention"].count, step["window_attention"].count) == (21, 21)
    assert step["attention"].kv / step["window_attention"].kv == 10_001 / 4096
    a_token = 2 * 8 * 256 * 2
    assert served.memory(2, 10_000).kv == 2 * a_token * 21 * (10_000 + 4096)


def test_latent_attention_caches_one_vector_a_token_on_every_chip():
    for chips in (1, 8):
        served = rk.llm(config_of("DeepSeek-V3")).on("H200", split=Split(tensor=chips))
        assert served.kv_bytes_per_token == 61 * 2 * (512 + 64)
        assert served.decode(4, 1000)["attention"].kv == 4 * 1001 * 2 * (512 + 64)


def test_latent_attention_makes_keys_in_prefill_and_carries_queries_in_decode():
    """FLOPs of one layer, by the two orders in which its matrices can be multiplied."""
    served = rk.llm(config_of("DeepSeek-V3")).on("H200", split=Split(tensor=8))
    heads, n, cached = 16, 100, 5000

    def flops(table):
        return table["kv_up_proj"].flops + table["attention"].flops

    step = flops(served.decode(1, cached))
    carried = 2 * heads * 512 * (128 + 128)
    assert step == carried + (cached + 1) * heads * (2 * (512 + 64) + 2 * 512 + 5)
    prefill = flops(served.prefill(1, n))
    made = n * 2 * heads * 512 * (128 + 128)
    assert prefill == made + n * (n + 1) / 2 * heads * (2 * (128 + 64) + 2 * 128 + 5)


def _attention(table):
    return table["kv_up_proj"].time + table["attention"].time


@cases("name", ["DeepSeek-V3", "DeepSeek-V2-Lite"])
@cases("weights", ["bf16", "fp8"])
@cases("attention", ["flash", "unfused"])
def test_more_tokens_never_take_latent_attention_less_time(name, weights, attention):
    served = rk.llm(config_of(name)).on(
        "H100", precision=Precision(weights=weights, activations=weights), attention=attention
    )
    new, cached = np.arange(1, 200)[:, None], np.unique(np.geomspace(1, 2e4, 200).astype(int))
    seconds = np.broadcast_to(_attention(served.forward(8, new, cached)), (199, cached.size))
    assert (np.diff(seconds, axis=0) >= 0).all()
    assert (np.diff(seconds, axis=1) >= 0).all()


def test_latent_attention_goes_the_way_that_is_quicker():
    """Each way by itself, unfused: FLOPs on the matrices, on the pairs, and what lies between."""
    n, cached, heads, rank, key, value = 64, 3000, 16, 512, 192, 128
    served = rk.llm(config_of("DeepSeek-V2-Lite")).on(
        "H100", precision=Precision(weights="fp8", activations="fp8"), attention="unfused"
    )
    keys, pairs = n + cached, n * (n + cached)
    matrices = rank * heads * (128 + value)
    usual = n * heads * (2 * key + value) + 4 * 2 * n * keys * heads
    vectors = 2 * keys * (rank + 64)
    found = []
    for multiplied, between, width, again in (
        (keys, keys * (128 + value), key + value, 0), (n, n * 2 * rank, 2 * rank + 64, rank),
    ):  # fmt: skip
        flops = 2 * matrices * multiplied, heads * (2 * width + 5) * pairs
        moved = matrices, usual + 2 * 2 * heads * between + vectors + 2 * keys * again
        peaks = [served.chip.roofline(dtype).peak_flops for dtype in ("fp8", "bf16")]
        times = [max(f / peak, m / served.chip.bandwidth)
                 for f, peak, m in zip(flops, peaks, moved, strict=True)]  # fmt: skip
        found.append((sum(times), flops, moved))
    table = served.forward(1, n, cached)
    parts = table["kv_up_proj"], table["attention"]
    seconds, flops, moved = min(found)
    assert tuple(part.flops for part in parts) == flops
    assert tuple(part.bytes for part in parts) == moved
    assert sum(part.time for part in parts) == pytest.approx(seconds)


def test_latent_vectors_that_fit_on_the_chip_are_read_once():
    model = rk.llm(config_of("DeepSeek-V3"))
    needed = model.on("H200").on_chip_needed(1000)
    assert needed == 1000 * 2 * (512 + 64)
    ample, tight = (
        model.on("H200", on_chip=size).prefill(1, 1000)["attention"].kv
        for size in (needed, needed - 1)
    )
    assert ample == needed
    # A quarter of it for the rows of queries, of which each token has 128, as wide as the vectors.
    blocks = -(-128 * 1000 // ((needed - 1) // (4 * 2 * 576)))
    assert tight == pytest.approx(needed * (blocks + 1) / 2)
    decode = model.on("H200", on_chip=needed / 2).decode(1, 1000)["attention"].kv
    assert decode == 2 * 1001 * 576


def test_latent_vectors_are_not_split_among_chips():
    with pytest.raises(ValueError, match="its latent vectors lie whole on every chip"):
        rk.llm(config_of("DeepSeek-V3")).on("H200", split=Split(tensor=8, kv_heads="split"))


@cases("name", ["phi-2", "falcon-7b"])
def test_blocks_whose_halves_stand_side_by_side_read_and_write_the_stream_once(name):
    model = rk.llm(config_of(name))
    table = model.on("H100").prefill(1, 100)
    d, mlp, q = model.hidden, model.mlp, model.heads * model.head_dim
    moved = {each: table[each].activations / 200
             for each in ("qkv_proj", "o_proj", "up_proj", "down_proj")}  # fmt: skip
    assert moved == {"qkv_proj": d + q, "o_proj": q, "up_proj": mlp, "down_proj": mlp + 2 * d}


def test_a_checkpoint_is_served_as_it_is_stored_unless_told_otherwise():
    blocks = {
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "activation_scheme": "dynamic",
    }
    model = rk.llm(config_of("DeepSeek-V3", quantization_config=blocks))
    served = model.on("H200", split=Split(tensor=8))
    formats = served.precision
    assert (formats.weights, formats.activations, formats.lm_head) == ("fp8", "fp8", "bf16")
    assert served.precision.widths.experts == 1 + 4 / 128**2
    wide = model.on("H200", precision=Precision(weights="bf16"), split=Split(tensor=8))
    assert wide.precision.activations == "bf16"
    oblong = rk.llm(config_of("DeepSeek-V3", quantization_config=blocks | {
        "weight_block_size": [128, 64]
    }))  # fmt: skip
    assert oblong.on("H200", split=Split(tensor=8)).precision.widths.weights == 1 + 4 / (128 * 64)
    assert model.head_dim == 128 + 64
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    four = rk.llm(config_of("phi-2", quantization_config=gptq)).on("H100")
    assert (four.precision.weights, four.precision.widths.weights) == ("int4", 0.5 + 2 / 128)
    with pytest.raises(ValueError, match="methods known are fp8, gptq, awq"):
        rk.llm(config_of("phi-2", quantization_config={"quant_method": "quip"}))


MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": [
    "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head",
]}  # fmt: skip
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
KEPT = ("weights", "experts", "activations", "scales", "expert_scales")


@cases(
    ("name", "stored", "given", "expected"),
    [
        ("gpt-oss-120b", MXFP4, {}, ("bf16", "fp4", "bf16", 0, (32, "fp8"))),
        ("gpt-oss-120b", MXFP4, {"weights": "fp8"}, ("fp8", "fp4", "bf16", 0, (32, "fp8"))),
        ("gpt-oss-120b", MXFP4, {"weights": "int4", "scales": 64},
         ("int4", "fp4", "bf16", 64, (32, "fp8"))),
        ("gpt-oss-120b", MXFP4, {"experts": "fp8"}, ("bf16", "fp8", "bf16", 0, 0)),
        ("DeepSeek-V3", BLOCKS, {"weights": "FP8", "kv": "fp8"},
         ("fp8", "fp8", "fp8", (16384, "fp32"), (16384, "fp32"))),
        ("DeepSeek-V3", BLOCKS, {"activations": "bf16"},
         ("fp8", "fp8", "bf16", (16384, "fp32"), (16384, "fp32"))),
        ("DeepSeek-V3", BLOCKS, {"weights": "int4"}, ("int4", "int4", "bf16", 0, 0)),
        ("DeepSeek-V3", BLOCKS, {"experts": "int4"},
         ("fp8", "int4", "fp8", (16384, "fp32"), 0)),
        ("DeepSeek-V3", BLOCKS, {"weights": "bf16", "experts": "fp8"},
         ("bf16", "fp8", "bf16", 0, (16384, "fp32"))),
        ("phi-2", AWQ, {"scales": 64}, ("int4", "int4", "bf16", 64, 64)),
        ("phi-2", AWQ, {"weights": "int8"}, ("int8", "int8", "bf16", 0, 0)),
        ("phi-2", AWQ, {"scales": 0}, ("int4", "int4", "bf16", 0, 0)),
    ],
)  # fmt: skip
def test_a_choice_replaces_the_stored_format_of_its_part_alone(name, stored, given, expected):
    model = rk.llm(config_of(name, quantization_config=stored))
    served = model.on("H100", precision=Precision(**given))
    assert tuple(getattr(served.precision, each) for each in KEPT) == expected
    assert Deployment(model, "H100", precision=Precision(**given)) == served
    # What is settled, given again, is settled the same way.
    assert model.on("H100", precision=served.precision) == served
    if not given:
        assert model.on("H100") == served


def test_formats_left_open_by_a_choice_keep_their_bytes():
    oss = rk.llm(config_of("gpt-oss-120b", quantization_config=MXFP4))
    held = oss.parameters_by_kind()
    experts = held.experts * (0.5 + 1 / 32)
    rest = held.vectors + held.embedding + held.lm_head
    for weights, size in (("bf16", 2), ("fp8", 1)):
        held_bytes = oss.on("H100", precision=Precision(weights=weights)).memory().weights
        assert held_bytes == experts + size * held.matrices + 2 * rest


NARROW = {"num_bits": 8, "type": "float", "strategy": "channel"}


def compressed(weights, inputs=None, **others):
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group},
            "ignore": ["lm_head"], **others}  # fmt: skip


@cases(
    ("how", "expected"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True},
         {"weights": "int4", "scales": (64, "fp32")}),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True,
          "bnb_4bit_use_double_quant": True}, {"weights": "int4", "scales": (64, "int8")}),
        ({"quant_method": "gptq", "bits": 8, "group_size": 1}, {"weights": "int8", "scales": 1}),
        ({"quant_method": "gptq", "bits": 4, "group_size": 0}, {"weights": "int4"}),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1, "lm_head": True},
         {"weights": "int4", "lm_head": "int4"}),
        ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]},
         {"weights": "fp8", "activations": "fp8"}),
        ({"quant_method": "fp8", "modules_to_not_convert": [
            "lm_head", "model.layers.0.input_layernorm", "model.layers.0.mlp.gate"]},
         {"weights": "fp8", "activations": "fp8"}),
        (compressed(NARROW, NARROW), {"weights": "fp8", "activations": "fp8"}),
        (compressed(NARROW, NARROW, ignore=[], kv_cache_scheme=NARROW),
         {"weights": "fp8", "activations": "fp8", "lm_head": "fp8", "kv": "fp8"}),
        (compressed({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128},
                    ignore=["re:.*lm_head", "re:.*mlp.gate$"]),
         {"weights": "int4", "scales": 128}),
        (compressed({"num_bits": 4, "type": "float", "group_size": 16},
                    {"num_bits": 4, "type": "float", "group_size": 16}),
         {"weights": "fp4", "activations": "fp4", "scales": (16, "fp8")}),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"],
          "kv_cache_scheme": NARROW}, {"weights": "fp8", "activations": "fp8", "kv": "fp8"}),
        ({"quant_method": "modelopt", "quantization": {
            "quant_algo": "W4A16_AWQ", "group_size": 64, "kv_cache_quant_algo": "FP8"}},
         {"weights": "int4", "scales": 64, "kv": "fp8"}),
    ],
)  # fmt: skip
def test_the_formats_of_a_checkpoint_are_read(how, expected):
    assert rk.llm(config_of("phi-2", quantization_config=how)).stored == expected


@cases(
    ("how", "named"),
    [
        ({"quant_method": "gptq", "bits": 3}, "'bits': 3"),
        ({"quant_method": ["gptq"]}, "methods known are"),
        ({"quant_method": "gptq", "bits": 4, "group_size": "128"}, "not of the kind that gptq has"),
        ({"quant_method": "modelopt", "quantization": "FP8"}, "not of the kind that modelopt has"),
        ({"quant_method": "modelopt", "quant_algo": []}, "not of the kind that modelopt has"),
        (compressed(NARROW, sparsity_config="dense"), "not of the kind that compressed-tensors"),
        (compressed(NARROW, kv_cache_scheme="fp8"), "not of the kind that compressed-tensors"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*down": {}}}, "dynamic"),
        ({**BLOCKS, "modules_to_not_convert": ["model.layers.0.mlp.down_proj"]}, "down_proj"),
        ({"quant_method": "fbgemm_fp8",
          "modules_to_not_convert": ["model.layers.3.self_attn.q_proj"]}, "self_attn.q_proj"),
        (compressed(NARROW, ignore=["lm_head", "re:.*gate.*"]), "re:.*gate"),
        (compressed(NARROW, config_groups={"a": {"weights": NARROW}, "b": {
            "weights": {**NARROW, "num_bits": 4}}}), "groups differ"),
        (compressed(NARROW, config_groups={"a": {"weights": NARROW, "targets": ["re:.*q_proj"]}}),
         "q_proj"),
        (compressed(NARROW, config_groups={}), "config_groups"),
        (compressed(NARROW, config_groups=[NARROW]), "config_groups"),
        (compressed({**NARROW, "block_structure": "128x1"}), "block_structure"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "weight_block_size"),
        ({**BLOCKS, "ignored_layers": "lm_head"}, "ignored_layers"),
        (compressed({"num_bits": 2, "type": "int"}), "'num_bits': 2"),
        (compressed(NARROW, sparsity_config={"format": "sparse-24-bitmask"}), "sparsity_config"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "MIXED_PRECISION"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"},
         "kv_cache_quant_algo"),
    ],
)  # fmt: skip
def test_a_checkpoint_that_is_stored_otherwise_is_refused_by_name(how, named):
    with pytest.raises(ValueError, match="quantization_config=.*" + re.escape(named)):
        rk.llm(config_of("phi-2", quantization_config=how))


def test_a_quantised_lm_head_that_is_the_embedding_is_stored_once():
    how = {"quant_method": "gptq", "bits": 4, "group_size": 128, "lm_head": True}
    gemma = rk.llm(config_of("gemma-2-9b", quantization_config=how))
    served = gemma.on("H100")
    assert (served.precision.embedding, served.precision.lm_head) == ("int4", "int4")
    assert served.memory().weights == pytest.approx(gemma.parameters * (0.5 + 2 / 128), rel=0.01)


def test_a_tied_matrix_has_one_format():
    gemma = rk.llm(config_of("gemma-2-9b"))
    for choice in ({"lm_head": "int8"}, {"embedding": "int8"}):
        served = gemma.on("H100", precision=Precision(**choice))
        assert (served.precision.embedding, served.precision.lm_head) == ("int8", "int8")
    with pytest.raises(ValueError, match="its embedding and lm_head are one matrix"):
        gemma.on("H100", precision=Precision(embedding="int8", lm_head="bf16"))


def test_chips_together_take_the_16_bits_that_all_have():
    phi = rk.llm(config_of("phi-2"))
    for chips in (["V100 SXM2", "H100"], ["H100", "V100 SXM2"]):
        assert phi.on(chips).precision.activations == "fp16"
    assert phi.on(["H100", "A100 80GB SXM"]).precision.activations == "bf16"


@cases(
    "field",
    [
        {"num_local_experts": 8}, {"vision_config": {"hidden_size": 8}}, {"kv_lora_rank": 64},
        {"sliding_window": 4096}, {"mamba_d_state": 16}, {"q_lora_rank": 8}, {"num_experts": 8},
        {"num_experts_steps": 2}, {"attention_window_scale": 2}, {"use_bias": False},
        {"use_bidirectional_attention": True},
    ],
)  # fmt: skip
def test_a_field_that_changes_costs_is_refused_by_name(field):
    (name,) = field
    with pytest.raises(ValueError, match=f"{name}="):
        rk.llm(config_of("phi-2", **field))


@cases(
    "field",
    [
        {"rope_theta": 1e6}, {"attention_dropout": 0.1}, {"rope_scaling": {"factor": 8}},
        {"initializer_range": 0.02}, {"layer_norm_eps": 1e-5}, {"bos_token_id": 1},
        {"torch_dtype": "float16"}, {"use_cache": True}, {"sliding_window": None},
        {"my_own_note": "hello"}, {"num_local_experts": 0}, {"router_aux_loss_coef": 0.1},
        {"gated_mlp": False}, {"properties": "many"}, {"rope_scaling_layers": 3},
    ],
)  # fmt: skip
def test_a_field_that_changes_no_cost_is_passed_over(field):
    assert rk.llm(config_of("phi-2", **field)).parameters == PUBLISHED["phi-2"][1]


def test_a_folder_of_a_checkpoint_is_read(tmp_path):
    import json

    (tmp_path / "config.json").write_text(json.dumps(config_of("phi-2")))
    for where in (tmp_path, str(tmp_path)):
        assert rk.llm(where).parameters == PUBLISHED["phi-2"][1]


@cases(("changed", "heads"), [({}, 1), ({"multi_query": False}, 6)])
def test_a_falcon_shares_one_key_among_its_heads_unless_told_otherwise(changed, heads):
    falcon = {
        "model_type": "falcon", "hidden_size": 48, "num_hidden_layers": 2, "vocab_size": 96,
        "num_attention_heads": 6, "parallel_attn": True, "bias": False,
        "new_decoder_architecture": False,
    }  # fmt: skip
    assert rk.llm(falcon | changed).kv_heads == heads
