"""What a name means: which set a folder or a notebook is for, and whose an LMS says it is."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from roofcheck.handin.ids import find_odd_signs
from roofgrade.common.sentences import escape_text, sentence

NOTEBOOK = ".ipynb"
TIMESTAMP = "timestamp.txt"  # in which nbgrader finds the time of handing in
# What browsers put behind a notebook's ending, and editors behind a folder's name.
SUFFIXES = (NOTEBOOK, ".json", ".txt", ".zip")
# Words in a file's name that tell neither its set nor its author, in several languages.
FILLER_WORDS = frozenset(
    {"assignment", "copia", "copie", "copy", "de", "done", "final", "fixed", "homework", "kopie"}
    | {"late", "latest", "my", "new", "of", "problem", "set", "solution", "solutions", "student"}
    | {"submission", "submitted", "v", "version", "von"}
)
# What systems and editors leave behind, in any folder.
JUNK = frozenset(
    {".DS_Store", "__MACOSX", ".ipynb_checkpoints", "Thumbs.db", "desktop.ini", "__pycache__"}
    | {".git", ".gitignore", ".gitkeep", ".idea", ".venv", ".virtual_documents", ".vscode"}
)
JUNK_PREFIXES = ("._", "~$", ".~", ".nfs")


@dataclass(frozen=True)
class _LMS:
    """How an LMS names what it packs into a zip.

    ``folders`` says that a folder may be named so, too. ``lasting`` says that the number is the
    user's own, which the LMS's rosters give as well; otherwise it is drawn for one assignment.
    """

    name: str
    pattern: re.Pattern
    folders: bool
    is_user_number: bool


LMS_FORMATS = (
    # mod/assign: FULL NAME_NUMBER_assignsubmission_file_ and then the file, or a folder of them
    # ("Download submissions in folders"); in the name an underscore has become a space. The number
    # is the participant's in that assignment, "Participant 12345" in its grading worksheet.
    _LMS(
        "Moodle",
        re.compile(r"(?P<who>[^_]+)_(?P<number>[0-9]+)_assignsubmission_[a-z]+(?:_(?P<rest>.*))?"),
        folders=True,
        is_user_number=False,
    ),
    # app/models/content_zipper.rb: sortable name without punctuation, LATE for what came in after
    # the due date, the user's number, the file's number, the file. No name where graders may not
    # see it.
    _LMS(
        "Canvas",
        re.compile(
            r"(?:(?!LATE_)(?P<who>[^\W\d_][^_]*)_)?(?P<late>LATE_)?(?P<number>[0-9]+)_[0-9]+_"
            r"(?P<rest>.+)",
            re.IGNORECASE,
        ),
        folders=False,
        is_user_number=True,
    ),
)


@dataclass(frozen=True)
class Sender:
    """Who an LMS says a file is from: name, the LMS's number, the file's own name, or "".

    ``lasting`` says that a roster of this LMS gives the same number, as a gradebook's lms_user_id.
    A number that does not last tells two people of one zip apart, and says of neither who it is.
    """

    full_name: str
    number: str
    file_name: str
    lms: str
    is_user_number: bool = False
    late: bool = False


def read_sender(part: str, folder: bool = False) -> Sender | None:
    """Whom a file's name, or a ``folder``'s, names in the way of an LMS; None if in no such way.

    >>> told = read_sender("Ada Lovelace_12345_assignsubmission_file_ps1.ipynb")
    >>> told.full_name, told.number, told.file_name, told.lms
    ('Ada Lovelace', '12345', 'ps1.ipynb', 'Moodle')
    >>> told = read_sender("lovelaceada_LATE_123_456_ps1-1.ipynb")
    >>> told.full_name, told.number, told.file_name, told.late
    ('lovelaceada', '123', 'ps1-1.ipynb', True)
    """
    for lms in LMS_FORMATS:
        if (lms.folders or not folder) and (found := lms.pattern.fullmatch(part)):
            told = {key: value or "" for key, value in found.groupdict().items()}
            return Sender(
                told["who"].strip(), told["number"], told["rest"], lms.name, lms.is_user_number,
                bool(told.get("late")),
            )  # fmt: skip
    return None


def normalise_name(text: str) -> str:
    """A name in the one form in which all ways to write it are the same, to compare it with others.

    Small letters, one way to put an accent on a letter, and no signs that nobody sees.

    >>> normalise_name("Zoe\N{COMBINING ACUTE ACCENT}  LEE\N{RIGHT-TO-LEFT MARK}") == normalise_name("zoé lee")
    True
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    seen = "".join(sign for sign in text if _unicode_category(sign) != "Cf")
    return " ".join(filter(None, seen.split(" ")))


def split_name(name: str) -> list[str]:
    """The words of somebody's name, to compare: letters, marks and digits of all languages.

    >>> split_name("O'Brien-Łukasiewicz, Ada")
    ['o', 'brien', 'łukasiewicz', 'ada']
    """
    return "".join(
        sign if _unicode_category(sign)[0] in "LMN" else " " for sign in normalise_name(name)
    ).split()


def find_set(name: str, sets: Sequence[str]) -> str | None:
    """Which of the sets a file's or folder's name, or the end of a path, names.

    None if none does, or if two fit. A copy's number, an author's name and an LMS's additions do
    not matter, the digits of the set do.

    >>> [find_set(name, ["ps1", "ps2"]) for name in ("PS1 (2).ipynb", "Copy of zoe_ps1", "ps12")]
    ['ps1', 'ps1', None]
    """
    for part in reversed(PurePosixPath(name).parts):
        if part in sets:
            return part
        told = read_sender(part)
        words = _split_words(_strip_suffixes(told.file_name if told else part))
        fits = {each: own for each in sets if _has_in_row(words, own := _split_words(each))}
        # "ps1-extra" holds the name of ps1 too.
        whole = [
            each
            for each, own in fits.items()
            if not any(_has_in_row(more, own) for more in fits.values() if more != own)
        ]
        if fits:
            return whole[0] if len(whole) == 1 else None
    return None


def find_author(name: str, assignment: str) -> str:
    """What a file's name says beside its set: who it is from, or "" if it does not tell.

    >>> find_author("Kopie von ps1_zoe_late (2).ipynb", "ps1"), find_author("ps1-final.ipynb", "ps1")
    ('zoe', '')
    """
    if told := read_sender(name):
        return make_student_id(told.full_name, told.number)
    name = unicodedata.normalize("NFKC", name)
    set_name = r"[\W_]*0*".join(_split_words(assignment))
    found = re.compile(rf"(?<![^\W\d_]){set_name}(?!\d)", re.IGNORECASE)
    rest = found.sub(" ", _strip_suffixes(name), count=1)
    rest = re.sub(r"\(\d+\)", " ", rest)
    kept = [
        word
        for word in re.split(r"[\s_+]+|(?<!\w)-|-(?!\w)", rest)
        if not all(part in FILLER_WORDS or part.isdecimal() for part in _split_words(word))
    ]
    return "-".join(kept)


def find_signed_id(name: str, assignment: str) -> str:
    """The id in the name of a file that hand_in() wrote, or ""; a browser may have numbered it.

    >>> find_signed_id("ps1-4711 (2).ipynb", "ps1"), find_signed_id("ps1_4711.ipynb", "ps1")
    ('4711', '')
    """
    ending = re.escape(NOTEBOOK)
    found = re.fullmatch(
        rf"{re.escape(assignment)}-(.+?)(?: ?\(\d+\))?{ending}", name, re.IGNORECASE
    )
    return found[1] if found else ""


def make_student_id(who: str, number: str) -> str:
    """A folder's name for someone that only an LMS knows: the same at every download.

    >>> make_student_id("Ada Lovelace", "12345")
    'ada-lovelace-12345'
    """
    return "-".join(split_name(f"{who} {number}"))


def is_junk(name: str) -> bool:
    """Whether systems leave files or folders of this name behind."""
    return name in JUNK or name.startswith(JUNK_PREFIXES)


def is_notebook(name: str) -> bool:
    """Whether this is a notebook's name, as saved by an editor or by a browser."""
    stem, _, ending = name.casefold().rpartition(NOTEBOOK)
    return bool(stem) and ending in ("", ".json", ".txt")


def find_id_fault(name: str) -> str:
    """Why no student can have this id, and so no folder of this name be a student's, or "".

    >>> find_id_fault("ada.lovelace@example.edu"), find_id_fault("<b>")[:14]
    ('', "its name has '")
    """
    if wrong := find_file_name_fault(name):
        return wrong
    if len(name) > 128:
        return sentence("intake.long_name")
    if odd := find_odd_signs(name):
        return sentence("intake.signs", signs=escape_text("".join(odd))[:40])
    return ""


def find_file_name_fault(name: str) -> str:
    """Why a file or folder of this name is not taken in, whosever it is, or ""."""
    if any(_unicode_category(sign) == "Cs" for sign in name):
        return sentence("intake.not_utf8")
    if any(_unicode_category(sign) == "Cc" for sign in name):
        return sentence("intake.control")
    if len(name.encode()) > 255:  # what file systems take
        return sentence("intake.long_file_name")
    if "/" in name or name in ("", ".", ".."):
        return sentence("intake.no_name")
    return ""


_unicode_category = unicodedata.category


def _strip_suffixes(name):
    while name.casefold().endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    return name


def _split_words(text):
    """Words and numbers, in small letters; numbers without leading zeros."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return [word.lstrip("0") or "0" for word in re.findall(r"\d+|[^\W\d_]+", text)]


def _has_in_row(words, wanted):
    """Whether the wanted words stand in a row among the others."""
    places = range(len(words) - len(wanted) + 1)
    return any(words[at : at + len(wanted)] == wanted for at in places)
