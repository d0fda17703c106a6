"""The kinds of questions, and how each judges an answer: right, a known slip, or neither."""

from roofkit.check.kinds.choices import Choice
from roofkit.check.kinds.functions import Formula, Function
from roofkit.check.kinds.numbers import Number, Several
from roofkit.check.kinds.orders import Order
from roofkit.check.kinds.puzzles import Puzzle
from roofkit.check.kinds.question import Question, Verdict

__all__ = [
    "Choice",
    "Formula",
    "Function",
    "Number",
    "Order",
    "Puzzle",
    "Question",
    "Several",
    "Verdict",
]
