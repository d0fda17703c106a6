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
from roofcheck.cells import question_call
from roofcheck.showing.deck_answer import deck_answer
from roofkit._html import subscript_times
from tools.sentences import sentence

SLIDE_STARTS = ("slide", "subslide")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CLICK, PAUSE = "▶", "⏸"
WORDS_A_MINUTE = 130
# The space between a number and its unit.
SPACE_BEFORE_UNIT = re.compile(
    r"(?<=[\d⁰¹²³⁴⁵⁶⁷⁸⁹]) (?=(?:[kMGTPmµn]?s|[kMGTP]?B|[kMGTP]?FLOPs?|bits?|bytes?)\b)"
)
# Seconds that the room needs: to look at a slide, to think about a question, to watch sliders.
LOOKING_SECONDS, THINKING_SECONDS, WATCHING_SECONDS = 15, 45, 90


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
    def spoken_cells(self):
        """What is said and by which cell, in order; with a mark where the room has its part."""
        for cell in self.cells:
            if slide_type(cell) == "notes":
                yield cell.id, "", self.instead.get(cell.id, _unfold_details(cell.source))
            elif slide_type(cell) == "fragment" or _asked_question(cell, "check"):
                yield cell.id, CLICK, ""
            elif question := _asked_question(cell, "predict"):
                yield cell.id, PAUSE, self.instead.get(cell.id, _answer_text(question))

    @property
    def script(self):
        """What the speaker says, as Markdown."""
        parts = [self.before, *(f"{mark} {text}".strip() for _, mark, text in self.spoken_cells)]
        return "\n\n".join(filter(None, parts))

    @property
    def words(self):
        """How many words the speaker says: the script, and the text of the slide."""
        text = " ".join(
            cell.source
            for cell in self.cells
            if cell.cell_type == "markdown" and slide_type(cell) not in ("notes", "skip")
        )
        return count_words(text) + count_words(self.script)

    @property
    def seconds(self):
        """How long the slide takes: its words, and time for the room."""
        checks = sum(bool(_asked_question(cell, "check")) for cell in self.cells)
        questions = checks + self.script.count(PAUSE)
        live = sum(WIDGET_VIEW in data for cell in self.cells for data in _output_types(cell))
        spoken = 60 * self.words / WORDS_A_MINUTE
        return spoken + LOOKING_SECONDS + THINKING_SECONDS * questions + WATCHING_SECONDS * live

    def stage_cells(self, seconds):
        """The cells as the deck shows them; the presenter's clock gives them so many seconds."""
        opening, *rest = (cell for cell in map(_cell_on_slide, deepcopy(self.cells)) if cell)
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
        if slide_type(cell) in SLIDE_STARTS:
            slides.append(Slide([]))
        if slides:
            slides[-1].cells.append(cell)
    return slides


def slide_type(cell):
    return cell.metadata.get("slideshow", {}).get("slide_type", "-")


def count_words(script):
    """How many words are spoken; a formula counts as one, a line of formulas as ten."""
    spoken = re.sub(r"\$\$.+?\$\$", "formula " * 10, script, flags=re.DOTALL)
    spoken = re.sub(r"<[^>]+>", " ", re.sub(r"\$[^$]+\$", "formula", spoken))
    return len(re.findall(r"\w[\w.,/'’-]*", spoken))


def _cell_on_slide(cell):
    """The cell as it stands on the slide; None if it does not."""
    if question := _asked_question(cell, "check"):
        answer = new_markdown_cell(_answer_text(question), id=cell.id)
        answer.metadata = {"slideshow": {"slide_type": "fragment"}, "tags": ["answer"]}
        return answer
    if slide_type(cell) in ("notes", "skip"):
        return None
    if cell.cell_type == "markdown":
        cell.source = _keep_quantities_whole(cell.source)
    if any({WIDGET_VIEW, "text/html"} & data for data in _output_types(cell)):
        cell.metadata.tags = [*cell.metadata.get("tags", []), "picture"]
    return cell


def _output_types(cell):
    """The kinds of data of each output."""
    return (set(output.get("data", ())) for output in cell.get("outputs", []))


def _asked_question(cell, *calls):
    """The id of the question that the cell asks by one of these calls, if it is such a cell."""
    found = question_call(cell.source) if cell.cell_type == "code" else None
    return found.question if found and found.call in calls else ""


def _answer_text(question):
    told = deck_answer(find_question(question))
    right = html.escape(told.answer).rstrip(".")
    key = "deck.answer" if told.remark else "deck.answer_alone"
    lines = [sentence(key, answer=right, remark=told.remark)]
    if told.says and told.slip:
        lines.append(sentence("deck.slip", slip=html.escape(told.slip), says=told.says))
    elif told.says:
        lines.append(told.says)
    return _keep_quantities_whole(subscript_times(" ".join(lines)))


def _keep_quantities_whole(source):
    """Text in which no line ends within a quantity such as 2 · 10¹² FLOPs."""
    source = re.sub(r"(?<=\d) · (?=10)", "\u00a0·\u00a0", source)
    return SPACE_BEFORE_UNIT.sub("\u00a0", source)


def _unfold_details(source):
    """Folded text as the speaker reads it: a summary is no more than a heading."""
    unfolded = re.sub(
        r"<details><summary>(.*?)</summary>",
        lambda found: sentence("deck.folded", summary=found[1]),
        source,
    )
    return unfolded.replace("</details>", "").strip()
