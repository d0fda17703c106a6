"""Files of a folder that a student could fill: regular ones within bounds, and through no link."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from roofgrade.common.errors import MachineryError, RefusedError
from roofgrade.common.safe_files import open_below
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.intake.names import find_file_name_fault, is_junk

MEGABYTE = 1 << 20
LARGEST_FILE = 10 * MEGABYTE
LARGEST_FOLDER = 20 * MEGABYTE
MOST_FILES = MOST_FOLDERS = 200
DEEPEST = 8


@dataclass(frozen=True)
class File:
    """A file as it was read; ``changed`` is its time in nanoseconds since 1970.

    ``linked`` says that it has a second name on this disk, which may be somebody else's.
    """

    data: bytes
    changed: int
    is_hard_linked: bool = False


def list_entries(folder: int) -> list[os.DirEntry]:
    """What lies in an opened folder, by name, without what systems leave behind."""
    with os.scandir(folder) as found:
        return sorted((each for each in found if not is_junk(each.name)), key=lambda e: e.name)


def read_files(root: Path, name: str) -> dict[str, File]:
    """The files of a folder below ``root`` by their paths in it, or the one file of that name.

    Raises RefusedError, with words for the student, for what is no regular file or beyond the
    bounds; MachineryError for what cannot be read, is gone, or changes while it is read.
    """
    files: dict[str, File] = {}
    try:
        with open_below(root, *PurePosixPath(name).parts) as at:
            if stat.S_ISDIR(os.fstat(at).st_mode):
                _read_folder(at, PurePosixPath(), files, [])
            else:
                _read_file(at, PurePosixPath(name).name, files)
    except OSError as error:
        said = sentence("intake.unreadable", name=escape_text(name), reason=error.strerror)
        raise MachineryError(said) from error
    return files


def _read_folder(folder, below, files, folders):
    if len(below.parts) >= DEEPEST:
        raise RefusedError(sentence("intake.deep", most=DEEPEST))
    folders.append(below)
    if len(folders) > MOST_FOLDERS:
        raise RefusedError(sentence("intake.many_folders", most=MOST_FOLDERS))
    for entry in list_entries(folder):
        path = below / entry.name
        if wrong := find_file_name_fault(entry.name):
            raise RefusedError(sentence("intake.bad_file", name=escape_text(str(path)), why=wrong))
        if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
            raise RefusedError(sentence("intake.no_file", name=escape_text(str(path))))
        with open_below(folder, entry.name) as at:
            if entry.is_dir(follow_symlinks=False):
                _read_folder(at, path, files, folders)
            else:
                _read_file(at, str(path), files)


def _read_file(at, path, files):
    before = os.fstat(at)
    if not stat.S_ISREG(before.st_mode):
        raise RefusedError(sentence("intake.no_file", name=escape_text(str(path))))
    if before.st_size > LARGEST_FILE:
        sizes = {"size": before.st_size / MEGABYTE, "most": LARGEST_FILE / MEGABYTE}
        raise RefusedError(sentence("intake.large_file", name=path, **sizes))
    total = before.st_size + sum(len(file.data) for file in files.values())
    if total > LARGEST_FOLDER:
        raise RefusedError(sentence("intake.large_folder", most=LARGEST_FOLDER / MEGABYTE))
    if len(files) >= MOST_FILES:
        raise RefusedError(sentence("intake.many_files", most=MOST_FILES))
    with os.fdopen(os.dup(at), "rb") as file:
        data = file.read(LARGEST_FILE + 1)
    after = os.fstat(at)
    if len(data) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
        raise MachineryError(sentence("intake.changing", name=path))
    files[path] = File(data, before.st_mtime_ns, before.st_nlink > 1)
