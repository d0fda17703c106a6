"""Finds the owner of each folder in ``submitted/``, and the notebook in it to grade.

``submitted/STUDENT/ps1/ps1.ipynb`` is the norm. Other names are accepted with a remark if their
meaning is clear. Otherwise they are listed for a person to check. Nothing is skipped silently.
"""

import functools
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from nbgrader.utils import parse_utc

from roofgrade.common.errors import MachineryError, RefusedError
from roofgrade.common.limits import LimitExceededError, call_in_fork
from roofgrade.common.results import REFUSED, WAITING
from roofgrade.common.safe_files import open_below
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.course import Course
from roofgrade.intake import names
from roofgrade.intake.bounded_files import File, list_entries, read_files
from roofgrade.intake.people import StudentIds, make_id
from roofgrade.restore.restored_notebook import find_added_answers, read_release, restore_notebook

ARCHIVES = (".zip", ".gz", ".7z", ".rar")


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A submitted folder for a set, or a file outside any folder.

    ``name`` is its path below ``root``, which is ``submitted/``. ``student`` is "" if the owner is
    unknown. ``state`` is "" if ``read_submission`` can try to read the folder. Otherwise it is
    REFUSED or WAITING, and ``why`` gives the reason. Of a student's folders, the one with an
    ``exact`` name counts, then the one that ``changed`` last, in nanoseconds since 1970.
    """

    student: str
    assignment: str
    root: Path
    name: str
    release_path: Path
    state: str = ""
    why: str = ""
    remarks: tuple[str, ...] = ()
    exact: bool = False
    changed: int = 0

    @property
    def path(self) -> Path:
        return self.root / self.name


@dataclass(frozen=True, kw_only=True)
class Submission:
    """The notebook to grade, and the other files that it may read, by path.

    ``submitted`` is the time in timestamp.txt, or "". ``review_reason`` says why a person must
    check the choice of the notebook, or is "".
    """

    notebook: bytes
    files: dict[str, bytes] = field(default_factory=dict)
    submitted: str = ""
    remarks: tuple[str, ...] = ()
    review_reason: str = ""


def list_folders(course: Course, assignment: str, students: Iterable[str] = ()) -> list[Folder]:
    """Return the entries of ``submitted/`` for this set or an unknown set, sorted by path.

    ``students`` are the known ids, which are recognised in other spellings, too. Raises ValueError
    if the set has no release or ``submitted/`` cannot be read.
    """
    release = course.release_path(assignment)
    scan = _FolderScan(course, assignment, release, StudentIds(students))
    try:
        with open_below(course.submitted) as root:
            # Folders come first, since a student's folder sets the spelling for loose files.
            ordered = sorted(list_entries(root), key=lambda e: not e.is_dir(follow_symlinks=False))
            scans = [scan.scan_entry(root, entry) for entry in ordered]
            found = [*itertools.chain.from_iterable(scans)]
    except OSError as error:
        message = sentence("intake.unreadable", name=course.submitted, reason=error.strerror)
        raise ValueError(message) from error
    by_student: dict[str, list[Folder]] = {}
    for folder in found:
        by_student.setdefault(folder.student, []).append(folder)
    folders = [folder for group in by_student.values() for folder in _choose_counting(group)]
    return sorted(folders, key=lambda folder: folder.name)


def read_submission(folder: Folder) -> Submission:
    """Read a folder within the limits of ``bounded_files``, and choose its notebook.

    Raises RefusedError, with a message for the student; MachineryError if the folder cannot be read
    or changes meanwhile; ValueError if ``list_folders`` has already set its state.
    """
    if folder.state:
        raise ValueError(f"{folder.name} cannot be graded: {folder.why}")
    files = read_files(folder.root, folder.name)
    stated, timestamp = (files.pop(name, None) for name in (names.STATED_TIME, names.TIMESTAMP))
    submitted, time_remark = _read_timestamp(timestamp)
    if stated and submitted:
        text = escape_text(stated.data[:16].decode("utf-8", "replace"))
        time_remark = sentence("intake.stated_time", stated=text, counts=submitted[:16])
    notebooks = {path: file for path, file in files.items() if names.is_notebook(path)}
    of_set = {path: file for path, file in notebooks.items() if _is_of_set(path, file.data, folder)}
    if not of_set:
        key = "intake.no_notebook" if files else "intake.no_notebook_at_all"
        file_names = ", ".join(map(escape_text, sorted(files)[:5]))
        raise RefusedError(sentence(key, assignment=folder.assignment, found=file_names))
    chosen, remarks, review_reason = _choose_notebook(of_set, folder)
    if linked := [path for path, file in files.items() if file.is_hard_linked]:
        file_names = ", ".join(map(escape_text, linked))
        remarks = (*remarks, sentence("intake.hard_link", names=file_names))
    others = {path: file.data for path, file in files.items() if path not in notebooks}
    return Submission(
        notebook=of_set[chosen].data,
        files=_paths_from_notebook(chosen, others),
        submitted=submitted,
        remarks=(*folder.remarks, *remarks, *filter(None, [time_remark])),
        review_reason=review_reason,
    )


class _FolderScan:
    def __init__(self, course, assignment, release, ids):
        self.root, self.assignment, self.release_path = course.submitted, assignment, release
        self.releases = {name: course.release_path(name) for name in course.released_sets()}
        self.sets = tuple(self.releases)
        self.ids = ids
        self.place = f"{self.root.name}/ID/{assignment}/"

    def scan_entry(self, root, entry) -> Iterator[Folder]:
        """Yield the folders in one entry of ``submitted/``: a student's folder or a file."""
        if entry.is_dir(follow_symlinks=False):
            yield from self._scan_student(root, entry)
        elif not entry.is_file(follow_symlinks=False):
            known = self.ids.find(entry.name)
            student = known.pop() if len(known) == 1 else ""
            why = sentence("intake.no_file", name=escape_text(entry.name))
            yield self._make_folder("", entry, student=student, state=REFUSED, why=why)
        elif names.is_notebook(entry.name):
            yield from self._scan_loose_notebook(entry)
        elif names.find_set(entry.name, self.sets) in (None, self.assignment):
            key = "intake.stray_archive" if _is_archive(entry) else "intake.stray"
            why = sentence(key, place=self.place)
            yield self._make_folder("", entry, state=WAITING, why=why)

    def _scan_loose_notebook(self, entry):
        notebook_set = self._find_set(entry.name)
        author = names.find_signed_id(entry.name, self.assignment)
        author = author if self.ids.find(author) else names.find_author(entry.name, self.assignment)
        make_waiting = functools.partial(self._make_folder, "", entry, state=WAITING)
        if notebook_set is None:
            yield make_waiting(why=sentence("intake.unknown"))
        elif notebook_set == self.assignment and not author:
            yield make_waiting(why=sentence("intake.whose", place=self.place))
        elif notebook_set == self.assignment:
            student, fault = self._find_student(author)
            fields = {"state": WAITING, "why": fault} if fault else {"student": student}
            yield self._make_folder("", entry, **fields, remarks=(sentence("intake.outside"),))

    def _find_student(self, name):
        ids = self.ids.find(name)
        if len(ids) > 1:
            return "", sentence("intake.two", students=sentence("people.and").join(sorted(ids)))
        student = ids.pop() if ids else make_id(name)
        if fault := names.find_id_fault(student):
            return "", fault
        self.ids.add(student)
        return student, ""

    def _scan_student(self, root, entry):
        student, fault = self._find_student(entry.name)
        if fault:
            yield self._make_folder("", entry, state=WAITING, why=fault)
            return
        make = functools.partial(self._make_folder, "", entry, student=student, state=WAITING)
        try:
            with open_below(root, entry.name) as opened:
                entries = list_entries(opened)
                scans = (self._scan_in_student(opened, entry, student, inner) for inner in entries)
                folders = list(itertools.chain.from_iterable(scans))
        except OSError as error:
            yield make(why=sentence("intake.cannot_be_read", reason=error.strerror))
            return
        files = [inner.name for inner in entries if inner.is_file(follow_symlinks=False)]
        others = [name for name in files if not names.is_notebook(name)]
        strays = [name for name in others if not names.find_set(name, self.sets)]
        file_names = ", ".join(map(escape_text, strays[:5]))
        remarks = [sentence("intake.beside", names=file_names)] if strays else []
        if entry.name != student:
            remarks.insert(0, sentence("intake.folder_called", name=entry.name))
        yield from (replace(each, remarks=(*each.remarks, *remarks)) for each in folders)
        if not folders and (strays or not entries):
            key = "intake.strays" if strays else "intake.empty"
            yield make(why=sentence(key, assignment=self.assignment, names=file_names))

    def _scan_in_student(self, opened, parent, student, entry):
        exact = (parent.name, entry.name) == (student, self.assignment)
        named_set = names.find_set(entry.name, self.sets)
        if named_set not in (None, self.assignment):
            return
        make = functools.partial(self._make_folder, parent.name, entry, student=student)
        if fault := names.find_file_name_fault(entry.name):
            yield make(state=WAITING, why=fault)
        elif entry.is_dir(follow_symlinks=False):
            yield from self._scan_folder(opened, parent, entry, exact, named_set, make)
        elif not entry.is_file(follow_symlinks=False):
            yield make(state=REFUSED, why=sentence("intake.no_file", name=entry.name), exact=exact)
        elif names.is_notebook(entry.name):
            by_content = self._find_set(f"{parent.name}/{entry.name}")
            if by_content == self.assignment:
                yield make(remarks=(sentence("intake.outside"),))
            elif by_content is None:
                yield make(state=WAITING, why=sentence("intake.unknown"))
        elif named_set:
            key = "intake.archive" if _is_archive(entry) else "intake.other_file"
            yield make(state=WAITING, why=sentence(key))

    def _scan_folder(self, opened, parent, entry, exact, named_set, make):
        with open_below(opened, entry.name) as folder:
            empty = not list_entries(folder)
        if empty:
            yield make(state=WAITING, why=sentence("intake.nothing_in_it"), exact=exact)
        elif named_set:
            called = sentence("intake.folder_called", name=entry.name)
            yield make(exact=exact, remarks=() if entry.name == self.assignment else (called,))
        else:
            yield from self._scan_by_content(f"{parent.name}/{entry.name}", entry, make)

    def _scan_by_content(self, name, entry, make):
        """Yield a folder with an unclear name, unless its notebooks are for another known set."""
        try:
            files = read_files(self.root, name)
        except (RefusedError, MachineryError) as error:
            yield make(state=WAITING, why=sentence("intake.unknown_unreadable", error=error))
            return
        sets = {
            self._find_set_by_content(path, file.data)
            for path, file in files.items()
            if names.is_notebook(path)
        }
        if self.assignment in sets:
            yield make(remarks=(sentence("intake.folder_called", name=entry.name),))
        elif not sets or None in sets:
            yield make(state=WAITING, why=sentence("intake.unknown"))

    def _find_set(self, name):
        file_name = PurePosixPath(name).name
        if (named_set := names.find_set(file_name, self.sets)) or not names.is_notebook(file_name):
            return named_set
        try:
            [file] = read_files(self.root, name).values()
        except (RefusedError, MachineryError):
            return None
        return self._find_set_by_content(file_name, file.data)

    def _find_set_by_content(self, name, data):
        if named_set := names.find_set(PurePosixPath(name).name, self.sets):
            return named_set
        counts = {known: _count_cell_ids(data, path) for known, path in self.releases.items()}
        best = max(counts, key=counts.get)
        return best if counts[best] else None

    def _make_folder(self, parent, entry, *, student="", exact=False, **fields):
        # The time shows which of two is newer. If the entry is gone, reading it will report that.
        try:
            changed = entry.stat(follow_symlinks=False).st_mtime_ns if not exact else 0
        except OSError:
            changed = 0
        return Folder(
            student=student, assignment=self.assignment, root=self.root,
            name=f"{parent}/{entry.name}" if parent else entry.name,
            release_path=self.release_path, exact=exact, changed=changed, **fields,
        )  # fmt: skip


def _choose_counting(folders: list[Folder]) -> Iterator[Folder]:
    eligible = [folder for folder in folders if not folder.state or folder.exact]
    first = max(eligible, key=lambda folder: (folder.exact, folder.changed), default=None)
    for folder in folders:
        if folder in eligible and folder is not first:
            why = sentence("intake.another_counts", name=escape_text(first.name))
            folder = replace(folder, state=WAITING, why=why)
        yield folder


def _choose_notebook(notebooks: dict[str, File], folder: Folder):
    """Return the path of the notebook to grade, remarks, and why to check the choice, or ""."""
    exact = f"{folder.assignment}{names.NOTEBOOK}"
    order = sorted(notebooks, key=lambda path: (path != exact, -notebooks[path].changed))
    if len(order) == 1:
        return order[0], _remark_on_name(order[0], exact), ""
    works = {path: _read_work(notebooks[path].data, folder) for path in order}
    chosen = next((path for path in order if works[path]), order[0])
    others = [path for path in order if works[path] and works[path] != works[chosen]]
    reasons = []
    if others:
        file_names = ", ".join(map(escape_text, others))
        reasons.append(sentence("intake.other_work", names=file_names, chosen=escape_text(chosen)))
    if works[order[0]] is None and chosen != order[0]:
        fields = {"name": escape_text(order[0]), "chosen": escape_text(chosen)}
        reasons.append(sentence("intake.first_unreadable", **fields))
    return chosen, _remark_on_name(chosen, exact), "; ".join(reasons)


def _paths_from_notebook(notebook, files):
    """Return the files by path relative to the notebook. Those next to it take precedence."""
    folder = PurePosixPath(notebook).parent
    near = {
        str(PurePosixPath(path).relative_to(folder)): data
        for path, data in files.items()
        if PurePosixPath(path).is_relative_to(folder)
    }
    folders = {str(above) for path in near for above in PurePosixPath(path).parents}
    far = {
        path: data
        for path, data in files.items()
        # A folder next to the notebook may have the same name.
        if path not in folders and not any(str(a) in near for a in PurePosixPath(path).parents)
    }
    return far | near


def _remark_on_name(path, exact):
    return () if path == exact else (sentence("intake.notebook_called", name=path),)


def _read_work(raw, folder):
    release = read_release(folder.release_path)
    try:
        return call_in_fork(
            lambda: find_added_answers(restore_notebook(raw, release).notebook, release)
        )
    except (RefusedError, LimitExceededError):
        return None


def _is_of_set(path, data, folder):
    name = PurePosixPath(path).name
    return (
        names.find_set(name, (folder.assignment,)) is not None
        or _count_cell_ids(data, folder.release_path) > 0
    )


def _count_cell_ids(data, release):
    return sum(f'"{cell.id}"'.encode() in data for cell in read_release(release).cells)


def _read_timestamp(timestamp):
    if timestamp is None:
        return "", ""
    text = timestamp.data[:100].decode("utf-8", "replace").strip()
    try:
        # parse_utc would read "5" as a day of this month.
        if not re.match(r"\d{4}-\d\d-\d\d[ T]\d", text):
            raise ValueError
        parse_utc(text)
    except (ValueError, TypeError, OverflowError):
        return "", sentence("intake.no_time", file=names.TIMESTAMP, text=escape_text(text)[:40])
    return text, ""


def _is_archive(entry):
    return os.path.splitext(entry.name)[1].casefold() in ARCHIVES
