"""Grades as CSV, quoted, in which what is not yet a grade is an empty cell and never a 0.

``plain`` says of each student how he or she stands. ``moodle`` is for Moodle's grade import (Moodle
docs, "Grade import"), which finds a student by Email address, Username or ID number. ``canvas`` is
for Canvas's (Canvas Instructor Guide, "How do I import grades in the Gradebook?"): the headings
Student, ID, SIS User ID, SIS Login ID, Section and the assignment, below them the row Points
Possible. ``filled`` fills in a file that either has given out, which holds numbers of its own: the
exported gradebook of Canvas, or Moodle's offline grading worksheet (Moodle docs, "Assignment
settings": Identifier, Full name, Email address, Status, Grade, Maximum Grade, Feedback comments).
"""

import csv
import io
import itertools
import re
import unicodedata

from roofgrade.common import csv_files
from roofgrade.common.sentences import lines, number, words
from roofgrade.gradebook.standing import standings

# By one of these a formula begins, in full width or as a small form too; what spreadsheets skip may
# stand before it.
FORMULA = frozenset("=+-@−")
SKIPPED = ("Cc", "Cf", "Zl", "Zp", "Zs")  # Unicode's controls, marks without a sign, and spaces
PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
PLAIN = (
    "student", "last_name", "first_name", "email", "assignment", "status",
    "score", "penalty", "grade", "maximum", "unread", "reason",
)  # fmt: skip
MOODLE = ("Email address", "Username")
WORKSHEET = ("Identifier", "Grade", "Maximum Grade")
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
# The columns by which a file of an LMS says whose line it is, and what of a Standing each holds.
WHOSE = {
    "SIS Login ID": "student",
    "SIS User ID": "student",
    "Username": "student",
    "ID number": "student",
    "Email address": "email",
    "ID": "lms_user_id",
}
POINTS_POSSIBLE = "    Points Possible"


def plain(course, assignment, provisional=False):
    """CSV of every student with a status. Raises ValueError if the gradebook lacks the set."""
    rows = [
        (
            one.student,
            one.last_name,
            one.first_name,
            one.email,
            assignment,
            words(f"state.{one.state}"),
            _number(one.score),
            _number(one.penalty or None),
            _grade(one, provisional),
            _number(one.max_score),
            _number(one.unread or None),
            one.reason,
        )
        for one in standings(course, assignment).values()
    ]
    return _csv([[words(f"export.{name}") for name in PLAIN], *rows])


def moodle(course, assignment, provisional=False):
    """CSV for Moodle's grade import. Raises ValueError if the gradebook lacks the set."""
    rows = [
        (one.email, one.student, _grade(one, provisional), words(f"state.{one.state}"))
        for one in standings(course, assignment).values()
    ]
    return _csv([(*MOODLE, assignment, words("export.moodle_status")), *rows])


def canvas(course, assignment, provisional=False, column=None):
    """CSV for Canvas; ``column`` is the assignment's heading there, such as "ps1 (4711)".

    Raises ValueError if the gradebook lacks the set.
    """
    everyone = standings(course, assignment).values()
    most = max((one.max_score for one in everyone), default=0.0)
    rows = [
        (
            ", ".join(filter(None, (one.last_name, one.first_name))) or one.student,
            one.lms_user_id,
            "",
            one.student,
            "",
            _grade(one, provisional),
        )
        for one in everyone
    ]
    possible = (POINTS_POSSIBLE, *[""] * (len(CANVAS) - 1), _number(most))
    return _csv([(*CANVAS, column or assignment), possible, *rows])


def filled(course, assignment, path, provisional=False):
    """The text of a file, Moodle's worksheet or Canvas's gradebook, with the grades put in.

    Lines of students whom the gradebook does not know stay as they are, and so does the separator.
    Raises ValueError for a file of neither kind, where no line is a known student's, and as
    ``sheets.read`` does.
    """
    sheet = csv_files.read(path)
    column = sheet.head.index(_column(sheet, assignment))
    known = standings(course, assignment).values()
    found = 0
    for _, row in sheet.rows:
        if one := _whose(dict(zip(sheet.head, row, strict=True)), known):
            row[column] = _grade(one, provisional)
            found += 1
    if not found:
        raise ValueError(words("export.nobody_known", path=sheet.path))
    return _csv([sheet.head, *(row for _, row in sheet.rows)], sheet.separator)


def _column(sheet, assignment):
    head = sheet.head
    if all(name in head for name in WORKSHEET):
        return "Grade"
    named = [name for name in head if name == assignment or name.startswith(f"{assignment} (")]
    if head[:1] == ["Student"] and len(named) == 1:
        return named[0]
    columns = ", ".join(WORKSHEET)
    raise ValueError(
        words("export.other_file", path=sheet.path, columns=columns, assignment=assignment)
    )


def _whose(line, standings_known):
    for heading, field in WHOSE.items():
        if value := line.get(heading, "").strip().lower():
            for one in standings_known:
                if getattr(one, field).lower() == value:
                    return one
    return None


def _grade(standing, provisional):
    return _number(standing.provisional if provisional else standing.final)


def _number(value):
    return "" if value is None else number(value)


def _csv(rows, separator=","):
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(
        [map(_defused, row) for row in rows]
    )
    return written.getvalue()


def _defused(cell):
    """Text that a spreadsheet and a terminal show instead of running it.

    >>> [_defused(cell) for cell in ("=1+1", " \N{FULLWIDTH EQUALS SIGN}1", "-2.5", "-", "a=b")]
    ["'=1+1", "' \N{FULLWIDTH EQUALS SIGN}1", '-2.5', '-', 'a=b']
    """
    if cell == "-" or PLAIN_NUMBER.fullmatch(cell):  # Moodle's own sign for nothing, and points
        return cell
    signs = itertools.dropwhile(lambda sign: unicodedata.category(sign) in SKIPPED, cell)
    first = unicodedata.normalize("NFKC", next(signs, ""))
    runs = first[:1] in FORMULA or cell.startswith(("\t", "\r", "\n"))
    text = lines(cell)
    return f"'{text}" if runs else text
