"""Measure this machine: time kernels, keep every sample, and make a Chip of the best ones.

The best samples give a roofline, which is a bound, like a data sheet. ``calibrate``
(calibration.py) fits how much of the bound a library reaches.
"""

import contextlib
import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from roofkit._inputs import check_number, itemsize
from roofkit._tables import format_html_table, format_text_table
from roofkit._units import engineering
from roofkit.hardware import Chip, Figure
from roofkit.roofline import Cost, Roofline
from rooflab.machine.bench_reader import Progress, read_events

DEVICES = ("auto", "cpu", "cuda", "torch-cpu")
FORMAT, VERSION = "roofkit measurements", 1
LEAST_SIDE = 64  # of a matmul that may set a peak; smaller ones measure the call
LEAST_FETCH = 1e7  # bytes of a matmul of one row that may set the memory's bandwidth
METHOD = (
    "A separate process with a fixed number of threads runs every step twice, some time apart: two "
    "warm-up calls, then up to 12 samples within a time budget. A sample has enough calls to last "
    "1 ms. Operands are random. Every call of a matmul uses a different weight, so that it is not "
    "in a cache. GPU times come from events on the GPU."
)


@dataclass(frozen=True, repr=False)
class Timing:
    """One kernel at one shape: its FLOPs, its bytes, and how long it took.

    ``part`` is "overhead", "ladder", "peak" or "sweep"; ``shape`` is (B, D, F) for a matmul and
    (N,) for a vector kernel; ``samples`` are seconds per call, each the mean over ``calls`` calls.
    """

    part: str
    kernel: str
    dtype: str
    shape: tuple
    flops: float
    bytes: float
    calls: int
    samples: tuple

    def __post_init__(self):
        itemsize(self.dtype)
        for name in ("shape", "samples"):
            values = tuple(check_number(value, name) for value in getattr(self, name))
            if not values:
                raise ValueError(f"{name} is empty; give at least one number")
            object.__setattr__(self, name, values)
        for name in ("flops", "bytes"):
            check_number(getattr(self, name), name, above=False)

    def __repr__(self):
        best, median = (f"{engineering(seconds)}s" for seconds in (self.best, self.median))
        return (
            f"Timing({self.part}, {self.dtype} {self.kernel} {self.label}: best {best}, "
            f"median {median} of {self.count})"
        )

    @property
    def best(self):
        """The shortest sample, in seconds, used for rooflines and fits."""
        return min(self.samples)

    @property
    def median(self):
        """The median sample, in seconds, which is the time to expect."""
        return statistics.median(self.samples)

    @property
    def count(self):
        """The number of samples."""
        return len(self.samples)

    @property
    def cost(self):
        """FLOPs and bytes of one call, as a Cost."""
        return Cost(self.flops, self.bytes)

    @property
    def label(self):
        """The shape as text, such as "64×4096×4096"."""
        return "×".join(map(str, self.shape))


@dataclass(frozen=True)
class Machine:
    """A measured machine: processor, device, library, cores, threads used and system."""

    name: str
    device: str
    library: str
    cores: int
    threads: int
    system: str


@dataclass(frozen=True, repr=False)
class Ceilings:
    """The highest speeds of a run, from its best samples.

    peaks, bandwidth : dtype -> FLOP/s; working set in bytes -> bytes/s, a step for each cache
    ladders : kernel -> mapping of working set to bytes/s
    memory, overhead : bytes/s of main memory; seconds of an almost empty call
    """

    peaks: Mapping
    bandwidth: Mapping
    ladders: Mapping
    memory: float | None
    overhead: float | None

    def __repr__(self):
        parts = [f"{dtype} {engineering(peak)}FLOP/s" for dtype, peak in self.peaks.items()]
        parts += [f"memory {engineering(self.memory)}B/s"] if self.memory else []
        parts += [f"a call {engineering(self.overhead)}s"] if self.overhead else []
        return f"Ceilings({', '.join(parts)})"


@dataclass(frozen=True, repr=False)
class Measurements:
    """The results of a run of ``measure``, displayed as a table of ceilings.

    machine, date : Machine, and a str in ISO 8601
    versions : mapping of package to version
    timings : tuple of Timing, every sample kept
    skipped : tuple of str, the skipped steps with the reasons
    seconds, method : wall time of the run, and how it measured

    >>> timing = Timing("peak", "matmul", "fp32", (64, 64, 64), 524288, 49152, 1, (1e-5,))
    >>> machine = Machine("mine", "cpu", "numpy", cores=2, threads=2, system="Linux")
    >>> mine = Measurements(machine, "2026-01-31", {"numpy": "2.1"}, [timing])
    >>> mine.chip().peaks
    mappingproxy({'fp32': 5.243e+10 FLOP/s})
    """

    machine: Machine
    date: str
    versions: Mapping = field(hash=False)
    timings: tuple
    skipped: tuple = ()
    seconds: float = 0.0
    method: str = METHOD

    def __post_init__(self):
        object.__setattr__(self, "versions", MappingProxyType(dict(self.versions)))
        object.__setattr__(self, "timings", tuple(self.timings))
        object.__setattr__(self, "skipped", tuple(self.skipped))

    def select(self, **fields):
        """Return the timings with these fields: ``select(part="sweep", dtype="fp32")``."""
        return tuple(
            timing
            for timing in self.timings
            if all(getattr(timing, name) == value for name, value in fields.items())
        )

    @property
    def was_disturbed(self):
        """True if a quarter of the matmuls have a median more than 1.25 times their best.

        On an idle machine, the two differ by a few percent.
        """
        matmuls = self.select(kernel="matmul")
        ratios = sorted(timing.median / timing.best for timing in matmuls if timing.count > 3)
        return bool(ratios) and ratios[3 * len(ratios) // 4] > 1.25

    @property
    def ceilings(self):
        """The peaks, the ladder of bandwidths and the call overhead, as Ceilings.

        The ladder ignores a CPU's copy, which is assumed to read what it writes.
        """
        peaks, ladders = {}, {}
        for timing in self.timings:
            if timing.kernel == "matmul" and min(timing.shape) >= LEAST_SIDE:
                speed = timing.flops / timing.best
                peaks[timing.dtype] = max(peaks.get(timing.dtype, 0), speed)
            elif timing.part == "ladder":
                size = int(2 * timing.shape[0] * itemsize(timing.dtype))
                ladders.setdefault(timing.kernel, {})[size] = timing.bytes / timing.best
        reliable = [
            ladder
            for kernel, ladder in ladders.items()
            if kernel != "copy" or self.machine.device == "cuda"
        ]
        sizes = sorted({size for ladder in reliable for size in ladder})
        bandwidth = {
            size: max(ladder[size] for ladder in reliable if size in ladder) for size in sizes
        }
        large = [size for size in sizes if size >= sizes[-1] / 4]
        # NumPy adds with one core. A matmul of one row has all of them, and may fetch faster.
        rows = [timing for timing in self.select(part="sweep") if timing.shape[0] == 1]
        fetches = [row.bytes / row.best for row in rows if row.bytes > LEAST_FETCH]
        overheads = [timing.best for timing in self.select(part="overhead")]
        return Ceilings(
            peaks=MappingProxyType(peaks), bandwidth=MappingProxyType(bandwidth),
            ladders=MappingProxyType(ladders),
            memory=max(statistics.median(bandwidth[size] for size in large), *fetches, 0)
            if large else None,
            overhead=min(overheads, default=None),
        )  # fmt: skip

    def chip(self):
        """Return this machine as a Chip, with peaks from the best matmul in each dtype.

        The bandwidth comes from the largest arrays, or from a faster matmul of one row. Capacity,
        links and on-chip memory are not measured. Raises ValueError if no large matmul was timed.
        """
        machine, day = self.machine.name, self.date[:10]
        source = f"measured on {machine} with {self.machine.library}, {day}"
        ceilings = self.ceilings
        hasty = self.was_disturbed and any(step.startswith("peak") for step in self.skipped)
        if not ceilings.peaks or hasty:
            why = "other programs disturbed it" if hasty else "no large matmul was timed"
            raise ValueError(
                f"this run has no roof: {why}, and {self._count_skipped()}. Close other programs "
                "and measure again"
            )
        return Chip(
            machine,
            {
                dtype: Figure(peak, "FLOP/s", source=source, kind="dense")
                for dtype, peak in ceilings.peaks.items()
            },
            bandwidth=ceilings.memory and Figure(ceilings.memory, "byte/s", source=source),
            sku=f"measured, {machine}, {day}",
        )

    def rooflines(self, dtype="fp32"):
        """Return the measured roof for main memory, and a steeper one for each visible cache.

        The keys are the largest working sets that fit in each level, whose bandwidth is at least a
        quarter above that of the previous one. Raises ValueError for a dtype not measured.
        """
        peak, ceilings = self.chip().peak_flops(dtype), self.ceilings
        levels = {"memory": Roofline(float(peak), ceilings.memory)}
        fastest = ceilings.memory
        for size, speed in sorted(ceilings.bandwidth.items(), reverse=True):
            if speed > 1.25 * fastest and len(levels) < 5:
                fastest = speed
                levels[_format_binary(size)] = Roofline(float(peak), speed)
        return levels

    def save(self, path):
        """Write everything to a JSON file; ``load`` returns an equal object."""
        head = {"format": FORMAT, "version": VERSION, **vars(self)}
        head |= {"machine": vars(self.machine), "versions": dict(self.versions)}
        rows = ",\n".join(json.dumps(vars(timing)) for timing in head.pop("timings"))
        text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
        Path(path).write_text(f'{text},\n "timings": [\n{rows}\n]\n}}\n', encoding="utf-8")

    def save_chip(self, path):
        """Write ``chip()`` to a TOML file, whose path you can use in place of a chip's name."""
        chip = self.chip()
        lines = [
            "[[chip]]", f"name = {_format_toml(chip.name)}", f"sku = {_format_toml(chip.sku)}",
            *(f"peak.{dtype} = {_format_figure(peak)}" for dtype, peak in chip.peaks.items()),
        ]  # fmt: skip
        if chip.bandwidth:
            lines.append(f"memory.bandwidth = {_format_figure(chip.bandwidth)}")
        source = next(iter(chip.peaks.values())).source
        Path(path).write_text(
            "\n".join(["[sources]", f"measured = {_format_toml(source)}", "", *lines, ""]),
            encoding="utf-8",
        )

    @classmethod
    def load(cls, path):
        """Read a file that ``save`` wrote; raise ValueError if the file is not valid."""
        path = Path(path)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"cannot read {path} as JSON: {error}") from None
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise ValueError(f'{path.name} has no measurements: its "format" is not "{FORMAT}"')
        if (version := document.pop("version", None)) != VERSION:
            raise ValueError(f"{path.name} has version {version!r}, not {VERSION}; measure again")
        where = "its header"
        try:
            rows, timings = document.pop("timings"), []
            document["machine"] = Machine(**document["machine"])
            for place, row in enumerate(rows):
                where = f"timing {place}"
                timings.append(Timing(**row))
            where = "its header"
            return cls(timings=timings, **document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"{path.name}: {where} is damaged: {reason}") from None

    @property
    def rows(self):
        """The timings as dicts in SI units, one for each kernel and shape."""
        return [
            vars(timing) | {"shape": timing.label, "samples": timing.count,
                            "best_seconds": timing.best, "median_seconds": timing.median}
            for timing in self.timings
        ]  # fmt: skip

    def _table(self):
        ceilings = self.ceilings
        rows = [
            [f"{dtype} matmul", f"{engineering(peak)}FLOP/s"]
            for dtype, peak in ceilings.peaks.items()
        ]
        rows += [
            [f"bandwidth, {_format_binary(size)}", f"{engineering(speed)}B/s"]
            for size, speed in ceilings.bandwidth.items()
        ]
        if ceilings.memory:
            rows.append(["main memory", f"{engineering(ceilings.memory)}B/s"])
        if ceilings.overhead:
            rows.append(["one call", f"{engineering(ceilings.overhead)}s"])
        return ["ceiling", "best"], ["", ""], rows

    def _caption(self):
        machine = self.machine
        warnings = ["the times vary: close other programs and measure again"] * self.was_disturbed
        warnings += [self._count_skipped()] if self.skipped else []
        version = self.versions.get(machine.library, "")
        where = f"{machine.name}, {machine.threads} of {machine.cores} cores"
        about = f"{where}, {machine.library} {version}, {self.date[:10]}"
        return "; ".join([about, *warnings])

    def _count_skipped(self):
        steps = len(self.skipped) + len(self.timings)
        first = f", first {self.skipped[0]}" if self.skipped else ""
        return f"{len(self.skipped)} of {steps} steps were skipped{first}"

    def __repr__(self):
        return f"{self._caption()}\n{format_text_table(*self._table())}"

    def _repr_html_(self):
        return f"<p>{self._caption()}</p>{format_html_table(*self._table())}"


def measure(quick=False, device="auto", progress=True, threads=None):
    """Measure this machine: its peaks, bandwidths, call overhead and a sweep of matmuls.

    Parameters
    ----------
    quick : measure fewer shapes in at most 10 seconds rather than in under a minute
    device : "cpu" for NumPy, "cuda" for PyTorch on a GPU, "torch-cpu" for PyTorch on the CPU, or
        "auto" for a GPU if PyTorch finds one, and else "cpu"
    progress : show the current step, in a terminal or a notebook
    threads : of the CPU's matrix library; by default, one per core that this process may use

    Returns Measurements. A separate process runs four parts:

    - overhead: an addition of one element and a 1×1×1 matmul.
    - ladder: vector kernels in fp32 on working sets from 16 KiB to 512 MiB (2 GiB on a GPU). ``a +=
      b`` moves 3N elements, and ``dot`` 2N. A copy moves 2N, or 3N on a CPU, where a store to an
      uncached line first reads the line. The count is the same at every size.
    - peak: square matmuls in each dtype of the device.
    - sweep: matmuls X[B, D] · Y[D, F] with one to a thousand rows, on both sides of the ridge.
      Each operand counts once. ``calibrate`` fits these timings.

    Steps that would exceed their time budget are skipped and listed. NumPy runs everything except
    matmul and dot on one thread. Close other programs first: a single busy one can slow a matrix
    library down by a factor of ten, because its threads wait for each other. Raises ValueError if
    the device is not available, and RuntimeError if the process dies.

    >>> import roofkit as rk
    >>> mine = measure(quick=True)                       # doctest: +SKIP
    >>> mine.chip().roofline("fp32").ridge               # doctest: +SKIP
    4.0
    """
    if device not in DEVICES:
        raise ValueError(f"device={device!r} is not known; use one of {', '.join(DEVICES)}")
    if threads is None:
        from rooflab.machine.bench_process import count_cores

        threads = count_cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads={threads!r} must be a whole number of at least 1")
    request = {"device": device, "threads": threads, "quick": bool(quick), "plan": None}
    return _measure(request, Progress() if progress else None)


def _measure(request, progress=None):
    begin = datetime.now().astimezone()
    head, timings, skipped, ended = {}, [], [], False
    # An interrupt closes the generator, which stops the process.
    with contextlib.closing(read_events(request)) as events:
        for fields in events:
            event = fields.pop("event")
            if event == "refused":
                raise ValueError(fields["message"])
            if event == "start":
                head = fields
            elif event == "step" and progress:
                progress.show(
                    fields["done"] / fields["steps"], "{part} {kernel} {dtype}".format_map(fields)
                )
            elif event == "timing":
                timings.append(Timing(**fields))
            elif event == "skipped":
                skipped.append("{part} {kernel} {dtype} {shape}: {why}".format_map(fields))
            elif event == "end":
                ended = True
                if progress:
                    progress.end()
    if not ended:
        raise RuntimeError("the measuring process stopped before its last step; measure again")
    return Measurements(
        machine=Machine(**head["machine"]), date=begin.isoformat(timespec="seconds"),
        versions=head["versions"], timings=timings, skipped=skipped,
        seconds=round((datetime.now().astimezone() - begin).total_seconds(), 1),
    )  # fmt: skip


def _format_binary(size):
    """Return bytes as text in powers of 1024, as is usual for caches."""
    power = min(int(math.log2(size)) // 10, 3)
    return f"{size / 1024**power:.4g} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def _format_figure(figure):
    parts = {"value": float(figure), "unit": figure.unit, "kind": figure.kind, "source": "measured"}
    fields = (f"{name} = {_format_toml(value)}" for name, value in parts.items() if value != "")
    return f"{{ {', '.join(fields)} }}"


def _format_toml(value):
    return json.dumps(value, ensure_ascii=False)  # text and numbers look the same in TOML and JSON
