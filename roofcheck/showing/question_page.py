"""Show a question as review asks it: its text, its context, and the format of an answer."""

import html
import random
import re

from roofcheck.kinds import Choice, Formula, Function, Number, Order, Puzzle, Question, Several
from roofcheck.reading import units
from roofcheck.sentences import Sentence, join_items, sentence
from roofcheck.showing import context
from roofkit._html import start_with_blank_line, subscript_times

SIGNATURE = re.compile(r"([A-Za-z_]\w*)\([^()]*\)")
# Example numbers for each unit, and the same numbers in another unit.
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
OTHER_EXAMPLES = (("12.5", "25/2"), ("730", "7.3e2"))
# Units whose name is a phrase, such as "a fraction of peak", and units of counted things.
WHOLE_PHRASES, COUNTED_UNITS = ("", "times", "of peak"), ("bytes", "FLOPs", "tokens")
# An example must differ from the answer by at least this factor.
EXAMPLE_DISTANCE = 1.3


def as_text(question: Question, seed: str) -> str:
    """Format a question for a terminal; the seed shuffles its options."""
    parts = (question.text(), context.as_text(question), describe_answer(question, seed))
    return "\n\n".join(filter(None, parts))


def as_html(question: Question, seed: str) -> str:
    """Format a question for a notebook or a page."""
    parts = (question.text(), describe_answer(question, seed))
    text, answer_format = (subscript_times(html.escape(part)) for part in parts)
    return start_with_blank_line(f"<p>{text}</p>{context.as_html(question)}<p>{answer_format}</p>")


def describe_answer(question: Question, seed: str) -> str:
    """Describe an answer's format in one line, with an example that is not the answer."""
    rng = random.Random(seed)
    match question:
        case Choice():
            options = rng.sample(sorted(question.options), len(question.options))
            return sentence("format.choice", options=join_items(options, "or"))
        case Order():
            items = rng.sample(sorted(question.items), len(question.items))
            return sentence("format.order", items=join_items(items, "comma"))
        case Formula():
            first, *_, last = (*question.arguments, *question.arguments)
            example = f"({first} + 7)/(3{last})"
            symbols = join_items(question.arguments)
            return sentence("format.formula", symbols=symbols, example=example)
        case Several():
            parts = [_name_part(name, part.unit) for name, part in question.parts.items()]
            examples = [_choose_example(p, n)[0] for n, p in enumerate(question.parts.values())]
            words = {"parts": "; ".join(parts), "example": join_items(examples, "comma")}
            return sentence("format.several", count=len(parts), **words)
        case Number():
            number, other = _choose_example(question)
            wanted = units.format_unit(question.unit)
            if question.unit not in WHOLE_PHRASES:
                key = "format.of" if question.unit in COUNTED_UNITS else "format.in"
                wanted = Sentence(key, unit=wanted)
            return sentence("format.number", wanted=wanted, example=number, other=other)
        case Function() | Puzzle():
            return sentence("format.function", signature=find_signature(question))
    raise TypeError(f"review cannot ask a {type(question).__name__}")


def find_signature(question: Question) -> str:
    """Return the call in a question's text: "attainable(intensity, peak)"."""
    match = SIGNATURE.search(question.text())
    return match[0] if match else ""


def is_answered_by_code(question: Question) -> bool:
    """Return whether the answer is a function, which takes several lines."""
    return isinstance(question, (Function, Puzzle)) and not isinstance(question, Formula)


def _name_part(name, unit):
    """Return a part's name, with its unit unless the name includes the unit."""
    unit_name = units.format_unit(unit)
    if unit in WHOLE_PHRASES or str(unit_name) in name or unit in name:
        return name
    return sentence("format.part", name=name, unit=unit_name)


def _choose_example(part, number=0):
    """Choose a number in the part's unit that is not the answer, written in two ways.

    ``number`` is the part's number, so each part gets a different example.
    """
    right, pairs = part.reference(), EXAMPLES.get(part.unit, OTHER_EXAMPLES)
    rotated = pairs[number % len(pairs) :] + pairs[: number % len(pairs)]
    return next(
        pair
        for pair in rotated
        if not 1 / EXAMPLE_DISTANCE < float(pair[0]) / right < EXAMPLE_DISTANCE
    )
