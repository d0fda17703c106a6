"""How a student's function is called: as it is or, if it wants arrays, with arrays of one."""

import inspect

import numpy as np

from roofcheck.sentences import say


def call(function, case):
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
        else [say("function.argument", number=number + 1) for number in range(many)]
    )
