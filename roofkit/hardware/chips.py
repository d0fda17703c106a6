"""Chips: peaks by dtype, memory and interconnect, all with units and sources."""

import contextlib
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from roofkit._inputs import pick_16_bit, read_dtype
from roofkit._tables import format_html_table, format_text_table, to_frame
from roofkit._units import format_quantity
from roofkit.hardware.figures import FIGURE_KEYS, make_figure
from roofkit.hardware.interconnect import Interconnect
from roofkit.roofline import Roofline


@dataclass(frozen=True, repr=False)
class Chip:
    """A chip with its peaks, memory and links.

    Parameters
    ----------
    name : str
    peaks : mapping of dtype to FLOP/s, dense
    bandwidth : bytes/s of the main memory, or None if unknown
    capacity : bytes of the main memory according to the data sheet, or None
    allocatable : bytes that a program can allocate according to the driver, or None
    on_chip : bytes of the on-chip memory, or None
    multiprocessors : number of units that run blocks of threads in parallel (NVIDIA's streaming
        multiprocessors, AMD's compute units), or None
    threads : maximum number of concurrent threads per multiprocessor, or None
    interconnect : an Interconnect with the links to other chips, or None
    sku : the exact product
    aliases : other names that ``chip()`` accepts

    Plain numbers become Figures with the source "given by the user". Raises ValueError for unknown
    dtypes, and for numbers that are not finite and above zero.

    >>> mine = Chip("my laptop", peaks={"fp32": 2e11}, bandwidth=5e10)
    >>> mine
    Chip(my laptop: fp32 200 GFLOP/s, memory 50 GB/s)
    >>> mine.roofline("fp32").ridge
    4.0
    """

    name: str
    peaks: Mapping = field(hash=False)  # mapping proxies are not hashable
    bandwidth: float | None = None
    capacity: float | None = None
    on_chip: float | None = None
    sku: str = ""
    aliases: tuple = ()
    interconnect: Interconnect | None = None
    allocatable: float | None = None
    multiprocessors: float | None = None
    threads: float | None = None

    def __post_init__(self):
        set_field = functools.partial(object.__setattr__, self)
        if not isinstance(self.peaks, Mapping):
            raise ValueError(
                f"{self.name}: peaks must map dtypes to FLOP/s, such as "
                f'{{"bf16": 1.97e14}}, got {self.peaks!r}'
            )
        peaks = {}
        for given, value in self.peaks.items():
            dtype = read_dtype(given, f"{self.name}: peaks: dtype")
            if dtype in peaks:
                raise ValueError(f"{self.name}: peaks lists {dtype} twice, once as {given!r}")
            peaks[dtype] = make_figure(value, "peak", f"{self.name}: peaks[{given!r}]")
        set_field("peaks", MappingProxyType(peaks))
        for name, key in FIGURE_KEYS.items():
            value = getattr(self, name)
            if value is not None:
                set_field(name, make_figure(value, key, f"{self.name}: {name}"))
        if not isinstance(self.interconnect, Interconnect | None):
            raise ValueError(
                f"{self.name}: interconnect must be an Interconnect, such as "
                f'Interconnect(18, 25e9, "switch", largest=8), got {self.interconnect!r}'
            )

    def __repr__(self):
        figures = [(dtype, peak) for dtype, peak in self.peaks.items()]
        figures += [("memory", self.bandwidth), ("capacity", self.capacity)]
        parts = [
            f"{name} {format_quantity(value, value.unit)}{'' if value.confirmed else ' (?)'}"
            for name, value in figures
            if value is not None
        ]
        return f"Chip({self.name}: {', '.join([*parts, *filter(None, [_describe_links(self)])])})"

    @property
    def usable(self):
        """Bytes of memory available to programs: ``allocatable`` if known, else ``capacity``.

        >>> import roofkit as rk
        >>> rk.chip("H100").capacity, rk.chip("H100").usable
        (8e+10 byte, 8.552e+10 byte)
        """
        return self.capacity if self.allocatable is None else self.allocatable

    def peak_flops(self, dtype="bf16"):
        """Return the dense peak for this dtype in FLOP/s.

        If the peak is unknown, raises ValueError listing the dtypes with known peaks. Peaks are
        never derived from other peaks.
        """
        try:
            return self.peaks[dtype]
        except (KeyError, TypeError):  # perhaps another spelling
            with contextlib.suppress(KeyError, ValueError):
                return self.peaks[read_dtype(dtype)]
        listed = ", ".join(self.peaks) or "no peak at all, only bandwidth"
        raise ValueError(f"{self.name} has no peak for dtype {dtype!r}; the table has: {listed}")

    def roofline(self, dtype="bf16", *, unconfirmed=False):
        """Return the Roofline of this chip for a dtype, with its memory as the channel.

        For links, use ``rk.group(chip, n)``. Raises ValueError if the peak or the bandwidth is
        missing, or if it is unconfirmed and ``unconfirmed`` is False.
        """
        peak, bandwidth = self.peak_flops(dtype), self.bandwidth
        if bandwidth is None:
            raise ValueError(
                f"the table has no memory bandwidth for {self.name}; "
                "use your own values: Roofline(peak_flops, bandwidth)"
            )
        if not (unconfirmed or (peak.confirmed and bandwidth.confirmed)):
            raise ValueError(
                f"a value of {self.name} is not confirmed (peak {peak!r}, memory "
                f"{bandwidth!r}); pass unconfirmed=True to use it anyway"
            )
        return Roofline(peak, bandwidth, cache=self.on_chip)

    def list_figures(self):
        """Yield the name and the Figure of every value that the table has for this chip.

        >>> import roofkit as rk
        >>> next(rk.chip("TPU v5e").list_figures())
        ('peak bf16', 1.97e+14 FLOP/s)
        """
        yield from ((f"peak {dtype}", figure) for dtype, figure in self.peaks.items())
        for name in FIGURE_KEYS:
            if getattr(self, name) is not None:
                yield name.replace("_", " "), getattr(self, name)
        if self.interconnect:
            yield f"{self.interconnect.links} links, each", self.interconnect.bandwidth

    def __reduce__(self):
        # Mapping proxies cannot be pickled.
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return functools.partial(Chip, **{**values, "peaks": dict(self.peaks)}), ()


class ChipTable(tuple):
    """A tuple of chips that is displayed as a table in terminals and notebooks."""

    __slots__ = ()
    _PEAKS = ("bf16", "fp16", "fp8", "fp4", "int8", "fp32")
    _HEAD = (
        "chip", *_PEAKS, "memory", "allocatable", "bandwidth", "links", "ridge",
    )  # fmt: skip
    _UNITS = (
        "", *["TFLOP/s"] * len(_PEAKS), "GB", "GB", "GB/s", "GB/s, one way", "FLOP/byte, 16-bit",
    )  # fmt: skip

    @property
    def rows(self):
        """One dict per chip, in SI units: peak_<dtype>, bandwidth, ridge at 16 bits and so on.

        Unknown values are None.

        >>> import roofkit as rk
        >>> rk.chips().rows[0]["chip"], rk.chips().rows[0]["peak_fp16"]
        ('V100 SXM2', 125000000000000.0)
        """
        dtypes = dict.fromkeys((*self._PEAKS, *(dtype for chip in self for dtype in chip.peaks)))
        return [_chip_row(chip, dtypes) for chip in self]

    def to_frame(self):
        """Return ``rows`` as a pandas DataFrame, or raise ModuleNotFoundError without pandas."""
        return to_frame(self.rows)

    def _figures(self, chip):
        peaks = (chip.peaks.get(dtype) for dtype in self._PEAKS)
        scaled = [(value, 1e12) for value in peaks]
        memory = (chip.capacity, chip.allocatable, chip.bandwidth)
        return scaled + [(value, 1e9) for value in memory]

    def format_row(self, chip):
        """Return the text and the remark of each cell in a chip's row."""
        cells = [
            ("–", "") if value is None else (_format_scaled(value, unit), _figure_remark(value))
            for value, unit in self._figures(chip)
        ]
        ridge = _ridge(chip)
        shown = "–" if ridge is None else f"{ridge:.1f}"
        return [(chip.name, chip.sku), *cells, _links_cell(chip), (shown, "peak / bandwidth")]

    def __repr__(self):
        return format_text_table(self._HEAD, self._UNITS, map(self.format_row, self))

    def _repr_html_(self):
        return format_html_table(self._HEAD, self._UNITS, map(self.format_row, self))


def _format_scaled(value, unit):
    """Return four digits without an exponent, marked if the value is unconfirmed."""
    scaled = value / unit
    text = f"{scaled:.0f}" if scaled >= 1000 else f"{scaled:.4g}"
    return text if value.confirmed else f"{text} (?)"


def _figure_remark(value):
    return "; ".join(filter(None, (value.kind, value.note, value.source)))


def _describe_links(chip):
    """Return a description such as "18 links of 25 GB/s", or "" if there are no links."""
    text = repr(chip.interconnect).removeprefix("Interconnect(").partition(",")[0]
    return text if chip.interconnect else ""


def _ridge(chip):
    """Return the ridge at 16 bits, or None if the peak or bandwidth is missing or unconfirmed."""
    dtype = pick_16_bit(chip.peaks)
    if dtype is None or chip.bandwidth is None:
        return None
    known = chip.peaks[dtype].confirmed and chip.bandwidth.confirmed
    return chip.roofline(dtype).ridge if known else None


def _chip_row(chip, dtypes):
    interconnect = chip.interconnect
    figures = {f"peak_{dtype}": chip.peaks.get(dtype) for dtype in dtypes}
    figures |= {name: getattr(chip, name) for name in FIGURE_KEYS}
    figures |= {
        "links": interconnect and interconnect.links,
        "link_bandwidth": interconnect and interconnect.bandwidth,
        "ridge": _ridge(chip),
    }
    plain = {name: None if value is None else float(value) for name, value in figures.items()}
    return {"chip": chip.name, "sku": chip.sku, **plain}


def _links_cell(chip):
    interconnect = chip.interconnect
    if interconnect is None:
        return "–", ""
    text = f"{interconnect.bandwidth / 1e9:.4g}"
    shown = text if interconnect.links == 1 else f"{interconnect.links} × {text}"
    return shown, _figure_remark(interconnect.bandwidth)
