"""What every lecture owes its reader: an answer to each question, folded, and right."""

import re
from pathlib import Path

import nbformat
import pytest

from roofcheck.cells import question_call, question_calls
from roofcheck.kinds import Choice, Number
from roofcheck.tables.catalogue import find_question

LECTURES = sorted((Path(__file__).parents[2] / "course/en").glob("*.ipynb"))
POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
# From a question to its folded answer: a heading, a formula, a sentence, no more.
NEAR = 4


@pytest.fixture(params=LECTURES, ids=lambda path: path.stem)
def cells(request):
    return nbformat.read(request.param, as_version=4).cells


def asks(cell, call):
    """The id of the question that a cell asks with this call, or None."""
    found = question_call(cell.source) if cell.cell_type == "code" else None
    return found.question if found and found.call == call else None


def revealed_in(cell):
    """The ids of the questions that a cell reveals."""
    found = question_calls(cell.source) if cell.cell_type == "code" else ()
    return {each.question for each in found if each.call == "reveal"}


def test_after_every_question_comes_its_answer_folded(cells):
    places = [
        place
        for place, cell in enumerate(cells)
        if cell.source.startswith("<details>") or "reveal" in cell.metadata.get("tags", [])
    ]
    for place, cell in enumerate(cells):
        if asks(cell, "check") or asks(cell, "predict"):
            assert any(place < other <= place + NEAR for other in places), cell.id


def test_every_prediction_is_revealed(cells):
    predicted = {asks(cell, "predict") for cell in cells} - {None}
    revealed = set().union(*map(revealed_in, cells))
    assert predicted == revealed
    assert len(predicted) >= 2


def test_a_reveal_is_folded(cells):
    for cell in cells:
        if revealed_in(cell):
            assert "reveal" in cell.metadata.get("tags", []), cell.id
        if "reveal" in cell.metadata.get("tags", []):
            # JupyterLab shows the first line of a folded output.
            assert not cell.outputs[0].data["text/html"].split("\n")[0].strip(), cell.id


def test_a_worked_answer_holds_the_answer(cells):
    waiting = []
    for cell in cells:
        if name := asks(cell, "check"):
            waiting.append(name)
        elif cell.source.startswith("<details>") and waiting:
            for name in waiting:
                question = find_question(name)
                for part in getattr(question, "parts", {name: question}).values():
                    if isinstance(part, Number):
                        found = [part.judge(number).credit for number in numbers_in(cell.source)]
                        assert 1 in found, name
                if isinstance(question, Choice):
                    bold = " ".join(re.findall(r"\*\*(.*?)\*\*", cell.source))
                    assert question.reference() in bold, name
            waiting = []
    assert not waiting


def numbers_in(text):
    """The numbers of a text: 0.00122, 1/3, 2.95 · 10¹⁴."""
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    for above, below in re.findall(r"(\d+)/(\d+)", text):
        yield int(above) / int(below)
    for power in re.findall(r"10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text):
        yield 10.0 ** int(power.translate(POWERS))
    for digits, power in re.findall(r"(\d[\d,]*\.?\d*)(?: · 10([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text):
        yield float(digits.replace(",", "")) * 10.0 ** int(power.translate(POWERS) or 0)
