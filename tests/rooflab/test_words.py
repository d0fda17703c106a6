"""Sentences in tables: looked up when shown, in a language of one's choice, never lost."""

import pytest

from rooflab.words import LANGUAGE_VARIABLE, Words


@pytest.fixture
def words(tmp_path):
    (tmp_path / "en.toml").write_text(
        '"too far" = "{way} off"\nyes = "Yes"\n[ridge]\ntitle = "Ridge"'
    )
    (tmp_path / "zh.toml").write_text('yes = "对"')
    return Words(tmp_path)


def test_sentences_are_found_by_their_keys_and_filled_in(words):
    assert words("too far", way="north") == "north off"
    assert words("ridge.title") == "Ridge"
    assert set(words.templates()) == {"too far", "yes", "ridge.title"}


def test_another_language_is_asked_for_when_a_sentence_is_shown(words, monkeypatch):
    assert words("yes") == "Yes"
    monkeypatch.setenv(LANGUAGE_VARIABLE, "zh")
    assert words("yes") == "对"
    assert words.templates()["yes"] == "对"


def test_missing_translations_fall_back_to_english(words, monkeypatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "zh")
    assert words("ridge.title") == "Ridge"


def test_unknown_keys_fields_and_languages_are_errors(words, monkeypatch):
    with pytest.raises(KeyError, match="no 'no'"):
        words("no")
    with pytest.raises(KeyError, match="way"):
        words("too far")
    monkeypatch.setenv(LANGUAGE_VARIABLE, "fr")
    with pytest.raises(ValueError, match=r"no table .*; available: en, zh"):
        words("yes")
