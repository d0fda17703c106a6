"""What students write who get one step wrong: for each question, code for each of its slips."""

import functools
from itertools import pairwise

from roofkit.check.kinds import Choice, Function, Number, Order, Several
from roofkit.check.table import find_question
from roofkit.check.variants import variant


@functools.cache
def mistakes(question_id, seed, me):
    """The slips of a question, each as (the code of an answer, the answer itself)."""
    question = find_question(question_id).with_cases(seed)
    if question_id.endswith(".mine"):
        question = variant(question_id, me)
    for kind, written in WRITTEN.items():
        if isinstance(question, kind):
            return list(written(question))
    raise TypeError(f"{question_id}: no way to write wrong answers of its kind")


def _numbers(question):
    for slip in question.known.singles:
        yield _literal(slip.column[0])


def _several(question):
    columns = [[slip.column[0] for slip in part.known.singles] for part in question.parts.values()]
    yield from map(_literal, _all_wrong_at_once(columns))


def _functions(question):
    columns = [[slip.column for slip in known.singles] for known in question.known.values()]
    for wrong in _all_wrong_at_once(columns):
        results = wrong[0] if len(wrong) == 1 else zip(*wrong, strict=True)
        values = dict(zip(question.cases, results, strict=True))
        yield f"lambda *case: {values!r}[case]", functools.partial(_looked_up, values)


def _all_wrong_at_once(columns):
    """Each part wrong in each of its own ways, in as few answers as the longest list has."""
    for number in range(max(map(len, columns))):
        yield [column[number % len(column)] for column in columns]


def _looked_up(values, *case):
    return values[case]


def _choices(question):
    for option in question.why_not:
        if option != question.reference():
            yield _literal(option)


def _orders(question):
    right = list(question.reference())
    orders = [sorted(question.items, key=key) for key, _ in question.wrong.values()]
    orders += [right[::-1], *(_exchanged(right, *pair) for pair in question.needs)]
    orders += [_exchanged(right, *pair) for pair in pairwise(right)]
    for order in orders:
        yield _literal(order)


def _literal(value):
    return repr(value), value


def _exchanged(items, one, other):
    swapped = {one: other, other: one}
    return [swapped.get(item, item) for item in items]


WRITTEN = {
    Number: _numbers,
    Several: _several,
    Function: _functions,
    Choice: _choices,
    Order: _orders,
}
