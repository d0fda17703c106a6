"""Measures a submission's memory, with a cgroup if possible and otherwise by polling.

A delegated cgroup is better: the kernel enforces the limit and counts its own buffers, while
polling may be a tenth of a second late and has to estimate them. The cgroup is the folder in
ROOFKIT_CGROUP, which must contain no process, or the cgroup that was delegated to this process, for
example by ``systemd-run --user --scope -p Delegate=yes``.
"""

import contextlib
import itertools
import os
import re
import time
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

MOST_BYTES = 10**9  # total of a submission's processes, files and kernel buffers
MOST_PROCESSES = 128
MOUNT = Path("/sys/fs/cgroup")
WORKERS_CGROUP = "roofkit-workers"
CONTROLLERS = {"memory", "pids"}
SOCKETS = re.compile(r"^sockets: used (\d+)", re.M)
# Seconds until a second measurement confirms that the limit is exceeded. A process that starts a
# program shares its memory with it for an instant, and is then counted twice.
CONFIRM_SECONDS = 0.01
# The kernel's bytes to describe a mapping, and the maximum number of mappings of a process.
MAPPING, MAPPINGS = 400, 65530
_numbers = itertools.count()


class PollingMeter:
    """Adds up the memory of all processes in the namespace whose first process is ``pid``.

    ``files`` is the maximum number of bytes in its files. No process's statistics include the
    kernel's memory for sockets and mappings, so each socket counts as full of unread data, and each
    mapping as its description.
    """

    def __init__(self, pid: int, files: int = 0):
        self._descriptor = os.open(f"/proc/{pid}/root/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._proc = Path(f"/proc/self/fd/{self._descriptor}")
        self._files = files
        # A socket that is one byte below its limit still accepts another message of that size.
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
        # An exact count, with shared pages once and mappings one by one, is slower.
        for pid in self._list_pids():
            left -= self._read_proportional(pid) + self._count_mapping_bytes(pid)
            if left < 0:
                return True
        return False

    def _list_pids(self):
        return [*filter(str.isdigit, self._list_folder("."))]

    def _count_sockets(self):
        match = SOCKETS.search(self._read("1/net/sockstat"))
        return int(match[1]) if match else 0

    def _read_resident(self, pid):
        pages = self._search_threads(pid, "statm", r"^\d+ ([1-9]\d*)")
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _read_proportional(self, pid):
        kilobytes = self._search_threads(pid, "smaps_rollup", r"^Pss:\s+(\d+)")
        return 1024 * int(kilobytes) or self._read_resident(pid)

    def _count_mapping_bytes(self, pid):
        return MAPPING * str(self._search_threads(pid, "maps", r"(?s)(.+)")).count("\n")

    def _search_threads(self, pid, name, pattern):
        """Return the pattern's group from the first thread's file that matches, or 0.

        A thread that has ended shows no memory, even if it is the first one.
        """
        for thread in self._list_folder(f"{pid}/task"):
            if match := re.search(pattern, self._read(f"{pid}/task/{thread}/{name}"), re.M):
                return match[1]
        return 0

    # The files of a process disappear when it ends.

    def _list_folder(self, folder):
        with contextlib.suppress(OSError):
            return os.listdir(self._proc / folder)
        return []

    def _read(self, path):
        with contextlib.suppress(OSError):
            return (self._proc / path).read_text()
        return ""


class CgroupMeter:
    """A cgroup below ``parent``, for process ``pid`` and all processes that it starts."""

    def __init__(self, parent: Path, pid: int):
        self.folder = parent / f"roofkit-{os.getpid()}-{next(_numbers)}"
        try:
            self.folder.mkdir()
            self._set("memory.max", MOST_BYTES)
            self._set("memory.oom.group", 1)
            self._set("pids.max", MOST_PROCESSES)
            with contextlib.suppress(FileNotFoundError):  # if the kernel has no swap
                self._set("memory.swap.max", 0)
            self._set("cgroup.procs", pid)
        except OSError as error:
            self.close()
            raise MachineryError(f"cannot move a process into a cgroup: {error}") from error

    def is_exceeded(self):
        events = (self.folder / "memory.events").read_text().split()
        return int(dict(zip(events[::2], events[1::2], strict=True)).get("oom_kill", 0)) > 0

    def close(self):
        # The last process may still be ending.
        for _ in range(50):
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.002)

    def _set(self, name, value):
        # No O_CREAT, so that this fails in a folder that is not a cgroup.
        descriptor = os.open(self.folder / name, os.O_WRONLY)
        try:
            os.write(descriptor, str(value).encode())
        finally:
            os.close(descriptor)


def find_delegated() -> Path | None:
    """Return the cgroup in which others can be created, or None.

    Raises MachineryError if ROOFKIT_CGROUP is set to a folder that is not such a cgroup.
    """
    if folder := os.environ.get("ROOFKIT_CGROUP"):
        if not _has_controllers(Path(folder)):
            raise MachineryError(sentence("sandbox.no_cgroup", folder=folder))
        return Path(folder)
    cgroup = _own_cgroup()
    if cgroup is None:
        return None
    if cgroup.name == WORKERS_CGROUP:  # Another worker, or the coordinator, moved this process.
        cgroup = cgroup.parent
    elif _is_delegated(cgroup):
        _move_processes(cgroup)
    return cgroup if _has_controllers(cgroup) else None


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
    """Move a cgroup's processes to a child cgroup. Only an empty cgroup can delegate."""
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
