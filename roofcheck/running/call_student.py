"""Call a student's function with numbers or, if that fails, with arrays of length one."""

import inspect
import re

import numpy as np

from roofcheck.sentences import sentence

# The maximum length of an error text in a message.
LONGEST_QUOTE = 80
# Python's terms in error texts, mapped to words that students know.
PYTHON_TERMS = {
    r"(\w+\.)*<locals>\.": "",
    "<lambda>": "lambda",
    "builtin_function_or_method": "function",
    r"\bRecordingPad\.": "pad.",
    r"\bRecordingFabric\.": "fabric.",
    r"^\(\d+, '(.*)'\)$": r"\1",
}


def call_function(function, case):
    """Call ``function`` with the arguments of ``case``. Raises whatever the function raises."""
    try:
        return function(*case)
    except (Exception, SystemExit) as error:
        try:
            result = function(*(np.array([value]) for value in case))
        except (Exception, SystemExit):
            raise error from None
        values = result if isinstance(result, (tuple, list)) else (result,)
        if not any(isinstance(value, np.ndarray) for value in values):
            raise error from None
        return result


def argument_names(function, count):
    """Return the names of a function's ``count`` arguments, or numbers if the count differs."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    if len(names) == count:
        return names
    return [sentence("function.argument", number=number + 1) for number in range(count)]


def error_message(error, longest=LONGEST_QUOTE):
    """Return an error's text as one short line.

    >>> error_message(OverflowError(34, "Numerical result out of range"))
    'Numerical result out of range'
    """
    # The ``__str__`` of a student's own exception class may itself fail.
    try:
        text = " ".join(f"{error}"[: 10 * longest].split())
    except Exception:
        return "…"
    for pattern, words in PYTHON_TERMS.items():
        text = re.sub(pattern, words, text)
    return text.rstrip(".") if len(text) <= longest else f"{text[:longest]} …"


def error_text(error, longest=LONGEST_QUOTE):
    """Return an error's type and text.

    >>> error_text(ValueError("no"))
    'ValueError: no'
    """
    return ": ".join(
        filter(None, [type(error).__name__[:LONGEST_QUOTE], error_message(error, longest)])
    )
