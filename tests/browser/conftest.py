import contextlib
import functools
import os
import shutil
from pathlib import Path

import driver
import pytest
from chromium import NoBrowserError, find_chromium
from npm_packages import read_npm_file

WINDOW = {"width": 1280, "height": 900}
LIVE = [
    ("slide", "markdown", "# The live roofline"),
    ("slide", "markdown", "## Move the roof"),
    ("-", "code", driver.WIDGET),
    ("notes", "markdown", "What the speaker says."),
    ("slide", "markdown", "## What the kernel knows"),
    ("-", "code", "print(live.peak_flops, live.bandwidth, live.intensity)"),
]

TIMES = """import roofkit as rk
from rooflab import explore
bars = explore.times(rk.Cost(1e12, 2e9), ["H100 SXM", "TPU v6e"])
bars"""
# Notebooks of a picture and a cell that prints its state.
PICTURES = {
    "times": (TIMES, "bars.cost.flops, bars.cost.bytes"),
    "chips": (driver.CHIPS, "split.n, split.D, split.B, split.estimate.bound"),
    "matmul": (driver.MATMUL, "live.B, live.D, live.F, live.tile, live.dtype"),
    "model": (driver.MODEL, "live.state['batch'], live.deployment.chip.name, live.decode.time"),
}


@pytest.fixture(scope="session")
def chromium():
    try:
        return find_chromium()
    except NoBrowserError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def npm():
    if not shutil.which("npm"):
        reason = "no npm found: install Node.js, which fetches axe-core"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="session")
def axe(npm):
    """The script of axe-core, which checks accessibility."""
    return read_npm_file("axe-core", "4.14.1", "axe.min.js").decode()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with copies of the lectures, and a notebook for each picture."""
    course = tmp_path_factory.mktemp("course")
    folder = course / "en"
    folder.mkdir()
    for lecture in driver.LECTURES:
        shutil.copy(lecture, folder)
    driver.write_notebook(folder / "live.ipynb", LIVE)
    for name, (source, state) in PICTURES.items():
        cells = [("-", "code", source), ("-", "code", f"print({state})")]
        driver.write_notebook(folder / f"{name}.ipynb", cells)
    return folder


@pytest.fixture(scope="session")
def url(chromium, folder, tmp_path_factory):
    with driver.jupyter_lab(folder, tmp_path_factory.mktemp("jupyter")) as url:
        yield url


OPEN = contextlib.ExitStack()


@functools.cache
def started(path):
    """The Chromium of all tests in this folder."""
    return OPEN.enter_context(driver.chromium(path))


@functools.cache
def page_of_lab(browser):
    return OPEN.enter_context(driver.new_context(browser, viewport=WINDOW)).new_page()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item, nextitem):
    yield
    # Playwright leaves an event loop running, which breaks tests of other folders.
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        OPEN.close()
        started.cache_clear()
        page_of_lab.cache_clear()


@pytest.fixture(scope="module")
def browser(chromium):
    return started(chromium)


@pytest.fixture(scope="module")
def context(browser):
    with driver.new_context(browser, viewport=WINDOW) as context:
        yield context


@pytest.fixture
def page(context):
    page = context.new_page()
    yield page
    page.close()


@pytest.fixture
def lab(browser, request):
    """The page with JupyterLab, which tests share because it takes seconds to load."""
    page, failed = page_of_lab(browser), request.session.testsfailed
    yield page
    if request.session.testsfailed > failed:  # a failed test may leave it in any state
        page.close()
        page_of_lab.cache_clear()


@pytest.fixture
def live(lab, url):
    """The page with live.ipynb open and run in JupyterLab."""
    return driver.open_picture(lab, url, "live.ipynb")
