"""A notebook of the course alone: on another machine, in a folder with nothing else in it."""

import contextlib
import functools
import http.server
import importlib.util
import os
import re
import subprocess
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from roofgrade.restore.restored_notebook import restore_notebook
from tools.site import standalone as alone
from tools.site.links import find_released_notebooks

ROOT = Path(__file__).resolve().parents[2]
LECTURES, SETS = find_released_notebooks()
SITE = "https://example.org/roofline"
WHEELS = ["roofkit-0.1.0-py3-none-any.whl", "roofcheck-0.1.0-py3-none-any.whl"]
MISSING = "nowhere_to_be_found-1.0-py3-none-any.whl"


def started(site, wheels):
    exec(alone.write_install_cell(site, wheels), {})


def links(notebook):
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if not link.startswith("#")]


@pytest.mark.parametrize("path", [*LECTURES, *SETS], ids=lambda path: path.stem)
def test_a_downloaded_notebook_is_the_courses_but_for_its_first_cell_and_its_links(path):
    there = nbformat.read(path, as_version=4)
    outside = [link for link in links(there) if link.startswith("http")]
    for site in (SITE, ""):
        taken = nbformat.reads(alone.prepare_download(path, site, WHEELS), as_version=4)
        nbformat.validate(taken)
        first, *rest = taken.cells
        assert first.cell_type == "code"
        assert [cell.id for cell in rest] == [cell.id for cell in there.cells]
        assert all(
            cell == other
            for cell, other in zip(rest, there.cells, strict=True)
            if cell.cell_type == "code"
        )
        led = [link for link in links(taken) if link not in outside]
        assert all(re.match(rf"{SITE}/\S+\.html", link) for link in led)
        assert bool(led) == bool(site)
    prose = "\n".join(cell.source for cell in rest if cell.cell_type == "markdown")
    assert "start.py" not in prose
    assert "pip install" not in prose


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_a_downloaded_set_is_graded_as_the_one_of_the_kit(path):
    mended = restore_notebook(
        alone.prepare_download(path, SITE, WHEELS).encode(), nbformat.read(path, as_version=4)
    )
    assert (mended.remarks, mended.unread_paragraphs, mended.edited_checks) == ((), (), {})


def test_where_the_packages_are_there_the_first_cell_does_nothing(tmp_path, monkeypatch, capfd):
    (tmp_path / WHEELS[0]).write_text("not to be installed over what is there")
    monkeypatch.chdir(tmp_path)
    started(SITE, WHEELS)
    assert capfd.readouterr() == ("", "")


def test_without_any_wheel_a_sentence_says_what_to_install_and_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=f"needs .*{MISSING}") as raised:
        started("", [MISSING])
    assert raised.value._render_traceback_() == [str(raised.value)]


def test_what_pip_refuses_is_told_in_its_words(tmp_path, monkeypatch, capfd):
    """The wheel lies in a folder above, as the kit's do."""
    (tmp_path / MISSING).write_text("no wheel")
    (tmp_path / "course/en").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "course/en")
    with pytest.raises(ModuleNotFoundError, match=f"install .*{MISSING}"):
        started("", [MISSING])
    assert "Installing the course" in capfd.readouterr().out


@pytest.mark.parametrize("there", [True, False])
def test_sliders_that_are_new_need_a_reload_of_the_page(there, monkeypatch, capsys):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there and name == "anywidget")
    started(SITE, WHEELS)
    assert ("reload this page" in capsys.readouterr().out) == (not there)


@pytest.fixture
def elsewhere(environment, kit):
    """The kit's environment, and how to make it one that never saw the course's packages."""

    def forget():
        done = environment.run("pip", "uninstall", "--yes", "roofkit", "roofcheck")
        assert done.returncode == 0, done.stderr

    yield environment, forget
    environment.run("pip", "install", "--no-deps", *(kit / wheel for wheel in WHEELS))


def ran(environment, path, folder, site=""):
    """Whether a notebook as the site offers it installs packages in a folder, and its errors."""
    place = folder / path.name
    place.write_text(alone.prepare_download(path, site, WHEELS), encoding="utf-8")
    convert = ["jupyter", "nbconvert", "--to", "notebook", "--execute", "--inplace"]
    done = environment.run(*convert, "--allow-errors", str(place), cwd=folder)
    assert done.returncode == 0, done.stderr
    cells = [c for c in nbformat.read(place, as_version=4).cells if c.cell_type == "code"]
    errors = [o for cell in cells for o in cell.outputs if o.output_type == "error"]
    return "Installing the course" in str(cells[0].outputs), errors


@contextlib.contextmanager
def served(folder):
    """The address of a folder."""
    serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.weekly("lectures and sets run alone, in an empty folder and a fresh environment")
def test_every_notebook_of_the_site_runs_alone(elsewhere, kit, tmp_path):
    environment, forget = elsewhere
    first, *others = LECTURES
    empty, beside, site = (tmp_path / name for name in ("empty", "beside", "site"))
    empty.mkdir()
    for folder in (beside, site / "wheels"):
        folder.mkdir(parents=True)
        for wheel in WHEELS:
            (folder / wheel).write_bytes((kit / wheel).read_bytes())

    forget()
    [shown] = ran(environment, SETS[0], empty)[1][0].traceback
    assert all(wheel in shown for wheel in WHEELS)

    assert ran(environment, SETS[0], beside) == (True, [])

    forget()
    with served(site) as address:
        assert ran(environment, first, empty, address) == (True, [])

    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda path: ran(environment, path, empty)[1], others)
        assert dict(zip(others, found, strict=True)) == {path: [] for path in others}


def test_binder_finds_what_it_installs():
    script = ROOT / ".binder/postBuild"
    assert os.access(script, os.X_OK)
    named = re.findall(r"(?<= )(?:\./)?\w+(?:/\w+)+(?:\.\w+)?|\./\w+", script.read_text())
    assert {"tools/kit/requirements.lock", "./roofcheck"} <= {*named}
    assert [name for name in named if not (ROOT / name).exists()] == []
    asked = (ROOT / ".binder/runtime.txt").read_text().strip().removeprefix("python-")
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert tuple(map(int, asked.split("."))) >= tuple(map(int, oldest.strip(">=").split(".")))
