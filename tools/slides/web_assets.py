"""What pages and decks share: lectures that have run, and scripts that need no network."""

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
# nbconvert and the widget manager expect MathJax 2, a folder of a thousand files; 3 is one file.
MATHJAX = r"""
window.MathJax = {
  tex: { inlineMath: [["$", "$"], ["\\(", "\\)"]], processEscapes: true, tags: "ams" },
  svg: { fontCache: "local" },
  options: { enableMenu: false },  // each formula would be a stop of the Tab key
};
%s
MathJax.Hub = {
  Queue: ([, , element]) => MathJax.startup.promise.then(() => MathJax.typesetPromise([element])),
};
"""


def run_for_page(path):
    """The notebook with its outputs, widgets and SVGs; one saved with widgets, as it was left."""
    notebook = nbformat.read(path, as_version=4)
    lecture = path.resolve().parent == ROOT / "course/en"

    def execute():
        with private_client(notebook) as (client, own):
            if lecture:  # what an Output widget shows stands in the cell, as in the notebook
                client.widget_registry = {}
            pictures = {"MATPLOTLIBRC": str(MATPLOTLIBRC)}
            client.execute(env=own | pictures, cwd=str(path.parent), cleanup_kc=True)

    if lecture:
        run_once(notebook, path.resolve(), execute)
    elif "widgets" not in notebook.metadata:
        execute()
    return notebook


def widget_scripts():
    """require.js, the widget manager, and anywidget as the module the manager looks for."""
    module = Path(anywidget.__file__).with_name("nbextension") / "index.js"
    named = module.read_text(encoding="utf-8").replace("\ndefine(", '\ndefine("anywidget", ')
    manager = npm_text("@jupyter-widgets/html-manager", "1.0.15", "dist/embed-amd.js")
    return "\n".join([npm_text("requirejs", "2.3.8", "require.js"), manager, named])


def mathjax_script():
    """MathJax 3 with nbconvert's settings, and what the widget manager calls in MathJax 2."""
    return MATHJAX % npm_text("mathjax", "3.2.2", "es5/tex-svg.js")


def npm_text(package, version, file):
    """The text of one file of an npm package, which comes from the registry once."""
    return npm_bytes(package, version, file).decode()


def npm_bytes(package, version, file):
    """The same for a file that is no text."""
    archive = BUILD / "npm" / f"{package.lstrip('@').replace('/', '-')}-{version}.tgz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        try:
            subprocess.run(command, cwd=archive.parent, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"cannot fetch {package} {version}: npm (of Node.js) is needed once; {error}")
    with tarfile.open(archive) as packed:
        return packed.extractfile(f"package/{file}").read()
