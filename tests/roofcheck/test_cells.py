"""The line that asks a question, as notebooks have it and as students edit it."""

import tomllib
from pathlib import Path

from cases import cases

from roofcheck.cells import QuestionCall, question_call, question_calls, question_calls_in_text

CELLS = tomllib.loads(Path(__file__).with_name("cells.toml").read_text(encoding="utf-8"))


def test_a_call_is_read_as_it_stands():
    for kind in ("alone", "beside-more"):
        for source, *found in CELLS[kind]:
            assert question_call(source) == QuestionCall(*found, is_whole_cell=kind == "alone"), (
                source
            )
    assert question_call(f'check("q", 1{" + 1" * 600})') == QuestionCall("check", "q")


@cases("source", CELLS["asks-nothing"])
def test_a_cell_that_begins_otherwise_asks_nothing(source):
    assert question_call(source) is None


def test_calls_are_found_wherever_they_stand():
    source = 'y = check("a", x)\nfor n in range(2):\n    print(reveal("b", n), predict(c, n))'
    found = {each.call: each.question for each in question_calls(source)}
    assert found == {"check": "a", "reveal": "b", "predict": ""}
    assert not list(question_calls('check("a", x) = = 1'))


def test_in_a_text_each_code_cell_is_read_by_itself():
    text = (
        '+++ {"id": "x-prose"}\ncheck("no", x)\n\n```{code-cell}\n:id: x-one\n:tags: [setup]\n'
        'check("one", x)\n```\n\n```python\ncheck("no", x)\n```\n\n'
        "```{code-cell}\n:id: x-two\nx = 1\n```\n"
        '```{code-cell}\n:id: x-three\npredict("two")\n```\n'
    )
    found = [(cell, call.question) for cell, call in question_calls_in_text(text)]
    assert found == [("x-one", "one"), ("x-three", "two")]
