"""A talk: slides of any lectures, in an order of its own, with a length.

title: Why is my model slow?
minutes: 15
# Each line is the id of the cell that opens a slide.
l01-title
> What is spoken first on the next slide, before its own script.
l01-three
"""

import difflib
import re
from dataclasses import dataclass, replace

from decks import DeckError, Slide


@dataclass(frozen=True)
class Talk:
    """The ids of a talk's slides, with the line each stands on, and the bridges to some."""

    name: str
    title: str
    minutes: float
    ids: dict[str, int]
    bridges: dict[str, str]

    def chosen(self, slides: list[Slide]) -> list[Slide]:
        """The slides it names, in its order; DeckError if one is missing or there is no time."""
        known = {slide.id: slide for slide in slides}
        holders = {cell.id: slide.id for slide in slides for cell in slide.cells}
        for name, line in self.ids.items():
            if name not in holders:
                near = difflib.get_close_matches(name, known, n=3)
                hint = f"; near: {', '.join(near)}" if near else ""
                raise DeckError(
                    f"{self.name}:{line}: no cell of the notebooks is named {name!r}{hint}"
                )
            if name not in known:
                raise DeckError(
                    f"{self.name}:{line}: {name!r} opens no slide; it is part of the slide "
                    f"{holders[name]!r}"
                )
        found = [replace(known[name], bridge=self.bridges.get(name, "")) for name in self.ids]
        needed = sum(slide.seconds for slide in found) / 60
        if needed > self.minutes:
            longest = sorted(found, key=lambda slide: -slide.seconds)[:3]
            raise DeckError(
                f"{self.name}: its {len(found)} slides take {needed:.1f} minutes to speak, more "
                f"than its {self.minutes:g}; the longest are "
                + ", ".join(f"{slide.id} ({slide.seconds / 60:.1f})" for slide in longest)
            )
        return found


def read_talk(name: str, text: str) -> Talk:
    """The talk that a file of this name lists; DeckError if it is no talk."""
    settings: dict[str, str] = {}
    ids: dict[str, int] = {}
    bridges: dict[str, str] = {}
    bridge: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        # A # within a word, such as C#, opens no comment.
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        key, colon, value = line.partition(":")
        if line.startswith(">"):
            bridge.append(line.removeprefix(">").strip())
        elif colon and key.lower() in ("title", "minutes") and key.lower() not in settings:
            settings[key.lower()] = value.strip()
        elif colon or len(line.split()) > 1:
            raise DeckError(
                f"{name}:{number}: {line!r} is neither the id of a slide nor '> spoken words' nor "
                "the only 'title: ...' or 'minutes: ...'"
            )
        elif line in ids:
            raise DeckError(f"{name}:{number}: {line!r} stands in line {ids[line]} already")
        elif line:
            ids[line] = number
            bridges[line], bridge = " ".join(bridge), []
    if bridge:
        raise DeckError(f"{name}: no slide follows the words '> {' '.join(bridge)}'")
    if not settings.get("title"):
        raise DeckError(f"{name}: a talk needs a title, as in 'title: Why is my model slow?'")
    if not re.fullmatch(r"\d+(\.\d+)?", settings.get("minutes", "")):
        given = f", not {settings['minutes']!r}" if "minutes" in settings else ""
        raise DeckError(f"{name}: a talk needs its length as a number{given}: 'minutes: 15'")
    if not ids:
        raise DeckError(f"{name}: no slide is listed; name one by the id of the cell that opens it")
    return Talk(name, settings["title"], float(settings["minutes"]), ids, bridges)
