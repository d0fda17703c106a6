"""A warm Python a worker, and a child of it for each submission."""

import contextlib
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Protocol

from roofgrade.common.errors import MachineryError, ProcessEndedError
from roofgrade.sandbox import host, layout
from roofgrade.sandbox.bubblewrap import Bubblewrap
from roofgrade.sandbox.child import Child, Process
from roofgrade.sandbox.inside.channel import Channel
from roofgrade.sandbox.memory import Meter
from roofgrade.sandbox.unsandboxed import Unsandboxed

# Seconds to wait, which no honest start or fork takes, on a busy machine either.
WARM_SECONDS, FORK_SECONDS = 60.0, 60.0
LOG_BYTES = 20_000  # of what the warm Python wrote to its log, the bytes that are read


class Walls(Protocol):
    """Where the warm Python lives, and its children: ``Bubblewrap``, or ``Bare`` without any walls.

    ``setup`` is what the warm Python is told first: the limits and mounts of each child.
    """

    setup: dict

    def make_home(self) -> str:
        """Where one submission's files lie, as its process sees it."""

    def start(self, descriptor: int, log) -> subprocess.Popen:
        """Start the warm Python, which talks over ``descriptor``; what goes wrong is in ``log``."""

    def check_hello(self, hello: dict):
        """Raises MachineryError if the warm Python would share anything with its children."""

    def receive_child(self, control: Channel) -> Process:
        """The child that the warm Python has just forked."""

    def check_child(self, process: Process):
        """Raises MachineryError unless the child is sealed."""

    def make_meter(self, process: Process) -> Meter:
        """What watches the child's memory."""


class Box:
    """Where a worker runs submissions, one at a time. It starts with the first one.

    The thread that opens the first child has to stay: bubblewrap ends with it, as it does with the
    worker. With ``unsandboxed`` there are no walls; with them, nothing is run where they would
    show any of ``private``, folders and files. Not for several threads.
    """

    def __init__(self, unsandboxed: bool = False, private: tuple[Path, ...] = ()):
        self.unsandboxed, self._private = unsandboxed, private
        self._walls = self._process = self._control = self._log = None

    def open(self, files: dict[str, bytes], seconds: float = 120) -> Child:
        """A fresh process in a folder with ``files``, for ``seconds`` in all. Close it in the end.

        Raises MachineryError where it cannot be made, or cannot be made safe.
        """
        layout.check_files(files)
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._start()
        try:
            return self._start_child(files, seconds)
        except (OSError, EOFError, ValueError, KeyError, ProcessEndedError) as error:
            self.stop()
            raise MachineryError(f"no child could be made: {error!r}") from error
        except MachineryError:
            self.stop()
            raise

    def stop(self):
        """End the warm Python and what is left of its children."""
        if self._process:
            self._control.connection.close()
            self._process.kill()
            self._process.wait()
            self._log.close()
        self._process = None

    def _start(self):
        if self._walls is None:
            self._walls: Walls = Unsandboxed() if self.unsandboxed else Bubblewrap(self._private)
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
            said = self._read_log()
            self.stop()
            raise host.explain_failure(said) from error
        ours.settimeout(FORK_SECONDS)
        self._walls.check_hello(hello)

    def _start_child(self, files, seconds):
        ours, theirs = socket.socketpair()
        with theirs:
            self._control.send({"home": self._walls.make_home()}, [theirs.fileno()])
        try:
            process = self._walls.receive_child(self._control)
        except BaseException:
            ours.close()
            raise
        child = Child(ours, process, seconds, self._is_alive)
        try:
            child.wait_for("sealed")
            self._walls.check_child(process)
            child.send_files(files, self._walls.make_meter(process))
        except BaseException:
            child.close()
            raise
        return child

    def _is_alive(self):
        """Whether the warm Python runs; one that is about to end is waited for."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.01)
        return self._process.returncode is None

    def _read_log(self):
        size = self._log.seek(0, 2)
        self._log.seek(max(0, size - LOG_BYTES))
        return self._log.read().decode("utf-8", "replace")
