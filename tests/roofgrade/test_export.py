"""Exported grades: quoted, harmless in a spreadsheet, and never a 0 for what nobody has marked."""

import csv
import io
import re
from dataclasses import replace

import pytest
from classroom import RIGHT, SET, WORTH, classroom, grade, keep, mark
from nbgrader.api import Gradebook

from roofgrade.common.results import GRADED, REFUSED, WAITING, Result
from roofgrade.common.sentences import escape_lines as harmless
from roofgrade.common.sentences import format_points
from roofgrade.gradebook import result_files
from roofgrade.regrade_export import export, late
from roofgrade.regrade_export.late import DAY
from roofgrade.run.grading_run import summarise_without_grading

WORKSHEET = (
    "\ufeffIdentifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
    'Participant 7,"=HYPERLINK(""http://evil"")",read@example.edu,Submitted,,26.00,Yes,-,-,\n'
    "Participant 8,Un Read,unread@example.edu,Submitted,,26.00,Yes,-,-,\n"
    "Participant 9,Some One,else@example.edu,Submitted,12,26.00,Yes,-,-,\n"
)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = classroom(tmp_path_factory.mktemp("course"))
    for who in ("read", "unread", "person", "settled"):
        grade(course, who, RIGHT, written="Read me.")
    for who in ("read", "person", "settled"):
        mark(course, who, 3.5)
    mark(course, "settled", 1, cell="ps1-time-check")
    for who in ("person", "settled"):
        keep(course, who, "person", reason="its process ended", flagged=("ps1-time-check",))
    keep(course, "refused", "refused", reason="no notebook, just a = sign")
    with Gradebook(course.db_url) as gradebook:
        named = {"first_name": "=cmd|' /C calc'!A0", "last_name": 'Muster, Jr. "M"'}
        known = {"email": "read@example.edu", "lms_user_id": "901"}
        gradebook.update_or_create_student("read", **named, **known)
        gradebook.update_or_create_student("unread", email="unread@example.edu")
        gradebook.update_or_create_student("absent")
    return course


def lines(text):
    return list(csv.reader(io.StringIO(text)))


def test_the_plain_export_says_how_each_student_stands(course):
    head, *rows = lines(export.export_plain(course, SET))
    found = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert {who: (one["status"], one["grade"]) for who, one in found.items()} == {
        "absent": ("nothing handed in", ""),
        "person": ("needs review", ""),
        "read": ("graded", "7.5"),
        "refused": ("refused", ""),
        "settled": ("graded", "8.5"),
        "unread": ("not yet marked", ""),
    }
    assert found["refused"]["reason"] == "no notebook, just a = sign"
    assert found["read"]["last name"] == 'Muster, Jr. "M"'
    assert found["read"]["first name"].startswith("'=cmd")
    assert (found["unread"]["score"], found["unread"]["not yet marked"]) == ("4", "4")


@pytest.mark.parametrize(
    "text",
    [
        "=1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "  =1", "\u00a0=1", "\u200b=1",
        "\ufeff=1", "\x00=1", "＝1", "＋1", "－1", "＠SUM(1)", " ＝1", "﹦1", "﹢1", "﹣1",
        "﹫SUM(1)", "⁼1", "₊1", "−1+1", "+１", "\tplain",
    ],
)  # fmt: skip
def test_what_a_spreadsheet_takes_for_a_formula_is_text(text):
    [[cell]] = lines(export._format_csv([[text]]))
    assert cell == f"'{harmless(text)}"


@pytest.mark.parametrize(
    "text", ["", "-", "-12.5", "+3", "7", "a=b", "    Points Possible", "é", "x"]
)
def test_what_is_no_formula_stays(text):
    assert lines(export._format_csv([[text]])) == [[text]]


def test_moodle_gets_its_grade_import(course):
    head, *rows = lines(export.export_moodle(course, SET))
    assert head == ["Email address", "Username", "ps1", "Status"]
    assert ["read@example.edu", "read", "7.5", "graded"] in rows
    assert ["unread@example.edu", "unread", "", "not yet marked"] in rows
    assert ["", "person", "", "needs review"] in rows


def test_canvas_gets_its_gradebook(course):
    head, possible, *rows = lines(export.export_canvas(course, SET))
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", SET]
    assert possible == ["    Points Possible", "", "", "", "", f"{WORTH:g}"]
    [read] = [row for row in rows if row[3] == "read"]
    assert read[1:] == ["901", "", "read", "", "7.5"]
    assert {row[3]: row[5] for row in rows if row[5]} == {"read": "7.5", "settled": "8.5"}


def test_moodles_worksheet_is_filled_in(course):
    text, said = filled(course, WORKSHEET)
    assert [remark.partition(" in the")[0] for remark in said] == ["line 4 matches no student"]
    head, *rows = lines(text)
    assert head == WORKSHEET.lstrip("\ufeff").split("\n")[0].split(",")
    assert [row[head.index("Grade")] for row in rows] == ["7.5", "", "12"]
    assert rows[0][1].startswith("'=HYPERLINK")
    assert rows[0][7] == "-", "Moodle reads this as no date"
    with_semicolons, _ = filled(course, WORKSHEET.replace(",", ";"))
    assert with_semicolons.startswith('"Identifier";"Full name";')


def test_a_grade_that_stands_in_the_file_is_never_emptied(course):
    text, said = filled(course, re.sub("(unread.*?Submitted,)", r"\g<1>17.00", WORKSHEET))
    head, *rows = lines(text)
    assert [row[head.index("Grade")] for row in rows] == ["7.5", "17.00", "12"]
    assert said[0] == "unread has no final grade (not yet marked), so the grade 17.00 stays"


@pytest.mark.parametrize(("text", "said"), [
    ("a,b\n1,2\n", "lms.csv is neither Moodle's"),
    ("Identifier,Grade,Maximum Grade\n1,,26\n", "no line in .*lms.csv"),
    ("Identifier,Grade,Maximum Grade\n\udce9,,26\n", "lms.csv is not in UTF-8. Save it as"),
])  # fmt: skip
def test_another_file_is_refused(course, text, said):
    with pytest.raises(ValueError, match=said):
        filled(course, text)


def filled(course, text):
    path = course.root / "lms.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return export.fill_in_grade_column(course, SET, path)


def test_an_unknown_set_is_named(course):
    with pytest.raises(ValueError, match="has no set 'ps9'"):
        export.export_plain(course, "ps9")


def test_the_table_and_the_export_tell_the_same_points(tmp_path):
    course = classroom(tmp_path)
    for who in ("late", "unread", "crashed", "settled", "twice"):
        grade(course, who, RIGHT, written="Read me.", seconds_late=DAY if who == "late" else 0)
        (course.submitted / who / SET).mkdir(parents=True)
        (course.submitted / who / SET / f"{SET}.ipynb").write_text("{}")
        state = WAITING if who in ("crashed", "settled") else GRADED
        result = Result(
            student=who, assignment=SET, folder=f"{who}/{SET}", state=state, notebook="{}"
        )
        result_files.write_result(course, result)
    result_files.write_result(
        course, replace(result, folder="Twice.zip", state=REFUSED, notebook="")
    )
    for who in ("late", "settled", "twice"):
        mark(course, who, 3)
    late.apply_penalties(course, SET, late.LatePolicy(per_day=0.25))
    head, *rows = lines(export.export_plain(course, SET, provisional=True))
    exported = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    table = {row.student: row for row in summarise_without_grading(course, SET).rows if row.counts}
    assert table.keys() == exported.keys()
    for who, row in table.items():
        assert format_points(row.points) == exported[who]["grade"], who
    assert table["late"].points == 5.25
    assert exported["late"]["score"] == "7"
    assert table["late"].remarks == ("late penalty: 1.75 of 7 points",)
