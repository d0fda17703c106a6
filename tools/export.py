"""Export notebooks as single HTML pages: widgets stay live with no kernel and no network.

    python tools/export.py course/en/02-arithmetic-intensity.ipynb
        -> build/html/02-arithmetic-intensity.html

A notebook saved with its widgets ("Save Widget State Automatically" in JupyterLab's Settings menu)
is exported as it was left; any other is run first. The scripts a page needs come from npm, once,
into build/npm.
"""

import argparse
import re
from pathlib import Path

from nbconvert import HTMLExporter
from web import BUILD, mathjax, run, widgets


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
        page, _ = exporter.from_notebook_node(run(path), {"metadata": {"name": path.stem}})
        target = args.into / f"{path.stem}.html"
        target.write_text(inline(page, scripts), encoding="utf-8")
        print(target)


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
