"""Read a talk, which shows slides from lectures and new slides in a fixed time.

A talk is a TOML file; PRESENTING.md explains how to write one.
"""

import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from nbformat.v4 import new_markdown_cell

from tools.sentences import sentence
from tools.slides.decks import LOOKING_SECONDS, WORDS_A_MINUTE, DeckError, Slide

SLIDE_KEYS = {"id", "text", "before", "instead"}
BY = ("speaker", "event", "date")


@dataclass(frozen=True)
class TalkSlide:
    """A slide of a talk: a lecture's slide, or a new one if it has a ``text``."""

    id: str
    line: int
    text: str = ""
    before: str = ""
    instead: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Talk:
    """The content of a talk's file."""

    name: str
    title: str
    minutes: float
    slides: list[TalkSlide]
    by: str = ""  # speaker, event and date
    address: str = ""

    def choose_slides(self, lecture_slides: list[Slide]) -> list[Slide]:
        """Return the talk's slides. Raises DeckError if one is missing or they take too long."""
        known = {slide.id: slide for slide in lecture_slides}
        chosen = []
        for part in self.slides:
            where = f"{self.name}:{part.line}"
            if part.text:
                cell = new_markdown_cell(part.text, id=part.id)
                cell.metadata.slideshow = {"slide_type": "slide"}
                chosen.append(Slide([cell], part.before))
                continue
            if part.id not in known:
                near = difflib.get_close_matches(part.id, known, n=3)
                hint = f"; did you mean {', '.join(near)}?" if near else ""
                raise DeckError(f"{where}: no slide starts with the cell {part.id!r}{hint}")
            slide = known[part.id]
            speaking = [cell for cell, _, text in slide.spoken_cells if text]
            if wrong := sorted(set(part.instead) - set(speaking)):
                notes = ", ".join(speaking) or "none"
                raise DeckError(
                    f"{where}: the slide {slide.id!r} has no notes in the cell {wrong[0]!r}; "
                    f"its cells with notes: {notes}"
                )
            chosen.append(Slide(slide.cells, part.before, part.instead))
        needed = (LOOKING_SECONDS + sum(slide.seconds for slide in chosen)) / 60
        if needed > self.minutes:
            longest = sorted(chosen, key=lambda slide: -slide.seconds)[:3]
            raise DeckError(
                f"{self.name}: its {len(chosen)} slides take {needed:.1f} minutes, more than "
                f"{self.minutes:g}; the longest are "
                + ", ".join(f"{slide.id} ({slide.seconds / 60:.1f})" for slide in longest)
            )
        return chosen

    def describe_minutes(self, lecture_slides: list[Slide]) -> str:
        """Describe in a sentence how the talk spends its minutes."""
        chosen = self.choose_slides(lecture_slides)
        spoken = sum(slide.words for slide in chosen) / WORDS_A_MINUTE
        needed = (LOOKING_SECONDS + sum(slide.seconds for slide in chosen)) / 60
        times = {"spoken": spoken, "thinking": needed - spoken, "left": self.minutes - needed}
        count = len(chosen)
        return sentence("deck.minutes", name=self.name, slides=count, minutes=self.minutes, **times)


def read_talk_file(path: Path) -> Talk:
    """Read a talk from its file."""
    try:
        return read_talk(path.name, path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise DeckError(f"{path}: save it as UTF-8") from None


def read_talk(name: str, text: str) -> Talk:
    """Read a talk from the text of its file. Raises DeckError, with the line, on an error."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DeckError(f"{name}: this is not TOML: {error}") from None
    title, minutes, tables = (data.get(key) for key in ("title", "minutes", "slide"))
    if unknown := sorted(set(data) - {"title", "minutes", "slide", "address", *BY}):
        keys = f"title, minutes, {', '.join(BY)}, address and [[slide]]"
        raise DeckError(f"{name}: a talk has {keys}, not {unknown[0]!r}")
    if not isinstance(title, str) or not title:
        raise DeckError(f"{name}: a talk needs a title, as in 'title = \"Why is my model slow?\"'")
    if type(minutes) not in (int, float) or not minutes > 0:
        raise DeckError(f"{name}: a talk needs its length as a number, as in 'minutes = 15'")
    if not isinstance(tables, list) or not tables:
        raise DeckError(f"{name}: it has no slides; add [[slide]] with the id of its first cell")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[slide]]"]
    slides: list[TalkSlide] = []
    for line, table in zip(lines, tables, strict=True):
        number = 1 + sum(bool(slide.text) for slide in slides)
        slide = _read_slide(f"{name}:{line}", line, table, number)
        if same := [earlier.line for earlier in slides if earlier.id == slide.id]:
            raise DeckError(f"{name}:{line}: line {same[0]} already has the slide {slide.id!r}")
        slides.append(slide)
    by, address = " · ".join(str(data[key]) for key in BY if key in data), data.get("address", "")
    return Talk(name, title, float(minutes), slides, by, address)


def _read_slide(where: str, line: int, table: dict, number: int) -> TalkSlide:
    if unknown := sorted(set(table) - SLIDE_KEYS):
        raise DeckError(f"{where}: a slide has {', '.join(sorted(SLIDE_KEYS))}, not {unknown[0]!r}")
    if ("id" in table) == ("text" in table):
        raise DeckError(f"{where}: a slide has either the id of a cell or a text of its own")
    instead = table.get("instead", {})
    if not isinstance(instead, dict):
        raise DeckError(f'{where}: write instead.CELL = "what you say", with the id of a cell')
    for key, value in (table | {"instead": ""} | instead).items():
        if not isinstance(value, str):
            raise DeckError(f"{where}: {key} is {value!r}, but must be text in quotes")
    words = {cell: " ".join(text.split()) for cell, text in instead.items()}
    before = " ".join(table.get("before", "").split())
    own_text = table.get("text", "").strip("\n")
    return TalkSlide(table.get("id", f"own-{number}"), line, own_text, before, words)
