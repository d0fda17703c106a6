"""The functions that notebooks call: check an answer, record a guess, reveal the answer.

No check prints a right answer, except for one call of a wrong function. None raises because of an
answer, or writes to stderr, which nbgrader would count as a failure.
"""

import contextlib
import html
import io
import math
import os
import secrets
import warnings

from roofcheck.kinds import Number, Verdict
from roofcheck.kinds.question import unreadable_verdict
from roofcheck.reading import units
from roofcheck.reading.numbers import GivenNumber, UnreadableError, is_missing, read_number
from roofcheck.running import time_limit
from roofcheck.running.call_student import error_message, error_text
from roofcheck.sentences import describe_direction, sentence
from roofcheck.showing.explanation import as_text, explain_answer
from roofcheck.study import answers
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import AS_WRITTEN, describe_missing_id, find_variant, judge_variant
from roofkit._html import subscript_times
from roofkit._messages import Message
from rooflab import palette

# A message can quote a student's answer, whose length is unlimited.
LONGEST_MESSAGE = 600
LONGEST_REVEAL = 200
LONGEST_ME = 80
# Guesses within the first factor are right, and those within the second are a little off. Beyond
# the third, a guess is probably in another unit.
CLOSE_FACTOR, NEAR_FACTOR, FAR_FACTOR = 1.05, 1.5, 500

# Grading draws new cases for functions. To grade again with the same cases, set the seed.
SEED = os.environ.get("ROOFKIT_SEED") or secrets.token_hex(8)

_guesses: dict[str, GivenNumber] = {}
# The hints shown so far, by question and student, from the first wrong answer on.
_hints_shown: dict[tuple[str, str], list[str]] = {}
_grades: dict[str, "Grade"] = {}

# The states of an answer that counts; in other states, the student is asked again.
COUNTING_STATES = ("right", "partly", "wrong")


class Grade(float):
    """Points as a float that notebooks display as feedback.

    The repr is a plain float for nbgrader; students see the HTML. ``verdict`` has the credit, the
    message and the names of the slips. If there is a ``question``, its derivation is shown, too.
    """

    def __new__(cls, verdict, points, question=None):
        grade = super().__new__(cls, min(max(verdict.credit, 0.0), 1.0) * points)
        grade.verdict, grade.points, grade.question = verdict, float(points), question
        return grade

    def __repr__(self):
        return float.__repr__(self)

    def __str__(self):
        state, message = self._state_and_message()
        said = f"{state} {message}".strip()
        return "\n".join(filter(None, (said, self.question and as_text(self.question))))

    def _repr_html_(self):
        judged = self.verdict.state in COUNTING_STATES
        colour = palette.colour(self.verdict.state if judged else "unread")
        state, message = (subscript_times(html.escape(part)) for part in self._state_and_message())
        below = explain_answer(self.question, is_open=True) if self.question else ""
        return (
            f'<div style="border-left: 4px solid {colour}; padding: 0.4em 0.8em">'
            f"<b>{state}</b> {message}{below}</div>"
        )

    def _state_and_message(self):
        message = self.verdict.message
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[:LONGEST_MESSAGE].rpartition(' ')[0]} …"
        if self.points:
            message += " " + sentence("grade.points", earned=float(self), points=self.points)
        return sentence(f"state.{self.verdict.state}"), message.strip()


def check(question_id, answer=..., me=AS_WRITTEN):
    """Judge an answer to a question, or to the variant for the student ``me``.

    Returns a Grade from 0 to the question's points. From the second wrong answer on, the message
    ends with a hint. Raises ValueError only for an unknown question; its message lists similar ids.

    Answers are saved for ``review``, unless nbgrader runs the check. In grading, functions are also
    called with new arguments.

    >>> print(check("l02.ridge", 240))
    Right. 240 FLOP/byte. About that many FLOPs with every byte keep the arithmetic busy.
    """
    graded = os.environ.get("NBGRADER_EXECUTION", "")
    question, verdict = judge_answer(
        question_id, answer, me, SEED if graded == "autograde" else None
    )
    if missing := describe_missing_id(question_id, me):
        verdict = Verdict(0, missing, "missing")
    student = "" if me is AS_WRITTEN else str(me)[:LONGEST_ME]
    kept = "" if graded else answers.keep_answer(question_id, verdict, answer, me=student)
    after = _hint_after((question_id, str(me)), question, verdict)
    grade = Grade(verdict.with_sentence(after).with_sentence(kept), question.points)
    _grades[question_id] = grade
    return grade


def judge_answer(question_id, answer, me=AS_WRITTEN, seed=None):
    """Return the question for ``me``, and the Verdict on the answer.

    In grading, ``seed`` draws additional cases for functions and schedules.
    """
    question = find_question(question_id)
    if me is AS_WRITTEN and seed is not None:
        return question, judge_in_time(question.judge_for_points, answer, seed)
    if me is AS_WRITTEN:
        return question, judge_in_time(question.judge, answer)
    question = find_variant(question_id, me)
    return question, judge_in_time(judge_variant, question_id, question, answer)


def hint(question_id, me=AS_WRITTEN):
    """Return the next hint for a question, or for the variant for the student ``me``.

    Hints skip the parts that the latest check found right. Raises ValueError only for an unknown
    question.

    >>> hint("l04.warmup-ridge")
    Hint: you need the dense bf16 peak of the H100 SXM and the memory bandwidth of the H100 SXM.
    """
    question = find_question(question_id)
    if missing := describe_missing_id(question_id, me):
        return Message(missing)
    if me is not AS_WRITTEN:
        question = find_variant(question_id, me)
    verdict = _grades[question_id].verdict if question_id in _grades else Verdict(0, "")
    if verdict.credit == 1:
        return Message(sentence("hint.right"))
    new = _next_hint((question_id, str(me)), question, verdict.right)
    return Message(new or sentence("hint.none"))


def latest_grades():
    """Return the latest Grade of each question checked in this kernel, by id."""
    return dict(_grades)


def predict(question_id, guess=...):
    """Record a guess before the answer is shown, and report roughly how far off it is.

    Returns a Grade of 0 points, because a guess is never wrong. Raises ValueError for an unknown
    question or one that doesn't ask for a number.
    """
    question = _find_number_question(question_id)
    if is_missing(guess):
        return Grade(Verdict(0, sentence("guess.first"), "missing"), 0)
    return Grade(judge_in_time(_compare_guess, question_id, question, guess), 0)


def reveal(question_id, value):
    """Show the answer that the cell computed, with the guess recorded by ``predict``.

    Returns an object that shows "You said 5 ms; it is 1.01 ms." If exactly one mistake explains the
    guess, the object names it. Raises ValueError if ``value``, in the question's unit, differs from
    the question table, because then the lecture is wrong.

    >>> reveal("l02.ridge", 197e12 / 819e9)
    It is 240.5 FLOP/byte.
    """
    question = _find_number_question(question_id)
    if not math.isclose(value, question.reference(), rel_tol=1e-3):
        raise ValueError(
            f"{question_id}: the cell gives {value:g}, the question {question.reference():g}"
        )
    answer = units.format_value(float(value), question.unit)
    guess = _guesses.get(question_id)
    if guess is None:
        return Message(sentence("reveal.answer", answer=answer))
    text, slips = units.format_value(guess.value, question.unit), question.known_slips
    if _guess_factor(guess, question) >= CLOSE_FACTOR and slips.remark_if_right([guess]) is None:
        diagnosis = slips.diagnose([guess])
        # If several mistakes give the same value, none of them is named.
        if diagnosis and len(diagnosis.names) == 1:
            words = {"guess": text, "message": diagnosis.message, "answer": answer}
            message = sentence("reveal.diagnosed", **words)
            if len(message) <= LONGEST_REVEAL:
                return Message(message)
    return Message(sentence("reveal.beside", guess=text, answer=answer))


def _find_number_question(question_id):
    question = find_question(question_id)
    if not isinstance(question, Number):
        raise ValueError(f"{question_id} doesn't ask for a single number; use check()")
    return question


def judge_without_output(judge, *arguments):
    """Judge an answer, and catch errors and stderr output from the student's code."""
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            verdict = judge(*arguments)
    except KeyboardInterrupt:
        raise
    except time_limit.EndlessError:
        why = sentence("unread.endless", seconds=time_limit.SECONDS)
        verdict, caught = Verdict(0, why, slips=("endless",)), []
    except BaseException as error:
        verdict = Verdict(0, sentence("unread.raised", error=error_text(error)))
        caught = []
    notes = [f"{note.category.__name__}: {error_message(note.message)}" for note in caught[:1]]
    notes += map(error_message, stderr.getvalue().strip().splitlines()[-1:])
    return verdict.with_sentence(
        sentence("grade.warned", warning="; ".join(notes)) if notes else ""
    )


def judge_in_time(judge, *arguments):
    """Judge an answer with a time limit; calls of a student's function have their own."""
    if not any(map(callable, arguments)):
        arguments, judge = (judge, *arguments), time_limit.TimeLimit().call
    return judge_without_output(judge, *arguments)


def _hint_after(key, question, verdict):
    """Return the hint after an answer: none after the first wrong one, and the last one again."""
    if verdict.state not in ("wrong", "partly") or "one digit" in verdict.slips:
        return ""
    if key not in _hints_shown:
        _hints_shown[key] = []
        return ""
    return _next_hint(key, question, verdict.right) or "".join(question.hints(verdict.right)[-1:])


def _next_hint(key, question, right):
    """Return the first hint that was not shown yet, or ""."""
    shown = _hints_shown.setdefault(key, [])
    new = [text for text in question.hints(right) if text not in shown][:1]
    shown += new
    return "".join(new)


def _compare_guess(question_id, question, guess):
    try:
        number = read_number(guess, question.unit, question.figure)
    except UnreadableError as error:
        return unreadable_verdict(error)
    if not number.value > 0:
        return Verdict(0, sentence("guess.none"))
    _guesses[question_id] = number
    ratio, factor = number.value / question.reference(), _guess_factor(number, question)
    # Give only the direction, because the factor would reveal the answer.
    limits = {"close": CLOSE_FACTOR, "near": NEAR_FACTOR, "far": FAR_FACTOR}
    key = next((name for name, limit in limits.items() if factor < limit), "unit")
    if key == "unit" and (math.isinf(number.value) or units.DIMENSIONS[question.unit] == "ratio"):
        key = "far"
    words = {"way": describe_direction(ratio), "unit": units.format_unit(question.unit)}
    return Verdict(0, sentence(f"guess.{key}", **words), "guess")


def _guess_factor(guess, question):
    """Return the factor between a guess and the answer, at least 1."""
    ratio = guess.value / question.reference()
    return max(ratio, 1 / ratio)
