"""Find the notebook that calls ``hand_in``, and compare its file with what its kernel ran.

A kernel doesn't see the screen. In JupyterLab, the course's extension does: before it runs a cell
that calls ``hand_in``, it writes its session into ``LAB_VARIABLE`` of the kernel. ``hand_in`` then
asks it to save the notebook and hand it in, by an output with ``REQUEST_KEY`` in its metadata. The
extension answers only outputs that arrive from the kernel, so opening a notebook hands nothing in.
"""

import os
import re
import sys
import time
import uuid
from pathlib import Path

from roofcheck.handin import notebook_file
from roofcheck.handin.notebook_file import StopError, read_notebook
from roofcheck.handin.rerun import find_headings
from roofcheck.sentences import sentence

LAB_VARIABLE, REQUEST_KEY = "ROOFLINE_LAB", "roofline-hand-in"
ASSIGNED_NAME = re.compile(r"^(def +\w+|\w+(?= *=(?!=)))", re.MULTILINE)


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
    shell = _find_shell()
    known_path = known_path or (shell.user_ns.get("__vsc_ipynb_file__", "") if shell else "")
    if known_path and Path(known_path).is_file():
        return Path(known_path)
    expected = folder / f"{name}.ipynb"
    if not known_path and expected.is_file():
        return expected
    # The notebook was renamed after its kernel started, or the editor doesn't provide its path.
    if path := notebook_file.find_renamed(folder, name):
        return path
    raise StopError(sentence("hand-in.no_path", name=name, folder=folder))


def find_unsaved_cells(path: Path, name: str) -> list[str]:
    """Return the headings of cells whose text in the file is older than what this kernel ran.

    The editor may save when the cell starts, so this waits a little until there are none.
    """
    history = getattr(_find_shell(), "history_manager", None)
    inputs = history.input_hist_raw if history else []
    until = time.monotonic() + notebook_file.PATIENCE
    while time.monotonic() < until:
        if not (unsaved := compare_with_inputs(read_notebook(path, name)[0], inputs)):
            break
        time.sleep(notebook_file.PAUSE)
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
    unsaved = []
    for source, number in last_run.items():
        shared = {cell: len(_find_names(cell) & _find_names(source)) for cell in headings}
        nearest = max(headings, key=shared.get, default="")
        if source not in in_file and shared.get(nearest) and last_run.get(nearest, -1) < number:
            unsaved.append(headings[nearest] or sentence("rerun.top"))
    return list(dict.fromkeys(unsaved))


def _find_names(source):
    return {*ASSIGNED_NAME.findall(source)}


def _find_shell():
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
