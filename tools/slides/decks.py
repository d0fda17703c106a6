"""Split a lecture into slides for the audience and notes for the speaker.

A slide starts with a cell of type slide or subslide and ends before the next one. On a slide:

- a `check` becomes a fragment with the answer and its most common slip;
- the code of a figure or a table is hidden until the speaker presses a key;
- notes and the answers to predictions become the speaker's script: [pause] means pause for the
  audience and [click] means click.
"""

import html
import re
from copy import deepcopy
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from roofcheck import find_question
from roofcheck.showing.deck_answer import deck_answer
from roofkit._html import subscript_times
from tools.notebooks.myst_cells import find_call
from tools.sentences import sentence

SLIDE_STARTS = ("slide", "subslide")
LIVE_PICTURE = 'class="live-picture"'
CLICK, PAUSE = "[click]", "[pause]"
WORDS_A_MINUTE = 130
# The space between a number and its unit.
SPACE_BEFORE_UNIT = re.compile(
    r"(?<=[\d⁰¹²³⁴⁵⁶⁷⁸⁹]) (?=(?:[kMGTPmµn]?s|[kMGTP]?B|[kMGTP]?FLOPs?|bits?|bytes?)\b)"
)
# Seconds that the audience needs for a slide, for a question, and for sliders.
LOOKING_SECONDS, THINKING_SECONDS, WATCHING_SECONDS = 15, 45, 90


class DeckError(Exception):
    """A deck cannot be built; the message says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Slide:
    """The cells of a slide.

    In a talk, the script starts with ``before``, and ``instead`` has new notes by cell id.
    """

    cells: list[NotebookNode]
    before: str = ""
    instead: dict[str, str] = field(default_factory=dict)

    @property
    def id(self):
        return self.cells[0].id

    @property
    def spoken_cells(self):
        """Yield (cell id, mark, text) for each part of the script."""
        for cell in self.cells:
            if get_slide_type(cell) == "notes":
                yield cell.id, "", self.instead.get(cell.id, _unfold_details(cell.source))
            elif get_slide_type(cell) == "fragment" or _find_question(cell, "check"):
                yield cell.id, CLICK, ""
            elif question := _find_question(cell, "predict"):
                yield cell.id, PAUSE, self.instead.get(cell.id, _write_answer(question))

    @property
    def script(self):
        """The speaker's script, as Markdown."""
        parts = [self.before, *(f"{mark} {text}".strip() for _, mark, text in self.spoken_cells)]
        return "\n\n".join(filter(None, parts))

    @property
    def words(self):
        """The number of words in the script and on the slide."""
        text = " ".join(
            cell.source
            for cell in self.cells
            if cell.cell_type == "markdown" and get_slide_type(cell) not in ("notes", "skip")
        )
        return count_words(text) + count_words(self.script)

    @property
    def seconds(self):
        """The length of the slide, including time for the audience."""
        checks = sum(bool(_find_question(cell, "check")) for cell in self.cells)
        questions = checks + self.script.count(PAUSE)
        live = sum(LIVE_PICTURE in str(cell.get("outputs")) for cell in self.cells)
        spoken = 60 * self.words / WORDS_A_MINUTE
        return spoken + LOOKING_SECONDS + THINKING_SECONDS * questions + WATCHING_SECONDS * live

    def stage_cells(self, seconds):
        """Return copies of the cells as the deck shows them, timed to take this many seconds."""
        first, *rest = (cell for cell in map(_stage_cell, deepcopy(self.cells)) if cell)
        first.metadata.timing = round(seconds)
        if not self.script:
            return [first, *rest]
        script = new_markdown_cell(self.script, id=f"{self.id}-script")
        script.metadata.slideshow = {"slide_type": "notes"}
        return [first, script, *rest]


def split_slides(lecture):
    """Return a notebook's slides, without the cells above the first slide."""
    slides = []
    for cell in lecture.cells:
        if get_slide_type(cell) in SLIDE_STARTS:
            slides.append(Slide([]))
        if slides:
            slides[-1].cells.append(cell)
    return slides


def get_slide_type(cell):
    return cell.metadata.get("slideshow", {}).get("slide_type", "-")


def count_words(script):
    """Count spoken words; a formula counts as one, a display formula as ten."""
    script = script.replace(CLICK, "").replace(PAUSE, "")
    spoken = re.sub(r"\$\$.+?\$\$", "formula " * 10, script, flags=re.DOTALL)
    spoken = re.sub(r"<[^>]+>", " ", re.sub(r"\$[^$]+\$", "formula", spoken))
    return len(re.findall(r"\w[\w.,/'’-]*", spoken))


def _stage_cell(cell):
    """Return the cell as it appears on the slide, or None if it does not."""
    if question := _find_question(cell, "check"):
        answer = new_markdown_cell(_write_answer(question), id=cell.id)
        answer.metadata = {"slideshow": {"slide_type": "fragment"}, "tags": ["answer"]}
        return answer
    if get_slide_type(cell) in ("notes", "skip"):
        return None
    if cell.cell_type == "markdown":
        cell.source = _keep_quantities_whole(cell.source)
    for output in cell.get("outputs", []):  # the second picture is for phones
        if page := output.get("data", {}).get("text/html"):
            output.data["text/html"] = re.sub("<source [^>]+>|</?picture>", "", page)
            cell.metadata.tags = [*cell.metadata.get("tags", []), "picture"]
    return cell


def _find_question(cell, *calls):
    """Return the id of the question that the cell asks with one of these calls, or ""."""
    call = find_call(cell)
    return call.question if call and call.call in calls else ""


def _write_answer(question):
    answer = deck_answer(find_question(question))
    right = html.escape(answer.answer).rstrip(".")
    key = "deck.answer" if answer.remark else "deck.answer_alone"
    lines = [sentence(key, answer=right, remark=answer.remark)]
    if answer.says and answer.slip:
        lines.append(sentence("deck.slip", slip=html.escape(answer.slip), says=answer.says))
    elif answer.says:
        lines.append(answer.says)
    return _keep_quantities_whole(subscript_times(" ".join(lines)))


def _keep_quantities_whole(source):
    """Keep quantities such as 2 · 10¹² FLOPs on one line, with no-break spaces."""
    source = re.sub(r"(?<=\d) · (?=10)", "\u00a0·\u00a0", source)
    return SPACE_BEFORE_UNIT.sub("\u00a0", source)


def _unfold_details(source):
    """Unfold text for the script; the summary becomes a heading."""
    heading = sentence("deck.folded", summary=r"\1")
    unfolded = re.sub(r"<details><summary>(.*?)</summary>", heading, source)
    return unfolded.replace("</details>", "").strip()
