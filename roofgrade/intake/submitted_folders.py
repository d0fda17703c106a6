"""What came in: which folder in ``submitted/`` is whose, and what of it is graded.

``submitted/STUDENT/ps1/ps1.ipynb`` is the norm. What is called otherwise is taken in with a remark
where it can be told what it is, and listed for a person where it cannot; nothing is passed over.
"""

import functools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import parse_utc

from roofgrade.common.errors import MachineryError, RefusedError
from roofgrade.common.limits import LimitExceededError, call_in_fork
from roofgrade.common.results import REFUSED, WAITING
from roofgrade.common.safe_files import open_below
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.course import Course
from roofgrade.intake.bounded_files import File, list_entries, read_files
from roofgrade.intake.names import (
    NOTEBOOK,
    TIMESTAMP,
    find_author,
    find_file_name_fault,
    find_id_fault,
    find_set,
    find_signed_id,
    is_notebook,
)
from roofgrade.intake.people import StudentIds, make_id
from roofgrade.restore.restored_notebook import find_added_answers, restore_notebook

ARCHIVES = (".zip", ".gz", ".7z", ".rar")


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder, or a file outside one, that came in for a set.

    ``name`` is its path below ``root``, which is ``submitted/``. ``student`` is "" where that does
    not tell whose it is. ``state`` is "" if ``read_submission`` can be tried; else it is REFUSED or PERSON,
    and ``why`` says why.
    """

    student: str
    assignment: str
    root: Path
    name: str
    release_path: Path
    state: str = ""
    why: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return self.root / self.name


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What is graded: the notebook, and the other files that it may read, by path.

    ``submitted`` is the time of handing in as it stands in timestamp.txt, or "". ``needs`` says why
    a person has to look at the choice of the notebook, or is "".
    """

    notebook: bytes
    files: dict[str, bytes] = field(default_factory=dict)
    submitted: str = ""
    remarks: tuple[str, ...] = ()
    review_reason: str = ""


@dataclass(frozen=True)
class _Candidate:
    """A folder, and how good its claim is: the exactly named one goes before all others."""

    folder: Folder
    exact: bool = False
    changed: int = 0

    def with_remarks(self, remarks: Iterable[str]) -> "_Candidate":
        """The same, with more remarks."""
        folder = replace(self.folder, remarks=(*self.folder.remarks, *remarks))
        return replace(self, folder=folder)


def list_folders(course: Course, assignment: str, students: Iterable[str] = ()) -> list[Folder]:
    """Everything in ``submitted/`` that came in for this set, or that nobody can tell, by name.

    ``students`` are the ids that are known: who is one of them in another spelling is that one.
    Raises ValueError if there is no release of the set, or no ``submitted/``.
    """
    release = course.release_path(assignment)
    look = _FolderScan(course, assignment, release, StudentIds(students))
    try:
        with open_below(course.submitted) as root:
            # Who has a folder is called like it, however a file outside spells the name.
            ordered = sorted(list_entries(root), key=_is_no_folder)
            found = [find for entry in ordered for find in look.scan_entry(root, entry)]
    except OSError as error:
        said = sentence("intake.unreadable", name=course.submitted, reason=error.strerror)
        raise ValueError(said) from error
    students: dict[str, list[_Candidate]] = {}
    for find in found:
        students.setdefault(find.folder.student, []).append(find)
    listed = [folder for finds in students.values() for folder in _choose_counting(finds)]
    return sorted(listed, key=lambda folder: folder.name)


def read_submission(folder: Folder) -> Submission:
    """Read a folder that came in, within the bounds of ``files``, and choose its notebook.

    Raises RefusedError, with words for the student; MachineryError if it cannot be read, or changes
    meanwhile; ValueError if ``list_folders`` has already said that it cannot be taken.
    """
    if folder.state:
        raise ValueError(f"{folder.name} cannot be taken in: {folder.why}")
    files = read_files(folder.root, folder.name)
    stamp = files.pop(TIMESTAMP, None)
    submitted, remark = _read_timestamp(stamp)
    notebooks = {path: file for path, file in files.items() if is_notebook(path)}
    ours = {path: file for path, file in notebooks.items() if _is_of_set(path, file.data, folder)}
    if not ours:
        key = "intake.no_notebook" if files else "intake.no_notebook_at_all"
        found = ", ".join(map(escape_text, sorted(files)[:5]))
        raise RefusedError(sentence(key, assignment=folder.assignment, found=found))
    chosen, remarks, needs = _choose_notebook(ours, folder)
    if linked := [path for path, file in files.items() if file.is_hard_linked]:
        names = ", ".join(map(escape_text, linked))
        remarks = (*remarks, sentence("intake.hard_link", names=names))
    return Submission(
        notebook=ours[chosen].data,
        files=_paths_from_notebook(
            chosen, {path: f.data for path, f in files.items() if path not in notebooks}
        ),
        submitted=submitted,
        remarks=(*folder.remarks, *remarks, *([remark] if remark else [])),
        review_reason=needs,
    )


class _FolderScan:
    """What lies in ``submitted/``, for one set."""

    def __init__(self, course, assignment, release, ids):
        self.root, self.assignment, self.release_path = course.submitted, assignment, release
        self.releases = {name: course.release_path(name) for name in course.released_sets()}
        self.sets = tuple(self.releases)
        self.ids = ids
        self.place = f"{self.root.name}/ID/{assignment}/"

    def scan_entry(self, root, entry) -> Iterator[_Candidate]:
        """What an entry of ``submitted/`` holds for this set: a student's folder, or a file."""
        if entry.is_dir(follow_symlinks=False):
            yield from self._scan_student(root, entry)
        elif not entry.is_file(follow_symlinks=False):
            known = self.ids.find(entry.name)
            student = known.pop() if len(known) == 1 else ""
            why = _word_not_regular(entry)
            yield self._make_candidate("", entry, student=student, state=REFUSED, why=why)
        elif is_notebook(entry.name):
            yield from self._scan_loose_notebook(entry)
        elif find_set(entry.name, self.sets) in (None, self.assignment):
            yield self._make_stray(entry)

    def _scan_loose_notebook(self, entry):
        meant, whose = self._find_set(entry.name), find_signed_id(entry.name, self.assignment)
        whose = whose if self.ids.find(whose) else find_author(entry.name, self.assignment)
        if meant is None:
            yield self._make_candidate("", entry, state=WAITING, why=sentence("intake.unknown"))
        elif meant == self.assignment and not whose:
            yield self._make_candidate(
                "", entry, state=WAITING, why=sentence("intake.whose", place=self.place)
            )
        elif meant == self.assignment:
            student, wrong = self._find_student(whose)
            told = {"state": WAITING, "why": wrong} if wrong else {"student": student}
            yield self._make_candidate("", entry, **told, remarks=(sentence("intake.outside"),))

    def _make_stray(self, entry):
        key = "intake.stray_archive" if _is_archive(entry) else "intake.stray"
        why = sentence(key, place=self.place)
        return self._make_candidate("", entry, state=WAITING, why=why)

    def _find_student(self, name):
        """The id of whom a name stands for, and why it can be nobody's, or ""."""
        known = self.ids.find(name)
        if len(known) > 1:
            return "", sentence("intake.two", students=sentence("people.and").join(sorted(known)))
        student = known.pop() if known else make_id(name)
        if wrong := find_id_fault(student):
            return "", wrong
        self.ids.add(student)
        return student, ""

    def _scan_student(self, root, entry):
        student, wrong = self._find_student(entry.name)
        if wrong:
            yield self._make_candidate("", entry, state=WAITING, why=wrong)
            return
        whole = functools.partial(self._make_candidate, "", entry, student=student, state=WAITING)
        try:
            with open_below(root, entry.name) as at:
                inside = list_entries(at)
                found = [
                    find
                    for each in inside
                    for find in self._scan_in_student(at, entry, student, each)
                ]
        except OSError as error:
            yield whole(why=sentence("intake.cannot_be_read", reason=error.strerror))
            return
        strays = [each.name for each in inside if each.is_file(follow_symlinks=False)]
        strays = [
            name for name in strays if not is_notebook(name) and not find_set(name, self.sets)
        ]
        held = ", ".join(map(escape_text, strays[:5]))
        remarks = (
            [sentence("intake.folder_called", name=entry.name)] if entry.name != student else []
        )
        remarks += [sentence("intake.beside", names=held)] if strays else []
        yield from (find.with_remarks(remarks) for find in found)
        if not found and (strays or not inside):
            key = "intake.strays" if strays else "intake.empty"
            yield whole(why=sentence(key, assignment=self.assignment, names=held))

    def _scan_in_student(self, at, above, student, entry):
        exact = (above.name, entry.name) == (student, self.assignment)
        meant = find_set(entry.name, self.sets)
        if meant not in (None, self.assignment):
            return
        find = functools.partial(self._make_candidate, above.name, entry, student=student)
        if wrong := find_file_name_fault(entry.name):
            yield find(state=WAITING, why=wrong)
        elif entry.is_dir(follow_symlinks=False):
            yield from self._scan_folder(at, above, entry, exact, meant, find)
        elif not entry.is_file(follow_symlinks=False):
            yield find(state=REFUSED, why=_word_not_regular(entry), exact=exact)
        elif is_notebook(entry.name):
            found = self._find_set(f"{above.name}/{entry.name}")
            if found == self.assignment:
                yield find(remarks=(sentence("intake.outside"),))
            elif found is None:
                yield find(state=WAITING, why=sentence("intake.unknown"))
        elif meant:
            yield find(state=WAITING, why=_word_loose_file(entry))

    def _scan_folder(self, at, above, entry, exact, meant, find):
        with open_below(at, entry.name) as folder:
            empty = not list_entries(folder)
        if empty:
            yield find(state=WAITING, why=sentence("intake.nothing_in_it"), exact=exact)
        elif meant:
            plain = entry.name == self.assignment
            remarks = () if plain else (sentence("intake.folder_called", name=entry.name),)
            yield find(exact=exact, remarks=remarks)
        else:
            yield from self._scan_by_content(f"{above.name}/{entry.name}", entry, find)

    def _scan_by_content(self, name, entry, find):
        """A folder whose name says nothing is what the notebooks in it are."""
        try:
            files = read_files(self.root, name)
        except (RefusedError, MachineryError) as error:
            yield find(state=WAITING, why=sentence("intake.unknown_unreadable", error=error))
            return
        held = {
            self._find_set_by_content(path, file.data)
            for path, file in files.items()
            if is_notebook(path)
        }
        if self.assignment in held:
            yield find(remarks=(sentence("intake.folder_called", name=entry.name),))
        elif not held or None in held:
            yield find(state=WAITING, why=sentence("intake.unknown"))

    def _find_set(self, name):
        """Which set a file in ``submitted/`` is of, by its name, or a notebook by its content."""
        last = PurePosixPath(name).name
        if (meant := find_set(last, self.sets)) or not is_notebook(last):
            return meant
        try:
            [file] = read_files(self.root, name).values()
        except (RefusedError, MachineryError):
            return None
        return self._find_set_by_content(last, file.data)

    def _find_set_by_content(self, name, data):
        meant = find_set(PurePosixPath(name).name, self.sets)
        if meant:
            return meant
        counts = {each: _count_cell_ids(data, path) for each, path in self.releases.items()}
        best = max(counts, key=counts.get)
        return best if counts[best] else None

    def _make_candidate(self, above, entry, *, student="", exact=False, **told):
        # The time tells which of two is newer; what is gone by now is found out when it is read.
        try:
            changed = entry.stat(follow_symlinks=False).st_mtime_ns if not exact else 0
        except OSError:
            changed = 0
        folder = Folder(
            student=student,
            assignment=self.assignment,
            root=self.root,
            name=f"{above}/{entry.name}" if above else entry.name,
            release_path=self.release_path,
            **told,
        )
        return _Candidate(folder, exact, changed)


def _choose_counting(finds: list[_Candidate]) -> Iterator[Folder]:
    """A student's folders for one set: where several can be taken, one of them counts."""
    good = [find for find in finds if not find.folder.state or find.exact]
    first = max(good, key=lambda find: (find.exact, find.changed), default=None)
    for find in finds:
        if find in good and find is not first:
            why = sentence("intake.another_counts", name=escape_text(first.folder.name))
            yield replace(find.folder, state=WAITING, why=why)
        else:
            yield find.folder


def _choose_notebook(ours: dict[str, File], folder: Folder):
    """Which of these notebooks is graded, what to remark, and why a person has to look, if so."""
    exact = f"{folder.assignment}{NOTEBOOK}"
    order = sorted(ours, key=lambda path: (path == exact, ours[path].changed), reverse=True)
    if len(order) == 1:
        return order[0], _remark_on_name(order[0], exact), ""
    works = {path: _read_work(ours[path].data, folder) for path in order}
    chosen = next((path for path in order if works[path]), order[0])
    others = [path for path in order if works[path] and works[path] != works[chosen]]
    needs = []
    if others:
        names = ", ".join(map(escape_text, others))
        needs.append(sentence("intake.other_work", names=names, chosen=escape_text(chosen)))
    if works[order[0]] is None and chosen != order[0]:
        about = {"name": escape_text(order[0]), "chosen": escape_text(chosen)}
        needs.append(sentence("intake.first_unreadable", **about))
    return chosen, _remark_on_name(chosen, exact), "; ".join(needs)


def _paths_from_notebook(notebook, files):
    """The files by their paths as seen from the notebook, those beside it before all others."""
    home = PurePosixPath(notebook).parent
    near = {
        str(PurePosixPath(path).relative_to(home)): data
        for path, data in files.items()
        if PurePosixPath(path).is_relative_to(home)
    }
    folders = {str(above) for path in near for above in PurePosixPath(path).parents}
    far = {
        path: data
        for path, data in files.items()
        # Beside the notebook, a folder may have the same name.
        if path not in folders and not any(str(a) in near for a in PurePosixPath(path).parents)
    }
    return far | near


def _remark_on_name(path, exact):
    return () if path == exact else (sentence("intake.notebook_called", name=path),)


def _read_work(raw, folder):
    """What a notebook adds to its release; None if it cannot be read."""
    release = _read_release(folder.release_path, folder.release_path.stat().st_mtime_ns)
    try:
        return call_in_fork(_find_added, raw, release)
    except (RefusedError, LimitExceededError):
        return None


def _find_added(raw, release):
    return find_added_answers(restore_notebook(raw, release).notebook, release)


def _is_of_set(path, data, folder):
    name = PurePosixPath(path).name
    return (
        find_set(name, (folder.assignment,)) is not None
        or _count_cell_ids(data, folder.release_path) > 0
    )


def _count_cell_ids(data, release):
    """How many names of a release's cells stand in a notebook, readable or not."""
    ids = _read_cell_ids(release, release.stat().st_mtime_ns)
    return sum(each in data for each in ids)


@functools.lru_cache(maxsize=32)
def _read_cell_ids(release, changed):
    return [f'"{cell.id}"'.encode() for cell in _read_release(release, changed).cells]


@functools.lru_cache(maxsize=32)
def _read_release(path: Path, changed: int) -> NotebookNode:
    """The release, read again whenever its time of change is another."""
    return nbformat.read(path, as_version=4)


def _read_timestamp(stamp):
    """What timestamp.txt says, as nbgrader's exchange writes it, and a remark if it is bad."""
    if stamp is None:
        return "", ""
    text = stamp.data[:100].decode("utf-8", "replace").strip()
    try:
        # parse_utc takes "5" for a day of this month.
        if not re.match(r"\d{4}-\d\d-\d\d[ T]\d", text):
            raise ValueError
        parse_utc(text)
    except (ValueError, TypeError, OverflowError):
        return "", sentence("intake.no_time", file=TIMESTAMP, text=escape_text(text)[:40])
    return text, ""


def _is_no_folder(entry):
    return not entry.is_dir(follow_symlinks=False)


def _word_not_regular(entry):
    key = "intake.link" if entry.is_symlink() else "intake.no_regular_file"
    return sentence(key, name=escape_text(entry.name))


def _word_loose_file(entry):
    return sentence("intake.archive" if _is_archive(entry) else "intake.other_file")


def _is_archive(entry):
    return os.path.splitext(entry.name)[1].casefold() in ARCHIVES
