"""What a folder's or a notebook's name means."""

import pytest

from roofgrade.common.sentences import escaped
from roofgrade.intake.names import (
    author,
    fault,
    fault_of_file,
    form,
    is_junk,
    is_notebook,
    means,
    sender,
)

SETS = ("ps1", "ps2", "ps12")


@pytest.mark.parametrize(
    "name",
    [
        "ps1",
        "PS1",
        "Ps1",
        "ps1.ipynb",
        "ps1.ipynb.json",
        "ps1.ipynb.txt",
        "ps1(1)",
        "ps1 (2).ipynb",
        "ps1-final",
        "ps1_v2",
        "ps1-copy1.ipynb",
        "Copy of ps1",
        "Kopie von ps1.ipynb",
        "zoe_ps1",
        "ps1_zoe_late.ipynb",
        "ps 1",
        "PS-01.ipynb",
        "\uff50\uff53\uff11",  # full width, as Japanese keyboards write it
        "Ada Lovelace_12345_assignsubmission_file_/ps1.ipynb",
        "Ada Lovelace_12345_assignsubmission_file_ps1.ipynb",
        "lovelaceada_LATE_123_456_ps1-1.ipynb",
        "lovelaceada_123_456_ps1.ipynb",
        "123_456_ps1.ipynb",
        "ps2/ps1.ipynb",
        "ps1/work.ipynb",
    ],
)
def test_a_name_means_the_set_it_names(name):
    assert means(name, SETS) == "ps1"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "ps",
        "ps10",
        "ps11.ipynb",
        "ps123",
        "eps1",
        "zoeps1",
        "homework.ipynb",
        "Ada Lovelace_12345_assignsubmission_file_",
        "Ada Lovelace_12345_assignsubmission_file",
        "ps1-ps2.ipynb",
        "ps1 and ps12",
    ],
)
def test_a_name_that_names_no_set_or_two_means_none(name):
    assert means(name, SETS) is None


def test_the_number_of_a_set_is_read_whole():
    assert means("ps12 (1).ipynb", SETS) == "ps12"
    assert means("PS12", ["ps1"]) is None


def test_a_set_named_within_another_gives_way_to_it():
    sets = ["ps1", "ps1-extra"]
    assert means("ps1-extra (1)", sets) == "ps1-extra"
    assert means("ps1 (1)", sets) == "ps1"


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("zoe_ps1.ipynb", "zoe"),
        ("ps1_zoe_late (2).ipynb", "zoe"),
        ("ps1-ada-lovelace.ipynb", "ada-lovelace"),
        ("Kopie von ps1.ipynb", ""),
        ("ps1-final_v2.ipynb", ""),
        ("PS1.ipynb", ""),
        ("Ada Lovelace_12345_assignsubmission_file_ps1.ipynb", "ada-lovelace-12345"),
        ("lovelaceada_LATE_123_456_ps1-1.ipynb", "lovelaceada-123"),
        ("ps1_zoe\u0301.ipynb", "zo\u00e9"),
        ("\uff50\uff53\uff11_zoe.ipynb", "zoe"),
    ],
)
def test_a_name_tells_whose_it_is_beside_the_set(name, whose):
    assert author(name, "ps1") == whose


def test_who_an_lms_names_may_be_hidden_and_late():
    told = sender("LATE_123_456_ps1.ipynb")
    assert (told.who, told.number, told.rest, told.late) == ("", "123", "ps1.ipynb", True)
    assert sender("Participant_77_assignsubmission_file_").who == "Participant"
    assert sender("Participant_77_assignsubmission_file_", folder=True).lms == "Moodle"
    assert sender("lovelaceada_123_456_ps1", folder=True) is None
    assert sender("ps1.ipynb") is None
    assert sender("2026 ps1_final.ipynb") is None


@pytest.mark.parametrize("name", [".DS_Store", "__MACOSX", ".ipynb_checkpoints", "._ps1.ipynb"])
def test_what_systems_leave_behind_is_junk(name):
    assert is_junk(name)


def test_a_hidden_file_of_a_student_is_no_junk():
    assert not is_junk(".data.csv")


def test_a_notebook_is_one_however_it_was_saved():
    assert is_notebook("ps1.IPYNB")
    assert is_notebook("ps1.ipynb.txt")
    assert not is_notebook(".ipynb")
    assert not is_notebook("ps1.ipynb.zip")


@pytest.mark.parametrize(
    "name", ["\udcff", "a\nb", "x" * 129, "\U0001f600" * 64, "a/b", "", ".", ".."]
)
def test_a_name_that_no_student_can_have_says_why_and_can_be_printed(name):
    assert fault(name)
    assert escaped(name).isprintable()
    escaped(name).encode()


@pytest.mark.parametrize(
    "name",
    [*'<>&"\\#?*[]{}=`;%$|^~!:', "\uff1c", "\u00a0", "\u2028", "\u202e", "\u200d", "\U0001f600"],
)
def test_a_name_with_signs_that_no_id_needs_says_which(name):
    assert f"has '{escaped(name)}' in it: an id has" in fault(f"a{name}b")
    assert not fault_of_file(f"a{name}b")


@pytest.mark.parametrize(
    "name",
    [
        "Ada-Łovelace 漢字",
        "ada.lovelace+1@example.edu",
        "o'brien",
        "Lovelace, Ada",
        "a_1 (2)",
        "zoe\u0301",
        "राम",
        "נור",
        "gal·la",
        "ジョン・スミス",
        "s0012345",
    ],
)
def test_a_name_in_any_script_is_a_students(name):
    assert not fault(name)


@pytest.mark.parametrize(
    "name", ["zoé lee", "ZOÉ LEE", "zoe\u0301 lee", "\uff3aoé\u00a0 Lee\u200f", " zoé\u00ad lee "]
)
def test_a_name_has_one_form(name):
    assert form(name) == "zo\u00e9 lee"


def test_other_names_have_other_forms():
    names = ("zoé", "zoe", "zoè", "राम", "रमा", "zo é", "zoé\n", "zoé-")
    assert len({form(name) for name in names}) == len(names)
