"""Answers, judged: right, a known wrong turn with its reason, or neither.

``check("ps1.ridge", answer)`` looks the question up in its table (``roofkit.questions``), judges
the answer and returns a Grade: a float, the points, that shows in a notebook as feedback. It never
prints the solution, never raises on a student's answer and never writes to stderr, which nbgrader
would count as a failure.
"""

import contextlib
import difflib
import functools
import html
import importlib
import io
import math
import pkgutil
import warnings

from roofkit import questions
from roofkit.judge import TEXT, Verdict, is_missing, read_number

# A message quotes what the student wrote, which has no limit of its own.
LONGEST = 600


class Grade(float):
    """Points as a float whose notebook display is the feedback.

    Its repr is a plain float, which is what nbgrader reads; its HTML is what a student sees.
    """

    def __new__(cls, verdict, points):
        grade = super().__new__(cls, min(max(verdict.credit, 0.0), 1.0) * points)
        grade.verdict, grade.points = verdict, float(points)
        return grade

    def __repr__(self):
        return float.__repr__(self)

    def __str__(self):
        state, message = self._words()
        return f"{state}. {message}".strip()

    def _repr_html_(self):
        colour = {"right": "#009E73", "partly": "#E69F00", "wrong": "#D55E00"}
        state, message = map(html.escape, self._words())
        return (
            '<div style="border-left: 4px solid '
            f'{colour.get(self.verdict.state, "#0072B2")}; padding: 0.4em 0.8em">'
            f"<b>{state}.</b> {message}</div>"
        )

    def _words(self):
        message = self.verdict.message
        if len(message) > LONGEST:
            message = f"{message[:LONGEST]} …"
        if self.points:
            message += " " + TEXT["points"].format(earned=float(self), points=self.points)
        return TEXT[self.verdict.state], message.strip()


def check(question_id, answer=None):
    """Judge an answer to a question of the table.

    Returns a Grade of 0 to the question's points. Raises ValueError only for an unknown question,
    with the nearest names.

    >>> print(check("l02.ridge", 240))
    Right. 240 FLOP/byte. About that many FLOPs with every byte keep the arithmetic busy.
    """
    question = find_question(question_id)
    if is_missing(answer):
        return Grade(Verdict(0, TEXT["fill in"], "missing"), question.points)
    return Grade(_quietly(question.judge, answer), question.points)


def predict(question_id, guess=None):
    """Note a guess before the answer is shown: how far off it is, in which direction.

    Returns a Grade of 0 points: a guess is never wrong. Raises ValueError for an unknown question.
    """
    question = find_question(question_id)
    if is_missing(guess):
        return Grade(Verdict(0, TEXT["guess first"], "missing"), 0)
    return Grade(_quietly(_compare_guess, question, guess), 0)


def find_question(question_id):
    """The question of this id, such as "ps1.ridge", or ValueError with the nearest ids."""
    table = _tables()
    if not isinstance(question_id, str) or question_id not in table:
        nearest = difflib.get_close_matches(str(question_id), table, n=3, cutoff=0.3)
        raise ValueError(
            f"no question is named {question_id!r}; nearest: {', '.join(nearest or table)}"
        )
    return table[question_id]


@functools.cache
def _tables():
    found = {}
    for module in pkgutil.iter_modules(questions.__path__):
        found |= importlib.import_module(f"{questions.__name__}.{module.name}").QUESTIONS
    return found


def _quietly(judge, *arguments):
    """Run a judgement so that nothing a student's code prints to stderr or raises gets out."""
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            verdict = judge(*arguments)
    except Exception as error:
        verdict = Verdict(0, TEXT["unreadable"].format(error=f"{type(error).__name__}: {error}"))
        caught = []
    said = [f"{warning.category.__name__}: {warning.message}" for warning in caught[:1]]
    said += stderr.getvalue().strip().splitlines()[-1:]
    if said:
        note = TEXT["warned"].format(warning="; ".join(said))
        return Verdict(verdict.credit, f"{verdict.message} {note}".strip(), verdict.state)
    return verdict


def _compare_guess(question, guess):
    value, problem = read_number(guess)
    if problem:
        return problem
    if not 0 < value < math.inf:
        return Verdict(0, TEXT["no guess"])
    ratio = value / question.reference()
    if 0.5 <= ratio <= 2:
        return Verdict(0, TEXT["guess close"], "guess")
    factor = f"{float(f'{max(ratio, 1 / ratio):.1g}'):,.0f}"
    way = "large" if ratio > 1 else "small"
    return Verdict(0, TEXT["guess far"].format(way=way, factor=factor), "guess")
