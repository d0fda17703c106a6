"""The kinds of questions, and how each one judges an answer."""

from roofcheck.kinds.choices import Choice
from roofcheck.kinds.forecasts import Forecast
from roofcheck.kinds.functions import Formula, Function
from roofcheck.kinds.numbers import Number, Several
from roofcheck.kinds.orders import Order
from roofcheck.kinds.puzzles import Puzzle
from roofcheck.kinds.question import Question, Verdict
from roofcheck.kinds.reports import Report

__all__ = [
    "Choice",
    "Forecast",
    "Formula",
    "Function",
    "Number",
    "Order",
    "Puzzle",
    "Question",
    "Report",
    "Several",
    "Verdict",
]
