"""Manages a worker's warm Python, and a child of it for each submission."""

import contextlib
import socket
import subprocess
import tempfile
from pathlib import Path

from roofgrade.common.errors import MachineryError, ProcessEndedError
from roofgrade.sandbox import host, layout
from roofgrade.sandbox.bubblewrap import Bubblewrap
from roofgrade.sandbox.child import Child
from roofgrade.sandbox.inside.channel import Channel
from roofgrade.sandbox.unsandboxed import Unsandboxed

# Seconds to wait. Even on a busy machine, no normal start or fork takes that long.
WARM_SECONDS, FORK_SECONDS = 60.0, 60.0
LOG_BYTES = 20_000  # how much of the warm Python's log is used


class Box:
    """Runs a worker's submissions, one at a time. The first one starts the warm Python.

    ``unsandboxed`` leaves out the walls. Otherwise, the box does not start if the sandbox would
    expose any of the folders and files in ``private``. Use a box from one thread only, and keep
    that thread alive, since bubblewrap ends with the thread that started it.
    """

    def __init__(self, unsandboxed: bool = False, private: tuple[Path, ...] = ()):
        self.unsandboxed, self._private = unsandboxed, private
        self._walls = self._process = self._control = self._log = None

    def open(self, files: dict[str, bytes], seconds: float = 120) -> Child:
        """Start a process in a folder with ``files``, for ``seconds`` in all. The caller closes it.

        Raises MachineryError if the process cannot be started or cannot be made safe.
        """
        layout.check_files(files)
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._start()
        try:
            return self._start_child(files, seconds)
        except (OSError, EOFError, ValueError, KeyError, ProcessEndedError) as error:
            self.stop()
            raise MachineryError(f"cannot create a sandboxed process: {error!r}") from error
        except MachineryError:
            self.stop()
            raise

    def stop(self):
        """End the warm Python and its children."""
        if self._process:
            self._control.connection.close()
            self._process.kill()
            self._process.wait()
            self._log.close()
        self._process = None

    def _start(self):
        if self._walls is None:
            self._walls = Unsandboxed() if self.unsandboxed else Bubblewrap(self._private)
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop
        with theirs:
            self._process = self._walls.start(theirs.fileno(), self._log)
        ours.settimeout(WARM_SECONDS)
        self._control = Channel(ours)
        try:
            self._control.send(self._walls.setup)
            hello = self._control.receive()
        except (OSError, EOFError) as error:
            self._process.kill()
            self._process.wait()
            self._log.seek(0)
            log = self._log.read()[-LOG_BYTES:].decode("utf-8", "replace")
            self.stop()
            raise host.explain_failure(log) from error
        ours.settimeout(FORK_SECONDS)
        self._walls.check_hello(hello)

    def _start_child(self, files, seconds):
        ours, theirs = socket.socketpair()
        with theirs:
            self._control.send({"home": self._walls.make_home()}, [theirs.fileno()])
        with contextlib.ExitStack() as stack:
            stack.enter_context(ours)
            process = self._walls.receive_child(self._control)
            child = stack.enter_context(Child(ours, process, seconds, self._is_alive))
            child.wait_for("sealed")
            self._walls.check_child(process)
            child.send_files(files, self._walls.make_meter(process))
            stack.pop_all()  # From here on, the caller closes it.
        return child

    def _is_alive(self):
        """Return whether the warm Python is running, after a moment in case it is ending."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.01)
        return self._process.returncode is None
