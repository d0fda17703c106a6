"""Whose an entry of a zip is: the right student's, or nobody's with a reason, never another's.

Each case is a zip as an LMS or a person makes it, unpacked by the command beside one roster.
"""

import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest
from damage import made
from homework import ask, make_releases

WORK = made()
ENTRIES = tomllib.loads(Path(__file__).with_name("entries.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    """A course with two releases, and a gradebook that knows the roster."""
    folder = make_releases(tmp_path_factory.mktemp("course"))
    (folder / "roster.csv").write_text(ENTRIES["roster"], encoding="utf-8")
    said = ask(folder, "roster", folder / "roster.csv").output
    assert "15 students" in said
    return folder


@pytest.fixture
def course(registered):
    """The same, with nothing handed in."""
    for name in ("submitted", "grading"):
        shutil.rmtree(registered / name, ignore_errors=True)
    (registered / "submitted").mkdir()
    return registered


def unpack(course, *entries):
    """What the command says of these entries, and the files that lie in submitted/ afterwards."""
    with zipfile.ZipFile(course / "class.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in entries:
            archive.writestr(name, WORK)
    said = ask(course, "unpack", course / "class.zip", "ps1").output
    root = course / "submitted"
    return said, {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("entry", "student"), ENTRIES["owned"])
def test_an_entry_goes_to_the_student_it_names(course, entry, student):
    said, there = unpack(course, entry)
    assert {name.split("/")[0] for name in there} == {student}, said
    assert "1 unpacked, 0 skipped." in said


@pytest.mark.parametrize(("entries", "told"), ENTRIES["unsure"])
def test_an_entry_that_may_be_anothers_is_left_to_a_person(course, entries, told):
    said, there = unpack(course, *entries)
    assert there == set()
    assert all(part in said for part in told), said
    assert said.replace("\n", "").isprintable()


def test_who_is_found_by_the_number_alone_is_remarked_on(course):
    said, there = unpack(course, "stoneevi_5006_456_ps1.ipynb")
    assert there == {"eve/ps1/ps1.ipynb"}
    assert "Canvas gives the name 'stoneevi'; matched to eve (Eve Maria Stone)" in said


def test_a_student_does_not_say_when_it_was_handed_in(course):
    stamp = course / "submitted/ada/ps1/timestamp.txt"
    stamp.parent.mkdir(parents=True)
    stamp.write_text("2027-02-01 18:00 UTC")
    (stamp.parent / "ps1.ipynb").write_bytes(WORK)
    names = ("ps1.ipynb", "timestamp.txt", "ps1/Timestamp.txt")
    said, there = unpack(course, *(f"Ada Lovelace_1_assignsubmission_file_/{n}" for n in names))
    assert there == {"ada/ps1/ps1.ipynb", "ada/ps1/timestamp.txt"}
    assert stamp.read_text() == "2027-02-01 18:00 UTC"
    assert said.count("a zip doesn't prove when work was handed in") == 2
