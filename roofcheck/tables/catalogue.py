"""All questions by id, from the package's tables and from an instructor's own folder.

A table is a TOML file or, if a question needs a program, a Python file with a dict QUESTIONS. The
environment variable ROOFKIT_QUESTIONS can name a folder with more tables, which are not in any
release or kit. For example, ``zh/l04.toml`` is the Chinese translation of ``l04.toml``.
"""

import difflib
import functools
import importlib
import importlib.util
import os
import pkgutil
from pathlib import Path

from roofcheck import questions
from roofcheck.tables import toml_tables
from rooflab.words import LANGUAGE_VARIABLE, SOURCE_LANGUAGE

QUESTIONS_VARIABLE = "ROOFKIT_QUESTIONS"


def find_question(question_id):
    """Return the question with this id, such as "ps1.ridge". A ValueError lists the nearest ids."""
    table = load_questions()
    if not isinstance(question_id, str) or question_id not in table:
        nearest = difflib.get_close_matches(str(question_id), table, n=3, cutoff=0.3)
        raise ValueError(
            f"there is no question {question_id!r}; the nearest are {', '.join(nearest or table)}. "
            "If the id is right, the notebook needs a newer roofkit: install that version"
        )
    return table[question_id]


def questions_of_set(name):
    """Return the questions of a problem set, such as "ps1", that are worth points, by id."""
    prefix = f"{name}."
    table = {key: each for key, each in load_questions().items() if key.startswith(prefix)}
    graded = {key: question for key, question in table.items() if question.points}
    if not graded:
        raise ValueError(f"there is no problem set {name!r}; an example is 'ps1'")
    return graded


def asks_as_package(question_id):
    """Return whether a question asks the same as in the package, or None if it isn't in it."""
    originals = _load_questions("", os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE))
    if question_id not in originals:
        return None
    return originals[question_id].text() == find_question(question_id).text()


def load_questions():
    """Return all questions by id."""
    return _load_questions(
        os.environ.get(QUESTIONS_VARIABLE, ""), os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE)
    )


@functools.cache
def _load_questions(folder, language):
    found = _read_folder(Path(questions.__path__[0]), language, {})
    for module in pkgutil.iter_modules(questions.__path__):
        found |= importlib.import_module(f"{questions.__name__}.{module.name}").QUESTIONS
    if folder and not Path(folder).is_dir():
        raise ValueError(f"{QUESTIONS_VARIABLE} names {folder!r}, which is not a folder")
    found |= _read_folder(Path(folder), language, found) if folder else {}
    for path in sorted(Path(folder).glob("*.py")) if folder else []:
        spec = importlib.util.spec_from_file_location(f"roofkit_own_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            found |= module.QUESTIONS
        except AttributeError:
            raise ValueError(f"{path} has no dict QUESTIONS") from None
    return found


def _read_folder(folder, language, known):
    found = {}
    for path in sorted(folder.glob("*.toml")):
        found |= toml_tables.read_table(path, folder / language / path.name, known)
    return found
