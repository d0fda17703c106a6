"""Predicted beside measured times, as a table and as a figure of their ratios."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roofkit._inputs import number
from roofkit._tables import html_table, text_table
from roofkit._units import engineering
from rooflab import palette
from rooflab.words import Words

say = Words(Path(__file__).parent / "words")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Predicted beside measured times; shows as a table, draws itself as ratios."""

    labels: tuple
    predicted: tuple
    measured: tuple

    @property
    def rows(self):
        """One dict a row: label, predicted and measured seconds, ratio = measured / predicted."""
        return [
            {"label": label, "predicted": guess, "measured": truth, "ratio": truth / guess}
            for label, guess, truth in zip(self.labels, self.predicted, self.measured, strict=True)
        ]

    @property
    def median_error(self):
        """The median of ``|predicted - measured|`` / measured."""
        return statistics.median(
            abs(row["predicted"] - row["measured"]) / row["measured"] for row in self.rows
        )

    def plot(self, ax=None):
        """Draw measured / predicted for each label on a log axis; returns the Axes.

        A circle is slower than predicted, a square faster; ``rooflab.plot.show`` finds the
        description it needs in ``ax.roofkit_description``.
        """
        import matplotlib.pyplot as plt
        from matplotlib.ticker import FixedLocator, NullLocator

        if ax is None:
            height = 1.1 + 0.24 * max(len(self.labels), 2)
            _, ax = plt.subplots(figsize=(6.4, height), layout="constrained")
        ratios = np.array([row["ratio"] for row in self.rows])
        places = np.arange(len(ratios))[::-1]
        ax.axvline(1, color=palette.colour("reference"), lw=1.2, zorder=2)
        ax.hlines(places, 1, ratios, color=palette.colour("frame"), lw=1.5, zorder=2)
        for chosen, marker, colour, name in (
            (ratios >= 1, "o", palette.colour("blue"), say("slower")),
            (ratios < 1, "s", palette.colour("vermilion"), say("faster")),
        ):
            if chosen.any():
                ax.plot(
                    ratios[chosen], places[chosen], marker, color=colour, ms=7,
                    markeredgecolor="white", label=name, zorder=3,
                )  # fmt: skip
        low, high = min(ratios.min() / 1.15, 0.8), max(ratios.max() * 1.15, 1.25)
        ax.set(xscale="log", xlim=(low, high), ylim=(-0.7, len(ratios) - 0.3))
        span = high / low
        steps = (
            (1,) if span > 100 else (1, 2, 5) if span > 10
            else (1, 1.5, 2, 3, 5, 7) if span > 2 else (1, 1.1, 1.2, 1.4, 5, 6, 7, 8, 9)
        )  # fmt: skip
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        marks = [step * 10.0**power for power in decades for step in steps]
        ax.xaxis.set_major_locator(FixedLocator(marks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_yticks(places, self.labels)
        ax.set_xlabel(say("x_axis"))
        ax.grid(axis="x", color=palette.colour("grid"), lw=0.8, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False, fontsize=9)
        ax.roofkit_description = self._describe()
        return ax

    def _describe(self):
        rows = sorted(self.rows, key=lambda row: abs(math.log(row["ratio"])), reverse=True)
        few = len(rows) <= 8
        cases = [
            say("case", label=row["label"], ratio=f"{row['ratio']:.3g}")
            for row in (rows if few else rows[:4])
        ]
        return say(
            "described" if few else "described_some", count=len(rows),
            error=f"{self.median_error:.1%}", cases=say("between").join(cases),
        )  # fmt: skip

    def _table(self):
        rows = [
            [
                row["label"], f"{engineering(row['predicted'])}s",
                f"{engineering(row['measured'])}s", f"{row['ratio']:.2f}",
            ]
            for row in self.rows
        ]  # fmt: skip
        return ["", say("predicted"), say("measured"), say("ratio")], [""] * 4, rows

    def _error(self):
        return say("median_error", error=f"{self.median_error:.1%}")

    def __repr__(self):
        return f"{text_table(*self._table())}\n{self._error()}"

    def _repr_html_(self):
        return f"{html_table(*self._table())}<p>{self._error()}</p>"


def compare(predicted, measured):
    """Predicted beside measured times.

    Parameters
    ----------
    predicted, measured : mappings of label to seconds, or sequences of seconds in one order

    Returns a Comparison: a table with ``rows``, ``median_error`` and ``plot()``. Raises ValueError
    where the two do not hold the same labels, or a time is not finite and above zero.

    >>> compare({"dot": 1e-3, "matmul": 2e-3}, {"dot": 1.1e-3, "matmul": 4e-3})
            predicted  measured  measured / predicted
    dot          1 ms    1.1 ms                  1.10
    matmul       2 ms      4 ms                  2.00
    median error 29.5%
    """
    predicted, measured = _labelled(predicted, "predicted"), _labelled(measured, "measured")
    for label in [*predicted, *measured]:
        for name, times in (("predicted", predicted), ("measured", measured)):
            if label not in times:
                raise ValueError(
                    f"{label!r} is not in {name}; both must hold the same labels, or sequences "
                    "the same number of times"
                )
    if not predicted:
        raise ValueError("there is nothing to compare: no times were given")
    return Comparison(
        tuple(map(str, predicted)),
        tuple(predicted.values()),
        tuple(measured[label] for label in predicted),
    )


def _labelled(times, name):
    if not isinstance(times, Mapping):
        if isinstance(times, str) or np.ndim(times) != 1:
            raise ValueError(
                f"{name} must map labels to seconds, or be a sequence of seconds, got {times!r}"
            )
        times = {place: value for place, value in enumerate(times)}
    return {label: _one(value, f"{name}[{label!r}]") for label, value in times.items()}


def _one(value, name):
    value = number(value, name)
    if np.ndim(value):
        raise ValueError(f"{name} must be one number of seconds, got shape {value.shape}")
    return float(value)
