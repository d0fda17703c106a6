"""What a student's process replied, read with care: a few kinds of plain data, and nothing else.

``roofgrade.sandbox.inside.answers`` is the other half. Whatever a reply claims to be, nothing
of it is run: a function is what it gave on the calls that it was asked for.
"""

import inspect
import re
from decimal import Decimal, InvalidOperation

import numpy as np

import roofkit as rk
from roofgrade.common.errors import EndedError
from roofgrade.common.sentences import printable, words
from roofkit.hardware import Figure
from roofkit.roofline import Cost, Estimate, Roofline

LONGEST_TEXT = 2_000
MOST_ITEMS = 1_000
DEEPEST = 6
# The most digits of a whole number; longer ones overflow every float.
WIDEST = 400
OBJECTS = {"Cost": Cost, "Roofline": Roofline, "Estimate": Estimate}


class Stand:
    """Stands for a value of a type that is not known here; goes by the name of that type."""

    def __init__(self, text="", items=None, symbols=(), at=None):
        self._text = text
        if items is not None:
            self._items = items
        if symbols:
            self.free_symbols, self.subs = symbols, at

    def __repr__(self):
        return self._text

    def __iter__(self):
        try:
            return iter(self._items)
        except AttributeError:
            raise TypeError(f"{type(self).__name__!r} object is not iterable") from None


class Replay:
    """A function that gives what the student's gave on the same calls, in the same order."""

    def __init__(self, replies=(), names=()):
        self._found = [
            error_of(reply) if kind_of(reply) == "raised" else value_of(reply) for reply in replies
        ]
        self._next = 0
        proper = all(name.isidentifier() for name in names) and len(set(names)) == len(names)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind) for name in names if proper]
        )

    def __call__(self, *arguments):
        # A call that failed is tried again with arrays, which was done where the function ran.
        again = any(isinstance(argument, np.ndarray) for argument in arguments)
        place = self._next - again
        self._next = place + 1
        found = self._found[place] if 0 <= place < len(self._found) else None
        if isinstance(found, Exception):
            raise found
        return found


def nonsense():
    return EndedError(words("sandbox.nonsense"))


def kind_of(reply):
    return reply.get("t") if isinstance(reply, dict) else None


def line(text, most=400):
    """A text as one line that can be shown."""
    return " ".join(printable(text if isinstance(text, str) else "").split())[:most]


def named(reply, default):
    """The type's name that a reply gives."""
    return re.sub(r"\W", "", line(reply.get("name")))[:80] or default


def error_of(reply):
    """The error that a reply tells of, of a type of that name."""
    return type(named(reply, "Exception"), (Exception,), {})(line(reply.get("text")))


def value_of(reply, replay=None, depth=0):
    """The value that a reply stands for; a function is the ``replay``. EndedError for nonsense."""
    try:
        return _value(reply, replay, depth)
    except (TypeError, ValueError, KeyError, OverflowError, InvalidOperation, AttributeError):
        raise nonsense() from None


def _value(reply, replay, depth):
    kind, value = kind_of(reply), reply.get("v") if isinstance(reply, dict) else None
    if depth > DEEPEST:
        raise nonsense()
    match kind, value:
        case "none", _:
            return None
        case "ellipsis", _:
            return ...
        case "bool", bool():
            return value
        case "str", str():
            return printable(value[:LONGEST_TEXT])
        case "bytes", _:
            return b""
        case (("int" | "integer"), str()) if re.fullmatch(rf"-?\d{{1,{WIDEST}}}", value):
            whole = int(value)
            return np.int64(whole) if kind == "integer" and abs(whole) < 1 << 63 else whole
        case "num", int() | float():
            return float(value)
        case (("float16" | "float32"), int() | float()):
            with np.errstate(over="ignore"):
                return getattr(np, kind)(value)
        case "decimal", str() if len(value) <= 80:
            return Decimal(value)
        case "figure", int() | float():
            return Figure(value, line(reply["unit"], 20), source="the student's")
        case "chip", _:
            return rk.chip(line(reply["name"], 80))
        case (("Cost" | "Roofline" | "Estimate"), dict()):
            fields = {name: value_of(field, None, depth + 1) for name, field in value.items()}
            return OBJECTS[kind](**fields)
        case "scalar", dict():
            return np.array(value_of(value, None, depth + 1))
        case "dict", list():
            return {_key(key, depth): value_of(item, None, depth + 1) for key, item in value}
        case "callable", _:
            return replay or Replay()
        case "symbolic", _:
            symbols = [line(name, 80) for name in reply["symbols"][:MOST_ITEMS]]
            return _stand(reply, symbols=symbols, at=replay)
        case "iterable", list():
            return _stand(reply, items=_items(value, depth))
        case "other", _:
            return _stand(reply)
        case (("list" | "tuple" | "set" | "array"), list()):
            return _collection(kind, _items(value, depth))
    raise nonsense()


def _items(replies, depth):
    if len(replies) > MOST_ITEMS:
        raise nonsense()
    return [value_of(reply, None, depth + 1) for reply in replies]


def _key(reply, depth):
    key = value_of(reply, None, depth + 1)
    return key if isinstance(key, (str, int, float)) else repr(key)


def _collection(kind, items):
    if kind == "list":
        return items
    if kind == "tuple":
        return tuple(items)
    if kind == "set":
        return {item if isinstance(item, (str, int, float)) else repr(item) for item in items}
    array = np.empty(len(items), dtype=object)
    array[:] = items
    try:
        return np.array(items)
    except ValueError:  # rows of unequal length
        return array


def _stand(reply, **settings):
    name = named(reply, "object")
    return type(name, (Stand,), {})(line(reply.get("text")), **settings)
