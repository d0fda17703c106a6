"""What students write who get one step wrong: for each question, code for each of its slips.

Results off by a factor, alike in all questions: see tests/roofcheck/test_every_question.py.
"""

import functools
import inspect
from itertools import pairwise

import schedules

from roofcheck.kinds import Choice, Forecast, Function, Number, Order, Puzzle, Several
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import find_variant


@functools.cache
def mistakes(question_id, me, *seeds):
    """The slips of a question, each as (the code of an answer, the answer itself).

    A function has its slip at home, and where it counts under one of the ``seeds``.
    """
    question = find_question(question_id)
    if question_id.endswith(".mine"):
        question = find_variant(question_id, me)
    for kind, written in WRITTEN.items():
        if isinstance(question, kind):
            return list(written(question, seeds))
    kind = type(question).__name__
    raise TypeError(f"{question_id}: WRITTEN has no way to write wrong answers of a {kind}")


def _numbers(question, seeds):
    for slip in question.known_slips.steps:
        yield _literal(slip.column[0])


def _several(question, seeds):
    columns = [
        [slip.column[0] for slip in part.known_slips.steps] or [part.reference()]
        for part in question.parts.values()
    ]
    yield from map(_literal, _all_wrong_at_once(columns))


def _functions(question, seeds):
    """Code and values of functions with a slip: each is a table of what it returns."""
    where = (question, *map(question.with_case_seed, seeds))
    columns = [
        [[_named(slip.names, each.known_slips[name]) for each in where] for slip in known.steps]
        for name, known in question.known_slips.items()
    ]
    for wrong in _all_wrong_at_once(columns):
        values = {}
        for place, each in enumerate(where):
            results = [column[place] for column in wrong]
            results = results[0] if len(results) == 1 else zip(*results, strict=True)
            values |= dict(zip(each.cases, results, strict=True))
        yield f"lambda *case: {values!r}[case]", functools.partial(_looked_up, values)


def _named(names, known):
    """What the slip of these names gives, or the right result where the slip cannot be told."""
    return next((slip.column for slip in known.steps if slip.names == names), known.right)


def _all_wrong_at_once(columns):
    """Answers in which every part is wrong, until each part was wrong in all of its own ways."""
    for number in range(max(map(len, columns))):
        yield [column[number % len(column)] for column in columns]


def _looked_up(values, *case):
    return values[case]


def _choices(question, seeds):
    for option in question.why_not:
        if option != question.reference():
            yield _literal(option)


def _forecasts(question, seeds):
    for code in ("(1.0, 2.0, 3.0)", "(9e9, 1e9, 9e9)", "(2.0, 1e9, 9e9)"):
        yield f"lambda B, D, F: {code}", lambda B, D, F, code=code: eval(code)


def _orders(question, seeds):
    right = list(question.reference())
    orders = [sorted(question.items, key=key) for key, _ in question.wrong.values()]
    orders += [right[::-1], *(_exchanged(right, *pair) for pair in question.needs)]
    orders += [_exchanged(right, *pair) for pair in pairwise(right)]
    for order in orders:
        yield _literal(order)


def _puzzles(question, seeds):
    source = inspect.getsource(schedules)
    for name, code in (schedules.POOR | schedules.FAULTY).values():
        if find_question(name).asks == question.asks:
            there = f"(exec({source!r}, names := {{}}), names)[1]"
            yield f"eval({code!r}, {there})", eval(code, vars(schedules))


def _literal(value):
    return repr(value), value


def _exchanged(items, one, other):
    swapped = {one: other, other: one}
    return [swapped.get(item, item) for item in items]


WRITTEN = {
    Number: _numbers, Several: _several, Forecast: _forecasts, Function: _functions,
    Choice: _choices, Order: _orders, Puzzle: _puzzles,
}  # fmt: skip
