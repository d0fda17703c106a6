"""How far one is with a problem set."""

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
    """A line: answered, right, points so far, the time left to hand in."""

    def __init__(self, line):
        self._line = line

    def __repr__(self):
        return self._line

    def _repr_html_(self):
        return start_with_blank_line(f"<b>{html.escape(self._line)}</b>")


def progress(name, due=None):
    """How many of a problem set's questions are answered and right, and the points so far.

    ``due`` is when to hand in, such as "2027-01-31 18:00", local time unless it names an offset;
    without one it is what course/term.toml says, if the notebook lies in a course.
    Raises ValueError for an unknown set and for a time that cannot be read.

    >>> repr(progress("ps1")).partition("so far. ")[2]
    'Questions that a person grades come on top.'
    """
    left = _format_time_left(name, due)
    return Progress(f"{format_progress(name, latest_grades())} {left}".strip())


def format_progress(name, known):
    """The line for these Grades by question, of which those of other sets do not count."""
    asked = questions_of_set(name)
    known = {each: grade for each, grade in known.items() if each in asked}
    return sentence(
        "progress.line",
        answered=sum(grade.verdict.state != "missing" for grade in known.values()),
        questions=len(asked),
        right=sum(grade.verdict.credit == 1 for grade in known.values()),
        earned=sum(known.values()),
        points=sum(question.points for question in asked.values()),
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
            f'due={due!r} is no time; write "2027-01-31 18:00", with "+01:00" behind it for a zone'
        ) from None


def _find_due(name):
    """When a set is due by the course around; a term.toml in error is no student's affair here."""
    with contextlib.suppress(ValueError, OSError):
        here = course.find_course()
        return here.term.due.get(name) if here else None
    return None
