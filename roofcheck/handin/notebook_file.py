"""Find and read the notebook of a problem set, which an editor may be saving at the same time.

JupyterLab's extension sets ``LAB_VARIABLE`` before a cell calls ``hand_in``, which then asks it to
save the notebook and hand it in, by an output with ``REQUEST_KEY`` in its metadata. Only outputs
that arrive from the kernel are requests, so opening a notebook hands nothing in.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
import time
import uuid
from datetime import datetime
from pathlib import Path

from roofcheck.cells import question_call
from roofcheck.course import ProblemSet
from roofcheck.handin.rerun import find_headings
from roofcheck.sentences import sentence
from roofcheck.tables.catalogue import questions_of_set

# Seconds to wait for an editor that is writing the file, and between two looks at it.
PATIENCE, PAUSE = 3.0, 0.1
LAB_VARIABLE, REQUEST_KEY = "ROOFLINE_LAB", "roofline-hand-in"
ASSIGNED_NAME = re.compile(r"^(def +\w+|\w+(?= *=(?!=)))", re.MULTILINE)


class StopError(Exception):
    """The notebook can't be handed in; the message tells the student why."""


def read_notebook(path: Path, name: str) -> tuple:
    """Return a set's notebook, its file's bytes, and when it was saved, or raise StopError."""
    import nbformat

    try:
        questions_of_set(name)
    except ValueError:
        raise StopError(sentence("hand-in.no_set", name=repr(name))) from None
    try:
        content = _read_saved_bytes(path)
        saved = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        notebook = nbformat.reads(content.decode(), as_version=4)
        calls = [question_call(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
        checked = [call.question for call in calls if call and call.call == "check"]
    except OSError as error:
        raise StopError(sentence("hand-in.unreadable", file=path, why=error.strerror)) from None
    except Exception:  # nbformat raises various errors for files that aren't notebooks
        raise StopError(sentence("hand-in.no_notebook", file=path)) from None
    if not any(question.startswith(f"{name}.") for question in checked):
        others = sorted({question.partition(".")[0] for question in checked})
        key = "hand-in.other_set" if others else "hand-in.none_of_it"
        raise StopError(sentence(key, file=path.name, name=name, other=", ".join(others)))
    return notebook, content, saved


def find_renamed(folder: Path, name: str) -> Path | None:
    """Return the only notebook in a folder that checks questions of the set, or None."""
    renamed = []
    for path in folder.glob("*.ipynb"):
        with contextlib.suppress(StopError):
            read_notebook(path, name)
            renamed.append(path)
    return renamed[0] if len(renamed) == 1 else None


def find_set_file(root: Path, problem_set: ProblemSet) -> Path:
    """Return the notebook of a set in the course folder ``root``, also if it was renamed."""
    path = root / problem_set.file
    return path if path.exists() else find_renamed(path.parent, problem_set.id) or path


def ask_lab(name: str, unfinished: bool) -> bool:
    """Ask the JupyterLab that runs this cell to hand its notebook in; return whether it will."""
    kernel = getattr(_find_shell(), "kernel", None)
    session = kernel.get_parent().get("header", {}).get("session") if kernel else None
    if not session or os.environ.get(LAB_VARIABLE) != session:
        return False
    from IPython.display import display

    request = {"id": uuid.uuid4().hex, "name": name, "unfinished": unfinished is True}
    waiting = {"text/plain": sentence("hand-in.asking", name=name)}
    display(waiting, raw=True, metadata={REQUEST_KEY: request})
    return True


def find_own_notebook(name: str) -> Path:
    """Return the path of this kernel's notebook. Raises StopError if it isn't clear."""
    folder, known_path = Path.cwd(), os.environ.get("JPY_SESSION_NAME", "")
    known_path = known_path or getattr(_find_shell(), "user_ns", {}).get("__vsc_ipynb_file__", "")
    if known_path and Path(known_path).is_file():
        return Path(known_path)
    if not known_path and (folder / f"{name}.ipynb").is_file():
        return folder / f"{name}.ipynb"
    # The notebook was renamed after its kernel started, or the editor doesn't provide its path.
    if path := find_renamed(folder, name):
        return path
    raise StopError(sentence("hand-in.no_path", name=name, folder=folder))


def find_unsaved_cells(path: Path, name: str) -> list[str]:
    """Wait for the editor to save, and return the headings of cells that it didn't save."""
    inputs = getattr(getattr(_find_shell(), "history_manager", None), "input_hist_raw", [])
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not (unsaved := compare_with_inputs(read_notebook(path, name)[0], inputs)):
            break
        time.sleep(PAUSE)
    return unsaved


def compare_with_inputs(notebook, inputs: list[str]) -> list[str]:
    """Return the headings of the student's cells that ran later with another text.

    ``inputs`` are the texts that a kernel ran, in order. A text that no cell has is taken for a
    version of the cell that assigns most of the same names.
    """
    last_run = {source.strip(): number for number, source in enumerate(inputs)}
    in_file = {cell.source.strip() for cell in notebook.cells}
    headings = {
        cell.source.strip(): heading
        for heading, cell in zip(find_headings(notebook), notebook.cells, strict=True)
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }
    unsaved, names = [], lambda source: {*ASSIGNED_NAME.findall(source)}
    for source, number in last_run.items():
        shared = {cell: len(names(cell) & names(source)) for cell in headings}
        nearest = max(headings, key=shared.get, default="")
        if source not in in_file and shared.get(nearest) and last_run.get(nearest, -1) < number:
            unsaved.append(headings[nearest] or sentence("rerun.top"))
    return list(dict.fromkeys(unsaved))


def hash_cells(content: bytes) -> str:
    """Return the short hash of a notebook's cells that receipts and feedback pages show."""
    # Anything but a notebook is hashed as it is.
    with contextlib.suppress(ValueError, AttributeError, TypeError, RecursionError):
        cells = json.loads(content).get("cells", [])
        cells = [
            [cell.get("cell_type"), "".join(cell.get("source", "")), cell.get("attachments")]
            for cell in cells
        ]
        content = json.dumps(cells).encode()
    return hashlib.sha256(content).hexdigest()[:12]


def _read_saved_bytes(path):
    """Read a file until it is JSON and the same twice, because JupyterLab saves in place."""
    until, before = time.monotonic() + PATIENCE, None
    while time.monotonic() < until:
        with contextlib.suppress(ValueError):
            if (content := path.read_bytes()) == before and json.loads(content):
                break
        before = content
        time.sleep(PAUSE)
    return content


def _find_shell():
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
