"""The course home in a real JupyterLab."""

import json
import shutil
from datetime import datetime, timedelta

import driver
import nbformat
import pytest
from driver import ROOT, run_cell, screenshot, until
from playwright.sync_api import expect

from roofcheck import course
from roofcheck.study import answers
from roofcheck.tables.catalogue import find_question

pytestmark = pytest.mark.slow("the home is the first page, with its menu")

COURSE = course.Course(ROOT)
FIRST, SECOND = COURSE.lectures[:2]
HOME = ".roofline-home"
# What the page shows once one check in lecture 1 is right.
ONE_RIGHT = f"1 of {len(FIRST.asks)} answered, all of them right."

# Hands a set in after an edit during a save; an edit may follow while the kernel is busy.
HAND_IN = """async ([by, saved, busy, student]) => {
  const { content, context, sessionContext, toolbar } = jupyterapp.shell.currentWidget;
  const edit = (id, text) =>
    content.widgets.find((each) => each.model.id === id).model.sharedModel.setSource(text);
  if (busy) sessionContext.session.kernel.requestExecute({ code: "import time; time.sleep(2)" });
  const saving = context.save();
  edit("ps1-me", `me = "${student}"`);
  if (saved) await saving.then(() => context.save());
  content.activeCellIndex = content.widgets.length - 1;
  if (by === "cell") jupyterapp.commands.execute("notebook:run-cell");
  else toolbar.node.querySelector("[data-jp-item-name=roofline-hand-in] jp-button").click();
  if (busy && by === "cell" && !saved) edit("ps1-paragraph", `Written by ${student}.`);
}"""
SCREEN = "() => jupyterapp.shell.currentWidget.model.toJSON().cells.map((each) => each.source)"
TIMES = 5


@pytest.fixture(scope="module")
def lab(chromium, tmp_path_factory):
    """JupyterLab over a course with one wrong answer: its address, and the file of answers."""
    place = tmp_path_factory.mktemp("home")
    (place / "course/en").mkdir(parents=True)
    for each in (course.INDEX, FIRST.file, SECOND.file):
        shutil.copy(ROOT / each, place / each)
    problem_set = COURSE.set("ps1").file
    (place / problem_set).parent.mkdir(parents=True)
    shutil.copy(ROOT / problem_set, place / problem_set)
    (place / "course/answers.json").write_text("{}", encoding="utf-8")  # for self-study
    kept = place / "answers.jsonl"
    kept.write_text(answer_line(SECOND.asks[0], 0, days_ago=2), encoding="utf-8")
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv(answers.FILE_VARIABLE, str(kept))
        changed.setenv("ROOFLINE_PAGES", '[{"text": "Slides", "url": "static/01.html"}]')
        changed.delenv(course.COURSE_VARIABLE, raising=False)
        private = tmp_path_factory.mktemp("jupyter")
        with driver.jupyter_lab(place, private) as url:
            yield url, kept


def answer_line(question, credit, days_ago=0):
    """A line of the file of answers."""
    time = f"{datetime.now().astimezone() - timedelta(days=days_ago)}"
    answer = {"time": time, "question": question, "credit": credit, "answer": "1"}
    return json.dumps(answer | {"slips": [], "again": 0}) + "\n"


def opened(page, url):
    """Open the home, and wait until it is complete."""
    page.goto(f"{url}lab?reset")
    page.wait_for_selector(f"{HOME} [data-id=ps5]")
    until(page, lambda: page.locator(".roofline-status").inner_text(), lambda said: not said)
    return page


def source(page):
    return page.evaluate(
        "() => jupyterapp.shell.currentWidget.content.activeCell?.model.sharedModel.getSource()"
    )


def test_the_first_page_is_the_home_with_menu_and_card(page, lab):
    url, _ = lab
    opened(page, url)
    assert page.locator(f"{HOME} h1").inner_text() == "Roofline"
    titles = page.locator(f"{HOME} .roofline-lectures h3").all_inner_texts()
    assert titles == [f"{each.number}. {each.title}" for each in COURSE.lectures]
    screenshot(page, "home-light")
    page.locator(".lm-MenuBar-itemLabel", has_text="Course").click()
    items = page.locator(".lm-Menu-itemLabel").all_inner_texts()
    assert [each for each in items if each] == ["Course home", "Review", "Slides"]
    page.keyboard.press("Escape")
    page.evaluate("() => { jupyterapp.commands.execute('launcher:create') }")
    card = page.locator(".jp-LauncherCard", has_text="Course home")
    # React draws the icon after the card.
    expect(card.locator("svg")).to_have_count(1)
    card.click()
    page.locator(HOME).wait_for()
    expect(page.locator(".jp-LauncherCard")).to_have_count(0)


@pytest.mark.weekly("an answer in a lecture counts on the home page")
def test_an_answer_in_a_lecture_is_found_again_on_the_page(page, lab):
    url, _ = lab
    opened(page, url)
    page.get_by_role("button", name=FIRST.title).click()
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    setup, index = page.evaluate(
        """async ([asked, answer]) => {
          const panel = jupyterapp.shell.currentWidget;
          await panel.context.ready;
          await panel.sessionContext.ready;
          const cells = panel.content.widgets.map((each) => each.model.sharedModel);
          const setup = cells.findIndex((each) => each.cell_type === "code");
          const index = cells.findIndex((each) => each.getSource().startsWith(`check("${asked}"`));
          cells[setup].setSource("from roofcheck import check");
          cells[index].setSource(`check("${asked}", ${answer})`);
          return [setup, index];
        }""",
        [FIRST.asks[0], repr(find_question(FIRST.asks[0]).reference())],
    )
    run_cell(page, setup)
    assert "Right" in json.dumps(run_cell(page, index))
    page.evaluate("() => { jupyterapp.commands.execute('roofline:home') }")
    row = page.locator("[data-id=l01] .roofline-stands")
    until(page, row.inner_text, lambda said: ONE_RIGHT in said)
    assert "lecture 1" in page.locator(".roofline-now").inner_text()


@pytest.mark.weekly("a student finds again where they were")
def test_go_on_opens_the_notebook_at_the_cell(page, lab):
    url, kept = lab
    with kept.open("a", encoding="utf-8") as file:
        file.write(answer_line(SECOND.asks[3], 1))
    opened(page, url)
    page.get_by_role("button", name="Continue there").click()
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    wanted = f'check("{SECOND.asks[3]}"'
    until(page, lambda: source(page) or "", lambda found: found.startswith(wanted))


@pytest.mark.weekly("review works on the page, by the keyboard alone")
def test_review_is_done_on_the_page(page, lab):
    url, kept = lab
    opened(page, url)
    page.locator(".roofline-now").get_by_role("button", name="Review").click()
    question = page.locator(".roofline-question")
    question.wait_for()
    assert "Answer with" in question.inner_text()
    page.get_by_label("Your answer").fill("1e30 s")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Next question").wait_for()
    assert "Not yet." in page.locator(".roofline-review").inner_text()
    last = json.loads(kept.read_text(encoding="utf-8").splitlines()[-1])
    assert (last["question"], last["again"]) == (SECOND.asks[0], 1)
    page.keyboard.press("Enter")
    end = page.locator(".roofline-review").get_by_role("status")
    until(page, end.inner_text, lambda said: "comes back on" in said)


@pytest.mark.weekly("both buttons say what is missing, and giving up shows the answers")
def test_page_and_toolbar_hand_in_and_the_page_gives_up(page, lab):
    url, kept = lab
    with kept.open("a", encoding="utf-8") as file:
        file.write(answer_line("ps1.ridge", 0))
    opened(page, url)
    page.get_by_role("button", name="Hand in problem set 1").click()
    report = page.locator(".roofline-report")
    report.wait_for()
    assert "A specification" in report.inner_text()
    assert "hand_in(" not in report.inner_text()
    screenshot(page, "home-report")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator("[data-key=hand-in-ps1]")).to_be_focused()
    page.locator("[data-key=give-up-ps1]").click()
    page.locator(".jp-Dialog").wait_for()
    page.keyboard.press("Enter")
    expect(page.locator("[data-key=give-up-ps1]")).to_be_focused()
    page.keyboard.press("Enter")
    with page.expect_popup() as answers_page:
        page.locator(".jp-Dialog .jp-mod-warn").click()
    expect(page.locator("[data-key=answers-ps1]")).to_be_focused()
    assert "A specification" in answers_page.value.locator("body").inner_text()
    page.locator("[data-key=open-ps1]").click()
    page.locator(".jp-NotebookPanel-toolbar").get_by_role("button", name="Hand in").click()
    report.wait_for()
    assert "A specification" in report.inner_text()
    page.get_by_role("button", name="Close", exact=True).click()
    assert "jp-button" in page.evaluate("() => document.activeElement.localName").lower()


@pytest.mark.weekly("what is handed in is what is on the screen")
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
@pytest.mark.parametrize("saved", [False, True], ids=["unsaved", "saved"])
@pytest.mark.parametrize("by", ["cell", "button"])
def test_what_is_handed_in_is_on_the_screen(page, lab, by, saved, busy):
    url, kept = lab
    # A renamed set is known by its questions.
    shutil.copy(ROOT / "solutions/en/ps1/ps1.ipynb", kept.parent / "mine.ipynb")
    page.goto(f"{url}lab/tree/mine.ipynb?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    driver.run_all(page)
    wait_report(page, "cell", "model")
    for number in range(TIMES):
        student = f"{by}{'-saved' * saved}{'-busy' * busy}-{number}"
        page.evaluate(HAND_IN, [by, saved, busy, student])
        file = kept.parent / f"handed-in/ps1-{student}.ipynb"
        wait_report(page, by, file.name)
        handed = [cell.source for cell in nbformat.read(file, as_version=4).cells]
        assert student in str(handed)
        assert handed == page.evaluate(SCREEN)
        assert page.locator(".jp-Dialog").count() == 0


def wait_report(page, by, name):
    """Wait for the report that names a file, and close it if it is a dialog."""
    if by == "cell":
        until(page, lambda: str(driver.code_cells(page)[-1]["outputs"]), lambda said: name in said)
    else:
        page.locator(".jp-Dialog .roofline-report", has_text=name).wait_for()
        page.get_by_role("button", name="Close", exact=True).click()


@pytest.mark.weekly("the home survives a restart and a damaged file")
def test_the_home_is_there_again_after_a_restart_and_without_answers(page, lab):
    url, kept = lab
    opened(page, url)
    page.evaluate("() => jupyterapp.commands.execute('application:close-all')")
    page.evaluate("() => { jupyterapp.commands.execute('roofline:home') }")
    page.locator(HOME).wait_for()
    before = kept.read_bytes()
    kept.unlink()
    try:
        page.reload()
        page.wait_for_selector(f"{HOME} [data-id=ps5]")
        assert "Start with lecture 1" in page.locator(".roofline-now").inner_text()
        kept.mkdir()
        page.reload()
        page.locator(".roofline-note").wait_for()
        assert f"{kept} is a folder" in page.locator(".roofline-note").inner_text()
        kept.rmdir()
    finally:
        kept.write_bytes(before)


@pytest.mark.weekly("the home has no fault of accessibility, and room on a phone")
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_everybody_can_use_the_page(page, lab, axe, theme):
    url, _ = lab
    opened(page, url)
    page.evaluate(
        f"() => jupyterapp.commands.execute('apputils:change-theme', "
        f"{{theme: 'JupyterLab {theme}'}})"
    )
    page.wait_for_function(f"document.body.dataset.jpThemeName === 'JupyterLab {theme}'")
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("() => { jupyterapp.commands.execute('roofline:home') }")
    until(page, lambda: page.locator(HOME).bounding_box()["width"], lambda width: width > 280)
    assert page.evaluate("() => { const it = document.querySelector('.roofline-home'); "
                         "return it.scrollWidth <= it.clientWidth }")  # fmt: skip
    screenshot(page, f"home-phone-{theme.lower()}")
    page.evaluate(axe)
    found = page.evaluate("async () => (await axe.run('.roofline-home')).violations")
    assert not [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
