"""What is committed is what the builders make of the texts."""

import re
import subprocess
import sys

import nbformat
import pytest

from tools.notebooks.build import ROOT, question_points
from tools.notebooks.inline_values import ROLE
from tools.notebooks.myst_cells import read_lecture

LECTURES = sorted((ROOT / "course/text").glob("*.md"))
SETS = sorted((ROOT / "solutions/text").glob("*.md"))


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["tools.notebooks.contents"], id="contents"),
        pytest.param(["tools.notebooks", *SETS], id="problem sets"),
        pytest.param(
            ["tools.notebooks"],
            id="lectures",
            marks=pytest.mark.slow("each lecture, run again, gives the outputs that are committed"),
        ),
    ],
)
def test_what_is_committed_is_as_built(command):
    check = [sys.executable, "-m", command[0], "--check", *command[1:]]
    ran = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_a_lecture_has_the_cells_of_its_text(path):
    """Without a run: what a run fills in is left open."""
    text = read_lecture(path.name, path.read_text(encoding="utf-8"), question_points)
    built = nbformat.read(ROOT / f"course/en/{path.stem}.ipynb", as_version=4).cells
    assert [cell.id for cell in built] == [cell.id for cell in text.notebook.cells]
    for cell, written in zip(built, text.notebook.cells, strict=True):
        parts = ROLE.sub("\0", written.source).split("\0")
        assert re.fullmatch(".*?".join(map(re.escape, parts)), cell.source, re.DOTALL), cell.id
