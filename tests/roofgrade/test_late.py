"""Late penalties: over the whole score, once it is read, and anew when marks change."""

import datetime

import pytest
from classroom import RIGHT, SET, classroom, grade, mark
from nbgrader.api import Gradebook

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


@pytest.mark.parametrize("wrong", [{"per_day": 10}, {"per_day": 0.1, "most": -1}])
def test_a_share_outside_0_to_1_is_refused(wrong):
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        LatePolicy(**wrong)


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


def test_nbgraders_own_autograde_follows_the_same_policy():
    plugin = late.SharePerDay(per_day=0.1, grace=2)
    seconds = datetime.timedelta(hours=27).total_seconds()
    assert plugin.late_submission_penalty("ada", 20, seconds) == LatePolicy(0.1, 2).penalty(
        20, seconds
    )
