"""What to say of a wrong answer, once the slips that give its value are known.

A value shows no act. One slip is told as it is; of several, the check offers all of them or, where
that would be long, names the places where they lie. A value that is off by a plain factor comes
about in many ways, which is said beside the slip that gives it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from roofcheck.reading.agreement import SAME
from roofcheck.sentences import Sentence, say
from roofcheck.steps.computation import Candidate

# No message is longer.
LONGEST = 200
# The factors that come about in many ways.
PLAIN = (1, 2, 4, 8, 10, 100)


@dataclass(frozen=True)
class Diagnosis:
    """What an answer says of its author: the slips that it agrees with, what to say of them."""

    names: tuple[str, ...]
    message: str
    credit: float = 0.0


def told(
    found: Sequence[Candidate], right: Sequence[float], figures: Sequence[float] = ()
) -> Diagnosis:
    """One Diagnosis of all the slips that fit; in doubt the one that keeps most of the points.

    ``figures`` are those that the question gives, which may stand behind a value themselves.
    """
    # The likeliest come first, and what is said twice is said once.
    said = {str(candidate.says): candidate for candidate in reversed(found)}
    found = list(said.values())[::-1]
    names = tuple(" and ".join(candidate.names) for candidate in found)
    message = _message(found, right, figures)
    return Diagnosis(names, message, max(one.credit for one in found))


def _message(found, right, figures):
    # Beside a slip that a table has words for, those in general words are not listed.
    special = [one for one in found if not one.general]
    hidden, found = bool(special) and len(special) < len(found), special or found
    sentences = [str(candidate.says) for candidate in found]
    if len(found) == 1:
        only = found[0]
        if hidden:
            return _or_another(sentences[0])
        often = only.often or _is_off_by_a_plain_factor(only.column, right, figures)
        return _or_another(sentences[0]) if only.asserts and often else _short(only.says)
    openings = [*dict.fromkeys(_within(_first(sentence)) for sentence in sentences)]
    if len(openings) == 1:
        return f"{_first(sentences[0])}."
    ways = _ways(openings)
    places = "; ".join(dict.fromkeys(str(one.place) for one in found if one.place))
    for message in (
        say("slip.either", ways=ways),
        say("slip.places", places=places) if places else "",
    ):
        if message and len(message) <= LONGEST:
            return message
    return say("slip.many")


def _short(says):
    """What is said of one slip, or of two at once; where that is long, of the first in brief."""
    fields = getattr(says, "fields", {})
    if len(str(says)) <= LONGEST or "first" not in fields:
        return str(says)
    return str(Sentence(says.key, **fields | {"first": f"{_first(str(fields['first']))}."}))


def _or_another(sentence):
    """A slip's sentence, and that others give a value off by the same plain factor."""
    message = say("slip.or-another", slip=sentence)
    short = say("slip.or-another", slip=f"{_first(sentence)}.")
    return message if len(message) <= LONGEST else short


def is_plain_factor(value: float, other: float) -> bool:
    """Whether one is the other, doubled, tenfold, an eighth of it, or the like."""
    ratio = value / other if other else 0.0
    factors = (*PLAIN, *(1 / factor for factor in PLAIN))
    return any(math.isclose(ratio, factor, rel_tol=SAME) for factor in factors)


def _is_off_by_a_plain_factor(column, right, figures):
    """Whether all values are the right ones, or all one figure, but for a plain factor."""
    alike = (right, *((figure,) * len(column) for figure in figures))
    return any(all(map(is_plain_factor, column, each)) for each in alike)


def _ways(openings):
    """The slips in one sentence."""
    *before, last = openings
    return say("list.ways", before="; ".join(before), last=last)


def brief(message: str) -> str:
    """The first of a message's sentences."""
    return re.split(r"(?<=[.?])\s", message, maxsplit=1)[0]


def _first(text):
    """The first of a slip's sentences, without its full stop."""
    return re.split(r"[.:;?]\s", text, maxsplit=1)[0].rstrip(".:?")


def _within(sentence):
    """A sentence as it goes on within another."""
    return sentence[:1].lower() + sentence[1:]
