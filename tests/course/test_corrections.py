"""Figures that well-known texts get wrong, and what is right: each from the package's own parts."""

import math

import numpy as np
import pytest

import roofkit as rk

A100 = rk.chip("A100 80GB SXM")


def test_a_dot_product_leaves_more_than_99_7_percent_of_a_matrix_unit_idle():
    roof = rk.Roofline(1.97e14, 8.2e11)
    used = roof.attainable(rk.dot(10**9).intensity) / roof.peak_flops
    assert 1 - used == pytest.approx(0.9979, abs=5e-5)


def test_int8_arithmetic_keeps_the_critical_batch_and_int8_storage_halves_it():
    int8, bf16 = rk.Roofline(3.94e14, 8.1e11), rk.Roofline(1.97e14, 8.2e11)
    assert int8.ridge == pytest.approx(486.4, abs=0.05)
    assert rk.critical_batch(int8, dtype="int8") == pytest.approx(243.2, abs=0.05)
    assert rk.critical_batch(bf16, weight_dtype="int8") == pytest.approx(120.1, abs=0.05)


def test_quantised_matmuls_saturate_where_weights_and_peak_say():
    int8, fp16 = A100.roofline("int8"), A100.roofline("fp16")
    saturates = {
        "W4A16": rk.critical_batch(fp16, dtype="fp16", weight_dtype="int4"),
        "W4A8": rk.critical_batch(int8, dtype="int8", weight_dtype="int4"),
        "W8A8": rk.critical_batch(int8, dtype="int8"),
        "W16A16": rk.critical_batch(fp16, dtype="fp16"),
    }
    expected = {"W4A16": 38.3, "W4A8": 76.5, "W8A8": 153.0, "W16A16": 153.0}
    assert saturates == pytest.approx(expected, abs=0.06)
    # Against its own weights alone a matmul of m rows does 2m operations a weight.
    m = np.array([32, 76.5])
    w4a16, w8a8 = (
        roof.attainable(2 * m / rk.matmul(1, 1e9, 1e9, dtype).bytes * 1e18)
        for roof, dtype in ((fp16, "int4"), (int8, "int8"))
    )
    assert w4a16[0] == pytest.approx(261e12, rel=2e-3)
    assert w8a8[1] == pytest.approx(fp16.peak_flops, rel=2e-3)


def test_parameters_are_no_bytes_and_a_footprint_is_no_traffic():
    """LLaMA-13B, batch 8, 1024 tokens in and 1024 out, by a formula that adds a count to bytes."""
    h, layers, vocabulary, b, s, o = 5120, 40, 32000, 8, 1024, 1024
    flops = 24 * b * s * layers * h * h * (1 + s / (6 * h) + vocabulary / (12 * layers * h))
    kv_bytes = 4 * b * layers * h * (s + o)
    parameters = 12 * layers * h * h
    assert flops / (1.2 * parameters + kv_bytes) == pytest.approx(7563.3, rel=1e-5)
    assert flops / (1.2 * 2 * parameters + kv_bytes) == pytest.approx(4945.2, rel=1e-4)
    assert flops / (1.2 * (2 * parameters + kv_bytes)) == pytest.approx(4658.6, rel=1e-4)
    # What prefill really moves, matmul by matmul, with lm_head on every token.
    for attention, intensity in (("flash", 2094.9), ("unfused", 1029.9)):
        table = rk.llm("Llama-1-13B").on(A100, attention=attention, convention=["causal"])
        rows = [
            layer
            for layer in table.prefill(b, s)
            if layer.name.endswith(("_proj", "_matmul")) or layer.name in ("attention", "softmax")
        ]
        head = rk.matmul(b * s, h, vocabulary)
        total = head.flops + sum(row.count * row.flops for row in rows)
        moved = head.bytes + sum(row.count * row.bytes for row in rows)
        assert total / moved == pytest.approx(intensity, abs=0.06)


@pytest.mark.parametrize(("model", "group"), [("Llama-2-7B", 1), ("Llama-2-70B", 8)])
def test_attention_in_decode_has_the_intensity_of_its_group_of_heads(model, group):
    step = rk.llm(model).on("H100").decode(batch=64, context=8192)
    matmuls = 4 * 128 / (4 * 128 + 5)  # without the softmax
    assert step["attention"].intensity * matmuls == pytest.approx(group, rel=1e-3)


def test_vgg_is_memory_bound_in_its_fully_connected_layers_alone():
    gtx = rk.chip("GTX 1080 Ti")
    table = rk.cnn("VGG16").forward(gtx, on_chip=0)  # as the article has it: all through memory
    whole = gtx.roofline("fp32").estimate(rk.cnn("VGG16").cost())
    waiting = [layer.name for layer in table if layer.bound == "memory" and layer.flops]
    assert waiting == ["conv1_1", "fc6", "fc7", "fc8"]
    assert (math.floor(table.time * 1e5), math.floor(whole.lower * 1e5)) == (381, 273)
