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
from roofcheck.kinds.question import unreadable
from roofcheck.reading import units
from roofcheck.reading.reading import Given, UnreadableError, is_missing, read_number
from roofcheck.running.calling import quoted, told
from roofcheck.sentences import say, way
from roofcheck.showing.explaining import as_text, explained
from roofcheck.study import answers
from roofcheck.tables.table import find_question
from roofcheck.tables.variants import is_nobody, judge_variant, variant
from roofkit._html import output, quantities
from rooflab import palette

# A message quotes what the student wrote, which has no limit of its own.
LONGEST = 600
LONGEST_REVEAL = 200
LONGEST_ME = 80
# A guess within the first factor is as good as right, one within the second is a little off, and
# from the third on it is probably in another unit.
CLOSE, NEAR, FAR = 1.05, 1.5, 500

# Stands in place of ``me`` where a question is asked as it is written.
WRITTEN = "the figures as written"
# Where answers count, functions meet cases that nobody has seen. A regrading names its seed.
SEED = os.environ.get("ROOFKIT_SEED") or secrets.token_hex(8)

_guesses: dict[str, Given] = {}
_tries: dict[str, int] = {}
_grades: dict[str, "Grade"] = {}

# The states of an answer that counts; others ask for one, or for another.
JUDGED = ("right", "partly", "wrong")


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
        state, message = self._words()
        said = f"{state} {message}".strip()
        return "\n".join(filter(None, (said, self.question and as_text(self.question))))

    def _repr_html_(self):
        judged = self.verdict.state in JUDGED
        colour = palette.colour(self.verdict.state if judged else "unread")
        state, message = (quantities(html.escape(part)) for part in self._words())
        below = explained(self.question, is_open=True) if self.question else ""
        return (
            f'<div style="border-left: 4px solid {colour}; padding: 0.4em 0.8em">'
            f"<b>{state}</b> {message}{below}</div>"
        )

    def _words(self):
        message = self.verdict.message
        if len(message) > LONGEST:
            message = f"{message[:LONGEST].rpartition(' ')[0]} …"
        if self.points:
            message += " " + say("grade.points", earned=float(self), points=self.points)
        return say(f"state.{self.verdict.state}"), message.strip()


class Revealed:
    """An answer beside the guess that was noted for it."""

    def __init__(self, message):
        self.message = message

    def __repr__(self):
        return self.message

    def _repr_html_(self):
        return output(f"<b>{quantities(html.escape(self.message))}</b>")


def check(question_id, answer=..., me=WRITTEN):
    """Judge an answer to a question of the table, or to the variant of it that is ``me``'s.

    Returns a Grade of 0 to the question's points. From the second wrong answer on, the message
    ends on a hint. Raises ValueError only for an unknown question, with the nearest names.

    Answers are kept for ``review``, except where nbgrader runs the check; there a function is also
    called with arguments that were drawn then.

    >>> print(check("l02.ridge", 240))
    Right. 240 FLOP/byte. About that many FLOPs with every byte keep the arithmetic busy.
    """
    graded = os.environ.get("NBGRADER_EXECUTION", "")
    question, verdict = judged(question_id, answer, me, SEED if graded == "autograde" else None)
    whose = "" if me is WRITTEN else str(me)[:LONGEST_ME]
    kept = "" if graded else answers.keep(question_id, verdict, answer, me=whose)
    hint = _hint(question_id, question, verdict)
    grade = Grade(verdict.adding(hint).adding(kept), question.points)
    _grades[question_id] = grade
    return grade


def judged(question_id, answer, me=WRITTEN, seed=None):
    """The question that was asked of ``me``, and the Verdict on an answer to it.

    Where it counts there is a ``seed``, from which functions and schedules get further cases.
    """
    question = find_question(question_id)
    if me is WRITTEN and seed is not None:
        return question, quietly(question.judge_where_it_counts, answer, seed)
    if me is WRITTEN:
        return question, quietly(question.judge, answer)
    if is_nobody(me):
        return question, Verdict(0, say("variant.nobody"), "missing")
    question = variant(question_id, me)
    return question, quietly(judge_variant, question_id, question, answer)


def grades():
    """The latest Grade of each question that was checked since the kernel started, by id."""
    return dict(_grades)


def predict(question_id, guess=...):
    """Note a guess before the answer is shown: how far off it is, in which direction.

    Returns a Grade of 0 points: a guess is never wrong. Raises ValueError for an unknown question
    or one that asks for no number.
    """
    question = _number_question(question_id)
    if is_missing(guess):
        return Grade(Verdict(0, say("guess.first"), "missing"), 0)
    return Grade(quietly(_compare_guess, question_id, question, guess), 0)


def reveal(question_id, value):
    """The answer, as computed in the cell, beside the guess that ``predict`` noted.

    Returns an object that shows "You said 5 ms; it is 1.01 ms.", and of a guess that one mistake
    gives, which one. Raises ValueError if ``value``, in the question's unit, is not what the
    question table computes: the lecture and its table differ.

    >>> reveal("l02.ridge", 197e12 / 819e9)
    It is 240.5 FLOP/byte.
    """
    question = _number_question(question_id)
    if not math.isclose(value, question.reference(), rel_tol=1e-3):
        raise ValueError(
            f"{question_id}: the cell computes {value:g}, its question {question.reference():g}"
        )
    answer = units.in_units(float(value), question.unit)
    given = _guesses.get(question_id)
    if given is None:
        return Revealed(say("reveal.answer", answer=answer))
    guess = units.in_units(given.value, question.unit)
    if _off(given, question) >= CLOSE and question.known.is_right([given]) is None:
        found = question.known.diagnose([given])
        # What several mistakes give is no sign of one of them.
        if found and len(found.names) == 1:
            message = say("reveal.diagnosed", guess=guess, message=found.message, answer=answer)
            if len(message) <= LONGEST_REVEAL:
                return Revealed(message)
    return Revealed(say("reveal.beside", guess=guess, answer=answer))


def _number_question(question_id):
    question = find_question(question_id)
    if not isinstance(question, Number):
        raise ValueError(f"{question_id} asks for no single number; use check()")
    return question


def quietly(judge, *arguments):
    """Run a judgement so that nothing a student's code prints to stderr or raises gets out."""
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            verdict = judge(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        verdict = Verdict(0, say("unread.raised", error=told(error)))
        caught = []
    said = [f"{each.category.__name__}: {quoted(each.message)}" for each in caught[:1]]
    said += map(quoted, stderr.getvalue().strip().splitlines()[-1:])
    return verdict.adding(say("grade.warned", warning="; ".join(said)) if said else "")


def _hint(question_id, question, verdict):
    """What helps after several wrong answers, the same one or not: what matters, then how."""
    if verdict.state not in ("wrong", "partly") or "one digit" in verdict.slips:
        return ""
    _tries[question_id] = tries = _tries.get(question_id, 0) + 1
    return "" if tries == 1 else "".join(question.hints(verdict.right)[: tries - 1][-1:])


def _compare_guess(question_id, question, guess):
    try:
        given = read_number(guess, question.unit, question.figure)
    except UnreadableError as error:
        return unreadable(error)
    if not given.value > 0:
        return Verdict(0, say("guess.none"))
    _guesses[question_id] = given
    ratio, off = given.value / question.reference(), _off(given, question)
    # The direction, not the factor: that would be the answer.
    said = "close" if off < CLOSE else "near" if off < NEAR else "far" if off < FAR else "unit"
    if math.isinf(given.value) or units.DIMENSIONS[question.unit] == "ratio":
        said = "far" if said == "unit" else said
    words = {"way": way(ratio), "unit": units.name(question.unit)}
    return Verdict(0, say(f"guess.{said}", **words), "guess")


def _off(given, question):
    """The factor between a guess and the answer, at least 1."""
    ratio = given.value / question.reference()
    return max(ratio, 1 / ratio)
