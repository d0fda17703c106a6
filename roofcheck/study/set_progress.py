"""A student's progress in a problem set: a line, and a table of the questions."""

import contextlib
import os
from collections import Counter
from datetime import datetime

from roofcheck.course import find_course, find_term
from roofcheck.sentences import join_items, sentence
from roofcheck.study.answers import read_answers
from roofcheck.study.check import COUNTING_STATES, latest_grades
from roofcheck.tables.catalogue import questions_of_set
from roofkit._messages import Message


def progress(name, due=None):
    """Return the points so far, the numbers of open and missed questions, and a table of all.

    ``due`` is the due time, such as "2027-01-31 18:00", in local time unless it has an offset. The
    default is the set's due time in course/term.toml, if any. Raises ValueError for an unknown set
    or a time that cannot be read.

    >>> repr(progress("ps1")).partition("so far, ")[2].partition(".")[0]
    'not counting questions graded by hand'
    """
    left, numbers, grades = _format_time_left(name, due), _number_questions(name), latest_grades()
    points = {key: question.points for key, question in questions_of_set(name).items()}
    states = [grades[key].verdict.state if key in grades else "missing" for key in numbers]
    line = sentence(
        "progress.line",
        answered=sum(state in COUNTING_STATES for state in states),
        questions=len(numbers),
        right=states.count("right"),
        earned=sum(grades.get(key, 0.0) for key in numbers),
        points=sum(points.values()),
    )
    said, head, rows = [], [], []
    for key, among in (("open", ("missing", "asked")), ("missed", ("partly", "wrong"))):
        here = [n for n, state in zip(numbers.values(), states, strict=True) if state in among]
        said += [sentence(f"progress.{key}", questions=join_items(here))] if here else []
    if not os.environ.get("NBGRADER_EXECUTION"):
        head = [sentence(f"progress.{key}") for key in ("question", "tries", "latest", "points")]
        tries = _count_saved_tries()
        for (key, number), state in zip(numbers.items(), states, strict=True):
            counts = state in COUNTING_STATES
            latest = sentence(f"answers.{state}") if counts else "–"
            earned = sentence("progress.earned", earned=grades.get(key, 0.0), points=points[key])
            rows.append([number, f"{max(tries[key], counts)}", latest, earned])
    return Message(" ".join(filter(None, [line, *said, left])), head, rows)


def _count_saved_tries():
    with contextlib.suppress(OSError, RuntimeError):
        return Counter(answer.question for answer in read_answers()[0] if not answer.again)
    return Counter()


def _number_questions(name):
    """Return the number of each question by id; outside a course, its id instead."""
    known = questions_of_set(name)
    with contextlib.suppress(ValueError, OSError):
        if its_course := find_course():
            numbers = {each.id: f"{each.number}" for each in its_course.set(name).questions}
            return {key: numbers[key] for key in numbers if key in known}
    return {key: key for key in known}


def _format_time_left(name, due):
    if os.environ.get("NBGRADER_EXECUTION"):
        return ""
    moment = _read_moment(due) if due is not None else find_term().due.get(name)
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
