"""Who is meant by an id, a name or an LMS's number: one student, or a question for a person.

A number is compared with the numbers of the same kind alone: Canvas's user number with the
lms_user_id that a roster from Canvas gives. Moodle's number is of one assignment and in no roster,
so Moodle's work is known by the full name. Where that leaves two students, nobody is meant.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from roofgrade.common.sentences import escape_text, sentence
from roofgrade.intake.names import Sender, normalise_name, split_name


@dataclass(frozen=True)
class RosterEntry:
    """One student, as the gradebook keeps him or her; what a list lacks is None."""

    id: str
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    lms_user_id: str | None = None

    @property
    def name(self) -> str:
        """The full name, as far as it is known."""
        return " ".join(filter(None, (self.first_name, self.last_name)))


class UnclearOwnerError(Exception):
    """Nobody can tell whose it is; the message says between whom a person has to decide."""


class StudentIds:
    """The ids of students, found however they are written.

    >>> ids = StudentIds(["zoé"])
    >>> ids.find("ZOE\\N{COMBINING ACUTE ACCENT}"), ids.find("zoe")
    ({'zoé'}, set())
    """

    def __init__(self, ids: Iterable[str] = ()):
        self._written: dict[str, set[str]] = {}
        for each in ids:
            self.add(each)

    def add(self, student: str):
        """Know one more."""
        self._written.setdefault(normalise_name(student), set()).add(student)

    def find(self, name: str) -> set[str]:
        """The ids that this may be. Where one is written just so, it is that one."""
        found = self._written.get(normalise_name(name), set())
        return {name} if name in found else set(found)


def make_id(name: str) -> str:
    """The id of who is not known yet: the name as text usually has it, accents in their letters."""
    return unicodedata.normalize("NFC", name).strip(" ")


class People:
    """The students of a roster, by what a zip may call them."""

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
        """The ids of all whose id, full name or address this is."""
        found = self._ids.find(name) | self._addresses.get(normalise_name(name), set())
        return found | self._find_named(name)

    def find_one(self, name: str, place: str) -> str:
        """The id of the only one who is called so; ``place`` says where to put work by hand.

        Raises UnsureError if nobody is, or more than one.
        """
        return self._require_one(self.find_ids(name), name, place)

    def find_sender(self, told: Sender, place: str) -> tuple[str, str]:
        """The id of whom an LMS names, and a remark on how that was found, or "".

        Raises UnsureError if it names nobody or two, or one by name and another by number.
        """
        named = self._find_named(told.full_name)
        if told.is_user_number and (
            numbered := self._numbers.get(normalise_name(told.number), set())
        ):
            return self._find_numbered(told, named, numbered, place)
        student = self._require_one(named, told.full_name or told.number, place)
        known = self._entries[student].lms_user_id
        if told.is_user_number and known:
            other = {"student": self.format_student(student), "known": escape_text(known)}
            raise UnclearOwnerError(
                sentence("people.other_number", **_sender_fields(told, place), **other)
            )
        return student, ""

    def _find_numbered(self, told, named, numbered, place):
        about = _sender_fields(told, place) | {"numbered": self._format_students(numbered)}
        if named.isdisjoint(numbered) and named:
            raise UnclearOwnerError(
                sentence("people.two_by", **about, named=self._format_students(named))
            )
        if not named and not self._is_name_alike(told.full_name, numbered):
            raise UnclearOwnerError(sentence("people.other_name", **about))
        student = self._require_one(
            named & numbered or numbered, told.full_name or told.number, place
        )
        remark = sentence("people.by_number", **about) if told.full_name and not named else ""
        return student, remark

    def format_student(self, student: str) -> str:
        """The student's id, with the name where it is known."""
        name = self._entries[student].name
        told = {"student": escape_text(student), "name": escape_text(name)}
        return sentence("people.student", **told) if name else told["student"]

    def _require_one(self, found, name, place):
        about = {"name": escape_text(name), "place": place}
        if not found:
            raise UnclearOwnerError(sentence("people.nobody", **about))
        if len(found) > 1:
            raise UnclearOwnerError(
                sentence("people.two", **about, students=self._format_students(found))
            )
        return next(iter(found))

    def _find_named(self, name):
        found = split_name(name)
        return self._names.get(" ".join(found)) or self._names.get("".join(found), set())

    def _is_name_alike(self, who, ids):
        """Whether a name run together, or none, has a word of these students' names in it."""
        run = "".join(split_name(who))
        parts = [word for each in ids for word in split_name(self._entries[each].name)]
        return not run or not parts or any(len(word) > 1 and word in run for word in parts)

    def _format_students(self, ids):
        return sentence("people.and").join(map(self.format_student, sorted(ids)))


def _sender_fields(told, place):
    name, number = escape_text(told.full_name), escape_text(told.number)
    return {"name": name, "lms": told.lms, "number": number, "place": place}


def _name_orders(name):
    """A name begun with each of its words, as Canvas's begin with the last; apart and in one."""
    found = split_name(name)
    orders = [found[at:] + found[:at] for at in range(len(found))]
    return {between.join(order) for order in orders for between in (" ", "")}
