"""A problem set on the home page: where it is between handing out and feedback, and what to do."""

from dataclasses import dataclass
from datetime import datetime

from roofcheck.course import Course, ProblemSet
from roofcheck.handin.hand_in import hand_in_time as written
from roofcheck.home.times import format_moment
from roofcheck.sentences import sentence
from roofcheck.study import answer_page
from roofcheck.study.course_progress import PartProgress

FETCH, HAND_IN, FEEDBACK, ANSWERS, GIVE_UP = "fetch", "hand-in", "feedback", "answers", "give-up"


@dataclass(frozen=True)
class Status:
    """What is known of a set besides its answers: whether a class has it, and what became of it."""

    released: bool = False
    handed_in: datetime | None = None
    feedback: bool = False


def ask_exchange(place, course: Course) -> dict[str, Status]:
    """The Status of every set by an exchange, which takes seconds; ExchangeError if it fails."""
    released = set(place.list_released())
    found = {}
    for each in course.sets:
        # Nobody has handed in what lies nowhere.
        is_here = (course.root / each.file).exists()
        handed_in = place.submission_time(each.id) if is_here else None
        feedback = bool(handed_in and place.fetch_feedback(each.id))
        found[each.id] = Status(each.id in released, handed_in, feedback)
    return found


def statuses_by_file(course: Course) -> dict[str, Status]:
    """The Status of every set where there is no exchange: whether its file was written."""
    return {each.id: Status(handed_in=written(each.id, course.root)) for each in course.sets}


def word_status(
    status: Status | None, is_here: bool, due: datetime | None, has_class: bool | None
) -> list[str]:
    """Where a set is, in sentences; ``status`` and ``has_class`` are None if nobody asked yet."""
    said = []
    if due:
        over = due < datetime.now().astimezone()
        said.append(sentence("home.was-due" if over else "home.due-on", time=format_moment(due)))
    if status and status.handed_in:
        key = "home.handed-in" if has_class else "home.written"
        said.append(sentence(key, time=format_moment(status.handed_in)))
    elif not is_here and has_class is False:
        said.append(sentence("home.not-here"))
    elif not is_here and has_class and status:
        said.append(sentence("home.to-fetch" if status.released else "home.not-out"))
    if status and status.feedback:
        said.append(sentence("home.feedback-there"))
    return said


def list_actions(
    course: Course,
    found: ProblemSet,
    status: Status | None,
    is_here: bool,
    stands: PartProgress,
    due: datetime | None,
) -> list[dict]:
    """What can be done with a set now, each with its name and the words of its button."""
    status, possible = status or Status(), []
    if status.released and not is_here:
        possible.append(FETCH)
    if is_here:
        possible.append(HAND_IN)
    if status.feedback:
        possible.append(FEEDBACK)
    if _answers_may_be_shown(course, found):
        possible.append(ANSWERS)
    elif is_here and stands.answered_count and not (due and due > datetime.now().astimezone()):
        possible.append(GIVE_UP)
    names = {"set": found.number}
    return [
        {
            "do": each,
            "text": sentence(f"home.do-{each}"),
            "name": sentence(f"home.name-{each}", **names),
        }
        for each in possible
    ]


def _answers_may_be_shown(course, found):
    try:
        return answer_page.may_be_shown(course, found.id)
    except (OSError, ValueError):
        return False  # a note on the page says what cannot be read
