"""A pass predicted by a calibration: every layer by the kernel that it is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cases import cases

import roofkit as rk
from roofkit.models import Links, Precision, Split
from roofkit.models.llm.model import Latent
from roofkit.models.predictions import Prediction
from rooflab.machine import calibrate
from rooflab.machine.calibration import Calibration

A100 = calibrate("A100 80GB SXM")


def served(model="Llama-2-7B", **choices):
    return rk.llm(model).on("A100 80GB SXM", calibration=A100, **choices)


@cases("fused", [True, False])
def test_matmuls_are_predicted_as_matmuls_of_their_shape(fused):
    table = served(fused=fused).decode(7, 100)
    name, width = ("gate_up_proj", 22016) if fused else ("gate_proj", 11008)
    assert table[name].predict(A100) == A100.matmul(7, 4096, width)
    assert table["lm_head"].predict(A100) == A100.matmul(7, 4096, 32000)


@cases("parallel", [False, True])
def test_layer_norms_and_activations_without_a_gate_claim_no_coverage(parallel):
    """OPT has both; phi and Falcon add attention and MLP to the stream together."""
    before = calibrate("H100", software="PyTorch 2024")
    opt = replace(rk.llm("OPT-6.7B"), parallel=parallel)
    table = opt.on("H100", calibration=before, fused=False).prefill(2, 100)
    norm, act, add = (
        table[f"{name}"].predict(before) for name in ("attn_norm", "mlp_act", "mlp_add")
    )
    for name, found, like in (
        ("attn_norm", norm, before.elementwise(200, 4096, kind="layer_norm")),
        ("mlp_act", act, before.elementwise(200, 16384, kind="activation")),
    ):
        assert found == replace(like, low=table[name].time)
    assert norm.coverage is act.coverage is None
    assert add.coverage == (None if parallel else 0.9)


@cases("scales", [None, 32])
def test_narrow_weights_are_moved_as_they_are_stored(scales):
    """And no kernel that widens them was timed: the interval begins at the bound."""
    whole, narrow = (
        served("Llama-3-8B", fused=False, precision=formats).decode(1, 100)
        for formats in (Precision(weights="bf16"), Precision(weights="int4", scales=scales))
    )
    layer, found = narrow["gate_proj"], narrow["gate_proj"].predict(A100)
    assert layer.time < found.seconds < 0.4 * whole["gate_proj"].predict(A100).seconds
    assert found.low <= layer.time
    assert found.coverage is None
    bits = "4-bit" if scales is None else "4.5-bit"
    assert f"no kernel with {bits} weights was timed" in found.basis
    stored = 0.5 if scales is None else 0.5625
    assert found == A100.matmul(1, 4096, 14336, weight_itemsize=stored)
    # lm_head stays wide.
    assert narrow["lm_head"].predict(A100) == whole["lm_head"].predict(A100)
    # What a tile multiplies is no narrower: compute-bound, both take as long.
    assert A100.matmul(4096, 4096, 14336, weight_itemsize=0.5).seconds == pytest.approx(
        A100.matmul(4096, 4096, 14336).seconds, rel=0.05
    )


SHAPED = ["Llama-2-70B", "Mixtral-8x7B", "DeepSeek-MoE-16B", "GPT-3-175B", "Qwen2.5-7B"]
LATENT = {"latent": Latent(kv_rank=32, q_rank=24, nope=8, rope=4, value=6)}
SMALL = rk.models.LLM("small", hidden=64, layers=2, heads=8, vocabulary=96, mlp=48)
MODELS = [
    *map(rk.llm, SHAPED), replace(SMALL, **LATENT),
    replace(SMALL, latent=replace(LATENT["latent"], q_rank=0)), replace(SMALL, block_norms=1),
]  # fmt: skip
ONE = {"gate_up": ("gate", "up"), "qkv": ("q", "k", "v"), "qkv_down": ("q_down", "kv_down")}


@cases("model", MODELS)
@cases("chips", [1, 2])
def test_kernels_have_the_sizes_that_their_counts_follow_from(model, chips):
    fused, plain = (
        model.on("H100", split=Split(tensor=chips), fused=fused).forward(3, 5, 7)
        for fused in (True, False)
    )
    widths = {}
    for layer in plain:
        kind, rows, *sizes = layer.operation.kernel or ("", 0)
        if kind == "attention":
            new, cached, heads, kv_heads, wide, stored = sizes
            assert (rows, new, cached, stored) == (3, 5, 7, 2)
            assert layer.flops == rows * heads * (4 * wide + 5) * (5 * 7 + 15)
            assert layer.kv == 2 * stored * rows * kv_heads * wide * (5 + 7)
        elif kind == "matmul":
            assert sizes.pop() == 2  # bytes of a weight
            widths[layer.name] = sizes
            assert layer.flops == 2 * rows * math.prod(sizes)
        elif kind:
            per = {
                "rms_norm": 4, "layer_norm": 7, "add": 1,
                "gated_activation": {"silu": 4, "gelu": 6}.get(model.activation),
                "activation": {"gelu": 5, "relu": 1}.get(model.activation),
            }  # fmt: skip
            assert layer.flops == per[kind] * rows * sizes[0]
            assert rows == (3 if layer.name == "final_norm" else 15)
    for layer in fused:
        if layer.operation.kernel[:1] == ("matmul",):
            kind, rows, width, out, _ = layer.operation.kernel
            one = ONE.get(layer.name.removesuffix("_proj").removeprefix("shared_"))
            name = layer.name
            if name == "qkv_proj" and model.latent:
                one = "q", "kv_down"
            names = (
                [name.replace("gate_up", part) for part in one]
                if one and "up" in name
                else ([f"{part}_proj" for part in one or ()] or [name])
            )
            assert {widths[each][0] for each in names} == {width}
            assert sum(widths[each][1] for each in names) == out
            assert kind == "matmul"
            assert rows == (3 if name == "lm_head" else 15)


def test_what_chips_send_is_predicted_by_collectives_that_were_timed():
    table = served("Llama-2-70B", split=Split(tensor=4)).decode(8, 100)
    assert table["attn_all_reduce"].predict(A100) == A100.all_reduce(2 * 8 * 8192, 4)
    assert table["logits_all_gather"].predict(A100) == A100.all_gather(2 * 8 * 32000, 4)


H100 = calibrate("H100")
OVER = [
    *(rk.group("H100", chips) for chips in (2, 4, 8)),
    rk.group("H100", 8, nodes=2, card=50e9), rk.group("H100", 1, nodes=8, card=25e9),
    rk.network.ring(8, 25e9), rk.network.line(4, 1e9), rk.network.all_pairs(8, 64e9),
    rk.network.switch(16, 900e9), rk.network.torus((4, 4), 45e9),
    rk.network.switch(8, 50e9, latency=1e-5),
]  # fmt: skip


@cases("over", OVER)
@cases("latency", [False, True])
def test_nothing_is_predicted_to_be_sent_faster_than_its_links_allow(over, latency):
    own = over.chip is not None and over.card is None
    served = rk.llm("Llama-3-70B").on(
        "H100", split=Split(tensor=over.n, kv_heads="split"), calibration=H100,
        links=Links(tensor=over, with_latency=latency and over.latency > 0),
    )  # fmt: skip
    for rows in (1, 64, np.array([1, 512])):
        table = served.decode(rows, 100)
        for name in ("attn_all_reduce", "logits_all_gather"):
            found = table[name].predict(H100)
            for each in (found.low, found.seconds, found.high):
                assert np.all(each >= table[name].time)
            assert found.coverage == (0.9 if own else None)


def test_what_was_not_timed_goes_by_its_links():
    stages = (
        rk.llm("Llama-2-7B").on("H100", split=Split(pipeline=4), calibration=H100).decode(8, 100)
    )
    call = 2 * 4096 * 2 / 450e9 + H100._find_fit("matmul", "bf16").constants["overhead"]
    assert stages["send"].predict(H100).seconds == pytest.approx(call)
    mixtral = (
        rk.llm("Mixtral-8x7B")
        .on("H100", split=Split(data=8, expert=8), calibration=H100)
        .decode(8, 100)
    )
    for name in ("dispatch", "combine"):
        found = mixtral[name].predict(H100)
        assert found.low == mixtral[name].time < found.seconds < found.high
        assert "the links' specifications" in found.basis


def test_fused_attention_is_predicted_as_it_was_timed():
    for table, new, cached in (
        (served("Llama-2-70B", split=Split(tensor=4)).decode(8, 1000), 1, 1000),
        (served("Llama-2-70B", split=Split(tensor=4)).prefill(8, 1000), 1000, 0),
    ):
        found = table["attention"].predict(A100)
        assert found == A100.attention(8, new, cached, 16, 2, 128)
        assert found.coverage == 0.9
        assert "A100 80GB SXM, 2026" in table.prediction.basis


@cases(
    ("model", "choices"),
    [
        ("Llama-2-7B", {"attention": "unfused"}),
        ("Llama-2-7B", {"precision": Precision(kv="fp8")}),
        ("Mistral-7B", {}),
        ("DeepSeek-V3", {"split": Split(tensor=8, expert=8)}),
    ],
)
def test_other_attention_claims_no_coverage(model, choices):
    model = replace(rk.llm(model), window=512) if model == "Mistral-7B" else rk.llm(model)
    served = model.on("H200", calibration=calibrate("H200"), **choices)
    for layer in served.decode(8, 1000):
        if "attention" in layer.name or layer.name in ("qk_matmul", "softmax", "sv_matmul"):
            found = layer.predict(served.calibration)
            assert found.coverage is None
            assert found.low <= found.seconds <= found.high


def test_a_prediction_from_a_cache_is_lifted_to_the_bound_and_claims_no_coverage():
    """Six of these weights lie in the cache of an L40S, where they were timed; a model's do not."""
    l40s = calibrate("L40S")
    small = rk.llm("Llama-3.2-1B").on("L40S", calibration=l40s)
    layer = small.decode(1, 100)["o_proj"]
    timed, found = l40s.matmul(1, 2048, 2048), layer.predict(l40s)
    assert timed.coverage == 0.9
    assert timed.seconds < layer.time == found.seconds
    assert found.coverage is None


def test_a_pass_is_the_sum_of_its_layers_and_above_its_bound():
    table = served(fused=False).prefill(1, 2048)
    parts = [layer.count * layer.predict(A100) for layer in table]
    total, found = Prediction.total(parts), table.prediction
    assert (found.seconds, found.high) == (total.seconds, total.high)
    assert found.low == (table.time if total.coverage is None else total.low)
    assert found.basis == f"kernels alone; {total.basis}"
    assert table.time <= table.prediction.low < table.prediction.seconds < table.prediction.high
    assert f"predicted: {table.prediction}" in repr(table)
    assert "predicted: " in table._repr_html_()


@cases("choices", [{}, {"split": Split(pipeline=2), "fused": False}])
def test_a_generation_is_predicted_as_all_of_its_steps(choices):
    llama = served(**choices)
    run = llama.generate(8, 1000, 101)
    one_by_one = sum(llama.decode(8, 1000 + done).prediction.seconds for done in range(100))
    assert run.predicted_decoding.seconds == pytest.approx(one_by_one, rel=2e-3)
    both = run.predicted_first_token.seconds + run.predicted_decoding.seconds
    assert run.prediction.seconds == pytest.approx(both)
    # The interval is that of published runs, of which none had several stages.
    whole, of_runs = run.prediction, llama.split.pipeline == 1
    assert whole.coverage == (0.9 if of_runs else None)
    assert whole.low == pytest.approx(max(0.76 * both, run.time) if of_runs else run.time)
    assert run.predicted_first_token.coverage is None
    passes = 1.5 if llama.split.pipeline == 2 else 1.0  # two parts, one after the other
    whole = llama.prefill(8, 1000).prediction.seconds
    assert run.predicted_first_token.seconds == pytest.approx(passes * whole)
    assert run.time < run.prediction.seconds
    assert llama.generate(8, 1000, 1).predicted_decoding.seconds == 0
    several = llama.generate(8, np.array([[500], [1000]]), np.array([1, 101])).prediction
    assert several.seconds[1, 1] == pytest.approx(run.prediction.seconds)


def test_a_readers_own_calibration_serves_too():
    roof = rk.Roofline(312e12, 2.039e12)
    truth = Calibration(roof, eff_flops=0.7, eff_bw=0.8, overhead=1e-5)
    cost = rk.matmul(np.geomspace(1, 1e4, 20), 4096, np.array([[4096], [16384]]))
    fit = calibrate([(cost, truth.seconds(cost))], roof, dtype="bf16")
    table = rk.llm("Llama-2-7B").on("A100 80GB SXM", calibration=fit).decode(1, 100)
    assert table["o_proj"].predict(fit) == fit.matmul(1, 4096, 4096)
    assert table.prediction.seconds > table.time
    cost = rk.matmul(1, 4096, 4096)
    narrow = fit.matmul(1, 4096, 4096, weight_itemsize=0.5)
    assert narrow.seconds == fit.seconds(rk.Cost(cost.flops, cost.bytes - 1.5 * 4096**2))
    assert narrow.coverage is None


def test_without_a_calibration_there_is_no_prediction():
    with pytest.raises(ValueError, match="no calibration was given"):
        _ = rk.llm("Llama-2-7B").on("A100 80GB SXM").prefill().prediction


@cases(
    ("chip", "formats"),
    [("L40S", {}), ("L40S", {"precision": Precision(weights="fp8", activations="fp8")}),
     ("H100", {"precision": Precision(weights="int4")})],
)  # fmt: skip
def test_no_layer_is_predicted_below_its_bound(chip, formats):
    calibration = calibrate(chip)
    links = Links(tensor=rk.network.ring(8, 32e9) if chip == "L40S" else None)
    for fused in (True, False):
        served = rk.llm("Llama-2-13B").on(
            chip, split=Split(tensor=8), links=links, calibration=calibration, fused=fused,
            **formats,
        )  # fmt: skip
        for table in (served.prefill(8, 1024), served.decode(64, 1024)):
            for layer in table:
                found = layer.predict(calibration)
                assert layer.time <= found.low <= found.seconds <= found.high
            assert table.prediction.low >= table.time * 0.999
