"""Passes of any kind, memory, and models spread over chips."""

import csv
import dataclasses

import numpy as np
import pytest

import roofkit as rk

LLAMA, MISTRAL = rk.llm("Llama-2-7B"), rk.llm("Mistral-7B-v0.1")
MIXTRAL = rk.llm("Mixtral-8x7B")


# Passes


@pytest.mark.parametrize("model", [LLAMA, MISTRAL, MIXTRAL], ids=lambda model: model.name)
def test_prefill_and_decode_are_passes_of_one_kind(model):
    served = model.on("H100")
    assert served.forward(3, 500).rows == served.prefill(3, 500).rows
    assert served.forward(3, 1, cached=500).rows == served.decode(3, 500).rows


@pytest.mark.parametrize("window", [None, 1, 300, 700])
@pytest.mark.parametrize("chunks", [(400, 600), (1, 999), (250, 250, 250, 250), (999, 1)])
def test_chunks_of_a_prefill_meet_the_pairs_of_the_whole(window, chunks):
    served = dataclasses.replace(LLAMA, window=window).on("H100")
    done = flops = 0
    for chunk in chunks:
        flops += served.forward(2, chunk, done)["attention"].flops
        done += chunk
    assert flops == served.prefill(2, sum(chunks))["attention"].flops


@pytest.mark.parametrize("attention", ["flash", "unfused"])
def test_several_new_tokens_read_a_cached_prefix_once(attention):
    table = LLAMA.on("H100", attention=attention).forward(2, 5, cached=1000)
    read = sum(layer.kv for layer in table if layer.name in ("attention", "qk_matmul", "sv_matmul"))
    assert read == 2 * 2 * 2 * 4096 * 1005
    assert table["qkv_proj"].kv == 2 * 2 * 2 * 4096 * 5


def test_a_speculative_step_makes_the_logits_of_every_token():
    served = LLAMA.on("H100")
    last, every = (served.forward(2, 5, 100, every_logit=wanted) for wanted in (False, True))
    d, vocabulary = LLAMA.hidden, LLAMA.vocabulary
    norm = 4 * d
    assert last["lm_head"].flops == 2 * (2 * d * vocabulary + norm)
    assert every["lm_head"].flops == 10 * (2 * d * vocabulary + norm)
    assert every["lm_head"].weights == last["lm_head"].weights


def test_passes_broadcast():
    served = MISTRAL.on(["H100", "A100 80GB SXM"], attention="flash")
    new, cached = np.array([[1], [64]]), np.array([0, 5000])
    table = served.forward(4, new, cached)
    for (row, column), time in np.ndenumerate(table.time):
        one = MISTRAL.on(served.chip[column]).forward(4, int(new[row, 0]), int(cached[column]))
        assert time == one.time


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({"batch": 1.5}, "batch must be a whole number, got 1.5"),
        ({"new": 0}, "new must be finite and at least 1"),
        ({"cached": -1}, "cached must be finite and at least 0"),
        ({"every_logit": 1}, "every_logit=1 must be True or False"),
    ],
)
def test_a_pass_that_cannot_be_is_refused(lengths, message):
    with pytest.raises(ValueError, match=message):
        LLAMA.on("H100").forward(**lengths)


# Fusion


@pytest.mark.parametrize("model", rk.llms(), ids=lambda model: model.name)
@pytest.mark.parametrize("cached", [0, 1000])
def test_fusion_saves_bytes_and_no_work(model, cached):
    fused, plain = (model.on("H200", fused=fused).forward(4, 64, cached) for fused in (True, False))
    # The final norm works on the last tokens alone.
    per_token = {"rms": 4, "layer": 7}[model.norm] * model.hidden
    assert plain.flops - fused.flops == pytest.approx(4 * 63 * per_token, rel=1e-6)
    assert fused.bytes < plain.bytes
    assert fused.time < plain.time


def test_the_hungriest_layer_holds_the_residual_stream_once():
    """An addition of 64 prompts: two operands and their sum, each of hidden width."""
    served = rk.llm("Llama-2-70B").on("H100", chips=8, fused=False)
    assert served.memory(64, 2048, chunk=None).activations == 3 * 64 * 2048 * 8192 * 2


def test_a_chunk_bounds_the_activations():
    served = LLAMA.on("H100")
    whole, chunked = (served.memory(8, 4096, chunk=chunk) for chunk in (None, 1024))
    assert chunked.activations == pytest.approx(whole.activations / 32)
    assert (chunked.kv, chunked.weights) == (whole.kv, whole.weights)
    assert served.memory(8, 4096) == served.memory(8, 4096, chunk=8192)


@pytest.mark.parametrize("output", [1, 512])
def test_the_logits_of_every_sequence_need_room(output):
    """A step of so many sequences is hungrier than a chunk of a few prompts."""
    served = rk.llm("Llama-3-8B").on("H100")
    logits = served.decode(4096, 100)["lm_head"].activations
    stream = 4096 * 4096 * 2
    assert served.memory(4096, 16, output, chunk=512).activations == logits + stream


def test_what_is_reserved_is_not_spare():
    served = LLAMA.on("H100")
    free = served.memory(8, 4096)
    for reserve, taken in ((2e9, 2e9), (0.1, 0.1 * free.capacity)):
        held = served.memory(8, 4096, reserve=reserve)
        assert (held.total, held.reserve) == (free.total, taken)
        assert held.spare == pytest.approx(free.spare - taken)
    half = LLAMA.on(["H100", "A100 80GB SXM"]).memory(8, 4096, reserve=0.5)
    assert half.reserve.tolist() == [each / 2 for each in half.capacity]
    for bad in (-1, "much", [1, 2]):
        with pytest.raises(ValueError, match="reserve must be"):
            served.memory(reserve=bad)


# Several chips


def test_a_pipeline_shares_layers_and_sends_the_stream():
    alone, piped = LLAMA.on("H100"), LLAMA.on("H100", pipeline=4)
    assert piped.memory(8, 1).kv == alone.memory(8, 1).kv / 4
    layers = 2 * (LLAMA.parameters - 2 * 32000 * 4096 - 4096) / 4
    assert piped.memory(8, 1).weights == pytest.approx(layers + 2 * 32000 * 4096, rel=1e-5)
    send = piped.decode(8, 100)["send"]
    assert (send.count, send.link) == (3, 2 * 2 * 4096)  # two sequences at a time
    # A stage works on two sequences while the others work on theirs.
    through = alone.time_per_token(2, 100) + 3 * send.time
    assert piped.time_per_token(8, 100) == pytest.approx(through)
    # Every stage is busy until the last token has left the first, and then goes through alone.
    whole = alone.time_to_first_token(8, 512) + 3 * 4 * piped.prefill(8, 512)["send"].time
    last = alone.time_per_token(1, 511) + 3 * send.time / 2
    assert piped.time_to_first_token(8, 512) == pytest.approx((whole + 3 * last) / 4)
    assert piped.time_to_first_token(1, 32768) < alone.time_to_first_token(1, 32768) / 3


def test_replicas_multiply_what_comes_out_and_nothing_else():
    alone, four = LLAMA.on("H100").generate(8), LLAMA.on("H100", data=4).generate(8)
    assert four.tokens_per_second == pytest.approx(4 * alone.tokens_per_second)
    assert (four.time, four.memory) == (alone.time, alone.memory)


def test_experts_within_a_replica_are_held_whole():
    split = MIXTRAL.on("H100", chips=8, expert=8)
    sliced = MIXTRAL.on("H100", chips=8)
    assert split.memory().weights == sliced.memory().weights
    a_token = split.decode(1, 100)["experts_down"], sliced.decode(1, 100)["experts_down"]
    # Of two experts a token visits, a chip holds a quarter of one on average: the same bytes.
    assert a_token[0].weights == pytest.approx(a_token[1].weights)
    assert "dispatch" not in {layer.name for layer in split.decode(1, 100)}


def test_experts_across_replicas_serve_the_tokens_of_all():
    joined = rk.group("H100", 8)
    served = MIXTRAL.on("H100", data=8, expert=8, between=joined)
    table, alone = served.decode(4, 100), MIXTRAL.on("H100").decode(32, 100)
    # One expert a chip, for the tokens of all replicas.
    assert table["experts_down"].flops == pytest.approx(alone["experts_down"].flops / 8)
    assert table["experts_down"].weights == pytest.approx(alone["experts_down"].weights / 8)
    assert table["attention"].flops == alone["attention"].flops / 8
    # A token visits two experts, which lie on 8 (1 - (7/8)²) chips on average.
    array = 8 * 4 * 4096 * 2 * 8 * (1 - (7 / 8) ** 2)
    assert table["dispatch"].time == pytest.approx(rk.network.all_to_all(array, joined).seconds)
    assert served.memory().weights < MIXTRAL.on("H100").memory().weights / 5


def test_kv_heads_are_replicated_or_split_where_there_are_more_chips():
    both = [
        rk.llm("Llama-2-70B").on(
            "H100", chips=16, joined=rk.network.switch(16, 450e9), kv_heads=how
        )
        for how in ("replicated", "split")
    ]
    assert both[0].kv_bytes_per_token == 2 * both[1].kv_bytes_per_token
    read = [served.decode(8, 4096)["attention"].kv for served in both]
    assert read[0] == 2 * read[1]


@pytest.mark.parametrize(
    ("model", "choices", "message"),
    [
        (MIXTRAL, {"expert": 3}, "expert=3 must divide the 1 chips of a replica"),
        (MIXTRAL, {"chips": 4, "data": 3, "expert": 6}, "8 experts cannot be dealt out in 6"),
        (MIXTRAL, {"data": 2, "expert": 2, "between": rk.group("H100", 4)}, "has to join 2"),
        (MIXTRAL, {"data": 16, "expert": 16}, "8 experts cannot be dealt out in 16 shares"),
    ],
)
def test_splits_that_cannot_be_are_refused(model, choices, message):
    with pytest.raises(ValueError, match=message):
        model.on("H100", **choices)


def test_chips_may_be_counted_by_numpy():
    assert LLAMA.on("H100", chips=np.int64(8)).chips == 8
    with pytest.raises(ValueError, match=r"chips=2.0 must be a whole number"):
        LLAMA.on("H100", chips=2.0)


# Lists and arrays


def test_a_list_of_chips_generates_as_each_does():
    names, outputs = ["H100", "A100 80GB SXM", "TPU v5p"], [[10], [20]]
    together = LLAMA.on(names).generate(1, 100, np.array(outputs))
    for column, name in enumerate(names):
        for row, (output,) in enumerate(outputs):
            alone = LLAMA.on(name).generate(1, 100, output)
            assert together.decoding[row, column] == pytest.approx(alone.decoding)


def test_a_table_of_arrays_is_written_point_by_point():
    batches, contexts = np.array([1, 64]), np.array([[100], [200], [300]])
    table = LLAMA.on("H100").decode(batches, contexts)
    rows = list(csv.DictReader(table.to_csv().splitlines()))
    assert len(rows) == 6 * len(table)
    names = [layer.name for layer in table]
    points = [(batch, context) for (context,) in contexts.tolist() for batch in batches.tolist()]
    for place, row in enumerate(rows):
        point, layer = divmod(place, len(table))
        assert (row["point"], row["layer"]) == (str(point), names[layer])
        alone = LLAMA.on("H100").decode(*points[point]).rows[layer]
        assert row["bound"] == alone["bound"]
        assert float(row["seconds"]) == pytest.approx(alone["seconds"])
    assert "point" not in LLAMA.on("H100").decode(1, 100).to_csv()


@pytest.mark.filterwarnings("error")
def test_layers_that_only_talk_have_no_intensity_in_arrays_either():
    table = LLAMA.on("H100", chips=8).decode(np.array([1, 64]), 2048)
    assert "attn_all_reduce" in str(table)
    assert table["attn_all_reduce"].intensity.tolist() == [0, 0]
    assert table["attn_all_reduce"].attainable.tolist() == [0, 0]


def test_figures_that_are_not_confirmed_are_used_when_asked():
    orin = rk.chip("AGX Orin")
    with pytest.raises(ValueError, match="pass unconfirmed=True"):
        LLAMA.on(orin)
    step = LLAMA.on(orin, unconfirmed=True).decode(1, 100)
    assert step["down_proj"].bandwidth == orin.bandwidth
    with pytest.raises(ValueError, match="pass unconfirmed=True"):
        rk.cnn("ResNet-50").forward(orin, dtype="int8")
    assert rk.cnn("ResNet-50").forward(orin, dtype="int8", unconfirmed=True).time > 0
    with pytest.raises(ValueError, match="unconfirmed='yes' must be True or False"):
        LLAMA.on(orin, unconfirmed="yes")
    with pytest.raises(ValueError, match=r"on_chip=.* must be one number"):
        LLAMA.on("H100", on_chip=[1e6, 2e6])
