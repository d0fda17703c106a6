"""Give the questions of a problem set figures of each student's own, as its psN.mine has them.

A teacher names the set in course/term.toml. Its text prints one set of figures, so that a question
which has variants loses its text here: ``ask`` shows all of the question in its place.
"""

import re
from collections.abc import Iterator

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from roofcheck.cells import question_call
from roofcheck.kinds import Several
from roofcheck.tables.variants import ask, find_variant, has_variants
from tools.notebooks.myst_cells import BEGIN_SOLUTION, END_SOLUTION, Text
from tools.sentences import sentence

# Whose figures the solution computes with, as the cell psN-me has it.
MODEL_ID = "model"
TITLE_LINE = re.compile(r"## (\d+)\. .*")


def give_own_figures(text: Text) -> list[str]:
    """Change a problem set in place; the ids of its questions that have figures of one's own."""
    cells = {cell.id: cell for cell in text.notebook.cells}
    numbers, changed = [], []
    for title, check in _checks_with_titles(text):
        found = question_call(check.source)
        if not found.me and not has_variants(found.question):
            continue
        numbers.append(TITLE_LINE.match(title.source)[1])
        changed.append(found.question)
        if found.me:
            continue
        stem = check.id.removesuffix("-check")
        given = "given_" + re.sub(r"\W", "_", found.question.partition(".")[2])
        names = ", ".join(f"`{given}.{each}`" for each in dir(ask(found.question, MODEL_ID)))
        title.source = f"{TITLE_LINE.match(title.source)[0]}\n\n{sentence('own.text', names=names)}"
        shows = new_code_cell(f'{given} = ask("{found.question}", me)\n{given}', id=f"{stem}-given")
        kind = {"grade": False, "locked": True, "solution": False, "task": False}
        shows.metadata.nbgrader = {"schema_version": 3, "grade_id": shows.id, **kind}
        text.notebook.cells.insert(text.notebook.cells.index(cells[stem]), shows)
        _replace_solution(cells[stem], found.question, found.expression)
        check.source = f'check("{found.question}", {found.expression}, me)'
    if len(changed) > 1:
        signed = cells[f"{changed[0].partition('.')[0]}-me-text"]
        whose = sentence("own.questions", numbers=f"{', '.join(numbers[:-1])} and {numbers[-1]}")
        signed.source, found = re.subn(r"^Question \d+ has", whose, signed.source)
        if not found:
            raise text.error(signed, 'begins with no "Question 6 has" figures of your own')
    return changed


def _checks_with_titles(text: Text) -> Iterator[tuple[NotebookNode, NotebookNode]]:
    """Each check with the cell that has the title of its question."""
    title = text.notebook.cells[0]
    for cell in list(text.notebook.cells):
        if cell.cell_type == "markdown" and TITLE_LINE.match(cell.source):
            title = cell
        if cell.metadata.nbgrader.grade and cell.cell_type == "code":
            yield title, cell


def _replace_solution(cell: NotebookNode, name: str, answer: str) -> None:
    """Put the answer with the model's figures in place of the one with those printed."""
    question = find_variant(name, MODEL_ID)
    right = question.reference()
    value = list(right.values()) if isinstance(question, Several) else right
    lines = [f"# {line}" for line in question.derivation()]
    above = cell.source.partition(BEGIN_SOLUTION)[0]
    cell.source = "\n".join(
        [f"{above}{BEGIN_SOLUTION}", *lines, f"{answer} = {value!r}", END_SOLUTION]
    )
