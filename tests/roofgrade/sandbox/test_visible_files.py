"""What a submission sees of the machine is what its Python needs, and none of what is private."""

import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

import pytest
from hidden import solution_lines
from homework import make_course
from words import said

from roofcheck.tables.catalogue import QUESTIONS_VARIABLE
from roofgrade.common.errors import MachineryError
from roofgrade.course import Course
from roofgrade.run.grading_run import grade_assignment
from roofgrade.sandbox import Box, layout, visible_folders

# The system's folders can be filled by root alone.
AS_ROOT = os.geteuid() == 0
needs_sandbox = pytest.mark.usefixtures("sandbox")
SECRET = "a-word-of-this-course"
# It reads all that may be text or a database, under /proc too, and says where a word is.
# The words come in halves, as the cell's own source holds them otherwise.
WALK = """
import os, stat

def walk():
    words = [(first + second).encode() for first, second in {halves}]
    for top, folders, names in os.walk("/"):
        if top == "/proc":
            folders[:] = ["self"]
        folders[:] = [name for name in folders if name not in ("task", "map_files")]
        for name in folders + names:
            if name in {names}:
                yield os.path.join(top, name)
        names = [name for name in names if not name.endswith({binaries})]
        for path in (os.path.join(top, name) for name in names):
            try:
                about = os.stat(path)
                if stat.S_ISREG(about.st_mode) and about.st_size < 1 << 20:
                    with open(path, "rb") as file:
                        content = file.read(1 << 20)
                    if any(word in content for word in words):
                        yield path
            except OSError:
                pass

print(*sorted(set(walk())), sep="\\n")
"""
BINARIES = (".so", ".a", ".o", ".ttf", ".png", ".pyc", ".h", ".hpp", "pagemap", "mem")
NAMES = ("solutions", "submitted", "gradebook.db", "ps1.ipynb", "questions", QUESTIONS_VARIABLE)


@pytest.fixture
def course(tmp_path):
    """A course with a neighbour's work and a gradebook, in which SECRET stands."""
    return filled(make_course(tmp_path))


def filled(folder):
    work = folder / "submitted/ada/ps1/ps1.ipynb"
    work.parent.mkdir(parents=True)
    work.write_text(f'{{"cells": ["{SECRET}"]}}')
    with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as gradebook:
        gradebook.execute(f"create table said as select '{SECRET}' as comment")
        gradebook.commit()
    return Course(folder)


@contextlib.contextmanager
def folder_in(place):
    """A new folder in one of the system's, open to all."""
    with tempfile.TemporaryDirectory(dir=place, prefix="roofline-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def seen(box):
    """Where a submission finds a word of a solution, of a question's table, or SECRET."""
    lines = sorted((layout.ROOFCHECK / "questions").glob("ps*.toml"))[0].read_text().splitlines()
    secrets = [SECRET, max(lines, key=len), *sorted(solution_lines(), key=len)[-3:]]
    halves = [(word[:9], word[9:]) for word in secrets]
    walk = WALK.format(halves=halves, names=NAMES, binaries=BINARIES)
    with box.open({}, seconds=600) as child:
        found = said(child.run(walk, seconds=600)[0]).split()
    # nbgrader comes with a course of its own.
    return [path for path in found if "/site-packages/nbgrader/" not in path]


def test_only_what_python_needs_is_there(child):
    reply, _ = child.run("import os\nprint(os.listdir('/usr'), os.path.isdir('/usr/local/src'))")
    names, local = said(reply).rsplit(maxsplit=1)
    assert set(eval(names)) <= {"bin", "lib", "lib64", "share", "local"}
    assert local == "False"


@needs_sandbox
@pytest.mark.weekly("no file that a submission can read holds a solution, or others' work")
def test_no_file_holds_a_word_of_what_is_private(course):
    places = ["/usr/local/src", "/usr/src", "/srv"] if AS_ROOT else []
    box = Box(private=course.private_paths())
    with contextlib.ExitStack() as stack:
        for place in filter(os.path.isdir, places):
            shutil.copytree(course.root, stack.enter_context(folder_in(place)), dirs_exist_ok=True)
        assert seen(box) == []
    box.stop()


def test_the_walk_finds_private_files_where_no_walls_are(tmp_path, course):
    """The attack works: without walls it finds all of it."""
    box = Box(unsandboxed=True)
    found = WALK.replace('os.walk("/")', f"os.walk({str(course.root)!r})")
    walk = found.format(halves=[(SECRET[:9], SECRET[9:])], names=NAMES, binaries=BINARIES)
    with box.open({}) as child:
        paths = {Path(path).name for path in said(child.run(walk, seconds=600)[0]).split()}
    box.stop()
    assert paths >= {"solutions", "submitted", "gradebook.db", "ps1.ipynb"}


@needs_sandbox
@pytest.mark.parametrize("part", ["", "submitted", "gradebook.db", "grading", "solutions/en"])
def test_what_would_be_shown_is_named_and_nothing_starts(course, part, monkeypatch):
    lying = course.root / part
    monkeypatch.setattr(
        visible_folders, "find_visible", lambda: {Path("/usr/lib"): lying.resolve()}
    )
    with pytest.raises(MachineryError, match=f"could read {lying}") as refused:
        Box(private=course.private_paths()).open({})
    assert "Move" in str(refused.value)


@needs_sandbox
def test_a_link_to_a_folder_that_is_shown_is_followed(course, tmp_path, monkeypatch):
    monkeypatch.setattr(
        visible_folders, "find_visible", lambda: {Path("/usr/lib"): tmp_path / "shown"}
    )
    (course.root / "submitted").rename(tmp_path / "shown")
    (course.root / "submitted").symlink_to(tmp_path / "shown")
    with pytest.raises(MachineryError, match=f"could read {course.root / 'submitted'}"):
        Box(private=course.private_paths()).open({})


def test_an_exchange_and_questions_of_ones_own_are_private(course, tmp_path, monkeypatch):
    settings = course.root / "nbgrader_config.py"
    settings.write_text(f"{settings.read_text()}\nc.Exchange.root = '{tmp_path / 'exchange'}'\n")
    assert tmp_path / "exchange" in Course(course.root).private_paths()
    monkeypatch.setattr(
        visible_folders, "find_visible", lambda: {Path("/usr/lib"): tmp_path / "own"}
    )
    visible_folders.check_private(())
    monkeypatch.setenv(QUESTIONS_VARIABLE, str(tmp_path / "own/questions"))
    with pytest.raises(MachineryError, match=f"could read {tmp_path / 'own/questions'}"):
        visible_folders.check_private(())


def test_what_stands_beside_the_packages_is_private_unless_they_are_installed(monkeypatch):
    top = layout.ROOFKIT.parent
    monkeypatch.setattr(visible_folders, "find_visible", lambda: {Path("/usr/lib"): top})
    with pytest.raises(MachineryError, match=f"could read {top}"):
        visible_folders.check_private(())
    monkeypatch.setattr(layout, "PACKAGES", [top / "site-packages" / "roofkit"])
    visible_folders.check_private(())


def test_an_environment_in_the_folder_of_the_course_is_no_secret(course, monkeypatch):
    environment = course.root / ".venv/lib"
    monkeypatch.setattr(
        visible_folders, "find_visible", lambda: {Path("/opt/environment/lib"): environment}
    )
    visible_folders.check_private(course.private_paths())


PYTHONS = {
    "the system's": ("/usr", "/usr", ["/usr/local/lib/python3.11/dist-packages"]),
    "an environment of it": ("/usr", "/home/me/env", ["/home/me/env/lib/python3.11/site-packages"]),
    "one in /usr/local": ("/usr/local", "/usr/local", ["/usr/local/lib/python3.11/site-packages"]),
}


@pytest.mark.parametrize("kind", PYTHONS)
def test_which_folders_a_python_needs(kind, monkeypatch):
    base, prefix, packages = PYTHONS[kind]
    monkeypatch.setattr(sys, "base_prefix", base)
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(visible_folders.site, "getsitepackages", lambda: packages)
    monkeypatch.setattr(Path, "exists", lambda path: True)
    monkeypatch.setattr(Path, "resolve", lambda path: path)
    found = {str(path) for path in visible_folders.find_visible()} - {
        f"/usr/{name}" for name in visible_folders.SYSTEM_FOLDERS
    }
    needed = {f"{base}/{name}" for name in visible_folders.PYTHON_FOLDERS if base != "/usr"}
    if kind == "an environment of it":
        needed = {
            f"/opt/environment/{name}" for name in (*visible_folders.PYTHON_FOLDERS, "pyvenv.cfg")
        }
    assert found == needed | (set(packages) if kind == "the system's" else set())


if AS_ROOT:

    @needs_sandbox
    def test_a_course_below_a_folder_that_is_shown_is_not_graded():
        with folder_in("/usr/lib") as folder:
            course = filled(make_course(folder))
            (folder / "gradebook.db").unlink()
            with pytest.raises(MachineryError, match=f"could read {folder}, because"):
                grade_assignment(course, "ps1", workers=1, progress=False)
            assert not [*folder.glob("grading/ps1/results/*"), *folder.glob("autograded/*")]

    @needs_sandbox
    @pytest.mark.slow("no copy of the packages shows a submission the questions")
    @pytest.mark.parametrize("place", ["site-packages", "lib/python3/dist-packages"])
    def test_copies_of_the_packages_are_covered(place):
        with folder_in("/usr/lib") as folder:
            copies = folder / place
            for package in layout.PACKAGES:
                shutil.copytree(package, copies / package.name)
            box = Box()
            with box.open({}) as child:
                reply = child.run(f"import os\nprint([*os.walk({str(copies)!r})][1:])")[0]
            box.stop()
            empty = [(str(copies / package.name), [], []) for package in layout.PACKAGES]
            assert sorted(eval(said(reply))) == sorted(empty)
