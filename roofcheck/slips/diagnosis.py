"""What to say of a wrong answer, once the slips that give its value are known.

A value shows no act. One slip is told as it is; of several, the check offers all of them or, where
that would be long, names the places where they lie. A value that is off by a plain factor comes
about in many ways, which is said beside the slip that gives it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from roofcheck.reading.agreement import SAME_RTOL
from roofcheck.sentences import Sentence, sentence
from roofcheck.steps.computation import SlipValue

# No message is longer.
LONGEST_MESSAGE = 200
# The factors that come about in many ways.
PLAIN_FACTORS = (1, 2, 4, 8, 10, 100)


@dataclass(frozen=True)
class Diagnosis:
    """What an answer says of its author: the slips that it agrees with, what to say of them."""

    names: tuple[str, ...]
    message: str
    credit: float = 0.0


def word_diagnosis(
    found: Sequence[SlipValue], right: Sequence[float], figures: Sequence[float] = ()
) -> Diagnosis:
    """One Diagnosis of all the slips that fit; in doubt the one that keeps most of the points.

    ``figures`` are those that the question gives, which may stand behind a value themselves.
    """
    # The likeliest come first, and what is said twice is said once.
    said = {str(candidate.says): candidate for candidate in reversed(found)}
    found = list(said.values())[::-1]
    names = tuple(" and ".join(candidate.names) for candidate in found)
    message = _diagnosis_message(found, right, figures)
    return Diagnosis(names, message, max(one.credit for one in found))


def _diagnosis_message(found, right, figures):
    # Beside a slip that a table has words for, those in general words are not listed.
    special = [one for one in found if not one.is_generic]
    hidden, found = bool(special) and len(special) < len(found), special or found
    sentences = [str(candidate.says) for candidate in found]
    if len(found) == 1:
        only = found[0]
        if hidden:
            return _add_or_another(sentences[0])
        often = only.ambiguous or _is_off_by_a_plain_factor(only.column, right, figures)
        return _add_or_another(sentences[0]) if only.is_certain and often else _shorten(only.says)
    openings = [*dict.fromkeys(_lower_first(_first_clause(sentence)) for sentence in sentences)]
    if len(openings) == 1:
        return f"{_first_clause(sentences[0])}."
    ways = _join_ways(openings)
    places = "; ".join(dict.fromkeys(str(one.where) for one in found if one.where))
    for message in (
        sentence("slip.either", ways=ways),
        sentence("slip.places", places=places) if places else "",
    ):
        if message and len(message) <= LONGEST_MESSAGE:
            return message
    return sentence("slip.many")


def _shorten(says):
    """What is said of one slip, or of two at once; where that is long, of the first in brief."""
    fields = getattr(says, "fields", {})
    if len(str(says)) <= LONGEST_MESSAGE or "first" not in fields:
        return str(says)
    return str(Sentence(says.key, **fields | {"first": f"{_first_clause(str(fields['first']))}."}))


def _add_or_another(slip):
    """A slip's sentence, and that others give a value off by the same plain factor."""
    message = sentence("slip.or-another", slip=slip)
    short = sentence("slip.or-another", slip=f"{_first_clause(slip)}.")
    return message if len(message) <= LONGEST_MESSAGE else short


def is_plain_factor(value: float, other: float) -> bool:
    """Whether one is the other, doubled, tenfold, an eighth of it, or the like."""
    ratio = value / other if other else 0.0
    factors = (*PLAIN_FACTORS, *(1 / factor for factor in PLAIN_FACTORS))
    return any(math.isclose(ratio, factor, rel_tol=SAME_RTOL) for factor in factors)


def _is_off_by_a_plain_factor(column, right, figures):
    """Whether all values are the right ones, or all one figure, but for a plain factor."""
    alike = (right, *((figure,) * len(column) for figure in figures))
    return any(all(map(is_plain_factor, column, each)) for each in alike)


def _join_ways(openings):
    """The slips in one sentence."""
    *before, last = openings
    return sentence("list.ways", before="; ".join(before), last=last)


def first_sentence(message: str) -> str:
    """The first of a message's sentences."""
    return re.split(r"(?<=[.?])\s", message, maxsplit=1)[0]


def _first_clause(text):
    """The first of a slip's sentences, without its full stop."""
    return re.split(r"[.:;?]\s", text, maxsplit=1)[0].rstrip(".:?")


def _lower_first(sentence):
    """A sentence as it goes on within another."""
    return sentence[:1].lower() + sentence[1:]
