"""Bars of time with sliders for FLOPs and bytes."""

from collections.abc import Mapping

from roofkit._inputs import check_number
from roofkit.hardware import chip as find_chip
from roofkit.roofline import Cost, Roofline
from rooflab import plot
from rooflab.explore.frame import Explorer, double, merge_texts, read_javascript

# The range of a slider, in doublings below and above its start. Bars share a linear axis, so if
# sliders went higher, the initial bars would be too short to read.
REACH_DOWN, REACH_UP = 3, 1


def times(cost, chips, dtype="bf16", *, terms=None, text=None):
    """Show T_math and T_comms of an adjustable Cost on several chips, as bars.

    Parameters
    ----------
    cost : Cost of numbers above 0
        The initial values of the sliders.
    chips : list of chips (Chip or name), or mapping of label to Roofline
    dtype : str
        Selects the peak of the chips; not used for Rooflines.
    terms : mapping, optional
        Quantities that sliders change instead of FLOPs or bytes: a mapping of ``"flops"``,
        ``"bytes"`` or both to ``(label, start, stops)``. The slider selects one of the ``stops``.
        FLOPs or bytes are proportional to it, and match ``cost`` at ``start``.
    text : mapping, optional
        Replacements for entries of ``explore/words/en.toml``.

    Returns a TimesExplorer for a notebook to display. Raises ValueError as in ``roofline()``.

    >>> live = times(Cost(flops=1e12, bytes=2e9), ["H100", "TPU v6e"])
    >>> live.estimates["TPU v6e"].bound
    'memory'

    Sliders for tokens and bits per weight, in a pass of a model with 7e9 weights:

    >>> terms = {"flops": ("tokens", 100, [50, 100, 200]), "bytes": ("bits", 16, [16, 8, 4])}
    >>> times(Cost(flops=1.4e12, bytes=1.4e10), ["A100 80GB SXM"], terms=terms)
    TimesExplorer(tokens=100, bits=16)
    """
    if not isinstance(cost, Cost):
        raise ValueError(f"cost must be a Cost(flops, bytes), got {cost!r}")
    for key in ("flops", "bytes"):
        if not isinstance(check_number(getattr(cost, key), key), (int, float)):
            raise ValueError(f"{key} must be one number, got {getattr(cost, key)!r}")
    if not isinstance(chips, Mapping):
        chips = [find_chip(chip) for chip in chips]
        chips = {chip.name: chip.roofline(dtype) for chip in chips}
    for label, roof in chips.items():
        if not isinstance(roof, Roofline) or not isinstance(roof.ridge, (int, float)):
            raise ValueError(f"chips[{label!r}] must be one Roofline, got {roof!r}")
    if not chips:
        raise ValueError("chips is empty; name at least one")
    terms = _check_terms(terms or {})
    labels = {key: label for key, (label, _, _) in terms.items()}
    return TimesExplorer(cost, chips, terms, merge_texts({**labels, **(text or {})}))


class TimesExplorer(Explorer):
    """Two sliders above bars of time.

    ``cost`` follows the sliders; ``estimates`` has its Estimate on each chip.
    """

    _esm = read_javascript("marks.js", "bars.js")

    def __init__(self, cost, roofs, terms, text):
        self.roofs, self._each = roofs, {}
        state, stops = {}, {}
        for key in ("flops", "bytes"):
            start = float(getattr(cost, key))
            if key in terms:
                _, state[key], stops[key] = terms[key]
                self._each[key] = start / state[key]
            else:
                state[key], stops[key] = start, double(start, REACH_DOWN, REACH_UP)
        data = {
            "roofs": [
                {
                    "name": name,
                    "peak_flops": float(roof.peak_flops),
                    "bandwidth": float(roof.bandwidth),
                    "channel": roof.channel,
                }
                for name, roof in roofs.items()
            ],
            "each": self._each,
            "stops": stops,
        }
        most = Cost(*(self._count(key, max(stops[key])) for key in stops))
        data["longest"] = max(roof.estimate(most).upper for roof in roofs.values())
        super().__init__(data=data, state=state, text=text)

    def _describe_state(self):
        named = [self.text[key] if key in self._each else key for key in self.state]
        return dict(zip(named, self.state.values(), strict=True))

    def _count(self, key, value):
        """The FLOPs or bytes at a slider's value."""
        return value * self._each.get(key, 1)

    @property
    def cost(self):
        return Cost(*(self._count(key, self.state[key]) for key in ("flops", "bytes")))

    @property
    def estimates(self):
        return {name: roof.estimate(self.cost) for name, roof in self.roofs.items()}

    def _draw(self):
        return plot.times(self.estimates)


def _check_terms(terms):
    """Return terms as (label, start, list of stops); raise ValueError for anything else."""
    if not isinstance(terms, Mapping) or not set(terms) <= {"flops", "bytes"}:
        raise ValueError(f"terms must map 'flops', 'bytes' or both to a term, got {terms!r}")
    checked = {}
    for key, term in terms.items():
        try:
            label, start, stops = term
            stops = list(stops)
        except (TypeError, ValueError):
            raise ValueError(
                f"terms[{key!r}] must be (label, start, stops), got {term!r}"
            ) from None
        for stop in stops:
            if not isinstance(check_number(stop, f"terms[{key!r}]"), (int, float)):
                raise ValueError(f"terms[{key!r}] must have numbers as stops, got {stop!r}")
        if start not in stops:
            raise ValueError(f"terms[{key!r}] starts at {start!r}, which is not one of {stops}")
        checked[key] = label, start, stops
    return checked
