"""Results as files, so that what was graded once need not run again.

They lie in ``COURSE/grading/SET/results/``, one file a folder that came in. A result counts while
its key does: the hash of all that it follows from. Beside a result that is not yet saved in the
gradebook lies an empty file, by which the next command finds and saves it.
"""

import contextlib
import errno
import fcntl
import functools
import hashlib
import json
import os
import platform
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

import roofcheck
import roofgrade
import roofkit
import rooflab
from roofcheck.tables.table import OWN_FOLDER
from roofgrade.common import safe_files
from roofgrade.common.results import Result
from roofgrade.common.sentences import words
from roofgrade.course import Course

RESULTS, LOCK, UNSAVED = "results", "lock", ".unsaved"
# What a disk of the network says that keeps no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
PATIENCE = 5  # seconds for the lock of a run that has ended
SOURCES = (".py", ".toml", ".js")
PACKAGES = [Path(package.__file__).parent for package in (roofkit, rooflab, roofcheck, roofgrade)]


class HeldError(RuntimeError):
    """Another run grades the set just now."""


def keep(course: Course, result: Result):
    """Write a result, so that it survives whatever comes next, and note that it is not saved."""
    own = course.own  # this makes the folder, and closes it to others
    name = _name(result.student, result.folder)
    mode = 0o660 if course.shared else 0o600
    with safe_files.opened(
        own, result.assignment, RESULTS, make=True, shared=course.shared
    ) as folder:
        safe_files.touch(folder, f"{name}{UNSAVED}")
        safe_files.write(folder, name, result.to_json().encode(), mode)


def saved(course: Course, result: Result):
    """Note that a result is in the gradebook, or has nothing to go there."""
    name = _name(result.student, result.folder)
    with contextlib.suppress(FileNotFoundError):
        (course.own / result.assignment / RESULTS / f"{name}{UNSAVED}").unlink()


def unsaved(course: Course, assignment: str) -> list[Result]:
    """What is kept and not saved, as a run leaves it that is killed, or finds the disk full."""
    found = []
    for path in sorted((course.own / assignment / RESULTS).glob(f"*{UNSAVED}")):
        if result := _read(path.with_suffix("")):
            found.append(result)
        else:
            path.unlink(missing_ok=True)  # it was killed before it kept anything
    return found


def kept(course: Course, assignment: str, student: str, folder: str) -> Result | None:
    """The result of what came in as ``folder``, or None if there is none that can be read."""
    return _read(course.own / assignment / RESULTS / _name(student, folder))


def all_kept(course: Course, assignment: str) -> Iterator[Result]:
    """Every result of a set that can be read, one after the other."""
    for path in sorted((course.own / assignment / RESULTS).glob("*.json")):
        if result := _read(path):
            yield result


def forget_moved(course: Course, assignment: str, places: Mapping[str, Iterable[str]]):
    """Drop the results of folders that are gone, if their students have others now.

    ``places`` are the folders of each student. Who has left altogether keeps a result; what was
    nobody's, or is somebody else's now, leaves none.
    """
    lying = {place for found in places.values() for place in found}
    current = {_name(student, place) for student, found in places.items() for place in found}
    for path in (course.own / assignment / RESULTS).glob("*.json"):
        if path.name not in current:
            result = _read(path)
            if result and (
                not result.student or places.get(result.student) or result.folder in lying
            ):
                path.unlink()
                saved(course, result)


@contextlib.contextmanager
def alone(course: Course, assignment: str):
    """Keeps other runs off a set. Raises HeldError if one is under way."""
    name, place = safe_files.checked(assignment), course.root / "grading" / assignment
    try:
        with safe_files.opened(course.own, name, make=True, shared=course.shared) as folder:
            lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    except PermissionError as error:
        raise RuntimeError(words("run.not_yours", folder=place)) from error
    with open(lock, "r+") as file:
        if course.shared:
            safe_files.share(file.fileno())
        if holder := _held(file):
            raise HeldError(words("run.under_way", assignment=assignment, process=holder))
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()} {socket.gethostname()}\n")
        file.flush()
        yield


def _held(file):
    """Lock the file and return "", or return the process that holds it.

    A worker that was being started when its run was killed holds the lock until it has begun.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return ""
        except BlockingIOError:
            file.seek(0)
            process, _, host = file.read().strip().partition(" ")
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            print(words("run.no_locks"), file=sys.stderr)
            return ""
        elsewhere = host not in ("", socket.gethostname())  # as on a disk of the network
        if elsewhere or _lives(process) or time.monotonic() > until:
            return f"{process} ({host})" if elsewhere else process or "?"
        time.sleep(0.05)


def _lives(process):
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def key_of(submitted: Mapping[str, bytes], *texts: str) -> str:
    """What a result follows from, as three hashes: the files that came in, these texts, the grader.

    The texts are the release, and what else the caller knows of.

    >>> key_of({"ps1.ipynb": b"{}"}, "release") == key_of({"ps1.ipynb": b"{}"}, "another")
    False
    """
    return f"{hash_of_files(submitted)}-{hash_of(texts)}-{version()}"


def files_of(key: str) -> str:
    """The hash of the files, in the key of a result that was made of them.

    >>> files_of(key_of({"ps1.ipynb": b"{}"}, "release")) == hash_of_files({"ps1.ipynb": b"{}"})
    True
    """
    return key.partition("-")[0]


def is_of_this_grader(key: str) -> bool:
    """Whether the grader and its question tables are those by which a result came about."""
    return key.endswith(f"-{version()}")


def hash_of_files(submitted: Mapping[str, bytes]) -> str:
    """The hash of what was handed in: files by their paths."""
    hashed = {name: hashlib.sha256(content).hexdigest() for name, content in submitted.items()}
    return hash_of(sorted(hashed.items()))


def hash_of(*plain) -> str:
    """The hash of values that JSON can hold."""
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def version() -> str:
    """The hash of the grader: all sources and question tables, Python and NumPy."""
    return _version(os.environ.get(OWN_FOLDER, ""))


@functools.cache
def _version(own):
    return hash_of(hash_of_sources(PACKAGES, own), platform.python_version(), np.__version__)


def hash_of_sources(packages: Iterable[Path], own: str = "") -> str:
    """The hash of the files of packages, and of an instructor's own folder of questions."""
    paths = {
        path.relative_to(package.parent).as_posix(): path
        for package in packages
        for path in package.rglob("*")
    }
    if own:
        paths |= {f"own/{path.relative_to(own)}": path for path in Path(own).rglob("*")}
    return hash_of(
        sorted(
            (name, hashlib.sha256(path.read_bytes()).hexdigest())
            for name, path in paths.items()
            if path.suffix in SOURCES
        )
    )


def _name(student, folder):
    return f"{hash_of(student, folder)}.json"


def _read(path):
    try:
        return Result.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
