"""Every sentence that people read, in tables that another language replaces.

A room that says something keeps its sentences in a folder ``words``, a TOML file a language:
``words/en.toml`` holds them all, ``words/zh.toml`` those that have been translated. They are looked
up when they are shown, in the language that the environment variable ROOFLINE_LANGUAGE names.
"""

import functools
import os
import tomllib
from pathlib import Path

LANGUAGE_VARIABLE = "ROOFLINE_LANGUAGE"
SOURCE_LANGUAGE = "en"


class Words:
    """The sentences of one room, by their keys, with named fields filled in.

    Parameters
    ----------
    folder : path of the folder that holds the tables, a TOML file of strings a language

    Tables may group sentences: ``[ridge]`` with ``title`` is asked for as "ridge.title". What a
    translation lacks is said in English. Raises KeyError for a key that English lacks, too, and for
    a field that is not given, and ValueError for a language of which there is no table.

    >>> words = Words(Path(__file__).parent / "explore/words")
    >>> words("published", name="TPU v5e")
    'TPU v5e, as published'
    """

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, key, **fields):
        table = _read_table(self.folder, os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE))
        try:
            sentence = table[key]
        except KeyError:
            raise KeyError(f"{self.folder / SOURCE_LANGUAGE}.toml has no {key!r}") from None
        return sentence.format(**fields)

    def templates(self):
        """All sentences by their keys, with their fields still to be filled in."""
        return dict(_read_table(self.folder, os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE)))


@functools.cache
def _read_table(folder, language):
    path = folder / f"{language}.toml"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in folder.glob("*.toml")))
        raise ValueError(f"{LANGUAGE_VARIABLE}={language!r}: no table {path}; there are: {known}")
    found = dict(_flatten(tomllib.loads(path.read_text(encoding="utf-8"))))
    return found if language == SOURCE_LANGUAGE else _read_table(folder, SOURCE_LANGUAGE) | found


def _flatten(table, before=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield before + key, value
