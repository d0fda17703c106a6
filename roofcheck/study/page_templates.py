"""The form that pages of answers share: a student's feedback, and answers for who learns alone.

Each is one file that runs nothing and asks no host.
"""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from roofcheck.course import Course, Lesson
from roofcheck.sentences import sentence
from rooflab.palette import SYSTEM_DARK, css_rules

TEMPLATES = Path(__file__).parent / "templates"


def make_environment(*folders: Path) -> Environment:
    """Where templates of these folders are found that build on ``page.html.j2``."""
    made = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]), autoescape=True, undefined=StrictUndefined
    )
    made.globals |= {"say": sentence, "style": page_style}
    return made


def page_style() -> Markup:
    """The style of a page, with the colours of light and dark."""
    return Markup(css_rules(SYSTEM_DARK) + (TEMPLATES / "page.css").read_text(encoding="utf-8"))


def read_sources() -> list[str]:
    """The texts of all that pages share, from which it follows whether one is out of date."""
    return [path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.iterdir())]


@dataclass(frozen=True)
class Link:
    """Words, and the address that they lead to; "" where there is none."""

    words: str
    address: str = ""


def link_on_site(course: Course, lesson: Lesson) -> Link:
    """A lecture's section by name, on the pages that the teacher published, if there are such."""
    site = course.term.site
    page = f"{site}/lectures/{Path(_find_lecture(course, lesson).file).stem}.html"
    return Link(
        _name_lesson(course, lesson), f"{page}#{heading_anchor(lesson.heading)}" if site else ""
    )


def link_in_lab(course: Course, lesson: Lesson, lab: str) -> Link:
    """A lecture's cell in JupyterLab; ``lab`` is where that opens the course's folder."""
    file = _find_lecture(course, lesson).file
    return Link(_name_lesson(course, lesson), f"{lab}{file}#cell-id={lesson.cell}")


def heading_anchor(heading: str) -> str:
    """What a page of the site calls the place of a heading, as Sphinx does.

    >>> heading_anchor("Half-worked: y ← a·x + y")
    'half-worked-y-ax-y'
    """
    plain = unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", plain))


def _find_lecture(course, lesson):
    return next(each for each in course.lectures if each.id == lesson.lecture)


def _name_lesson(course, lesson):
    number = _find_lecture(course, lesson).number
    return sentence("answers.lesson", number=number, heading=lesson.heading)
