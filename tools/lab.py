"""Open the course in JupyterLab: lectures and exercises, or with --all the whole repository.

A student meets what the kit holds; who teaches needs the solutions and nbgrader's menus too.
Decks and pages that have been built stand in a menu of their own.
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools/kit"))
from built import decks  # noqa: E402
from start import open_lab, parser, settings, trust  # noqa: E402
from wording import say  # noqa: E402

NBGRADER = "@jupyter/nbgrader"
# Who teaches edits what students need not see, such as term.toml.
EVERY_FILE = [f"--ContentsManager.hide_globs={name}" for name in ("__pycache__", "*.pyc", "*~")]
SERVED = ("course/en", "course/term.toml", "exercises")


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
    files = EVERY_FILE if options.all else [f"--FileContentsManager.root_dir={served()}"]
    config = options.built / "config"
    write(config / "labconfig/default_setting_overrides.json", menu(options.built))
    write(
        config / "labconfig/page_config.json", {"disabledExtensions": {NBGRADER: not options.all}}
    )
    write(config / "jupyter_server_config.json", served_by_nbgrader(options.all))
    settings(config, ROOT / "tools/kit/jupyter")
    pages = [
        f"--ServerApp.extra_static_paths={options.built / name}" for name in ("slides", "site")
    ]
    trust(sys.executable, ROOT)
    open_lab(sys.executable, ROOT, options, *files, *pages)


def served():
    """A folder that shows what students get, under the names that it has in the repository."""
    folder = ROOT / "build/lab"
    for name in SERVED:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        # A repository that was moved brings links to where it was.
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT / name)
    return folder


def menu(built):
    """The menu that names the decks and pages there are, as settings of JupyterLab."""
    site, slides = built / "site", built / "slides"
    items = [(say("menu.pages"), "index.html")] if (site / "index.html").exists() else []
    items += [(say("menu.deck", title=title), deck.name) for deck, title in decks(slides).items()]
    # These are links, since a page that the file browser opens may run no script.
    entries = [
        {
            "command": "help:open",
            "args": {"text": text, "url": f"/static/{name}", "newBrowserTab": True},
        }
        for text, name in items
    ]
    menu = {"id": "jp-mainmenu-course", "label": say("menu.title"), "rank": 900, "items": entries}
    return {"@jupyterlab/mainmenu-extension:plugin": {"menus": [menu] if entries else []}}


def served_by_nbgrader(teaching):
    """Whether JupyterLab's server shall answer for nbgrader, as its settings."""
    parts = ("assignment_list", "course_list", "formgrader", "validate_assignment")
    extensions = {f"nbgrader.server_extensions.{part}": teaching for part in parts}
    return {"ServerApp": {"jpserver_extensions": extensions}}


def write(path, settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


if __name__ == "__main__":
    main()
