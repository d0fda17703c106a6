"""The course covers what it set out to: course/coverage.toml names real cells and questions."""

import re
import tomllib
from pathlib import Path

import pytest

from roofcheck.cells import in_text
from roofcheck.table import tables

ROOT = Path(__file__).parents[2]
COVERAGE = tomllib.loads((ROOT / "course/coverage.toml").read_text(encoding="utf-8"))
LECTURES = sorted(ROOT.glob("course/text/*.md"))
TEXTS = [
    path.read_text(encoding="utf-8") for path in [*LECTURES, *ROOT.glob("solutions/text/*.md")]
]
CELLS = {
    name
    for text in TEXTS
    for name in re.findall(r'^(?:\+\+\+ \{"id": "|:id: )([\w-]+)', text, re.MULTILINE)
}
ASKED = {
    found.question
    for text in TEXTS
    for _, found in in_text(text)
    if found.call in ("check", "predict")
}
ITEMS = [
    *(f"000-{number}" for number in range(1, 14)),
    *(f"001-{number}" for number in range(1, 29)),
    *(f"002-{number}" for number in range(1, 13)),
    *(f"003-{number}" for number in range(1, 10)),
    *(f"004-{number}" for number in range(1, 23)),
    *(f"E{number}" for number in range(1, 32)),
    *(f"R{number}" for number in range(1, 15)),
]


def test_the_list_of_items_is_complete():
    assert list(COVERAGE) == ITEMS
    assert all(set(entry) == {"item", "where"} and entry["item"] for entry in COVERAGE.values())


@pytest.mark.parametrize("item", COVERAGE)
def test_an_item_is_covered_by_cells_and_questions_that_there_are(item):
    where = COVERAGE[item]["where"]
    assert len(set(where)) == len(where)
    for name in where:
        assert name in CELLS or (name in ASKED and name in tables()), name


def test_every_item_is_covered():
    uncovered = [
        f"{item}: {entry['item']}" for item, entry in COVERAGE.items() if not entry["where"]
    ]
    assert not uncovered, "\n".join(["in no cell and no question:", *uncovered])
