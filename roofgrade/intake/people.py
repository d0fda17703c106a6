"""Finds the student identified by an id, a name or an LMS's number.

Numbers are only compared with numbers of the same kind: Canvas's user number with the lms_user_id
in a roster from Canvas. Moodle's number is specific to one assignment and in no roster, so Moodle's
files are matched by full name. If two students fit, a person must decide.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from roofgrade.common.sentences import escape_text, sentence
from roofgrade.intake.names import CANVAS, Sender, normalise_name, split_name


@dataclass(frozen=True)
class RosterEntry:
    """One student in the gradebook. Fields missing from a roster are None."""

    id: str
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    lms_user_id: str | None = None

    @property
    def name(self) -> str:
        """The full name, or the part of it that is known."""
        return " ".join(filter(None, (self.first_name, self.last_name)))


class UnclearOwnerError(Exception):
    """The owner of a file is unclear. The message lists possible owners."""


class StudentIds:
    """A collection of student ids, to be looked up in any spelling.

    >>> ids = StudentIds(["zoé"])
    >>> ids.find("ZOE\\N{COMBINING ACUTE ACCENT}"), ids.find("zoe")
    ({'zoé'}, set())
    """

    def __init__(self, ids: Iterable[str] = ()):
        self._written: dict[str, set[str]] = {}
        for student in ids:
            self.add(student)

    def add(self, student: str):
        self._written.setdefault(normalise_name(student), set()).add(student)

    def find(self, name: str) -> set[str]:
        """Return the ids that a name can mean. An exact match excludes all others."""
        ids = self._written.get(normalise_name(name), set())
        return {name} if name in ids else set(ids)


def make_id(name: str) -> str:
    """Return an id for an unknown student: the name with composed accents."""
    return unicodedata.normalize("NFC", name).strip(" ")


class People:
    """The students of a roster, to be looked up by the names in a zip."""

    def __init__(self, entries: Iterable[RosterEntry]):
        self._entries = {entry.id: entry for entry in entries}
        self._ids = StudentIds(self._entries)
        self._names: dict[str, set[str]] = {}
        self._addresses: dict[str, set[str]] = {}
        self._numbers: dict[str, set[str]] = {}
        for entry in self._entries.values():
            for key in _name_orders(entry.name):
                self._names.setdefault(key, set()).add(entry.id)
            if entry.email:
                self._addresses.setdefault(normalise_name(entry.email), set()).add(entry.id)
            if entry.lms_user_id:
                self._numbers.setdefault(normalise_name(entry.lms_user_id), set()).add(entry.id)

    def find_ids(self, name: str) -> set[str]:
        """Return the ids of all students with this id, full name or email address."""
        ids = self._ids.find(name) | self._addresses.get(normalise_name(name), set())
        return ids | self._find_named(name)

    def find_one(self, name: str, place: str) -> str:
        """Return the id of the only student with this name. ``place`` is for the message.

        Raises UnclearOwnerError if nobody or more than one student fits.
        """
        return self._require_one(self.find_ids(name), name, place)

    def find_sender(self, sender: Sender, place: str) -> tuple[str, str]:
        """Return the id of an LMS's sender, and a remark on how it was found, or "".

        Raises UnclearOwnerError if nobody or two students fit, or if name and number disagree.
        """
        named = self._find_named(sender.full_name)
        numbered = self._numbers.get(normalise_name(sender.number), set())
        is_user_number = sender.lms == CANVAS
        if is_user_number and numbered:
            return self._find_numbered(sender, named, numbered, place)
        student = self._require_one(named, sender.full_name or sender.number, place)
        known_number = self._entries[student].lms_user_id
        if is_user_number and known_number:
            other = {"student": self.format_student(student), "known": escape_text(known_number)}
            fields = _sender_fields(sender, place) | other
            raise UnclearOwnerError(sentence("people.other_number", **fields))
        return student, ""

    def _find_numbered(self, sender, named, numbered, place):
        fields = _sender_fields(sender, place) | {"numbered": self._format_students(numbered)}
        if named.isdisjoint(numbered) and named:
            fields["named"] = self._format_students(named)
            raise UnclearOwnerError(sentence("people.two_by", **fields))
        if not named and not self._is_name_alike(sender.full_name, numbered):
            raise UnclearOwnerError(sentence("people.other_name", **fields))
        ids = named & numbered or numbered
        student = self._require_one(ids, sender.full_name or sender.number, place)
        remark = sentence("people.by_number", **fields) if sender.full_name and not named else ""
        return student, remark

    def format_student(self, student: str) -> str:
        """Return the student's id, with the name if it is known."""
        name = self._entries[student].name
        fields = {"student": escape_text(student), "name": escape_text(name)}
        return sentence("people.student", **fields) if name else fields["student"]

    def _require_one(self, ids, name, place):
        fields = {"name": escape_text(name), "place": place}
        if not ids:
            raise UnclearOwnerError(sentence("people.nobody", **fields))
        if len(ids) > 1:
            fields["students"] = self._format_students(ids)
            raise UnclearOwnerError(sentence("people.two", **fields))
        return next(iter(ids))

    def _find_named(self, name):
        words = split_name(name)
        return self._names.get(" ".join(words)) or self._names.get("".join(words), set())

    def _is_name_alike(self, full_name, ids):
        """Return whether a name, written as one word, contains a word of these students' names."""
        joined = "".join(split_name(full_name))
        parts = [word for student in ids for word in split_name(self._entries[student].name)]
        return not joined or not parts or any(len(word) > 1 and word in joined for word in parts)

    def _format_students(self, ids):
        return sentence("people.and").join(map(self.format_student, sorted(ids)))


def _sender_fields(sender, place):
    name, number = escape_text(sender.full_name), escape_text(sender.number)
    return {"name": name, "lms": sender.lms, "number": number, "place": place}


def _name_orders(name):
    """Return a name's words in each rotation, spaced and joined: Canvas starts with the last."""
    words = split_name(name)
    orders = [words[start:] + words[:start] for start in range(len(words))]
    return {between.join(order) for order in orders for between in (" ", "")}
