"""Gives each worker's sandbox its own user and core.

Workers that share a user share its process limits, and a student's process that escaped could
attack its neighbours. Root can use ids that belong to no account; an ordinary user has the range in
/etc/subuid, if any; otherwise the workers share that user. Workers that share a core share its time
by the process, so a notebook that starts dozens would leave its neighbour too little.
"""

import contextlib
import grp
import os
import pwd
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

# Systems make no accounts in this range, and systemd's dynamic users in it have one while they run.
FIRST, LAST = 61184, 65519
TOOLS = {"newuidmap": "/etc/subuid", "newgidmap": "/etc/subgid"}


class Identity(NamedTuple):
    """A user that no other sandbox has while this object lives.

    ``user`` is the id to switch to, or None to keep the current user. ``maps`` are the arguments of
    newuidmap and newgidmap, by tool, that make the id exist; root needs none.
    """

    user: int | None = None
    maps: dict[str, list[str]] | None = None
    held: socket.socket | None = None


def take_identity() -> Identity:
    """Claim a user for this worker. Raises MachineryError if root finds none free."""
    if os.geteuid() == 0:
        if identity := next(_find_root_users(), None):
            return identity
        raise MachineryError(sentence("sandbox.no_user", first=FIRST, last=LAST))
    ranges = [_read_id_range(path) for path in TOOLS.values()]
    if all(shutil.which(tool) for tool in TOOLS) and all(ranges):
        return next(_find_range_users(*ranges), Identity())
    return Identity()


class Core(NamedTuple):
    """A core; if there are enough, no other sandbox has it while this object lives."""

    number: int
    held: socket.socket | None = None


def take_core() -> Core:
    """Claim a core for this worker's sandbox, among those that this process may run on."""
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
            # In the new namespace this process's user is root, and the one to switch to is 1.
            current = os.geteuid(), os.getegid()
            ids = users[0] + offset, groups[0] + offset
            users_and_groups = zip(TOOLS, current, ids, strict=True)
            maps = {tool: f"0 {old} 1 1 {new} 1".split() for tool, old, new in users_and_groups}
            yield Identity(1, maps, held)


def _claim(name):
    """Bind an abstract socket: the kernel gives each name to one process, until it ends."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(f"\0roofkit-grading-{name}")
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
    """Return (first, count) of the ids that a file such as /etc/subuid gives this user, or None."""
    names = {str(os.geteuid())}
    with contextlib.suppress(KeyError):
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    for name, first, count in (line.split(":") for line in lines if line.count(":") == 2):
        if name in names:
            return int(first), int(count)
    return None
