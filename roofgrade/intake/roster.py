"""Loads rosters from a registrar or an LMS into the gradebook.

It recognises the columns of nbgrader (``nbgrader db student import``), of Moodle's participants and
gradebook exports (docs.moodle.org, "Participants" and "Grade export"), and of Canvas's gradebook
export (Canvas Instructor Guide, "How do I export grades in the Gradebook?").
"""

from dataclasses import fields, replace

from roofcheck.handin.ids import format_ids
from roofgrade.common import csv_files
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.gradebook.database import open_gradebook
from roofgrade.intake.names import find_id_fault
from roofgrade.intake.people import People, RosterEntry, StudentIds, make_id

# The columns that may contain each field, the most reliable one first. Moodle's usual list of
# participants has no ids, so the address is the id.
IDS = ("id", "student_id", "username", "sis login id", "id number", "sis user id")
COLUMNS = {
    "id": (*IDS, "email", "email address"),
    "first_name": ("first_name", "first name"),
    "last_name": ("last_name", "last name", "surname"),
    "email": ("email", "email address"),
    "lms_user_id": ("lms_user_id",),
    "both names": ("student",),
}
# Rows of Canvas's gradebook export that are not students.
OTHER_ROWS = ("points possible", "student, test")


def import_roster(course, path):
    """Load a roster into the gradebook, and return its entries.

    Fields missing from the roster keep their values. A student whose id is already known in another
    spelling, or by an email address, keeps that id. Raises ValueError as ``read_roster`` does.
    """
    entries = read_roster(path)
    with open_gradebook(course) as gradebook:
        ids = StudentIds(student.id for student in gradebook.students)
        owners = {(student.email or "").lower(): student.id for student in gradebook.students}
        for index, entry in enumerate(entries):
            known = ids.find(entry.id)
            if not known and entry.id == entry.email:
                known = {owners.get(entry.id.lower(), entry.id)}
            if len(known) == 1:
                entries[index] = entry = replace(entry, id=known.pop())
            details = {name: value for name, value in vars(entry).items() if value and name != "id"}
            gradebook.update_or_create_student(entry.id, **details)
    return entries


def load_people(course):
    """Return the gradebook's students as People, or None if it has only their ids."""
    names = [field.name for field in fields(RosterEntry)]
    with open_gradebook(course) as gradebook:
        rows = [[getattr(student, name) for name in names] for student in gradebook.students]
    entries = [RosterEntry(*row) for row in rows]
    has_details = any(entry.name or entry.email or entry.lms_user_id for entry in entries)
    return People(entries) if has_details else None


def write_ids(course, path):
    """Write the hashes of the gradebook's ids to a file for hand_in(), and return their number.

    Raises ValueError if the gradebook has no students.
    """
    with open_gradebook(course) as gradebook:
        ids = [student.id for student in gradebook.students]
    if not ids:
        raise ValueError(sentence("roster.nobody"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(format_ids(ids, sentence("roster.ids_file")), encoding="utf-8")
    return len(ids)


def read_roster(path):
    """Return the entries of a CSV file.

    Raises ValueError, with the line number, for a missing, repeated or invalid id. Also raises it
    if the file has no column of ids, and as ``csv_files.read`` does.
    """
    sheet = csv_files.read(path)
    places = _find_columns([name.strip().lower() for name in sheet.head])
    if "id" not in places:
        raise ValueError(sentence("roster.no_ids", path=path, columns=", ".join(COLUMNS["id"])))
    entries, ids = {}, StudentIds()
    for line, row in sheet.rows:
        if row[0].strip().lower() in OTHER_ROWS:
            continue
        entry = _make_entry({name: row[place].strip() for name, place in places.items()})
        if not entry.id:
            cells = ", ".join(filter(None, row))
            raise ValueError(sentence("roster.no_id", path=path, line=line, row=cells))
        place = {"path": path, "line": line, "student": escape_text(entry.id)}
        if fault := find_id_fault(entry.id):
            raise ValueError(sentence("roster.bad_id", **place, why=fault))
        if known := ids.find(entry.id):
            key = "roster.twice" if entry.id in known else "roster.alike"
            raise ValueError(sentence(key, **place, other=escape_text(known.pop())))
        ids.add(entry.id)
        entries[entry.id] = entry
    return list(entries.values())


def _find_columns(head):
    columns = {}
    for field, names in COLUMNS.items():
        for name in names:
            if name in head:
                columns.setdefault(field, head.index(name))
    if "both names" in columns and "id" in head:
        # The column ID in Canvas's export is its user number, not the login id.
        columns["lms_user_id"] = head.index("id")
        logins = [name for name in ("sis login id", "sis user id") if name in head]
        if logins:
            columns["id"] = head.index(logins[0])
    return columns


def _make_entry(cells):
    both_names = cells.pop("both names", "")
    if both_names:
        last, comma, first = both_names.rpartition(",")
        if not comma:
            first, _, last = both_names.rpartition(" ")
        cells |= {"first_name": first.strip(), "last_name": last.strip()}
    student = make_id(cells.pop("id"))
    return RosterEntry(student, **{name: value or None for name, value in cells.items()})
