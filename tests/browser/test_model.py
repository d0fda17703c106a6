"""The live picture of a language model, compared with ring 1 on states of all that it can show."""

import csv
import itertools
import json
import random
import re

import pytest
from driver import open_picture, screenshot
from live_pictures import evaluate, wait_kernel

import roofkit as rk
from rooflab import explore
from rooflab.machine import calibrate
from rooflab.plot import engineering

pytestmark = pytest.mark.slow("a live model shows what roofkit counts")

PHONE = {"width": 390, "height": 844}
LAYER = ("count", "flops", "bytes", "intensity", "time", "link")
STATES = 4  # of each model
# Compute the nearest available states and their figures, as the picture does.
FIGURES = """
async ([source, data, states]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { figuresOf, settle } = await import(url);
  return states.map((wanted) => {
    const state = settle(data, wanted), { passes, served, ...totals } = figuresOf(data, state);
    return { wanted, state, passes, totals };
  });
}
"""


@pytest.fixture(scope="module")
def live():
    return explore.model()


@pytest.fixture(scope="module")
def shown(live, context):
    """What the browser makes of many states, some of which are not available."""
    dice = random.Random(24)
    known = live.data["choices"] | live.data["stops"]
    known |= {"peak": [0, 0, 3e14], "bandwidth": [0, 0, 5e12]}
    wanted = [
        {name: dice.choice(values) for name, values in known.items()}
        | {"model": model, "phase": "decode"}
        for model in known["model"] for _ in range(STATES)
    ]  # fmt: skip
    return evaluate(context, FIGURES, live._esm, live.data, wanted)


def test_every_model_is_as_ring_1_says(live, shown):
    assert {each["state"]["model"] for each in shown} == {
        row["model"] for row in rk.models.llms().rows
    }
    bounds = set()
    for each in shown:
        live.state = each["state"]
        for phase, layers in each["passes"].items():
            table = getattr(live, phase)
            assert [layer["name"] for layer in layers] == [layer.name for layer in table]
            for layer, wanted in zip(layers, table, strict=True):
                found = [layer[name] for name in LAYER]
                assert found == pytest.approx(
                    [float(getattr(wanted, name)) for name in LAYER], rel=1e-9
                )
                math, memory = wanted.estimate.math, wanted.estimate.comms
                # If both take the same time, rounding decides.
                assert layer["bound"] == wanted.bound or math == pytest.approx(memory, rel=1e-12)
                bounds.add((phase, wanted.bound))
        totals, run, memory = each["totals"], live.generation, live.memory
        assert totals["context"] == live.context
        assert [totals[name] for name in ("first", "decoding", "each", "speed")] == pytest.approx(
            [run.time_to_first_token, run.decoding, run.time_per_token, run.tokens_per_second],
            rel=1e-9,
        )
        held = [totals["memory"][name] for name in ("weights", "cache", "activations", "needed")]
        assert held == pytest.approx(
            [memory.weights, memory.kv, memory.activations, memory.total], rel=1e-9
        )
        assert totals["memory"]["fits"] == memory.fits
    assert bounds == set(itertools.product(("prefill", "decode"), ("compute", "memory", "link")))


def test_what_there_is_not_gives_way_to_the_nearest(live, shown):
    for each in shown:
        wanted, state = each["wanted"], each["state"]
        changed = {name for name in wanted if wanted[name] != state[name]}
        assert changed <= {"n", "weights", "activations", "kv", "attention", "convention"}
        if "n" in changed and state["convention"] == "roofkit":
            live.state = state | {"n": wanted["n"]}
            with pytest.raises(ValueError, match=r"split|join|links|slice"):
                live.deployment.decode()
        formats = {name: wanted[name] for name in ("weights", "activations", "kv")}
        if changed & {*formats} and "published" not in formats.values():
            live.state = state | formats
            with pytest.raises(ValueError, match="no peak"):
                live.deployment.decode()
    assert sum(each["wanted"] != each["state"] for each in shown) > 15


def write_page(live, path):
    """Write a page with only the picture, without Jupyter or a kernel, and return its address."""
    scale = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<head><meta charset="utf-8">{scale}<title>A model</title></head>'
    body = f"<body>{explore.write_html(live, ' data-address')}</body>"
    path.write_text(f'<!doctype html><html lang="en">{head}{body}</html>', encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    path = tmp_path_factory.mktemp("alone") / "model.html"
    address = write_page(explore.model(), path)
    assert path.stat().st_size < 1.5e6
    return address


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 900}])
def test_a_page_without_a_kernel_moves_and_fits(alone, context, size, live):
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.append(asked.url))
    page.set_viewport_size(size)
    page.goto(alone)
    page.wait_for_selector(".roofkit-picture circle")
    page.locator(".inputs summary").click()
    state = dict(explore.model().state)
    assert_shown(page, live, state)
    for name in ("batch", "prompt", "answer"):
        page.get_by_role("slider", name=name).press("ArrowRight")
        state[name] *= 2
        assert_shown(page, live, state)
    steps = {
        "weights": ("weights", 8), "activations": ("activations", 8), "KV cache": ("kv", 4),
        "chips": ("n", 8), "model": ("model", "Mixtral-8x7B-v0.1"),
        "attention": ("attention", "unfused"),
    }  # fmt: skip
    for label, (name, value) in steps.items():
        page.get_by_role("combobox", name=label, exact=True).select_option(str(value))
        state[name] = value
        assert_shown(page, live, state)
    page.get_by_role("spinbutton", name="GB/s").fill("5000")
    page.get_by_role("spinbutton", name="GB/s").press("Enter")
    state["bandwidth"] = 5e12
    assert_shown(page, live, state)
    page.reload()
    page.locator(".inputs summary").click()
    assert_shown(page, live, state)
    page.get_by_role("button", name="prefill").click()
    assert page.get_by_role("button", name="prefill", pressed=True).count() == 1
    assert_shown(page, live, state | {"phase": "prefill"})
    # At most two of these chips are linked.
    page.get_by_role("combobox", name="chip", exact=True).select_option("A100 80GB PCIe")
    fallen = state | {"chip": "A100 80GB PCIe", "bandwidth": 0, "phase": "prefill", "n": 2}
    assert_shown(page, live, fallen)
    counted = page.get_by_role("combobox", name="counted as by", exact=True)
    counted.select_option("llm-viewer")
    assert_shown(page, live, fallen | {"convention": "llm-viewer", "n": 1})
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    table = page.locator(".scrolls")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth")
    if size == PHONE:
        for control in page.locator("select, input, button").all():
            assert control.bounding_box()["height"] >= 40
    screenshot(page, f"model-{size['width']}")
    page.close()
    asked = {url.partition("#")[0] for url in wrong if not url.startswith("blob:")}
    assert asked == {alone}


def assert_shown(page, live, state):
    """Compare the totals and the table with a state."""
    live.state = state
    run, memory, table = live.generation, live.memory, getattr(live, state["phase"])
    read = [each.split("\n") for each in page.locator(".readings > div").all_inner_texts()]
    (_, first), (_, each), (_, user), (_, speed), (_, told) = [lines[:2] for lines in read]
    assert first == f"{engineering(run.time_to_first_token)}s"
    assert each == f"{engineering(run.time_per_token)}s"
    rates = 1 / run.time_per_token, state["batch"] / run.time_per_token
    shown = [float(rate.replace(",", "")) for rate in (user, speed)]
    assert shown == pytest.approx(rates, rel=0.05)
    assert told.startswith(f"{engineering(memory.total)}B")
    assert ("fits" in told) == bool(memory.fits)
    rows = [
        [cell.strip() for cell in row.split("\t")]
        for row in page.locator("table tr").all_inner_texts()
    ]
    assert len(rows) == len(table) + 2
    for cells, layer in zip(rows[1:-1], table, strict=True):
        assert cells[0].removeprefix(f"{layer.count} × ") == layer.name
        assert cells[4] == f"{engineering(layer.time)}s"
        assert cells[6] == layer.bound
    assert rows[-1][1:5:3] == [engineering(table.flops).strip(), f"{engineering(table.time)}s"]
    label = page.locator(".roofkit-picture svg").get_attribute("aria-label")
    assert f"{state['model']} on {state['n']} × {state['chip']}" in label


def test_a_goal_is_answered_with_what_was_timed(context, tmp_path):
    chosen = {"models": ["Llama-3.1-8B"], "chips": ["H100", "MI300X"], "batch": 16, "n": 8}
    live, page = explore.model("Llama-3.1-8B", predict=True, **chosen), context.new_page()
    page.goto(write_page(live, tmp_path / "goal.html"))
    eight = rk.models.Split(tensor=8)
    calibrated = rk.llm("Llama-3.1-8B").on("H100", split=eight, calibration=calibrate("H100"))
    step = calibrated.generate(16, 2048, 2).predicted_decoding
    slow, middle, fast = (1 / getattr(step, end) for end in ("high", "seconds", "low"))
    best, verdict = 1 / live.generation.time_per_token, page.locator(".verdict")
    goals = {
        "Yes": 0.9 * slow, "Borderline": middle, "Hardly": (fast + best) / 2, "No": 1.1 * best
    }  # fmt: skip
    for answer, goal in goals.items():
        page.get_by_role("spinbutton", name="goal").fill(f"{goal:.0f}")
        page.get_by_role("spinbutton", name="goal").press("Enter")
        assert verdict.inner_text().startswith(f"{answer}:"), goal
    said = page.locator(".readings small").all_inner_texts()[2]
    numbers = [float(number) for number in re.findall(r"[\d.]+", said)]
    assert numbers == pytest.approx([middle, slow, fast], rel=0.05)
    page.get_by_role("combobox", name="chip", exact=True).select_option("MI300X")
    assert verdict.inner_text().startswith(("Perhaps:", "No:"))
    assert "".join(page.locator(".readings small").all_inner_texts()) == ""
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    rows = list(csv.reader(saved.value.path().read_text().splitlines()))
    assert rows[-2][0] == "logits_all_gather"
    page.close()


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 900}])
def test_the_squares_of_a_ridge_light_with_the_users(context, size, tmp_path):
    live, page = explore.ridge(), context.new_page()
    path = tmp_path / "ridge.html"
    page.set_viewport_size(size)
    # Saved notebooks sort the keys.
    plain = json.loads(json.dumps(live.data))
    live.data = json.loads(json.dumps(plain, sort_keys=True))
    page.goto(write_page(live, path))
    page.locator(".inputs label span").nth(3).wait_for()
    assert path.stat().st_size < 1e5
    squares, lit = page.locator("rect.square"), page.locator("rect.lit")

    def assert_lit(**changes):
        live.state = live.state | changes
        assert squares.count() == round(live.squares)
        assert lit.count() == min(round(live.flops_per_byte), round(live.squares))
        table = getattr(live, live.state["phase"])
        said, step, each = page.locator(".readings > div").all_inner_texts()
        assert said.endswith(f"{lit.count()} of {squares.count()}")
        tokens = live.flops_per_byte * live.deployment.precision.widths.weights / 2
        assert step.endswith(f"{engineering(table.time)}s")
        assert each.endswith(f"{engineering(table.time / tokens)}s")
        # Caches come through the pipe even where the weights' matmuls fill the chip.
        reading = live.state["phase"] == "prefill"
        assert page.locator("rect.pipe.idle").count() == reading

    names = page.locator(".inputs label span").all_inner_texts()
    assert names == ["model", "chip", "weights", "users"]
    assert_lit()
    for _ in range(4):
        page.get_by_role("slider", name="users").press("ArrowRight")
    assert_lit(batch=16)
    page.get_by_role("combobox", name="weights").select_option("4")
    assert_lit(weights=4)
    page.get_by_role("combobox", name="chip").select_option("TPU v5e")
    assert_lit(chip="TPU v5e")
    page.get_by_role("slider", name="users").press("End")
    assert_lit(batch=2048)
    assert lit.count() == squares.count()
    page.get_by_role("button", name="read").click()
    assert_lit(phase="prefill")
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    screenshot(page, f"ridge-{size['width']}")
    page.close()


@pytest.mark.weekly("the live model moves in a notebook, and Python follows")
def test_in_a_notebook_it_moves_and_python_follows(lab, url):
    open_picture(lab, url, "model.ipynb")
    picture = lab.locator(".roofkit-picture")
    batch = picture.get_by_role("slider", name="batch")
    batch.focus()
    batch.press("ArrowRight")
    picture.get_by_role("combobox", name="chip", exact=True).select_option("H200")
    wanted = explore.model(chip="H200", batch=32).decode.time
    wait_kernel(lab, "32", "H200", f"{wanted}")
    # Keys pressed on a slider do not reach the notebook, which would add or cut cells.
    assert lab.locator(".jp-NotebookPanel .jp-Cell").count() == 2
    for _ in range(2):
        picture.get_by_role("combobox", name="model", exact=True).press("d")
    assert lab.locator(".jp-NotebookPanel .jp-Cell").count() == 2
    screenshot(lab, "model-lab")
