"""A real JupyterLab in a real Chromium, for the browser tests and for benchmarks/slider.py."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from chromium import FLAGS, PAGE_TIMEOUT
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]

LECTURES = sorted((ROOT / "course/en").glob("*.ipynb"))
# Slow tests run the first lecture, and the others only weekly.
FIRST, *OTHERS = LECTURES
ALL = pytest.mark.weekly("every lecture works in a real JupyterLab, not only the first")
EACH = [
    pytest.param(FIRST, id=FIRST.stem),
    *(pytest.param(path, id=path.stem, marks=ALL) for path in OTHERS),
]
SCREENSHOTS = ROOT / "build/screenshots"
WIDGET = 'from rooflab import explore\nlive = explore.roofline("TPU v5e", intensity=0.5)\nlive'
CHIPS = "from rooflab import explore\nsplit = explore.chips()\nsplit"
MATMUL = 'from rooflab import explore\nlive = explore.matmul("TPU v5e", tile=128)\nlive'
MODEL = "from rooflab import explore\nlive = explore.model()\nlive"
HANDLE = "input[type=range]"
DRAWN = """() => [...document.querySelectorAll(".roofkit-picture svg")]
  .map((svg) => svg.innerHTML).join("")"""
SLIDERS = ("peak_flops", "bandwidth", "intensity")


@contextlib.contextmanager
def chromium(path):
    """A headless Chromium, as a playwright Browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=PAGE_TIMEOUT)
        yield browser
        browser.close()


@contextlib.contextmanager
def jupyter_lab(folder, private):
    """Start JupyterLab over ``folder``, with its settings in ``private``; yields its address."""
    private = Path(private)
    settings = private / "config/labconfig/page_config.json"
    settings.parent.mkdir(parents=True)
    # The toast with news would cover a corner of the page.
    toast = "@jupyterlab/apputils-extension:announcements"
    settings.write_text(json.dumps({"disabledExtensions": {toast: True}}))
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(private / "config"), "JUPYTER_DATA_DIR": str(private / "data"),
        "JUPYTER_RUNTIME_DIR": str(private / "runtime"), "IPYTHONDIR": str(private / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }  # fmt: skip
    command = [
        sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=",
        "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    log = private / "lab.log"
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        yield _address(server, private / "runtime", log)
    finally:
        # On the first signal the server stops its kernels before it exits.
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _address(server, runtime, log):
    """Wait until the server answers and return its address, which may have any port."""
    deadline = time.monotonic() + PAGE_TIMEOUT / 1000
    while time.monotonic() < deadline and server.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(OSError, ValueError):
                url = json.loads(file.read_text())["url"]
                urllib.request.urlopen(f"{url}api/status", timeout=PAGE_TIMEOUT / 1000).close()
                return url
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


def new_context(browser, **options):
    """Return a BrowserContext whose pages wait long enough for a busy machine."""
    context = browser.new_context(**options)
    context.set_default_timeout(PAGE_TIMEOUT)
    return context


def until(page, read, wanted):
    """Call ``read`` until its value is ``wanted``, and return the value."""
    deadline = time.monotonic() + PAGE_TIMEOUT / 1000
    while not wanted(value := read()):
        assert time.monotonic() < deadline, f"still {value}"
        page.wait_for_timeout(20)
    return value


def write_notebook(path, cells):
    """Write a notebook with ``(slide type, cell type, source)`` triples as cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    for index, (slide, kind, source) in enumerate(cells):
        cell = getattr(nbformat.v4, f"new_{kind}_cell")(source, id=f"cell-{index}")
        cell.metadata.slideshow = {"slide_type": slide}
        notebook.cells.append(cell)
    nbformat.write(notebook, path)


def open_notebook(page, url, path):
    """Open a notebook as it is on disk and close others; reuse JupyterLab if the page shows it.

    The notebook keeps the kernel that it had before.
    """
    if page.url.startswith(f"{url}lab"):
        page.evaluate(
            """async (path) => {
              const app = window.jupyterapp;
              for (const panel of [...app.shell.widgets("main")]) {
                if (panel.context) panel.context.model.dirty = false;
                panel.close();
                panel.dispose();
              }
              const panel = await app.commands.execute("docmanager:open", { path });
              await panel.context.ready;
            }""",
            path,
        )
    else:
        page.goto(f"{url}lab/tree/{path}?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")


def open_picture(page, url, path):
    """Open a notebook, run it and wait for its live picture; the page."""
    open_notebook(page, url, path)
    run_all(page)
    page.wait_for_selector(".roofkit-picture svg")
    return page


def readings(page):
    """Return the values of the picture's read-outs."""
    return page.get_by_role("status").inner_text().split("\n")[1::2]


def run_all(page):
    """Run every cell and wait for the last to be done."""
    # A click on Run All just after "idle" sometimes runs nothing.
    page.evaluate(
        """async () => {
          const app = window.jupyterapp;
          await app.restored;
          const panel = app.shell.currentWidget;
          await panel.context.ready;
          await panel.sessionContext.ready;
          await panel.sessionContext.session.kernel.info;
          await app.commands.execute("notebook:run-all-cells");
        }"""
    )


def run_cell(page, index):
    """Run one cell and return its outputs, as in the notebook file."""
    return page.evaluate(
        """async (index) => {
          const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
          notebook.deselectAll();
          notebook.activeCellIndex = index;
          await app.commands.execute("notebook:run-cell");
          return notebook.widgets[index].model.outputs.toJSON();
        }""",
        index,
    )


def code_cells(page):
    """Return the code cells as in the notebook file, also those off the screen."""
    return page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.content.widgets
          .map((cell) => cell.model.toJSON()).filter((cell) => cell.cell_type === "code")"""
    )


def show_widget(page):
    """Scroll to the last live picture of the notebook, if any."""
    has_picture = page.evaluate(
        """async () => {
          window.polls = 0;
          const notebook = window.jupyterapp.shell.currentWidget.content;
          const shows = (cell) => JSON.stringify(cell.model.toJSON()).includes("Explorer(");
          const index = notebook.widgets.findLastIndex(shows);
          if (index >= 0) await notebook.scrollToItem(index, "center");
          return index >= 0;
        }"""
    )
    if has_picture:
        # JupyterLab scrolls on while cells nearby get their height: wait until the picture stays.
        page.wait_for_function(
            """() => {
              const widget = [...document.querySelectorAll(".roofkit-picture")].at(-1);
              const box = widget?.getBoundingClientRect();
              // A picture taller than the window shows its top.
              const tall = box && box.height > innerHeight / 2;
              const inside = box && box.top >= 0
                && (tall ? box.top : box.bottom) <= (tall ? innerHeight / 2 : innerHeight);
              window.polls = inside ? window.polls + 1 : 0;
              if (!inside) widget?.scrollIntoView({ block: tall ? "start" : "center" });
              return window.polls >= 5;
            }""",
            polling=100,
        )


def save(page):
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")


def slider(page, name, of=SLIDERS):
    """Return the handle of a slider of the page's first live picture."""
    return page.locator(f".roofkit-picture {HANDLE}").nth(of.index(name))


def press(page, name, key, times=1, of=SLIDERS):
    """Press a key on a slider's handle, and wait for the new picture."""
    before = drawn(page)
    handle = slider(page, name, of)
    handle.focus()
    for _ in range(times):
        handle.press(key)
    wait_redrawn(page, before)


def drag(page, name, distance, of=SLIDERS):
    """Drag a slider's handle to the right, by a distance in pixels."""
    # Hovering waits until the handle stops moving, in case its slide moves in.
    slider(page, name, of).hover()
    box = slider(page, name, of).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.down()
    page.mouse.move(x + distance, y, steps=10)
    page.mouse.up()


def drawn(page):
    """Return the SVG of all live pictures of the page."""
    return page.evaluate(DRAWN)


def wait_redrawn(page, before):
    page.wait_for_function(f"before => ({DRAWN})() !== before", arg=before)


def screenshot(page, name):
    """Save a screenshot for a person to look at, except in CI."""
    if os.environ.get("CI"):
        return
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
