"""A matmul on the roofline with the bytes of each operand, for any sizes, tile and dtype."""

import math

from roofkit import kernels
from roofkit._inputs import itemsize
from roofkit.hardware import chip as find_chip
from rooflab import plot
from rooflab.explore.frame import Explorer, follow, merge_texts, read_javascript

# Sliders stop at powers of two with exponents in these ranges, and at their initial value.
REACH = {"B": (0, 16), "D": (7, 16), "F": (7, 16), "tile": (0, 10)}


def matmul(chip="TPU v5e", B=256, D=8192, F=8192, dtype="bf16", *, tile=None, text=None):
    """Show X[B, D] · Y[D, F] on the roofline of a chip, with the bytes of each operand.

    Parameters
    ----------
    chip : name of a chip, or Chip
        You can choose any dtype for which it has a confirmed peak.
    B, D, F : whole numbers
        The initial sizes; sliders double and halve them.
    dtype : str
        The initial dtype of all three operands.
    tile : whole number, optional
        The initial edge b of square tiles of the result, as in ``kernels.matmul`` with
        ``tile=(b, b)``. By default, everything fits on the chip and is moved once.
    text : mapping, optional
        Replacements for entries of ``explore/words/en.toml``.

    Returns a MatmulExplorer for a notebook to display. Raises ValueError for an unknown chip or
    dtype, a size that is not a whole number above 0, and an unknown text.

    >>> live = matmul("TPU v5e", B=256, tile=128)
    >>> live.estimate.bound, round(live.cost.intensity, 1)
    ('memory', 63.5)
    """
    chip = find_chip(chip)
    chip.roofline(dtype)  # raises if the chip has no peak for it
    start = {"B": B, "D": D, "F": F, "tile": tile}
    for name, value in start.items():
        if name == "tile" and value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number above 0, got {value!r}")
    return MatmulExplorer(chip, start, dtype, merge_texts(text))


class MatmulExplorer(Explorer):
    """Four sliders and a choice of dtype above a roofline and the bytes of three operands.

    ``B``, ``D``, ``F``, ``tile`` (None if everything fits) and ``dtype`` follow the controls;
    ``cost``, ``roof`` and ``estimate`` follow from them.
    """

    _esm = read_javascript("marks.js", "loglog.js", "matmul.js")

    def __init__(self, chip, start, dtype, text):
        self.chip = chip
        # Unconfirmed peaks are left out, so nobody chooses one by accident.
        roofs = {each: chip.roofline(each) for each, peak in chip.peaks.items() if peak.confirmed}
        stops = {name: _list_stops(name, value) for name, value in start.items()}
        data = {
            "stops": stops,
            "peaks": [
                {"dtype": name, "peak_flops": float(roof.peak_flops), "itemsize": itemsize(name)}
                for name, roof in roofs.items()
            ],
            "bandwidth": float(roofs[dtype].bandwidth),
            "channel": roofs[dtype].channel,
            "limits": _axis_limits(roofs, stops),
        }
        super().__init__(data=data, state={**start, "dtype": dtype}, text=text)

    B, D, F, tile, dtype = map(follow, ("B", "D", "F", "tile", "dtype"))

    @property
    def cost(self):
        return _cost(self.B, self.D, self.F, self.dtype, self.tile)

    @property
    def roof(self):
        return self.chip.roofline(self.dtype)

    @property
    def estimate(self):
        return self.roof.estimate(self.cost)

    def _draw(self):
        text = self.text
        points = {text["product"]: self.cost}
        if self.tile is not None:
            once = _cost(self.B, self.D, self.F, self.dtype)
            tiled = text["tiled"].format(product=text["product"], tile=self.tile)
            points = {tiled: self.cost, text["product"]: once}
        return plot.roofline({f"{self.chip.name} {self.dtype}": self.roof}, points)


def _cost(B, D, F, dtype, tile=None):
    return kernels.matmul(B, D, F, dtype, tile=None if tile is None else (tile, tile))


def _list_stops(name, value):
    """Return the stops of a slider: powers of two, the value and, for the tile, None."""
    first, last = REACH[name]
    if value is not None:
        first = min(first, math.floor(math.log2(value)))
        last = max(last, math.ceil(math.log2(value)))
    powers = {2**exponent for exponent in range(first, last + 1)}
    if name == "tile":
        return [*sorted(powers | {value} - {None}), None]
    return sorted(powers | {value})


def _axis_limits(roofs, stops):
    """Return axis limits that include everything the controls can reach."""
    first, last = ({name: values[end] for name, values in stops.items()} for end in (0, -1))
    low = min(_cost(**first, dtype=dtype).intensity for dtype in roofs) / 2
    high = 2 * max(
        max(_cost(**last, dtype=dtype).intensity, roof.ridge) for dtype, roof in roofs.items()
    )
    floor = min(roof.attainable(low) for roof in roofs.values()) / 4
    return {"x": [low, high], "y": [floor, 4 * max(roof.peak_flops for roof in roofs.values())]}
