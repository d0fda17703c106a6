"""Give each student their own figures in the questions of a problem set.

A teacher lists the set in course/term.toml. For each question with variants, a call of ``ask``
replaces the printed text and shows the student's variant.
"""

import re

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from roofcheck.kinds import Several
from roofcheck.tables.variants import ask, find_variant, has_variants
from tools.notebooks.myst_cells import BEGIN_SOLUTION, END_SOLUTION, Text, find_call
from tools.notebooks.problem_sets import describe_set
from tools.sentences import sentence

# The student id that the solution uses. The solution's cell psN-me assigns it.
MODEL_ID = "model"


def give_own_figures(text: Text) -> list[str]:
    """Change a problem set in place, and return the ids of questions with personal figures."""
    cells = {cell.id: cell for cell in text.notebook.cells}
    numbers, changed = [], []
    for question in describe_set(text).questions:
        title, check = cells[question.text], cells[question.cell]
        call = find_call(check)
        if not call or not (call.me or has_variants(call.question)):
            continue
        numbers.append(str(question.number))
        changed.append(call.question)
        if call.me:
            continue
        stem = check.id.removesuffix("-check")
        given = "given_" + re.sub(r"\W", "_", call.question.partition(".")[2])
        names = ", ".join(f"`{given}.{name}`" for name in dir(ask(call.question, MODEL_ID)))
        title.source = f"## {question.title}\n\n{sentence('own.text', names=names)}"
        asks = new_code_cell(f'{given} = ask("{call.question}", me)\n{given}', id=f"{stem}-given")
        kind = {"grade": False, "locked": True, "solution": False, "task": False}
        asks.metadata.nbgrader = {"schema_version": 3, "grade_id": asks.id, **kind}
        text.notebook.cells.insert(text.notebook.cells.index(cells[stem]), asks)
        _replace_solution(cells[stem], call.question, call.expression)
        check.source = f'check("{call.question}", {call.expression}, me)'
    if len(changed) > 1:
        me_text = cells[f"{changed[0].partition('.')[0]}-me-text"]
        opening = sentence("own.questions", numbers=f"{', '.join(numbers[:-1])} and {numbers[-1]}")
        me_text.source, count = re.subn(r"^Question \d+ has", opening, me_text.source)
        if not count:
            raise text.error(me_text, 'must begin with "Question 6 has", for any number')
    return changed


def _replace_solution(cell: NotebookNode, name: str, answer: str) -> None:
    """Replace the model solution with one that uses the figures of `MODEL_ID`."""
    question = find_variant(name, MODEL_ID)
    right = question.reference()
    value = list(right.values()) if isinstance(question, Several) else right
    lines = [f"# {line}" for line in question.derivation()]
    above = cell.source.partition(BEGIN_SOLUTION)[0]
    cell.source = "\n".join(
        [f"{above}{BEGIN_SOLUTION}", *lines, f"{answer} = {value!r}", END_SOLUTION]
    )
