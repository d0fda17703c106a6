"""A matmul on the roofline with the bytes of each operand, for any sizes, tile and dtype."""

import math

import ipywidgets
import traitlets

from roofkit import kernels
from roofkit._inputs import itemsize
from roofkit.hardware import chip as find_chip
from rooflab import plot
from rooflab.explore.frame import Explorer, Picture, make_selection, merge_texts, read_javascript

# Sliders stop at powers of two with exponents in these ranges, and at their initial value.
REACH = {"B": (0, 16), "D": (7, 16), "F": (7, 16), "tile": (0, 10)}
WHOLE_TILE = "whole"


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

    def __init__(self, chip, start, dtype, text):
        self.chip = chip
        # Unconfirmed peaks are left out, so nobody chooses one by accident.
        roofs = {each: chip.roofline(each) for each, peak in chip.peaks.items() if peak.confirmed}
        stops = {name: _list_stops(name, value) for name, value in start.items()}
        sliders = {
            name: make_selection(
                # In ipywidgets, None means that nothing is selected.
                [WHOLE_TILE if stop is None else stop for stop in values],
                values.index(start[name]),
                text[name],
            )
            for name, values in stops.items()
        }
        dtypes = ipywidgets.ToggleButtons(
            options=list(roofs), value=dtype, description=text["dtype"],
            style={"description_width": "40px", "button_width": "64px"},
        )  # fmt: skip
        dtypes.add_class("widget-inline-hbox")  # puts the label to the left of the buttons
        picture = MatmulPicture(
            stops=stops,
            peaks=[
                {"dtype": name, "peak_flops": float(roof.peak_flops), "itemsize": itemsize(name)}
                for name, roof in roofs.items()
            ],
            bandwidth=float(roofs[dtype].bandwidth),
            channel=roofs[dtype].channel,
            limits=_axis_limits(roofs, stops),
            text=text,
            dtype=dtypes.index,
            **{name: each.index for name, each in sliders.items()},
        )
        super().__init__(picture, {**sliders, "dtype": dtypes})
        # Two sliders share a row if there is room.
        self.layout.flex_flow = "row wrap"
        *rows, choice, _ = self.children
        for row in rows:
            row.layout.flex = "1 1 300px"
        for wide in (choice, picture):
            wide.layout.flex = "1 1 100%"

    B = property(lambda self: self._controls["B"].value)
    D = property(lambda self: self._controls["D"].value)
    F = property(lambda self: self._controls["F"].value)
    dtype = property(lambda self: self._controls["dtype"].value)

    @property
    def tile(self):
        edge = self._controls["tile"].value
        return None if edge == WHOLE_TILE else edge

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


class MatmulPicture(Picture):
    _esm = read_javascript("marks.js", "loglog.js", "matmul.js")

    # The controls, as indices into ``stops`` and ``peaks``.
    B = traitlets.Int().tag(sync=True)
    D = traitlets.Int().tag(sync=True)
    F = traitlets.Int().tag(sync=True)
    tile = traitlets.Int().tag(sync=True)
    dtype = traitlets.Int().tag(sync=True)
    stops = traitlets.Dict().tag(sync=True)
    peaks = traitlets.List().tag(sync=True)
    bandwidth = traitlets.Float().tag(sync=True)
    channel = traitlets.Unicode().tag(sync=True)
    B_readout = traitlets.Unicode().tag(sync=True)
    D_readout = traitlets.Unicode().tag(sync=True)
    F_readout = traitlets.Unicode().tag(sync=True)
    tile_readout = traitlets.Unicode().tag(sync=True)


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
