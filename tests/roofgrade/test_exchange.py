"""On a shared machine: a set goes out, comes back twice, and its feedback returns, by nbgrader."""

import contextlib
import getpass
import shutil

import nbformat
import pytest
from classroom import RIGHT, SET, classroom, grade
from nbgrader.apps import NbGraderApp
from traitlets.config import Application

from roofgrade.pages import feedback


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The folders of an instructor and a student, and between them an exchange."""
    home = tmp_path
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home / "data"))
    course = classroom(home / "instructor")
    exchange, student = home / "exchange", home / "student"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    student.mkdir()
    shared = f"\nc.Exchange.root = {str(exchange)!r}\n"
    with (course.root / "nbgrader_config.py").open("a") as settings:
        settings.write(shared)
    (student / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.CourseDirectory.course_id = 'roofline'{shared}"
    )

    return course, student


def nbgrader(folder, command, *arguments):
    """One command as it is typed in a folder, in this process: most of its time is its imports."""
    with contextlib.chdir(folder):
        try:
            NbGraderApp.launch_instance([command, *arguments])
        finally:
            type(Application.instance()).clear_instance()


def test_out_and_back_and_again(machine):
    course, student = machine
    me = getpass.getuser()
    nbgrader(course.root, "release_assignment", SET)
    nbgrader(student, "fetch_assignment", SET)
    notebook = student / SET / f"{SET}.ipynb"
    assert notebook.read_bytes() == course.release(SET).read_bytes()
    collected = course.submitted / me / SET
    times = []
    for number, collect in enumerate(("collect", "collect --update")):
        nb = nbformat.read(notebook, as_version=4)
        nb.cells[-2].source = f"My paragraph, version {number}."
        nbformat.write(nb, notebook)
        nbgrader(student, "submit", SET)
        nbgrader(course.root, *collect.split(), SET)
        assert (collected / notebook.name).read_bytes() == notebook.read_bytes()
        times.append((collected / "timestamp.txt").read_text())
    assert times[0] < times[1], "the second hand-in is told from the first"
    made = grade(course, me, RIGHT)
    for name in feedback.EXCHANGED:
        shutil.copy(collected / name, made.parent)
    [page] = feedback.write(course, SET)
    nbgrader(course.root, "release_feedback", SET)
    nbgrader(student, "fetch_feedback", SET)
    [fetched] = student.glob(f"{SET}/feedback/*/{SET}.html")
    assert fetched.read_bytes() == page.path.read_bytes()
