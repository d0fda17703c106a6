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
        {"name": chip.name, "sku": chip.sku, "cells": [*cells(chip)], "rows": [*rows(chip)]}
        for chip in rk.chips()
    ]


def cells(chip):
    """Dense peaks in TFLOP/s, memory in GB, its bandwidth and that of all links in GB/s, ridge."""
    joined = chip.interconnect
    figures = [(chip.peaks.get(dtype), 1e12) for dtype in DTYPES]
    figures += [(chip.capacity, 1e9), (chip.bandwidth, 1e9), (joined and joined.total, 1e9)]
    for value, unit in figures:
        mark = "" if getattr(value, "confirmed", True) else " (?)"
        yield "–" if value is None else f"{value / unit:.4g}{mark}"
    half = next((dtype for dtype in ("bf16", "fp16") if dtype in chip.peaks), None)
    known = half and chip.bandwidth is not None and chip.bandwidth.confirmed
    yield f"{chip.roofline(half).ridge:.1f}" if known else "–"


def rows(chip):
    """Every figure: its name, its value, what to know of it, and its source."""
    joined = chip.interconnect
    figures = {f"peak, {dtype}": value for dtype, value in chip.peaks.items()}
    figures |= {
        "memory bandwidth": chip.bandwidth,
        "memory capacity": chip.capacity,
        "memory, allocatable": chip.allocatable,
        "on-chip memory": chip.on_chip,
        "multiprocessors": chip.multiprocessors,
    }
    if joined:
        figures |= {"one link": joined.bandwidth, "one hop, at least": joined.latency}
    for name, value in figures.items():
        if value is not None:
            scale, prefix = prefixed(value)
            unconfirmed = "" if value.confirmed else "not confirmed"
            shown = f"{value / scale:.4g} {prefix}{value.unit.replace('byte', 'B')}"
            if name == value.unit:
                shown = f"{value:.0f}"
            yield name, shown, told(value.kind, value.note, unconfirmed), value.source
    if joined:
        ends = ["×".join(map(str, axes)) for axes in (joined.slices[:1] + joined.slices[-1:])]
        ways = LAYOUTS[joined.kind].format(ends, joined.chips)
        yield "links", str(joined.links), told(ways, joined.note), joined.source


def told(*notes):
    return "; ".join(filter(None, notes))
