"""The chip table as rows of text: what each chip reaches, and where each figure is from."""

import roofkit as rk
from roofkit._units import prefixed

DTYPES = ("bf16", "fp16", "fp8", "fp4", "int8", "fp32")
LAYOUTS = {
    "torus": "to neighbours along each axis, slices of {0[0]} to {0[1]}",
    "switch": "to a switch of {1} chips",
    "all-pairs": "straight to each of {1} chips",
    None: "",
}


def table():
    """Each chip with its main figures as cells, and all figures as rows that end on a source."""
    return [
        {
            "name": chip.name,
            "sku": chip.sku,
            "cells": [*cells(chip), "–" if known["ridge"] is None else f"{known['ridge']:.1f}"],
            "rows": [*rows(chip)],
        }
        for chip, known in zip(rk.chips(), rk.chips().rows, strict=True)
    ]


def cells(chip):
    """Dense peaks in TFLOP/s, memory in GB, its bandwidth and that of all links in GB/s."""
    links = chip.interconnect
    figures = [(chip.peaks.get(dtype), 1e12) for dtype in DTYPES]
    figures += [(chip.capacity, 1e9), (chip.bandwidth, 1e9), (links and links.total, 1e9)]
    for value, unit in figures:
        mark = "" if getattr(value, "confirmed", True) else " (?)"
        yield "–" if value is None else f"{value / unit:.4g}{mark}"


def rows(chip):
    """Every figure: its name, its value, what to know of it, and its source."""
    links = chip.interconnect
    figures = {f"peak, {dtype}": value for dtype, value in chip.peaks.items()}
    figures |= {
        "memory bandwidth": chip.bandwidth,
        "memory capacity": chip.capacity,
        "memory, allocatable": chip.allocatable,
        "on-chip memory": chip.on_chip,
        "multiprocessors": chip.multiprocessors,
    }
    if links:
        figures |= {"one link": links.bandwidth, "one hop, at least": links.latency}
    for name, value in figures.items():
        if value is not None:
            scale, prefix = prefixed(value)
            unconfirmed = "" if value.confirmed else "not confirmed"
            shown = f"{value / scale:.4g} {prefix}{value.unit.replace('byte', 'B')}"
            if name == value.unit:
                shown = f"{value:.0f}"
            yield name, shown, told(value.kind, value.note, unconfirmed), value.source
    if links:
        ends = ["×".join(map(str, axes)) for axes in (links.slices[:1] + links.slices[-1:])]
        ways = LAYOUTS[links.topology].format(ends, links.largest)
        yield "links", str(links.links), told(ways, links.note), links.source


def told(*notes):
    return "; ".join(filter(None, notes))
