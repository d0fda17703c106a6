"""A class of many styles, accidents and attacks gets the grades that it deserves."""

import contextlib
import json
import re
import threading
from pathlib import Path

import mixed
import psutil
import pytest
from homework import grade, make_course, scores
from nbgrader.api import Gradebook

pytestmark = [
    pytest.mark.weekly("a class of many styles, accidents and attacks gets what it deserves"),
    pytest.mark.usefixtures("sandbox"),
]

# Loops that end by a limit alone; no honest cell may meet one, however busy the machine.
LOOPS = [name for name in mixed.CLASS if name.startswith("loops-")]
SOON = ["--cell-seconds", "4", *(word for name in LOOPS for word in ("--only", name))]
GIGABYTE = 10**9
PATIENCE = ["--cell-seconds", "600", "--notebook-seconds", "3600"]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return make_course(tmp_path_factory.mktemp("class"))


@pytest.fixture(scope="module")
def deserved(course):
    return mixed.hand_in_all(course / "submitted")


@pytest.fixture(scope="module")
def graded(course, deserved):
    """What the command said, and what became of each, by student."""
    assert len(LOOPS) == 3
    grade(course, "ps1", *SOON)
    peaks, over = [], threading.Event()
    watch = threading.Thread(target=watch_memory, args=(peaks, over))
    watch.start()
    said = grade(course, "ps1", *PATIENCE)
    over.set()
    watch.join()
    assert max(peaks) < GIGABYTE
    return said, results(course)


def watch_memory(peaks, over):
    """Note the most bytes that each process of the run has held, as long as it goes on."""
    while not over.wait(0.1):
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error, OSError, TypeError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                peaks.append(1024 * int(re.search(r"^VmHWM:\s+(\d+)", status, re.M)[1]))


def results(course):
    found = {}
    for path in (course / "grading/ps1/results").glob("*.json"):
        result = json.loads(path.read_text())
        assert result["student"] not in found
        found[result["student"]] = result
    return found


@pytest.mark.parametrize("student", [*mixed.CLASS, "link-to-the-solution", "nothing-in-it"])
def test_each_gets_what_it_deserves(graded, deserved, course, student):
    points, state = deserved[student]
    result = graded[1][student]
    assert result["state"] == state, result["reason"]
    assert scores(course).get(student) == points, result["answers"]
    if state != "graded":
        assert result["reason"]


def test_nobody_sees_what_lies_beside(graded):
    text = json.dumps(graded[1]["looks-at-the-others"])
    for secret in ("gradebook", "root:", "as-released", "solutions"):
        assert secret not in text.replace("looks-at-the-others", "")


@pytest.mark.parametrize(("who", "me"), [
    ("with-a-neighbours-figures", "'Somebody-Else '"),
    ("with-something-like-a-neighbours-id", "Like 'as-released'"),
])  # fmt: skip
def test_a_neighbours_figures_are_for_a_person_and_earn_nothing(graded, who, me):
    said, found = graded
    assert found[who]["reason"].startswith(f"ps1.mine: the notebook says me = {me}, not '{who}'")
    assert "ps1-mine-check" in found[who]["flagged"]
    assert found[who]["answers"]["ps1-mine-check"]["credit"] == 0
    assert f"ps1.mine: the notebook says me = {me}" in " ".join(said.split())


def test_wherever_a_person_is_needed_cells_wait_for_one(graded, course):
    needed = [each for each in graded[1].values() if each["state"] == "person" and each["notebook"]]
    assert len(needed) > 5
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        for each in needed:
            assert each["flagged"], each["reason"]
            for name in each["flagged"]:
                grade = book.find_grade(name, "ps1", "ps1", each["student"])
                assert grade.needs_manual_grade, each["student"]


def test_what_a_student_names_is_not_written_over(graded, course):
    folder = course / "autograded/a-folder-where-files-are-written/ps1"
    assert sorted(path.name for path in folder.iterdir()) == ["later.txt", "ps1.ipynb"]
