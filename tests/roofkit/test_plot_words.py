"""Figures in another language: each text that they show comes from the table of words."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

import roofkit as rk
from roofkit import plot
from roofkit.machine import comparison
from roofkit.plot import wording

V5E = rk.chip("TPU v5e").roofline("bf16")
SERVED = rk.llm("Llama-2-7B").on("H100")
B = np.array([1, 10, 100, 1000])
IDEAL = rk.Estimate(math=np.array([1e-3, 2e-3]), comms=np.array([2e-3, 1e-3]))
STEP = V5E.estimate(rk.Cost(flops=2 * 7e9 * B, bytes=7e9))
LATER = V5E.estimate(rk.Cost(flops=2 * 7e9 * B, bytes=1e14))
GROUPS = [rk.group("TPU v5e", n) for n in (1, 2, 4)]
# Every figure, each with the branches in which it says something else. Labels are capitals.
FIGURES = {
    "roofline": lambda: plot.roofline([rk.Roofline(1e12, 1e11), V5E], {"A": 1, "C": 1e3, "E": 20}),
    "one roofline": lambda: plot.roofline(V5E, {"A": 1}),
    "another channel": lambda: plot.roofline(rk.Roofline(1e12, 1e10, "CABLE"), {"A": 1}),
    "times": lambda: plot.times({"A": rk.Estimate(2e-3, 1e-3, "memory", (("link", 4e-3),))}),
    "measured": lambda: plot.measured({"A": (IDEAL, [2.5e-3, 4e-3])}),
    "traffic": lambda: plot.traffic(
        {"A": ([1, 2], [1, 2]), "C": ([1, 2], [1, 2])}, 3e12, resolution=1
    ),
    "collective": lambda: plot.collective("all-reduce", 2),
    "topologies": lambda: plot.topologies({f"N{n}": rk.group("TPU v5e", n) for n in (2, 4)}),
    "switch": lambda: plot.topologies({"N": rk.group("H100", 8)}),
    "shapes": lambda: plot.matmul_shapes(512, 4096, 4096),
    "tiled shapes": lambda: plot.matmul_shapes(8, 4096, 4096, tile=(4, 8), chips=2),
    "convolution": lambda: plot.conv_shapes(56, 56, 128, 256, 3, padding=1),
    "batches": lambda: plot.matmul_batches(V5E, {"A": (64, 64), "C": (1024, 1024)}),
    "batches on a chip": lambda: plot.matmul_batches(rk.chip("TPU v5e"), {"C": (1024, 1024)}),
    "matmul times": lambda: plot.matmul_times([1, 64], [1, 2], {"A": ([1, 64], [1, 2])}),
    "from 16 on": lambda: plot.matmul_times([16, 64], [1, 2], {}),
    "cuts": lambda: plot.matmul_cuts(8, 8, 8, chips=3),
    "pair": lambda: plot.matmul_pair(8, 8, 8),
    "overlap": lambda: plot.overlap_blocks(1e-3, 2e-3, (1, 2)),
    "split": lambda: plot.split_times(V5E, GROUPS, [8192]),
    "tokens": lambda: plot.over_tokens(B, {"A": STEP, "C": LATER}),
    "speed": lambda: plot.over_tokens(B, {"A": STEP}, flops=2 * 7e9 * B),
    "years": lambda: plot.over_years({"A": {rk.Chip("N", {"bf16": 1e12}, 1e10): 2020}}),
    "layers": lambda: plot.layers({"P": SERVED.prefill(), "D": SERVED.decode(64)}),
    "kinds": lambda: plot.breakdown({"P": SERVED.prefill(), "D": SERVED.decode(64)}),
    "throughput": lambda: plot.throughput({"A": SERVED, "C": rk.llm("Llama-2-70B").on("H100")}),
    "cache": lambda: plot.kv_memory(SERVED),
    "regions": lambda: plot.waits(rk.llm("Llama-2-7B").on("RTX A6000")),
    "comparison": lambda: comparison.compare([1, 2], [2, 1]).plot(),
    "long comparison": lambda: comparison.compare([*range(1, 12)], [*range(2, 13)]).plot(),
    "caches": lambda: plot.kv_memory(
        rk.llm("Llama-2-70B").on("H100", split=rk.models.Split(tensor=2))
    ),
}
# Signs of mathematics, units, and names that their makers gave: of collectives, layers, groups.
SIGNS = re.compile(
    r"\$[^$]*\$|T_\w+|\w+/s\b|Llama\S*|all-reduce|(line|switch) of|\w*_(proj|matmul)|lm_head"
    r"|\bembedding\b|\battention\b|\bnorm\b|\w*_norm|rotary|\w*act\b|\w*add\b|[gq]\S+/\S+"
)


@pytest.fixture
def translated(tmp_path, monkeypatch):
    """A language in which each letter of a sentence is an X."""
    plt.switch_backend("Agg")
    for words in (wording.say, comparison.say):
        folder = tmp_path / words.folder.parent.name
        folder.mkdir()
        crossed_out = (
            f"{json.dumps(key)} = {json.dumps(crossed(text))}\n"
            for key, text in words.templates().items()
        )
        (folder / "en.toml").write_text("".join(crossed_out))
        monkeypatch.setattr(words, "folder", folder)
    yield
    plt.close("all")


def crossed(sentence):
    kept = re.split(r"(\$.*?\$|T_|\{\w+\})", sentence)
    return "".join(part if i % 2 else re.sub(r"[^\W\d_]", "X", part) for i, part in enumerate(kept))


def words_left(text):
    return re.findall(r"[a-z]{3,}", SIGNS.sub("", text))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_speaks_another_language(name, translated):
    drawn = FIGURES[name]()
    ax = drawn[0] if isinstance(drawn, tuple) else drawn
    ax.figure.draw_without_rendering()
    shown = {text.get_text() for text in ax.figure.findobj(Text)}
    assert not {text for text in shown | {ax.roofkit_description} if words_left(text)}
    assert "XXX" in ax.roofkit_description


def test_each_public_figure_is_among_those_that_are_tried():
    drawn = {name for lambda_ in FIGURES.values() for name in lambda_.__code__.co_names}
    others = {"COLOURS", "LINES", "Picture", "engineering", "show", "table"}
    assert set(plot.__all__) - others <= drawn


def test_words_that_are_not_translated_would_be_seen(translated, monkeypatch):
    monkeypatch.undo()
    assert words_left(plot.roofline(V5E, {"A": 1}).roofkit_description)


def test_a_comparison_in_text_speaks_another_language(translated):
    table = comparison.compare([1, 2], [2, 1])
    assert not words_left(repr(table))
    assert not words_left(re.sub(r"<[^>]*>", "", table._repr_html_()))
