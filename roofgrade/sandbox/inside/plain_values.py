"""Converts the value of a student's variable, or a function's results, to plain JSON data.

The student's code runs in the same process and may have replaced anything here. Therefore
``roofgrade.judge.reply_values`` does not trust the data. Forging it requires knowing the answer.
"""

import base64
import contextlib
import io
import pickle
import warnings
from collections.abc import Mapping
from decimal import Decimal
from itertools import islice

import numpy as np

from roofcheck.running.call_student import argument_names, call_function
from roofgrade.sandbox.inside.sentences import sentence
from roofkit.hardware import Chip, Figure
from roofkit.roofline import Cost, Estimate, Roofline

LONGEST_TEXT = 2_000
MOST_ITEMS = 1_000
DEEPEST = 3
# The maximum number of bits of an integer. Longer integers overflow a float.
MOST_BITS = 1_024
FIELDS = {
    Cost: ("flops", "bytes"),
    Roofline: ("peak_flops", "bandwidth", "channel"),
    Estimate: ("math", "comms", "channel", "other_times"),
}


def answer_probe(namespace, probe):
    """Return the reply to a probe: the expression's value and its results for the calls."""
    remarks = _Remarks()
    value = _call_safely(lambda: eval(probe["expression"], namespace), remarks)
    reply = {"value": _to_plain_safely(value)}
    if probe.get("me"):
        me = _call_safely(lambda: eval(probe["me"], namespace), _Remarks())
        reply["me"] = _to_plain_safely(me)
    if probe.get("calls") and not isinstance(value, _Raised):
        # These come from the grader, and student code has not touched them.
        calls = pickle.loads(base64.b64decode(probe["calls"]))
        reply["calls"] = CALLERS[probe["kind"]](value, calls, remarks)
        case = calls[0][0] if probe["kind"] == "formula" else calls[0]
        reply["names"] = _read_argument_names(value, case)
    return reply | {"said": remarks.text()[:LONGEST_TEXT]}


def to_plain(value, depth=0):
    """Return a value as plain data of kind ``t``. For an unknown type, that is its name."""
    name = type(value).__name__[:80]
    if value is None or value is ...:
        return {"t": "none" if value is None else "ellipsis"}
    if isinstance(value, (bool, np.bool_)):
        return {"t": "bool", "v": bool(value)}
    if isinstance(value, str):
        return {"t": "str", "v": str(value)[:LONGEST_TEXT]}
    if isinstance(value, bytes):
        return {"t": "bytes"}
    if isinstance(value, Figure):
        return {"t": "figure", "v": float(value), "unit": value.unit}
    if isinstance(value, Chip):
        return {"t": "chip", "name": value.name}
    if type(value) in FIELDS:
        fields = {field: to_plain(getattr(value, field), 1) for field in FIELDS[type(value)]}
        is_plain = not any(field["t"] == "other" for field in fields.values())
        return {"t": name, "v": fields} if is_plain else {"t": "other", "name": name, "text": ""}
    if isinstance(value, (int, np.integer)) and int(value).bit_length() <= MOST_BITS:
        return {"t": "int" if type(value) is int else "integer", "v": str(int(value))}
    if isinstance(value, (np.float16, np.float32)):
        return {"t": name, "v": float(value)}
    if isinstance(value, Decimal):
        return {"t": "decimal", "v": str(value)[:80]}
    if isinstance(value, np.ndarray) and not value.ndim:
        return {"t": "scalar", "v": to_plain(value.item(), depth)}
    if isinstance(value, (list, tuple, np.ndarray, set, frozenset, Mapping)):
        return _collection_to_plain(value, depth)
    if symbols := getattr(value, "free_symbols", None):
        return {"t": "symbolic", "name": name, "symbols": sorted(map(str, symbols))[:MOST_ITEMS]}
    if callable(value):
        return {"t": "callable", "name": name}
    try:
        return {"t": "num", "v": float(value)}
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        items = list(islice(value, MOST_ITEMS))
    except TypeError:
        return {"t": "other", "name": name, "text": str(value)[:200]}
    return {"t": "iterable", "name": name, "v": [to_plain(item, DEEPEST) for item in items]}


def _collection_to_plain(value, depth):
    name = type(value).__name__[:80]
    if depth >= DEEPEST or len(value) > MOST_ITEMS:
        return {"t": "other", "name": name, "text": sentence("too_deep")}
    if isinstance(value, Mapping):
        pairs = [[to_plain(key, DEEPEST), to_plain(item, depth + 1)] for key, item in value.items()]
        return {"t": "dict", "v": pairs}
    kinds = {np.ndarray: "array", tuple: "tuple", list: "list"}
    kind = next((kind for type_, kind in kinds.items() if isinstance(value, type_)), "set")
    return {"t": kind, "v": [to_plain(item, depth + 1) for item in value]}


class _Raised:
    """The error that was raised instead of returning a value."""

    def __init__(self, error):
        self.name = type(error).__name__[:80]
        try:
            self.text = f"{error}"[:LONGEST_TEXT]
        except Exception:
            self.text = "…"


class _Remarks:
    """The first warning in all calls, and the last line that they printed to stderr."""

    def __init__(self):
        self.warned, self.printed = [], []

    def text(self):
        return "; ".join([*self.warned[:1], *self.printed[-1:]])


def _to_plain_safely(value):
    try:
        if isinstance(value, _Raised):
            return {"t": "raised", "name": value.name, "text": value.text}
        return to_plain(value)
    except Exception as error:
        return _to_plain_safely(_Raised(error))


def _call_safely(function, remarks):
    """Return a call's result or a _Raised, and add its warnings and stderr to ``remarks``."""
    stderr = io.StringIO()
    try:
        with (
            contextlib.redirect_stderr(stderr),
            contextlib.redirect_stdout(io.StringIO()),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            result = function()
    except (Exception, SystemExit) as error:
        return _Raised(error)
    remarks.warned += [f"{item.category.__name__}: {item.message}" for item in caught[:1]]
    remarks.printed += stderr.getvalue().strip().splitlines()[-1:]
    return result


def _call_function(value, cases, remarks):
    if not callable(value):
        return None
    # Evaluated lazily, so that each result is read before the next call can change it.
    results = (_call_safely(lambda c=case: call_function(value, c), remarks) for case in cases)
    return [*map(_to_plain_safely, results)]


def _evaluate_formula(value, cases, remarks):
    symbols = {str(symbol): symbol for symbol in getattr(value, "free_symbols", None) or ()}
    if not symbols:
        return _call_function(value, [arguments for arguments, _ in cases], remarks)

    def substitute(values):
        return value.subs({symbols[name]: values[name] for name in values if name in symbols})

    results = (_call_safely(lambda v=values: substitute(v), remarks) for _, values in cases)
    return [*map(_to_plain_safely, results)]


def _record_programs(value, cases, remarks):
    if not callable(value):
        return None
    programs = []
    for case in cases:
        programs.append(_call_safely(lambda case=case: case.record(value), remarks))
        if not isinstance(programs[-1], list):
            break
    return [program if isinstance(program, (list, str)) else None for program in programs]


def _read_argument_names(value, case):
    try:
        return [name[:80] for name in argument_names(value, len(case))]
    except Exception:
        return []


CALLERS = {"function": _call_function, "formula": _evaluate_formula, "puzzle": _record_programs}
