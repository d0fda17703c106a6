"""Gives each worker's sandbox its own user and core.

Sandboxes with the same user would share its process limits, and a student's process that escaped
could attack the others. Root can use ids that belong to no account, and an ordinary user those in
/etc/subuid. If there are none, the sandboxes share the current user. On a shared core, a notebook
that starts dozens of processes would leave the others too little time.
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

# Systems create no accounts in this range, except systemd for dynamic users while they run.
FIRST, LAST = 61184, 65519
TOOLS = {"newuidmap": "/etc/subuid", "newgidmap": "/etc/subgid"}


class Identity(NamedTuple):
    """A user that no other sandbox has while this object exists.

    ``user`` is the id to switch to, or None to keep the current user. ``maps`` has the arguments of
    newuidmap and newgidmap that create the id, by tool. It is empty for root.
    """

    user: int | None = None
    maps: dict[str, list[str]] | None = None
    claim: socket.socket | None = None


def take_identity() -> Identity:
    """Claim a user for this worker. Raises MachineryError if root finds no free one."""
    if os.geteuid() == 0:
        if identity := next(_find_root_users(), None):
            return identity
        raise MachineryError(sentence("sandbox.no_user", first=FIRST, last=LAST))
    ranges = [_read_id_range(path) for path in TOOLS.values()]
    if all(shutil.which(tool) for tool in TOOLS) and all(ranges):
        return next(_find_range_users(*ranges), Identity())
    return Identity()


def take_core() -> tuple[int, socket.socket | None]:
    """Return a core for this worker's sandbox, and the object that keeps the claim to it."""
    cores = sorted(os.sched_getaffinity(0))
    for number in cores:
        if claim := _claim(f"core-{number}"):
            return number, claim
    return cores[os.getpid() % len(cores)], None  # All of them are claimed.


def _find_root_users() -> Iterator[Identity]:
    for user in range(FIRST, LAST + 1):
        if not _has_account(user) and (claim := _claim(user)):
            yield Identity(user, {}, claim)


def _find_range_users(users, groups) -> Iterator[Identity]:
    for offset in range(min(users[1], groups[1])):
        if claim := _claim(users[0] + offset):
            # In the new namespace, the current user is root, and the user to switch to is 1.
            current = os.geteuid(), os.getegid()
            ids = users[0] + offset, groups[0] + offset
            users_and_groups = zip(TOOLS, current, ids, strict=True)
            maps = {tool: f"0 {old} 1 1 {new} 1".split() for tool, old, new in users_and_groups}
            yield Identity(1, maps, claim)


def _claim(name):
    """Bind an abstract socket, whose name the kernel reserves for one process until it ends."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0roofkit-grading-{name}")
    except OSError:
        claim.close()
        return None
    return claim


def _has_account(user):
    for find in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            find(user)
            return True
    return False


def _read_id_range(path):
    """Return (first, count) of the ids for this user in a file such as /etc/subuid, or None."""
    names = {str(os.geteuid())}
    with contextlib.suppress(KeyError):
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    for name, first, count in (line.split(":") for line in lines if line.count(":") == 2):
        if name in names:
            return int(first), int(count)
    return None
