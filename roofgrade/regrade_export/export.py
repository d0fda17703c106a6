"""Exports grades as CSV. A student without a final grade gets an empty cell, never a 0.

``export_moodle`` writes a file for Moodle's grade import (Moodle docs, "Grade import"), and
``export_canvas`` one for Canvas (Canvas Instructor Guide, "How do I import grades in the
Gradebook?"). ``fill_in_grade_column`` fills in a file that the LMS exported: Canvas's gradebook, or
Moodle's offline grading worksheet (Moodle docs, "Assignment settings").
"""

import csv
import io
import itertools
import re
import unicodedata

from roofgrade.common import csv_files
from roofgrade.common.sentences import escape_lines, format_points, sentence
from roofgrade.gradebook.standings import read_standings

# A formula begins with one of these signs, or with its full-width or small form. Spreadsheets skip
# control characters, invisible marks and spaces before it.
FORMULA_SIGNS = frozenset("=+-@−")
SKIPPED_CATEGORIES = ("Cc", "Cf", "Zl", "Zp", "Zs")
PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
PLAIN_COLUMNS = (
    "student", "last_name", "first_name", "email", "assignment", "status",
    "score", "penalty", "grade", "maximum", "unread", "reason",
)  # fmt: skip
MOODLE_COLUMNS = ("Email address", "Username")
WORKSHEET_COLUMNS = ("Identifier", "Grade", "Maximum Grade")
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
# Columns that identify a student in an LMS's file, and the corresponding field of a Standing.
STUDENT_COLUMNS = dict.fromkeys(("SIS Login ID", "SIS User ID", "Username", "ID number"), "student")
STUDENT_COLUMNS |= {"Email address": "email", "ID": "lms_user_id"}
POINTS_POSSIBLE = "    Points Possible"


def export_plain(course, assignment, provisional=False):
    """Return CSV with the state of every student.

    Like all exports, raises ValueError if the gradebook does not have the set.
    """
    rows = [
        (
            row.student, row.last_name, row.first_name, row.email, assignment,
            sentence(f"state.{row.state}"), _format_or_empty(row.score),
            _format_or_empty(row.penalty or None), _format_grade(row, provisional),
            _format_or_empty(row.max_score), _format_or_empty(row.unread or None), row.reason,
        )
        for row in read_standings(course, assignment).values()
    ]  # fmt: skip
    return _format_csv([[sentence(f"export.{name}") for name in PLAIN_COLUMNS], *rows])


def export_moodle(course, assignment, provisional=False):
    """Return CSV for Moodle's grade import."""
    rows = [
        (row.email, row.student, _format_grade(row, provisional), sentence(f"state.{row.state}"))
        for row in read_standings(course, assignment).values()
    ]
    return _format_csv([(*MOODLE_COLUMNS, assignment, sentence("export.moodle_status")), *rows])


def export_canvas(course, assignment, provisional=False):
    """Return CSV for Canvas, which asks for the column's assignment during the import."""
    everyone = read_standings(course, assignment).values()
    most = max((row.max_score for row in everyone), default=0.0)
    rows = [
        (
            ", ".join(filter(None, (row.last_name, row.first_name))) or row.student,
            row.lms_user_id, "", row.student, "", _format_grade(row, provisional),
        )
        for row in everyone
    ]  # fmt: skip
    possible = (POINTS_POSSIBLE, *[""] * (len(CANVAS_COLUMNS) - 1), _format_or_empty(most))
    return _format_csv([(*CANVAS_COLUMNS, assignment), possible, *rows])


def fill_in_grade_column(course, assignment, path, provisional=False):
    """Fill the grades into Moodle's worksheet or Canvas's gradebook.

    Returns the text, and remarks on rows left unchanged: those of unknown students, and grades of
    students without a final grade. The separator also stays. Raises ValueError for any other file,
    for a file without known students, and as ``csv_files.read`` does.
    """
    sheet = csv_files.read(path)
    column = sheet.head.index(_find_column(sheet, assignment))
    standings = read_standings(course, assignment).values()
    filled, remarks = 0, []
    for number, row in sheet.rows:
        line = dict(zip(sheet.head, row, strict=True))
        if standing := _find_student(line, standings):
            filled += 1
            grade, state = _format_grade(standing, provisional), sentence(f"state.{standing.state}")
            if grade or row[column].strip() in ("", "-"):
                row[column] = grade
            else:
                fields = {"student": standing.student, "state": state, "grade": row[column]}
                remarks.append(sentence("export.kept", **fields))
        elif any(line.get(heading, "").strip() for heading in STUDENT_COLUMNS):
            remarks.append(sentence("export.unknown", line=number, row=", ".join(row[:3])))
    if not filled:
        raise ValueError(sentence("export.nobody_known", path=sheet.path))
    return _format_csv([sheet.head, *(row for _, row in sheet.rows)], sheet.separator), remarks


def _find_column(sheet, assignment):
    head = sheet.head
    if all(name in head for name in WORKSHEET_COLUMNS):
        return "Grade"
    columns = [name for name in head if name == assignment or name.startswith(f"{assignment} (")]
    if head[:1] == ["Student"] and len(columns) == 1:
        return columns[0]
    fields = {"path": sheet.path, "columns": ", ".join(WORKSHEET_COLUMNS)}
    raise ValueError(sentence("export.other_file", assignment=assignment, **fields))


def _find_student(line, standings):
    for heading, field in STUDENT_COLUMNS.items():
        if value := line.get(heading, "").strip().lower():
            for standing in standings:
                if getattr(standing, field).lower() == value:
                    return standing
    return None


def _format_grade(standing, provisional):
    return _format_or_empty(standing.provisional if provisional else standing.final)


def _format_or_empty(value):
    return "" if value is None else format_points(value)


def _format_csv(rows, separator=","):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows(map(_defuse_formula, row) for row in rows)
    return text.getvalue()


def _defuse_formula(cell):
    """Return text that a spreadsheet or terminal displays and does not execute.

    >>> [_defuse_formula(cell) for cell in ("=1", "\N{FULLWIDTH EQUALS SIGN}1", "-2.5", "-", "a=b")]
    ["'=1", "'\N{FULLWIDTH EQUALS SIGN}1", '-2.5', '-', 'a=b']
    """
    if cell == "-" or PLAIN_NUMBER.fullmatch(cell):  # Moodle's sign for no grade, and numbers
        return cell
    signs = itertools.dropwhile(lambda sign: unicodedata.category(sign) in SKIPPED_CATEGORIES, cell)
    first = unicodedata.normalize("NFKC", next(signs, ""))
    runs = first[:1] in FORMULA_SIGNS or cell.startswith(("\t", "\r", "\n"))
    text = escape_lines(cell)
    return f"'{text}" if runs else text
