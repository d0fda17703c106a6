"""Open the course in JupyterLab: lectures and exercises, or with --all the whole repository.

A student meets what the kit holds; who teaches needs the solutions and nbgrader's menus too.
Decks and pages that have been built stand in the menu Course.
"""

import json
import os
import sys
from pathlib import Path

from tools.kit.start import make_parser, open_lab, trust_notebooks, use_jupyter_settings
from tools.sentences import sentence
from tools.slides.deck_titles import deck_titles

ROOT = Path(__file__).resolve().parents[1]

NBGRADER_EXTENSIONS = ("assignment_list", "course_list", "formgrader", "validate_assignment")
# Who teaches edits what students need not see, such as term.toml.
SHOW_EVERY_FILE = [
    f"--ContentsManager.hide_globs={name}" for name in ("__pycache__", "*.pyc", "*~")
]
SERVED_PATHS = (
    "course/en",
    "course/term.toml",
    "course/ids.txt",
    "course/answers.json",
    "exercises",
)


def main():
    options = make_parser(__doc__)
    options.add_argument("--all", action="store_true", help="serve the repository")
    options.add_argument(
        "--built", type=Path, default=ROOT / "build", help="folder of site and slides"
    )
    options = options.parse_args()
    # nbgrader looks for its configuration in the working directory.
    os.chdir(ROOT)
    # The root stays the repository: nbgrader's Validate looks for the notebooks below it.
    files = (
        [*SHOW_EVERY_FILE]
        if options.all
        else [f"--FileContentsManager.root_dir={link_served_folders()}"]
    )
    use_jupyter_settings(
        write_menu_settings(options.built / "jupyter", options.all), ROOT / "tools/kit/jupyter"
    )
    os.environ["ROOFLINE_PAGES"] = json.dumps(list_built_pages(options.built))
    files += [
        f"--ServerApp.extra_static_paths={options.built / name}" for name in ("slides", "site")
    ]
    trust_notebooks(sys.executable, ROOT)
    open_lab(sys.executable, ROOT, options, *files)


def link_served_folders():
    """A folder that shows what students get, under the names that it has in the repository."""
    folder = ROOT / "build/lab"
    for name in SERVED_PATHS:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        # A repository that was moved brings links to where it was.
        link.unlink(missing_ok=True)
        if (ROOT / name).exists():  # some a teacher makes, or a tool
            link.symlink_to(ROOT / name)
    return folder


def list_built_pages(built):
    """The built pages and decks there are, for the course's home and its menu."""
    site, slides = built / "site", built / "slides"
    items = [(sentence("menu.pages"), "index.html")] if (site / "index.html").exists() else []
    items += [
        (sentence("menu.deck", title=title), deck.name)
        for deck, title in deck_titles(slides).items()
    ]
    # These are links, since a page that the file browser opens may run no script.
    return [{"text": text, "url": f"static/{name}"} for text, name in items]


def write_menu_settings(folder, teaching):
    """A folder of settings that turn nbgrader's menus, and what answers them, on or off."""
    extensions = {f"nbgrader.server_extensions.{part}": teaching for part in NBGRADER_EXTENSIONS}
    for name, content in (
        ("jupyter_server_config.json", {"ServerApp": {"jpserver_extensions": extensions}}),
        ("labconfig/page_config.json", {"disabledExtensions": {"@jupyter/nbgrader": not teaching}}),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


if __name__ == "__main__":
    main()
