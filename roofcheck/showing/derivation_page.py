"""Format a derivation for a terminal, a notebook or a page."""

import html
import re
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from roofcheck.sentences import capitalise, sentence
from roofcheck.steps.derivation import Line
from roofkit._html import subscript_times
from rooflab import palette

SPACE = "\N{NO-BREAK SPACE}"
# Lines don't break within a number or after an operator.
NO_BREAK_RULES = (
    (re.compile(r"(?<=\d) · (?=10[⁻⁰¹²³⁴-⁹])"), f"{SPACE}·{SPACE}"),
    (re.compile(r"(?<=[\d⁰¹²³⁴-⁹]) (?=[A-Za-zµ])"), SPACE),
    (re.compile(r" ([·+−/=]) "), rf" \1{SPACE}"),
)
# The rule on the left uses the page's colour if the page defines one.
LIST_STYLE = (
    "display: grid; grid-template-columns: fit-content(40%) 1fr; gap: 0.5em 0.6em; "
    "margin: 0.5em 0 0.3em; padding-left: 0.8em; "
    "border-left: 2px solid var(--roofline-line, {line}); font-variant-numeric: tabular-nums"
)
PART_STYLE = "grid-column: 1 / -1; margin: 0; font-weight: bold"
STEP_STYLE = "margin: 0; font-weight: normal"
WHY_STYLE = "font-size: 0.9em; opacity: 0.8"


def as_text(lines: Iterable[Line]) -> str:
    """Format a derivation for a terminal: a title and one line per step, or "" without steps."""
    said = []
    for heading, steps in _group_by_part(lines):
        said += [f"  {heading}"] if heading else []
        said += [f"{'    ' if heading else '  '}{step}" for step in steps]
    return "\n".join([sentence("derivation.title"), *said]) if said else ""


def as_markdown(lines: Iterable[Line]) -> str:
    """Format a derivation as a Markdown list for a lecture, with the answer in bold.

    T_math and other times become formulas, as in the lecture's prose.
    """
    said = []
    for heading, steps in _group_by_part(lines):
        said += [f"\n{heading}\n"] if heading else []
        for line in steps:
            *sides, value = line.sides
            value = f"**{value}**" if line.is_answer else value
            why = f" ({line.why})" if line.why else ""
            said.append(f"- {_capitalise_opening(' = '.join((line.what, *sides, value)))}{why}")
    text = _add_no_break_spaces("\n".join(said).strip())
    return re.sub(r"\bT_([a-z]+)\b", r"$T_\\text{\1}$", text)


def fold_html(title: str, body: str, is_open: bool = False) -> str:
    """Put HTML below a title, folded unless ``is_open``; "" if there is no body."""
    if not body:
        return ""
    return (
        f"<details{' open' if is_open else ''}>"
        f'<summary style="cursor: pointer">{html.escape(title)}</summary>{body}</details>'
    )


def as_html_list(lines: Iterable[Line]) -> str:
    """Format the steps of a derivation as an HTML list; "" if there are no steps."""
    said = []
    for heading, steps in _group_by_part(lines):
        said += [f'<dt style="{PART_STYLE}">{text_as_html(heading)}</dt>'] if heading else []
        said += map(_format_step, steps)
    style = LIST_STYLE.format(line=palette.colour("line"))
    return f'<dl style="{style}">{"".join(said)}</dl>' if said else ""


def _group_by_part(lines):
    """Yield each part's heading and steps.

    Shared steps at the start have no heading, and neither does a single step named like its part.
    After the first heading, every part has one.
    """
    headed = False
    for part, steps in groupby(lines, key=attrgetter("part")):
        steps = list(steps)
        called = re.search(rf"(?i)(?<!\w){re.escape(part)}(?!\w)", steps[0].what)
        headed = headed or (bool(part) and not (called and len(steps) == 1))
        key = "derivation.part" if part else "derivation.shared"
        yield sentence(key, part=capitalise(part)) if headed else "", steps


def _format_step(line):
    *arithmetic, value = (text_as_html(f"= {side}") for side in line.sides)
    weight = "; font-weight: bold" if line.is_answer else ""
    sides = [*arithmetic, f'<span style="display: inline-block{weight}">{value}</span>']
    what, why = (text_as_html(_capitalise_opening(text)) for text in (line.what, line.why))
    why = why and f'<div style="{WHY_STYLE}">{why}</div>'
    return (
        f'<dt style="{STEP_STYLE}">{what}</dt><dd style="{STEP_STYLE}">{" ".join(sides)}{why}</dd>'
    )


def _capitalise_opening(text):
    """Capitalise the start of a line unless it is a symbol, as in "n − 1"."""
    return capitalise(text) if text[:2].isalpha() or text.startswith("a ") else text


def text_as_html(text: str) -> str:
    """Return text as HTML without line breaks inside numbers."""
    return subscript_times(html.escape(_add_no_break_spaces(text)))


def _add_no_break_spaces(text):
    for pattern, kept in NO_BREAK_RULES:
        text = pattern.sub(kept, text)
    return text
