"""The course in a real JupyterLab."""

import base64
import io
import re
from pathlib import Path

import driver
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

import roofkit as rk
from rooflab.plot import engineering

LAST_CELL = 5
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
STROKE = "line => getComputedStyle(line).stroke"


@pytest.mark.parametrize("path", [pytest.param(Path("live.ipynb"), id="live"), *driver.EACH])
def test_run_all(lab, url, path):
    driver.open_notebook(lab, url, path.name)
    driver.run_all(lab)
    for cell in driver.code_cells(lab):
        assert cell["execution_count"], cell["source"]
        assert not [out for out in cell["outputs"] if out["output_type"] == "error"], cell["source"]
    driver.show_widget(lab)
    driver.screenshot(lab, f"lab-{path.stem}")


@pytest.mark.weekly("JupyterLab runs a slider's messages while the cell below it draws")
def test_a_picture_below_a_slider_is_whole_in_50_of_50_runs(lab, url):
    path = driver.LECTURES[1]
    cells = nbformat.read(path, as_version=4).cells
    ids = [cell.id for cell in cells]
    slider, picture = ids.index("l02-live"), ids.index("l02-mxu-picture")
    shipped = read_picture(cells[picture].outputs)
    driver.open_notebook(lab, url, path.name)
    driver.run_all(lab)
    whole = []
    for _ in range(50):
        driver.run_cell(lab, slider)
        drawn = read_picture(driver.run_cell(lab, picture))
        # Processors differ in the last bit of a few pixels.
        whole.append(drawn.shape == shipped.shape and abs(drawn - shipped).max() < 0.02)
    assert whole == 50 * [True]


def read_picture(outputs):
    [data] = re.findall(r"base64,([^\"]+)", outputs[-1]["data"]["text/html"])
    return plt.imread(io.BytesIO(base64.b64decode(data)))


def test_keys_move_the_picture(live):
    driver.screenshot(live, "widget-1-start")
    assert driver.slider(live, "peak_flops").get_attribute("aria-valuetext") == "197 TFLOP/s"
    for name, key in zip(driver.SLIDERS, ("ArrowRight", "ArrowLeft", "ArrowRight"), strict=True):
        driver.press(live, name, key, 10)
    driver.screenshot(live, "widget-2-keys")
    peak, bandwidth, intensity = assert_as_ring_1(live)
    # Ten steps are one doubling.
    assert peak == pytest.approx(2 * 1.97e14, rel=1e-6)
    assert bandwidth == pytest.approx(8.19e11 / 2, rel=1e-6)
    assert intensity == pytest.approx(1.0, rel=1e-6)


@pytest.mark.weekly("a live roofline fits a dark theme")
def test_dark_theme(live):
    light = live.locator(".roofkit-picture svg > path.roof").evaluate(STROKE)
    live.evaluate(THEME, "JupyterLab Dark")
    live.wait_for_selector("body[data-jp-theme-light=false]", state="attached")
    live.wait_for_function(
        f"light => ({STROKE})(document.querySelector('.roofkit-picture svg > path.roof')) != light",
        arg=light,
    )
    live.wait_for_selector("#jupyterlab-splash", state="detached")
    driver.screenshot(live, "widget-4-dark")
    live.evaluate(THEME, "JupyterLab Light")
    live.wait_for_selector("body[data-jp-theme-light=true]", state="attached")


def assert_as_ring_1(page):
    """Compare the picture and its read-outs with ring 1 at the kernel's values; return these."""
    values = kernel_values(page)
    peak, bandwidth, intensity = values
    roof = rk.Roofline(peak, bandwidth)
    top = roof.attainable(intensity)
    readings = page.get_by_role("status").inner_text().split("\n")
    assert readings[1::2] == [
        f"{roof.ridge:.4g} FLOP/byte",
        f"{engineering(top)}FLOP/s",
        f"{100 * top / peak:.3g}%",
        "memory-bound" if intensity < roof.ridge else "compute-bound",
    ]
    x, y = scales(page)
    line = page.locator(".roofkit-picture svg > path.roof").get_attribute("d")
    corner = [float(number) for number in re.findall(r"[\d.]+", line)][2:4]
    assert corner == pytest.approx([x(roof.ridge), y(peak)], abs=0.1)
    place = page.locator(".roofkit-picture svg > path.kernel").get_attribute("transform")
    point = [float(number) for number in re.findall(r"[\d.]+", place)]
    assert point == pytest.approx([x(intensity), y(top)], abs=0.1)
    return values


def kernel_values(page):
    """Return the sliders' values in Python, once they agree with the picture."""
    shown = float(driver.slider(page, "intensity").get_attribute("aria-valuetext").split()[0])
    return driver.until(
        page,
        lambda: [float(word) for word in driver.run_cell(page, LAST_CELL)[0]["text"].split()],
        lambda values: values[2] == pytest.approx(shown, rel=5e-3),
    )


def scales(page):
    """Return functions from a value to its pixel on each axis, read off the grid and its labels."""
    grid = page.locator(".roofkit-picture path.grid").get_attribute("d")
    xs = [float(x) for x in re.findall(r"M([\d.]+),[\d.]+V", grid)]
    ys = [float(y) for y in re.findall(r"M[\d.]+,([\d.]+)H", grid)]
    labels = page.locator(".roofkit-picture svg > text").all_text_contents()
    units = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    x_values = [float(label) for label in labels[: len(xs)]]
    y_values = [
        float(number) * units[prefix]
        for number, _, prefix in (label.partition(" ") for label in labels[len(xs) :][: len(ys)])
    ]
    return axis(x_values, xs), axis(y_values, ys)


def axis(values, pixels):
    slope, start = np.polyfit(np.log10(values), pixels, 1)
    return lambda value: start + slope * np.log10(value)
