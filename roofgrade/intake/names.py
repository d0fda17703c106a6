"""Finds the set and the sender in the names of files and folders."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from roofcheck.handin.ids import find_odd_signs
from roofgrade.common.sentences import escape_text, sentence

NOTEBOOK = ".ipynb"
TIMESTAMP = "timestamp.txt"  # nbgrader reads the submission time from it
STATED_TIME = "stated-time.txt"  # the time that the student stated, if the disk shows a later one
# Suffixes that browsers append to a notebook's name, and editors to a folder's.
SUFFIXES = (NOTEBOOK, ".json", ".txt", ".zip")
# Words in file names, in several languages, that identify neither the set nor the author.
FILLER_WORDS = frozenset(
    {"assignment", "copia", "copie", "copy", "de", "done", "final", "fixed", "homework", "kopie"}
    | {"late", "latest", "my", "new", "of", "problem", "set", "solution", "solutions", "student"}
    | {"submission", "submitted", "v", "version", "von"}
)
# Files and folders that systems and editors leave behind.
JUNK = frozenset(
    {".DS_Store", "__MACOSX", ".ipynb_checkpoints", "Thumbs.db", "desktop.ini", "__pycache__"}
    | {".git", ".gitignore", ".gitkeep", ".idea", ".venv", ".virtual_documents", ".vscode"}
)
JUNK_PREFIXES = ("._", "~$", ".~", ".nfs")


MOODLE, CANVAS = "Moodle", "Canvas"
LMS_PATTERNS = {
    # mod/assign: FULL NAME_NUMBER_assignsubmission_file_, then the file, or a folder of files
    # ("Download submissions in folders"). Moodle replaces underscores in names with spaces. The
    # number is the participant's in this assignment, "Participant 12345" in its grading worksheet.
    MOODLE: re.compile(
        r"(?P<who>[^_]+)_(?P<number>[0-9]+)_assignsubmission_[a-z]+(?:_(?P<rest>.*))?"
    ),
    # app/models/content_zipper.rb: sortable name without punctuation (omitted if grading is
    # anonymous), LATE after the due date, user number, file number, file name. It has no folders.
    CANVAS: re.compile(
        r"(?:(?!LATE_)(?P<who>[^\W\d_][^_]*)_)?(?P<late>LATE_)?(?P<number>[0-9]+)_[0-9]+_(?P<rest>.+)",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True)
class Sender:
    """The sender of a file according to an LMS: name, number and original file name, or ""."""

    full_name: str
    number: str
    file_name: str
    lms: str
    late: bool = False


def read_sender(part: str, folder: bool = False) -> Sender | None:
    """Parse a file's or ``folder``'s name in an LMS's format; return None if no format fits.

    >>> sender = read_sender("Ada Lovelace_12345_assignsubmission_file_ps1.ipynb")
    >>> sender.full_name, sender.number, sender.file_name, sender.lms
    ('Ada Lovelace', '12345', 'ps1.ipynb', 'Moodle')
    >>> sender = read_sender("lovelaceada_LATE_123_456_ps1-1.ipynb")
    >>> sender.full_name, sender.number, sender.file_name, sender.late
    ('lovelaceada', '123', 'ps1-1.ipynb', True)
    """
    for lms, pattern in LMS_PATTERNS.items():
        if (lms != CANVAS or not folder) and (match := pattern.fullmatch(part)):
            parts = {key: value or "" for key, value in match.groupdict().items()}
            name, is_late = parts["who"].strip(), bool(parts.get("late"))
            return Sender(name, parts["number"], parts["rest"], lms, is_late)
    return None


def normalise_name(text: str) -> str:
    """Return the form that all spellings of a name have in common.

    It is lower-case, with one encoding of accents and without invisible characters.

    >>> normalise_name("Zoe\N{COMBINING ACUTE ACCENT}  LEE\N{RIGHT-TO-LEFT MARK}")
    'zoé lee'
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    visible = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(filter(None, visible.split(" ")))


def split_name(name: str) -> list[str]:
    """Return the words of a person's name: letters, marks and digits of any language.

    >>> split_name("O'Brien-Łukasiewicz, Ada")
    ['o', 'brien', 'łukasiewicz', 'ada']
    """
    signs = normalise_name(name)
    return "".join(s if unicodedata.category(s)[0] in "LMN" else " " for s in signs).split()


def find_set(name: str, sets: Sequence[str]) -> str | None:
    """Return the set named in a file's or folder's name, or None if no set fits or two do.

    Ignores a copy's number, an author's name and an LMS's additions, but not the set's digits.

    >>> [find_set(name, ["ps1", "ps2"]) for name in ("PS1 (2).ipynb", "Copy of zoe_ps1", "ps12")]
    ['ps1', 'ps1', None]
    """
    if name in sets:
        return name
    sender = read_sender(name)
    words = _split_words(_strip_suffixes(sender.file_name if sender else name))
    fits = {each: row for each in sets if _has_in_row(words, row := _split_words(each))}
    # "ps1-extra" also contains "ps1", so the longest name counts.
    longest = [
        each
        for each, row in fits.items()
        if not any(_has_in_row(more, row) for more in fits.values() if more != row)
    ]
    return longest[0] if len(longest) == 1 else None


def find_author(name: str, assignment: str) -> str:
    """Return the author in a file's name, which is the part that does not name the set, or "".

    >>> find_author("Kopie von ps1_zoe_late (2).ipynb", "ps1")
    'zoe'
    """
    if sender := read_sender(name):
        return make_student_id(sender.full_name, sender.number)
    name = unicodedata.normalize("NFKC", name)
    set_name = r"[\W_]*0*".join(_split_words(assignment))
    pattern = re.compile(rf"(?<![^\W\d_]){set_name}(?!\d)", re.IGNORECASE)
    rest = pattern.sub(" ", _strip_suffixes(name), count=1)
    rest = re.sub(r"\(\d+\)", " ", rest)
    words = [
        word
        for word in re.split(r"[\s_+]+|(?<!\w)-|-(?!\w)", rest)
        if not all(part in FILLER_WORDS or part.isdecimal() for part in _split_words(word))
    ]
    return "-".join(words)


def find_signed_id(name: str, assignment: str) -> str:
    """Return the id in the name of a file written by hand_in(), or "".

    A number that a browser added to the name is ignored.

    >>> find_signed_id("ps1-4711 (2).ipynb", "ps1"), find_signed_id("ps1_4711.ipynb", "ps1")
    ('4711', '')
    """
    pattern = rf"{re.escape(assignment)}-(.+?)(?: ?\(\d+\))?{re.escape(NOTEBOOK)}"
    match = re.fullmatch(pattern, name, re.IGNORECASE)
    return match[1] if match else ""


def make_student_id(full_name: str, number: str) -> str:
    """Return an id for a student known only to an LMS, the same for every download.

    >>> make_student_id("Ada Lovelace", "12345")
    'ada-lovelace-12345'
    """
    return "-".join(split_name(f"{full_name} {number}"))


def is_junk(name: str) -> bool:
    """Return whether systems or editors leave files or folders with this name behind."""
    return name in JUNK or name.startswith(JUNK_PREFIXES)


def is_notebook(name: str) -> bool:
    """Return whether this is the name of a notebook as saved by an editor or a browser."""
    stem, _, ending = name.casefold().rpartition(NOTEBOOK)
    return bool(stem) and ending in ("", ".json", ".txt")


def find_id_fault(name: str) -> str:
    """Return the reason why a name cannot be a student's id, or "".

    >>> find_id_fault("ada.lovelace@example.edu"), "<" in find_id_fault("<b>")
    ('', True)
    """
    if fault := find_file_name_fault(name):
        return fault
    if len(name) > 128:
        return sentence("intake.long_name")
    if odd := find_odd_signs(name):
        return sentence("intake.signs", signs=escape_text("".join(odd))[:40])
    return ""


def find_file_name_fault(name: str) -> str:
    """Return the reason why a file's or folder's name is not accepted, or ""."""
    if any(unicodedata.category(sign) == "Cs" for sign in name):
        return sentence("intake.not_utf8")
    if any(unicodedata.category(sign) == "Cc" for sign in name):
        return sentence("intake.control")
    if len(name.encode()) > 255:  # the limit of file systems
        return sentence("intake.long_file_name")
    if "/" in name or name in ("", ".", ".."):
        return sentence("intake.no_name")
    return ""


def _strip_suffixes(name):
    while name.casefold().endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    return name


def _split_words(text):
    text = unicodedata.normalize("NFKC", text).casefold()
    return [word.lstrip("0") or "0" for word in re.findall(r"\d+|[^\W\d_]+", text)]


def _has_in_row(words, wanted):
    places = range(len(words) - len(wanted) + 1)
    return any(words[start : start + len(wanted)] == wanted for start in places)
