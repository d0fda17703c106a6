"""A student's first minutes in JupyterLab."""

import json
import os
import sys

import pytest
from driver import FIRST, ROOT, open_notebook, run_all, run_cell, screenshot, until
from opening import noise, opened

pytestmark = pytest.mark.slow("a notebook that is opened says what to run first")

# True once the kernel has written its version of Python into the notebook.
STARTED = """() => window.jupyterapp.shell.currentWidget.model.sharedModel
  .getMetadata("language_info").version"""
DIRTY = "() => window.jupyterapp.shell.currentWidget.model.dirty"
CODE = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .map((cell, index) => [cell.model.type, index]).filter(([type]) => type === "code")
  .map(([, index]) => index)"""


@pytest.fixture
def lecture(page, url):
    """A page with the first lecture open and its kernel running."""
    open_notebook(page, url, FIRST.name)
    page.wait_for_function(STARTED)
    return page


def test_a_notebook_that_was_only_opened_is_not_changed_and_closes_unasked(lecture):
    assert not lecture.evaluate(DIRTY)
    lecture.evaluate("() => window.jupyterapp.commands.execute('application:close')")
    lecture.wait_for_selector(".jp-NotebookPanel", state="detached")
    assert not lecture.locator(".jp-Dialog").count()


def test_a_cell_that_is_run_before_the_set_up_says_which_to_run(lecture):
    setup, first, *_ = lecture.evaluate(CODE)
    [output] = run_cell(lecture, first)
    assert len(output["traceback"]) == 1
    assert "first code cell of this notebook" in output["traceback"][0]
    run_cell(lecture, setup)
    [output] = run_cell(lecture, first)
    assert "No answer yet" in output["data"]["text/html"]
    assert lecture.evaluate(DIRTY)


@pytest.mark.weekly("make lab opens on the home, shows what a student needs, and prints no noise")
def test_the_first_minutes_of_make_lab(context, tmp_path):
    own = {name: str(tmp_path) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    own["JUPYTER_RUNTIME_DIR"] = str(tmp_path / "runtime")
    exposed = {"LabApp": {"expose_app_in_browser": True}}
    (tmp_path / "jupyter_server_config.json").write_text(json.dumps(exposed))
    command = [sys.executable, "-m", "tools.lab", "--built", tmp_path / "built"]
    page = context.new_page()
    with opened(command, env={**os.environ, **own}) as (address, printed):
        page.goto(address)
        page.locator("#roofline-home").get_by_text("Where does the time go?").first.wait_for()
        items = page.locator(".jp-DirListing-item")
        items.nth(1).wait_for()
        assert [text.strip() for text in items.all_inner_texts()] == ["course", "exercises"]
        screenshot(page, "arrival")
        menus = page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
        assert {"File", "Run", "Course"} <= set(menus)
        assert "Nbgrader" not in menus
        page.goto(address.replace("/lab?", "/lab/tree/exercises/README.md?"))
        page.locator(".jp-MarkdownViewer h1", has_text="The homework").wait_for()
        root = address.partition("lab?")[0]
        open_notebook(page, root, FIRST.relative_to(ROOT).as_posix())
        run_all(page)
        screenshot(page, "arrival-lecture")

        def kernels():
            return [each["id"] for each in page.request.get(f"{root}api/kernels").json()]

        [kernel] = kernels()
        page.reload()
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        page.wait_for_function(STARTED)
        assert kernels() == [kernel]
        page.evaluate("() => window.jupyterapp.commands.execute('application:close')")
        until(page, kernels, lambda running: not running)
        page.close()
    assert noise("".join(printed)) == []
