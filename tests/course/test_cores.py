"""A lecture has a core that fits into a lesson, and deeper sections that can be read alone."""

import builtins
import re
from pathlib import Path
from symtable import symtable

import nbformat
import pytest

from tools.notebooks import inline_values as inline
from tools.notebooks.myst_cells import read_lecture
from tools.notebooks.sections import estimate_minutes, list_questions, read_heading, split_core

ROOT = Path(__file__).parents[2]
TEXTS = sorted(ROOT.glob("course/text/*.md"))
WORDS, MINUTES, QUESTIONS, PARAGRAPH_WORDS = 1800, 45, 8, 60
TAGS = re.compile(r"<[^>]+>")
PARAGRAPHS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |\|))")


@pytest.fixture(params=TEXTS, ids=lambda path: path.stem)
def text(request):
    return request.param


@pytest.fixture
def core(text):
    notebook = nbformat.read(ROOT / f"course/en/{text.stem}.ipynb", as_version=4)
    return split_core(notebook.cells)[0]


def test_a_core_takes_a_lesson_and_its_paragraphs_are_short(core):
    prose = [TAGS.sub(" ", cell.source) for cell in core if cell.cell_type == "markdown"]
    questions = [*list_questions(core, "predict"), *list_questions(core, "check")]
    assert sum(len(text.split()) for text in prose) <= WORDS
    assert estimate_minutes(core) <= MINUTES
    assert len(questions) <= QUESTIONS, questions
    paragraphs = [paragraph for text in prose for paragraph in PARAGRAPHS.split(text)]
    assert not [each for each in paragraphs if len(each.split()) > PARAGRAPH_WORDS]


def test_a_deeper_section_asks_a_question_and_needs_no_other_section(text):
    lecture = read_lecture(text.name, text.read_text(encoding="utf-8"), lambda name: 1)
    core, sections = split_core(lecture.notebook.cells)
    known = {*dir(builtins), "reference", "derived", "homework", *list_names(core)[0]}
    for section in sections:
        assert read_heading(section[0]).endswith("?"), section[0].id
        bound, free = list_names(section)
        assert not free - bound - known, section[0].id
    assert not list_names(core)[1] - known


def list_names(cells):
    """The names that cells bind, and those that their code and their prose need."""
    codes = [cell.source for cell in cells if cell.cell_type == "code"]
    bound = set().union(*map(inline._find_bound_names, codes))
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    codes += [f"f'''{{ {m[2].strip()}}}'''" for m in inline.EVAL_ROLE.finditer(prose)]
    tables = (symtable(code, "", "exec") for code in codes)
    return bound, set().union(*map(inline._find_free_names, tables))
