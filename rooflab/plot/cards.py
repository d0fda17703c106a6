"""Cards that messengers show for a page: a title, a question and a picture."""

import io
import textwrap

import matplotlib.pyplot as plt

from rooflab import palette
from rooflab.plot.common import new_figure


def draw_card(title, question, picture, name):
    """Return a PNG of 1200 x 630 that a messenger can show for a page.

    A title and a question stand above a picture, itself a PNG, and the ``name`` of the site below.
    """
    figure = new_figure(12, 6.3)
    figure.set_layout_engine("none")
    figure.text(0.05, 0.93, title, size=min(34, 1300 / len(title)), weight="bold", va="top")
    asked = textwrap.fill(question, 72)
    figure.text(0.05, 0.8, asked, size=20, va="top", linespacing=1.3, color=palette.colour("soft"))
    ax = figure.add_axes((0.05, 0.09, 0.9, 0.5))
    ax.imshow(plt.imread(io.BytesIO(picture)), interpolation="lanczos")
    ax.axis("off")
    figure.text(0.95, 0.03, name, size=18, ha="right")
    card = io.BytesIO()
    figure.savefig(card, dpi=100, metadata={"Software": None})
    return card.getvalue()
