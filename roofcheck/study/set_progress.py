"""A student's progress in a problem set, as one line."""

import contextlib
import html
import os
from datetime import datetime

from roofcheck import course
from roofcheck.sentences import sentence
from roofcheck.study.check import latest_grades
from roofcheck.tables.catalogue import questions_of_set
from roofkit._html import start_with_blank_line


class Progress:
    """A line with the number of answers, the points so far, and the time left."""

    def __init__(self, line):
        self._line = line

    def __repr__(self):
        return self._line

    def _repr_html_(self):
        return start_with_blank_line(f"<b>{html.escape(self._line)}</b>")


def progress(name, due=None):
    """Return how many questions of a set are answered and right, and the points so far.

    ``due`` is the due time, such as "2027-01-31 18:00", in local time unless it has an offset. The
    default is the set's due time in course/term.toml, if any. Raises ValueError for an unknown set
    or a time that cannot be read.

    >>> repr(progress("ps1")).partition("so far, ")[2]
    'not counting questions graded by hand.'
    """
    left = _format_time_left(name, due)
    return Progress(f"{format_progress(name, latest_grades())} {left}".strip())


def format_progress(name, known):
    """Format the line for Grades, keyed by question id; Grades of other sets are ignored."""
    questions = questions_of_set(name)
    known = {question: grade for question, grade in known.items() if question in questions}
    return sentence(
        "progress.line",
        answered=sum(grade.verdict.state != "missing" for grade in known.values()),
        questions=len(questions),
        right=sum(grade.verdict.credit == 1 for grade in known.values()),
        earned=sum(known.values()),
        points=sum(question.points for question in questions.values()),
    )


def _format_time_left(name, due):
    if os.environ.get("NBGRADER_EXECUTION"):
        return ""
    moment = _read_moment(due) if due is not None else _find_due(name)
    if moment is None:
        return ""
    left = moment - datetime.now().astimezone()
    days, hours = abs(left).days, abs(left).seconds // 3600
    key = "progress.left" if left.total_seconds() > 0 else "progress.over"
    return sentence(key, days=days, hours=hours)


def _read_moment(due):
    try:
        return datetime.fromisoformat(due).astimezone()
    except (TypeError, ValueError):
        raise ValueError(
            f'due={due!r} is not a time; write "2027-01-31 18:00", and add "+01:00" for a time zone'
        ) from None


def _find_due(name):
    # Students can't fix an error in term.toml, so it is ignored here.
    with contextlib.suppress(ValueError, OSError):
        its_course = course.find_course()
        return its_course.term.due.get(name) if its_course else None
    return None
