"""What a lecture needs to be read without a kernel: folded answers, and words for its checks."""

import re

import nbformat

# What a page says below a line that only a notebook can answer.
ASKED = {
    "check": "Work it out first. The notebook checks your answer.",
    "predict": "Guess before you read on. The notebook keeps your guess and compares.",
}


def fold(notebook):
    """Tag what is to be folded, and replace what checks and guesses would say."""
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        tags = cell.metadata.setdefault("tags", [])
        for tag, part, words in (("reveal", "output", "Reveal"), ("setup", "input", "Setup")):
            if tag in tags:
                tags.append(f"hide-{part}")
                cell.metadata.mystnb = {"code_prompt_show": words, "code_prompt_hide": words}
        if kind := asked(cell):
            # Once below several in a row.
            said = f'<p class="asked">{ASKED[kind]}</p>' if asked(after) != kind else ""
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": said})]


def asked(cell):
    """Whether a cell is a call of check or of predict."""
    call = re.match(r"(check|predict)\(", cell.source) if cell else None
    return call and call[1]
