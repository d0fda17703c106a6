"""Questions asked backwards: each answer holds, and the next one does not."""

import dataclasses
import math

import pytest
from cases import cases

import roofkit as rk
from roofkit.models import Links, Precision, Split

LLAMA = rk.llm("Llama-3-8B")
H100 = LLAMA.on("H100")


@cases("room", [{}, {"chunk": None}, {"chunk": 16}, {"reserve": 0.1}])
@cases(("prompt", "output"), [(1, 1), (2048, 1), (512, 4096)])
def test_the_largest_batch_fits_and_one_more_does_not(prompt, output, room):
    batch = H100.largest_batch(prompt, output, **room)
    held = H100.memory(batch, prompt, output, **room)
    assert held.fits
    assert not H100.memory(batch + 1, prompt, output, **room).fits
    # Every step of the generation finds room beside weights and cache.
    step = H100.decode(batch, prompt + output - 1)["lm_head"].activations
    assert held.weights + held.kv + step <= held.capacity - held.reserve


@cases("batch", [1, 7])
def test_the_longest_prompt_fits_and_one_more_does_not(batch):
    prompt = H100.longest_prompt(batch, output=100)
    assert H100.memory(batch, prompt, 100).fits
    assert not H100.memory(batch, prompt + 1, 100).fits


def test_a_longer_prompt_never_takes_less():
    """Chunks of short prompts hold more sequences, and each of them wants its logits."""
    served = rk.models.LLM(
        "tiny", hidden=896, layers=24, heads=14, kv_heads=2, mlp=4864, vocabulary=151936, tied=True
    ).on(rk.Chip("c", peaks={"bf16": 1e14}, bandwidth=1e12, capacity=3e9))
    held = [served.memory(4096, prompt, chunk=4096).total for prompt in range(1, 40)]
    assert held == sorted(held)
    prompt = served.longest_prompt(4096, chunk=4096)
    assert held[prompt - 1] <= 3e9 < held[prompt]


def test_what_no_length_fills_is_endless():
    served = dataclasses.replace(LLAMA, window=64).on("H100")
    assert served.longest_prompt() == math.inf
    assert served.longest_prompt(chunk=None) < math.inf


def test_what_does_not_fit_at_all_is_none():
    assert rk.llm("Llama-2-70B").on("H100").largest_batch() == 0
    assert rk.llm("Llama-2-70B").on("H100").longest_prompt() == 0


def test_compute_binds_from_there_on():
    batch = H100.compute_bound_batch(context=512)
    bound = {}
    for name in ("qkv_proj", "o_proj", "gate_up_proj", "down_proj"):
        before, there = (H100.decode(b, 512)[name].bound for b in (batch - 1, batch))
        bound[name] = before, there
    assert ("memory", "compute") in bound.values()
    assert bound["gate_up_proj"][1] == "compute"
    weights_alone = LLAMA.on("H100", precision=Precision(weights="int4")).compute_bound_batch(512)
    assert weights_alone < batch / 2
    # Experts that few tokens visit count with all they hold, and the embedding not at all.
    chip = rk.Chip("c", peaks={"bf16": 5e12}, bandwidth=1e12)
    mixed = rk.models.LLM("m", hidden=256, layers=2, heads=4, vocabulary=16, mlp=1024, experts=64,
                   experts_per_token=1, expert_width=256, dense_layers=1).on(chip)  # fmt: skip
    knee = mixed.compute_bound_batch(1)
    for batch in (2, 6, 40, knee - 1):
        assert mixed.decode(batch, 1)["experts_gate_up"].bound == "memory"
    for batch in (knee, 2 * knee, 1000 * knee):
        assert mixed.decode(batch, 1)["experts_gate_up"].bound == "compute"
    slow = dataclasses.replace(rk.chip("H100"), bandwidth=1e9)
    assert LLAMA.on(slow).compute_bound_batch() is None


@cases(("weights", "chips"), [("bf16", 2), ("int4", 1)])
def test_the_fewest_chips_hold_it_and_one_less_does_not(weights, chips):
    served = rk.llm("Llama-3-70B").fewest_chips(
        "H100", precision=Precision(weights=weights), batch=4
    )
    assert served.split.chips == chips
    assert served.memory(4, 2048).fits


def test_counts_that_no_slice_or_ring_has_are_passed_over():
    assert rk.llm("GPT-3-175B").fewest_chips("TPU v5p").split.chips == 4
    ring = LLAMA.fewest_chips("L40S", links=Links(tensor="ring"), batch=64, prompt=8000)
    assert ring.split.chips == 4


def test_a_model_that_no_count_of_chips_holds_says_why():
    asked = rk.llm("Llama-3-70B").fewest_chips
    told = r"does not fit on any number of H100 SXM: each of 8 chips lacks \d+ GB; a switch joins"
    with pytest.raises(ValueError, match=told):
        asked("H100", batch=4096)
    told = "one chip lacks 116 GB; RTX 4090: the table has no topology for several chips"
    with pytest.raises(ValueError, match=told):
        asked(rk.chip("RTX 4090"))
    with pytest.raises(ValueError, match=r"each of 64 chips lacks 83.9 TB$"):
        asked("RTX 4090", batch=10**6, links=Links(tensor="switch"))
    # What is wrong whatever the count is told as it is.
    for choices, told in (
        ({"precision": "fp9"}, "fp9"), ({"split": Split(pipeline=81)}, "81 stages"),
        ({"split": Split(tensor=2)}, "out of Split"), ({"batch": [1, 2]}, "batch must be a single"),
        ({"split": 2}, "split=2 must be a Split"), ({"attention": "fast"}, "attention='fast'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=told) as refusal:
            asked("H100", **choices)
        assert "does not fit on any number" not in str(refusal.value)
    with pytest.raises(ValueError, match="no chip is named 'H1000'"):
        asked("H1000")
    with pytest.raises(
        ValueError, match=r"weigths='fp8' isn't an option .*; use precision=.*weights='fp8'"
    ):
        asked("H100", weigths="fp8")


OFFERS = [H100, LLAMA.on("L40S"), LLAMA.on("H100", split=Split(tensor=2))]
PRICES = {"H100 SXM": 2.5, "L40S": 0.9}


def waits(served, batch, prompt, output):
    """Seconds from token to token: in its further tokens a sequence waits for others' prompts."""
    run = served.generate(batch, prompt, output)
    return (run.time - served.time_to_first_token(1, prompt)) / (output - 1)


def largest(served, prompt, output, per_token):
    """The largest batch that fits and meets the time, by trying each."""
    most = served.largest_batch(prompt, output)
    meets = [b for b in range(1, most + 1) if waits(served, b, prompt, output) <= per_token]
    return meets[-1]


def test_the_cheapest_point_meets_what_is_asked():
    assert rk.models.cheapest(H100, prices={"h100": 2.5}) == rk.models.cheapest(
        [H100], prices=PRICES
    )
    limits = {"first_token": 0.5, "per_token": 0.02, "prices": PRICES}
    point = rk.models.cheapest(OFFERS, 512, 128, **limits)
    assert point.time_to_first_token == point.deployment.time_to_first_token(1, 512) <= 0.5
    assert point.time_per_token == waits(point.deployment, point.batch, 512, 128) <= 0.02
    run = point.deployment.generate(point.batch, 512, 128)
    assert point.tokens_per_second == run.tokens_per_second
    assert point.replicas == 1
    assert point.price_per_hour == PRICES[point.deployment.chip.name] * point.deployment.split.chips
    assert point.price == pytest.approx(point.price_per_hour / 3600 / point.tokens_per_second)
    for each in OFFERS:
        assert rk.models.cheapest([each], 512, 128, **limits).price >= point.price


@cases("prompt", [1, 128, 512])
def test_without_a_load_no_larger_batch_gives_a_hundredth_more(prompt):
    """Where computing binds, more sequences only wait longer: 330 of them do, and not 1390."""
    point = rk.models.cheapest(H100, prompt, 128, per_token=0.025)
    most = largest(H100, prompt, 128, 0.025)
    best = H100.generate(most, prompt, 128).tokens_per_second
    less = H100.generate(point.batch - 1, prompt, 128).tokens_per_second
    assert less < 0.99 * best <= point.tokens_per_second
    if prompt == 1:
        assert (point.batch, most) == (330, 1390)
        assert point.time_per_token < 0.4 * 0.025


@cases("load", [100, 10_000, 1e6])
def test_a_load_takes_the_fewest_replicas_and_on_these_the_smallest_batch(load):
    asked = {"per_token": 0.02, "tokens_per_second": load, "prices": PRICES}
    point = rk.models.cheapest(OFFERS, 512, 128, **asked)
    each = point.deployment
    most = each.generate(largest(each, 512, 128, 0.02), 512, 128).tokens_per_second
    assert point.replicas == math.ceil(load / most)
    assert point.tokens_per_second >= load
    if point.batch > 1:
        less = each.generate(point.batch - 1, 512, 128).tokens_per_second
        assert point.replicas * less < load
    chips = point.replicas * each.split.chips
    assert point.price_per_hour == chips * PRICES[each.chip.name]
    assert point.price == pytest.approx(point.price_per_hour / 3600 / load)
    for other in OFFERS:
        assert rk.models.cheapest(other, 512, 128, **asked).price >= point.price


def test_of_equal_prices_the_shorter_time_a_token_wins():
    """Two chips with a replica each, or both on each layer, cost the same."""
    offers = [LLAMA.on("H100", split=Split(data=2)), LLAMA.on("H100", split=Split(tensor=2))]
    point = rk.models.cheapest(offers, 512, 128, tokens_per_second=100)
    assert point.deployment is offers[1]
    assert point.batch == 1
    assert "1 of" not in repr(point)
    assert repr(rk.models.cheapest(H100, tokens_per_second=1e4)).startswith("Point(4 of Llama-3-8B")


def test_without_prices_a_token_costs_chip_seconds():
    point = rk.models.cheapest([LLAMA.on("H100", split=Split(tensor=2))])
    assert point.price == pytest.approx(2 / point.tokens_per_second)
    assert point.price_per_hour == 2


@cases(
    ("offers", "asked", "message"),
    [
        ([], {}, "no deployment fits"),
        ([H100], {"first_token": 1e-6}, "no deployment fits and meets first_token 1e-06 s"),
        ([H100], {"per_token": 0}, "per_token must be finite and above 0"),
        ([H100], {"prices": {"A100": 1}}, "prices has no 'H100 SXM'; it has A100"),
        ([LLAMA.on(["H100", "H200"])], {}, "2 kinds of chips"),
        (["H100"], {}, "deployments must be models on a chip"),
        ([H100], {"per_token": [1, 2]}, "per_token must be a single number"),
        ([H100], {"prices": [2.5]}, "prices must map chips to prices"),
    ],
)
def test_what_cannot_be_answered_says_why(offers, asked, message):
    with pytest.raises(ValueError, match=message):
        rk.models.cheapest(offers, **asked)


def test_an_unknown_capacity_is_no_answer():
    chip = rk.Chip("mine", peaks={"bf16": 1e14}, bandwidth=1e12)
    served = LLAMA.on(chip)
    for ask in (served.largest_batch, served.longest_prompt):
        with pytest.raises(ValueError, match="capacity of mine is unknown"):
            ask()
    assert served.memory().fits is None
    assert math.isnan(served.memory().spare)
    assert LLAMA.on([chip, "H100"]).memory().fits.tolist() == [None, True]
