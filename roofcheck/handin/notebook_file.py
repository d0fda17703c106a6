"""Read the file of a problem set, which an editor may be saving at the same time."""

import contextlib
import hashlib
import json
import time
from datetime import datetime
from pathlib import Path

from roofcheck.cells import question_call
from roofcheck.course import ProblemSet
from roofcheck.sentences import sentence
from roofcheck.tables.catalogue import questions_of_set

# Seconds to wait for an editor that is writing the file, and between two looks at it.
PATIENCE, PAUSE = 3.0, 0.1


class StopError(Exception):
    """The notebook can't be handed in; the message tells the student why."""


def read_notebook(path: Path, name: str) -> tuple:
    """Return a notebook of the set ``name``, the file's bytes, and when it was saved.

    Raises StopError for any other file.
    """
    import nbformat

    try:
        questions_of_set(name)
    except ValueError:
        raise StopError(sentence("hand-in.no_set", name=repr(name))) from None
    try:
        content = _read_saved_bytes(path)
        saved = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        notebook = nbformat.reads(content.decode(), as_version=4)
        checked = list_checked_questions(notebook)
    except OSError as error:
        raise StopError(sentence("hand-in.unreadable", file=path, why=error.strerror)) from None
    except Exception:  # nbformat raises various errors for files that aren't notebooks
        raise StopError(sentence("hand-in.no_notebook", file=path)) from None
    if not any(question.startswith(f"{name}.") for question in checked):
        others = sorted({question.partition(".")[0] for question in checked})
        key = "hand-in.other_set" if others else "hand-in.none_of_it"
        raise StopError(sentence(key, file=path.name, name=name, other=", ".join(others)))
    return notebook, content, saved


def list_checked_questions(notebook) -> list[str]:
    """Return the ids of the questions that a notebook checks."""
    calls = (question_call(cell.source) for cell in notebook.cells if cell.cell_type == "code")
    return [call.question for call in calls if call and call.call == "check"]


def find_renamed(folder: Path, name: str) -> Path | None:
    """Return the only notebook in a folder that checks questions of the set, or None."""
    renamed = []
    for path in folder.glob("*.ipynb"):
        with contextlib.suppress(StopError):
            read_notebook(path, name)
            renamed.append(path)
    return renamed[0] if len(renamed) == 1 else None


def find_set_file(root: Path, problem_set: ProblemSet) -> Path | None:
    """Return the notebook of a set in the course folder ``root``, also if it was renamed."""
    path = root / problem_set.file
    return path if path.exists() else find_renamed(path.parent, problem_set.id)


def hash_cells(content: bytes) -> str:
    """Return the short hash of a notebook's cells that receipts and feedback pages show."""
    try:
        cells = json.loads(content).get("cells", [])
        content = json.dumps([
            [cell.get("cell_type"), "".join(cell.get("source", "")), cell.get("attachments")]
            for cell in cells
        ]).encode()  # fmt: skip
    except (ValueError, AttributeError, TypeError, RecursionError):
        pass  # not a notebook
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
