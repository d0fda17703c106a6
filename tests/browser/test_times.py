"""The live time bars in a real JupyterLab, compared with ring 1."""

import pytest
from driver import open_picture, press, run_cell, screenshot, slider, until, write_notebook
from live_pictures import end_of, read_time_axis, starts_of

import roofkit as rk
from rooflab.plot import engineering

pytestmark = pytest.mark.slow("live time bars show what roofkit counts")

CHIPS = ("H100 SXM", "TPU v6e")
STEP = """import roofkit as rk
from rooflab import explore
terms = {"flops": ("tokens", 100, [50, 100, 200]), "bytes": ("bits", 16, [16, 8, 4])}
step = explore.times(rk.Cost(1e12, 1e10), ["H100 SXM", "TPU v6e"], terms=terms)
step"""


@pytest.fixture
def bars(lab, url):
    return open_picture(lab, url, "times.ipynb")


def test_halving_the_flops_moves_the_bars_as_ring_1_says(bars):
    assert_as_ring_1(bars, rk.Cost(flops=1e12, bytes=2e9))
    assert slider(bars, "flops", of=("flops", "bytes")).get_attribute("aria-label") == "work"
    press(bars, "flops", "ArrowLeft", 10, of=("flops", "bytes"))
    bars.wait_for_function(
        "() => document.querySelector('.readings').innerText.includes('597 µs to')"
    )
    screenshot(bars, "times-halved")
    assert_as_ring_1(bars, rk.Cost(flops=5e11, bytes=2e9))
    wait_cost(bars, 5e11, 2e9)


@pytest.mark.weekly("a slider over tokens and bits moves through its stops")
def test_sliders_that_count_tokens_and_bits_move_through_their_stops(lab, url, folder):
    cells = [("-", "code", STEP), ("-", "code", "print(step.cost.flops, step.cost.bytes)")]
    write_notebook(folder / "terms.ipynb", cells)
    open_picture(lab, url, "terms.ipynb")
    assert_as_ring_1(lab, rk.Cost(1e12, 1e10))
    for key, label, start, after in (("flops", "tokens", 100, 200), ("bytes", "bits", 16, 8)):
        handle = slider(lab, key, of=("flops", "bytes"))
        texts = [handle.get_attribute(name) for name in ("aria-label", "aria-valuetext")]
        assert texts == [label, str(start)]
        press(lab, key, "ArrowRight", of=("flops", "bytes"))
        assert handle.get_attribute("aria-valuetext") == str(after)
    screenshot(lab, "times-terms")
    assert_as_ring_1(lab, rk.Cost(2e12, 5e9))
    wait_cost(lab, 2e12, 5e9)


def wait_cost(page, *cost):
    """Wait until the kernel has this cost."""
    until(
        page, lambda: [float(word) for word in run_cell(page, 1)[0]["text"].split()],
        lambda values: values == pytest.approx(cost),
    )  # fmt: skip


def assert_as_ring_1(page, cost):
    estimates = [rk.chip(name).roofline("bf16").estimate(cost) for name in CHIPS]
    readings = page.get_by_role("status").inner_text().split("\n")
    assert readings[1::2] == [
        f"{engineering(e.lower)}s to {engineering(e.upper)}s, {e.bound}-bound" for e in estimates
    ]
    grid = page.locator(".roofkit-picture path.grid").get_attribute("d")
    labels = page.locator(".roofkit-picture svg > text").all_text_contents()
    start, second = read_time_axis(grid, labels, 1e-3)
    for kind, times in (
        ("math", [e.math for e in estimates]),
        ("comms", [e.comms for e in estimates]),
    ):
        drawn_bars = page.locator(f".roofkit-picture svg > path.{kind}").all()[1:]
        lengths = [end_of(bar.get_attribute("d")) - start for bar in drawn_bars]
        assert lengths == pytest.approx([time * second for time in times], abs=0.1)
    for row, estimate in zip(page.locator("g.in-turn").all(), estimates, strict=True):
        drawn = [path.get_attribute("d") for path in row.locator("path").all()]
        wanted = [start + time * second for time in (0, estimate.comms, estimate.comms)]
        assert [starts_of(d)[0] for d in drawn] == pytest.approx(wanted[:2], abs=0.1)
        assert end_of(drawn[1]) == pytest.approx(start + estimate.upper * second, abs=0.1)
        assert row.locator("text").last.text_content() == f"{engineering(estimate.upper)}s"
