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


def test_a_line_joins_the_chips_of_a_family():
    ax = plot.over_years(FAMILIES)
    roofs = [rk.chip(name).roofline("bf16") for name in ("TPU v3", "TPU v4", "TPU v5e", "TPU v6e")]
    bandwidths, peaks = ax.lines[1].get_data()
    assert list(bandwidths) == [roof.bandwidth for roof in roofs]
    assert list(peaks) == [roof.peak_flops for roof in roofs]
    # A diagonal is where the ridge is the number on it.
    xs, ys = ax.lines[-1].get_data()
    assert ys / xs == pytest.approx(600)


def test_a_dtype_chooses_the_peak():
    ax = plot.over_years({"A": {"H100": 2022}}, dtype="fp8")
    assert ax.lines[0].get_ydata() == [rk.chip("H100").peak_flops("fp8")]
    assert ax.texts[-1].get_text() == "H100 SXM 2022: 591"


def test_names_lie_on_no_other_name():
    ax = plot.over_years(FAMILIES)
    ax.figure.draw_without_rendering()
    names = [text for text in ax.texts if text.get_text() and not text.get_text().startswith("r")]
    assert len(names) == 8
    assert not texts_overlap(names)


def test_years_and_figures_are_told():
    told = plot.over_years({"A": {"TPU v5e": 2023}}).roofkit_description
    assert told.endswith("TPU v5e, 2023: 197 TFLOP/s, 819 GB/s, ridge 241.")


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
