"""What the home page shows: every sentence of it and every figure, as plain data.

The page itself, in ``static/``, only lays out what it is given. What takes long, to ask a class's
exchange, is done when it is asked for, and remembered.
"""

import json
import os
import re
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from roofcheck import course
from roofcheck.handin import exchange
from roofcheck.home import set_status as problem_sets
from roofcheck.home.set_status import Status
from roofcheck.home.times import format_length, format_moment, format_time_left
from roofcheck.sentences import join_items, sentence
from roofcheck.study import answers, course_progress
from roofcheck.study.review import NothingDue, due_now, schedule

# JSON, a list of {"text": ..., "url": ...}: decks and pages that this server offers.
PAGES_VARIABLE = "ROOFLINE_PAGES"
# Seconds for which an answer of the exchange is taken for true.
FRESH = 60
# Sentences that the page needs for what it does by itself.
LABELS = (
    "title", "menu", "home", "about-it", "loading", "failed", "lectures", "sets", "pages", "due",
    "tells", "mark-right", "mark-missed", "mark-open", "asking-class", "fetching", "hand-in",
    "handing-in", "all-the-same", "not-now", "give-up", "show-answers", "review", "reviewing",
    "your-answer", "answer", "next-question", "skip", "close",
)  # fmt: skip


def page_labels():
    """The words of buttons and headings, by their names."""
    return {name: sentence(f"home.{name}", why="{why}") for name in LABELS}


@dataclass
class Home:
    """The home page of the course around a folder that a server serves.

    What the exchange said last is remembered, since asking it takes seconds; so does to find out
    whether there is one, and ``has_class`` is None until then.
    """

    served: Path
    has_class: bool | None = None
    statuses: dict[str, Status] = field(default_factory=dict)
    last_asked: float = -FRESH

    @property
    def course(self) -> course.Course | None:
        """The course, or None; ValueError where ROOFLINE_COURSE names a folder that is none."""
        return course.find_course(self.served)

    def startup_data(self) -> dict | None:
        """What JupyterLab needs before the page is open; None where no course is served."""
        try:
            found = self.course
            if found is None:
                return None
            sets = {Path(each.file).name: each.id for each in found.sets}
        except (OSError, ValueError, KeyError, TypeError):
            sets = {}  # the page itself says what is wrong
        return {"labels": page_labels(), "sets": sets, "pages": self._list_pages()}

    def forget_exchange(self):
        """Forget what the exchange said, since something was fetched or handed in."""
        self.last_asked = -FRESH

    def served_path(self, file: str) -> str:
        """A file of the course as the server names it, or "" if it does not serve it."""
        if not os.path.isabs(file) and (self.served / file).exists():
            return file
        whole = Path(os.path.abspath(self.course.root / file))
        inside = whole.exists() and whole.is_relative_to(self.served)
        return whole.relative_to(self.served).as_posix() if inside else ""

    def page_data(self, ask_class: bool = False) -> dict:
        """All that the page shows; with ``ask_class`` the class's exchange is asked before."""
        try:
            found = self.course
            if found is None:
                return {"notes": [sentence("home.no-course", folder=self.served)]}
            lectures, sets = found.lectures, found.sets
        except (OSError, ValueError, KeyError, TypeError) as error:
            return {"notes": [sentence("home.no-index", why=error)]}
        given, notes = read_kept_answers()
        try:
            term = found.term
        except (OSError, ValueError) as error:
            term = course.Term()
            notes.append(sentence("home.no-term", why=error))
        if not os.access(found.root, os.W_OK):
            notes.append(sentence("home.folder-read-only", folder=found.root))
        latest = course_progress.latest_answers(given)
        if ask_class:
            notes += self._ask_exchange(found)
        if not self.has_class:
            self.statuses = problem_sets.statuses_by_file(found)
        return {
            "notes": notes,
            "ask_class": self.has_class is not False and time.monotonic() > self.last_asked + FRESH,
            "go_on": self._continue_data(found, latest),
            "review": _review_data(),
            "due": self._due_sentences(sets, term),
            "lectures": [self._lecture_data(each, latest) for each in lectures],
            "sets": [self._set_data(found, each, latest, term) for each in sets],
            "pages": self._list_pages(term),
        }

    def _ask_exchange(self, found):
        """Ask the class's exchange, if there is one; sentences on what it did not say."""
        place = exchange.find_exchange(found.root)
        self.has_class = place is not None
        try:
            if place:
                self.statuses, self.last_asked = (
                    problem_sets.ask_exchange(place, found),
                    time.monotonic(),
                )
        except exchange.ExchangeError as error:
            return [sentence("home.no-exchange", why=error)]
        return []

    def _continue_data(self, found, latest):
        last = course_progress.find_last_place(found, latest)
        if last and (path := self.served_path(last.part.file)):
            said = sentence("home.you-were", part=name_part(last.part), day=f"{last.time:%Y-%m-%d}")
            heading, do = sentence("home.where"), sentence("home.go-on")
            return {"heading": heading, "said": said, "do": do, "path": path, "cell": last.cell}
        if not found.lectures:
            return None
        first = found.lectures[0]
        said = sentence("home.begin", part=name_part(first), time=format_length(first.minutes))
        heading, do, path = (
            sentence("home.first"),
            sentence("home.open"),
            self.served_path(first.file),
        )
        return {"heading": heading, "said": said, "do": do, "path": path, "cell": ""}

    def _lecture_data(self, lecture, latest):
        found = course_progress.measure_lecture(lecture, latest)
        return {
            "id": lecture.id,
            "title": f"{lecture.number}. {lecture.title}",
            "path": self.served_path(lecture.file),
            "about": re.sub(r"[*`]", "", lecture.about),  # Markdown
            "time": format_length(lecture.minutes),
            "marks": list(found.marks),
            "standing": word_progress(found),
        }

    def _set_data(self, found, each, latest, term):
        path, due = self.served_path(each.file), term.due.get(each.id)
        stands_at = course_progress.measure_set(each, latest)
        status = self.statuses.get(each.id)
        said = problem_sets.word_status(status, bool(path), due, self.has_class)
        return {
            "id": each.id,
            "title": sentence("home.set-title", number=each.number, title=each.title),
            "path": path,
            "about": word_lectures(found, each),
            "time": format_length(each.minutes),
            "points": sentence("home.points", points=each.points),
            "marks": list(stands_at.marks),
            "standing": " ".join(filter(None, (word_progress(stands_at), _word_points(stands_at)))),
            "said": said,
            "actions": problem_sets.list_actions(found, each, status, bool(path), stands_at, due),
        }

    def _due_sentences(self, sets, term):
        """What is still due, in order, without what was handed in."""
        now, nothing = datetime.now().astimezone(), Status()
        waiting = sorted(
            (term.due[each.id], each.number, each) for each in sets if each.id in term.due
        )
        return [
            sentence(
                "home.is-due",
                number=each.number,
                time=format_moment(when),
                left=format_time_left(when - now),
            )
            for when, _, each in waiting
            if when > now and not self.statuses.get(each.id, nothing).handed_in
        ]

    def _list_pages(self, term=None):
        try:
            pages = json.loads(os.environ.get(PAGES_VARIABLE) or "[]")
            pages = [{"text": str(each["text"]), "url": str(each["url"])} for each in pages]
        except (ValueError, TypeError, KeyError):
            pages = []
        if term and term.site:
            pages.append({"text": sentence("home.site"), "url": f"{term.site}/"})
        return pages


def name_part(part):
    """A lecture or problem set in a sentence."""
    is_lecture = isinstance(part, course.Lecture)
    key = "home.lecture" if is_lecture else "home.set"
    return sentence(key, number=part.number, title=part.title)


def word_lectures(found, problem_set):
    """The lectures that a problem set is on, in a sentence."""
    numbers = [each.number for each in found.lectures if each.id in problem_set.lectures]
    key = "home.on-lectures" if len(numbers) > 1 else "home.on-lecture"
    return sentence(key, numbers=join_items(map(str, numbers))) if numbers else ""


def word_progress(found):
    """A Standing in a line."""
    if not found.answered_count:
        return sentence("home.questions", count=found.asked_count) if found.asked_count else ""
    key = "home.answered-missed" if found.missed_count else "home.answered"
    counts = {"answered": found.answered_count, "asked": found.asked_count}
    return sentence(key, **counts, right=found.right_count, missed=found.missed_count)


def _word_points(found):
    return (
        sentence("home.so-far", earned=found.earned, points=found.points)
        if found.answered_count
        else ""
    )


def read_kept_answers():
    """Every answer that is kept, and in sentences what is not kept or cannot be read."""
    try:
        file = answers.file_path()
    except RuntimeError as error:  # this user has no home folder
        return [], [sentence("home.not-written", file="~", why=error)]
    if file is None:
        return [], [sentence("home.not-kept", name=answers.FILE_VARIABLE)]
    try:
        found, unreadable = answers.read_answers()
    except OSError as error:
        return [], [sentence("home.not-read", file=file, why=error.strerror)]
    said = [sentence("command.unreadable", file=file, lines=unreadable)] if unreadable else []
    if why := _why_unwritable(file):
        said.append(sentence("home.not-written", file=file, why=why))
    return found, said


def _why_unwritable(file):
    """Why a file cannot be written, or ""."""
    if file.is_dir():
        return sentence("home.is-folder", place=file)
    nearest = next(place for place in (file, *file.parents) if place.exists())
    if nearest != file and not nearest.is_dir():
        return sentence("home.is-file", place=nearest)
    return "" if os.access(nearest, os.W_OK) else sentence("home.read-only", place=nearest)


def _review_data():
    try:
        due = due_now()
        said = sentence("home.due-today", count=len(due)) if due else str(NothingDue(schedule()))
        return {"count": len(due), "said": said}
    except (OSError, RuntimeError):
        return {"count": 0, "said": ""}  # a note says what cannot be read
