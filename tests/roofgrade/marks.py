"""Marking that runs no student code, for tests of what stands around it: cheap, and always alike.

The points of a check follow from a hash of what was handed in. A file beside the notebook can make
the marking misbehave: kill its worker, fail as the machinery would, take too much memory or time,
or raise. Workers import this anew, so it imports little.
"""

import contextlib
import hashlib
import json
import os
import signal
import stat
import struct
import time
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.results import GRADED, WAITING, Answer, Result

SECONDS = 0.01


class NoBox:
    """A sandbox that nothing is run in."""

    def __init__(self, unsandboxed=False, private=()):
        self.unsandboxed = unsandboxed

    def open(self, files, seconds=0):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def stop(self):
        """Do nothing: there is nothing to stop."""


class BrokenBox(NoBox):
    """A sandbox that this machine cannot start."""

    def open(self, files, seconds=0):
        raise MachineryError("no user namespaces here")


def mark(task, box):
    """A Result that looks like a real one."""
    time.sleep(SECONDS)
    while "wait" in task.files and Path(os.fsdecode(task.files["wait"])).exists():
        time.sleep(SECONDS)
    if "kill" in task.files or _first_time(task.files.get("kill once")):
        os.kill(os.getpid(), signal.SIGKILL)
    if "half" in task.files:
        _begin_to_say_something_and_die()
    if _first_time(task.files.get("machinery once")):
        raise MachineryError("the warm Python died")
    if "machinery" in task.files:
        raise MachineryError("the warm Python died")
    if "memory" in task.files:
        bytearray(1 << 30)
    if "time" in task.files:
        armed = signal.setitimer(signal.ITIMER_PROF, SECONDS)[0]
        while armed:
            pass
    if "raise" in task.files:
        raise ZeroDivisionError("by nought")
    marked, answers = graded(task.release_json, task.notebook)
    gone = "gone" in task.files or _first_time(task.files.get("gone once"))
    return Result(
        student=task.student, assignment=task.assignment, folder=task.folder,
        state=WAITING if gone else GRADED, gone=gone, reason="it crashed" if gone else "",
        remarks=task.remarks, notebook=marked, answers=answers, submitted=task.submitted,
        key=task.key, sandboxed=not box.unsandboxed,
    )  # fmt: skip


def graded(master, handed_in):
    """A graded notebook as JSON text, and its answers."""
    book = json.loads(master)
    own = {cell["id"]: "".join(cell["source"]) for cell in json.loads(handed_in)["cells"]}
    answers = {}
    for cell in book["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if about.get("solution"):
            cell["source"] = own[cell["id"]]
        elif about.get("grade"):
            name, points = about["grade_id"], about["points"]
            written = own[name.removesuffix("-check")] if name.endswith("-check") else ""
            credit = hashlib.sha256(f"{name} {written}".encode()).digest()[0] % 3 / 2
            output = {"output_type": "execute_result", "metadata": {}, "execution_count": 1}
            cell["outputs"] = [output | {"data": {"text/plain": repr(credit * points)}}]
            answers[name] = Answer(
                question=name, asked={}, reply={"t": "str", "v": written}, credit=credit,
                points=points, state="partly", message="",
            )  # fmt: skip
    return json.dumps(book), answers


def _begin_to_say_something_and_die():
    """What a worker leaves that is killed while it sends a result."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.write(int(name), struct.pack("!i", 1_000_000) + b"x")
    os.kill(os.getpid(), signal.SIGKILL)


def _first_time(path):
    """Whether there was no file of this name; there is one now."""
    if path is None or Path(os.fsdecode(path)).exists():
        return False
    Path(os.fsdecode(path)).touch()
    return True
