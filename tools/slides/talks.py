"""A talk: slides of any lectures and slides of its own, in an order of its own, with a length.

title: Why is my model slow?
minutes: 15
# Each line is the id of the cell that opens a slide.
l01-title
> What is spoken first on the next slide, before its own script.
l01-three
l01-kitchen = What is spoken on the slide above in place of the notes in this cell;
= as long as you like. With nothing after the =, these notes are left out.

| ## A slide of the talk's own
|
| - Markdown, up to the next line that does not begin with |
"""

import difflib
import re
from dataclasses import dataclass, field

from nbformat.v4 import new_markdown_cell

from tools.slides.decks import LOOKING, WORDS_A_MINUTE, DeckError, Slide

OWN_WORDS = re.compile(r"([\w-]+)\s*=(?:\s+(.*)|$)")


@dataclass
class Part:
    """A slide of a talk: its id, or its text if it is the talk's own, and the words for it."""

    line: int
    id: str
    text: list[str] = field(default_factory=list)
    bridge: str = ""
    own: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Talk:
    """What the file of a talk says."""

    name: str
    title: str
    minutes: float
    parts: list[Part]

    def chosen(self, slides: list[Slide]) -> list[Slide]:
        """The slides it names, in its order; DeckError if one is missing or there is no time."""
        known = {slide.id: slide for slide in slides}
        holders = {cell.id: slide.id for slide in slides for cell in slide.cells}
        found = []
        for part in self.parts:
            if part.text:
                cell = new_markdown_cell("\n".join(part.text), id=part.id)
                cell.metadata.slideshow = {"slide_type": "slide"}
                found.append(Slide([cell], part.bridge))
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
            speaking = [cell for cell, _, text in slide.said if text]
            for cell, line in part.lines.items():
                if cell not in speaking:
                    there = f"by {', '.join(speaking)}" if speaking else "nothing"
                    raise DeckError(
                        f"{self.name}:{line}: on the slide {slide.id!r} nothing is said by "
                        f"{cell!r}; said there is {there}"
                    )
            found.append(Slide(slide.cells, part.bridge, part.own))
        needed = (LOOKING + sum(slide.seconds for slide in found)) / 60
        if needed > self.minutes:
            longest = sorted(found, key=lambda slide: -slide.seconds)[:3]
            raise DeckError(
                f"{self.name}: its {len(found)} slides take {needed:.1f} minutes to speak, more "
                f"than its {self.minutes:g}; the longest are "
                + ", ".join(f"{slide.id} ({slide.seconds / 60:.1f})" for slide in longest)
            )
        return found

    def reckoning(self, slides: list[Slide]) -> str:
        """How its minutes are spent, in a sentence."""
        found = self.chosen(slides)
        spoken = sum(slide.words for slide in found) / WORDS_A_MINUTE
        needed = (LOOKING + sum(slide.seconds for slide in found)) / 60
        return (
            f"{self.name}: {len(found)} slides; of {self.minutes:g} minutes the words take "
            f"{spoken:.0f}, the room's looking and thinking {needed - spoken:.0f}, and "
            f"{self.minutes - needed:.0f} are left for questions"
        )


def read_talk(name: str, text: str) -> Talk:
    """The talk that a file of this name lists; DeckError if it is no talk."""
    settings: dict[str, str] = {}
    parts: list[Part] = []
    bridge: list[str] = []
    # The slide of its own and the words of its own that the next line may go on with.
    open_slide, open_words = None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|"):
            if not open_slide:
                own = sum(bool(part.text) for part in parts) + 1
                open_slide = Part(number, f"own-{own}", bridge=" ".join(bridge))
                parts.append(open_slide)
                bridge = []
            open_slide.text.append(line.removeprefix("|").removeprefix(" "))
            continue
        open_slide = None
        # A # within a word, such as C#, opens no comment.
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        key, colon, value = line.partition(":")
        if line.startswith("=") and open_words:
            said = parts[-1].own
            said[open_words] = f"{said[open_words]} {line[1:].strip()}".strip()
            continue
        open_words = ""
        if line.startswith(">"):
            bridge.append(line.removeprefix(">").strip())
        elif (named := OWN_WORDS.fullmatch(line)) and parts and not bridge:
            open_words = named[1]
            parts[-1].own[open_words] = named[2] or ""
            parts[-1].lines[open_words] = number
        elif colon and key.lower() in ("title", "minutes") and key.lower() not in settings:
            settings[key.lower()] = value.strip()
        elif colon or len(line.split()) > 1:
            raise DeckError(
                f"{name}:{number}: {line!r} is neither the id of a slide nor '> spoken words' nor "
                "'CELL = words in place of its notes', below its slide, nor "
                "the only 'title: ...' or 'minutes: ...'"
            )
        elif line and (twice := [part.line for part in parts if part.id == line]):
            raise DeckError(f"{name}:{number}: {line!r} stands in line {twice[0]} already")
        elif line:
            parts.append(Part(number, line, bridge=" ".join(bridge)))
            bridge = []
    if bridge:
        raise DeckError(f"{name}: no slide follows the words '> {' '.join(bridge)}'")
    if not settings.get("title"):
        raise DeckError(f"{name}: a talk needs a title, as in 'title: Why is my model slow?'")
    if not re.fullmatch(r"\d+(\.\d+)?", settings.get("minutes", "")):
        given = f", not {settings['minutes']!r}" if "minutes" in settings else ""
        raise DeckError(f"{name}: a talk needs its length as a number{given}: 'minutes: 15'")
    if not parts:
        raise DeckError(f"{name}: no slide is listed; name one by the id of the cell that opens it")
    return Talk(name, settings["title"], float(settings["minutes"]), parts)
