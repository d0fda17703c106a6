"""The kinds of questions, and how each one judges an answer."""

from roofcheck.kinds.choices import Choice
from roofcheck.kinds.functions import Formula, Function
from roofcheck.kinds.numbers import Number, Several
from roofcheck.kinds.orders import Order
from roofcheck.kinds.puzzles import Puzzle
from roofcheck.kinds.question import Question, Verdict

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
