"""A class whose answers to one question are real, graded without a sandbox: for what comes after.

Every student answers the ridge of ps1 with a number; nobody answers the others.
"""

import json
from contextlib import contextmanager
from dataclasses import replace

import nbformat
from standin import SET, hand_in, new_course

from roofcheck.cells import QuestionCall
from roofcheck.kinds import Verdict
from roofcheck.slips.question_slips import Slip
from roofcheck.study.check import Grade
from roofcheck.tables import catalogue
from roofgrade.common.cell_roles import is_check
from roofgrade.common.results import GRADED, Answer, Result
from roofgrade.gradebook import result_files
from roofgrade.gradebook.writer import GradebookWriter
from roofgrade.judge import probes
from roofgrade.judge.judging import judge_reply, make_seed
from roofgrade.judge.marking import make_check_output
from roofgrade.sandbox.inside import plain_values

RIDGE, CHECK = "ps1.ridge", "ps1-ridge-check"
RIGHT, SPARSE = 201.6, 403.3  # the second is the ridge of the sparse peak, a known slip


def graded_class(folder, ridges):
    """A Course in which each of these students has handed in a ridge, kept and saved."""
    course = new_course(folder)
    for student, ridge in ridges.items():
        hand_in(course, student, answer=str(ridge))
    with GradebookWriter(course, SET) as writer:
        for student, ridge in ridges.items():
            result = result_of(course, writer.release_json, student, ridge)
            result_files.write_result(course, result)
            writer.save(result)
    return course


def result_of(course, master, student, ridge, **fields):
    """The Result of a notebook that answers the ridge."""
    notebook = nbformat.reads(master, as_version=4)
    answer = _answer(course.case_secret(SET, student, ""), ridge)
    verdict = Verdict(answer.credit, answer.message, answer.state, answer.slips)
    for cell in filter(is_check, notebook.cells):
        found = verdict if cell.metadata.nbgrader.grade_id == CHECK else Verdict(0, "", "missing")
        cell.outputs = [make_check_output(Grade(found, cell.metadata.nbgrader.points), 1)]
    named = {"student": student, "assignment": SET, "folder": f"{student}/{SET}"}
    text = nbformat.writes(notebook)
    return Result(
        **named, **{"state": GRADED, "notebook": text, "answers": {CHECK: answer}} | fields
    )


def _answer(secret, ridge):
    question, asked = catalogue.find_question(RIDGE), QuestionCall("check", RIDGE, "ridge", "")
    seed = make_seed(secret, RIDGE)
    probe = probes.make_probe(asked, question, seed)
    reply = json.loads(json.dumps(plain_values.answer_probe({"ridge": ridge}, probe)))
    verdict = judge_reply(asked, reply, seed, "ada")
    return Answer(
        question=RIDGE, asked=probes.hash_calls(probe), reply=reply, credit=verdict.credit,
        points=question.points, state=verdict.state, message=verdict.message, slips=verdict.slips,
    )  # fmt: skip


@contextmanager
def ridge_within(monkeypatch, rtol):
    """The table with a ridge that is right within this tolerance, the printed one if it is wide."""
    question = replace(catalogue.find_question(RIDGE), rtol=rtol)
    if rtol > 1:
        right = question.reference()
        printed = Slip("as printed", lambda: 2 * right, "As printed.", credit=1)
        question = replace(question, slips=[*question.slips, printed])
    changed = catalogue.load_questions() | {RIDGE: question}
    with monkeypatch.context() as context:
        context.setattr(catalogue, "load_questions", lambda: changed)
        yield
