"""A talk: slides of any lectures, in an order of its own, with a length.

title: Why is my model slow?
minutes: 15
# Each line is the id of the cell that opens a slide.
l01-title
l01-three
"""

from dataclasses import dataclass

from decks import Slide


class TalkError(Exception):
    """A list that is no talk: says where, and what to do."""


@dataclass(frozen=True)
class Talk:
    """The ids of a talk's slides, with the line each stands on."""

    name: str
    title: str
    minutes: float
    ids: dict[str, int]

    def chosen(self, slides: list[Slide]) -> list[Slide]:
        """The slides it names, in its order; TalkError if one is missing or there is no time."""
        known = {slide.id: slide for slide in slides}
        holders = {cell.id: slide.id for slide in slides for cell in slide.cells}
        for name, line in self.ids.items():
            if name not in holders:
                raise TalkError(f"{self.name}:{line}: no cell of the lectures is named {name!r}")
            if name not in known:
                raise TalkError(
                    f"{self.name}:{line}: {name!r} opens no slide; it is part of the slide "
                    f"{holders[name]!r}"
                )
        found = [known[name] for name in self.ids]
        needed = sum(slide.seconds for slide in found) / 60
        if needed > self.minutes:
            longest = sorted(found, key=lambda slide: -slide.seconds)[:3]
            raise TalkError(
                f"{self.name}: its {len(found)} slides take {needed:.0f} minutes to speak, more "
                f"than its {self.minutes:g}; the longest are "
                + ", ".join(f"{slide.id} ({slide.seconds / 60:.1f})" for slide in longest)
            )
        return found


def read_talk(name: str, text: str) -> Talk:
    """The talk that a file of this name lists; TalkError if it is no talk."""
    settings: dict[str, str] = {}
    ids: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        key, colon, value = line.partition(":")
        if colon and key in ("title", "minutes") and key not in settings:
            settings[key] = value.strip()
        elif colon or len(line.split()) > 1:
            raise TalkError(
                f"{name}:{number}: {line!r} is neither the id of a slide nor the only "
                "'title: ...' or 'minutes: ...'"
            )
        elif line in ids:
            raise TalkError(f"{name}:{number}: {line!r} stands in line {ids[line]} already")
        elif line:
            ids[line] = number
    try:
        minutes = float(settings["minutes"])
    except (KeyError, ValueError):
        minutes = 0
    if not (settings.get("title") and 0 < minutes < float("inf")):
        raise TalkError(
            f"{name}: a talk needs its title and its length, as in 'title: Why is my model slow?' "
            "and 'minutes: 15'"
        )
    if not ids:
        raise TalkError(f"{name}: no slide is listed; name one by the id of the cell that opens it")
    return Talk(name, settings["title"], minutes, ids)
