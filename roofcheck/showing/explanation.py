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
    match question:
        case Choice():
            return fold_html(sentence("explained.choice"), _explain_choice(question), is_open)
        case Order():
            return fold_html(sentence("explained.order"), _explain_order(question), is_open)
        case Puzzle():
            body = _paragraph(question.best_schedule) + _steps_with_example(
                question, "explained.case"
            )
            return fold_html(sentence("explained.least"), body, is_open)
        case Function():
            body = _steps_with_example(question, "explained.call")
        case _:
            body = as_html_list(question.derivation())
    return fold_html(sentence("derivation.title"), body, is_open)


def as_text(question) -> str:
    """Explain a question's answer for a terminal."""
    title, body = sentence("derivation.title"), _step_lines(question.derivation())
    match question:
        case Choice():
            title = sentence("explained.choice")
            body = [" ".join(reason) for reason in _list_reasons(question)]
        case Order():
            title = sentence("explained.order")
            items = enumerate(_list_order(question), start=1)
            body = [f"{place}. {''.join(item)}" for place, item in items]
            body += filter(None, [question.praise])
        case Function() | Puzzle() if body:
            key = "explained.case" if isinstance(question, Puzzle) else "explained.call"
            case, lines = question.example()
            body = [*body, *([sentence(key, case=case), *_step_lines(lines)] if lines else [])]
    if isinstance(question, Puzzle):
        title, body = sentence("explained.least"), [*filter(None, [question.best_schedule]), *body]
    return "\n".join([title, *(f"  {line}" for line in body)]) if body else ""


def _step_lines(lines):
    return [line.removeprefix("  ") for line in derivation_page.as_text(lines).splitlines()[1:]]


def _steps_with_example(question, key):
    steps = as_html_list(question.derivation())
    if not steps:
        return ""
    case, lines = question.example()
    return f"{steps}{_paragraph(sentence(key, case=case))}{as_html_list(lines)}"


def _explain_order(question):
    items = (
        f"<li><b>{text_as_html(item)}</b>{text_as_html(remark)}</li>"
        for item, remark in _list_order(question)
    )
    return f"<ol>{''.join(items)}</ol>{_paragraph(question.praise)}"


def _list_order(question):
    """Return the items in the right order, each with its remark after a colon, or ""."""
    shows = question.shows or (lambda _: "")
    return [(item, shows(item) and f": {shows(item)}") for item in question.reference()]


def _explain_choice(question):
    (right, why), *others = _list_reasons(question)
    paragraphs = [
        f"<b>{text_as_html(right)}</b> {text_as_html(why)}",
        *(text_as_html(" ".join(reason)) for reason in others),
    ]
    return "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)


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
    parts = [*getattr(question, "parts", {}).items()]
    if isinstance(value, Mapping):
        units = [getattr(dict(parts).get(name), "unit", "") for name in value]
        rows = zip(value, value.values(), units, strict=True)
        return _join_values(f"{name}: {_format_value(number, unit)}" for name, number, unit in rows)
    if isinstance(value, (list, tuple, set, np.ndarray)):
        value = [*np.ravel(value)] if isinstance(value, np.ndarray) else [*value]
        if len(value) == len(parts):
            pairs = zip(parts, value, strict=True)
            return _join_values(
                f"{name}: {_format_value(number, part.unit)}" for (name, part), number in pairs
            )
        return _join_values(map(_format_value, value), ", ")
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
