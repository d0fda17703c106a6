"""What every formula asks of its inputs: finite, positive, known, and of shapes that fit."""

import contextlib
import math

import numpy as np

# Bytes one element takes in memory.
ITEMSIZE = {
    "fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "int4": 0.5,
}  # fmt: skip


def itemsize(dtype, name="dtype"):
    """Bytes per element of a dtype given by name, or ValueError with the names there are."""
    try:
        return ITEMSIZE[dtype]
    except (KeyError, TypeError):
        known = ", ".join(ITEMSIZE)
        raise ValueError(f"{name}={dtype!r} is not known; use one of {known}") from None


def is_symbolic(value):
    """True for a SymPy expression, without importing SymPy."""
    return hasattr(value, "free_symbols")


def number(value, name, minimum=0.0, above=True, finite=True):
    """The value as a Python number, a float64 array, or the SymPy expression it was.

    Integer arrays become float64, because a product of sizes overflows int64 silently.
    Raises ValueError naming the argument, the value and the fix.
    """
    if (type(value) is int or type(value) is float) and (
        minimum < value < math.inf or (value == minimum and not above)
    ):
        return value
    if is_symbolic(value) and not getattr(value, "is_number", False):
        return value
    array = _as_float_array(value, name)
    # Two reductions without temporaries; a NaN fails every comparison.
    if array.size:
        least, most = array.min(), array.max()
        good = (least > minimum or (least == minimum and not above)) and (
            most < math.inf or not finite
        )
        if not good:
            _refuse(array, name, minimum, above, finite)
    if array.ndim:
        return array
    # A NumPy or SymPy scalar: keep whole numbers exact.
    return int(value) if _is_integer(value) else float(array)


def _refuse(array, name, minimum, above, finite):
    low = ~(array > minimum) if above else ~(array >= minimum)
    bad = array[low | ~np.isfinite(array) if finite else low].flat[0]
    wanted = f"{'finite and ' if finite else ''}{'above' if above else 'at least'} {minimum:g}"
    where = f" (in an array of shape {array.shape})" if array.ndim else ""
    raise ValueError(f"{name} must be {wanted}, got {bad:g}{where}")


def _is_integer(value):
    return isinstance(value, (int, np.integer)) or getattr(value, "is_Integer", False)


def _as_float_array(value, name):
    # NumPy would read True as 1, "3" as 3 and None as NaN, and drop an imaginary part.
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        array = np.asarray(value)
        if array.dtype.kind in "iufO" and value is not None:
            return array.astype(np.float64, copy=False)
    raise ValueError(
        f"{name} must be a number or an array of numbers, got {type(value).__name__}: {value!r}"
    )


def sizes(**named):
    """Check sizes together: each finite and above zero, all shapes broadcastable.

    Returns the checked values in the order given.
    """
    checked = {name: number(value, name) for name, value in named.items()}
    check_broadcast(**checked)
    return list(checked.values())


def check_broadcast(**named):
    """ValueError naming the arrays among the arguments if they cannot be broadcast together."""
    shapes = {name: value.shape for name, value in named.items() if isinstance(value, np.ndarray)}
    if len(shapes) < 2:
        return
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name}{list(shape)}" for name, shape in shapes.items())
        raise ValueError(
            f"shapes do not broadcast: {listed}; insert axes with array[:, None] so that each "
            "pair of lengths is equal or 1"
        ) from None
