"""No command lets a student's words move the cursor of a terminal, or turn its text around."""

import re
import zipfile

import pytest
from classroom import RIGHT, SET, classroom, grade, mark
from click.testing import CliRunner
from homework import ROOT
from nbgrader.api import Gradebook

from roofcheck.cells import QuestionCall
from roofcheck.tables.catalogue import find_question
from roofgrade.commands import main
from roofgrade.common.results import WAITING, Answer, Result
from roofgrade.gradebook import result_files
from roofgrade.judge import probes
from roofgrade.judge.judging import make_seed

# It clears the screen, in the short form too; it rings, starts a line anew and turns the text.
HOSTILE = "eve\x1b[2J\x9b2J\x07\r\u202e\u2028"
ASKED = QuestionCall("check", "ps1.ridge", "ridge", "")
COMMANDS = [
    ("table", SET, "--all"), ("regrade", SET, "ps1.ridge"), ("feedback", SET), ("report", SET),
    ("late", SET, "--per-day", "0.1", "--grace", "30"), ("export", SET),
    ("export", SET, "--for", "canvas"), ("export", SET, "--into", "canvas.csv"),
    ("unpack", "hostile.zip", SET), ("roster", "students.csv"), (SET, "--only", HOSTILE),
    ("feedback", SET, HOSTILE + "?"),
]  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which all that a student can choose is made for a terminal."""
    course = classroom(tmp_path_factory.mktemp("course"))
    (course.root / "course").mkdir()
    (course.root / "course/en").symlink_to(ROOT / "course/en")
    for who, late in ((HOSTILE, 10), ("ada", 3 * 86_400), ("bea", 10)):
        grade(course, who, RIGHT, written=HOSTILE, seconds_late=late)
        mark(course, who, 4)
    probe = probes.make_probe(
        ASKED, find_question("ps1.ridge"),
        make_seed(course.case_secret(SET, HOSTILE, ""), "ps1.ridge"),
    )  # fmt: skip
    answer = Answer(
        question="ps1.ridge", asked=probes.hash_calls(probe), credit=1.0, points=2.0, state="right",
        reply={"value": {"t": "str", "v": HOSTILE}}, message="", slips=(HOSTILE,),
    )  # fmt: skip
    result_files.write_result(
        course,
        Result(
            student=HOSTILE, assignment=SET, folder=f"{HOSTILE}/{SET}", state=WAITING,
            reason=HOSTILE, remarks=(HOSTILE,), answers={"ps1-ridge-check": answer},
        ),
    )  # fmt: skip
    for name in (HOSTILE, "ada", f"ada/{SET}"):
        folder = course.submitted / name / SET
        folder.mkdir(parents=True)
        (folder / f"{HOSTILE}.ipynb").write_text(HOSTILE)
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_student(
            HOSTILE, first_name=HOSTILE, last_name=HOSTILE, email=HOSTILE, lms_user_id="7"
        )
    with zipfile.ZipFile(course.root / "hostile.zip", "w") as packed:
        packed.writestr(f"{HOSTILE}_7_assignsubmission_file_/{HOSTILE}.ipynb", HOSTILE)
        packed.writestr(f"{HOSTILE}/../x", HOSTILE)
    head = "Student,ID,SIS User ID,SIS Login ID,Section,ps1 (88)\n"
    (course.root / "canvas.csv").write_text(f'{head}"{HOSTILE}",7,,,A,\n', newline="")
    (course.root / "students.csv").write_text(f'id,first_name\n"{HOSTILE}",a,b\n', newline="")
    return course


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:4:2]))
def test_nothing_that_is_printed_moves_the_cursor(course, command, monkeypatch):
    monkeypatch.chdir(course.root)
    done = CliRunner().invoke(main, command)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    said = done.stdout.replace("\r\n", "\n") + done.stderr
    assert said
    for line in said.split("\n"):
        assert line.isprintable(), line
    # A path may hold one, such as that of pytest's first folder, pytest-0.
    assert not re.search(r"(?<![\d.])-0(?![\d.])", said.replace(str(course.root), ""))


def test_a_penalty_of_nothing_is_printed_without_a_minus(course, monkeypatch):
    monkeypatch.chdir(course.root)
    said = CliRunner().invoke(main, ("late", SET, "--per-day", "0.1", "--grace", "30")).stdout
    assert "0.0 h late, no penalty" in said
    assert re.search(r"ada: 72.0 h late, -\d", said)
