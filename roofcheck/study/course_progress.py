"""How far a student is, by the answers that are kept: in lectures, in sets, and where to go on."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from roofcheck.cells import question_call
from roofcheck.course import Course, Lecture, ProblemSet
from roofcheck.study.answers import KeptAnswer

RIGHT, MISSED, OPEN = "right", "missed", "open"


@dataclass(frozen=True)
class PartProgress:
    """How a lecture or problem set stands: the latest answer to each of its questions counts.

    Parameters
    ----------
    marks : "right", "missed" or "open" for each question that is checked, in order
    earned, points : of those questions; what a person reads is in neither
    touched : when one of them was last answered, or None
    """

    marks: tuple[str, ...]
    earned: float = 0.0
    points: float = 0.0
    last_answered: datetime | None = None

    @property
    def asked_count(self) -> int:
        """How many questions there are."""
        return len(self.marks)

    @property
    def right_count(self) -> int:
        """How many were answered right."""
        return self.marks.count(RIGHT)

    @property
    def missed_count(self) -> int:
        """How many were answered, and are not right."""
        return self.marks.count(MISSED)

    @property
    def answered_count(self) -> int:
        """How many were answered."""
        return self.right_count + self.missed_count


@dataclass(frozen=True)
class LastPlace:
    """Where a question was last answered: its lecture or set, its cell ("" if not found), when."""

    part: Lecture | ProblemSet
    cell: str
    time: datetime


def latest_answers(kept: Iterable[KeptAnswer]) -> dict[str, KeptAnswer]:
    """The latest answer to each question that was given in a notebook, and not in a review."""
    return {each.question: each for each in kept if not each.again}


def measure_lecture(lecture: Lecture, latest: Mapping[str, KeptAnswer]) -> PartProgress:
    """How a lecture stands, by the latest answers; it has no points."""
    return _measure_part(dict.fromkeys(lecture.asks, 0.0), latest)


def measure_set(found: ProblemSet, latest: Mapping[str, KeptAnswer]) -> PartProgress:
    """How a problem set stands, by the latest answers; its paragraphs are not counted."""
    return _measure_part(
        {each.id: each.points for each in found.questions if not each.paragraph}, latest
    )


def _measure_part(points, latest):
    found = {each: latest[each] for each in points if each in latest}
    credit = {each: min(max(given.credit, 0.0), 1.0) for each, given in found.items()}
    return PartProgress(
        marks=tuple(
            OPEN if each not in found else RIGHT if credit[each] == 1 else MISSED for each in points
        ),
        earned=sum(credit[each] * points[each] for each in found),
        points=sum(points.values()),
        last_answered=max((given.time for given in found.values()), default=None),
    )


def find_last_place(course: Course, latest: Mapping[str, KeptAnswer]) -> LastPlace | None:
    """The place of the answer that was given last, of those to questions of the course."""
    parts = {name: lecture for lecture in course.lectures for name in lecture.asks}
    parts |= {each.id: found for found in course.sets for each in found.questions}
    given = [each for each in latest.values() if each.question in parts]
    if not given:
        return None
    last = max(given, key=lambda each: each.time)
    part = parts[last.question]
    return LastPlace(part, _find_cell(course.root / part.file, last.question), last.time)


def _find_cell(file, question):
    """The id of the cell of a notebook that checks a question, or ""."""
    try:
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            one = question_call("".join(cell["source"])) if cell["cell_type"] == "code" else None
            if one and one.call == "check" and one.question == question:
                return cell.get("id", "")
    except (OSError, ValueError, KeyError, TypeError):
        pass  # a notebook that is gone or damaged is opened at its top
    return ""
