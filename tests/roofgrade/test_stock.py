"""A class that hands in damaged notebooks, through one run of nbgrader's own autograde."""

import pytest
from damage import (
    RELEASE,
    answer_on_top,
    delete,
    duplicate,
    format_3,
    lose_metadata,
    made,
    move_below,
    paragraph_elsewhere,
    retype,
    schema,
    text,
)
from homework import make_course, nbgrader
from nbgrader.api import Gradebook

FULL = sum(c.metadata.nbgrader.get("points", 0) for c in RELEASE.cells) - 4  # less the paragraph

# What the class handed in, with what each deserves by machine, and whether the paragraph waits for
# a person. In the order of the alphabet: under plain nbgrader the first of these ends the run.
CLASS = {
    "answers-and-checks-twice": (
        made(lambda nb: duplicate(nb, "ps1-ridge", "ps1-ridge-check", "ps1-setup")),
        (FULL, True),
    ),
    "bad-schema-and-a-question-deleted": (
        made(lambda nb: delete(nb, "ps1-time", "ps1-time-check"), schema(4)),
        (FULL - 2, True),
    ),
    "cells-deleted-and-no-schema": (
        made(
            lambda nb: delete(nb, "ps1-setup", "ps1-time-check", "ps1-mine-given", "ps1-title"),
            lambda nb: delete(nb, "ps1-paragraph"),
            schema(None),
        ),
        (FULL, False),
    ),
    "misplaced": (
        made(
            lambda nb: move_below(nb, "ps1-ridge", behind="ps1-time-check"),
            lambda nb: answer_on_top(nb, "ps1-order"),
            lambda nb: duplicate(nb, "ps1-bound", source=text("ps1-bound")),
            lambda nb: retype(nb, "ps1-chain", "markdown"),
            paragraph_elsewhere,
        ),
        (FULL, True),
    ),
    "old-format-without-metadata": (made(lose_metadata, format_3), (FULL, True)),
    "zoe": (made(), (FULL, True)),
}


pytestmark = pytest.mark.weekly("nbgrader's own autograde, too, gets through damaged notebooks")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class's scores by machine, and whose paragraph waits, by student."""
    course = make_course(tmp_path_factory.mktemp("course"))
    nbgrader(course, "generate_assignment", "ps1", "--create", "--force")
    for student, (raw, _) in {**CLASS, "alien": (b'{"cells": []}', None)}.items():
        folder = course / "submitted" / student / "ps1"
        folder.mkdir(parents=True)
        (folder / "ps1.ipynb").write_bytes(raw)
    # nbgrader ends with an error that names those whom it could not grade.
    with pytest.raises(AssertionError, match="for student 'alien'") as error:
        nbgrader(course, "autograde", "ps1", "--create")
    assert str(error.value).count("error processing assignment 'ps1' for student") == 1
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return {
            each.student.id: (each.score, each.needs_manual_grade)
            for each in gradebook.assignment_submissions("ps1")
        }


@pytest.mark.parametrize("student", CLASS)
def test_stock_grades_a_damaged_notebook_by_its_answers(graded, student):
    assert graded[student] == CLASS[student][1]
