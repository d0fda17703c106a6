"""How a student's function is called: as it is or, if it wants arrays, with arrays of one."""

import inspect
import re

import numpy as np

from roofcheck.sentences import sentence

# So many characters of an error's text are quoted.
LONGEST_QUOTE = 80
# What Python calls things in an error's text, and what a student calls them.
PYTHON_TERMS = {
    r"(\w+\.)*<locals>\.": "",
    "<lambda>": "lambda",
    "builtin_function_or_method": "function",
    r"^\(\d+, '(.*)'\)$": r"\1",
}


def call_function(function, case):
    """What ``function`` gives for the arguments of ``case``; raises what it raises."""
    try:
        return function(*case)
    except (Exception, SystemExit) as error:
        try:
            found = function(*(np.array([value]) for value in case))
        except (Exception, SystemExit):
            raise error from None
        several = found if isinstance(found, (tuple, list)) else (found,)
        if not any(isinstance(value, np.ndarray) for value in several):
            raise error from None
        return found


def argument_names(function, many):
    """The names of a function's arguments, if it has so ``many``; numbers else."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return (
        names
        if len(names) == many
        else [sentence("function.argument", number=number + 1) for number in range(many)]
    )


def error_message(error):
    """An error's text, in one line and shortened.

    >>> error_message(OverflowError(34, "Numerical result out of range"))
    'Numerical result out of range'
    """
    # The error may be of the student's making, and so its text.
    try:
        text = " ".join(f"{error}"[: 10 * LONGEST_QUOTE].split())
    except Exception:
        return "…"
    for pattern, words in PYTHON_TERMS.items():
        text = re.sub(pattern, words, text)
    return text.rstrip(".") if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]} …"


def error_text(error):
    """An error as its type and text.

    >>> error_text(ValueError("no"))
    'ValueError: no'
    """
    return ": ".join(filter(None, [type(error).__name__[:LONGEST_QUOTE], error_message(error)]))
