"""Run each lecture once: what a run gave is kept until anything that it follows from changes.

`python -m tools.notebooks --check`, decks, PDFs and the site show the same run of a lecture.
The first of them that needs it runs the lecture and keeps its outputs in build/runs; the others
wait for that and take them from there. Continuous integration starts without
a kept run, and each week nbval runs every committed notebook too.

Pictures of such a run are SVGs, which stay sharp on every screen.
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from rooflab.words import LANGUAGE_VARIABLE

HERE = Path(__file__).resolve().parent
MATPLOTLIBRC = HERE.parent / "slides/deck/matplotlibrc"
PACKAGES = ("roofkit", "rooflab", "roofcheck")
# How a notebook is run.
RUNNER_FILES = (Path(__file__), HERE / "kernel.py", MATPLOTLIBRC)


def run_once(
    notebook: NotebookNode,
    path: Path,
    execute: Callable[[], None],
    probes: Sequence[NotebookNode] = (),
) -> None:
    """Give the cells of the lecture at `path`, and the probes, the outputs that they have once run.

    ``execute()`` runs the notebook's cells and after them the probes, in place; it is called unless
    a kept run serves. Whoever needs the same lecture meanwhile waits for it.
    """
    key = _run_key(notebook, path.parent)
    file = path.parents[2] / f"build/runs/{path.stem}.json"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    with _lecture_lock(file):
        kept = _read_kept_run(file)
        if kept.get("key") == key and all(cell.source in kept["probes"] for cell in probes):
            notebook.metadata.update(nbformat.from_dict(kept["metadata"]))
            for cell, found in zip(code, kept["cells"], strict=True):
                cell.update(nbformat.from_dict(found))
            for cell in probes:
                cell.update(nbformat.from_dict(kept["probes"][cell.source]))
            return
        execute()
        metadata = {
            name: notebook.metadata[name]
            for name in ("language_info", "widgets")
            if name in notebook.metadata
        }
        ran = {
            "key": key,
            "metadata": metadata,
            "cells": [_cell_outputs(cell) for cell in code],
            "probes": {cell.source: _cell_outputs(cell) for cell in probes},
        }
        draft = file.with_suffix(".tmp")
        draft.write_text(json.dumps(ran), encoding="utf-8")
        draft.replace(file)


def _cell_outputs(cell: NotebookNode) -> dict:
    return {"outputs": cell.outputs, "execution_count": cell.execution_count}


@contextlib.contextmanager
def _lecture_lock(file: Path) -> Iterator[None]:
    """One process and thread at a time; the lock of one that ends is free."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read_kept_run(file: Path) -> dict:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _run_key(notebook: NotebookNode, directory: Path) -> str:
    """A hash of all that the outputs follow from."""
    files = [*RUNNER_FILES]
    for name in PACKAGES:
        for folder in importlib.util.find_spec(name).submodule_search_locations:
            files += _list_files(Path(folder))
    told = [
        [cell.source for cell in notebook.cells if cell.cell_type == "code"],
        str(directory),
        sys.version,
        platform.platform(),
        _installed_versions(),
        [
            (name, os.environ.get(name))
            for name in (LANGUAGE_VARIABLE, "ROOFKIT_QUESTIONS", "ROOFKIT_SEED")
        ],
        [(str(file), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files],
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _list_files(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)


@functools.cache
def _installed_versions() -> list[str]:
    """Every installed distribution with its version."""
    found = importlib.metadata.distributions()
    return sorted({f"{each.name}=={each.version}" for each in found})
