"""Run a notebook from top to bottom in a fresh kernel of the current Python, as grading does.

There is no sandbox, because students run their own notebooks on their own machines.
"""

import contextlib
import json
import logging
import os
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from roofcheck.sentences import sentence
from roofcheck.study.check import latest_grades
from roofcheck.tables.variants import is_id_missing

HAND_IN_VARIABLE = "ROOFLINE_HAND_IN"  # set during the run before a hand-in
CELL_SECONDS, SECONDS = 60, 300
COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 200
# Discard this log. In a kernel, the default log would go to the student's terminal.
QUIET_LOG = logging.getLogger("roofcheck.handin.rerun")
QUIET_LOG.addHandler(logging.NullHandler())
QUIET_LOG.propagate = False


@dataclass(frozen=True)
class RerunResult:
    """The result of a run.

    ``failing`` lists a (heading, error) pair for each heading with a failing cell. ``verdicts``
    maps each checked question to its (state, credit). ``me`` is the notebook's id as text, or "",
    and ``me_is_text`` is whether the notebook has it as a string. ``ended`` is the reason why the
    run stopped early, or "".
    """

    failing: tuple[tuple[str, str], ...] = ()
    verdicts: dict[str, tuple[str, float]] = field(default_factory=dict)
    me: str = ""
    me_is_text: bool = True
    ended: str = ""


def find_headings(notebook) -> list[str]:
    """Return each cell's heading without number signs and points, or "" if it has none."""
    headings, current = [], ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            lines = re.findall(r"^#+ +(.+?)\s*#*$", cell.source, re.MULTILINE)
            current = re.sub(r"\s*\([^()]*points?[^()]*\)$", "", lines[-1]) if lines else current
        headings.append(current)
    return headings


@contextlib.contextmanager
def private_kernel():
    """Yield a manager for a kernel of this Python without the user's settings, and its environment.

    The kernel is not started yet. Its files are in a temporary folder.
    """
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager

    with tempfile.TemporaryDirectory() as folder:
        kernel = AsyncKernelManager(
            # No kernel folders: a kernel of the same name may be another Python.
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            # Two kernels that start at the same time may pick the same TCP port.
            transport="tcp" if os.name == "nt" else "ipc",
            connection_file=f"{folder}/kernel.json",
        )
        environment = os.environ | {
            "IPYTHONDIR": folder,
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "ROOFKIT_ANSWERS": "",  # keeps the user's missed questions out of the notebook
        }
        yield kernel, environment


def rerun_notebook(
    notebook, folder: Path, cell_seconds=CELL_SECONDS, seconds=SECONDS
) -> RerunResult:
    """Run a notebook in place, with ``folder`` as the working directory.

    The run continues after a failing cell. It stops early if a cell takes longer than
    ``cell_seconds``, the kernel dies, or the whole run takes longer than ``seconds``.
    """
    from nbclient import NotebookClient

    with private_kernel() as (kernel, environment):
        client = NotebookClient(
            notebook,
            km=kernel,
            allow_errors=True,
            shutdown_kernel="immediate",
            startup_timeout=120,
            store_widget_state=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.log = kernel.log = QUIET_LOG
        verdict_file = Path(kernel.connection_file).with_name("verdicts.json")
        with client.setup_kernel(env=environment | {HAND_IN_VARIABLE: "1"}, cleanup_kc=True):
            client.kc.log = QUIET_LOG
            until = time.monotonic() + seconds
            return _run_cells(client, notebook, verdict_file, cell_seconds, until)


def _run_cells(client, notebook, verdict_file, cell_seconds, until):
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from nbformat.v4 import new_code_cell

    failing, ended = {}, ""
    above = [heading or sentence("rerun.top") for heading in find_headings(notebook)]
    try:
        for number, cell in enumerate(notebook.cells):
            left = until - time.monotonic()
            client.timeout = max(1, min(cell_seconds, int(left)))
            client.execute_cell(cell, number)
            if error := _find_error(cell):
                failing.setdefault(above[number], error)
        last = new_code_cell(
            "import roofcheck.handin.rerun\n"
            f"roofcheck.handin.rerun.write_verdicts({str(verdict_file)!r})"
        )
        notebook.cells.append(last)
        client.execute_cell(last, len(notebook.cells) - 1)
        notebook.cells.pop()
    except CellTimeoutError:
        ended = sentence("rerun.slow", heading=above[number], seconds=client.timeout)
    except DeadKernelError:
        ended = sentence("rerun.died", heading=above[number])
    failing = tuple(failing.items())
    with contextlib.suppress(OSError, ValueError):
        record = json.loads(verdict_file.read_text(encoding="utf-8"))
        verdicts = {name: tuple(verdict) for name, verdict in record.pop("verdicts").items()}
        return RerunResult(failing, verdicts, ended=ended, **record)
    return RerunResult(failing, ended=ended or sentence("rerun.silent"))


def write_verdicts(path):
    """Write the notebook's id and verdicts to a file; call this in the notebook's kernel."""
    from IPython import get_ipython

    me = get_ipython().user_ns.get("me", ...)
    verdicts = {name: grade.verdict for name, grade in latest_grades().items()}
    record = {
        "verdicts": {name: [found.state, found.credit] for name, found in verdicts.items()},
        "me": "" if is_id_missing(me) else str(me).strip()[:LONGEST],
        "me_is_text": isinstance(me, str),
    }
    Path(path).write_text(json.dumps(record), encoding="utf-8")


def _find_error(cell):
    """Return a cell's error as one line, or ""."""
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            text = COLOUR_CODES.sub("", f"{output.ename}: {output.evalue}").strip()
            return text.splitlines()[0][:LONGEST]
    return ""
