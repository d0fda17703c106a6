"""The answers of a problem set as a page, for who learns alone.

A set's answers are shown once nothing of it is to be handed in any more and it is finished: every
question was answered right, or the student gave it up. What was given up stands in a file beside
the answers. Model answers of paragraphs come from ``course/answers.json``, which the self-study kit
and a clone of the repository have, and a class does not.
"""

import ast
import contextlib
import json
import os
import re
from datetime import datetime

import mistune
import nbformat
from markupsafe import Markup

from roofcheck.course import Course
from roofcheck.sentences import say
from roofcheck.showing.explaining import answered, asked, explained
from roofcheck.showing.showing import marked
from roofcheck.study import answers
from roofcheck.study.page import environment, in_lab
from roofcheck.tables.table import questions_of, tables
from roofcheck.tables.variants import variant
from roofkit._html import quantities
from rooflab.words import LANGUAGE, WRITTEN_IN

GIVEN_UP = "given-up.jsonl"
MODELS = "answers.json"
LAB = "../../lab/tree/"
# What a page shows of a course's own Markdown; HTML in it stays text.
MARKDOWN = mistune.create_markdown(escape=True)


def may_be_shown(course: Course, name: str) -> bool:
    """Whether the answers of a set may be shown: it is no longer due, and finished or given up.

    Raises ValueError for a set that the course does not have.
    """
    due = course.term.due.get(course.set(name).id)
    if due and datetime.now().astimezone() < due:
        return False
    right = {each.question for each in answers.read()[0] if each.credit == 1 and not each.again}
    return name in _given_up() or questions_of(name).keys() <= right


def give_up(name: str):
    """Note that the student has given a set up, beside the answers.

    Raises ValueError for an unknown set and where no answers are kept, and OSError where the note
    cannot be written.
    """
    questions_of(name)
    if (file := answers.path()) is None:
        raise ValueError(say("answers.not-kept", variable=answers.FILE))
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_name(GIVEN_UP).open("a", encoding="utf-8") as out:
        out.write(json.dumps({"time": f"{datetime.now().astimezone()}", "set": name}) + "\n")


def answer_page(course: Course, name: str, lab: str = LAB) -> str:
    """The page of a set: one file of HTML that runs nothing and asks no host.

    ``lab`` is the address at which JupyterLab opens the course's folder, by default as seen from
    ``/roofline/answers/psN`` of the same server. Raises ValueError for an unknown set, and
    PermissionError while its answers may not be shown.
    """
    found = course.set(name)
    if not may_be_shown(course, name):
        raise PermissionError(say("answers.not-yet", name=name))
    # The latest answer of a notebook: a review asks with other figures.
    latest = {each.question: each for each in answers.read()[0] if not each.again}
    texts, models = _texts(course, found), _models(course).get(name, {})
    parts = [
        _paragraph(each, texts, models) if each.paragraph
        else _question(each, latest.get(each.id))
        for each in found.questions
    ]  # fmt: skip
    for asks, part in zip(found.questions, parts, strict=True):
        if asks.lesson:
            part["lesson"] = in_lab(course, asks.lesson, lab)
    language = os.environ.get(LANGUAGE, WRITTEN_IN)
    template = environment().get_template("answers.html.j2")
    return template.render(language=language, set=found, parts=parts)


def _question(asks, latest):
    """A question that is checked, with the latest answer to it, if there is one."""
    question = tables()[asks.id]
    if latest and latest.me:
        question = variant(asks.id, latest.me)
    state = "none" if latest is None else _state(latest.credit)
    value, code = _given(question, latest.answer) if latest else ("", "")
    return _part(asks) | {
        "state": state,
        "stands": say(f"answers.{state}"),
        "text": Markup(asked(question)),
        "value": value,
        "code": code,
        "said": Markup(marked(latest.said)) if latest else "",
        "explained": Markup(explained(question, is_open=state != "right")),
    }


def _paragraph(asks, texts, models):
    """A paragraph that a person reads."""
    return _part(asks) | {
        "state": "unread",
        "stands": say("answers.person"),
        "text": Markup(_rendered(texts.get(asks.text, ""))),
        "ungraded": True,
        "model": Markup(_rendered(models.get(asks.cell, ""))),
    }


def _part(asks):
    empty = dict.fromkeys(("value", "code", "said", "explained", "model"), "")
    return empty | {
        "cell": asks.cell,
        "title": f"{asks.number}. {asks.title}",
        "lesson": None,
        "ungraded": False,
    }


def _state(credit):
    return "right" if credit == 1 else "partly" if credit else "wrong"


def _given(question, text):
    """A kept answer as a value that is read, or as code."""
    if re.match(r"def |async def |@|[^'\"]*\blambda\b", text):
        return "", text
    try:
        # NumPy writes np.float64(1.5).
        value = ast.literal_eval(re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text, ""
    return answered(question, value), ""


def _texts(course, found):
    """The text of each cell of a set, by the cell's id; nothing where its notebook is not there."""
    try:
        cells = nbformat.read(course.root / found.file, as_version=4).cells
    except (OSError, ValueError):
        return {}
    return {cell.id: re.sub(r"^#+ .*", "", cell.source) for cell in cells if "id" in cell}


def _models(course):
    """The model answers of each set by the ids of their cells; none in a class's kit."""
    # In a folder of links they lie beside what the links lead to.
    path = (course.root / "course/en").resolve().parent / MODELS
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _rendered(text):
    return quantities(MARKDOWN(text)) if text else ""


def _given_up():
    """The sets that were given up; what cannot be read in the file counts for nothing."""
    file = answers.path()
    if file is None or not (kept := file.with_name(GIVEN_UP)).is_file():
        return set()
    found = set()
    for line in kept.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            found.add(json.loads(line)["set"])
    return found
