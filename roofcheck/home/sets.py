"""A problem set on the home page: where it is between handing out and feedback, and what to do."""

from dataclasses import dataclass
from datetime import datetime

from roofcheck.course import Course, ProblemSet
from roofcheck.handin.hand_in import handed_in as written
from roofcheck.home.times import shown
from roofcheck.sentences import say
from roofcheck.study import answer_page
from roofcheck.study.standing import Standing

FETCH, HAND_IN, FEEDBACK, ANSWERS, GIVE_UP = "fetch", "hand-in", "feedback", "answers", "give-up"


@dataclass(frozen=True)
class Status:
    """What is known of a set besides its answers: whether a class has it, and what became of it."""

    released: bool = False
    handed_in: datetime | None = None
    feedback: bool = False


def ask(place, course: Course) -> dict[str, Status]:
    """The Status of every set by an exchange, which takes seconds; ExchangeError if it fails."""
    released = set(place.released())
    found = {}
    for each in course.sets:
        # Nobody has handed in what lies nowhere.
        is_here = (course.root / each.file).exists()
        handed_in = place.submitted(each.id) if is_here else None
        feedback = bool(handed_in and place.feedback(each.id))
        found[each.id] = Status(each.id in released, handed_in, feedback)
    return found


def handed_in(course: Course) -> dict[str, Status]:
    """The Status of every set where there is no exchange: whether its file was written."""
    return {each.id: Status(handed_in=written(each.id, course.root)) for each in course.sets}


def told(
    status: Status | None, is_here: bool, due: datetime | None, has_class: bool | None
) -> list[str]:
    """Where a set is, in sentences; ``status`` and ``has_class`` are None if nobody asked yet."""
    said = []
    if due:
        over = due < datetime.now().astimezone()
        said.append(say("home.was-due" if over else "home.due-on", time=shown(due)))
    if status and status.handed_in:
        key = "home.handed-in" if has_class else "home.written"
        said.append(say(key, time=shown(status.handed_in)))
    elif not is_here and has_class is False:
        said.append(say("home.not-here"))
    elif not is_here and has_class and status:
        said.append(say("home.to-fetch" if status.released else "home.not-out"))
    if status and status.feedback:
        said.append(say("home.feedback-there"))
    return said


def actions(
    course: Course,
    found: ProblemSet,
    status: Status | None,
    is_here: bool,
    stands: Standing,
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
    elif is_here and stands.answered and not (due and due > datetime.now().astimezone()):
        possible.append(GIVE_UP)
    names = {"set": found.number}
    return [
        {"do": each, "text": say(f"home.do-{each}"), "name": say(f"home.name-{each}", **names)}
        for each in possible
    ]


def _answers_may_be_shown(course, found):
    try:
        return answer_page.may_be_shown(course, found.id)
    except (OSError, ValueError):
        return False  # a note on the page says what cannot be read
