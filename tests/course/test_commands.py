"""The two commands: a sentence where something is missing, and a course that opens."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from opening import answers, opened

ROOT = Path(__file__).resolve().parents[2]


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


@contextlib.contextmanager
def lab(private, *options):
    """The address of the course's JupyterLab, whose own settings are kept in a folder."""
    own = {name: str(private) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    command = [sys.executable, ROOT / "tools/lab.py", *options]
    with opened(command, env={**os.environ, **own}) as (address, _):
        yield address


@pytest.fixture(scope="module")
def students(tmp_path_factory):
    """Of a JupyterLab as students have it."""
    with lab(tmp_path_factory.mktemp("lab")) as address:
        yield address


def test_the_course_opens_and_serves_what_is_for_students(students):
    serves(students, solutions=False)


def test_who_teaches_gets_the_solutions_too(tmp_path):
    with lab(tmp_path, "--all") as address:
        serves(address, solutions=True)


def serves(address, solutions):
    assert "/lab/tree/course/en/01-" in address

    def served(path):
        return answers(re.sub(r"/lab/tree/[^?]*", f"/api/contents/{path}", address))

    assert served("course/en/06-int8-and-friends.ipynb")
    assert served("exercises/en/ps1/ps1.ipynb")
    assert served("solutions/en/ps1/ps1.ipynb") == solutions
    assert served("course/text") == solutions


def test_decks_that_are_built_stand_in_a_menu_and_run_their_scripts(tmp_path):
    deck = tmp_path / "built/slides/talk.html"
    deck.parent.mkdir(parents=True)
    deck.write_text("<title>B &gt; 240</title>", encoding="utf-8")
    with lab(tmp_path, "--built", tmp_path / "built") as address:

        def asked(path):
            return urllib.request.urlopen(re.sub(r"/lab/tree/[^?]*", path, address), timeout=300)

        menu = asked("/lab/api/settings/@jupyterlab/mainmenu-extension:plugin").read().decode()
        served = asked("/static/talk.html")
        assert served.read() == deck.read_bytes()
    assert "Slides: B > 240" in menu
    assert "/static/talk.html" in menu
    # A sandboxed page has no scripts of its own origin and opens no speaker's window.
    assert "sandbox" not in served.headers["Content-Security-Policy"]


def test_nbgraders_validate_button_finds_a_problem_set(students):
    root, token = re.match(r"(http://[^/]+/).*token=(\w+)", students).groups()
    asked = urllib.request.Request(
        f"{root}assignments/validate?path=exercises/en/ps1/ps1.ipynb",
        data=b"",
        headers={"Authorization": f"token {token}"},
    )
    reply = json.loads(urllib.request.urlopen(asked, timeout=300).read())
    assert reply["success"], reply
    assert 'check("ps1.ridge", ridge)' in str(reply["value"])
