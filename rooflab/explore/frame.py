"""Text, controls and layout that all interactive figures share."""

import math
from pathlib import Path

import anywidget
import ipywidgets
import traitlets

from rooflab import palette, plot
from rooflab.words import Words

HERE = Path(__file__).parent
WORDS = Words(HERE / "words")
UNITS = {
    "peak_flops": "FLOP/s", "bandwidth": "B/s", "intensity": "FLOP/byte",
    "flops": "FLOP", "bytes": "B", "time": "s",
}  # fmt: skip


class Explorer(ipywidgets.VBox):
    """Controls above the figure that they change."""

    def __init__(self, picture, controls, above=()):
        self._controls, self.text = controls, picture.text
        rows = [_control_row(picture, key, control) for key, control in controls.items()]
        super().__init__([*above, *rows, picture], layout={"max_width": "680px"})
        self.add_class("roofkit-explorer")

    def __repr__(self):
        values = {key: control.value for key, control in self._controls.items()}
        figures = ", ".join(
            f"{key}={f'{value:.4g}' if isinstance(value, float) else value}"
            for key, value in values.items()
        )
        return f"{type(self).__name__}({figures})"

    def _repr_mimebundle_(self, **kwargs):
        # A notebook without a kernel or saved widget state shows this static figure.
        return {**super()._repr_mimebundle_(**kwargs), "text/html": self._write_fallback()}

    def _write_fallback(self):
        return plot.show(self._draw())._repr_html_()


def read_javascript(*names):
    """Return the JavaScript module of a figure: frame.js, then the named files."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in ("frame.js", *names))


class Picture(anywidget.AnyWidget):
    """An SVG that the browser draws from these values, with the readouts of the sliders."""

    _css = palette.css_rules(palette.JUPYTER_DARK) + (HERE / "frame.css").read_text(
        encoding="utf-8"
    )

    limits = traitlets.Dict().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    units = traitlets.Dict(UNITS).tag(sync=True)


def merge_texts(text):
    """Return all texts with these replacements; raise ValueError for unknown keys."""
    known = WORDS.templates()
    if unknown := set(text or {}) - set(known):
        raise ValueError(f"text has unknown keys {sorted(unknown)}; known: {', '.join(known)}")
    return {**known, **(text or {})}


def make_slider(value, below, above, label):
    """Return a slider whose range is given in doublings below and above its start."""
    start = math.log2(value)
    return ipywidgets.FloatLogSlider(
        value, base=2, min=start - below, max=start + above, step=0.1, description=label,
        readout=False, style={"description_width": "80px"}, layout={"flex": "1 1 auto"},
    )  # fmt: skip


def make_selection(stops, index, label):
    """Return a slider over a list of values; its figure receives the index."""
    return ipywidgets.SelectionSlider(
        options=[(str(stop), stop) for stop in stops], index=index, description=label,
        readout=False, style={"description_width": "40px"}, layout={"flex": "1 1 auto"},
    )  # fmt: skip


def _control_row(picture, key, control):
    moves = "index" if control.has_trait("index") else "value"
    ipywidgets.jslink((control, moves), (picture, key))
    if not picture.has_trait(f"{key}_readout"):
        return control
    readout = ipywidgets.Label(layout={"width": "120px", "margin": "2px 2px 2px 12px"})
    ipywidgets.jsdlink((picture, f"{key}_readout"), (readout, "value"))
    return ipywidgets.HBox([control, readout])
