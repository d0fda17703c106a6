"""The templates shared by feedback pages and self-study answer pages.

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
    """Return a Jinja environment for templates in these folders that extend ``page.html.j2``."""
    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]), autoescape=True, undefined=StrictUndefined
    )
    environment.globals |= {"say": sentence, "style": page_style}
    return environment


def page_style() -> Markup:
    """Return the CSS of a page, with light and dark colours."""
    return Markup(css_rules(SYSTEM_DARK) + (TEMPLATES / "page.css").read_text(encoding="utf-8"))


def read_sources() -> list[str]:
    """Return the contents of all shared files; if they change, pages are out of date."""
    return [path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.iterdir())]


@dataclass(frozen=True)
class Link:
    """A link's text and its URL, or ""."""

    words: str
    address: str = ""


def link_on_site(course: Course, lesson: Lesson) -> Link:
    """Return a link to a lecture's section on the published pages, if there are any."""
    site, lecture = course.term.site, _find_lecture(course, lesson)
    address = f"{site}/lectures/{Path(lecture.file).stem}.html#{heading_anchor(lesson.heading)}"
    return Link(_name_lesson(lecture, lesson), address if site else "")


def link_in_lab(course: Course, lesson: Lesson, lab: str) -> Link:
    """Return a link to a lecture's cell in JupyterLab, which opens the course folder at ``lab``."""
    lecture = _find_lecture(course, lesson)
    return Link(_name_lesson(lecture, lesson), f"{lab}{lecture.file}#cell-id={lesson.cell}")


def heading_anchor(heading: str) -> str:
    """Return the anchor that Sphinx gives a heading on the site.

    >>> heading_anchor("Half-worked: y ← a·x + y")
    'half-worked-y-ax-y'
    """
    plain = unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", plain))


def _find_lecture(course, lesson):
    return next(lecture for lecture in course.lectures if lecture.id == lesson.lecture)


def _name_lesson(lecture, lesson):
    return sentence("answers.lesson", number=lecture.number, heading=lesson.heading)
