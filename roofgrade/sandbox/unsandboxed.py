"""The same warm Python and children without walls, for hosts that have no user namespaces.

Protects nothing: what is handed in can do whatever the person who grades can do. Limits of the
process and the clock stay.
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

# Limits that every system has, and that leave the other processes of this user alone.
LIMITS = {"CORE": 0, "NOFILE": 256, "FSIZE": 64 << 20}
LINUX_LIMITS = {"AS": memory.MOST_BYTES}


class Unsandboxed:
    """Stands in for ``Bubblewrap``: see ``Walls``. Its files lie in a folder that goes with it."""

    def __init__(self):
        limits = LIMITS | (LINUX_LIMITS if sys.platform.startswith("linux") else {})
        self.setup = {"limits": limits, "walls": None}
        self._folder = tempfile.TemporaryDirectory(prefix="roofkit-", ignore_cleanup_errors=True)
        self._lay_out()

    def make_home(self) -> str:
        # Each submission gets a new folder, and the last one's is gone.
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
            env=variables,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(descriptor,),
            start_new_session=True,
        )

    def check_hello(self, hello: dict):
        pass

    def receive_child(self, control: Channel) -> "GroupProcess":
        return GroupProcess(control.receive()["pid"], control)

    def check_child(self, process: "GroupProcess"):
        pass

    def make_meter(self, process: "GroupProcess") -> memory.Meter:
        return memory.NoMeter()

    def _lay_out(self):
        for path, real in layout.find_course_files().items():
            link = Path(self._folder.name, "course", path)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(real)


class GroupProcess:
    """A child, and those processes that it started which stayed in its group."""

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
        with contextlib.suppress(OSError, EOFError):  # the warm Python, if it is still there
            self._control.send({})
            self._control.receive()
