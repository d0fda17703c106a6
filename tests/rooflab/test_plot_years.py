"""Chips by year: what is drawn, what is said of it, and that names stay apart."""

import pytest
from cases import cases
from drawings import texts_overlap

import roofkit as rk
from rooflab import plot

FAMILIES = {
    "NVIDIA": {"V100": 2017, "A100 40GB SXM": 2020, "A100 80GB SXM": 2020, "H100": 2022},
    "Google TPU": {"TPU v3": 2018, rk.chip("TPU v4"): 2020, "TPU v5e": 2023, "TPU v6e": 2024},
}


def test_each_panel_draws_its_figure_of_every_chip():
    peak, bandwidth, ridge = plot.over_years(FAMILIES)
    roofs = [rk.chip(name).roofline("bf16") for name in ("TPU v3", "TPU v4", "TPU v5e", "TPU v6e")]
    for ax, read in (
        (peak, lambda roof: roof.peak_flops),
        (bandwidth, lambda roof: roof.bandwidth),
        (ridge, lambda roof: roof.ridge),
    ):
        years, values = ax.lines[1].get_data()
        assert years.tolist() == [2018, 2020, 2023, 2024]
        assert values == pytest.approx([read(roof) for roof in roofs])


def test_a_dtype_chooses_the_peak():
    peak, _, ridge = plot.over_years({"A": {"H100": 2022}}, dtype="fp8")
    assert peak.lines[0].get_ydata() == [rk.chip("H100").peak_flops("fp8")]
    assert ridge.texts[0].get_text() == "H100 SXM: 591"


def test_names_lie_on_no_other_name():
    ridge = plot.over_years(FAMILIES)[2]
    ridge.figure.draw_without_rendering()
    assert len([text for text in ridge.texts if text.get_text()]) == 8
    assert not texts_overlap(ridge.texts)


def test_every_panel_tells_years_and_figures():
    for ax in plot.over_years({"A": {"TPU v5e": 2023}}):
        said = "TPU v5e, 2023: 197 TFLOP/s, 819 GB/s, ridge 241."
        assert ax.roofkit_description.endswith(said)


@cases(
    ("families", "said"),
    [
        ({}, "families must map 1 to 5 labels"),
        (["V100"], "families must map 1 to 5 labels"),
        ({"A": {"V1000": 2017}}, "V1000"),
        ({"A": {"V100": "new"}}, "families\\['A'\\]: year"),
        ({"A": {"Xeon": 2017}}, "Xeon"),
    ],
)
def test_what_cannot_be_drawn_is_named(families, said):
    with pytest.raises(ValueError, match=said):
        plot.over_years(families)
