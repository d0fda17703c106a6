"""Questions asked backwards: each answer holds, and the next one does not."""

import dataclasses
import math

import pytest

import roofkit as rk

LLAMA = rk.llm("Llama-3-8B")
H100 = LLAMA.on("H100")


@pytest.mark.parametrize("chunk", [None, 8192])
@pytest.mark.parametrize(("prompt", "output"), [(1, 1), (2048, 1), (512, 4096)])
def test_the_largest_batch_fits_and_one_more_does_not(prompt, output, chunk):
    batch = H100.largest_batch(prompt, output, chunk=chunk)
    assert H100.memory(batch, prompt, output, chunk=chunk).fits
    assert not H100.memory(batch + 1, prompt, output, chunk=chunk).fits


@pytest.mark.parametrize("batch", [1, 7])
def test_the_longest_prompt_fits_and_one_more_does_not(batch):
    prompt = H100.longest_prompt(batch, output=100)
    assert H100.memory(batch, prompt, 100).fits
    assert not H100.memory(batch, prompt + 1, 100).fits


def test_chunks_leave_room_for_more():
    assert H100.largest_batch(8192, chunk=4096) > H100.largest_batch(8192)
    assert H100.longest_prompt(chunk=4096) > 1.3 * H100.longest_prompt()


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
    weights_alone = LLAMA.on("H100", weights="int4").compute_bound_batch(512)
    assert weights_alone < batch / 2
    slow = dataclasses.replace(rk.chip("H100"), bandwidth=1e9)
    assert LLAMA.on(slow).compute_bound_batch() is None


@pytest.mark.parametrize(("weights", "chips"), [("bf16", 2), ("int4", 1)])
def test_the_fewest_chips_hold_it_and_one_less_does_not(weights, chips):
    served = rk.llm("Llama-3-70B").fewest_chips("H100", batch=4, weights=weights)
    assert served.chips == chips
    assert served.memory(4, 2048).fits


def test_a_model_that_no_count_of_chips_holds_says_why():
    with pytest.raises(ValueError, match=r"Llama-3-70B does not fit on any count of H100: "):
        rk.llm("Llama-3-70B").fewest_chips("H100", batch=4096)
    with pytest.raises(ValueError, match="the table does not say how several are joined"):
        rk.llm("Llama-3-70B").fewest_chips("RTX 4090")


def test_the_cheapest_point_meets_what_is_asked_and_a_larger_batch_would_not():
    offers = [H100, LLAMA.on("L40S"), LLAMA.on("H100", chips=2)]
    prices = {"H100 SXM": 2.5, "L40S": 0.9}
    point = rk.cheapest(offers, 512, 128, first_token=0.5, per_token=0.02, prices=prices)
    assert point.time_to_first_token <= 0.5
    assert point.time_per_token <= 0.02
    more = point.served.generate(point.batch + 1, 512, 128)
    assert more.time_to_first_token > 0.5 or more.time_per_token > 0.02
    dollars = prices[point.served.chip.name] / 3600 * point.served.chips
    assert point.price == pytest.approx(dollars / point.tokens_per_second)
    for each in offers:
        alone = rk.cheapest([each], 512, 128, first_token=0.5, per_token=0.02, prices=prices)
        assert alone.price >= point.price


def test_without_prices_a_token_costs_chip_seconds():
    point = rk.cheapest([LLAMA.on("H100", chips=2)])
    assert point.price == pytest.approx(2 / point.tokens_per_second)


@pytest.mark.parametrize(
    ("offers", "asked", "message"),
    [
        ([], {}, "no deployment fits"),
        ([H100], {"first_token": 1e-6}, "no deployment fits and meets first_token 1e-06 s"),
        ([H100], {"per_token": 0}, "per_token must be finite and above 0"),
        ([H100], {"prices": {"A100": 1}}, "prices has no 'H100 SXM'; it has A100"),
        ([LLAMA.on(["H100", "H200"])], {}, "one kind of chip"),
    ],
)
def test_what_cannot_be_answered_says_why(offers, asked, message):
    with pytest.raises(ValueError, match=message):
        rk.cheapest(offers, **asked)


def test_an_unknown_capacity_is_no_answer():
    chip = rk.Chip("mine", peaks={"bf16": 1e14}, bandwidth=1e12)
    served = LLAMA.on(chip)
    for ask in (served.largest_batch, served.longest_prompt):
        with pytest.raises(ValueError, match="the capacity of mine is not known"):
            ask()
    assert served.memory().fits is None
    assert math.isnan(served.memory().spare)
    assert LLAMA.on([chip, "H100"]).memory().fits.tolist() == [None, True]
