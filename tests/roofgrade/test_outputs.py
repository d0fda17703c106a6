"""Whatever a student's process puts out, the graded notebook is well formed and bounded."""

import random

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.preprocessors import LimitOutput

from roofgrade.judge.outputs import LONGEST_NOTEBOOK, MOST_IN_ALL, OutputCleaner, format_notebook


def cell_with(outputs):
    return new_code_cell(
        execution_count=1, outputs=OutputCleaner().clean({"outputs": outputs, "count": 1})
    )


def display(kind, value):
    return {"output_type": "display_data", "data": {kind: value}, "metadata": {}}


@pytest.mark.parametrize(
    "kind",
    [
        "application/javascript", "application/vnd.jupyter.widget-view+json", "text/javascript",
        "application/vnd.jupyter.widget-state+json", "application/vnd.plotly.v1+json", "video/mp4",
        "application/json", "text/html; charset=x", "image/svg", "../x", "",
    ],
)  # fmt: skip
def test_what_could_run_is_dropped(kind):
    [output] = cell_with([display(kind, "alert(1)")]).outputs
    assert output.data == {}


@pytest.mark.parametrize("kind", ["text/plain", "text/html", "image/png", "image/svg+xml"])
def test_what_is_shown_stays(kind):
    [output] = cell_with([display(kind, "x")]).outputs
    assert output.data == {kind: "x"}


def test_a_display_is_updated_in_its_place():
    first = display("text/plain", "1") | {"display_id": "a"}
    other = display("text/plain", "other")
    again = {"output_type": "update", "display_id": "a", "data": {"text/plain": "2"}}
    found = cell_with([first, other, again]).outputs
    assert [output.data["text/plain"] for output in found] == ["2", "other"]


@pytest.mark.slow("no student stops grading by updating displays without end")
def test_thousands_of_updates_of_thousands_of_displays_take_no_time():
    cleaner = OutputCleaner()
    shown = {"outputs": [display("text/plain", "x") | {"display_id": "a"}] * 1000, "count": 1}
    update = {"output_type": "update", "display_id": "a", "data": {"text/html": "y" * 10_000}}
    made = [output for _ in range(4) for output in cleaner.clean(shown)]
    for _ in range(4):
        cleaner.clean({"outputs": [update] * 1000, "count": 1})
    assert made[0].data == made[-1].data == update["data"]
    cell = new_code_cell(outputs=made)
    assert len(format_notebook(new_notebook(cells=[cell]))) < LONGEST_NOTEBOOK
    assert cell.outputs[0].text == "... Some outputs were too large and were omitted ...\n"


def test_a_notebook_has_no_outputs_without_end():
    cleaner = OutputCleaner()
    reply = {"outputs": [display("text/plain", "x")] * 1000, "count": 1}
    assert sum(len(cleaner.clean(reply)) for _ in range(30)) == MOST_IN_ALL


def test_a_notebook_that_is_too_long_keeps_its_points():
    cell = cell_with([{"output_type": "stream", "text": "x" * (1 << 20)}] * 20)
    check = cell_with([display("text/plain", "2.0")])
    check.metadata["nbgrader"] = {"grade": True}
    text = format_notebook(new_notebook(cells=[cell, check]))
    assert len(text) < LONGEST_NOTEBOOK
    first, second = nbformat.reads(text, 4).cells
    assert first.outputs[0].text == "... Some outputs were too large and were omitted ...\n"
    assert second.outputs[0].data["text/plain"] == "2.0"


def test_no_outputs_break_a_notebook():
    rng = random.Random(3)
    flat = [None, True, 1, -1.5, float("nan"), "x", "\ud800", "text/plain", [], {}, b"", "a" * 500]

    def something(depth=0):
        if depth > 3 or rng.random() < 0.4:
            return rng.choice(flat)
        if rng.random() < 0.4:
            return [something(depth + 1) for _ in range(rng.randrange(4))]
        return {str(rng.choice(flat)): something(depth + 1) for _ in range(rng.randrange(4))}

    kinds = ["stream", "error", "execute_result", "display_data", "update", "clear_output", None]
    fields = ["name", "text", "ename", "evalue", "traceback", "data", "metadata", "display_id"]
    for _ in range(800):
        outputs = [
            {"output_type": rng.choice(kinds)}
            | {f: something() for f in fields if rng.random() < 0.7}
            for _ in range(rng.randrange(5))
        ]
        made = cell_with(rng.choice([outputs, outputs, something()]))
        notebook = new_notebook(cells=[made])
        nbformat.validate(notebook)
        format_notebook(notebook).encode()


@pytest.mark.parametrize("lines", [999, 1000, 1001, 5000])
def test_as_many_lines_stay_as_in_nbgrader(lines):
    printed = [{"output_type": "stream", "name": name, "text": "x\n" * (lines // 2)}
               for name in ("stdout", "stderr", "stdout")]  # fmt: skip
    error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["line"] * lines}
    plain = new_code_cell(outputs=[nbformat.from_dict(output) for output in (*printed, error)])
    expected, _ = LimitOutput().preprocess_cell(plain, {}, 0)
    assert cell_with([*printed, error]).outputs == expected.outputs
