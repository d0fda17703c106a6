"""Reads the values in a student process's reply, from a few kinds of plain data only.

``roofgrade.sandbox.inside.plain_values`` writes them. Nothing in a reply is ever executed. A
function is represented by its results for the probe's calls.
"""

import inspect
import re
from decimal import Decimal, InvalidOperation

import numpy as np

import roofkit as rk
from roofgrade.common.errors import ProcessEndedError
from roofgrade.common.sentences import replace_surrogates, sentence
from roofkit.hardware import Figure
from roofkit.roofline import Cost, Estimate, Roofline

LONGEST_TEXT = 2_000
MOST_ITEMS = 1_000
DEEPEST = 6
# The maximum number of digits of an integer. Longer integers overflow a float.
MOST_DIGITS = 400
OBJECTS = {"Cost": Cost, "Roofline": Roofline, "Estimate": Estimate}


class UnknownValue:
    """A value of an unknown type. Its subclasses are named after those types."""

    def __init__(self, text="", items=None, symbols=(), substitute=None):
        self._text = text
        if items is not None:
            self._items = items
        if symbols:
            self.free_symbols, self.subs = symbols, substitute

    def __repr__(self):
        return self._text

    def __iter__(self):
        try:
            return iter(self._items)
        except AttributeError:
            raise TypeError(f"{type(self).__name__!r} object is not iterable") from None


class ReplayedFunction:
    """Replays the results of the student's function for the same calls in the same order."""

    def __init__(self, replies=(), names=()):
        self._results = [
            read_error(reply) if read_kind(reply) == "raised" else read_value(reply)
            for reply in replies
        ]
        self._next = 0
        proper = all(name.isidentifier() for name in names) and len(set(names)) == len(names)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind) for name in names if proper]
        self.__signature__ = inspect.Signature(parameters)

    def __call__(self, *arguments):
        # The sandbox has already retried failed calls with arrays: a retry repeats the same call.
        is_retry = any(isinstance(argument, np.ndarray) for argument in arguments)
        place = self._next - is_retry
        self._next = place + 1
        result = self._results[place] if 0 <= place < len(self._results) else None
        if isinstance(result, Exception):
            raise result
        return result


def make_nonsense_error():
    return ProcessEndedError(sentence("sandbox.nonsense"))


def read_kind(reply):
    return reply.get("t") if isinstance(reply, dict) else None


def to_one_line(text, most=400):
    """Return text as one line of at most ``most`` characters, or "" if it is not text."""
    return " ".join(replace_surrogates(text if isinstance(text, str) else "").split())[:most]


def read_type_name(reply, default):
    return re.sub(r"\W", "", to_one_line(reply.get("name")))[:80] or default


def read_error(reply):
    """Return the error in a reply, as an exception of a new type with the name in the reply."""
    error_type = type(read_type_name(reply, "Exception"), (Exception,), {})
    return error_type(to_one_line(reply.get("text")))


def read_value(reply, replay=None, depth=0):
    """Return a reply's value, or ``replay`` for a function. Raises ProcessEndedError if invalid."""
    try:
        return _read_value(reply, replay, depth)
    except (TypeError, ValueError, KeyError, OverflowError, InvalidOperation, AttributeError):
        raise make_nonsense_error() from None


def _read_value(reply, replay, depth):
    kind, value = read_kind(reply), reply.get("v") if isinstance(reply, dict) else None
    if depth > DEEPEST:
        raise make_nonsense_error()
    match kind, value:
        case "none", _:
            return None
        case "ellipsis", _:
            return ...
        case "bool", bool():
            return value
        case "str", str():
            return replace_surrogates(value[:LONGEST_TEXT])
        case "bytes", _:
            return b""
        case (("int" | "integer"), str()) if re.fullmatch(rf"-?\d{{1,{MOST_DIGITS}}}", value):
            number = int(value)
            return np.int64(number) if kind == "integer" and abs(number) < 1 << 63 else number
        case "num", int() | float():
            return float(value)
        case (("float16" | "float32"), int() | float()):
            with np.errstate(over="ignore"):
                return getattr(np, kind)(value)
        case "decimal", str() if len(value) <= 80:
            return Decimal(value)
        case "figure", int() | float():
            return Figure(value, to_one_line(reply["unit"], 20), source="the student's")
        case "chip", _:
            return rk.chip(to_one_line(reply["name"], 80))
        case (("Cost" | "Roofline" | "Estimate"), dict()):
            fields = {name: read_value(field, None, depth + 1) for name, field in value.items()}
            return OBJECTS[kind](**fields)
        case "scalar", dict():
            return np.array(read_value(value, None, depth + 1))
        case "dict", list():
            keys = [to_hashable(read_value(key, None, depth + 1)) for key, _ in value]
            items = [read_value(item, None, depth + 1) for _, item in value]
            return dict(zip(keys, items, strict=True))
        case "callable", _:
            return replay or ReplayedFunction()
        case "symbolic", _:
            symbols = [to_one_line(name, 80) for name in reply["symbols"][:MOST_ITEMS]]
            return _make_unknown(reply, symbols=symbols, substitute=replay)
        case "iterable", list():
            return _make_unknown(reply, items=_read_items(value, depth))
        case "other", _:
            return _make_unknown(reply)
        case (("list" | "tuple" | "set" | "array"), list()):
            return _make_collection(kind, _read_items(value, depth))
    raise make_nonsense_error()


def _read_items(replies, depth):
    if len(replies) > MOST_ITEMS:
        raise make_nonsense_error()
    return [read_value(reply, None, depth + 1) for reply in replies]


def to_hashable(value):
    return value if isinstance(value, (str, int, float)) else repr(value)


def _make_collection(kind, items):
    if kind == "list":
        return items
    if kind == "tuple":
        return tuple(items)
    if kind == "set":
        return set(map(to_hashable, items))
    array = np.empty(len(items), dtype=object)
    array[:] = items
    try:
        return np.array(items)
    except ValueError:  # The rows have unequal lengths.
        return array


def _make_unknown(reply, **settings):
    name = read_type_name(reply, "object")
    return type(name, (UnknownValue,), {})(to_one_line(reply.get("text")), **settings)
