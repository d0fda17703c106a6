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
    grades = latest_grades()
    message = format_progress(name, grades)
    if os.environ.get("NBGRADER_EXECUTION"):
        return Message(message)
    message = f"{message} {_format_time_left(name, due)}".strip()
    head = [sentence(f"progress.{key}") for key in ("question", "tries", "latest", "points")]
    rows, tries, questions = [], _count_saved_tries(), questions_of_set(name)
    for key, number in _number_questions(name).items():
        state = _find_state(key, grades)
        latest = "–" if state == "missing" else sentence(f"answers.{state}")
        points = {"earned": grades.get(key, 0.0), "points": questions[key].points}
        count = max(tries[key], int(state != "missing"))
        rows.append([number, f"{count}", latest, sentence("progress.earned", **points)])
    return Message(message, head, rows)


def format_progress(name, grades):
    """Format the line for Grades by question id; Grades of other sets are ignored."""
    numbers = _number_questions(name)
    states = {number: _find_state(key, grades) for key, number in numbers.items()}
    missed = [number for number, state in states.items() if state in ("partly", "wrong")]
    unanswered = [number for number, state in states.items() if state == "missing"]
    line = sentence(
        "progress.line",
        answered=len(states) - len(unanswered),
        questions=len(states),
        right=len(states) - len(unanswered) - len(missed),
        earned=sum(grades.get(key, 0.0) for key in numbers),
        points=sum(question.points for question in questions_of_set(name).values()),
    )
    lists = {"progress.open": unanswered, "progress.missed": missed}
    said = [sentence(key, questions=join_items(here)) for key, here in lists.items() if here]
    return " ".join([line, *said])


def _find_state(question_id, grades):
    """Return the state of a question's Grade, or "missing" if it has none that counts."""
    state = grades[question_id].verdict.state if question_id in grades else "missing"
    return state if state in COUNTING_STATES else "missing"


def _count_saved_tries():
    with contextlib.suppress(OSError, RuntimeError):
        return Counter(answer.question for answer in read_answers()[0] if not answer.again)
    return Counter()


def _number_questions(name):
    """Return the number of each question by id; outside a course, its id instead."""
    known, numbers = questions_of_set(name), {}
    with contextlib.suppress(ValueError, OSError):
        if its_course := find_course():
            numbers = {each.id: f"{each.number}" for each in its_course.set(name).questions}
    return {key: numbers.get(key, key) for key in sorted(known, key=[*numbers, *known].index)}


def _format_time_left(name, due):
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
