"""Run each lecture once, and keep its outputs until something that they depend on changes.

`python -m tools.notebooks --check`, decks, PDFs and the site share a run of a lecture. The first of
them runs the lecture and keeps its outputs in build/runs; the others wait for it and read them.
Continuous integration starts without kept runs, and nbval runs every committed notebook weekly.

A kept run has SVG pictures, which are sharp on every screen.
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
# Files that decide how a notebook runs.
RUNNER_FILES = (Path(__file__), HERE / "kernel.py", MATPLOTLIBRC)


def run_once(
    notebook: NotebookNode,
    path: Path,
    execute: Callable[[], None],
    probes: Sequence[NotebookNode] = (),
) -> None:
    """Fill in the outputs of the lecture at `path` and of its probes, from a kept run or a new one.

    ``execute()`` runs the notebook's cells and then the probes, in place. It is called only without
    a kept run; other threads and processes that need the same lecture wait for it.
    """
    key = _run_key(notebook, path.parent)
    file = path.parents[2] / f"build/runs/{path.stem}.json"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    with _lecture_lock(file):
        kept = _read_kept_run(file)
        if kept.get("key") == key and all(cell.source in kept["probes"] for cell in probes):
            notebook.metadata.update(nbformat.from_dict(kept["metadata"]))
            for cell, outputs in zip(code, kept["cells"], strict=True):
                cell.update(nbformat.from_dict(outputs))
            for cell in probes:
                cell.update(nbformat.from_dict(kept["probes"][cell.source]))
            return
        execute()
        names = {"language_info", "widgets"} & notebook.metadata.keys()
        run = {
            "key": key,
            "metadata": {name: notebook.metadata[name] for name in names},
            "cells": [_cell_outputs(cell) for cell in code],
            "probes": {cell.source: _cell_outputs(cell) for cell in probes},
        }
        draft = file.with_suffix(".tmp")
        draft.write_text(json.dumps(run), encoding="utf-8")
        draft.replace(file)


def _cell_outputs(cell: NotebookNode) -> dict:
    return {"outputs": cell.outputs, "execution_count": cell.execution_count}


@contextlib.contextmanager
def _lecture_lock(file: Path) -> Iterator[None]:
    """Let in one thread of one process at a time; a process that dies releases the lock."""
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
    """Hash everything that the outputs depend on."""
    files = [*RUNNER_FILES]
    for name in PACKAGES:
        for folder in importlib.util.find_spec(name).submodule_search_locations:
            files += _list_files(Path(folder))
    inputs = [
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
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _list_files(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if "__pycache__" not in path.parts)


@functools.cache
def _installed_versions() -> list[str]:
    distributions = importlib.metadata.distributions()
    return sorted({f"{package.name}=={package.version}" for package in distributions})
