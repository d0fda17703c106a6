"""What reads a student's words has bounds, and whoever exceeds them stops nobody else."""

import os
import signal

import psutil
import pytest
from standin import grade_with, hand_in, new_course

from roofgrade.common import limits
from roofgrade.common.results import GRADED, WAITING

MEGABYTE = 1 << 20


def spin():
    while True:
        pass


def test_a_process_apart_gives_back_what_it_found():
    assert limits.call_in_fork(divmod, 17, 5) == (3, 2)
    assert len(limits.call_in_fork(bytes, 5 * MEGABYTE)) == 5 * MEGABYTE


def test_an_error_in_a_process_apart_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        limits.call_in_fork(divmod, 17, 0)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (bytearray, (200 * MEGABYTE,)),
        (spin, ()),
        (os._exit, (0,)),
        (bytes, (limits.LARGEST_RESULT + 1,)),
    ],
    ids=["memory", "time", "a crash", "a long answer"],
)
def test_a_process_that_takes_too_much_is_reported(function, arguments):
    with pytest.raises(limits.LimitExceededError):
        limits.call_in_fork(function, *arguments, room=100 * MEGABYTE, seconds=0.2)


def test_a_process_apart_leaves_nothing_behind():
    before = os.listdir("/proc/self/fd"), psutil.Process().children()
    for _ in range(3):
        with pytest.raises(limits.LimitExceededError):
            limits.call_in_fork(os._exit, 1)
    assert (os.listdir("/proc/self/fd"), psutil.Process().children()) == before


def test_the_clock_counts_work_and_is_stopped():
    with limits.limit_process_time(50):
        assert 0 < signal.getitimer(signal.ITIMER_PROF)[0] < 51
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0


def test_who_takes_too_much_to_judge_is_for_a_person_and_nobody_else_suffers(tmp_path):
    course = new_course(tmp_path / "course")
    hand_in(course, "ada", memory="")
    hand_in(course, "bea", time="")
    for student in ("cem", "dia", "eli"):
        hand_in(course, student)
    found = {row.student: row for row in grade_with(course).rows}
    assert {name: row.state for name, row in found.items()} == {
        "ada": WAITING, "bea": WAITING, "cem": GRADED, "dia": GRADED, "eli": GRADED,
    }  # fmt: skip
    assert found["ada"].reason == "reading it took more memory than allowed"
    assert found["bea"].reason.startswith("its worker was stopped twice, because reading")
