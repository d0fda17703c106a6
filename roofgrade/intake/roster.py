"""Names for the gradebook, from the lists that a registrar or an LMS gives.

The columns are nbgrader's own (``nbgrader db student import``), those of Moodle's participants and
gradebook exports (docs.moodle.org, "Participants" and "Grade export"), and those of a Canvas
gradebook export (Canvas Instructor Guide, "How do I export grades in the Gradebook?").
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook

from roofgrade.text import words

# The columns that may hold each field, the most telling one first.
COLUMNS = {
    "id": ("id", "student_id", "username", "sis login id", "id number", "sis user id"),
    "first_name": ("first_name", "first name"),
    "last_name": ("last_name", "last name", "surname"),
    "email": ("email", "email address"),
    "lms_user_id": ("lms_user_id",),
    "both names": ("student",),
}
POINTS_ROW = "points possible"


@dataclass(frozen=True)
class Entry:
    """One student, as the gradebook keeps him or her; what the list lacks is None."""

    id: str
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    lms_user_id: str | None = None


def take(course, path):
    """Put the names of a roster into the gradebook; the Entry of each student.

    What the list does not say of a student stays as it is. Raises ValueError as ``read`` does.
    """
    entries = read(path)
    with Gradebook(course.db_url) as gradebook:
        for entry in entries:
            told = {name: value for name, value in vars(entry).items() if value and name != "id"}
            gradebook.update_or_create_student(entry.id, **told)
    return entries


def called(course):
    """The id of each student by what an LMS may call him or her: name, address, number.

    A name that two share stands for neither.
    """
    found = {}
    with Gradebook(course.db_url) as gradebook:
        for student in gradebook.students:
            name = " ".join(filter(None, (student.first_name, student.last_name)))
            for each in filter(None, (name, student.email, student.lms_user_id)):
                found.setdefault(each, set()).add(student.id)
    return {name: ids.pop() for name, ids in found.items() if len(ids) == 1}


def read(path):
    """The entries of a CSV file, comma or semicolon, with or without a byte order mark.

    Raises ValueError, with the line, for a student without an id or with one that another has, and
    for a file without a column of ids.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(words("roster.not_utf8", path=path)) from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        said = words("roster.no_csv", path=path, line=reader.line_num, error=error)
        raise ValueError(said) from None
    head = [name.strip().lower() for name in rows[0][1]] if rows else []
    places = _places(head)
    if "id" not in places:
        raise ValueError(words("roster.no_ids", path=path, columns=", ".join(COLUMNS["id"])))
    entries = {}
    for line, row in rows[1:]:
        if not any(cell.strip() for cell in row) or row[0].strip().lower() == POINTS_ROW:
            continue
        if len(row) != len(head):
            counts = {"cells": len(row), "headings": len(head)}
            raise ValueError(words("roster.width", path=path, line=line, **counts))
        entry = _entry({name: row[place].strip() for name, place in places.items()})
        if not entry.id:
            cells = ", ".join(filter(None, row))
            raise ValueError(words("roster.no_id", path=path, line=line, row=cells))
        if entry.id in entries:
            raise ValueError(words("roster.twice", path=path, line=line, student=entry.id))
        entries[entry.id] = entry
    return list(entries.values())


def _places(head):
    """Which column holds what."""
    found = {}
    for field, names in COLUMNS.items():
        for name in names:
            if name in head:
                found.setdefault(field, head.index(name))
    if "both names" in found and "id" in head:
        # In Canvas's export ID is the number of its own; students sign in by another.
        found["lms_user_id"] = head.index("id")
        logins = [name for name in ("sis login id", "sis user id") if name in head]
        if logins:
            found["id"] = head.index(logins[0])
    return found


def _entry(cells):
    both = cells.pop("both names", "")
    if both:
        last, comma, first = both.rpartition(",")
        if not comma:
            first, _, last = both.rpartition(" ")
        cells |= {"first_name": first.strip(), "last_name": last.strip()}
    return Entry(**{name: value or None for name, value in cells.items()} | {"id": cells["id"]})
