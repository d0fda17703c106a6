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
from roofcheck.tables.catalogue import QUESTIONS_VARIABLE
from roofgrade.common import safe_files
from roofgrade.common.results import Result
from roofgrade.common.sentences import sentence
from roofgrade.course import Course

RESULTS_FOLDER, LOCK_FILE, UNSAVED_SUFFIX = "results", "lock", ".unsaved"
# What a disk of the network says that keeps no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
WAIT_SECONDS = 5  # seconds for the lock of a run that has ended
SOURCE_SUFFIXES = (".py", ".toml", ".js")
PACKAGES = [Path(package.__file__).parent for package in (roofkit, rooflab, roofcheck, roofgrade)]


class LockHeldError(RuntimeError):
    """Another run grades the set just now."""


def write_result(course: Course, result: Result):
    """Write a result, so that it survives whatever comes next, and note that it is not saved."""
    own = course.grading  # this makes the folder, and closes it to others
    name = _file_name(result.student, result.folder)
    mode = 0o660 if course.shared else 0o600
    with safe_files.open_below(
        own, result.assignment, RESULTS_FOLDER, make=True, shared=course.shared
    ) as folder:
        safe_files.touch(folder, f"{name}{UNSAVED_SUFFIX}")
        safe_files.write(folder, name, result.to_json().encode(), mode)


def mark_saved(course: Course, result: Result):
    """Note that a result is in the gradebook, or has nothing to go there."""
    name = _file_name(result.student, result.folder)
    with contextlib.suppress(FileNotFoundError):
        (course.grading / result.assignment / RESULTS_FOLDER / f"{name}{UNSAVED_SUFFIX}").unlink()


def read_unsaved(course: Course, assignment: str) -> list[Result]:
    """What is kept and not saved, as a run leaves it that is killed, or finds the disk full."""
    found = []
    for path in sorted((course.grading / assignment / RESULTS_FOLDER).glob(f"*{UNSAVED_SUFFIX}")):
        if result := _read_file(path.with_suffix("")):
            found.append(result)
        else:
            path.unlink(missing_ok=True)  # it was killed before it kept anything
    return found


def read_result(course: Course, assignment: str, student: str, folder: str) -> Result | None:
    """The result of what came in as ``folder``, or None if there is none that can be read."""
    return _read_file(course.grading / assignment / RESULTS_FOLDER / _file_name(student, folder))


def read_results(course: Course, assignment: str) -> Iterator[Result]:
    """Every result of a set that can be read, one after the other."""
    for path in sorted((course.grading / assignment / RESULTS_FOLDER).glob("*.json")):
        if result := _read_file(path):
            yield result


def delete_moved(course: Course, assignment: str, places: Mapping[str, Iterable[str]]):
    """Drop the results of folders that are gone, if their students have others now.

    ``places`` are the folders of each student. Who has left altogether keeps a result; what was
    nobody's, or is somebody else's now, leaves none.
    """
    lying = {place for found in places.values() for place in found}
    current = {_file_name(student, place) for student, found in places.items() for place in found}
    for path in (course.grading / assignment / RESULTS_FOLDER).glob("*.json"):
        if path.name not in current:
            result = _read_file(path)
            if result and (
                not result.student or places.get(result.student) or result.folder in lying
            ):
                path.unlink()
                mark_saved(course, result)


@contextlib.contextmanager
def run_lock(course: Course, assignment: str):
    """Keeps other runs off a set. Raises HeldError if one is under way."""
    name, place = safe_files.check_name(assignment), course.root / "grading" / assignment
    try:
        with safe_files.open_below(course.grading, name, make=True, shared=course.shared) as folder:
            lock = os.open(LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    except PermissionError as error:
        raise RuntimeError(sentence("run.not_yours", folder=place)) from error
    with open(lock, "r+") as file:
        if course.shared:
            safe_files.let_group_write(file.fileno())
        if holder := _lock_or_holder(file):
            raise LockHeldError(sentence("run.under_way", assignment=assignment, process=holder))
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()} {socket.gethostname()}\n")
        file.flush()
        yield


def _lock_or_holder(file):
    """Lock the file and return "", or return the process that holds it.

    A worker that was being started when its run was killed holds the lock until it has begun.
    """
    until = time.monotonic() + WAIT_SECONDS
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
            print(sentence("run.no_locks"), file=sys.stderr)
            return ""
        elsewhere = host not in ("", socket.gethostname())  # as on a disk of the network
        if elsewhere or _is_alive(process) or time.monotonic() > until:
            return f"{process} ({host})" if elsewhere else process or "?"
        time.sleep(0.05)


def _is_alive(process):
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def make_key(submitted: Mapping[str, bytes], *texts: str) -> str:
    """What a result follows from, as three hashes: the files that came in, these texts, the grader.

    The texts are the release, and what else the caller knows of.

    >>> make_key({"ps1.ipynb": b"{}"}, "release") == make_key({"ps1.ipynb": b"{}"}, "another")
    False
    """
    return f"{hash_files(submitted)}-{hash_values(texts)}-{hash_grader()}"


def read_files_hash(key: str) -> str:
    """The hash of the files, in the key of a result that was made of them.

    >>> read_files_hash(make_key({"ps1.ipynb": b"{}"}, "release")) == hash_files({"ps1.ipynb": b"{}"})
    True
    """
    return key.partition("-")[0]


def is_of_this_grader(key: str) -> bool:
    """Whether the grader and its question tables are those by which a result came about."""
    return key.endswith(f"-{hash_grader()}")


def hash_files(submitted: Mapping[str, bytes]) -> str:
    """The hash of what was handed in: files by their paths."""
    hashed = {name: hashlib.sha256(content).hexdigest() for name, content in submitted.items()}
    return hash_values(sorted(hashed.items()))


def hash_values(*plain) -> str:
    """The hash of values that JSON can hold."""
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def hash_grader() -> str:
    """The hash of the grader: all sources and question tables, Python and NumPy."""
    return _hash_grader(os.environ.get(QUESTIONS_VARIABLE, ""))


@functools.cache
def _hash_grader(own):
    return hash_values(hash_sources(PACKAGES, own), platform.python_version(), np.__version__)


def hash_sources(packages: Iterable[Path], own: str = "") -> str:
    """The hash of the files of packages, and of an instructor's own folder of questions."""
    paths = {
        path.relative_to(package.parent).as_posix(): path
        for package in packages
        for path in package.rglob("*")
    }
    if own:
        paths |= {f"own/{path.relative_to(own)}": path for path in Path(own).rglob("*")}
    return hash_values(
        sorted(
            (name, hashlib.sha256(path.read_bytes()).hexdigest())
            for name, path in paths.items()
            if path.suffix in SOURCE_SUFFIXES
        )
    )


def _file_name(student, folder):
    return f"{hash_values(student, folder)}.json"


def _read_file(path):
    try:
        return Result.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
