"""Open the course in JupyterLab: lectures and exercises, or with --all the whole repository.

Students see the contents of the kit. Teachers also need the solutions and nbgrader's menus. The
Course menu lists the built decks and pages.
"""

import json
import os
import sys
from pathlib import Path

from tools.kit.build import write_model_answers
from tools.kit.start import make_parser, open_lab, trust_notebooks, use_jupyter_settings
from tools.sentences import sentence
from tools.site.downloads import find_deck_titles

ROOT = Path(__file__).resolve().parents[1]

# Teachers edit files that students don't need to see, such as term.toml.
SHOW_EVERY_FILE = [
    f"--ContentsManager.hide_globs={name}" for name in ("__pycache__", "*.pyc", "*~")
]
COURSE_FILES = ("course/en", "course/term.toml", "course/ids.txt", "course/answers.json")
SERVED_PATHS = (*COURSE_FILES, "exercises")


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--all", action="store_true", help="serve the repository")
    parser.add_argument(
        "--built", type=Path, default=ROOT / "build", help="folder with the site and the slides"
    )
    options = parser.parse_args()
    # nbgrader looks for its configuration in the working directory.
    os.chdir(ROOT)
    # nbgrader's Validate button looks below the server's root, so that stays the repository.
    arguments = [f"--ServerApp.extra_static_paths={options.built / n}" for n in ("slides", "site")]
    settings = [ROOT / "tools/kit/jupyter"]
    if options.all:
        arguments += SHOW_EVERY_FILE
    else:
        settings.append(ROOT / "tools/without_nbgrader")
        write_model_answers(ROOT / "course/answers.json")
        arguments.append(f"--FileContentsManager.root_dir={link_served_folders()}")
    use_jupyter_settings(*settings)
    os.environ["ROOFLINE_PAGES"] = json.dumps(list_built_pages(options.built))
    trust_notebooks(sys.executable, ROOT)
    open_lab(sys.executable, ROOT, options, *arguments)


def link_served_folders():
    """Return a folder with links to the students' files, at their paths in the repository."""
    folder = ROOT / "build/lab"
    for name in SERVED_PATHS:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        # If the repository was moved, old links point to its old place.
        link.unlink(missing_ok=True)
        if (ROOT / name).exists():  # teachers or tools create some of them
            link.symlink_to(ROOT / name)
    return folder


def list_built_pages(built):
    """List the built pages and decks, for the course's home page and menu."""
    site, slides = built / "site", built / "slides"
    items = [(sentence("menu.pages"), "index.html")] if (site / "index.html").exists() else []
    items += [
        (sentence("menu.deck", title=title), deck.name)
        for deck, title in find_deck_titles(slides).items()
    ]
    # Menu items are URLs, because JupyterLab blocks scripts in pages that it opens as files.
    return [{"text": text, "url": f"static/{name}"} for text, name in items]


if __name__ == "__main__":
    main()
