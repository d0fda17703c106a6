"""How much memory a submission holds: a cgroup of its own where one may be made, else a look.

A delegated cgroup is the better of the two: the kernel stops at the limit, where polling may come
a quarter of a second too late. It is the folder that ROOFKIT_CGROUP names, in which no process may
be, or the cgroup that this process was given for itself, as by
``systemd-run --user --scope -p Delegate=yes``.
"""

import contextlib
import itertools
import os
import re
import time
from pathlib import Path
from typing import Protocol

from roofgrade.errors import MachineryError
from roofgrade.text import words

MOST = 1536 << 20  # bytes
PROCESSES = 128
MOUNT = Path("/sys/fs/cgroup")
OURS = "roofkit-workers"
CONTROLLERS = {"memory", "pids"}
_numbers = itertools.count()


class Meter(Protocol):
    """Whether one submission holds, or held, too much."""

    def exceeded(self) -> bool: ...

    def close(self): ...


class Unmeasured:
    """Stands for a meter where nothing limits a process but its own limits."""

    def exceeded(self):
        return False

    def close(self):
        pass


class Polling:
    """Looks at all processes in the pid namespace of process ``pid``."""

    def __init__(self, pid: int):
        self.pid = pid

    def exceeded(self):
        try:
            namespace = os.stat(f"/proc/{self.pid}/ns/pid").st_ino
        except OSError:
            return False
        pids, held = [], 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{pid}/ns/pid").st_ino == namespace:
                    pids.append(pid)
                    held += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        # Shared pages count once, which takes longer to find out.
        return held * os.sysconf("SC_PAGE_SIZE") > MOST and sum(map(_own, pids)) > MOST

    def close(self):
        pass


class Cgroup:
    """A cgroup below ``parent`` for process ``pid`` and all that it starts."""

    def __init__(self, parent: Path, pid: int):
        self.folder = parent / f"roofkit-{os.getpid()}-{next(_numbers)}"
        try:
            self.folder.mkdir()
            self._set("memory.max", MOST)
            self._set("memory.oom.group", 1)
            self._set("pids.max", PROCESSES)
            with contextlib.suppress(FileNotFoundError):  # a kernel without swap
                self._set("memory.swap.max", 0)
            self._set("cgroup.procs", pid)
        except OSError as error:
            self.close()
            raise MachineryError(f"no process can be put into a cgroup: {error}") from error

    def exceeded(self):
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


def delegated() -> Path | None:
    """The cgroup in which others may be made, if there is one.

    Raises MachineryError if ROOFKIT_CGROUP names a folder that will not do.
    """
    named = os.environ.get("ROOFKIT_CGROUP")
    if named:
        if not _hands_down(Path(named)):
            raise MachineryError(words("sandbox.no_cgroup", folder=named))
        return Path(named)
    own = _own_cgroup()
    if own is None:
        return None
    if own.name == OURS:  # another worker, or the one that started this, was here before
        own = own.parent
    elif _is_delegated(own):
        _make_way(own)
    return own if _hands_down(own) else None


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


def _make_way(folder):
    """Move the processes of a cgroup into one below it: with processes, it hands nothing down."""
    with contextlib.suppress(OSError):
        (folder / OURS).mkdir(exist_ok=True)
        for pid in (folder / "cgroup.procs").read_text().split():
            (folder / OURS / "cgroup.procs").write_text(pid)


def _hands_down(folder):
    control = folder / "cgroup.subtree_control"
    try:
        missing = CONTROLLERS - set(control.read_text().split())
        if missing:
            control.write_text(" ".join(f"+{name}" for name in sorted(missing)))
        return os.access(folder, os.W_OK) and set(control.read_text().split()) >= CONTROLLERS
    except OSError:
        return False


def _own(pid):
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0
