"""Inverse questions: the largest batch, the longest prompt, the fewest chips, the lowest price.

Lengths and batches are found by bisection, because memory and time only increase with them.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roofkit._inputs import check_number
from roofkit._tables import wrap_lines
from roofkit._units import format_quantity
from roofkit.hardware import chip as chip_of
from roofkit.models.llm.options import check_options
from roofkit.models.llm.split import Split, shard

# Searches stop at this number of sequences or tokens, and at this number of chips.
LARGEST_COUNT, LARGEST_CHIPS = 1 << 40, 1 << 12
# A batch is large enough if it reaches this share of the highest possible tokens/s. A larger batch
# hardly makes tokens cheaper.
ENOUGH_SPEED = 0.99


def largest_batch(served, prompt=2048, output=1, **room) -> int:
    """Return the largest number of sequences whose generations fit in memory; 0 if none fits.

    ``room`` accepts ``chunk`` and ``reserve``, as in ``Deployment.memory``. Raises ValueError if
    the chip's capacity is unknown.

    >>> import roofkit as rk
    >>> largest_batch(rk.llm("Llama-2-7B").on("A100 80GB SXM"), prompt=2048, output=128)
    63
    """
    _check_capacity(served)
    _check_no_arrays(prompt=prompt, output=output)
    return _find_largest_number(lambda batch: served.memory(batch, prompt, output, **room).fits)


def longest_prompt(served, batch=1, output=1, **room) -> int | float:
    """Return the longest prompt for which ``batch`` sequences fit in memory; 0 if none fits.

    The result is infinity if no length fills the memory, for example with windows in all layers. It
    may exceed the context that the model was trained for. Raises ValueError if the chip's capacity
    is unknown.
    """
    _check_capacity(served)
    _check_no_arrays(batch=batch, output=output)
    found = _find_largest_number(lambda prompt: served.memory(batch, prompt, output, **room).fits)
    return math.inf if found == LARGEST_COUNT else found


def compute_bound_batch(served, context=2048) -> int | None:
    """Return the smallest decode batch at which most of the weights are compute-bound, or None.

    Layers are weighted by their bytes of weights on a chip, even if a step reads only some of them.
    The embedding is excluded, because a step reads only a few of its rows.

    >>> import roofkit as rk
    >>> compute_bound_batch(rk.llm("Llama-2-7B").on("TPU v5e"))
    261
    """
    _check_no_arrays(context=context)
    # A step with this many sequences uses every expert.
    held = {
        layer.name: layer.count * layer.weights
        for layer in served.decode(LARGEST_COUNT, context) if layer.name != "embedding"
    }  # fmt: skip

    def memory_binds(batch):
        step = served.decode(batch, context)
        computing = sum(held.get(layer.name, 0.0) for layer in step if layer.bound == "compute")
        return computing <= sum(held.values()) / 2

    batch = _find_largest_number(memory_binds)
    return None if batch == LARGEST_COUNT else batch + 1


def fewest_chips(model, chip, batch=1, prompt=2048, output=1, *, split=None, **choices):
    """Return the Deployment with the fewest tensor-parallel chips that fit a generation in memory.

    ``split`` sets all other kinds of parallelism. ``choices`` are further arguments of ``LLM.on``
    and ``Deployment.memory``. Skips chip counts that cannot split the model. If none fits, raises
    ValueError saying how much memory the largest one lacks and why no larger one is possible.

    >>> import roofkit as rk
    >>> fewest_chips(rk.llm("Llama-2-70B"), "H100", batch=16).split.chips
    2
    """
    split = check_options(split, Split, "split", "pipeline=2")
    if split.tensor != 1:
        raise ValueError(
            f"fewest_chips finds tensor itself; leave tensor={split.tensor} out of Split"
        )
    _check_no_arrays(batch=batch, prompt=prompt, output=output)
    chip = chip_of(chip)
    room = {name: choices.pop(name) for name in ("chunk", "reserve") if name in choices}
    undivided, lacking, refused = "", "", ""
    for count in range(1, min(model.heads, LARGEST_CHIPS) + 1):
        ways = replace(split, tensor=count)
        try:
            shard(model, ways)
        except ValueError as error:
            undivided = undivided or str(error)
            continue
        try:
            served = model.on(chip, split=ways, **choices)
        except ValueError as error:
            if not lacking:  # the other choices are invalid for any count
                raise
            refused = refused or str(error)
            continue
        _check_capacity(served)
        memory = served.memory(batch, prompt, output, **room)
        if memory.fits:
            return served
        many = "one chip" if count == 1 else f"each of {count} chips"
        lacking, refused = f"{many} lacks {format_quantity(-memory.spare, 'B')}", ""
    if not lacking:
        raise ValueError(undivided)
    why = "; ".join(filter(None, (lacking, refused)))
    raise ValueError(f"{model.name} does not fit on any number of {chip.name}: {why}")


@dataclass(frozen=True, repr=False)
class Point:
    """A deployment that always runs ``batch`` sequences on each replica, with its speed and price.

    ``time_to_first_token`` is the prefill time of one prompt and ``time_per_token`` the time
    between tokens, both in seconds. ``replicas`` is the number of such deployments that serve the
    load (1 without a load), and ``tokens_per_second`` their maximum total output.
    ``price_per_hour`` is the price of all their chips. ``price`` is per token of the load or,
    without a load, per token produced. Both use the currency of the given prices. Without prices,
    ``price_per_hour`` is in chip-hours and ``price`` in chip-seconds.
    """

    deployment: Any
    batch: int
    time_to_first_token: float
    time_per_token: float
    tokens_per_second: float
    price: float
    replicas: int = 1
    price_per_hour: float = math.nan

    def __repr__(self):
        many = f"{self.replicas} of " if self.replicas > 1 else ""
        times = {"to the first token": self.time_to_first_token, "a token": self.time_per_token}
        said = ", ".join(
            f"{format_quantity(seconds, 's')} {name}" for name, seconds in times.items()
        )
        speed = (
            f"{format_quantity(self.tokens_per_second, 'tokens/s')}, price {self.price:.4g} a token"
        )
        return wrap_lines(
            f"Point({many}{self.deployment.title} with batch {self.batch}: {said}, {speed}, "
            f"{self.price_per_hour:.4g} an hour)"
        )


def cheapest(deployments: Iterable, prompt=2048, output=128, *, first_token=None, per_token=None,
             tokens_per_second=None, prices: Mapping | None = None, **room) -> Point:  # fmt: skip
    """Return the Point with the lowest price per token that fits in memory and meets the limits.

    Parameters
    ----------
    deployments : one Deployment or several, each on one kind of chip
    first_token, per_token : seconds, optional
        Limits for the time to the first token and the average time per further token.
    tokens_per_second : float, optional
        The total load of all users, in output tokens per second. Replicas of a deployment are added
        until they can serve it.
    prices : mapping from chip names to prices per chip-hour, optional
    room : ``chunk`` and ``reserve``, as for ``Deployment.memory``

    When a sequence ends, another starts (continuous batching). A prompt does not wait for the
    prefill of others, but running sequences wait between tokens while a new prompt is prefilled.

    Sequences in a batch share the weights that a step reads. Beyond some batch size, compute or the
    KV cache takes all the time, and larger batches only make tokens slower. So each deployment uses
    the smallest batch that is about as cheap as any larger one. With a load, it is the smallest
    batch that serves the load on the fewest replicas. Without a load, it is the smallest batch with
    99% of the tokens/s of the largest. If prices are equal, the shorter time per token wins. All
    times are best-case. Raises ValueError if nothing meets the limits or a chip has no price.

    >>> import roofkit as rk
    >>> llama = rk.llm("Llama-3-8B")
    >>> offers, prices = [llama.on("H100"), llama.on("L40S")], {"H100": 2.5, "L40S": 0.9}
    >>> point = cheapest(offers, per_token=0.02, tokens_per_second=10_000, prices=prices)
    >>> point.replicas, point.deployment.chip.name, point.batch, point.price_per_hour
    (5, 'H100 SXM', 25, 12.5)
    """
    deployments = [deployments] if hasattr(deployments, "generate") else list(deployments)
    for served in deployments:
        if not hasattr(served, "generate"):
            raise ValueError(
                f'deployments must be models on a chip, such as rk.llm("Llama-3-8B").on("H100"), '
                f"got {served!r}"
            )
    asked = {
        "first_token": first_token, "per_token": per_token, "tokens_per_second": tokens_per_second
    }  # fmt: skip
    _check_no_arrays(prompt=prompt, output=output, **asked)
    if not isinstance(prices, Mapping | None):
        raise ValueError(f'prices must map chips to prices, as in {{"H100": 2.5}}, got {prices!r}')
    asked = {name: check_number(each, name) for name, each in asked.items() if each is not None}
    load = asked.pop("tokens_per_second", None)
    prices = prices and {_chip_name_in_table(name): price for name, price in prices.items()}
    found = [
        point for served in deployments
        if (point := _best_point(served, prompt, output, asked, load, prices, room)) is not None
    ]  # fmt: skip
    if not found:
        limits = ", ".join(f"{name} {limit:g} s" for name, limit in asked.items())
        raise ValueError(f"no deployment fits{f' and meets {limits}' if limits else ''}")
    return min(found, key=lambda point: (point.price, point.time_per_token))


def _best_point(served, prompt, output, limits, load, prices, room):
    _check_capacity(served)
    hourly = served.split.chips * _find_price(served.chip.name, prices)
    first = served.time_to_first_token(1, prompt)
    if first > limits.get("first_token", math.inf):
        return None

    def per_token(run):
        # While a sequence decodes, every other sequence is prefilled once on average.
        return (run.time - first) / run.steps if run.steps else math.nan

    def meets(batch):
        if not served.memory(batch, prompt, output, **room).fits:
            return False
        slow = per_token(served.generate(batch, prompt, output))
        return not slow > limits.get("per_token", math.inf)

    def speed(batch):
        return served.generate(batch, prompt, output).tokens_per_second

    largest = _find_largest_number(meets)
    if not largest:
        return None
    replicas = math.ceil(load / speed(largest)) if load else 1
    enough = load / replicas if load else ENOUGH_SPEED * speed(largest)
    batch = min(_find_largest_number(lambda batch: speed(batch) < enough) + 1, largest)
    run = served.generate(batch, prompt, output)
    gives = replicas * run.tokens_per_second
    hourly = replicas * hourly
    return Point(
        served, batch, first, per_token(run), gives,
        price=hourly / (load or gives) / (1 if prices is None else 3600),
        replicas=replicas, price_per_hour=hourly,
    )  # fmt: skip


def _chip_name_in_table(name):
    """Return the table's name for a chip, or an unknown name (the user's own chip) unchanged."""
    try:
        return chip_of(name).name
    except ValueError:
        return name


def _find_price(name, prices):
    """Return the price of a chip-hour, or 1 if no prices are given."""
    if prices is None:
        return 1.0
    if name not in prices:
        raise ValueError(f"prices has no {name!r}; it has {', '.join(prices) or 'none'}")
    return check_number(prices[name], f"prices[{name!r}]")


def _check_capacity(served):
    if isinstance(served.chip, tuple):
        raise ValueError(
            f"this deployment has {len(served.chip)} kinds of chips; make one for each kind instead"
        )
    if served.chip.usable is None:
        raise ValueError(
            f"the memory capacity of {served.chip.name} is unknown; use a Chip with capacity="
        )


def _check_no_arrays(**lengths):
    for name, value in lengths.items():
        if np.ndim(value):
            raise ValueError(
                f"{name} must be a single number here; call this once for each element"
            )


def _find_largest_number(holds: Callable[[int], bool]) -> int:
    """Return the largest number up to LARGEST_COUNT for which ``holds`` is true; 0 if none.

    ``holds`` must be true up to some number and false for all larger numbers.
    """
    low, high = 0, 1
    while high <= LARGEST_COUNT and holds(high):
        low, high = high, 2 * high
    high = min(high, LARGEST_COUNT + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
