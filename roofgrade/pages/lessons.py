"""Which cell of a lecture teaches against a mistake in a problem set.

The mistakes that can be made anywhere have a cell of their own, ``ANYWHERE``. A step that can go
wrong in few of the lectures' questions is taught where one stands: its check tells the slip.
For the rest course/coverage.toml says which cells teach what a question asks, and ``BY_HAND`` does
for the questions that it does not list.
"""

import functools
import re
import tomllib
from pathlib import Path

from roofcheck.cells import in_text
from roofcheck.table import tables

# In more of the lectures' questions than this, no single one teaches against a step.
FEW = 4
ANYWHERE = {
    "sparse": "l01-dense",
    "multiply-add": "l01-warmup-fma",
    "passes: ": "l05-twos-read",
    "links?: (?!memory)": "l05-links-read",
    "link$|memory$": "l01-network-read",
    r"bits$|^(size|wide)\b": "l01-warmup-bytes",
    "^peak: ": "l01-math-read",
    "^(pick|add): ": "l01-overlap",
    "^roof: ": "l02-attainable-why",
    "upside down": "l02-definition-read",
}
BY_HAND = {
    "ps1.time": "l01-overlap",
    "ps1.bound": "l02-misread-below-answer",
    "ps1.order": "l02-check-chips-answer",
    "ps2.matmul-bytes": "l04-loop-answer",
    "ps2.softmax-bytes": "l03-passes-read",
    "ps3.torus": "l05-links-read",
    "ps3.derive": "l05-threshold-read",
    "ps3.volume": "l05-exchange-read",
    "ps3.step": "l05-three-times-read",
    "ps3.mine": "l05-three-times-read",
    "ps3.gather": "l05-gather-read",
    "ps4.dense": "l01-dense",
    "ps4.mine": "l04-count-read",
    "ps4.light": "l05-three-times-read",
    "ps4.rows": "l05-three-times-read",
    "ps4.cnn": "l02-definition-read",
    "ps4.llama": "l06-rest-cache",
}


class Lessons:
    """The lecture cells of the course in a folder; none where it holds no lectures."""

    def __init__(self, root):
        texts = sorted((Path(root) / "course/text").glob("*.md"))
        # A question that is guessed and then checked is taught at the check.
        self._checked = {
            found.question: cell
            for path in texts
            for cell, found in in_text(path.read_text(encoding="utf-8"))
            if found.call in ("check", "predict") and found.question.startswith("l")
        }
        coverage = Path(root) / "course/coverage.toml"
        self._items = (
            tomllib.loads(coverage.read_text(encoding="utf-8")) if coverage.is_file() else {}
        )

    def against(self, question, slip=""):
        """The id of the cell that teaches against a slip in a question; "" if none is known."""
        if not self._checked:
            return ""
        step = slip.split(" and ")[0]
        for pattern, cell in ANYWHERE.items() if steps(question) else ():
            if re.search(pattern, step):
                return cell
        told = [other for other in self._checked if step in steps(other)]
        if 0 < len(told) <= FEW:
            alike = max(told, key=lambda other: len(steps(other) & steps(question)))
            return self._checked[alike]
        return next(self._covering(question), BY_HAND.get(question, ""))

    def _covering(self, question):
        for item in self._items.values():
            if question in item["where"]:
                yield from (cell for cell in item["where"] if re.match(r"l\d\d-", cell))


@functools.cache
def steps(question_id):
    """The names of the steps of a question that can go wrong; none of one that there is not."""
    question = tables().get(question_id)
    return frozenset(_names(question)) if question else frozenset()


def _names(question):
    for part in getattr(question, "parts", {}).values():
        yield from _names(part)
    known = getattr(question, "known", None)
    for slips in known.values() if isinstance(known, dict) else filter(None, [known]):
        yield from (step.names[0] for step in slips.steps)
