"""Questions that ask for an ordering of items."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

import numpy as np

from roofcheck.kinds.question import Question, Verdict, missing_verdict
from roofcheck.reading.expressions import LONGEST_TEXT
from roofcheck.reading.numbers import is_missing
from roofcheck.sentences import join_items, sentence
from roofcheck.slips.scales import HALF_CREDIT

SEPARATOR = re.compile(r"\s*(?:,|;|<=?|>|->|→|\n)\s*")


@dataclass(frozen=True, kw_only=True)
class Order(Question):
    """A question that asks to sort ``items`` by ``key``; swapped neighbours keep half the credit.

    ``wrong`` maps the name of a slip to its key and sentence. ``needs`` maps (a, b) pairs of items
    to the message if a comes after b. ``read`` converts a student's item, such as an alias or an
    object, to the item's name. ``redraw`` returns new fields by name; unless it returns
    ``praise`` and ``needs``, they are dropped. ``shows`` explains an item's key or letter next to
    the right order. Each key must exceed ``apart`` times the key before it.

    If all items are single letters, an answer can be a string such as "CAB":

    >>> steps = Order(
    ...     asks="A: divide by 2, B: write down 2x = 6, C: read off x = 3.",
    ...     items=("A", "B", "C"),
    ...     key="BAC".index,
    ...     needs={("B", "A"): "Before B there is nothing to divide."},
    ... )
    >>> steps.judge("bac").state, steps.judge("A, B, C").message[:35]
    ('right', 'Before B there is nothing to divide')
    """

    items: Sequence[str]
    key: Callable
    wrong: Mapping[str, tuple[Callable, str]] = field(default_factory=dict)
    reversed_says: str = ""
    needs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    read: Callable = str
    redraw: Callable[[random.Random], Mapping[str, Any]] | None = None
    shows: Callable[[str], str] | None = None
    apart: float = 0.0

    def reference(self) -> tuple[str, ...]:
        """Return the items in the right order."""
        return tuple(sorted(self.items, key=self.key))

    def judge(self, answer):
        if answer is ...:
            return missing_verdict(answer)
        if answer is None:
            if self._has_letters:
                return missing_verdict(answer)
            return Verdict(0, sentence("missing.sorted"), "missing", slips=("list.sort()",))
        if isinstance(answer, (set, frozenset)):
            return Verdict(0, sentence("order.set"), "asked")
        given = self._read_items(answer)
        right = self.reference()
        if given and all(is_missing(item) for item in given):
            return missing_verdict(...)
        if given is None or sorted(map(str, given)) != sorted(right):
            return Verdict(0, self._describe_wrong_items(given), "asked")
        if given == list(right):
            return Verdict(1, self.praise)
        if self.reversed_says and given == list(right[::-1]):
            return Verdict(0, self.reversed_says, slips=("reversed",))
        for name, (key, says) in self.wrong.items():
            values = [key(name) for name in given]
            if values in (sorted(values), sorted(values, reverse=True)):
                return Verdict(0, says, slips=(name,))
        places = [right.index(name) for name in given]
        first = next(i for i, place in enumerate(places) if place != i)
        near = all(abs(place - i) <= 1 for i, place in enumerate(places))
        credit, slips = (HALF_CREDIT, ("neighbours",)) if near else (0.0, ())
        sentences = [sentence("order.neighbours")] if near else []
        for (earlier, later), says in self.needs.items():
            if given.index(later) < given.index(earlier):
                sentences.insert(0, says)
                slips = (f"{later} before {earlier}", *slips)
                break
        sentences = sentences or [sentence("order.out-of-place", place=first + 1)]
        return Verdict(credit, " ".join(sentences), slips=slips)

    def _read_items(self, answer):
        """Return the items that an answer lists, or None."""
        if isinstance(answer, (list, tuple)) and len(answer) == 1 and isinstance(answer[0], str):
            [answer] = answer
        if isinstance(answer, str):
            parts = SEPARATOR.split(answer[:LONGEST_TEXT].strip().strip("[]()"))
            answer = [part.strip("\"'") for part in parts if part]
            if self._has_letters:
                answer = [letter for letter in "".join(answer) if letter.isalnum()]
            if len(answer) < 2:
                return None
        try:
            # An iterator may be endless, so read at most one item too many.
            return [self._find_item(item) for item in islice(answer, len(self.items) + 1)]
        except TypeError:
            return None

    def _describe_wrong_items(self, given):
        """Return the message for an answer whose items differ from those of the question."""
        options = join_items(sorted(self.items), "comma")
        if self._has_letters:
            return sentence("order.wrong-letters", options=options)
        if given is None:
            return sentence("order.not-a-list", options=options)
        unknown = [item for item in given if item not in self.items]
        if len(unknown) == 1 and isinstance(unknown[0], str):
            return sentence("order.unknown", name=repr(unknown[0])[:60], options=options)
        return sentence("order.wrong-names", options=options)

    def problems(self):
        orders = [self.reference(), self.reference()[::-1]]
        problems = []
        for name, (key, _) in self.wrong.items():
            order = tuple(sorted(self.items, key=key))
            if order in orders:
                problems.append(f"the slip {name!r} gives the right order")
        for earlier, later in self.needs:
            if self.key(earlier) > self.key(later):
                problems.append(f"{earlier!r} needs {later!r} in the right order")
        if self.apart:
            problems += [
                f"{low!r} and {high!r} are less than {self.apart} times apart"
                for low, high in pairwise(orders[0])
                if self.key(high) <= self.apart * self.key(low)
            ]
        return problems

    @property
    def _has_letters(self):
        return max(map(len, self.items)) == 1

    def _find_item(self, item):
        # Students who sort (key, name) pairs may answer with the pairs.
        if isinstance(item, (tuple, list)):
            names = [part for part in item if not isinstance(part, (int, float, np.number))]
            item = names[0] if len(names) == 1 else item
        try:
            name = self.read(item)
        except ValueError:
            name = str(item)
        known = {option.casefold(): option for option in self.items}
        return known.get(" ".join(str(name).split()).casefold(), item)

    @property
    def has_new_figures(self):
        return self.redraw is not None

    def _draw_new_figures(self, rng):
        if not self.redraw:
            return self
        return replace(self, **{"needs": {}, "praise": ""} | dict(self.redraw(rng)))
