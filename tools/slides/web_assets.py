"""Run lectures for pages and decks, and fetch the scripts that both embed."""

import subprocess
import sys
import tarfile
from pathlib import Path

import anywidget
import nbformat

from tools.notebooks.kept_runs import MATPLOTLIBRC, run_once
from tools.notebooks.kernel import private_client

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def run_for_page(path):
    """Return a notebook with outputs, widgets and SVGs. One saved with widgets does not run."""
    notebook = nbformat.read(path, as_version=4)
    lecture = path.resolve().parent == ROOT / "course/en"

    def execute():
        with private_client(notebook) as (client, own):
            if lecture:  # puts an Output widget's contents into the cell
                client.widget_registry = {}
            pictures = {"MATPLOTLIBRC": str(MATPLOTLIBRC)}
            client.execute(env=own | pictures, cwd=str(path.parent), cleanup_kc=True)

    if lecture:
        run_once(notebook, path.resolve(), execute)
    elif "widgets" not in notebook.metadata:
        execute()
    return notebook


def widget_scripts():
    """Return require.js, the widget manager, and anywidget under the name the manager expects."""
    module = Path(anywidget.__file__).with_name("nbextension") / "index.js"
    script = module.read_text(encoding="utf-8").replace("\ndefine(", '\ndefine("anywidget", ')
    manager = npm_text("@jupyter-widgets/html-manager", "1.0.15", "dist/embed-amd.js")
    return "\n".join([npm_text("requirejs", "2.3.8", "require.js"), manager, script])


def mathjax_script():
    glue = Path(__file__).with_name("deck") / "mathjax.js"
    library = npm_text("mathjax", "3.2.2", "es5/tex-svg.js")
    return glue.read_text(encoding="utf-8").replace("/* MathJax 3 */", library)


def npm_text(package, version, file):
    """Return a text file of an npm package, fetched once."""
    return npm_bytes(package, version, file).decode()


def npm_bytes(package, version, file):
    """Return a binary file of an npm package, fetched once."""
    archive = BUILD / "npm" / f"{package.lstrip('@').replace('/', '-')}-{version}.tgz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        try:
            subprocess.run(command, cwd=archive.parent, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(
                f"Cannot fetch {package} {version}: {error}\nInstall npm, which comes with Node.js."
            )
    with tarfile.open(archive) as packed:
        return packed.extractfile(f"package/{file}").read()
