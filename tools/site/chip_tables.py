"""The chip table as rows of text: what each chip reaches, and where each figure is from."""

import roofkit as rk
from roofkit._units import prefixed
from tools.sentences import say

DTYPES = ("bf16", "fp16", "fp8", "fp4", "int8", "fp32")


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
        shown = "–" if value is None else f"{value / unit:.4g}"
        sure = getattr(value, "confirmed", True)
        yield shown if sure else say("chips.unconfirmed_mark", figure=shown)


def rows(chip):
    """Every figure: its name, its value, what to know of it, and its source."""
    links = chip.interconnect
    figures = {say("chips.peak", dtype=dtype): value for dtype, value in chip.peaks.items()}
    names = ("bandwidth", "capacity", "allocatable", "on_chip", "multiprocessors")
    figures |= {say(f"chips.{name}"): getattr(chip, name) for name in names}
    if links:
        figures |= {say("chips.link"): links.bandwidth, say("chips.hop"): links.latency}
    for name, value in figures.items():
        if value is not None:
            scale, prefix = prefixed(value)
            unconfirmed = "" if value.confirmed else say("chips.unconfirmed")
            shown = f"{value / scale:.4g} {prefix}{value.unit.replace('byte', 'B')}"
            if value.unit == "multiprocessors":
                shown = f"{value:.0f}"
            yield name, shown, told(value.kind, value.note, unconfirmed), value.source
    if links:
        ends = ["×".join(map(str, axes)) for axes in (links.slices[:1] + links.slices[-1:])]
        sizes = dict(zip(("smallest", "largest"), ends, strict=False))
        ways = links.topology and say(f"chips.{links.topology}", n=links.largest, **sizes)
        yield say("chips.links"), str(links.links), told(ways, links.note), links.source


def told(*notes):
    return say("chips.between_notes").join(filter(None, notes))
