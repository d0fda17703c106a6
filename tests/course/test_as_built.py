"""What is committed is what the builders make of their texts: notebooks, with each lecture run,
and what documents say of their contents."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("builder", ["notebooks", "contents"])
def test_what_is_committed_is_as_built(builder):
    check = [sys.executable, f"tools/{builder}.py", "--check"]
    ran = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
