"""A lecture as the slides of a deck: what the room sees, and what the speaker says.

A slide begins with a cell of type slide or subslide and ends before the next. On it

- a `check` becomes a fragment: the answer, and the slip it is most often missed by;
- a cell that shows a figure or a table has its code hidden; a key lays it over the slide;
- notes and the answers to predictions become one script for the speaker: ⏸ stands where the
  room is asked, ▶ where a click shows more.
"""

import html
import re
from copy import deepcopy
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from roofcheck import find_question
from roofcheck.cells import asked
from roofcheck.showing.worked import worked
from roofkit._html import quantities
from tools.sentences import say

OPENS = ("slide", "subslide")
VIEW = "application/vnd.jupyter.widget-view+json"
CLICK, PAUSE = "▶", "⏸"
WORDS_A_MINUTE = 130
# The space between a number and its unit.
UNIT = re.compile(
    r"(?<=[\d⁰¹²³⁴⁵⁶⁷⁸⁹]) (?=(?:[kMGTPmµn]?s|[kMGTP]?B|[kMGTP]?FLOPs?|bits?|bytes?)\b)"
)
# Seconds that the room needs: to look at a slide, to think about a question, to watch sliders.
LOOKING, THINKING, WATCHING = 15, 45, 90


class DeckError(Exception):
    """No deck can be made; the message says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Slide:
    """The cells of a slide, the one that opens it first.

    In a talk, ``before`` is said first, and ``instead`` replaces the notes of some cells, by id.
    """

    cells: list[NotebookNode]
    before: str = ""
    instead: dict[str, str] = field(default_factory=dict)

    @property
    def id(self):
        return self.cells[0].id

    @property
    def said(self):
        """What is said and by which cell, in order; with a mark where the room has its part."""
        for cell in self.cells:
            if slide_type(cell) == "notes":
                yield cell.id, "", self.instead.get(cell.id, _unfolded(cell.source))
            elif slide_type(cell) == "fragment" or _asked(cell, "check"):
                yield cell.id, CLICK, ""
            elif question := _asked(cell, "predict"):
                yield cell.id, PAUSE, self.instead.get(cell.id, _answer(question))

    @property
    def script(self):
        """What the speaker says, as Markdown."""
        parts = [self.before, *(f"{mark} {text}".strip() for _, mark, text in self.said)]
        return "\n\n".join(filter(None, parts))

    @property
    def words(self):
        """How many words the speaker says: the script, and the text of the slide."""
        text = " ".join(
            cell.source
            for cell in self.cells
            if cell.cell_type == "markdown" and slide_type(cell) not in ("notes", "skip")
        )
        return words(text) + words(self.script)

    @property
    def seconds(self):
        """How long the slide takes: its words, and time for the room."""
        checks = sum(bool(_asked(cell, "check")) for cell in self.cells)
        questions = checks + self.script.count(PAUSE)
        live = sum(VIEW in data for cell in self.cells for data in _data(cell))
        spoken = 60 * self.words / WORDS_A_MINUTE
        return spoken + LOOKING + THINKING * questions + WATCHING * live

    def staged(self, seconds):
        """The cells as the deck shows them; the presenter's clock gives them so many seconds."""
        opening, *rest = (cell for cell in map(_shown, deepcopy(self.cells)) if cell)
        opening.metadata.timing = round(seconds)
        if not self.script:
            return [opening, *rest]
        script = new_markdown_cell(self.script, id=f"{self.id}-script")
        script.metadata.slideshow = {"slide_type": "notes"}
        return [opening, script, *rest]


def slides_of(lecture):
    """The slides of a notebook that has run; what stands before the first is on none."""
    slides = []
    for cell in lecture.cells:
        if slide_type(cell) in OPENS:
            slides.append(Slide([]))
        if slides:
            slides[-1].cells.append(cell)
    return slides


def slide_type(cell):
    return cell.metadata.get("slideshow", {}).get("slide_type", "-")


def words(script):
    """How many words are spoken; a formula counts as one, a line of formulas as ten."""
    spoken = re.sub(r"\$\$.+?\$\$", "formula " * 10, script, flags=re.DOTALL)
    spoken = re.sub(r"<[^>]+>", " ", re.sub(r"\$[^$]+\$", "formula", spoken))
    return len(re.findall(r"\w[\w.,/'’-]*", spoken))


def _shown(cell):
    """The cell as it stands on the slide; None if it does not."""
    if question := _asked(cell, "check"):
        answer = new_markdown_cell(_answer(question), id=cell.id)
        answer.metadata = {"slideshow": {"slide_type": "fragment"}, "tags": ["answer"]}
        return answer
    if slide_type(cell) in ("notes", "skip"):
        return None
    if cell.cell_type == "markdown":
        cell.source = _unbroken(cell.source)
    if any({VIEW, "text/html"} & data for data in _data(cell)):
        cell.metadata.tags = [*cell.metadata.get("tags", []), "picture"]
    return cell


def _data(cell):
    """The kinds of data of each output."""
    return (set(output.get("data", ())) for output in cell.get("outputs", []))


def _asked(cell, *calls):
    """The id of the question that the cell asks by one of these calls, if it is such a cell."""
    found = asked(cell.source) if cell.cell_type == "code" else None
    return found.question if found and found.call in calls else ""


def _answer(question):
    told = worked(find_question(question))
    right = html.escape(told.answer).rstrip(".")
    sentence = "deck.answer" if told.remark else "deck.answer_alone"
    lines = [say(sentence, answer=right, remark=told.remark)]
    if told.says and told.slip:
        lines.append(say("deck.slip", slip=html.escape(told.slip), says=told.says))
    elif told.says:
        lines.append(told.says)
    return _unbroken(quantities(" ".join(lines)))


def _unbroken(source):
    """Text in which no line ends within a quantity such as 2 · 10¹² FLOPs."""
    source = re.sub(r"(?<=\d) · (?=10)", "\u00a0·\u00a0", source)
    return UNIT.sub("\u00a0", source)


def _unfolded(source):
    """Folded text as the speaker reads it: a summary is no more than a heading."""
    unfolded = re.sub(
        r"<details><summary>(.*?)</summary>",
        lambda found: say("deck.folded", summary=found[1]),
        source,
    )
    return unfolded.replace("</details>", "").strip()
