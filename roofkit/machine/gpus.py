"""Times of kernels on a GPU, predicted from its data sheet and constants fitted to real ones."""

import functools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from roofkit import network
from roofkit._inputs import half, itemsize, number, sizes
from roofkit.hardware import Chip, chip
from roofkit.machine import gpu_kernels
from roofkit.machine.predictions import Prediction
from roofkit.roofline import Cost, Roofline, larger

TABLE = Path(__file__).with_name("gpus.toml")
COVERAGE = 0.9
TOPOLOGIES = ("switch", "pairs")
# How the table joins the chips of a node, and which of these topologies that is.
MEASURED_AS = {"switch": "switch", "all-pairs": "pairs"}

KERNELS = {
    "matmul": "PyTorch's 16-bit matmuls", "elementwise": "vLLM's 16-bit row kernels",
    "all_reduce": "NCCL's all-reduces",
}  # fmt: skip

# Each regime has its own interval: what decides the time also decides how well it is predicted.
MATMUL_REGIMES = ("memory", "few waves", "many waves")
ROW_REGIMES = ("short", "long")
LINK_REGIMES = ("latency", "bandwidth", "network")
FEW = 3  # waves of thread blocks
SHORT = 5e-6  # seconds; the timings are in whole microseconds, coarse for shorter ones


def published(name):
    """The GPUCalibration of a GPU, ready to predict its kernels' times with intervals.

    Parameters
    ----------
    name : str or Chip
        A GPU that was measured (A100 80GB SXM, H100 SXM), or any other NVIDIA GPU of which peak,
        bandwidth, multiprocessors and threads are known: then with the constants of the one whose
        multiprocessors compute most alike, and the wider interval within which the measured ones
        predict each other.

    Raises ValueError for a chip that lacks a figure or whose figures are not confirmed, and for
    one that is no NVIDIA GPU.

    >>> a100 = published("A100 80GB SXM")
    >>> a100.matmul(B=512, D=8192, F=8192)
    Prediction(313 µs, 90% between 279 µs and 362 µs: fitted to PyTorch's 16-bit matmuls on A100
    80GB SXM)
    """
    whole = chip(name)
    gpu = figures(whole)
    if whole.name in _table()["gpu"] and whole == chip(whole.name):
        return GPUCalibration(whole, gpu, whole.name)

    def unlike(other):
        return abs(math.log(gpu.speed / figures(chip(other)).speed))

    like = min(_table()["gpu"], key=unlike)
    if whole.on_chip is None:
        gpu = replace(gpu, cache=float(chip(like).on_chip))
    return GPUCalibration(whole, gpu, like)


@dataclass(frozen=True, repr=False)
class GPUCalibration:
    """Predicts how long ``matmul``, ``elementwise`` and ``all_reduce`` take on a GPU.

    Every method broadcasts over its sizes and returns a Prediction; ``total`` adds them up.
    ``like`` is the measured GPU whose constants are used.
    """

    chip: Chip
    gpu: gpu_kernels.GPU
    like: str

    def __repr__(self):
        whose = "" if self.measured else f", by the constants of {self.like}"
        return f"GPUCalibration({self.chip.name}{whose})"

    def matmul(self, B, D, F, dtype="bf16", weight_itemsize=None):
        """The time of X[B, D] · W[D, F] as a library multiplies it, a call of its own.

        16-bit kernels were measured; for another dtype the peak and the bytes are its own, and
        the interval is that of a GPU that was not measured. A W that is stored narrower, in
        ``weight_itemsize`` bytes an element with its share of a scale, is widened on the chip: no
        such kernel was measured, so that the interval begins at the bound and claims no coverage.
        """
        B, D, F = sizes(B=B, D=D, F=F)
        size = itemsize(dtype)
        stored = size if weight_itemsize is None else number(weight_itemsize, "weight_itemsize")
        gpu = self.gpu
        if size != 2:
            gpu = replace(gpu, peak=_peak(self.chip, dtype))
        constants = _table()["gpu"][self.like]["matmul"]
        seconds, regime = matmul_by(gpu, constants, B, D, F, size, stored)
        if stored == size:
            return self._told("matmul", seconds, regime, dtype, B=B, D=D, F=F)
        why = [f"no kernel with {8 * stored:.3g}-bit weights was measured"]
        found = self._told("matmul", seconds, regime, dtype, None, why, B=B, D=D, F=F)
        moved = stored * D * F + size * (B * D + B * F)
        bound = self.chip.roofline(dtype).estimate(Cost(2 * B * D * F, moved)).lower
        return replace(found, low=bound, coverage=None)

    def elementwise(self, rows, width, kind="add", dtype="bf16"):
        """The time of a kernel over rows of this width.

        ``kind`` is "add" (two read, one written), "norm" (RMSNorm or LayerNorm of each row) or
        "activation" (of a gated MLP: gate and up read, their product written, ``width`` each).
        """
        gpu_kernels.check_kind(kind)
        rows, width = sizes(rows=rows, width=width)
        constants = _table()["gpu"][self.like]["elementwise"]
        seconds, regime = rows_by(self.gpu, constants, rows, width, itemsize(dtype), kind)
        return self._told("elementwise", seconds, regime, dtype, rows=rows, width=width)

    def all_reduce(self, size, gpus, topology="switch", gpus_per_node=None):
        """The time of an all-reduce of ``size`` bytes on each of ``gpus`` GPUs.

        ``topology`` is "switch" where NVSwitch joins all GPUs of a node, "pairs" where NVLink joins
        two and the host the rest. ``gpus_per_node``, where it is fewer than ``gpus``, puts a
        network between: measured on A100 nodes alone, and of that network only. No interval begins
        before what the links take at least, with sums in a switch that can add up
        (``roofkit.network.all_reduce``). Raises ValueError for more GPUs at a switch than it joins.
        """
        size, gpus = sizes(size=size, gpus=gpus)
        if np.ndim(gpus) or gpus < 2 or gpus % 1:
            raise ValueError(f"gpus must be a whole number of at least 2, got {gpus!r}")
        together = gpus if gpus_per_node is None else min(gpus, gpus_per_node)
        link = link_named(topology, gpus, together)
        layout = self.chip.interconnect
        if topology == "switch" and layout and layout.largest and together > layout.largest:
            raise ValueError(
                f"a switch joins at most {layout.largest} {self.chip.name}, got {together}; for "
                "more, give gpus_per_node="
            )
        constants = self._links().get(link)
        if constants is None:
            raise ValueError(
                f"no all-reduce between {self.chip.name} was measured over {link!r}, and no "
                f"figure to predict it by; there is: {', '.join(self._links()) or 'none'}"
            )
        seconds, regime = all_reduce_by(constants, link, size, gpus)
        its = {name: constants[name] for name in ("size", "gpus")}
        found = self._told("all_reduce", seconds, regime, "bf16", its, size=size, gpus=gpus)
        if not layout or MEASURED_AS.get(layout.topology) != topology or together > layout.largest:
            return found
        least = network.all_reduce(size, network.group(self.chip, together)).seconds
        return _no_sooner(found, least)

    def transfer(self, at_best, array=0.0, passes=0, group=None):
        """The time of what a chip sends, where its links need ``at_best`` seconds at least.

        A collective that takes each chip's part of an ``array`` to all others in so many
        ``passes`` goes by the all-reduce that sends as much, if the ``group`` of chips is joined
        as those that were measured. Everything else goes by these seconds, or those of such an
        all-reduce within each of several nodes, by the hops of the group and the overhead of a
        call, and claims no coverage. No interval begins before ``at_best``.
        """
        topology, longest = self._measured_as(group), at_best
        if passes and topology:
            found = self.all_reduce(array * passes / 2, group.per_node, topology)
            if group.card is None:
                return _no_sooner(found, at_best)
            longest = larger(at_best, found.seconds)
        hops = 0.0 if group is None else max(passes, 1) * group.hops * group.latency
        seconds = longest + hops + _table()["gpu"][self.like]["matmul"]["overhead"]
        latest = max(high for low, high in _table()["interval"]["other"]["all_reduce"][:2])
        basis = "nothing that chips send over such links was measured: by the links' own figures"
        return Prediction(seconds, at_best, seconds * latest, None, basis)

    def predict(self, cost, dtype="bf16"):
        """The time of a kernel of which none like it was measured, such as attention, by its Cost.

        By the shares of peak and bandwidth that matmuls reach and their overhead. The interval
        goes from the bound to as late as any kernel of a GPU that was not measured; no coverage
        is claimed.
        """
        ideal = self.chip.roofline(dtype)
        its = _table()["gpu"][self.like]["matmul"]
        # A GPU whose clock ran above the data sheet's reached more than the peak.
        reached = Roofline(
            min(its["peak"], 1.0) * ideal.peak_flops, its["bandwidth"] * ideal.bandwidth
        )
        bound = ideal.estimate(cost).lower
        seconds = its["overhead"] + reached.estimate(cost).lower
        latest = max(high for low, high in _table()["interval"]["other"]["elementwise"])
        basis = f"no kernel of this kind was measured: as matmuls on {self.like}"
        return Prediction(seconds, bound, seconds * latest, None, basis)

    def total(self, parts):
        """The sum of predictions, with the interval of a sum: see Prediction.total."""
        return Prediction.total(parts)

    @property
    def measured(self):
        """True where kernels of this very GPU were measured."""
        return self.chip == chip(self.like)

    def _measured_as(self, group):
        """Return a node's ``topology`` as ``all_reduce`` names it; None for one not measured."""
        layout = self.chip.interconnect
        if group is None or group.per_node == 1 or layout is None:
            return None
        if group.chip != self.chip or group.bandwidth != layout.total:
            return None
        return MEASURED_AS.get(layout.topology)

    def _links(self):
        of = _table()["gpu"][self.like]["all_reduce"]
        return of if self.measured else links_by_share(of, chip(self.like), self.chip)

    def _told(self, kernel, seconds, regime, dtype, ranges=None, why=(), **measured_sizes):
        table, why = _table(), [*why]
        ranges = table["range"][kernel] if ranges is None else ranges
        if not self.measured:
            why.append(f"no {self.chip.name} was measured")
        if itemsize(dtype) != 2:
            why.append(f"no {dtype} kernel was measured")
        beyond = bool(why)
        for name, value in measured_sizes.items():
            low, high = ranges[name]
            outside = (np.asarray(value) < low) | (np.asarray(value) > high)
            if outside.any():
                why.append(f"{name} beyond {low:,} to {high:,}")
            beyond = beyond | outside
        own, other = (
            np.array(table["interval"][whose][kernel])[regime] for whose in (self.like, "other")
        )
        low, high = np.moveaxis(np.where(np.asarray(beyond)[..., None], other, own), -1, 0)
        if np.any(np.isnan(low)):
            raise ValueError(
                f"no interval is known here: {', '.join(why)}, between nodes whose network alone "
                "was measured"
            )
        basis = "; ".join([f"fitted to {KERNELS[kernel]} on {self.like}", *why])
        values = [seconds, seconds * low, seconds * high]
        if not np.ndim(seconds):
            values = [float(value) for value in values]
        together = 1.0 if why else table["correlation"]
        return Prediction(*values, COVERAGE, basis, together)


def _no_sooner(found, least):
    """A Prediction whose seconds and interval are no fewer than ``least``."""
    seconds, low, high = (larger(each, least) for each in (found.seconds, found.low, found.high))
    return replace(found, seconds=seconds, low=low, high=high)


@functools.cache
def _table():
    import tomllib  # imported only to read the table

    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def figures(whole):
    """Take from a Chip what the formulas need at 16 bits; ValueError saying what it lacks."""
    if whole.sku and not whole.sku.startswith("NVIDIA"):
        raise ValueError(
            f"kernels of NVIDIA GPUs were measured, and {whole.name} is none; time your own and "
            "use calibrate"
        )
    for name in ("bandwidth", "multiprocessors", "threads"):
        if getattr(whole, name) is None:
            raise ValueError(f"{whole.name} has no figure {name!r}, which a prediction needs")
    peak, multiprocessors = _peak(whole, half(whole.peaks, "bf16")), float(whole.multiprocessors)
    return gpu_kernels.GPU(
        peak, float(whole.bandwidth), multiprocessors, float(whole.on_chip or math.nan),
        max(int(whole.threads // gpu_kernels.THREADS), 1), _clock(peak / multiprocessors),
        peak / multiprocessors / 1e12,
    )  # fmt: skip


def _peak(whole, dtype):
    """A Chip's peak; ValueError if it or the bandwidth is not confirmed, as for a roofline."""
    peak = whole.peak_flops(dtype)
    if not (peak.confirmed and whole.bandwidth.confirmed):
        raise ValueError(
            f"a figure of {whole.name} that predictions rest on is not confirmed (peak {peak!r}, "
            f"memory {whole.bandwidth!r}); give a Chip with figures of your own"
        )
    return float(peak)


def _clock(flops):
    """The clock in GHz of a multiprocessor that reaches so many FLOP/s at 16 bits.

    A multiprocessor does a power of two of FLOPs in a cycle, and runs at 1.3 to 2.6 GHz.
    """
    return 1.3 * 2 ** (math.log2(flops / 1.3e9) % 1)


def matmul_by(gpu, constants, B, D, F, size, stored=None):
    """Seconds, and the place of their regime among MATMUL_REGIMES."""
    seconds, waves = gpu_kernels.matmul(gpu, constants, B, D, F, size, stored)
    return seconds, np.where(waves == 0, 0, np.where(waves <= FEW, 1, 2))


def rows_by(gpu, constants, rows, width, size, kind):
    """Seconds, and the place of their regime among ROW_REGIMES."""
    seconds = gpu_kernels.row_kernel(gpu, constants, rows, width, size, kind)
    return seconds, np.where(seconds < SHORT, 0, 1)


def all_reduce_by(constants, link, size, gpus):
    """Seconds, and the place of their regime among LINK_REGIMES."""
    seconds = gpu_kernels.all_reduce(constants, size, gpus)
    if link.startswith("network"):
        return seconds, np.full(np.shape(seconds), 2)
    return seconds, np.where(seconds < 2 * (constants["latency"] + constants["fill"]), 0, 1)


def link_named(topology, gpus, gpus_per_node):
    """Name what an all-reduce goes over: "switch", "pair", "host" or, say, "network-8"."""
    if topology not in TOPOLOGIES:
        raise ValueError(f"topology={topology!r} is not one of {', '.join(TOPOLOGIES)}")
    if gpus_per_node < gpus:
        return f"network-{gpus_per_node:g}"
    return "switch" if topology == "switch" else "pair" if gpus <= 2 else "host"


def links_by_share(of, measured, whole):
    """Constants of the links of ``whole``, at the share of the data sheet that ``measured`` reach.

    ``of`` holds the constants of the links of ``measured``, another Chip. The host's are as they
    are: PCIe 4 beside A100, PCIe 5 beside H100.
    """
    links = {"host": of["host"]}
    joins = {"switch": ("switch", "pair"), "all-pairs": ("pair",)}
    if whole.interconnect is not None:
        ratio = float(whole.interconnect.total) / float(measured.interconnect.total)
        for link in joins.get(whole.interconnect.topology, ()):
            links[link] = {**of[link], "bus": of[link]["bus"] * ratio}
    return links
