"""What stands beside a question outside its notebook: tables, formulas, code, figures of chips.

A question's ``beside`` is Markdown: paragraphs, lists, tables whose columns stand below each other,
and code between lines of three backticks. A terminal shows it as it is written.
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
    """What stands beside a question, for a terminal; "" if nothing does."""
    lines, in_code = [], False
    for line in as_markdown(question).splitlines():
        if line.startswith(FENCE):
            in_code = not in_code
        else:
            lines.append(f"    {line}".rstrip() if in_code else line)
    return "\n".join(lines)


def as_html(question: Question) -> str:
    """The same for a notebook or a page; what is too wide for it moves by itself."""
    written = as_markdown(question)
    shown = mistune.create_markdown(plugins=["table"])(written)
    return f'<div style="overflow-x: auto">{shown}</div>' if written else ""


def as_markdown(question: Question) -> str:
    """The question's own Markdown, and then the figures of the chips that it does not give."""
    return "\n\n".join(
        filter(None, (question.context_text(), _figures_table(chips_to_look_up(question))))
    )


def chips_to_look_up(question: Question) -> list[str]:
    """The chips that one has to know the figures of, unless the question itself gives them."""
    fields = {name for _, name, _, _ in Formatter().parse(question.asks)}
    looked_up = [
        given.chips[0]
        for name, given in question.all_inputs().items()
        if given.chips and name not in fields
    ]
    items = [item for item in getattr(question, "items", ()) if item in CHIP_NAMES]
    return [*dict.fromkeys([*looked_up, *items, *question.chips])]


def find_problems(question: Question) -> list[str]:
    """What is wrong with what stands beside a question, as one would tell whoever wrote it."""
    found = []
    for table in TABLE.findall(question.beside):
        rows = table.splitlines()
        if len({tuple(place.start() for place in re.finditer(r"\|", row)) for row in rows}) > 1:
            found.append(f"the columns of the table {rows[0]!r} do not stand below each other")
    if question.beside.count(FENCE) % 2:
        found.append(f"code begins with {FENCE} and does not end")
    if unknown := re.search(r"\{(\w+)\}", question.context_text()):
        found.append(
            f"{unknown[1]!r} is no input{suggest_name(unknown[1], [*question.all_inputs()])}"
        )
    found += [
        f"no chip {name!r}{suggest_name(name, CHIP_NAMES)}"
        for name in question.chips
        if name not in CHIP_NAMES
    ]
    return found


def _figures_table(names):
    """A table of the chips' figures in Markdown, a column a chip."""
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
    rows.append(
        (sentence("figures.bandwidth"), [_format_quantity(chip.bandwidth, "B/s") for chip in chips])
    )
    rows.append((sentence("figures.links"), [_format_links(chip.interconnect) for chip in chips]))
    rows = [(what, each) for what, each in rows if any(each)]
    return _markdown_table([("", names), *rows])


def _markdown_table(rows):
    lines = [[what, *each] for what, each in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    written = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([written[0], rule, *written[1:]])


def _format_quantity(figure, unit):
    return "" if figure is None else format_figure(float(figure), unit)


def _format_links(joined):
    if joined is None:
        return ""
    one = format_figure(float(joined.bandwidth), "B/s")
    return one if joined.links == 1 else f"{joined.links} · {one}"
