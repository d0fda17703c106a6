"""Which cell of a lecture teaches against a mistake in a problem set.

course/lessons.toml names a cell for the mistakes that can be made anywhere. A step that can go
wrong in few of the lectures' questions is taught at the check of one of them, which tells the slip.
For the rest course/coverage.toml says which cells teach what a question asks, and
course/lessons.toml does for the questions that it does not list.
"""

import functools
import re
import tomllib
from pathlib import Path

from roofcheck.cells import question_calls_in_text
from roofcheck.tables.catalogue import load_questions
from roofgrade.common.sentences import sentence

# A step that can go wrong in more questions of the lectures than this is taught by no single one.
FEW_QUESTIONS = 4


class LessonFinder:
    """The lecture cells of the course in a folder; none where it holds no lectures."""

    def __init__(self, root):
        texts = sorted((Path(root) / "course/text").glob("*.md"))
        # A question that is guessed and then checked is taught at the check.
        self._checked = {
            found.question: cell
            for path in texts
            for cell, found in question_calls_in_text(path.read_text(encoding="utf-8"))
            if found.call in ("check", "predict") and found.question.startswith("l")
        }
        self._topics = _read_toml(Path(root) / "course/coverage.toml")
        by_hand = _read_toml(Path(root) / "course/lessons.toml")
        self._anywhere = by_hand.get("anywhere", {})
        for pattern in self._anywhere:
            _check_pattern(pattern)
        self._questions = by_hand.get("questions", {})

    def find_cell(self, question, slip=""):
        """The id of the cell that teaches against a slip in a question; "" if none is known."""
        if not self._checked:
            return ""
        step = slip.split(" and ")[0]
        for pattern, cell in self._anywhere.items() if find_steps(question) else ():
            if re.search(pattern, step):
                return cell
        # An option of a choice is no step, though one may be named like it.
        told = [
            other for other in self._checked if step in find_steps(other) and find_steps(question)
        ]
        if 0 < len(told) <= FEW_QUESTIONS:
            alike = max(told, key=lambda other: len(find_steps(other) & find_steps(question)))
            return self._checked[alike]
        return next(self._find_covering(question), self._questions.get(question, ""))

    def _find_covering(self, question):
        for where in (where for topic in self._topics.values() for where in topic.values()):
            if question in where:
                yield from (cell for cell in where if re.match(r"l\d\d-", cell))


def _check_pattern(pattern):
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(sentence("report.bad_pattern", pattern=pattern, error=error)) from None


def _read_toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


@functools.cache
def find_steps(question_id):
    """The names of the steps of a question that can go wrong; none of one that there is not."""
    question = load_questions().get(question_id)
    return frozenset(_step_names(question)) if question else frozenset()


def _step_names(question):
    for part in getattr(question, "parts", {}).values():
        yield from _step_names(part)
    known = getattr(question, "known_slips", None)
    for slips in known.values() if isinstance(known, dict) else filter(None, [known]):
        yield from (slip.names[0] for slip in [*slips.steps, *slips.single_changes])
