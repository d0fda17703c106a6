"""Reads and writes files, without following links, in folders that others can write to.

Each part of a path is opened relative to its parent, so nobody can swap a folder between a check
and a read. Files are written under a temporary name and then renamed.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# There is only one writer at a time, so it can overwrite a file that a killed writer left.
TEMPORARY_NAME = ".being-written"
# Errors for a full disk, an exhausted quota and a file that is too large.
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Jupyter creates this folder next to a notebook when someone opens it.
CHECKPOINTS = ".ipynb_checkpoints"


def check_name(name: str) -> str:
    """Return the name. Raises ValueError unless it is a single part of a path.

    >>> check_name("ada")
    'ada'
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is not a valid name for a file or folder")
    return name


def let_group_write(path: Path | int):
    """Make a file or folder writable by its group, if this user owns it."""
    status = os.stat(path)
    mode = 0o2770 if stat.S_ISDIR(status.st_mode) else 0o660
    if status.st_uid == os.geteuid() and status.st_mode & mode != mode:
        os.chmod(path, stat.S_IMODE(status.st_mode) | mode)


@contextlib.contextmanager
def open_below(
    root: Path | int, *names: str, make: bool = False, shared: bool = False
) -> Iterator[int]:
    """Open a file or folder below ``root`` without following links, and yield its descriptor.

    ``root`` is a trusted path or a folder's descriptor. ``make`` creates missing folders, and
    ``shared`` makes all of them writable by the group. Raises OSError if a name is a link or,
    without ``make``, is missing. Never blocks on a FIFO.
    """
    opened = os.dup(root) if isinstance(root, int) else os.open(root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for name in names:
            below = _open_one(opened, check_name(name), make, shared)
            os.close(opened)
            opened = below
        yield opened
    finally:
        os.close(opened)


def _open_one(folder, name, make, shared):
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o770 if shared else 0o777, dir_fd=folder)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    below = os.open(name, flags, dir_fd=folder)
    if make and shared:
        let_group_write(below)
    return below


def read(root: Path | int, *names: str, most: int) -> bytes | None:
    """Return the content of a regular file below ``root``, without following links.

    Returns None if there is no such file or it is longer than ``most`` bytes.
    """
    with contextlib.suppress(OSError), open_below(root, *names) as opened:
        status = os.fstat(opened)
        if stat.S_ISREG(status.st_mode) and status.st_size <= most:
            with open(opened, "rb", closefd=False) as file:
                return file.read()
    return None


def write(folder: int, name: str, content: bytes, mode: int = 0o600, *, durable: bool = True):
    """Write a file into an open folder atomically: readers see the old or the new content.

    If ``durable``, the content is on disk when this returns, even if the machine fails later.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(TEMPORARY_NAME, dir_fd=folder)
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with open(os.open(TEMPORARY_NAME, new, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
    except OSError:  # Half a file would only take up space.
        with contextlib.suppress(OSError):
            os.unlink(TEMPORARY_NAME, dir_fd=folder)
        raise
    os.replace(TEMPORARY_NAME, check_name(name), src_dir_fd=folder, dst_dir_fd=folder)
    if durable:
        os.fsync(folder)


def touch(folder: int, name: str):
    """Create an empty file in an open folder, unless the name is taken."""
    with contextlib.suppress(FileExistsError):
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        os.close(os.open(check_name(name), new, 0o600, dir_fd=folder))


def write_files(folder, contents, mode, *, shared=False, only=True):
    """Write {path: bytes} files below an open folder. ``only`` deletes all other files.

    A machine failure may lose files, which ``has_files`` then detects. Raises OSError if a path
    contains a link or, unless ``only``, if a folder has a file's name.
    """
    if only:
        _delete_others(folder, contents)
    for path, content in contents.items():
        *above, name = PurePosixPath(path).parts
        with open_below(folder, *above, make=True, shared=shared) as place:
            write(place, name, content, mode, durable=False)


def _delete_others(folder, contents):
    """Delete everything below an open folder except these files and their folders."""
    needed = {str(above) for path in contents for above in PurePosixPath(path).parents}
    for path, name, place in _walk_files(folder):
        if path not in contents:
            os.unlink(name, dir_fd=place)
    # Delete the innermost folders first. A folder with Jupyter checkpoints is not empty and stays.
    for where, folders, _, place in os.fwalk(".", topdown=False, dir_fd=folder):
        for name in folders:
            if str(PurePosixPath(where, name)) not in needed:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=place)


def has_files(folder, contents, *, only=True):
    """Return whether an open folder has these files and, if ``only``, no other files or links."""
    missing = dict(contents)
    for path, name, place in _walk_files(folder):
        if path in missing:
            content = missing.pop(path)
            if read(place, name, most=len(content)) != content:
                return False
        elif only:
            return False
    return not missing


def _walk_files(folder):
    """Yield the path, name and parent's descriptor of each file or link below an open folder."""
    for where, folders, names, place in os.fwalk(".", dir_fd=folder):
        folders[:] = [name for name in folders if name != CHECKPOINTS]
        modes = {name: os.stat(name, dir_fd=place, follow_symlinks=False) for name in folders}
        links = [name for name, status in modes.items() if stat.S_ISLNK(status.st_mode)]
        for name in (*names, *links):
            yield str(PurePosixPath(where, name)), name, place
