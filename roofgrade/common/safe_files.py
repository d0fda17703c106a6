"""Files in folders that others can fill: reached without a link, whole or not there.

What lies in a course's folders may have been put there by others. So paths are opened one part
after the other, each relative to the folder that holds it and without following links: none can be
swapped for another between a look and a read. Files are written beside their place and moved there.
"""

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# There is one writer at a time, so what a killed one left under this name is written over.
TEMPORARY_NAME = ".being-written"
# What the system says where there is no room left: on the disk, or for this user or this file.
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Jupyter puts this beside a notebook that somebody opens.
CHECKPOINTS = ".ipynb_checkpoints"


def check_name(name: str) -> str:
    """The name, if it is one part of a path; ValueError otherwise.

    >>> check_name("ada")
    'ada'
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a file or folder")
    return name


def swap_folders(one: Path, other: Path):
    """Let two folders change places at once, so that whoever looks finds one or the other.

    Raises OSError where the system or the disk cannot do it.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, both = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if renameat2(here, os.fsencode(one), here, os.fsencode(other), both):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))


def let_group_write(at: Path | int):
    """Let the group write a file or a folder, if it is one's own."""
    about = os.stat(at)
    wanted = 0o2770 if stat.S_ISDIR(about.st_mode) else 0o660
    if about.st_uid == os.geteuid() and about.st_mode & wanted != wanted:
        os.chmod(at, stat.S_IMODE(about.st_mode) | wanted)


@contextlib.contextmanager
def open_below(
    root: Path | int, *names: str, make: bool = False, shared: bool = False
) -> Iterator[int]:
    """A descriptor of what lies below ``root`` by these names, reached without following a link.

    ``root`` is a path, which is taken as it stands, or the descriptor of a folder. Missing folders
    are made if ``make``; if ``shared``, the group may write in all of them. Raises OSError if a
    name is a link or, without ``make``, not there; nothing waits for a fifo.
    """
    at = os.dup(root) if isinstance(root, int) else os.open(root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for name in names:
            below = _open_one(at, check_name(name), make, shared)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


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
    """The content of a file below ``root``; None of one that is longer than ``most`` bytes.

    None, too, where no regular file is reached without following a link.
    """
    with contextlib.suppress(OSError), open_below(root, *names) as at:
        about = os.fstat(at)
        if stat.S_ISREG(about.st_mode) and about.st_size <= most:
            with open(at, "rb", closefd=False) as file:
                return file.read()
    return None


def write(folder: int, name: str, content: bytes, mode: int = 0o600, *, durable: bool = True):
    """Put bytes into an open folder under a name: others see all of them, or what was there before.

    If ``durable``, they are on the disk afterwards, whatever happens to the machine.
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
    except OSError:  # half a file takes room, where there is none left
        with contextlib.suppress(OSError):
            os.unlink(TEMPORARY_NAME, dir_fd=folder)
        raise
    os.replace(TEMPORARY_NAME, check_name(name), src_dir_fd=folder, dst_dir_fd=folder)
    if durable:
        os.fsync(folder)


def touch(folder: int, name: str):
    """Put an empty file into an open folder, if nothing of that name is there."""
    with contextlib.suppress(FileExistsError):
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        os.close(os.open(check_name(name), new, 0o600, dir_fd=folder))


def write_files(folder, contents, mode, *, shared=False, alone=True):
    """Write files, bytes by path, below an open folder; other files go away if these are ``alone``.

    Not durable: what is lost with the machine is told by ``has_files``, and can be written again.
    Raises OSError where a link is in the way, or, unless ``alone``, a folder in a file's place.
    """
    if alone:
        _delete_others(folder, contents)
    for path, content in contents.items():
        *above, name = PurePosixPath(path).parts
        with open_below(folder, *above, make=True, shared=shared) as place:
            write(place, name, content, mode, durable=False)


def _delete_others(folder, contents):
    """Leave nothing below an open folder but these files and the folders that they lie in."""
    needed = {str(above) for path in contents for above in PurePosixPath(path).parents}
    for path, name, place in _walk_files(folder):
        if path not in contents:
            os.unlink(name, dir_fd=place)
    # The innermost folders go first. One in which Jupyter keeps something is not empty, and stays.
    for where, folders, _, place in os.fwalk(".", topdown=False, dir_fd=folder):
        for name in folders:
            if str(PurePosixPath(where, name)) not in needed:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=place)


def has_files(folder, contents, *, alone=True):
    """Whether an open folder holds these files, bytes by path: no link, no other if ``alone``."""
    left = dict(contents)
    for path, name, place in _walk_files(folder):
        if path in left:
            content = left.pop(path)
            if read(place, name, most=len(content)) != content:
                return False
        elif alone:
            return False
    return not left


def _walk_files(folder):
    """Each file or link below an open folder: its path, its name, its folder's descriptor."""
    for where, folders, names, place in os.fwalk(".", dir_fd=folder):
        folders[:] = [name for name in folders if name != CHECKPOINTS]
        links = [name for name in folders if _is_link(name, place)]
        for name in (*names, *links):
            yield str(PurePosixPath(where, name)), name, place


def _is_link(name, place):
    return stat.S_ISLNK(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode)
