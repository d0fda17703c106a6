"""How the answer to a question of any kind comes about, as HTML for a page."""

import html

from roofcheck.kinds import Choice, Function, Order, Puzzle
from roofcheck.sentences import say
from roofcheck.showing import as_list, folded, marked


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
    right = question.reference()
    compared = question.compared()
    reasons = " ".join(filter(None, [f"{compared}." if compared else "", question.praise]))
    said = [f"<b>{marked(say('explained.right', option=right))}</b> {marked(reasons)}"]
    said += [
        f"{marked(say('explained.not', option=option))} {marked(why)}"
        for option, why in question.why_not.items()
        if option != right
    ]
    return "".join(f"<p>{each}</p>" for each in said)


def _paragraph(text):
    return f"<p>{marked(text)}</p>" if text else ""


def text(question) -> str:
    """What is asked, with what stands beside it, as HTML."""
    beside = f"<pre>{html.escape(question.beside)}</pre>" if question.beside else ""
    return f"{_paragraph(question.text())}{beside}"
