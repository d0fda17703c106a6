"""Live pictures: sliders and an SVG joined in the browser, so they move without a kernel."""

import math
from collections.abc import Mapping
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
    "between": "{lower} to {upper}, {bound}",
    "bars": "Times as bars. {rows}.",
    "row": "{name}: T_math {math}, T_comms {comms}, total between {lower} and {upper}, {bound}",
}
UNITS = {
    "peak_flops": "FLOP/s", "bandwidth": "B/s", "intensity": "FLOP/byte",
    "flops": "FLOP", "bytes": "B", "time": "s",
}  # fmt: skip
# Doublings each way; ten slider steps make one, and where a slider starts is one of the steps.
REACH = 3
# Bars share one linear axis: further up and the first picture would be all margin.
REACH_UP = 1


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

    Returns a RooflineExplorer, to end a notebook cell on. Raises ValueError for a chip or dtype
    that the table does not have, an intensity that is not finite and above 0, and an unknown text.

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
    text = _text(text)
    return RooflineExplorer(roof, _intensity(intensity), name, kernel or text["kernel"], text)


def times(cost, chips, dtype="bf16", *, text=None):
    """T_math and T_comms of one Cost on several chips, as bars that move with FLOPs and bytes.

    Parameters
    ----------
    cost : Cost of numbers above 0
        Where the sliders start.
    chips : list of chips (Chip or name), or mapping of label to Roofline
    dtype : str
        Which peak of the chips; not used for Rooflines.
    text : mapping, optional
        Replacements for entries of ``TEXT``.

    Returns a TimesExplorer, to end a notebook cell on. Raises ValueError as ``roofline()`` does.

    >>> live = times(Cost(flops=1e12, bytes=2e9), ["H100", "TPU v6e"])
    >>> live.estimates["TPU v6e"].bound
    'memory'
    """
    if not isinstance(cost, Cost):
        raise ValueError(f"cost must be a Cost(flops, bytes), got {cost!r}")
    for key in ("flops", "bytes"):
        if not isinstance(number(getattr(cost, key), key), (int, float)):
            raise ValueError(f"{key} must be one number, got {getattr(cost, key)!r}")
    if not isinstance(chips, Mapping):
        found = [chip if isinstance(chip, Chip) else find_chip(chip) for chip in chips]
        chips = {chip.name: chip.roofline(dtype) for chip in found}
    for label, roof in chips.items():
        if not isinstance(roof, Roofline) or not isinstance(roof.ridge, (int, float)):
            raise ValueError(f"chips[{label!r}] must be one Roofline, got {roof!r}")
    if not chips:
        raise ValueError("chips is empty; name at least one")
    return TimesExplorer(cost, chips, _text(text))


class Explorer(ipywidgets.VBox):
    """Sliders over a picture they move; made by ``roofline()`` and ``times()``."""

    def __init__(self, picture, sliders):
        self._sliders = sliders
        rows = [_row(picture, key, slider) for key, slider in sliders.items()]
        super().__init__([*rows, picture], layout={"max_width": "680px"})
        self.add_class("roofkit-explorer")

    def __repr__(self):
        figures = ", ".join(f"{key}={slider.value:.4g}" for key, slider in self._sliders.items())
        return f"{type(self).__name__}({figures})"

    def _repr_mimebundle_(self, **kwargs):
        # Shown where there is neither a kernel nor saved widget state.
        fallback = plot.show(self._figure())._repr_html_()
        return {**super()._repr_mimebundle_(**kwargs), "text/html": fallback}


class RooflineExplorer(Explorer):
    """Three sliders over a live roofline.

    ``peak_flops`` (FLOP/s), ``bandwidth`` (bytes/s) and ``intensity`` (FLOPs/byte) are where the
    sliders stand, ``roof`` is the Roofline they make, ``published`` the one they started from.
    """

    def __init__(self, roof, intensity, name, kernel, text):
        self.published, self._name, self._kernel = roof, name, kernel
        peak, bandwidth = float(roof.peak_flops), float(roof.bandwidth)
        # Wide enough for the ridge wherever the sliders take it.
        apart = math.log2(intensity / roof.ridge)
        below, above = (max(REACH, math.ceil(way) + 2 * REACH) for way in (apart, -apart))
        sliders = {
            "peak_flops": _slider(peak, REACH, REACH, text["peak_flops"]),
            "bandwidth": _slider(bandwidth, REACH, REACH, text["bandwidth"]),
            "intensity": _slider(intensity, below, above, text["intensity"]),
        }
        fewest, most = intensity / 2**below, intensity * 2**above
        picture = RooflinePicture(
            published={"peak_flops": peak, "bandwidth": bandwidth},
            channel=roof.channel,
            limits={
                "x": [fewest, most],
                "y": [0.25 * min(fewest * bandwidth, peak) / 2**REACH, 1.6 * peak * 2**REACH],
            },
            text={**text, "published": text["published"].format(name=name), "kernel": kernel},
            **{key: slider.value for key, slider in sliders.items()},
        )
        super().__init__(picture, sliders)

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

    def _figure(self):
        return plot.roofline({self._name: self.published}, {self._kernel: self.intensity})


class TimesExplorer(Explorer):
    """Two sliders over bars of time.

    ``cost`` is the Cost the sliders make, ``estimates`` what it takes on each chip.
    """

    def __init__(self, cost, roofs, text):
        self.roofs = roofs
        sliders = {
            "flops": _slider(float(cost.flops), REACH, REACH_UP, text["flops"]),
            "bytes": _slider(float(cost.bytes), REACH, REACH_UP, text["bytes"]),
        }
        longest = max(roof.estimate(2**REACH_UP * cost).upper for roof in roofs.values())
        picture = TimesPicture(
            roofs=[
                {
                    "name": name,
                    "peak_flops": float(roof.peak_flops),
                    "bandwidth": float(roof.bandwidth),
                    "channel": roof.channel,
                }
                for name, roof in roofs.items()
            ],
            limits={"x": [0, longest]},
            text=text,
            **{key: slider.value for key, slider in sliders.items()},
        )
        super().__init__(picture, sliders)

    @property
    def cost(self):
        return Cost(self._sliders["flops"].value, self._sliders["bytes"].value)

    @property
    def estimates(self):
        return {name: roof.estimate(self.cost) for name, roof in self.roofs.items()}

    def _figure(self):
        return plot.times(self.estimates)


class Picture(anywidget.AnyWidget):
    """An SVG; explore.js draws it from these values and writes the sliders' read-outs."""

    _esm = HERE / "explore.js"
    _css = HERE / "explore.css"

    limits = traitlets.Dict().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    units = traitlets.Dict(UNITS).tag(sync=True)


class RooflinePicture(Picture):
    kind = traitlets.Unicode("roofline").tag(sync=True)
    peak_flops = traitlets.Float().tag(sync=True)
    bandwidth = traitlets.Float().tag(sync=True)
    intensity = traitlets.Float().tag(sync=True)
    published = traitlets.Dict().tag(sync=True)
    channel = traitlets.Unicode().tag(sync=True)
    peak_flops_readout = traitlets.Unicode().tag(sync=True)
    bandwidth_readout = traitlets.Unicode().tag(sync=True)
    intensity_readout = traitlets.Unicode().tag(sync=True)


class TimesPicture(Picture):
    kind = traitlets.Unicode("times").tag(sync=True)
    flops = traitlets.Float().tag(sync=True)
    bytes = traitlets.Float().tag(sync=True)
    roofs = traitlets.List().tag(sync=True)
    flops_readout = traitlets.Unicode().tag(sync=True)
    bytes_readout = traitlets.Unicode().tag(sync=True)


def _text(text):
    if unknown := set(text or {}) - set(TEXT):
        raise ValueError(f"text has {sorted(unknown)}; the entries are {', '.join(TEXT)}")
    return {**TEXT, **(text or {})}


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
