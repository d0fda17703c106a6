"""The course covers what it set out to: course/coverage.toml names real cells and questions."""

import re
import tomllib
from pathlib import Path

import pytest

from roofcheck.cells import question_calls_in_text
from roofcheck.tables.catalogue import load_questions

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
    for _, found in question_calls_in_text(text)
    if found.call in ("check", "predict")
}
ITEMS = {item: where for topic in COVERAGE.values() for item, where in topic.items()}


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_is_covered_by_cells_and_questions_that_there_are(item):
    where = ITEMS[item]
    assert where, "no cell and no question covers it"
    assert len(set(where)) == len(where)
    for name in where:
        assert name in CELLS or (name in ASKED and name in load_questions()), name
