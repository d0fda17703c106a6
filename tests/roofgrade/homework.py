"""A course in a temporary folder, driven by nbgrader's own commands, and what students hand in."""

import functools
import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from click.testing import CliRunner
from nbgrader.api import Gradebook

from roofcheck.cells import question_call
from roofgrade.commands import main

ROOT = Path(__file__).resolve().parents[2]
SETS = sorted(path.stem for path in ROOT.glob("exercises/en/*/*.ipynb"))
# The seed of the cases that functions are graded on.
SEED = "round trip"


def make_course(folder):
    """Copy what an instructor has into a folder."""
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    for name in ("solutions", "exercises"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def make_releases(folder, *names):
    """Put the releases of some sets, or of two, into a folder, and the settings."""
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    for name in names or ("ps1", "ps2"):
        shutil.copytree(ROOT / f"exercises/en/{name}", folder / f"exercises/en/{name}")
    return folder


# Kernels end at once, which halves the time of autograding; a busy machine may be slow.
EXECUTE = (
    "--Execute.shutdown_kernel=immediate", "--Execute.timeout=3600", "--Execute.iopub_timeout=300",
    "--Execute.startup_timeout=300",
)  # fmt: skip


def nbgrader(course, *arguments, fails=False):
    """Run a command of nbgrader."""
    # nbgrader calls alembic by name, as it finds it in an activated environment.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {**os.environ, "PATH": path, "ROOFKIT_SEED": SEED}
    command = [sys.executable, "-m", "nbgrader", *arguments, *EXECUTE]
    done = subprocess.run(command, cwd=course, env=own, capture_output=True, text=True)
    assert bool(done.returncode) is fails, done.stdout + done.stderr
    return done


def grade(course, *arguments):
    """Run a command of roofgrade, and return what it says."""
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "roofgrade", *arguments]
    done = subprocess.run(command, cwd=course, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ask(folder, *arguments, code=0):
    """What a command of roofgrade says in this process, to the terminal and beside it."""
    said = CliRunner().invoke(main, ["--course", str(folder), *map(str, arguments)])
    assert said.exit_code == code, said.output
    return said


def notebook(course, kind, name):
    """The "solutions" or the "exercises" of a problem set."""
    return nbformat.read(course / kind / "en" / name / f"{name}.ipynb", as_version=4)


def hand_in(course, name, student, answers, kind="exercises"):
    """Submit a notebook in which these cells, by id, hold this code.

    Who hands in a solution signs it with his or her own id.
    """
    handed_in = notebook(course, kind, name)
    cells = {cell.id: cell for cell in handed_in.cells}
    if kind == "solutions" and f"{name}-me" in cells:
        cells[f"{name}-me"].source = f"me = {student!r}"
    for cell_id, source in answers.items():
        cells[cell_id].source = source
    target = course / "submitted" / student / name / f"{name}.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(handed_in, target)


def checks(cells):
    """Each check of a problem set: its cell's id, its question, the variable it looks at."""
    for cell in cells:
        if found := check_in(cell):
            yield cell.id, found.question, found.expression


def check_in(cell):
    """The check in a cell, as an Asked; None in any other cell."""
    found = question_call(cell["source"]) if cell["cell_type"] == "code" else None
    return found if found and found.call == "check" else None


@functools.cache
def autograded(course, name, student):
    """The cells of a graded notebook."""
    path = course / "autograded" / student / name / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells]


def scores(course, name="ps1"):
    """The gradebook's points, by student."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        return {
            submission.student.id: submission.score
            for submission in book.assignment_submissions(name)
        }


def outputs(course, name, student):
    """What each check printed in a graded notebook, by its cell's id: points and message."""
    found = {}
    for cell in autograded(course, name, student):
        for output in cell.get("outputs", []):
            if output["output_type"] == "execute_result" and check_in(cell):
                shown = {kind: "".join(lines) for kind, lines in output["data"].items()}
                found[cell["id"]] = float(shown["text/plain"]), plain(shown["text/html"])
    return found


def plain(page):
    """HTML as a reader sees its text."""
    return html.unescape(re.sub(r"<[^>]+>", "", page)).strip()
