"""What a lecture needs to be read without a kernel: folded answers, and words for its checks."""

import re

import nbformat

from roofcheck.cells import asked

# What a page says below a line that only a notebook can answer.
ASKED = {
    "check": "Work it out first. The notebook checks your answer.",
    "predict": "Guess before you read on. The notebook keeps your guess and compares.",
    "review": "The notebook asks here what is due.",
}
# Cells that speak of the notebook, by their id, as a page has them.
SAID = {
    "l01-how": "Answers and outputs are folded: think first, then click. To have answers checked, "
    "open the notebook. `rk` is roofkit, the course's package.",
}


def fold(notebook):
    """Tag what is to be folded, and replace what checks and guesses would say."""
    blank = r"(?!)"  # the call of a function that the reader is to fill; none so far
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        cell.source = SAID.get(cell.id, cell.source)
        tags = cell.metadata.setdefault("tags", [])
        for tag, part, words in (("reveal", "output", opens(cell)), ("setup", "input", "Setup")):
            if tag in tags:
                tags.append(f"hide-{part}")
                cell.metadata.mystnb = {"code_prompt_show": words, "code_prompt_hide": words}
        if kind := call_of(cell):
            # Once below several in a row.
            said = f'<p class="asked">{ASKED[kind]}</p>' if call_of(after) != kind else ""
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": said})]
        elif re.search(blank, cell.source):
            cell.outputs = []
        if unfilled := re.search(r"^def (\w+)(?s:.*)^ +\.\.\.$", cell.source, re.M):
            blank = rf"(?m)^{unfilled[1]}\("


def opens(cell):
    """The words that a folded output opens by: what there is to see, if more than a line."""
    shown = str(cell.get("outputs"))
    picture, table = "Show the picture", "Show the table"
    return picture if "<img" in shown else table if "<table" in shown else "Reveal"


def call_of(cell):
    """Which of the calls that only a notebook can answer a cell is, or ""."""
    found = asked(cell.source) if cell and cell.cell_type == "code" else None
    return found.call if found and found.call in ASKED else ""
