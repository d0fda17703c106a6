"""A roofline with sliders for its peak, its bandwidth and a kernel."""

import math

from roofkit._inputs import check_number
from roofkit.hardware import chip as find_chip
from roofkit.roofline import Cost, Roofline
from rooflab import plot
from rooflab.explore.frame import Explorer, double, follow, merge_texts, read_javascript

# The range of a slider, in doublings below and above its start.
REACH = 3


def roofline(chip="TPU v5e", dtype="bf16", intensity=0.5, *, kernel=None, text=None):
    """Show a roofline with adjustable peak, bandwidth and kernel, next to the published one.

    Parameters
    ----------
    chip : name of a chip, Chip, or Roofline
        The initial roofline, which remains visible in grey.
    dtype : str
        Selects the peak of the chip; not used for a Roofline.
    intensity : Cost of numbers, or FLOPs/byte
        The initial kernel.
    kernel : str, optional
        The name of the kernel in the figure.
    text : mapping, optional
        Replacements for entries of ``explore/words/en.toml``.

    Returns a RooflineExplorer for a notebook to display. Raises ValueError for an unknown chip or
    dtype, an intensity that is not finite and above 0, and an unknown text.

    >>> live = roofline("TPU v5e", intensity=0.5)
    >>> live.roof.ridge
    240.53724053724054
    """
    text = merge_texts(text)
    if isinstance(chip, Roofline):
        if not isinstance(chip.ridge, (int, float)):
            raise ValueError(f"chip must be one Roofline of plain numbers, got {chip!r}")
        roof, name = chip, text["unnamed"]
    else:
        chip = find_chip(chip)
        roof, name = chip.roofline(dtype), f"{chip.name} {dtype}"
    return RooflineExplorer(roof, _check_intensity(intensity), name, kernel or text["kernel"], text)


class RooflineExplorer(Explorer):
    """Three sliders above a roofline that follows them.

    ``peak_flops`` (FLOP/s), ``bandwidth`` (bytes/s) and ``intensity`` (FLOPs/byte) follow the
    sliders, ``roof`` is the resulting Roofline, and ``published`` is the initial one.
    """

    _esm = read_javascript("marks.js", "loglog.js", "rooflines.js")

    def __init__(self, roof, intensity, name, kernel, text):
        self.published, self._name, self._kernel = roof, name, kernel
        peak, bandwidth = float(roof.peak_flops), float(roof.bandwidth)
        # The axis includes the ridge for all positions of the sliders.
        apart = math.log2(intensity / roof.ridge)
        below, above = (max(REACH, math.ceil(gap) + 2 * REACH) for gap in (apart, -apart))
        fewest, most = intensity / 2**below, intensity * 2**above
        data = {
            "published": {"peak_flops": peak, "bandwidth": bandwidth},
            "channel": roof.channel,
            "limits": {
                "x": [fewest, most],
                "y": [0.25 * min(fewest * bandwidth, peak) / 2**REACH, 1.6 * peak * 2**REACH],
            },
            "stops": {
                "peak_flops": double(peak, REACH, REACH),
                "bandwidth": double(bandwidth, REACH, REACH),
                "intensity": double(intensity, below, above),
            },
        }
        super().__init__(
            data=data, state={"peak_flops": peak, "bandwidth": bandwidth, "intensity": intensity},
            text={**text, "published": text["published"].format(name=name), "kernel": kernel},
        )  # fmt: skip

    peak_flops, bandwidth, intensity = map(follow, ("peak_flops", "bandwidth", "intensity"))

    @property
    def roof(self):
        return Roofline(self.peak_flops, self.bandwidth, self.published.channel)

    def _draw(self):
        return plot.roofline({self._name: self.published}, {self._kernel: self.intensity})


def _check_intensity(kernel):
    value = check_number(kernel.intensity if isinstance(kernel, Cost) else kernel, "intensity")
    if not isinstance(value, (int, float)):
        raise ValueError(f"intensity must be one number or a Cost of numbers, got {kernel!r}")
    return float(value)
