"""A lecture runs once for all who show it, and again once anything has changed that it shows."""

import json
import sys
import threading

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.notebooks import kept_runs as runs


@pytest.fixture
def lecture(tmp_path, monkeypatch):
    """The place of a lecture that uses a small package with a file of data."""
    for name in ("times.csv", "__init__.py", "chips.toml", "__pycache__/old.pyc", "../rc"):
        path = tmp_path / "packages/small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setattr(runs, "PACKAGES", ("small",))
    monkeypatch.setattr(runs, "RUNNER_FILES", (tmp_path / "packages/rc",))
    return tmp_path / "course/en/01-a.ipynb"


def run(lecture, code="1 + 1", *probes, prose="Two."):
    """The outputs of a lecture's cell and of its probes, and whether it ran for that."""
    cells, ran = [new_code_cell(source) for source in (code, *probes)], []
    notebook = new_notebook(cells=[new_markdown_cell(prose), *cells])

    def execute():
        ran.append(True)
        for cell in cells:
            cell.outputs = [new_output("execute_result", data={"text/plain": f"of {cell.source}"})]
            cell.execution_count = 1
        notebook.metadata.widgets = {"state": code}

    runs.run_once(notebook, lecture, execute)
    assert notebook.metadata.widgets.state == code
    assert [cell.execution_count for cell in cells] == [1] * len(cells)
    return [cell.outputs[0].data["text/plain"] for cell in cells], bool(ran)


def test_the_second_who_needs_a_lecture_takes_the_outputs_of_the_first(lecture, tmp_path):
    assert run(lecture) == (["of 1 + 1"], True)
    (tmp_path / "packages/small/__pycache__/new.pyc").write_text("")
    assert run(lecture) == (["of 1 + 1"], False)


def test_a_lecture_that_is_worded_anew_does_not_run_but_for_a_new_expression(lecture):
    assert run(lecture, "1 + 1", "x")[1]
    assert run(lecture, "1 + 1", "x", prose="One and one.") == (["of 1 + 1", "of x"], False)
    assert not run(lecture)[1]
    assert run(lecture, "1 + 1", "x", "y") == (["of 1 + 1", "of x", "of y"], True)


@pytest.mark.parametrize(
    "changed", ["small/times.csv", "small/__init__.py", "small/chips.toml", "small/new.js", "rc"]
)
def test_a_changed_file_is_seen(lecture, tmp_path, changed):
    run(lecture)
    (tmp_path / "packages" / changed).write_text("x")
    assert run(lecture)[1]


def test_changed_code_and_surroundings_are_seen(lecture, monkeypatch):
    assert run(lecture)[1]
    assert run(lecture, "1 + 2") == (["of 1 + 2"], True)
    for name, value in (("ROOFKIT_QUESTIONS", "elsewhere"), ("ROOFLINE_LANGUAGE", "zh")):
        monkeypatch.setenv(name, value)
        assert run(lecture, "1 + 2")[1]
    monkeypatch.setattr(runs.importlib.metadata, "distributions", list)
    assert run(lecture, "1 + 2")[1]
    monkeypatch.setattr(sys, "version", "4.0")
    assert run(lecture, "1 + 2")[1]


def test_a_run_that_fails_or_is_cut_off_leaves_nothing_to_take(lecture, tmp_path):
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.run_once(new_notebook(), lecture, fail)
    assert run(lecture)[1]
    kept = tmp_path / "build/runs/01-a.json"
    kept.write_text(kept.read_text()[:-10])
    assert run(lecture)[1]
    assert json.loads(kept.read_text())


def test_two_who_need_it_at_once_wait_for_one_run(lecture):
    begun, ended = threading.Event(), threading.Event()
    first, second = (new_notebook(cells=[new_code_cell("1")]) for _ in range(2))

    def slowly():
        begun.set()
        assert ended.wait(120)
        first.cells[0].outputs = [new_output("stream", text="once")]

    def twice():
        raise AssertionError("the lecture runs a second time")

    running = threading.Thread(target=runs.run_once, args=(first, lecture, slowly))
    waiting = threading.Thread(target=runs.run_once, args=(second, lecture, twice))
    running.start()
    assert begun.wait(120)
    waiting.start()
    assert not second.cells[0].outputs
    ended.set()
    running.join()
    waiting.join()
    assert second.cells[0].outputs[0].text == "once"
