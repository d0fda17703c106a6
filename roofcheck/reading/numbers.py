"""Read any answer as a number: its value and its significant digits."""

import math
import re
from collections.abc import Iterable, Mapping, Sized
from decimal import Decimal
from itertools import islice

import numpy as np

from roofcheck.reading import amounts, units
from roofcheck.reading.number_texts import ALL_DIGITS, GivenNumber, UnreadableError, read_text
from roofcheck.sentences import join_items, sentence
from roofkit import hardware
from roofkit.roofline import Cost, Estimate, Roofline

# No question has this many parts, so any further items of an answer are ignored.
MOST_ITEMS = 1000
# An answer may be a roofkit object. Its type and the question's dimension determine which attribute
# is read. For an Estimate, the question's ``figure`` names the attribute.
ANSWERING_ATTRIBUTES = {
    (Cost, "intensity"): "intensity", (Cost, "work"): "flops", (Cost, "data"): "bytes",
    (Roofline, "intensity"): "ridge", (Roofline, "bandwidth"): "bandwidth",
}  # fmt: skip
# The attributes that a message suggests if none of them is clearly the answer.
ATTRIBUTES = {
    Estimate: (".lower", ".upper", ".math", ".comms"), Cost: (".flops", ".bytes", ".intensity"),
    Roofline: (".ridge", ".peak_flops", ".bandwidth"),
    hardware.Chip: ('.peak_flops("bf16")', ".bandwidth"),
}  # fmt: skip


def is_missing(answer):
    return answer is None or answer is ...


def describe_missing_answer(answer):
    return sentence("missing.fill-in" if answer is ... else "missing.none")


def describe_type(answer):
    """Return the name of an answer's type, for use in a sentence."""
    if isinstance(answer, (bool, np.bool_)):
        return sentence("kind.boolean")
    if callable(answer):
        return sentence("kind.function")
    return sentence("kind.other", name=type(answer).__name__)


def read_number(answer, unit="", figure=""):
    """Read any answer that is one real number as a GivenNumber in the question's unit.

    ``figure`` names the attribute to read from an Estimate. Raises UnreadableError.
    """
    if is_missing(answer):
        raise UnreadableError(describe_missing_answer(answer), missing=True)
    if isinstance(answer, str):
        return read_text(answer, unit)
    if isinstance(answer, (Cost, Roofline, Estimate, hardware.Chip)):
        return _read_roofkit_object(answer, unit, figure)
    if isinstance(answer, hardware.Figure) and answer.unit != unit:
        # A value of another quantity keeps its number, so that its slip can be found.
        return GivenNumber(float(answer) * (amounts.conversion_factor(answer.unit, unit) or 1.0))
    answer = _unwrap_single(answer)
    if isinstance(answer, str):
        return read_text(answer, unit)
    if isinstance(answer, (bool, np.bool_, bytes)) or callable(answer):
        raise UnreadableError(sentence("unread.not-a-number", kind=describe_type(answer)))
    try:
        # float() reads ints, NumPy scalars, Fractions, Decimals and SymPy numbers alike.
        value = float(answer)
    except OverflowError:
        raise UnreadableError(sentence("unread.too-large")) from None
    except (TypeError, ValueError):
        raise UnreadableError(sentence("unread.not-a-number", kind=describe_type(answer))) from None
    if math.isnan(value):
        raise UnreadableError(sentence("unread.nan"))
    return GivenNumber(value, _count_digits(answer, value))


def _unwrap_single(answer):
    for _ in range(3):
        items = list_items(answer, 2)
        if len(items) != 1:
            count = len(answer) if isinstance(answer, Sized) else sentence("unread.more-than-one")
            kind = describe_type(answer)
            raise UnreadableError(sentence("unread.several", kind=kind, count=count))
        if items[0] is answer:
            break
        answer = items[0]
        if is_missing(answer):
            raise UnreadableError(sentence("missing.fill-in"), missing=True)
    return answer


def _count_digits(answer, value):
    """Count the significant digits needed to write the number."""
    if isinstance(answer, Decimal):
        text = str(answer.normalize())
    elif isinstance(answer, (int, np.integer)) and abs(answer) < 10**ALL_DIGITS:
        text = str(int(answer))
    elif isinstance(answer, np.floating):
        text = str(answer.astype(np.float64) if answer.itemsize == 8 else answer)
    else:
        text = repr(value)
    mantissa = re.split("[eE]", text)[0].replace(".", "").lstrip("-0").rstrip("0")
    # The zeros of 200 may be significant; those of 0.002 are not.
    return max(len(mantissa), 2 if abs(value) >= 10 else 1)


def _read_roofkit_object(answer, unit, figure):
    dimension = units.DIMENSIONS[unit]
    if isinstance(answer, Estimate) and figure and dimension == "time":
        return GivenNumber(float(getattr(answer, figure)) / amounts.conversion_factor(unit, "s"))
    for (kind, measures), attribute in ANSWERING_ATTRIBUTES.items():
        if isinstance(answer, kind) and measures == dimension:
            return GivenNumber(float(getattr(answer, attribute)))
    names = next(names for kind, names in ATTRIBUTES.items() if isinstance(answer, kind))
    fields = {"kind": describe_type(answer), "figures": join_items(names, "or")}
    raise UnreadableError(sentence("unread.object", unit=units.format_unit(unit), **fields))


def list_items(answer, most):
    """Return the items of a collection; anything else becomes a tuple of one item.

    At most ``most`` items are read from an iterator, because it may be endless.
    """
    if isinstance(answer, Mapping):
        answer = answer.values()
    if isinstance(answer, Estimate):
        return (answer.lower, answer.upper)
    if not _holds_several(answer):
        return (answer,)
    count = min(len(answer), MOST_ITEMS) if isinstance(answer, Sized) else most
    return tuple(islice(answer, count))


def _holds_several(answer):
    """Return whether an answer is an ordered collection, such as a list, array or generator."""
    if isinstance(answer, (str, bytes, set, frozenset)) or callable(answer):
        return False
    return answer.ndim > 0 if isinstance(answer, np.ndarray) else isinstance(answer, Iterable)
