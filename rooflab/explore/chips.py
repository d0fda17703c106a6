"""A matmul split over several chips: three times as bars that move with n, D and B."""

from dataclasses import dataclass, replace

import ipywidgets
import traitlets

from roofkit._inputs import check_number, itemsize
from roofkit.hardware import Chip
from roofkit.hardware import chip as find_chip
from roofkit.network import all_reduce, critical_width, group, line, ring, sharded_matmul
from roofkit.network.sharding import group_sizes
from rooflab import plot
from rooflab.explore.frame import Explorer, Picture, merge_texts, read_javascript

# The sliders reach from the first to the second, or as far as where they start. The critical
# width of every slice of the TPU v5e lies between.
WIDTHS, BATCHES = (2**10, 2**20), (1, 2**14)


def chips(chips=("TPU v5e", "H100"), B=1024, D=8192, F=8192, n=2, dtype="bf16", *, text=None):
    """X[B, D] · Y[D, F], split along D over n chips: what it takes to compute, fetch and add up.

    Buttons choose the topology: that of each chip, or, for a chip whose links lead to neighbours, a
    line or a ring of those links. Sliders move n over the sizes that such
    a group can have, D in eighths of a doubling, and B by doublings. Below the bars stands which
    time is longest at every other D, with the critical width D*. The speed against one chip is that
    with full overlap. The latency of hops is left out. A switch that can add up does so, as in
    ``network.all_reduce``, and its button says that it adds.

    Parameters
    ----------
    chips : names of chips, or Chips
        The first is what the picture starts with.
    B, D, F : whole numbers
        B and D are where the sliders start.
    n : chips at the start
    dtype : str
        Of operands and of the partial sums that travel.
    text : mapping, optional
        Replacements for entries of ``explore/words/en.toml``.

    Returns a ChipsExplorer, to end a notebook cell on. Raises ValueError for a chip that the table
    does not join to others, for an n that no group of the first has, a dtype without a peak, sizes
    that are no whole numbers above 0 and an unknown text.

    >>> live = chips("TPU v5e", n=4)
    >>> live.group, live.estimate.bound, round(live.critical_width)
    (Group(4 × TPU v5e, 2x2, egress 90 GB/s), 'link', 13133)
    """
    listed = [chips] if isinstance(chips, (str, Chip)) else chips
    found = [find_chip(chip) for chip in listed]
    if not found:
        raise ValueError("chips is empty; name at least one")
    B, D, F = (_check_one_whole(size, name) for name, size in (("B", B), ("D", D), ("F", F)))
    text = merge_texts(text)
    choices = _list_choices(found)
    sizes = [each.n for each in choices[0].groups]
    if n not in sizes:
        listed = ", ".join(map(str, sizes))
        raise ValueError(f"n={n!r} is no number of {found[0].name} that work together: {listed}")
    return ChipsExplorer(choices, sizes.index(n), B, D, F, dtype, text)


@dataclass(frozen=True)
class JoinedChips:
    """One way to join chips of one name, with a group for each number of them."""

    topology: str
    chip: Chip
    groups: list

    def label(self, text):
        adds = any(each.reduces for each in self.groups)
        topology = text["adding"] if adds else text[self.topology]
        return text["choice"].format(chip=self.chip.name, topology=topology)

    def data(self, dtype, text):
        roof = self.chip.roofline(dtype)
        return {
            "peak_flops": float(roof.peak_flops),
            "bandwidth": float(roof.bandwidth),
            # Of an array of one byte an all-reduce sends this share over the links of a chip.
            "sizes": [
                {
                    "n": each.n,
                    "egress": float(each.egress),
                    "sent": all_reduce(1.0, each).bytes,
                    "shape": self._describe_shape(each, text),
                }
                for each in self.groups
            ],
        }

    def _describe_shape(self, group, text):
        n = "x".join(map(str, group.axes))
        shape = text["shape"].format(topology=text[group.form], n=n)
        fits = self.topology != "ring" or group.form == "ring"
        return shape if fits else text["no_ring"].format(shape=shape)


class ChipsExplorer(Explorer):
    """Buttons and three sliders over three bars of time.

    ``n``, ``D`` and ``B`` are where the sliders stand, ``F`` and ``dtype`` what was given.
    """

    def __init__(self, choices, place, B, D, F, dtype, text):
        self.F, self.dtype, self._choices = F, dtype, choices
        self._widths, self._batches = (
            _list_stops(D, *WIDTHS, parts=8),
            _list_stops(B, *BATCHES, parts=1),
        )
        sliders = {
            "n": _make_index_slider(place, len(choices[0].groups) - 1, text["n"]),
            "D": _make_index_slider(self._widths.index(D), len(self._widths) - 1, text["D"]),
            "B": _make_index_slider(self._batches.index(B), len(self._batches) - 1, text["B"]),
        }
        self._topology = ipywidgets.ToggleButtons(
            options=[choice.label(text) for choice in choices],
            description=text["topology"],
            style={"description_width": "80px", "button_width": "auto"},
        )
        picture = ChipsPicture(
            groups=[choice.data(dtype, text) for choice in choices], widths=self._widths,
            batches=self._batches, F=F, itemsize=itemsize(dtype), last=sliders["n"].max, text=text,
            **{key: slider.value for key, slider in sliders.items()},
        )  # fmt: skip
        super().__init__(picture, sliders, above=[self._topology])
        ipywidgets.jslink((self._topology, "index"), (picture, "topology"))
        # The last n depends on how the chips are joined.
        ipywidgets.jsdlink((picture, "last"), (sliders["n"], "max"))

    @property
    def group(self):
        groups = self._choices[self._topology.index].groups
        return groups[min(self._controls["n"].value, len(groups) - 1)]

    @property
    def n(self):
        return self.group.n

    @property
    def D(self):
        return self._widths[self._controls["D"].value]

    @property
    def B(self):
        return self._batches[self._controls["B"].value]

    @property
    def estimate(self):
        """The Estimate over memory and links at once."""
        split = sharded_matmul(self.B, self.D, self.F, self.group, dtype=self.dtype)
        return split.estimate(self.group.chip.roofline(self.dtype))

    @property
    def critical_width(self):
        return critical_width(self.group, self.dtype)

    def __repr__(self):
        return f"ChipsExplorer({self.group!r}, B={self.B}, D={self.D}, F={self.F})"

    def _draw(self):
        return plot.times({self.text["n_at"].format(n=self.n): self.estimate})


class ChipsPicture(Picture):
    _esm = read_javascript("marks.js", "chips.js")

    # n, D and B are places in lists: the sizes of the chosen group, widths and batches.
    n = traitlets.Int().tag(sync=True)
    D = traitlets.Int().tag(sync=True)
    B = traitlets.Int().tag(sync=True)
    topology = traitlets.Int(0).tag(sync=True)
    groups = traitlets.List().tag(sync=True)
    widths = traitlets.List().tag(sync=True)
    batches = traitlets.List().tag(sync=True)
    F = traitlets.Int().tag(sync=True)
    itemsize = traitlets.Float().tag(sync=True)
    last = traitlets.Int().tag(sync=True)
    n_readout = traitlets.Unicode().tag(sync=True)
    D_readout = traitlets.Unicode().tag(sync=True)
    B_readout = traitlets.Unicode().tag(sync=True)


def _list_choices(chips):
    """How chips are joined: each as its kind is, and the first torus also as a line and a ring."""
    choices = []
    for chip in chips:
        sizes = group_sizes(chip)
        if sizes == [1]:
            raise ValueError(
                f"the table does not say how several {chip.name} are joined; name another chip"
            )
        name = chip.interconnect.topology
        torus = name == "torus"
        own = JoinedChips("slice" if torus else name, chip, [group(chip, n) for n in sizes])
        choices.append(own)
        if torus and not any(choice.topology == "line" for choice in choices):
            for name, longer in (("line", line), ("ring", ring)):
                # A ring needs three chips.
                made = [(longer if n > 2 else line)(n, chip.interconnect.bandwidth) for n in sizes]
                choices.append(JoinedChips(name, chip, [replace(each, chip=chip) for each in made]))
    return choices


def _list_stops(start, first, last, parts):
    """Whole numbers from first to last or as far as where to start, so many to each doubling."""
    steps = {2**octave * (parts + part) // parts for octave in range(32) for part in range(parts)}
    low, high = min(first, start), max(last, start)
    return sorted(size for size in steps | {start} if low <= size <= high)


def _make_index_slider(place, last, label):
    return ipywidgets.IntSlider(
        place, min=0, max=last, description=label, readout=False,
        style={"description_width": "80px"}, layout={"flex": "1 1 auto"},
    )  # fmt: skip


def _check_one_whole(size, name):
    found = check_number(size, name)
    if not isinstance(found, (int, float)) or found % 1:
        raise ValueError(f"{name} must be one whole number, got {size!r}")
    return int(found)
