"""An exported page: the picture as it was left in JupyterLab, live without kernel or network."""

import subprocess
import sys

import pytest
from driver import (
    CHIPS,
    MATMUL,
    ROOT,
    WIDGET,
    drag,
    drawn,
    save,
    screenshot,
    slider,
    wait_redrawn,
    write_notebook,
)


@pytest.fixture
def export(npm, browser, tmp_path):
    """Exports a notebook and opens the page; it must do without errors and without a network."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(error))

    def export(notebook):
        command = [sys.executable, ROOT / "tools/export.py", notebook, "--into", tmp_path]
        subprocess.run(command, check=True)
        page.goto((tmp_path / f"{notebook.stem}.html").as_uri())
        page.wait_for_selector(".roofkit-picture svg")
        return page

    yield export
    assert not errors
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_page_of_a_saved_notebook_shows_what_was_left_and_moves_on(live, export, folder):
    before = drawn(live)
    drag(live, "bandwidth", 60)
    wait_redrawn(live, before)
    left = drawn(live)
    live.evaluate(
        "window.jupyterapp.commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState')"
    )
    save(live)
    screenshot(live, "export-1-lab")
    page = export(folder / "live.ipynb")
    assert drawn(page) == left
    screenshot(page, "export-2-page")
    slider(page, "peak_flops").press("ArrowLeft")
    wait_redrawn(page, left)
    before = drawn(page)
    drag(page, "intensity", 200)
    wait_redrawn(page, before)
    screenshot(page, "export-3-moved")


def test_page_of_a_notebook_without_widgets_is_run_first(export, tmp_path):
    notebook = tmp_path / "unrun.ipynb"
    write_notebook(notebook, [("-", "code", WIDGET), ("-", "markdown", "$I_\\text{ridge}$")])
    page = export(notebook)
    assert page.get_by_role("status").inner_text().startswith("ridge\n240.5 FLOP/byte")
    page.wait_for_selector("mjx-container")


def test_page_of_several_chips_does_without_a_kernel(export, tmp_path):
    notebook = tmp_path / "chips.ipynb"
    write_notebook(notebook, [("-", "code", CHIPS)])
    page = export(notebook)
    before, status = drawn(page), page.get_by_role("status")
    assert status.inner_text().startswith("verdict\nlink-bound\nmax … sum\n373 µs to 834 µs")
    chips, width, batch = (slider(page, name, of=("n", "D", "B")) for name in ("n", "D", "B"))
    width.press("ArrowRight")
    wait_redrawn(page, before)
    assert status.inner_text().startswith("verdict\ncompute-bound")
    chips.press("End")
    page.get_by_role("button", name="H100 SXM: switch").click()
    page.wait_for_function(
        "() => document.querySelector('.noUi-handle').getAttribute('aria-valuetext') === '8'"
    )
    assert chips.get_attribute("aria-valuenow") == chips.get_attribute("aria-valuemax")
    before = drawn(page)
    batch.press("Home")
    wait_redrawn(page, before)
    assert status.inner_text().startswith("verdict\nmemory-bound")
    screenshot(page, "export-4-chips")


def test_page_with_a_choice_of_dtype_moves_without_a_kernel(export, tmp_path):
    notebook = tmp_path / "matmul.ipynb"
    write_notebook(notebook, [("-", "code", MATMUL)])
    page = export(notebook)
    status = page.get_by_role("status")
    assert "63.5 FLOP/byte" in status.inner_text()
    screenshot(page, "export-matmul")
    before = drawn(page)
    slider(page, "tile", of=("B", "D", "F", "tile")).press("End")
    wait_redrawn(page, before)
    assert "241 FLOP/byte" in status.inner_text()
    before = drawn(page)
    page.get_by_role("button", name="int8").click()
    wait_redrawn(page, before)
    assert "482 FLOP/byte" in status.inner_text()
    assert page.get_by_text("whole: all fits").is_visible()
    page.set_viewport_size({"width": 400, "height": 900})
    screenshot(page, "export-matmul-narrow")
