"""Whose the processes of a worker's sandbox are, and where: a user and a core of its own.

Workers that share a user share its process limits, and a student's process that got out of its
walls would be its neighbours' equal. Root has users to give that no account has; an ordinary user
has the range that /etc/subuid names; who has neither shares one user, their own.

Workers that share cores share the time on them, by the process: a notebook that starts dozens would
leave its neighbour's next to none, and honest cells would run out of time there.
"""

import contextlib
import grp
import os
import pwd
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

# No accounts are made in this range. A service to which systemd lends one of its ids has an account
# as long as it runs.
FIRST, LAST = 61184, 65519
TOOLS = {"newuidmap": "/etc/subuid", "newgidmap": "/etc/subgid"}


@dataclass(frozen=True)
class Identity:
    """A user that nobody else has while this object lives.

    ``user`` is the id to become, None to stay who one is. ``maps`` are the arguments for newuidmap
    and newgidmap that make it exist, by tool; empty for root, who needs none.
    """

    user: int | None = None
    maps: dict[str, list[str]] | None = None
    held: socket.socket | None = None


def take_identity() -> Identity:
    """A user for this worker. Raises MachineryError if root has none left to give."""
    if os.geteuid() == 0:
        return next(_find_root_users(), None) or _raise_none_left()
    ranges = [_read_id_range(path) for path in TOOLS.values()]
    if all(shutil.which(tool) for tool in TOOLS) and all(ranges):
        return next(_find_range_users(*ranges), Identity())
    return Identity()


@dataclass(frozen=True)
class Core:
    """A core that no other sandbox has while this object lives, if there are enough."""

    number: int
    held: socket.socket | None = None


def take_core() -> Core:
    """A core for this worker's sandbox, of those that this process may run on."""
    cores = sorted(os.sched_getaffinity(0))
    for number in cores:
        if held := _claim(f"core-{number}"):
            return Core(number, held)
    return Core(cores[os.getpid() % len(cores)])


def _find_root_users() -> Iterator[Identity]:
    for user in range(FIRST, LAST + 1):
        if not _has_account(user) and (held := _claim(user)):
            yield Identity(user, {}, held)


def _find_range_users(users, groups) -> Iterator[Identity]:
    for offset in range(min(users[1], groups[1])):
        if held := _claim(users[0] + offset):
            # Inside, this process's own user is root, and the one to become is 1.
            own = os.geteuid(), os.getegid()
            ids = users[0] + offset, groups[0] + offset
            maps = {
                tool: ["0", str(own[n]), "1", "1", str(ids[n]), "1"] for n, tool in enumerate(TOOLS)
            }
            yield Identity(1, maps, held)


def _claim(what):
    """The kernel gives a name of this kind to one process alone, and takes it back at its end."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(f"\0roofkit-grading-{what}")
    except OSError:
        held.close()
        return None
    return held


def _has_account(user):
    for find in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            find(user)
            return True
    return False


def _read_id_range(path):
    """(first, how many) that a file such as /etc/subuid gives to this user, or None."""
    names = {str(os.geteuid())}
    with contextlib.suppress(KeyError):
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    for name, first, count in (line.split(":") for line in lines if line.count(":") == 2):
        if name in names:
            return int(first), int(count)
    return None


def _raise_none_left():
    raise MachineryError(sentence("sandbox.no_user", first=FIRST, last=LAST))
