"""A student's progress in each lecture and set, and where to continue, from the saved answers."""

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
    """Progress in a lecture or problem set, based on the latest answer to each question.

    Parameters
    ----------
    marks : "right", "missed" or "open" for each checked question, in order
    earned, points : of those questions, except the ones that a person grades
    """

    marks: tuple[str, ...]
    earned: float = 0.0
    points: float = 0.0

    @property
    def right_count(self) -> int:
        """The number of right answers."""
        return self.marks.count(RIGHT)

    @property
    def missed_count(self) -> int:
        """The number of answers that are not fully right."""
        return self.marks.count(MISSED)

    @property
    def answered_count(self) -> int:
        """The number of answers."""
        return self.right_count + self.missed_count


@dataclass(frozen=True)
class LastPlace:
    """The lecture or set, the cell ("" if unknown) and the time of the last answer."""

    part: Lecture | ProblemSet
    cell: str
    time: datetime


def latest_answers(kept: Iterable[KeptAnswer]) -> dict[str, KeptAnswer]:
    """Return the latest answer to each question, except answers given in review."""
    return {answer.question: answer for answer in kept if not answer.again}


def measure_lecture(
    lecture: Lecture, latest: Mapping[str, KeptAnswer], deeper: bool = False
) -> PartProgress:
    """Return the progress in a lecture's core or ``deeper`` sections, which have no points."""
    asked = lecture.deeper_asks if deeper else lecture.asks
    return _measure_part(dict.fromkeys(asked, 0.0), latest)


def measure_set(problem_set: ProblemSet, latest: Mapping[str, KeptAnswer]) -> PartProgress:
    """Return the progress in a problem set, except for its paragraphs."""
    checked = [question for question in problem_set.questions if not question.paragraph]
    return _measure_part({question.id: question.points for question in checked}, latest)


def _measure_part(points, latest):
    credit = {name: min(max(latest[name].credit, 0.0), 1.0) for name in points if name in latest}
    return PartProgress(
        marks=tuple(
            OPEN if name not in credit else RIGHT if credit[name] == 1 else MISSED
            for name in points
        ),
        earned=sum(credit[name] * points[name] for name in credit),
        points=sum(points.values()),
    )


def find_last_place(course: Course, latest: Mapping[str, KeptAnswer]) -> LastPlace | None:
    """Return the place of the latest answer to any of the course's questions, or None."""
    parts = {name: each for each in course.lectures for name in (*each.asks, *each.deeper_asks)}
    parts |= {question.id: part for part in course.sets for question in part.questions}
    answers = [answer for answer in latest.values() if answer.question in parts]
    if not answers:
        return None
    last = max(answers, key=lambda answer: answer.time)
    part = parts[last.question]
    return LastPlace(part, _find_cell(course.root / part.file, last.question), last.time)


def _find_cell(file, question):
    """Return the id of the cell that checks a question, or ""."""
    try:
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            call = question_call("".join(cell["source"])) if cell["cell_type"] == "code" else None
            if call and call.call == "check" and call.question == question:
                return cell.get("id", "")
    except (OSError, ValueError, KeyError, TypeError):
        pass  # if the notebook is missing or damaged, it opens at its top
    return ""
