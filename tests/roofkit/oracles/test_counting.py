"""roofkit's tables against a small transformer that counts what it does."""

import dataclasses
import functools
import itertools
import random
from collections import Counter

import adapter
import numpy as np
import pytest
import tiny_transformer as tiny
from cases import cases

WIDTHS = adapter.WIDTHS
# What no layer of a table is: taking a token, making a few gates of a token's scores, and the
# links, which are compared by themselves.
ASIDE = (
    "sample", "gating", "mixing", "adding", "send", "dispatch", "combine",
    "embedding_all_reduce", "attn_all_reduce", "mlp_all_reduce",
    "logits_all_gather",
)  # fmt: skip
MODELS = {
    "plain": {},
    "grouped": {"kv_heads": 2},
    "one KV head": {"kv_heads": 1},
    "wide heads": {"head_dim": 10},
    "window": {"window": 3, "kv_heads": 2},
    "layer norm": {"norm": "layer"},
    "two matrices": {"gated": False, "activation": "relu"},
    "gelu": {"activation": "gelu"},
    "all biases": {"qkv_bias": True, "out_bias": True, "mlp_bias": True},
    "some biases": {"qkv_bias": True, "kv_heads": 2},
    "normed heads": {"qk_norm": True, "kv_heads": 2},
    "learned places": {"rotary": False, "positions": 14},
    "tied": {"tied": True},
    "as GPT-2": {
        "gated": False, "activation": "gelu", "norm": "layer", "rotary": False, "positions": 12,
        "tied": True, "qkv_bias": True, "out_bias": True, "mlp_bias": True,
    },
}  # fmt: skip
PASSES = {"prefill": (4, 4, 0), "decode": (4, 1, 4), "chunk": (4, 2, 2)}


FIGURES = ("times", "flops", "weight", "activation", "cache")


def compare(model, chips, how, batch, new, cached):
    """Runs a pass and holds roofkit's against the chip that does most."""
    tokens = tiny.tokens_of(model, batch, cached + new, chips)
    run = tiny.run(model, tokens, cached=cached, chips=chips, how=how)
    said = adapter.layers(
        adapter.served(dataclasses.asdict(model), chips, how), batch, new, cached
    )  # fmt: skip
    counts = [chip.tape.asked(widths=WIDTHS) for chip in run.chips]
    for each in counts:
        assert [name for name in each if name not in ASIDE] == [
            name for name in said if name not in ASIDE
        ]
    for name in said.keys() - set(ASIDE):
        # Biases of sums and the rows of these tokens are the first chip's alone.
        found = {field: max(getattr(each[name], field) for each in counts) for field in FIGURES}
        assert {field: getattr(said[name], field) for field in FIGURES} == found, name
    return run


@cases("how", ["fused", "unfused"])
@cases("passed", PASSES)
@cases("name", MODELS)
def test_every_layer_does_and_moves_what_a_counted_run_does(name, passed, how):
    compare(tiny.changed(**MODELS[name]), 1, how, *PASSES[passed])


# What becomes one operation where everything that works on each element rides along.
RIDING = {
    "qkv_proj": ("attn_norm", "q_proj", "k_proj", "v_proj", "qk_norm", "rotary"),
    "o_proj": ("o_proj", "attn_add"),
    "gate_up_proj": ("mlp_norm", "gate_proj", "up_proj", "mlp_act"),
    "down_proj": ("down_proj", "mlp_add"),
}


@cases("passed", PASSES)
@cases("name", MODELS)
def test_what_rides_along_moves_what_goes_in_and_comes_out(name, passed):
    model, (batch, new, cached) = tiny.changed(**MODELS[name]), PASSES[passed]
    run = tiny.run(model, tiny.tokens_of(model, batch, cached + new), cached=cached)
    served = adapter.served(dataclasses.asdict(model), riding=True)
    said, found = adapter.layers(served, batch, new, cached), {}
    for first, asked in run.chips[0].tape.asked(list(RIDING.values()), WIDTHS).items():
        found[next((name for name, names in RIDING.items() if names[0] == first), first)] = asked
    for layer in RIDING.keys() | {"attention", "embedding"}:
        mine = layer if layer in said else "up_proj"  # where there is no gate
        assert {field: getattr(said[mine], field) for field in FIGURES} == {
            field: getattr(found[layer], field) for field in FIGURES
        }, layer


SIDE_BY_SIDE = {
    "one norm": {"parallel": True, "block_norms": 1, "kv_heads": 2},
    "a norm each": {"parallel": True, "norm": "layer", "gated": False, "activation": "gelu"},
}  # fmt: skip


@cases("how", ["fused", "unfused"])
@cases("name", SIDE_BY_SIDE)
def test_halves_side_by_side_are_added_together(name, how):
    compare(tiny.changed(**SIDE_BY_SIDE[name]), 1, how, *PASSES["chunk"])


@cases("name", SIDE_BY_SIDE)
def test_halves_side_by_side_take_what_the_whole_takes(name):
    """As one matmul of their input, and one onto the stream."""
    model, (batch, new, cached) = tiny.changed(**SIDE_BY_SIDE[name]), PASSES["chunk"]
    run = tiny.run(model, tiny.tokens_of(model, batch, cached + new), cached=cached)
    served = adapter.served(dataclasses.asdict(model), riding=True)
    said = adapter.layers(served, batch, new, cached)
    found = run.chips[0].tape.asked(
        [(*RIDING["qkv_proj"], *RIDING["gate_up_proj"]), ("o_proj", "down_proj", "mlp_add")], WIDTHS
    )
    up = "gate_up_proj" if model.gated else "up_proj"
    for first, rows in (("attn_norm", ("qkv_proj", up)), ("o_proj", ("o_proj", "down_proj"))):
        for field in FIGURES[1:]:
            total = sum(getattr(said[row], field) for row in rows)
            assert total == getattr(found[first], field), (first, field)


@cases("seed", range(20))
def test_flags_do_not_disturb_each_other(seed):
    draw = random.Random(seed)
    kv_heads, rotary = draw.choice([1, 2, 4]), draw.random() < 0.5
    flags = ("gated", "tied", "qkv_bias", "out_bias", "mlp_bias")
    model = tiny.changed(
        kv_heads=kv_heads, head_dim=draw.choice([4, 8]), mlp=draw.choice([8, 40]), rotary=rotary,
        activation=draw.choice(["silu", "gelu", "relu"]), norm=draw.choice(["rms", "layer"]),
        positions=draw.choice([0, 14]), window=draw.choice([None, 1, 3, 6]),
        qk_norm=rotary and draw.random() < 0.5,
        **{flag: draw.random() < 0.5 for flag in flags},
    )  # fmt: skip
    passed = PASSES[draw.choice(["prefill", "decode"])]
    compare(model, draw.choice([1, 2, 4]), draw.choice(["fused", "unfused"]), *passed)


@cases(("window", "rows"), [(None, 100), (None, 4), (5, 4), (7, 6)])
def test_keys_pass_again_for_the_rows_that_see_them(window, rows):
    model, (batch, new) = tiny.changed(kv_heads=2, window=window), (2, 12)
    run = tiny.run(model, tiny.tokens_of(model, batch, new), rows=rows)
    whole = tiny.run(model, tiny.tokens_of(model, batch, new))
    np.testing.assert_allclose(run.logits, whole.logits, atol=1e-12)
    served = adapter.served(dataclasses.asdict(model), rows=rows)
    said, found = adapter.layers(served, batch, new), run.chips[0].tape.asked(widths=WIDTHS)
    assert said["attention"].cache == found["attention"].cache
    assert said["attention"].activation == found["attention"].activation
    assert said["attention"].flops == found["attention"].flops


@cases("name", MODELS)
def test_a_cached_prefix_changes_no_logits(name):
    """So the run that counts computes what it should."""
    model = tiny.changed(**MODELS[name])
    tokens = tiny.tokens_of(model, 2, 5)
    whole = tiny.run(model, tokens).logits
    for cached, how in ((4, "fused"), (2, "unfused"), (2, "fused")):
        np.testing.assert_allclose(
            tiny.run(model, tokens, cached=cached, how=how).logits, whole, atol=1e-12
        )


@cases("passed", ["prefill", "decode"])
@cases(("name", "chips"), [
    ("plain", 2), ("plain", 4), ("grouped", 4), ("one KV head", 2), ("all biases", 2),
    ("normed heads", 4), ("as GPT-2", 2), ("window", 2),
])  # fmt: skip
def test_a_chip_of_several_does_and_moves_its_share(name, chips, passed):
    model = tiny.changed(**MODELS[name])
    run = compare(model, chips, "fused", *PASSES[passed])
    alone = tiny.run(model, tiny.tokens_of(model, *_sizes(passed), chips), cached=PASSES[passed][2])
    np.testing.assert_allclose(run.logits, alone.logits, atol=1e-12)


def _sizes(passed):
    batch, new, cached = PASSES[passed]
    return batch, new + cached


# Mixtures of experts. Even routing makes every set of experts as likely as any other, so that a
# table says the mean over all of them.
MIXTURE = {"vocabulary": 172, "layers": 1, "experts": 4, "experts_per_token": 2, "expert_width": 8}
MIXTURES = {
    "every block": MIXTURE, "a dense block first": {**MIXTURE, "layers": 2, "dense_layers": 1},
    "a shared expert": {**MIXTURE, "shared_width": 12},
    "two matrices": {**MIXTURE, "gated": False, "activation": "relu"},
    "biases": {**MIXTURE, "mlp_bias": True},
    "a gated one": {**MIXTURE, "shared_width": 12, "shared_gate": True},
    "one of three": {"layers": 1, "experts": 3, "experts_per_token": 1, "expert_width": 8},
}  # fmt: skip


@functools.cache
def mean_over_routings(model, batch, new, cached, chips, data=1, expert=1):
    """Each layer's counts, averaged over all the ways the new tokens may be sent, and chips.

    What is exchanged counts as a figure of its own, "sent".
    """
    tokens = tiny.tokens_of(model, data * batch, cached + new, chips)
    sets = list(itertools.combinations(range(model.experts), model.experts_per_token))
    every = list(itertools.product(sets, repeat=data * batch * new))
    total, alone = Counter(), None
    for routing in np.array(every):
        run = tiny.run(
            model, tokens, cached=cached, chips=chips, data=data, expert=expert, routing=routing
        )
        if alone is None:
            alone = tiny.run(model, tokens, cached=cached, routing=routing).logits
            np.testing.assert_allclose(run.logits, alone, atol=1e-12)
        for chip in run.chips:
            for name, asked in chip.tape.asked(widths=WIDTHS).items():
                for field in FIGURES[1:]:
                    total[name, field] += getattr(asked, field) / len(run.chips)
        for name, size in run.sent:
            total[name, "sent"] += size
    return {key: amount / len(every) for key, amount in total.items()}


@cases(
    ("batch", "new", "cached", "chips", "name"),
    [
        *[(1, 1, 2, 1, name) for name in MIXTURES],
        (2, 1, 2, 1, "a gated one"),
        (2, 1, 2, 1, "one of three"),
        (1, 3, 0, 1, "one of three"),
        (2, 1, 2, 2, "a shared expert"),
    ],
)  # fmt: skip
def test_experts_cost_what_they_cost_on_average(batch, new, cached, chips, name):
    compare_on_average(tiny.changed(**MIXTURES[name]), batch, new, cached, chips)


def compare_on_average(model, batch, new, cached, chips, aside=(), **ways):
    found = mean_over_routings(model, batch, new, cached, chips, **ways)
    said = adapter.layers(
        adapter.served(dataclasses.asdict(model), chips, **ways), batch, new, cached
    )
    aside = {*ASIDE, *aside}
    assert {key[0] for key in found} - aside == said.keys() - aside
    for (layer, field), amount in found.items():
        if layer not in aside:
            assert getattr(said[layer], field) == pytest.approx(amount, rel=1e-12), (layer, field)


@cases(
    ("name", "chips", "expert"),
    [
        ("biases", 2, 2), ("biases", 4, 2), ("a shared expert", 4, 2), ("every block", 4, 4),
    ],
)  # fmt: skip
def test_experts_dealt_out_within_a_replica_cost_this_on_average(name, chips, expert):
    # Each chip adds biases of its own experts here, whose sum one of several parts may add.
    aside = ("experts_down",) if name == "biases" and chips > expert else ()
    compare_on_average(
        tiny.changed(**MIXTURES[name]), 2, 1, 2, chips, aside=aside, expert=expert
    )  # fmt: skip


# Chips of a replica, replicas and shares, and what is changed of every model.
ACROSS = [(1, 2, 2, {}), (2, 2, 4, {}), (1, 3, 3, {"experts": 3})]
EXCHANGES = pytest.mark.parametrize(("chips", "data", "expert", "changes"), ACROSS)


@pytest.mark.parametrize("name", ["every block", "a shared expert"])
@EXCHANGES
def test_experts_dealt_out_across_replicas_cost_this_on_average(
    chips, data, expert, changes, name
):  # fmt: skip
    model = tiny.changed(**MIXTURES[name] | changes)
    compare_on_average(model, 1, 1, 2, chips, ("experts_sum",), data=data, expert=expert)


@EXCHANGES
def test_a_vector_comes_once_to_each_chip_that_it_is_for(chips, data, expert, changes):
    """From its like, as every chip of a replica has the vectors of its tokens."""
    model, ways = tiny.changed(**MIXTURE | changes), {"data": data, "expert": expert}
    found = mean_over_routings(model, 1, 1, 2, chips, **ways)
    said = adapter.layers(adapter.served(dataclasses.asdict(model), chips, **ways), 1, 1, 2)
    for name, role in (("dispatch", "activation"), ("combine", "travel")):
        assert said[name].sent == pytest.approx(WIDTHS[role] * found[name, "sent"])


# Latent attention

LATENT = {"latent": (6, 0, 4, 2, 5), "heads": 4, "kv_heads": 4}
LATENTS = {
    "straight": LATENT,
    "queries by a vector": {**LATENT, "latent": (6, 8, 4, 2, 5)},
    "a long vector": {**LATENT, "latent": (30, 0, 1, 2, 1)},
    "layer norm": {**LATENT, "norm": "layer", "out_bias": True},
}  # fmt: skip
ROTATED = ("rotary", "rotary_key")
# What lies between operations of attention that a table takes together.
CORE = ("kv_up_proj", "attention", "qk_matmul", "softmax", "sv_matmul")


def latent_runs(model, chips, how, batch, new, cached):
    """The pass both ways: K and V made, and queries carried."""
    tokens = tiny.tokens_of(model, batch, cached + new, chips)
    runs = [
        tiny.run(model, tokens, cached=cached, chips=chips, how=how, carried=carried)
        for carried in (False, True)
    ]
    np.testing.assert_allclose(runs[0].logits, runs[1].logits, atol=1e-12)
    return runs


@cases(
    ("name", "passed", "how", "chips"),
    [
        ("straight", "prefill", "fused", 1), ("straight", "decode", "unfused", 2),
        ("queries by a vector", "chunk", "fused", 2), ("queries by a vector", "decode", "fused", 1),
        ("queries by a vector", "prefill", "unfused", 1), ("a long vector", "decode", "fused", 2),
        ("a long vector", "prefill", "unfused", 1), ("a long vector", "chunk", "unfused", 1),
        ("layer norm", "chunk", "fused", 1), ("layer norm", "decode", "unfused", 1),
        ("layer norm", "prefill", "fused", 2),
    ],
)  # fmt: skip
def test_latent_attention_does_and_moves_what_the_quicker_way_does(name, passed, how, chips):
    model, sizes = tiny.changed(**LATENTS[name]), PASSES[passed]
    together = [ROTATED, *([CORE] if how == "fused" else [])]
    found = []
    for run in latent_runs(model, chips, how, *sizes):
        tape = run.chips[0].tape
        alone, joint = tape.asked([ROTATED], WIDTHS), tape.asked(together, WIDTHS)
        core = [joint[each] for each in CORE if each in joint]
        moved = [sum(getattr(each, field) for each in core) for field in FIGURES[2:]]
        flops = [alone[each].flops for each in CORE if each in alone]
        found.append((flops[0], sum(flops[1:]), *moved, joint))
    # A memory so fast, or so slow, that FLOPs alone or bytes alone decide.
    ways = {1e30: lambda way: way[0] + way[1], 1e3: lambda way: sum(way[2:5])}
    for bandwidth, taken in ways.items():
        served = adapter.served(dataclasses.asdict(model), chips, how, bandwidth=bandwidth)
        said = adapter.layers(served, *sizes)
        parts = said["kv_up_proj"], said["attention"]
        moved = [sum(getattr(each, field) for each in parts) for field in FIGURES[2:]]
        up, pairs, *expected, joint = min(found, key=taken)
        assert [part.flops for part in parts] == [up, pairs]
        assert moved == expected
        assert parts[0].weight == expected[0]
        for layer in said.keys() - {*CORE, *ASIDE}:
            if layer != "embedding" or chips == 1:
                assert {field: getattr(said[layer], field) for field in FIGURES} == {
                    field: getattr(joint[layer], field) for field in FIGURES
                }, layer


@cases("name", LATENTS)
def test_what_rides_along_with_latent_projections_moves_what_goes_in_and_comes_out(name):
    model, sizes = tiny.changed(**LATENTS[name]), PASSES["chunk"]
    run, _ = latent_runs(model, 1, "fused", *sizes)
    served = adapter.served(dataclasses.asdict(model), riding=True)
    said = adapter.layers(served, *sizes)
    down = ("attn_norm", "q_down_proj", "q_norm", "kv_down_proj", "kv_norm", "rotary_key")
    queries = ("q_proj", "rotary")
    apart = bool(model.latent[1])
    found = run.chips[0].tape.asked([down, queries] if apart else [(*down, *queries)], WIDTHS)
    rows = {"qkv_down_proj": "attn_norm", "q_proj": "q_proj"} if apart else {
        "qkv_proj": "attn_norm"
    }  # fmt: skip
    for row, first in rows.items():
        for field in FIGURES[2:]:
            assert getattr(said[row], field) == getattr(found[first], field), (row, field)
    # All rotations are said to ride along with the first.
    assert sum(said[row].flops for row in rows) == sum(found[each].flops for each in rows.values())


# Memory and links

EVERY = {**MODELS, **MIXTURES}


def held_bytes(held):
    """Bytes of weights by name."""
    return sum(WIDTHS[tiny.role_of(name)] * values.size for name, values in held.items())


@cases("chips", [1, 4])
@cases("name", [*EVERY, *SIDE_BY_SIDE])
def test_a_chip_holds_these_weights_and_this_cache(name, chips):
    model = tiny.changed(**{**EVERY, **SIDE_BY_SIDE}[name])
    run = tiny.run(model, tiny.tokens_of(model, 2, 5), cached=4, chips=chips)
    said = adapter.memory(adapter.served(dataclasses.asdict(model), chips), 2, 4, 2)
    first = run.chips[0]
    assert said["weight"] == held_bytes(first.held)
    # What the last token sees of the cache is what had to be kept.
    assert said["cache"] == first.tape.asked(widths=WIDTHS)["attention"].cache


@cases("chips", [2, 4])
def test_chips_send_what_they_add_up_and_the_logits(chips):
    model = tiny.changed(kv_heads=2)
    for batch, new, cached in PASSES.values():
        run = tiny.run(
            model, tiny.tokens_of(model, batch, cached + new), cached=cached, chips=chips
        )
        said = adapter.layers(adapter.served(dataclasses.asdict(model), chips), batch, new, cached)
        found = dict.fromkeys((name for name, _ in run.sent), 0)
        for name, size in run.sent:
            # Through a switch, 1/n of the array to each other chip; twice where sums come back.
            times = 1 if name == "logits_all_gather" else 2
            found[name] += WIDTHS["travel"] * times * (chips - 1) * size / chips
        assert {name: layer.sent for name, layer in said.items() if layer.sent} == found


@cases("passed", ["prefill", "decode"])
@cases("chips", [1, 2])
def test_times_follow_from_the_counts(chips, passed):
    model = dataclasses.asdict(tiny.changed(kv_heads=2, hidden=48, mlp=512))
    served = adapter.served(model, chips)
    whole, each = adapter.times(served, *PASSES[passed])
    total, worst = 0.0, 0.0
    for name, said in adapter.layers(served, *PASSES[passed]).items():
        moved = said.weight + said.activation + said.cache
        channels = {
            "compute": said.flops / adapter.PEAK, "memory": moved / adapter.BANDWIDTH,
            "link": said.sent / adapter.EGRESS,
        }  # fmt: skip
        bound = max(channels, key=channels.get)
        assert each[name] == pytest.approx((channels[bound], sum(channels.values()), bound))
        total, worst = total + channels[bound], worst + sum(channels.values())
    assert whole == pytest.approx((total, worst))


@cases("name", LATENTS)
@cases("chips", [1, 2])
def test_a_chip_holds_latent_vectors_and_what_makes_k_and_v_of_them(chips, name):
    model = tiny.changed(**LATENTS[name])
    run = tiny.run(model, tiny.tokens_of(model, 2, 5), cached=4, chips=chips)
    said = adapter.memory(adapter.served(dataclasses.asdict(model), chips), 2, 4, 2)
    first = run.chips[0]
    assert said["weight"] == held_bytes(first.held)
    assert said["cache"] == sum(WIDTHS["cache"] * cache.size for cache in first.caches)


@cases(("chips", "data", "expert", "changes"), [(4, 1, 2, {}), (4, 1, 4, {}), *ACROSS])
def test_a_chip_holds_the_experts_that_are_dealt_to_it(chips, data, expert, changes):
    model, ways = tiny.changed(**MIXTURES["biases"] | changes), {"data": data, "expert": expert}
    tokens = tiny.tokens_of(model, 2 * data, 5)
    said = adapter.memory(adapter.served(dataclasses.asdict(model), chips, **ways), 2, 4, 2)
    for chip in tiny.run(model, tokens, cached=4, chips=chips, **ways).chips:
        if not chip.rank:
            assert said["weight"] == held_bytes(chip.held)


@cases("chips", [1, 2])
@cases("stages", [2, 4])
def test_stages_hand_on_the_stream_and_share_layers(chips, stages):
    """A stage works on a part of the batch; a chip hands its part of the stream to its like."""
    model, (batch, new, cached) = tiny.changed(layers=4), PASSES["chunk"]
    tokens = tiny.tokens_of(model, batch // stages, cached + new, chips)
    run = tiny.run(model, tokens, cached=cached, chips=chips, stages=stages)
    np.testing.assert_allclose(
        run.logits, tiny.run(model, tokens, cached=cached).logits, atol=1e-12
    )
    served = adapter.served(dataclasses.asdict(model), chips, pipeline=stages)
    said = adapter.layers(served, batch, new, cached)["send"]
    sizes = [size for name, size in run.sent if name == "send"]
    assert said.times == len(sizes) == stages - 1
    assert said.sent == WIDTHS["travel"] * sum(sizes)
    # The fullest stage has its layers and the wider of the two ends, a norm between it and others.
    held = adapter.memory(served, batch, cached, new + 1)
    by_stage = [{} for _ in range(stages)]
    for name, values in run.chips[0].held.items():
        block = {"embedding": 0}.get(name) if not name[0].isdigit() else int(name.split(".")[0])
        by_stage[-1 if block is None else block * stages // 4][name] = values
    fullest = max(held_bytes(each) for each in by_stage)
    assert held["weight"] == pytest.approx(fullest, abs=WIDTHS["vector"] * model.hidden)
    keys = sum(cache.size for block in run.chips[0].caches[: 4 // stages] for cache in block)
    assert held["cache"] == WIDTHS["cache"] * stages * keys


HUNGRY = {
    **EVERY, "a narrow MLP": {"mlp": 4}, "its normed heads": {"mlp": 4, "qk_norm": True},
    "its many heads": {"mlp": 4, "head_dim": 20},
    "many scores": {"mlp": 4, "heads": 12, "kv_heads": 12, "head_dim": 2},
    "an add is widest": {"mlp": 4, "rotary": False, "positions": 14},
}  # fmt: skip


@cases("how", ["fused", "unfused"])
@cases("name", HUNGRY)
def test_activations_take_at_most_this_much_memory(name, how):
    model = tiny.changed(**HUNGRY[name])
    peak = tiny.run(model, tiny.tokens_of(model, 2, 6), how=how).chips[0].tape.peak(WIDTHS)
    said = adapter.memory(adapter.served(dataclasses.asdict(model), 1, how), 2, 6)
    assert said["activation"] == peak
