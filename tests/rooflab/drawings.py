"""What tests of figures measure: how light a colour is, and whether texts keep apart."""

from itertools import combinations

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.text import Text


def lightness(colour):
    """CIE L*, 0 for black to 100 for white: what is left of a colour on grey paper."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    Y = np.dot([0.2126, 0.7152, 0.0722], linear)
    return 116 * Y ** (1 / 3) - 16 if Y > 0.008856 else 903.3 * Y


def texts_overlap(texts):
    """True where one text covers another; of an annotation the text alone counts."""
    boxes = [Text.get_window_extent(text) for text in texts if text.get_text()]
    return any(one.overlaps(other) for one, other in combinations(boxes, 2))


def reads_well(ax):
    """True where no level texts cover one another and all of the Axes lies within the figure."""
    ax.figure.draw_without_rendering()
    box, whole = ax.get_tightbbox(), ax.figure.bbox
    return (
        not texts_overlap(text for text in ax.texts if not text.get_rotation())
        and (whole.min - 1 <= box.min).all()
        and (box.max <= whole.max + 1).all()
    )
