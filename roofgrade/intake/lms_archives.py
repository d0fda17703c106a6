"""What an LMS gives an instructor, one zip of a whole class, put where nbgrader looks for it.

Three kinds are told apart by the names in them:

- Moodle's "Download all submissions": ``Ada Lovelace_12345_assignsubmission_file_/ps1.ipynb``, or
  the same without the folder (mod/assign, "Download submissions in folders").
- Canvas's "Download Submissions": ``lovelaceada_LATE_123_456_ps1-1.ipynb``. Canvas itself adds the
  -1 when a file of one name is handed in again.
- Any other: ``ada/ps1/ps1.ipynb``, also without the set's folder, or with it or one called
  "submitted" or "submissions" around all.

``names`` knows how each LMS writes them, ``people`` whom they mean. What may be two people's is
left out: a person decides.

None of them says when something was handed in: the times in a zip are those of its making, or of
the file, and a timestamp.txt in it may be the student's own. So none is written, and nbgrader's
late penalty sees nothing; Canvas's mark is passed on as a remark.
"""

import contextlib
import itertools
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from roofgrade.common import safe_files
from roofgrade.common.errors import MachineryError, RefusedError
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.course import Course
from roofgrade.intake.bounded_files import (
    DEEPEST,
    LARGEST_FILE,
    LARGEST_FOLDER,
    MEGABYTE,
    MOST_FILES,
    read_files,
)
from roofgrade.intake.names import (
    NOTEBOOK,
    TIMESTAMP,
    Sender,
    find_author,
    find_file_name_fault,
    find_id_fault,
    find_set,
    find_signed_id,
    is_junk,
    is_notebook,
    make_student_id,
    normalise_name,
    read_sender,
)
from roofgrade.intake.people import People, UnclearOwnerError, make_id

MOST_ENTRIES = 100_000
# Packed notebooks are about ten times smaller; what shrinks this much was made to do harm.
HIGHEST_RATIO = 200
OUTER_FOLDERS = frozenset({"submitted", "submissions"})
UTF8_FLAG = 0x800  # the flag of a name that is UTF-8
# What zipfile raises where an archive is damaged; two errors of its own are RuntimeErrors.
DAMAGED_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
)


@dataclass(frozen=True, kw_only=True)
class UnpackedEntry:
    """What became of one entry: where it went, below ``submitted/``, or "" and why it did not.

    ``why`` may also remark on what was taken in.
    """

    entry: str
    student: str = ""
    to: str = ""
    why: str = ""


@dataclass(frozen=True)
class _OwnedEntry:
    """An entry that is somebody's. ``sender`` is what the LMS says of whom, if it is an LMS's."""

    info: zipfile.ZipInfo
    student: str
    path: str
    sender: Sender | None = None
    remark: str = ""


class _SkippedError(Exception):
    """Why an entry is not taken in."""


def unpack_archive(
    archive: Path, course: Course, assignment: str, people: People | None = None
) -> list[UnpackedEntry]:
    """Put each student's files of one set where they belong, and say what became of every entry.

    ``people`` are the students of the roster. Who is not one of them, or may be two of them, is
    left out, with a reason; without a roster, ids are made of names and numbers.

    What is in the zip counts from now on. What was there before, if it differs, moves to
    ``grading/earlier/STUDENT/SET/1``, 2 and so on; a zip that holds only what was once replaced
    changes nothing. Raises ValueError if this is no zip, or looks like one made to do harm, and if
    there is no release of the set.
    """
    course.release_path(assignment)
    try:
        packed = zipfile.ZipFile(archive)
    except DAMAGED_ERRORS as error:
        raise ValueError(sentence("archives.no_zip", path=archive, error=error)) from error
    with packed:
        infos = [info for info in packed.infolist() if not info.is_dir()]
        _check_for_bombs(archive, infos)
        told: dict[zipfile.ZipInfo, UnpackedEntry] = {}
        whose: dict[str, list[_OwnedEntry]] = {}
        look = _OwnerFinder(course, assignment, people)
        for entry in look.find_owned(infos, told):
            whose.setdefault(entry.student, []).append(entry)
        for student, entries in sorted(whose.items()):
            if why := look.find_doubt(student, entries):
                told |= {entry.info: _skip_entry(entry, why) for entry in entries}
            else:
                told |= _write_student_files(packed, course, student, assignment, entries)
        return [told[info] for info in infos]


class _OwnerFinder:
    """Whose the entries of an archive are, for one set."""

    def __init__(self, course, assignment, people):
        self._assignment, self._sets, self._people = assignment, course.released_sets(), people
        self._place = f"{course.submitted.name}/ID/{assignment}/"

    def find_owned(self, infos, told) -> Iterator[_OwnedEntry]:
        """Those that are somebody's; why others are not goes into ``told``."""
        paths = {}
        for info in infos:
            try:
                paths[info] = _split_path(info)
            except _SkippedError as error:
                told[info] = UnpackedEntry(entry=escape_text(info.filename), why=str(error))
        around = self._count_outer(paths.values())
        for info, parts in paths.items():
            try:
                yield self._make_entry(info, parts, around)
            except (_SkippedError, UnclearOwnerError) as error:
                told[info] = UnpackedEntry(entry=escape_text(info.filename), why=str(error))

    def find_doubt(self, student, entries) -> str:
        """Why these entries may not all be this student's, or ""."""
        numbers = {entry.sender.number: entry.sender for entry in entries if entry.sender}
        if len(numbers) < 2 or self._people is None:
            return ""
        told = {"numbers": sentence("people.and").join(sorted(numbers)), "place": self._place}
        name = escape_text(next(iter(numbers.values())).full_name)
        return sentence(
            "people.senders", **told, name=name, student=self._people.format_student(student)
        )

    def _count_outer(self, paths):
        """How many folders lie around all files, none of them a student's."""
        levels = zip(*(parts[:-1] for parts in paths), strict=False)
        common = itertools.takewhile(lambda names: len({*names}) == 1, levels)
        alien = itertools.takewhile(lambda names: not self._is_student_folder(names[0]), common)
        return len([*alien])

    def _is_student_folder(self, folder):
        return read_sender(folder, folder=True) or self._find_ids(folder)

    def _find_ids(self, name):
        return self._people.find_ids(name) if self._people else set()

    def _make_entry(self, info, parts, around):
        """Whose an entry is, and where in that student's folder it belongs."""
        told = read_sender(parts[around], folder=around < len(parts) - 1)
        remark = ""
        if told:
            inside = [*filter(None, [told.file_name]), *parts[around + 1 :]]
            student, remark = self._find_sender(told)
        else:
            student, inside = self._find_by_folder(parts, around)
        if wrong := find_file_name_fault(inside[0]) if inside else sentence("intake.no_name"):
            raise _SkippedError(wrong)
        if len(inside) > 1 and find_set(inside[0], self._sets) == self._assignment:
            inside = inside[1:]
        if len(inside) > DEEPEST:
            raise _SkippedError(sentence("archives.deep", most=DEEPEST))
        if wrong := find_id_fault(student):
            raise _SkippedError(sentence("archives.no_id", name=escape_text(student), why=wrong))
        if normalise_name(inside[0]) == TIMESTAMP and len(inside) == 1:
            raise _SkippedError(sentence("archives.time", place=self._place))
        return _OwnedEntry(info, student, "/".join(inside), told, remark)

    def _find_sender(self, told):
        late = sentence("archives.late", lms=told.lms) if told.late else ""
        if self._people is None:
            return make_student_id(told.full_name, told.number), late
        student, remark = self._people.find_sender(told, self._place)
        return student, "; ".join(filter(None, (late, remark)))

    def _find_by_folder(self, parts, around):
        """Whose a file is, by the first folder of its path that does not lie around all others."""
        at = 0
        while at < len(parts) - 1 and self._is_outer_folder(parts[at], at < around):
            at += 1
        parts = parts[at:]
        if len(parts) > 1:
            whose, inside = parts[0], parts[1:]
        else:
            whose = self._find_by_file_name(parts[0]) if is_notebook(parts[0]) else ""
            inside = parts
        if not whose:
            raise _SkippedError(sentence("intake.whose", place=self._place))
        student = self._people.find_one(whose, self._place) if self._people else make_id(whose)
        if (other := find_set(inside[0], self._sets)) not in (None, self._assignment):
            raise _SkippedError(sentence("archives.of_another_set", assignment=other))
        return student, inside

    def _find_by_file_name(self, name):
        """Whose a file is by its own name; an id of digits counts where somebody has it."""
        whose = find_signed_id(name, self._assignment)
        return whose if self._find_ids(whose) else find_author(name, self._assignment)

    def _is_outer_folder(self, folder, around_all):
        """Whether a folder is of all students; ``ps1_bob`` and what it holds may be Bob's."""
        if self._find_ids(folder):
            return False
        if normalise_name(folder) in OUTER_FOLDERS:
            return True
        whose = find_author(folder, self._assignment)
        of_set = find_set(folder, self._sets) == self._assignment
        return of_set and (not whose or (around_all and not self._find_ids(whose)))


def _check_for_bombs(archive, infos):
    if len(infos) > MOST_ENTRIES:
        counts = {"count": len(infos), "most": MOST_ENTRIES}
        raise ValueError(sentence("archives.many_entries", path=archive, **counts))
    size, whole = archive.stat().st_size, sum(info.file_size for info in infos)
    if whole > MEGABYTE and whole > HIGHEST_RATIO * size:
        raise ValueError(sentence("archives.bomb", path=archive, times=whole / size))


def _split_path(info):
    """The components of the path of an entry that can be read, which stay where they are put."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise _SkippedError(sentence("archives.no_file"))
    if info.flag_bits & 1:
        raise _SkippedError(sentence("archives.encrypted"))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _SkippedError(sentence("archives.packed"))
    name = info.filename.replace("\\", "/")  # as some programs on Windows write it
    if not info.flag_bits & UTF8_FLAG:
        # Without the mark it is read as cp437, though macOS writes UTF-8 unmarked.
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or ".." in parts or parts[0].endswith(":"):
        raise _SkippedError(sentence("archives.leads_out"))
    if any(map(is_junk, parts)):
        raise _SkippedError(sentence("archives.system"))
    for part in parts:
        if wrong := find_file_name_fault(part):
            raise _SkippedError(wrong)
    return parts


def _write_student_files(
    archive, course, student, assignment, entries
) -> dict[zipfile.ZipInfo, UnpackedEntry]:
    """Write one student's files, keep what they replace, and say what became of each."""
    told, files, last = {}, {}, {entry.path: entry for entry in entries}
    for entry in entries:
        if last[entry.path] is not entry:
            told[entry.info] = _skip_entry(entry, sentence("archives.twice"))
    for path, entry in sorted(last.items()):
        try:
            if any(str(above) in files for above in PurePosixPath(path).parents):
                raise _SkippedError(sentence("archives.file_and_folder"))
            files[path] = _read_entry(archive, entry.info, files)
        except _SkippedError as error:
            told[entry.info] = _skip_entry(entry, str(error))
    if not files:
        return told
    target = course.submitted / student / assignment
    renamed = _rename_notebook(files, assignment)
    placed, why = _replace_folder(
        course, target, {renamed.get(p, p): data for p, data in files.items()}
    )
    for path in files:
        entry = last[path]
        to = f"{student}/{assignment}/{renamed.get(path, path)}" if placed else ""
        remarks = "; ".join(filter(None, (entry.remark, why)))
        told[entry.info] = UnpackedEntry(
            entry=escape_text(entry.info.filename), student=student, to=to, why=remarks
        )
    return told


def _read_entry(archive, info, files):
    size = info.file_size
    if size > LARGEST_FILE:
        raise _SkippedError(sentence("archives.large", most=LARGEST_FILE // MEGABYTE))
    if size > MEGABYTE and size > HIGHEST_RATIO * info.compress_size:
        raise _SkippedError(sentence("archives.entry_bomb"))
    if len(files) >= MOST_FILES or size + sum(map(len, files.values())) > LARGEST_FOLDER:
        raise _SkippedError(sentence("archives.too_much"))
    try:
        with archive.open(info) as file:
            data = file.read(size + 1)
    except DAMAGED_ERRORS as error:
        raise _SkippedError(sentence("archives.damaged", error=error)) from None
    if len(data) != size:
        raise _SkippedError(sentence("archives.short"))
    return data


def _rename_notebook(files, assignment):
    """The one notebook of this set gets the set's name, which plain nbgrader asks for."""
    notebooks = [path for path in files if is_notebook(path)]
    if len(notebooks) == 1 and "/" not in notebooks[0] and find_set(notebooks[0], [assignment]):
        return {notebooks[0]: f"{assignment}{NOTEBOOK}"}
    return {}


def _replace_folder(course, target, files):
    """Put the files there; returns whether they are, and what to remark on what was there.

    Whoever is killed meanwhile leaves what was there or what is new, and nothing is lost.
    """
    place = Path(target.parent.name, target.name)
    kept, work = course.grading / "earlier" / place, course.grading / "unpacking" / place
    _finish_interrupted(work, kept)
    there = os.path.lexists(target)
    if there and _has_files(target, files):
        return True, sentence("archives.there_already")
    if there and any(_has_files(version, files) for version in _list_versions(kept)):
        return False, sentence("archives.replaced_before")
    shared = course.shared
    try:
        where = course.grading, "unpacking", *place.parts, "new"
        with safe_files.open_below(*where, make=True, shared=shared) as new:
            safe_files.write_files(new, files, 0o664 if shared else 0o644, shared=shared)
    except OSError:
        _finish_interrupted(work, kept)
        raise
    remark = ""
    if there:
        version = _swap_in(work / "new", target, kept)
        remark = sentence("archives.moved", folder=version.relative_to(course.root))
    else:
        for folder in (target.parent.parent, target.parent):
            folder.mkdir(parents=True, exist_ok=True)
            course.open_to_group(folder)
        shutil.move(work / "new", target)
    _finish_interrupted(work, kept)
    return True, remark


def _swap_in(new, target, kept):
    """Put a folder in the place of the target; returns where the target is kept now."""
    # Under this name, a folder of another number is what was there: the two have changed places.
    named = new.rename(new.with_name(str(new.stat().st_ino)))
    try:
        safe_files.swap_folders(named, target)
    except OSError:  # another disk, say
        version = _store_version(target, kept)
        shutil.move(named, target)
        return version
    return _store_version(named, kept)


def _finish_interrupted(work, kept):
    """Drop what a killed unpacking left unfinished, and keep what it had just replaced."""
    work.mkdir(parents=True, exist_ok=True)  # so that what is empty goes in the end, too
    for left in list(work.iterdir()):
        if left.name in ("new", str(left.lstat().st_ino)):
            shutil.rmtree(left)
        else:
            _store_version(left, kept)
    os.removedirs(work)


def _list_versions(kept):
    """What was replaced before, the oldest first."""
    found = [path for path in kept.iterdir() if path.name.isdigit()] if kept.is_dir() else []
    return sorted(found, key=lambda path: int(path.name))


def _store_version(folder, kept):
    """Keep a folder as the latest version."""
    version = kept / str(max((int(path.name) for path in _list_versions(kept)), default=0) + 1)
    kept.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, version)
    return version


def _has_files(folder, files):
    """Whether a folder holds these files and no others, a time of handing in set aside."""
    try:
        there = read_files(folder.parent, folder.name)
    except (RefusedError, MachineryError):
        return False
    there.pop(TIMESTAMP, None)
    return {path: file.data for path, file in there.items()} == files


def _skip_entry(entry, why):
    return UnpackedEntry(entry=escape_text(entry.info.filename), student=entry.student, why=why)
