"""What a folder's or a notebook's name means."""

import pytest

from roofgrade.common.sentences import escaped
from roofgrade.intake.names import author, fault, fault_of_file, form, means, sender

SETS = ("ps1", "ps2", "ps12")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("PS1.ipynb.json", "ps1"),
        ("ps1 (2).ipynb", "ps1"),
        ("Kopie von ps1.ipynb", "ps1"),
        ("ps1_zoe_late.ipynb", "ps1"),
        ("PS-01.ipynb", "ps1"),
        ("\uff50\uff53\uff11", "ps1"),  # full width, as Japanese keyboards write it
        ("Ada Lovelace_12345_assignsubmission_file_/ps1.ipynb", "ps1"),
        ("lovelaceada_LATE_123_456_ps1-1.ipynb", "ps1"),
        ("123_456_ps1.ipynb", "ps1"),
        ("ps2/ps1.ipynb", "ps1"),
        ("ps1/work.ipynb", "ps1"),
        ("ps12 (1).ipynb", "ps12"),
        ("", None),
        ("ps", None),
        ("ps11.ipynb", None),
        ("zoeps1", None),
        ("Ada Lovelace_12345_assignsubmission_file_", None),
        ("Ada Lovelace_12345_assignsubmission_file", None),
        ("ps1-ps2.ipynb", None),
    ],
)
def test_a_name_means_the_one_set_it_names_or_none(name, meant):
    assert means(name, SETS) == meant


def test_a_set_named_within_another_gives_way_to_it():
    sets = ["ps1", "ps1-extra"]
    assert means("ps1-extra (1)", sets) == "ps1-extra"
    assert means("ps1 (1)", sets) == "ps1"


def test_who_an_lms_names_may_be_hidden_and_late():
    told = sender("LATE_123_456_ps1.ipynb")
    assert (told.who, told.number, told.rest, told.late) == ("", "123", "ps1.ipynb", True)
    told = sender("Participant_77_assignsubmission_file_", folder=True)
    assert (told.who, told.lms) == ("Participant", "Moodle")
    assert sender("lovelaceada_123_456_ps1", folder=True) is None
    assert sender("2026 ps1_final.ipynb") is None
    assert author("lovelaceada_LATE_123_456_ps1-1.ipynb", "ps1") == "lovelaceada-123"


@pytest.mark.parametrize(
    "name", ["\udcff", "a\nb", "x" * 129, "\U0001f600" * 64, "a/b", "", ".", ".."]
)
def test_a_name_that_no_student_can_have_says_why_and_can_be_printed(name):
    assert fault(name)
    assert escaped(name).isprintable()
    escaped(name).encode()


@pytest.mark.parametrize("name", [*'<>&"\\#?*[]{}=`;%$|^~!:', *"\uff1c\u00a0\u2028\u202e\u200d"])
def test_a_name_with_signs_that_no_id_needs_says_which(name):
    assert f"has '{escaped(name)}' in it: an id has" in fault(f"a{name}b")
    assert not fault_of_file(f"a{name}b")


def test_a_name_in_any_script_can_be_a_students():
    names = "Ada-Łovelace 漢字/ada.lovelace+1@example.edu/o'brien/Lovelace, Ada/a_1 (2)"
    for name in f"{names}/zoe\u0301/राम/נור/gal·la/ジョン・スミス".split("/"):
        assert not fault(name), name


def test_a_name_has_one_form():
    names = "ZOÉ LEE", "zoe\u0301 lee", "\uff3aoé\u00a0 Lee\u200f", " zoé\u00ad lee "
    assert {form(name) for name in names} == {"zo\u00e9 lee"}


def test_other_names_have_other_forms():
    names = ("zoé", "zoe", "zoè", "राम", "रमा", "zo é", "zoé\n", "zoé-")
    assert len({form(name) for name in names}) == len(names)
