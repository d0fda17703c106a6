"""What a lecture or problem set calls: check an answer, note a guess, reveal what was guessed.

Nothing here prints a solution, raises on a student's answer or writes to stderr, which nbgrader
would count as a failure. Answers and guesses are remembered while the kernel lives: hints come on
repeated tries, and a reveal says what was guessed.
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
from roofcheck.running.call_student import error_message, error_text
from roofcheck.sentences import sentence, word_direction
from roofcheck.showing.explanation import as_text, explain_answer
from roofcheck.study import answers
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import find_variant, is_nobody, judge_variant
from roofkit._html import start_with_blank_line, subscript_times
from rooflab import palette

# A message quotes what the student wrote, which has no limit of its own.
LONGEST_MESSAGE = 600
LONGEST_REVEAL = 200
LONGEST_ME = 80
# A guess within the first factor is as good as right, one within the second is a little off, and
# from the third on it is probably in another unit.
CLOSE_FACTOR, NEAR_FACTOR, FAR_FACTOR = 1.05, 1.5, 500

# Stands in place of ``me`` where a question is asked as it is written.
AS_WRITTEN = "the figures as written"
# Where answers count, functions meet cases that nobody has seen. A regrading names its seed.
SEED = os.environ.get("ROOFKIT_SEED") or secrets.token_hex(8)

_guesses: dict[str, GivenNumber] = {}
_tries: dict[str, int] = {}
_grades: dict[str, "Grade"] = {}

# The states of an answer that counts; others ask for one, or for another.
COUNTING_STATES = ("right", "partly", "wrong")


class Grade(float):
    """Points as a float whose notebook display is the feedback.

    Its repr is a plain float, which is what nbgrader reads; its HTML is what a student sees.
    ``verdict`` holds the credit, the message and the names of the slips. ``question``, if it has
    one, is the question whose answer is derived below it.
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


class RevealedAnswer:
    """An answer beside the guess that was noted for it."""

    def __init__(self, message):
        self.message = message

    def __repr__(self):
        return self.message

    def _repr_html_(self):
        return start_with_blank_line(f"<b>{subscript_times(html.escape(self.message))}</b>")


def check(question_id, answer=..., me=AS_WRITTEN):
    """Judge an answer to a question of the table, or to the variant of it that is ``me``'s.

    Returns a Grade of 0 to the question's points. From the second wrong answer on, the message
    ends on a hint. Raises ValueError only for an unknown question, with the nearest names.

    Answers are kept for ``review``, except where nbgrader runs the check; there a function is also
    called with arguments that were drawn then.

    >>> print(check("l02.ridge", 240))
    Right. 240 FLOP/byte. About that many FLOPs with every byte keep the arithmetic busy.
    """
    graded = os.environ.get("NBGRADER_EXECUTION", "")
    question, verdict = judge_answer(
        question_id, answer, me, SEED if graded == "autograde" else None
    )
    whose = "" if me is AS_WRITTEN else str(me)[:LONGEST_ME]
    kept = "" if graded else answers.keep_answer(question_id, verdict, answer, me=whose)
    hint = _next_hint(question_id, question, verdict)
    grade = Grade(verdict.with_sentence(hint).with_sentence(kept), question.points)
    _grades[question_id] = grade
    return grade


def judge_answer(question_id, answer, me=AS_WRITTEN, seed=None):
    """The question that was asked of ``me``, and the Verdict on an answer to it.

    Where it counts there is a ``seed``, from which functions and schedules get further cases.
    """
    question = find_question(question_id)
    if me is AS_WRITTEN and seed is not None:
        return question, judge_quietly(question.judge_for_points, answer, seed)
    if me is AS_WRITTEN:
        return question, judge_quietly(question.judge, answer)
    if is_nobody(me):
        return question, Verdict(0, sentence("variant.nobody"), "missing")
    question = find_variant(question_id, me)
    return question, judge_quietly(judge_variant, question_id, question, answer)


def latest_grades():
    """The latest Grade of each question that was checked since the kernel started, by id."""
    return dict(_grades)


def predict(question_id, guess=...):
    """Note a guess before the answer is shown: how far off it is, in which direction.

    Returns a Grade of 0 points: a guess is never wrong. Raises ValueError for an unknown question
    or one that asks for no number.
    """
    question = _find_number_question(question_id)
    if is_missing(guess):
        return Grade(Verdict(0, sentence("guess.first"), "missing"), 0)
    return Grade(judge_quietly(_compare_guess, question_id, question, guess), 0)


def reveal(question_id, value):
    """The answer, as computed in the cell, beside the guess that ``predict`` noted.

    Returns an object that shows "You said 5 ms; it is 1.01 ms.", and of a guess that one mistake
    gives, which one. Raises ValueError if ``value``, in the question's unit, is not what the
    question table computes: the lecture and its table differ.

    >>> reveal("l02.ridge", 197e12 / 819e9)
    It is 240.5 FLOP/byte.
    """
    question = _find_number_question(question_id)
    if not math.isclose(value, question.reference(), rel_tol=1e-3):
        raise ValueError(
            f"{question_id}: the cell computes {value:g}, its question {question.reference():g}"
        )
    answer = units.format_value(float(value), question.unit)
    given = _guesses.get(question_id)
    if given is None:
        return RevealedAnswer(sentence("reveal.answer", answer=answer))
    guess = units.format_value(given.value, question.unit)
    if (
        _guess_factor(given, question) >= CLOSE_FACTOR
        and question.known_slips.remark_if_right([given]) is None
    ):
        found = question.known_slips.diagnose([given])
        # What several mistakes give is no sign of one of them.
        if found and len(found.names) == 1:
            message = sentence(
                "reveal.diagnosed", guess=guess, message=found.message, answer=answer
            )
            if len(message) <= LONGEST_REVEAL:
                return RevealedAnswer(message)
    return RevealedAnswer(sentence("reveal.beside", guess=guess, answer=answer))


def _find_number_question(question_id):
    question = find_question(question_id)
    if not isinstance(question, Number):
        raise ValueError(f"{question_id} asks for no single number; use check()")
    return question


def judge_quietly(judge, *arguments):
    """Run a judgement so that nothing a student's code prints to stderr or raises gets out."""
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            verdict = judge(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        verdict = Verdict(0, sentence("unread.raised", error=error_text(error)))
        caught = []
    said = [f"{each.category.__name__}: {error_message(each.message)}" for each in caught[:1]]
    said += map(error_message, stderr.getvalue().strip().splitlines()[-1:])
    return verdict.with_sentence(sentence("grade.warned", warning="; ".join(said)) if said else "")


def _next_hint(question_id, question, verdict):
    """What helps after several wrong answers, the same one or not: what matters, then how."""
    if verdict.state not in ("wrong", "partly") or "one digit" in verdict.slips:
        return ""
    _tries[question_id] = tries = _tries.get(question_id, 0) + 1
    return "" if tries == 1 else "".join(question.hints(verdict.right)[: tries - 1][-1:])


def _compare_guess(question_id, question, guess):
    try:
        given = read_number(guess, question.unit, question.figure)
    except UnreadableError as error:
        return unreadable_verdict(error)
    if not given.value > 0:
        return Verdict(0, sentence("guess.none"))
    _guesses[question_id] = given
    ratio, off = given.value / question.reference(), _guess_factor(given, question)
    # The direction, not the factor: that would be the answer.
    said = (
        "close"
        if off < CLOSE_FACTOR
        else "near"
        if off < NEAR_FACTOR
        else "far"
        if off < FAR_FACTOR
        else "unit"
    )
    if math.isinf(given.value) or units.DIMENSIONS[question.unit] == "ratio":
        said = "far" if said == "unit" else said
    words = {"way": word_direction(ratio), "unit": units.format_unit(question.unit)}
    return Verdict(0, sentence(f"guess.{said}", **words), "guess")


def _guess_factor(given, question):
    """The factor between a guess and the answer, at least 1."""
    ratio = given.value / question.reference()
    return max(ratio, 1 / ratio)
