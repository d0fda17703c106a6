"""Colours stand in one file, and words in them can be read on what they stand on."""

import re
from pathlib import Path

import pytest
from cases import cases

from rooflab import palette
from rooflab.plot.common import COLOURS, INKS

ROOT = Path(__file__).parents[2]
# Lectures and tests may write a colour out; what was built or made elsewhere is none of ours.
ELSEWHERE = {"tests", "course", "solutions", "exercises", "build", "tools/slides/reveal"}
STYLED = {".py", ".css", ".js", ".svg", ".toml", ".j2", ".html", ".sh"}
HEX = r"(?:(?<!&)#|%23)(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})\b"
WRITTEN_OUT = re.compile(HEX + r"""|\b(?:rgb|hsl)a?\(|(?:color|[fe]c|me?c)"?[=:] ?"0?\.\d""")
# Text, and what it stands on.
READ = [(text, on) for text in ("text", "soft", "anchor", "error", "string")
        for on in ("page", "shade")]  # fmt: skip


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def styled():
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        ours = not {parts[0], "/".join(parts[:-1])} & ELSEWHERE and not any(
            part.startswith(".") or part.endswith((".egg-info", "__pycache__")) for part in parts
        )
        if ours and path.suffix in STYLED and path.stem != "palette":
            yield path


def test_no_colour_stands_outside_the_palette():
    found = {
        f"{path.relative_to(ROOT)}: {colour}"
        for path in styled()
        for colour in WRITTEN_OUT.findall(path.read_text(encoding="utf-8"))
    }
    assert not found


def test_every_name_is_a_colour_on_light_and_on_dark():
    for table in palette._read_tables().values():
        for name in table:
            for dark in (False, True):
                assert re.fullmatch("#[0-9A-F]{6}", palette.colour(name, dark)), name
    with pytest.raises(KeyError, match="pink"):
        palette.colour("pink")


def test_no_name_stands_twice():
    names = [name for table in palette._read_tables().values() for name in table]
    assert len(names) == len(set(names))


def test_small_words_in_the_colours_of_lines_can_be_read():
    for colour in COLOURS:
        assert contrast(INKS.get(colour, colour), "#FFFFFF") > 4.5


@cases("dark", [False, True])
def test_words_can_be_read_on_what_they_stand_on(dark):
    for text, on in READ:
        assert contrast(palette.colour(text, dark), palette.colour(on, dark)) >= 4.5, (text, on)
    assert contrast(palette.colour("focus", dark), palette.colour("page", dark)) >= 3


def test_numbers_in_code_and_words_in_figures_can_be_read():
    assert contrast(palette.colour("number"), palette.colour("shade")) >= 4.5
    for name in ("mark", "note", "reference", "region"):
        assert contrast(palette.colour(name), palette.colour("page")) >= 4.5, name


def test_a_page_gets_every_colour_it_asks_for():
    for path in styled():
        asked = set(re.findall(r"var\(--(roofline-\w+)\)", path.read_text(encoding="utf-8")))
        assert asked - {"roofline-NAME"} <= set(palette.css_variables()), path
