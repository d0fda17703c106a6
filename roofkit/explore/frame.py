"""What every live picture shares: its words, its sliders, and the frame around both."""

import math
from pathlib import Path

import anywidget
import ipywidgets
import traitlets

from roofkit import plot

HERE = Path(__file__).parent
# Every word the widgets show; an edition in another language replaces it.
TEXT = {
    "peak_flops": "peak",
    "bandwidth": "bandwidth",
    "intensity": "intensity",
    "x_axis": "arithmetic intensity (FLOP/byte)",
    "y_axis": "attainable (FLOP/s)",
    "now": "your roof",
    "published": "{name}, as published",
    "kernel": "your kernel",
    "ridge": "ridge",
    "attainable": "attainable",
    "share": "of peak",
    "bound": "verdict",
    "compute": "compute-bound",
    "memory": "memory-bound",
    "link": "link-bound",
    "picture": (
        "Log-log roofline plot. The roof rises with {bandwidth} to {peak_flops}; its ridge is at "
        "{ridge}. At {intensity}, {kernel} is {bound} and reaches at most {attainable}, {share} "
        "of peak."
    ),
    "flops": "work",
    "bytes": "traffic",
    "math": "T_math",
    "comms": "T_comms",
    "bracket": "max … sum",
    "time": "time",
    "B": "B",
    "D": "D",
    "F": "F",
    "tile": "tile",
    "dtype": "dtype",
    "whole": "whole: all fits",
    "product": "X · Y",
    "once": "once",
    "again": "again",
    "crossings": "once × crossings = bytes",
    "part": "share of the traffic",
    "operands": "Of {bytes} moved, X takes {X}, Y {Y} and Z {Z}.",
    "between": "{lower} to {upper}, {bound}",
    "bars": "Times as bars. {rows}.",
    "row": "{name}: T_math {math}, T_comms {comms}, total between {lower} and {upper}, {bound}",
}
UNITS = {
    "peak_flops": "FLOP/s", "bandwidth": "B/s", "intensity": "FLOP/byte",
    "flops": "FLOP", "bytes": "B", "time": "s",
}  # fmt: skip


class Explorer(ipywidgets.VBox):
    """Controls over a picture they move; made by ``roofline()``, ``times()`` and ``matmul()``."""

    def __init__(self, picture, controls):
        self._controls = controls
        rows = [_row(picture, key, control) for key, control in controls.items()]
        super().__init__([*rows, picture], layout={"max_width": "680px"})
        self.add_class("roofkit-explorer")

    def __repr__(self):
        values = {key: control.value for key, control in self._controls.items()}
        figures = ", ".join(
            f"{key}={f'{value:.4g}' if isinstance(value, float) else value}"
            for key, value in values.items()
        )
        return f"{type(self).__name__}({figures})"

    def _repr_mimebundle_(self, **kwargs):
        # Shown where there is neither a kernel nor saved widget state.
        fallback = plot.show(self._figure())._repr_html_()
        return {**super()._repr_mimebundle_(**kwargs), "text/html": fallback}


def javascript(*names):
    """The module of one picture: what all share, what some share, then its own file."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in ("frame.js", *names))


class Picture(anywidget.AnyWidget):
    """An SVG, drawn in the browser from these values; it writes the sliders' read-outs too."""

    _css = HERE / "frame.css"

    limits = traitlets.Dict().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    units = traitlets.Dict(UNITS).tag(sync=True)


def words(text):
    """TEXT with replacements, or ValueError for an entry that TEXT does not have."""
    if unknown := set(text or {}) - set(TEXT):
        raise ValueError(f"text has {sorted(unknown)}; the entries are {', '.join(TEXT)}")
    return {**TEXT, **(text or {})}


def slider(value, below, above, label):
    """A slider that starts at a value and reaches so many doublings below and above it."""
    start = math.log2(value)
    return ipywidgets.FloatLogSlider(
        value, base=2, min=start - below, max=start + above, step=0.1, description=label,
        readout=False, style={"description_width": "80px"}, layout={"flex": "1 1 auto"},
    )  # fmt: skip


def selection(stops, index, label):
    """A slider through a list of values; its picture gets the place in the list."""
    return ipywidgets.SelectionSlider(
        options=[(str(stop), stop) for stop in stops], index=index, description=label,
        readout=False, style={"description_width": "40px"}, layout={"flex": "1 1 auto"},
    )  # fmt: skip


def _row(picture, key, control):
    moves = "index" if control.has_trait("index") else "value"
    ipywidgets.jslink((control, moves), (picture, key))
    if not picture.has_trait(f"{key}_readout"):
        return control
    readout = ipywidgets.Label(layout={"width": "120px", "margin": "2px 2px 2px 12px"})
    ipywidgets.jsdlink((picture, f"{key}_readout"), (readout, "value"))
    return ipywidgets.HBox([control, readout])
