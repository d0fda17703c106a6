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
from roofgrade.common.sentences import escaped, words
from roofgrade.course import Course
from roofgrade.intake.files import (
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
    author,
    fault,
    fault_of_file,
    form,
    is_junk,
    is_notebook,
    means,
    sender,
    signed,
    student_id,
)
from roofgrade.intake.people import People, UnsureError, new_id

MOST_ENTRIES = 100_000
# Packed notebooks are about ten times smaller; what shrinks this much was made to do harm.
HIGHEST_RATIO = 200
AROUND = frozenset({"submitted", "submissions"})
UTF8 = 0x800  # the flag of a name that is UTF-8
# What zipfile raises where an archive is damaged; two errors of its own are RuntimeErrors.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
)


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """What became of one entry: where it went, below ``submitted/``, or "" and why it did not.

    ``why`` may also remark on what was taken in.
    """

    entry: str
    student: str = ""
    to: str = ""
    why: str = ""


@dataclass(frozen=True)
class _Entry:
    """An entry that is somebody's. ``sender`` is what the LMS says of whom, if it is an LMS's."""

    info: zipfile.ZipInfo
    student: str
    path: str
    sender: Sender | None = None
    remark: str = ""


class _LeftError(Exception):
    """Why an entry is not taken in."""


def unpack(
    archive: Path, course: Course, assignment: str, people: People | None = None
) -> list[Unpacked]:
    """Put each student's files of one set where they belong, and say what became of every entry.

    ``people`` are the students of the roster. Who is not one of them, or may be two of them, is
    left out, with a reason; without a roster, ids are made of names and numbers.

    What is in the zip counts from now on. What was there before, if it differs, moves to
    ``grading/earlier/STUDENT/SET/1``, 2 and so on; a zip that holds only what was once replaced
    changes nothing. Raises ValueError if this is no zip, or looks like one made to do harm, and if
    there is no release of the set.
    """
    course.release(assignment)
    try:
        packed = zipfile.ZipFile(archive)
    except DAMAGED as error:
        raise ValueError(words("archives.no_zip", path=archive, error=error)) from error
    with packed:
        infos = [info for info in packed.infolist() if not info.is_dir()]
        _refuse_bombs(archive, infos)
        told: dict[zipfile.ZipInfo, Unpacked] = {}
        whose: dict[str, list[_Entry]] = {}
        look = _Look(course, assignment, people)
        for entry in look.entries(infos, told):
            whose.setdefault(entry.student, []).append(entry)
        for student, entries in sorted(whose.items()):
            if why := look.unsure(student, entries):
                told |= {entry.info: _left(entry, why) for entry in entries}
            else:
                told |= _put(packed, course, student, assignment, entries)
        return [told[info] for info in infos]


class _Look:
    """Whose the entries of an archive are, for one set."""

    def __init__(self, course, assignment, people):
        self._assignment, self._sets, self._people = assignment, course.released(), people
        self._place = f"{course.submitted.name}/ID/{assignment}/"

    def entries(self, infos, told) -> Iterator[_Entry]:
        """Those that are somebody's; why others are not goes into ``told``."""
        paths = {}
        for info in infos:
            try:
                paths[info] = _parts(info)
            except _LeftError as error:
                told[info] = Unpacked(entry=escaped(info.filename), why=str(error))
        around = self._around(paths.values())
        for info, parts in paths.items():
            try:
                yield self._entry(info, parts, around)
            except (_LeftError, UnsureError) as error:
                told[info] = Unpacked(entry=escaped(info.filename), why=str(error))

    def unsure(self, student, entries) -> str:
        """Why these entries may not all be this student's, or ""."""
        numbers = {entry.sender.number: entry.sender for entry in entries if entry.sender}
        if len(numbers) < 2 or self._people is None:
            return ""
        told = {"numbers": words("people.and").join(sorted(numbers)), "place": self._place}
        name = escaped(next(iter(numbers.values())).who)
        return words("people.senders", **told, name=name, student=self._people.said(student))

    def _around(self, paths):
        """How many folders lie around all files, none of them a student's."""
        levels = zip(*(parts[:-1] for parts in paths), strict=False)
        common = itertools.takewhile(lambda names: len({*names}) == 1, levels)
        alien = itertools.takewhile(lambda names: not self._is_own(names[0]), common)
        return len([*alien])

    def _is_own(self, folder):
        return sender(folder, folder=True) or self._ids(folder)

    def _ids(self, name):
        return self._people.called(name) if self._people else set()

    def _entry(self, info, parts, around):
        """Whose an entry is, and where in that student's folder it belongs."""
        told = sender(parts[around], folder=around < len(parts) - 1)
        remark = ""
        if told:
            inside = [*filter(None, [told.rest]), *parts[around + 1 :]]
            student, remark = self._sent(told)
        else:
            student, inside = self._plain(parts, around)
        if wrong := fault_of_file(inside[0]) if inside else words("intake.no_name"):
            raise _LeftError(wrong)
        if len(inside) > 1 and means(inside[0], self._sets) == self._assignment:
            inside = inside[1:]
        if len(inside) > DEEPEST:
            raise _LeftError(words("archives.deep", most=DEEPEST))
        if wrong := fault(student):
            raise _LeftError(words("archives.no_id", name=escaped(student), why=wrong))
        if form(inside[0]) == TIMESTAMP and len(inside) == 1:
            raise _LeftError(words("archives.time", place=self._place))
        return _Entry(info, student, "/".join(inside), told, remark)

    def _sent(self, told):
        late = words("archives.late", lms=told.lms) if told.late else ""
        if self._people is None:
            return student_id(told.who, told.number), late
        student, remark = self._people.sender(told, self._place)
        return student, "; ".join(filter(None, (late, remark)))

    def _plain(self, parts, around):
        """Whose a file is, by the first folder of its path that does not lie around all others."""
        at = 0
        while at < len(parts) - 1 and self._is_around(parts[at], at < around):
            at += 1
        parts = parts[at:]
        if len(parts) > 1:
            whose, inside = parts[0], parts[1:]
        else:
            whose = self._signed(parts[0]) if is_notebook(parts[0]) else ""
            inside = parts
        if not whose:
            raise _LeftError(words("intake.whose", place=self._place))
        student = self._people.one(whose, self._place) if self._people else new_id(whose)
        if (other := means(inside[0], self._sets)) not in (None, self._assignment):
            raise _LeftError(words("archives.of_another_set", assignment=other))
        return student, inside

    def _signed(self, name):
        """Whose a file is by its own name; an id of digits counts where somebody has it."""
        whose = signed(name, self._assignment)
        return whose if self._ids(whose) else author(name, self._assignment)

    def _is_around(self, folder, around_all):
        """Whether a folder is of all students; ``ps1_bob`` and what it holds may be Bob's."""
        if self._ids(folder):
            return False
        if form(folder) in AROUND:
            return True
        whose = author(folder, self._assignment)
        of_set = means(folder, self._sets) == self._assignment
        return of_set and (not whose or (around_all and not self._ids(whose)))


def _refuse_bombs(archive, infos):
    if len(infos) > MOST_ENTRIES:
        counts = {"count": len(infos), "most": MOST_ENTRIES}
        raise ValueError(words("archives.many_entries", path=archive, **counts))
    size, whole = archive.stat().st_size, sum(info.file_size for info in infos)
    if whole > MEGABYTE and whole > HIGHEST_RATIO * size:
        raise ValueError(words("archives.bomb", path=archive, times=whole / size))


def _parts(info):
    """The components of the path of an entry that can be read, which stay where they are put."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise _LeftError(words("archives.no_file"))
    if info.flag_bits & 1:
        raise _LeftError(words("archives.encrypted"))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _LeftError(words("archives.packed"))
    name = info.filename.replace("\\", "/")  # as some programs on Windows write it
    if not info.flag_bits & UTF8:
        # Without the mark it is read as cp437, though macOS writes UTF-8 unmarked.
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or ".." in parts or parts[0].endswith(":"):
        raise _LeftError(words("archives.leads_out"))
    if any(map(is_junk, parts)):
        raise _LeftError(words("archives.system"))
    for part in parts:
        if wrong := fault_of_file(part):
            raise _LeftError(wrong)
    return parts


def _put(archive, course, student, assignment, entries) -> dict[zipfile.ZipInfo, Unpacked]:
    """Write one student's files, keep what they replace, and say what became of each."""
    told, files, last = {}, {}, {entry.path: entry for entry in entries}
    for entry in entries:
        if last[entry.path] is not entry:
            told[entry.info] = _left(entry, words("archives.twice"))
    for path, entry in sorted(last.items()):
        try:
            if any(str(above) in files for above in PurePosixPath(path).parents):
                raise _LeftError(words("archives.file_and_folder"))
            files[path] = _read(archive, entry.info, files)
        except _LeftError as error:
            told[entry.info] = _left(entry, str(error))
    if not files:
        return told
    target = course.submitted / student / assignment
    renamed = _renamed(files, assignment)
    placed, why = _replace(course, target, {renamed.get(p, p): data for p, data in files.items()})
    for path in files:
        entry = last[path]
        to = f"{student}/{assignment}/{renamed.get(path, path)}" if placed else ""
        remarks = "; ".join(filter(None, (entry.remark, why)))
        told[entry.info] = Unpacked(
            entry=escaped(entry.info.filename), student=student, to=to, why=remarks
        )
    return told


def _read(archive, info, files):
    size = info.file_size
    if size > LARGEST_FILE:
        raise _LeftError(words("archives.large", most=LARGEST_FILE // MEGABYTE))
    if size > MEGABYTE and size > HIGHEST_RATIO * info.compress_size:
        raise _LeftError(words("archives.entry_bomb"))
    if len(files) >= MOST_FILES or size + sum(map(len, files.values())) > LARGEST_FOLDER:
        raise _LeftError(words("archives.too_much"))
    try:
        with archive.open(info) as file:
            data = file.read(size + 1)
    except DAMAGED as error:
        raise _LeftError(words("archives.damaged", error=error)) from None
    if len(data) != size:
        raise _LeftError(words("archives.short"))
    return data


def _renamed(files, assignment):
    """The one notebook of this set gets the set's name, which plain nbgrader asks for."""
    notebooks = [path for path in files if is_notebook(path)]
    if len(notebooks) == 1 and "/" not in notebooks[0] and means(notebooks[0], [assignment]):
        return {notebooks[0]: f"{assignment}{NOTEBOOK}"}
    return {}


def _replace(course, target, files):
    """Put the files there; returns whether they are, and what to remark on what was there.

    Whoever is killed meanwhile leaves what was there or what is new, and nothing is lost.
    """
    place = Path(target.parent.name, target.name)
    kept, work = course.own / "earlier" / place, course.own / "unpacking" / place
    _clear_up(work, kept)
    there = os.path.lexists(target)
    if there and _holds(target, files):
        return True, words("archives.there_already")
    if there and any(_holds(version, files) for version in _versions(kept)):
        return False, words("archives.replaced_before")
    shared = course.shared
    try:
        where = course.own, "unpacking", *place.parts, "new"
        with safe_files.opened(*where, make=True, shared=shared) as new:
            safe_files.fill(new, files, 0o664 if shared else 0o644, shared=shared)
    except OSError:
        _clear_up(work, kept)
        raise
    remark = ""
    if there:
        version = _swapped(work / "new", target, kept)
        remark = words("archives.moved", folder=version.relative_to(course.root))
    else:
        for folder in (target.parent.parent, target.parent):
            folder.mkdir(parents=True, exist_ok=True)
            course.opened_to_group(folder)
        shutil.move(work / "new", target)
    _clear_up(work, kept)
    return True, remark


def _swapped(new, target, kept):
    """Put a folder in the place of the target; returns where the target is kept now."""
    # Under this name, a folder of another number is what was there: the two have changed places.
    named = new.rename(new.with_name(str(new.stat().st_ino)))
    try:
        safe_files.exchange(named, target)
    except OSError:  # another disk, say
        version = _put_away(target, kept)
        shutil.move(named, target)
        return version
    return _put_away(named, kept)


def _clear_up(work, kept):
    """Drop what a killed unpacking left unfinished, and keep what it had just replaced."""
    work.mkdir(parents=True, exist_ok=True)  # so that what is empty goes in the end, too
    for left in list(work.iterdir()):
        if left.name in ("new", str(left.lstat().st_ino)):
            shutil.rmtree(left)
        else:
            _put_away(left, kept)
    os.removedirs(work)


def _versions(kept):
    """What was replaced before, the oldest first."""
    found = [path for path in kept.iterdir() if path.name.isdigit()] if kept.is_dir() else []
    return sorted(found, key=lambda path: int(path.name))


def _put_away(folder, kept):
    """Keep a folder as the latest version."""
    version = kept / str(max((int(path.name) for path in _versions(kept)), default=0) + 1)
    kept.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, version)
    return version


def _holds(folder, files):
    """Whether a folder holds these files and no others, a time of handing in set aside."""
    try:
        there = read_files(folder.parent, folder.name)
    except (RefusedError, MachineryError):
        return False
    there.pop(TIMESTAMP, None)
    return {path: file.data for path, file in there.items()} == files


def _left(entry, why):
    return Unpacked(entry=escaped(entry.info.filename), student=entry.student, why=why)
