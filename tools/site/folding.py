"""Make a lecture readable without a kernel: fold its answers, and put words for its checks."""

import re

import nbformat

from roofcheck.cells import question_call
from tools.sentences import sentence

# The calls that only a notebook can answer.
CALLS = ("check", "predict", "review")


def fold_cells(notebook):
    """Tag what is to be folded, and replace what checks and guesses would say."""
    # Matches calls of the function that the reader is to write last; at first there is none.
    blank = r"(?!)"
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        if f"cells.{cell.id}" in sentence.templates():
            cell.source = sentence(f"cells.{cell.id}")
        tags = cell.metadata.setdefault("tags", [])
        setup = sentence("folded.setup")
        for tag, part, words in (("reveal", "output", fold_label(cell)), ("setup", "input", setup)):
            if tag in tags:
                tags.append(f"hide-{part}")
                cell.metadata.mystnb = {"code_prompt_show": words, "code_prompt_hide": words}
        if kind := call_of(cell):
            # Of several such cells in a row, only the last has the sentence.
            said = (
                f'<p class="asked">{sentence(f"asked.{kind}")}</p>'
                if call_of(after) != kind
                else ""
            )
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": said})]
        elif re.search(blank, cell.source):
            cell.outputs = []
        if unfilled := re.search(r"^def (\w+)(?s:.*)^ +\.\.\.$", cell.source, re.M):
            blank = rf"(?m)^{unfilled[1]}\("


def fold_label(cell):
    """What a folded output says while it is closed: what kind of thing is inside."""
    shown = str(cell.get("outputs"))
    kind = "picture" if "<img" in shown else "table" if "<table" in shown else "other"
    return sentence(f"folded.{kind}")


def call_of(cell):
    """Which of the calls that only a notebook can answer a cell is, or ""."""
    found = question_call(cell.source) if cell and cell.cell_type == "code" else None
    return found.call if found and found.call in CALLS else ""
