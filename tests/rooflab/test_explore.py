"""The live pictures in Python: values, errors, and what stands in for them without a kernel.

What they draw is tested in a real browser, in tests/browser.
"""

import json
import re
from collections import ChainMap
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from cases import cases
from nbconvert import HTMLExporter

import roofkit as rk
from roofkit.models.llm import count_coefficients
from roofkit.models.llm.operation_counts import Pass
from rooflab import explore
from rooflab.explore import frame

REFUSED = json.loads(Path(__file__).with_name("refused_pictures.json").read_text(encoding="utf-8"))
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def move(live, **changes):
    """Set controls as the browser does."""
    live.state = live.state | changes


def test_values_start_at_the_published_figures():
    live = explore.roofline("TPU v5e", "int8", intensity=rk.Cost(flops=6, bytes=4))
    assert (live.peak_flops, live.bandwidth, live.intensity) == (3.93e14, 8.19e11, 1.5)
    assert live.roof == live.published == rk.chip("TPU v5e").roofline("int8")


def test_moving_a_slider_changes_the_values_and_not_what_was_published():
    live = explore.roofline()
    move(live, peak_flops=2 * live.peak_flops)
    assert live.roof.peak_flops == live.peak_flops == 2 * 1.97e14
    assert live.published.peak_flops == 1.97e14


@cases("intensity", [1e-3, 0.5, 240, 1e5])
def test_the_picture_holds_all_that_the_controls_reach(intensity):
    live = explore.roofline(intensity=intensity)
    stops, (low, high) = live.data["stops"], live.data["limits"]["x"]
    peaks, bandwidths = stops["peak_flops"], stops["bandwidth"]
    assert low < peaks[0] / bandwidths[-1]
    assert peaks[-1] / bandwidths[0] < high
    assert (low, high) == (stops["intensity"][0], stops["intensity"][-1])
    bottom, top = live.data["limits"]["y"]
    assert bottom < rk.Roofline(peaks[0], bandwidths[0]).attainable(low)
    assert peaks[-1] < top
    assert all(value in stops[name] for name, value in live.state.items())


def test_a_link_and_a_roofline_of_your_own():
    link = rk.group("TPU v5e", 2).roofline("bf16")
    assert explore.roofline(link, intensity=20).data["channel"] == "link"
    mine = explore.roofline(rk.Roofline(2e11, 5e10))
    assert mine.roof.ridge == 4


@cases(
    ("arguments", "message"),
    [
        ({"dtype": "fp8"}, "TPU v5e has no peak for dtype 'fp8'; the table has: bf16, int8"),
        ({"intensity": 0}, "intensity must be finite and above 0, got 0"),
        ({"intensity": [1, 2]}, "intensity must be one number or a Cost of numbers"),
        ({"text": {"ridges": ""}}, "text has unknown keys .'ridges'.; known: "),
        ({"chip": rk.Roofline([1e12, 2e12], 1e11)}, "chip must be one Roofline"),
    ],
)
def test_errors_name_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        explore.roofline(**arguments)


def test_without_a_kernel_the_static_picture_stands_in():
    live = explore.roofline(kernel="dot")
    bundle, _ = live._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", WIDGET_VIEW}
    assert bundle["text/plain"] == repr(live) == repr(explore.roofline(kernel="dot"))
    output = nbformat.v4.new_output("execute_result", bundle, execution_count=1)
    cell = nbformat.v4.new_code_cell("live", outputs=[output], execution_count=1)
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    [alternative] = re.findall(r'<img[^>]* alt="([^"]*)"[^>]* src="data:image/png', page)
    assert "ridge at 240.5 FLOP/byte" in alternative
    assert "dot" in alternative


def test_time_bars_start_at_the_cost_and_follow_the_controls():
    live = explore.times(rk.Cost(1e12, 2e9), ["H100", rk.chip("TPU v6e")])
    assert live.cost == rk.Cost(1e12, 2e9)
    assert {name: e.bound for name, e in live.estimates.items()} == {
        "H100 SXM": "compute",
        "TPU v6e": "memory",
    }
    move(live, flops=live.state["flops"] / 2)
    assert live.estimates["H100 SXM"].bound == "memory"
    move(live, **{name: stops[-1] for name, stops in live.data["stops"].items()})
    assert live.estimates["TPU v6e"].upper == live.data["longest"]


def test_time_bars_have_a_static_picture_and_take_rooflines_of_your_own():
    live = explore.times(rk.Cost(1, 1), {"mine": rk.Roofline(2e11, 5e10)})
    assert live.estimates["mine"].math == 5e-12
    assert repr(live) == "TimesExplorer(flops=1, bytes=1)"
    assert "mine: T_math 5 ps, T_comms 20 ps" in live._repr_mimebundle_()[0]["text/html"]


@cases(
    ("cost", "chips", "message"),
    [
        (1e12, ["H100"], "cost must be a Cost"),
        (rk.Cost(0, 1), ["H100"], "flops must be finite and above 0, got 0"),
        (rk.Cost([1, 2], 1), ["H100"], "flops must be one number"),
        (rk.Cost(1, 1), [], "chips is empty"),
        (rk.Cost(1, 1), {"mine": 3}, "chips.'mine'. must be one Roofline"),
    ],
)
def test_time_bars_refuse_what_they_cannot_draw(cost, chips, message):
    with pytest.raises(ValueError, match=message):
        explore.times(cost, chips)


STEP = {"flops": ("tokens", 100, [50, 100, 200]), "bytes": ("bits", 16, [16, 8, 4])}


def test_time_bars_move_in_the_terms_of_a_question():
    live = explore.times(rk.Cost(1.4e12, 1.4e10), ["A100 80GB SXM"], terms=STEP)
    assert live.cost == rk.Cost(1.4e12, 1.4e10)
    assert (live.text["flops"], live.text["bytes"]) == ("tokens", "bits")
    move(live, flops=200)
    assert live.data["longest"] == live.estimates["A100 80GB SXM"].upper
    move(live, bytes=4)
    assert live.cost == rk.Cost(2.8e12, 3.5e9)
    assert repr(live) == "TimesExplorer(tokens=200, bits=4)"


@cases(
    ("terms", "message"),
    [
        ({"time": STEP["flops"]}, "terms must map"),
        ({"flops": ("tokens", 100)}, r"terms\['flops'\] must be \(label, start, stops\)"),
        ({"flops": ("tokens", 100, [50, 200])}, "starts at 100, which is not one of"),
        ({"flops": ("tokens", 100, [[50], 100])}, "must have numbers as stops"),
    ],
)
def test_time_bars_refuse_terms_that_they_cannot_move(terms, message):
    with pytest.raises(ValueError, match=message):
        explore.times(rk.Cost(1, 1), ["H100"], terms=terms)


def joined(live, label):
    move(live, topology=labels(live).index(label))
    return live


def labels(live):
    return [group["label"] for group in live.data["groups"]]


def test_chips_start_at_the_given_sizes():
    live = explore.chips(B=300, D=5000, F=6000, n=8, dtype="int8")
    assert (live.n, live.B, live.D, live.F) == (8, 300, 5000, 6000)
    assert repr(live.group) == "Group(8 × TPU v5e, 2x4, egress 90 GB/s)"
    v5e = rk.chip("TPU v5e")
    split = rk.network.sharded_matmul(300, 5000, 6000, rk.group(v5e, 8), dtype="int8")
    assert live.estimate == split.estimate(v5e.roofline("int8"))
    assert live.critical_width == rk.critical_width(rk.group(v5e, 8), "int8")


def test_chips_have_their_own_groups_and_neighbours_a_line_and_a_ring():
    live = explore.chips(("H100", "TPU v5p", rk.chip("TPU v5e"), "A100 80GB PCIe"))
    assert labels(live) == [
        "H100 SXM: switch that adds", "TPU v5p: slice", "TPU v5p: line", "TPU v5p: ring",
        "TPU v5e: slice", "A100 80GB PCIe: all pairs",
    ]  # fmt: skip
    assert labels(explore.chips("H100")) == ["H100 SXM: switch that adds"]
    assert labels(explore.chips("A100 80GB SXM")) == ["A100 80GB SXM: switch"]


def test_a_line_is_half_as_fast_as_a_ring_and_two_chips_are_a_line():
    live = explore.chips(n=16)
    assert live.critical_width == pytest.approx(15 * 2 * 1.97e14 / 90e9)
    ring, line = (joined(live, f"TPU v5e: {kind}").critical_width for kind in ("ring", "line"))
    assert line == 2 * ring
    two = joined(explore.chips(), "TPU v5e: ring")
    assert two.group.shape == "line of 2"
    shapes = {size["n"]: size["shape"] for size in two.data["groups"][2]["sizes"]}
    assert shapes[2] == "line of 2: a ring needs 3 chips"
    assert shapes[4] == "ring of 4"


def test_controls_step_through_whole_sizes_and_the_threshold_lies_between_two_steps():
    live = explore.chips()
    widths, batches = live.data["stops"]["D"], live.data["stops"]["B"]
    assert widths[widths.index(8192) + 1] == 9216 > live.critical_width > live.D
    # Every slice of the TPU v5e has its critical width on the strip.
    assert widths[-1] > rk.critical_width(rk.group("TPU v5e", 256))
    assert batches == [2**octave for octave in range(15)]
    assert explore.chips(D=100).data["stops"]["D"][0] == 100
    assert explore.chips(B=2**20).data["stops"]["B"][-1] == 2**20
    assert all(type(size) is int for size in widths + batches)
    assert max(b / a for a, b in pairwise(widths)) <= 1.125


def test_chips_have_a_static_picture():
    live = explore.chips()
    page = live._repr_mimebundle_()[0]["text/html"]
    assert repr(live).endswith("B=1024, D=8192, F=8192)")
    assert "n = 2: T_math 349 µs, T_memory 113 µs, T_link 373 µs, total between" in page
    assert "link-bound" in page


@cases(("arguments", "message"), REFUSED["chips"])
def test_chips_refuse_what_they_cannot_draw(arguments, message):
    with pytest.raises(ValueError, match=message):
        explore.chips(**arguments)


def test_a_matmul_starts_at_the_given_sizes_and_follows_its_controls():
    live = explore.matmul("TPU v5e", B=256, tile=128)
    assert repr(live) == "MatmulExplorer(B=256, D=8192, F=8192, tile=128, dtype=bf16)"
    assert live.cost == rk.matmul(256, 8192, 8192, tile=(128, 128))
    assert live.roof == rk.chip("TPU v5e").roofline("bf16")
    assert live.estimate.bound == "memory"
    move(live, tile=live.data["stops"]["tile"][-1])
    assert live.tile is None
    move(live, B=512, D=128, F=128, dtype="int8")
    assert live.cost == rk.matmul(512, 128, 128, "int8")
    assert live.roof == rk.chip("TPU v5e").roofline("int8")


def test_sizes_that_are_no_powers_of_two_are_stops_among_them():
    live = explore.matmul(B=1, D=5120, F=100_000, tile=96)
    stops = live.data["stops"]
    assert stops["B"] == [2**k for k in range(17)]
    assert stops["D"] == sorted([*(2**k for k in range(7, 17)), 5120])
    assert stops["F"] == [*(2**k for k in range(7, 17)), 100_000, 2**17]
    assert stops["tile"] == [*(2**k for k in range(7)), 96, 128, 256, 512, 1024, None]
    assert explore.matmul(D=3).D == 3
    assert explore.matmul(D=3).data["stops"]["D"][:4] == [2, 3, 4, 8]


@cases("chip", ["TPU v5e", "H100", "GTX 1080 Ti"])
def test_the_axes_of_a_matmul_hold_all_that_the_controls_reach(chip):
    dtypes = list(rk.chip(chip).peaks)
    live = explore.matmul(chip, dtype=dtypes[0])
    (low, high), (bottom, top) = live.data["limits"]["x"], live.data["limits"]["y"]
    for dtype in dtypes:
        for end in (0, -1):
            move(live, dtype=dtype, **{k: stops[end] for k, stops in live.data["stops"].items()})
            assert low < live.cost.intensity < high
            assert bottom < live.roof.attainable(live.cost.intensity) < top
        assert low < live.roof.ridge < high


def test_a_matmul_has_a_static_picture():
    page = explore.matmul(tile=128)._repr_mimebundle_()[0]["text/html"]
    assert "matmul, b = 128 at 63.5 FLOP/byte is memory-bound" in page
    assert "matmul at 241 FLOP/byte is compute-bound" in page
    assert "b = " not in explore.matmul()._repr_mimebundle_()[0]["text/html"]


@cases(("arguments", "message"), REFUSED["matmul"])
def test_a_matmul_refuses_what_it_cannot_draw(arguments, message):
    with pytest.raises(ValueError, match=message):
        explore.matmul(**arguments)


@pytest.mark.parametrize("make", [
    explore.roofline,
    explore.matmul,
    explore.chips,
    lambda: explore.times(rk.Cost(1e12, 2e9), ["H100"]),
])  # fmt: skip
def test_live_pictures_speak_another_language(make, tmp_path, monkeypatch):
    translated = {key: f"«{text}»" for key, text in frame.WORDS.templates().items()}
    lines = (f"{json.dumps(key)} = {json.dumps(text)}\n" for key, text in translated.items())
    (tmp_path / "en.toml").write_text("".join(lines))
    monkeypatch.setattr(frame.WORDS, "folder", tmp_path)
    live = make()
    assert all(text.startswith("«") and text.endswith("»") for text in live.text.values())
    for group in live.data.get("groups", []):
        assert all(size["shape"].startswith("«") for size in group["sizes"])
        assert group["label"].startswith("«")


def test_each_text_of_a_live_picture_is_one_that_it_has():
    known = set(frame.WORDS.templates())
    for path in frame.HERE.glob("*.js"):
        assert set(re.findall(r"\btext\.(\w+)", path.read_text(encoding="utf-8"))) <= known, path


def test_a_model_starts_at_the_given_choices_and_follows_its_lists():
    live = explore.model()
    assert repr(live).startswith("ModelExplorer(model='Llama-3.1-8B', chip='H100 SXM', n=1, ")
    llama = rk.llm("Llama-3.1-8B")
    plain = llama.on("H100")
    assert live.deployment == plain
    assert live.prefill.rows == plain.prefill(16, 2048).rows
    assert live.decode.rows == plain.decode(16, 2048 + 127).rows
    assert live.generation.time == plain.generate(16, 2048, 256).time
    assert live.memory == plain.memory(16, 2048, 256)
    move(live, chip="L4", weights=4, kv=8, batch=1)
    narrow = rk.models.Precision(weights="fp4", scales=128, activations="bf16", kv="fp8")
    assert live.deployment == llama.on("L4", precision=narrow)
    eight = explore.model("Mixtral-8x7B", "A100 80GB SXM", 8, attention="unfused", batch=3)
    assert eight.deployment.split.chips == 8
    assert eight.decode["softmax"].bound == "memory"
    assert eight.data["stops"]["batch"][:4] == [1, 2, 3, 4]


def test_a_model_reaches_the_published_table_and_takes_a_roof_of_your_own():
    viewer = explore.model("Llama-2-7B", "RTX A6000", convention="llm-viewer", batch=1)
    assert f"{viewer.prefill.time * 1e3:.0f}" == "227"
    narrow = {"model": "Llama-2-7B", "weights": 8, "activations": 8}
    own = explore.model(**narrow, peak=1e14, bandwidth=1e12)
    assert own.deployment.chip.peaks["fp8"] == pytest.approx(2e14, rel=1e-3)
    assert own.decode.time == pytest.approx(3.35 * explore.model(**narrow).decode.time)


def test_a_model_starts_in_the_format_that_it_is_published_in():
    live = explore.model("gpt-oss-20b", "V100", models=["gpt-oss-20b"], chips=["V100"])
    assert live.deployment.precision.experts == "fp4"
    assert live.deployment.precision.kv == "fp16"
    assert live.data["choices"]["model"] == ["gpt-oss-20b"]


def test_models_and_chips_of_your_own_are_among_the_others():
    tiny = rk.models.LLM("tiny", hidden=64, layers=2, heads=4, vocabulary=100, mlp=256)
    mine = rk.Chip("mine", peaks={"fp16": 1e12}, bandwidth=1e11)
    live = explore.model(tiny, mine)
    assert live.data["choices"]["model"][-1] == "tiny"
    assert live.data["chips"]["mine"]["capacity"] is None
    assert live.memory.fits is None
    assert live.decode.time == tiny.on(mine).decode(16, 2175).time


def test_what_is_not_in_the_lists_is_left_out_with_a_reason():
    live = explore.model()
    data = live.data
    assert list(data["models"]) == [row["model"] for row in rk.models.llms().rows]
    assert {each.name for each in rk.chips()} == {*data["chips"], *live.reasons_left_out}
    reason = "GTX 1080 Ti has no confirmed peak for 16-bit matrices"
    assert live.reasons_left_out["GTX 1080 Ti"] == reason
    assert len(live.reasons_left_out) < 6


@cases(("arguments", "message"), REFUSED["model"])
def test_a_model_refuses_what_it_cannot_show(arguments, message):
    with pytest.raises(ValueError, match=message):
        explore.model(**arguments)


def test_a_model_has_a_static_picture_and_words_that_can_be_replaced():
    live = explore.model(text={"prefill": "vorlesen"})
    page = live._repr_mimebundle_()[0]["text/html"]
    assert "vorlesen" in page
    assert page.count("gate_up_proj") > 2  # in the picture's words and in both tables
    assert f"{live.generation}" in page
    assert live.text["prefill"] == "vorlesen"


@cases("name", [row["model"] for row in rk.models.llms().rows])
def test_the_coefficients_of_a_model_add_up_to_its_count(name):
    model, lengths = rk.llm(name), (5.0, 37.0, 4321.0)
    sixteen = rk.models.Precision(weights="bf16", experts="bf16", activations="bf16", kv="fp8")
    passes = model.on("H100", precision=sixteen, attention="unfused")._passes
    found, how = count_coefficients.fit_count_coefficients(model), passes.how
    of = dict(ChainMap(*count_coefficients._length_functions(Pass(how, *lengths)).values()))
    widths = how.widths._asdict()

    def bytes_of(coefficients):
        return sum(
            widths[name] * number * of[each]
            for name, sums in coefficients.items() for each, number in sums.items()
        )  # fmt: skip

    [way, *_] = found["attention"]["unfused"]
    for one, wanted in zip(
        [*found["before"], *way, *found["after"]], passes.operations(*lengths), strict=True
    ):
        assert (one["name"], one["count"]) == (wanted.name, wanted.count)
        if model.latent and wanted.name in ("kv_up_proj", "attention"):
            continue  # whichever way is quicker here
        assert sum(number * of[each] for each, number in one["flops"].items()) == wanted.flops
        assert bytes_of(one["held"]) == pytest.approx(wanted.weights + wanted.kv, rel=1e-12)
        assert bytes_of(one["moved"]) == pytest.approx(wanted.activations, rel=1e-12)


def test_a_figure_of_another_form_has_no_coefficients(monkeypatch):
    monkeypatch.setattr(
        count_coefficients, "FUNCTIONS", count_coefficients.FUNCTIONS | {"flops": ("rows", "pairs")}
    )
    with pytest.raises(ValueError, match="o_proj: its flops are not a sum of rows, pairs"):
        count_coefficients.fit_count_coefficients(rk.llm("Llama-2-7B"))
