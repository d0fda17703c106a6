"""A talk: slides of any lectures and slides of its own, in an order of its own, with a length.

A talk is a TOML file:

    title = "Why is my model slow?"
    minutes = 15

    [[slide]]
    id = "l01-title"         # the cell that opens the slide

    [[slide]]
    before = "What you say first."
    id = "l01-three"
    instead.l01-kitchen = "What you say instead of this cell's notes; nothing if empty."

    [[slide]]
    text = '## A slide of your own, in Markdown'
"""

import difflib
import tomllib
from dataclasses import dataclass, field

from nbformat.v4 import new_markdown_cell

from tools.slides.decks import LOOKING_SECONDS, WORDS_A_MINUTE, DeckError, Slide

SLIDE_KEYS = {"id", "text", "before", "instead"}


@dataclass(frozen=True)
class TalkSlide:
    """A slide of a talk: its id, the text of a slide of the talk's own, and what is said on it.

    ``before`` leads to the slide; ``instead`` replaces the notes of some of its cells, by cell id.
    """

    id: str
    line: int
    text: str = ""
    before: str = ""
    instead: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Talk:
    """What the file of a talk says."""

    name: str
    title: str
    minutes: float
    slides: list[TalkSlide]

    def choose_slides(self, lecture_slides: list[Slide]) -> list[Slide]:
        """The slides it names, in its order; DeckError if one is missing or there is no time."""
        known = {slide.id: slide for slide in lecture_slides}
        holders = {cell.id: slide.id for slide in lecture_slides for cell in slide.cells}
        chosen = []
        for part in self.slides:
            if part.text:
                cell = new_markdown_cell(part.text, id=part.id)
                cell.metadata.slideshow = {"slide_type": "slide"}
                chosen.append(Slide([cell], part.before))
                continue
            if part.id not in holders:
                near = difflib.get_close_matches(part.id, known, n=3)
                hint = f"; near: {', '.join(near)}" if near else ""
                raise DeckError(
                    f"{self.name}:{part.line}: no cell of the notebooks is named {part.id!r}{hint}"
                )
            if part.id not in known:
                raise DeckError(
                    f"{self.name}:{part.line}: {part.id!r} opens no slide; it is part of the slide "
                    f"{holders[part.id]!r}"
                )
            slide = known[part.id]
            speaking = [cell for cell, _, text in slide.spoken_cells if text]
            for cell in part.instead:
                if cell not in speaking:
                    there = f"by {', '.join(speaking)}" if speaking else "nothing"
                    raise DeckError(
                        f"{self.name}:{part.line}: on the slide {slide.id!r} nothing is said by "
                        f"{cell!r}; said there is {there}"
                    )
            chosen.append(Slide(slide.cells, part.before, part.instead))
        needed = (LOOKING_SECONDS + sum(slide.seconds for slide in chosen)) / 60
        if needed > self.minutes:
            longest = sorted(chosen, key=lambda slide: -slide.seconds)[:3]
            raise DeckError(
                f"{self.name}: its {len(chosen)} slides take {needed:.1f} minutes to speak, more "
                f"than its {self.minutes:g}; the longest are "
                + ", ".join(f"{slide.id} ({slide.seconds / 60:.1f})" for slide in longest)
            )
        return chosen

    def describe_minutes(self, lecture_slides: list[Slide]) -> str:
        """One sentence on how the minutes are spent."""
        chosen = self.choose_slides(lecture_slides)
        spoken = sum(slide.words for slide in chosen) / WORDS_A_MINUTE
        needed = (LOOKING_SECONDS + sum(slide.seconds for slide in chosen)) / 60
        return (
            f"{self.name}: {len(chosen)} slides; of {self.minutes:g} minutes the words take "
            f"{spoken:.0f}, the room's looking and thinking {needed - spoken:.0f}, and "
            f"{self.minutes - needed:.0f} are left for questions"
        )


def read_talk(name: str, text: str) -> Talk:
    """The talk in a TOML file of this name. Raises DeckError, with the line, if it is none."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DeckError(f"{name}: this is not TOML: {error}") from None
    if unknown := sorted(set(data) - {"title", "minutes", "slide"}):
        raise DeckError(f"{name}: a talk has title, minutes and [[slide]], not {unknown[0]!r}")
    if not isinstance(data.get("title"), str) or not data["title"]:
        raise DeckError(f"{name}: a talk needs a title, as in 'title = \"Why is my model slow?\"'")
    if type(data.get("minutes")) not in (int, float) or not data["minutes"] > 0:
        raise DeckError(f"{name}: a talk needs its length as a number: 'minutes = 15'")
    tables = data.get("slide")
    if not isinstance(tables, list) or not tables:
        raise DeckError(f"{name}: no slide is listed; add [[slide]] with the id of its first cell")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[slide]]"]
    slides: list[TalkSlide] = []
    for line, table in zip(lines, tables, strict=True):
        where = f"{name}:{line}"
        if unknown := sorted(set(table) - SLIDE_KEYS):
            raise DeckError(
                f"{where}: a slide has {', '.join(sorted(SLIDE_KEYS))}, not {unknown[0]!r}"
            )
        if ("id" in table) == ("text" in table):
            raise DeckError(f"{where}: a slide has either the id of a cell or a text of its own")
        table = {"id": f"own-{1 + sum(bool(each.text) for each in slides)}"} | table
        instead = table.get("instead", {})
        if not isinstance(instead, dict):
            raise DeckError(f'{where}: write instead.CELL = "what you say", with a cell\'s id')
        fields = {key: value for key, value in table.items() if key != "instead"} | instead
        for key, value in fields.items():
            if not isinstance(value, str):
                raise DeckError(f"{where}: {key} is {value!r}, and must be text in quotes")
        if twice := [each.line for each in slides if each.id == table["id"]]:
            raise DeckError(f"{where}: {table['id']!r} is already the slide of line {twice[0]}")
        words = {cell: " ".join(said.split()) for cell, said in instead.items()}
        before = " ".join(table.get("before", "").split())
        text_of_slide = table.get("text", "").strip("\n")
        slides.append(TalkSlide(table["id"], line, text_of_slide, before, words))
    return Talk(name, data["title"], float(data["minutes"]), slides)
