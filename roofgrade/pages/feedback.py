"""What students get back: one page each that runs nothing, asks no host, and says what is read.

nbgrader's own ``generate_feedback`` makes the same pages, as nbgrader_config.py names the exporter
of this module. ``write_pages`` makes those whose marks, comments or notebook changed, or whose answers
were released.
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
from traitlets import default

from roofcheck.cells import question_call
from roofcheck.course import INDEX
from roofcheck.course import Course as Contents
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
from roofgrade.gradebook.standings import query_standings, read_counting_results
from roofgrade.pages.notebook_html import Cleaning

TEMPLATE = Path(__file__).parent / "templates/feedback.html.j2"
# By these files nbgrader's release_feedback finds a student's place in the exchange.
EXCHANGE_FILES = ("timestamp.txt", "submission_secret.txt")
LARGEST_FILE = 1_000  # bytes of one of them
INPUTS_HASH_TAG = re.compile(r'<meta name="follows-from" content="([0-9a-f]{64})"')
PLAIN_TAG = '<meta name="shown" content="plain">'
# The sentences that a page is made of, by how their keys begin.
SENTENCE_KEYS = ("language", "feedback.", "pages.", "answers.")


@dataclass(frozen=True)
class FeedbackPage:
    """A feedback page: whose it is, where it lies, and whether it was "written" or "left".

    ``plain`` says that it shows as plain text what was too much to be rendered.
    """

    student: str
    path: Path
    status: str
    plain: bool = False

    def __str__(self):
        said = sentence(f"feedback.{self.status}", path=os.path.relpath(self.path))
        return sentence("feedback.as_text", page=said) if self.plain else said


def write_pages(course, assignment, students=None):
    """Write the page of each student, or of those named, whose marks or notebook changed.

    Returns a Page for each. Raises ValueError for a student of whom nothing was graded, or for a
    set that the gradebook does not know.
    """
    kept = read_counting_results(course, assignment)
    exporter = FeedbackExporter(config=course.config)
    with Gradebook(course.db_url) as gradebook:
        pages = [
            _write_page(course, assignment, standing, gradebook, exporter, kept.get(name))
            for name, standing in query_standings(gradebook, assignment, kept).items()
            if (students is None or name in students)
            and (
                standing.state in (REFUSED, WAITING)
                or _notebook_path(course, assignment, name).is_file()
            )
        ]
    if students and (missing := sorted(set(students) - {made.student for made in pages})):
        raise ValueError(
            sentence("feedback.nothing_of", students=", ".join(missing), assignment=assignment)
        )
    return pages


def find_remarks(course, assignment):
    """What is to say of the pages that there are, by student.

    A page may be older than marks, comments, notebook or released answers, or hold what was too
    much as plain text.
    """
    exporter, found = FeedbackExporter(config=course.config), {}
    with Gradebook(course.db_url) as gradebook:
        kept = read_counting_results(course, assignment)
        paths = {name: _page_path(course, assignment, name) for name in kept}
        paths = {name: path for name, path in paths.items() if path.is_file()}
        everyone = query_standings(gradebook, assignment, kept) if paths else {}
        for name, path in paths.items():
            content = _page_content(course, assignment, everyone[name], gradebook, kept[name])
            old = not _is_current(path, exporter, *content)
            said = {"summary.plain_feedback": _is_plain(path), "summary.old_feedback": old}
            found[name] = [sentence(key) for key, holds in said.items() if holds]
    return found


def _write_page(course, assignment, standing, gradebook, exporter, result):
    path = _page_path(course, assignment, standing.student)
    nb, resources = _page_content(course, assignment, standing, gradebook, result)
    for name in EXCHANGE_FILES:
        # A submission that was refused has no copy in autograded/.
        for folder in (course.submitted, course.autograded):
            _copy_exchange_file(
                course, folder / standing.student / assignment / name, path.with_name(name)
            )
    if path.is_file() and _is_current(path, exporter, nb, resources):
        return FeedbackPage(standing.student, path, "left", _is_plain(path))
    made, _ = exporter.from_notebook_node(nb, resources)
    _write_file(course, path, made.encode())
    return FeedbackPage(standing.student, path, "written", _is_plain(path))


def _page_path(course, assignment, student):
    return course.feedback / student / assignment / f"{assignment}.html"


def _page_content(course, assignment, standing, gradebook, result):
    """The notebook that a page is made from, and what goes with it."""
    notebook = _notebook_path(course, assignment, standing.student)
    readable = standing.state != REFUSED and notebook.is_file()
    nb = nbformat.read(notebook, as_version=4) if readable else nbformat.v4.new_notebook()
    of = {"student": standing.student, "assignment": assignment, "notebook": assignment}
    known = {"gradebook": gradebook, "standing": standing}
    known |= {"course": course, "kept": result}
    return nb, {"nbgrader": of | known}


def _is_current(path, exporter, nb, resources):
    before = INPUTS_HASH_TAG.search(path.read_text(encoding="utf-8", errors="replace"))
    return bool(before) and before[1] == exporter.hash_inputs(*exporter.add_marks(nb, resources))


def _is_plain(path):
    return PLAIN_TAG in path.read_text(encoding="utf-8", errors="replace")


def _notebook_path(course, assignment, student):
    return course.autograded / student / assignment / f"{assignment}.ipynb"


def _copy_exchange_file(course, source, target):
    if (content := safe_files.read(source.parent, source.name, most=LARGEST_FILE)) is not None:
        _write_file(course, target, content)


def _write_file(course, path, content):
    """Write a file into ``feedback/``: all of it, or nothing."""
    course.feedback.mkdir(exist_ok=True)
    *folders, name = path.relative_to(course.open_to_group(course.feedback)).parts
    with safe_files.open_below(
        course.feedback, *folders, make=True, shared=course.shared
    ) as folder:
        safe_files.write(folder, name, content, 0o644, durable=False)


class FeedbackExporter(Exporter):
    """A graded notebook as a feedback page, by the marks in the gradebook."""

    output_mimetype = "text/html"

    @default("file_extension")
    def _file_extension_default(self):
        return ".html"

    def from_notebook_node(self, nb, resources=None, **_):
        """The page, and the resources."""
        nb, resources = self.add_marks(nb, resources)
        follows = self.hash_inputs(nb, resources)
        nb, _ = Cleaning(parent=self, schemes=False).preprocess(nb, resources)
        made = _load_template().render(
            said=_format_html,
            language=sentence("language"),
            standing=resources["nbgrader"]["standing"],
            assignment=resources["nbgrader"]["assignment"],
            parts=_make_parts(nb, resources["nbgrader"]["learning"]),
            plain=nb.metadata.roofgrade.plain,
            follows=follows,
        )
        return made, resources

    def add_marks(self, nb, resources):
        """A copy of the notebook with all marks and comments in it, and with them the Standing.

        With them goes, once the answers are released, what each cell that is graded teaches: the
        ``learning`` by grade id, and a model answer with the marks of a paragraph.
        """
        nb, resources = copy.deepcopy(nb), self._init_resources(resources)
        of = resources["nbgrader"]
        with contextlib.ExitStack() as opened:
            gradebook = of.get("gradebook") or opened.enter_context(Gradebook(of["db_url"]))
            if "standing" not in of:
                alone = query_standings(gradebook, of["assignment"], only=of["student"])
                of["standing"] = alone[of["student"]]
            marks = _read_marks(gradebook, of["notebook"], of["assignment"], of["student"])
        for cell in nb.cells:
            known = cell.metadata.get("nbgrader")
            name = known.get("grade_id") if isinstance(known, dict) else None
            if isinstance(known, dict):
                known.pop("model", None)
            if name in marks:
                known.update(marks.pop(name))
            elif isinstance(known, dict) and (known.get("grade") or known.get("solution")):
                del cell.metadata["nbgrader"]  # the course asked for no such cell
        if "course" not in of:
            of["course"] = _find_course(resources["metadata"]["path"])
            of["kept"] = self._read_results(of["course"], of["assignment"]).get(of["student"])
        of["learning"] = {}
        if of["course"] and are_answers_released(of["course"], of["assignment"]):
            given = read_model_answers(of["course"], of["assignment"])
            for cell in nb.cells:
                if _cell_kind(cell, known := cell.metadata.get("nbgrader", {})) == "written":
                    known["model"] = given.get(known["grade_id"], "")
            of["learning"] = _collect_learning(nb, of)
        return nb, resources

    @functools.cache  # noqa: B019  an exporter lives as long as a run
    def _read_results(self, course, assignment):
        return read_counting_results(course, assignment) if course else {}

    def hash_inputs(self, nb, resources):
        """The hash of all that a page is made of."""
        template = [TEMPLATE.read_text(encoding="utf-8"), *page_templates.read_sources()]
        standing = asdict(resources["nbgrader"]["standing"])
        said = [
            {key: text for key, text in table.templates().items() if key.startswith(SENTENCE_KEYS)}
            for table in (sentence, check_sentence)
        ]
        learning = {name: vars(each) for name, each in resources["nbgrader"]["learning"].items()}
        made_of = [nbformat.writes(nb), standing, template, said, learning]
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


@functools.cache
def _load_template():
    environment = page_templates.make_environment(TEMPLATE.parent)
    environment.filters["number"] = format_points
    return environment.get_template(TEMPLATE.name)


def _format_html(name, **fields):
    """A sentence as HTML: its fields are escaped, unless they are HTML themselves."""
    return Markup(sentence.templates()[f"feedback.{name}"]).format(**fields)


def _read_marks(gradebook, notebook, assignment, student):
    """What the gradebook says of each cell that a student filled or got points for, by grade id."""
    found = {}
    with contextlib.suppress(MissingEntry):
        submission = gradebook.find_submission_notebook(notebook, assignment, student)
        for grade in submission.grades:
            unread = grade.max_score if grade.needs_manual_grade else 0.0
            found[grade.name] = {
                "score": grade.score,
                "points": grade.max_score,
                "unread_points": unread,
                "by_hand": grade.manual_score is not None,
            }
        for comment in submission.comments:
            # nbgrader's own remark on an empty answer says less than the check's.
            found.setdefault(comment.name, {})["comment"] = comment.manual_comment or ""
    return found


def _find_course(path):
    """The course in which a path lies, as nbgrader hands it on; None outside one."""
    place = Path(path).absolute()
    roots = (each for each in (place, *place.parents) if (each / SETTINGS_FILE).is_file())
    return next(map(Course, roots), None)


@dataclass(frozen=True)
class _Learning:
    """What a graded cell teaches: the value that was judged, the way to the answer, the lecture."""

    value: str = ""
    explained: str = ""
    lesson: str = ""
    address: str = ""


def _collect_learning(nb, of):
    """What each graded cell teaches, by grade id; the way is open where points were lost.

    The figures are those of the student, where the question has such.
    """
    links, kept, found = _find_lectures(of["course"], of["assignment"]), of["kept"], {}
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        kind, name = _cell_kind(cell, marks), marks.get("grade_id")
        if kind not in ("check", "written"):
            continue
        asks = question_call(cell.source) if kind == "check" else None
        way = value = ""
        if question := asks and load_questions().get(asks.question):
            if asks.me:
                question = find_variant(asks.question, of["student"])
            lost = marks.get("score", 0) < marks.get("points", 0)
            way = explain_answer(question, is_open=lost)
            judged = kept.answers.get(name) if kept else None
            value = judged.given if judged and judged.question == asks.question else ""
        link = links.get(name, page_templates.Link(""))
        found[name] = _Learning(value, way, link.words, link.address)
    return found


def _find_lectures(course, assignment):
    """The lecture's section that teaches what a graded cell asks, by the cell's id."""
    if not (course.root / INDEX).is_file():
        return {}
    contents = Contents(course.root)
    sets = (each for each in contents.sets if each.id == assignment)
    asks = (each for found in sets for each in found.questions if each.lesson)
    return {each.cell: page_templates.link_on_site(contents, each.lesson) for each in asks}


def _make_parts(nb, learning):
    """The cells as the template shows them."""
    parts, heading = [], ""
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        heading = cell.metadata.get("heading", heading)
        parts.append(
            {
                "id": marks.get("grade_id", cell.id),
                "kind": _cell_kind(cell, marks),
                "title": heading or marks.get("grade_id", ""),
                "marks": marks,
                "comment": Markup(marks.get("comment", "")),
                "source": Markup(cell.source),
                "outputs": [Markup(each.data["text/html"]) for each in cell.get("outputs", [])],
                "model": Markup(marks.get("model", "")),
                "learning": learning.get(marks.get("grade_id")),
                "code": cell.cell_type == "code",
            }
        )
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
