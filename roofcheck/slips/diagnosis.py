"""Compose the message for a wrong answer from the slips that explain its value.

A value doesn't show what the student did. If one slip explains it, the message names that slip. If
several do, it lists them or, if the list would be long, the places to look at. Many mistakes lead
to a plain factor such as 2 or 10, so the message then names the factor and possible reasons.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from roofcheck.reading.agreement import SAME_RTOL, are_equal
from roofcheck.sentences import Sentence, describe_direction, sentence
from roofcheck.steps.computation import SlipValue

LONGEST_MESSAGE = 200
# Many different mistakes lead to these factors.
PLAIN_FACTORS = (1, 2, 4, 8, 10, 100)
# A message names these factors, if they are between an answer and the right value.
NAMED_FACTORS = (*PLAIN_FACTORS, 16, 1e3, 1e6, 1e9, 1e12, 2**30 / 1e9, 2**40 / 1e12)


@dataclass(frozen=True)
class Diagnosis:
    """The names of the slips that explain an answer, the message, and the remaining credit.

    ``is_vague``: only rare slips give the value, or several changes of the arithmetic.
    """

    names: tuple[str, ...]
    message: str
    credit: float = 0.0
    is_vague: bool = False


def diagnose_slips(
    fitting: Sequence[SlipValue],
    right: Sequence[float],
    figures: Sequence[float] = (),
    is_sure: bool = True,
) -> Diagnosis:
    """Return one Diagnosis covering every slip that matches, with the highest credit.

    ``fitting`` starts with the most likely slip; ``figures`` are the values the question states.
    Rare slips, which match an answer by chance now and then, are not ``is_sure``.
    """
    by_sentence = {str(slip.says): slip for slip in reversed(fitting)}
    fitting = list(by_sentence.values())[::-1]
    names = tuple(" and ".join(slip.names) for slip in fitting)
    message = _factor_message(fitting, right) or _diagnosis_message(fitting, right, figures)
    is_vague = not is_sure or (len(fitting) > 1 and all(slip.is_generic for slip in fitting))
    return Diagnosis(names, message, max(slip.credit for slip in fitting), is_vague)


def _factor_message(fitting, right):
    """Return a message that names the plain factor of an answer and where it could come from.

    It is empty for another factor, and if the question's table has a sentence for the value.
    """
    ratio = fitting[0].column[0] / right[0] if right[0] else 0.0
    same = are_equal(fitting[0].column, [ratio * value for value in right])
    if not (same and all(map(_is_guess, fitting)) and is_plain_factor(ratio, 1.0, NAMED_FACTORS)):
        return ""
    words = {"way": describe_direction(ratio), "factor": f"{max(ratio, 1 / ratio):.3g}"}
    that = sentence("slip.that")
    known = [str(slip.says).removeprefix(that) for slip in fitting if not slip.is_generic]
    clauses = [*dict.fromkeys(map(_first_clause, known))]
    messages = [sentence("slip.factor-because", reason=known[0], **words)] if known else []
    if len(clauses) > 1:
        messages = [sentence("slip.factor-because", reason=f"{_join_ways(clauses)}.", **words)]
    places = "; ".join(dict.fromkeys(str(slip.where) for slip in fitting))
    messages.append(sentence("slip.factor-places", places=places, **words))
    return first_that_fits(messages)


def _is_guess(slip):
    """Return whether a slip's sentence is a rule's and says what the student did.

    A sentence of the table, or one that a value is an input or a step, is true in any case.
    """
    is_rule = isinstance(slip.says, Sentence) and bool(slip.where)
    return is_rule and (slip.is_generic or not slip.says.key.startswith("act."))


def _diagnosis_message(fitting, right, figures):
    # If a matching slip has its own sentence in the table, hide slips with generic sentences.
    special = [slip for slip in fitting if not slip.is_generic]
    hidden, fitting = bool(special) and len(special) < len(fitting), special or fitting
    sentences = [str(slip.says) for slip in fitting]
    if len(fitting) == 1:
        slip = fitting[0]
        ambiguous = slip.ambiguous or _is_off_by_a_plain_factor(slip.column, right, figures)
        if hidden or (slip.is_certain and ambiguous):
            texts = sentences[0], f"{_first_clause(sentences[0])}."
            return first_that_fits([sentence("slip.or-another", slip=text) for text in texts])
        return _shorten(slip.says)
    condition = sentence("slip.if")
    clauses = [_first_clause(text).removeprefix(condition) for text in sentences]
    openings = [*dict.fromkeys(clause[:1].lower() + clause[1:] for clause in clauses)]
    if len(openings) == 1:
        return f"{_first_clause(sentences[0])}."
    ways = _join_ways(openings)
    places = "; ".join(dict.fromkeys(str(slip.where) for slip in fitting if slip.where))
    messages = [sentence("slip.either", ways=ways)]
    messages += [sentence("slip.places", places=places)] if places else []
    return first_that_fits([*messages, sentence("slip.many")])


def _shorten(says):
    """Return a slip's sentence; if it is too long and covers two slips, shorten the first."""
    fields = getattr(says, "fields", {})
    if len(str(says)) <= LONGEST_MESSAGE or "first" not in fields:
        return str(says)
    short = {name: f"{_first_clause(str(fields[name]))}." for name in ("first", "second")}
    return str(Sentence(says.key, **fields | short))


def first_that_fits(messages: Sequence[str], most: int = LONGEST_MESSAGE) -> str:
    """Return the first of several messages that is short enough, or else the last."""
    return next((text for text in messages if len(text) <= most), messages[-1])


def is_plain_factor(value: float, other: float, plain: Sequence[float] = PLAIN_FACTORS) -> bool:
    """Return whether the ratio of the two is one of the plain factors, or 1 over one of them."""
    ratio = value / other if other else 0.0
    factors = (*plain, *(1 / factor for factor in plain))
    return any(math.isclose(ratio, factor, rel_tol=SAME_RTOL) for factor in factors)


def _is_off_by_a_plain_factor(column, right, figures):
    bases = (right, *((figure,) * len(column) for figure in figures))
    return any(all(map(is_plain_factor, column, base)) for base in bases)


def _join_ways(openings):
    *before, last = openings
    return sentence("list.ways", before="; ".join(before), last=last)


def first_sentence(message: str) -> str:
    """Return the first sentence of a message."""
    return re.split(r"(?<=[.?])\s", message, maxsplit=1)[0]


def _first_clause(text):
    return re.split(r"[.:;?]\s", text, maxsplit=1)[0].rstrip(".:?")
