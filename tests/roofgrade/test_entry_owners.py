"""Whose an entry of a zip is: the right student's, or nobody's with a reason, never another's.

Each case is a zip as an LMS or a person makes it, unpacked by the command beside one roster.
"""

import shutil
import unicodedata
import zipfile

import pytest
from damage import made
from homework import ask, make_releases

WORK = made()
ROSTER = """id,first_name,last_name,email,lms_user_id
ada,Ada,Lovelace,ada@example.edu,5001
bob,Bob,Smith,bob@example.edu,5002
dan1,Dan,Twin,,5003
dan2,Dan,Twin,,5004
zoé,Zoé,Muller,,
eve,Eve Maria,Stone,,5006
7001,Num,Ber,,5007
fay,,,,5008
pat,Pat,O'Brien-Łukasz,,
ram,राम,शर्मा,,
nur,نور,حسن,,
wei,Wei,Zhang,,
w2,Wei,,,
annlee,Ann,Alee,,
annalee,Anna,Lee,,
"""
NFD = unicodedata.normalize("NFD", "Zoé")
MOODLE, NAMED = "{}_assignsubmission_file_/ps1.ipynb", "{}_assignsubmission_file_ps1.ipynb"


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    """A course with two releases, and a gradebook that knows the roster."""
    folder = make_releases(tmp_path_factory.mktemp("course"))
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
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


def moodle(*senders):
    return [MOODLE.format(who) for who in senders]


@pytest.mark.parametrize(
    ("entry", "student"),
    [
        # Moodle: the full name says whose it is, whatever the number.
        (MOODLE.format("Ada Lovelace_5002"), "ada"),
        (NAMED.format("Ada Lovelace_5002"), "ada"),
        ("CS 101-Problem set 1-99/" + MOODLE.format("Ada Lovelace_5002"), "ada"),
        (MOODLE.format("Lovelace Ada_1"), "ada"),
        (MOODLE.format(f"{NFD} Muller_1"), "zoé"),
        (MOODLE.format("\u202bنور حسن\u202c_1"), "nur"),
        (MOODLE.format("राम शर्मा_1"), "ram"),
        (MOODLE.format("Pat OBrien-Łukasz_1"), "pat"),
        ("Bob Smith_5002_assignsubmission_file_/Ada Lovelace_1_assignsubmission_file_.txt", "bob"),
        # Canvas: its own number, and the name run together, begun with the last one.
        ("lovelaceada_5001_456_ps1-1.ipynb", "ada"),
        ("lovelaceada_LATE_5001_456_ps1.ipynb", "ada"),
        ("5001_456_ps1.ipynb", "ada"),
        (f"muller{NFD.lower()}_99_456_ps1.ipynb", "zoé"),
        ("twindan_5003_456_ps1.ipynb", "dan1"),
        ("someoneelse_5008_456_ps1.ipynb", "fay"),
        # Any other: an id, a name or an address.
        ("ada/ps1/ps1.ipynb", "ada"),
        ("Submissions/ps1/ada/ps1.ipynb", "ada"),
        ("Lovelace, Ada/ps1.ipynb", "ada"),
        ("ada@example.edu/ps1.ipynb", "ada"),
        (f"{NFD}/ps1.ipynb", "zoé"),
        ("ps1 Abgaben 2027/ada/ps1.ipynb", "ada"),
        (f"ps1_{NFD}.ipynb", "zoé"),
        # As hand_in() names it, and a browser numbers it.
        ("ps1-7001 (1).ipynb", "7001"),
        (NAMED.replace("ps1.", "ps1-bob.").format("Ada Lovelace_5002"), "ada"),
        ("bob/Ada Lovelace_1_assignsubmission_file_/ps1.ipynb", "bob"),
    ],
)
def test_an_entry_goes_to_the_student_it_names(course, entry, student):
    said, there = unpack(course, entry)
    assert {name.split("/")[0] for name in there} == {student}, said
    assert "1 unpacked, 0 skipped." in said


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        # A number that is another's id, user number or nothing, and no name of the roster.
        (moodle("Nobody Here_5002"), ["'Nobody Here' is not on the roster", "submitted/ID/ps1/"]),
        (["7001_456_ps1.ipynb"], ["'7001' is not on the roster"]),
        (["ps1-5002.ipynb"], ["owner is unclear"]),
        # Names that are nearly another's.
        (moodle("रमा शर्मा_1"), ["not on the roster"]),
        (moodle("Zoe Muller_1"), ["'Zoe Muller' is not on the roster"]),
        (moodle("Lab A-Ada Lovelace_1"), ["'Lab A-Ada Lovelace' is not on the roster"]),
        (moodle("bob_1"), ["not on the roster"]),
        # One name for two.
        (moodle("Dan Twin_1"), ["two students", "dan1 (Dan Twin) and dan2 (Dan Twin)", "yourself"]),
        (["twindan_99_456_ps1.ipynb"], ["two students", "dan1", "dan2"]),
        (["annalee_99_456_ps1.ipynb"], ["two students", "annalee (Anna Lee)", "annlee (Ann Alee)"]),
        # A name and a number for two.
        (["lovelaceada_5002_456_ps1.ipynb"], ["ada (Ada Lovelace)", "bob (Bob Smith)", "yourself"]),
        (["lovelaceada_5009_456_ps1.ipynb"], ["ada (Ada Lovelace)", "5001", "5009"]),
        (["nobodyhere_5002_456_ps1.ipynb"], ["bob (Bob Smith)", "'nobodyhere'"]),
        # Two people of one name in the zip, of whom the roster knows one.
        (moodle("Ada Lovelace_5001", "Ada Lovelace_5002"), ["ada (Ada Lovelace)", "5001 and 5002"]),
        (["mullerzoé_1_2_ps1.ipynb", "mullerzoé_3_4_ps1.ipynb"], ["zoé (Zoé Muller)", "1 and 3"]),
        # A student's folder lies in one that is nobody's.
        (["Group 7/bob/ps1.ipynb"], ["'Group 7' is not on the roster"]),
        (["ps1_x/ada/ps1.ipynb", "readme.txt"], ["'ps1_x' is not on the roster"]),
        (["Group 7/lovelaceada_5001_1_ps1/ps1.ipynb"], ["not on the roster"]),
        (["a/x.txt", "Group 7/Ada Lovelace_1_assignsubmission_file_/ps1.ipynb"], ["'Group 7' is"]),
        # Nothing tells.
        (["ps1.ipynb"], ["owner is unclear"]),
        # Nobody's id, and what a terminal would obey.
        (["ada\x1b[2J/ps1.ipynb"], [r"ada\x1b[2J", "control"]),
        (moodle("Ada\x1b]0;x\x07 Lovelace_1"), [r"\x1b]0;x\x07", "control"]),
        (["Nobody\u202e/ps1.ipynb"], [r"Nobody\x202e"]),
    ],
)
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
