"""The sentences that students read, from the tables in ``words``."""

from collections.abc import Iterable
from pathlib import Path

from rooflab.words import Words

sentence = Words(Path(__file__).parent / "words")


class Sentence:
    """A sentence stored as its key; ``str`` looks it up in the current language.

    Question tables are loaded only once, so they store a Sentence instead of its text. Fields can
    also be Sentences.

    >>> places = join_items(["the peak", "the links"])
    >>> slip = Sentence("slip.two-in", way=describe_direction(3.1), places=places)
    >>> str(slip)
    'Too large by a factor of 2. The 2 may come from the peak and the links.'
    """

    def __init__(self, key: str, **fields):
        self.key, self.fields = key, fields

    def __eq__(self, other):
        return isinstance(other, Sentence) and (self.key, self.fields) == (other.key, other.fields)

    def __hash__(self):
        return hash((self.key, *self.fields.items()))

    def __str__(self):
        return sentence(self.key, **self.fields)

    def __repr__(self):
        fields = "".join(f", {name}={value!r}" for name, value in self.fields.items())
        return f"Sentence({self.key!r}{fields})"


def join_items(items: Iterable, last: str = "and") -> Sentence | str:
    """Join items for a sentence; ``last`` selects the last separator: "and", "or" or "comma".

    >>> str(join_items(["a", "b", "c"])), str(join_items(["a", "b"], "or"))
    ('a, b and c', 'a or b')
    """
    *before, end = items if (items := list(items)) else [""]
    if not before:
        return end
    return Sentence(f"list.{last}", before=join_items(before, "comma"), last=end)


def capitalise(words: Sentence | str) -> str:
    """Return the words with a capital first letter."""
    words = str(words)
    return words[:1].upper() + words[1:]


def describe_direction(ratio: float) -> Sentence:
    """Return "large" or "small" for an answer that is ``ratio`` times the right one."""
    return Sentence("way.large" if ratio > 1 else "way.small")
