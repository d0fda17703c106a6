"""The sentences and numbers on the home page, as plain data.

The page in ``static/`` only lays them out. A query to a class's exchange is slow, so it runs only
on request, and its result is cached.
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
from roofcheck.handin.notebook_file import find_set_file
from roofcheck.home import set_status
from roofcheck.home.set_status import Status
from roofcheck.home.times import format_length, format_moment, format_time_left
from roofcheck.sentences import join_items, sentence
from roofcheck.study import answers, course_progress
from roofcheck.study.review import NothingDue, due_now, schedule

# The decks and pages on this server, as JSON: a list of {"text": ..., "url": ...}.
PAGES_VARIABLE = "ROOFLINE_PAGES"
# The number of seconds for which a reply of the exchange stays current.
FRESH = 60
# The words that the page adds itself, such as headings and buttons.
LABELS = (
    "title", "menu", "home", "about-it", "loading", "failed", "lectures", "sets", "pages", "due",
    "tells", "mark-right", "mark-missed", "mark-open", "asking-class", "fetching", "hand-in",
    "handing-in", "not-saved", "all-the-same", "not-now", "give-up-title", "give-up",
    "keep-working", "show-answers", "review", "reviewing", "your-answer", "answer",
    "next-question", "skip", "close",
)  # fmt: skip


@dataclass
class Home:
    """The home page of the course that contains a server's root folder.

    The last reply of the exchange is cached, because a query takes seconds. ``has_class`` is None
    until the first query.
    """

    served: Path
    has_class: bool | None = None
    statuses: dict[str, Status] = field(default_factory=dict)
    last_asked: float = -FRESH

    @property
    def course(self) -> course.Course | None:
        """The course, or None. Raises ValueError if ROOFLINE_COURSE is not a course folder."""
        return course.find_course(self.served)

    def require_course(self):
        """Return the course, or raise ValueError if there is none."""
        if (found := self.course) is None:
            raise ValueError(sentence("home.no-course", folder=self.served))
        return found

    def startup_data(self) -> dict | None:
        """Return the data that JupyterLab needs at startup, or None if there is no course."""
        try:
            if self.course is None:
                return None
            sets = {Path(part.file).name: part.id for part in self.course.sets}
        except (OSError, ValueError, KeyError, TypeError):
            sets = {}  # the page reports the error
        labels = {name: sentence(f"home.{name}", why="{why}") for name in LABELS}
        return {"labels": labels, "sets": sets, "pages": self._list_pages()}

    def forget_exchange(self):
        """Query the exchange again next time, for example after a fetch or a hand-in."""
        self.last_asked = -FRESH

    def served_path(self, file: str) -> str:
        """Return the server's path of a course file, or "" if it doesn't serve the file."""
        if not os.path.isabs(file) and (self.served / file).exists():
            return file
        whole = Path(os.path.abspath(self.course.root / file))
        inside = whole.exists() and whole.is_relative_to(self.served)
        return whole.relative_to(self.served).as_posix() if inside else ""

    def set_path(self, problem_set) -> str:
        """Return the server's path of a set's notebook, also if it was renamed, or ""."""
        root = self.course.root
        return self.served_path(os.path.relpath(find_set_file(root, problem_set), root))

    def page_data(self, ask_class: bool = False) -> dict:
        """Return all data for the page; with ``ask_class``, query the class's exchange first."""
        try:
            found = self.course
            if found is None:
                return {"notes": [sentence("home.no-course", folder=self.served)]}
            lectures, sets = found.lectures, found.sets
        except (OSError, ValueError, KeyError, TypeError) as error:
            return {"notes": [sentence("home.no-index", why=error)]}
        kept, notes = read_kept_answers()
        try:
            term = found.term
        except (OSError, ValueError) as error:
            term = course.Term()
            notes.append(sentence("home.no-term", why=error))
        if not os.access(found.root, os.W_OK):
            notes.append(sentence("home.folder-read-only", folder=found.root))
        latest = course_progress.latest_answers(kept)
        if ask_class:
            notes += self._ask_exchange(found)
        if not self.has_class:
            self.statuses = set_status.statuses_by_file(found)
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
        """Query the class's exchange, if there is one, and return sentences about errors."""
        place = exchange.find_exchange(found.root)
        self.has_class = place is not None
        try:
            if place:
                self.statuses = set_status.ask_exchange(place, found)
                self.last_asked = time.monotonic()
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
        heading, do = sentence("home.first"), sentence("home.open")
        path = self.served_path(first.file)
        return {"heading": heading, "said": said, "do": do, "path": path, "cell": ""}

    def _lecture_data(self, lecture, latest):
        found = course_progress.measure_lecture(lecture, latest)
        deeper = course_progress.measure_lecture(lecture, latest, deeper=True)
        words = {"core": format_length(lecture.minutes)}
        words |= {"deeper": format_length(lecture.deeper_minutes)}
        counts = {"answered": deeper.answered_count, "asked": len(deeper.marks)}
        more = sentence("home.deeper", **counts) if lecture.deeper_minutes else ""
        return {
            "id": lecture.id,
            "title": f"{lecture.number}. {lecture.title}",
            "path": self.served_path(lecture.file),
            "about": re.sub(r"[*`]", "", lecture.about),  # Markdown
            "time": sentence("home.lecture-time", **words) if more else words["core"],
            "marks": list(found.marks),
            "standing": f"{word_progress(found)} {more}".strip(),
        }

    def _set_data(self, found, problem_set, latest, term):
        path, due = self.set_path(problem_set), term.due.get(problem_set.id)
        progress = course_progress.measure_set(problem_set, latest)
        status = self.statuses.get(problem_set.id)
        so_far = sentence("home.so-far", earned=progress.earned, points=progress.points)
        said = set_status.word_status(status, bool(path), due, self.has_class)
        return {
            "id": problem_set.id,
            "title": sentence("home.set-title", number=problem_set.number, title=problem_set.title),
            "path": path,
            "about": word_lectures(found, problem_set),
            "time": format_length(problem_set.minutes),
            "points": sentence("home.points", points=problem_set.points),
            "marks": list(progress.marks),
            "standing": word_progress(progress) + (f" {so_far}" if progress.answered_count else ""),
            "said": said,
            "actions": set_status.list_actions(
                found, problem_set, status, bool(path), progress, due
            ),
        }

    def _due_sentences(self, sets, term):
        """Return a sentence for each set that is due and not yet handed in, in order."""
        now, said = datetime.now().astimezone(), []
        for part in sorted(sets, key=lambda part: (term.due.get(part.id, now), part.number)):
            due, status = term.due.get(part.id, now), self.statuses.get(part.id, Status())
            if due > now and not status.handed_in:
                words = {"time": format_moment(due), "left": format_time_left(due - now)}
                said.append(sentence("home.is-due", number=part.number, **words))
        return said

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
    """Return the name of a lecture or problem set, for use in a sentence."""
    key = "home.lecture" if isinstance(part, course.Lecture) else "home.set"
    return sentence(key, number=part.number, title=part.title)


def word_lectures(found, problem_set):
    """Return a sentence that names the lectures covered by a problem set."""
    numbers = [part.number for part in found.lectures if part.id in problem_set.lectures]
    key = "home.on-lectures" if len(numbers) > 1 else "home.on-lecture"
    return sentence(key, numbers=join_items(map(str, numbers))) if numbers else ""


def word_progress(progress):
    """Describe a PartProgress in one line."""
    asked = len(progress.marks)
    if not progress.answered_count:
        return sentence("home.questions", count=asked) if asked else ""
    key = "home.answered-missed" if progress.missed_count else "home.answered"
    counts = {"answered": progress.answered_count, "asked": asked}
    return sentence(key, **counts, right=progress.right_count, missed=progress.missed_count)


def read_kept_answers():
    """Return the saved answers, and sentences about anything that can't be read or saved."""
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
    """Return the reason why a file can't be written, or ""."""
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
        return {"count": 0, "said": ""}  # a note on the page reports what can't be read
