"""Hand in a problem set in one step, with ``hand_in("ps2")`` in its last cell or with a button.

The saved notebook first runs from top to bottom in a fresh kernel. Unanswered questions and failing
cells stop the hand-in, unless the student hands in anyway. The notebook is then submitted to
nbgrader's exchange or, if there is none, saved as a file for the student to upload.
"""

import copy
import hashlib
import html
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from roofcheck import course
from roofcheck.cells import question_call
from roofcheck.handin import exchange, ids, rerun
from roofcheck.sentences import sentence
from roofcheck.tables.catalogue import questions_of_set
from roofcheck.tables.variants import normalise_id
from rooflab import palette

INERT_VARIABLES = (rerun.HAND_IN_VARIABLE, "NBGRADER_EXECUTION")
FOLDER, EARLIER = "handed-in", "earlier"
SUBMITTED, WRITTEN, STOPPED, SAME = "submitted", "written", "stopped", "same"
# Seconds to wait for the editor to save, and the maximum age of a notebook that was just saved.
PATIENCE, FRESH = 3.0, 5.0
UNWRITTEN_TEXT = "YOUR ANSWER HERE"
COLOUR_BY_STATE = {SUBMITTED: "right", WRITTEN: "right", SAME: "right", STOPPED: "partly"}


@dataclass(frozen=True)
class Report:
    """The outcome of a hand-in.

    Parameters
    ----------
    state : "submitted" to an exchange, "written" as a file, "stopped", or the "same" as before
    name : the set's id
    id : the student's id, or ""
    file : the file to upload, or None
    time : when it was submitted or written; None if stopped
    title : the outcome in a sentence
    said : additional sentences
    parts : titled lists of failing cells, unanswered questions, and answers that are not right yet
    next : sentences on what to do now
    can_go_on : whether ``unfinished=True`` would hand in the notebook as it is
    """

    state: str
    name: str
    id: str = ""
    file: Path | None = None
    time: datetime | None = None
    title: str = ""
    said: tuple[str, ...] = ()
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    next: tuple[str, ...] = ()
    can_go_on: bool = False

    def __str__(self):
        lines = [self.title, *self.said]
        for title, items in self.parts:
            lines += [title, *(f"- {item}" for item in items)]
        return "\n".join([*lines, *self.next])

    __repr__ = __str__

    def _repr_html_(self):
        lines = "".join(f"<br>{html.escape(line)}" for line in self.said)
        parts = "".join(
            f'<div style="margin-top: 0.5em">{html.escape(title)}</div><ul style="margin: 0">'
            + "".join(f"<li>{html.escape(item)}</li>" for item in items)
            + "</ul>"
            for title, items in self.parts
        )
        then = "".join(f"<div>{html.escape(line)}</div>" for line in self.next)
        then = f'<div style="margin-top: 0.5em">{then}</div>' if then else ""
        return (
            f'<div style="border-left: 4px solid {palette.colour(COLOUR_BY_STATE[self.state])}; '
            f'padding: 0.4em 0.8em"><b>{html.escape(self.title)}</b>{lines}{parts}{then}</div>'
        )

    def as_json(self) -> dict:
        """Return the report as JSON data, with the time in ISO format and an ``html`` entry."""
        return asdict(self) | {
            "file": str(self.file) if self.file else None,
            "time": self.time.isoformat() if self.time else None,
            "parts": [{"title": title, "items": list(items)} for title, items in self.parts],
            "html": self._repr_html_(),
        }


def hand_in(name, unfinished=False, path=None):
    """Hand in the notebook that calls this, as it was last saved, as the set ``name``.

    Unanswered questions and failing cells stop the hand-in unless ``unfinished=True``. Pass
    ``path`` if the notebook is not found. Returns a Report, or None if the call itself runs during
    a hand-in or during grading.
    """
    if any(map(os.environ.get, INERT_VARIABLES)):
        return None
    began = time.time()
    try:
        notebook = Path(path) if path else _find_own_notebook(name)
        _wait_for_save(notebook, began)
        print(sentence("hand-in.running", name=name), flush=True)
        return hand_in_file(notebook, name, unfinished)
    except _StopError as error:
        return _stopped_report(name, str(error))


def hand_in_file(path, name, unfinished=False) -> Report:
    """Hand in the notebook at ``path`` as the set ``name``; see ``hand_in``.

    Errors in reading, writing or submitting are described in the Report, not raised.
    """
    path = Path(path).absolute()
    try:
        notebook, saved = _read_notebook(path, name)
        old = datetime.now().astimezone() - saved > timedelta(seconds=FRESH)
        around, before = _Surroundings(path.parent), _hash_content(path)
        run = rerun.rerun_notebook(copy.deepcopy(notebook), path.parent)
        report = _make_report(notebook, name, run, saved if old else None, around)
        if report.can_go_on and not unfinished:
            title = sentence("hand-in.stopped", name=name)
            return replace(report, title=title, next=(sentence("hand-in.go_on", name=name),))
        if _hash_content(path) != before:
            raise _StopError(sentence("hand-in.changed", name=name))
        report = replace(report, can_go_on=False)
        if around.exchange:
            return _submit(report, path, around)
        return _write_file(report, path, around)
    except _StopError as error:
        return _stopped_report(name, str(error))


def hand_in_time(name, place=None) -> datetime | None:
    """Return when a set's hand-in file was last written, in the course that contains ``place``."""
    folder = _Surroundings(Path(place or Path.cwd())).folder
    files = [*folder.glob(f"{name}.ipynb"), *folder.glob(f"{name}-*.ipynb")]
    return max(map(_change_time, files), default=None)


class _StopError(Exception):
    """The notebook can't be handed in; the message tells the student why."""


class _Surroundings:
    """The course, term and exchange of a notebook, if there are any."""

    def __init__(self, place):
        self.troubles, self.term = [], course.Term()
        self.root, self.exchange = place, None
        try:
            if its_course := course.find_course(place):
                self.root = its_course.root
                self.term = its_course.term
        except (ValueError, OSError) as error:
            self.troubles.append(str(error))  # the teacher's mistake must not stop a student
        try:
            self.exchange = exchange.find_exchange(place)
        except ValueError as error:
            self.troubles.append(str(error))

    @property
    def folder(self):
        """The folder for files that students upload."""
        return self.root / FOLDER

    @property
    def has_class(self):
        """Whether there is a class to hand in to."""
        return bool(self.exchange or self.term.due or self.term.upload or self.term.ids)


def _find_own_notebook(name):
    """Return the path of this kernel's notebook."""
    folder, known_path = Path.cwd(), os.environ.get("JPY_SESSION_NAME", "")
    known_path = known_path or _shell_names().get("__vsc_ipynb_file__", "")
    if known_path and Path(known_path).is_file():
        return Path(known_path)
    expected = folder / f"{name}.ipynb"
    if not known_path and expected.is_file():
        return expected
    # The notebook was renamed after its kernel started, or the editor doesn't provide its path.
    candidates = [path for path in folder.glob("*.ipynb") if _holds_set(path, name)]
    if len(candidates) == 1:
        return candidates[0]
    raise _StopError(sentence("hand-in.no_path", name=name, folder=folder))


def _shell_names():
    try:
        from IPython import get_ipython
    except ImportError:
        return {}
    shell = get_ipython()
    return shell.user_ns if shell else {}


def _holds_set(path, name):
    try:
        checked = _checked_questions(_read_notebook(path, name)[0])
        return any(question.startswith(f"{name}.") for question in checked)
    except _StopError:
        return False


def _wait_for_save(path, began):
    """Wait briefly, because the editor may save the notebook when this cell starts."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not path.is_file() or path.stat().st_mtime > began - FRESH:
            return
        time.sleep(0.1)


def _read_notebook(path, name):
    """Return a notebook of this set, and the time when it was saved."""
    import nbformat

    try:
        questions_of_set(name)
    except ValueError:
        raise _StopError(sentence("hand-in.no_set", name=repr(name))) from None
    try:
        text, saved = path.read_text(encoding="utf-8"), _change_time(path)
        notebook = nbformat.reads(text, as_version=4)
        checked = _checked_questions(notebook)
    except OSError as error:
        raise _StopError(sentence("hand-in.unreadable", file=path, why=error.strerror)) from None
    except Exception:  # nbformat raises various errors for files that aren't notebooks
        raise _StopError(sentence("hand-in.no_notebook", file=path)) from None
    if not any(question.startswith(f"{name}.") for question in checked):
        others = sorted({question.partition(".")[0] for question in checked})
        key = "hand-in.other_set" if others else "hand-in.none_of_it"
        raise _StopError(sentence(key, file=path.name, name=name, other=", ".join(others)))
    return notebook, saved


def _checked_questions(notebook):
    calls = (question_call(cell.source) for cell in notebook.cells if cell.cell_type == "code")
    return [call.question for call in calls if call and call.call == "check"]


def _make_report(notebook, name, run, saved, around):
    """Make the Report on a run; ``saved`` is the time of the last save if that was long ago."""
    unanswered, not_right = _find_open_questions(notebook, name, run)
    student, wrong = _find_id(run, around)
    parts = [
        ("hand-in.ended", [run.ended] if run.ended else []),
        ("hand-in.failing", [f"{heading}: {error}" for heading, error in run.failing]),
        ("hand-in.unanswered", [] if run.ended else unanswered),
        ("hand-in.id", wrong),
    ]
    blocking = any(items for _, items in parts)
    parts.append(("hand-in.not_right", not_right))
    due = around.term.due.get(name)
    said = [sentence("hand-in.saved", time=_format_time(saved))] if saved else []
    said += around.troubles
    if due and due < datetime.now().astimezone():
        said.append(sentence("hand-in.late", time=_format_time(due)))
    return Report(
        STOPPED,
        name,
        id=student,
        said=tuple(said),
        parts=tuple((sentence(key), tuple(items)) for key, items in parts if items),
        can_go_on=blocking,
    )


def _find_open_questions(notebook, name, run):
    """Return the headings of unanswered questions, and those of answers not fully right yet."""
    above = rerun.find_headings(notebook)
    titles, paragraphs = {}, []
    for heading, cell in zip(above, notebook.cells, strict=True):
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and marks.get("grade") and marks.get("solution"):
            empty = cell.source.strip() in ("", UNWRITTEN_TEXT)
            paragraphs += [heading or cell.get("id", "")] if empty else []
        elif cell.cell_type == "code":
            call = question_call(cell.source)
            if call and call.call == "check":
                titles.setdefault(call.question, heading or call.question)
    unanswered, not_right = [], []
    known = questions_of_set(name)
    for question in sorted(known, key=[*titles, *known].index):
        state, credit = run.verdicts.get(question, ("missing", 0.0))
        title = titles.get(question) or sentence("hand-in.no_check", question=question)
        if state == "missing":
            unanswered.append(title)
        elif credit < 1:
            not_right.append(title)
    return [*unanswered, *paragraphs], not_right


def _find_id(run, around):
    """Return the student id for the hand-in, and sentences about errors in the notebook's id."""
    hub = os.environ.get("JUPYTERHUB_USER") or (around.exchange and around.exchange.student) or ""
    me, id_file = run.me, around.term.ids
    if hub:
        differs = bool(me) and normalise_id(me) != normalise_id(hub)
        return hub, [sentence("hand-in.other_id", me=me, id=hub)] if differs else []
    if run.ended:  # the run may have stopped before it set the id
        return me, []
    if not me:
        return "", [sentence("hand-in.no_id")] if around.has_class else []
    if not run.me_is_text:
        return me, [sentence("hand-in.id_in_quotes", me=me)]
    if ids.find_odd_signs(me):
        return me, [sentence("hand-in.id_signs", me=me)]
    if id_file:
        try:
            if not ids.is_known(id_file, me):
                near = ids.find_likely_id(id_file, me)
                key = "hand-in.near_id" if near else "hand-in.unknown_id"
                return me, [sentence(key, me=me, near=near)]
        except (OSError, ValueError) as error:
            around.troubles.append(sentence("hand-in.no_ids", file=id_file, why=error))
    return me, []


def _submit(report, path, around):
    place, name = around.exchange, report.name
    try:
        last = place.last_submission(name)
        if last and _hash_content(last / f"{name}.ipynb") == _hash_content(path):
            when = place.submission_time(name)
            title = sentence("hand-in.same", name=name, time=_format_time(when))
            return replace(report, state=SAME, time=when, title=title)
        when = place.submit(path, name)
    except exchange.ExchangeError as error:
        raise _StopError(f"{error} {sentence('hand-in.try_again', name=name)}") from None
    except OSError as error:
        raise _StopError(sentence("hand-in.unreadable", file=path, why=error.strerror)) from None
    title = sentence("hand-in.submitted", name=name, id=report.id, time=_format_time(when))
    again = sentence("hand-in.again")
    return replace(report, state=SUBMITTED, time=when, title=title, next=(again,))


def _write_file(report, path, around):
    name, student = report.name, _clean_id(report.id)
    target = around.folder / (f"{name}-{student}.ipynb" if student else f"{name}.ipynb")
    relative = os.path.relpath(target, around.root)
    before, said, upload = None, list(report.said), _word_upload(around, name)
    try:
        before = _change_time(target) if target.is_file() else None
        if before and _hash_content(target) == _hash_content(path):
            title = sentence("hand-in.same_file", file=relative, time=_format_time(before))
            return replace(report, state=SAME, file=target, time=before, title=title, next=upload)
        target.parent.mkdir(exist_ok=True)
        if before:
            kept = _free_path(target.parent / EARLIER, f"{target.stem}-{before:%Y-%m-%d-%H.%M}")
            kept.parent.mkdir(exist_ok=True)
            target.rename(kept)
            file = os.path.relpath(kept, around.root)
            said.append(sentence("hand-in.kept", time=_format_time(before), file=file))
        whole = target.with_suffix(".part")
        shutil.copyfile(path, whole)
        whole.replace(target)
    except OSError as error:
        why = error.strerror
        raise _StopError(sentence("hand-in.unwritable", folder=target.parent, why=why)) from None
    if beside := sorted(str(file) for _, file in exchange.files_beside(path, name)):
        said.append(sentence("hand-in.beside", files=", ".join(beside[:5])))
    title = sentence("hand-in.written", name=name, file=relative)
    return replace(
        report, state=WRITTEN, file=target, time=_change_time(target), title=title,
        said=tuple(said), next=upload,
    )  # fmt: skip


def _word_upload(around, name):
    if not around.has_class:
        return (sentence("hand-in.alone"),)
    upload = around.term.upload
    where = upload.get(name) or upload.get("") or sentence("hand-in.anywhere")
    return (sentence("hand-in.upload", where=where), sentence("hand-in.again"))


def _clean_id(student):
    """Replace unusual characters in an id, for use in a file name."""
    odd = ids.find_odd_signs(student)
    return "".join("_" if sign in odd else sign for sign in student)


def _free_path(folder, stem):
    path, number = folder / f"{stem}.ipynb", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.ipynb"
    return path


def _hash_content(path):
    """Return a hash of a notebook's cells, ignoring outputs."""
    cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    content = [
        [cell.get("cell_type"), "".join(cell.get("source", "")), cell.get("attachments")]
        for cell in cells
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _stopped_report(name, why):
    return Report(STOPPED, name, title=sentence("hand-in.stopped", name=name), said=(why,))


def _change_time(path):
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone()


def _format_time(moment):
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
