"""Figures in the lectures' prose: worked out by the lecture, or given in it, or listed as given.

A figure of the prose is an expression, or it stands in a code cell or a question of its lecture, or
the text's header lists it under `given`, as CONTRIBUTING.md shows. Free are whole numbers up to 16,
powers of ten, and the cell of the sources.
"""

import math
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from roofcheck.cells import question_calls
from roofcheck.tables.catalogue import find_question
from tools.notebooks import inline_values as inline
from tools.notebooks import myst_cells as mystcells

ROOT = Path(__file__).parents[2]

LECTURES = sorted((ROOT / "course/text").glob("*.md"))
SMALL = 16
REMEDY = "Work each out with {eval}`...`; what nothing works out goes into the header under given."
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
# 8,755 and 2.95 · 10¹⁴ and 10¹²; not the digits of v5e, 40GB or 6N.
IN_PROSE = re.compile(
    r"(?<![\w.])(\d+(?:,\d{3})*(?:\.\d+)?)(?![A-Za-z_\d]|,\d{3}|\.\d)"
    r"(?:( · 10)?([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
)
IN_CODE = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?")


def figures(prose):
    """Each number of a prose but those of expressions: place, how it is written, value."""
    prose = inline.EVAL_ROLE.sub(lambda role: "□" * len(role[0]), prose)
    for match in IN_PROSE.finditer(prose):
        value = float(match[1].replace(",", ""))
        if match[3]:
            power = int(match[3].translate(RAISED))
            value = value * 10.0**power if match[2] else value**power
        yield match.start(), match[0], value


def is_free(written, value):
    whole = "." not in written
    return whole and (value <= SMALL or math.log10(value).is_integer())


def of_code_and_questions(cells):
    """The numbers in the code cells, and in the questions that these ask."""
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    code = "\n".join(sources)
    found = {float(digits.replace("_", "")) for digits in IN_CODE.findall(code)}
    for name in {each.question for source in sources for each in question_calls(source)} - {""}:
        question = find_question(name)
        found |= {value for _, _, value in figures(question.text())}
        for part in getattr(question, "parts", {"": question}).values():
            inputs = [given.value for given in part.inputs.values() if not callable(given.value)]
            # In prose as 312 · 10¹², 312 TFLOP/s or 0.312 PFLOP/s.
            found |= {float(value) * 1000.0**power for value in inputs for power in range(-5, 6)}
    return found


def listed_as_given(source):
    """The figures that a text's header lists: (pattern of cell ids, value)."""
    header = re.match(r"---\n(.*?)\n---\n", source, re.DOTALL)
    given = yaml.safe_load(header[1]).get("given", {}) if header else {}
    return {(ids, value) for ids, why in given.items() for _, _, value in figures(why)}


def untied(name, source):
    """What is wrong with the figures of a text, in a sentence each."""
    text = mystcells.read_lecture(name, source, lambda question: 1.0)
    known = of_code_and_questions(text.notebook.cells)
    listed = listed_as_given(source)
    wrong, used = [], set()
    for cell in text.notebook.cells:
        if cell.cell_type == "code" or cell.id.endswith("-sources"):
            continue
        for place, written, value in figures(cell.source):
            if is_free(written, value) or any(math.isclose(value, other) for other in known):
                continue
            here = {(ids, v) for ids, v in listed if v == value and fnmatch(cell.id, ids)}
            used |= here
            if not here:
                line = cell.source[:place].lstrip("\n").count("\n") + 1
                message = f"{written} stands in no code cell and in no question of this lecture"
                wrong.append(str(text.error(cell, message, line)))
    wrong += [
        f"{name}: given lists {value:g} for {ids}, which does not need it"
        for ids, value in sorted(listed - used)
    ]
    return wrong


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_every_figure_in_prose_is_worked_out_or_given(path):
    found = untied(path.name, path.read_text(encoding="utf-8"))
    assert not found, "\n".join([*found, REMEDY])
