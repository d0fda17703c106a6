"""User-visible text, with one table per language.

A package keeps its text in a ``words`` folder: English in ``words/en.toml``, and translations in
files such as ``words/zh.toml``. The environment variable ROOFLINE_LANGUAGE is read each time a text
is shown.
"""

import functools
import os
import tomllib
from pathlib import Path

LANGUAGE_VARIABLE = "ROOFLINE_LANGUAGE"
SOURCE_LANGUAGE = "en"


class Words:
    """The texts of one package, looked up by key, with named fields filled in.

    Parameters
    ----------
    folder : path of the folder with one TOML file of strings per language

    Tables can group texts: ``title`` in ``[ridge]`` has the key "ridge.title". Untranslated texts
    appear in English. Raises KeyError if a key is not in the English table or a field is missing,
    and ValueError if the language has no table.

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
        """Return a dict of all keys and texts, with the fields not filled in."""
        return dict(_read_table(self.folder, os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE)))


@functools.cache
def _read_table(folder, language):
    path = folder / f"{language}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
        raise ValueError(f"{LANGUAGE_VARIABLE}={language!r}: no table {path}; available: {known}")
    table = dict(_flatten(tomllib.loads(path.read_text(encoding="utf-8"))))
    return table if language == SOURCE_LANGUAGE else _read_table(folder, SOURCE_LANGUAGE) | table


def _flatten(table, before=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield before + key, value
