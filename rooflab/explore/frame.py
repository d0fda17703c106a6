"""Text, controls and layout that all interactive figures share."""

from pathlib import Path

import anywidget
import traitlets

from rooflab import palette, plot
from rooflab.words import Words

HERE = Path(__file__).parent
WORDS = Words(HERE / "words")
UNITS = {
    "peak_flops": "FLOP/s", "bandwidth": "B/s", "intensity": "FLOP/byte",
    "flops": "FLOP", "bytes": "B", "time": "s",
}  # fmt: skip


def read_javascript(*names):
    """Return the JavaScript module of a picture: the shared files, then the named ones."""
    files = ("frame.js", "controls.js", *names)
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in files)


class Explorer(anywidget.AnyWidget):
    """Controls above an SVG, all drawn in the browser.

    ``state`` has the value of each control, ``data`` what the picture needs besides.
    """

    _css = palette.css_rules(palette.JUPYTER_DARK) + (HERE / "frame.css").read_text(
        encoding="utf-8"
    )

    data = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    units = traitlets.Dict(UNITS).tag(sync=True)

    def __repr__(self):
        figures = ", ".join(
            f"{key}={f'{value:.4g}' if isinstance(value, float) else value}"
            for key, value in self._describe_state().items()
        )
        return f"{type(self).__name__}({figures})"

    def _describe_state(self):
        return self.state

    def _repr_mimebundle_(self, **kwargs):
        # A notebook without a kernel or saved widget state shows this static figure.
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/html": self._write_fallback()}, metadata

    def _write_fallback(self):
        return plot.show(self._draw())._repr_html_()


def merge_texts(text):
    """Return all texts with these replacements; raise ValueError for unknown keys."""
    known = WORDS.templates()
    if unknown := set(text or {}) - set(known):
        raise ValueError(f"text has unknown keys {sorted(unknown)}; known: {', '.join(known)}")
    return {**known, **(text or {})}


def double(start, below, above):
    """Return ten values per doubling, from ``below`` doublings under ``start`` to ``above`` over.

    >>> double(8, 0, 1)[::5]
    [8.0, 11.313708498984761, 16.0]
    """
    return [start * 2 ** (step / 10) for step in range(-10 * below, 10 * above + 1)]


def follow(name):
    """Return a property whose value is the part of the state with this name."""
    return property(lambda self: self.state[name])
