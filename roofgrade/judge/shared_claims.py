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
from roofcheck.study.check import Grade
from roofcheck.tables.variants import is_nobody, normalise_id
from roofgrade.common.errors import ProcessEndedError
from roofgrade.common.results import WAITING, Answer, Result
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.judge import reply_values
from roofgrade.judge.marking import make_check_output
from roofgrade.judge.outputs import format_notebook


def find_claims(result: Result) -> set[str]:
    """Whom a submission names as its author, in the one form of all ways to write a name."""
    found = set()
    for answer in _own_answers(result).values():
        told = (answer.reply or {}).get("me")
        if reply_values.read_kind(told) not in ("str", "int"):
            continue
        with contextlib.suppress(ProcessEndedError):
            said = reply_values.read_value(told)
            found |= set() if is_nobody(said) else {normalise_id(said)}
    return found


def find_shared_claims(results: Iterable[tuple[str, set[str]]]) -> dict[str, tuple[str, ...]]:
    """By student, the others who name the same; the results are students with their claims.

    >>> find_shared_claims([("ada", {"team7"}), ("bob", {"team7"}), ("cem", {"cem"})])
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


def withhold_shared(result: Result) -> Result:
    """What counts of a submission: itself, unless others name the same ``me``.

    Then the question of one's own gets nothing and waits for a person, who reads whose the others
    are; the student's page names nobody.
    """
    own = _own_answers(result)
    if not (result.alike and own):
        return result
    others = sentence("people.and").join(map(escape_text, result.alike))
    asked = [each.question for each in own.values()]
    reasons = [result.reason, *(sentence("judge.alike", question=q, others=others) for q in asked)]
    answers = result.answers
    if normalise_id(result.student) in find_claims(
        result
    ):  # who is somebody else has got nothing already
        verdict = Verdict(0, sentence("judge.shared_me"), "wrong")
        told = {"credit": 0.0, "state": verdict.state, "message": verdict.message, "slips": ()}
        answers = answers | {name: replace(each, **told) for name, each in own.items()}
    return replace(
        result,
        state=WAITING,
        reason="; ".join(filter(None, reasons)),
        answers=answers,
        flagged=tuple(dict.fromkeys((*result.flagged, *own))),
        notebook=_update_notebook(result, answers),
    )


def has_own_figures(answer: Answer) -> bool:
    """Whether a question was answered whose figures follow from the student's id."""
    return bool(answer.asked.get("me"))


def _own_answers(result):
    return {name: each for name, each in result.answers.items() if has_own_figures(each)}


def _update_notebook(result, answers):
    """The graded notebook, in which the checks show what was made of them since."""
    changed = {name for name, each in answers.items() if each != result.answers[name]}
    if not (changed and result.notebook):
        return result.notebook
    notebook = nbformat.reads(result.notebook, as_version=4)
    for cell in notebook.cells:
        if (name := cell.metadata.get("nbgrader", {}).get("grade_id")) in changed:
            verdict = Verdict(0, answers[name].message, "wrong")
            grade = Grade(verdict, answers[name].points)
            cell.outputs = [make_check_output(grade, cell.execution_count)]
    return format_notebook(notebook)
