"""A course whose gradebook is filled without running a notebook: what a term needs starts there."""

import datetime
import json
import os
import shutil
import sys
from pathlib import Path

import nbformat
from homework import ROOT
from nbgrader.api import Gradebook
from nbgrader.preprocessors import SaveAutoGrades
from standin import SET, registered

from roofcheck import check, find_question
from roofcheck.cells import question_call
from roofcheck.course import Course as Contents
from roofcheck.showing.explanation import format_answer as as_read
from roofcheck.study import check as check_module
from roofgrade.common.results import Answer, Result
from roofgrade.course import Course
from roofgrade.gradebook import result_files
from roofgrade.pages import feedback

# A new gradebook calls alembic by name, as it is found in an activated environment.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

WORTH = Contents(ROOT).set(SET).points
WRITTEN = "The intensity decides, $I = 250$, against the ridge."
RIGHT = {"ps1.ridge": 201.6, "ps1.bound": "compute"}
# The ridge of the sparse peak, and the name of the other roof.
WRONG = {"ps1.ridge": 403.3, "ps1.bound": "memory"}


def classroom(folder):
    """A Course in which ps1 is registered and nobody has handed in anything."""
    shutil.copytree(registered(), folder, dirs_exist_ok=True)
    return Course(folder)


def grade(course, who, answers, *, written="", added=(), seconds_late=0):
    """Put an autograded notebook in place, with these answers by question, and save its grades.

    ``added`` are cells of the student's own, which stand first.
    """
    nb = nbformat.read(course.release_path(SET), as_version=4)
    scheme = {cell.id: cell.source for cell in nbformat.read(course.source_path(SET), 4).cells}
    for cell in nb.cells:
        if cell.id.endswith("-rubric"):
            cell.source = scheme[cell.id]
        if cell.id == f"{SET}-paragraph" and written:
            cell.source = written
        if (found := question_call(cell.source)) and found.call == "check":
            cell.outputs = [judged(found.question, answers)]
    due = datetime.datetime(2027, 1, 31, 18)
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_assignment(SET, duedate=due)
        gradebook.update_or_create_student(who)
        handed_in = due + datetime.timedelta(seconds=seconds_late)
        gradebook.update_or_create_submission(SET, who, timestamp=handed_in)
    named = {"student": who, "assignment": SET, "notebook": SET, "db_url": course.db_url}
    SaveAutoGrades().preprocess(nb, {"nbgrader": named})
    nb.cells[1:1] = added
    path = course.autograded / who / SET / f"{SET}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(nb))  # as escapes, since a student's text may be no Unicode
    return path


def page(course, who):
    """The feedback page of one student, made if need be."""
    [made] = feedback.write_pages(course, SET, [who])
    return made.path.read_text(encoding="utf-8")


def judged(question, answers):
    """The output of a check that is given one of these answers."""
    check_module._hints_shown.clear()
    points = check(question, answers.get(question, ...))
    data = {"text/plain": repr(points), "text/html": points._repr_html_()}
    return nbformat.v4.new_output("execute_result", data=data)


def mark(course, who, points, comment="", cell=f"{SET}-paragraph"):
    """Set points and a comment, as a person does in Formgrader."""
    with Gradebook(course.db_url) as gradebook:
        if points is not None:
            grade = gradebook.find_grade(cell, SET, SET, who)
            grade.manual_score, grade.needs_manual_grade = points, False
        if comment:
            gradebook.find_comment(cell, SET, SET, who).manual_comment = comment
        gradebook.db.commit()


def keep(course, who, state, *, reason="", flagged=(), answers=None):
    """Keep a Result: by question, its ``answers`` get what check() says to them."""
    answered = {}
    for question, answer in (answers or {}).items():
        points = check(question, answer)
        verdict = points.verdict
        answered[f"{question.replace('.', '-')}-check"] = Answer(
            question=question, asked={}, reply={}, credit=verdict.credit, points=points.points,
            state=verdict.state, message=verdict.message, slips=tuple(verdict.slips),
            given=as_read(find_question(question), answer),
        )  # fmt: skip
    about = {"student": who, "assignment": SET, "folder": f"{who}/{SET}", "state": state}
    result_files.write_result(
        course, Result(**about, reason=reason, flagged=flagged, answers=answered)
    )
