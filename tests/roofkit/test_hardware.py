"""The table of chips: its figures, its lookups, and what the reader of TOML files refuses."""

import copy
import csv
import dataclasses
import html
import json
import math
import pickle
import re
import sys
import tomllib
import types
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from cases import cases

import roofkit as rk
from roofkit.hardware import ChipTable, Interconnect
from roofkit.hardware.tables import CHIPS_TABLE

# What a survey of the vendors' pages, made apart from the table, found: dense TFLOP/s, TB/s of
# memory, GB/s of all links one way, how chips are joined (topology, most in one group, largest
# slice and the length whose multiples wrap around), multiprocessors by the architecture papers,
# the memory that drivers and runtimes
# report, and the ridge at 16 bits, or at 32 where there is no such peak.
with Path(__file__).with_name("published_chips.csv").open(encoding="utf-8") as _file:
    PUBLISHED = {row["chip"]: row for row in csv.DictReader(_file)}
BYTES = {"GB": 1e9, "MiB": 2**20, "GiB": 2**30}
WITHOUT_BF16 = ("V100 SXM2", "T4", "AGX Orin", "M4 Max")


def _published(name, scale=1):
    """A column of that survey by chip, where it has a figure."""
    for chip, row in PUBLISHED.items():
        if text := row[name]:
            number, _, unit = text.partition(" ")
            yield chip, float(number) * BYTES.get(unit, scale)


REFUSED = json.loads(Path(__file__).with_name("refused_chips.json").read_text(encoding="utf-8"))
TOY = Path(__file__).with_name("toy_chips.toml").read_text(encoding="utf-8")


def _figures(chip):
    named = {f"peak.{dtype}": peak for dtype, peak in chip.peaks.items()}
    names = ("bandwidth", "capacity", "allocatable", "on_chip", "multiprocessors", "threads")
    named |= {name: getattr(chip, name) for name in names}
    if chip.interconnect:
        named |= {"link": chip.interconnect.bandwidth, "latency": chip.interconnect.latency}
    return {name: figure for name, figure in named.items() if figure is not None}


def _write(folder, text):
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


@cases(
    ("column", "figure", "scale"),
    [
        ("half", "peak.bf16", 1e12),
        ("fp8", "peak.fp8", 1e12),
        ("int8", "peak.int8", 1e12),
        ("fp32", "peak.fp32", 1e12),
        ("fp4", "peak.fp4", 1e12),
        ("bandwidth", "bandwidth", 1e12),
        ("capacity", "capacity", None),
        ("links", "links", 1e9),
        ("multiprocessors", "multiprocessors", 1),
        ("reported", "allocatable", None),
    ],
)
def test_every_chip_has_the_published_figures_and_no_others(column, figure, scale):
    found = {}
    for chip in rk.chips():
        figures = _figures(chip) | {"links": chip.interconnect and chip.interconnect.total}
        half = column == "half" and chip.name in WITHOUT_BF16
        found[chip.name] = figures.get("peak.fp16" if half else figure)
    expected = dict.fromkeys(PUBLISHED) | dict(_published(column, scale))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (value and pytest.approx(value, rel=1e-12)), name


@cases("chip", rk.chips())
def test_every_figure_has_its_unit_kind_and_source(chip):
    assert chip.sku
    units = dict.fromkeys(("bandwidth", "link"), "byte/s") | {"latency": "s"}
    units |= dict.fromkeys(("capacity", "allocatable", "on_chip"), "byte")
    units |= {name: name for name in ("multiprocessors", "threads")}
    kinds = {"link": "one-way"}
    listed = tomllib.loads(CHIPS_TABLE.read_text(encoding="utf-8"))["sources"].values()
    for name, figure in _figures(chip).items():
        assert figure.unit == units.get(name, "FLOP/s")
        assert figure.kind == kinds.get(name, "dense" if name.startswith("peak") else "")
        assert figure.source in listed
        assert "https://" in figure.source
        assert 0 < figure < math.inf


# The part of a host name by which a package registry is known.
REGISTRIES = {"pypi", "npmjs", "crates", "anaconda"}


def _addresses():
    listed = tomllib.loads(CHIPS_TABLE.read_text(encoding="utf-8"))["sources"]
    for name, cited in listed.items():
        yield name, cited, re.findall(r"https://\S+", cited)


def test_a_source_leads_to_the_page_of_its_figures_and_to_no_home_page():
    for name, cited, found in _addresses():
        assert len(found) == 1, name
        assert cited.endswith(f": {found[0]}"), name
        # What a notebook shows of it in a table is escaped; none needs to be.
        assert cited == html.escape(cited), name
        address = urlsplit(found[0])
        assert address.path.strip("/") or address.query, f"{name} is a bare home page"
        assert not REGISTRIES & set(address.hostname.split(".")), name
        if address.hostname == "github.com":
            # Not a repository but a file of one commit, an issue or a pull request.
            _, _, kind, which, *path = address.path.strip("/").split("/")
            if kind == "blob":
                assert re.fullmatch("[0-9a-f]{40}", which), name
                assert path, name
                assert which[:7] in cited.removesuffix(found[0]), name
            else:
                assert kind in ("issues", "pull"), name
                assert which.isdecimal(), name


def test_no_peak_is_unconfirmed_and_every_source_is_used():
    cited = {figure.source for chip in rk.chips() for figure in _figures(chip).values()}
    cited |= {chip.interconnect.source for chip in rk.chips() if chip.interconnect}
    assert all(peak.confirmed for chip in rk.chips() for peak in chip.peaks.values())
    assert cited == set(tomllib.loads(CHIPS_TABLE.read_text(encoding="utf-8"))["sources"].values())


def test_layouts_are_the_published_ones():
    for name, row in PUBLISHED.items():
        joined = rk.chip(name).interconnect
        if not row["topology"]:
            assert joined is None or not joined.topology, name
            continue
        slices = "x".join(map(str, max(joined.slices, default=())))
        found = joined.topology, f"{joined.largest or ''}", slices, f"{joined.wraps or ''}"
        assert found == (row["topology"], row["largest"], row["slice"], row["wraps"]), name


def test_rings_of_cubes_close_together_and_those_of_a_pod_each_alone():
    v5e, v5p = (rk.chip(name).interconnect for name in ("TPU v5e", "TPU v5p"))
    assert v5e.rings((8, 16)) == (False, True)
    assert v5p.rings((2, 4, 4)) == (False, False, False)
    assert v5p.rings((4, 4, 8)) == (True, True, True)


def test_what_can_be_allocated_is_what_the_driver_reports():
    for name, held in _published("reported"):
        chip = rk.chip(name)
        assert chip.usable == chip.allocatable == held, name
        assert dataclasses.replace(chip, allocatable=None).usable == chip.capacity, name


def test_threads_of_a_multiprocessor_follow_the_architecture():
    turing, wide = {"T4", "Quadro RTX 6000"}, {"V100 SXM2", "GTX 1080 Ti", "H20", "A30"}
    for chip in rk.chips():
        if chip.threads is None:
            assert not chip.sku.startswith("NVIDIA") or chip.multiprocessors is None
        elif chip.name in wide or re.match("(A|H)[128]00|G?B[23]00", chip.name):
            assert chip.threads == 2048
        else:
            assert chip.threads == (1024 if chip.name in turing else 1536)


def test_ridges_are_the_published_ones():
    for name, ridge in _published("ridge"):
        chip = rk.chip(name)
        dtype = next(dtype for dtype in ("bf16", "fp16", "fp32") if dtype in chip.peaks)
        assert chip.roofline(dtype).ridge == pytest.approx(ridge, rel=4e-4), name


def test_rooflines_hold_plain_floats():
    roof = rk.chip("H100").roofline("bf16")
    assert {type(roof.peak_flops), type(roof.bandwidth), type(roof.ridge)} == {float}


@cases(
    ("asked", "found"),
    [
        ("v5e", "TPU v5e"),
        ("tpu_v6e", "TPU v6e"),
        ("TRILLIUM", "TPU v6e"),
        ("  H 100  sxm ", "H100 SXM"),
    ],
)
def test_a_chip_is_found_by_alias_in_any_case_and_spacing(asked, found):
    assert rk.chip(asked).name == found


def test_every_chip_is_found_by_its_name_and_by_every_alias():
    for chip in rk.chips():
        for name in (chip.name, *chip.aliases):
            assert rk.chip(name) is rk.chip(name.upper()) is rk.chip(name.lower()) is chip


@cases(
    ("asked", "nearest"),
    [
        ("A100", ("A100 40GB SXM", "A100 80GB SXM", "A100 80GB PCIe")),
        ("TPU v5", ("TPU v5e", "TPU v5p")),
    ],
)
def test_an_unknown_chip_is_answered_with_the_nearest_names(asked, nearest):
    with pytest.raises(ValueError, match=f"no chip is named '{asked}'; nearest: ") as refusal:
        rk.chip(asked)
    for name in nearest:
        assert name in str(refusal.value)


@cases("asked", ["", "zzzz"])
def test_a_name_near_no_chip_is_answered_with_all_of_them(asked):
    with pytest.raises(ValueError, match="the table has: ") as refusal:
        rk.chip(asked)
    for chip in rk.chips():
        assert chip.name in str(refusal.value)


def test_a_chip_is_itself():
    h100 = rk.chip("H100")
    assert rk.chip(h100) is h100


@cases("asked", [None, 100, ["H100"]])
def test_a_chip_is_asked_for_by_text(asked):
    with pytest.raises(ValueError, match="a chip's name must be text, got"):
        rk.chip(asked)


@cases("dtype", ["fp64", "fp7", None, ["bf16"], 16])
def test_a_peak_the_table_does_not_have_is_refused_with_those_it_has(dtype):
    with pytest.raises(ValueError, match=r"H100 SXM has no peak for dtype") as refusal:
        rk.chip("H100").roofline(dtype)
    assert repr(dtype) in str(refusal.value)
    assert "the table has: bf16, fp16, fp8, int8, fp32" in str(refusal.value)


@cases("dtype", ["FP8", "float8_e4m3fn", "e4m3", "fp8"])
def test_a_peak_is_found_in_any_spelling_of_its_dtype(dtype):
    assert rk.chip("H100").peak_flops(dtype) == 1978.9e12
    assert rk.Chip("mine", {dtype: 1e12}).peaks == {"fp8": 1e12}
    with pytest.raises(ValueError, match="mine: peaks lists fp8 twice, once as 'float8'"):
        rk.Chip("mine", {dtype: 1e12, "float8": 1e12})


def test_a_chip_without_any_peak_has_an_error_of_its_own():
    with pytest.raises(ValueError, match="no peak at all, only bandwidth"):
        rk.chip("Xeon").peak_flops("fp32")


def test_a_missing_bandwidth_is_refused_with_the_way_out():
    mine = rk.Chip("mine", {"fp32": 1e12})
    with pytest.raises(ValueError, match=r"no memory bandwidth.*Roofline\(peak_flops, bandwidth\)"):
        mine.roofline("fp32")


def test_an_unconfirmed_figure_is_refused_unless_asked_for():
    orin = rk.chip("AGX Orin")
    with pytest.raises(ValueError, match=r"AGX Orin is not confirmed.*\(\?\).*unconfirmed=True"):
        orin.roofline("int8")
    assert orin.roofline("int8", unconfirmed=True).bandwidth == 204.8e9


@cases("show", [repr, lambda table: table._repr_html_()])
def test_the_table_shows_every_chip_and_marks_what_is_unconfirmed(show):
    shown = show(rk.chips())
    for chip in rk.chips():
        assert chip.name in shown
    assert shown.count("(?)") == 1
    assert "204.8 (?)" in shown


def test_the_table_lines_up_and_gives_units():
    head, units, *rows = repr(rk.chips()).splitlines()
    assert len(rows) == len(rk.chips())
    assert {len(line) for line in (head, units, *rows)} == {len(head)}
    for unit in ("TFLOP/s", "GB/s", "GB/s, one way", "FLOP/byte"):
        assert unit in units
    v5e = next(row for row in rows if row.startswith("TPU v5e"))
    assert re.split(r"\s{2,}", v5e) == [
        "TPU v5e", "197", "–", "–", "–", "393", "–", "16", "16.91", "819", "4 × 45", "240.5",
    ]  # fmt: skip


def test_the_html_table_cites_the_source_of_every_figure_and_escapes_text():
    shown = rk.chips()._repr_html_()
    assert shown.count("<tr>") == len(rk.chips()) + 1
    for chip in rk.chips():
        for figure in (chip.bandwidth, chip.peaks.get("bf16")):
            assert figure is None or figure.source in shown
    hostile = ChipTable([rk.Chip("<b>&", {"fp32": 1e12}, sku='"><script>')])._repr_html_()
    assert "<b>" not in hostile
    assert 'title="&quot;&gt;&lt;script&gt;"' in hostile


def test_the_ridge_of_an_unconfirmed_peak_is_left_out_of_the_table():
    peak = rk.hardware.Figure(1e12, "FLOP/s", source="a rumour", kind="dense", confirmed=False)
    row = repr(ChipTable([rk.Chip("rumoured", {"bf16": peak}, bandwidth=1e11)])).splitlines()[-1]
    assert "1 (?)" in row
    assert row.endswith("–")


def test_your_own_chip_works_like_those_of_the_table():
    mine = rk.Chip(
        "my laptop", peaks={"fp32": 2e11, "fp64": np.float64(1e11)}, bandwidth=50 * 10**9
    )
    assert mine.roofline("fp32").ridge == 4
    assert mine.peak_flops("fp64").unit == "FLOP/s"
    assert mine.bandwidth.source == "given by the user"
    assert "my laptop" in repr(ChipTable([mine]))


@cases(
    ("given", "figure"),
    [
        ({"peaks": {"fp32": -1}}, "peaks['fp32']"),
        ({"peaks": {"fp32": math.nan}}, "peaks['fp32']"),
        ({"peaks": {"fp31": 1e12}}, "'fp31'"),
        ({"peaks": [1e12]}, "peaks"),
        ({"bandwidth": 0}, "bandwidth"),
        ({"allocatable": -1}, "allocatable"),
        ({"multiprocessors": 1.5}, "multiprocessors must be a whole number, got 1.5"),
        ({"bandwidth": rk.hardware.Figure(-1, "byte/s", source="a slip")}, "bandwidth"),
        ({"bandwidth": rk.hardware.Figure(1e11, "byte", source="a slip")}, "bandwidth"),
        ({"interconnect": "switch"}, "must be an Interconnect, such as Interconnect(18, 25e9"),
    ],
)
def test_your_own_chip_is_checked_too(given, figure):
    with pytest.raises(ValueError, match=r"^my laptop: ") as refusal:
        rk.Chip("my laptop", **{"peaks": {"fp32": 2e11}, **given})
    assert figure in str(refusal.value)


def test_your_own_table_is_read_with_all_its_figures(tmp_path):
    toy, empty = rk.hardware.load_chips(_write(tmp_path, TOY))
    assert (toy.name, toy.sku, toy.aliases) == ("toy", "Toy 1", ("desk",))
    assert toy.roofline("fp32") == rk.Roofline(1e12, 1e11)
    assert toy.interconnect.bandwidth.source == "measured at my desk"
    assert toy.interconnect == Interconnect(
        4, 1e9, "torus", slices=((2, 3),), wraps=3, latency=1e-6, source="measured at my desk"
    )
    assert not _figures(empty)
    assert empty.interconnect is None


@pytest.mark.parametrize(("pattern", "replacement", "told"), REFUSED["the first peak"])
def test_a_flaw_in_the_tables_first_peak_is_refused_by_chip_and_figure(
    tmp_path, pattern, replacement, told
):
    """V100 SXM2 opens the table, and fp16 is the first of its peaks."""
    text = CHIPS_TABLE.read_text(encoding="utf-8")
    start = text.index("peak.fp16")
    flawed = text[:start] + re.sub(pattern, replacement, text[start:], count=1)
    assert flawed != text
    with pytest.raises(ValueError, match=r"mine\.toml: chip 'V100 SXM2': peak\.fp16") as refusal:
        rk.hardware.load_chips(_write(tmp_path, flawed))
    assert told in str(refusal.value)


@pytest.mark.parametrize(("old", "new", "told"), REFUSED["your own table"])
def test_a_flaw_in_your_own_table_is_refused(tmp_path, old, new, told):
    assert old in TOY
    flawed = TOY.replace(old, new) if "[[" in old else TOY.replace(old, new, 1)
    with pytest.raises(ValueError, match=r"mine\.toml|^toy: ") as refusal:
        rk.hardware.load_chips(_write(tmp_path, flawed))
    assert told in str(refusal.value)


@cases(
    ("given", "told"),
    [
        ((4, 1e9, "switch", 8.0), "largest must be a whole number of at least 2, got 8.0"),
        ((4, 1e9, "switch", 8, ((2, 2),)), "topology='switch' has no slices"),
        ((4, 1e9, "all-pairs", 8), "8 chips needs 7 links per chip, got links=4"),
        ((4, 1e9, None, 8), "topology=None has no largest, got largest=8"),
        ((4, -1, "switch", 8), "link bandwidth must be finite and above 0"),
    ],
)
def test_an_interconnect_that_cannot_be_is_refused(given, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        Interconnect(*given)


def test_your_own_chip_may_say_how_it_is_joined_and_need_not():
    joined = Interconnect(4, 25e9, "switch", largest=4)
    mine = rk.Chip("mine", {"fp32": 1e12}, interconnect=joined)
    assert rk.group(mine, 4).egress == 100e9
    assert joined.source == joined.bandwidth.source == "given by the user"
    assert rk.Chip("mine", {"fp32": 1e12}, 1e11).interconnect is None


@cases("chip", rk.chips())
def test_a_chip_shows_in_a_few_words_with_units(chip):
    shown = repr(chip)
    assert shown.startswith(f"Chip({chip.name}: ")
    assert len(shown) < 200
    assert "source" not in shown
    assert all(f"{dtype} " in shown for dtype in chip.peaks)
    assert ("links of" in shown or "link of" in shown) == (chip.interconnect is not None)
    figures = (*chip.peaks.values(), chip.bandwidth, chip.capacity)
    assert shown.count("(?)") == sum(each is not None and not each.confirmed for each in figures)


def test_links_show_in_a_few_words_with_units():
    assert repr(rk.chip("H100").interconnect) == (
        "Interconnect(18 links of 25 GB/s, switch of up to 8, adds up, 600 ns a hop)"
    )
    assert repr(rk.chip("H100 PCIe").interconnect).startswith("Interconnect(1 link of 63 GB/s")


def test_a_file_stands_for_the_chip_in_it(tmp_path):
    path = _write(tmp_path, TOY)
    for asked in (f"{path}:toy", f"{path}:DESK"):
        assert rk.chip(asked) == rk.hardware.load_chips(path)[0]
    one = _write(tmp_path, TOY.partition('\n[[chip]]\nname = "toy too"')[0])
    assert rk.chip(one) == rk.chip(str(one)) == rk.chip(f"{one}:toy")
    assert rk.group(one, 6).n == 6


@pytest.mark.parametrize(("asked", "told"), [
    ("none.toml", "cannot read .*none.toml: No such file or directory"),
    (
        "mine.json",
        r"mine.json isn't a table of chips.*Measurements\.load\(path\)\.save_chip\(table\)",
    ),
    ("mine.toml", 'has 2 chips: toy, toy too; name one: ".*mine.toml:toy"'),
    ("mine.toml:tor", "no chip of mine.toml is named 'tor'; nearest: toy"),
])  # fmt: skip
def test_a_file_without_an_answer_is_refused(tmp_path, asked, told):
    _write(tmp_path, TOY)
    with pytest.raises(ValueError, match=told):
        rk.chip(f"{tmp_path}/{asked}")


def test_rows_hold_plain_figures_in_si_units():
    rows = {row["chip"]: row for row in rk.chips().rows}
    assert set(rows) == {chip.name for chip in rk.chips()}
    assert len({tuple(row) for row in rows.values()}) == 1
    h100, orin = rows["H100 SXM"], rows["AGX Orin"]
    assert (h100["peak_fp8"], h100["bandwidth"], h100["links"]) == (1978.9e12, 3.35e12, 18)
    assert (h100["link_bandwidth"], h100["multiprocessors"]) == (25e9, 132)
    assert h100["ridge"] == pytest.approx(295.3, rel=1e-3)
    assert (orin["peak_fp8"], orin["ridge"], orin["links"]) == (None, None, None)
    assert {type(value) for row in rows.values() for value in row.values()} == {
        str, float, type(None)
    }  # fmt: skip


def test_a_frame_takes_the_rows_and_says_where_pandas_is_missing(monkeypatch):
    pandas = types.SimpleNamespace(DataFrame=lambda rows: ("a frame of", rows))
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    for table in (rk.chips(), rk.models.llms()):
        assert table.to_frame() == ("a frame of", table.rows)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs pandas: pip install pandas; or"):
        rk.chips().to_frame()


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"mine\.toml is not valid TOML"):
        rk.hardware.load_chips(path)


def test_chips_and_their_figures_survive_copying_and_pickling():
    for chip in rk.chips():
        for twin in (copy.copy(chip), copy.deepcopy(chip), pickle.loads(pickle.dumps(chip))):
            assert twin == chip
            assert hash(twin) == hash(chip)
            for name, figure in _figures(chip).items():
                other = _figures(twin)[name]
                assert (other.unit, other.source, other.kind, other.note, other.confirmed) == (
                    figure.unit, figure.source, figure.kind, figure.note, figure.confirmed,
                )  # fmt: skip
    assert repr(pickle.loads(pickle.dumps(rk.chips()))) == repr(rk.chips())


def test_a_chip_cannot_be_changed():
    chip = rk.chip("H100")
    with pytest.raises(dataclasses.FrozenInstanceError):
        chip.bandwidth = 1
    with pytest.raises(TypeError, match="does not support item assignment"):
        chip.peaks["bf16"] = 1


def test_changing_the_peaks_you_gave_leaves_the_chip_alone():
    peaks = {"fp32": 1e12}
    mine = rk.Chip("mine", peaks)
    peaks["fp32"] = 2e12
    assert mine.peak_flops("fp32") == 1e12


def test_figures_count_as_floats_and_show_their_unit():
    figure = rk.hardware.Figure(819e9, "byte/s", source="data sheet")
    assert type(figure * 2) is float
    assert repr(figure) == "8.19e+11 byte/s"
    assert repr(rk.hardware.Figure(1, "byte", source="", confirmed=False)) == "1 byte (?)"
