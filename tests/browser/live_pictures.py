"""What tests of live pictures share: states of the module, paths and time axes, the kernel."""

import re
from pathlib import Path

import driver

SHOW = Path(__file__).with_name("show.js").read_text(encoding="utf-8")


def show(context, live, states):
    """Return what a live picture shows in each state, without JupyterLab."""
    values = {name: getattr(live, name) for name in ("data", "state", "text", "units")}
    return evaluate(context, SHOW, live._esm, values, states)


def evaluate(context, script, *arguments):
    """What a script makes of a picture's module and its states, on an empty page."""
    page = context.new_page()
    found = page.evaluate(script, arguments)
    page.close()
    return found


def starts_of(path):
    """Where the strokes of a path start, from the left."""
    return [float(x) for x in re.findall(r"M([\d.]+)", path)]


def end_of(path):
    """Where the first level stroke of a path ends."""
    return float(re.search(r"H([\d.]+)", path)[1])


def read_time_axis(grid, labels, unit):
    """The start of a time axis and its pixels per second, from its lines and their labels."""
    lines = starts_of(grid)
    return lines[0], (lines[-1] - lines[0]) / (float(labels[len(lines) - 1]) * unit)


def choose(page, button):
    """Click a button of the picture, and wait for the new picture."""
    before = driver.drawn(page)
    page.get_by_role("button", name=button).click()
    driver.wait_redrawn(page, before)


def wait_kernel(page, *words):
    """Wait until the cell below the picture prints these words."""
    driver.until(page, lambda: driver.run_cell(page, 1)[0]["text"].split(), [*words].__eq__)
