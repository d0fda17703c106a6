"""Students who name one ``me``: each judged by the roster's id, and told apart.

One class, graded in the sandbox; then some of them hand in again.
"""

import json
import shutil

import pytest
from classroom import classroom
from mixed import FULL, POINTS, good_work

from roofgrade.common.results import GRADED, WAITING
from roofgrade.course import Course
from roofgrade.gradebook.standings import read_standings
from roofgrade.intake import roster
from roofgrade.pages import feedback
from roofgrade.run.grading_run import grade_assignment, summarise_without_grading

pytestmark = [
    pytest.mark.usefixtures("sandbox"),
    pytest.mark.weekly("who writes another's id is told from who has it"),
]

SET, MINE = "ps1", "ps1-mine-check"
UNPAID = FULL - POINTS["ps1-mine"]
# Who hands in, and the id in the notebook: two of a team, of whom neither is on the roster; two of
# another, of whom one is its namesake; and two who wrote their own, one of them with the accent as
# a sign of its own, as some keyboards give it.
CLASS = {
    "ada": "team7", "bob": "Team7 ", "cem": "team8", "team8": "team8", "dia": "DIA",
    "zoé": "zoe\N{COMBINING ACUTE ACCENT}",
}  # fmt: skip


def hand_in(course, student, me):
    """All answers right; that with figures of one's own by those that the notebook asks for."""
    shutil.rmtree(course.submitted / student, ignore_errors=True)
    work = good_work(student)
    work.write("ps1-me", f"me = {me!r}")
    work.hand_in(course.submitted)


def rows(summary):
    return {row.student: row for row in summary.rows}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = classroom(tmp_path_factory.mktemp("class"))
    (course.root / "students.csv").write_text("id,first_name\nteam8,Tea\ncem,Cem\nDia,Dia\n")
    roster.import_roster(course, course.root / "students.csv")
    for student, me in CLASS.items():
        hand_in(course, student, me)
    return course


@pytest.fixture(scope="module")
def graded(course):
    return grade_assignment(course, SET, progress=False)


def score(course, student):
    return read_standings(course, SET)[student].score


def test_who_has_the_id_in_the_roster_is_paid_and_only_the_other_waits(graded, course):
    assert [rows(graded)[each].state for each in ("team8", "cem")] == [GRADED, WAITING]
    assert [score(course, each) for each in ("team8", "cem")] == [FULL, UNPAID]
    assert "the notebook says me = 'team8'" in rows(graded)["cem"].reason


def test_both_of_a_team_wait_for_a_person_who_reads_of_the_other(graded, course):
    found = rows(graded)
    for student, other in {"ada": "bob", "bob": "ada"}.items():
        row = found[student]
        assert row.state == WAITING
        assert f"{other} used the same me" in row.reason
        assert student not in row.reason.partition("used the same me")[0].split()
        assert row.flagged == (MINE,)
        assert score(course, student) == UNPAID
        assert read_standings(course, SET)[student].final is None
        shown = json.loads((course.autograded / student / SET / f"{SET}.ipynb").read_text())
        assert other in shown["metadata"]["roofgrade"]["reason"], "Formgrader shows it"
    assert rows(summarise_without_grading(course, SET)) == found


def test_who_writes_the_own_id_in_another_spelling_is_paid(graded, course):
    assert {rows(graded)[student].state for student in ("Dia", "zoé")} == {GRADED}
    assert [score(course, student) for student in ("Dia", "zoé")] == [FULL, FULL]


def test_no_page_of_a_student_names_the_other(graded, course):
    others = {"ada": "bob", "cem": "Tea"}
    for student, other in others.items():
        [page] = feedback.write_pages(course, SET, [student])
        text = page.path.read_text(encoding="utf-8")
        assert "Your teacher will look at it" in text or "until your teacher has looked" in text
        assert f">{other}" not in text
        assert f"{other} handed in" not in text


def test_it_is_over_once_they_hand_in_under_their_own_names(graded, course):
    for student in ("bob", "cem"):
        hand_in(course, student, student)
    found = rows(grade_assignment(Course(course.root), SET, progress=False, only=["bob", "cem"]))
    assert [found[each].state for each in ("bob", "cem", "team8")] == [GRADED] * 3
    assert [score(course, each) for each in ("bob", "cem", "team8")] == [FULL] * 3
    # Ada still names somebody who she is not, and nobody beside her does.
    assert found["ada"].state == WAITING
    assert "bob" not in found["ada"].reason
    assert score(course, "ada") == UNPAID
