"""Reads files from a folder that students can write to: regular files within limits, no links."""

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
    """A file's content. ``changed`` is its modification time in nanoseconds since 1970.

    ``is_hard_linked`` says that the file has another name on this disk, perhaps in another
    student's folder.
    """

    data: bytes
    changed: int
    is_hard_linked: bool = False


def list_entries(folder: int) -> list[os.DirEntry]:
    """Return an open folder's entries by name, without junk from systems and editors."""
    with os.scandir(folder) as entries:
        wanted = [entry for entry in entries if not is_junk(entry.name)]
    return sorted(wanted, key=lambda entry: entry.name)


def read_files(root: Path, name: str) -> dict[str, File]:
    """Return the files of a folder below ``root`` by relative path, or a single file by name.

    Raises RefusedError, with a message for the student, for special files and files beyond the
    limits. Raises MachineryError for files that are unreadable, missing, or change during reading.
    """
    files: dict[str, File] = {}
    try:
        with open_below(root, *PurePosixPath(name).parts) as opened:
            if stat.S_ISDIR(os.fstat(opened).st_mode):
                _read_folder(opened, PurePosixPath(), files, [])
            else:
                _read_file(opened, PurePosixPath(name).name, files)
    except OSError as error:
        message = sentence("intake.unreadable", name=escape_text(name), reason=error.strerror)
        raise MachineryError(message) from error
    return files


def _read_folder(folder, parent, files, folders):
    if len(parent.parts) >= DEEPEST:
        raise RefusedError(sentence("intake.deep", most=DEEPEST))
    folders.append(parent)
    if len(folders) > MOST_FOLDERS:
        raise RefusedError(sentence("intake.many_folders", most=MOST_FOLDERS))
    for entry in list_entries(folder):
        path = parent / entry.name
        if fault := find_file_name_fault(entry.name):
            raise RefusedError(sentence("intake.bad_file", name=escape_text(str(path)), why=fault))
        if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
            raise RefusedError(sentence("intake.no_file", name=escape_text(str(path))))
        with open_below(folder, entry.name) as opened:
            if entry.is_dir(follow_symlinks=False):
                _read_folder(opened, path, files, folders)
            else:
                _read_file(opened, str(path), files)


def _read_file(opened, path, files):
    before = os.fstat(opened)
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
    with os.fdopen(os.dup(opened), "rb") as file:
        data = file.read(LARGEST_FILE + 1)
    after = os.fstat(opened)
    if len(data) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
        raise MachineryError(sentence("intake.changing", name=path))
    files[path] = File(data, before.st_mtime_ns, before.st_nlink > 1)
