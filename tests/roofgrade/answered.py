"""A class whose answers to one question are real, graded without a sandbox: for what comes after.

Every student answers the ridge of ps1 with a number; nobody answers the others.
"""

import json
from contextlib import contextmanager
from dataclasses import replace

import nbformat
from standin import SET, hand_in, new_course

from roofcheck.cells import Asked
from roofcheck.kinds import Verdict
from roofcheck.slips.slips import Slip, always
from roofcheck.study.student import Grade
from roofcheck.tables import table
from roofgrade.common.results import GRADED, Answer, Result
from roofgrade.gradebook import kept
from roofgrade.gradebook.gradebook import Writer
from roofgrade.judge import probes
from roofgrade.judge.judging import judge, seed_for
from roofgrade.judge.marking import check_output, is_check
from roofgrade.sandbox.inside import answers

RIDGE, CHECK = "ps1.ridge", "ps1-ridge-check"
RIGHT, SPARSE = 201.6, 403.3  # the second is the ridge of the sparse peak, a known slip


def graded_class(folder, ridges):
    """A Course in which each of these students has handed in a ridge, kept and saved."""
    course = new_course(folder)
    for student, ridge in ridges.items():
        hand_in(course, student, answer=str(ridge))
    with Writer(course, SET) as writer:
        for student, ridge in ridges.items():
            result = result_of(course, writer.master, student, ridge)
            kept.keep(course, result)
            writer.put(result)
    return course


def result_of(course, master, student, ridge, **fields):
    """The Result of a notebook that answers the ridge."""
    notebook = nbformat.reads(master, as_version=4)
    answer = _answer(course.secret(SET, student, ""), ridge)
    verdict = Verdict(answer.credit, answer.message, answer.state, answer.slips)
    for cell in filter(is_check, notebook.cells):
        found = verdict if cell.metadata.nbgrader.grade_id == CHECK else Verdict(0, "", "missing")
        cell.outputs = [check_output(Grade(found, cell.metadata.nbgrader.points), 1)]
    named = {"student": student, "assignment": SET, "folder": f"{student}/{SET}"}
    text = nbformat.writes(notebook)
    return Result(
        **named, **{"state": GRADED, "notebook": text, "answers": {CHECK: answer}} | fields
    )


def _answer(secret, ridge):
    question, asked = table.find_question(RIDGE), Asked("check", RIDGE, "ridge", "")
    seed = seed_for(secret, RIDGE)
    probe = probes.probe(asked, question, seed)
    reply = json.loads(json.dumps(answers.answer({"ridge": ridge}, probe)))
    verdict = judge(asked, reply, seed, "ada")
    return Answer(
        question=RIDGE, asked=probes.digest(probe), reply=reply, credit=verdict.credit,
        points=question.points, state=verdict.state, message=verdict.message, slips=verdict.slips,
    )  # fmt: skip


@contextmanager
def ridge_within(monkeypatch, rtol):
    """The table with a ridge that is right within this tolerance, the printed one if it is wide."""
    question = replace(table.find_question(RIDGE), rtol=rtol)
    if rtol > 1:
        printed = Slip("as printed", always(2 * question.reference()), "As printed.", credit=1)
        question = replace(question, slips=[*question.slips, printed])
    changed = table.tables() | {RIDGE: question}
    with monkeypatch.context() as context:
        context.setattr(table, "tables", lambda: changed)
        yield
