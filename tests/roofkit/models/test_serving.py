"""Passes of any kind, memory, and models spread over chips."""

import dataclasses
import itertools
import sys
import types

import numpy as np
import pytest
from cases import cases

import roofkit as rk
from roofkit.models import Links, Precision, Split

LLAMA, MISTRAL = rk.llm("Llama-2-7B"), rk.llm("Mistral-7B-v0.1")
MIXTRAL = rk.llm("Mixtral-8x7B")


# Passes


@cases("model", [LLAMA, MISTRAL, MIXTRAL])
def test_prefill_and_decode_are_passes_of_one_kind(model):
    served = model.on("H100")
    assert served.forward(3, 500).rows == served.prefill(3, 500).rows
    assert served.forward(3, 1, cached=500).rows == served.decode(3, 500).rows


def test_a_speculative_step_makes_the_logits_of_every_token():
    served = LLAMA.on("H100")
    last, every = (served.forward(2, 5, 100, every_logit=wanted) for wanted in (False, True))
    d, vocabulary = LLAMA.hidden, LLAMA.vocabulary
    norm = 4 * d
    assert last["lm_head"].flops == 2 * (2 * d * vocabulary + norm)
    assert every["lm_head"].flops == 10 * (2 * d * vocabulary + norm)
    assert every["lm_head"].weights == last["lm_head"].weights


@cases(
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


def test_a_title_says_where_a_sequence_outgrows_the_model():
    served = rk.llm("Llama-3-8B").on("H100")
    beyond = "beyond the 8,192 tokens it was trained for"
    for table in (served.prefill(1, 8193), served.decode(1, np.array([10, 8192])),
                  served.forward(1, 93, 8100)):  # fmt: skip
        assert table.title.endswith(beyond)
    for table in (served.prefill(1, 8192), served.decode(1, 8191)):
        assert "beyond" not in table.title
    assert "beyond" not in dataclasses.replace(LLAMA, context=None).on("H100").decode(1, 1e6).title


# Fusion


@cases("model", rk.models.llms())
@cases("cached", [0, 1000])
def test_fusion_saves_bytes_and_no_work(model, cached):
    fused, plain = (model.on("H200", fused=fused).forward(4, 64, cached) for fused in (True, False))
    assert plain.flops == pytest.approx(fused.flops, rel=1e-12)
    assert fused.bytes < plain.bytes
    assert fused.time < plain.time


def test_a_chunk_bounds_the_activations():
    served = LLAMA.on("H100")
    whole, chunked = (served.memory(8, 4096, chunk=chunk) for chunk in (None, 1024))
    assert chunked.activations == pytest.approx(whole.activations / 32)
    assert (chunked.kv, chunked.weights) == (whole.kv, whole.weights)
    assert served.memory(8, 4096) == served.memory(8, 4096, chunk=8192)


@cases("output", [1, 512])
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


def test_a_chunk_meets_all_that_was_cached_before_it():
    """Scores of the last chunk, read and written by the softmax, and the stream beside them."""
    served = LLAMA.on("H100", attention="unfused")
    scores, stream = 2 * 2 * 1024 * 32 * 4096, 2 * 1024 * 4096
    assert served.memory(1, 4096, chunk=1024).activations == scores + stream


def test_a_stage_holds_what_a_part_of_the_batch_needs():
    alone, piped = LLAMA.on("H100"), LLAMA.on("H100", split=Split(pipeline=4))
    for batch, part in ((8, 2), (2, 1)):
        assert piped.memory(batch, 512).activations == alone.memory(part, 512).activations


def test_what_just_fits_fits():
    served = LLAMA.on("H100")
    exact = dataclasses.replace(
        served.chip, allocatable=None, capacity=served.memory(5, 4096, 7).total
    )
    assert LLAMA.on(exact).largest_batch(4096, 7) == 5
    assert LLAMA.on(exact).longest_prompt(5, 7) == 4096
    assert served.memory().reserve == 0


def test_rows_say_what_layers_do():
    table = LLAMA.on("H100").decode(4, 100)
    for row, layer in zip(table.rows, table, strict=True):
        assert (row["flops"], row["bytes"], row["link_bytes"]) == (
            layer.flops, layer.bytes, layer.link,
        )  # fmt: skip
        assert (row["layer"], row["count"], row["seconds"]) == (
            layer.name, layer.count, layer.time,
        )  # fmt: skip


def test_the_last_step_may_be_the_hungriest():
    """Scores of many sequences that were prefilled in small chunks."""
    served = LLAMA.on("H100", attention="unfused", fused=False)
    held = served.memory(256, 16, 5000, chunk=16)
    softmax = served.decode(256, 16 + 5000 - 2)["softmax"].activations
    assert held.activations == softmax + 256 * 4096 * 2


DEFAULTS = {
    "prefill": (1, 2048), "decode": (1, 2048), "forward": (1, 1, 0), "generate": (1, 2048, 128),
    "time_to_first_token": (1, 2048), "time_per_token": (1, 2048), "memory": (1, 2048, 1),
    "largest_batch": (2048, 1), "longest_prompt": (1, 1), "compute_bound_batch": (2048,),
}  # fmt: skip


@cases("name", DEFAULTS)
def test_unless_told_otherwise_it_is_one_sequence_of_2048_tokens(name):
    ask = getattr(LLAMA.on("H100"), name)
    usual, told = ask(), ask(*DEFAULTS[name])
    if hasattr(told, "rows"):
        usual, told = usual.rows, told.rows
    assert usual == told


def test_solvers_ask_for_one_sequence_of_2048_tokens_too():
    served = LLAMA.on("H100")
    assert rk.models.cheapest(served) == rk.models.cheapest(served, 2048, 128)
    for ask in (LLAMA.fewest_chips, rk.llm("Llama-2-70B").fewest_chips):
        assert ask("A100 80GB SXM") == ask("A100 80GB SXM", 1, 2048, 1)


# Several chips


def test_a_pipeline_shares_layers_and_sends_the_stream():
    alone, piped = LLAMA.on("H100"), LLAMA.on("H100", split=Split(pipeline=4))
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
    alone, four = LLAMA.on("H100").generate(8), LLAMA.on("H100", split=Split(data=4)).generate(8)
    assert four.tokens_per_second == pytest.approx(4 * alone.tokens_per_second)
    assert (four.time, four.memory) == (alone.time, alone.memory)


def test_exchanged_experts_are_added_to_the_stream():
    joined = rk.group("H100", 8)
    ways = {"split": Split(data=8, expert=8), "links": Links(expert=joined)}
    alone, apart = MIXTRAL.on("H100").decode(4, 100), MIXTRAL.on("H100", **ways).decode(4, 100)
    assert alone["experts_down"].operation.on_stream
    assert not apart["experts_down"].operation.on_stream
    assert apart["mlp_add"].bytes == 2 * 2 * 4 * 4096
    assert apart["mlp_add"].count == 32
    shared = rk.llm("DeepSeek-MoE-16B").on("H100", **ways).decode(4, 100)
    assert "mlp_add" not in {layer.name for layer in shared}


def test_a_shared_expert_goes_with_the_router_and_takes_the_sum_along():
    model = rk.llm("DeepSeek-MoE-16B")
    step = model.on("H100", precision=Precision(weights="fp8", activations="fp8")).decode(4, 100)
    d, width, shared = model.hidden, model.expert_width, model.shared_width
    rows = model.experts_per_token
    assert step["router"].activations == 4 * 2 * (d + model.experts)
    assert step["experts_gate_up"].activations == 4 * (2 * d + rows * width)
    assert step["experts_down"].activations == 4 * rows * width
    assert step["shared_gate_up"].activations == 4 * shared
    assert step["shared_down"].activations == 4 * (shared + 2 * 2 * d)
    gated = dataclasses.replace(model, shared_gate=True).on("H100").decode(4, 100)
    assert gated["shared_scale"].bytes == 2 * d
    alone = MIXTRAL.on("H100").decode(4, 100)["experts_down"].activations
    assert alone == 4 * 2 * (2 * MIXTRAL.expert_width + 2 * MIXTRAL.hidden)


def test_an_embedding_reads_no_row_twice_and_only_its_own():
    table = 2 * 32000 * 4096
    assert LLAMA.on("H100").prefill(64, 4096)["embedding"].weights == table
    split = LLAMA.on("H100", split=Split(tensor=8))
    assert split.prefill(64, 4096)["embedding"].weights == table / 8
    assert split.decode(64)["embedding"].weights == 2 * 4096 * 64 / 8


def test_one_new_token_is_a_step_of_decoding_in_an_array_too():
    """A memory too small for the queries of one token, which are worked on at once all the same."""
    for convention in ("roofkit", "llm-viewer"):
        served = rk.llm("Llama-2-70B").on("H100", on_chip=1e3, convention=convention)
        both = served.forward(2, np.array([1, 3]), 500)
        for place, new in enumerate((1, 3)):
            for layer, column in zip(served.forward(2, new, 500), both, strict=True):
                values = np.broadcast_to(column.bytes, (2,)), np.broadcast_to(column.flops, (2,))
                assert (values[0][place], values[1][place]) == (layer.bytes, layer.flops)


def _arrivals(experts, chosen, chips, nodes, tensor):
    """Vectors that must come to a chip over its links, and to a node, of a token of each replica.

    Over every choice of experts, which lie in order on chips that lie in order in nodes. Each chip
    of a replica holds its token; where another node asks for it, it comes to a chip that wants it.
    """
    per_chip, per_node = experts / chips, chips // nodes
    over_links = over_cards = 0
    choices = list(itertools.combinations(range(experts), chosen))
    for choice, replica in itertools.product(choices, range(chips // tensor)):
        holding = range(replica * tensor, (replica + 1) * tensor)
        asking = {int(expert // per_chip) for expert in choice} - {*holding}
        for node in range(nodes):
            here = {chip for chip in asking if chip // per_node == node}
            came = bool(here) and all(chip // per_node != node for chip in holding)
            over_cards += came
            over_links += len(here) - came
    return over_links / len(choices) / chips, over_cards / len(choices) / chips


@cases(
    ("experts", "chosen", "chips", "nodes", "tensor"),
    [
        (8, 2, 8, 1, 1), (8, 2, 8, 1, 4), (8, 3, 4, 1, 2), (8, 8, 4, 1, 1), (12, 3, 6, 3, 1),
        (8, 2, 8, 2, 1), (8, 3, 8, 4, 2), (8, 2, 8, 2, 4),
    ],
)  # fmt: skip
def test_a_token_comes_once_to_each_node_and_chip_that_asks_for_it(
    experts, chosen, chips, nodes, tensor
):
    model = dataclasses.replace(MIXTRAL, experts=experts, experts_per_token=chosen)
    wanted = _arrivals(experts, chosen, chips, nodes, tensor)
    # Of links and cards, the one that is looked at is a thousand times slower.
    for place, (speed, card) in enumerate([(1.0, 1e3), (1e3, 1.0)][:nodes]):
        beyond = {"nodes": nodes, "card": card} if nodes > 1 else {}
        links = Links(
            tensor=rk.network.switch(tensor, 1e3) if tensor > 1 else None,
            expert=rk.network.Group("switch", (chips // nodes,), speed, **beyond),
        )
        split = Split(tensor=tensor, data=chips // tensor, expert=chips)
        served = model.on("H100", split=split, links=links)
        found = served.decode(5, 100)["dispatch"].time
        assert found == pytest.approx(5 * 2 * 4096 * wanted[place])


def test_sums_in_a_switch_need_one_that_adds():
    with pytest.raises(ValueError, match="in_network=True needs a switch that sums arrays"):
        LLAMA.on("A100 80GB SXM", split=Split(tensor=8), links=Links(in_network=True))
    with pytest.raises(ValueError, match="in_network=1 must be True, False or None"):
        LLAMA.on("H100", split=Split(tensor=8), links=Links(in_network=1))


def test_stages_send_over_what_joins_them():
    def seconds(chips, stages, **links):
        served = LLAMA.on("H100", split=Split(chips, stages), links=Links(**links))
        return served.decode(8, 100)["send"].time / (2 * 8 / stages * 4096 / chips)

    within, beyond = 1 / 450e9, 1 / 50e9
    assert seconds(2, 4) == pytest.approx(within)
    assert seconds(8, 4, pipeline=50e9) == pytest.approx(beyond)
    nodes = rk.group("H100", 8, nodes=4, card=50e9)
    assert seconds(8, 4, pipeline=nodes) == pytest.approx(beyond)
    # Two stages a node: of seven sends three cross nodes.
    eight = seconds(4, 8, pipeline=nodes)
    assert eight == pytest.approx((4 * within + 3 * beyond) / 7)
    assert seconds(1, 2, tensor=rk.group("H100", 1, nodes=2, card=50e9)) == beyond


def test_a_stage_waits_for_the_hop_to_the_next_only_if_asked():
    """A hop so slow that the bytes of 8 tokens, sent in two parts, take less."""
    slow = rk.network.switch(2, 450e9, latency=1e-3)
    waiting, flowing = (
        LLAMA.on("H100", split=Split(pipeline=2), links=Links(pipeline=slow, with_latency=asked))
        for asked in (True, False)
    )
    assert waiting.decode(8, 100)["send"].time == pytest.approx(1e-3)
    assert flowing.decode(8, 100)["send"].time == pytest.approx(2 * 4 * 4096 / 450e9)


@cases(
    ("tensor", "pipeline", "links", "message"),
    [
        (8, 4, {}, "4 stages of 8 chips need 32 H100"),
        (2, 2, {"tensor": rk.group("H100", 2)}, "2 stages of 2 chips need 4"),
        (1, 2, {"pipeline": rk.group("H100", 4)}, "pipeline of Links is a group of 4 chips"),
        (1, 2, {"pipeline": "ring"}, "leave pipeline='ring' out of Links"),
    ],
)
def test_stages_that_nothing_joins_are_refused(tensor, pipeline, links, message):
    with pytest.raises(ValueError, match=message):
        LLAMA.on("H100", split=Split(tensor, pipeline), links=Links(**links))


def test_kv_heads_are_replicated_or_split_where_there_are_more_chips():
    both = [
        rk.llm("Llama-2-70B").on(
            "H100",
            split=Split(tensor=16, kv_heads=how),
            links=Links(tensor=rk.network.switch(16, 450e9)),
        )
        for how in ("replicated", "split")
    ]
    assert both[0].kv_bytes_per_token == 2 * both[1].kv_bytes_per_token
    read = [served.decode(8, 4096)["attention"].kv for served in both]
    assert read[0] == 2 * read[1]
    for fused, rows in ((True, ("qkv_proj",)), (False, ("rotary", "v_proj"))):
        served = rk.llm("Llama-2-70B").on(
            "H100", split=Split(tensor=16, kv_heads="split"),
            links=Links(tensor=rk.network.switch(16, 450e9)), fused=fused,
        )  # fmt: skip
        step = served.decode(8, 4096)
        assert sum(step[name].kv for name in rows) == 8 * served.kv_bytes_per_token / 80


@cases(
    ("split", "links", "message"),
    [
        (Split(expert=3), None, "expert=3 must divide the 1 chips of a replica"),
        (Split(data=2, expert=2), Links(expert=rk.group("H100", 4)), "must join 2"),
        (Split(tensor=8, data=2, expert=16), None, "8 experts cannot be split into 16"),
    ],
)
def test_splits_that_cannot_be_are_refused(split, links, message):
    with pytest.raises(ValueError, match=message):
        MIXTRAL.on("H100", split=split, links=links)


def test_chips_may_be_counted_by_numpy():
    assert LLAMA.on("H100", split=Split(tensor=np.int64(8))).split.chips == 8
    with pytest.raises(ValueError, match=r"tensor=2.0 must be a whole number"):
        LLAMA.on("H100", split=Split(tensor=2.0))


# Lists and arrays


def test_a_table_of_arrays_is_a_frame_point_by_point(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    batches, contexts = np.array([1, 64]), np.array([[100], [200], [300]])
    table = LLAMA.on("H100").decode(batches, contexts)
    rows = table.to_frame()
    assert len(rows) == 6 * len(table)
    names = [layer.name for layer in table]
    points = [(batch, context) for (context,) in contexts.tolist() for batch in batches.tolist()]
    for place, row in enumerate(rows):
        point, layer = divmod(place, len(table))
        assert (row["point"], row["layer"]) == (point, names[layer])
        alone = LLAMA.on("H100").decode(*points[point]).rows[layer]
        assert row["bound"] == alone["bound"]
        assert row["seconds"] == pytest.approx(alone["seconds"])
    alone = LLAMA.on("H100").decode(1, 100)
    assert alone.to_frame() == alone.rows
    assert "point" not in alone.rows[0]


@pytest.mark.filterwarnings("error")
def test_layers_that_only_talk_have_no_intensity_in_arrays_either():
    table = LLAMA.on("H100", split=Split(tensor=8)).decode(np.array([1, 64]), 2048)
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
