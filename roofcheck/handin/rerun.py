"""A notebook run from top to bottom in a fresh kernel of this Python, as it is run when it counts.

It is the student's own notebook on the student's own machine, so nothing is walled off.
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
from roofcheck.tables.variants import is_nobody

HAND_IN_VARIABLE = "ROOFLINE_HAND_IN"  # set where a notebook runs only to be handed in
CELL_SECONDS, SECONDS = 60, 300
COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 200


@dataclass(frozen=True)
class RerunResult:
    """What a run showed.

    ``failing`` holds an error in a line for each heading below which a cell fails; ``verdicts`` the
    state and the credit of each question that was checked; ``me`` the id in the notebook as text,
    or "", and ``me_is_text`` whether it stands in quotes there. ``ended`` says why the run did not
    reach the end, or is "".
    """

    failing: tuple[tuple[str, str], ...] = ()
    verdicts: dict[str, tuple[str, float]] = field(default_factory=dict)
    me: str = ""
    me_is_text: bool = True
    ended: str = ""


def find_headings(notebook) -> list[str]:
    """The heading that each cell stands under, without its number signs and points; "" for none."""
    found, current = [], ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            lines = re.findall(r"^#+ +(.+?)\s*#*$", cell.source, re.MULTILINE)
            current = re.sub(r"\s*\([^()]*points?[^()]*\)$", "", lines[-1]) if lines else current
        found.append(current)
    return found


def rerun_notebook(
    notebook, folder: Path, cell_seconds=CELL_SECONDS, seconds=SECONDS
) -> RerunResult:
    """Run a notebook, in place, with ``folder`` as its working directory.

    A cell that fails ends nothing; one that takes longer than ``cell_seconds``, a kernel that dies,
    and ``seconds`` in all end the run.
    """
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as private:
        kernel = AsyncKernelManager(
            # No kernel folders: a kernel of the same name may be another Python.
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            transport="tcp" if os.name == "nt" else "ipc",
            connection_file=f"{private}/kernel.json",
        )
        client = NotebookClient(
            notebook,
            km=kernel,
            allow_errors=True,
            shutdown_kernel="immediate",
            startup_timeout=120,
            store_widget_state=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.log = kernel.log = _quiet_log()
        told = Path(private) / "told.json"
        environment = os.environ | {
            HAND_IN_VARIABLE: "1",
            "IPYTHONDIR": private,
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "ROOFKIT_ANSWERS": "",
        }
        with client.setup_kernel(env=environment, cleanup_kc=True):
            client.kc.log = _quiet_log()
            return _run_cells(client, notebook, told, cell_seconds, time.monotonic() + seconds)


def _run_cells(client, notebook, told, cell_seconds, until):
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from nbformat.v4 import new_code_cell

    failing, ended = {}, ""
    above = find_headings(notebook)
    try:
        for at, cell in enumerate(notebook.cells):
            left = until - time.monotonic()
            client.timeout = max(1, min(cell_seconds, int(left)))
            client.execute_cell(cell, at)
            if (error := _find_error(cell)) and above[at] not in failing:
                failing[above[at]] = error
        last = new_code_cell(
            f"import roofcheck.handin.rerun\nroofcheck.handin.rerun.write_verdicts({str(told)!r})"
        )
        notebook.cells.append(last)
        client.execute_cell(last, len(notebook.cells) - 1)
        notebook.cells.pop()
    except CellTimeoutError:
        ended = sentence(
            "rerun.slow", heading=above[at] or sentence("rerun.top"), seconds=client.timeout
        )
    except DeadKernelError:
        ended = sentence("rerun.died", heading=above[at] or sentence("rerun.top"))
    found = tuple((heading or sentence("rerun.top"), error) for heading, error in failing.items())
    with contextlib.suppress(OSError, ValueError):
        answered = json.loads(told.read_text(encoding="utf-8"))
        verdicts = {name: tuple(each) for name, each in answered.pop("verdicts").items()}
        return RerunResult(found, verdicts, ended=ended, **answered)
    return RerunResult(found, ended=ended or sentence("rerun.silent"))


def write_verdicts(path):
    """Write down, in the kernel that ran a notebook, what its checks said and whose it is."""
    from IPython import get_ipython

    me = get_ipython().user_ns.get("me", ...)
    found = {
        "verdicts": {
            name: [grade.verdict.state, grade.verdict.credit]
            for name, grade in latest_grades().items()
        },
        "me": "" if is_nobody(me) else str(me).strip()[:LONGEST],
        "me_is_text": isinstance(me, str),
    }
    Path(path).write_text(json.dumps(found), encoding="utf-8")


def _quiet_log():
    """A log that nobody reads: within a kernel the usual one goes to the student's terminal."""
    log = logging.getLogger("roofcheck.handin.rerun")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return log


def _find_error(cell):
    """The error that ended a cell, in a line, or ""."""
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            text = COLOUR_CODES.sub("", f"{output.ename}: {output.evalue}").strip()
            return text.splitlines()[0][:LONGEST]
    return ""
