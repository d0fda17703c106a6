"""Names for the gradebook, from the lists that a registrar or an LMS gives.

The columns are nbgrader's own (``nbgrader db student import``), those of Moodle's participants and
gradebook exports (docs.moodle.org, "Participants" and "Grade export"), and those of a Canvas
gradebook export (Canvas Instructor Guide, "How do I export grades in the Gradebook?").
"""

from dataclasses import replace

from nbgrader.api import Gradebook

from roofcheck.handin.ids import format_ids
from roofgrade.common import csv_files
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.intake.names import find_id_fault
from roofgrade.intake.people import People, RosterEntry, StudentIds, make_id

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


def import_roster(course, path):
    """Put the names of a roster into the gradebook; the Entry of each student.

    What the list does not say of a student stays as it is. Whom the gradebook knows by an id in
    another spelling keeps that id. Raises ValueError as ``read_roster`` does.
    """
    entries = read_roster(path)
    with Gradebook(course.db_url) as gradebook:
        ids = StudentIds(student.id for student in gradebook.students)
        for at, entry in enumerate(entries):
            known = ids.find(entry.id)
            if len(known) == 1:
                entries[at] = entry = replace(entry, id=known.pop())
            told = {name: value for name, value in vars(entry).items() if value and name != "id"}
            gradebook.update_or_create_student(entry.id, **told)
    return entries


def load_people(course):
    """The students whom the gradebook knows, as People; None if it knows no more than ids."""
    with Gradebook(course.db_url) as gradebook:
        entries = [
            RosterEntry(one.id, one.first_name, one.last_name, one.email, one.lms_user_id)
            for one in gradebook.students
        ]
    told = any(entry.name or entry.email or entry.lms_user_id for entry in entries)
    return People(entries) if told else None


def write_ids(course, path):
    """Write the ids of all whom the gradebook knows, as hashes, for hand_in(); how many there are.

    Raises ValueError if it knows nobody.
    """
    with Gradebook(course.db_url) as gradebook:
        known = [student.id for student in gradebook.students]
    if not known:
        raise ValueError(sentence("roster.nobody"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(format_ids(known, sentence("roster.ids_file")), encoding="utf-8")
    return len(known)


def read_roster(path):
    """The entries of a CSV file.

    Raises ValueError, with the line, for a student without an id, with one that another has or with
    one that no folder can have, for a file without a column of ids, and as ``sheets.read`` does.
    """
    sheet = csv_files.read(path)
    places = _find_columns([name.strip().lower() for name in sheet.head])
    if "id" not in places:
        raise ValueError(sentence("roster.no_ids", path=path, columns=", ".join(COLUMNS["id"])))
    entries, ids = {}, StudentIds()
    for line, row in sheet.rows:
        if row[0].strip().lower() == POINTS_ROW:
            continue
        entry = _make_entry({name: row[place].strip() for name, place in places.items()})
        if not entry.id:
            cells = ", ".join(filter(None, row))
            raise ValueError(sentence("roster.no_id", path=path, line=line, row=cells))
        about = {"path": path, "line": line, "student": escape_text(entry.id)}
        if wrong := find_id_fault(entry.id):
            raise ValueError(sentence("roster.bad_id", **about, why=wrong))
        if found := ids.find(entry.id):
            key = "roster.twice" if entry.id in found else "roster.alike"
            raise ValueError(sentence(key, **about, other=escape_text(found.pop())))
        ids.add(entry.id)
        entries[entry.id] = entry
    return list(entries.values())


def _find_columns(head):
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


def _make_entry(cells):
    both = cells.pop("both names", "")
    if both:
        last, comma, first = both.rpartition(",")
        if not comma:
            first, _, last = both.rpartition(" ")
        cells |= {"first_name": first.strip(), "last_name": last.strip()}
    cells |= {"id": make_id(cells["id"])}
    return RosterEntry(
        **{name: value or None for name, value in cells.items()} | {"id": cells["id"]}
    )
