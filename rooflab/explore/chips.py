"""A matmul split over several chips, with bars of time that follow sliders for n, D and B."""

from dataclasses import dataclass, replace

from roofkit._inputs import check_number, itemsize
from roofkit.hardware import Chip
from roofkit.hardware import chip as find_chip
from roofkit.network import all_reduce, critical_width, group, line, ring, sharded_matmul
from roofkit.network.sharding import group_sizes
from rooflab import plot
from rooflab.explore.frame import Explorer, follow, merge_texts, read_javascript

# The ranges of the sliders, extended if a slider starts outside them. They include the critical
# width of every slice of the TPU v5e.
WIDTHS, BATCHES = (2**10, 2**20), (1, 2**14)


def chips(chips=("TPU v5e", "H100"), B=1024, D=8192, F=8192, n=2, dtype="bf16", *, text=None):
    """Show the times of compute, memory and links of X[B, D] · Y[D, F] split along D over n chips.

    Buttons select the topology: that of a chip or, if its links lead to neighbours, a line or a
    ring of these links. Sliders change n to the possible sizes of such a group, D by eighths of a
    doubling, and B by doublings. The strip below the bars shows which time is longest at each D,
    and the critical width D*. The speedup over one chip assumes full overlap and ignores the
    latency of hops. A switch that can add does so, as in ``network.all_reduce``, and its button
    says so.

    Parameters
    ----------
    chips : names of chips, or Chips
        The figure starts with the first chip.
    B, D, F : whole numbers
        The sliders start at B and D.
    n : number of chips at the start
    dtype : str
        The dtype of the operands and of the partial sums that are sent.
    text : mapping, optional
        Replacements for entries of ``explore/words/en.toml``.

    Returns a ChipsExplorer for a notebook to display. Raises ValueError for a chip without links in
    the table, an n that is not a group size of the first chip, a dtype without a peak, sizes that
    are not whole numbers above 0, and an unknown text.

    >>> live = chips("TPU v5e", n=4)
    >>> live.group, live.estimate.bound, round(live.critical_width)
    (Group(4 × TPU v5e, 2x2, egress 90 GB/s), 'link', 13133)
    """
    chips = [find_chip(chip) for chip in ([chips] if isinstance(chips, (str, Chip)) else chips)]
    if not chips:
        raise ValueError("chips is empty; name at least one")
    B, D, F = (_check_one_whole(size, name) for name, size in (("B", B), ("D", D), ("F", F)))
    text = merge_texts(text)
    choices = _list_choices(chips)
    sizes = [group.n for group in choices[0].groups]
    if n not in sizes:
        numbers = ", ".join(map(str, sizes))
        raise ValueError(f"n={n!r} must be a group size of {chips[0].name}: {numbers}")
    return ChipsExplorer(choices, n, B, D, F, dtype, text)


@dataclass(frozen=True)
class JoinedChips:
    """One topology of a kind of chip, with a group for each number of chips."""

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
            "label": self.label(text),
            "peak_flops": float(roof.peak_flops),
            "bandwidth": float(roof.bandwidth),
            # ``sent`` is the share of an array that an all-reduce sends over the links of a chip.
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
    """Buttons and three sliders above three bars of time.

    ``n``, ``D`` and ``B`` follow the sliders; ``F`` and ``dtype`` are fixed.
    """

    _esm = read_javascript("marks.js", "chips.js")

    def __init__(self, choices, n, B, D, F, dtype, text):
        self.F, self.dtype, self._choices = F, dtype, choices
        data = {
            "groups": [choice.data(dtype, text) for choice in choices],
            "stops": {
                "D": _list_stops(D, *WIDTHS, parts=8),
                "B": _list_stops(B, *BATCHES, parts=1),
            },
            "F": F,
            "itemsize": itemsize(dtype),
        }
        super().__init__(data=data, state={"topology": 0, "n": n, "D": D, "B": B}, text=text)

    n, D, B = map(follow, ("n", "D", "B"))

    @property
    def group(self):
        groups = self._choices[self.state["topology"]].groups
        return next(group for group in groups if group.n == self.n)

    @property
    def estimate(self):
        """The Estimate with both memory and links."""
        split = sharded_matmul(self.B, self.D, self.F, self.group, dtype=self.dtype)
        return split.estimate(self.group.chip.roofline(self.dtype))

    @property
    def critical_width(self):
        return critical_width(self.group, self.dtype)

    def __repr__(self):
        return f"ChipsExplorer({self.group!r}, B={self.B}, D={self.D}, F={self.F})"

    def _draw(self):
        return plot.times({self.text["n_at"].format(n=self.n): self.estimate})


def _list_choices(chips):
    """Return the topology of each chip, and for the first torus also a line and a ring."""
    choices = []
    for chip in chips:
        sizes = group_sizes(chip)
        if sizes == [1]:
            raise ValueError(
                f"the table does not say how several {chip.name} are joined; choose another chip"
            )
        name = chip.interconnect.topology
        torus = name == "torus"
        own = JoinedChips("slice" if torus else name, chip, [group(chip, n) for n in sizes])
        choices.append(own)
        if torus and not any(choice.topology == "line" for choice in choices):
            for name, longer in (("line", line), ("ring", ring)):
                # A ring needs three chips.
                groups = [
                    replace((longer if n > 2 else line)(n, chip.interconnect.bandwidth), chip=chip)
                    for n in sizes
                ]
                choices.append(JoinedChips(name, chip, groups))
    return choices


def _list_stops(start, first, last, parts):
    """Return start and whole numbers from first to last in ``parts`` steps per doubling."""
    steps = {2**octave * (parts + part) // parts for octave in range(32) for part in range(parts)}
    low, high = min(first, start), max(last, start)
    return sorted(size for size in steps | {start} if low <= size <= high)


def _check_one_whole(size, name):
    number = check_number(size, name)
    if not isinstance(number, (int, float)) or number % 1:
        raise ValueError(f"{name} must be one whole number, got {size!r}")
    return int(number)
