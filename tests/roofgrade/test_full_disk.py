"""A full disk: a command says so in a sentence, leaves nothing half-written, and goes on later.

The course lies on a small disk in memory, mounted where only the test sees it, and filled.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from classroom import classroom, grade
from click.testing import CliRunner
from homework import ROOT
from marks import NoBox, mark
from standin import SET, contents, hand_in, new_course

from roofgrade.commands import main
from roofgrade.common import safe_files
from roofgrade.gradebook import result_files
from roofgrade.run import grading_run

SAID = "the disk with"
SIZE = 16 << 20
MOUNTED = 'mount -t tmpfs -o size=$0 roofgrade "$1" && shift && exec "$@"'
RUN = (SET, "--workers", "1")


@pytest.mark.slow("a run says that the disk is full, and loses nothing")
def test_a_run_names_a_full_disk_and_goes_on_later(tmp_path):
    (disk := tmp_path / "disk").mkdir()
    inside = f"import test_full_disk; test_full_disk.filled({str(disk)!r})"
    mounted = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNTED]
    tried = [*mounted, str(SIZE), str(disk), "true"]
    if not shutil.which("unshare") or subprocess.run(tried, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here, as it needs user namespaces")
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    done = subprocess.run(
        [*mounted, str(SIZE), str(disk), sys.executable, "-c", inside],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def filled(disk):
    """What the test does, in a process that sees the disk."""
    grading_run.grade_assignment.__kwdefaults__["bench"] = mark, NoBox
    course = new_course(Path(disk) / "course")
    os.chdir(course.root)
    for number in range(6):
        hand_in(course, f"s{number}")
    whole = lying(course)
    told = 0
    for left in (0, 8 << 10, 40 << 10, 200 << 10, 500 << 10):
        fill(course.root / "filler", left)
        said = CliRunner().invoke(main, RUN)
        print(left, said.output)
        if said.exit_code:
            assert SAID in said.output
            assert "Traceback" not in said.output
            assert type(said.exception) is SystemExit
            told += 1
        (course.root / "filler").unlink()
        for path, content in lying(course).items():
            assert safe_files.TEMPORARY_NAME not in path
            if path.endswith((".html", ".ipynb", ".svg")) and whole.get(path) != content:
                assert content.rstrip().endswith((b"</html>", b"}", b"</svg>")), path
        list(map(json.dumps, contents(course.db_url)))
    assert told
    said = CliRunner().invoke(main, RUN)
    assert said.exit_code == 0, said.output
    assert not result_files.read_unsaved(course, SET)


def lying(course):
    """Every file of the course but the gradebook's."""
    found = [path for path in course.root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in found if "gradebook" not in path.name}


def fill(path, left):
    """Fill the disk but for so many bytes."""
    with path.open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        file.truncate(max(0, file.tell() - left))


def test_an_export_names_a_full_disk_that_it_is_written_to(tmp_path):
    course = classroom(tmp_path)
    grade(course, "ada", {})
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "roofgrade", "export", SET], cwd=course.root,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=full, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert "because the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
