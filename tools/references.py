"""What the script of a talk refers to and the room has not seen: told to whoever makes the talk.

A script is the notes of its slides, written for a reader who has the whole lecture. In a talk they
may lean on a slide that was left out. Three kinds of leaning are found:

- a word for the course itself, as in "lecture 4", "the next lecture", "problem set 2";
- a term of ``course/terms.toml`` that is shown or spoken before a cell that says what it means, or
  words of the talk's own that have it in *italics*;
- a figure of three or more digits that the lecture has from a slide that was left out.

Of what the talk itself says, bridges, its own words and its own slides, figures of two or more
digits are found if no slide so far has them, so they are noticed when a lecture's figures change.
Whole numbers up to 16 are free, as in a lecture.

Not found is what is referred to without such a word: "as before", "the opening layer", "the rule".
A figure that is spoken where the lecture speaks it first needs no slide.
"""

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from decks import Slide, slide_type
from talks import Talk

TERMS = Path(__file__).resolve().parents[1] / "course/terms.toml"
COURSE = re.compile(
    r"\b(?:(?:(?:the|last|next|first|second|previous) )?lectures?\b(?: \d+)?"
    r"|problem sets?|homework|warm-up|exercises?|notebooks?)\b",
    re.IGNORECASE,
)
# 8,755 and 4.125; not the digits of v5e, W4A16, 40GB or 10¹².
NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|,\d{3}|\.\d)")
# What words of a talk's own explain.
STRESSED = re.compile(r"\*([^*\n]+)\*").findall
# Of seconds, ms, µs; of TB, GB, MB.
SCALES = (-9, -6, -3, 0, 3, 6, 9)


@dataclass(frozen=True)
class Term:
    """A term, the pattern by which it is spoken, and the cells that say what it means."""

    name: str
    spoken: re.Pattern
    cells: list[str]


@dataclass(frozen=True)
class Figure:
    """A number as it is written."""

    written: str

    @property
    def value(self):
        return float(self.written.replace(",", ""))

    @property
    def digits(self):
        """How many of its digits say something: 3 of 4.25 and of 8,760, 1 of 500."""
        digits = self.written.replace(",", "").lstrip("0.")
        return len(digits.replace(".", "") if "." in digits else digits.rstrip("0"))

    def says_more_than(self, count):
        """Whether it is more than a round figure, or a number of things up to so many."""
        return self.digits >= 2 and not ("." not in self.written and self.value <= count)

    @property
    def unit(self):
        """What one of its last digit is worth."""
        return 10.0 ** -len(self.written.partition(".")[2])

    def is_one_of(self, others, powers=(0,), within=0.5):
        """Whether it is one of these, rounded, times one of these powers of ten."""
        for other in others:
            for scale in (10.0**power for power in powers):
                # 48 rounds 47.8, and 240.5 may be what was told as 240, but 4.125 is not 4.
                unit = max(self.unit, scale * other.unit if other.digits >= 3 else 0)
                if abs(self.value - scale * other.value) <= within * unit * 1.0001:
                    return True
        return False


def figures(text):
    """The figures of a text that may be looked for elsewhere."""
    return [Figure(number) for number in NUMBER.findall(text)]


def read_terms(path=TERMS):
    """The terms of the course."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Term(name, re.compile(each["spoken"]), each["cells"]) for name, each in listed.items()]


@dataclass(frozen=True)
class Saying:
    """What a cell says in a talk, and where.

    ``own`` if the words are the talk's, ``free`` if they may also name a lecture.
    """

    where: str
    text: str
    own: bool = False
    free: bool = False
    notes: bool = False
    replaced: str = ""


def left_out(talk: Talk, slides: list[Slide], terms: list[Term]) -> list[str]:
    """What the talk refers to before it is seen, in a sentence each."""
    chosen = talk.chosen(slides)
    taken = {slide.id for slide in chosen}
    seen, explained, found = [], set(), []
    for part, slide in zip(talk.parts, chosen, strict=True):
        sayings = list(_sayings(talk.name, part, slide))
        lacking = [each for each in _before(slide, slides) if each.id not in taken]
        found += _of_the_course(sayings)
        explained |= {cell.id for cell in slide.cells} - set(slide.own)
        found += _unexplained(sayings, terms, explained)
        found += _unseen(sayings, slide, seen, lacking)
        seen += _figures_on(slide) + figures(slide.bridge)
    return found


def _sayings(name, part, slide):
    """What is said on a slide of a talk, the slide's own text first."""
    here = f"{name}:{part.line}: "
    ours = bool(part.text)
    yield Saying(f"{here}the slide {slide.id}", " ".join(slide.shown), own=ours, free=ours)
    yield Saying(f"{here}what is said before {slide.id}", slide.bridge, own=True, free=ours)
    notes = {cell.id for cell in slide.cells if slide_type(cell) == "notes"}
    for (cell, _, text), (_, _, old) in zip(slide.said, replace(slide, own={}).said, strict=True):
        where = f"{name}:{part.lines.get(cell, part.line)}: {cell} on {slide.id}"
        if cell in slide.own:
            yield Saying(where, text, own=True, free=True, replaced=old)
        else:
            yield Saying(where, text, notes=cell in notes)


def _of_the_course(sayings):
    for said in sayings:
        if not said.free:
            for word in dict.fromkeys(match[0] for match in COURSE.finditer(said.text)):
                yield f"{said.where} speaks of {word.strip()!r}"


def _unexplained(sayings, terms, explained):
    """The terms used before a cell that explains them; ``explained`` grows by those."""
    stressed = " ".join(match for said in sayings if said.own for match in STRESSED(said.text))
    for term in terms:
        if term.spoken.search(stressed):
            explained.update(term.cells)
        for said in sayings:
            if term.spoken.search(said.text) and explained.isdisjoint(term.cells):
                explained.update(term.cells)
                yield f"{said.where} uses {term.name}, explained in {' or '.join(term.cells)}"


def _unseen(sayings, slide, seen, lacking):
    """The figures that stand on no slide so far, and had to."""
    sources = [(each.id, [f for f in _figures_on(each) if f.digits >= 3]) for each in lacking]
    for said in sayings:
        known = seen + figures(said.replaced)
        if not sayings[0].own:
            others = [each.text for each in sayings if each is not said]
            known += figures(" ".join([*others, *slide.pictured]))
        for figure in dict.fromkeys(figures(said.text)):
            if figure.is_one_of(known, SCALES):
                continue
            if said.own and figure.says_more_than(16):
                yield f"{said.where} has {figure.written}, which no slide so far has"
            elif said.notes and figure.digits >= 3:
                for source, others in sources:
                    if figure.is_one_of(others, within=1):
                        yield f"{said.where} has {figure.written}, which stands on {source}"
                        break


def _figures_on(slide):
    said = (text for _, _, text in slide.said)
    return figures(" ".join([*slide.shown, *slide.pictured, *said]))


def _before(slide, slides):
    """What its lecture has before a slide."""
    lecture = slide.id.partition("-")[0]
    for each in slides:
        if each.id == slide.id:
            return
        if each.id.partition("-")[0] == lecture:
            yield each
