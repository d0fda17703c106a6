"""Feedback and Formgrader in a real browser, for a notebook that attacks them."""

import re
import sys

import pytest
from driver import ROOT, jupyter_lab, new_context, screenshot, until

sys.path.append(str(ROOT / "tests/roofgrade"))
import hostile
from chromium import PAGE_TIMEOUT
from classroom import RIGHT, SET, WRITTEN, classroom, grade, keep
from nbgrader.api import Gradebook
from playwright.sync_api import expect

from roofgrade.gradebook import answer_release
from roofgrade.pages import feedback

LOCAL = re.compile(r"file:|data:|http://127\.0\.0\.1")
PHONE = {"width": 390, "height": 844}
# Before that, Formgrader overwrites input with the gradebook's values and moves the focus.
LOADED = """() => formgrader.loaded && formgrader.grades.loaded && formgrader.comments.loaded
  && MathJax.loaded"""
NAME = '<img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which Mallory's notebook attacks its readers."""
    course = classroom(tmp_path_factory.mktemp("course"))
    for student, added in (("mallory", list(hostile.cells())), ("ada", [])):
        grade(course, student, RIGHT, written=WRITTEN, added=added)
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_student("mallory", first_name=NAME, last_name="M")
    return course


@pytest.fixture
def watched(browser):
    """A page without a network; scripts that run and requests to other hosts fail the test."""
    context = new_context(browser, viewport={"width": 1280, "height": 900})
    context.route(lambda url: not LOCAL.match(url), lambda route: route.abort())
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.on("pageerror", lambda error: asked.append(str(error)))
    yield page
    for bait in page.locator("a.bait, a:has-text('prize'), a:has-text('a link')").all():
        bait.evaluate("node => node.click()")
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked") is None
    assert page.title() != "hacked"
    assert [url for url in asked if not LOCAL.match(url)] == []
    context.close()


@pytest.fixture(scope="module")
def formgrader(course, tmp_path_factory):
    """The address of a JupyterLab that serves Formgrader over the course."""
    private = tmp_path_factory.mktemp("jupyter")
    (private / "config").mkdir()
    settings = (course.root / "nbgrader_config.py").read_text()
    settings += f"\nc.CourseDirectory.root = {str(course.root)!r}\n"
    (private / "config/nbgrader_config.py").write_text(settings)
    with jupyter_lab(course.root, private) as url:
        yield url


def test_a_feedback_page_runs_nothing_and_asks_nobody(course, watched):
    keep(course, "mallory", "graded", answers={"ps1.bound": NAME})
    answer_release.release_answers(course, SET)
    [made] = feedback.write_pages(course, SET, ["mallory"])
    watched.set_viewport_size(PHONE)
    watched.goto(made.path.as_uri())
    assert "4 of 22 points so far" in watched.locator("h1").first.inner_text()
    assert watched.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    top = watched.evaluate("document.elementFromPoint(30, 60).closest('header') !== null")
    assert top, "something lies over the grade"
    assert watched.locator("script, iframe, form, object, link, base, svg").count() == 0
    assert watched.locator(".given b").inner_text() == NAME
    assert watched.locator(".derivation details").count() == 8
    assert watched.locator(".model").inner_text().startswith("A model answer")
    screenshot(watched, "grading-feedback")


@pytest.mark.weekly("Formgrader shows work that attacks it, and runs none of it")
def test_formgrader_runs_nothing_of_a_student_and_marks_as_ever(course, formgrader, watched):
    with Gradebook(course.db_url) as gradebook:
        book = gradebook.find_submission_notebook(SET, SET, "mallory").id
    watched.goto(f"{formgrader}formgrader/submissions/{book}/?index=0")
    watched.wait_for_function(LOADED)
    rubric = watched.get_by_text("The share of peak does not decide").last
    assert rubric.is_visible(), "who marks sees the model answer"
    assert watched.locator("#notebook math").count() > 0
    assert watched.locator("#notebook").locator("script, iframe, form, object, svg").count() == 0
    watched.locator(".glyphicon-eye-open").click()
    assert watched.get_by_text(f"M, {NAME} (mallory)").is_visible()
    assert "END MARK SCHEME" not in watched.locator("#notebook").first.inner_text()
    points = watched.locator(f"#{SET}-paragraph")
    points.fill("3.5")
    watched.locator(f"#{SET}-paragraph-comment").fill("Say where the ridge comes from.")
    watched.locator("h4").first.click()
    screenshot(watched, "grading-formgrader")
    # Formgrader saves without a click.
    until(watched, lambda: marks(course, book), lambda saved: saved[0] and saved[1])
    with Gradebook(course.db_url) as gradebook:
        found = gradebook.find_grade(f"{SET}-paragraph", SET, SET, "mallory")
        assert (found.manual_score, found.needs_manual_grade) == (3.5, False)
    [made] = feedback.write_pages(course, SET, ["mallory"])
    assert made.status == "written"
    assert "Say where the ridge comes from." in made.path.read_text(encoding="utf-8")


@pytest.mark.weekly("paragraphs are marked in Formgrader by keys alone")
def test_who_marks_goes_from_one_paragraph_to_the_next_by_keys(course, formgrader, watched):
    with Gradebook(course.db_url) as gradebook:
        books = sorted(book.id for book in gradebook.notebook_submissions(SET, SET))
    watched.goto(f"{formgrader}formgrader/submissions/{books[0]}/")
    watched.wait_for_function(LOADED)
    watched.locator(f"#{SET}-paragraph").fill("2")
    for key in ("Tab", "Tab"):
        watched.keyboard.press(key)
    # Formgrader goes on once either the points or the comment is saved.
    until(watched, lambda: marks(course, books[0])[0], lambda points: points == 2)
    watched.keyboard.type("Why?")
    watched.keyboard.press("Control+.")
    # Formgrader redirects, so the first navigation aborts.
    following = re.compile(rf"/submissions/{books[1]}/\?index=")
    expect(watched).to_have_url(following, timeout=PAGE_TIMEOUT)
    watched.locator(f"#{SET}-paragraph:focus").wait_for()
    points, comment = marks(course, books[0])
    assert points == 2
    assert "Why?" in comment


@pytest.mark.weekly("Formgrader says why work was refused, and runs no file or autograder")
def test_formgrader_knows_what_was_refused_and_has_no_autograder(course, formgrader, watched):
    folder = course.submitted / "dia" / SET
    folder.mkdir(parents=True)
    (folder / f"{SET}.ipynb").write_text("{}")
    keep(course, "dia", "refused", reason="it has no </script> cells")
    for name in ("manage_students", f"manage_submissions/{SET}"):  # ada is on the roster as an id
        watched.goto(f"{formgrader}formgrader/{name}")
        expect(watched.get_by_role("link", name="ada", exact=True).first).to_be_visible()
    reason = re.compile("refused.*it has no </script> cells")
    expect(watched.locator("tr", has_text="dia")).to_contain_text(reason)
    assert watched.locator(".glyphicon-flash, a:has-text('utograde')").count() == 0
    [token] = [each for each in watched.context.cookies() if each["name"] == "_xsrf"]
    address = f"{formgrader}formgrader/api/submission/{SET}/ada/autograde"
    answer = watched.request.post(address, headers={"X-XSRFToken": token["value"]})
    assert (answer.status, "make grade PS=ps1" in answer.text()) == (403, True)
    beside = course.autograded / "ada" / SET / "beside.html"
    beside.write_text("<p>seen</p><script>document.title = 'hacked'</script>")
    with Gradebook(course.db_url) as gradebook:
        book = gradebook.find_submission_notebook(SET, SET, "ada").id
    watched.goto(f"{formgrader}formgrader/submissions/{book}/beside.html")
    assert watched.get_by_text("seen").is_visible()  # the fixture looks at the title


@pytest.mark.weekly("all answers to a paragraph are marked on one page")
def test_one_paragraph_is_marked_across_the_class(course, formgrader, watched):
    watched.goto(f"{formgrader}formgrader/gradebook/{SET}/{SET}")
    watched.get_by_role("button", name="Show all answers").click()
    watched.get_by_text("2 / 2").wait_for()
    answers = watched.locator("#answers .nbgrader_cell")
    assert watched.get_by_text("The share of peak does not decide").is_visible()
    book = answers.first.locator("a").get_attribute("href").split("/")[-2]
    before, points = marks(course, book), answers.first.locator("input.score")
    for outside in ("9", "-2"):
        points.fill(outside)
        points.press("Tab")
        expect(answers.first.get_by_role("alert")).to_contain_text("between 0 and 4")
    assert marks(course, book) == before
    points.fill("1.5")
    points.press("Tab")
    until(watched, lambda: marks(course, book)[0], lambda saved: saved == 1.5)


def marks(course, book):
    """Return the points and the comment of a paragraph in the gradebook."""
    with Gradebook(course.db_url) as gradebook:
        marked = gradebook.find_submission_notebook_by_id(book)
        [points] = [g.manual_score for g in marked.grades if g.name == f"{SET}-paragraph"]
        [said] = [c.manual_comment for c in marked.comments if c.name == f"{SET}-paragraph"]
    return points, said
