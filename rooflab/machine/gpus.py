"""Predict kernel times on a GPU, for some software, from its data sheet and fitted constants."""

import functools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from roofkit import network
from roofkit._inputs import check_number, check_sizes, itemsize, pick_16_bit, read_dtype
from roofkit.hardware import Chip, chip
from roofkit.models.predictions import Prediction
from roofkit.roofline import Cost, Roofline, larger
from rooflab.machine import gpu_kernels

GPUS_TABLE = Path(__file__).with_name("gpus.toml")
COVERAGE = 0.9
PASSES = {"all_reduce": 2, "all_gather": 1}
TOPOLOGIES = ("switch", "pairs")
# Maps the topology of a node, as named in the table of chips, to one of TOPOLOGIES.
TIMED_TOPOLOGIES = {"switch": "switch", "all-pairs": "pairs"}

# Kernels and variants in the table of constants, and their names in a basis.
KERNEL_NAMES = {
    "matmul": {"bf16": "16-bit matmuls", "fp8": "fp8 matmuls"},
    "elementwise": {
        "add": "residual adds", "rms_norm": "RMSNorms", "gated_activation": "gated activations",
    },
    "attention": {"prefill": "attention in prefills", "decode": "attention in decoding steps"},
    "all_reduce": {}, "all_gather": {},
}  # fmt: skip

# Each regime has its own interval, because predictions are better in some than in others.
FEW_WAVES = 3  # up to this number of waves, a matmul is in the few-waves regime
SHORT_SECONDS = 5e-6  # row kernels below this are timed coarsely, in whole microseconds
SHORT_CALLS = 2  # attention that takes less than this many overheads is short


def find_gpu_calibration(name, software=None):
    """Return the GPUCalibration of a GPU, a name or a Chip, with errors as for ``calibrate``.

    A100 80GB SXM, H100 SXM and, for matmuls, L40S were timed. Other NVIDIA GPUs use the constants
    of the timed GPU whose multiprocessors are most alike, and have no coverage.

    >>> a100 = find_gpu_calibration("A100 80GB SXM")
    >>> a100.matmul(B=512, D=8192, F=8192)
    Prediction(298 µs, 90% between 266 µs and 385 µs: fitted to vLLM 0.14.0's 16-bit matmuls on A100
    80GB SXM, 2026)
    """
    whole, timed_software = chip(name), list(_all_fits())
    software = timed_software[0] if software is None else software
    if software not in timed_software:
        choices = " or ".join(map(repr, timed_software))
        raise ValueError(f"software={software!r} was not timed; choose {choices}")
    gpu = gpu_figures(whole)
    nearest = _nearest_gpu(gpu, _timed_gpus(software))
    if whole.on_chip is None:
        gpu = replace(gpu, cache=float(chip(nearest).on_chip))
    return GPUCalibration(whole, gpu, nearest, software)


@dataclass(frozen=True, repr=False)
class GPUCalibration:
    """Predictor of the times of matmuls, row kernels, attention and collectives on a GPU.

    Methods broadcast over sizes and return a Prediction, whose basis names the GPU, library and
    year. If this GPU, software, dtype and size were timed, nine of ten measurements fall in the
    interval; otherwise ``coverage`` is None. ``nearest_gpu`` is the timed GPU most like it.
    """

    chip: Chip
    gpu: gpu_kernels.GPU
    nearest_gpu: str
    software: str

    def __repr__(self):
        source = "" if self.is_timed else f", by the constants of {self.nearest_gpu}"
        return f"GPUCalibration({self.chip.name}, {self.software}{source})"

    def matmul(self, B, D, F, dtype="bf16", weight_itemsize=None):
        """Return the time of one library call that computes X[B, D] · W[D, F].

        In 8 bits, this includes narrowing X from 16 bits; the result has 16 bits. A narrower W,
        stored in ``weight_itemsize`` bytes per element (including its share of a scale), is widened
        on the chip; no such kernel was timed.
        """
        B, D, F = check_sizes(B=B, D=D, F=F)
        dtype = read_dtype(dtype)
        size = itemsize(dtype)
        stored = size
        if weight_itemsize is not None:
            stored = check_number(weight_itemsize, "weight_itemsize")
        variant = "fp8" if size < 2 and self._is_timed("matmul", "fp8") else "bf16"
        fit, gpu = self._find_fit("matmul", variant), self._gpu_for(dtype)
        seconds, regime = time_matmul(gpu, fit.constants, B, D, F, size, stored)
        caveats = fit.find_gap(dtype, "matmul")
        if stored != size:
            caveats.append(f"no kernel with {8 * stored:.3g}-bit weights was timed")
        cost = Cost(2 * B * D * F, stored * D * F + size * (B * D + B * F))
        least = self.chip.roofline(dtype).estimate(cost).lower
        return self._prediction(fit, seconds, regime, caveats, least, B=B, D=D, F=F)

    def elementwise(self, rows, width, kind="add", dtype="bf16"):
        """Return the time of a kernel that works on rows of this width.

        ``kind`` is "add" (reads two rows, writes one), "rms_norm", "layer_norm" or "activation"
        (each reads one, writes one) or "gated_activation" (reads two, writes one). LayerNorms and
        ungated activations were not timed: the constants are those of the most similar kind.
        """
        gpu_kernels.check_row_kernel_kind(kind)
        rows, width = check_sizes(rows=rows, width=width)
        dtype = read_dtype(dtype)
        timed_kind = gpu_kernels.TIMED_KINDS.get(kind, kind)
        fit, size = self._find_fit("elementwise", timed_kind), itemsize(dtype)
        seconds, regime = time_row_kernel(self.gpu, fit.constants, rows, width, size, kind)
        caveats = fit.find_gap(dtype, "kernel")
        if timed_kind != kind:
            words = kind.replace("_", " "), timed_kind.replace("_", " ")
            caveats.append("no {} was timed: predicted from its bytes like a {}".format(*words))
        least = gpu_kernels.PASSES[kind] * size * rows * width / float(self.chip.bandwidth)
        return self._prediction(fit, seconds, regime, caveats, least, rows=rows, width=width)

    def attention(
        self, batch, new, cached, heads, kv_heads, head_dim, dtype="bf16", kv_itemsize=2
    ):  # fmt: skip
        """Return the time of fused attention: ``new`` tokens per sequence after ``cached`` tokens.

        This is vLLM's attention, which writes K and V of the new tokens to a paged cache. ``heads``
        query heads share ``kv_heads`` KV heads of ``head_dim`` elements of ``kv_itemsize`` bytes.
        Only steps of one new token and prefills without cached tokens were timed.
        """
        batch, new, heads = check_sizes(batch=batch, new=new, heads=heads)
        kv_heads, head_dim = check_sizes(kv_heads=kv_heads, head_dim=head_dim)
        cached = check_number(cached, "cached", above=False)
        dtype = read_dtype(dtype)
        decoding = np.all(np.asarray(new) == 1)
        fit = self._find_fit("attention", "decode" if decoding else "prefill")
        gpu, shape = self._gpu_for(dtype), (heads, kv_heads, head_dim, kv_itemsize)
        seconds, regime = time_attention(gpu, fit.constants, batch, new, cached, *shape)
        caveats = fit.find_gap(dtype, "attention")
        if kv_itemsize != 2:
            caveats.append(f"no {8 * kv_itemsize:.3g}-bit cache was timed")
        cost = gpu_kernels.count_attention(batch, new, cached, *shape, itemsize(dtype))
        least = self.chip.roofline(dtype).estimate(cost).lower
        return self._prediction(
            fit, seconds, regime, caveats, least, batch=batch, new=new, cached=cached, heads=heads,
            kv_heads=kv_heads, head_dim=head_dim, tokens=batch * (new + cached),
        )  # fmt: skip

    def all_reduce(self, size, gpus, topology="switch", gpus_per_node=None):
        """Return the time of an all-reduce of ``size`` bytes on each of ``gpus`` GPUs.

        ``topology`` is "switch" if an NVSwitch connects all GPUs of a node, and "pairs" if NVLink
        connects pairs and the host the rest. If ``gpus_per_node`` is less, a network connects the
        nodes; only that of one kind of A100 node was timed. No interval starts below the links'
        bound, ``roofkit.network.all_reduce``. Raises ValueError for more GPUs than can be joined.
        """
        return self._collective("all_reduce", size, gpus, topology, gpus_per_node)

    def all_gather(self, size, gpus, topology="switch"):
        """Return the time to gather ``size`` bytes, one part from each GPU, on all ``gpus`` GPUs.

        This was timed only with switches. Arguments and errors are as for ``all_reduce``.
        """
        return self._collective("all_gather", size, gpus, topology, None)

    def _collective(self, kernel, size, gpus, topology, gpus_per_node):
        size, gpus = check_sizes(size=size, gpus=gpus)
        if np.ndim(gpus) or gpus < 2 or gpus % 1:
            raise ValueError(f"gpus must be a whole number of at least 2, got {gpus!r}")
        per_node = gpus if gpus_per_node is None else min(gpus, gpus_per_node)
        link = name_link(topology, gpus, per_node)
        layout = self.chip.interconnect
        if topology == "switch" and layout and layout.largest and per_node > layout.largest:
            raise ValueError(
                f"a switch joins at most {layout.largest} {self.chip.name}, got {per_node}; "
                "for more, give gpus_per_node="
            )
        bus = None
        if self._is_timed(kernel, link):
            fit = self._find_fit(kernel, link)
            bus = scale_bus(fit.constants["bus"], link, chip(fit.gpu), self.chip)
        if bus is None:
            raise ValueError(
                f"no {kernel.replace('_', '-')} over a {link!r} link can be predicted for "
                f"{self.chip.name}: none was timed, or its data sheet has no such link"
            )
        constants = {**fit.constants, "bus": bus}
        seconds, regime = time_collective(constants, link, size, gpus, PASSES[kernel])
        prediction = self._prediction(fit, seconds, regime, [], seconds, size=size, gpus=gpus)
        joins = layout and TIMED_TOPOLOGIES.get(layout.topology)
        if joins != topology or per_node > layout.largest:
            return prediction
        node = network.group(self.chip, per_node)
        return _at_least(prediction, getattr(network, kernel)(size, node).seconds)

    def transfer(self, at_best, array=0.0, passes=0, group=None):
        """Return the time to send data that takes a chip's links ``at_best`` seconds or more.

        A collective sends each chip's part of an ``array`` to all others, ``passes`` times: once
        for an all-gather, twice for an all-reduce. If no group connected like ``group`` was timed,
        the time is ``at_best`` (or that within a node if longer) plus the group's hops and the
        overhead of a call, without coverage. No interval starts below ``at_best``.
        """
        topology, longest = self._timed_topology(group), at_best
        if passes and topology:
            if passes == 1 and topology == "switch":
                collective = self.all_gather(array, group.per_node)
            else:
                collective = self.all_reduce(array * passes / 2, group.per_node, topology)
                if passes != 2:
                    collective = replace(collective, coverage=None)
            if group.card is None:
                return _at_least(collective, at_best)
            longest = larger(at_best, collective.seconds)
        hops = 0.0 if group is None else max(passes, 1) * group.hops * group.latency
        fit = self._find_fit("matmul", "bf16")
        seconds = longest + hops + fit.constants["overhead"]
        basis = "transfers over such links were not timed, so the links' specifications are used"
        return Prediction(seconds, at_best, seconds * fit.slowest, None, basis)

    def predict(self, cost, dtype="bf16"):
        """Return the time of a kernel of another kind, such as a softmax, from its Cost.

        It has the overhead of matmuls, the shares of peak and bandwidth that they reach, and no
        coverage.
        """
        ideal, fit = self.chip.roofline(dtype), self._find_fit("matmul", "bf16")
        peak, bandwidth = (fit.constants[name] for name in ("peak", "bandwidth"))
        reached = Roofline(peak * ideal.peak_flops, bandwidth * ideal.bandwidth)
        seconds = fit.constants["overhead"] + reached.estimate(cost).lower
        basis = f"no kernel of this kind was timed: predicted like {fit.source}"
        return Prediction(seconds, ideal.estimate(cost).lower, seconds * fit.slowest, None, basis)

    total = staticmethod(Prediction.total)

    def judge_run(self, prediction, least):
        """Return the prediction of a run of ``least`` seconds or more, judged by published runs."""
        runs = _read_table()["runs"]
        if self.chip not in map(chip, runs["chips"]) or self.software != next(iter(_all_fits())):
            return replace(prediction, coverage=None, low=least)
        low, high = (larger(least, end * prediction.seconds) for end in runs["interval"])
        basis = f"{prediction.basis}; the interval is that of {runs['count']} published runs"
        return replace(prediction, low=low, high=high, coverage=COVERAGE, basis=basis)

    @property
    def is_timed(self):
        """True if kernels were timed on this GPU with this software."""
        return self.chip == chip(self.nearest_gpu)

    def _timed_topology(self, group):
        """Return the topology of a node, as ``all_reduce`` names it, or None if not timed."""
        layout = self.chip.interconnect
        several = layout is not None and group is not None and group.per_node > 1
        own = several and group.chip == self.chip and group.bandwidth == layout.total
        return TIMED_TOPOLOGIES.get(layout.topology) if own else None

    def _gpu_for(self, dtype):
        """Return the values of the GPU, with the peak of this dtype unless it has 16 bits."""
        if itemsize(dtype) == 2:
            return self.gpu
        return replace(self.gpu, peak=_confirmed_peak(self.chip, dtype))

    def _is_timed(self, kernel, variant):
        return any(_timed_gpus(software, kernel, variant) for software in _all_fits())

    def _find_fit(self, kernel, variant):
        """Return the _Fit for this kernel on the nearest GPU, if possible with this software."""
        software = next(
            name for name in (self.software, *_all_fits()) if _timed_gpus(name, kernel, variant)
        )
        nearest = _nearest_gpu(self.gpu, _timed_gpus(software, kernel, variant))
        return _read_fit(software, nearest, kernel, variant)

    def _prediction(self, fit, seconds, regime, caveats, least, **sizes):
        """Return the Prediction with its coverage, or with caveats and from ``least`` on."""
        if fit.software != self.software:
            caveats.append(f"none was timed with {self.software}")
        if self.chip != chip(fit.gpu):
            caveats.append(f"no {self.chip.name} was timed")
        beyond = bool(caveats)
        for name, value in sizes.items():
            low, high = fit.range.get(name, (-math.inf, math.inf))
            outside = (np.asarray(value) < low) | (np.asarray(value) > high)
            if outside.any():
                caveats.append(f"{name} outside {low:,} to {high:,}")
            beyond = beyond | outside
        own, other = (np.array(ends)[regime] for ends in (fit.interval, fit.other_interval))
        low, high = np.moveaxis(np.where(np.asarray(beyond)[..., None], other, own), -1, 0)
        low = np.where(beyond, np.minimum(least, seconds * low), seconds * low)
        values = seconds, low, seconds * high
        values = values if np.ndim(seconds) else map(float, values)
        basis = "; ".join([f"fitted to {fit.source}", *caveats])
        if caveats:
            return Prediction(*values, None, basis)
        # If no whole layers were timed, errors are assumed to be fully correlated.
        correlation = _read_table()["correlation"].get(fit.software, 1.0)
        return Prediction(*values, COVERAGE, basis, correlation)


@dataclass(frozen=True)
class _Fit:
    """The constants of one kernel, their intervals, and the timings they were fitted to."""

    software: str
    gpu: str
    source: str
    constants: dict
    dtypes: list
    range: dict
    interval: list
    other_interval: list

    @property
    def slowest(self):
        """The highest measured / predicted time on GPUs that were not timed."""
        return max(high for _, high in self.other_interval)

    def find_gap(self, dtype, kernel):
        """Return a caveat if no such dtype was timed; all dtypes of 16 bits run alike."""
        timed = dtype in self.dtypes or itemsize(dtype) == 2
        return [] if timed else [f"no {dtype} {kernel} was timed"]


@functools.cache
def _read_fit(software, gpu, kernel, variant):
    table = _all_fits()[software][gpu][kernel][variant]
    kernel_name = KERNEL_NAMES[kernel].get(variant, kernel.replace("_", "-") + "s")
    year = software.split()[-1]
    others = _all_fits()[software].get("other", {}).get(kernel, {})
    return _Fit(
        software, gpu, f"{table['library']}'s {kernel_name} on {gpu}, {year}", table["constants"],
        table.get("dtypes", []), table["range"], table["interval"],
        others.get(variant, table["interval"]),
    )  # fmt: skip


@functools.cache
def _timed_gpus(software, kernel=None, variant=None):
    """Return the names of the GPUs on which a kernel, or any kernel, was timed."""
    return tuple(
        name for name, kernels in _all_fits()[software].items()
        if name != "other" and (kernel is None or variant in kernels.get(kernel, {}))
    )  # fmt: skip


def _nearest_gpu(gpu, timed):
    """Return the GPU whose multiprocessors are most alike in speed, threads and bandwidth."""
    mine = _describe_multiprocessor(gpu)
    return min(timed, key=lambda name: sum(abs(mine - _describe_timed(name))))


def _describe_multiprocessor(gpu):
    return np.log([gpu.speed, gpu.rows, gpu.bandwidth / gpu.multiprocessors])


@functools.cache
def _describe_timed(name):
    return _describe_multiprocessor(gpu_figures(chip(name)))


def _at_least(prediction, least):
    """Return the Prediction with its seconds and interval raised to ``least`` if below."""
    raised = {name: larger(getattr(prediction, name), least) for name in ("seconds", "low", "high")}
    return replace(prediction, **raised)


@functools.cache
def _read_table():
    import tomllib  # imported here because only the table needs it

    return tomllib.loads(GPUS_TABLE.read_text(encoding="utf-8"))


def _all_fits():
    """Return the table of timed kernels by software, GPU, kernel and variant."""
    return _read_table()["software"]


def gpu_figures(whole):
    """Return a Chip's values for the formulas; raise ValueError if one is missing."""
    if whole.sku and not whole.sku.startswith("NVIDIA"):
        raise ValueError(
            f"only NVIDIA GPUs were timed, and {whole.name} is not one; time your own kernels and "
            "fit them with calibrate"
        )
    for name in ("bandwidth", "multiprocessors", "threads"):
        if getattr(whole, name) is None:
            raise ValueError(f"{whole.name} has no {name!r}, which predictions need")
    peak = _confirmed_peak(whole, pick_16_bit(whole.peaks, "bf16"))
    multiprocessors = float(whole.multiprocessors)
    return gpu_kernels.GPU(
        peak, float(whole.bandwidth), multiprocessors, float(whole.on_chip or math.nan),
        max(int(whole.threads // gpu_kernels.BLOCK_THREADS), 1), _clock(peak / multiprocessors),
        peak / multiprocessors / 1e12,
    )  # fmt: skip


def _confirmed_peak(whole, dtype):
    """Return the peak of a Chip; ValueError if it or the bandwidth is not confirmed."""
    peak = whole.peak_flops(dtype)
    if not (peak.confirmed and whole.bandwidth.confirmed):
        raise ValueError(
            f"predictions for {whole.name} need confirmed values (peak {peak!r}, "
            f"memory {whole.bandwidth!r}); pass a Chip with your own values"
        )
    return float(peak)


def _clock(flops):
    """Return the clock of a multiprocessor in GHz from its FLOP/s at 16 bits.

    The FLOPs per cycle are a power of two, and the clock is between 1.3 and 2.6 GHz.
    """
    return 1.3 * 2 ** (math.log2(flops / 1.3e9) % 1)


def time_matmul(gpu, constants, B, D, F, size, stored=None):
    """Return the seconds and their regime: 0 memory-bound, 1 few waves, 2 many waves."""
    seconds, waves = gpu_kernels.matmul(gpu, constants, B, D, F, size, stored)
    return seconds, np.where(waves == 0, 0, np.where(waves <= FEW_WAVES, 1, 2))


def time_row_kernel(gpu, constants, rows, width, size, kind):
    """Return the seconds and their regime: 0 short, 1 long."""
    seconds = gpu_kernels.row_kernel(gpu, constants, rows, width, size, kind)
    return seconds, np.where(seconds < SHORT_SECONDS, 0, 1)


def time_attention(gpu, constants, batch, new, cached, heads, kv_heads, head_dim, kv_itemsize=2):
    """Return the seconds and their regime: 0 short, 1 long."""
    shape = heads, kv_heads, head_dim, kv_itemsize
    if "rate" in constants:
        seconds = gpu_kernels.decode(gpu, constants, batch, cached, *shape)
    else:
        seconds = gpu_kernels.prefill(gpu, constants, batch, new, cached, *shape)
    return seconds, np.where(seconds < SHORT_CALLS * constants["overhead"], 0, 1)


def time_collective(constants, link, size, gpus, passes):
    """Return the seconds and the limiting factor: 0 latency, 1 bandwidth, 2 a network."""
    seconds = gpu_kernels.collective(constants, size, gpus, passes)
    if link.startswith("network"):
        return seconds, np.full(np.shape(seconds), 2)
    return seconds, np.where(seconds < 2 * (constants["latency"] + constants["fill"]), 0, 1)


def name_link(topology, gpus, gpus_per_node):
    """Return the name of a collective's link, such as "switch", "pair", "host" or "network-8"."""
    if topology not in TOPOLOGIES:
        raise ValueError(f"topology={topology!r} is not one of {', '.join(TOPOLOGIES)}")
    if gpus_per_node < gpus:
        return f"network-{gpus_per_node:g}"
    return "switch" if topology == "switch" else "pair" if gpus <= 2 else "host"


def scale_bus(bus, link, timed, whole):
    """Return the bytes/s of a link of ``whole``, at the share of its peak reached on ``timed``.

    The host link is not scaled (PCIe 4 with A100, PCIe 5 with H100). Returns None if the chip does
    not have the link.
    """
    if whole == timed or link == "host":
        return bus
    joins = {"switch": ("switch", "pair"), "all-pairs": ("pair",)}
    layout = whole.interconnect
    if layout is None or link not in joins.get(layout.topology, ()):
        return None
    return bus * float(layout.total) / float(timed.interconnect.total)
