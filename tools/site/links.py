"""Where on the site each file of the repository stands that a text may link to."""

import functools
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = {
    "course/roofline.png": "roofline.png",
    "roofkit/README.md": "guide.md",
    "rooflab/README.md": "lab.md",
    "CONTRIBUTING.md": "contributing.md",
    "TEACHING.md": "teaching.md",
    "PRESENTING.md": "presenting.md",
    "roofcheck/README.md": "questions.md",
    "roofgrade/README.md": "grading.md",
    "deploy/machine/README.md": "hub.md",
    "deploy/cluster/README.md": "cluster.md",
    "course/README.md": "index.md#lectures",
    "exercises/README.md": "index.md#problem-sets",
}
# A link to a file: its words, the file, a place in it.
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def released_notebooks():
    """The lectures and the problem sets as students get them, in order."""
    lectures, problems = (
        (ROOT / "course/en").glob("*.ipynb"),
        (ROOT / "exercises/en").glob("*/*.ipynb"),
    )
    return sorted(lectures), sorted(problems)


@functools.cache
def site_pages():
    """The page of each file."""
    lectures, problems = released_notebooks()
    pages = {path: f"lectures/{path.name}" for path in lectures}
    pages |= {path: f"problems/{path.name}" for path in problems}
    return PLACES | {path.relative_to(ROOT).as_posix(): page for path, page in pages.items()}


def page_of_link(source, target):
    """The page of the file to which a text at ``source`` links as ``target``, or None."""
    return site_pages().get(os.path.relpath(source.parent / target, ROOT))


def relink_to_site(text, source, page="index.md"):
    """The text of a file of the repository with its links as they are on a page of the site."""

    def placed(found):
        place = page_of_link(source, found[1])
        return f"]({os.path.relpath(place, Path(page).parent)}" if place else found[0]

    return re.sub(r"\]\(([^)#:\s]+)(?=[)#])", placed, text)


def relink_to_address(text, source, site):
    """The text as it reads far from the repository: its links lead to the site, or are words."""

    def placed(found):
        words, target, at = found.groups("")
        place = page_of_link(source, target)
        if not (place and site):
            return words
        page = re.sub(r"\.(ipynb|md)(?=#|$)", ".html", place)
        return f"[{words}]({site}/{page}{'' if '#' in page else at})"

    return LINK.sub(placed, text)
