"""Run each lecture once, and keep its outputs until something they depend on changes.

`python -m tools.notebooks --check`, the decks and the site share one run of each lecture. The first
that needs it runs the lecture and saves the outputs, with SVGs, in build/runs; others wait.
"""

import contextlib
import fcntl
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from roofcheck.handin.rerun import private_kernel
from rooflab.explore.pages import mount_pictures
from rooflab.words import LANGUAGE_VARIABLE

HERE = Path(__file__).resolve().parent
MATPLOTLIBRC = HERE.parent / "slides/deck/matplotlibrc"
PACKAGES = ("roofkit", "rooflab", "roofcheck")
KEPT_KEYS = ("source", "outputs", "execution_count")
# Environment variables and files that affect how a notebook runs.
VARIABLES = (LANGUAGE_VARIABLE, "ROOFKIT_QUESTIONS", "ROOFKIT_SEED")
RUNNER_FILES = (Path(__file__), MATPLOTLIBRC)


def run_notebook(
    notebook: NotebookNode, folder: Path, for_web: bool, is_lecture: bool = True, **options
) -> None:
    """Run a notebook in place, in this Python, without the user's Jupyter settings.

    With ``for_web``, save widget states and draw pictures as SVGs, for decks and pages. The other
    ``options`` are those of NotebookClient.
    """
    with private_kernel() as (kernel, environment):
        client = NotebookClient(
            notebook, km=kernel, shutdown_kernel="immediate", startup_timeout=300,
            store_widget_state=for_web, **options,
        )  # fmt: skip
        if is_lecture:
            # By default, nbclient puts outputs and errors of `interact` in a widget, not the cell.
            client.widget_registry = {}
        if for_web:
            environment |= {"MATPLOTLIBRC": str(MATPLOTLIBRC)}
        client.execute(env=environment, cwd=str(folder), cleanup_kc=True)


def run_for_page(path: Path) -> NotebookNode:
    """Return a notebook with its outputs, pictures as SVGs, and live pictures as HTML.

    A notebook that was saved with its widgets isn't run. The modules of live pictures are in the
    metadata.
    """
    notebook = nbformat.read(path, as_version=4)
    if path.resolve().parent == HERE.parents[1] / "course/en":
        run_once(notebook, path.resolve(), lambda: run_notebook(notebook, path.parent, True))
    elif "widgets" not in notebook.metadata:
        run_notebook(notebook, path.parent, for_web=True, is_lecture=False)
    mount_pictures(notebook)
    return notebook


def run_once(notebook: NotebookNode, path: Path, execute: Callable[[], None]) -> None:
    """Fill in the outputs of the lecture at `path`, from its kept run or a new one.

    ``execute()`` must run the notebook in place. It is called only if the kept run doesn't start
    with the same code. Other threads and processes that need the lecture wait until it returns.
    """
    key = _describe_surroundings(path.parent)
    file = path.parents[2] / f"build/runs/{path.stem}.json"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    file.parent.mkdir(parents=True, exist_ok=True)
    # Let in one thread of one process at a time. A process that dies releases the lock.
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = {}
        with contextlib.suppress(OSError, ValueError):
            kept = json.loads(file.read_text(encoding="utf-8"))
        # A run with another key may be of an older version, which kept other parts of cells.
        kept_code = kept["cells"][: len(code)] if kept.get("key") == key else []
        if kept_code and [cell["source"] for cell in kept_code] == [cell.source for cell in code]:
            notebook.metadata.update(nbformat.from_dict(kept["metadata"]))
            for cell, kept_cell in zip(code, kept_code, strict=True):
                cell.update(nbformat.from_dict(kept_cell))
            return
        execute()
        names = {"language_info", "widgets"} & notebook.metadata.keys()
        run = {
            "key": key, "metadata": {name: notebook.metadata[name] for name in names},
            "cells": [{name: cell[name] for name in KEPT_KEYS} for cell in code],
        }  # fmt: skip
        draft = file.with_suffix(".tmp")
        draft.write_text(json.dumps(run), encoding="utf-8")
        draft.replace(file)


def _describe_surroundings(directory: Path) -> list:
    """Return everything that a lecture's outputs depend on, except its code."""
    folders = [Path(importlib.util.find_spec(name).origin).parent for name in PACKAGES]
    # A folder's own time tells of files that were added or removed.
    paths = {*RUNNER_FILES, *(path for folder in folders for path in (folder, *folder.rglob("*")))}
    times = max(path.stat().st_mtime for path in paths if "__pycache__" not in path.parts)
    installed = sorted(f"{each.name} {each.version}" for each in importlib.metadata.distributions())
    return [str(directory), sys.version, platform.platform(), installed, times,
            *map(os.environ.get, VARIABLES)]  # fmt: skip
