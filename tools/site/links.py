"""Translate links between files of the repository into links between pages of the site."""

import functools
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Documents, and the pages that show them.
DOCUMENTS = {
    "roofkit/README.md": "guide.md", "rooflab/README.md": "lab.md",
    "rooflab/ACCURACY.md": "accuracy.md", "CONTRIBUTING.md": "contributing.md",
    "TEACHING.md": "teaching.md", "PRESENTING.md": "presenting.md",
    "roofcheck/README.md": "questions.md", "roofgrade/README.md": "grading.md",
    "deploy/machine/README.md": "hub.md", "deploy/cluster/README.md": "cluster.md",
}  # fmt: skip
PLACES = DOCUMENTS | {
    "course/ridge.png": "ridge.png",
    "benchmarks/accuracy.png": "accuracy.png",
    "course/README.md": "index.md#lectures",
    "exercises/README.md": "index.md#problem-sets",
}
# A Markdown link to a file: its text, the file, and an anchor in it.
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def find_released_notebooks():
    """Return the paths of the lectures and of the students' problem sets, in order."""
    lectures, problems = ROOT.glob("course/en/*.ipynb"), ROOT.glob("exercises/en/*/*.ipynb")
    return sorted(lectures), sorted(problems)


@functools.cache
def map_files_to_pages():
    """Return the page of each file, by its path in the repository."""
    lectures, problems = find_released_notebooks()
    pages = {path: f"lectures/{path.name}" for path in lectures}
    pages |= {path: f"problems/{path.name}" for path in problems}
    return PLACES | {path.relative_to(ROOT).as_posix(): page for path, page in pages.items()}


def find_linked_page(source, target):
    """Return the page for the link ``target`` in the file ``source``, or None."""
    return map_files_to_pages().get(os.path.relpath(source.parent / target, ROOT))


def relink_to_site(text, source, page="index.md"):
    """Rewrite the links in a document of the repository for a page of the site."""

    def relink(match):
        target = find_linked_page(source, match[1])
        return f"]({os.path.relpath(target, Path(page).parent)}" if target else match[0]

    text = re.sub(r"\]\(([^)#:\s]+)(?=[)#])", relink, text)
    # JupyterLab keeps a heading's capitals and punctuation in its anchor; the site doesn't.
    return re.sub(
        r"(\]\([^)#:\s]*#)([^)\s]+)", lambda m: m[1] + re.sub(r"[^\w-]", "", m[2].lower()), text
    )


def relink_to_address(text, source, site):
    """Rewrite the links in a document as URLs of the site, or as plain text without a URL."""

    def relink(match):
        words, target, anchor = match.groups("")
        page = find_linked_page(source, target)
        if not (page and site):
            return words
        page = re.sub(r"\.(ipynb|md)(?=#|$)", ".html", page)
        return f"[{words}]({site}/{page}{'' if '#' in page else anchor})"

    return LINK.sub(relink, text)
