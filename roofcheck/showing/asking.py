"""A question as review asks it: its text, what stands beside it, and what an answer looks like."""

import html
import random
import re

from roofcheck.kinds import Choice, Formula, Function, Number, Order, Puzzle, Question, Several
from roofcheck.reading import units
from roofcheck.sentences import Sentence, listed, say
from roofcheck.showing import beside
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
# Units whose name is a whole phrase, such as "a fraction of peak", and those of what is counted.
WHOLE, COUNTED = ("", "times", "of peak"), ("bytes", "FLOPs", "tokens")
# An example is no closer to the answer than by this factor.
APART = 1.3


def as_text(question: Question, seed: str) -> str:
    """A question for a terminal; the seed decides in which order options stand."""
    parts = (question.text(), beside.as_text(question), answer_format(question, seed))
    return "\n\n".join(filter(None, parts))


def as_html(question: Question, seed: str) -> str:
    """A question for a notebook or a page."""
    asked, wanted = map(_marked, (question.text(), answer_format(question, seed)))
    return output(f"<p>{asked}</p>{beside.as_html(question)}<p>{wanted}</p>")


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
            parts = [_part(name, part.unit) for name, part in question.parts.items()]
            examples = [
                _example(part, number)[0] for number, part in enumerate(question.parts.values())
            ]
            return say(
                "format.several",
                count=len(parts),
                parts="; ".join(parts),
                example=listed(examples, "comma"),
            )
        case Number():
            number, other = _example(question)
            wanted = _wanted(question.unit)
            return say("format.number", wanted=wanted, example=number, other=other)
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


def _wanted(unit):
    """A number of this unit as a sentence names it."""
    if unit in WHOLE:
        return units.name(unit)
    return Sentence("format.of" if unit in COUNTED else "format.in", unit=units.name(unit))


def _part(name, unit):
    """The name of one number of several, with its unit unless the name says it."""
    named = units.name(unit)
    if unit in WHOLE or str(named) in name or unit in name:
        return name
    return say("format.part", name=name, unit=named)


def _example(part, number=0):
    """A number of the part's unit, in two ways to write it, that is not the answer.

    ``number`` counts parts, which get different examples.
    """
    right, pairs = part.reference(), EXAMPLES.get(part.unit, OTHERS)
    turned = pairs[number % len(pairs) :] + pairs[: number % len(pairs)]
    return next(pair for pair in turned if not 1 / APART < float(pair[0]) / right < APART)


def _marked(text):
    return quantities(html.escape(text))
