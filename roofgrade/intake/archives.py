"""What an LMS gives an instructor, one zip of a whole class, put where nbgrader looks for it.

Three kinds are told apart by the names in them:

- Moodle's "Download all submissions": ``Ada Lovelace_12345_assignsubmission_file_/ps1.ipynb``, or
  the same without the folder (mod/assign, "Download submissions in folders"). The number is the
  participant's in that assignment.
- Canvas's "Download Submissions": ``lovelaceada_LATE_123_456_ps1-1.ipynb`` (ContentZipper in
  app/models/content_zipper.rb): sortable name without punctuation, a mark if it is late, the
  user's number, the file's. Canvas itself adds the -1 when a file of one name is handed in again.
- Any other: ``ada/ps1/ps1.ipynb``, also without the set's folder, or with it or one called
  "submitted" or "submissions" around all.

None of them says when something was handed in: the times in a zip are those of its making, or of
the file. So no timestamp.txt is made, and nbgrader's late penalty sees nothing; Canvas's mark is
passed on as a remark. A timestamp.txt that lies in the zip is kept.
"""

import contextlib
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from roofgrade.course import Course
from roofgrade.errors import MachineryError, RefusedError
from roofgrade.intake.files import (
    DEEPEST,
    LARGEST_FILE,
    LARGEST_FOLDER,
    MEGABYTE,
    MOST_FILES,
    read_files,
)
from roofgrade.intake.names import (
    CANVAS,
    MOODLE,
    NOTEBOOK,
    author,
    fault,
    is_junk,
    is_notebook,
    means,
    sender,
    student_id,
)
from roofgrade.text import escaped, words

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
    info: zipfile.ZipInfo
    student: str
    path: str
    remark: str = ""


class _LeftError(Exception):
    """Why an entry is not taken in."""


def unpack(
    archive: Path, course: Course, assignment: str, students: Mapping[str, str] | None = None
) -> list[Unpacked]:
    """Put each student's files of one set where they belong, and say what became of every entry.

    ``students`` gives ids by what an LMS calls them: full names, logins, or numbers. Who is not in
    it is left out, with a reason; without it, ids are made of names and numbers.

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
        roster = _Roster(students) if students is not None else None
        told: dict[zipfile.ZipInfo, Unpacked] = {}
        whose: dict[str, dict[str, _Entry]] = {}
        for info in infos:
            try:
                entry = _placed(info, assignment, course.released(), roster)
            except _LeftError as error:
                told[info] = Unpacked(entry=escaped(info.filename), why=str(error))
                continue
            files = whose.setdefault(entry.student, {})
            if twice := files.pop(entry.path, None):
                told[twice.info] = _left(twice, words("archives.twice"))
            files[entry.path] = entry
        for student in sorted(whose):
            told |= _put(packed, course, student, assignment, whose[student])
        return [told[info] for info in infos]


class _Roster:
    """Ids by everything that an LMS may call a student."""

    def __init__(self, students):
        self.ids: dict[str, set[str]] = {}
        for called, student in students.items():
            for key in (*_spellings(called), *_spellings(student)):
                self.ids.setdefault(key, set()).add(student)

    def find(self, *called):
        """The id of who is called so; the first that is known decides."""
        for name in filter(None, called):
            found = set().union(*(self.ids.get(key, ()) for key in _spellings(name)))
            if len(found) > 1:
                students = words("archives.or").join(sorted(found))
                raise _LeftError(words("archives.ambiguous", name=escaped(name), students=students))
            if found:
                return found.pop()
        return None


def _spellings(name):
    """A name in small letters and in one word, begun with each of its words: Canvas's begin with
    the last."""
    words = student_id(name, "").split("-")
    return {name, *("".join(words[at:] + words[:at]) for at in range(len(words)))}


def _refuse_bombs(archive, infos):
    if len(infos) > MOST_ENTRIES:
        counts = {"count": len(infos), "most": MOST_ENTRIES}
        raise ValueError(words("archives.many_entries", path=archive, **counts))
    size, whole = archive.stat().st_size, sum(info.file_size for info in infos)
    if whole > MEGABYTE and whole > HIGHEST_RATIO * size:
        raise ValueError(words("archives.bomb", path=archive, times=whole / size))


def _placed(info, assignment, sets, roster):
    """Whose an entry is, and where in that student's folder it belongs."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise _LeftError(words("archives.no_file"))
    if info.flag_bits & 1:
        raise _LeftError(words("archives.encrypted"))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _LeftError(words("archives.packed"))
    parts = _parts(info)
    moodle = [at for at, part in enumerate(parts) if MOODLE.fullmatch(part)]
    canvas = not moodle and not set(parts[:-1]) - AROUND and CANVAS.fullmatch(parts[-1])
    late = ""
    if moodle or canvas:
        at = moodle[0] if moodle else len(parts) - 1
        told = sender(parts[at])
        student, inside = _known(told, roster), [*filter(None, [told.rest]), *parts[at + 1 :]]
        late = words("archives.late") if told.late else ""
    else:
        student, inside = _plain(parts, assignment, sets, roster)
    if len(inside) > 1 and means(inside[0], sets) == assignment:
        inside = inside[1:]
    if not inside or len(inside) > DEEPEST:
        raise _LeftError(words("archives.deep", most=DEEPEST))
    if wrong := fault(student):
        raise _LeftError(words("archives.no_id", name=escaped(student), why=wrong))
    return _Entry(info, student, "/".join(inside), late)


def _parts(info):
    """The components of an entry's path, which stay below where they are put."""
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
        if wrong := fault(part):
            raise _LeftError(wrong)
    return parts


def _known(told, roster):
    if roster is None:
        return student_id(told.who, told.number)
    found = roster.find(told.number, told.who)
    if found is None:
        raise _LeftError(words("archives.not_in_roster", name=escaped(told.who or told.number)))
    return found


def _plain(parts, assignment, sets, roster):
    """Whose a file is, by the first folder of its path that does not lie around all others."""
    if roster is not None:
        for at, part in enumerate(parts[:-1]):
            if student := roster.find(part):
                return student, _of_set(parts[at + 1 :], assignment, sets)
    while len(parts) > 1 and (parts[0] in AROUND or means(parts[0], sets) == assignment):
        parts = parts[1:]
    if len(parts) > 1:
        if roster is not None:
            raise _LeftError(words("archives.not_in_roster", name=escaped(parts[0])))
        return parts[0], _of_set(parts[1:], assignment, sets)
    whose = author(parts[0], assignment) if is_notebook(parts[0]) else ""
    student = whose and (roster.find(whose) if roster is not None else whose)
    if not student:
        raise _LeftError(words("intake.whose"))
    return student, _of_set(parts, assignment, sets)


def _of_set(inside, assignment, sets):
    if (other := means(inside[0], sets)) not in (None, assignment):
        raise _LeftError(words("archives.of_another_set", assignment=other))
    return inside


def _put(archive, course, student, assignment, entries) -> dict[zipfile.ZipInfo, Unpacked]:
    """Write one student's files, keep what they replace, and say what became of each."""
    told, files = {}, {}
    for path, entry in sorted(entries.items()):
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
        entry = entries[path]
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
    """Put the files there; returns whether they are, and what to remark on what was there."""
    kept = course.own / "earlier" / target.parent.name / target.name
    there = os.path.lexists(target)
    if there and _holds(target, files):
        return True, words("archives.there_already")
    versions = sorted(kept.iterdir()) if kept.is_dir() else []
    if there and any(_holds(version, files) for version in versions):
        return False, words("archives.replaced_before")
    made = Path(tempfile.mkdtemp(dir=course.own))
    made.chmod(0o755)
    for path, data in files.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_bytes(data)
    remark = ""
    if there:
        version = kept / str(len(versions) + 1)
        kept.mkdir(parents=True, exist_ok=True)
        shutil.move(target, version)
        remark = words("archives.moved", folder=version.relative_to(course.root))
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, target)
    return True, remark


def _holds(folder, files):
    """Whether a folder holds these files and no others, a time of handing in set aside."""
    try:
        there = read_files(folder.parent, folder.name)
    except (RefusedError, MachineryError):
        return False
    without = {path: file.data for path, file in there.items() if path != "timestamp.txt"}
    return without == {path: data for path, data in files.items() if path != "timestamp.txt"}


def _left(entry, why):
    return Unpacked(entry=escaped(entry.info.filename), student=entry.student, why=why)
