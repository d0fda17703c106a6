"""Language models against published tables and counts, against themselves, and at bad input."""

import csv
import dataclasses
import json
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import roofkit as rk
from roofkit.models import Links, Precision, Split
from roofkit.models.llm.llm_viewer import DEPARTURES
from rooflab.machine import calibrate

LLAMA = rk.llm("Llama-2-7B")
REFUSED = json.loads(Path(__file__).with_name("refused_models.json").read_text(encoding="utf-8"))
PUBLISHED = tomllib.loads(
    Path(__file__).with_name("published_counts.toml").read_text(encoding="utf-8")
)
COUNTS, PRINTED = PUBLISHED["count"], PUBLISHED["printed"]

# Yuan et al., "LLM Inference Unveiled", table 1: Llama-2-7B on an A6000, 2048 tokens, batch 1.
with Path(__file__).with_name("published_layers.csv").open(encoding="utf-8") as _file:
    ROWS = [tuple(row.values()) for row in csv.DictReader(_file)]


def viewer(convention="llm-viewer"):
    return LLAMA.on("RTX A6000", attention="unfused", convention=convention)


def tables(served, batch=1, length=2048):
    return {"prefill": served.prefill(batch, length), "decode": served.decode(batch, length)}


def printed(value):
    """A count as the published table prints it: whole thousands, millions, …"""
    for scale, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= scale:
            return f"{value / scale:.0f}{letter}"
    raise AssertionError(value)


@pytest.mark.parametrize(("stage", "name", *"obiac"), ROWS, ids=lambda value: value)
def test_llm_viewer_convention_prints_the_published_table(stage, name, o, b, i, a, c):
    for row in {"norm": ("attn_norm", "mlp_norm"), "add": ("attn_add", "mlp_add")}.get(
        name, (name,)
    ):
        layer = tables(viewer())[stage][row]
        intensity = f"{layer.intensity:.0f}" if layer.intensity > 100 else f"{layer.intensity:.2f}"
        shown = printed(layer.flops), printed(layer.bytes), printed(layer.attainable), layer.bound
        assert shown == (o, b, a, c)
        assert intensity.removesuffix(".00") == i


def test_llm_viewer_totals():
    assert viewer().prefill(1, 2048).time == pytest.approx(226.88e-3, abs=5e-6)
    assert viewer().decode(1, 2048).time == pytest.approx(0.0186369153, abs=5e-11)


def test_llm_viewer_generation_adds_a_step_for_every_token():
    step = viewer().time_per_token(1, 100 + np.arange(5))
    run = viewer().generate(1, 100, 5)
    assert run.time == pytest.approx(viewer().time_to_first_token(1, 100) + step.sum())
    ours = LLAMA.on("RTX A6000").generate(1, 100, 5)
    assert (run.steps, ours.steps) == (5, 4)


def test_departures_reach_layers_with_and_without_a_window():
    gemma = dataclasses.replace(LLAMA, kv_heads=8, window=100, windowed_layers=16)
    for attention, names in (
        ("flash", ("causal", "flash_rows", "flash_kv_heads", "flash_output")),
        ("unfused", ("query_heads",)),
    ):
        usual = gemma.on("A6000", attention=attention, fused=False).prefill(1, 300)
        for name in names:
            changed = gemma.on("A6000", attention=attention, convention=[name]).prefill(1, 300)
            for row in ("attention", "window_attention", "qk_matmul", "window_qk_matmul"):
                if row in {layer.name for layer in usual}:
                    assert changed[row].cost != usual[row].cost, (name, row)
    every = gemma.on("A6000", convention=["causal"]).prefill(1, 300)
    assert every["attention"].flops == every["window_attention"].flops


def test_one_format_is_that_of_weights_and_activations():
    served = LLAMA.on(
        "H100", precision=Precision(weights="int4", activations="int8"), convention=["one_format"]
    )
    formats = served.precision
    assert (formats.stream, formats.embedding, formats.lm_head) == ("int8", "int4", "int4")
    mixed = rk.llm("Mixtral-8x7B").on(
        "H100", precision=Precision(weights="int4"), convention=["one_format"]
    )
    formats = mixed.precision
    assert (formats.stream, formats.experts, formats.embedding) == ("bf16", "int4", "int4")


def test_all_departures_together_are_llm_viewers_count():
    assert viewer().prefill(2, 99).rows == viewer(convention=list(DEPARTURES)).prefill(2, 99).rows


@cases("count", COUNTS)
def test_parameters_are_the_published_ones_to_the_digit(count):
    if count["model"] in {model.name for model in rk.models.llms()}:
        assert rk.llm(count["model"]).parameters == count["parameters"]
    else:
        assert rk.cnn(count["model"]).parameters == count["parameters"]


@cases("name", PRINTED)
def test_a_model_has_the_parameters_that_its_maker_prints(name):
    assert rk.llm(name).parameters == pytest.approx(PRINTED[name], rel=1e-2)


@cases(("name", "gibibytes"), [("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.8)])
def test_a_checkpoint_of_narrow_experts_has_the_size_that_its_maker_prints(name, gibibytes):
    """OpenAI, gpt-oss model card, arXiv:2508.10925, section 2."""
    stored = rk.llm(name).on("H100").memory().weights / 2**30
    assert stored == pytest.approx(gibibytes, abs=0.05)


@cases(("name", "active"), [("Mixtral-8x7B", 12.9e9), ("DeepSeek-MoE-16B", 2.83e9)])
def test_a_mixture_of_experts_meets_only_some_of_its_parameters(name, active):
    assert rk.llm(name).active_parameters == pytest.approx(active, rel=3e-3)
    assert rk.llm("Llama-2-7B").active_parameters == LLAMA.parameters


@cases("model", rk.models.llms())
@cases("chips", [1, 2, 4])
def test_a_step_for_ever_more_sequences_reads_every_parameter_once(model, chips):
    """The table's weights are the parameters, but for the embedding, read by row."""
    if model.kv_heads % chips and chips % model.kv_heads:
        return
    fp32 = Precision(weights="fp32", experts="fp32", stream="fp32")
    for fused in (True, False):
        served = model.on("H200", precision=fp32, split=Split(tensor=chips), fused=fused)
        step = served.decode(batch=1e6, context=1)
        read = sum(layer.count * layer.weights for layer in step if layer.name != "embedding")
        held = model.parameters_by_kind(served.shard)
        unread = 0 if model.tied else held.embedding
        placed = model.positions * model.hidden
        assert read == 4 * (sum(held) - (unread or placed))


# Precisions


@cases(
    ("weights", "activations", "kv", "linear", "attention"),
    [
        (None, None, None, 312e12, 312e12),
        ("int4", "fp16", "int8", 312e12, 312e12),
        ("int8", "int8", None, 624e12, 312e12),
        ("int4", "int8", "int8", 624e12, 624e12),
        ("fp32", "fp32", None, 19.5e12, 19.5e12),
    ],
)
def test_the_peak_is_that_of_the_wider_operand(weights, activations, kv, linear, attention):
    served = LLAMA.on(
        "A100 80GB SXM", precision=Precision(weights=weights, activations=activations, kv=kv)
    )
    table = served.decode()
    assert (table["qkv_proj"].peak, table["attention"].peak) == (linear, attention)


@cases(
    ("formats", "message"),
    [
        ({"weights": "fp8"}, None),
        ({"weights": "fp8", "activations": "fp8"}, "has no peak for dtype 'fp8'"),
        ({"weights": "int8", "activations": "fp8"}, "no unit multiplies fp8 by int8"),
        ({"weights": "fp16", "activations": "bf16"}, "no unit multiplies bf16 by fp16"),
        ({"weights": "int3"}, "weights='int3' is not known"),
        ({"scales": -1}, "scales=-1 must be the number of weights per scale"),
        ({"scales": (0, "fp8")}, "scales=(0, 'fp8') must be the number of weights per scale"),
        ({"scales": (32, "int3")}, "the dtype of scales='int3' is not known"),
        ({"kv": "NVFP4"}, 'not counted here; use kv="fp4"'),
    ],
)
def test_formats_that_cannot_be_are_refused(formats, message):
    def use():
        return LLAMA.on("A100 80GB SXM", precision=Precision(**formats)).decode()

    if message is None:
        assert use()
    else:
        with pytest.raises(ValueError, match=re.escape(message)):
            use()


@cases(
    ("ways", "links", "message"),
    [
        ({"tensor": 0}, {}, "tensor=0 must be a whole number of at least 1"),
        ({"tensor": 3}, {}, "32 query heads cannot be split among 3 chips"),
        ({"tensor": 32}, {}, "a switch joins at most"),
        ({"tensor": 2}, {"tensor": "ring"}, "has the topology switch; leave tensor='ring' out"),
        (
            {"tensor": 2},
            {"tensor": rk.group("H100", 4)},
            "tensor of Links is a group of 4 chips, but it must join 2",
        ),
        ({"kv_heads": "both"}, {}, 'kv_heads=\'both\' must be "replicated" or "split"'),
        ({"pipeline": 33}, {}, "32 layers cannot be spread over 33 stages"),
        ({"expert": 2}, {}, "expert=2 needs a mixture of experts"),
        ({}, {"with_latency": 1e-6}, "with_latency=1e-06 must be True or False"),
        ({}, {"tensor": "mesh"}, "tensor='mesh' must be a Group, such as rk.group(\"H100\", 8)"),
        ({}, {"pipeline": [1e9, 2e9]}, "pipeline=[1000000000.0, 2000000000.0] must be a Group"),
        ({}, {"pipeline": "mesh"}, "switch, all-pairs, or a number of bytes/s"),
    ],
)
def test_splits_and_links_that_cannot_be_are_refused(ways, links, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        LLAMA.on("A100 80GB SXM", split=Split(**ways), links=Links(**links))


@cases(
    ("choices", "message"),
    [
        ({"attention": "fast"}, 'attention=\'fast\' must be "flash" or "unfused"'),
        ({"convention": "mine"}, "convention='mine' is not known; use roofkit, llm-viewer"),
        ({"tp": 8}, "tp=8 isn't an option of LLM.on; use split=rk.models.Split(tensor=8)"),
        ({"weight": "fp8"}, "use precision=rk.models.Precision(weights='fp8')"),
        ({"expert": "ring"}, "Split(expert='ring') or links=rk.models.Links(expert='ring')"),
        ({"xyz": 1}, "the options are precision, split, links, fused"),
        ({"precision": "int4"}, 'such as precision=rk.models.Precision(weights="int4")'),
        ({"split": 8}, "split=8 must be a Split, such as split=rk.models.Split(tensor=8)"),
        ({"fused": 1}, "fused=1 must be True or False"),
        ({"calibration": "H100"}, "calibration='H100' must predict times"),
        ({"calibration": calibrate("H100")}, "calibration is for H100 SXM"),
        ({"fused": True, "convention": "llm-viewer"}, "needs fused=False"),
        ({"on_chip": 0}, "on_chip must be finite and above 0"),
    ],
)
def test_choices_that_cannot_be_are_refused(choices, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        LLAMA.on("A100 80GB SXM", **choices)


GPT_2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257,
         "n_positions": 1024}  # fmt: skip


@cases(("sizes", "message"), REFUSED["sizes"])
def test_sizes_that_cannot_be_are_refused(sizes, message):
    tiny = {"hidden": 64, "layers": 2, "heads": 4, "vocabulary": 100, "mlp": 256}
    assert rk.models.LLM("tiny", **tiny).parameters == 144192
    with pytest.raises(ValueError, match=f"^tiny: .*{re.escape(message)}"):
        rk.models.LLM("tiny", **tiny | sizes)


def test_a_context_of_one_token_is_one():
    assert rk.llm({**GPT_2, "n_positions": 1}).context == 1


def test_what_a_token_takes_of_the_cache():
    assert rk.llm("Llama-3-8B").cached_width == 2 * 8 * 128
    assert rk.llm("DeepSeek-V3").cached_width == 512 + 64


@cases("name", ["batch", "prompt", "output"])
@cases("value", [0, -1, 0.5, math.nan, "many", None, [], sympy.Symbol("B")])
def test_lengths_that_cannot_be_are_refused_by_name(name, value):
    served = LLAMA.on("H100")
    with pytest.raises(ValueError, match=name):
        served.generate(**{name: value})
    with pytest.raises(ValueError, match="context"):
        served.decode(context=value)


def test_lengths_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"batch\[2\], context\[3\]"):
        LLAMA.on("H100").time_per_token(np.ones(2), np.ones(3))


def test_a_chip_without_links_says_so_and_takes_a_group_of_yours():
    lonely = rk.Chip("mine", peaks={"bf16": 1e12}, bandwidth=1e11)
    with pytest.raises(ValueError, match="mine has no links in the table"):
        LLAMA.on(lonely, split=Split(tensor=2))
    joined = rk.network.switch(2, 1e9)
    served = LLAMA.on(lonely, split=Split(tensor=2), links=Links(tensor=joined))
    assert served.decode()["attn_all_reduce"].bound == "link"
    with pytest.raises(ValueError, match="the table has no topology for several chips"):
        LLAMA.on("L40", split=Split(tensor=2))
    served = LLAMA.on("L40", split=Split(tensor=2), links=Links(tensor="switch"))
    assert served.decode()["attn_all_reduce"].link > 0


def test_a_batch_that_was_run_fits_what_the_driver_has_and_not_the_sheets_round_figure():
    """60 sequences of 2176 tokens of Llama-2-7B in fp16, published by TensorRT-LLM 0.6.1."""
    a100 = rk.chip("A100 80GB SXM")
    of_the_sheet = dataclasses.replace(a100, allocatable=None)
    fits = [
        LLAMA.on(chip, precision=Precision(weights="fp16", kv="fp16")).memory(60, 128, 2048).fits
        for chip in (a100, of_the_sheet)
    ]
    assert fits == [True, False]


# Configs


TINY = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
}  # fmt: skip


@cases("field", sorted(TINY.keys() - {"model_type", "num_key_value_heads"}))
def test_a_config_that_lacks_a_field_says_which(field):
    with pytest.raises(ValueError, match=f"the config lacks '{field}'"):
        rk.llm({key: value for key, value in TINY.items() if key != field})


@cases(("changed", "message"), [*REFUSED["configs"], ({7: 8}, "the config's key 7 must be text")])
def test_a_config_that_cannot_be_modelled_says_why(changed, message):
    with pytest.raises(ValueError, match=message):
        rk.llm({**TINY, **changed})


@pytest.mark.parametrize("text", ["{", "[1]", "\x80"])
def test_a_file_that_is_no_config_is_named(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"broken\.json"):
        rk.llm(path)
    with pytest.raises(ValueError, match=r"cannot read .*absent\.json"):
        rk.llm(tmp_path / "absent.json")


def test_an_unknown_model_gets_the_nearest_names():
    with pytest.raises(ValueError, match=r"no model is named 'llama-2-8b'; nearest: .*Llama-2-7B"):
        rk.llm("llama-2-8b")
    with pytest.raises(ValueError, match="must be text"):
        rk.llm(7)


def test_the_table_of_models_shows_every_one():
    for model in rk.models.llms():
        assert model.name in repr(rk.models.llms())
        assert model.name in rk.models.llms()._repr_html_()
        assert rk.llm(model.name) is model
    names = [row["model"] for row in rk.models.llms().rows]
    assert names == [model.name for model in rk.models.llms()]
    row = rk.models.llms().rows[names.index("Qwen3-30B-A3B")]
    assert (row["parameters"], row["kv_heads"], row["experts"]) == (30532122624, 4, 128)


def test_a_null_key_of_the_table_is_null_in_the_config():
    assert rk.llm("Mistral-Nemo").window is None
    assert rk.llm("DeepSeek-V2-Lite").latent.q_rank == 0


# Properties

models = st.builds(
    lambda kv_heads, group, head_dim, layers, mlp, vocabulary, **choices: rk.models.LLM(
        "drawn", hidden=kv_heads * group * head_dim, layers=layers, heads=kv_heads * group,
        kv_heads=kv_heads, vocabulary=vocabulary, mlp=4 * mlp, **choices,
    ),
    kv_heads=st.sampled_from([4, 8]), group=st.sampled_from([1, 4]), head_dim=st.just(64),
    layers=st.integers(1, 6), mlp=st.integers(1, 3000), vocabulary=st.integers(1, 10_000),
    gated=st.booleans(), block_norms=st.sampled_from([1, 2, 4]), qkv_bias=st.booleans(),
    qk_norm=st.sampled_from(["", "head", "width"]), rotary=st.booleans(),
    window=st.one_of(st.none(), st.integers(1, 2000)),
)  # fmt: skip
mixtures = st.builds(
    lambda model, experts, visits, **choices: dataclasses.replace(
        model, experts=experts * visits, experts_per_token=visits, **choices
    ),
    models, experts=st.integers(1, 8), visits=st.integers(1, 4),
    expert_width=st.integers(1, 200).map(lambda x: 4 * x),
    shared_width=st.integers(0, 100).map(lambda x: 4 * x), dense_layers=st.integers(0, 1),
)  # fmt: skip
any_model = st.one_of(models, mixtures)
attentions = st.sampled_from(["flash", "unfused"])
few = st.integers(1, 4096)


@given(
    any_model,
    attentions,
    st.sampled_from([1, 2]),
    st.lists(st.tuples(few, few), min_size=1, max_size=5),
)
def test_numbers_and_arrays_agree_bit_for_bit(model, attention, chips, points):
    served = model.on("H100", split=Split(tensor=chips), attention=attention)
    batch, length = np.array(points).T
    together = served.time_per_token(batch, length), served.time_to_first_token(batch, length)
    tables_of_all = served.decode(batch, length), served.prefill(batch, length)
    for place, (one, other) in enumerate(points):
        swept = served.time_per_token(one, other), served.time_to_first_token(one, other)
        assert tuple(times[place] for times in together) == swept
        alone = served.decode(one, other), served.prefill(one, other)
        for times, table, whole in zip(together, alone, tables_of_all, strict=True):
            assert table.time == np.broadcast_to(whole.time, len(points))[place]
            assert times[place] == pytest.approx(table.time, rel=1e-14)
            for layer, column in zip(table, whole, strict=True):
                for name in ("flops", "bytes", "link"):
                    values = np.broadcast_to(getattr(column, name), len(points))
                    assert values[place] == getattr(layer, name)


def test_chips_broadcast_like_any_other_size():
    chips = ["H100", "A100 80GB SXM", "TPU v5e"]
    swept = LLAMA.on(chips).time_per_token(np.array([1, 64, 4096, 9999])[:, None], 100)
    assert swept.shape == (4, 3)
    for column, chip in enumerate(chips):
        assert swept[1, column] == LLAMA.on(chip).time_per_token(64, 100)
    whole = LLAMA.on(chips).generate(np.array([1, 8])[:, None], 100, 5)
    assert whole.time.shape == (2, 3)
    assert whole.time[1, 2] == pytest.approx(LLAMA.on("TPU v5e").generate(8, 100, 5).time)
    big = rk.llm("Llama-2-13B").on(chips).memory(np.array([1, 64])[:, None], 100, 5)
    assert big.fits.tolist() == [[True, True, False], [True, True, False]]


@given(any_model, attentions, st.integers(1, 9), few, st.integers(1, 40))
def test_a_generation_is_a_prefill_and_its_steps(model, attention, batch, prompt, output):
    served = model.on("H100", attention=attention)
    run = served.generate(batch, prompt, output)
    steps = [served.time_per_token(batch, prompt + step) for step in range(output - 1)]
    assert run.time == pytest.approx(served.time_to_first_token(batch, prompt) + sum(steps))
    assert run.tokens_per_second == pytest.approx(batch * output / run.time)
    if steps:
        assert run.time_per_token == pytest.approx(np.mean(steps))
    else:
        assert math.isnan(run.time_per_token)


@cases("window", [None, 1, 16, 37, 64, 200])
@cases(("new", "cached"), [(64, 0), (96, 33), (1, 50), (200, 64)])
def test_each_block_of_rows_loads_the_keys_that_it_meets(new, cached, window):
    """Counted key by key; blocks of 8 rows, of one head and of two that share K and V."""
    for group in (1, 2):
        model = dataclasses.replace(
            LLAMA, heads=group, kv_heads=1, hidden=128 * group, window=window, head_dim=128
        )
        tokens = 8 // group
        blocks = [
            range(cached + first, cached + min(first + tokens, new))
            for first in range(0, new, tokens)
        ]
        reach = window or new + cached
        met = [max(rows) + 1 - max(min(rows) + 1 - reach, 0) for rows in blocks]
        table = model.on("H100", on_chip=4 * 2 * 128 * 8).forward(3, new, cached)
        kept = min(new + cached, reach) * 2 * 128 * 2 <= 4 * 2 * 128 * 8
        once = min(new + cached, new - 1 + reach)
        expected = once if kept or new == 1 else sum(met)
        assert table["attention"].kv == 3 * 2 * 2 * 128 * expected


def test_chips_that_are_joined_differently_stand_in_one_table():
    both = LLAMA.on(
        ["H100", "TPU v5e"], split=Split(tensor=8), links=Links(with_latency=True)
    ).decode(8)["attn_all_reduce"]
    alone = [
        LLAMA.on(chip, split=Split(tensor=8), links=Links(with_latency=True))
        .decode(8)["attn_all_reduce"]
        .time
        for chip in ("H100", "TPU v5e")
    ]
    assert both.time.tolist() == alone


# Tables


def test_a_layer_is_found_by_name_and_missing_ones_are_named():
    table = LLAMA.on("H100").decode()
    assert table["qkv_proj"] is table[1]
    with pytest.raises(
        ValueError, match="no layer is named 'qproj'; the layers are embedding, qkv_proj"
    ):
        table["qproj"]


def test_tables_show_totals_and_only_columns_with_something_in_them():
    table = LLAMA.on("H100").decode(8)
    text = repr(table)
    assert text.startswith(
        "decode after 2048 tokens, batch 8, Llama-2-7B on H100 SXM (bf16 weights"
    )
    assert "KV cache" in text
    assert "link" not in text
    assert "link" in repr(LLAMA.on("H100", split=Split(tensor=2)).decode(8))
    assert text.splitlines()[-1].split()[0] == "total"
    html = table._repr_html_()
    assert html.count("<tr>") == len(table) + 2
    assert sum(row["share"] for row in table.rows) == pytest.approx(1)


def test_tables_of_sweeps_show_spans():
    text = repr(LLAMA.on("H100").prefill(1, np.array([16, 4096])))
    assert "memory or compute" in text or "compute or memory" in text
    assert " … " in text


@pytest.mark.filterwarnings("error")
@cases("convention", ["roofkit", "llm-viewer"])
def test_a_chip_of_unknown_on_chip_memory_gives_times_and_no_warning(convention):
    chips = ["H100", "H200"]
    alone = [LLAMA.on(chip, convention=convention).time_to_first_token() for chip in chips]
    assert alone[1] == pytest.approx(alone[0], rel=0.5)
    assert LLAMA.on(chips, convention=convention).time_to_first_token().tolist() == alone
