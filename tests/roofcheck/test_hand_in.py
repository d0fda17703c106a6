"""A set handed in from a student's own machine: what stops it, what is written, what is kept.

Where a test is about what a run finds, the notebook runs in a real kernel.
"""

import json
import os
import shutil
import sys
import threading
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

from roofcheck.handin import ids, notebook_file, rerun
from roofcheck.handin.hand_in import hand_in_file, hand_in_time
from roofcheck.study.check import latest_grades

ROOT = Path(__file__).resolve().parents[2]
SET = "ps1"
UPLOAD = 'upload = {ps1 = "Moodle, Problem set 1", ps2 = "elsewhere"}\n'
TERM = f'{UPLOAD}ids = "course/ids.txt"\ndue.ps1 = 2020-01-31T18:00:00Z\n'
PARAGRAPH = "Compare the intensity with the ridge."


@pytest.fixture(scope="module")
def solved():
    """The notebook of somebody who has solved all of it."""
    done = nbformat.read(ROOT / f"solutions/en/{SET}/{SET}.ipynb", as_version=4)
    answers = {cell.id: cell.source for cell in done.cells if cell.cell_type == "code"}
    released = nbformat.read(ROOT / f"exercises/en/{SET}/{SET}.ipynb", as_version=4)
    for cell in released.cells:
        cell.source = answers.get(cell.id, cell.source)
        if cell.id == f"{SET}-paragraph":
            cell.source = PARAGRAPH
    return released


@pytest.fixture
def place(tmp_path, monkeypatch, solved):
    """The course's folder, with a set that is solved; a test changes cells by their names."""
    for name in ("JUPYTERHUB_USER", "ROOFLINE_COURSE", "JPY_SESSION_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        "roofcheck.handin.exchange.find_exchange", lambda *folder: None
    )  # an own machine
    (tmp_path / "course/en").mkdir(parents=True)
    shutil.copy(ROOT / "course/en/index.json", tmp_path / "course/en")
    notebook = tmp_path / f"exercises/en/{SET}/{SET}.ipynb"
    notebook.parent.mkdir(parents=True)

    def with_cells(**changed):
        made = nbformat.from_dict(json.loads(nbformat.writes(solved)))
        for name, source in changed.items():
            next(c for c in made.cells if c.id == f"{SET}-{name}").source = source
        nbformat.write(made, notebook)
        return notebook

    with_cells()
    return with_cells


def course_of(notebook):
    return notebook.parents[3]


def running():
    """The processes that this one has started and that still run."""
    found = psutil.Process().children(recursive=True)
    return {each.pid for each in found if each.status() != psutil.STATUS_ZOMBIE}


def parts(report):
    return dict(report.parts)


def test_a_finished_set_becomes_one_file_and_the_last_one_is_kept(place, monkeypatch):
    notebook = place(me='me = " Ada "', ridge="ridge = 403.3")
    root = course_of(notebook)
    (root / "course/term.toml").write_text(TERM, encoding="utf-8")
    (root / "course/ids.txt").write_text(ids.format_ids(["Ada", "bob"]), encoding="utf-8")
    (notebook.parent / "notes.csv").write_text("1")
    first = hand_in_file(notebook, SET)
    assert first.state == "written"
    assert first.file == root / f"handed-in/{SET}-ada.ipynb"
    assert first.file.read_bytes() == notebook.read_bytes()
    said = str(first)
    for told in ("Moodle, Problem set 1", "It was due at 2020-01-31", "notes.csv", "1. A spec"):
        assert told in said
    assert list(parts(first)) == [
        "These answers aren't fully right yet. You can hand them in as they are:"
    ]
    json.dumps(first.as_json())
    fingerprint = notebook_file.hash_cells(notebook.read_bytes())
    assert f"{SET}-ada.ipynb, {first.time:%Y-%m-%d %H:%M}, fingerprint {fingerprint}." in said

    # Other outputs, the same work.
    other = nbformat.read(notebook, as_version=4)
    other.cells[2].outputs = [nbformat.v4.new_output("stream", text="later")]
    nbformat.write(other, notebook)
    same = hand_in_file(notebook, SET)
    assert (same.state, same.time, same.file) == ("same", first.time, first.file)

    place(me='me = "ada"', ridge="ridge = 201.6")
    monkeypatch.setattr(
        rerun, "rerun_notebook", lambda *a: rerun.RerunResult(me="ada", verdicts=RIGHT)
    )
    better = hand_in_file(notebook, SET)
    assert (better.state, better.parts) == ("written", ())
    [kept] = (root / "handed-in/earlier").iterdir()
    assert "403.3" in kept.read_text(encoding="utf-8")
    assert kept.name in str(better)
    assert hand_in_time(SET, root) == better.time
    # One file lies there to be uploaded.
    assert [path.name for path in (root / "handed-in").glob("*.ipynb")] == [first.file.name]


def test_what_is_missing_or_fails_stops_it_until_the_student_says_so(place, monkeypatch):
    unwritten = "YOUR ANSWER HERE"
    blank = {"me": "me = ...", "ridge": "ridge = ...", "mine": "saved_us = ..."}
    notebook = place(**blank, time="time_us = tmie", paragraph=unwritten)
    before, known, runs, run = notebook.read_bytes(), latest_grades(), [], rerun.rerun_notebook
    monkeypatch.setattr(rerun, "rerun_notebook", lambda *a: runs.append(run(*a)) or runs[-1])
    stopped = hand_in_file(notebook, SET, from_cell=True)
    assert stopped.state == "stopped"
    assert parts(stopped) == {
        "These cells fail when the notebook runs from the top:": (
            "2. A layer on an H200: NameError: name 'tmie' is not defined",
        ),
        "These questions have no answer yet:": (
            "1. A specification", "2. A layer on an H200", "6. What overlap saves", "9. A claim",
        ),
    }  # fmt: skip
    assert stopped.can_go_on
    assert 'hand_in("ps1", unfinished=True)' in str(stopped)
    assert not (course_of(notebook) / "handed-in").exists()
    assert (notebook.read_bytes(), latest_grades()) == (before, known), "a copy ran, and not here"
    # Who learns alone needs no id.
    monkeypatch.setattr(rerun, "rerun_notebook", lambda *a: runs[0])
    done = hand_in_file(notebook, SET, unfinished=True)
    assert (done.state, done.file.name, done.can_go_on) == ("written", f"{SET}.ipynb", False)
    assert "You don't need to send this file" in str(done)


@pytest.mark.parametrize(("me", "user", "told"), [
    ('me = "ada8"', "", "Your class has no id ada8."),
    ('me = "ada7@example.edu"', "", 'If your id is ada7, write me = "ada7".'),
    ("me = ...", "", "Your id is missing"),
    ("me = 7", "", 'in quotes: me = "7"'),
    ('me = "a/b"', "", "a/b can't be an id"),
    ('me = "bob"', "ada7", 'you are handing in as ada7. Write me = "ada7"'),
])  # fmt: skip
def test_an_id_that_is_nobodys_is_told(place, monkeypatch, me, user, told):
    notebook = place(me=me)
    if user:
        monkeypatch.setenv("JUPYTERHUB_USER", user)
    listed = course_of(notebook) / "course/ids.txt"
    listed.write_text(ids.format_ids(["ada7", "bob"]), encoding="utf-8")
    (listed.parent / "term.toml").write_text(TERM, encoding="utf-8")
    # The run is that of any other test; what it found is what this is about.
    cell = {"me": me.partition(" = ")[2].strip('"').replace("...", ""), "me_is_text": '"' in me}
    monkeypatch.setattr(
        rerun, "rerun_notebook", lambda *a: rerun.RerunResult((("6.", "X"),), RIGHT, **cell)
    )
    report = hand_in_file(notebook, SET)
    assert report.state == "stopped"
    assert told in str(report).partition("These cells fail")[0]
    assert report.id == (user or cell["me"])


RIGHT = {
    f"ps1.{name}": ("right", 1.0)
    for name in ("ridge", "time", "bound", "order", "chain", "mine", "attainable", "bracket")
}


def test_a_kernel_that_dies_and_a_cell_without_end_are_told(place):
    notebook, before = place(bound="import os\nos._exit(1)"), running()
    died = hand_in_file(notebook, SET)
    assert "3. Which roof?: the kernel died while running a cell." in str(died)
    assert died.can_go_on
    # Its first cell has no end: a busy machine may take longer than a second for any other one.
    endless = nbformat.read(place(setup="while True: pass"), as_version=4)
    found = rerun.rerun_notebook(endless, notebook.parent, cell_seconds=1)
    assert running() == before, "no kernel goes on"
    assert found.ended.endswith("ridge: a cell was stopped after 1 seconds.")


@pytest.mark.parametrize(("path", "name", "told"), [
    (None, "ps2", "ps1.ipynb isn't ps2: its questions belong to ps1."),
    (None, "ps9", "There's no problem set 'ps9'."),
    (ROOT / "none.ipynb", SET, "No such file"),
    (ROOT / "README.md", SET, "isn't a readable notebook"),
])  # fmt: skip
def test_what_is_no_notebook_of_the_set_is_told(place, path, name, told):
    report = hand_in_file(path or place(), name)
    assert (report.state, report.can_go_on) == ("stopped", False)
    assert told in str(report)


def test_a_place_that_takes_no_file_is_told(place, monkeypatch):
    notebook = place()
    (course_of(notebook) / "handed-in").touch()
    monkeypatch.setattr(
        rerun, "rerun_notebook", lambda *a: rerun.RerunResult(me="ada", verdicts=RIGHT)
    )
    report = hand_in_file(notebook, SET)
    assert report.state == "stopped"
    assert f"Can't write to {course_of(notebook)}/handed-in: File exists." in str(report)


@pytest.mark.slow("hand_in() finds its own notebook in a kernel, whatever it is called")
def test_the_last_cell_hands_its_own_notebook_in(place, tmp_path):
    renamed = place().rename(tmp_path / f"exercises/en/{SET}/my {SET} (2).ipynb")
    shutil.copy(ROOT / "exercises/en/ps2/ps2.ipynb", renamed.parent)

    own = nbformat.read(renamed, as_version=4).cells[-1].source
    sessions = {
        "renamed since its kernel started": f'JPY_SESSION_NAME="{renamed.parent}/{SET}.ipynb"',
        "again": f'JPY_SESSION_NAME="{renamed}"',
        "run to be handed in": f'{rerun.HAND_IN_VARIABLE}="1"',
        "graded": 'NBGRADER_EXECUTION="autograde"',
        "changed and run": f'JPY_SESSION_NAME="{renamed}"',
        "one of two": f'JPY_SESSION_NAME="{renamed.parent}/{SET}.ipynb"',
    }
    before = {
        "changed and run": "get_ipython().run_cell('me = \"nodel\"', store_history=True)",
        "one of two": f"shutil.copy({str(renamed)!r}, 'a copy.ipynb')",
    }
    cells = ["import os, shutil\nfrom roofcheck import hand_in"]
    for name, session in sessions.items():
        first = before.get(name, "")
        cells += [f"{first}\nwas = dict(os.environ)\nos.environ.update({session})", own]
        cells += ["os.environ.clear(), os.environ.update(was)"]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
    client = NotebookClient(notebook, resources={"metadata": {"path": str(renamed.parent)}})
    client.execute(env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    outputs = dict(zip(sessions, (cell.outputs for cell in notebook.cells[2::3]), strict=True))
    said = {
        name: "".join(each.get("text") or each.data["text/plain"] for each in found)
        for name, found in outputs.items()
    }
    first = said["renamed since its kernel started"]
    assert "ps1 from top to bottom in a fresh kernel" in first
    assert "ps1 is ready to hand in: handed-in/ps1-model.ipynb." in first
    assert "already has exactly this content" in said["again"]
    assert said["run to be handed in"] == said["graded"] == ""
    assert "older text than you ran in these sections:\n- Problem set 1" in said["changed and run"]
    assert "which notebook" in said["one of two"]


def test_a_file_is_read_when_it_is_whole_and_compared_with_what_ran(place):
    notebook = place(ridge="ridge = 403.3")
    whole = notebook.read_bytes()
    notebook.write_bytes(whole[:1000])
    threading.Timer(0.5, notebook.write_bytes, [whole]).start()
    read, content, _ = notebook_file.read_notebook(notebook, SET)
    assert content == whole
    for ran, unsaved in (
        (["ridge = 403.3", "ridge = 201.6"], "1. A specification"),
        (["def attainable(i): return i"], "7. The roof as a function"),
        (["ridge = 201.6", "ridge = 403.3\n", 'check("ps1.ridge", 7)'], ""),
    ):
        assert "".join(notebook_file.compare_with_inputs(read, ran)) == unsaved
    assert "has changed since" in str(hand_in_file(notebook, SET, screen=["other"]))
