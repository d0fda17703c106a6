"""The shared templates of feedback pages and of answer pages for self-study.

Each page is one HTML file without scripts or network access.
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
    """Return an environment for templates in these folders, which extend ``page.html.j2``."""
    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]), autoescape=True, undefined=StrictUndefined
    )
    environment.globals |= {"say": sentence, "style": page_style}
    return environment


def page_style() -> Markup:
    """Return the style of a page, with colours for light and dark."""
    return Markup(css_rules(SYSTEM_DARK) + (TEMPLATES / "page.css").read_text(encoding="utf-8"))


def read_sources() -> list[str]:
    """Return the texts of all shared files; a page is out of date if they change."""
    return [path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.iterdir())]


@dataclass(frozen=True)
class Link:
    """The words of a link and its address, or ""."""

    words: str
    address: str = ""


def link_on_site(course: Course, lesson: Lesson) -> Link:
    """Link to a lecture's section on the published pages, if there are any."""
    site = course.term.site
    page = f"{site}/lectures/{Path(_find_lecture(course, lesson).file).stem}.html"
    return Link(
        _name_lesson(course, lesson), f"{page}#{heading_anchor(lesson.heading)}" if site else ""
    )


def link_in_lab(course: Course, lesson: Lesson, lab: str) -> Link:
    """Link to a lecture's cell in JupyterLab, which opens the course folder at ``lab``."""
    file = _find_lecture(course, lesson).file
    return Link(_name_lesson(course, lesson), f"{lab}{file}#cell-id={lesson.cell}")


def heading_anchor(heading: str) -> str:
    """Return the anchor of a heading on the site, as Sphinx makes it.

    >>> heading_anchor("Half-worked: y ← a·x + y")
    'half-worked-y-ax-y'
    """
    plain = unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", plain))


def _find_lecture(course, lesson):
    return next(lecture for lecture in course.lectures if lecture.id == lesson.lecture)


def _name_lesson(course, lesson):
    number = _find_lecture(course, lesson).number
    return sentence("answers.lesson", number=number, heading=lesson.heading)
