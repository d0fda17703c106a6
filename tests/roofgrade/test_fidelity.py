"""Honest work, in every style and after every accident, under nbgrader's own autograde."""

import mixed
import pytest
from homework import make_course, nbgrader, scores

pytestmark = pytest.mark.weekly("honest work gets the same under nbgrader's own autograde")

# What these do changes nothing but a cell of their own or one answer each, and costs no points: one
# notebook holds all of it, since each further one takes a kernel. By themselves they are graded
# where that one does not get what it deserves, to see whose work it is.
SHARING = (
    "in-fractions", "with-roofkit", "warns", "interactive", "plots", "awaits",
    "prints-without-end", "asks-for-input", "syntax-error-in-own-cell", "error-in-own-cell",
    "leaves-by-sys-exit", "installs-a-package", "asks-the-shell", "paragraph-in-a-new-cell",
)  # fmt: skip
# A kernel that was told to leave answers the next cells, or not: as fast as it is that day.
LUCK = {"leaves-by-exit": mixed.FULL}


def grade(folder, groups, *, fails=False):
    """The points of those who were graded, in a course where each group hands in one notebook."""
    course = make_course(folder)
    for students in groups:
        work = mixed.good_work(students[0])
        for student in students:
            mixed.CLASS[student][0](work)
        work.hand_in(course / "submitted")
    nbgrader(course, "generate_assignment", "ps1", "--create", "--force")
    nbgrader(course, "autograde", "ps1", "--create", fails=fails)
    pages = {path.parts[-3] for path in (course / "autograded").glob("*/ps1/ps1.ipynb")}
    known = scores(course)
    return {
        student: known[students[0]] if students[0] in pages else "ungraded"
        for students in groups
        for student in students
    }


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """The same class, its dangerous part aside, under nbgrader's own command."""
    honest = [name for name, (_, _, _, hostile, _) in mixed.CLASS.items() if not hostile]
    alone = [*(name for name in honest if name not in SHARING), "replaces-check", "shows-nothing"]
    groups = [SHARING, *([name] for name in alone)]
    found = grade(tmp_path_factory.mktemp("stock"), groups, fails=True)  # to read two names
    if found[SHARING[0]] != mixed.FULL:
        found |= grade(tmp_path_factory.mktemp("each"), [[name] for name in SHARING])
    return found


def test_stock_gives_honest_work_the_same(stock):
    differ = {
        student: (stock[student], expected)
        for student, (_, _, _, hostile, expected) in mixed.CLASS.items()
        if not hostile and stock[student] not in (expected, LUCK.get(student))
    }
    assert not differ


def test_stock_believes_a_forged_check(stock):
    assert stock["replaces-check"] == stock["shows-nothing"] == mixed.FULL
