"""A reveal in a real JupyterLab: folded before the guess, then compared with it."""

import nbformat
import pytest
from driver import EACH, LECTURES, open_notebook, run_cell, screenshot
from playwright.sync_api import expect

from tools.sentences import sentence

SET_SOURCE = """async ([index, source]) => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  panel.content.widgets[index].model.sharedModel.setSource(source);
}"""
SHOW = "index => window.jupyterapp.shell.currentWidget.content.scrollToItem(index, 'center')"


def cells_of(lecture):
    return nbformat.read(lecture, as_version=4).cells


@pytest.mark.slow("a reveal that is folded shows nothing of its answer")
@pytest.mark.parametrize("lecture", EACH)
def test_a_folded_reveal_shows_nothing_of_its_answer(lab, url, lecture):
    cells = cells_of(lecture)
    open_notebook(lab, url, lecture.name)
    reveals = [i for i, cell in enumerate(cells) if "reveal" in cell.metadata.get("tags", [])]
    assert reveals
    for index in reveals:
        lab.evaluate(SHOW, index)
        cell = lab.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')
        # JupyterLab shows the first line of hidden code.
        placeholder = cell.locator(".jp-InputPlaceholder")
        expect(placeholder).to_have_text(f"# {sentence('reveal.first_line')}")
        assert not cell.locator(".jp-OutputArea-output").is_visible()
    screenshot(lab, f"reveal-folded-{lecture.stem}")


def test_a_reveal_says_what_was_guessed(lab, url):
    cells = cells_of(LECTURES[0])
    index = {cell.id: place for place, cell in enumerate(cells)}
    open_notebook(lab, url, LECTURES[0].name)
    guess = index["l01-guess-math-answer"]
    lab.evaluate(SET_SOURCE, [guess, 'predict("l01.h100-math", 5)'])
    for name in ("l01-setup", "l01-cost"):
        run_cell(lab, index[name])
    [noted] = run_cell(lab, guess)
    assert "Far too large, by hundreds of times or more. Is your guess in seconds?" in str(noted)
    [shown] = run_cell(lab, index["l01-math-reveal"])
    assert "You said 5 s; it is 1.01 ms." in str(shown)
    lab.evaluate(SHOW, guess)
    lab.get_by_text("You said 5 s; it is 1.01 ms.").wait_for()
    screenshot(lab, "reveal-open")
