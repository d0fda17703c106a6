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
from roofcheck.home import sets as problem_sets
from roofcheck.home.sets import Status
from roofcheck.home.times import left, length, shown
from roofcheck.sentences import listed, say
from roofcheck.study import answers, standing
from roofcheck.study.review import Nothing, due_now, schedule

# JSON, a list of {"text": ..., "url": ...}: decks and pages that this server offers.
PAGES = "ROOFLINE_PAGES"
# Seconds for which an answer of the exchange is taken for true.
FRESH = 60
# Sentences that the page needs for what it does by itself.
LABELS = (
    "title", "menu", "home", "about-it", "loading", "failed", "lectures", "sets", "pages", "due",
    "tells", "mark-right", "mark-missed", "mark-open", "asking-class", "fetching", "hand-in",
    "handing-in", "all-the-same", "not-now", "give-up", "show-answers", "review", "reviewing",
    "your-answer", "answer", "next-question", "skip", "close",
)  # fmt: skip


def labels():
    """The words of buttons and headings, by their names."""
    return {name: say(f"home.{name}", why="{why}") for name in LABELS}


@dataclass
class Home:
    """The home page of the course around a folder that a server serves.

    What the exchange said last is remembered, since asking it takes seconds; so does to find out
    whether there is one, and ``has_class`` is None until then.
    """

    served: Path
    has_class: bool | None = None
    known: dict[str, Status] = field(default_factory=dict)
    asked: float = -FRESH

    @property
    def course(self) -> course.Course | None:
        """The course, or None; ValueError where ROOFLINE_COURSE names a folder that is none."""
        return course.find(self.served)

    def begin(self) -> dict | None:
        """What JupyterLab needs before the page is open; None where no course is served."""
        try:
            found = self.course
            if found is None:
                return None
            sets = {Path(each.file).name: each.id for each in found.sets}
        except (OSError, ValueError, KeyError, TypeError):
            sets = {}  # the page itself says what is wrong
        return {"labels": labels(), "sets": sets, "pages": self._pages()}

    def changed(self):
        """Forget what the exchange said, since something was fetched or handed in."""
        self.asked = -FRESH

    def path(self, file: str) -> str:
        """A file of the course as the server names it, or "" if it does not serve it."""
        if not os.path.isabs(file) and (self.served / file).exists():
            return file
        whole = Path(os.path.abspath(self.course.root / file))
        inside = whole.exists() and whole.is_relative_to(self.served)
        return whole.relative_to(self.served).as_posix() if inside else ""

    def data(self, ask_class: bool = False) -> dict:
        """All that the page shows; with ``ask_class`` the class's exchange is asked before."""
        try:
            found = self.course
            if found is None:
                return {"notes": [say("home.no-course", folder=self.served)]}
            lectures, sets = found.lectures, found.sets
        except (OSError, ValueError, KeyError, TypeError) as error:
            return {"notes": [say("home.no-index", why=error)]}
        given, notes = kept()
        try:
            term = found.term
        except (OSError, ValueError) as error:
            term = course.Term()
            notes.append(say("home.no-term", why=error))
        if not os.access(found.root, os.W_OK):
            notes.append(say("home.folder-read-only", folder=found.root))
        latest = standing.in_notebooks(given)
        if ask_class:
            notes += self._ask(found)
        if not self.has_class:
            self.known = problem_sets.handed_in(found)
        return {
            "notes": notes,
            "ask_class": self.has_class is not False and time.monotonic() > self.asked + FRESH,
            "go_on": self._go_on(found, latest),
            "review": _review(),
            "due": self._due(sets, term),
            "lectures": [self._lecture(each, latest) for each in lectures],
            "sets": [self._set(found, each, latest, term) for each in sets],
            "pages": self._pages(term),
        }

    def _ask(self, found):
        """Ask the class's exchange, if there is one; sentences on what it did not say."""
        place = exchange.here(found.root)
        self.has_class = place is not None
        try:
            if place:
                self.known, self.asked = problem_sets.ask(place, found), time.monotonic()
        except exchange.ExchangeError as error:
            return [say("home.no-exchange", why=error)]
        return []

    def _go_on(self, found, latest):
        last = standing.last_place(found, latest)
        if last and (path := self.path(last.part.file)):
            said = say("home.you-were", part=named(last.part), day=f"{last.time:%Y-%m-%d}")
            heading, do = say("home.where"), say("home.go-on")
            return {"heading": heading, "said": said, "do": do, "path": path, "cell": last.cell}
        if not found.lectures:
            return None
        first = found.lectures[0]
        said = say("home.begin", part=named(first), time=length(first.minutes))
        heading, do, path = say("home.first"), say("home.open"), self.path(first.file)
        return {"heading": heading, "said": said, "do": do, "path": path, "cell": ""}

    def _lecture(self, lecture, latest):
        found = standing.of_lecture(lecture, latest)
        return {
            "id": lecture.id,
            "title": f"{lecture.number}. {lecture.title}",
            "path": self.path(lecture.file),
            "about": re.sub(r"[*`]", "", lecture.about),  # Markdown
            "time": length(lecture.minutes),
            "marks": list(found.marks),
            "standing": stands(found),
        }

    def _set(self, found, each, latest, term):
        path, due = self.path(each.file), term.due.get(each.id)
        stands_at = standing.of_set(each, latest)
        status = self.known.get(each.id)
        said = problem_sets.told(status, bool(path), due, self.has_class)
        return {
            "id": each.id,
            "title": say("home.set-title", number=each.number, title=each.title),
            "path": path,
            "about": on_lectures(found, each),
            "time": length(each.minutes),
            "points": say("home.points", points=each.points),
            "marks": list(stands_at.marks),
            "standing": " ".join(filter(None, (stands(stands_at), _points(stands_at)))),
            "said": said,
            "actions": problem_sets.actions(found, each, status, bool(path), stands_at, due),
        }

    def _due(self, sets, term):
        """What is still due, in order, without what was handed in."""
        now, nothing = datetime.now().astimezone(), Status()
        waiting = sorted(
            (term.due[each.id], each.number, each) for each in sets if each.id in term.due
        )
        return [
            say("home.is-due", number=each.number, time=shown(when), left=left(when - now))
            for when, _, each in waiting
            if when > now and not self.known.get(each.id, nothing).handed_in
        ]

    def _pages(self, term=None):
        try:
            pages = json.loads(os.environ.get(PAGES) or "[]")
            pages = [{"text": str(each["text"]), "url": str(each["url"])} for each in pages]
        except (ValueError, TypeError, KeyError):
            pages = []
        if term and term.site:
            pages.append({"text": say("home.site"), "url": f"{term.site}/"})
        return pages


def named(part):
    """A lecture or problem set in a sentence."""
    is_lecture = isinstance(part, course.Lecture)
    key = "home.lecture" if is_lecture else "home.set"
    return say(key, number=part.number, title=part.title)


def on_lectures(found, problem_set):
    """The lectures that a problem set is on, in a sentence."""
    numbers = [each.number for each in found.lectures if each.id in problem_set.lectures]
    key = "home.on-lectures" if len(numbers) > 1 else "home.on-lecture"
    return say(key, numbers=listed(map(str, numbers))) if numbers else ""


def stands(found):
    """A Standing in a line."""
    if not found.answered:
        return say("home.questions", count=found.asked) if found.asked else ""
    key = "home.answered-missed" if found.missed else "home.answered"
    counts = {"answered": found.answered, "asked": found.asked}
    return say(key, **counts, right=found.right, missed=found.missed)


def _points(found):
    return say("home.so-far", earned=found.earned, points=found.points) if found.answered else ""


def kept():
    """Every answer that is kept, and in sentences what is not kept or cannot be read."""
    try:
        file = answers.path()
    except RuntimeError as error:  # this user has no home folder
        return [], [say("home.not-written", file="~", why=error)]
    if file is None:
        return [], [say("home.not-kept", name=answers.FILE)]
    try:
        found, unreadable = answers.read()
    except OSError as error:
        return [], [say("home.not-read", file=file, why=error.strerror)]
    said = [say("command.unreadable", file=file, lines=unreadable)] if unreadable else []
    if why := _unwritable(file):
        said.append(say("home.not-written", file=file, why=why))
    return found, said


def _unwritable(file):
    """Why a file cannot be written, or ""."""
    if file.is_dir():
        return say("home.is-folder", place=file)
    nearest = next(place for place in (file, *file.parents) if place.exists())
    if nearest != file and not nearest.is_dir():
        return say("home.is-file", place=nearest)
    return "" if os.access(nearest, os.W_OK) else say("home.read-only", place=nearest)


def _review():
    try:
        due = due_now()
        said = say("home.due-today", count=len(due)) if due else str(Nothing(schedule()))
        return {"count": len(due), "said": said}
    except (OSError, RuntimeError):
        return {"count": 0, "said": ""}  # a note says what cannot be read
