"""Export notebooks as single HTML pages: widgets stay live with no kernel and no network.

    python tools/export.py course/en/02-arithmetic-intensity.ipynb
        -> build/html/02-arithmetic-intensity.html

A notebook saved with its widgets ("Save Widget State Automatically" in JupyterLab's Settings menu)
is exported as it was left; any other is run first. The scripts a page needs come from npm, once,
into build/npm.
"""

import argparse
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import anywidget
import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

BUILD = Path(__file__).resolve().parents[1] / "build"
# nbconvert and the widget manager expect MathJax 2, a folder of a thousand files; 3 is one file.
MATHJAX = r"""
window.MathJax = {
  tex: { inlineMath: [["$", "$"], ["\\(", "\\)"]], processEscapes: true, tags: "ams" },
};
%s
MathJax.Hub = {
  Queue: ([, , element]) => MathJax.startup.promise.then(() => MathJax.typesetPromise([element])),
};
"""


def main(argv=None):
    """Export the notebooks named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, default=BUILD / "html", help="folder for the pages")
    args = parser.parse_args(argv)
    # Addresses that no server is asked for: inline() puts the scripts in their place.
    exporter = HTMLExporter(
        require_js_url="widgets.js", mathjax_url="mathjax.js", widget_renderer_url="data:,"
    )
    scripts = {"widgets.js": widgets(), "mathjax.js": mathjax()}
    args.into.mkdir(parents=True, exist_ok=True)
    for path in args.notebooks:
        notebook = nbformat.read(path, as_version=4)
        if "widgets" not in notebook.metadata:
            NotebookClient(notebook, resources={"metadata": {"path": path.parent}}).execute()
        page, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": path.stem}})
        target = args.into / f"{path.stem}.html"
        target.write_text(inline(page, scripts), encoding="utf-8")
        print(target)


def widgets():
    """require.js, the widget manager, and anywidget as the module the manager looks for."""
    module = Path(anywidget.__file__).with_name("nbextension") / "index.js"
    named = module.read_text(encoding="utf-8").replace("\ndefine(", '\ndefine("anywidget", ')
    manager = npm("@jupyter-widgets/html-manager", "1.0.15", "dist/embed-amd.js")
    return "\n".join([npm("requirejs", "2.3.8", "require.js"), manager, named])


def mathjax():
    """MathJax 3 with nbconvert's settings, and what the widget manager calls in MathJax 2."""
    return MATHJAX % npm("mathjax", "3.2.2", "es5/tex-svg.js")


def npm(package, version, file):
    """The text of one file of an npm package."""
    archive = BUILD / "npm" / f"{package.lstrip('@').replace('/', '-')}-{version}.tgz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        try:
            subprocess.run(command, cwd=archive.parent, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"cannot fetch {package} {version}: npm (of Node.js) is needed once; {error}")
    with tarfile.open(archive) as packed:
        return packed.extractfile(f"package/{file}").read().decode()


def inline(page, scripts):
    """The page with the scripts themselves where it names them."""
    for name, script in scripts.items():
        # Only "</script" would end the element early.
        element = "<script>" + script.replace("</script", r"<\/script") + "</script>"
        before, after = re.split(rf'<script src="{name}">\s*</script>', page)
        page = before + element + after
    return page


if __name__ == "__main__":
    main()
