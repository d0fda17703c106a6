"""Everything that the course's home says, for test_sentences.py."""

import json
import os
import re
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from roofcheck import answer_page, answers, check, course, exchange
from roofcheck.home import handlers
from roofcheck.home import sets as home_sets
from roofcheck.home.page import Home
from roofcheck.home.sets import Status
from roofcheck.standing import Standing

DOINGS = ("fetch", "hand-in", "feedback", "answers", "give-up")


def of_home(tmp_path, wide):
    """Every sentence of the page and its server; what it changes is undone."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from of_page(monkeypatch, tmp_path, wide)


def of_page(monkeypatch, tmp_path, wide):
    """A course of two lectures and a set for each time that may be left."""
    monkeypatch.delenv(course.FOLDER, raising=False)
    folder, kept = tmp_path / "home", tmp_path / "home/kept.jsonl"
    monkeypatch.setenv(answers.FILE, str(kept))
    index = folder / course.INDEX
    page = Home(folder)

    def texts(data):
        """Every sentence in it, without names of files."""
        plain = {"path", "url", "id", "do", "cell", "marks", "sets"}
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            if isinstance(value, (dict, list)):
                yield from texts(value) if key not in plain else ()
            elif isinstance(value, str) and key not in plain - {"do"} and value not in DOINGS:
                yield re.sub(r"course/\S+|/\S+|\bUTC\b|\{why\}", "", value)

    yield from texts(page.data())
    index.parent.mkdir(parents=True)
    index.write_text("")
    yield texts(page.data()).__next__().partition(wide(":"))[0]  # the rest is an error of Python
    name = wide("a")
    lecture = {"id": "l09", "file": "a.ipynb", "number": 9, "title": name, "about": name,
               "minutes": 50, "asks": ["l09.add"], "guesses": []}  # fmt: skip
    asked = {"id": "ps9.bound", "number": 1, "title": name, "points": 2, "text": "", "cell": "",
             "paragraph": False, "lecture": "l09", "lesson": None}  # fmt: skip
    a_set = {"file": "a.ipynb", "title": name, "points": 2, "lectures": [], "questions": [asked]}
    minutes = {"ps9": 60, "ps8": 90, "ps7": 30, "ps6": 30, "ps5": 30}
    sets = [a_set | {"id": each, "number": int(each[2]), "minutes": minutes[each]}
            for each in minutes]  # fmt: skip
    sets[0] |= {"lectures": ["l09"]}
    sets[1] |= {"lectures": ["l09", "l10"]}
    lectures = [lecture, lecture | {"id": "l10", "number": 10}]
    index.write_text(json.dumps({"lectures": lectures, "sets": sets}))
    yield from texts(page.data())
    now, left = datetime.now().astimezone(), (73, 25, 5, 1, -1)
    due = zip(minutes, (now + timedelta(hours=hours, minutes=5) for hours in left), strict=True)
    term = "".join(f"due.{each} = {when.isoformat(timespec='seconds')}\n" for each, when in due)
    (folder / course.TERM).write_text(f'{term}site = "/a"\n')
    (folder / "a.ipynb").write_text("{}")
    check("l09.add", "k")
    check("ps9.bound", "Q")
    yield from (*texts(page.data(ask_class=True)), *texts(page.begin()))
    check("l09.add", "(k-1)/(2*(k+1))")
    monkeypatch.setattr(os, "access", lambda *place: False)
    yield from texts(page.data())
    (folder / course.TERM).write_text("due.ps9 = ''")
    yield re.sub(r"ps9", "", next(texts(page.data())))

    for file in ("", f"{folder}", f"{kept}/a"):
        monkeypatch.setenv(answers.FILE, file)
        yield from texts({"notes": page.data()["notes"][:1]})
    with monkeypatch.context() as broken:
        broken.setenv(answers.FILE, str(kept))
        broken.setattr(answers, "read", raising(OSError(1, wide("a"))))
        yield from texts({"notes": page.data()["notes"][:1]})
        broken.setattr(answers, "path", raising(RuntimeError(wide("a"))))
        yield page.data()["notes"][0]

    monkeypatch.setenv(answers.FILE, str(kept))
    status = Status(released=True, handed_in=now, feedback=True)
    for has, is_here in ((Status(released=True), False), (Status(), False), (status, True)):
        yield from texts(home_sets.told(has, is_here, None, has_class=True))
    for has, is_here in ((status, True), (None, False)):
        yield from texts(home_sets.told(has, is_here, None, has_class=False))
    stands = Standing(("missed",))
    for is_here in (False, True):
        found = course.Course(folder).set("ps9")
        yield from texts(
            home_sets.actions(course.Course(folder), found, status, is_here, stands, None)
        )
    monkeypatch.setattr(answer_page, "may_be_shown", lambda *asked: True)
    yield from texts(home_sets.actions(course.Course(folder), found, status, True, stands, None))
    yield from of_handlers(monkeypatch, page, wide)


def raising(error):
    def fails(*given):
        raise error

    return fails


def of_handlers(monkeypatch, page, wide):
    """What the home's server says by itself, with and without an exchange."""
    yield handlers.ReviewHandler._next(None, ["l09.add", "ps9.bound"])["said"]
    yield handlers.ReviewHandler._judged(None, "l09.none", "")["said"]
    place = SimpleNamespace(
        feedback=lambda name: None, released=raising(exchange.ExchangeError(wide("a")))
    )
    asking = SimpleNamespace(home=page)
    for found in (None, place):
        monkeypatch.setattr(exchange, "here", lambda *folder, found=found: found)
        with pytest.raises(ValueError) as told:  # noqa: PT011  it is what is looked at
            handlers.PageHandler._page(asking, "feedback", "ps9")
        yield str(told.value)
    yield page.data(ask_class=True)["notes"][-1]
