"""Divide a lecture into its core and the sections under its heading Deeper.

A section starts with a `### ` heading, which asks the section's question. The builder lists the
sections below Deeper, and turns links to a cell, such as `[why](#l04-least)`, into links to the
cell's heading. CONTRIBUTING.md says what belongs in the core.
"""

import re

from nbformat import NotebookNode

from tools.notebooks.myst_cells import Text, find_call
from tools.sentences import sentence

DEEPER, SOURCES = "## Deeper", "## Sources"
# The pace of a reader who learns from the text and isn't a native speaker.
WORDS_A_MINUTE, GUESS_MINUTES, CHECK_MINUTES, FIGURE_MINUTES = 100, 1.5, 2, 0.5
CELL_LINK = re.compile(r"(?<=\]\(#)[\w-]+(?=\))")


def split_core(cells: list[NotebookNode]) -> tuple[list[NotebookNode], list[list[NotebookNode]]]:
    """Return the cells of a lecture's core, without its sources, and those of each section."""
    headings = [cell.source.partition("\n")[0] for cell in cells]
    end = headings.index(SOURCES) if SOURCES in headings else len(cells)
    deeper = headings.index(DEEPER) if DEEPER in headings else end
    starts = [place for place in range(deeper, end) if headings[place].startswith("### ")]
    bounds = zip(starts, [*starts[1:], end], strict=False)
    return cells[:deeper], [cells[start:stop] for start, stop in bounds]


def estimate_minutes(cells: list[NotebookNode]) -> int:
    """Estimate how many minutes readers need for these cells, which have run."""
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    figures = sum(bool(cell.get("outputs")) and not find_call(cell) for cell in cells)
    guesses, checks = (len(list_questions(cells, call)) for call in ("predict", "check"))
    asking = guesses * GUESS_MINUTES + checks * CHECK_MINUTES
    return round(words / WORDS_A_MINUTE + figures * FIGURE_MINUTES + asking)


def list_questions(cells: list[NotebookNode], call: str) -> list[str]:
    """List the ids of the questions that cells ask with a call, such as "check"."""
    found = [find_call(cell) for cell in cells]
    return list(dict.fromkeys(each.question for each in found if each and each.call == call))


def read_heading(cell: NotebookNode) -> str:
    """Return the heading at the start of a cell, or ""."""
    match = re.match(r"#+ (.*)", cell.source) if cell.cell_type == "markdown" else None
    return match[1] if match else ""


def anchor(heading: str) -> str:
    """Return JupyterLab's anchor of a heading."""
    return re.sub(r"[*`$]", "", heading).replace(" ", "-")


def link_sections(text: Text) -> None:
    """List a lecture's deeper sections below their heading, and point links at headings."""
    cells = {cell.id: cell for cell in text.notebook.cells}
    lines = []
    for section in split_core(text.notebook.cells)[1]:
        title, minutes = read_heading(section[0]), estimate_minutes(section)
        lines.append(sentence("deeper.section", title=title, id=section[0].id, minutes=minutes))
    for cell in cells.values():
        if cell.cell_type == "markdown":
            if cell.source.partition("\n")[0] == DEEPER:
                cell.source = "\n- ".join([f"{cell.source}\n", *lines])
            for name in CELL_LINK.findall(cell.source):
                if not (name in cells and read_heading(cells[name])):
                    raise text.error(cell, f"#{name} is not the id of a cell with a heading")
            cell.source = CELL_LINK.sub(lambda m: anchor(read_heading(cells[m[0]])), cell.source)
