"""What every live picture shares: its words, its sliders, and the frame around both."""

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
    """Controls over a picture they move; made by the functions of this package."""

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
        # This is shown where there is neither a kernel nor saved widget state.
        fallback = plot.show(self._draw())._repr_html_()
        return {**super()._repr_mimebundle_(**kwargs), "text/html": fallback}


def read_javascript(*names):
    """The module of one picture: what all share, what some share, then its own file."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in ("frame.js", *names))


class Picture(anywidget.AnyWidget):
    """An SVG, drawn in the browser from these values; it writes the sliders' read-outs too."""

    _css = palette.css_rules(palette.JUPYTER_DARK) + (HERE / "frame.css").read_text(
        encoding="utf-8"
    )

    limits = traitlets.Dict().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    units = traitlets.Dict(UNITS).tag(sync=True)


def merge_texts(text):
    """All texts of pictures, some of them replaced; ValueError for a key that no picture has."""
    known = WORDS.templates()
    if unknown := set(text or {}) - set(known):
        raise ValueError(f"text has {sorted(unknown)}; the entries are {', '.join(known)}")
    return {**known, **(text or {})}


def make_slider(value, below, above, label):
    """A slider that starts at a value and reaches so many doublings below and above it."""
    start = math.log2(value)
    return ipywidgets.FloatLogSlider(
        value, base=2, min=start - below, max=start + above, step=0.1, description=label,
        readout=False, style={"description_width": "80px"}, layout={"flex": "1 1 auto"},
    )  # fmt: skip


def make_selection(stops, index, label):
    """A slider through a list of values; its picture gets the place in the list."""
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
