"""Starts the warm Python in a bubblewrap sandbox with few files and no writable folders."""

import base64
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence
from roofgrade.sandbox import host, identity, layout, memory, syscalls, visible_folders, walls
from roofgrade.sandbox.inside.channel import Channel

MB = 1 << 20
LAUNCH = Path(__file__).with_name("launch.py")
# None of these may be below /tmp or the student's home, where each child mounts new folders.
COURSE, HOME, CACHE = "/opt/course", "/home/student", "/run/cache"
TMPFS = {HOME: 64 * MB, "/tmp": 64 * MB, "/dev/shm": 16 * MB}
# The limit on the address space, AS, bounds a process's memory of any kind.
LIMITS = {
    "CORE": 0, "NOFILE": 128, "NPROC": 40, "FSIZE": 64 * MB, "AS": memory.MOST_BYTES,
    "MSGQUEUE": 0, "MEMLOCK": 0, "SIGPENDING": 256,
}  # fmt: skip


class Bubblewrap:
    """The walls around a worker's warm Python and each of its children.

    ``setup`` is the first message to the warm Python, with a child's limits and mounts. Raises
    MachineryError if the host cannot run the sandbox, or if it would expose a path in ``private``.
    """

    def __init__(self, private: Iterable[Path] = ()):
        host.check_host()
        for path in visible_folders.find_python_roots():
            if any(path.is_relative_to(covered) for covered in TMPFS):
                raise MachineryError(sentence("sandbox.python_hidden", folder=path))
        visible_folders.check_private(private)
        filters = base64.b64encode(syscalls.make_filter()).decode()
        self.setup = {"limits": LIMITS, "walls": {"tmpfs": TMPFS, "filters": filters}}
        self._identity = identity.take_identity()
        self._core, self._core_claim = identity.take_core()
        self._cgroup = memory.find_delegated()
        self._namespaces = {}

    def make_home(self) -> str:
        """Return the folder of a submission's files, as seen by its process."""
        return HOME

    def start(self, descriptor: int, log) -> subprocess.Popen:
        """Start the warm Python, which talks over ``descriptor`` and writes errors to ``log``."""
        plan = {
            "maps": self._identity.maps, "user": self._identity.user, "core": self._core,
            "folders": [str(folder) for folder in _find_folders_to_bind()],
            "command": self._make_command(descriptor),
        }  # fmt: skip
        # Use a separate session: Ctrl-C must reach only the worker, which then ends this process.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCH), json.dumps(plan)], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, pass_fds=(descriptor,), start_new_session=True,
        )  # fmt: skip

    def check_hello(self, hello: dict):
        """Raise MachineryError if the warm Python would share anything with its children."""
        if hello["descriptors"] or hello["shared"] or hello["threads"] != 1:
            raise MachineryError(f"the warm Python shares resources with its children: {hello}")
        self._namespaces = hello["namespaces"]

    def receive_child(self, control: Channel) -> "PidfdProcess":
        """Return the child that the warm Python has just forked."""
        message, pidfd = control.receive_descriptor()
        if pidfd is None:
            raise host.explain_failure(message.get("failed", "no child came"))
        return PidfdProcess(pidfd)

    def check_child(self, process: "PidfdProcess"):
        """Raise MachineryError unless the child is sealed."""
        walls.check_sealed(process.pid, {*TMPFS, "/dev/pts"}, self._namespaces)

    def make_meter(self, process: "PidfdProcess"):
        """Return the meter that measures the child's memory."""
        if self._cgroup:
            return memory.CgroupMeter(self._cgroup, process.pid)
        return memory.PollingMeter(process.pid, sum(TMPFS.values()))

    def _make_command(self, descriptor):
        python = visible_folders.find_python()
        course_files = layout.find_course_files().items()
        read_only = visible_folders.find_visible()
        read_only |= {Path(COURSE, path): real for path, real in course_files}
        copies = map(str, visible_folders.find_package_copies())
        variables = layout.make_environment(HOME, CACHE, str(Path(python).parent))
        parts = [
            [host.find_bubblewrap(), "--unshare-all", "--unshare-user", "--die-with-parent"],
            ["--new-session", "--cap-drop", "ALL", "--hostname", "grader"],
            ["--uid", "1000", "--gid", "1000", "--clearenv"],
            *(["--setenv", name, value] for name, value in variables.items()),
            *(["--ro-bind", self._path_in_sandbox(read_only[p]), str(p)] for p in read_only),
            *(["--symlink", f"usr/{name}", f"/{name}"] for name in ("bin", "lib", "lib64")),
            *(["--ro-bind-try", name, name] for name in ("/etc/ld.so.cache", "/etc/alternatives")),
            ["--proc", "/proc", "--dev", "/dev"],
            *(["--size", str(16 * MB), "--tmpfs", path] for path in (*TMPFS, CACHE, *copies)),
            ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME, "--"],
            layout.make_command(python, COURSE, descriptor),
        ]
        return [word for part in parts for word in part]

    def _path_in_sandbox(self, path):
        """Return a path as the sandbox's user sees it: launch.py binds the folders into /tmp."""
        if self._identity.user is None:
            return str(path)
        for number, folder in enumerate(_find_folders_to_bind()):
            if path.is_relative_to(folder):
                return str(Path("/tmp", str(number), path.relative_to(folder)))
        return str(path)


class PidfdProcess:
    """A child process identified by a pidfd, which can never refer to another process."""

    def __init__(self, pidfd: int):
        self._pidfd = pidfd
        lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
        self.pid = int(dict(line.split(":", 1) for line in lines)["Pid"])

    def interrupt(self):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGINT)

    def kill(self):
        """Kill the child and, since it is process 1 of its namespace, all others there."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def end(self):
        """Kill the child and wait until it is gone. The object cannot be used after that."""
        self.kill()
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        gone = poll.poll(10_000)
        os.close(self._pidfd)
        if not gone:
            raise MachineryError("a sandboxed process could not be killed")


def _find_folders_to_bind():
    roots = visible_folders.find_python_roots().values()
    outside = {root for root in roots if not root.is_relative_to(visible_folders.SYSTEM)}
    return sorted({*outside, *layout.PACKAGES})
