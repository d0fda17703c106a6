"""Rosters as registrars and LMSs write them."""

import pytest
from classroom import classroom
from click.testing import CliRunner
from nbgrader.api import Gradebook

from roofcheck.handin import ids
from roofgrade.commands import main
from roofgrade.intake import roster
from roofgrade.intake.names import read_sender
from roofgrade.intake.people import RosterEntry

MOODLE = (
    "\ufeffFirst name;Last name;Username;ID number;Email address\r\n"
    'Ann;"Muster, Jr.";amuster;004711;ann@example.edu\r\n'
    ";;;;\r\n"
    "Bo;Ström;bstrom;;bo@example.edu\r\n"
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,ps1 (88)\n"
    "    Points Possible,,,,,26\n"
    '"Muster, Jr., Ann",901,004711,amuster,A,\n'
)
OWN = "id,first_name,last_name,email,lms_user_id\namuster,Ann,Muster,ann@example.edu,901\n"


def read(tmp_path, text):
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return roster.read_roster(path)


def test_rosters_of_moodle_canvas_and_nbgrader_are_read(tmp_path):
    assert read(tmp_path, MOODLE) == [
        RosterEntry("amuster", "Ann", "Muster, Jr.", "ann@example.edu"),
        RosterEntry("bstrom", "Bo", "Ström", "bo@example.edu"),
    ]
    test_student = '"Student, Test",999,,f00d,A,\n'
    assert read(tmp_path, CANVAS + test_student) == [
        RosterEntry("amuster", "Ann", "Muster, Jr.", lms_user_id="901")
    ]
    assert read(tmp_path, OWN) == [
        RosterEntry("amuster", "Ann", "Muster", "ann@example.edu", "901")
    ]


@pytest.mark.parametrize(("text", "said"), [
    ("name,group\nAnn,a@b\n", "no id column"),
    ("", "is empty"),
    ("id,email\nann,a@b\n,c@d\n", "line 3: no id for 'c@d'"),
    ("id,email\nann,a@b\nann,c@d\n", "line 3: 'ann' appears twice"),
    ("id\nzo\u00e9\nzoe\u0301\n", "line 3: 'zo\u00e9' appears twice"),
    ("id\nann\nANN\n", "line 3: 'ANN' and 'ann' are two spellings of the same id"),
    (
        "id\n<img src=x>\n",
        "line 2: '<img src=x>' cannot be used as an id: the name contains '<=>'",
    ),
    ("id\nann\x1b[2J\n", r"line 2: 'ann\\\\x1b\[2J' cannot be used as an id"),
    ("id,last_name\nann,Muster, Jr.\n", "line 2: 3 cells, but 2 column headings"),
    ('id,last_name\nann,"Muster\n', "unexpected end of data"),
])  # fmt: skip
def test_a_mistake_in_a_roster_is_named_by_its_line(tmp_path, text, said):
    with pytest.raises(ValueError, match=said):
        read(tmp_path, text)


def test_what_a_roster_leaves_out_stays_in_the_gradebook(tmp_path):
    (tmp_path / "course").mkdir()
    course = classroom(tmp_path / "course")
    path = tmp_path / "roster.csv"
    for text in (OWN, CANVAS):
        path.write_text(text)
        roster.import_roster(course, path)
    with Gradebook(course.db_url) as gradebook:
        [student] = gradebook.students
        assert (student.last_name, student.email) == ("Muster, Jr.", "ann@example.edu")
    people = roster.load_people(course)
    assert people.find_one("Ann Muster, Jr.", "") == "amuster"
    assert people.find_sender(read_sender("901_1_ps1.ipynb"), "") == ("amuster", "")


def test_in_moodles_usual_list_the_address_is_the_id_of_who_is_new(tmp_path):
    (tmp_path / "course").mkdir()
    course, path = classroom(tmp_path / "course"), tmp_path / "roster.csv"
    usual = "First name,Last name,Email address\nAnn,M,ANN@example.edu\nBo,S,bo@example.edu\n"
    for text in (OWN, usual, usual):
        path.write_text(text)
        ids = [entry.id for entry in roster.import_roster(course, path)]
    assert ids == ["amuster", "bo@example.edu"]


def test_who_is_known_in_another_spelling_keeps_the_id(tmp_path):
    (tmp_path / "course").mkdir()
    course = classroom(tmp_path / "course")
    with Gradebook(course.db_url) as gradebook:
        gradebook.add_student("zoe\u0301")  # as a folder of macOS was called
    assert roster.load_people(course) is None
    path = tmp_path / "roster.csv"
    path.write_text("id,email\nZo\u00e9,zoe@example.edu\n", encoding="utf-8")
    assert [entry.id for entry in roster.import_roster(course, path)] == ["zoe\u0301"]
    with Gradebook(course.db_url) as gradebook:
        assert [student.email for student in gradebook.students] == ["zoe@example.edu"]


def test_the_ids_that_a_kit_carries_name_nobody(tmp_path):
    course = classroom(tmp_path / "course")
    file = tmp_path / "course/course/ids.txt"
    told = CliRunner().invoke(main, ["--course", str(course.root), "roster", "--ids", str(file)])
    assert told.exit_code
    assert "Load a roster first" in told.output
    (tmp_path / "roster.csv").write_text("id,last_name\nlov7,Lovelace\nzoé,Muller\n")
    typed = ["--course", str(course.root), "roster", str(tmp_path / "roster.csv")]
    told = CliRunner().invoke(main, [*typed, "--ids", str(file)])
    assert "2 ids written" in told.output
    text = file.read_text(encoding="utf-8")
    assert not [name for name in ("lov", "zo", "Lovelace", "Muller") if name in text]
    for me, known in {"lov7": True, " LOV7 ": True, "zoe\u0301": True, "lov": False}.items():
        assert ids.is_known(file, me) is known
    # What is written is tried in other forms, and nobody's else.
    for me, near in {"lov7@example.edu": "lov7", "l ov7": "lov7", "lov8": "", "zoé7": ""}.items():
        assert ids.find_likely_id(file, me) == near
