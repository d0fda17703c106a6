"""Files that are whole or not there, and that are never written through a link.

What lies in a course's folders may have been put there by others. So folders are opened one part of
a path after the other, without following links, and files are written beside their place and moved
there.
"""

import contextlib
import os
import stat
from pathlib import PurePosixPath

# One writer at a time: what a killed one left is written over.
TEMPORARY = ".being-written"
# Jupyter puts this beside a notebook that somebody opens.
FOREIGN = ".ipynb_checkpoints"


def checked(name):
    """The name, if it is one part of a path; ValueError otherwise.

    >>> checked("ada")
    'ada'
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a file or folder")
    return name


@contextlib.contextmanager
def opened(root, *names, within=None, make=False, shared=False):
    """The descriptor of a folder: ``root`` as it stands, and what is below it by names and no link.

    ``root`` is seen from the open folder ``within``. Missing folders are made if ``make``, for a
    whole group if ``shared``. Raises OSError if a name is a link, no folder or, without ``make``,
    not there.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY, dir_fd=within)
    try:
        for name in names:
            below = _below(folder, checked(name), make, shared)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _below(folder, name, make, shared):
    made = False
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            made = True
    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    if made and shared:
        os.fchmod(below, 0o2770)
    return below


def write(folder, name, content, mode=0o600, *, durable=True):
    """Put bytes into an open folder under a name: others see all of them, or what was there before.

    If ``durable``, they are on the disk afterwards, whatever happens to the machine.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(TEMPORARY, dir_fd=folder)
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(TEMPORARY, new, 0o600, dir_fd=folder), "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), mode)
        if durable:
            os.fsync(file.fileno())
    os.replace(TEMPORARY, checked(name), src_dir_fd=folder, dst_dir_fd=folder)
    if durable:
        os.fsync(folder)


def fill(folder, contents, mode, *, shared=False, alone=True):
    """Write files, bytes by path, below an open folder; other files go away if these are ``alone``.

    Not durable: what is lost with the machine is told by ``holds``, and can be written again.
    Raises OSError where a link is in the way, or, unless ``alone``, a folder in a file's place.
    """
    if alone:
        _clear(folder, contents)
    for path, content in contents.items():
        *above, name = PurePosixPath(path).parts
        with opened(".", *above, within=folder, make=True, shared=shared) as place:
            write(place, name, content, mode, durable=False)


def _clear(folder, contents):
    """Leave nothing below an open folder but these files and the folders that they lie in."""
    needed = {str(above) for path in contents for above in PurePosixPath(path).parents}
    for path, name, place in _lying(folder):
        if path not in contents:
            os.unlink(name, dir_fd=place)
    # From the innermost out. What Jupyter keeps in one stays, and so does that one.
    for where, folders, _, place in os.fwalk(".", topdown=False, dir_fd=folder):
        for name in folders:
            if str(PurePosixPath(where, name)) not in needed:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=place)


def holds(folder, contents, *, alone=True):
    """Whether an open folder holds these files, bytes by path: no link, no other if ``alone``."""
    left = dict(contents)
    for path, name, place in _lying(folder):
        if path in left:
            if not _same(place, name, left.pop(path)):
                return False
        elif alone:
            return False
    return not left


def _same(place, name, content):
    try:
        unfollowed = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with open(os.open(name, unfollowed, dir_fd=place), "rb") as file:
            return os.fstat(file.fileno()).st_size == len(content) and file.read() == content
    except OSError:
        return False


def _lying(folder):
    """Each file or link below an open folder: its path, its name, the descriptor it is in."""
    for where, folders, names, place in os.fwalk(".", dir_fd=folder):
        folders[:] = [name for name in folders if name != FOREIGN]
        links = [name for name in folders if _is_link(name, place)]
        for name in (*names, *links):
            yield str(PurePosixPath(where, name)), name, place


def _is_link(name, place):
    return stat.S_ISLNK(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode)
