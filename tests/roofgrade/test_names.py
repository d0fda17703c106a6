"""What a folder's or a notebook's name means."""

import pytest

from roofgrade.common.sentences import escape_text
from roofgrade.intake.names import (
    find_author,
    find_file_name_fault,
    find_id_fault,
    find_set,
    normalise_name,
    read_sender,
)

SETS = ("ps1", "ps2", "ps12")


@pytest.mark.parametrize(("name", "meant"), [
    ("PS1.ipynb.json", "ps1"),
    ("ps1 (2).ipynb", "ps1"),
    ("Kopie von ps1.ipynb", "ps1"),
    ("ps1_zoe_late.ipynb", "ps1"),
    ("PS-01.ipynb", "ps1"),
    ("\uff50\uff53\uff11", "ps1"),  # full width, as Japanese keyboards write it
    ("Ada Lovelace_12345_assignsubmission_file_/ps1.ipynb", "ps1"),
    ("lovelaceada_LATE_123_456_ps1-1.ipynb", "ps1"),
    ("123_456_ps1.ipynb", "ps1"),
    ("ps1/work.ipynb", "ps1"),
    ("ps12 (1).ipynb", "ps12"),
    ("", None),
    ("ps", None),
    ("ps11.ipynb", None),
    ("zoeps1", None),
    ("Ada Lovelace_12345_assignsubmission_file_", None),
    ("Ada Lovelace_12345_assignsubmission_file", None),
    ("ps1-ps2.ipynb", None),
])  # fmt: skip
def test_a_name_means_the_one_set_it_names_or_none(name, meant):
    assert find_set(name, SETS) == meant


def test_a_set_named_within_another_gives_way_to_it():
    sets = ["ps1", "ps1-extra"]
    assert find_set("ps1-extra (1)", sets) == "ps1-extra"
    assert find_set("ps1 (1)", sets) == "ps1"


def test_who_an_lms_names_may_be_hidden_and_late():
    told = read_sender("LATE_123_456_ps1.ipynb")
    assert (told.full_name, told.number, told.file_name, told.late) == (
        "",
        "123",
        "ps1.ipynb",
        True,
    )
    told = read_sender("Participant_77_assignsubmission_file_", folder=True)
    assert (told.full_name, told.lms) == ("Participant", "Moodle")
    assert read_sender("lovelaceada_123_456_ps1", folder=True) is None
    assert read_sender("2026 ps1_final.ipynb") is None
    assert find_author("lovelaceada_LATE_123_456_ps1-1.ipynb", "ps1") == "lovelaceada-123"


@pytest.mark.parametrize(
    "name", ["\udcff", "a\nb", "x" * 129, "\U0001f600" * 64, "a/b", "", ".", ".."]
)
def test_a_name_that_no_student_can_have_says_why_and_can_be_printed(name):
    assert find_id_fault(name)
    assert escape_text(name).isprintable()
    escape_text(name).encode()


@pytest.mark.parametrize("name", [*'<>&"\\#?*[]{}=`;%$|^~!:', *"\uff1c\u00a0\u2028\u202e\u200d"])
def test_a_name_with_signs_that_no_id_needs_says_which(name):
    assert f"contains '{escape_text(name)}', but an id may" in find_id_fault(f"a{name}b")
    assert not find_file_name_fault(f"a{name}b")


def test_a_name_in_any_script_can_be_a_students():
    names = "Ada-Łovelace 漢字/ada.lovelace+1@example.edu/o'brien/Lovelace, Ada/a_1 (2)"
    for name in f"{names}/zoe\u0301/राम/נור/gal·la/ジョン・スミス".split("/"):
        assert not find_id_fault(name), name


def test_a_name_has_one_form():
    names = "ZOÉ LEE", "zoe\u0301 lee", "\uff3aoé\u00a0 Lee\u200f", " zoé\u00ad lee "
    assert {normalise_name(name) for name in names} == {"zo\u00e9 lee"}


def test_other_names_have_other_forms():
    names = ("zoé", "zoe", "zoè", "राम", "रमा", "zo é", "zoé\n", "zoé-")
    assert len({normalise_name(name) for name in names}) == len(names)
