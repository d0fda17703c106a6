"""Make a lecture readable without a kernel: fold its answers and explain its checks."""

import re

import nbformat

from tools.notebooks.myst_cells import find_call
from tools.sentences import sentence

# Calls that work only in a notebook.
CALLS = ("check", "predict", "review")


def fold_cells(notebook):
    """Tag cells to fold, and replace the outputs of checks and guesses with an explanation."""
    # Matches calls of the last function that readers had to write; at first, nothing.
    blank = r"(?!)"
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        if f"cells.{cell.id}" in sentence.templates():
            cell.source = sentence(f"cells.{cell.id}")
        tags = cell.metadata.setdefault("tags", [])
        outputs = str(cell.get("outputs"))
        kind = "picture" if "<img" in outputs else "table" if "<table" in outputs else "other"
        for tag, part, label in (("reveal", "cell", kind), ("setup", "input", "setup")):
            if tag in tags:
                tags.append(f"hide-{part}")
                prompt = sentence(f"folded.{label}")
                cell.metadata.mystnb = {"code_prompt_show": prompt, "code_prompt_hide": prompt}
        if call := find_notebook_call(cell):
            # Of consecutive cells with the same call, only the last shows the sentence.
            last = find_notebook_call(after) != call
            page = f'<p class="asked">{sentence(f"asked.{call}")}</p>' if last else ""
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": page})]
        elif re.search(blank, cell.source):
            cell.outputs = []
        if unfilled := re.search(r"^def (\w+)(?s:.*)^ +\.\.\.$", cell.source, re.M):
            blank = rf"(?m)^{unfilled[1]}\("


def find_notebook_call(cell):
    """Return the name of the call in a cell if it works only in a notebook, or ""."""
    call = cell and find_call(cell)
    return call.call if call and call.call in CALLS else ""
