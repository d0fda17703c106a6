"""An exported page: the picture as it was left in JupyterLab, live without kernel or network."""

import os
import shutil
import subprocess
import sys

import pytest
from lab import ROOT, drag, drawn, save, screenshot, slider, wait_redrawn


@pytest.fixture
def npm():
    if not shutil.which("npm"):
        reason = "no npm found: install Node.js, from whose packages an exported page is made"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def test_exported_page_is_live(npm, live, browser, folder, tmp_path):
    before = drawn(live)
    drag(live, "bandwidth", 60)
    wait_redrawn(live, before)
    left = drawn(live)
    live.evaluate(
        "window.jupyterapp.commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState')"
    )
    save(live)
    screenshot(live, "export-1-lab")
    export = [sys.executable, ROOT / "tools/export.py", folder / "live.ipynb", "--into", tmp_path]
    subprocess.run(export, check=True)

    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(error))
    page.goto((tmp_path / "live.html").as_uri())
    page.wait_for_selector(".roofkit-picture svg")
    assert drawn(page) == left
    screenshot(page, "export-2-page")
    slider(page, "peak_flops").focus()
    slider(page, "peak_flops").press("ArrowLeft")
    wait_redrawn(page, left)
    before = drawn(page)
    drag(page, "intensity", 200)
    wait_redrawn(page, before)
    screenshot(page, "export-3-moved")
    assert not errors
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
