"""Format numbers with SI prefixes."""

import math

import numpy as np

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
# Ratios and counts get no SI prefix. Counts get these units.
RATIO_UNITS = ("FLOP/byte", "FLOP/B")
COUNT_UNITS = {"1/s": "/s", "multiprocessors": " multiprocessors", "threads": " threads"}


def engineering(value, digits=3):
    """Format the value with ``digits`` digits and an SI prefix; the caller appends the unit.

    >>> engineering(1.0107e-3) + "s", engineering(1.97e14) + "FLOP/s"
    ('1.01 ms', '197 TFLOP/s')
    """
    scale, prefix = find_prefix(value)
    return f"{value / scale:.{digits}g} {prefix}"


def format_quantity(value, unit):
    """Format a number with its unit, an array as its range and shape, or a symbol unchanged.

    >>> format_quantity(2e9, "B"), format_quantity(np.array([1e9, 4e9]), "B")
    ('2 GB', '1 GB to 4 GB [2]')
    >>> [format_quantity(*pair) for pair in ((3e12, "byte/s"), (2550.4, "1/s"), (9.9, "FLOP/B"))]
    ['3 TB/s', '2,550/s', '9.9 FLOP/B']
    """
    if isinstance(value, np.ndarray):
        if not value.size:
            return f"{unit} {list(value.shape)}"
        low = format_quantity(float(value.min()), unit)
        high = format_quantity(float(value.max()), unit)
        return f"{low if low == high else f'{low} to {high}'} {list(value.shape)}"
    if not isinstance(value, (int, float)):
        return f"{value} {unit}"
    if unit in RATIO_UNITS:
        return f"{value:.4g} {unit}"
    if unit in COUNT_UNITS:
        return f"{float(f'{value:.4g}'):,.10g}{COUNT_UNITS[unit]}"
    # After a prefix, "byte" is abbreviated: TB, not Tbyte.
    return f"{engineering(value)}{unit.replace('byte', 'B')}"


def find_prefix(value):
    """Return the power of 1000 that leaves 1 to 3 digits before the point, and its SI prefix."""
    if not value or not math.isfinite(value):
        return 1.0, ""
    # Round the value first, so 999.6 becomes 1 k instead of 1e+03.
    exponent = 3 * (int(f"{value:.2e}".partition("e")[2]) // 3)
    exponent = min(max(exponent, min(PREFIXES)), max(PREFIXES))
    return 10.0**exponent, PREFIXES[exponent]
