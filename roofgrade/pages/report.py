"""Reports a class's mistakes in one set, with the lecture cells to revisit.

It uses the stored results, with the messages of the last run, and ignores refused submissions.
"""

import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from roofgrade.common import safe_files
from roofgrade.common.sentences import sentence
from roofgrade.gradebook.standings import read_counting_results
from roofgrade.pages.lesson_finder import LessonFinder
from roofkit._tables import format_text_table
from rooflab.palette import colour

RIGHT, PARTLY, SLIP, WRONG, MISSING = "right", "partly", "slip", "wrong", "missing"
# Neighbours differ in lightness and hatch, to be told apart in black-and-white print.
STYLES = {
    RIGHT: (colour("right"), ""),
    PARTLY: (colour("partly"), "///"),
    SLIP: (colour("wrong"), ""),
    WRONG: (colour("sky"), "..."),
    MISSING: (colour("missing"), ""),
}
MOST_SLIPS = 3
PICTURES = (".png", ".svg")


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

    @property
    def answers(self):
        """The number of submissions that should have an answer."""
        return sum(self.counts.values())

    def share(self, state):
        """Return the share of answers in a state, from 0 to 1."""
        return self.counts[state] / self.answers


@dataclass(frozen=True)
class Report:
    """A class's mistakes in one set. Its text is a table."""

    assignment: str
    rows: tuple[QuestionRow, ...]

    def __str__(self):
        head = [sentence(f"report.{name}") for name in ("question", "answers", *STYLES)]
        lines = [
            [row.question, str(row.answers), *(f"{row.share(state):.0%}" for state in STYLES)]
            for row in self.rows
        ]
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

    def draw(self):
        """Draw one bar per question, split by state and labelled with the most common mistake."""
        figure = Figure(figsize=(9, 1.2 + 0.42 * len(self.rows)), layout="constrained")
        ax = figure.subplots()
        places = range(len(self.rows))[::-1]
        left = [0.0] * len(self.rows)
        for state, (fill, hatch) in STYLES.items():
            widths = [100 * row.share(state) for row in self.rows]
            ax.barh(
                places, widths, left=left, height=0.7, color=fill, hatch=hatch,
                label=sentence(f"report.{state}"), edgecolor="white", lw=0.6,
            )  # fmt: skip
            left = [before + width for before, width in zip(left, widths, strict=True)]
        for place, row in zip(places, self.rows, strict=True):
            for slip, count in list(row.slips.items())[:1]:
                ax.annotate(
                    sentence("report.commonest", slip=slip, count=count), (100, place), (5, 0),
                    textcoords="offset points", va="center", fontsize=9, annotation_clip=False,
                )  # fmt: skip
        ax.set_yticks(places, [row.question for row in self.rows])
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, 100), xlabel=sentence("report.axis"))
        ax.spines[["top", "right", "left"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=len(STYLES), frameon=False)
        return figure

    def save(self, folder):
        """Save the picture in a folder as PNG and SVG, and return their paths."""
        figure, paths = self.draw(), []
        for kind in PICTURES:
            path = Path(folder) / f"{self.assignment}-report{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(picture := io.BytesIO(), format=kind[1:], dpi=144)
            with safe_files.open_below(path.parent) as opened:
                safe_files.write(opened, path.name, picture.getvalue(), 0o644)
            paths.append(path)
        return paths


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
    return QuestionRow(question, {state: counts[state] for state in STYLES}, slips, cells)


def _classify_answer(answer):
    if answer.state in (RIGHT, PARTLY):
        return answer.state
    if answer.state in ("wrong", "asked"):
        return SLIP if answer.slips else WRONG
    return MISSING
