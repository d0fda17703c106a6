"""Late penalties: over the whole score, once it is read, and anew when marks change."""

import shutil

import pytest
from classroom import RIGHT, SET, classroom, grade, mark
from homework import ROOT, ask
from nbgrader.api import Gradebook
from standin import grade_with, hand_in, new_course

from roofgrade.gradebook.standings import read_standings
from roofgrade.regrade_export import late
from roofgrade.regrade_export.late import DAY, LatePolicy, LateSubmission


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = classroom(tmp_path_factory.mktemp("course"))
    for who, seconds in {"ontime": 0, "late": DAY + 1, "unread": DAY, "excused": DAY}.items():
        grade(course, who, RIGHT, written="Read me.", seconds_late=seconds)
    for who in ("ontime", "late", "excused"):
        mark(course, who, 4)
    with Gradebook(course.db_url) as gradebook:
        gradebook.grant_extension(SET, "excused", days=2)
    return course


def final(course, who):
    return read_standings(course, SET)[who].final


def test_a_penalty_is_a_share_of_the_whole_score_and_never_more():
    policy = LatePolicy(per_day=0.25, grace=1, most=0.75)
    seconds = [0, 3_600, 3_601, DAY + 3_600, 30 * DAY]
    assert [policy.penalty(8, each) for each in seconds] == [0, 0, 2, 2, 6]
    assert LatePolicy(per_day=1).penalty(8, 30 * DAY) == 8
    assert LatePolicy(per_day=1).penalty(-1, DAY) == 0


@pytest.mark.parametrize("wrong", [("--per-day", 10), ("--per-day", 0.1, "--most", -1)])
def test_a_share_outside_0_to_1_is_refused(course, wrong):
    assert "is not in the range 0<=x<=1" in ask(course.root, "late", SET, *wrong, code=2).stderr


def test_who_is_not_yet_read_pays_nothing_yet_and_an_extension_holds(course):
    policy = LatePolicy(per_day=0.25)
    assert late.apply_penalties(course, SET, policy) == [
        LateSubmission("late", DAY + 1, 4.0),
        LateSubmission("unread", DAY, None),
    ]
    assert [final(course, who) for who in ("ontime", "late", "excused")] == [8, 4, 8]
    assert final(course, "unread") is None
    mark(course, "late", 2)
    late.apply_penalties(course, SET, policy)
    assert final(course, "late") == 3
    late.apply_penalties(course, SET, LatePolicy(per_day=0))
    assert final(course, "late") == 6


def set_due_date(course, due):
    """Write a due date where students see it, too."""
    (course.root / "course/en").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "course/en/index.json", course.root / "course/en")
    (course.root / "course/term.toml").write_text(f"due.{SET} = {due}", encoding="utf-8")


@pytest.mark.slow("an extension before a hand-in holds, and due dates stand in one place")
def test_the_date_in_the_terms_settings_counts_and_extensions_wait_for_the_work(tmp_path):
    course = new_course(tmp_path / "course")
    with Gradebook(course.db_url) as gradebook:
        gradebook.add_student("ada")
    assert "has no due date" in ask(course.root, "extend", SET, "ada", "--days", 2, code=1).output
    set_due_date(course, "2999-01-31T18:00:00Z")
    assert "--yes" in ask(course.root, "answers", SET, code=1).output
    set_due_date(course, "2020-01-31T18:00:00Z")
    ask(course.root, "extend", SET, "ada", "--days", 100_000)
    assert "--yes" in ask(course.root, "answers", SET, code=1).output
    set_due_date(course, "2027-01-31T18:00:00Z")
    assert "'cyd' is not in" in ask(course.root, "extend", SET, "cyd", "--days", 2, code=1).output
    ask(course.root, "extend", SET, "ada", "--days", 2)
    for who in ("ada", "bob"):
        (hand_in(course, who) / "timestamp.txt").write_text("2027-02-01 19:00 UTC")
    grade_with(course)
    policy = LatePolicy(per_day=0.25)
    assert [each.student for each in late.apply_penalties(course, SET, policy)] == ["bob"]
    ask(course.root, "extend", SET, "bob", "--days", 2)
    assert late.apply_penalties(course, SET, policy) == []
    set_due_date(course, "2027-01-29T18:00:00+00:00")
    assert {each.seconds for each in late.apply_penalties(course, SET, policy)} == {DAY + 3_600}
