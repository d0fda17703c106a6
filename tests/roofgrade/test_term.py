"""The command line of a term: parses, calls, prints."""

import csv
import json
import zipfile

import mixed
import pytest
from homework import ask, make_course

pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A course with a roster, an LMS's zip and one student's work in it."""
    folder = make_course(tmp_path_factory.mktemp("course"))
    mixed.good_work("ada").hand_in(folder / "submitted")
    (folder / "roster.csv").write_text(
        'id,first_name,last_name,email\nada,Ada,"Muster, Jr.",ada@x.edu\ncy,Cy,Young,cy@x.edu\n'
    )
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        name = "Cy Young_12345_assignsubmission_file_/ps1.ipynb"
        archive.writestr(name, json.dumps(mixed.good_work("cy").notebook))
        archive.writestr("Nobody Here_9_assignsubmission_file_/ps1.ipynb", "{}")
    return folder


def test_a_term_in_commands(folder):
    assert "2 students loaded." in ask(folder, "roster", folder / "roster.csv").output
    said = ask(folder, "unpack", folder / "all.zip", "ps1").output
    assert "1 unpacked, 1 skipped." in said
    assert "cy/ps1" in said

    said = ask(folder, "ps1", "--workers", "1", "--all").output
    assert "2 graded, 0 refused, 0 need review" in said
    assert "22 of 26" in said
    assert "2 graded" in ask(folder, "table", "ps1").output
    assert "2 written, 0 unchanged." in ask(folder, "feedback", "ps1").output
    assert "0 written, 2 unchanged." in ask(folder, "feedback", "ps1").output

    rows = {
        row["student"]: row
        for row in csv.DictReader(ask(folder, "export", "ps1").output.splitlines())
    }
    assert (rows["ada"]["status"], rows["ada"]["grade"]) == ("not yet marked", "")
    assert rows["ada"]["last name"] == "Muster, Jr."
    assert '"22"' in ask(folder, "export", "ps1", "--for", "moodle", "--provisional").output
    assert "ps1.ridge" in ask(folder, "report", "ps1").output
    regraded = ask(folder, "regrade", "ps1", "ps1.ridge").output
    assert "Answers regraded: 2. Points differ: 0." in regraded
    assert ask(folder, "late", "ps1", "--per-day", "0.1").output == ""


def test_a_folder_that_is_no_course_is_named(tmp_path):
    assert "no nbgrader_config.py" in ask(tmp_path, "ps1", code=1).output
