"""What a name means: which set a folder or a notebook is for, and whose an LMS says it is."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from roofgrade.text import words

NOTEBOOK = ".ipynb"
# What browsers put behind a notebook's ending, and editors behind a folder's name.
SUFFIXES = (NOTEBOOK, ".json", ".txt", ".zip")
# Words in a file's name that tell neither its set nor its author, in several languages.
FILLERS = frozenset(
    {"assignment", "copia", "copie", "copy", "de", "done", "final", "fixed", "homework", "kopie"}
    | {"late", "latest", "my", "new", "of", "problem", "set", "solution", "solutions", "student"}
    | {"submission", "submitted", "v", "version", "von"}
)
# What systems and editors leave behind, in any folder.
JUNK = frozenset(
    {".DS_Store", "__MACOSX", ".ipynb_checkpoints", "Thumbs.db", "desktop.ini", "__pycache__"}
    | {".git", ".gitignore", ".gitkeep", ".idea", ".venv", ".virtual_documents", ".vscode"}
)
JUNK_BEGINS = ("._", "~$", ".~", ".nfs")

# Moodle, mod/assign: FULL NAME_NUMBER_assignsubmission_file_ and then the file, or a folder of them
# ("Download submissions in folders"); in the name an underscore has become a space.
MOODLE = re.compile(r"(?P<who>[^_]+)_(?P<number>\d+)_assignsubmission_[a-z]+(?:_(?P<rest>.*))?")
# Canvas, app/models/content_zipper.rb: sortable name without punctuation, LATE for what came in
# after the due date, the user's number, the file's number, the file. No name where graders may not
# see it.
CANVAS = re.compile(
    r"(?:(?!LATE_)(?P<who>[^\W\d_][^_]*)_)?(?P<late>LATE_)?(?P<number>\d+)_\d+_(?P<rest>.+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sender:
    """Who an LMS says a file is from: name, the LMS's number, the file's own name, or ""."""

    who: str
    number: str
    rest: str
    late: bool = False


def sender(part: str) -> Sender | None:
    """Whom a file's or a folder's name names, in Moodle's or Canvas's way; None if in neither.

    >>> sender("Ada Lovelace_12345_assignsubmission_file_ps1.ipynb")
    Sender(who='Ada Lovelace', number='12345', rest='ps1.ipynb', late=False)
    >>> sender("lovelaceada_LATE_123_456_ps1-1.ipynb")
    Sender(who='lovelaceada', number='123', rest='ps1-1.ipynb', late=True)
    """
    if found := MOODLE.fullmatch(part) or CANVAS.fullmatch(part):
        told = {key: value or "" for key, value in found.groupdict().items()}
        return Sender(told["who"].strip(), told["number"], told["rest"], bool(told.get("late")))
    return None


def means(name: str, sets: Sequence[str]) -> str | None:
    """Which of the sets a file's or folder's name, or the end of a path, names.

    None if none does, or if two fit. A copy's number, an author's name and an LMS's additions do
    not matter, the digits of the set do.

    >>> [means(name, ["ps1", "ps2"]) for name in ("PS1 (2).ipynb", "Copy of zoe_ps1", "ps12")]
    ['ps1', 'ps1', None]
    """
    for part in reversed(PurePosixPath(name).parts):
        if part in sets:
            return part
        told = sender(part)
        words = _words(_stem(told.rest if told else part))
        fits = {each: own for each in sets if _holds(words, own := _words(each))}
        # "ps1-extra" holds the name of ps1 too.
        whole = [
            each
            for each, own in fits.items()
            if not any(_holds(more, own) for more in fits.values() if more != own)
        ]
        if fits:
            return whole[0] if len(whole) == 1 else None
    return None


def author(name: str, assignment: str) -> str:
    """What a file's name says beside its set: who it is from, or "" if it does not tell.

    >>> author("Kopie von ps1_zoe_late (2).ipynb", "ps1"), author("ps1-final.ipynb", "ps1")
    ('zoe', '')
    """
    if told := sender(name):
        return student_id(told.who, told.number)
    set_name = r"[\W_]*0*".join(_words(assignment))
    found = re.compile(rf"(?<![^\W\d_]){set_name}(?!\d)", re.IGNORECASE)
    rest = found.sub(" ", _stem(name), count=1)
    rest = re.sub(r"\(\d+\)", " ", rest)
    kept = [
        word
        for word in re.split(r"[\s_+]+|(?<!\w)-|-(?!\w)", rest)
        if not all(part in FILLERS or part.isdecimal() for part in _words(word))
    ]
    return "-".join(kept)


def student_id(who: str, number: str) -> str:
    """A folder's name for someone that only an LMS knows: the same at every download.

    >>> student_id("Ada Lovelace", "12345")
    'ada-lovelace-12345'
    """
    return "-".join(filter(None, re.split(r"[\W_]+", f"{who} {number}".casefold())))


def is_junk(name: str) -> bool:
    """Whether systems leave files or folders of this name behind."""
    return name in JUNK or name.startswith(JUNK_BEGINS)


def is_notebook(name: str) -> bool:
    """Whether this is a notebook's name, as saved by an editor or by a browser."""
    stem, _, ending = name.casefold().rpartition(NOTEBOOK)
    return bool(stem) and ending in ("", ".json", ".txt")


def fault(name: str) -> str:
    """Why a folder of this name cannot stand for a student, or ""."""
    if any(unicodedata.category(sign) == "Cs" for sign in name):
        return words("intake.not_utf8")
    if any(unicodedata.category(sign) == "Cc" for sign in name):
        return words("intake.control")
    if len(name) > 128 or len(name.encode()) >= 256:  # what file systems take
        return words("intake.long_name")
    if "/" in name or name in ("", ".", ".."):
        return words("intake.no_name")
    return ""


def _stem(name):
    while name.casefold().endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    return name


def _words(text):
    """Words and numbers, in small letters; numbers without leading zeros."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return [word.lstrip("0") or "0" for word in re.findall(r"\d+|[^\W\d_]+", text)]


def _holds(words, wanted):
    """Whether the wanted words stand in a row among the others."""
    places = range(len(words) - len(wanted) + 1)
    return any(words[at : at + len(wanted)] == wanted for at in places)
