"""Who is meant by an id, a name or an LMS's number: one student, or a question for a person.

A number is compared with the numbers of the same kind alone: Canvas's user number with the
lms_user_id that a roster from Canvas gives. Moodle's number is of one assignment and in no roster,
so Moodle's work is known by the full name. Where that leaves two students, nobody is meant.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from roofgrade.common.sentences import escaped, words
from roofgrade.intake.names import Sender, form, name_words


@dataclass(frozen=True)
class Entry:
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


class UnsureError(Exception):
    """Nobody can tell whose it is; the message says between whom a person has to decide."""


class Ids:
    """The ids of students, found however they are written.

    >>> ids = Ids(["zoé"])
    >>> ids.find("ZOE\\N{COMBINING ACUTE ACCENT}"), ids.find("zoe")
    ({'zoé'}, set())
    """

    def __init__(self, ids: Iterable[str] = ()):
        self._written: dict[str, set[str]] = {}
        for each in ids:
            self.add(each)

    def add(self, student: str):
        """Know one more."""
        self._written.setdefault(form(student), set()).add(student)

    def find(self, name: str) -> set[str]:
        """The ids that this may be. Where one is written just so, it is that one."""
        found = self._written.get(form(name), set())
        return {name} if name in found else set(found)


def new_id(name: str) -> str:
    """The id of who is not known yet: the name as text usually has it, accents in their letters."""
    return unicodedata.normalize("NFC", name).strip(" ")


class People:
    """The students of a roster, by what a zip may call them."""

    def __init__(self, entries: Iterable[Entry]):
        self._entries = {entry.id: entry for entry in entries}
        self._ids = Ids(self._entries)
        self._names: dict[str, set[str]] = {}
        self._addresses: dict[str, set[str]] = {}
        self._numbers: dict[str, set[str]] = {}
        for entry in self._entries.values():
            for key in _orders(entry.name):
                self._names.setdefault(key, set()).add(entry.id)
            if entry.email:
                self._addresses.setdefault(form(entry.email), set()).add(entry.id)
            if entry.lms_user_id:
                self._numbers.setdefault(form(entry.lms_user_id), set()).add(entry.id)

    def called(self, name: str) -> set[str]:
        """The ids of all whose id, full name or address this is."""
        found = self._ids.find(name) | self._addresses.get(form(name), set())
        return found | self._named(name)

    def one(self, name: str, place: str) -> str:
        """The id of the only one who is called so; ``place`` says where to put work by hand.

        Raises UnsureError if nobody is, or more than one.
        """
        return self._only(self.called(name), name, place)

    def sender(self, told: Sender, place: str) -> tuple[str, str]:
        """The id of whom an LMS names, and a remark on how that was found, or "".

        Raises UnsureError if it names nobody or two, or one by name and another by number.
        """
        named = self._named(told.who)
        if told.lasting and (numbered := self._numbers.get(form(told.number), set())):
            return self._numbered(told, named, numbered, place)
        student = self._only(named, told.who or told.number, place)
        known = self._entries[student].lms_user_id
        if told.lasting and known:
            other = {"student": self.said(student), "known": escaped(known)}
            raise UnsureError(words("people.other_number", **_about(told, place), **other))
        return student, ""

    def _numbered(self, told, named, numbered, place):
        about = _about(told, place) | {"numbered": self._said(numbered)}
        if named.isdisjoint(numbered) and named:
            raise UnsureError(words("people.two_by", **about, named=self._said(named)))
        if not named and not self._alike(told.who, numbered):
            raise UnsureError(words("people.other_name", **about))
        student = self._only(named & numbered or numbered, told.who or told.number, place)
        remark = words("people.by_number", **about) if told.who and not named else ""
        return student, remark

    def said(self, student: str) -> str:
        """The student's id, with the name where it is known."""
        name = self._entries[student].name
        told = {"student": escaped(student), "name": escaped(name)}
        return words("people.student", **told) if name else told["student"]

    def _only(self, found, name, place):
        about = {"name": escaped(name), "place": place}
        if not found:
            raise UnsureError(words("people.nobody", **about))
        if len(found) > 1:
            raise UnsureError(words("people.two", **about, students=self._said(found)))
        return next(iter(found))

    def _named(self, name):
        found = name_words(name)
        return self._names.get(" ".join(found)) or self._names.get("".join(found), set())

    def _alike(self, who, ids):
        """Whether a name run together, or none, has a word of these students' names in it."""
        run = "".join(name_words(who))
        parts = [word for each in ids for word in name_words(self._entries[each].name)]
        return not run or not parts or any(len(word) > 1 and word in run for word in parts)

    def _said(self, ids):
        return words("people.and").join(map(self.said, sorted(ids)))


def _about(told, place):
    name, number = escaped(told.who), escaped(told.number)
    return {"name": name, "lms": told.lms, "number": number, "place": place}


def _orders(name):
    """A name begun with each of its words, as Canvas's begin with the last; apart and in one."""
    found = name_words(name)
    orders = [found[at:] + found[:at] for at in range(len(found))]
    return {between.join(order) for order in orders for between in (" ", "")}
