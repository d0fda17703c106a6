"""Open the course in JupyterLab: lectures and exercises, or with --all the whole repository.

A student meets what the kit holds; who teaches needs the solutions and nbgrader's Formgrader too.
Decks and pages that have been built stand in a menu of their own.
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools/kit"))
from built import decks  # noqa: E402
from start import open_lab, parser  # noqa: E402
from wording import say  # noqa: E402

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
    files = [] if options.all else [f"--FileContentsManager.root_dir={served()}"]
    open_lab(sys.executable, ROOT, options, *files, *offered(options.built))


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


def offered(built):
    """Options that serve the decks and pages there are, and a menu that names them."""
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
    config = built / "config"
    settings = config / "labconfig/default_setting_overrides.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    plugin = {"@jupyterlab/mainmenu-extension:plugin": {"menus": [menu] if entries else []}}
    settings.write_text(json.dumps(plugin), encoding="utf-8")
    paths = filter(None, [str(config), os.environ.get("JUPYTER_CONFIG_PATH")])
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    return [f"--ServerApp.extra_static_paths={folder}" for folder in (slides, site)]


if __name__ == "__main__":
    main()
