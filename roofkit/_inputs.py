"""Check inputs of formulas: finite, positive, of known dtypes and of shapes that broadcast."""

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

# A larger number would become infinity as a float64.
LARGEST_FLOAT = sys.float_info.max

# Other names for dtypes in frameworks and papers, in lower case and without hyphens.
DTYPE_SPELLINGS = {
    "float64": "fp64", "double": "fp64", "float32": "fp32", "single": "fp32",
    "tensorfloat32": "tf32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16",
    "float8": "fp8", "float4": "fp4", "e2m1": "fp4",
}  # fmt: skip


def itemsize(dtype, name="dtype"):
    """Return the bytes per element of a dtype; ValueError with the known names otherwise."""
    try:
        return ITEMSIZE[dtype]
    except (KeyError, TypeError):
        return ITEMSIZE[read_dtype(dtype, name)]


def read_dtype(dtype, name="dtype"):
    """Return the short name of a dtype in any usual spelling; ValueError with the nearest names.

    >>> [read_dtype(name) for name in ("fp8", "BF16", "bfloat16", "float8_e4m3fn", "torch.half")]
    ['fp8', 'bf16', 'bf16', 'fp8', 'fp16']
    """
    if isinstance(dtype, str):
        if dtype in ITEMSIZE:
            return dtype
        key = re.sub(r"[\s_-]", "", dtype.casefold()).removeprefix("torch.")
        key = DTYPE_SPELLINGS.get(key, key)
        # A name such as float8_e4m3fn gives the exponent and mantissa bits, and says whether there
        # is an infinity. It is one byte in any case.
        if re.fullmatch(r"(fp8|float8)?(e4m3|e5m2)(fn|fnuz|b11fnuz)?", key):
            key = "fp8"
        if key in ITEMSIZE:
            return key
    raise ValueError(
        f"{name}={dtype!r} is not known; use one of {', '.join(ITEMSIZE)}{_suggest_dtypes(dtype)}"
    )


def pick_16_bit(peaks, otherwise=None):
    """Choose the 16-bit dtype that has a peak, bf16 before fp16, or else ``otherwise``."""
    return next((dtype for dtype in ("bf16", "fp16") if dtype in peaks), otherwise)


def _suggest_dtypes(dtype):
    if not isinstance(dtype, str):
        return ""
    import difflib  # imported only for an error, so ``import roofkit`` stays quick

    close = difflib.get_close_matches(
        dtype.casefold(), [*ITEMSIZE, *DTYPE_SPELLINGS], n=3, cutoff=0.5
    )
    names = dict.fromkeys(DTYPE_SPELLINGS.get(each, each) for each in close)
    return f"; nearest: {', '.join(names)}" if names else ""


def is_symbolic(value):
    """True for a SymPy expression, without importing SymPy."""
    return hasattr(value, "free_symbols")


def check_number(value, name, minimum=0.0, above=True, finite=True):
    """Return the value as a Python number, a float64 array, or an unchanged SymPy expression.

    Integer arrays become float64, because a product of sizes overflows int64 silently.
    Raises ValueError naming the argument and the value.
    """
    if (type(value) is int or type(value) is float) and (
        minimum < value <= LARGEST_FLOAT or (value == minimum and not above)
    ):
        return value
    if is_symbolic(value) and not getattr(value, "is_number", False):
        return value
    array = _as_float_array(value, name)
    # The two reductions need no temporary array, and a NaN fails every comparison.
    if array.size:
        least, most = array.min(), array.max()
        good = (least > minimum or (least == minimum and not above)) and (
            most < math.inf or not finite
        )
        if not good:
            _raise_out_of_range(array, name, minimum, above, finite)
    if array.ndim:
        return array
    # Whole numbers of NumPy and SymPy stay exact.
    return int(value) if _is_integer(value) else float(array)


def check_whole(value, name, minimum=1):
    """Check with ``check_number`` that the value is valid, and that it is a whole number too."""
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
    # NumPy would read True as 1, "3" as 3 and None as NaN, drop an imaginary part and a mask.
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
    """Check sizes together: each finite and above zero, all shapes broadcastable.

    Returns the checked values in the order given.
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
            f"shapes do not broadcast: {listed}; insert axes with array[:, None] so that each "
            "pair of lengths is equal or 1"
        ) from None
