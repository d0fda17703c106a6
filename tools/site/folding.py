"""Make a lecture readable without a kernel: fold code and answers, and let readers guess."""

import html
import re

from nbformat.v4 import new_output

from roofcheck import find_question
from tools.notebooks.myst_cells import find_call
from tools.sentences import sentence

# Calls that work only in a notebook.
CALLS = ("check", "predict", "review")
REVEALED = re.compile(r'\breveal\("([\w.-]+)"')


def fold_cells(notebook, notebook_link):
    """Fold code and answers, show pictures, and replace the outputs of checks and guesses.

    ``notebook_link`` is the address where the page's reader gets the notebook.
    """
    # Matches calls of the last function that readers had to write; at first, nothing.
    blank = r"(?!)"
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        if f"cells.{cell.id}" in sentence.templates():
            cell.source = sentence(f"cells.{cell.id}")
        if cell.cell_type != "code":
            continue
        tags = cell.metadata.setdefault("tags", [])
        if call := find_notebook_call(cell):
            tags.append("remove-input")
            # Of consecutive cells with the same call, only the last shows the sentence.
            last = find_notebook_call(after) != call
            page = write_box(cell, call, notebook_link) if last else ""
            cell.outputs = [new_output("display_data", {"text/html": page})]
            continue
        if re.search(blank, cell.source):
            cell.outputs = []
        if unfilled := re.search(r"^def (\w+)(?s:.*)^ +\.\.\.$", cell.source, re.M):
            blank = rf"(?m)^{unfilled[1]}\("
        tags.append("remove-input" if "reveal" in tags else "hide-input")
        prompt = sentence("folded.code")
        cell.metadata.mystnb = {"code_prompt_show": prompt, "code_prompt_hide": prompt}
        for output in cell.outputs:
            shown = output.get("data", {}).get("text/html", "")
            if "<img" in shown:
                output.data["text/html"] = sentence("figure.text", id=cell.id, picture=shown)
            elif "reveal" in tags and "live-picture" not in shown:
                plain = output.get("text") or output.data.get("text/plain", "")
                shown = shown or f"<pre>{html.escape(plain)}</pre>"
                question = REVEALED.search(cell.source)
                label = "reveal" if question else "table" if "<table" in shown else "other"
                fold = {"question": question[1] if question else "", "shown": shown}
                fold |= {"label": sentence(f"folded.{label}"), "code": html.escape(cell.source)}
                output.clear()
                page = sentence("fold.text", **fold)
                output.update(new_output("display_data", {"text/html": page}))


def write_box(cell, call, notebook_link):
    """Return the HTML of a field for a guess, or of a link to the notebook that checks."""
    question = find_call(cell).question
    unit = find_question(question).unit if call == "predict" else ""
    return sentence(f"asked.{call}", link=notebook_link, question=question, unit=unit)


def find_notebook_call(cell):
    """Return the name of the call in a cell if it works only in a notebook, or ""."""
    call = cell and find_call(cell)
    return call.call if call and call.call in CALLS else ""
