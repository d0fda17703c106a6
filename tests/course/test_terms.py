"""The terms of course/terms.toml: each is explained where it says, and where a reader meets it."""

import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import decks  # noqa: E402
import references  # noqa: E402

SLIDES = [
    slide
    for path in sorted((ROOT / "course/en").glob("*.ipynb"))
    for slide in decks.slides_of(nbformat.read(path, as_version=4))
]
SOURCES = {
    cell.id: cell.source for slide in SLIDES for cell in slide.cells if cell.cell_type == "markdown"
}
# What a lecture is about is named before it is explained.
AHEAD = ("-title", "-objectives", "-sources", "-homework")


def test_every_cell_of_the_terms_speaks_of_its_term():
    wrong = [
        f"{term.name}: {cell} "
        + ("does not speak of it" if cell in SOURCES else "is no text of a lecture")
        for term in references.read_terms()
        for cell in term.cells
        if not term.spoken.search(SOURCES.get(cell, ""))
    ]
    assert not wrong, "\n".join(wrong)


def test_a_reader_meets_no_term_before_the_slide_that_explains_it():
    early = []
    for term in references.read_terms():
        for slide in SLIDES:
            cells = [cell.id for cell in slide.cells]
            if set(term.cells) & set(cells):
                break
            early += [
                f"{term.name} stands in {cell}, before {term.cells[0]}"
                for cell in cells
                if term.spoken.search(SOURCES.get(cell, "")) and not cell.endswith(AHEAD)
            ]
    assert not early, "\n".join(early)
