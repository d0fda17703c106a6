"""Read units as people write them: "1.22 ms", "240 FLOPs/byte", "3.35 TB/s", "89 %"."""

import functools
import operator
import re
from dataclasses import dataclass

from roofcheck.reading.units import DIMENSIONS, TO_SUPERSCRIPT, format_unit
from roofcheck.reading.vocabulary import VOCABULARY
from roofcheck.sentences import sentence

SMALL_PREFIXES = VOCABULARY["small_prefixes"]
LARGE_PREFIXES = VOCABULARY["large_prefixes"]
# Case distinguishes bits from bytes, but "gflops" is unambiguous.
PREFIXES = {"time": SMALL_PREFIXES, "work": LARGE_PREFIXES | {"g": 1e9, "t": 1e12}}
SCALES = VOCABULARY["scales"]
# The dimension and size of each base unit, by symbol and by word.
UNIT_SYMBOLS = {"s": ("time", 1), "B": ("data", 1), "b": ("data", 1 / 8), "F": ("work", 1)}
UNIT_WORDS = VOCABULARY["unit_words"]
RATIOS = VOCABULARY["ratios"]
COUNTED_THINGS = set(VOCABULARY["counted_things"])
# The powers of time, data, work and counted things in each dimension.
POWERS = {
    "time": (1, 0, 0, 0), "data": (0, 1, 0, 0), "work": (0, 0, 1, 0), "tokens": (0, 0, 0, 1),
    "ratio": (0, 0, 0, 0), "speed": (-1, 0, 1, 0), "bandwidth": (-1, 1, 0, 0),
    "intensity": (0, -1, 1, 0), "rate": (-1, 0, 0, 1),
}  # fmt: skip
# Students may omit this part of a unit: TFLOPS is a rate, and an intensity may be in FLOPs.
IMPLIED_UNITS = {"speed": "/s", "rate": "/s", "intensity": "/byte"}


@dataclass(frozen=True)
class Amount:
    """A number and the powers of its base units: seconds, bytes, FLOPs and counted things.

    Amounts support arithmetic. Adding or comparing amounts in different units raises ValueError.

    >>> (read_unit("GB") / read_unit("TB/s")).in_unit("ms")
    1.0
    """

    value: float
    powers: tuple = POWERS["ratio"]

    def in_unit(self, unit):
        """Return the value in a question's ``unit``, or None if the dimensions differ."""
        powers = POWERS[DIMENSIONS[unit]]
        # Counted things may be the answer itself or cancel out.
        counted = unit in ("", "tokens") or any(powers) or not self.powers[3]
        if self.powers[:3] != powers[:3] or not counted:
            return None
        return self.value / (_read_simple_unit(unit) or Amount(1.0)).value

    def _value_in_same_unit(self, other):
        if self.powers != other.powers:
            first, second = (_format_powers(amount.powers) for amount in (self, other))
            raise ValueError(sentence("expression.mixed", first=first, second=second))
        return other.value

    def __mul__(self, other):
        powers = (a + b for a, b in zip(self.powers, other.powers, strict=True))
        return Amount(self.value * other.value, tuple(powers))

    def __truediv__(self, other):
        powers = (a - b for a, b in zip(self.powers, other.powers, strict=True))
        return Amount(self.value / other.value, tuple(powers))

    def __pow__(self, other):
        exponent = Amount(1.0)._value_in_same_unit(other)
        return Amount(self.value**exponent, tuple(power * exponent for power in self.powers))

    def __add__(self, other):
        return Amount(self.value + self._value_in_same_unit(other), self.powers)

    def __sub__(self, other):
        return Amount(self.value - self._value_in_same_unit(other), self.powers)

    def __neg__(self):
        return Amount(-self.value, self.powers)

    def __abs__(self):
        return Amount(abs(self.value), self.powers)

    def __lt__(self, other):
        return self.value < self._value_in_same_unit(other)

    def __gt__(self, other):
        return self.value > self._value_in_same_unit(other)

    def __str__(self):
        return f"{_format_powers(self.powers)}"


def _format_powers(powers):
    """Return the unit with these powers, formatted for a sentence.

    >>> str(_format_powers((0, 0, 0, 0))), _format_powers((2, 1, -1, 0))
    ('a plain number', 's²·byte/FLOP')
    """
    bases = list(zip(("s", "byte", "FLOP", "token"), powers, strict=True))
    above, below = (
        "·".join(
            base + (f"{abs(power):g}".translate(TO_SUPERSCRIPT) if abs(power) != 1 else "")
            for base, power in bases
            if power * sign > 0
        )
        for sign in (1, -1)
    )
    if not below:
        return format_unit({"byte": "bytes", "FLOP": "FLOPs", "token": "tokens"}.get(above, above))
    return f"{above or 1}/{below}"


@functools.lru_cache(1000)
def conversion_factor(written, unit):
    """Return the factor from a written unit to a question's ``unit``, or None if they don't fit.

    >>> conversion_factor("ms", "s"), conversion_factor("FLOPs per byte", "FLOP/byte")
    (0.001, 1.0)
    >>> conversion_factor("GB", "s") is None, conversion_factor("k", "bytes")
    (True, 1000.0)
    """
    dimension = DIMENSIONS[unit]
    if dimension != "time" and (amount := read_prefix(written)):
        return amount.value
    for text in (written, written + IMPLIED_UNITS.get(dimension, "")):
        if (amount := read_unit(text)) and (value := amount.in_unit(unit)) is not None:
            return value
    return None


def read_prefix(written):
    """Return the Amount of a prefix without a unit, as in "8.76k", or None."""
    return Amount(LARGE_PREFIXES[written]) if written in LARGE_PREFIXES else None


def read_unit(written):
    """Return the Amount of one written unit, or None."""
    text = re.sub(r"(^| )of [A-Za-z ]+$", "", " ".join(written.split()))
    # "times as long as one", "times longer than", and "as long", after "twice".
    text = re.sub(r"^(times|x) (as|more|less|\w+er)( [\w ]+)?$|^as \w+$", "times", text)
    text = re.sub(r"(?<=[Bb])ps$", "/s", re.sub(r"\bt(?:ok)?ps$", "tokens/s", text))
    result = Amount(1.0)
    for word, size in SCALES.items():
        if text.startswith(word):
            text, result = text.removeprefix(word).strip(), Amount(size)
    parts = re.split(r" ?/ ?|(?:^| )(?:per|an?|each|every) ", text)
    above, *below = (_read_simple_unit(part.strip(" ()")) for part in parts)
    if above is None or None in below:
        return None
    return functools.reduce(operator.truediv, below, result * above)


def _read_simple_unit(text):
    small = text.casefold()
    if (ratio := RATIOS.get(small.lstrip("-"))) is not None:
        return Amount(ratio)
    for prefix in SMALL_PREFIXES | PREFIXES["work"]:
        if not (small if len(prefix) > 2 else text).startswith(prefix):
            continue
        rest = text[len(prefix) :].strip()
        word = rest.casefold()
        words = (UNIT_WORDS.get(word), UNIT_WORDS.get(word.removesuffix("s")))
        dimension, size = next(filter(None, (UNIT_SYMBOLS.get(rest), *words)), (None, 0))
        if _is_counted_thing(word):
            dimension, size = "tokens", 1
        if dimension and (scale := PREFIXES.get(dimension, LARGE_PREFIXES).get(prefix)):
            return Amount(scale * size, POWERS[dimension])
    *before, noun = small.split(" ")
    if _is_counted_thing(noun) and not any(map(_read_simple_unit, before)):
        return Amount(1.0, POWERS["tokens"])
    return None


def _is_counted_thing(word):
    return word in COUNTED_THINGS or word.removesuffix("s") in COUNTED_THINGS
