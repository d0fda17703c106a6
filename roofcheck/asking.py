"""A question as review asks it: its text, what stands beside it, and what an answer looks like."""

import html
import random
import re

from roofcheck import units
from roofcheck.kinds import Choice, Formula, Function, Number, Order, Puzzle, Question, Several
from roofcheck.sentences import listed, say
from roofkit._html import output, quantities

SIGNATURE = re.compile(r"([A-Za-z_]\w*)\([^()]*\)")
# A number of a unit, and the same in another unit.
EXAMPLES = {
    "s": (("0.025", "25 ms"), ("1.5", "1500 ms")),
    "ms": (("12.5", "12500 µs"), ("0.75", "750 µs")),
    "µs": (("12.5", "0.0125 ms"), ("730", "0.73 ms")),
    "bytes": (("1.5e9", "1.5 GB"), ("64e6", "64 MB")),
    "FLOPs": (("3e9", "3 GFLOPs"), ("7e12", "7 TFLOPs")),
    "FLOP/s": (("3e12", "3 TFLOP/s"), ("7e13", "70 TFLOP/s")),
    "byte/s": (("2.5e9", "2.5 GB/s"), ("6e11", "0.6 TB/s")),
    "of peak": (("0.15", "15%"), ("0.65", "65%")),
}
OTHERS = (("12.5", "25/2"), ("730", "7.3e2"))
# An example is no closer to the answer than by this factor.
APART = 1.3


def as_text(question: Question, seed: str) -> str:
    """A question for a terminal; the seed decides in which order options stand."""
    parts = (question.text(), question.beside, answer_format(question, seed))
    return "\n\n".join(filter(None, parts))


def as_html(question: Question, seed: str) -> str:
    """A question for a notebook or a page."""
    beside = f"<pre>{html.escape(question.beside)}</pre>" if question.beside else ""
    asked, wanted = map(_marked, (question.text(), answer_format(question, seed)))
    return output(f"<blockquote>{asked}{beside}<p>{wanted}</p></blockquote>")


def answer_format(question: Question, seed: str) -> str:
    """What an answer looks like, in one line whose example is not the answer."""
    rng = random.Random(seed)
    match question:
        case Choice():
            options = rng.sample(sorted(question.options), len(question.options))
            return say("format.choice", options=listed(options, "or"))
        case Order():
            items = rng.sample(sorted(question.items), len(question.items))
            return say("format.order", items=listed(items, "comma"))
        case Formula():
            first, *_, last = (*question.arguments, *question.arguments)
            example = f"({first} + 7)/(3{last})"
            return say("format.formula", symbols=listed(question.arguments), example=example)
        case Several():
            parts = [_part(name, part) for name, part in question.parts.items()]
            example = ", ".join(_example(part)[0] for part in question.parts.values())
            return say("format.several", parts=listed(parts), example=example)
        case Number():
            number, other = _example(question)
            unit = units.name(question.unit)
            return say("format.number", unit=unit, example=number, other=other)
        case Function() | Puzzle():
            return say("format.function", signature=signature(question))
    raise TypeError(f"review cannot ask a {type(question).__name__}")


def signature(question: Question) -> str:
    """The call that a question asks for, as its text writes it: "attainable(intensity, peak)"."""
    found = SIGNATURE.search(question.text())
    return found[0] if found else ""


def is_code(question: Question) -> bool:
    """Whether an answer is a function, which takes several lines."""
    return isinstance(question, (Function, Puzzle)) and not isinstance(question, Formula)


def _part(name, part):
    return say("format.part", name=name, unit=units.name(part.unit)) if part.unit else name


def _example(part):
    """A number of the part's unit, in two ways to write it, that is not the answer."""
    right = part.reference()
    for number, other in EXAMPLES.get(part.unit, OTHERS):
        if not 1 / APART < float(number) / right < APART:
            break
    return number, other


def _marked(text):
    return quantities(html.escape(text))
