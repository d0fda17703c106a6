"""Families of models by their config.json: the parameters of their checkpoints, and refusals."""

import json
import re
from pathlib import Path

import pytest
from cases import cases

import roofkit as rk
from roofkit.models import Precision, Split
from roofkit.models.llm.deployment import Deployment

CONFIGS = json.loads(Path(__file__).with_name("configs.json").read_text(encoding="utf-8"))
# Configs as published, and the parameters that a checkpoint holds (Hugging Face counts them), of
# DeepSeek-V3 without the 256 corrections of each router, which are no parameters.
PUBLISHED = CONFIGS["published"]


@cases("name", PUBLISHED)
def test_parameters_are_those_of_the_checkpoint(name):
    config, parameters = PUBLISHED[name]
    assert rk.llm(config).parameters == parameters


def tuples(values):
    """Lists of a JSON file as tuples, as formats with scales are."""
    return tuple(tuple(each) if isinstance(each, list) else each for each in values)


def config_of(name, **changed):
    return {**PUBLISHED[name][0], **changed}


def test_windows_alternate_with_full_attention():
    gemma, oss = (rk.llm(config_of(name)) for name in ("gemma-2-9b", "gpt-oss-120b"))
    assert (gemma.window, gemma.window_layers, oss.window, oss.window_layers) == (4096, 21, 128, 18)
    five_to_one = {"model_type": "gemma3_text", "sliding_window": 512, "num_hidden_layers": 26}
    assert rk.llm(config_of("gemma-2-9b", **five_to_one)).window_layers == 22
    listed = ["sliding_attention"] * 30 + ["full_attention"] * 12
    assert rk.llm(config_of("gemma-2-9b", layer_types=listed)).window_layers == 30
    with pytest.raises(ValueError, match="layer_types="):
        rk.llm(config_of("gemma-2-9b", layer_types=listed[1:]))


LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 128256, "head_dim": 128,
}  # fmt: skip


@cases(("changed", "window", "windowed"), CONFIGS["windows"])
def test_an_absent_window_is_that_of_the_family_and_null_is_none(changed, window, windowed):
    config = {**LLAMA, **changed}
    if changed["model_type"] == "qwen3_moe":
        del config["shared_expert_intermediate_size"]
    model = rk.llm(config)
    assert (model.window, model.window_layers) == (window, windowed)


def test_a_config_may_name_its_window_twice():
    twice = {**LLAMA, "model_type": "gemma2", "sliding_window": 512, "sliding_window_size": 512}
    assert rk.llm(twice).window == 512


@cases(("changed", "message"), CONFIGS["fields that cannot be"])
def test_a_field_that_cannot_be_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        rk.llm({**LLAMA, **changed})


# As published: what the language model has in common with its class is left out. The checkpoints
# hold 4,300,079,472, 12,187,325,040 and 27,432,406,640 with the vision tower and its projector.
GEMMA_3 = CONFIGS["gemma 3"]


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


def test_a_mixed_model_forgets_in_some_layers_alone():
    served = rk.llm(config_of("gemma-2-9b")).on("H100")
    step = served.decode(2, 10_000)
    assert (step["attention"].count, step["window_attention"].count) == (21, 21)
    assert step["attention"].kv / step["window_attention"].kv == 10_001 / 4096
    a_token = 2 * 8 * 256 * 2
    assert served.memory(2, 10_000).kv == 2 * a_token * 21 * (10_000 + 4096)


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
    with pytest.raises(ValueError, match="latent vectors cannot be split"):
        rk.llm(config_of("DeepSeek-V3")).on("H200", split=Split(tensor=8, kv_heads="split"))


def test_a_checkpoint_is_served_as_it_is_stored_unless_told_otherwise():
    blocks = {
        "quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic",
    }  # fmt: skip
    model = rk.llm(config_of("DeepSeek-V3", quantization_config=blocks))
    formats = model.on("H200", split=Split(tensor=8)).precision
    assert (formats.lm_head, formats.widths.experts) == ("bf16", 1 + 4 / 128**2)
    oblong = rk.llm(config_of("DeepSeek-V3", quantization_config=blocks | {
        "weight_block_size": [128, 64]
    }))  # fmt: skip
    assert oblong.on("H200", split=Split(tensor=8)).precision.widths.weights == 1 + 4 / (128 * 64)
    assert model.head_dim == 128 + 64
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    four = rk.llm(config_of("phi-2", quantization_config=gptq)).on("H100")
    assert (four.precision.weights, four.precision.widths.weights) == ("int4", 0.5 + 2 / 128)
    with pytest.raises(ValueError, match="known methods are fp8, gptq, awq"):
        rk.llm(config_of("phi-2", quantization_config={"quant_method": "quip"}))


MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": [
    "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head",
]}  # fmt: skip
BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
KEPT = ("weights", "experts", "activations", "scales", "expert_scales")


@cases(("name", "stored", "given", "expected"), CONFIGS["choices of format"])
def test_a_choice_replaces_the_stored_format_of_its_part_alone(name, stored, given, expected):
    model = rk.llm(config_of(name, quantization_config=stored))
    served = model.on("H100", precision=Precision(**given))
    assert tuple(getattr(served.precision, each) for each in KEPT) == tuples(expected)
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


@cases(("how", "expected"), CONFIGS["stored formats"])
def test_the_formats_of_a_checkpoint_are_read(how, expected):
    assert rk.llm(config_of("phi-2", quantization_config=how)).stored == dict(
        zip(expected, tuples(expected.values()), strict=True)
    )


@cases(("how", "named"), CONFIGS["stored otherwise"])
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
    with pytest.raises(ValueError, match="its embedding and lm_head share a matrix"):
        gemma.on("H100", precision=Precision(embedding="int8", lm_head="bf16"))


def test_chips_together_take_the_16_bits_that_all_have():
    phi = rk.llm(config_of("phi-2"))
    for chips in (["V100 SXM2", "H100"], ["H100", "V100 SXM2"]):
        assert phi.on(chips).precision.activations == "fp16"
    assert phi.on(["H100", "A100 80GB SXM"]).precision.activations == "bf16"


@cases("field", CONFIGS["fields that change costs"])
def test_a_field_that_changes_costs_is_refused_by_name(field):
    (name,) = field
    with pytest.raises(ValueError, match=f"{name}="):
        rk.llm(config_of("phi-2", **field))


@cases("field", CONFIGS["fields that change no cost"])
def test_a_field_that_changes_no_cost_is_passed_over(field):
    assert rk.llm(config_of("phi-2", **field)).parameters == PUBLISHED["phi-2"][1]


def test_a_folder_of_a_checkpoint_is_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config_of("phi-2")))
    for where in (tmp_path, str(tmp_path)):
        assert rk.llm(where).parameters == PUBLISHED["phi-2"][1]
