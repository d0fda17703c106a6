"""Expressions within a lecture's prose, worked out in its kernel once all its cells have run.

    The ridge is {eval}`roof.ridge:.1f`.          ->  The ridge is 240.5.
    {eval}`work.flops:.3g` FLOPs                  ->  10¹² FLOPs

What stands between the backticks is what stands between the braces of an f-string: an expression,
then, if wanted, a conversion and a format. A lambda's colon would start the format, so it goes into
parentheses. An expression with a backtick in it stands between double backticks. A number that
Python writes as 2.95e+14 comes out as 2.95 · 10¹⁴.

Besides the names that the lecture's cells leave behind, `reference("l02.ridge")` is a question's
right answer, and `derived("l02.ridge")` its derivation, a list of steps.

An expression has the last value of each name, so that a name may be bound below it. It may not be
bound in two cells if one of them is below: the prose would not mean the value that it is given.
"""

import ast
import builtins
import contextlib
import re
from collections.abc import Iterator, Sequence

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from roofcheck.cells import PARSE_ERRORS
from tools.notebooks.myst_cells import Text

EVAL_ROLE = re.compile(r"\{eval\}(`+)(?!`)(.+?)(?<!`)\1(?!`)")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+")
SETUP_CODE = """\
from roofcheck import find_question
from roofcheck.showing.derivation_page import as_markdown
def reference(question):
    return find_question(question).reference()
def derived(question):
    return as_markdown(find_question(question).derivation())
"""


def probe_cells(text: Text) -> list[NotebookNode]:
    """Code cells, to run after the lecture's own: one with the names, one for each expression.

    A probe's id is not a cell's: it is there to say in an error where the expression stands.
    """
    found = []
    bound, meant = _find_bindings(text.notebook.cells)
    for place, cell in enumerate(text.notebook.cells):
        if cell.cell_type != "markdown":
            continue
        for match in EVAL_ROLE.finditer(cell.source):
            line = _line_number(cell, match.start())
            code = f"f'''{{ {match[2].strip()}}}'''"
            probe = new_code_cell(code)
            probe.id = f"{cell.id}: {match[0]}"
            text.lines.setdefault(probe.id, text.lines[cell.id] + line - 1)
            if reason := _why_unreadable(code) or _why_ambiguous(code, place, bound, meant):
                raise text.error(probe, reason)
            found.append(probe)
        rest = EVAL_ROLE.sub(lambda match: " " * len(match[0]), cell.source)
        if "{eval}" in rest:
            line = _line_number(cell, rest.index("{eval}"))
            raise text.error(cell, "write {eval}`expression` or {eval}`expression:format`", line)
    names = new_code_cell(SETUP_CODE)
    text.lines[names.id] = 1
    return [names, *found] if found else []


def fill_in_values(text: Text, run: list[NotebookNode]) -> None:
    """Put into the prose what its probes, which have run, have shown."""
    shown = (
        next(output for output in probe.outputs if output.output_type == "execute_result")
        for probe in run[1:]
    )
    values = (ast.literal_eval(output.data["text/plain"]) for output in shown)
    for cell in _prose_cells(text):
        cell.source = EVAL_ROLE.sub(lambda role: _indent_value(role, next(values)), cell.source)


def fill_in_facts(text: Text, facts: dict[str, str]) -> None:
    """Put facts by their names into the prose of a problem set, which is not run."""
    for cell in _prose_cells(text):
        cell.source = EVAL_ROLE.sub(lambda role: facts.get(role[2], role[0]), cell.source)
        if "{eval}" in cell.source:
            line = _line_number(cell, cell.source.index("{eval}"))
            reason = "a problem set is not run: write a figure, or a name of tools/problem_sets.py"
            raise text.error(cell, reason, line)


def write_powers_of_ten(written: str) -> str:
    """A text with its e-notation as powers of ten: 2.95e+14 as 2.95 · 10¹⁴, 1e+12 as 10¹²."""

    def power(match):
        exponent = str(int(match[2])).translate(SUPERSCRIPTS)
        return f"10{exponent}" if match[1] == "1" else f"{match[1]} · 10{exponent}"

    return re.sub(r"\b(\d+(?:\.\d+)?)e([+-]\d+)\b", power, written)


def _indent_value(role: re.Match, value: str) -> str:
    """A value as it stands in the prose: a list below a numbered line is indented as its role."""
    before = role.string[: role.start()].rpartition("\n")[2]
    margin = "" if before.strip() else before
    return write_powers_of_ten(value).replace("\n", f"\n{margin}")


def _prose_cells(text: Text) -> Iterator[NotebookNode]:
    return (cell for cell in text.notebook.cells if cell.cell_type == "markdown")


def _line_number(cell: NotebookNode, place: int) -> int:
    """The line of a place in a cell, from 1 for the first that is not blank."""
    return cell.source[:place].lstrip("\n").count("\n") + 1


def _why_unreadable(code: str) -> str | None:
    """Why this f-string is not one expression with a format, if it is not."""
    try:
        parts = ast.parse(code, mode="eval").body.values
    except SyntaxError as error:
        return f"SyntaxError: {error.msg}"
    if len(parts) != 1 or not isinstance(parts[0], ast.FormattedValue):
        return "write one expression, as between the braces of an f-string"
    return None


def _find_bindings(
    cells: Sequence[NotebookNode],
) -> tuple[dict[str, list[tuple[int, str]]], dict[str, set[str]]]:
    """Where each name is bound, cell after cell, and which names each function takes from there."""
    bound: dict[str, list[tuple[int, str]]] = {}
    meant: dict[str, set[str]] = {}
    for place, cell in enumerate(cells):
        if cell.cell_type != "code":
            continue
        with contextlib.suppress(*PARSE_ERRORS):
            tree = ast.parse(cell.source)
            for name in _bound_names(tree):
                bound.setdefault(name, []).append((place, cell.id))
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    meant.setdefault(node.name, set()).update(_free_names(node))
    return bound, meant


def _why_ambiguous(code: str, place: int, bound: dict, meant: dict) -> str | None:
    """Why the prose at this place cannot tell which value it is given, if it cannot."""
    names, met = sorted(_free_names(ast.parse(code))), set()
    while names:
        name = names.pop(0)
        cells = bound.get(name, ())
        if len(cells) > 1 and cells[-1][0] > place:
            *_, (_, first), (_, last) = cells
            return f"`{name}` is bound in cell {first} and again in cell {last}; rename one of them"
        met.add(name)
        names += sorted(meant.get(name, set()) - met)
    return None


def _bound_names(node: ast.AST) -> set[str]:
    """The names that code binds when it runs, but for those inside functions and comprehensions."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return set()
        case ast.Name(id=name, ctx=ast.Store()):
            return {name}
        case ast.alias(name=name, asname=other):
            return {other or name.partition(".")[0]}
    return set().union(*map(_bound_names, ast.iter_child_nodes(node)))


def _free_names(node: ast.AST) -> set[str]:
    """The names that code reads and does not bind itself: its own variables are left out."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    own = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    own |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return {each.id for each in names} - own - set(dir(builtins))
