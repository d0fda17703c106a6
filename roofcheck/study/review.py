"""Missed questions, asked again with new figures after growing gaps."""

import functools
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta

from roofcheck.kinds import Question
from roofcheck.sentences import sentence
from roofcheck.showing import question_page
from roofcheck.study import answers, typed_answers
from roofcheck.study.check import COUNTING_STATES, Grade, judge_quietly
from roofcheck.tables.catalogue import load_questions

# Days until a question comes back: the next gap after a right answer, the first after a wrong one.
GAPS = (1, 3, 7, 21, 60)
# So many questions are asked on a day.
MOST_A_DAY = 10
# So many draws are tried for figures that are not the notebook's.
TRIES = 10


@dataclass(frozen=True)
class Due:
    """A missed question, when it comes back, and how often it was reviewed and was right since."""

    question_id: str
    when: date
    reviews: int
    step: int

    @functools.cached_property
    def seed(self) -> str:
        """What this review's figures, and the order of its options, are drawn by.

        The figures are not those of the notebook, where there are others.
        """
        written = load_questions()[self.question_id]
        seed, shown = (
            f"{self.question_id}, review {self.reviews}",
            question_page.as_text(written, ""),
        )
        tries = (f"{seed}, again {number}" if number else seed for number in range(TRIES))
        fresh = (
            each
            for each in tries
            if question_page.as_text(written.with_new_figures(each), "") != shown
        )
        return next(fresh, seed) if written.has_new_figures else seed

    @functools.cached_property
    def question(self) -> Question:
        """The question with this review's figures."""
        return load_questions()[self.question_id].with_new_figures(self.seed)

    @property
    def draft(self) -> str:
        """The head of the function that is asked for, which begins an answer; "" for others."""
        return typed_answers.function_head(self.question)

    @property
    def html(self) -> str:
        """The question, what it needs beside it and the answer's format, for a page."""
        return question_page.as_html(self.question, self.seed)

    def __repr__(self):
        return f"{self.question_id}. {question_page.as_text(self.question, self.seed)}"

    def _repr_html_(self):
        return self.html


class NothingDue:
    """Nothing is asked now, and when something will be."""

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
    """Every question that was ever missed and is not yet learned, by when it comes back."""
    missed = {}
    for each in answers.read_answers()[0]:
        before, day = missed.get(each.question), each.time.date()
        if not _is_reviewed(each.question) or not (each.again or before or each.credit < 1):
            continue
        if each.credit == 1 and not each.again:
            # Mending a missed answer in the lecture does not count as a review. But where a
            # question has no other figures, it would be the same question on the next morning.
            if (
                before.when == day + timedelta(days=GAPS[0])
                and not load_questions()[each.question].has_new_figures
            ):
                missed[each.question] = replace(before, when=day + timedelta(days=GAPS[1]))
            continue
        step = before.step + 1 if before and each.credit == 1 else 0
        when = day + timedelta(days=GAPS[step]) if step < len(GAPS) else None
        reviews = each.again or (before.reviews if before else 0)
        missed[each.question] = Due(each.question, when, reviews, step)
    return sorted((due for due in missed.values() if due.when), key=lambda due: due.when)


def _is_reviewed(question_id):
    question = load_questions().get(question_id)
    return question is not None and not question.not_reviewed


def due_now(everything: bool = False) -> list[Due]:
    """The questions that come back today or should have before, those most overdue first.

    Those that were reviewed today already and these are at most MOST, or ``everything`` there is.
    """
    today = date.today()
    found = [due for due in schedule() if due.when <= today]
    if everything:
        return found
    done = {
        each.question
        for each in answers.read_answers()[0]
        if each.again and each.time.date() == today
    }
    return found[: max(MOST_A_DAY - len(done), 0)]


def next_due(skipped: Collection[str] = (), everything: bool = False) -> Due | None:
    """The question that review asks next, without those of the ids ``skipped``; None if none is.

    ``everything`` goes on when a day's questions are done. A page that asks takes of it
    ``question_id``, ``html`` (with the answer's format and what stands beside the question), and
    ``draft``: where it is not "", the answer is a function, for which the page has a box of several
    lines that begins with it. ``answer_text`` takes what is typed.
    """
    return next((due for due in due_now(everything) if due.question_id not in skipped), None)


def answer_text(question_id: str, text: str) -> Grade | None:
    """Judge a text as the answer to a question that is due, keep it, and say when it comes back.

    Gives a Grade: ``verdict.state`` is right, partly or wrong where the answer counts; otherwise,
    as for an empty text or code with a typing error, nothing is kept and the question stays due.
    ``_repr_html_()`` shows it, with the derivation where it was not right. None if the question is
    not due (any more), as in a page that was open for long. A function may take some seconds, in a
    process of its own.
    """
    due = next((due for due in due_now(everything=True) if due.question_id == question_id), None)
    return due and answer_due(due, text)


def review(answer=...):
    """The next missed question that is due, with new figures; with an answer, its judgement.

    A question that was missed comes back after a day, then, while it is answered right, after 3, 7,
    21 and 60 days; a wrong answer starts anew, and shows the derivation. ``python -m roofcheck
    review`` asks the same.
    """
    found = due_now()
    if not found:
        return NothingDue(schedule())
    if answer is ... or answer is None:
        return found[0]
    return answer_due(found[0], answer)


def answer_due(due, answer):
    """Judge the answer to a question that is due, keep it, and say when it comes back: a Grade.

    One that is not right has the derivation of this draw below it.
    """
    question = due.question
    if isinstance(answer, str):
        verdict = typed_answers.judge_text(due.question_id, due.seed, question, answer)
    else:
        verdict = judge_quietly(question.judge, answer)
    if verdict.state not in COUNTING_STATES:
        return Grade(verdict, 0)
    failed = answers.keep_answer(due.question_id, verdict, answer, due.reviews + 1)
    after = [each for each in schedule() if each.question_id == due.question_id]
    said = verdict.with_sentence(failed or _word_return(due.question_id, verdict, after))
    return Grade(said, 0, question if verdict.credit < 1 else None)


def _word_return(question_id, verdict, after):
    """When a question comes back that was just answered; ``after`` is its schedule by now."""
    if not after:
        return sentence("review.done")
    day = after[0].when
    if verdict.credit < 1 and question_id.startswith("l"):
        return sentence("review.lecture", number=int(question_id[1:3]), day=day)
    return sentence("review.again", day=day)
