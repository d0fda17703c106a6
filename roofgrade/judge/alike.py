"""Students who name one ``me`` in their notebooks: each is told of the others, none is paid for it.

Whose the figures are cannot be told from two notebooks that claim the same, even where one of the
two really is who it says. So the question with figures of one's own earns nothing until a person
has decided. What is kept of a submission stays as it was judged alone, with the names of the others
beside it: once they hand in under their own names, nothing is left of this.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import replace

import nbformat

from roofcheck.kinds import Verdict
from roofcheck.study.student import Grade
from roofcheck.tables.variants import is_nobody, same
from roofgrade.common.errors import EndedError
from roofgrade.common.results import PERSON, Answer, Result
from roofgrade.common.sentences import escaped, words
from roofgrade.judge import values
from roofgrade.judge.marking import check_output
from roofgrade.judge.outputs import written


def claims(result: Result) -> set[str]:
    """Whom a submission names as its author, in the one form of all ways to write a name."""
    found = set()
    for answer in _own(result).values():
        told = (answer.reply or {}).get("me")
        if values.kind_of(told) not in ("str", "int"):
            continue
        with contextlib.suppress(EndedError):
            said = values.value_of(told)
            found |= set() if is_nobody(said) else {same(said)}
    return found


def alike(results: Iterable[tuple[str, set[str]]]) -> dict[str, tuple[str, ...]]:
    """By student, the others who name the same; the results are students with their claims.

    >>> alike([("ada", {"team7"}), ("bob", {"team7"}), ("cem", {"cem"})])
    {'ada': ('bob',), 'bob': ('ada',)}
    """
    naming: dict[str, set[str]] = {}
    for student, claimed in results:
        for each in claimed:
            naming.setdefault(each, set()).add(student)
    found: dict[str, set[str]] = {}
    for students in naming.values():
        for student in students if len(students) > 1 else ():
            found.setdefault(student, set()).update(students - {student})
    return {student: tuple(sorted(others)) for student, others in sorted(found.items())}


def told_apart(result: Result) -> Result:
    """What counts of a submission: itself, unless others name the same ``me``.

    Then the question of one's own gets nothing and waits for a person, who reads whose the others
    are; the student's page names nobody.
    """
    own = _own(result)
    if not (result.alike and own):
        return result
    others = words("people.and").join(map(escaped, result.alike))
    asked = [each.question for each in own.values()]
    reasons = [result.reason, *(words("judge.alike", question=q, others=others) for q in asked)]
    answers = result.answers
    if same(result.student) in claims(result):  # who is somebody else has got nothing already
        verdict = Verdict(0, words("judge.shared_me"), "wrong")
        told = {"credit": 0.0, "state": verdict.state, "message": verdict.message, "slips": ()}
        answers = answers | {name: replace(each, **told) for name, each in own.items()}
    return replace(
        result,
        state=PERSON,
        reason="; ".join(filter(None, reasons)),
        answers=answers,
        flagged=tuple(dict.fromkeys((*result.flagged, *own))),
        notebook=_shown(result, answers),
    )


def is_ones_own(answer: Answer) -> bool:
    """Whether a question was answered whose figures follow from the student's id."""
    return bool(answer.asked.get("me"))


def _own(result):
    return {name: each for name, each in result.answers.items() if is_ones_own(each)}


def _shown(result, answers):
    """The graded notebook, in which the checks show what was made of them since."""
    changed = {name for name, each in answers.items() if each != result.answers[name]}
    if not (changed and result.notebook):
        return result.notebook
    notebook = nbformat.reads(result.notebook, as_version=4)
    for cell in notebook.cells:
        if (name := cell.metadata.get("nbgrader", {}).get("grade_id")) in changed:
            verdict = Verdict(0, answers[name].message, "wrong")
            grade = Grade(verdict, answers[name].points)
            cell.outputs = [check_output(grade, cell.execution_count)]
    return written(notebook)
