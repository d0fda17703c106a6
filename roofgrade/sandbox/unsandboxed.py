"""The same warm Python and children without walls, for hosts that have no user namespaces.

This protects nothing: a submission can do whatever the user who grades can do. Only the clock and
the limits of each process remain.
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

# Limits that every system has and that do not affect other processes of this user.
LIMITS = {"CORE": 0, "NOFILE": 256, "FSIZE": 64 << 20}
LINUX_LIMITS = {"AS": memory.MOST_BYTES}


class Unsandboxed:
    """Has the methods of ``Bubblewrap``. Its files are in a temporary folder."""

    def __init__(self):
        limits = LIMITS | (LINUX_LIMITS if sys.platform.startswith("linux") else {})
        self.setup = {"limits": limits, "walls": None}
        self._folder = tempfile.TemporaryDirectory(prefix="roofkit-", ignore_cleanup_errors=True)
        for path, real in layout.find_course_files().items():
            link = Path(self._folder.name, "course", path)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(real)

    def make_home(self) -> str:
        # Each submission gets a new folder instead of the last one's.
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
    """A child, and the processes it started that are still in its group."""

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
        with contextlib.suppress(OSError, EOFError):  # The warm Python may be gone.
            self._control.send({})
            self._control.receive()
