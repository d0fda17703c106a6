"""Models as tables of layers, with the FLOPs, bytes and bound of each layer."""

import html
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from roofkit._inputs import check_broadcast, check_number, itemsize
from roofkit._tables import format_html_table, format_text_table, to_frame, wrap_lines
from roofkit._units import engineering, format_quantity
from roofkit.efficiency import CACHE_REASON, COMPUTE_REASONS, MEMORY_REASONS, share_reached
from roofkit.models.operations import Operation
from roofkit.network import Group
from roofkit.roofline import Estimate, Roofline, larger, smaller


class Layer(NamedTuple):
    """One kind of layer on one machine: an Operation, a Roofline and possibly link traffic.

    ``link`` is the number of bytes sent to other chips, ``link_bandwidth`` the link's speed in
    bytes/s, and ``collective_group`` the Group of the layer's collective, if known. All values are
    for one occurrence of the layer; they are numbers or arrays that broadcast.

    >>> from roofkit.roofline import Roofline
    >>> Layer(Operation("up", 32, flops=2e9, weights=9e7, activations=1e6), Roofline(1e15, 3e12))
    Layer(32 × up: 2 GFLOP, 91 MB, memory-bound, 30.3 µs each)
    """

    operation: Operation
    roof: Roofline
    link: Any = 0.0
    link_bandwidth: Any = 0.0
    collective_group: Group | None = None

    def __repr__(self):
        sent = [format_quantity(self.link, "B") + " over the link"] if np.any(self.link) else []
        bound = f"{_format_bounds(self.bound)}-bound"
        figures = ", ".join([*self.operation.figure_texts, *sent, bound])
        time = format_quantity(self.time, "s")
        return wrap_lines(f"Layer({self.count} × {self.name}: {figures}, {time} each)")

    @property
    def name(self):
        return self.operation.name

    @property
    def count(self):
        """Number of occurrences in the pass."""
        return self.operation.count

    @property
    def flops(self):
        return self.operation.flops

    @property
    def weights(self):
        """Bytes of weights read from memory."""
        return self.operation.weights

    @property
    def activations(self):
        """Bytes of activations moved to and from memory."""
        return self.operation.activations

    @property
    def kv(self):
        """Bytes of KV cache moved to and from memory."""
        return self.operation.kv

    @property
    def peak(self):
        """Peak FLOP/s."""
        return self.roof.peak_flops

    @property
    def bandwidth(self):
        """Memory bandwidth in bytes/s."""
        return self.roof.bandwidth

    @property
    def bytes(self):
        """Bytes moved to and from memory: weights, activations and KV cache."""
        return self.operation.bytes

    @property
    def intensity(self):
        """FLOPs per byte of memory traffic; 0 if the layer only communicates."""
        flops, moved = self.flops, self.bytes
        if not isinstance(moved, np.ndarray):
            return flops / moved if moved else 0.0
        none = np.zeros(np.broadcast_shapes(np.shape(flops), moved.shape))
        return np.divide(flops, moved, out=none, where=moved > 0)

    @property
    def attainable(self):
        """FLOP/s that the roof allows at this intensity."""
        return smaller(self.peak, self.intensity * self.bandwidth)

    @property
    def cost(self):
        """FLOPs and bytes of memory traffic, as a Cost."""
        return self.operation.cost

    @property
    def estimate(self):
        """The Estimate from compute, memory and, if the layer communicates, the link."""
        found = self.roof.estimate_unchecked(self.operation.flops, self.operation.bytes)
        if type(self.link) is float and not self.link:
            return found
        sending = ("link", self.link / self.link_bandwidth)
        return Estimate(found.math, found.comms, found.channel, (sending,))

    @property
    def time(self):
        """Best-case seconds of one occurrence: the lower bound of the estimate."""
        return self.estimate.lower

    @property
    def bound(self):
        """What limits the layer: "compute", "memory" or "link"."""
        return self.estimate.bound

    def with_on_chip(self, on_chip):
        """Return this layer with ``on_chip`` bytes each of its input and output kept in a cache."""
        moved = larger(self.activations - 2.0 * on_chip, 0.0)
        return self._replace(operation=self.operation._replace(activations=moved))

    def predict(self, calibration):
        """Return the Prediction for one occurrence, using a calibration (a TimePredictor).

        Layers without a timed kernel, such as rotations, are predicted from their FLOPs and bytes,
        without coverage. A prediction below the layer's bound is raised to the bound and loses its
        coverage. It can be too low if the timed kernel moved fewer bytes than the layer, because it
        wrote narrower results or found its weights in a cache.
        """
        prediction, least = self._predict_kernel(calibration), self.time
        if np.any(prediction.seconds < least):
            prediction = replace(prediction, coverage=None)
        times = {name: larger(getattr(prediction, name), least)
                 for name in ("seconds", "low", "high")}  # fmt: skip
        return replace(prediction, **times)

    def _predict_kernel(self, calibration):
        one = self.operation
        if one.collective:
            passes = COLLECTIVE_PASSES.get(one.collective, 0)
            return calibration.transfer(self.time, one.array, passes, self.collective_group)
        if not one.kernel:
            return calibration.predict(self.cost, one.dtype)
        kind, rows, *widths = one.kernel
        if kind == "matmul":
            *widths, stored = widths
            return calibration.matmul(rows, *widths, one.dtype, stored)
        if kind in ("attention", "window"):
            *widths, stored = widths
            found = calibration.attention(rows, *widths, one.dtype, stored)
            if kind == "attention":
                return found
            return replace(found, coverage=None, basis=f"{found.basis}; no window was timed")
        # Operations between matrices use at least 16 bits, even if the matrices are narrower.
        dtype = one.dtype if itemsize(one.dtype) >= 2 else "bf16"
        return calibration.elementwise(rows, *widths, kind=kind, dtype=dtype)


# Number of times that a collective sends each chip's part of the array to all other chips.
COLLECTIVE_PASSES = {"all-reduce": 2, "all-gather": 1}


class LayerTable(Sequence):
    """The layers of one pass, in order, with totals and export functions.

    The values of a layer are for one occurrence. Totals multiply them by ``count`` and assume that
    layers run one after another. ``counts`` is "FLOPs" or "MACs". With a ``calibration``, the table
    also has a ``prediction``.
    """

    def __init__(self, title, layers, counts="FLOPs", calibration=None):
        self.title, self.layers, self.counts = title, tuple(layers), counts
        self.calibration = calibration

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, key):
        """Return a layer by name or index."""
        if not isinstance(key, str):
            return self.layers[key]
        for layer in self.layers:
            if layer.name == key:
                return layer
        names = ", ".join(layer.name for layer in self.layers)
        raise ValueError(f"no layer is named {key!r}; the layers are {names}")

    def _sum(self, name):
        total = 0.0
        for layer in self.layers:
            total = total + layer.count * getattr(layer, name)
        return total

    @property
    def flops(self):
        """FLOPs of the whole pass."""
        return self._sum("flops")

    @property
    def bytes(self):
        """Bytes of memory traffic in the whole pass."""
        return self._sum("bytes")

    @property
    def time(self):
        """Best-case seconds of the whole pass: the sum of the layers' lower bounds."""
        return self._sum("time")

    @property
    def estimate(self):
        """The whole pass as one Estimate, with the total time of each channel.

        Its lower bound is valid even if layers overlap; ``time`` assumes that they do not.
        """
        return self._estimate()

    def _estimate(self, on_chip=0.0):
        math, memory, link = 0.0, 0.0, 0.0
        for layer in self.layers:
            part = layer.with_on_chip(on_chip).estimate if np.any(on_chip) else layer.estimate
            math, memory = math + layer.count * part.math, memory + layer.count * part.comms
            for _, seconds in part.other_times:
                link = link + layer.count * seconds
        other_times = (("link", link),) if np.any(link) else ()
        return Estimate(math, memory, "memory", other_times)

    @property
    def prediction(self):
        """The predicted time of the kernels of the whole pass, one after another.

        Each layer is treated as one kernel. For code that does not fuse kernels, use a table
        without fusion. Raises ValueError if the table has no calibration.
        """
        if self.calibration is None:
            raise ValueError(
                f"{self.title}: no calibration was given; deploy the model with calibration=, such "
                'as calibration=rooflab.machine.calibrate("H100")'
            )
        found = self.calibration.total(
            layer.count * layer.predict(self.calibration) for layer in self.layers
        )
        low = self.time if found.coverage is None else found.low
        return replace(found, low=low, basis=f"kernels alone; {found.basis}")

    def share(self, seconds, on_chip=0.0):
        """Return the share of the roof that a measured time of the pass reaches.

        A share of 1 means as fast as compute, memory and link allow when they overlap fully.
        ``on_chip`` bytes of each layer's input, and as many of its output, stay in the last-level
        cache between layers. Raises ValueError with likely reasons for a share above 1.

        >>> import roofkit as rk
        >>> round(rk.llm("Llama-2-7B").on("A100 80GB SXM").decode(1, 2048).share(9e-3), 2)
        0.78
        """
        seconds = check_number(seconds, "seconds")
        on_chip = check_number(on_chip, "on_chip", above=False)
        least = self._estimate(on_chip).lower
        check_broadcast(table=least, seconds=seconds)
        reasons = (CACHE_REASON, *MEMORY_REASONS[1:], *COMPUTE_REASONS)
        return share_reached(least, seconds, f"what a {self.title} allows", reasons)

    @property
    def upper(self):
        """Seconds of the whole pass if nothing overlaps."""
        return self.estimate.upper

    @property
    def rows(self):
        """One dict per layer, in SI units, ready for JSON and CSV.

        With a calibration, predictions are for one occurrence, like ``seconds``.
        """
        predictor = self.calibration
        total, rows = self.time, []
        for layer in self.layers:
            estimate = layer.estimate
            rows.append({
                "layer": layer.name, "count": layer.count, "flops": layer.flops,
                "bytes": layer.bytes, "weight_bytes": layer.weights,
                "activation_bytes": layer.activations, "kv_bytes": layer.kv,
                "link_bytes": layer.link, "flops_per_byte": layer.intensity,
                "attainable_flops_per_s": layer.attainable, "bound": estimate.bound,
                "seconds": estimate.lower, "share": layer.count * estimate.lower / total,
                **(layer.predict(predictor).to_row("predicted") if predictor else {}),
            })  # fmt: skip
        return rows

    def to_frame(self):
        """Return the rows as a pandas DataFrame. Raises ModuleNotFoundError without pandas.

        If values are arrays, each layer has one row per point, numbered in array order.
        """
        return to_frame(self._rows_by_point())

    def _rows_by_point(self):
        rows = self.rows
        shape = np.broadcast_shapes(*(np.shape(value) for row in rows for value in row.values()))
        if not shape:
            return rows
        flat = [
            {name: np.broadcast_to(value, shape).ravel().tolist() for name, value in row.items()}
            for row in rows
        ]
        return [
            {"point": point, **{name: values[point] for name, values in row.items()}}
            for point in range(math.prod(shape))
            for row in flat
        ]

    def _columns(self):
        """Yield the heading, unit and cell texts of each nonempty column."""
        values = {name: [getattr(layer, name) for layer in self.layers] for name in _COLUMNS}
        total = self.time
        shares = [100 * layer.count * layer.time / total for layer in self.layers]
        yield "layer", "", [layer.name for layer in self.layers]
        yield "count", "", [f"{layer.count}" for layer in self.layers]
        for name, (head, unit) in _COLUMNS.items():
            if any(np.any(value) for value in values[name]):
                heads = [text.replace("FLOP", self.counts[:-1]) for text in (head, unit)]
                write = _format_ratio if name == "intensity" else _format_figure
                yield *heads, [write(value) for value in values[name]]
        yield "bound", "", [_format_bounds(layer.bound) for layer in self.layers]
        yield "time", "s", [_format_figure(layer.time) for layer in self.layers]
        yield "share", "%", [_format_span(share, "{:.1f}".format) for share in shares]

    def _format_table(self, draw):
        heads, units, columns = zip(*self._columns(), strict=True)
        sums = {self.counts: self.flops, "bytes": self.bytes, "time": self.time}
        total = {"layer": "total", **{name: _format_figure(sums[name]) for name in sums}}
        rows = [*zip(*columns, strict=True), [total.get(head, "") for head in heads]]
        return draw(heads, units, rows)

    def _prediction_lines(self):
        return [] if self.calibration is None else [f"predicted: {self.prediction}"]

    def __repr__(self):
        table = self._format_table(format_text_table)
        return "\n".join([wrap_lines(self.title), table, *self._prediction_lines()])

    def _repr_html_(self):
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self._prediction_lines())
        return f"<p>{html.escape(self.title)}</p>{self._format_table(format_html_table)}{lines}"


_COLUMNS = {
    "flops": ("FLOPs", ""),
    "bytes": ("bytes", "B"),
    "weights": ("weights", "B"),
    "activations": ("activations", "B"),
    "kv": ("KV cache", "B"),
    "link": ("link", "B"),
    "intensity": ("intensity", "FLOP/B"),
    "attainable": ("attainable", "FLOP/s"),
}


def _format_figure(value):
    return _format_span(value, lambda number: engineering(number).strip() if number else "–")


def _format_ratio(value):
    # A ratio of units has no SI prefix.
    return _format_span(value, lambda number: f"{number:.4g}" if number else "–")


def _format_span(value, text):
    """Return a number as text, or the smallest and largest values of an array."""
    if not np.ndim(value):
        return text(value)
    least, most = text(np.min(value)), text(np.max(value))
    return least if least == most else f"{least} … {most}"


def _format_bounds(bound):
    return " or ".join(np.unique(bound)) if isinstance(bound, np.ndarray) else bound
