"""What is committed is what the builders make of the texts."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
from inline import ROLE
from mystcells import read_lecture
from notebooks import ROOT, question_points

LECTURES = sorted((ROOT / "course/text").glob("*.md"))
SETS = sorted((ROOT / "solutions/text").glob("*.md"))


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["contents.py"], id="contents"),
        pytest.param(["notebooks.py", *SETS], id="problem sets"),
        pytest.param(
            ["notebooks.py"],
            id="lectures",
            marks=pytest.mark.slow("each lecture, run again, gives the outputs that are committed"),
        ),
    ],
)
def test_what_is_committed_is_as_built(command):
    check = [sys.executable, ROOT / "tools" / command[0], "--check", *command[1:]]
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
