"""The status of a problem set on the home page, from release to feedback, and the set's buttons."""

from dataclasses import dataclass
from datetime import datetime

from roofcheck.course import Course, ProblemSet
from roofcheck.handin.hand_in import hand_in_time
from roofcheck.handin.notebook_file import find_set_file
from roofcheck.home.times import format_moment
from roofcheck.sentences import sentence
from roofcheck.study import answer_page

FETCH, HAND_IN, FEEDBACK, ANSWERS, GIVE_UP = "fetch", "hand-in", "feedback", "answers", "give-up"


@dataclass(frozen=True)
class Status:
    """Whether a set is released, when it was handed in, and whether it has feedback."""

    released: bool = False
    handed_in: datetime | None = None
    feedback: bool = False


def ask_exchange(place, course: Course) -> dict[str, Status]:
    """Get the Status of every set from an exchange, which takes seconds.

    Raises ExchangeError if a command fails.
    """
    released = set(place.list_released())
    statuses = {}
    for problem_set in course.sets:
        name = problem_set.id
        # A set whose file is missing can't have been handed in.
        is_here = find_set_file(course.root, problem_set).exists()
        handed_in = place.submission_time(name) if is_here else None
        feedback = bool(handed_in and place.fetch_feedback(name))
        statuses[name] = Status(name in released, handed_in, feedback)
    return statuses


def statuses_by_file(course: Course) -> dict[str, Status]:
    """Return the Status of every set from its hand-in file, without an exchange."""
    names = [problem_set.id for problem_set in course.sets]
    return {name: Status(handed_in=hand_in_time(name, course.root)) for name in names}


def word_status(
    status: Status | None, is_here: bool, due: datetime | None, has_class: bool | None
) -> list[str]:
    """Describe a set's status; ``status`` and ``has_class`` are None until the exchange replies."""
    sentences = []
    if due:
        key = "home.was-due" if due < datetime.now().astimezone() else "home.due-on"
        sentences.append(sentence(key, time=format_moment(due)))
    if status and status.handed_in:
        key = "home.handed-in" if has_class else "home.written"
        sentences.append(sentence(key, time=format_moment(status.handed_in)))
    elif not is_here and has_class is False:
        sentences.append(sentence("home.not-here"))
    elif not is_here and has_class and status:
        sentences.append(sentence("home.to-fetch" if status.released else "home.not-out"))
    if status and status.feedback:
        sentences.append(sentence("home.feedback-there"))
    return sentences


def list_actions(
    course: Course, problem_set: ProblemSet, status: Status | None, is_here, stands, due
) -> list[dict]:
    """Return the actions that a set's state, PartProgress and due time allow, with their texts."""
    status, possible = status or Status(), []
    if status.released and not is_here:
        possible.append(FETCH)
    if is_here:
        possible.append(HAND_IN)
    if status.feedback:
        possible.append(FEEDBACK)
    if _answers_may_be_shown(course, problem_set):
        possible.append(ANSWERS)
    elif is_here and stands.answered_count and not (due and due > datetime.now().astimezone()):
        possible += [GIVE_UP] if answer_page.is_self_study(course) else []
    number = {"set": problem_set.number}
    return [
        {"do": do, "text": sentence(f"home.do-{do}"), "name": sentence(f"home.name-{do}", **number)}
        for do in possible
    ]


def _answers_may_be_shown(course, problem_set):
    try:
        return answer_page.may_be_shown(course, problem_set.id)
    except (OSError, ValueError):
        return False  # a note on the page reports what can't be read
