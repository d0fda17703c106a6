"""Check batches and lengths, and format them for titles."""

import numpy as np

from roofkit._inputs import check_broadcast, check_number, check_whole, is_symbolic

WHOLE_LENGTHS = ("batch", "new", "output", "chunk")
LARGEST_LENGTH = 1 << 53  # a float cannot represent every larger whole number


def check_lengths(minimum=1, **named):
    """Return the lengths as floats or arrays that broadcast, in order.

    Prompt, context and cached lengths may be averages; all others must be whole numbers. Raises
    ValueError naming the invalid length.
    """
    values = []
    for name, value in named.items():
        # A fast path for the usual case.
        if type(value) is int and minimum <= value <= LARGEST_LENGTH:
            values.append(float(value))
            continue
        if is_symbolic(value):
            raise ValueError(f"{name}={value} is a symbol; a model's tables need numbers or arrays")
        if np.ndim(value) and not np.size(value):
            raise ValueError(f"{name} is empty; give at least one")
        values.append(
            check_whole(value, name, minimum) if name in WHOLE_LENGTHS
            else check_number(value, name, minimum=minimum, above=False)
        )  # fmt: skip
    if any(isinstance(value, np.ndarray) for value in values):
        check_broadcast(**dict(zip(named, values, strict=True)))
    return [float(value) if isinstance(value, int) else value for value in values]


def format_length(value):
    """Return a length as text, or the shortest and longest of several lengths."""
    return f"{value:g}" if not np.ndim(value) else f"{np.min(value):g} to {np.max(value):g}"
