"""A self-study page with the answers to a problem set.

A page is available if its set is past its due date and the student has answered every question
right or given the set up. Giving up is recorded in a file next to the answers. The model answers
for paragraphs come from ``course/answers.json``, which is in self-study kits and in the repository.
A class's course folder doesn't have this file. There, only the teacher releases answers.
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

from roofcheck.cells import question_call
from roofcheck.course import Course
from roofcheck.handin.exchange import find_exchange
from roofcheck.handin.notebook_file import find_set_file
from roofcheck.sentences import sentence
from roofcheck.showing.derivation_page import text_as_html
from roofcheck.showing.explanation import explain_answer, format_answer, question_as_html
from roofcheck.study import answers
from roofcheck.study.course_progress import latest_answers
from roofcheck.study.page_templates import link_in_lab, make_environment
from roofcheck.tables.catalogue import load_questions, questions_of_set
from roofcheck.tables.variants import find_variant
from roofkit._html import subscript_times
from rooflab.words import LANGUAGE_VARIABLE, SOURCE_LANGUAGE

GIVEN_UP_FILE = "given-up.jsonl"
MODEL_ANSWERS_FILE = "answers.json"
OWN_ID = re.compile(r"""^me = (["'])(.+)\1""", re.MULTILINE)
LAB_ADDRESS = "../../lab/tree/"
# Renders the course's own Markdown; HTML in it is escaped.
MARKDOWN = mistune.create_markdown(escape=True)


def is_self_study(course: Course) -> bool:
    """Return whether the course has model answers and no exchange, so it isn't a class's."""
    return _model_answers_path(course).is_file() and find_exchange(course.root) is None


def may_be_shown(course: Course, name: str) -> bool:
    """Return whether a set is past its due date, finished or given up, and not a class's.

    Raises ValueError for an unknown set.
    """
    due = course.term.due.get(course.set(name).id)
    if due and datetime.now().astimezone() < due:
        return False
    kept = answers.read_answers()[0]
    right = {answer.question for answer in kept if answer.credit == 1 and not answer.again}
    is_done = name in _read_given_up() or questions_of_set(name).keys() <= right
    return is_done and is_self_study(course)


def give_up(name: str):
    """Record in a file next to the answers that the student gives a set up.

    Raises ValueError for an unknown set or if no answers are saved, and OSError if the file cannot
    be written.
    """
    questions_of_set(name)
    if (file := answers.file_path()) is None:
        raise ValueError(sentence("answers.not-kept", variable=answers.FILE_VARIABLE))
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_name(GIVEN_UP_FILE).open("a", encoding="utf-8") as out:
        out.write(json.dumps({"time": f"{datetime.now().astimezone()}", "set": name}) + "\n")


def make_answer_page(course: Course, name: str, lab: str = LAB_ADDRESS) -> str:
    """Return a set's answer page: one HTML file without scripts or network access.

    ``lab`` is the URL at which JupyterLab opens the course folder, by default relative to
    ``/roofline/answers/psN`` on the same server. Raises ValueError for an unknown set, and
    PermissionError if its answers are not available yet.
    """
    problem_set = course.set(name)
    if not may_be_shown(course, name):
        raise PermissionError(sentence("answers.not-yet", name=name))
    # Only answers in notebooks count, because reviews have other values.
    kept = answers.read_answers()[0]
    latest, cells = latest_answers(kept), _read_cells(course, problem_set)
    texts = {cell.id: re.sub(r"^#+ .*", "", cell.source) for cell in cells if "id" in cell}
    models = json.loads(_model_answers_path(course).read_text(encoding="utf-8")).get(name, {})
    own = {call.question for cell in cells if (call := question_call(cell.source)) and call.me}
    ids = [answer.me for answer in kept if answer.me]
    ids += [found[2] for cell in cells if (found := OWN_ID.search(cell.source))]
    parts = [
        _paragraph_part(question, texts, models) if question.paragraph
        else _question_part(question, latest.get(question.id), ids, question.id in own)
        for question in problem_set.questions
    ]  # fmt: skip
    for question, part in zip(problem_set.questions, parts, strict=True):
        if question.lesson:
            part["lesson"] = link_in_lab(course, question.lesson, lab)
    language = os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE)
    template = make_environment().get_template("answers.html.j2")
    return template.render(language=language, set=problem_set, parts=parts)


def _question_part(asks, latest, ids, has_own_figures):
    question = load_questions()[asks.id]
    whose = latest.me if latest else ids[-1] if ids and has_own_figures else ""
    if whose:
        question = find_variant(asks.id, whose)
    states = {None: "none", 1: "right", 0: "wrong"}
    state = states.get(latest and latest.credit, "partly")
    value, code = _read_kept_answer(question, latest.answer) if latest else ("", "")
    return _common_part(asks) | {
        "state": state,
        "stands": sentence(f"answers.{state}"),
        "text": Markup(question_as_html(question)),
        "note": sentence("answers.printed") if has_own_figures and not whose else "",
        "value": value,
        "code": code,
        "said": Markup(text_as_html(latest.said)) if latest else "",
        "explained": Markup(explain_answer(question, is_open=state != "right")),
    }


def _paragraph_part(asks, texts, models):
    return _common_part(asks) | {
        "state": "unread",
        "stands": sentence("answers.person"),
        "text": Markup(_render_markdown(texts.get(asks.text, ""))),
        "ungraded": True,
        "model": Markup(_render_markdown(models.get(asks.cell, ""))),
    }


def _common_part(asks):
    empty = dict.fromkeys(("note", "value", "code", "said", "explained", "model"), "")
    title = f"{asks.number}. {asks.title}"
    return empty | {"cell": asks.cell, "title": title, "lesson": None, "ungraded": False}


def _read_kept_answer(question, text):
    """Return a saved answer as a formatted value and as code, one of which is ""."""
    if re.match(r"def |async def |@|[^'\"]*\blambda\b", text):
        return "", text
    try:
        # NumPy's repr is np.float64(1.5).
        value = ast.literal_eval(re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text, ""
    return format_answer(question, value), ""


def _read_cells(course, problem_set):
    """Return the cells of the student's notebook, or [] if it is missing."""
    with contextlib.suppress(OSError, ValueError):
        return nbformat.read(find_set_file(course.root, problem_set), as_version=4).cells
    return []


def _model_answers_path(course):
    # If the course folder contains links, the file is next to their targets.
    return (course.root / "course/en").resolve().parent / MODEL_ANSWERS_FILE


def _render_markdown(text):
    return subscript_times(MARKDOWN(text)) if text else ""


def _read_given_up():
    """Return the sets that the student gave up; unreadable lines are skipped."""
    file = answers.file_path()
    if file is None or not (kept := file.with_name(GIVEN_UP_FILE)).is_file():
        return set()
    names = set()
    for line in kept.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            names.add(json.loads(line)["set"])
    return names
