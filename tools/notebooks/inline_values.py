"""Evaluate the expressions in a lecture's prose, in its kernel, after all cells have run.

    The ridge is {eval}`roof.ridge:.1f`.          ->  The ridge is 240.5.
    {eval}`work.flops:.3g` FLOPs                  ->  10¹² FLOPs

CONTRIBUTING.md explains how to write an expression.
"""

import ast
import contextlib
import re
from collections.abc import Iterator
from symtable import SymbolTable, symtable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from roofcheck.cells import PARSE_ERRORS
from roofcheck.reading.units import TO_SUPERSCRIPT
from tools.notebooks.myst_cells import Text

EVAL_ROLE = re.compile(r"\{eval\}(`+)(?!`)(.+?)(?<!`)\1(?!`)")
SETUP_CODE = """\
from roofcheck import find_question
from roofcheck.showing.derivation_page import as_markdown
def reference(question):
    return find_question(question).reference()
def derived(question):
    return as_markdown(find_question(question).derivation())
"""


def make_probe_cells(text: Text) -> list[NotebookNode]:
    """Return code cells to run after the lecture: one with `SETUP_CODE`, and one per expression.

    A probe's id is not a valid cell id. In error messages, it shows where the expression is.
    """
    probes, bindings = [], []
    for place, cell in enumerate(text.notebook.cells):
        # Ignore cells with IPython syntax.
        with contextlib.suppress(*PARSE_ERRORS):
            if cell.cell_type == "code":
                bindings.append((place, cell.id, _find_bound_names(cell.source)))
    for place, cell in enumerate(text.notebook.cells):
        if cell.cell_type != "markdown":
            continue
        for match in EVAL_ROLE.finditer(cell.source):
            line = _find_line_number(cell, match.start())
            code = f"f'''{{ {match[2].strip()}}}'''"
            probe = new_code_cell(code)
            probe.id = f"{cell.id}: {match[0]}"
            text.lines.setdefault(probe.id, text.lines[cell.id] + line - 1)
            if reason := _explain_unreadable(code) or _explain_ambiguous(code, place, bindings):
                raise text.error(probe, reason)
            probes.append(probe)
        rest = EVAL_ROLE.sub(lambda match: " " * len(match[0]), cell.source)
        if "{eval}" in rest:
            line = _find_line_number(cell, rest.index("{eval}"))
            raise text.error(cell, "write {eval}`expression` or {eval}`expression:format`", line)
    setup = new_code_cell(SETUP_CODE)
    text.lines[setup.id] = 1
    return [setup, *probes] if probes else []


def fill_in_values(text: Text, probes: list[NotebookNode]) -> None:
    """Replace the expressions in the prose with the results of their probes, which have run."""
    results = (
        next(output for output in probe.outputs if output.output_type == "execute_result")
        for probe in probes[1:]
    )
    values = (ast.literal_eval(output.data["text/plain"]) for output in results)
    for cell in _list_prose_cells(text):
        cell.source = EVAL_ROLE.sub(lambda role: _indent_value(role, next(values)), cell.source)


def fill_in_facts(text: Text, facts: dict[str, str]) -> None:
    """Replace the names of facts in a problem set's prose, which can't have other expressions."""
    for cell in _list_prose_cells(text):
        cell.source = EVAL_ROLE.sub(lambda role: facts.get(role[2], role[0]), cell.source)
        if "{eval}" in cell.source:
            line = _find_line_number(cell, cell.source.index("{eval}"))
            reason = "problem sets are not run: write a number, or a name listed in CONTRIBUTING.md"
            raise text.error(cell, reason, line)


def write_powers_of_ten(text: str) -> str:
    """Write e-notation as powers of ten: 2.95e+14 as 2.95 · 10¹⁴, 1e+12 as 10¹²."""

    def power(match):
        exponent = str(int(match[2])).translate(TO_SUPERSCRIPT)
        return f"10{exponent}" if match[1] == "1" else f"{match[1]} · 10{exponent}"

    return re.sub(r"\b(\d+(?:\.\d+)?)e([+-]\d+)\b", power, text)


def _indent_value(role: re.Match, value: str) -> str:
    """Format a value, and indent the lines of a list like the expression."""
    before = role.string[: role.start()].rpartition("\n")[2]
    margin = "" if before.strip() else before
    return write_powers_of_ten(value).replace("\n", f"\n{margin}")


def _list_prose_cells(text: Text) -> Iterator[NotebookNode]:
    return (cell for cell in text.notebook.cells if cell.cell_type == "markdown")


def _find_line_number(cell: NotebookNode, place: int) -> int:
    """Return the line number of a position in a cell, counted from the first non-blank line."""
    return cell.source[:place].lstrip("\n").count("\n") + 1


def _explain_unreadable(code: str) -> str | None:
    """Return an error message if the f-string isn't one expression with a format."""
    try:
        parts = ast.parse(code, mode="eval").body.values
    except SyntaxError as error:
        return f"SyntaxError: {error.msg}"
    if len(parts) != 1 or not isinstance(parts[0], ast.FormattedValue):
        return "write one expression, as between the braces of an f-string"
    return None


def _explain_ambiguous(code: str, place: int, bindings: list[tuple[int, str, set]]) -> str | None:
    """Return an error message if the code uses a name that several cells bind, one below."""
    for name in sorted(_find_free_names(symtable(code, "", "exec"))):
        binders = [(index, cell_id) for index, cell_id, names in bindings if name in names]
        if len(binders) > 1 and binders[-1][0] > place:
            *_, (_, first), (_, last) = binders
            return f"`{name}` is bound in cell {first} and again in cell {last}; rename one of them"
    return None


def _find_bound_names(code: str) -> set[str]:
    """Return the names that code binds at its top level."""
    names = symtable(code, "", "exec").get_symbols()
    return {name.get_name() for name in names if name.is_assigned() or name.is_imported()}


def _find_free_names(table: SymbolTable) -> set[str]:
    """Return the names that an expression uses but doesn't bind."""
    names = table.get_symbols()
    free = {name.get_name() for name in names if name.is_global() and not name.is_assigned()}
    return free.union(*map(_find_free_names, table.get_children()))
