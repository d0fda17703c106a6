"""Make a lecture readable without a kernel: fold its answers and explain its checks."""

import re

import nbformat

from roofcheck.cells import question_call
from tools.sentences import sentence

# Calls that work only in a notebook.
CALLS = ("check", "predict", "review")


def fold_cells(notebook):
    """Tag cells to fold, and replace the outputs of checks and guesses by an explanation."""
    # Matches calls of the function that readers last had to write; at first it matches nothing.
    blank = r"(?!)"
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        if f"cells.{cell.id}" in sentence.templates():
            cell.source = sentence(f"cells.{cell.id}")
        tags = cell.metadata.setdefault("tags", [])
        setup = sentence("folded.setup")
        for tag, part, label in (("reveal", "output", fold_label(cell)), ("setup", "input", setup)):
            if tag in tags:
                tags.append(f"hide-{part}")
                cell.metadata.mystnb = {"code_prompt_show": label, "code_prompt_hide": label}
        if call := call_of(cell):
            # In a row of such cells, only the last has the sentence.
            last = call_of(after) != call
            page = f'<p class="asked">{sentence(f"asked.{call}")}</p>' if last else ""
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": page})]
        elif re.search(blank, cell.source):
            cell.outputs = []
        if unfilled := re.search(r"^def (\w+)(?s:.*)^ +\.\.\.$", cell.source, re.M):
            blank = rf"(?m)^{unfilled[1]}\("


def fold_label(cell):
    """Return the label of a folded output, which says what is inside."""
    outputs = str(cell.get("outputs"))
    kind = "picture" if "<img" in outputs else "table" if "<table" in outputs else "other"
    return sentence(f"folded.{kind}")


def call_of(cell):
    """Return the name of the call in a cell that works only in a notebook, or ""."""
    call = question_call(cell.source) if cell and cell.cell_type == "code" else None
    return call.call if call and call.call in CALLS else ""
