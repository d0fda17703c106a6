"""Runs the warm Python and its children without walls, on hosts without user namespaces.

This protects nothing: a submission can do whatever the grading user can do. Only the clock and the
limits of each process remain.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from roofgrade.sandbox import layout, memory
from roofgrade.sandbox.inside.channel import Channel

# Limits that every system supports and that do not affect the user's other processes.
LIMITS = {"CORE": 0, "NOFILE": 256, "FSIZE": 64 << 20}
LINUX_LIMITS = {"AS": memory.MOST_BYTES}


class Unsandboxed:
    """Has the same methods as ``Bubblewrap``, with its files in a temporary folder."""

    def __init__(self):
        limits = LIMITS | (LINUX_LIMITS if sys.platform.startswith("linux") else {})
        self.setup = {"limits": limits, "walls": None}
        self._folder = tempfile.TemporaryDirectory(prefix="roofkit-", ignore_cleanup_errors=True)
        for path, real in layout.find_course_files().items():
            link = Path(self._folder.name, "course", path)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(real)

    def make_home(self) -> str:
        # Replace the last submission's folder with a new one.
        home = Path(self._folder.name, "home")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        return str(home)

    def start(self, descriptor: int, log) -> subprocess.Popen:
        folder = Path(self._folder.name)
        home = self.make_home()
        cache = str(folder / "cache")
        variables = layout.make_environment(home, cache, str(Path(sys.executable).parent))
        return subprocess.Popen(
            layout.make_command(sys.executable, str(folder / "course"), descriptor),
            env=variables, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            pass_fds=(descriptor,), start_new_session=True,
        )  # fmt: skip

    def check_hello(self, hello: dict):
        """Do nothing: without walls there is nothing to check or to measure."""

    check_child = make_meter = check_hello

    def receive_child(self, control: Channel) -> "GroupProcess":
        return GroupProcess(control.receive()["pid"], control)


class GroupProcess:
    """A child and the processes that it started, except those that left its group."""

    def __init__(self, pid: int, control: Channel):
        self.pid, self._control = pid, control

    def interrupt(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)

    def kill(self):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def end(self):
        self.kill()
        with contextlib.suppress(OSError, EOFError):  # The warm Python may have ended.
            self._control.send({})
            self._control.receive()
