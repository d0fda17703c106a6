"""Every question by its id: the package's tables, and those of an instructor's own folder.

A table is a TOML file, which ``loading`` reads, or a Python file with a dict QUESTIONS for what
needs a program. The folder that the environment variable ROOFKIT_QUESTIONS names may hold further
ones. They stay where they are: no release and no kit takes them along.

The sentences of ``l04.toml`` in another language stand in a file of the same name, in a folder
named as the language beside it.
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
    """The question of this id, such as "ps1.ridge", or ValueError with the nearest ids."""
    table = load_questions()
    if not isinstance(question_id, str) or question_id not in table:
        nearest = difflib.get_close_matches(str(question_id), table, n=3, cutoff=0.3)
        raise ValueError(
            f"no question is named {question_id!r}; nearest: {', '.join(nearest or table)}. "
            "If the notebook is right, it is newer than this roofkit: install the one it came with"
        )
    return table[question_id]


def questions_of_set(name):
    """The questions of one lecture or problem set, such as "ps1", that are worth points."""
    found = {
        question_id: question
        for question_id, question in load_questions().items()
        if question_id.startswith(f"{name}.") and question.points
    }
    if not found:
        raise ValueError(f"no problem set is named {name!r}; an example is 'ps1'")
    return found


def load_questions():
    """Every question by its id."""
    return _load_questions(
        os.environ.get(QUESTIONS_VARIABLE, ""), os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE)
    )


@functools.cache
def _load_questions(folder, language):
    found = _read_folder(Path(questions.__path__[0]), language, {})
    for module in pkgutil.iter_modules(questions.__path__):
        found |= importlib.import_module(f"{questions.__name__}.{module.name}").QUESTIONS
    if folder and not Path(folder).is_dir():
        raise ValueError(f"{QUESTIONS_VARIABLE} names {folder!r}, which is no folder")
    found |= _read_folder(Path(folder), language, found) if folder else {}
    for path in sorted(Path(folder).glob("*.py")) if folder else []:
        spec = importlib.util.spec_from_file_location(f"roofkit_own_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            found |= module.QUESTIONS
        except AttributeError:
            raise ValueError(f"{path}: no dict QUESTIONS in it") from None
    return found


def _read_folder(folder, language, known):
    found = {}
    for path in sorted(folder.glob("*.toml")):
        found |= toml_tables.read_table(path, folder / language / path.name, known)
    return found
