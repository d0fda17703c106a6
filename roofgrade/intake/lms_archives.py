"""Unpacks an LMS's zip of a whole class to the folders where nbgrader expects submissions.

It recognises three kinds of zip by the names in it. Moodle's "Download all submissions"
(mod/assign) has ``Ada Lovelace_12345_assignsubmission_file_/ps1.ipynb``, or the same without the
folder. Canvas's "Download Submissions" has ``lovelaceada_LATE_123_456_ps1-1.ipynb``, where -1
counts resubmissions. Any other zip has ``ada/ps1/ps1.ipynb``, with or without the set's folder,
perhaps in an outer folder named after the set, "submitted" or "submissions".

No zip contains the submission time, and a timestamp.txt in it may be the student's own. Therefore
no time is written, and nbgrader takes no late penalty. Canvas's late mark becomes a remark.
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
from roofgrade.intake import bounded_files, names
from roofgrade.intake.people import People, UnclearOwnerError, make_id

MOST_ENTRIES = 100_000
# Compressed notebooks are about ten times smaller. Only a zip bomb shrinks more than this.
HIGHEST_RATIO = 200
OUTER_FOLDERS = frozenset({"submitted", "submissions"})
UTF8_FLAG = 0x800  # marks a name in UTF-8
# zipfile raises these if an archive is damaged.
FORMAT_ERRORS = zipfile.BadZipFile, zlib.error, struct.error
DAMAGED_ERRORS = *FORMAT_ERRORS, EOFError, OSError, ValueError, RuntimeError


@dataclass(frozen=True, kw_only=True)
class UnpackedEntry:
    """A zip entry's path below ``submitted/``, or "" and the reason it was left out.

    For an unpacked entry, ``why`` may be a remark.
    """

    entry: str
    to: str = ""
    why: str = ""


@dataclass(frozen=True)
class _OwnedEntry:
    info: zipfile.ZipInfo
    student: str
    path: str
    sender: names.Sender | None = None
    remark: str = ""


class _SkippedError(Exception):
    """An entry must be left out. The message says why."""


def unpack_archive(
    archive: Path, course: Course, assignment: str, people: People | None = None
) -> list[UnpackedEntry]:
    """Unpack each student's files of one set, and return a report on every entry.

    ``people`` are the students on the roster. Files that match nobody or two people on it are left
    out. Without a roster, ids are made from names and numbers.

    If a student's folder already has other files, they move to ``grading/earlier/STUDENT/SET/1``, 2
    and so on. A zip with a previously replaced version changes nothing. Raises ValueError if
    ``archive`` is not a zip or looks like a zip bomb, or if the set has no release.
    """
    course.release_path(assignment)
    try:
        packed = zipfile.ZipFile(archive)
    except DAMAGED_ERRORS as error:
        raise ValueError(sentence("archives.no_zip", path=archive, error=error)) from error
    with packed:
        # ZipInfo.is_dir raises IndexError for an entry without a name.
        infos = [info for info in packed.infolist() if not info.filename.endswith("/")]
        _check_for_bombs(archive, infos)
        reports: dict[zipfile.ZipInfo, UnpackedEntry] = {}
        owned: dict[str, list[_OwnedEntry]] = {}
        finder = _OwnerFinder(course, assignment, people)
        for entry in finder.find_owned(infos, reports):
            owned.setdefault(entry.student, []).append(entry)
        for student, entries in sorted(owned.items()):
            if why := finder.find_doubt(student, entries):
                reports |= {entry.info: _report_entry(entry, why) for entry in entries}
            else:
                reports |= _write_student_files(packed, course, student, assignment, entries)
        return [reports[info] for info in infos]


class _OwnerFinder:
    def __init__(self, course, assignment, people):
        self._assignment, self._sets, self._people = assignment, course.released_sets(), people
        self._place = f"{course.submitted.name}/ID/{assignment}/"

    def find_owned(self, infos, reports) -> Iterator[_OwnedEntry]:
        """Yield the entries with an owner, and add a report on each other entry to ``reports``."""
        paths = {}
        for info in infos:
            try:
                paths[info] = _split_path(info)
            except _SkippedError as error:
                reports[info] = UnpackedEntry(entry=escape_text(info.filename), why=str(error))
        outer = self._count_outer(paths.values())
        for info, parts in paths.items():
            try:
                yield self._make_entry(info, parts, outer)
            except (_SkippedError, UnclearOwnerError) as error:
                reports[info] = UnpackedEntry(entry=escape_text(info.filename), why=str(error))

    def find_doubt(self, student, entries) -> str:
        """Return the reason why these entries may not all be this student's, or ""."""
        numbers = {entry.sender.number: entry.sender for entry in entries if entry.sender}
        if len(numbers) < 2 or self._people is None:
            return ""
        return sentence(
            "people.senders", numbers=sentence("people.and").join(sorted(numbers)),
            place=self._place, name=escape_text(next(iter(numbers.values())).full_name),
            student=self._people.format_student(student),
        )  # fmt: skip

    def _count_outer(self, paths):
        """Return the number of outer folders that contain all files and belong to no student."""
        levels = zip(*(parts[:-1] for parts in paths), strict=False)
        common = itertools.takewhile(lambda level: len({*level}) == 1, levels)
        for depth, (folder, *_) in enumerate(levels := [*common]):
            if names.read_sender(folder, folder=True) or self._find_ids(folder):
                return depth
        return len(levels)

    def _find_ids(self, name):
        return self._people.find_ids(name) if self._people else set()

    def _make_entry(self, info, parts, outer):
        sender = names.read_sender(parts[outer], folder=outer < len(parts) - 1)
        remark = ""
        if sender:
            inside = [*filter(None, [sender.file_name]), *parts[outer + 1 :]]
            student, remark = self._find_sender(sender)
        else:
            student, inside = self._find_by_folder(parts, outer)
        if fault := names.find_file_name_fault(inside[0]) if inside else sentence("intake.no_name"):
            raise _SkippedError(fault)
        if len(inside) > 1 and names.find_set(inside[0], self._sets) == self._assignment:
            inside = inside[1:]
        if len(inside) > bounded_files.DEEPEST:
            raise _SkippedError(sentence("archives.deep", most=bounded_files.DEEPEST))
        if fault := names.find_id_fault(student):
            raise _SkippedError(sentence("archives.no_id", name=escape_text(student), why=fault))
        if names.normalise_name(inside[0]) == names.TIMESTAMP and len(inside) == 1:
            raise _SkippedError(sentence("archives.time", place=self._place))
        return _OwnedEntry(info, student, "/".join(inside), sender, remark)

    def _find_sender(self, sender):
        late = sentence("archives.late", lms=sender.lms) if sender.late else ""
        if self._people is None:
            return names.make_student_id(sender.full_name, sender.number), late
        student, remark = self._people.find_sender(sender, self._place)
        return student, "; ".join(filter(None, (late, remark)))

    def _find_by_folder(self, parts, outer):
        depth = 0
        while depth < len(parts) - 1 and self._is_outer_folder(parts[depth], depth < outer):
            depth += 1
        parts = parts[depth:]
        if len(parts) > 1:
            owner, inside = parts[0], parts[1:]
        else:
            owner = self._find_by_file_name(parts[0]) if names.is_notebook(parts[0]) else ""
            inside = parts
        if not owner:
            raise _SkippedError(sentence("intake.whose", place=self._place))
        student = self._people.find_one(owner, self._place) if self._people else make_id(owner)
        if (other_set := names.find_set(inside[0], self._sets)) not in (None, self._assignment):
            raise _SkippedError(sentence("archives.of_another_set", assignment=other_set))
        return student, inside

    def _find_by_file_name(self, name):
        """Return the owner named in a file name. An id in it must be a known student's."""
        signed_id = names.find_signed_id(name, self._assignment)
        return signed_id if self._find_ids(signed_id) else names.find_author(name, self._assignment)

    def _is_outer_folder(self, folder, contains_all):
        """Return whether a folder may contain several students' files; ``ps1_bob`` may be Bob's."""
        if self._find_ids(folder):
            return False
        if names.normalise_name(folder) in OUTER_FOLDERS:
            return True
        author = names.find_author(folder, self._assignment)
        of_set = names.find_set(folder, self._sets) == self._assignment
        return of_set and (not author or (contains_all and not self._find_ids(author)))


def _check_for_bombs(archive, infos):
    if len(infos) > MOST_ENTRIES:
        counts = {"count": len(infos), "most": MOST_ENTRIES}
        raise ValueError(sentence("archives.many_entries", path=archive, **counts))
    packed, unpacked = archive.stat().st_size, sum(info.file_size for info in infos)
    if unpacked > max(bounded_files.MEGABYTE, HIGHEST_RATIO * packed):
        raise ValueError(sentence("archives.bomb", path=archive, times=unpacked / packed))


def _split_path(info):
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise _SkippedError(sentence("archives.no_file"))
    if info.flag_bits & 1:
        raise _SkippedError(sentence("archives.encrypted"))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _SkippedError(sentence("archives.packed"))
    name = info.filename.replace("\\", "/")  # as some programs on Windows write it
    if not info.flag_bits & UTF8_FLAG:
        # zipfile reads a name without the flag as cp437, but macOS writes UTF-8 without it.
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not name:
        raise _SkippedError(sentence("archives.no_name"))
    if not parts or name.startswith("/") or ".." in parts or parts[0].endswith(":"):
        raise _SkippedError(sentence("archives.leads_out"))
    if any(map(names.is_junk, parts)):
        raise _SkippedError(sentence("archives.system"))
    for part in parts:
        if fault := names.find_file_name_fault(part):
            raise _SkippedError(fault)
    return parts


def _write_student_files(archive, course, student, assignment, entries):
    """Write one student's files, and return the report on each entry."""
    files, by_path = {}, {entry.path: entry for entry in entries}
    repeated = [entry for entry in entries if by_path[entry.path] is not entry]
    reports = {entry.info: _report_entry(entry, sentence("archives.twice")) for entry in repeated}
    for path, entry in sorted(by_path.items()):
        try:
            if any(str(above) in files for above in PurePosixPath(path).parents):
                raise _SkippedError(sentence("archives.file_and_folder"))
            files[path] = _read_entry(archive, entry.info, files)
        except _SkippedError as error:
            reports[entry.info] = _report_entry(entry, str(error))
    if not files:
        return reports
    target = course.submitted / student / assignment
    renamed = _rename_notebook(files, assignment)
    contents = {renamed.get(path, path): data for path, data in files.items()}
    is_placed, remark = _replace_folder(course, target, contents)
    for path in files:
        entry = by_path[path]
        to = f"{student}/{assignment}/{renamed.get(path, path)}" if is_placed else ""
        remarks = "; ".join(filter(None, (entry.remark, remark)))
        reports[entry.info] = _report_entry(entry, remarks, to)
    return reports


def _read_entry(archive, info, files):
    size = info.file_size
    if size > bounded_files.LARGEST_FILE:
        most = bounded_files.LARGEST_FILE // bounded_files.MEGABYTE
        raise _SkippedError(sentence("archives.large", most=most))
    if size > bounded_files.MEGABYTE and size > HIGHEST_RATIO * info.compress_size:
        raise _SkippedError(sentence("archives.entry_bomb"))
    total = size + sum(map(len, files.values()))
    if len(files) >= bounded_files.MOST_FILES or total > bounded_files.LARGEST_FOLDER:
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
    """Return the new name of the set's only notebook, since nbgrader needs the set's name."""
    notebooks = [path for path in files if names.is_notebook(path)]
    if len(notebooks) != 1 or "/" in notebooks[0]:
        return {}
    is_of_set = names.find_set(notebooks[0], [assignment])
    return {notebooks[0]: f"{assignment}{names.NOTEBOOK}"} if is_of_set else {}


def _replace_folder(course, target, files):
    """Write the files to ``target``. Returns whether they are there, and a remark.

    If this is interrupted, the same zip completes it, and the earlier version is kept.
    """
    student_set = Path(target.parent.name, target.name)
    earlier = course.grading / "earlier" / student_set
    exists, remark, shared = os.path.lexists(target), "", course.shared
    if exists and _has_files(target, files):
        return True, sentence("archives.there_already")
    if exists and any(_has_files(version, files) for version in _list_versions(earlier)):
        return False, sentence("archives.replaced_before")
    place = course.grading, "unpacking", *student_set.parts
    try:
        with safe_files.open_below(*place, make=True, shared=shared) as new:
            safe_files.write_files(new, files, 0o664 if shared else 0o644, shared=shared)
        if exists:
            version = _store_version(target, earlier)
            remark = sentence("archives.moved", folder=version.relative_to(course.root))
        for folder in (target.parent.parent, target.parent):
            folder.mkdir(parents=True, exist_ok=True)
            course.open_to_group(folder)
        shutil.move(Path(*place), target)
    finally:
        shutil.rmtree(course.grading / "unpacking", ignore_errors=True)
    return True, remark


def _list_versions(earlier):
    return [path for path in earlier.glob("*") if path.name.isdigit()]


def _store_version(folder, earlier):
    last = max((int(path.name) for path in _list_versions(earlier)), default=0)
    version = earlier / str(last + 1)
    earlier.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, version)
    return version


def _has_files(folder, files):
    try:
        current = bounded_files.read_files(folder.parent, folder.name)
    except (RefusedError, MachineryError):
        return False
    current.pop(names.TIMESTAMP, None)
    return {path: file.data for path, file in current.items()} == files


def _report_entry(entry, why, to=""):
    name = escape_text(entry.info.filename)
    return UnpackedEntry(entry=name, to=to, why=why)
