"""roofkit's tables against a small transformer that counts what it does."""

import dataclasses
import itertools
import random

import adapter
import numpy as np
import pytest
import tiny_transformer as tiny

# What no layer of a table is: taking a token, making a few gates of a token's scores, and the
# links, which are compared by themselves.
ASIDE = (
    "sample", "gating", "embedding_all_reduce", "attn_all_reduce", "mlp_all_reduce",
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
    counts = [chip.tape.asked() for chip in run.chips]
    for each in counts:
        assert [name for name in each if name not in ASIDE] == [
            name for name in said if name not in ASIDE
        ]
    for name in said.keys() - set(ASIDE):
        # Biases of sums and the rows of these tokens are the first chip's alone.
        found = {field: max(getattr(each[name], field) for each in counts) for field in FIGURES}
        assert {field: getattr(said[name], field) for field in FIGURES} == found, name
    return run


@pytest.mark.parametrize("how", ["fused", "unfused"])
@pytest.mark.parametrize("passed", PASSES)
@pytest.mark.parametrize("name", MODELS)
def test_every_layer_does_and_moves_what_a_counted_run_does(name, passed, how):
    compare(tiny.changed(**MODELS[name]), 1, how, *PASSES[passed])


# What becomes one operation where everything that works on each element rides along.
RIDING = {
    "qkv_proj": ("attn_norm", "q_proj", "k_proj", "v_proj", "qk_norm", "rotary"),
    "o_proj": ("o_proj", "attn_add"),
    "gate_up_proj": ("mlp_norm", "gate_proj", "up_proj", "mlp_act"),
    "down_proj": ("down_proj", "mlp_add"),
}


@pytest.mark.parametrize("passed", PASSES)
@pytest.mark.parametrize("name", MODELS)
def test_what_rides_along_moves_what_goes_in_and_comes_out(name, passed):
    model, (batch, new, cached) = tiny.changed(**MODELS[name]), PASSES[passed]
    run = tiny.run(model, tiny.tokens_of(model, batch, cached + new), cached=cached)
    served = adapter.served(dataclasses.asdict(model), riding=True)
    said, found = adapter.layers(served, batch, new, cached), {}
    for first, asked in run.chips[0].tape.asked(list(RIDING.values())).items():
        found[next((name for name, names in RIDING.items() if names[0] == first), first)] = asked
    for layer in RIDING.keys() | {"attention", "embedding"}:
        mine = layer if layer in said else "up_proj"  # where there is no gate
        assert {field: getattr(said[mine], field) for field in FIGURES} == {
            field: getattr(found[layer], field) for field in FIGURES
        }, layer


@pytest.mark.parametrize("rotary", [True, False])
def test_normed_keys_go_to_the_cache(rotary):
    compare(tiny.changed(qk_norm=True, rotary=rotary), 1, "fused", *PASSES["prefill"])


@pytest.mark.parametrize("seed", range(20))
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


@pytest.mark.parametrize(("window", "rows"), [(None, 100), (None, 4), (5, 4), (7, 6)])
def test_keys_pass_again_for_the_rows_that_see_them(window, rows):
    model, (batch, new) = tiny.changed(kv_heads=2, window=window), (2, 12)
    run = tiny.run(model, tiny.tokens_of(model, batch, new), rows=rows)
    whole = tiny.run(model, tiny.tokens_of(model, batch, new))
    np.testing.assert_allclose(run.logits, whole.logits, atol=1e-12)
    served = adapter.served(dataclasses.asdict(model), rows=rows)
    said, found = adapter.layers(served, batch, new), run.chips[0].tape.asked()
    assert said["attention"].cache == found["attention"].cache
    assert said["attention"].activation == found["attention"].activation
    assert said["attention"].flops == found["attention"].flops


@pytest.mark.parametrize("name", MODELS)
def test_a_cached_prefix_changes_no_logits(name):
    """So the run that counts computes what it should."""
    model = tiny.changed(**MODELS[name])
    tokens = tiny.tokens_of(model, 2, 5)
    whole = tiny.run(model, tokens).logits
    for cached, how in ((4, "fused"), (2, "unfused"), (2, "fused")):
        np.testing.assert_allclose(
            tiny.run(model, tokens, cached=cached, how=how).logits, whole, atol=1e-12
        )


@pytest.mark.parametrize("passed", ["prefill", "decode"])
@pytest.mark.parametrize(("name", "chips"), [
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
MIXTURE = {"layers": 1, "experts": 4, "experts_per_token": 2, "expert_width": 8}
MIXTURES = {
    "every block": MIXTURE,
    "a dense block first": {**MIXTURE, "layers": 2, "dense_layers": 1},
    "a shared expert": {**MIXTURE, "shared_width": 12},
    "two matrices": {**MIXTURE, "gated": False, "activation": "relu"},
    "biases": {**MIXTURE, "mlp_bias": True},
    "one of three": {"layers": 1, "experts": 3, "experts_per_token": 1, "expert_width": 8},
}


def mean_over_routings(model, batch, new, cached, chips):
    """Each layer's counts, averaged over all the ways the new tokens may be sent."""
    tokens = tiny.tokens_of(model, batch, cached + new, chips)
    sets = list(itertools.combinations(range(model.experts), model.experts_per_token))
    every = list(itertools.product(sets, repeat=batch * new))
    total = {}
    for routing in every:
        run = tiny.run(
            model, tokens, cached=cached, chips=chips, routing=np.array(routing)
        )  # fmt: skip
        for name, asked in run.chips[0].tape.asked().items():
            for field in FIGURES[1:]:
                key = name, field
                total[key] = total.get(key, 0) + getattr(asked, field)
    return {key: amount / len(every) for key, amount in total.items()}


@pytest.mark.parametrize(
    ("batch", "new", "cached", "chips", "name"),
    [
        *[(batch, 1, 2, 1, name) for batch in (1, 2) for name in MIXTURES],
        (1, 3, 0, 1, "one of three"),
        (2, 1, 2, 2, "a shared expert"),
    ],
)  # fmt: skip
def test_experts_cost_what_they_cost_on_average(batch, new, cached, chips, name):
    model = tiny.changed(**MIXTURES[name])
    found = mean_over_routings(model, batch, new, cached, chips)
    said = adapter.layers(
        adapter.served(dataclasses.asdict(model), chips), batch, new, cached
    )  # fmt: skip
    assert {key[0] for key in found} - set(ASIDE) == said.keys() - set(ASIDE)
    for (layer, field), amount in found.items():
        if layer not in ASIDE:
            assert getattr(said[layer], field) == pytest.approx(amount, rel=1e-12), (layer, field)


# Memory and links

EVERY = {**MODELS, **MIXTURES}


@pytest.mark.parametrize("chips", [1, 2, 4])
@pytest.mark.parametrize("name", EVERY)
def test_a_chip_holds_these_weights_and_this_cache(name, chips):
    model = tiny.changed(**EVERY[name])
    run = tiny.run(model, tiny.tokens_of(model, 2, 5), cached=4, chips=chips)
    said = adapter.memory(adapter.served(dataclasses.asdict(model), chips), 2, 4, 2)
    first = run.chips[0]
    assert said["weight"] == sum(values.size for values in first.held.values())
    # What the last token sees of the cache is what had to be kept.
    assert said["cache"] == first.tape.asked()["attention"].cache


@pytest.mark.parametrize("chips", [2, 4])
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
            found[name] += times * (chips - 1) * size / chips
        assert {name: layer.sent for name, layer in said.items() if layer.sent} == found


@pytest.mark.parametrize("passed", ["prefill", "decode"])
@pytest.mark.parametrize("chips", [1, 2])
def test_times_follow_from_the_counts(chips, passed):
    model = dataclasses.asdict(tiny.changed(kv_heads=2, hidden=48, mlp=512))
    served = adapter.served(model, chips)
    whole, each = adapter.times(served, *PASSES[passed])
    total, worst = 0.0, 0.0
    for name, said in adapter.layers(served, *PASSES[passed]).items():
        moved = sum(adapter.BYTES[kind] * getattr(said, kind) for kind in adapter.BYTES)
        channels = {
            "compute": said.flops / adapter.PEAK,
            "memory": moved / adapter.BANDWIDTH,
            "link": said.sent * adapter.BYTES["activation"] / adapter.EGRESS,
        }
        bound = max(channels, key=channels.get)
        assert each[name] == pytest.approx((channels[bound], sum(channels.values()), bound))
        total, worst = total + channels[bound], worst + sum(channels.values())
    assert whole == pytest.approx((total, worst))


HUNGRY = {
    **EVERY,
    "a narrow MLP": {"mlp": 4},
    "its normed heads": {"mlp": 4, "qk_norm": True},
    "its many heads": {"mlp": 4, "head_dim": 20},
    "many scores": {"mlp": 4, "heads": 12, "kv_heads": 12, "head_dim": 2},
    "an add is widest": {"mlp": 4, "rotary": False, "positions": 14},
}


@pytest.mark.parametrize("how", ["fused", "unfused"])
@pytest.mark.parametrize("name", HUNGRY)
def test_activations_take_at_most_this_much_memory(name, how):
    model = tiny.changed(**HUNGRY[name])
    peak = tiny.run(model, tiny.tokens_of(model, 2, 6), how=how).chips[0].tape.peak()
    said = adapter.memory(adapter.served(dataclasses.asdict(model), 1, how), 2, 6)
    assert said["activation"] == peak


def test_operations_that_are_fused_keep_to_themselves_what_they_hand_on():
    model = tiny.Model()
    tape = tiny.run(model, tiny.tokens_of(model, 2, 5)).chips[0].tape
    stream, inner, blocks = 10 * model.hidden, 10 * model.mlp, model.layers
    alone = tape.asked()
    both = tape.asked([("gate_proj", "up_proj", "mlp_act"), ("attn_add", "mlp_norm")])
    assert both["gate_proj"].activation == blocks * (stream + inner)
    assert both["attn_add"].activation == blocks * 4 * stream
    assert both["gate_proj"].flops == sum(
        alone[name].flops for name in ("gate_proj", "up_proj", "mlp_act")
    )
