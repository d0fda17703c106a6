"""Feedback pages: what they say, when they are written anew, and what they leave out."""

import re
from html.parser import HTMLParser

import hostile
import pytest
from classroom import RIGHT, SET, WORTH, WRITTEN, WRONG, classroom, grade, keep, mark, page
from homework import plain
from nbformat.v4 import new_code_cell, new_output
from nbgrader.converters import GenerateFeedback

from roofgrade.pages import feedback
from roofgrade.pages.safe_markup import LONGEST, clean_html, clean_markdown
from roofgrade.regrade_export import late

pytestmark = pytest.mark.slow("a feedback page shows all that a student is told, and nothing else")

# Attributes and their values that load or run something; data: is the picture itself.
LOADS = re.compile(r"\s*(?!data:image/|#|https?://[^\s\"]*$)\S", re.IGNORECASE)


@pytest.fixture
def course(tmp_path):
    return classroom(tmp_path)


def said(html):
    """The text of a page, without its style."""
    html = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL).replace("</td>", " </td>")
    return " ".join(plain(html).split())


def test_what_is_unread_is_no_zero(course):
    grade(course, "ada", RIGHT, written=WRITTEN)
    text = said(page(course, "ada"))
    assert f"4 of {WORTH - 4} points so far" in text
    assert "answers worth 4 more points." in text
    assert "9. A claim not yet marked (out of 4)" in text
    assert "0 of 4" not in text.split("9. A claim")[1].split("Problem set")[0]


def test_a_page_is_written_anew_when_marks_change_and_left_otherwise(course):
    grade(course, "ada", RIGHT, written=WRITTEN, seconds_late=late.DAY)
    grade(course, "bob", WRONG)

    def done():
        return {made.student: made.status for made in feedback.write_pages(course, SET)}

    assert done() == {"ada": "written", "bob": "written"}
    assert done() == {"ada": "left", "bob": "left"}
    mark(course, "ada", 3.5, "Say where $I$ comes from. <script>1</script>")
    assert done() == {"ada": "written", "bob": "left"}
    assert f"7.5 of {WORTH} points" in said(page(course, "ada"))
    assert "Say where I comes from." in said(page(course, "ada"))
    late.apply_penalties(course, SET, late.LatePolicy(per_day=0.2))
    assert done() == {"ada": "written", "bob": "left"}
    assert f"6 of {WORTH} points" in said(page(course, "ada"))
    assert "Handed in late −1.5" in said(page(course, "ada"))
    mark(course, "bob", 2, cell="ps1-time-check")
    assert "Your teacher set these points." in said(page(course, "bob"))


def test_the_colours_of_a_terminal_are_left_out(course):
    lines = ["\x1b[38;5;255mtiem\x1b[39m is white", "\x1b[91mNameError\x1b[39m"]
    outputs = [
        new_output("error", ename="NameError", evalue="tiem", traceback=lines),
        new_output("stream", text="\x1b[38;5;255mpale\x1b[0m"),
    ]
    grade(course, "ada", RIGHT, added=[new_code_cell("tiem", outputs=outputs)])
    html = page(course, "ada")
    assert "<pre class='error'>tiem is white\nNameError</pre>" in html
    assert "<pre>pale</pre>" in html


def test_nbgraders_own_command_makes_the_same_page_and_makes_it_anew(course):
    grade(course, "ada", RIGHT, written=WRITTEN)
    ours = page(course, "ada")
    path = course.feedback / "ada" / SET / f"{SET}.html"
    for points in (None, 3):
        if points:
            mark(course, "ada", points)
            assert page(course, "ada") != ours
        ours = page(course, "ada")
        path.write_text("an old page")
        stock = GenerateFeedback(coursedir=course.directory, config=course.config)
        stock.coursedir.assignment_id = SET
        stock.start()
        assert path.read_text(encoding="utf-8") == ours


def test_who_was_refused_or_waits_for_a_person_is_told_so(course):
    keep(course, "eve", "refused", reason="ps1.ipynb is <b>no</b> notebook")
    keep(course, "max", "person", reason="its process ended: look at the log")
    grade(course, "pat", RIGHT, written=WRITTEN)
    keep(course, "pat", "person", reason="internal")
    refused, waiting, halfway = (said(page(course, who)) for who in ("eve", "max", "pat"))
    assert "could not be graded: ps1.ipynb is <b>no</b> notebook" in refused
    assert "Your teacher needs to look at your submission." in waiting
    assert "log" not in waiting, "what the instructor reads is no student's"
    assert "Until then, the points are provisional" in halfway
    for text in (refused, waiting):
        assert "0 of" not in text


def test_who_was_refused_gets_the_page_through_the_exchange_too(course):
    handed_in = course.submitted / "eve" / SET
    handed_in.mkdir(parents=True)
    (handed_in / "submission_secret.txt").write_text("a secret")
    keep(course, "eve", "refused", reason="it is no notebook")
    page(course, "eve")
    assert (course.feedback / "eve" / SET / "submission_secret.txt").read_text() == "a secret"


def test_formulas_need_no_script(course):
    grade(course, "ada", RIGHT, written=r"$I = \frac{F}{B}$, and $\frac{$ stays; $$x^2$$")
    text = page(course, "ada")
    assert "<mfrac>" in text
    assert r"$\frac{$ stays" in text
    assert '<math display="block">' in text


class Parts(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes


def test_nothing_of_a_hostile_notebook_can_run_load_or_overlay(course):
    grade(course, "mallory", RIGHT, written=WRITTEN, added=list(hostile.cells()))
    html = page(course, "mallory")
    assert len(html.encode()) < 2_500_000
    assert "Cut off: " in html
    parts = Parts()
    parts.feed(html)
    harmful = "script iframe object embed link base form input video svg foreignobject noscript"
    assert not parts.tags & set(harmful.split())
    for name, value in parts.attributes:
        assert not name.startswith("on"), name
        assert name not in ("srcdoc", "action", "formaction", "background", "ping")
        if name in ("src", "href"):
            assert not LOADS.match(value or "#"), value
        if name == "style":
            assert not re.search(r"url|position|margin|fixed|@|z-index", value), value
    assert "1. A specification 2 of 2" in said(html), "the verdicts stand as they were"


def test_an_unknown_student_is_named(course):
    with pytest.raises(ValueError, match="ps1 has no graded work from nobody"):
        feedback.write_pages(course, SET, ["nobody"])


def test_text_that_would_take_long_to_parse_is_shown_as_it_stands():
    for clean in (clean_html, clean_markdown):
        assert clean("<b><p>" * LONGEST).startswith("<pre>&lt;b&gt;")


def test_what_is_harmless_stays():
    table = clean_markdown("| a | b |\n|---|---|\n| **1** | [2](https://example.org) |")
    assert '<a href="https://example.org">2</a>' in table
    assert "<strong>1</strong>" in table
    verdict = '<div style="border-left:4px solid #009E73;padding:0.4em 0.8em"><b>Right.</b></div>'
    assert clean_html(verdict) == verdict
