"""Questions asked backwards: the largest batch, the longest prompt, the fewest chips, the price.

Lengths and batches are found by halving: memory and time only grow with them.
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

# The most sequences or tokens, and the most chips, that are tried.
LARGEST_COUNT, LARGEST_CHIPS = 1 << 40, 1 << 12
# The share of the most tokens/s that a batch must give; a larger one makes a token hardly cheaper.
ENOUGH_SPEED = 0.99


def largest_batch(served, prompt=2048, output=1, **room) -> int:
    """The most sequences whose generation fits in memory; 0 if not even one does.

    ``room`` is ``chunk`` and ``reserve``, as for ``Deployment.memory``. Raises ValueError where the
    chip's capacity is not known.

    >>> import roofkit as rk
    >>> largest_batch(rk.llm("Llama-2-7B").on("A100 80GB SXM"), prompt=2048, output=128)
    63
    """
    _check_capacity(served)
    _check_single(prompt=prompt, output=output)
    return _find_last(lambda batch: served.memory(batch, prompt, output, **room).fits)


def longest_prompt(served, batch=1, output=1, **room) -> int | float:
    """The longest prompt of each of ``batch`` sequences that fits in memory; 0 if none does.

    Infinity where no length fills the memory, as with windows in all layers. What the model was
    trained for is not asked. Raises ValueError where the chip's capacity is not known.
    """
    _check_capacity(served)
    _check_single(batch=batch, output=output)
    found = _find_last(lambda prompt: served.memory(batch, prompt, output, **room).fits)
    return math.inf if found == LARGEST_COUNT else found


def compute_bound_batch(served, context=2048) -> int | None:
    """The smallest batch of a decode step at which compute binds most of the weights; None if none.

    Weights count by the bytes that a chip holds, whether a step reads all of them or not; the
    embedding, of which it picks rows, does not count.

    >>> import roofkit as rk
    >>> compute_bound_batch(rk.llm("Llama-2-7B").on("TPU v5e"))
    261
    """
    _check_single(context=context)
    # A step for as many sequences as this visits every expert.
    held = {
        layer.name: layer.count * layer.weights
        for layer in served.decode(LARGEST_COUNT, context) if layer.name != "embedding"
    }  # fmt: skip

    def memory_binds(batch):
        step = served.decode(batch, context)
        computing = sum(held.get(layer.name, 0.0) for layer in step if layer.bound == "compute")
        return computing <= sum(held.values()) / 2

    batch = _find_last(memory_binds)
    return None if batch == LARGEST_COUNT else batch + 1


def fewest_chips(model, chip, batch=1, prompt=2048, output=1, *, split=None, **choices):
    """The Deployment on the fewest chips that share every layer and hold a generation.

    ``split`` says all but how many these are; the other ``choices`` are those of ``LLM.on`` and of
    ``Deployment.memory``. Counts that the model does not divide into are passed over. Raises
    ValueError where none is left, with what the largest count lacks and why there are no more.

    >>> import roofkit as rk
    >>> fewest_chips(rk.llm("Llama-2-70B"), "H100", batch=16).split.chips
    2
    """
    split = check_options(split, Split, "split", "pipeline=2")
    if split.tensor != 1:
        raise ValueError(f"tensor={split.tensor} is what fewest_chips finds; leave it out of Split")
    _check_single(batch=batch, prompt=prompt, output=output)
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
            if not lacking:  # what is asked for is wrong, whatever the count
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
    raise ValueError(f"{model.name} does not fit on any count of {chip.name}: {why}")


@dataclass(frozen=True, repr=False)
class Point:
    """A deployment with ``batch`` sequences on each replica at all times, and what that gives.

    ``time_to_first_token`` is the prefill of one prompt and ``time_per_token`` what passes from
    token to token, both in seconds. ``replicas`` such deployments stand side by side: as many as
    the load needs, or one where none was given; ``tokens_per_second`` is what all of them give at
    most. ``price_per_hour`` is that of all their chips and ``price`` that of a token of the load,
    or of every token they give where there is no load. Both are in what prices are given in; where
    none are, an hour is counted in chip-hours and a token in chip-seconds.
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
    """The Point of least price a token that fits, meets both times and carries the load, at best.

    Parameters
    ----------
    deployments : a Deployment or several, each on one kind of chip
    first_token, per_token : seconds, optional
        The longest time to the first token, and the longest average time of a further one.
    tokens_per_second : float, optional
        The whole load, in output tokens of all users a second; as many replicas of a deployment as
        it needs stand side by side.
    prices : mapping of chip name to price of a chip-hour, optional
    room : ``chunk`` and ``reserve``, as for ``Deployment.memory``

    As a sequence ends, another takes its place (continuous batching): a prompt does not wait for
    the prefill of others, but between its tokens a sequence waits for that of all that come in.

    More sequences in a batch share what is read, until computing or the cache, of which each
    sequence has its own, takes all of the time: then tokens only take longer. So each deployment
    takes the smallest batch that saves as much as a larger one would. With a load this is the
    smallest one that carries it on the fewest replicas; without, the smallest one with 99% of the
    tokens/s that the largest batch gives. Of equal prices the shorter time a token wins. Raises
    ValueError where nothing meets what is asked, and for a chip without a price.

    >>> import roofkit as rk
    >>> llama = rk.llm("Llama-3-8B")
    >>> offers, prices = [llama.on("H100"), llama.on("L40S")], {"H100": 2.5, "L40S": 0.9}
    >>> point = cheapest(offers, per_token=0.02, tokens_per_second=10_000, prices=prices)
    >>> point.replicas, point.served.chip.name, point.batch, point.price_per_hour
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
    _check_single(prompt=prompt, output=output, **asked)
    if not isinstance(prices, Mapping | None):
        raise ValueError(f'prices must map chips to prices, as in {{"H100": 2.5}}, got {prices!r}')
    asked = {name: check_number(each, name) for name, each in asked.items() if each is not None}
    load = asked.pop("tokens_per_second", None)
    prices = prices and {_table_name(name): price for name, price in prices.items()}
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
        """Seconds from token to token; meanwhile every other sequence is prefilled once."""
        return (run.time - first) / run.steps if run.steps else math.nan

    def meets(batch):
        if not served.memory(batch, prompt, output, **room).fits:
            return False
        slow = per_token(served.generate(batch, prompt, output))
        return not slow > limits.get("per_token", math.inf)

    def speed(batch):
        return served.generate(batch, prompt, output).tokens_per_second

    largest = _find_last(meets)
    if not largest:
        return None
    replicas = math.ceil(load / speed(largest)) if load else 1
    enough = load / replicas if load else ENOUGH_SPEED * speed(largest)
    batch = min(_find_last(lambda batch: speed(batch) < enough) + 1, largest)
    run = served.generate(batch, prompt, output)
    gives = replicas * run.tokens_per_second
    hourly = replicas * hourly
    return Point(
        served, batch, first, per_token(run), gives,
        price=hourly / (load or gives) / (1 if prices is None else 3600),
        replicas=replicas, price_per_hour=hourly,
    )  # fmt: skip


def _table_name(name):
    """The table's name of a chip, by any of its names; others are chips of the reader's own."""
    try:
        return chip_of(name).name
    except ValueError:
        return name


def _find_price(name, prices):
    """The price of a chip-hour, which is one chip-hour where there are no prices."""
    if prices is None:
        return 1.0
    if name not in prices:
        raise ValueError(f"prices has no {name!r}; it has {', '.join(prices) or 'none'}")
    return check_number(prices[name], f"prices[{name!r}]")


def _check_capacity(served):
    if isinstance(served.chip, tuple):
        raise ValueError(
            f"this is on {len(served.chip)} kinds of chips; ask for each kind of chip by itself"
        )
    if served.chip.usable is None:
        raise ValueError(
            f"the capacity of {served.chip.name} is not known; give a Chip with capacity="
        )


def _check_single(**lengths):
    for name, value in lengths.items():
        if np.ndim(value):
            raise ValueError(f"{name} must be one number here; ask for each element by itself")


def _find_last(holds: Callable[[int], bool]) -> int:
    """The largest number up to MOST at which something holds that stops once; 0 if none."""
    low, high = 0, 1
    while high <= LARGEST_COUNT and holds(high):
        low, high = high, 2 * high
    high = min(high, LARGEST_COUNT + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
