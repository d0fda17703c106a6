"""How much memory a submission holds: a cgroup of its own where one may be made, else a look.

A delegated cgroup is the better of the two: the kernel stops at the limit and counts what it holds
itself, where polling may come a tenth of a second too late and has to estimate that. It is the
folder that ROOFKIT_CGROUP names, in which no process may be, or the cgroup that this process was
given for itself, as by ``systemd-run --user --scope -p Delegate=yes``.
"""

import contextlib
import itertools
import os
import re
import time
from pathlib import Path
from typing import Protocol

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

MOST_BYTES = (
    10**9
)  # bytes, of a submission's processes, its files and the kernel's buffers together
MOST_PROCESSES = 128
MOUNT = Path("/sys/fs/cgroup")
WORKERS_CGROUP = "roofkit-workers"
CONTROLLERS = {"memory", "pids"}
SOCKETS = re.compile(r"^sockets: used (\d+)", re.M)
# Seconds until a look that found too much is confirmed by another: a process that starts a program
# shares its memory with it for an instant, and is found twice.
CONFIRM_SECONDS = 0.01
# The kernel's bytes for a mapping and its neighbours, and how many mappings a process may have.
MAPPING, MAPPINGS = 400, 65530
_numbers = itertools.count()


class Meter(Protocol):
    """Whether one submission holds, or held, too much."""

    def is_exceeded(self) -> bool: ...

    def close(self): ...


class NoMeter:
    """Stands for a meter where nothing limits a process but its own limits."""

    def is_exceeded(self):
        return False

    def close(self):
        pass


class PollingMeter:
    """Looks at all processes that process ``pid``, the first of its namespace, sees.

    ``files`` are the most bytes that its files can hold. What the kernel holds for sockets and
    mappings no process shows: a socket is counted with the most that it may send without being
    read, a mapping with what it takes to describe it.
    """

    def __init__(self, pid: int, files: int = 0):
        self._descriptor = os.open(f"/proc/{pid}/root/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._seen = Path(f"/proc/self/fd/{self._descriptor}")
        self._files = files
        # A socket may be filled to its limit, less one byte, before a last message of that size.
        self._socket = 2 * int(Path("/proc/sys/net/core/wmem_default").read_text())

    def is_exceeded(self):
        if not self._is_over():
            return False
        time.sleep(CONFIRM_SECONDS)
        return self._is_over()

    def close(self):
        os.close(self._descriptor)

    def _is_over(self):
        left = MOST_BYTES - self._files - self._socket * self._count_sockets()
        if sum(self._read_resident(pid) + MAPPING * MAPPINGS for pid in self._list_pids()) <= left:
            return False
        # It takes longer to count shared pages once, and mappings one by one.
        for pid in self._list_pids():
            left -= self._read_proportional(pid) + self._count_mapping_bytes(pid)
            if left < 0:
                return True
        return False

    def _list_pids(self):
        return [*filter(str.isdigit, self._list_folder("."))]

    def _count_sockets(self):
        found = SOCKETS.search(self._read("1/net/sockstat"))
        return int(found[1]) if found else 0

    def _read_resident(self, pid):
        return next(filter(None, map(self._read_thread_resident, self._list_threads(pid))), 0)

    def _read_thread_resident(self, thread):
        fields = self._read(f"{thread}/statm").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0

    def _read_proportional(self, pid):
        for thread in self._list_threads(pid):
            text = self._read(f"{thread}/smaps_rollup")
            if found := re.search(r"^Pss:\s+(\d+)", text, re.M):
                return 1024 * int(found[1])
        return self._read_resident(pid)

    def _count_mapping_bytes(self, pid):
        found = (self._read(f"{thread}/maps") for thread in self._list_threads(pid))
        return MAPPING * next(filter(None, found), "").count("\n")

    def _list_threads(self, pid):
        """All threads of a process: one that has ended, the first too, shows no memory."""
        return [f"{pid}/task/{thread}" for thread in self._list_folder(f"{pid}/task")]

    # A process that is gone has no files.

    def _list_folder(self, folder):
        with contextlib.suppress(OSError):
            return os.listdir(self._seen / folder)
        return []

    def _read(self, path):
        with contextlib.suppress(OSError):
            return (self._seen / path).read_text()
        return ""


class CgroupMeter:
    """A cgroup below ``parent`` for process ``pid`` and all that it starts."""

    def __init__(self, parent: Path, pid: int):
        self.folder = parent / f"roofkit-{os.getpid()}-{next(_numbers)}"
        try:
            self.folder.mkdir()
            self._set("memory.max", MOST_BYTES)
            self._set("memory.oom.group", 1)
            self._set("pids.max", MOST_PROCESSES)
            with contextlib.suppress(FileNotFoundError):  # a kernel without swap
                self._set("memory.swap.max", 0)
            self._set("cgroup.procs", pid)
        except OSError as error:
            self.close()
            raise MachineryError(f"no process can be put into a cgroup: {error}") from error

    def is_exceeded(self):
        events = (self.folder / "memory.events").read_text().split()
        return int(dict(zip(events[::2], events[1::2], strict=True)).get("oom_kill", 0)) > 0

    def close(self):
        # The last process may still be on its way out.
        for _ in range(50):
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.002)

    def _set(self, name, value):
        # Opened to write and not to make: a folder that is no cgroup has no such file.
        descriptor = os.open(self.folder / name, os.O_WRONLY)
        try:
            os.write(descriptor, str(value).encode())
        finally:
            os.close(descriptor)


def find_delegated() -> Path | None:
    """The cgroup in which others may be made, if there is one.

    Raises MachineryError if ROOFKIT_CGROUP names a folder that will not do.
    """
    named = os.environ.get("ROOFKIT_CGROUP")
    if named:
        if not _has_controllers(Path(named)):
            raise MachineryError(sentence("sandbox.no_cgroup", folder=named))
        return Path(named)
    own = _own_cgroup()
    if own is None:
        return None
    if own.name == WORKERS_CGROUP:  # another worker, or the one that started this, was here before
        own = own.parent
    elif _is_delegated(own):
        _move_processes(own)
    return own if _has_controllers(own) else None


def _own_cgroup():
    path = Path("/proc/self/cgroup")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    return MOUNT / names[0] if names and names[0] else None


def _is_delegated(folder):
    try:
        return os.getxattr(folder, "user.delegate") == b"1" and os.access(folder, os.W_OK)
    except OSError:
        return False


def _move_processes(folder):
    """Move the processes of a cgroup into one below it: with processes, it hands nothing down."""
    with contextlib.suppress(OSError):
        (folder / WORKERS_CGROUP).mkdir(exist_ok=True)
        for pid in (folder / "cgroup.procs").read_text().split():
            (folder / WORKERS_CGROUP / "cgroup.procs").write_text(pid)


def _has_controllers(folder):
    control = folder / "cgroup.subtree_control"
    try:
        missing = CONTROLLERS - set(control.read_text().split())
        if missing:
            control.write_text(" ".join(f"+{name}" for name in sorted(missing)))
        return os.access(folder, os.W_OK) and set(control.read_text().split()) >= CONTROLLERS
    except OSError:
        return False
