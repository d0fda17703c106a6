"""What one asks of a deployment backwards: the largest batch, the longest prompt, the fewest chips.

Everything here is found by halving: memory and time only grow with batch and length.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from roofkit._inputs import number

# Beyond these no answer is looked for.
MOST_SEQUENCES, MOST_TOKENS, MOST_CHIPS = 1 << 20, 1 << 26, 1 << 12


def largest_batch(served, prompt=2048, output=1, *, chunk=None) -> int:
    """The most sequences whose generation fits in memory; 0 if not even one does.

    Raises ValueError where the chip's capacity is not known.

    >>> import roofkit as rk
    >>> largest_batch(rk.llm("Llama-2-7B").on("A100 80GB SXM"), prompt=2048, output=128)
    59
    """
    _know_capacity(served)
    return _last(lambda batch: served.memory(batch, prompt, output, chunk=chunk).fits,
                 MOST_SEQUENCES)  # fmt: skip


def longest_prompt(served, batch=1, output=1, *, chunk=None) -> int:
    """The longest prompt of each of ``batch`` sequences that fits in memory; 0 if none does.

    What the model was trained for is not asked. Raises ValueError where the chip's capacity is not
    known.
    """
    _know_capacity(served)
    return _last(lambda prompt: served.memory(batch, prompt, output, chunk=chunk).fits, MOST_TOKENS)


def compute_bound_batch(served, context=2048) -> int | None:
    """The smallest batch of a decode step at which compute binds most of the weights; None if none.

    Weights count by their bytes.

    >>> import roofkit as rk
    >>> compute_bound_batch(rk.llm("Llama-2-7B").on("TPU v5e"))
    261
    """
    memory_binds = _last(lambda batch: not computes(served.decode(batch, context)), MOST_SEQUENCES)
    return None if memory_binds == MOST_SEQUENCES else memory_binds + 1


def computes(step) -> bool:
    """Whether compute binds the layers of a table that hold most of the weights."""
    weights = [layer.count * layer.weights for layer in step]
    computing = sum(
        each for layer, each in zip(step, weights, strict=True) if layer.bound == "compute"
    )
    return computing > sum(weights) / 2


def fewest_chips(model, chip, batch=1, prompt=2048, output=1, *, chunk=None, **choices):
    """The Deployment on the fewest chips that share every layer and hold a generation.

    ``choices`` are those of ``LLM.on``, but for chips. Counts that the model or the links do not
    allow are passed over; the last reason is given where none is left, as a ValueError.

    >>> import roofkit as rk
    >>> fewest_chips(rk.llm("Llama-2-70B"), "H100", batch=16).chips
    2
    """
    why = "no count was possible"
    for chips in range(1, min(model.heads, MOST_CHIPS) + 1):
        try:
            served = model.on(chip, **{**choices, "chips": chips})
        except ValueError as error:
            why = str(error)
            continue
        _know_capacity(served)
        memory = served.memory(batch, prompt, output, chunk=chunk)
        if memory.fits:
            return served
        why = f"on {chips} chips each lacks {-memory.spare / 1e9:.3g} GB"
    raise ValueError(f"{model.name} does not fit on any count of {chip}: {why}")


@dataclass(frozen=True)
class Point:
    """A deployment at a batch: seconds, tokens/s of all replicas, and the price of a token.

    ``price`` is in what prices are given in, and chip-seconds a token where none are.
    """

    served: Any = field(repr=False)
    batch: int
    time_to_first_token: float
    time_per_token: float
    tokens_per_second: float
    price: float


def cheapest(deployments: Iterable, prompt=2048, output=128, *, first_token=None, per_token=None,
             prices: Mapping | None = None, chunk=None) -> Point:  # fmt: skip
    """The Point of least price a token that fits and meets both times, at best.

    Parameters
    ----------
    deployments : Deployments, each on one kind of chip
    first_token, per_token : seconds, optional
        The longest time to the first token, and the longest average time of a further one.
    prices : mapping of chip name to price of a chip-hour, optional

    Each deployment takes the largest batch that fits and meets the times: more sequences only share
    what is read. Raises ValueError where none does, and for a chip without a price.

    >>> import roofkit as rk
    >>> llama = rk.llm("Llama-3-8B")
    >>> point = cheapest([llama.on("H100"), llama.on("L40S")], per_token=0.02,
    ...                  prices={"H100 SXM": 2.5, "L40S": 0.9})
    >>> point.served.chip.name, point.time_per_token <= 0.02
    ('H100 SXM', True)
    """
    limits = {"first_token": first_token, "per_token": per_token}
    limits = {name: number(limit, name) for name, limit in limits.items() if limit is not None}
    found = [
        point for served in deployments
        if (point := _best(served, prompt, output, limits, prices, chunk)) is not None
    ]  # fmt: skip
    if not found:
        asked = ", ".join(f"{name} {limit:g} s" for name, limit in limits.items())
        raise ValueError(f"no deployment fits{f' and meets {asked}' if asked else ''}")
    return min(found, key=lambda point: point.price)


def _best(served, prompt, output, limits, prices, chunk):
    if isinstance(served.chip, tuple):
        raise ValueError("each deployment must be on one kind of chip; give one for each")
    _know_capacity(served)

    def meets(batch):
        if not served.memory(batch, prompt, output, chunk=chunk).fits:
            return False
        run = served.generate(batch, prompt, output)
        return (
            run.time_to_first_token <= limits.get("first_token", float("inf"))
            and not run.time_per_token > limits.get("per_token", float("inf"))
        )  # fmt: skip

    batch = _last(meets, MOST_SEQUENCES)
    if not batch:
        return None
    run = served.generate(batch, prompt, output)
    return Point(
        served, batch, run.time_to_first_token, run.time_per_token, run.tokens_per_second,
        served.split.chips * _price(served.chip.name, prices) / run.tokens_per_second,
    )  # fmt: skip


def _price(name, prices):
    """Of a second of a chip."""
    if prices is None:
        return 1.0
    if name not in prices:
        raise ValueError(f"prices has no {name!r}; it has {', '.join(prices) or 'none'}")
    return number(prices[name], f"prices[{name!r}]") / 3600


def _know_capacity(served):
    chips = served.chip if isinstance(served.chip, tuple) else (served.chip,)
    if len(chips) > 1:
        raise ValueError(f"this is on {len(chips)} kinds of chips; ask for each of them")
    if chips[0].usable is None:
        raise ValueError(
            f"the capacity of {chips[0].name} is not known; give a Chip with capacity="
        )


def _last(holds: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` at which something holds that stops once; 0 if none."""
    low, high = 0, 1
    while high <= most and holds(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
