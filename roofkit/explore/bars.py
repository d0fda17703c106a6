"""Bars of time that move with FLOPs and bytes."""

from collections.abc import Mapping

import traitlets

from roofkit import plot
from roofkit._inputs import number
from roofkit.explore.frame import Explorer, Picture, javascript, slider, words
from roofkit.hardware import chip as find_chip
from roofkit.roofline import Cost, Roofline

# How many times a slider doubles its start downward and upward. Bars share one linear axis: if it
# reached further up, the bars of the first picture would be too short to read.
REACH_DOWN, REACH_UP = 3, 1


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
        Replacements for entries of ``explore/words/en.toml``.

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
        found = [find_chip(chip) for chip in chips]
        chips = {chip.name: chip.roofline(dtype) for chip in found}
    for label, roof in chips.items():
        if not isinstance(roof, Roofline) or not isinstance(roof.ridge, (int, float)):
            raise ValueError(f"chips[{label!r}] must be one Roofline, got {roof!r}")
    if not chips:
        raise ValueError("chips is empty; name at least one")
    return TimesExplorer(cost, chips, words(text))


class TimesExplorer(Explorer):
    """Two sliders over bars of time.

    ``cost`` is the Cost the sliders make, ``estimates`` what it takes on each chip.
    """

    def __init__(self, cost, roofs, text):
        self.roofs = roofs
        sliders = {
            "flops": slider(float(cost.flops), REACH_DOWN, REACH_UP, text["flops"]),
            "bytes": slider(float(cost.bytes), REACH_DOWN, REACH_UP, text["bytes"]),
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
        return Cost(self._controls["flops"].value, self._controls["bytes"].value)

    @property
    def estimates(self):
        return {name: roof.estimate(self.cost) for name, roof in self.roofs.items()}

    def _figure(self):
        return plot.times(self.estimates)


class TimesPicture(Picture):
    _esm = javascript("marks.js", "bars.js")

    flops = traitlets.Float().tag(sync=True)
    bytes = traitlets.Float().tag(sync=True)
    roofs = traitlets.List().tag(sync=True)
    flops_readout = traitlets.Unicode().tag(sync=True)
    bytes_readout = traitlets.Unicode().tag(sync=True)
