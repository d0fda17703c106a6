"""Finds students who name the same ``me`` in their notebooks, and withholds their points.

If several notebooks claim the same figures, grading cannot tell whose they are. So the question
with individual figures earns nothing until a person decides. A stored result keeps its judgement,
plus the names of the others, so the points come back once they hand in under their own ids.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import replace

import nbformat

from roofcheck.kinds import Verdict
from roofcheck.study.check import Grade
from roofcheck.tables.variants import is_nobody, normalise_id
from roofgrade.common.errors import ProcessEndedError
from roofgrade.common.results import WAITING, Answer, Result
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.judge import reply_values
from roofgrade.judge.marking import make_check_output
from roofgrade.judge.outputs import format_notebook


def find_claims(result: Result) -> set[str]:
    """Return the normalised ids that a submission names as its author."""
    claims = set()
    for answer in _own_answers(result).values():
        reply = (answer.reply or {}).get("me")
        if reply_values.read_kind(reply) not in ("str", "int"):
            continue
        with contextlib.suppress(ProcessEndedError):
            author = reply_values.read_value(reply)
            claims |= set() if is_nobody(author) else {normalise_id(author)}
    return claims


def find_shared_claims(claims: Iterable[tuple[str, set[str]]]) -> dict[str, tuple[str, ...]]:
    """Return, by student, the others who claim the same id. ``claims`` pairs students and ids.

    >>> find_shared_claims([("ada", {"team7"}), ("bob", {"team7"}), ("cem", {"cem"})])
    {'ada': ('bob',), 'bob': ('ada',)}
    """
    naming: dict[str, set[str]] = {}
    for student, claimed in claims:
        for claim in claimed:
            naming.setdefault(claim, set()).add(student)
    sharing: dict[str, set[str]] = {}
    for students in naming.values():
        for student in students if len(students) > 1 else ():
            sharing.setdefault(student, set()).update(students - {student})
    return {student: tuple(sorted(others)) for student, others in sorted(sharing.items())}


def withhold_shared(result: Result) -> Result:
    """Return a result without points for individual figures, if others name the same ``me``.

    The answer then waits for a person, who sees the names of the others. The student's page names
    nobody.
    """
    own = _own_answers(result)
    if not (result.alike and own):
        return result
    others = sentence("people.and").join(map(escape_text, result.alike))
    reasons = [result.reason]
    reasons += [sentence("judge.alike", question=a.question, others=others) for a in own.values()]
    answers = result.answers
    # A student who claims somebody else's id has no points to withhold.
    if normalise_id(result.student) in find_claims(result):
        loss = {
            "credit": 0.0,
            "state": "wrong",
            "message": sentence("judge.shared_me"),
            "slips": (),
        }
        answers = answers | {name: replace(answer, **loss) for name, answer in own.items()}
    return replace(
        result, state=WAITING, reason="; ".join(filter(None, reasons)), answers=answers,
        flagged=tuple(dict.fromkeys((*result.flagged, *own))),
        notebook=_update_notebook(result, answers),
    )  # fmt: skip


def has_own_figures(answer: Answer) -> bool:
    """Return whether an answer's question has figures that follow from the student's id."""
    return bool(answer.asked.get("me"))


def _own_answers(result):
    return {name: answer for name, answer in result.answers.items() if has_own_figures(answer)}


def _update_notebook(result, answers):
    changed = {name for name, answer in answers.items() if answer != result.answers[name]}
    if not (changed and result.notebook):
        return result.notebook
    notebook = nbformat.reads(result.notebook, as_version=4)
    for cell in notebook.cells:
        if (name := cell.metadata.get("nbgrader", {}).get("grade_id")) in changed:
            verdict = Verdict(0, answers[name].message, "wrong")
            grade = Grade(verdict, answers[name].points)
            cell.outputs = [make_check_output(grade, cell.execution_count)]
    return format_notebook(notebook)
