"""Units as people write them: "1.22 ms", "240 FLOPs/byte", "3.35 TB/s", "89 %"."""

import re

from roofcheck.sentences import Sentence, say
from roofkit._units import engineering

# What a question's unit measures.
DIMENSIONS = {
    "s": "time", "ms": "time", "µs": "time", "FLOPs": "work", "bytes": "data", "FLOP/s": "speed",
    "byte/s": "bandwidth", "FLOP/byte": "intensity", "times": "ratio", "of peak": "ratio",
    "tokens": "tokens", "": "ratio",
}  # fmt: skip
SYMBOLS = {
    "p": 1e-12, "n": 1e-9, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "K": 1e3,
    "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip
PREFIX_WORDS = {
    "pico": 1e-12, "nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "": 1.0, "kilo": 1e3, "mega": 1e6,
    "giga": 1e9, "tera": 1e12, "peta": 1e15,
}  # fmt: skip
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
# What a base unit measures and how large it is, by its symbol and by its word.
SHORT = {"s": ("time", 1), "B": ("data", 1), "b": ("data", 1 / 8), "F": ("work", 1)}
LONG = {
    "s": ("time", 1), "sec": ("time", 1), "second": ("time", 1), "byte": ("data", 1),
    "bit": ("data", 1 / 8), "flop": ("work", 1), "op": ("work", 1), "operation": ("work", 1),
    "token": ("tokens", 1),
}  # fmt: skip
RATIOS = {"": 1, "x": 1, "×": 1, "times": 1, "fold": 1, "%": 0.01, "percent": 0.01}
QUOTIENTS = {
    ("work", "time"): "speed", ("data", "time"): "bandwidth", ("work", "data"): "intensity",
}  # fmt: skip
# The wrong units that a number of this unit usually comes in, and how many of each make one.
ALSO = {
    "s": {"ms": 1e3, "µs": 1e6, "ns": 1e9},
    "ms": {"s": 1e-3, "µs": 1e3, "ns": 1e6},
    "µs": {"s": 1e-6, "ms": 1e-3, "ns": 1e3},
    "FLOPs": {"GFLOPs": 1e-9, "TFLOPs": 1e-12},
    "FLOP/s": {"GFLOP/s": 1e-9, "TFLOP/s": 1e-12},
    "byte/s": {"GB/s": 1e-9, "TB/s": 1e-12, "bit/s": 8},
    "bytes": {"bits": 8, "kB": 1e-3, "MB": 1e-6, "GB": 1e-9},
    "times": {"%": 100},
    "of peak": {"%": 100},
}
# Units that take SI prefixes, and how they are written behind one.
PREFIXED = {"s": "s", "FLOP/s": "FLOP/s", "bytes": "B", "byte/s": "B/s"}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The sentences that name a unit, and those that name an amount of it. Other units are symbols.
NAMES = {
    "s": "unit.seconds", "ms": "unit.milliseconds", "µs": "unit.microseconds",
    "ns": "unit.nanoseconds", "%": "unit.percent", "bytes": "unit.bytes", "tokens": "unit.tokens",
    "": "unit.number", "times": "unit.ratio", "of peak": "unit.share",
}  # fmt: skip
AMOUNTS = {
    "bytes": "amount.bytes", "tokens": "amount.tokens", "times": "amount.times",
    "of peak": "amount.share",
}  # fmt: skip


def name(unit):
    """A unit as a sentence names it.

    >>> str(name("ms")), name("FLOP/byte")
    ('milliseconds', 'FLOP/byte')
    """
    return Sentence(NAMES[unit]) if unit in NAMES else unit


def factor(written, unit):
    """How many of a question's ``unit`` make one of a unit as written; None if it cannot be one.

    >>> factor("ms", "s"), factor("FLOPs per byte", "FLOP/byte"), factor("Gbit/s", "byte/s")
    (0.001, 1.0, 125000000.0)
    >>> factor("GB", "s") is None
    True
    """
    dimension = DIMENSIONS[unit]
    own = _read(unit, dimension) if dimension != "ratio" else 1.0
    found = _read(written, dimension)
    return None if found is None else found / own


def _read(text, dimension):
    """The size of a written unit in base units, if it measures this dimension."""
    text = " ".join(text.split())
    text = re.sub(r"\s+of (the )?peak$|^of (the )?peak$|\.$", "", text)
    text = re.sub(r"^(times|x) (slower|faster|as (fast|slow|much))$", "times", text)
    scale = 1.0
    for word, size in SCALES.items():
        if text.startswith(word):
            text, scale = text.removeprefix(word).strip(), scale * size
    if dimension == "ratio":
        ratio = RATIOS.get(text.casefold().lstrip("-"))
        return None if ratio is None else scale * ratio
    if not text:
        return scale
    above, *below = re.split(r"\s*/\s*|\s+per\s+", text)
    if not below and dimension == "bandwidth" and re.search(r"[Bb]ps$", above):
        above, below = above[:-2], ["s"]
    if not below and dimension == "speed":
        # TFLOPS is a rate although it is written without a stroke.
        below = ["s"]
    if not below and dimension == "intensity":
        # An intensity may be written as FLOPs alone, which are those with every byte.
        below = ["byte"]
    if len(below) > 1 or not (top := _atom(above)):
        return None
    if not below:
        return scale * top[1] if top[0] == dimension else None
    bottom = _atom(below[0])
    if not bottom or QUOTIENTS.get((top[0], bottom[0])) != dimension:
        return None
    return scale * top[1] / bottom[1]


def _atom(text):
    """(quantity, size) of a unit with its prefix, in symbols or in words."""
    for prefix, size in SYMBOLS.items():
        rest = text.removeprefix(prefix)
        if rest in SHORT and text == prefix + rest:
            return SHORT[rest][0], SHORT[rest][1] * size
    for prefix, size in [*PREFIX_WORDS.items(), *SYMBOLS.items()]:
        if not text.startswith(prefix):
            continue
        rest = text.removeprefix(prefix).casefold()
        rest = re.sub(r"^(floating[- ]point )?(?=operation)", "", rest)
        for word in (rest, rest.removesuffix("s")):
            if word in LONG:
                return LONG[word][0], LONG[word][1] * size
    return None


def in_units(value, unit):
    """A value as a sentence shows it.

    >>> in_units(1.0107e-3, "s"), in_units(240.54, "FLOP/byte"), in_units(0.892, "of peak")
    ('1.01 ms', '240.5 FLOP/byte', '89.2% of peak')
    >>> in_units(2, "bytes"), in_units(1.34e7, "bytes"), in_units(1.5e12, "byte/s")
    ('2 bytes', '13.4 MB', '1.5 TB/s')

    A number of FLOPs takes no prefix, which would look like a speed.

    >>> in_units(1e12, "FLOPs"), in_units(0.5, "FLOPs")
    ('10¹² FLOPs', '0.5 FLOPs')
    """
    if unit == "FLOPs" and value >= 1e4:
        return f"{with_power(float(f'{value:.3g}'))} {unit}"
    if unit in PREFIXED and (unit != "bytes" or value >= 1000):
        return f"{engineering(value)}{PREFIXED[unit]}"
    if unit == "of peak":
        return with_unit(f"{100 * value:.3g}%", unit)
    if value < 1e8 and value == round(value):
        return with_unit(f"{value:,.0f}", unit)
    digits = 3 if value < 100 else max(4, min(6, len(f"{value:.0f}")))
    return with_unit(f"{float(f'{value:.{digits}g}'):,.10g}", unit)


def with_unit(number, unit):
    """A number that is written already, with its unit.

    >>> with_unit("2", "bytes"), with_unit("240", "FLOP/byte"), with_unit("7", "")
    ('2 bytes', '240 FLOP/byte', '7')
    """
    return say(AMOUNTS[unit], number=number) if unit in AMOUNTS else f"{number} {unit}".strip()


def with_power(value):
    """A large or small number as 3.44 · 10¹⁰ or 10¹²."""
    mantissa, _, power = f"{value:.10e}".partition("e")
    times = "" if float(mantissa) == 1 else f"{float(mantissa):g} · "
    return f"{times}10{str(int(power)).translate(RAISED)}"
