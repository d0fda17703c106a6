"""What is committed is what the builders make of the texts."""

import subprocess
import sys

import pytest

from tools.notebooks.build import ROOT

SETS = sorted((ROOT / "solutions/text").glob("*.md"))


@pytest.mark.parametrize("command", [
    pytest.param(["tools.notebooks.contents"], id="contents"),
    pytest.param(["tools.notebooks", *SETS], id="problem sets"),
    pytest.param(
        ["tools.notebooks"],
        id="lectures",
        marks=pytest.mark.slow("each lecture, run again, gives the outputs that are committed"),
    ),
])  # fmt: skip
def test_what_is_committed_is_as_built(command):
    check = [sys.executable, "-m", command[0], "--check", *command[1:]]
    ran = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
