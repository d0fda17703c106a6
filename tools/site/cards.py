"""Draw the README's picture, and the cards that messengers show for a page.

python -m tools.site.cards        -> course/ridge.png
"""

import base64
import re
from pathlib import Path

import roofkit as rk
from rooflab.plot import ridge, show
from tools.sentences import sentence

TARGET = Path(__file__).resolve().parents[2] / "course/ridge.png"


def draw_readme_picture():
    """Return the PNG of how much of an H100 three kinds of work use while one byte arrives."""
    roof = rk.chip("H100 SXM").roofline()
    panels = {
        sentence("picture.writing"): 1, sentence("picture.batch", users=16): 16,
        sentence("picture.reading", tokens="2,048"): 2048,
    }  # fmt: skip
    return show(ridge(roof.ridge, panels, chip="an H100")).content


def find_first_picture(notebook):
    """Return the first PNG among a notebook's outputs, or the README's picture."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        page = output.get("data", {}).get("text/html", "")
        if match := re.search(r"data:image/png;base64,([\w+/=]+)", page):
            return base64.b64decode(match[1])
    return TARGET.read_bytes()


if __name__ == "__main__":
    TARGET.write_bytes(draw_readme_picture())
