"""Hand in a problem set in one step: ``hand_in("ps2")`` in its last cell, or a button.

The notebook as it is saved runs from top to bottom in a fresh kernel first. What is unanswered or
fails stops it, until the student says to hand in all the same. Then it goes through nbgrader's
exchange, where there is one, or is written as one file for the student to upload.
"""

import copy
import hashlib
import html
import json
import os
import shutil
import time
import unicodedata
from dataclasses import dataclass, replace
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
# How long to wait for the editor to save, and how old a saved notebook may be to count as saved.
PATIENCE, FRESH = 3.0, 5.0
UNWRITTEN_TEXT = "YOUR ANSWER HERE"
COLOUR_BY_STATE = {SUBMITTED: "right", WRITTEN: "right", SAME: "right", STOPPED: "partly"}
# Beside letters, marks and digits of all languages, an id may have these; grading takes no others.
ID_SIGNS = frozenset(" ._-@+',()’·・")


@dataclass(frozen=True)
class Report:
    """What became of a hand-in.

    Parameters
    ----------
    state : "submitted" to an exchange, "written" as a file, "stopped", or the "same" as before
    name : the set
    id : under which name, or ""
    file : the file to upload, or None
    time : when it was handed in or written; None where it was stopped
    title : what became of it, in a sentence
    said : what else there is to say, in sentences
    parts : lists of what was noticed, each a title and lines: what is unanswered, fails, is not
        right yet
    next : what to do now, in sentences
    can_go_on : whether ``unfinished=True`` would hand it in as it is
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
        def text(sentence):
            return html.escape(sentence)

        lines = "".join(f"<br>{text(each)}" for each in self.said)
        parts = "".join(
            f'<div style="margin-top: 0.5em">{text(title)}</div><ul style="margin: 0">'
            + "".join(f"<li>{text(item)}</li>" for item in items)
            + "</ul>"
            for title, items in self.parts
        )
        then = "".join(f"<div>{text(each)}</div>" for each in self.next)
        then = f'<div style="margin-top: 0.5em">{then}</div>' if then else ""
        return (
            f'<div style="border-left: 4px solid {palette.colour(COLOUR_BY_STATE[self.state])}; '
            f'padding: 0.4em 0.8em"><b>{text(self.title)}</b>{lines}{parts}{then}</div>'
        )

    def as_json(self) -> dict:
        """The same as plain data, with times in ISO format, for a page that shows it."""
        return {
            "state": self.state,
            "name": self.name,
            "id": self.id,
            "file": str(self.file) if self.file else None,
            "time": self.time.isoformat() if self.time else None,
            "title": self.title,
            "said": list(self.said),
            "parts": [{"title": title, "items": list(items)} for title, items in self.parts],
            "next": list(self.next),
            "can_go_on": self.can_go_on,
            "html": self._repr_html_(),
        }


def hand_in(name, unfinished=False, path=None):
    """Hand in a problem set, by its name: the notebook in which this is called, as it is saved.

    It stops at questions without an answer and at cells that fail; with ``unfinished`` it is handed
    in all the same. ``path`` names the notebook where that cannot be found out. Returns a Report,
    or None where the notebook runs only to be handed in or graded.
    """
    if any(os.environ.get(each) for each in INERT_VARIABLES):
        return None
    began = time.time()
    try:
        found = Path(path) if path else _find_own_notebook(name)
        _wait_for_save(found, began)
        print(sentence("hand-in.running", name=name), flush=True)
        return hand_in_file(found, name, unfinished)
    except _StopError as error:
        return _stopped_report(name, str(error))


def hand_in_file(path, name, unfinished=False) -> Report:
    """Hand in the notebook at ``path`` as that of the set ``name``; see ``hand_in``.

    What cannot be read, written or handed in is told in the Report: nothing is raised for it.
    """
    path = Path(path).absolute()
    try:
        notebook, saved = _read_notebook(path, name)
        old = datetime.now().astimezone() - saved > timedelta(seconds=FRESH)
        around, before = _Surroundings(path.parent), _hash_content(path)
        found = rerun.rerun_notebook(copy.deepcopy(notebook), path.parent)
        report = _make_report(notebook, name, found, saved if old else None, around)
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
    """When the file of a set was last written for handing in, in the course around ``place``."""
    folder = _Surroundings(Path(place or Path.cwd())).folder
    found = [*folder.glob(f"{name}.ipynb"), *folder.glob(f"{name}-*.ipynb")]
    return max(map(_change_time, found), default=None)


class _StopError(Exception):
    """It cannot be handed in; the message is a sentence for the student."""


class _Surroundings:
    """What is around a notebook: its course and term, and the exchange, if there are such."""

    def __init__(self, place):
        self.troubles, self.term = [], course.Term()
        self.root, self.exchange = place, None
        try:
            found = course.find_course(place)
            self.root = found.root if found else place
            self.term = found.term if found else self.term
        except (ValueError, OSError) as error:
            self.troubles.append(str(error))  # it is the teacher's mistake, and stops nobody
        try:
            self.exchange = exchange.find_exchange(place)
        except ValueError as error:
            self.troubles.append(str(error))

    @property
    def folder(self):
        """Where the files lie that students upload."""
        return self.root / FOLDER

    @property
    def has_class(self):
        """Whether anybody waits for what is handed in."""
        return bool(self.exchange or self.term.due or self.term.upload or self.term.ids)


def _find_own_notebook(name):
    """The notebook whose kernel this is."""
    folder, named = Path.cwd(), os.environ.get("JPY_SESSION_NAME", "")
    named = named or _shell_names().get("__vsc_ipynb_file__", "")
    if named and Path(named).is_file():
        return Path(named)
    exact = folder / f"{name}.ipynb"
    if not named and exact.is_file():
        return exact
    # It was renamed since its kernel started, or nobody said what it is called.
    alike = [path for path in folder.glob("*.ipynb") if _holds_set(path, name)]
    if len(alike) == 1:
        return alike[0]
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
        return any(
            each.startswith(f"{name}.")
            for each in _checked_questions(_read_notebook(path, name)[0])
        )
    except _StopError:
        return False


def _wait_for_save(path, began):
    """Wait a moment for an editor that saves the notebook as this cell begins."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not path.is_file() or path.stat().st_mtime > began - FRESH:
            return
        time.sleep(0.1)


def _read_notebook(path, name):
    """A notebook of this set, and when it was saved."""
    import nbformat

    try:
        questions_of_set(name)
    except ValueError:
        raise _StopError(sentence("hand-in.no_set", name=repr(name))) from None
    try:
        text, saved = path.read_text(encoding="utf-8"), _change_time(path)
        notebook = nbformat.reads(text, as_version=4)
        held = _checked_questions(notebook)
    except OSError as error:
        raise _StopError(sentence("hand-in.unreadable", file=path, why=error.strerror)) from None
    except Exception:  # nbformat raises what it likes for what is no notebook
        raise _StopError(sentence("hand-in.no_notebook", file=path)) from None
    if not any(each.startswith(f"{name}.") for each in held):
        others = sorted({each.partition(".")[0] for each in held})
        key = "hand-in.other_set" if others else "hand-in.none_of_it"
        raise _StopError(sentence(key, file=path.name, name=name, other=", ".join(others)))
    return notebook, saved


def _checked_questions(notebook):
    """The questions that a notebook's cells check."""
    found = (question_call(cell.source) for cell in notebook.cells if cell.cell_type == "code")
    return [each.question for each in found if each and each.call == "check"]


def _make_report(notebook, name, found, saved, around):
    """What a run showed, before anything is handed in; ``saved`` is when, if that is long ago."""
    unanswered, not_right = _find_open_questions(notebook, name, found)
    who, wrong = _find_id(found, around)
    parts = [
        ("hand-in.ended", [found.ended] if found.ended else []),
        ("hand-in.failing", [f"{heading}: {error}" for heading, error in found.failing]),
        ("hand-in.unanswered", [] if found.ended else unanswered),
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
        id=who,
        said=tuple(said),
        parts=tuple((sentence(key), tuple(items)) for key, items in parts if items),
        can_go_on=blocking,
    )


def _find_open_questions(notebook, name, found):
    """The headings of what is without an answer, and of what is not fully right yet."""
    above = rerun.find_headings(notebook)
    titles, paragraphs = {}, []
    for heading, cell in zip(above, notebook.cells, strict=True):
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and marks.get("grade") and marks.get("solution"):
            empty = cell.source.strip() in ("", UNWRITTEN_TEXT)
            paragraphs += [heading or cell.get("id", "")] if empty else []
        elif (
            cell.cell_type == "code" and (one := question_call(cell.source)) and one.call == "check"
        ):
            titles.setdefault(one.question, heading or one.question)
    unanswered, not_right = [], []
    known = questions_of_set(name)
    for question in sorted(known, key=[*titles, *known].index):
        state, credit = found.verdicts.get(question, ("missing", 0.0))
        title = titles.get(question) or sentence("hand-in.no_check", question=question)
        if state == "missing":
            unanswered.append(title)
        elif credit < 1:
            not_right.append(title)
    return [*unanswered, *paragraphs], not_right


def _find_id(found, around):
    """The id under which it is handed in, and what is wrong with the one in the notebook."""
    hub = os.environ.get("JUPYTERHUB_USER") or (around.exchange and around.exchange.student) or ""
    me, listed = found.me, around.term.ids
    if hub:
        other = bool(me) and normalise_id(me) != normalise_id(hub)
        return hub, [sentence("hand-in.other_id", me=me, id=hub)] if other else []
    if found.ended:  # the notebook had no chance to say it
        return me, []
    if not me:
        return "", [sentence("hand-in.no_id")] if around.has_class else []
    if not found.me_is_text:
        return me, [sentence("hand-in.id_in_quotes", me=me)]
    if _clean_id(me) != me:
        return me, [sentence("hand-in.id_signs", me=me)]
    if listed:
        try:
            if not ids.is_known(listed, me):
                near = ids.find_likely_id(listed, me)
                key = "hand-in.near_id" if near else "hand-in.unknown_id"
                return me, [sentence(key, me=me, near=near)]
        except (OSError, ValueError) as error:
            around.troubles.append(sentence("hand-in.no_ids", file=listed, why=error))
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
    name, who = report.name, _clean_id(report.id)
    target = around.folder / (f"{name}-{who}.ipynb" if who else f"{name}.ipynb")
    shown = os.path.relpath(target, around.root)
    before, said = None, list(report.said)
    try:
        before = _change_time(target) if target.is_file() else None
        if before and _hash_content(target) == _hash_content(path):
            title = sentence("hand-in.same_file", file=shown, time=_format_time(before))
            told = replace(report, state=SAME, file=target, time=before, title=title)
            return replace(told, next=_word_upload(around))
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
    title = sentence("hand-in.written", name=name, file=shown)
    told = replace(report, state=WRITTEN, file=target, time=_change_time(target), title=title)
    return replace(told, said=tuple(said), next=_word_upload(around))


def _word_upload(around):
    if not around.has_class:
        return (sentence("hand-in.alone"),)
    where = around.term.upload or sentence("hand-in.anywhere")
    return (sentence("hand-in.upload", where=where), sentence("hand-in.again"))


def _clean_id(who):
    """An id as it may stand in a file's name."""
    return "".join(
        sign if unicodedata.category(sign)[0] in "LMN" or sign in ID_SIGNS else "_" for sign in who
    )


def _free_path(folder, stem):
    """A path in a folder where no file lies yet."""
    found, number = folder / f"{stem}.ipynb", 1
    while found.exists():
        number += 1
        found = folder / f"{stem}-{number}.ipynb"
    return found


def _hash_content(path):
    """The hash of what somebody wrote into a notebook: its cells, without what they put out."""
    cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    kept = [
        [cell.get("cell_type"), "".join(cell.get("source", "")), cell.get("attachments")]
        for cell in cells
    ]
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()


def _stopped_report(name, why):
    return Report(STOPPED, name, title=sentence("hand-in.stopped", name=name), said=(why,))


def _change_time(path):
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone()


def _format_time(moment):
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
