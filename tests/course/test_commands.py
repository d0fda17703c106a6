"""The two commands: a sentence where something is missing, and a course that opens."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
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


def test_a_missing_python_is_told_in_a_sentence_and_one_too_old_does_not_count(bare, tmp_path):
    done = set_up(bare, tmp_path)
    assert done.returncode == 1
    assert "Python 3.11 or later is needed and was not found. Install it" in done.stderr
    assert not (tmp_path / "venv").exists()
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
    command = [sys.executable, "-m", "tools.lab", *options]
    with opened(command, env={**os.environ, **own}) as (address, _):
        yield address


@pytest.fixture(scope="module")
def students(tmp_path_factory):
    """The address of a JupyterLab as students have it."""
    built = tmp_path_factory.mktemp("built")
    with lab(tmp_path_factory.mktemp("lab"), "--built", built) as address:
        yield address


def test_the_course_opens_and_serves_what_is_for_students(students):
    serves(students, solutions=False)


@pytest.fixture(scope="module")
def teaching(tmp_path_factory):
    """The address of a JupyterLab as who teaches has it."""
    built = tmp_path_factory.mktemp("built")
    with lab(tmp_path_factory.mktemp("lab"), "--all", "--built", built) as address:
        yield address


TEACHING = pytest.mark.slow("make teach opens, with nbgrader's menus")


@TEACHING
def test_who_teaches_gets_the_solutions_too(teaching):
    serves(teaching, solutions=True)


def asked(address, path, **options):
    """What the server says at a path below its root."""
    root, token = re.match(r"(http://[^/]+/).*token=(\w+)", address).groups()
    request = urllib.request.Request(
        root + path, headers={"Authorization": f"token {token}"}, **options
    )
    return urllib.request.urlopen(request, timeout=300).read().decode()


def listed(address, path):
    """What the file browser shows of a folder."""
    return {each["name"] for each in json.loads(asked(address, f"api/contents/{path}"))["content"]}


def serves(address, solutions):
    # The home opens by itself where no notebook is named.
    assert re.search(r"\d/lab\?token", address)

    def served(path):
        return answers(re.sub(r"/lab\?", f"/api/contents/{path}?", address))

    assert served("course/en/07-int8-and-friends.ipynb")
    assert served("exercises/en/ps1/ps1.ipynb")
    assert served("solutions/en/ps1/ps1.ipynb") == solutions
    assert served("course/text") == solutions
    assert ("term.toml" in listed(address, "course")) == solutions


def test_the_file_browser_shows_lectures_and_exercises(students):
    assert listed(students, "") == {"course", "exercises"}
    assert listed(students, "course") <= {"en", "text"}
    assert all(name.endswith(".ipynb") for name in listed(students, "course/en"))


def test_jupyterlab_has_the_courses_settings_and_asks_about_no_news(students):
    overrides = ROOT / "tools/kit/jupyter/labconfig/default_setting_overrides.json"
    for plugin, values in json.loads(overrides.read_text()).items():
        schema = json.loads(asked(students, f"lab/api/settings/{plugin}"))["schema"]
        # JupyterLab ignores a setting that it does not know.
        assert values == {name: schema["properties"][name].get("default") for name in values}
    assert "@jupyterlab/apputils-extension:announcements" in given(students)["disabledExtensions"]


def given(address):
    """What JupyterLab's page holds for its extensions."""
    page = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', asked(address, "lab"), re.S)
    return json.loads(page[1])


@TEACHING
def test_only_who_teaches_meets_the_grading_menus(students, teaching):
    assert "@jupyter/nbgrader" in given(students)["disabledExtensions"]
    assert "@jupyter/nbgrader" not in given(teaching)["disabledExtensions"]
    validate = "assignments/validate?path=exercises/en/ps1/ps1.ipynb"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        asked(students, validate, data=b"")
    reply = json.loads(asked(teaching, validate, data=b""))
    assert reply["success"], reply
    assert 'check("ps1.ridge", ridge)' in str(reply["value"])


def test_without_the_homes_extension_the_first_lecture_opens(tmp_path):
    bare = tmp_path / "env/bin/python"
    bare.parent.mkdir(parents=True)
    script(bare, 'printf "%s\\n" "$@"')
    code = (
        "import argparse, start;"
        "start.open_lab(__import__('sys').argv[1], '.', argparse.Namespace(port=1, browser='none'))"
    )

    def opens():
        run = [sys.executable, "-c", code, str(bare)]
        return subprocess.run(run, cwd=ROOT / "tools/kit", capture_output=True, text=True).stdout

    [address] = re.findall(r"default_url=/lab/tree/(\S+)", opens())
    assert (ROOT / address).is_file()
    (bare.parents[1] / "share/jupyter/labextensions/roofcheck").mkdir(parents=True)
    assert "jupyterlab" in (said := opens())
    assert "default_url" not in said


@pytest.mark.weekly("decks are opened from the menu Course")
def test_decks_that_are_built_stand_in_a_menu_and_run_their_scripts(tmp_path):
    deck = tmp_path / "built/slides/talk.html"
    deck.parent.mkdir(parents=True)
    deck.write_text("<title>B &gt; 240</title>", encoding="utf-8")
    with lab(tmp_path, "--built", tmp_path / "built") as address:
        [page] = json.loads(given(address)["roofline"])["pages"]
        root = address.partition("/lab")[0]
        served = urllib.request.urlopen(f"{root}/{page['url']}", timeout=300)
        assert served.read() == deck.read_bytes()
    assert page["text"] == "Slides: B > 240"
    # A sandboxed page has no scripts of its own origin and opens no speaker's window.
    assert "sandbox" not in served.headers["Content-Security-Policy"]
