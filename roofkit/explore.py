"""The live roofline: sliders and a picture joined in the browser, so it moves without a kernel."""

import math
from pathlib import Path

import anywidget
import ipywidgets
import traitlets

from roofkit import plot
from roofkit._inputs import number
from roofkit.hardware import Chip
from roofkit.hardware import chip as find_chip
from roofkit.roofline import Cost, Roofline

HERE = Path(__file__).parent
# Every word the widget shows; an edition in another language replaces it.
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
}
UNITS = {"peak_flops": "FLOP/s", "bandwidth": "byte/s", "intensity": "FLOP/byte"}
# Doublings each way; ten slider steps make one, and the published figure is one of the steps.
REACH = 3


def roofline(chip="TPU v5e", dtype="bf16", intensity=0.5, *, kernel=None, text=None):
    """A roofline whose peak, bandwidth and kernel move with sliders, beside the published one.

    Parameters
    ----------
    chip : name of a chip, Chip, or Roofline
        Where the sliders start and what stays behind as the grey reference.
    dtype : str
        Which peak of the chip; not used for a Roofline.
    intensity : Cost of numbers, or FLOPs/byte
        The kernel at the start.
    kernel : str, optional
        What to call it in the picture.
    text : mapping, optional
        Replacements for entries of ``TEXT``.

    Returns an Explorer, to end a notebook cell on. Raises ValueError for a chip or dtype that the
    table does not have, an intensity that is not finite and above 0, and an unknown text.

    >>> live = roofline("TPU v5e", intensity=0.5)
    >>> live.roof.ridge
    240.53724053724054
    """
    if isinstance(chip, Roofline):
        if not isinstance(chip.ridge, (int, float)):
            raise ValueError(f"chip must be one Roofline of plain numbers, got {chip!r}")
        roof, name = chip, "Roofline"
    else:
        chip = chip if isinstance(chip, Chip) else find_chip(chip)
        roof, name = chip.roofline(dtype), f"{chip.name} {dtype}"
    if unknown := set(text or {}) - set(TEXT):
        raise ValueError(f"text has {sorted(unknown)}; the entries are {', '.join(TEXT)}")
    text = {**TEXT, **(text or {})}
    return Explorer(roof, _intensity(intensity), name, kernel or text["kernel"], text)


class Explorer(ipywidgets.VBox):
    """Three sliders over a live roofline; made by ``roofline()``.

    ``peak_flops`` (FLOP/s), ``bandwidth`` (bytes/s) and ``intensity`` (FLOPs/byte) are where the
    sliders stand, ``roof`` is the Roofline they make, ``published`` the one they started from.
    """

    def __init__(self, roof, intensity, name, kernel, text):
        self.published, self._name, self._kernel = roof, name, kernel
        peak, bandwidth = float(roof.peak_flops), float(roof.bandwidth)
        # Wide enough for the ridge wherever the sliders take it.
        apart = math.log2(intensity / roof.ridge)
        below, above = (max(REACH, math.ceil(way) + 2 * REACH) for way in (apart, -apart))
        self._sliders = {
            "peak_flops": _slider(peak, REACH, REACH, text["peak_flops"]),
            "bandwidth": _slider(bandwidth, REACH, REACH, text["bandwidth"]),
            "intensity": _slider(intensity, below, above, text["intensity"]),
        }
        fewest, most = intensity / 2**below, intensity * 2**above
        picture = Picture(
            published={"peak_flops": peak, "bandwidth": bandwidth},
            channel=roof.channel,
            limits={
                "x": [fewest, most],
                "y": [0.25 * min(fewest * bandwidth, peak) / 2**REACH, 1.6 * peak * 2**REACH],
            },
            text={**text, "published": text["published"].format(name=name), "kernel": kernel},
            **{key: slider.value for key, slider in self._sliders.items()},
        )
        rows = [_row(picture, key, slider) for key, slider in self._sliders.items()]
        super().__init__([*rows, picture], layout={"max_width": "680px"})
        self.add_class("roofkit-explorer")

    @property
    def peak_flops(self):
        return self._sliders["peak_flops"].value

    @property
    def bandwidth(self):
        return self._sliders["bandwidth"].value

    @property
    def intensity(self):
        return self._sliders["intensity"].value

    @property
    def roof(self):
        return Roofline(self.peak_flops, self.bandwidth, self.published.channel)

    def __repr__(self):
        figures = ", ".join(f"{key}={getattr(self, key):.4g}" for key in UNITS)
        return f"Explorer({figures})"

    def _repr_mimebundle_(self, **kwargs):
        ax = plot.roofline({self._name: self.published}, {self._kernel: self.intensity})
        # Shown where there is neither a kernel nor saved widget state.
        fallback = plot.show(ax)._repr_html_()
        return {**super()._repr_mimebundle_(**kwargs), "text/html": fallback}


class Picture(anywidget.AnyWidget):
    """The SVG; explore.js draws it from these values and writes the three read-outs."""

    _esm = HERE / "explore.js"
    _css = HERE / "explore.css"

    peak_flops = traitlets.Float().tag(sync=True)
    bandwidth = traitlets.Float().tag(sync=True)
    intensity = traitlets.Float().tag(sync=True)
    published = traitlets.Dict().tag(sync=True)
    channel = traitlets.Unicode().tag(sync=True)
    limits = traitlets.Dict().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    units = traitlets.Dict(UNITS).tag(sync=True)
    peak_flops_readout = traitlets.Unicode().tag(sync=True)
    bandwidth_readout = traitlets.Unicode().tag(sync=True)
    intensity_readout = traitlets.Unicode().tag(sync=True)


def _slider(value, below, above, label):
    start = math.log2(value)
    return ipywidgets.FloatLogSlider(
        value, base=2, min=start - below, max=start + above, step=0.1, description=label,
        readout=False, style={"description_width": "80px"}, layout={"flex": "1 1 auto"},
    )  # fmt: skip


def _row(picture, key, slider):
    readout = ipywidgets.Label(layout={"width": "120px", "margin": "2px 2px 2px 12px"})
    ipywidgets.jslink((slider, "value"), (picture, key))
    ipywidgets.jsdlink((picture, f"{key}_readout"), (readout, "value"))
    return ipywidgets.HBox([slider, readout])


def _intensity(kernel):
    value = number(kernel.intensity if isinstance(kernel, Cost) else kernel, "intensity")
    if not isinstance(value, (int, float)):
        raise ValueError(f"intensity must be one number or a Cost of numbers, got {kernel!r}")
    return float(value)
