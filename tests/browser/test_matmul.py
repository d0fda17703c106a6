"""The live matmul: a grid of settings against ring 1, then keys and mouse in JupyterLab."""

import itertools
import math
import re

import driver
import numpy as np
import pytest
from live_pictures import choose, show, wait_kernel

import roofkit as rk
from rooflab import explore
from rooflab.plot import engineering

pytestmark = pytest.mark.slow("a live matmul shows what roofkit counts")

SLIDERS = ("B", "D", "F", "tile")
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def numbers(text):
    return [float(each) for each in re.findall(r"-?[\d.]+", text)]


def value(shown):
    """4.19 MB as 4.19e6."""
    number, prefix = re.fullmatch(r"[=× ]*([\d.]+) ?([kMGTP]?)[\w/]*", shown).groups()
    return float(number) * PREFIXES[prefix]


@pytest.mark.parametrize("chip", [
    "TPU v5e",
    pytest.param("RTX 4090", marks=pytest.mark.weekly("the picture is right on every chip")),
])  # fmt: skip
def test_all_settings_show_what_ring_1_counts(context, chip):
    live = explore.matmul(chip, B=100, D=5120)
    stops, dtypes = live.data["stops"], [peak["dtype"] for peak in live.data["peaks"]]
    some = [stops[name][:: 5 if name in "BDF" else 1] for name in SLIDERS]
    settings = [
        dict(zip((*SLIDERS, "dtype"), values, strict=True))
        for values in itertools.product(*some, dtypes)
    ]
    assert len(settings) > 200
    for setting, seen in zip(settings, show(context, live, settings), strict=True):
        assert_as_ring_1(seen, live.chip.roofline(setting["dtype"]), setting, live.data["limits"])


def assert_as_ring_1(seen, roof, setting, limits):
    B, D, F, tile, dtype = setting.values()
    pair = None if tile is None else (tile, tile)
    cost, once = rk.matmul(B, D, F, dtype, tile=pair), rk.matmul(B, D, F, dtype)
    top, bound = roof.attainable(cost.intensity), roof.estimate(cost).bound
    *readings, verdict = seen["readings"]
    assert verdict == f"{bound}-bound"
    assert [value(each) for each in readings] == pytest.approx(
        [cost.flops, cost.bytes, cost.intensity, top], rel=5e-3
    )
    # For each operand: bytes once, how often, all bytes; and bars with solid and hatched parts.
    wanted, lengths = [], []
    for operand in "XYZ":
        whole, least = (
            rk.matmul(B, D, F, dtype, tile=each, moves=operand).bytes for each in (pair, None)
        )
        wanted += [least, whole / least, whole]
        lengths.append((least / cost.bytes, whole / cost.bytes))
    sums = [value(each) for each in [each for i, each in enumerate(seen["texts"][-12:]) if i % 4]]
    assert sums == pytest.approx(wanted, rel=5e-3)
    assert sums[1::3] == wanted[1::3]  # times are whole
    left, *_, right = numbers(seen["paths"]["grid"][1])[0::3]
    for i, (first, whole) in enumerate(lengths):
        solid, hatched = seen["paths"]["comms bar"][2 * i : 2 * i + 2]
        assert hatched == seen["paths"]["hatching bar"][i]
        start, _, middle, *_ = numbers(solid)
        assert (start, numbers(hatched)[0]) == (left, middle)
        ends = middle, numbers(hatched)[2]
        assert ends == pytest.approx(
            [left + share * (right - left) for share in (first, whole)], abs=0.01
        )
    x, y = axes(seen, limits)
    assert numbers(seen["kernel"]) == pytest.approx([x(cost.intensity), y(top)], abs=0.02)
    assert seen["paths"]["kernel"][0].startswith("M-5" if bound == "compute" else "M-6")
    ideal = once.intensity, roof.attainable(once.intensity)
    assert numbers(seen["best"]) == pytest.approx([x(ideal[0]), y(ideal[1])], abs=0.02)
    corner = numbers(seen["paths"]["roof"][0])[2:4]
    assert corner == pytest.approx([x(roof.ridge), y(roof.peak_flops)], abs=0.02)
    edges = "no tiles: all fits" if tile is None else f"{tile} × {tile}"
    assert seen["words"] == [str(B), str(D), str(F), edges]
    assert f"matmul is {bound}-bound and reaches at most" in seen["label"]
    assert "NaN" not in str(seen)
    assert "undefined" not in str(seen)


def axes(seen, limits):
    """Return functions from a value to its pixel, from the grid with a line per decade."""
    xs = [float(x) for x in re.findall(r"M([\d.]+),[\d.]+V", seen["paths"]["grid"][0])]
    ys = [float(y) for y in re.findall(r"M[\d.]+,([\d.]+)H", seen["paths"]["grid"][0])]
    scales = []
    for (low, _), pixels in ((limits["x"], xs), (limits["y"], ys)):
        first = math.ceil(math.log10(low))
        slope, start = np.polyfit(range(first, first + len(pixels)), pixels, 1)
        scales.append(lambda at, slope=slope, start=start: start + slope * math.log10(at))
    return scales


@pytest.fixture
def tiled(lab, url):
    return driver.open_picture(lab, url, "matmul.ipynb")


def expected(*sizes, chip="TPU v5e", **how):
    cost = rk.matmul(*sizes, **how)
    roof = rk.chip(chip).roofline(how["dtype"])
    return [
        f"{engineering(cost.flops)}FLOP", f"{engineering(cost.bytes)}B",
        f"{cost.intensity:.3g} FLOP/byte", f"{engineering(roof.attainable(cost.intensity))}FLOP/s",
        f"{roof.estimate(cost).bound}-bound",
    ]  # fmt: skip


def test_keys_and_buttons_move_picture_and_kernel(tiled):
    assert driver.readings(tiled) == expected(256, 8192, 8192, dtype="bf16", tile=(128, 128))
    driver.screenshot(tiled, "matmul-1-start")
    driver.press(tiled, "B", "ArrowRight", of=SLIDERS)
    driver.press(tiled, "D", "ArrowLeft", 3, of=SLIDERS)
    driver.press(tiled, "F", "ArrowLeft", of=SLIDERS)
    assert driver.readings(tiled) == expected(512, 1024, 4096, dtype="bf16", tile=(128, 128))
    driver.press(tiled, "tile", "End", of=SLIDERS)
    tile = driver.slider(tiled, "tile", of=SLIDERS)
    assert tile.get_attribute("aria-valuetext") == "no tiles: all fits"
    choose(tiled, "int8")
    assert driver.readings(tiled) == expected(512, 1024, 4096, dtype="int8")
    pressed = [
        button.get_attribute("aria-pressed") for button in tiled.locator(".buttons button").all()
    ]
    assert pressed == ["false", "true"]
    driver.screenshot(tiled, "matmul-2-moved")
    wait_kernel(tiled, "512", "1024", "4096", "None", "int8")
