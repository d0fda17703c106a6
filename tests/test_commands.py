"""The two commands: a sentence where something is missing, and a course that opens."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def bare(tmp_path):
    """A PATH with a shell's tools and no Python."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "rm", "touch"):
        (tools / name).symlink_to(shutil.which(name))
    return tools


def set_up(bare, tmp_path):
    return subprocess.run(
        ["sh", ROOT / "tools/setup.sh", tmp_path / "venv"],
        env={"PATH": str(bare)}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def script(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def test_a_missing_python_is_told_in_a_sentence(bare, tmp_path):
    done = set_up(bare, tmp_path)
    assert done.returncode == 1
    assert "Python 3.11 or later is needed and was not found. Install it" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_too_old_does_not_count(bare, tmp_path):
    script(bare / "python3", "exit 1")
    assert "was not found" in set_up(bare, tmp_path).stderr


def test_a_missing_venv_module_is_told_in_a_sentence(bare, tmp_path):
    script(bare / "python3", 'case "$2" in *ensurepip*) exit 1;; esac')
    done = set_up(bare, tmp_path)
    assert done.returncode == 1
    assert "cannot make virtual environments" in done.stderr
    assert "python3-venv" in done.stderr


def answers(address, patience=30):
    """Whether a page is there, soon: Jupyter prints the address a moment before it listens."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            return urllib.request.urlopen(address, timeout=30).status == 200
        except urllib.error.URLError:
            time.sleep(0.1)
    return False


def test_the_course_opens_at_the_port_asked_for_without_a_window(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    private = {name: str(tmp_path) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    lab = subprocess.Popen(
        [sys.executable, ROOT / "tools/lab.py", "--port", str(port), "--browser", "none"],
        env={**os.environ, **private}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        printed = iter(lab.stdout.readline, "")
        address = next(
            filter(None, (re.search(rf"http://\S+:{port}/\S+", line) for line in printed))
        )
        assert "/lab/tree/course/en/01-" in address[0]
        assert answers(address[0]), "printed its address and then did not answer"
    finally:
        # No kernel runs yet, so there is nothing to end in good order.
        lab.kill()
        lab.communicate()
