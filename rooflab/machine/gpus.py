"""Times of kernels on a GPU, predicted from its data sheet and constants fitted to real ones.

Constants belong to software too: a library of another year runs the same kernel in another time.
"""

import functools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from roofkit import network
from roofkit._inputs import check_number, check_sizes, itemsize, pick_16_bit, read_dtype
from roofkit.hardware import Chip, chip
from roofkit.roofline import Cost, Roofline, larger
from rooflab.machine import gpu_kernels
from rooflab.machine.predictions import Prediction

GPUS_TABLE = Path(__file__).with_name("gpus.toml")
COVERAGE = 0.9
PASSES = {"all_reduce": 2, "all_gather": 1}
TOPOLOGIES = ("switch", "pairs")
# How the table joins the chips of a node, and which of these topologies that is.
TIMED_TOPOLOGIES = {"switch": "switch", "all-pairs": "pairs"}

# How the table of constants is ordered: software, GPU, kernel, variant.
KERNEL_NAMES = {
    "matmul": {"bf16": "16-bit matmuls", "fp8": "fp8 matmuls"},
    "elementwise": {
        "add": "residual adds", "rms_norm": "RMSNorms", "gated_activation": "gated activations",
    },
    "attention": {"prefill": "attention in prefills", "decode": "attention in decoding steps"},
    "all_reduce": {}, "all_gather": {},
}  # fmt: skip

# Each regime has its own interval: what decides the time also decides how well it is predicted.
MATMUL_REGIMES = ("memory", "few waves", "many waves")
SHORT_REGIMES = ("short", "long")
LINK_REGIMES = ("latency", "bandwidth", "network")
FEW_WAVES = 3  # waves of thread blocks
SHORT_SECONDS = (
    5e-6  # seconds; timings of row kernels are in whole microseconds, coarse for shorter ones
)
SHORT_CALLS = 2  # attention that takes no longer than so many of its overheads is short


def find_gpu_calibration(name, software=None):
    """The GPUCalibration of a GPU, ready to predict its kernels' times with intervals.

    Parameters
    ----------
    name : str or Chip
        A GPU that was timed (A100 80GB SXM, H100 SXM; for matmuls also L40S), or any other NVIDIA
        GPU of which peak, bandwidth, multiprocessors and threads are known: then with the constants
        of the one whose multiprocessors compute most alike, and without claiming coverage.
    software : str, optional
        Whose kernels: "vLLM 2026" unless given, or "PyTorch 2024", timed by vidur's authors.

    Raises ValueError for software that was not timed, for a chip that lacks a figure or whose
    figures are not confirmed, and for one that is no NVIDIA GPU.

    >>> a100 = find_gpu_calibration("A100 80GB SXM")
    >>> a100.matmul(B=512, D=8192, F=8192)
    Prediction(298 µs, 90% between 266 µs and 385 µs: fitted to vLLM 0.14.0's 16-bit matmuls on A100
    80GB SXM, 2026)
    """
    whole, timed = chip(name), list(_all_fits())
    software = timed[0] if software is None else software
    if software not in timed:
        there = " and ".join(map(repr, timed))
        raise ValueError(f"software={software!r} was not timed; there are {there}")
    gpu = gpu_figures(whole)
    like = _nearest_gpu(gpu, _timed_gpus(software))
    if whole.on_chip is None:
        gpu = replace(gpu, cache=float(chip(like).on_chip))
    return GPUCalibration(whole, gpu, like, software)


@dataclass(frozen=True, repr=False)
class GPUCalibration:
    """Predicts how long matmuls, row kernels, attention and collectives take on a GPU.

    Every method broadcasts over its sizes and returns a Prediction, whose basis names GPU, library
    and year; ``total`` adds them up. Nine of ten measurements fall in an interval where kernels of
    this very GPU, software, dtype and size were timed; elsewhere ``coverage`` is None. ``like`` is
    the timed GPU that computes most alike, and ``software`` whose kernels these are.
    """

    chip: Chip
    gpu: gpu_kernels.GPU
    nearest_gpu: str
    software: str

    def __repr__(self):
        whose = "" if self.is_timed else f", by the constants of {self.nearest_gpu}"
        return f"GPUCalibration({self.chip.name}, {self.software}{whose})"

    def matmul(self, B, D, F, dtype="bf16", weight_itemsize=None):
        """The time of X[B, D] · W[D, F] as a library multiplies it, a call of its own.

        Of 8 bits it includes narrowing X from 16; the result has 16. For a dtype that was not timed
        the peak and the bytes are its own. A W that is stored narrower, in ``weight_itemsize``
        bytes an element with its share of a scale, is widened on the chip: no such kernel was
        timed, so that the interval begins at the bound.
        """
        B, D, F = check_sizes(B=B, D=D, F=F)
        dtype = read_dtype(dtype)
        size = itemsize(dtype)
        stored = (
            size if weight_itemsize is None else check_number(weight_itemsize, "weight_itemsize")
        )
        gpu = self.gpu if size == 2 else replace(self.gpu, peak=_confirmed_peak(self.chip, dtype))
        of = self._find_fit(
            "matmul", "fp8" if size < 2 and self._is_timed("matmul", "fp8") else "bf16"
        )
        seconds, regime = time_matmul(gpu, of.constants, B, D, F, size, stored)
        why = [] if dtype in of.dtypes else [f"no {dtype} matmul was timed"]
        if stored == size:
            return self._prediction(of, seconds, regime, why, B=B, D=D, F=F)
        why.append(f"no kernel with {8 * stored:.3g}-bit weights was timed")
        found = self._prediction(of, seconds, regime, why, B=B, D=D, F=F)
        moved = stored * D * F + size * (B * D + B * F)
        bound = self.chip.roofline(dtype).estimate(Cost(2 * B * D * F, moved)).lower
        return replace(found, low=bound)

    def elementwise(self, rows, width, kind="add", dtype="bf16"):
        """The time of a kernel over rows of this width.

        ``kind`` is "add" (two read, one written), "rms_norm" or "layer_norm" of each row (one read,
        one written), "gated_activation" (gate and up read, their product written, ``width`` each)
        or "activation" (one read, one written). LayerNorm and activations without a gate were not
        timed: they go by their bytes and the constants of RMSNorm and of gated ones.
        """
        gpu_kernels.check_kind(kind)
        rows, width = check_sizes(rows=rows, width=width)
        dtype = read_dtype(dtype)
        alike = gpu_kernels.TIMED_KINDS.get(kind, kind)
        of = self._find_fit("elementwise", alike)
        seconds, regime = time_row_kernel(
            self.gpu, of.constants, rows, width, itemsize(dtype), kind
        )
        why = [] if dtype in of.dtypes else [f"no {dtype} kernel was timed"]
        if alike != kind:
            spoken = kind.replace("_", " "), alike.replace("_", " ")
            why.append("no {} was timed: by its bytes and the constants of {}s".format(*spoken))
        return self._prediction(of, seconds, regime, why, rows=rows, width=width)

    def attention(
        self, batch, new, cached, heads, kv_heads, head_dim, dtype="bf16", kv_itemsize=2
    ):  # fmt: skip
        """The time of fused attention: ``new`` tokens of each sequence after ``cached`` ones.

        As vLLM calls it, which puts K and V of the new tokens into a cache of pages and masks what
        comes later. ``heads`` of queries share ``kv_heads`` of K and V, of ``head_dim`` elements
        each, which take ``kv_itemsize`` bytes in the cache. One token after others is a decoding
        step, many after none a prefill; other passes were not timed.
        """
        batch, new, heads = check_sizes(batch=batch, new=new, heads=heads)
        kv_heads, head_dim = check_sizes(kv_heads=kv_heads, head_dim=head_dim)
        cached = check_number(cached, "cached", above=False)
        dtype = read_dtype(dtype)
        decoding = np.all(np.asarray(new) == 1)
        of = self._find_fit("attention", "decode" if decoding else "prefill")
        gpu = (
            self.gpu
            if itemsize(dtype) == 2
            else replace(self.gpu, peak=_confirmed_peak(self.chip, dtype))
        )
        seconds, regime = time_attention(
            gpu, of.constants, batch, new, cached, heads, kv_heads, head_dim, kv_itemsize
        )
        why = [] if dtype in of.dtypes else [f"no {dtype} attention was timed"]
        if kv_itemsize != 2:
            why.append(f"no cache of {8 * kv_itemsize:.3g} bits was timed")
        return self._prediction(
            of, seconds, regime, why, batch=batch, new=new, cached=cached, heads=heads,
            kv_heads=kv_heads, head_dim=head_dim, tokens=batch * (new + cached),
        )  # fmt: skip

    def all_reduce(self, size, gpus, topology="switch", gpus_per_node=None):
        """The time of an all-reduce of ``size`` bytes on each of ``gpus`` GPUs.

        ``topology`` is "switch" where NVSwitch joins all GPUs of a node, "pairs" where NVLink joins
        two and the host the rest. ``gpus_per_node``, where it is fewer than ``gpus``, puts a
        network between: timed on A100 nodes alone, and of that network only. No interval begins
        before what the links take at least, with sums in a switch that can add up
        (``roofkit.network.all_reduce``). Raises ValueError for more GPUs at a switch than it joins.
        """
        return self._collective("all_reduce", size, gpus, topology, gpus_per_node)

    def all_gather(self, size, gpus, topology="switch"):
        """The time to gather ``size`` bytes, each GPU's part of them, on all of ``gpus`` GPUs.

        Timed at switches alone. Arguments and errors are those of ``all_reduce``.
        """
        return self._collective("all_gather", size, gpus, topology, None)

    def _collective(self, kernel, size, gpus, topology, gpus_per_node):
        size, gpus = check_sizes(size=size, gpus=gpus)
        if np.ndim(gpus) or gpus < 2 or gpus % 1:
            raise ValueError(f"gpus must be a whole number of at least 2, got {gpus!r}")
        together = gpus if gpus_per_node is None else min(gpus, gpus_per_node)
        link = name_link(topology, gpus, together)
        layout = self.chip.interconnect
        if topology == "switch" and layout and layout.largest and together > layout.largest:
            raise ValueError(
                f"a switch joins at most {layout.largest} {self.chip.name}, got {together}; for "
                "more, give gpus_per_node="
            )
        bus = None
        if self._is_timed(kernel, link):
            of = self._find_fit(kernel, link)
            bus = scale_bus(of.constants["bus"], link, chip(of.gpu), self.chip)
        if bus is None:
            raise ValueError(
                f"no {kernel.replace('_', '-')} between {self.chip.name} was timed over {link!r}, "
                "and no figure is known to predict it by"
            )
        constants = {**of.constants, "bus": bus}
        seconds, regime = time_collective(constants, link, size, gpus, PASSES[kernel])
        found = self._prediction(of, seconds, regime, [], size=size, gpus=gpus)
        if (
            not layout
            or TIMED_TOPOLOGIES.get(layout.topology) != topology
            or together > layout.largest
        ):
            return found
        over = network.group(self.chip, together)
        return _at_least(found, getattr(network, kernel)(size, over).seconds)

    def transfer(self, at_best, array=0.0, passes=0, group=None):
        """The time of what a chip sends, where its links need ``at_best`` seconds at least.

        A collective that takes each chip's part of an ``array`` to all others in so many
        ``passes`` is an all-gather or an all-reduce, if the ``group`` of chips is joined as those
        that were timed. Everything else goes by these seconds, or those of such a collective
        within each of several nodes, by the hops of the group and the overhead of a call, and
        claims no coverage. No interval begins before ``at_best``.
        """
        topology, longest = self._timed_topology(group), at_best
        if passes and topology:
            if passes == 1 and topology == "switch":
                found = self.all_gather(array, group.per_node)
            else:
                found = self.all_reduce(array * passes / 2, group.per_node, topology)
                found = found if passes == 2 else replace(found, coverage=None)
            if group.card is None:
                return _at_least(found, at_best)
            longest = larger(at_best, found.seconds)
        hops = 0.0 if group is None else max(passes, 1) * group.hops * group.latency
        seconds = longest + hops + self._find_fit("matmul", "bf16").constants["overhead"]
        basis = "nothing that chips send over such links was timed: by the links' own figures"
        return Prediction(seconds, at_best, seconds * _widest_interval("all_reduce"), None, basis)

    def predict(self, cost, dtype="bf16"):
        """The time of a kernel of which none like it was timed, such as a softmax, by its Cost.

        By the shares of peak and bandwidth that matmuls reach and their overhead. The interval
        goes from the bound to as late as any row kernel of a GPU that was not timed; no coverage
        is claimed.
        """
        ideal, of = self.chip.roofline(dtype), self._find_fit("matmul", "bf16")
        its = of.constants
        reached = Roofline(its["peak"] * ideal.peak_flops, its["bandwidth"] * ideal.bandwidth)
        bound = ideal.estimate(cost).lower
        seconds = its["overhead"] + reached.estimate(cost).lower
        basis = f"no kernel of this kind was timed: as {of.source}"
        return Prediction(seconds, bound, seconds * _widest_interval("elementwise"), None, basis)

    def total(self, parts):
        """The sum of predictions, with the interval of a sum: see Prediction.total."""
        return Prediction.total(parts)

    @property
    def is_timed(self):
        """True where kernels of this very GPU were timed with this software."""
        return self.chip == chip(self.nearest_gpu)

    def _timed_topology(self, group):
        """Return a node's ``topology`` as ``all_reduce`` names it; None for one not timed."""
        layout = self.chip.interconnect
        if group is None or group.per_node == 1 or layout is None:
            return None
        if group.chip != self.chip or group.bandwidth != layout.total:
            return None
        return TIMED_TOPOLOGIES.get(layout.topology)

    def _is_timed(self, kernel, variant):
        return any(_timed_gpus(software, kernel, variant) for software in _all_fits())

    def _find_fit(self, kernel, variant):
        """The _Fit that predicts this kernel: of this software and GPU, or those most alike."""
        software = next(
            each for each in (self.software, *_all_fits()) if _timed_gpus(each, kernel, variant)
        )
        like = _nearest_gpu(self.gpu, _timed_gpus(software, kernel, variant))
        return _read_fit(software, like, kernel, variant)

    def _prediction(self, of, seconds, regime, why, **measured_sizes):
        """The Prediction, with coverage where these very kernels were timed, else the reasons."""
        if of.software != self.software:
            why.append(f"none was timed with {self.software}")
        if self.chip != chip(of.gpu):
            why.append(f"no {self.chip.name} was timed")
        beyond = bool(why)
        for name, value in measured_sizes.items():
            low, high = of.range.get(name, (-math.inf, math.inf))
            outside = (np.asarray(value) < low) | (np.asarray(value) > high)
            if outside.any():
                why.append(f"{name} beyond {low:,} to {high:,}")
            beyond = beyond | outside
        own, other = (np.array(each)[regime] for each in (of.interval, of.other_interval))
        low, high = np.moveaxis(np.where(np.asarray(beyond)[..., None], other, own), -1, 0)
        values = [seconds, seconds * low, seconds * high]
        if not np.ndim(seconds):
            values = [float(value) for value in values]
        basis = "; ".join([f"fitted to {of.source}", *why])
        if why:
            return Prediction(*values, None, basis)
        # Where no whole layers were timed, errors of two kernels are taken to go together fully.
        return Prediction(
            *values, COVERAGE, basis, _read_table()["correlation"].get(of.software, 1.0)
        )


@dataclass(frozen=True)
class _Fit:
    """Constants of one kernel, with what they were fitted to and how far off they may be."""

    software: str
    gpu: str
    source: str
    constants: dict
    dtypes: list
    range: dict
    interval: list
    other_interval: list


@functools.cache
def _read_fit(software, gpu, kernel, variant):
    its = _all_fits()[software][gpu][kernel][variant]
    named = KERNEL_NAMES[kernel].get(variant, kernel.replace("_", "-") + "s")
    year = software.split()[-1]
    others = _all_fits()[software].get("other", {}).get(kernel, {})
    return _Fit(
        software, gpu, f"{its['library']}'s {named} on {gpu}, {year}", its["constants"],
        its.get("dtypes", []), its["range"], its["interval"], others.get(variant, its["interval"]),
    )  # fmt: skip


@functools.cache
def _timed_gpus(software, kernel=None, variant=None):
    """Names of the GPUs that a kernel, or any kernel, was timed on."""
    return tuple(
        name for name, kernels in _all_fits()[software].items()
        if name != "other" and (kernel is None or variant in kernels.get(kernel, {}))
    )  # fmt: skip


def _nearest_gpu(gpu, timed):
    return min(timed, key=lambda name: abs(math.log(gpu.speed / _speed(name))))


@functools.cache
def _speed(name):
    return gpu_figures(chip(name)).speed


def _widest_interval(kernel):
    """The latest end of any interval of such a kernel on a GPU that was not timed."""
    return max(
        high
        for gpus in _all_fits().values()
        for regimes in gpus["other"].get(kernel, {}).values()
        for _, high in regimes
    )


def _at_least(found, least):
    """A Prediction whose seconds and interval are no fewer than ``least``."""
    seconds, low, high = (larger(each, least) for each in (found.seconds, found.low, found.high))
    return replace(found, seconds=seconds, low=low, high=high)


@functools.cache
def _read_table():
    import tomllib  # imported only to read the table

    return tomllib.loads(GPUS_TABLE.read_text(encoding="utf-8"))


def _all_fits():
    """The kernels that were timed: by software, GPU, kernel and variant."""
    return _read_table()["software"]


def gpu_figures(whole):
    """Take from a Chip what the formulas need at 16 bits; ValueError saying what it lacks."""
    if whole.sku and not whole.sku.startswith("NVIDIA"):
        raise ValueError(
            f"kernels of NVIDIA GPUs were measured, and {whole.name} is none; time your own and "
            "use calibrate"
        )
    for name in ("bandwidth", "multiprocessors", "threads"):
        if getattr(whole, name) is None:
            raise ValueError(f"{whole.name} has no figure {name!r}, which a prediction needs")
    peak, multiprocessors = (
        _confirmed_peak(whole, pick_16_bit(whole.peaks, "bf16")),
        float(whole.multiprocessors),
    )
    return gpu_kernels.GPU(
        peak, float(whole.bandwidth), multiprocessors, float(whole.on_chip or math.nan),
        max(int(whole.threads // gpu_kernels.BLOCK_THREADS), 1), _clock(peak / multiprocessors),
        peak / multiprocessors / 1e12,
    )  # fmt: skip


def _confirmed_peak(whole, dtype):
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


def time_matmul(gpu, constants, B, D, F, size, stored=None):
    """Seconds, and the place of their regime among MATMUL_REGIMES."""
    seconds, waves = gpu_kernels.matmul(gpu, constants, B, D, F, size, stored)
    return seconds, np.where(waves == 0, 0, np.where(waves <= FEW_WAVES, 1, 2))


def time_row_kernel(gpu, constants, rows, width, size, kind):
    """Seconds, and the place of their regime among SHORT_REGIMES."""
    seconds = gpu_kernels.row_kernel(gpu, constants, rows, width, size, kind)
    return seconds, np.where(seconds < SHORT_SECONDS, 0, 1)


def time_attention(gpu, constants, batch, new, cached, heads, kv_heads, head_dim, kv_itemsize=2):
    """Seconds, and the place of their regime among SHORT_REGIMES."""
    shape = heads, kv_heads, head_dim, kv_itemsize
    if "rate" in constants:
        seconds = gpu_kernels.decode(gpu, constants, batch, cached, *shape)
    else:
        seconds = gpu_kernels.prefill(gpu, constants, batch, new, cached, *shape)
    return seconds, np.where(seconds < SHORT_CALLS * constants["overhead"], 0, 1)


def time_collective(constants, link, size, gpus, passes):
    """Seconds, and the place of their regime among LINK_REGIMES."""
    seconds = gpu_kernels.collective(constants, size, gpus, passes)
    if link.startswith("network"):
        return seconds, np.full(np.shape(seconds), 2)
    return seconds, np.where(seconds < 2 * (constants["latency"] + constants["fill"]), 0, 1)


def name_link(topology, gpus, gpus_per_node):
    """Name what a collective goes over: "switch", "pair", "host" or, say, "network-8"."""
    if topology not in TOPOLOGIES:
        raise ValueError(f"topology={topology!r} is not one of {', '.join(TOPOLOGIES)}")
    if gpus_per_node < gpus:
        return f"network-{gpus_per_node:g}"
    return "switch" if topology == "switch" else "pair" if gpus <= 2 else "host"


def scale_bus(bus, link, timed, whole):
    """Bytes/s of a link of ``whole``, at the share of its data sheet that ``timed`` reaches.

    The host's is as it is: PCIe 4 beside A100, PCIe 5 beside H100. None for a link that the chip
    does not have.
    """
    if whole == timed or link == "host":
        return bus
    joins = {"switch": ("switch", "pair"), "all-pairs": ("pair",)}
    layout = whole.interconnect
    if layout is None or link not in joins.get(layout.topology, ()):
        return None
    return bus * float(layout.total) / float(timed.interconnect.total)
