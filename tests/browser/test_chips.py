"""The live picture of several chips, compared with ring 1 on a grid of all that it can show."""

import bisect
import itertools
import re

import driver
import numpy as np
import pytest
from live_pictures import choose, end_of, read_time_axis, show, starts_of, wait_kernel

import roofkit as rk
from rooflab import explore
from rooflab.plot import engineering
from rooflab.plot.common import format_3g

pytestmark = pytest.mark.slow("live chips show what roofkit counts")

SLIDERS = ("n", "D", "B")
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
PICTURES = {
    "bf16": {},
    "int8": {"chips": ("TPU v6e", "MI300X", "H100"), "n": 4, "F": 14336, "dtype": "int8"},
    "A100 pairs": {"chips": ["A100 80GB PCIe", "TPU v5p"], "D": 5000, "B": 1},
}
MARKS = ("math", "memory", "link")


@pytest.fixture(scope="module", params=PICTURES)
def picture(request, context):
    """A picture, and what it shows for many settings of its buttons and sliders."""
    live = explore.chips(**PICTURES[request.param])
    stops = live.data["stops"]
    widths, batches = ([values[0], values[-1]] for values in (stops["D"], stops["B"]))
    # The verdict changes at the first width above D*.
    widths.append(stops["D"][bisect.bisect(stops["D"], live.critical_width)])
    states = [
        {"topology": topology, "n": size["n"], "D": D, "B": B}
        for topology, group in enumerate(live.data["groups"])
        for size, D, B in itertools.product(group["sizes"], widths, batches)
    ]
    return live, list(zip(states, show(context, live, states), strict=True))


def test_every_setting_is_as_ring_1_says(picture):
    live, settings = picture
    bounds = set()
    for state, shown in settings:
        live.state = state
        estimate, group = live.estimate, live.group
        bounds.add(estimate.bound)
        alone = rk.network.sharded_matmul(
            live.B, live.D, live.F, rk.network.line(1, 1e9), dtype=live.dtype
        ).estimate(group.chip.roofline(live.dtype))
        assert shown["words"] == [f"{live.n}", f"{live.D:,}", f"{live.B:,}"]
        assert shown["readings"][:3] == [
            f"{estimate.bound}-bound",
            f"{engineering(estimate.lower)}s to {engineering(estimate.upper)}s",
            f"{live.critical_width:,.0f}",
        ]
        assert shown["readings"][3] == f"{format_3g(alone.lower / estimate.lower)}×"
        times = {name: estimate.times[name] for name in ("compute", "memory", "link")}
        waiting = [mark for name, mark in zip(times, MARKS, strict=True) if name != estimate.bound]
        assert {*shown["waits"]} == {*waiting, *(f"hatching-{mark}" for mark in waiting)}
        assert shown["binds"] == [f"{engineering(times[estimate.bound])}s"]
        *ticks, title = shown["ticks"]
        unit = SECONDS[re.search(r"\((\w+)\)", title)[1]]
        start, second = read_time_axis(shown["paths"]["grid"][0], ticks, unit)
        lengths = [end_of(shown["paths"][mark][0]) - start for mark in MARKS]
        assert lengths == pytest.approx([time * second for time in times.values()], abs=0.02)
        assert end_of(shown["paths"]["math"][1]) == pytest.approx(
            start + estimate.upper * second, abs=0.02
        )
        assert shown["label"].startswith(f"Bar chart of times. n = {live.n}, D = {live.D:,}, B = ")
        assert f"T_link {engineering(times['link'])}s" in shown["label"]
    assert bounds == {"compute", "memory", "link"}


def test_the_strip_says_what_binds_at_every_width(picture):
    live, settings = picture
    widths = np.array(live.data["stops"]["D"], dtype=float)
    for state, shown in settings:
        live.state = state
        split = rk.network.sharded_matmul(live.B, widths, live.F, live.group, dtype=live.dtype)
        wanted = split.estimate(live.group.chip.roofline(live.dtype)).bound
        pieces = [shown["paths"][f"{name} piece"][0] for name in ("link", "memory", "math")]
        [left, *_], right = starts_of(pieces[0]), end_of(pieces[-1])
        at = left + (right - left) * np.log(widths / widths[0]) / np.log(widths[-1] / widths[0])
        ends = [end_of(piece) for piece in pieces]
        said = np.array(["link", "memory", "compute", "compute"])[np.searchsorted(ends, at)]
        clear = np.min(np.abs(np.subtract.outer(at, [left, *ends[:2]])), axis=1) > 0.02
        assert list(said[clear]) == list(wanted[clear])
        [place] = starts_of(shown["paths"]["place"][0])
        assert place == pytest.approx(at[list(widths).index(live.D)], abs=0.02)


@pytest.fixture
def chips(lab, url):
    return driver.open_picture(lab, url, "chips.ipynb")


def test_one_step_wider_and_compute_binds(chips):
    assert driver.readings(chips) == ["link-bound", "373 µs to 834 µs", "8,756", "1.87×"]
    driver.screenshot(chips, "chips-1-start")
    driver.press(chips, "D", "ArrowRight", of=SLIDERS)
    assert driver.readings(chips) == ["compute-bound", "392 µs to 889 µs", "8,756", "2×"]
    wait_kernel(chips, "2", "9216", "1024", "compute")


@pytest.mark.weekly("the buttons of live chips choose, and have names")
def test_buttons_keep_the_number_of_chips_where_such_a_group_exists(chips):
    driver.press(chips, "n", "End", of=SLIDERS)
    assert driver.slider(chips, "n", of=SLIDERS).get_attribute("aria-valuetext") == "256"
    choose(chips, "H100 SXM: switch that adds")
    assert place_of_n(chips) == ("7", "7", "8")
    wait_kernel(chips, "8", "8192", "1024", "link")
    driver.press(chips, "n", "ArrowLeft", of=SLIDERS)
    choose(chips, "TPU v5e: line")
    assert place_of_n(chips) == ("3", "8", "8")
    driver.screenshot(chips, "chips-2-line")
    driver.press(chips, "n", "ArrowLeft", 2, of=SLIDERS)
    choose(chips, "TPU v5e: ring")
    assert "line of 2: a ring needs 3 chips" in driver.drawn(chips)
    assert driver.readings(chips)[2] == "8,756"
    wait_kernel(chips, "2", "8192", "1024", "link")


def place_of_n(page):
    handle = driver.slider(page, "n", of=SLIDERS)
    return handle.input_value(), *map(handle.get_attribute, ("max", "aria-valuetext"))
