"""Ask missed questions again, with new numbers and at growing intervals."""

import functools
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta

from roofcheck.kinds import Question, Verdict
from roofcheck.reading.numbers import is_missing
from roofcheck.sentences import sentence
from roofcheck.showing import question_page
from roofcheck.study import answers
from roofcheck.study.check import COUNTING_STATES, Grade, judge_in_time
from roofcheck.tables.catalogue import find_question, load_questions
from roofkit._messages import Message

# Days until a question returns: the next gap after a right answer, the first after a wrong one.
GAPS = (1, 3, 7, 21, 60)
# The maximum number of questions per day.
MOST_A_DAY = 10
# The maximum number of draws to get numbers that differ from the notebook's.
TRIES = 10
HELP_WORDS = ("help", "?", "help()")
# The number of draws that each question has been practised with.
_practised: Counter[str] = Counter()


@dataclass(frozen=True)
class Due:
    """A missed question, its next date, its number of reviews, and its right answers since."""

    question_id: str
    when: date
    reviews: int
    step: int
    series: str = "review"

    @functools.cached_property
    def seed(self) -> str:
        """The seed of this review's numbers and of the order of the options.

        The numbers differ from the notebook's if the question can draw others.
        """
        original = load_questions()[self.question_id]
        first = f"{self.question_id}, {self.series} {self.reviews}"
        if not original.has_new_figures:
            return first
        text = question_page.as_text(original, "")
        for seed in (first, *(f"{first}, again {number}" for number in range(1, TRIES))):
            if question_page.as_text(original.with_new_figures(seed), "") != text:
                return seed
        return first

    @functools.cached_property
    def question(self) -> Question:
        """The question with this review's numbers."""
        return load_questions()[self.question_id].with_new_figures(self.seed)

    def __repr__(self):
        return f"{self.question_id}. {question_page.as_text(self.question, self.seed)}"

    def _repr_html_(self):
        return question_page.as_html(self.question, self.seed)


class NothingDue:
    """A message that nothing is due now, with the date of the next question."""

    def __init__(self, later):
        self._later = later

    def __repr__(self):
        if not self._later:
            return sentence("review.nothing")
        today, day = date.today(), self._later[0].when
        if day <= today:
            waiting = sum(due.when <= today for due in self._later)
            return sentence("review.enough", most=MOST_A_DAY, count=waiting)
        return sentence("review.next", day=day)


def schedule():
    """Return all questions that were missed and are not yet learned, by date.

    Functions are left out, because nobody writes one into a line of text.
    """
    missed = {}
    for answer in answers.read_answers()[0]:
        name, day = answer.question, answer.time.date()
        before = missed.get(name)
        question, is_missed = load_questions().get(name), before or answer.credit < 1
        if not question or question.not_reviewed or question_page.is_answered_by_code(question):
            continue
        if not (answer.again or is_missed):
            continue
        if answer.credit == 1 and not answer.again:
            # Correcting a missed answer in the notebook isn't a review. But if a question can't
            # draw new numbers, the same question would return the next morning.
            is_next_day = before.when == day + timedelta(days=GAPS[0])
            if is_next_day and not question.has_new_figures:
                missed[name] = replace(before, when=day + timedelta(days=GAPS[1]))
            continue
        step = before.step + 1 if before and answer.credit == 1 else 0
        when = day + timedelta(days=GAPS[step]) if step < len(GAPS) else None
        reviews = answer.again or (before.reviews if before else 0)
        missed[name] = Due(name, when, reviews, step)
    return sorted((due for due in missed.values() if due.when), key=lambda due: due.when)


def due_now(everything: bool = False) -> list[Due]:
    """Return the questions that are due today, the most overdue first.

    Unless ``everything``, at most MOST_A_DAY are asked, including those already reviewed today.
    """
    today = date.today()
    questions = [due for due in schedule() if due.when <= today]
    if everything:
        return questions
    reviews = (answer for answer in answers.read_answers()[0] if answer.again)
    done = {answer.question for answer in reviews if answer.time.date() == today}
    return questions[: max(MOST_A_DAY - len(done), 0)]


def next_due(skipped: Collection[str] = ()) -> Due | None:
    """Return the next question that is due and not in ``skipped``, or None."""
    return next((due for due in due_now() if due.question_id not in skipped), None)


def answer_text(question_id: str, text: str) -> Grade | None:
    """Judge a text as the answer to a due question, save it, and return a Grade.

    If the answer counts, ``verdict.state`` is right, partly or wrong. Otherwise nothing is saved
    and the question stays due. Returns None if the question is no longer due, for example on a page
    that was left open.
    """
    due = next((due for due in due_now(everything=True) if due.question_id == question_id), None)
    return due and answer_due(due, text)


def review(answer=...):
    """Return the next due question with new numbers or, given an answer, its Grade.

    A missed question returns after one day and then, as long as the answers are right, after 3, 7,
    21 and 60 days. A wrong answer restarts the intervals and shows the derivation.
    ``python -m roofcheck review`` asks the same questions.
    """
    questions = due_now()
    if not questions:
        return NothingDue(schedule())
    if is_missing(answer):
        return questions[0]
    return answer_due(questions[0], answer)


def answer_due(due, answer):
    """Judge the answer to a due question, save it, and return a Grade.

    If the answer is not right, the Grade shows the derivation with these numbers.
    """
    verdict = _judge(due, answer)
    if verdict.state not in COUNTING_STATES:
        return Grade(verdict, 0)
    failed = answers.keep_answer(due.question_id, verdict, answer, due.reviews + 1)
    verdict = verdict.with_sentence(failed or _describe_next_review(due.question_id, verdict))
    return Grade(verdict, 0, due.question if verdict.credit < 1 else None)


def _judge(due, answer):
    text = answer.strip() if isinstance(answer, str) else None
    if text == "":
        return Verdict(0, sentence("typed.nothing"), "missing")
    if text and text.casefold() in HELP_WORDS:
        return Verdict(0, question_page.describe_answer(due.question, due.seed), "asked")
    return judge_in_time(due.question.judge, answer)


def _describe_next_review(question_id, verdict):
    day = next((due.when for due in schedule() if due.question_id == question_id), None)
    if day is None:
        return sentence("review.done")
    if verdict.credit < 1 and question_id.startswith("l"):
        return sentence("review.lecture", number=int(question_id[1:3]), day=day)
    return sentence("review.again", day=day)


def practise(question_id, answer=...):
    """Return a question with new numbers or, given an answer to it, its Grade, which doesn't count.

    Each call without an answer draws other numbers. Raises ValueError only for an unknown question.

    >>> practise("ps1.ridge", practise("ps1.ridge").question.reference()).verdict.state
    'right'
    """
    if not find_question(question_id).has_new_figures:
        return Message(sentence("review.same"))
    _practised[question_id] += is_missing(answer) or not _practised[question_id]
    due = Due(question_id, date.today(), _practised[question_id], 0, "practice")
    return due if is_missing(answer) else Grade(_judge(due, answer), 0)
