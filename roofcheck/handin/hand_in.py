"""Hand in a problem set in one step, with ``hand_in("ps2")`` in its last cell or with a button.

The saved notebook first runs from top to bottom in a fresh kernel. Unanswered questions and failing
cells stop the hand-in, unless the student hands in anyway. The notebook is then submitted to
nbgrader's exchange or, if there is none, saved as a file for the student to upload.
"""

import copy
import html
import os
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from roofcheck import course
from roofcheck.cells import question_call
from roofcheck.handin import exchange, ids, notebook_file, rerun
from roofcheck.handin.notebook_file import StopError, hash_cells, read_notebook
from roofcheck.sentences import sentence
from roofcheck.tables.catalogue import questions_of_set
from roofcheck.tables.variants import normalise_id
from rooflab import palette

INERT_VARIABLES = (rerun.HAND_IN_VARIABLE, "NBGRADER_EXECUTION")
FOLDER, EARLIER = "handed-in", "earlier"
SUBMITTED, WRITTEN, STOPPED, SAME = "submitted", "written", "stopped", "same"
UNWRITTEN_TEXT = "YOUR ANSWER HERE"


@dataclass(frozen=True)
class Report:
    """The outcome of a hand-in.

    ``state`` is "submitted" to an exchange, "written" as a ``file`` to upload, "stopped", or the
    "same" as before, and ``time`` is when it was submitted or written. Sentences in ``said`` follow
    the ``title``, ``parts`` are titled lists, such as unanswered questions, and ``next`` says what
    to do now. ``can_go_on`` is whether ``unfinished=True`` would hand in the notebook as it is.
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
        colour = palette.colour("partly" if self.state == STOPPED else "right")
        return (
            f'<div style="border-left: 4px solid {colour}; '
            f'padding: 0.4em 0.8em"><b>{html.escape(self.title)}</b>{lines}{parts}{then}</div>'
        )

    def as_json(self) -> dict:
        """Return what JupyterLab needs of the report, as JSON data."""
        shown = {"title": self.title, "html": self._repr_html_(), "text": str(self)}
        return shown | {"state": self.state, "can_go_on": self.can_go_on}


def hand_in(name, unfinished=False, path=None):
    """Hand in the notebook that calls this, as it was last saved, as the set ``name``.

    Unanswered questions and failing cells stop the hand-in unless ``unfinished=True``. Pass
    ``path`` if the notebook is not found. Returns a Report. Returns None if the call itself runs
    during a hand-in or during grading, and in JupyterLab with the course's extension, which saves
    the notebook, hands it in and replaces this cell's output with the report.
    """
    if any(map(os.environ.get, INERT_VARIABLES)):
        return None
    if path is None and notebook_file.ask_lab(name, unfinished):
        return None
    try:
        notebook = Path(path) if path else notebook_file.find_own_notebook(name)
        if unsaved := notebook_file.find_unsaved_cells(notebook, name):
            parts = ((sentence("hand-in.unsaved"), tuple(unsaved)),)
            return replace(_stopped_report(name), parts=parts, next=(sentence("hand-in.save"),))
        print(sentence("hand-in.running", name=name), flush=True)
        return hand_in_file(notebook, name, unfinished, from_cell=True)
    except StopError as error:
        return _stopped_report(name, str(error))


def hand_in_file(path, name, unfinished=False, from_cell=False, screen=None) -> Report:
    """Hand in the notebook at ``path`` as the set ``name``; see ``hand_in``.

    ``from_cell`` is whether a cell shows the report, and not a dialog with buttons. ``screen`` is
    the text of every cell on the student's screen, if it is known. Errors in reading, writing or
    submitting are described in the Report, not raised.
    """
    path = Path(path).absolute()
    try:
        notebook, content, saved = read_notebook(path, name)
        if screen is not None and screen != [cell.source for cell in notebook.cells]:
            raise StopError(sentence("hand-in.changed"))
        around = _Surroundings(path.parent)
        run = rerun.rerun_notebook(copy.deepcopy(notebook), path.parent)
        report = _make_report(notebook, name, run, around)
        if from_cell and screen is None:
            note = sentence("hand-in.saved", time=f"{saved:%Y-%m-%d %H:%M:%S}")
            report = replace(report, said=(note, *report.said))
        if report.can_go_on and not unfinished:
            then = (sentence("hand-in.go_on", name=name),) if from_cell else ()
            return replace(report, title=sentence("hand-in.stopped", name=name), next=then)
        if hash_cells(read_notebook(path, name)[1]) != hash_cells(content):
            raise StopError(sentence("hand-in.changed"))
        hand_over = _submit if around.exchange else _write_file
        done = hand_over(replace(report, can_go_on=False), path, content, around)
        receipt = (_format_receipt(done, content),) if around.has_class else ()
        return replace(done, next=(*done.next, *receipt))
    except StopError as error:
        return _stopped_report(name, str(error))


def hand_in_time(name, place=None) -> datetime | None:
    """Return when a set's hand-in file was last written, in the course that contains ``place``."""
    folder = _Surroundings(Path(place or Path.cwd())).folder
    files = [*folder.glob(f"{name}.ipynb"), *folder.glob(f"{name}-*.ipynb")]
    return max(map(_change_time, files), default=None)


class _Surroundings:
    """The course, term, exchange and class of a notebook, if any, and the folder of its files."""

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
        self.folder = self.root / FOLDER
        self.has_class = self.exchange or self.term.due or self.term.upload or self.term.ids


def _make_report(notebook, name, run, around):
    unanswered, not_right = _find_open_questions(notebook, name, run)
    student, wrong = _find_id(run, around)
    parts = [
        ("hand-in.id", wrong),  # first, because cells fail without an id
        ("hand-in.ended", [run.ended] if run.ended else []),
        ("hand-in.failing", [f"{heading}: {error}" for heading, error in run.failing]),
        ("hand-in.unanswered", [] if run.ended else unanswered),
    ]
    blocking = any(items for _, items in parts)
    parts.append(("hand-in.not_right", not_right))
    due = around.term.due.get(name)
    late = due and due < datetime.now().astimezone()
    said = [*around.troubles, *([sentence("hand-in.late", time=_format_time(due))] if late else [])]
    parts = tuple((sentence(key), tuple(items)) for key, items in parts if items)
    return Report(STOPPED, name, student, said=tuple(said), parts=parts, can_go_on=blocking)


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


def _submit(report, path, content, around):
    place, name = around.exchange, report.name
    try:
        last = place.last_submission(name)
        if last and hash_cells((last / f"{name}.ipynb").read_bytes()) == hash_cells(content):
            when = place.submission_time(name)
            title = sentence("hand-in.same", name=name, time=_format_time(when))
            return replace(report, state=SAME, time=when, title=title)
        when = place.submit(path, name, content)
    except exchange.ExchangeError as error:
        raise StopError(f"{error} {sentence('hand-in.try_again')}") from None
    except OSError as error:
        raise StopError(sentence("hand-in.unreadable", file=path, why=error.strerror)) from None
    title = sentence("hand-in.submitted", name=name, id=report.id, time=_format_time(when))
    again = sentence("hand-in.again")
    return replace(report, state=SUBMITTED, time=when, title=title, next=(again,))


def _write_file(report, path, content, around):
    name, odd = report.name, ids.find_odd_signs(report.id)
    student = normalise_id("".join("_" if sign in odd else sign for sign in report.id))
    target = around.folder / (f"{name}-{student}.ipynb" if student else f"{name}.ipynb")
    relative = os.path.relpath(target, around.root)
    before, said, upload = None, list(report.said), _word_upload(around, name)
    try:
        before = _change_time(target) if target.is_file() else None
        if before and hash_cells(target.read_bytes()) == hash_cells(content):
            title = sentence("hand-in.same_file", file=relative, time=_format_time(before))
            return replace(report, state=SAME, file=target, time=before, title=title, next=upload)
        target.parent.mkdir(exist_ok=True)
        if before:
            kept = target.parent / EARLIER / f"{target.stem}-{before:%Y-%m-%d-%H.%M.%S}.ipynb"
            kept.parent.mkdir(exist_ok=True)
            target.rename(kept)
            file = os.path.relpath(kept, around.root)
            said.append(sentence("hand-in.kept", time=_format_time(before), file=file))
        whole = target.with_suffix(".part")
        whole.write_bytes(content)
        whole.replace(target)
    except OSError as error:
        why = error.strerror
        raise StopError(sentence("hand-in.unwritable", folder=target.parent, why=why)) from None
    if beside := sorted(str(file) for _, file in exchange.files_beside(path, name)):
        said.append(sentence("hand-in.beside", files=", ".join(beside[:5])))
    title = sentence("hand-in.written", name=name, file=relative)
    return replace(
        report, state=WRITTEN, file=target, time=_change_time(target), title=title,
        said=tuple(said), next=upload,
    )  # fmt: skip


def _format_receipt(report, content):
    """Return a sentence that the student can keep and compare with what arrived."""
    file = report.file.name if report.file else f"{report.name}.ipynb"
    open_questions = "; ".join(dict(report.parts).get(sentence("hand-in.unanswered"), ()))
    return sentence(
        "hand-in.receipt", file=file, time=_format_time(report.time), hash=hash_cells(content),
        unanswered=open_questions or sentence("hand-in.none"),
    )  # fmt: skip


def _word_upload(around, name):
    if not around.has_class:
        return (sentence("hand-in.alone"),)
    upload = around.term.upload
    where = upload.get(name) or upload.get("") or sentence("hand-in.anywhere")
    return (sentence("hand-in.upload", where=where), sentence("hand-in.again"))


def _stopped_report(name, *why):
    return Report(STOPPED, name, title=sentence("hand-in.stopped", name=name), said=why)


def _change_time(path):
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone()


def _format_time(moment):
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
