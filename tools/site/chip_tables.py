"""Write the chip table as text: each chip's figures and their sources."""

import roofkit as rk
from roofkit._units import find_prefix
from tools.sentences import sentence

DTYPES = ("bf16", "fp16", "fp8", "fp4", "int8", "fp32")


def build_chip_table():
    """Return each chip with its main figures as cells, and all figures with sources as rows."""
    table = []
    for chip, row in zip(rk.chips(), rk.chips().rows, strict=True):
        ridge = "–" if row["ridge"] is None else f"{row['ridge']:.1f}"
        cells = [*list_main_figures(chip), ridge]
        rows = [*list_all_figures(chip)]
        table.append({"name": chip.name, "sku": chip.sku, "cells": cells, "rows": rows})
    return table


def list_main_figures(chip):
    """Yield dense peaks in TFLOP/s, memory in GB, and bandwidths of memory and links in GB/s."""
    links = chip.interconnect
    figures = [(chip.peaks.get(dtype), 1e12) for dtype in DTYPES]
    figures += [(chip.capacity, 1e9), (chip.bandwidth, 1e9), (links and links.total, 1e9)]
    for value, unit in figures:
        text = "–" if value is None else f"{value / unit:.4g}"
        confirmed = getattr(value, "confirmed", True)
        yield text if confirmed else sentence("chips.unconfirmed_mark", figure=text)


def list_all_figures(chip):
    """Yield the name, value, notes and source of every figure."""
    links, separator = chip.interconnect, sentence("chips.between_notes")
    figures = {sentence("chips.peak", dtype=dtype): value for dtype, value in chip.peaks.items()}
    names = ("bandwidth", "capacity", "allocatable", "on_chip", "multiprocessors")
    figures |= {sentence(f"chips.{name}"): getattr(chip, name) for name in names}
    if links:
        figures |= {sentence("chips.link"): links.bandwidth, sentence("chips.hop"): links.latency}
    for name, value in figures.items():
        if value is not None:
            scale, prefix = find_prefix(value)
            unconfirmed = "" if value.confirmed else sentence("chips.unconfirmed")
            text = f"{value / scale:.4g} {prefix}{value.unit.replace('byte', 'B')}"
            if value.unit == "multiprocessors":
                text = f"{value:.0f}"
            notes = filter(None, (value.kind, value.note, unconfirmed))
            yield name, text, separator.join(notes), value.source
    if links:
        ends = ["×".join(map(str, axes)) for axes in (links.slices[:1] + links.slices[-1:])]
        sizes = dict(zip(("smallest", "largest"), ends, strict=False))
        shape = links.topology and sentence(f"chips.{links.topology}", n=links.largest, **sizes)
        notes = separator.join(filter(None, (shape, links.note)))
        yield sentence("chips.links"), str(links.links), notes, links.source
