"""Finds students who name the same ``me`` in their notebooks, and withholds their points.

If several notebooks claim the same figures, grading cannot tell whose they are. A question with
individual figures then earns no points until a person decides. If the figures belong to one student
on the roster who names no other id, only the others wait for a person. A stored result keeps its
verdict and the names of the others, so the points return when they hand in under their own ids.
"""

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import replace

from roofcheck.kinds import Verdict
from roofcheck.study.check import Grade
from roofcheck.tables.variants import ANOTHER_VARIANT, is_id_missing, normalise_id
from roofgrade.common.errors import ProcessEndedError
from roofgrade.common.results import WAITING, Answer, Result
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.judge import reply_values
from roofgrade.judge.marking import replace_check_outputs


def find_claims(result: Result) -> set[str]:
    """Return the normalised ids that a submission names as its author."""
    claims = set()
    for answer in _individual_answers(result).values():
        reply = (answer.reply or {}).get("me")
        if reply_values.read_kind(reply) not in ("str", "int"):
            continue
        with contextlib.suppress(ProcessEndedError):
            author = reply_values.read_value(reply)
            claims |= set() if is_id_missing(author) else {normalise_id(author)}
    return claims


def has_own_work(result: Result) -> bool:
    """Return whether a submission names only its student, and no answer is for other figures."""
    slips = {slip for answer in _individual_answers(result).values() for slip in answer.slips}
    own = normalise_id(result.student)
    return find_claims(result) == {own} and ANOTHER_VARIANT not in slips


def find_shared_claims(
    claims: Iterable[tuple[str, set[str]]], owners: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Map each student to the others who claim the same id. ``claims`` has (student, ids) pairs.

    An id that belongs to exactly one of ``owners``, who claim only their own, is not shared.

    >>> find_shared_claims([("ada", {"team7"}), ("bob", {"team7"}), ("cem", {"cem"})])
    {'ada': ('bob',), 'bob': ('ada',)}
    >>> find_shared_claims([("ada", {"bob"}), ("bob", {"bob"})], owners=["bob"])
    {}
    """
    naming: dict[str, set[str]] = {}
    for student, claimed in claims:
        for claim in claimed:
            naming.setdefault(claim, set()).add(student)
    sharing: dict[str, set[str]] = {}
    for claim, students in naming.items():
        owned = [each for each in students.intersection(owners) if normalise_id(each) == claim]
        is_shared = len(students) > 1 and len(owned) != 1
        for student in students if is_shared else ():
            sharing.setdefault(student, set()).update(students - {student})
    return {student: tuple(sorted(others)) for student, others in sorted(sharing.items())}


def withhold_shared(result: Result) -> Result:
    """Withhold a result's points for individual figures if other students name the same ``me``.

    The answer then waits for a person, who sees the names of the others. The student's page does
    not name them.
    """
    individual = _individual_answers(result)
    if not (result.alike and individual):
        return result
    others = sentence("people.and").join(map(escape_text, result.alike))
    questions = [answer.question for answer in individual.values()]
    reasons = [sentence("judge.alike", question=name, others=others) for name in questions]
    answers = result.answers
    # A student who claims someone else's id has no points to withhold.
    if normalise_id(result.student) in find_claims(result):
        message = sentence("judge.shared_me")
        for name, answer in individual.items():
            lost = replace(answer, credit=0.0, state="wrong", message=message, slips=())
            answers = answers | {name: lost}
    return replace(
        result, state=WAITING, answers=answers,
        reason="; ".join(filter(None, [result.reason, *reasons])),
        flagged=tuple(dict.fromkeys((*result.flagged, *individual))),
        notebook=_update_notebook(result, answers),
    )  # fmt: skip


def has_own_figures(answer: Answer) -> bool:
    """Return whether an answer's question has figures derived from the student's id."""
    return bool(answer.asked.get("me"))


def _individual_answers(result):
    return {name: answer for name, answer in result.answers.items() if has_own_figures(answer)}


def _update_notebook(result, answers):
    grades = {
        name: Grade(Verdict(0, answer.message, "wrong"), answer.points)
        for name, answer in answers.items()
        if answer != result.answers[name]
    }
    if not (grades and result.notebook):
        return result.notebook
    return replace_check_outputs(result.notebook, grades)
