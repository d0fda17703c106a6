"""The chip table as rows of text: what each chip reaches, and where each figure is from."""

import roofkit as rk
from roofkit._units import find_prefix
from tools.sentences import sentence

DTYPES = ("bf16", "fp16", "fp8", "fp4", "int8", "fp32")


def chip_table():
    """Each chip with its main figures as cells, and all figures as rows that end on a source."""
    return [
        {
            "name": chip.name,
            "sku": chip.sku,
            "cells": [
                *main_figures(chip),
                "–" if known["ridge"] is None else f"{known['ridge']:.1f}",
            ],
            "rows": [*all_figures(chip)],
        }
        for chip, known in zip(rk.chips(), rk.chips().rows, strict=True)
    ]


def main_figures(chip):
    """Dense peaks in TFLOP/s, memory in GB, its bandwidth and that of all links in GB/s."""
    links = chip.interconnect
    figures = [(chip.peaks.get(dtype), 1e12) for dtype in DTYPES]
    figures += [(chip.capacity, 1e9), (chip.bandwidth, 1e9), (links and links.total, 1e9)]
    for value, unit in figures:
        shown = "–" if value is None else f"{value / unit:.4g}"
        sure = getattr(value, "confirmed", True)
        yield shown if sure else sentence("chips.unconfirmed_mark", figure=shown)


def all_figures(chip):
    """Every figure: its name, its value, what to know of it, and its source."""
    links = chip.interconnect
    figures = {sentence("chips.peak", dtype=dtype): value for dtype, value in chip.peaks.items()}
    names = ("bandwidth", "capacity", "allocatable", "on_chip", "multiprocessors")
    figures |= {sentence(f"chips.{name}"): getattr(chip, name) for name in names}
    if links:
        figures |= {sentence("chips.link"): links.bandwidth, sentence("chips.hop"): links.latency}
    for name, value in figures.items():
        if value is not None:
            scale, prefix = find_prefix(value)
            unconfirmed = "" if value.confirmed else sentence("chips.unconfirmed")
            shown = f"{value / scale:.4g} {prefix}{value.unit.replace('byte', 'B')}"
            if value.unit == "multiprocessors":
                shown = f"{value:.0f}"
            yield name, shown, dtype_names(value.kind, value.note, unconfirmed), value.source
    if links:
        ends = ["×".join(map(str, axes)) for axes in (links.slices[:1] + links.slices[-1:])]
        sizes = dict(zip(("smallest", "largest"), ends, strict=False))
        ways = links.topology and sentence(f"chips.{links.topology}", n=links.largest, **sizes)
        yield sentence("chips.links"), str(links.links), dtype_names(ways, links.note), links.source


def dtype_names(*notes):
    return sentence("chips.between_notes").join(filter(None, notes))
