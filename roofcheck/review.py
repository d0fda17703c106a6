"""Missed questions, asked again with new figures after growing gaps."""

import html
from dataclasses import dataclass
from datetime import date, timedelta

from roofcheck import answers
from roofcheck.kinds import Choice, Formula, Number, Order, Question, Several
from roofcheck.sentences import listed, say
from roofcheck.student import Grade, quietly
from roofcheck.table import tables
from roofkit._html import output

# Days until a question comes back: the next gap after a right answer, the first after a wrong one.
GAPS = (1, 3, 7, 21, 60)


@dataclass(frozen=True)
class Due:
    """A missed question, when it comes back, and how often it was reviewed and was right since."""

    question_id: str
    when: date
    reviews: int
    step: int

    @property
    def question(self) -> Question:
        """The question with this review's figures."""
        return tables()[self.question_id].drawn(f"{self.question_id}, review {self.reviews}")

    @property
    def can_be_typed(self) -> bool:
        """Whether an answer fits into a line of text."""
        return isinstance(self.question, (Choice, Formula, Number, Order, Several))

    def __repr__(self):
        return f"{self.question_id}. {prompt(self.question)}"

    def _repr_html_(self):
        text, _, beside = repr(self).partition("\n\n")
        table = f"<pre>{html.escape(beside)}</pre>" if beside else ""
        return output(f"<blockquote>{html.escape(text)}{table}</blockquote>")


class Nothing:
    """Nothing is due, and when something will be."""

    def __init__(self, later):
        self._later = later

    def __repr__(self):
        if not self._later:
            return say("review.nothing")
        return say("review.next", day=self._later[0].when)


def schedule():
    """Every question that was ever missed and is not yet learned, by when it comes back."""
    missed = {}
    for each in answers.read()[0]:
        before = missed.get(each.question)
        if each.question not in tables() or not (each.again or before or each.credit < 1):
            continue
        if each.credit == 1 and not each.again:
            # Mending a missed answer in the lecture does not count as a review.
            continue
        step = before.step + 1 if before and each.credit == 1 else 0
        when = each.time.date() + timedelta(days=GAPS[step]) if step < len(GAPS) else None
        reviews = each.again or (before.reviews if before else 0)
        missed[each.question] = Due(each.question, when, reviews, step)
    return sorted((due for due in missed.values() if due.when), key=lambda due: due.when)


def due_now():
    """The questions of the schedule that come back today or should have come back before."""
    return [due for due in schedule() if due.when <= date.today()]


def review(answer=...):
    """The next missed question that is due, with new figures; with an answer, its judgement.

    A question that was missed comes back after a day, then, while it is answered right, after 3, 7,
    21 and 60 days; a wrong answer starts anew, and shows the derivation. ``python -m roofcheck
    review`` asks the same.
    """
    found = due_now()
    if not found:
        return Nothing(schedule())
    if answer is ... or answer is None:
        return found[0]
    return answer_due(found[0], answer)


def answer_due(due, answer):
    """Judge the answer to a question that is due, keep it, and say when it comes back: a Grade.

    One that is not right has the derivation of this draw below it.
    """
    question = due.question
    verdict = quietly(question.judge, answer)
    if verdict.state == "missing":
        return Grade(verdict, 0)
    failed = answers.keep(due.question_id, verdict, answer, due.reviews + 1)
    after = [each for each in schedule() if each.question_id == due.question_id]
    said = verdict.adding(failed or _comes_back(due.question_id, verdict, after))
    return Grade(said, 0, question.derivation() if verdict.credit < 1 else ())


def _comes_back(question_id, verdict, after):
    """When a question comes back that was just answered; ``after`` is its schedule by now."""
    if not after:
        return say("review.done")
    day = after[0].when
    if verdict.credit < 1 and question_id.startswith("l"):
        return say("review.lecture", number=int(question_id[1:3]), day=day)
    return say("review.again", day=day)


def prompt(question):
    """A question's text with what an answer may be."""
    text = question.text()
    if isinstance(question, Choice):
        options = listed(sorted(question.options), "comma")
        text = say("review.options", question=text, options=options)
    if isinstance(question, Order):
        text = say("review.items", question=text, items=listed(sorted(question.items)))
    return f"{text}\n\n{question.beside}".strip()
