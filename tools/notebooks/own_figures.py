"""Give the questions of a problem set figures of each student's own, as its psN.mine has them.

A teacher names the set in course/term.toml. Its text prints one set of figures, so that a question
which has variants loses its text here: ``ask`` shows all of the question in its place.
"""

import re
from collections.abc import Iterator

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from roofcheck.cells import asked
from roofcheck.kinds import Several
from roofcheck.tables.variants import ask, variant, varies
from tools.notebooks.myst_cells import BEGIN_SOLUTION, END_SOLUTION, Text
from tools.sentences import say

# Whose figures the solution computes with, as the cell psN-me has it.
MODEL = "model"
TITLE = re.compile(r"## (\d+)\. .*")


def give_own_figures(text: Text) -> list[str]:
    """Change a problem set in place; the ids of its questions that have figures of one's own."""
    cells = {cell.id: cell for cell in text.notebook.cells}
    numbers, changed = [], []
    for title, check in _questions(text):
        found = asked(check.source)
        if not found.me and not varies(found.question):
            continue
        numbers.append(TITLE.match(title.source)[1])
        changed.append(found.question)
        if found.me:
            continue
        stem = check.id.removesuffix("-check")
        given = "given_" + re.sub(r"\W", "_", found.question.partition(".")[2])
        names = ", ".join(f"`{given}.{each}`" for each in dir(ask(found.question, MODEL)))
        title.source = f"{TITLE.match(title.source)[0]}\n\n{say('own.text', names=names)}"
        shows = new_code_cell(f'{given} = ask("{found.question}", me)\n{given}', id=f"{stem}-given")
        kind = {"grade": False, "locked": True, "solution": False, "task": False}
        shows.metadata.nbgrader = {"schema_version": 3, "grade_id": shows.id, **kind}
        text.notebook.cells.insert(text.notebook.cells.index(cells[stem]), shows)
        _solve(cells[stem], found.question, found.expression)
        check.source = f'check("{found.question}", {found.expression}, me)'
    if len(changed) > 1:
        signed = cells[f"{changed[0].partition('.')[0]}-me-text"]
        whose = say("own.questions", numbers=f"{', '.join(numbers[:-1])} and {numbers[-1]}")
        signed.source, found = re.subn(r"^Question \d+ has", whose, signed.source)
        if not found:
            raise text.error(signed, 'begins with no "Question 6 has" figures of your own')
    return changed


def _questions(text: Text) -> Iterator[tuple[NotebookNode, NotebookNode]]:
    """Each check with the cell that has the title of its question."""
    title = text.notebook.cells[0]
    for cell in list(text.notebook.cells):
        if cell.cell_type == "markdown" and TITLE.match(cell.source):
            title = cell
        if cell.metadata.nbgrader.grade and cell.cell_type == "code":
            yield title, cell


def _solve(cell: NotebookNode, name: str, answer: str) -> None:
    """Put the answer with the model's figures in place of the one with those printed."""
    question = variant(name, MODEL)
    right = question.reference()
    value = list(right.values()) if isinstance(question, Several) else right
    lines = [f"# {line}" for line in question.derivation()]
    above = cell.source.partition(BEGIN_SOLUTION)[0]
    cell.source = "\n".join(
        [f"{above}{BEGIN_SOLUTION}", *lines, f"{answer} = {value!r}", END_SOLUTION]
    )
