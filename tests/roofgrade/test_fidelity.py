"""Honest work, in every style and after every accident, under nbgrader's own autograde."""

import mixed
import pytest
from homework import make_course, nbgrader, scores

pytestmark = pytest.mark.slow("honest work gets the same under nbgrader's own autograde")


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """The same class, its dangerous part aside, under nbgrader's own command."""
    course = make_course(tmp_path_factory.mktemp("stock"))
    mixed.hand_in_all(course / "submitted", hostile=False)
    for student in ("replaces-check", "shows-nothing"):
        work = mixed.good_work(student)
        mixed.CLASS[student][0](work)
        work.hand_in(course / "submitted")
    nbgrader(course, "generate_assignment", "ps1", "--create", "--force")
    nbgrader(course, "autograde", "ps1", "--create", fails=True)  # it could not read four names
    pages = (path.parts[-3] for path in (course / "autograded").glob("*/ps1/ps1.ipynb"))
    known = scores(course)
    return {student: known[student] for student in pages}


# A kernel that was told to leave answers the next cells, or not: as fast as it is that day.
LUCK = {"leaves-by-exit": mixed.FULL}


def test_stock_gives_honest_work_the_same(stock):
    differ = {
        student: (stock.get(student, "ungraded"), expected)
        for student, (_, _, _, hostile, expected) in mixed.CLASS.items()
        if not hostile and stock.get(student, "ungraded") not in (expected, LUCK.get(student))
    }
    assert not differ


def test_stock_believes_a_forged_check(stock):
    assert stock["replaces-check"] == stock["shows-nothing"] == mixed.FULL
