"""Finds the lecture cell that addresses a mistake in a problem set.

course/lessons.toml names a cell for mistakes that can occur in any question. A step that can go
wrong in only a few lecture questions is taught at the check of one of them. Otherwise,
course/coverage.toml and then course/lessons.toml name the cell that teaches the question.
"""

import functools
import re
import tomllib
from pathlib import Path

from roofcheck.cells import question_calls_in_text
from roofcheck.tables.catalogue import load_questions

# A step that can go wrong in more lecture questions than this is not taught by any one of them.
FEW_QUESTIONS = 4


class LessonFinder:
    """The lecture cells of a course folder, which may have none."""

    def __init__(self, root):
        texts = sorted((Path(root) / "course/text").glob("*.md"))
        # If a question is predicted and then checked, the check comes last and takes precedence.
        self._checked = {
            call.question: cell
            for path in texts
            for cell, call in question_calls_in_text(path.read_text(encoding="utf-8"))
            if call.call in ("check", "predict") and call.question.startswith("l")
        }
        self._topics = _read_toml(Path(root) / "course/coverage.toml")
        lessons = _read_toml(Path(root) / "course/lessons.toml")
        self._anywhere = lessons.get("anywhere", {})
        self._questions = lessons.get("questions", {})

    def find_cell(self, question, slip=""):
        """Return the id of the cell that addresses a mistake in a question, or ""."""
        if not self._checked:
            return ""
        step = slip.split(" and ")[0]
        for pattern, cell in self._anywhere.items() if find_steps(question) else ():
            if re.search(pattern, step):
                return cell
        # An option of a choice is not a step, even if it has the same name.
        steps = find_steps(question)
        similar = [checked for checked in self._checked if steps and step in find_steps(checked)]
        if 0 < len(similar) <= FEW_QUESTIONS:
            return self._checked[max(similar, key=lambda other: len(find_steps(other) & steps))]
        lists = [cells for topic in self._topics.values() for cells in topic.values()]
        covering = (cell for cells in lists if question in cells for cell in cells)
        lectures = (cell for cell in covering if re.match(r"l\d\d-", cell))
        return next(lectures, self._questions.get(question, ""))


def _read_toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


@functools.cache
def find_steps(question_id):
    """Return the names of a question's steps that can go wrong, or none if it is unknown."""
    question = load_questions().get(question_id)
    return frozenset(_step_names(question)) if question else frozenset()


def _step_names(question):
    for part in getattr(question, "parts", {}).values():
        yield from _step_names(part)
    known = getattr(question, "known_slips", None)
    for slips in known.values() if isinstance(known, dict) else filter(None, [known]):
        yield from (slip.names[0] for slip in [*slips.steps, *slips.single_changes])
