"""A class of a hundred in which ten attack, graded without root; and thirty of it, by root."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import mixed
import pytest
from homework import ROOT, hand_in, make_course

sys.path.append(str(Path(__file__).with_name("sandbox")))
from users import run_as

pytestmark = [
    pytest.mark.weekly("a class with attackers is graded within a gigabyte, also without root"),
    pytest.mark.usefixtures("sandbox"),
]

TEACHER = 54321  # an id that has no account
ATTACKERS = (
    "takes-all-memory", "loops-and-will-not-stop", "replies-too-deep-to-write-down",
    "replies-by-the-megabyte", "updates-displays-without-end", "prints-300-000-lines",
    "kills-its-parent", "with-something-like-a-neighbours-id", "a-line-of-spaces",
    "brackets-in-brackets",
)  # fmt: skip
GIGABYTE = 10**9


@pytest.fixture
def course():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "course").mkdir()
        yield make_course(Path(folder, "course"))


def all_hand_in(course, honest):
    for number in range(honest):
        hand_in(course, "ps1", f"honest-{number}", {}, kind="solutions")
    for name in ATTACKERS:
        mixed.hand_in(course / "submitted", name)


@pytest.mark.parametrize(
    ("teacher", "honest"),
    [pytest.param(0, 20, id="root"), pytest.param(TEACHER, 90, id="without root")],
)
def test_all_get_what_they_deserve_within_a_gigabyte(course, teacher, honest):
    all_hand_in(course, honest)
    for path in (course.parent, *course.parent.rglob("*")):
        os.chown(path, teacher, teacher)
    watched = ROOT / "tests/roofgrade/watched.py"
    if teacher:
        program = f"import runpy, sys\nsys.argv[1:] = [{str(course)!r}]\n"
        said = run_as(teacher, f"{program}runpy.run_path({str(watched)!r}, run_name='__main__')")
    else:
        run = [sys.executable, watched, course]
        said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    told = json.loads(said)
    assert set(told["statuses"].values()) == {0}, told
    assert told["peak"] < GIGABYTE, told["whose"]
    results = [json.loads(path.read_text()) for path in (course / "grading/ps1/results").iterdir()]
    good = [result for result in results if result["student"].startswith("honest-")]
    assert len(results) == honest + len(ATTACKERS)
    assert Counter(result["state"] for result in good) == {"graded": honest}
    assert {points(result) for result in good} == {mixed.FULL}
    for result in results:
        if result not in good:
            _, deserved, state, *_ = mixed.CLASS[result["student"]]
            assert (result["student"], result["state"]) == (result["student"], state)
            assert points(result) == deserved or state == "person", result["student"]
        page = course / "feedback" / result["student"] / "ps1/ps1.html"
        assert page.stat().st_size < 10 << 20


def points(result):
    return sum(answer["credit"] * answer["points"] for answer in result["answers"].values())
