"""Grades as CSV, quoted, in which what is not yet a grade is an empty cell and never a 0.

``plain`` says of each student how he or she stands. ``moodle`` is for Moodle's grade import (Moodle
docs, "Grade import"), which finds a student by Email address, Username or ID number. ``canvas`` is
for Canvas's (Canvas Instructor Guide, "How do I import grades in the Gradebook?"): the headings
Student, ID, SIS User ID, SIS Login ID, Section and the assignment, below them the row Points
Possible. ``fill_in_file`` fills in a file that either has given out, which holds numbers of its own: the
exported gradebook of Canvas, or Moodle's offline grading worksheet (Moodle docs, "Assignment
settings": Identifier, Full name, Email address, Status, Grade, Maximum Grade, Feedback comments).
"""

import csv
import io
import itertools
import re
import unicodedata

from roofgrade.common import csv_files
from roofgrade.common.sentences import escape_lines, format_points, sentence
from roofgrade.gradebook.standings import read_standings

# By one of these a formula begins, in full width or as a small form too; what spreadsheets skip may
# stand before it.
FORMULA_SIGNS = frozenset("=+-@−")
SKIPPED_CATEGORIES = (
    "Cc",
    "Cf",
    "Zl",
    "Zp",
    "Zs",
)  # Unicode's controls, marks without a sign, and spaces
PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
PLAIN_COLUMNS = (
    "student", "last_name", "first_name", "email", "assignment", "status",
    "score", "penalty", "grade", "maximum", "unread", "reason",
)  # fmt: skip
MOODLE_COLUMNS = ("Email address", "Username")
WORKSHEET_COLUMNS = ("Identifier", "Grade", "Maximum Grade")
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
# The columns by which a file of an LMS says whose line it is, and what of a Standing each holds.
STUDENT_COLUMNS = {
    "SIS Login ID": "student",
    "SIS User ID": "student",
    "Username": "student",
    "ID number": "student",
    "Email address": "email",
    "ID": "lms_user_id",
}
POINTS_POSSIBLE = "    Points Possible"


def export_plain(course, assignment, provisional=False):
    """CSV of every student with a status. Raises ValueError if the gradebook lacks the set."""
    rows = [
        (
            one.student,
            one.last_name,
            one.first_name,
            one.email,
            assignment,
            sentence(f"state.{one.state}"),
            _format_or_empty(one.score),
            _format_or_empty(one.penalty or None),
            _format_grade(one, provisional),
            _format_or_empty(one.max_score),
            _format_or_empty(one.unread or None),
            one.reason,
        )
        for one in read_standings(course, assignment).values()
    ]
    return _format_csv([[sentence(f"export.{name}") for name in PLAIN_COLUMNS], *rows])


def export_moodle(course, assignment, provisional=False):
    """CSV for Moodle's grade import. Raises ValueError if the gradebook lacks the set."""
    rows = [
        (one.email, one.student, _format_grade(one, provisional), sentence(f"state.{one.state}"))
        for one in read_standings(course, assignment).values()
    ]
    return _format_csv([(*MOODLE_COLUMNS, assignment, sentence("export.moodle_status")), *rows])


def export_canvas(course, assignment, provisional=False, column=None):
    """CSV for Canvas; ``column`` is the assignment's heading there, such as "ps1 (4711)".

    Raises ValueError if the gradebook lacks the set.
    """
    everyone = read_standings(course, assignment).values()
    most = max((one.max_score for one in everyone), default=0.0)
    rows = [
        (
            ", ".join(filter(None, (one.last_name, one.first_name))) or one.student,
            one.lms_user_id,
            "",
            one.student,
            "",
            _format_grade(one, provisional),
        )
        for one in everyone
    ]
    possible = (POINTS_POSSIBLE, *[""] * (len(CANVAS_COLUMNS) - 1), _format_or_empty(most))
    return _format_csv([(*CANVAS_COLUMNS, column or assignment), possible, *rows])


def fill_in_file(course, assignment, path, provisional=False):
    """The text of a file, Moodle's worksheet or Canvas's gradebook, with the grades put in.

    Lines of students whom the gradebook does not know stay as they are, and so does the separator.
    Raises ValueError for a file of neither kind, where no line is a known student's, and as
    ``sheets.read`` does.
    """
    sheet = csv_files.read(path)
    column = sheet.head.index(_find_column(sheet, assignment))
    known = read_standings(course, assignment).values()
    found = 0
    for _, row in sheet.rows:
        if one := _find_student(dict(zip(sheet.head, row, strict=True)), known):
            row[column] = _format_grade(one, provisional)
            found += 1
    if not found:
        raise ValueError(sentence("export.nobody_known", path=sheet.path))
    return _format_csv([sheet.head, *(row for _, row in sheet.rows)], sheet.separator)


def _find_column(sheet, assignment):
    head = sheet.head
    if all(name in head for name in WORKSHEET_COLUMNS):
        return "Grade"
    named = [name for name in head if name == assignment or name.startswith(f"{assignment} (")]
    if head[:1] == ["Student"] and len(named) == 1:
        return named[0]
    columns = ", ".join(WORKSHEET_COLUMNS)
    raise ValueError(
        sentence("export.other_file", path=sheet.path, columns=columns, assignment=assignment)
    )


def _find_student(line, standings_known):
    for heading, field in STUDENT_COLUMNS.items():
        if value := line.get(heading, "").strip().lower():
            for one in standings_known:
                if getattr(one, field).lower() == value:
                    return one
    return None


def _format_grade(standing, provisional):
    return _format_or_empty(standing.provisional if provisional else standing.final)


def _format_or_empty(value):
    return "" if value is None else format_points(value)


def _format_csv(rows, separator=","):
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(
        [map(_defuse_formula, row) for row in rows]
    )
    return written.getvalue()


def _defuse_formula(cell):
    """Text that a spreadsheet and a terminal show instead of running it.

    >>> [_defuse_formula(cell) for cell in ("=1+1", " \N{FULLWIDTH EQUALS SIGN}1", "-2.5", "-", "a=b")]
    ["'=1+1", "' \N{FULLWIDTH EQUALS SIGN}1", '-2.5', '-', 'a=b']
    """
    if cell == "-" or PLAIN_NUMBER.fullmatch(cell):  # Moodle's own sign for nothing, and points
        return cell
    signs = itertools.dropwhile(lambda sign: unicodedata.category(sign) in SKIPPED_CATEGORIES, cell)
    first = unicodedata.normalize("NFKC", next(signs, ""))
    runs = first[:1] in FORMULA_SIGNS or cell.startswith(("\t", "\r", "\n"))
    text = escape_lines(cell)
    return f"'{text}" if runs else text
