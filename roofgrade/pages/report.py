"""Reports a class's mistakes in one set, with the lecture cells to revisit.

It uses the stored results, with the messages of the last run, and ignores refused submissions.
"""

from collections import Counter
from dataclasses import dataclass, field

from roofgrade.common.sentences import sentence
from roofgrade.gradebook.standings import read_counting_results
from roofgrade.pages.lesson_finder import LessonFinder
from roofkit._tables import format_text_table

STATES = RIGHT, PARTLY, SLIP, WRONG, MISSING = "right", "partly", "slip", "wrong", "missing"
MOST_SLIPS = 3


@dataclass(frozen=True)
class QuestionRow:
    """A question with the counts of its answers, its known mistakes, and the lessons on them.

    ``counts`` has right, partly, slip (a known mistake), wrong (unexplained) and missing. ``slips``
    are in order of frequency. A partly right answer can also have a slip.
    """

    question: str
    counts: dict[str, int]
    slips: dict[str, int] = field(default_factory=dict)
    lessons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """A class's mistakes in one set. Its text is a table."""

    assignment: str
    rows: tuple[QuestionRow, ...]

    def __str__(self):
        head = [sentence(f"report.{name}") for name in ("question", "answers", *STATES)]
        lines = []
        for row in self.rows:
            answers = sum(row.counts.values())
            shares = (f"{row.counts[state] / answers:.0%}" for state in STATES)
            lines.append([row.question, str(answers), *shares])
        counts = format_text_table(head, [""] * len(head), lines)
        slips = [
            [f"{row.question}  {slip}", str(made), row.lessons[slip]]
            for row in self.rows
            for slip, made in list(row.slips.items())[:MOST_SLIPS]
        ]
        if not slips:
            return counts
        head = [sentence(f"report.{name}") for name in ("slips", "made_by", "taught_in")]
        return f"{counts}\n\n{format_text_table(head, [''] * len(head), slips)}"


def make_report(course, assignment):
    """Return the Report of a set. Raises ValueError if no stored result has answers."""
    answers = {}
    for result in read_counting_results(course, assignment).values():
        for answer in result.answers.values():
            if answer.reply is not None or answer.slips:  # otherwise a crash left it unjudged
                answers.setdefault(answer.question, []).append(answer)
    if not answers:
        where = course.grading / assignment
        raise ValueError(sentence("report.nothing_kept", assignment=assignment, folder=where))
    lessons = LessonFinder(course.root)
    return Report(assignment, tuple(_make_row(*item, lessons) for item in answers.items()))


def _make_row(question, answers, lessons):
    counts = Counter(map(_classify_answer, answers))
    # A function that is still empty is a missing answer, not a mistake.
    wrong = [a for a in answers if a.credit < 1 and _classify_answer(a) != MISSING]
    frequencies = Counter(slip for answer in wrong for slip in set(answer.slips))
    slips = dict(sorted(frequencies.items(), key=lambda item: (-item[1], item[0])))
    cells = {slip: lessons.find_cell(question, slip) for slip in slips}
    return QuestionRow(question, {state: counts[state] for state in STATES}, slips, cells)


def _classify_answer(answer):
    if answer.state in (RIGHT, PARTLY):
        return answer.state
    if answer.state in ("wrong", "asked"):
        return SLIP if answer.slips else WRONG
    return MISSING
