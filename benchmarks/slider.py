"""Measure the time from moving a slider to the new picture, in JupyterLab in Chromium.

Run ``python -m benchmarks.slider`` or ``make bench`` with nothing else running on the machine. A
step starts with a key press on a slider and ends with the animation frame that shows the new
picture. The baseline draws the same roofline in the kernel, with matplotlib and ``interact``. The
benchmark only reports and never fails, because other load on the machine can halve any speed.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/browser"))
import driver
from chromium import find_chromium

PEER = """
import math
import matplotlib.pyplot as plt
from ipywidgets import FloatLogSlider, interact
from rooflab import plot
published = rk.chip("TPU v5e").roofline("bf16")
start = math.log2(published.peak_flops)
@interact(
    peak=FloatLogSlider(published.peak_flops, base=2, min=start - 3, max=start + 3, step=0.1)
)
def draw(peak):
    yours = rk.Roofline(peak, published.bandwidth)
    _, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    plot.roofline(
        {"TPU v5e bf16": published, "your roof": yours}, {"your kernel": 0.5},
        xlim=(0.0625, 16384), ylim=(1.6e9, 2.5e15), ax=ax,
    )
    plt.show()
"""
# Starting at batch 8 leaves enough steps before the end of the slider.
MODEL = "from rooflab import explore\nlive = explore.model(batch=8)\nlive"
# Resolves to the milliseconds from the next key press on the handle to the new picture's frame.
WATCH = """
([handle, picture]) => {
  window.step = new Promise((resolve) => {
    let pressed;
    const shown = () => requestAnimationFrame(() => resolve(performance.now() - pressed));
    const once = { once: true, capture: true };
    handle.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, once);
    if (picture instanceof SVGElement) {
      new MutationObserver((_, observer) => { observer.disconnect(); shown(); })
        .observe(picture, { attributes: true });
    } else {
      picture.addEventListener("load", shown, once);
    }
  });
}
"""
RANGE = "input[type=range]"
# Selectors of cell, slider and picture. explore.chips uses the second slider, the width.
VARIANTS = {
    "explore.roofline": (".jp-Cell >> nth=0", RANGE, "svg > path.roof"),
    "explore.matmul": (".jp-Cell >> nth=1", RANGE, "svg > path.kernel"),
    "explore.chips": (".jp-Cell >> nth=2", f"{RANGE} >> nth=1", "svg > path.math"),
    "explore.model": (".jp-Cell >> nth=3", RANGE, ".roofkit-picture svg"),
    "interact + matplotlib": (".jp-Cell >> nth=4", ".noUi-handle", ".widget-output"),
}
OURS = [name for name in VARIANTS if name.startswith("explore")]


def main():
    taken = {name: [] for name in VARIANTS}
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as private,
        driver.jupyter_lab(folder, private) as url,
        driver.chromium(find_chromium()) as browser,
    ):
        sources = driver.WIDGET, driver.MATMUL, driver.CHIPS, MODEL, PEER
        cells = [("-", "code", source.strip()) for source in sources]
        driver.write_notebook(Path(folder, "slider.ipynb"), cells)
        page = browser.new_page(viewport={"width": 1280, "height": 4200})
        driver.open_notebook(page, url, "slider.ipynb")
        driver.run_all(page)
        page.wait_for_selector(".widget-interact img")
        # The variants take turns, so temporary slowdowns affect all of them.
        for key in ("ArrowRight", "ArrowLeft") * 5:
            for name, selectors in VARIANTS.items():
                taken[name] += steps(page, *selectors, key)
    report(taken)


def steps(page, cell, handle, picture, key, count=8, warm_up=1):
    """Return the milliseconds per key press; a larger count would reach the slider's end."""
    cell = page.locator(cell)
    handle, picture = cell.locator(handle).first, cell.locator(picture).first
    handle.focus()
    times = []
    for _ in range(count):
        page.evaluate(WATCH, [handle.element_handle(), picture.element_handle()])
        page.keyboard.press(key)
        times.append(page.evaluate("window.step"))
    return times[warm_up:]


def report(taken):
    points = {name: np.percentile(times, [50, 95]) for name, times in taken.items()}
    for name, (p50, p95) in points.items():
        print(f"{name:24} {len(taken[name])} steps  p50 {p50:6.1f} ms  p95 {p95:6.1f} ms")
    *_, peer = points.values()
    for name in OURS:
        p50, p95 = points[name]
        verdict = "met" if p95 <= 50 else "missed"
        print(f"{name:24} p95 {p95:.1f} ms  bound: at most 50 ms, {verdict}")
        print(f"{f'peer / {name}':24} p50 {peer[0] / p50:.0f}x  p95 {peer[1] / p95:.0f}x")


if __name__ == "__main__":
    main()
