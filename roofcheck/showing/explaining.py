"""How the answer to a question of any kind comes about, as HTML for a page."""

import math
from collections.abc import Mapping
from itertools import islice

import numpy as np

from roofcheck.kinds import Choice, Function, Order, Puzzle
from roofcheck.reading.units import digits, with_unit
from roofcheck.sentences import say
from roofcheck.showing import beside, showing
from roofcheck.showing.showing import as_list, folded, marked

# Of an answer a page shows so many items, and so many characters of each.
MOST_ITEMS, LONGEST = 40, 300


def explained(question, is_open: bool = False) -> str:
    """The way to a question's answer, with its own figures, folded unless ``is_open``.

    A number comes in steps; a function in formulas, and with figures for one call; an order with
    what stands beside each item; a choice with the reasons for and against its options; a puzzle
    with its least traffic. "" for a question that has nothing of this.
    """
    match question:
        case Choice():
            return folded(say("explained.choice"), _choice(question), is_open)
        case Order():
            return folded(say("explained.order"), _order(question), is_open)
        case Puzzle():
            body = _paragraph(question.reached) + _with_example(question, "explained.case")
            return folded(say("explained.least"), body, is_open)
        case Function():
            body = _with_example(question, "explained.call")
        case _:
            body = as_list(question.derivation())
    return folded(say("derivation.title"), body, is_open)


def as_text(question) -> str:
    """The same for a terminal."""
    title, body = say("derivation.title"), _steps(question.derivation())
    match question:
        case Choice():
            title, body = say("explained.choice"), [" ".join(each) for each in _reasons(question)]
        case Order():
            shows = question.shows or (lambda _: "")
            items = enumerate(question.reference(), start=1)
            title = say("explained.order")
            body = [f"{place}. {item}: {shows(item)}".rstrip(": ") for place, item in items]
            body += filter(None, [question.praise])
        case Function() | Puzzle() if body:
            key = "explained.case" if isinstance(question, Puzzle) else "explained.call"
            case, lines = question.example()
            body = [*body, *([say(key, case=case), *_steps(lines)] if lines else [])]
    if isinstance(question, Puzzle):
        title, body = say("explained.least"), [*filter(None, [question.reached]), *body]
    return "\n".join([title, *(f"  {line}" for line in body)]) if body else ""


def _steps(lines):
    return [line.removeprefix("  ") for line in showing.as_text(lines).splitlines()[1:]]


def _with_example(question, key):
    steps = as_list(question.derivation())
    if not steps:
        return ""
    case, lines = question.example()
    return f"{steps}{_paragraph(say(key, case=case))}{as_list(lines)}"


def _order(question):
    shows = question.shows or (lambda _: "")
    items = (
        f"<b>{marked(item)}</b>{': ' if shows(item) else ''}{marked(shows(item))}"
        for item in question.reference()
    )
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f"<ol>{listed}</ol>{_paragraph(question.praise)}"


def _choice(question):
    (right, why), *others = _reasons(question)
    said = [f"<b>{marked(right)}</b> {marked(why)}", *(marked(" ".join(each)) for each in others)]
    return "".join(f"<p>{each}</p>" for each in said)


def _reasons(question):
    """That the right option is right, and why; that each other is not, and why."""
    right, compared = question.reference(), question.compared()
    reasons = filter(None, [f"{compared}." if compared else "", question.praise])
    others = {option: why for option, why in question.why_not.items() if option != right}
    return [
        (say("explained.right", option=right), " ".join(reasons)),
        *((say("explained.not", option=option), why) for option, why in others.items()),
    ]


def _paragraph(text):
    return f"<p>{marked(text)}</p>" if text else ""


def asked(question) -> str:
    """What a question asks, with what stands beside it, as HTML."""
    return f"{_paragraph(question.text())}{beside.as_html(question)}"


def answered(question, value) -> str:
    """A value that was given as an answer, as a reader sees it: "403.3 FLOP/byte".

    "" for a function, whose code says it, and where there is no value.
    """
    if value is None or value is ... or callable(value):
        return ""
    parts = [*getattr(question, "parts", {}).items()]
    if isinstance(value, Mapping):
        units = [getattr(dict(parts).get(name), "unit", "") for name in value]
        named = zip(value, value.values(), units, strict=True)
        return _listed(f"{name}: {_value(each, unit)}" for name, each, unit in named)
    if isinstance(value, (list, tuple, set, np.ndarray)):
        value = [*np.ravel(value)] if isinstance(value, np.ndarray) else [*value]
        if len(value) == len(parts):
            pairs = zip(parts, value, strict=True)
            return _listed(f"{name}: {_value(each, part.unit)}" for (name, part), each in pairs)
        return _listed((_value(each) for each in value), ", ")
    return _value(value, getattr(question, "unit", ""))


def _listed(items, between="; "):
    shown = [*islice(items, MOST_ITEMS + 1)]
    return between.join(shown[:MOST_ITEMS]) + (" …" if len(shown) > MOST_ITEMS else "")


def _value(value, unit=""):
    try:
        if not isinstance(value, (str, bool, np.bool_)) and math.isfinite(number := float(value)):
            shown = digits(float(f"{number:.6g}"))
            return shown if unit == "times" else with_unit(shown, unit)
    except (TypeError, ValueError, OverflowError):
        pass
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"
