"""Check formula inputs: finite positive values, known dtypes and broadcastable shapes."""

import contextlib
import math
import re
import sys

import numpy as np

# Bytes per element in memory.
ITEMSIZE = {
    "fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "fp4": 0.5,
    "int4": 0.5,
}  # fmt: skip

# Larger numbers overflow to infinity as float64.
LARGEST_FLOAT = sys.float_info.max

# Dtype names from frameworks and papers, in lower case and without hyphens.
DTYPE_SPELLINGS = {
    "float64": "fp64", "double": "fp64", "float32": "fp32", "single": "fp32",
    "tensorfloat32": "tf32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16",
    "float8": "fp8", "float4": "fp4", "e2m1": "fp4",
}  # fmt: skip


def itemsize(dtype, name="dtype"):
    """Return the bytes per element of a dtype, or raise ValueError listing the known dtypes."""
    try:
        return ITEMSIZE[dtype]
    except (KeyError, TypeError):
        return ITEMSIZE[read_dtype(dtype, name)]


def read_dtype(dtype, name="dtype"):
    """Return the short name of a dtype in any common spelling, or raise ValueError.

    >>> [read_dtype(name) for name in ("fp8", "BF16", "bfloat16", "float8_e4m3fn", "torch.half")]
    ['fp8', 'bf16', 'bf16', 'fp8', 'fp16']
    """
    if isinstance(dtype, str):
        if dtype in ITEMSIZE:
            return dtype
        key = re.sub(r"[\s_-]", "", dtype.casefold()).removeprefix("torch.")
        key = DTYPE_SPELLINGS.get(key, key)
        # Names such as float8_e4m3fn give the exponent and mantissa bits, and whether infinity can
        # be represented. All these formats take one byte.
        if re.fullmatch(r"(fp8|float8)?(e4m3|e5m2)(fn|fnuz|b11fnuz)?", key):
            key = "fp8"
        if key in ITEMSIZE:
            return key
    raise ValueError(
        f"{name}={dtype!r} is not known; use one of {', '.join(ITEMSIZE)}{_suggest_dtypes(dtype)}"
    )


def pick_16_bit(peaks, otherwise=None):
    """Return the first of bf16 and fp16 that has a peak, or else ``otherwise``."""
    return next((dtype for dtype in ("bf16", "fp16") if dtype in peaks), otherwise)


def _suggest_dtypes(dtype):
    if not isinstance(dtype, str):
        return ""
    import difflib  # imported only on errors, to keep ``import roofkit`` fast

    close = difflib.get_close_matches(
        dtype.casefold(), [*ITEMSIZE, *DTYPE_SPELLINGS], n=3, cutoff=0.5
    )
    names = dict.fromkeys(DTYPE_SPELLINGS.get(each, each) for each in close)
    return f"; nearest: {', '.join(names)}" if names else ""


def is_symbolic(value):
    """Return whether the value is a SymPy expression, without importing SymPy."""
    return hasattr(value, "free_symbols")


def check_number(value, name, minimum=0.0, above=True, finite=True):
    """Return the value as a Python number, a float64 array, or an unchanged SymPy expression.

    Integer arrays become float64, because products of sizes can silently overflow int64.
    Raises ValueError naming the argument and the value.
    """
    if (type(value) is int or type(value) is float) and (
        minimum < value <= LARGEST_FLOAT or (value == minimum and not above)
    ):
        return value
    if is_symbolic(value) and not getattr(value, "is_number", False):
        return value
    array = _as_float_array(value, name)
    # min and max need no temporary array, and NaN fails every comparison.
    if array.size:
        least, most = array.min(), array.max()
        good = (least > minimum or (least == minimum and not above)) and (
            most < math.inf or not finite
        )
        if not good:
            _raise_out_of_range(array, name, minimum, above, finite)
    if array.ndim:
        return array
    # NumPy and SymPy integers stay exact.
    return int(value) if _is_integer(value) else float(array)


def check_whole(value, name, minimum=1):
    """Check that the value passes ``check_number`` and is a whole number."""
    value = check_number(value, name, minimum=minimum, above=False)
    if type(value) is int or is_symbolic(value):
        return value
    part = value % 1
    if np.any(part) if isinstance(value, np.ndarray) else part:
        bad = value[part != 0].flat[0] if isinstance(value, np.ndarray) else value
        raise ValueError(f"{name} must be a whole number, got {bad:g}")
    return value


def _raise_out_of_range(array, name, minimum, above, finite):
    low = ~(array > minimum) if above else ~(array >= minimum)
    bad = array[low | ~np.isfinite(array) if finite else low].flat[0]
    wanted = f"{'finite and ' if finite else ''}{'above' if above else 'at least'} {minimum:g}"
    where = f" (in an array of shape {array.shape})" if array.ndim else ""
    raise ValueError(f"{name} must be {wanted}, got {bad:g}{where}")


def _is_integer(value):
    return isinstance(value, (int, np.integer)) or getattr(value, "is_Integer", False)


def _as_float_array(value, name):
    # NumPy would convert True to 1, "3" to 3 and None to NaN, and drop imaginary parts and masks.
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        array = np.asarray(value)
        objects = [value] if array.ndim == 0 else array.flat if array.dtype.kind == "O" else ()
        numbers = not any(isinstance(item, (bool, np.bool_, str, type(None))) for item in objects)
        if array.dtype.kind in "iufO" and numbers and not isinstance(value, np.ma.MaskedArray):
            return array.astype(np.float64, copy=False)
    raise ValueError(
        f"{name} must be a number or an array of numbers, got {type(value).__name__}: {value!r}"
    )


def check_sizes(**named):
    """Check that all sizes are finite and above zero, and that their shapes broadcast.

    Returns the checked values in the same order.
    """
    checked = {name: check_number(value, name) for name, value in named.items()}
    check_broadcast(**checked)
    return list(checked.values())


def check_broadcast(**named):
    """Raise ValueError naming the arrays if the arguments cannot be broadcast together."""
    shapes = {name: value.shape for name, value in named.items() if isinstance(value, np.ndarray)}
    if len(shapes) < 2:
        return
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name}{list(shape)}" for name, shape in shapes.items())
        raise ValueError(
            f"shapes do not broadcast: {listed}; insert axes with array[:, None] so that along "
            "each axis the lengths are equal or 1"
        ) from None
