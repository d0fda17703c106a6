"""Run lectures for pages and decks, and fetch the scripts that both embed."""

import subprocess
import sys
import tarfile
from pathlib import Path

import anywidget
import nbformat

from tools.notebooks.kept_runs import run_notebook, run_once

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def run_for_page(path):
    """Return a notebook with outputs, widgets and SVGs. If saved with widgets, it isn't run."""
    notebook = nbformat.read(path, as_version=4)
    if path.resolve().parent == ROOT / "course/en":
        run_once(notebook, path.resolve(), lambda: run_notebook(notebook, path.parent, True))
    elif "widgets" not in notebook.metadata:
        run_notebook(notebook, path.parent, for_web=True, is_lecture=False)
    return notebook


def read_widgets():
    """Return require.js, the widget manager, and anywidget under the name the manager expects."""
    module = Path(anywidget.__file__).with_name("nbextension") / "index.js"
    script = module.read_text(encoding="utf-8").replace("\ndefine(", '\ndefine("anywidget", ')
    manager = read_npm_file("@jupyter-widgets/html-manager", "1.0.15", "dist/embed-amd.js").decode()
    return "\n".join([read_npm_file("requirejs", "2.3.8", "require.js").decode(), manager, script])


def read_mathjax():
    glue = Path(__file__).with_name("deck") / "mathjax.js"
    library = read_npm_file("mathjax", "3.2.2", "es5/tex-svg.js").decode()
    return glue.read_text(encoding="utf-8").replace("/* MathJax 3 */", library)


def read_npm_file(package, version, file):
    """Return the bytes of a file in an npm package, which is downloaded only once."""
    archive = BUILD / "npm" / f"{package.lstrip('@').replace('/', '-')}-{version}.tgz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        try:
            subprocess.run(command, cwd=archive.parent, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"Can't download {package} {version}: {error}\nInstall npm, part of Node.js.")
    with tarfile.open(archive) as packed:
        return packed.extractfile(f"package/{file}").read()
