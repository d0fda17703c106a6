"""Open the course in JupyterLab: lectures and exercises, or with --all the whole repository.

A student meets what the kit holds; who teaches needs the solutions and nbgrader's menus too.
Decks and pages that have been built stand in the menu Course.
"""

import json
import os
import sys
from pathlib import Path

from tools.kit.start import open_lab, parser, settings, trust
from tools.sentences import say
from tools.slides.deck_titles import decks

ROOT = Path(__file__).resolve().parents[1]

NBGRADER = ("assignment_list", "course_list", "formgrader", "validate_assignment")
# Who teaches edits what students need not see, such as term.toml.
EVERY_FILE = [f"--ContentsManager.hide_globs={name}" for name in ("__pycache__", "*.pyc", "*~")]
SERVED = ("course/en", "course/term.toml", "course/ids.txt", "course/answers.json", "exercises")


def main():
    options = parser(__doc__)
    options.add_argument("--all", action="store_true", help="serve the repository")
    options.add_argument(
        "--built", type=Path, default=ROOT / "build", help="folder of site and slides"
    )
    options = options.parse_args()
    # nbgrader looks for its configuration in the working directory.
    os.chdir(ROOT)
    # The root stays the repository: nbgrader's Validate looks for the notebooks below it.
    files = [*EVERY_FILE] if options.all else [f"--FileContentsManager.root_dir={served()}"]
    settings(grading_menus(options.built / "jupyter", options.all), ROOT / "tools/kit/jupyter")
    os.environ["ROOFLINE_PAGES"] = json.dumps(pages(options.built))
    files += [
        f"--ServerApp.extra_static_paths={options.built / name}" for name in ("slides", "site")
    ]
    trust(sys.executable, ROOT)
    open_lab(sys.executable, ROOT, options, *files)


def served():
    """A folder that shows what students get, under the names that it has in the repository."""
    folder = ROOT / "build/lab"
    for name in SERVED:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        # A repository that was moved brings links to where it was.
        link.unlink(missing_ok=True)
        if (ROOT / name).exists():  # some a teacher makes, or a tool
            link.symlink_to(ROOT / name)
    return folder


def pages(built):
    """The built pages and decks there are, for the course's home and its menu."""
    site, slides = built / "site", built / "slides"
    items = [(say("menu.pages"), "index.html")] if (site / "index.html").exists() else []
    items += [(say("menu.deck", title=title), deck.name) for deck, title in decks(slides).items()]
    # These are links, since a page that the file browser opens may run no script.
    return [{"text": text, "url": f"static/{name}"} for text, name in items]


def grading_menus(folder, teaching):
    """A folder of settings that turn nbgrader's menus, and what answers them, on or off."""
    extensions = {f"nbgrader.server_extensions.{part}": teaching for part in NBGRADER}
    for name, content in (
        ("jupyter_server_config.json", {"ServerApp": {"jpserver_extensions": extensions}}),
        ("labconfig/page_config.json", {"disabledExtensions": {"@jupyter/nbgrader": not teaching}}),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


if __name__ == "__main__":
    main()
