"""Pages of what was made to be slow or large: within bounds, and with the points all the same."""

import copy
import io
import json
import os
import signal

import pytest
from classroom import RIGHT, SET, WRITTEN, classroom, grade, keep, mark, page
from homework import plain
from matplotlib.figure import Figure
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from roofgrade.pages import feedback, notebook_html, safe_markup
from roofgrade.pages.notebook_html import Cleaning

pytestmark = pytest.mark.slow("no page runs, loads or hides anything, whatever a student wrote")

SLOW = "what takes for ever to render"
TOLD = "too large or too slow to display"
MESSAGE = "Dense peak over memory bandwidth"
PIXEL = "iVBORw0KGgo="


@pytest.fixture
def course(tmp_path):
    return classroom(tmp_path)


@pytest.fixture
def slow(monkeypatch):
    """A renderer that works for ever on one text, until its time is up."""

    def render(source, *more):
        if SLOW in source:
            os.kill(os.getpid(), signal.SIGPROF)  # as the clock does
        return safe_markup.clean_markdown(source, *more)

    monkeypatch.setattr(notebook_html, "clean_markdown", render)


def formgrade(course, path, who="ada"):
    """The page that Formgrader shows of a graded notebook."""
    config = course.config.copy()
    config.HTMLExporter.template_name = "formgrade"
    of = {
        "assignment_id": SET, "notebook_id": SET, "submission_id": "1", "index": 0, "total": 1,
        "base_url": "", "student": who, "first_name": "", "last_name": "",
        "notebook_path": f"autograded/{who}/{SET}/{SET}.ipynb",
    }  # fmt: skip
    return HTMLExporter(config=config).from_filename(str(path), resources=of)[0]


def cleaned(*cells, **settings):
    return Cleaning(**settings).preprocess(new_notebook(cells=list(cells)), {})[0]


def test_what_is_too_much_is_plain_text_and_the_others_are_whole(course, slow):
    added = [new_markdown_cell(f"**{SLOW}** <b>")]
    path = grade(course, "mallory", RIGHT, written=WRITTEN, added=added)
    honest = grade(course, "ada", RIGHT, written=f"**yes**, {WRITTEN}")
    for who in ("ada", "mallory"):
        keep(course, who, "graded")
    mark(course, "mallory", None, "Why *so* much?")
    made = {page.student: page for page in feedback.write_pages(course, SET)}
    assert {who: page.plain for who, page in made.items()} == {"ada": False, "mallory": True}
    assert str(made["mallory"]).endswith("so it is plain text)")
    html = page(course, "mallory")
    assert TOLD in html
    assert f"<pre>**{SLOW}** &lt;b&gt;</pre>" in html
    assert "4 of 22 points so far" in plain(html)
    assert MESSAGE in html
    assert "Why *so* much?" in html
    assert feedback.find_remarks(course, SET)["mallory"] == [
        "too large or too slow to display, so the feedback page shows plain text; look at the file"
    ]
    html = page(course, "ada")
    assert TOLD not in html
    assert "<strong>yes</strong>" in html
    assert feedback.find_remarks(course, SET)["ada"] == []
    html = formgrade(course, path, "mallory")
    assert TOLD in html
    assert f"autograded/mallory/{SET}/{SET}.ipynb" in html
    assert MESSAGE in html
    html = formgrade(course, honest)
    assert TOLD not in html
    assert "<strong>yes</strong>" in html


def test_the_points_are_told_where_nothing_else_can_be(course, monkeypatch):
    grade(course, "mallory", RIGHT, written=WRITTEN)
    monkeypatch.setattr(
        notebook_html, "replace_surrogates", lambda _: os.kill(os.getpid(), signal.SIGPROF)
    )
    html = page(course, "mallory")
    assert TOLD in html
    assert "4 of 22 points so far" in plain(html)


def test_a_clock_and_a_bound_on_memory_stop_what_renders(monkeypatch):
    def forever(source):
        while True:
            pass

    for render in (forever, lambda source: " " * (8 << 30)):
        monkeypatch.setattr(notebook_html, "highlight_code", render)
        made = cleaned(new_code_cell("print('<b>')"), seconds=1)
        assert made.metadata.roofgrade.plain
        assert made.cells[0].source == "<pre>print(&#x27;&lt;b&gt;&#x27;)</pre>"


def test_a_students_link_to_another_page_is_text():
    text = "[see](https://example.org/a) [above](#b)"
    marks = {"nbgrader": {"grade_id": "a", "locked": True, "solution": False, "grade": False}}
    output = new_output("display_data", {"text/html": "<a href='https://example.org'>see</a>"})
    locked, code = new_markdown_cell(text, metadata=marks), new_code_cell("1", outputs=[output])
    locked, mine, code = cleaned(locked, new_markdown_cell(text), code).cells
    assert '<a href="https://example.org/a">see</a> <a href="#b">above</a>' in locked.source
    assert mine.source == '<p>see (https://example.org/a) <a href="#b">above</a></p>\n'
    assert code.outputs[0].data["text/html"] == "see (https://example.org)"


@pytest.mark.parametrize(
    ("new", "text"),
    [(new_code_cell, " \n" * 14_999 + "x"), (new_markdown_cell, "\\\\[" * 9_999 + "x")],
    ids=["lines of a space", "formulas without an end"],
)
def test_a_text_that_takes_time_as_the_square_of_its_length_is_plain(new, text):
    made = cleaned(*(new(text, id=f"{place}") for place in range(6)), seconds=1)
    assert made.metadata.roofgrade.plain
    assert all(plain(cell.source) == text.strip() for cell in made.cells)


def test_nothing_renders_in_formgraders_own_process(course, monkeypatch):
    def here(*_, **__):
        raise AssertionError("nbconvert renders what a student wrote")

    path = grade(course, "ada", RIGHT, written=WRITTEN, added=[new_code_cell("print(1)")])
    for name in ("clean_markdown", "clean_html", "highlight_code"):
        monkeypatch.setattr(notebook_html, name, lambda *_: f"<p>made by {os.getpid()}</p>")
    monkeypatch.setattr("nbconvert.filters.highlight.Highlight2HTML.__call__", here)
    monkeypatch.setattr("nbconvert.filters.markdown_mistune.MarkdownWithMath.render", here)
    html = formgrade(course, path)
    assert "made by" in html
    assert f"made by {os.getpid()}" not in html


@pytest.mark.parametrize("line", ["x = " + "(" * 199_000, "match" + " " * 199_000, "'" * 600])
def test_code_in_long_lines_has_no_colours(line):
    [short, long] = cleaned(new_code_cell("x = 1"), new_code_cell(f"x = 1\n{line}")).cells
    assert '<span class="o">=</span>' in short.source
    assert "<span" not in long.source
    assert len(long.source) > 500


def test_all_that_a_student_wrote_and_printed_has_one_budget():
    html = new_output("display_data", data={"text/html": "<table><tr>" + "<td>1" * 5_000})
    loud = new_output("stream", text="<" * 190_000)
    cells = [
        new_code_cell("x" * 190_000, outputs=[loud, html]), new_markdown_cell("y" * 190_000),
        new_markdown_cell("*a* " * 7_000, attachments={"a": {"image/png": "A" * 400_000}}),
        new_code_cell("1", outputs=[new_output("stream", text="") for _ in range(2_000)]),
    ]  # fmt: skip
    made = cleaned(
        *(NotebookNode(copy.deepcopy(cell), id=f"{n}") for n, cell in enumerate(cells * 20))
    )
    # The rest is what says that something was cut.
    assert len(json.dumps(made.cells)) < 2_000_000 + 200 * len(made.cells)
    assert json.dumps(made.cells).count("<") < 100_000


def test_what_the_course_says_is_there_however_much_is_printed(course):
    shout = new_output("stream", text="x" * 199_000)
    added = [new_code_cell("y" * 199_000, outputs=[shout]) for _ in range(30)]
    grade(course, "ada", RIGHT, written=WRITTEN, added=added)
    mark(course, "ada", None, "Print **less**.")
    html = page(course, "ada")
    assert len(html) < 2_200_000
    assert MESSAGE in html
    assert "Print <strong>less</strong>." in html


def test_each_attachment_is_shown_once():
    pictures = {"a.png": {"image/png": PIXEL * 50_000}, "b.png": {"image/png": "no base64!"}}
    source = "![one](attachment:a.png) ![two](attachment:a.png) ![b](attachment:b.png)"
    [cell] = cleaned(new_markdown_cell(source, attachments=pictures)).cells
    assert cell.source.count("data:image/png;base64,") == 1
    assert "attachment:" not in cell.source


def test_who_marks_reads_why_a_person_is_needed_and_the_student_does_not(course):
    path = grade(course, "ada", RIGHT, written=WRITTEN)
    nb = json.loads(path.read_text())
    nb["metadata"]["roofgrade"] = {
        "reason": "a <b>crash</b>\x1b[2J\u202e after right answers" + "." * 9_000,
        "flagged": ["ps1-ridge-check", "<script>", 7, "ps1-paragraph"],
    }
    path.write_text(json.dumps(nb))
    html = formgrade(course, path)
    assert (
        "This submission needs review: a &lt;b&gt;crash&lt;/b&gt;[2J after right answers..." in html
    )
    assert "." * 3_000 not in html
    assert '<a href="#ps1-ridge-check">ps1-ridge-check</a>, ' in html
    assert '<a href="#ps1-paragraph">' in html
    assert "&lt;script" not in html
    assert "crash" not in page(course, "ada")
    nb["metadata"]["roofgrade"] = {"reason": ["no text"], "flagged": "no list"}
    path.write_text(json.dumps(nb))
    assert "needs review" not in formgrade(course, path)


def drawing(inside):
    spaces = "xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink'"
    return f"<svg {spaces}>{inside}</svg>"


def bomb(levels):
    shown = [f"<use x:href='#p{n}'/>" for n in range(levels)]
    parts = [f"<g id='p{n + 1}'>{use * 10}</g>" for n, use in enumerate(shown)]
    return drawing(f"<g id='p0'><circle r='1'/></g>{''.join(parts)}{shown[-1]}")


HEAVY = {
    "a part in parts": bomb(9),
    "itself": drawing("<g id='a'><use href='#a'/></g>"),
    "clips": drawing("<clipPath id='a'><path clip-path='url(#a)'/></clipPath>"),
    "a style": drawing("<style>path { marker: url(#m) }</style>"),
    "depth": drawing("<g>" * 9_000 + "</g>" * 9_000),
    "many": drawing("<path/>" * 60_000),
    "entities": f"<!DOCTYPE svg [<!ENTITY a 'x'>]>{drawing('<text>&b;</text>')}",
    "no XML": "<svg><g>",
} | {tag: drawing(f"<{tag}/>") for tag in ("filter", "pattern", "mask", "animate", "foreignObject")}


@pytest.mark.parametrize("name", HEAVY)
def test_a_drawing_that_keeps_a_browser_busy_is_left_out(name):
    data = {"image/svg+xml": HEAVY[name], "text/plain": "<Figure>"}
    [cell] = cleaned(new_code_cell("1", outputs=[new_output("display_data", data=data)])).cells
    [output] = cell.outputs
    assert "this drawing is too large" in output.data["text/html"]
    assert "&lt;Figure&gt;" in output.data["text/html"]


def test_what_a_plotting_library_draws_is_shown():
    figure = Figure()
    ax = figure.subplots()
    ax.loglog([1, 10, 100], [2, 20, 20], marker="o", label="$I$")
    ax.legend()
    written = io.StringIO()
    figure.savefig(written, format="svg")
    for svg in (written.getvalue(), bomb(3)):
        data = {"image/svg+xml": svg}
        [cell] = cleaned(new_code_cell("1", outputs=[new_output("display_data", data=data)])).cells
        assert "data:image/svg+xml;base64," in cell.outputs[0].data["text/html"]
