"""The line that asks a question, as notebooks have it and as students edit it."""

import tomllib
from pathlib import Path

from cases import cases

from roofcheck.cells import Asked, asked, calls, in_text

CELLS = tomllib.loads(Path(__file__).with_name("cells.toml").read_text(encoding="utf-8"))


def test_a_call_is_read_as_it_stands():
    for kind in ("alone", "beside-more"):
        for source, *found in CELLS[kind]:
            assert asked(source) == Asked(*found, alone=kind == "alone"), source
    assert asked(f'check("q", 1{" + 1" * 600})') == Asked("check", "q")


@cases("source", CELLS["asks-nothing"])
def test_a_cell_that_begins_otherwise_asks_nothing(source):
    assert asked(source) is None


def test_calls_are_found_wherever_they_stand():
    source = 'y = check("a", x)\nfor n in range(2):\n    print(reveal("b", n), predict(c, n))'
    found = {each.call: each.question for each in calls(source)}
    assert found == {"check": "a", "reveal": "b", "predict": ""}
    assert not list(calls('check("a", x) = = 1'))


def test_in_a_text_each_code_cell_is_read_by_itself():
    text = (
        '+++ {"id": "x-prose"}\ncheck("no", x)\n\n```{code-cell}\n:id: x-one\n:tags: [setup]\n'
        'check("one", x)\n```\n\n```python\ncheck("no", x)\n```\n\n'
        "```{code-cell}\n:id: x-two\nx = 1\n```\n"
        '```{code-cell}\n:id: x-three\npredict("two")\n```\n'
    )
    found = [(cell, call.question) for cell, call in in_text(text)]
    assert found == [("x-one", "one"), ("x-three", "two")]
