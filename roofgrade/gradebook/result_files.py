"""Stores results in files, so that graded work need not run again.

``COURSE/grading/SET/results/`` has one file per submitted folder. A result is valid while its key,
a hash of everything it depends on, is unchanged. An empty file next to a result marks it as not yet
saved in the gradebook. The next command saves it.
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

from roofcheck.tables.catalogue import QUESTIONS_VARIABLE
from roofgrade.common import safe_files
from roofgrade.common.results import Result
from roofgrade.common.sentences import sentence
from roofgrade.course import Course
from roofgrade.sandbox.layout import PACKAGES

RESULTS_FOLDER, LOCK_FILE, UNSAVED_SUFFIX = "results", "lock", ".unsaved"
# Errors from a network disk that does not support locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
WAIT_SECONDS = 2  # for the lock of a run that has just ended
SOURCE_SUFFIXES = (".py", ".toml", ".js")


class LockHeldError(RuntimeError):
    """Another run is grading the set."""


def write_result(course: Course, result: Result):
    """Write a result durably, and mark it as unsaved."""
    name = _file_name(result.student, result.folder)
    mode = 0o660 if course.shared else 0o600
    place = course.grading, result.assignment, RESULTS_FOLDER
    with safe_files.open_below(*place, make=True, shared=course.shared) as folder:
        safe_files.touch(folder, f"{name}{UNSAVED_SUFFIX}")
        safe_files.write(folder, name, result.to_json().encode(), mode)


def mark_saved(course: Course, result: Result):
    """Clear the mark of a result that is in the gradebook or has nothing to save."""
    name = _file_name(result.student, result.folder)
    with contextlib.suppress(FileNotFoundError):
        (course.grading / result.assignment / RESULTS_FOLDER / f"{name}{UNSAVED_SUFFIX}").unlink()


def read_unsaved(course: Course, assignment: str) -> list[Result]:
    """Return the results that an interrupted run stored but did not save in the gradebook."""
    unsaved = []
    for path in sorted((course.grading / assignment / RESULTS_FOLDER).glob(f"*{UNSAVED_SUFFIX}")):
        if result := _read_file(path.with_suffix("")):
            unsaved.append(result)
        else:
            path.unlink(missing_ok=True)  # the run was killed before it wrote the result
    return unsaved


def read_result(course: Course, assignment: str, student: str, folder: str) -> Result | None:
    """Return the result of a folder, or None if it is missing or unreadable."""
    return _read_file(course.grading / assignment / RESULTS_FOLDER / _file_name(student, folder))


def read_results(course: Course, assignment: str) -> Iterator[Result]:
    """Yield every readable result of a set."""
    for path in sorted((course.grading / assignment / RESULTS_FOLDER).glob("*.json")):
        if result := _read_file(path):
            yield result


def delete_moved(course: Course, assignment: str, owned: Mapping[str, str]):
    """Delete results of folders that no longer exist, if their students have other folders.

    ``owned`` maps each folder to its student. The result of a student without folders stays, unless
    the result had no owner or its folder now has another owner.
    """
    current = {_file_name(student, folder) for folder, student in owned.items()}
    for path in (course.grading / assignment / RESULTS_FOLDER).glob("*.json"):
        if path.name not in current and (result := _read_file(path)):
            keeps_owner = result.student and result.folder not in owned
            if not keeps_owner or result.student in owned.values():
                path.unlink()
                mark_saved(course, result)


@contextlib.contextmanager
def run_lock(course: Course, assignment: str):
    """Lock a set against other runs. Raises LockHeldError if another run is under way."""
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
    """Lock the file and return "", or return the process that holds the lock.

    A worker that is just starting when its run is killed can hold the lock for a moment.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return ""
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.seek(0)
                process, _, host = file.read().strip().partition(" ")
                elsewhere = host not in ("", socket.gethostname())  # as on a network disk
                return f"{process} ({host})" if elsewhere else process or "?"
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            print(sentence("run.no_locks"), file=sys.stderr)
            return ""
        time.sleep(0.05)


def make_key(submitted: Mapping[str, bytes], *texts: str) -> str:
    """Return a result's key, which has three hashes: submitted files, texts and grader.

    The texts are the release and anything else that the result depends on.

    >>> make_key({"ps1.ipynb": b"{}"}, "release") == make_key({"ps1.ipynb": b"{}"}, "another")
    False
    """
    return f"{hash_files(submitted)}-{hash_values(texts)}-{hash_grader()}"


def read_files_hash(key: str) -> str:
    """Return the hash of the submitted files from a result's key.

    >>> files = {"ps1.ipynb": b"{}"}
    >>> read_files_hash(make_key(files, "release")) == hash_files(files)
    True
    """
    return key.partition("-")[0]


def is_of_this_grader(key: str) -> bool:
    """Return whether a result was made with the current grader and question tables."""
    return key.endswith(f"-{hash_grader()}")


def hash_files(submitted: Mapping[str, bytes]) -> str:
    """Return the hash of files, given as {path: content}."""
    hashed = {name: hashlib.sha256(content).hexdigest() for name, content in submitted.items()}
    return hash_values(sorted(hashed.items()))


def hash_values(*plain) -> str:
    """Return the hash of JSON values."""
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def hash_grader() -> str:
    """Return the hash of the grader: sources, question tables, Python and NumPy versions."""
    return _hash_grader(os.environ.get(QUESTIONS_VARIABLE, ""))


@functools.cache
def _hash_grader(questions):
    return hash_values(hash_sources(PACKAGES, questions), platform.python_version(), np.__version__)


def hash_sources(packages: Iterable[Path], questions: str = "") -> str:
    """Return the hash of the packages' files and of an instructor's questions in a folder."""
    paths = {
        path.relative_to(package.parent).as_posix(): path
        for package in packages
        for path in package.rglob("*")
    }
    if questions:
        paths |= {f"own/{path.relative_to(questions)}": path for path in Path(questions).rglob("*")}
    sources = {name: path for name, path in paths.items() if path.suffix in SOURCE_SUFFIXES}
    return hash_files({name: path.read_bytes() for name, path in sources.items()})


def _file_name(student, folder):
    return f"{hash_values(student, folder)}.json"


def _read_file(path):
    try:
        return Result.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
