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
from roofcheck.sentences import sentence
from roofcheck.showing.derivation_page import text_as_html
from roofcheck.showing.explanation import explain_answer, format_answer, question_as_html
from roofcheck.study import answers
from roofcheck.study.page_templates import link_in_lab, make_environment
from roofcheck.tables.catalogue import load_questions, questions_of_set
from roofcheck.tables.variants import find_variant
from roofkit._html import subscript_times
from rooflab.words import LANGUAGE_VARIABLE, SOURCE_LANGUAGE

GIVEN_UP_FILE = "given-up.jsonl"
MODEL_ANSWERS_FILE = "answers.json"
LAB_ADDRESS = "../../lab/tree/"
# What a page shows of a course's own Markdown; HTML in it stays text.
MARKDOWN = mistune.create_markdown(escape=True)


def may_be_shown(course: Course, name: str) -> bool:
    """Whether the answers of a set may be shown: it is no longer due, and finished or given up.

    Raises ValueError for a set that the course does not have.
    """
    due = course.term.due.get(course.set(name).id)
    if due and datetime.now().astimezone() < due:
        return False
    right = {
        each.question for each in answers.read_answers()[0] if each.credit == 1 and not each.again
    }
    return name in _read_given_up() or questions_of_set(name).keys() <= right


def give_up(name: str):
    """Note that the student has given a set up, beside the answers.

    Raises ValueError for an unknown set and where no answers are kept, and OSError where the note
    cannot be written.
    """
    questions_of_set(name)
    if (file := answers.file_path()) is None:
        raise ValueError(sentence("answers.not-kept", variable=answers.FILE_VARIABLE))
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_name(GIVEN_UP_FILE).open("a", encoding="utf-8") as out:
        out.write(json.dumps({"time": f"{datetime.now().astimezone()}", "set": name}) + "\n")


def make_answer_page(course: Course, name: str, lab: str = LAB_ADDRESS) -> str:
    """The page of a set: one file of HTML that runs nothing and asks no host.

    ``lab`` is the address at which JupyterLab opens the course's folder, by default as seen from
    ``/roofline/answers/psN`` of the same server. Raises ValueError for an unknown set, and
    PermissionError while its answers may not be shown.
    """
    found = course.set(name)
    if not may_be_shown(course, name):
        raise PermissionError(sentence("answers.not-yet", name=name))
    # The latest answer of a notebook: a review asks with other figures.
    latest = {each.question: each for each in answers.read_answers()[0] if not each.again}
    texts, models = _read_texts(course, found), _read_model_answers(course).get(name, {})
    parts = [
        _paragraph_part(each, texts, models) if each.paragraph
        else _question_part(each, latest.get(each.id))
        for each in found.questions
    ]  # fmt: skip
    for asks, part in zip(found.questions, parts, strict=True):
        if asks.lesson:
            part["lesson"] = link_in_lab(course, asks.lesson, lab)
    language = os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE)
    template = make_environment().get_template("answers.html.j2")
    return template.render(language=language, set=found, parts=parts)


def _question_part(asks, latest):
    """A question that is checked, with the latest answer to it, if there is one."""
    question = load_questions()[asks.id]
    if latest and latest.me:
        question = find_variant(asks.id, latest.me)
    state = "none" if latest is None else _state_of(latest.credit)
    value, code = _read_kept_answer(question, latest.answer) if latest else ("", "")
    return _common_part(asks) | {
        "state": state,
        "stands": sentence(f"answers.{state}"),
        "text": Markup(question_as_html(question)),
        "value": value,
        "code": code,
        "said": Markup(text_as_html(latest.said)) if latest else "",
        "explained": Markup(explain_answer(question, is_open=state != "right")),
    }


def _paragraph_part(asks, texts, models):
    """A paragraph that a person reads."""
    return _common_part(asks) | {
        "state": "unread",
        "stands": sentence("answers.person"),
        "text": Markup(_render_markdown(texts.get(asks.text, ""))),
        "ungraded": True,
        "model": Markup(_render_markdown(models.get(asks.cell, ""))),
    }


def _common_part(asks):
    empty = dict.fromkeys(("value", "code", "said", "explained", "model"), "")
    return empty | {
        "cell": asks.cell,
        "title": f"{asks.number}. {asks.title}",
        "lesson": None,
        "ungraded": False,
    }


def _state_of(credit):
    return "right" if credit == 1 else "partly" if credit else "wrong"


def _read_kept_answer(question, text):
    """A kept answer as a value that is read, or as code."""
    if re.match(r"def |async def |@|[^'\"]*\blambda\b", text):
        return "", text
    try:
        # NumPy writes np.float64(1.5).
        value = ast.literal_eval(re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text, ""
    return format_answer(question, value), ""


def _read_texts(course, found):
    """The text of each cell of a set, by the cell's id; nothing where its notebook is not there."""
    try:
        cells = nbformat.read(course.root / found.file, as_version=4).cells
    except (OSError, ValueError):
        return {}
    return {cell.id: re.sub(r"^#+ .*", "", cell.source) for cell in cells if "id" in cell}


def _read_model_answers(course):
    """The model answers of each set by the ids of their cells; none in a class's kit."""
    # In a folder of links they lie beside what the links lead to.
    path = (course.root / "course/en").resolve().parent / MODEL_ANSWERS_FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _render_markdown(text):
    return subscript_times(MARKDOWN(text)) if text else ""


def _read_given_up():
    """The sets that were given up; what cannot be read in the file counts for nothing."""
    file = answers.file_path()
    if file is None or not (kept := file.with_name(GIVEN_UP_FILE)).is_file():
        return set()
    found = set()
    for line in kept.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            found.add(json.loads(line)["set"])
    return found
