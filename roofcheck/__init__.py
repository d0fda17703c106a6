"""The course's questions, the slips they recognise, and the checks that students run.

``check("ps1.ridge", answer)`` judges an answer and explains it if it is a known slip. ``questions``
contains the tables, ``tables`` reads them, ``kinds`` judges each kind of question, and ``study``
has the functions that students call. README.md is for question authors.
"""

from roofcheck.handin.hand_in import hand_in
from roofcheck.study.board import board
from roofcheck.study.check import Grade, check, hint, predict, reveal
from roofcheck.study.review import practise, review
from roofcheck.study.set_progress import progress
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import ask

__all__ = [
    "Grade", "ask", "board", "check", "find_question", "hand_in", "hint", "practise", "predict",
    "progress", "reveal", "review",
]  # fmt: skip
