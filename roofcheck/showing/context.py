"""The context of a question outside its notebook: tables, formulas, code and chip specs.

A question's ``beside`` is Markdown: paragraphs, lists, tables with aligned columns, and code
blocks. A terminal shows the Markdown source.
"""

import re
from string import Formatter

import mistune

import roofkit as rk
from roofcheck.kinds import Question
from roofcheck.kinds.question import format_figure
from roofcheck.sentences import sentence
from roofcheck.steps.algebra import suggest_name
from roofcheck.steps.course_chips import CHIP_NAMES

PEAKS = ("bf16", "fp16", "fp8", "int8", "fp32")
FENCE = "```"
TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)


def as_text(question: Question) -> str:
    """Return a question's context for a terminal, or ""."""
    lines, in_code = [], False
    for line in as_markdown(question).splitlines():
        if line.startswith(FENCE):
            in_code = not in_code
        else:
            lines.append(f"    {line}".rstrip() if in_code else line)
    return "\n".join(lines)


def as_html(question: Question) -> str:
    """Return a question's context for a notebook or a page; wide tables scroll."""
    source = as_markdown(question)
    rendered = mistune.create_markdown(plugins=["table"])(source)
    return f'<div style="overflow-x: auto">{rendered}</div>' if source else ""


def as_markdown(question: Question) -> str:
    """Return the question's own Markdown, and a table of the chip specs needed to answer it."""
    table = _figures_table(find_chips_to_look_up(question))
    return "\n\n".join(filter(None, (question.context_text(), table)))


def find_chips_to_look_up(question: Question) -> list[str]:
    """Return the chips whose specs are needed for the answer and not given in the question."""
    fields = {name for _, name, _, _ in Formatter().parse(question.asks)}
    looked_up = [
        value.chips[0]
        for part in getattr(question, "parts", {"": question}).values()
        for name, value in part.inputs.items()
        if value.chips and name not in fields
    ]
    items = [item for item in getattr(question, "items", ()) if item in CHIP_NAMES]
    return [*dict.fromkeys([*looked_up, *items, *question.chips])]


def find_problems(question: Question) -> list[str]:
    """Return messages for the author about errors in a question's context."""
    problems = []
    for table in TABLE.findall(question.beside):
        rows = table.splitlines()
        if len({tuple(place.start() for place in re.finditer(r"\|", row)) for row in rows}) > 1:
            problems.append(f"the columns of the table {rows[0]!r} are not aligned")
    if question.beside.count(FENCE) % 2:
        problems.append(f"a code block that starts with {FENCE} has no end")
    if unknown := re.search(r"\{(\w+)\}", question.context_text()):
        nearest = suggest_name(unknown[1], [*question.all_inputs()])
        problems.append(f"{unknown[1]!r} is not an input{nearest}")
    problems += [
        f"no chip {name!r}{suggest_name(name, CHIP_NAMES)}"
        for name in question.chips
        if name not in CHIP_NAMES
    ]
    return problems


def _figures_table(names):
    """Return a Markdown table of the chips' specs, with one column per chip."""
    if not names:
        return ""
    chips = [rk.chip(name) for name in names]
    rows = [
        (
            sentence("figures.peak", dtype=dtype),
            [_format_quantity(chip.peaks.get(dtype), "FLOP/s") for chip in chips],
        )
        for dtype in PEAKS
        if dtype != "fp16" or not all("bf16" in chip.peaks for chip in chips)
    ]
    bandwidths = [_format_quantity(chip.bandwidth, "B/s") for chip in chips]
    links = [_format_links(chip.interconnect) for chip in chips]
    rows += [(sentence("figures.bandwidth"), bandwidths), (sentence("figures.links"), links)]
    rows = [(label, figures) for label, figures in rows if any(figures)]
    return _markdown_table([("", names), *rows])


def _markdown_table(rows):
    lines = [[label, *figures] for label, figures in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([texts[0], rule, *texts[1:]])


def _format_quantity(figure, unit):
    return "" if figure is None else format_figure(float(figure), unit)


def _format_links(interconnect):
    if interconnect is None:
        return ""
    one = format_figure(float(interconnect.bandwidth), "B/s")
    return one if interconnect.links == 1 else f"{interconnect.links} · {one}"
