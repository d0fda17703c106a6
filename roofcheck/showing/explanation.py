"""Explain how to get the answer to a question of any kind, as HTML or text."""

import math
from collections.abc import Mapping
from itertools import islice

import numpy as np

from roofcheck.kinds import Choice, Function, Order, Puzzle
from roofcheck.reading.units import append_unit, format_number
from roofcheck.sentences import sentence
from roofcheck.showing import context, derivation_page
from roofcheck.showing.derivation_page import as_html_list, fold_html, text_as_html

# The maximum number of items of an answer on a page, and of characters per item.
MOST_ITEMS, LONGEST_VALUE = 40, 300


def explain_answer(question, is_open: bool = False) -> str:
    """Explain a question's answer with its own values, folded unless ``is_open``.

    A number is derived step by step; a function is explained with formulas and with the values of
    one call. An order shows its text for each item, a choice the reasons for and against its
    options, and a puzzle its least traffic. Returns "" if there is no explanation.
    """
    title, parts = _explain(question)
    return fold_html(title, "".join(map(_part_as_html, parts)), is_open)


def as_text(question) -> str:
    """Explain a question's answer for a terminal."""
    title, parts = _explain(question)
    lines = [f"  {line}" for part in parts for line in _part_lines(part)]
    return "\n".join([title, *lines]) if lines else ""


def _explain(question):
    """Return a title and the parts of an explanation.

    A part is a paragraph, a pair of its bold start and its rest, a dict of the items of a numbered
    list to the remarks on them, or the Lines of a derivation.
    """
    match question:
        case Choice():
            right, *others = _list_reasons(question)
            return sentence("explained.choice"), [right, *map(" ".join, others)]
        case Order():
            return sentence("explained.order"), [_list_order(question), question.praise]
    title, parts = sentence("derivation.title"), [question.derivation()]
    if isinstance(question, (Function, Puzzle)) and parts[0]:
        key = "explained.case" if isinstance(question, Puzzle) else "explained.call"
        case, lines = question.example()
        parts += [sentence(key, case=case), lines]
    if isinstance(question, Puzzle):
        title, parts = sentence("explained.least"), [question.best_schedule, *parts]
    return title, parts


def _part_as_html(part):
    match part:
        case str():
            return _paragraph(part)
        case tuple():
            start, rest = map(text_as_html, part)
            return f"<p><b>{start}</b> {rest}</p>"
        case dict():
            items = (
                f"<li><b>{text_as_html(item)}</b>{text_as_html(remark)}</li>"
                for item, remark in part.items()
            )
            return f"<ol>{''.join(items)}</ol>"
    return as_html_list(part)


def _part_lines(part):
    match part:
        case str():
            return [part] if part else []
        case tuple():
            return [" ".join(part)]
        case dict():
            items = enumerate(part.items(), start=1)
            return [f"{place}. {item}{remark}" for place, (item, remark) in items]
    return [line.removeprefix("  ") for line in derivation_page.as_text(part).splitlines()[1:]]


def _list_order(question):
    """Return the items in the right order, each with its remark after a colon, or ""."""
    shows = question.shows or (lambda _: "")
    return {item: shows(item) and f": {shows(item)}" for item in question.reference()}


def _list_reasons(question):
    """Return (verdict, reason) pairs for the options, the right option first."""
    right, compared = question.reference(), question.format_comparison()
    reasons = filter(None, [f"{compared}." if compared else "", question.praise])
    others = {option: why for option, why in question.why_not.items() if option != right}
    return [
        (sentence("explained.right", option=right), " ".join(reasons)),
        *((sentence("explained.not", option=option), why) for option, why in others.items()),
    ]


def _paragraph(text):
    return f"<p>{text_as_html(text)}</p>" if text else ""


def question_as_html(question) -> str:
    """Return a question's text and context as HTML."""
    return f"{_paragraph(question.text())}{context.as_html(question)}"


def format_answer(question, value) -> str:
    """Format a student's value for readers: "403.3 FLOP/byte".

    Returns "" for a function, which is shown as code, and for a missing value.
    """
    if value is None or value is ... or callable(value):
        return ""
    units = {name: part.unit for name, part in getattr(question, "parts", {}).items()}
    if isinstance(value, (list, tuple, set, np.ndarray)):
        value = [*np.ravel(value)] if isinstance(value, np.ndarray) else [*value]
        if len(value) != len(units):
            return _join_values(map(_format_value, value), ", ")
        value = dict(zip(units, value, strict=True))
    if isinstance(value, Mapping):
        rows = ((name, _format_value(item, units.get(name, ""))) for name, item in value.items())
        return _join_values(f"{name}: {shown}" for name, shown in rows)
    return _format_value(value, getattr(question, "unit", ""))


def _join_values(items, between="; "):
    shown = [*islice(items, MOST_ITEMS + 1)]
    return between.join(shown[:MOST_ITEMS]) + (" …" if len(shown) > MOST_ITEMS else "")


def _format_value(value, unit=""):
    try:
        if not isinstance(value, (str, bool, np.bool_)) and math.isfinite(number := float(value)):
            shown = format_number(float(f"{number:.6g}"))
            return shown if unit == "times" else append_unit(shown, unit)
    except (TypeError, ValueError, OverflowError):
        pass
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 2]} …"
