"""Makes feedback pages for students, which run no script, load nothing and mark unread parts.

nbgrader's ``generate_feedback`` makes the same pages, because nbgrader_config.py names this
module's exporter. ``write_pages`` only writes pages whose marks, comments, notebook or released
answers changed.
"""

import contextlib
import copy
import functools
import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import nbformat
from markupsafe import Markup
from nbconvert.exporters.exporter import Exporter
from nbgrader.api import Gradebook, MissingEntry

from roofcheck.cells import question_call
from roofcheck.course import INDEX
from roofcheck.course import Course as Contents
from roofcheck.handin.notebook_file import hash_cells
from roofcheck.sentences import sentence as check_sentence
from roofcheck.showing.explanation import explain_answer
from roofcheck.study import page_templates
from roofcheck.tables.catalogue import load_questions
from roofcheck.tables.variants import find_variant
from roofgrade.common import safe_files
from roofgrade.common.results import REFUSED, WAITING
from roofgrade.common.sentences import format_points, sentence
from roofgrade.course import SETTINGS_FILE, Course
from roofgrade.gradebook.answer_release import are_answers_released, read_model_answers
from roofgrade.gradebook.database import open_gradebook
from roofgrade.gradebook.standings import query_standings, read_counting_results
from roofgrade.pages.notebook_html import Cleaning
from roofgrade.restore.submitted_cells import LARGEST

TEMPLATE = Path(__file__).parent / "templates/feedback.html.j2"
# nbgrader's release_feedback uses these files to find a student's folder in the exchange.
EXCHANGE_FILES = ("timestamp.txt", "submission_secret.txt")
LARGEST_FILE = 1_000  # bytes, of each of them
INPUTS_HASH_TAG = re.compile(r'<meta name="follows-from" content="([0-9a-f]{64})"')
PLAIN_TAG = '<meta name="shown" content="plain">'
# Prefixes of the keys of all sentences that a page may contain.
SENTENCE_KEYS = ("language", "feedback.", "pages.", "answers.")


@dataclass(frozen=True)
class FeedbackPage:
    """A feedback page with its student and path; ``status`` is "written" or "left" unchanged.

    ``plain`` means that the notebook was too large to render and is shown as plain text.
    """

    student: str
    path: Path
    status: str
    plain: bool = False

    def __str__(self):
        line = sentence(f"feedback.{self.status}", path=os.path.relpath(self.path))
        return sentence("feedback.as_text", page=line) if self.plain else line


def write_pages(course, assignment, students=None):
    """Write the pages that changed, for all students or only ``students``, and return every page.

    Raises ValueError for a student without graded work, or a set that is not in the gradebook.
    """
    results = read_counting_results(course, assignment)
    exporter = FeedbackExporter(config=course.config)
    with open_gradebook(course) as gradebook:
        pages = []
        for name, standing in query_standings(gradebook, assignment, results).items():
            has_notebook = _notebook_path(course, assignment, name).is_file()
            has_work = has_notebook or standing.state in (REFUSED, WAITING)
            if has_work and (students is None or name in students):
                result = results.get(name)
                page = _write_page(course, assignment, standing, gradebook, exporter, result)
                pages.append(page)
    if students and (missing := sorted(set(students) - {page.student for page in pages})):
        students = ", ".join(missing)
        raise ValueError(sentence("feedback.nothing_of", students=students, assignment=assignment))
    return pages


def find_remarks(course, assignment):
    """Return remarks on existing pages by student: out of date, or shown as plain text."""
    exporter, remarks = FeedbackExporter(config=course.config), {}
    with open_gradebook(course) as gradebook:
        results = read_counting_results(course, assignment)
        pages = ((name, _page_path(course, assignment, name)) for name in results)
        paths = {name: path for name, path in pages if path.is_file()}
        standings = query_standings(gradebook, assignment, results) if paths else {}
        for name, path in paths.items():
            content = _page_content(course, assignment, standings[name], gradebook, results[name])
            old = not _is_current(path, exporter, *content)
            conditions = {"summary.plain_feedback": _is_plain(path), "summary.old_feedback": old}
            remarks[name] = [sentence(key) for key, applies in conditions.items() if applies]
    return remarks


def _write_page(course, assignment, standing, gradebook, exporter, result):
    path = _page_path(course, assignment, standing.student)
    nb, resources = _page_content(course, assignment, standing, gradebook, result)
    for name in EXCHANGE_FILES:
        # A refused submission has no copy in autograded/.
        for folder in (course.submitted, course.autograded):
            place = folder / standing.student / assignment
            content = safe_files.read(place, name, most=LARGEST_FILE)
            if content is not None:
                _write_file(course, path.with_name(name), content)
    if path.is_file() and _is_current(path, exporter, nb, resources):
        return FeedbackPage(standing.student, path, "left", _is_plain(path))
    html, _ = exporter.from_notebook_node(nb, resources)
    _write_file(course, path, html.encode())
    return FeedbackPage(standing.student, path, "written", _is_plain(path))


def _page_path(course, assignment, student):
    return course.feedback / student / assignment / f"{assignment}.html"


def _page_content(course, assignment, standing, gradebook, result):
    notebook = _notebook_path(course, assignment, standing.student)
    readable = standing.state != REFUSED and notebook.is_file()
    nb = nbformat.read(notebook, as_version=4) if readable else nbformat.v4.new_notebook()
    names = {"student": standing.student, "assignment": assignment, "notebook": assignment}
    data = {"gradebook": gradebook, "standing": standing, "course": course, "result": result}
    return nb, {"nbgrader": names | data}


def _is_current(path, exporter, nb, resources):
    before = INPUTS_HASH_TAG.search(path.read_text(encoding="utf-8", errors="replace"))
    return bool(before) and before[1] == exporter.hash_inputs(*exporter.add_marks(nb, resources))


def _is_plain(path):
    return PLAIN_TAG in path.read_text(encoding="utf-8", errors="replace")


def _notebook_path(course, assignment, student):
    return course.autograded / student / assignment / f"{assignment}.ipynb"


def _write_file(course, path, content):
    course.feedback.mkdir(exist_ok=True)
    *folders, name = path.relative_to(course.open_to_group(course.feedback)).parts
    place = course.feedback, *folders
    with safe_files.open_below(*place, make=True, shared=course.shared) as folder:
        safe_files.write(folder, name, content, 0o644, durable=False)


class FeedbackExporter(Exporter):
    """Exports a graded notebook as a feedback page, with the marks from the gradebook."""

    output_mimetype, file_extension = "text/html", ".html"

    def from_notebook_node(self, nb, resources=None, **_):
        """Return the page and the resources."""
        nb, resources = self.add_marks(nb, resources)
        inputs_hash = self.hash_inputs(nb, resources)
        nb, _ = Cleaning(parent=self, schemes=False).preprocess(nb, resources)
        context = resources["nbgrader"]
        page = _load_template().render(
            said=_format_html, language=sentence("language"),
            **{name: context[name] for name in ("standing", "assignment", "receipt")},
            parts=_make_parts(nb, context["learning"]),
            plain=nb.metadata.roofgrade.plain, follows=inputs_hash,
        )  # fmt: skip
        return page, resources

    def add_marks(self, nb, resources):
        """Return a copy of the notebook with all marks and comments, and the resources.

        The resources get the Standing and, after the answers are released, the ``learning`` data of
        each graded cell by grade id. Paragraphs then also get their model answer.
        """
        nb, resources = copy.deepcopy(nb), self._init_resources(resources)
        context = resources["nbgrader"]
        student, assignment = context["student"], context["assignment"]
        with contextlib.ExitStack() as stack:
            gradebook = context.get("gradebook")
            gradebook = gradebook or stack.enter_context(Gradebook(context["db_url"]))
            if "standing" not in context:
                context["standing"] = query_standings(gradebook, assignment, only=student)[student]
            grades = _read_marks(gradebook, context["notebook"], assignment, student)
        for cell in nb.cells:
            if not isinstance(marks := cell.metadata.get("nbgrader"), dict):
                continue
            marks.pop("model", None)
            if marks.get("grade_id") in grades:
                marks.update(grades.pop(marks["grade_id"]))
            elif marks.get("grade") or marks.get("solution"):
                del cell.metadata["nbgrader"]  # the cell is not part of this course
        if "course" not in context:
            place = Path(resources["metadata"]["path"]).absolute()
            roots = (root for root in (place, *place.parents) if (root / SETTINGS_FILE).is_file())
            course = context["course"] = next(map(Course, roots), None)
            context["result"] = self._read_results(course, assignment).get(student)
        course, context["learning"] = context["course"], {}
        place = course and course.submitted / student / assignment
        content = course and safe_files.read(place, f"{assignment}.ipynb", most=LARGEST)
        context["receipt"] = hash_cells(content) if content else ""
        if course and are_answers_released(course, assignment):
            model_answers = read_model_answers(course, assignment)
            for cell in nb.cells:
                if _cell_kind(cell, marks := cell.metadata.get("nbgrader", {})) == "written":
                    marks["model"] = model_answers.get(marks["grade_id"], "")
            context["learning"] = _collect_learning(nb, context)
        return nb, resources

    @functools.cache  # noqa: B019  an exporter exists only during a run
    def _read_results(self, course, assignment):
        return read_counting_results(course, assignment) if course else {}

    def hash_inputs(self, nb, resources):
        """Return the hash of everything that a page is made from."""
        template = [TEMPLATE.read_text(encoding="utf-8"), *page_templates.read_sources()]
        context = resources["nbgrader"]
        sentences = [
            {key: text for key, text in table.templates().items() if key.startswith(SENTENCE_KEYS)}
            for table in (sentence, check_sentence)
        ]
        about = [asdict(context["standing"]), context["learning"], context["receipt"]]
        inputs = [nbformat.writes(nb), template, sentences, *about]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


@functools.cache
def _load_template():
    environment = page_templates.make_environment(TEMPLATE.parent)
    environment.filters["number"] = format_points
    return environment.get_template(TEMPLATE.name)


def _format_html(name, **fields):
    """Return a sentence as HTML, with its fields escaped unless they are HTML."""
    return Markup(sentence.templates()[f"feedback.{name}"]).format(**fields)


def _read_marks(gradebook, notebook, assignment, student):
    marks = {}
    with contextlib.suppress(MissingEntry):
        submission = gradebook.find_submission_notebook(notebook, assignment, student)
        for grade in submission.grades:
            unread = grade.max_score if grade.needs_manual_grade else 0.0
            marks[grade.name] = {
                "score": grade.score, "points": grade.max_score, "unread_points": unread,
                "by_hand": grade.manual_score is not None,
            }  # fmt: skip
        for comment in submission.comments:
            # Use only manual comments: nbgrader's remark on empty answers says less than the check.
            marks.setdefault(comment.name, {})["comment"] = comment.manual_comment or ""
    return marks


def _collect_learning(nb, context):
    """Return each graded cell's judged value, explained answer and lecture link, by grade id.

    The explanation uses the student's figures, and is expanded if points were lost.
    """
    links = _find_lectures(context["course"], context["assignment"])
    result, learning = context["result"], {}
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        kind, name = _cell_kind(cell, marks), marks.get("grade_id")
        if kind not in ("check", "written"):
            continue
        call = question_call(cell.source) if kind == "check" else None
        explained = value = ""
        if question := call and load_questions().get(call.question):
            if call.me:
                question = find_variant(call.question, context["student"])
            lost = marks.get("score", 0) < marks.get("points", 0)
            explained = explain_answer(question, is_open=lost)
            judged = result.answers.get(name) if result else None
            value = judged.given if judged and judged.question == call.question else ""
        lesson = asdict(links.get(name, page_templates.Link("")))
        learning[name] = {"value": value, "explained": explained, "lesson": lesson}
    return learning


def _find_lectures(course, assignment):
    if not (course.root / INDEX).is_file():
        return {}
    contents = Contents(course.root)
    questions = [q for listed in contents.sets if listed.id == assignment for q in listed.questions]
    return {q.cell: page_templates.link_on_site(contents, q.lesson) for q in questions if q.lesson}


def _make_parts(nb, learning):
    parts, heading = [], ""
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        heading = cell.metadata.get("heading", heading)
        parts.append(
            {
                "id": marks.get("grade_id", cell.id), "kind": _cell_kind(cell, marks),
                "title": heading or marks.get("grade_id", ""), "marks": marks,
                "comment": Markup(marks.get("comment", "")), "source": Markup(cell.source),
                "outputs": [Markup(output.data["text/html"]) for output in cell.get("outputs", [])],
                "model": Markup(marks.get("model", "")),
                "learning": learning.get(marks.get("grade_id")), "code": cell.cell_type == "code",
            }
        )  # fmt: skip
    return parts


def _cell_kind(cell, marks):
    if marks.get("grade"):
        return "written" if marks.get("solution") else "check"
    if marks.get("task"):
        return "written"
    if marks.get("solution"):
        return "answer"
    if marks.get("locked"):
        return "course"
    return "own"
